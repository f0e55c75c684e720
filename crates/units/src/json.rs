//! Reads JSON, and says in plain words what is wrong with it and where.
//!
//! The first reading is serde_json's own. Only where it fails a second one finds out what to say: it reads the same
//! text through [`Checked`], whose errors are values and not texts.

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;
use serde_json::error::Category;
use std::fmt;

/// Why a text is not what was asked for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JsonError {
    /// It is no JSON.
    #[error("not JSON from line {line}, column {column} on: look there for a comma, a quote or a bracket")]
    Syntax {
        /// Where, from 1.
        line: usize,
        /// Where in the line, from 1.
        column: usize,
    },
    /// It ends in the middle.
    #[error("the JSON is cut off at line {line}, column {column}: give it completely")]
    CutOff {
        /// Where it ends, from 1.
        line: usize,
        /// Where in the line, from 1.
        column: usize,
    },
    /// It is JSON, but a value in it is not what belongs there.
    #[error("{}{mismatch}", if path.is_empty() { String::new() } else { format!("{path}: ") })]
    Mismatch {
        /// The path of the value, for instance `variant.tcp.iw`; empty for the whole.
        path: String,
        /// What is wrong with it.
        mismatch: Mismatch,
    },
}

/// Why a value is not what belongs at its place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Mismatch {
    /// A field that does not exist.
    #[error("there is no field '{name}': {}", one_of(known))]
    UnknownField {
        /// What was given.
        name: String,
        /// What there is.
        known: &'static [&'static str],
    },
    /// A word that is not among those to choose from.
    #[error("'{name}' is unknown: {}", one_of(known))]
    UnknownName {
        /// What was given.
        name: String,
        /// What there is.
        known: &'static [&'static str],
    },
    /// A field that must be there.
    #[error("the field '{0}' is missing: add it")]
    MissingField(&'static str),
    /// A field that is there more than once.
    #[error("a field is there twice: leave one out")]
    DuplicateField,
    /// A value of another kind.
    #[error("this is {found}: give {expected}")]
    Kind {
        /// What was given.
        found: String,
        /// What belongs there.
        expected: String,
    },
    /// The value's own type refuses it.
    #[error("{0}")]
    Refused(String),
}

/// Reads a value.
///
/// # Errors
/// If `text` is not JSON, or not of this form.
pub fn from_slice<T: DeserializeOwned>(text: &[u8]) -> Result<T, JsonError> {
    serde_json::from_slice(text).map_err(|_| explain::<T>(text))
}

fn explain<T: DeserializeOwned>(text: &[u8]) -> JsonError {
    let value: Value = match serde_json::from_slice(text) {
        Ok(value) => value,
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            return match error.classify() {
                Category::Eof => JsonError::CutOff { line, column },
                _ => JsonError::Syntax { line, column },
            };
        }
    };
    match serde_path_to_error::deserialize::<_, T>(Checked(&value)) {
        // Of fields with one name a `Value` has the last alone.
        Ok(_) => JsonError::Mismatch { path: String::new(), mismatch: Mismatch::DuplicateField },
        Err(error) => {
            let path = error.path().to_string();
            let path = if path == "." { String::new() } else { path };
            JsonError::Mismatch { path, mismatch: error.into_inner() }
        }
    }
}

fn one_of(known: &[&str]) -> String {
    match known {
        [] => "leave it out".to_owned(),
        [one] => format!("write {one}"),
        [some @ .., last] => format!("write {} or {last}", some.join(", ")),
    }
}

impl de::Error for Mismatch {
    fn custom<T: fmt::Display>(why: T) -> Mismatch {
        Mismatch::Refused(why.to_string())
    }

    fn invalid_type(found: Unexpected, expected: &dyn Expected) -> Mismatch {
        Mismatch::Kind { found: kind_of(&found), expected: plain(&expected.to_string()) }
    }

