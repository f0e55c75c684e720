//! How fast a browser's processor is, beside that of the recording.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::borrow::Cow;

/// How many times as long a browser computes as the page says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ComputeFactor(f64);

/// A phone of the middle class: what Lighthouse slows a desktop's processor down by (`cpuSlowdownMultiplier`).
const PHONE: f64 = 4.0;
/// The slowest.
const MAX: f64 = 100.0;

impl ComputeFactor {
    /// The factor.
    pub fn get(self) -> f64 {
        self.0
    }

    pub(crate) fn is_one(&self) -> bool {
        self.0 == 1.0
    }
}

impl Default for ComputeFactor {
    /// As long as the page says.
    fn default() -> ComputeFactor {
        ComputeFactor(1.0)
    }
}

impl Serialize for ComputeFactor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for ComputeFactor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ComputeFactor, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Text(String),
        }
        let factor = match Written::deserialize(deserializer) {
            Ok(Written::Number(factor)) => Some(factor),
            Ok(Written::Text(text)) if text == "phone" => Some(PHONE),
            Ok(Written::Text(text)) => text.parse().ok(),
            Err(_) => None,
        };
        let factor = factor.filter(|factor| (0.0..=MAX).contains(factor));
        factor.map(ComputeFactor).ok_or_else(|| D::Error::custom("give 0 to 100, or phone"))
    }
}

impl JsonSchema for ComputeFactor {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ComputeFactor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "number", "minimum": 0, "maximum": MAX as u32}, {"const": "phone"}]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_phone_are_read_and_what_is_out_of_range_is_refused() {
        let read = |text: &str| serde_json::from_str::<ComputeFactor>(text).ok().map(ComputeFactor::get);
        assert_eq!(["0", "0.5", "100", "\"phone\"", "\"2\""].map(read), [0.0, 0.5, 100.0, 4.0, 2.0].map(Some));
        assert_eq!(["-0.1", "100.1", "\"tablet\"", "null", "\"nan\""].map(read), [None; 5]);
    }
}
