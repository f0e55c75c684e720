//! The URLs of a name's servers in an edge's settings.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;

/// The URLs of a name's servers: a text for one, or a list for several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OriginUrls(pub(crate) Vec<String>);

impl<'de> Deserialize<'de> for OriginUrls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OriginUrls, D::Error> {
        deserializer.deserialize_any(OriginUrlsVisitor)
    }
}

struct OriginUrlsVisitor;

impl<'de> Visitor<'de> for OriginUrlsVisitor {
    type Value = OriginUrls;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a URL, or a list of URLs")
    }

    fn visit_str<E>(self, url: &str) -> Result<OriginUrls, E> {
        Ok(OriginUrls(vec![url.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut urls: A) -> Result<OriginUrls, A::Error> {
        let mut all = Vec::new();
        while let Some(url) = urls.next_element()? {
            all.push(url);
        }
        Ok(OriginUrls(all))
    }
}

impl JsonSchema for OriginUrls {
    fn schema_name() -> Cow<'static, str> {
        "OriginUrls".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
    }
}

impl fmt::Display for OriginUrls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.join(", "))
    }
}