    fn invalid_value(found: Unexpected, expected: &dyn Expected) -> Mismatch {
        Mismatch::invalid_type(found, expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Mismatch {
        Mismatch::Kind { found: format!("a list of {length}"), expected: plain(&expected.to_string()) }
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Mismatch {
        Mismatch::UnknownName { name: name.to_owned(), known }
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Mismatch {
        Mismatch::UnknownField { name: name.to_owned(), known }
    }

    fn missing_field(name: &'static str) -> Mismatch {
        Mismatch::MissingField(name)
    }

    fn duplicate_field(_: &'static str) -> Mismatch {
        Mismatch::DuplicateField
    }
}

/// A value that was found, in JSON's words.
fn kind_of(found: &Unexpected) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => format!("the number {value}"),
        Unexpected::Signed(value) => format!("the number {value}"),
        Unexpected::Float(value) => format!("the number {value}"),
        Unexpected::Str(text) => format!("the text \"{text}\""),
        Unexpected::Unit | Unexpected::Option => "null".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "an object".to_owned(),
        other => other.to_string(),
    }
}

/// What belongs there, in JSON's words; serde has those of Rust.
fn plain(expected: &str) -> String {
    let first = expected.split(' ').next().unwrap_or_default();
    match first {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number, not below 0".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "string" => "a text".to_owned(),
        "struct" | "map" => "an object".to_owned(),
        "sequence" | "tuple" => "a list".to_owned(),
        "enum" | "variant" | "unit" => "one of its names".to_owned(),
        _ => match expected {
            "a string" | "str" => "a text".to_owned(),
            "a boolean" => "true or false".to_owned(),
            "a map" => "an object".to_owned(),
            "a sequence" => "a list".to_owned(),
            own => own.to_owned(),
        },
    }
}

/// A value to be read, by a reader whose errors are [`Mismatch`]es.
#[derive(Clone, Copy)]
struct Checked<'a>(&'a Value);

impl<'de> IntoDeserializer<'de, Mismatch> for Checked<'de> {
    type Deserializer = Checked<'de>;

    fn into_deserializer(self) -> Checked<'de> {
        self
    }
}

