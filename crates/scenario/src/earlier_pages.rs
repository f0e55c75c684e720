//! The pages that a browser has visited before, as scenarios write them: one page, or a list.

use crate::SharedPage;
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// None, a page, or a list.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "it is there for the schema")]
pub(crate) enum OneOrMore {
    None(()),
    One(SharedPage),
    More(Vec<SharedPage>),
}

pub(crate) fn serialize<S: Serializer>(pages: &[SharedPage], serializer: S) -> Result<S::Ok, S::Error> {
    match pages {
        [page] => page.serialize(serializer),
        pages => pages.serialize(serializer),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SharedPage>, D::Error> {
    deserializer.deserialize_any(Pages)
}

/// Reads as it goes, unlike an untagged enum, so that an error says in which field it is.
struct Pages;

impl<'de> Visitor<'de> for Pages {
    type Value = Vec<SharedPage>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a page or a list of pages")
    }

    fn visit_unit<E>(self) -> Result<Vec<SharedPage>, E> {
        Ok(Vec::new())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<SharedPage>, A::Error> {
        Ok(vec![SharedPage::deserialize(MapAccessDeserializer::new(map))?])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Vec<SharedPage>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq))
    }
}