impl<'de> Deserializer<'de> for Checked<'de> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => visitor.visit_u64(value),
                (None, Some(value)) => visitor.visit_i64(value),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(values) => {
                let mut values = SeqDeserializer::new(values.iter().map(Checked));
                let read = visitor.visit_seq(&mut values)?;
                values.end().map(|()| read)
            }
            Value::Object(fields) => visitor.visit_map(MapDeserializer::new(by_name(fields))),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(name.as_str().into_deserializer()),
            Value::Object(fields) => {
                visitor.visit_enum(MapAccessDeserializer::new(MapDeserializer::new(by_name(fields))))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

fn by_name(fields: &serde_json::Map<String, Value>) -> impl Iterator<Item = (&str, Checked<'_>)> {
    fields.iter().map(|(name, value)| (name.as_str(), Checked(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounded;
    use proptest::prelude::*;
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[serde(default)]
        inner: Inner,
        name: String,
    }

    #[derive(Deserialize, Debug, Default, PartialEq)]
    #[serde(deny_unknown_fields, default)]
    struct Inner {
        cc: Option<Cc>,
        iw: Option<Bounded<1, 10>>,
        rate: f64,
        is_on: bool,
        sizes: Vec<u32>,
        pair: Option<[u8; 2]>,
        of: BTreeMap<String, Cc>,
        either: Option<Either>,
    }

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Cc {
        Reno,
        Cubic,
        Aimd { alpha: u32 },
    }

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(untagged)]
    enum Either {
        Count(u32),
        Text(String),
    }

    fn why(inner: &str) -> String {
        let text = format!(r#"{{"name": "x", "inner": {inner}}}"#);
        from_slice::<Outer>(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn every_mismatch_names_its_place_and_what_to_write() {
        for (inner, expected) in [
            (r#"{"cc": "vegas"}"#, "inner.cc: 'vegas' is unknown: write reno, cubic or aimd"),
            (r#"{"of": {"b.test": "vegas"}}"#, "inner.of.b.test: 'vegas' is unknown: write reno, cubic or aimd"),
            (r#"{"cc": 3}"#, "inner.cc: this is the number 3: give one of its names"),
            (r#"{"cc": {"aimd": {}}}"#, "inner.cc.aimd: the field 'alpha' is missing: add it"),
            (r#"{"iw": 11}"#, "inner.iw: 11 is out of range: give 1 to 10"),
            (r#"{"iw": "ten"}"#, r#"inner.iw: this is the text "ten": give a whole number"#),
            (r#"{"iw": 2.5}"#, "inner.iw: this is the number 2.5: give a whole number"),
            (r#"{"rate": null}"#, "inner.rate: this is null: give a number"),
            (r#"{"is_on": 1}"#, "inner.is_on: this is the number 1: give true or false"),
            (r#"{"sizes": [1, -2]}"#, "inner.sizes[1]: this is the number -2: give a whole number, not below 0"),
            (r#"{"sizes": {}}"#, "inner.sizes: this is an object: give a list"),
            (r#"{"pair": [1]}"#, "inner.pair: this is a list of 1: give an array of length 2"),
            ("3", "inner: this is the number 3: give an object"),
            (r#"{"x": 1}"#, "there is no field 'x': write cc, iw, rate, is_on, sizes, pair, of or either"),
            (r#"{"rate": 1, "rate": 2}"#, "a field is there twice: leave one out"),
        ] {
            let given = why(inner);
            assert!(given.ends_with(expected), "{inner}: {given}");
        }
        assert_eq!(from_slice::<Outer>(b"{}").unwrap_err().to_string(), "the field 'name' is missing: add it");
    }

    #[test]
    fn of_two_mistakes_the_first_is_told() {
        assert!(why(r#"{"sizes": 1, "cc": 2}"#).starts_with("inner.sizes"));
        assert!(why(r#"{"cc": 2, "sizes": 1}"#).starts_with("inner.cc"));
    }

    #[test]
    fn what_is_no_json_is_told_by_line_and_column() {
        let why = |text: &str| from_slice::<Outer>(text.as_bytes()).unwrap_err();
        assert_eq!(why("{\"name\":\n \"x\" oops}"), JsonError::Syntax { line: 2, column: 6 });
        assert_eq!(why("{\"name\": \"x\"} more"), JsonError::Syntax { line: 1, column: 15 });
        assert_eq!(why("{\"name\": \"x"), JsonError::CutOff { line: 1, column: 11 });
        // The first thing that is wrong is told, unless the text is no JSON at all.
        assert_eq!(why("{\"name\": 1, oops}"), JsonError::Syntax { line: 1, column: 13 });
    }

    #[test]
    fn what_is_sound_is_read() {
        let text = br#"{"name": "x", "inner": {"cc": {"aimd": {"alpha": 2}}, "either": "y", "pair": [1, 2]}}"#;
        let outer: Outer = from_slice(text).unwrap();
        let inner = Inner {
            cc: Some(Cc::Aimd { alpha: 2 }),
            either: Some(Either::Text("y".to_owned())),
            pair: Some([1, 2]),
            ..Inner::default()
        };
        assert_eq!(outer, Outer { name: "x".to_owned(), inner });
    }

    proptest! {
        /// Both readings agree on what is sound.
        #[test]
        fn the_second_reading_refuses_what_the_first_does(
            key in "(cc|iw|rate|is_on|sizes|pair|of|either|x)",
            value in "(null|true|0|7|-1|2\\.5|\"reno\"|\"x\"|\\[\\]|\\[1, 2\\]|\\{\\}|\\{\"a\": \"reno\"\\}|\\{\"aimd\": \\{\"alpha\": 1\\}\\})",
        ) {
            let text = format!(r#"{{"name": "x", "inner": {{"{key}": {value}}}}}"#);
            let first = serde_json::from_str::<Outer>(&text);
            let second: Value = serde_json::from_str(&text).unwrap();
            let second = Outer::deserialize(Checked(&second));
            prop_assert_eq!(first.is_ok(), second.is_ok(), "{}: {:?}", text, second);
            prop_assert_eq!(first.ok(), second.ok());
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}") {
            let _ = from_slice::<Outer>(text.as_bytes());
        }
    }
}
