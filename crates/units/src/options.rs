//! The options of commands, read off the types that they set: a type's JSON schema says what there is to be said of a
//! field, and a table says by which option it is set.

use schemars::Schema;
use serde::Serialize;
use serde_json::Value;

/// An option of a command, as a table has it.
#[derive(Clone, Copy, Debug)]
pub struct OptionOf {
    /// Its name: `max-streams` for `--max-streams`.
    pub name: &'static str,
    /// The path of the field that it sets, `variant.multiplexing.streams`.
    pub field: &'static str,
    /// What stands for its value, where that is no list of choices.
    pub metavar: &'static str,
    /// Whose it is, where another option sets the same of somebody else.
    pub whose: &'static str,
    /// The option whose value it has where it is left out itself.
    pub follows: Option<&'static str>,
}

/// An option of a command, with all that its field says of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CommandOption {
    /// Its name, as a word of a programming language: `max_streams`.
    pub name: String,
    /// As it is given: `--max-streams`.
    pub flag: String,
    /// The path of the field that it sets.
    pub field: &'static str,
    /// The kind of its value.
    #[serde(rename = "type")]
    pub kind: ValueKind,
    /// What stands for its value in a help text.
    pub metavar: String,
    /// All that may be chosen, if there is a list.
    pub choices: Vec<String>,
    /// The least number.
    pub minimum: Option<i64>,
    /// The largest number.
    pub maximum: Option<i64>,
    /// What it is where it is left out; null if that depends on something else, as `help` says.
    pub default: Value,
    /// The option whose value it has where it is left out itself.
    pub follows: Option<&'static str>,
    /// What it does.
    pub help: String,
}

/// The kind of an option's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueKind {
    /// A whole number.
    Integer,
    /// A text.
    String,
}

impl OptionOf {
    /// An option that sets the field at this path.
    pub const fn new(name: &'static str, field: &'static str, metavar: &'static str) -> OptionOf {
        OptionOf { name, field, metavar, whose: "", follows: None }
    }

    /// The same of one of several.
    #[must_use]
    pub const fn of(self, whose: &'static str) -> OptionOf {
        OptionOf { whose, ..self }
    }

    /// The same, with another option's value where it is left out.
    #[must_use]
    pub const fn following(self, other: &'static str) -> OptionOf {
        OptionOf { follows: Some(other), ..self }
    }

    /// What the schema of the whole says of it. `defaults` is the whole as it is where nothing is said; what is not in
    /// it is as the schema says.
    ///
    /// # Panics
    /// If there is no such field.
    pub fn describe(&self, schema: &Schema, defaults: &Value) -> CommandOption {
        let root = schema.as_value();
        let mut field = root;
        let mut default = defaults;
        for step in self.field.split('.') {
            field = known(root, field)
                .get("properties")
                .and_then(|fields| fields.get(step))
                .unwrap_or_else(|| panic!("--{}: there is no field {}", self.name, self.field));
            default = default.get(step).or(field.get("default")).unwrap_or(&Value::Null);
        }
        let kind = known(root, field);
        let choices = choices(kind);
        let mut help = format!("{}{}", self.whose, first_paragraph(field));
        if choices.is_empty() && kind != field {
            help = format!("{help} {}", first_paragraph(kind)).trim().to_owned();
        }
        CommandOption {
            name: self.name.replace('-', "_"),
            flag: format!("--{}", self.name),
            field: self.field,
            kind: if is_type(kind, "integer") { ValueKind::Integer } else { ValueKind::String },
            metavar: if choices.is_empty() { self.metavar.to_owned() } else { choices.join("|") },
            minimum: kind.get("minimum").and_then(Value::as_i64),
            maximum: kind.get("maximum").and_then(Value::as_i64),
            choices,
            default: default.clone(),
            follows: self.follows,
            help,
        }
    }
}

/// A schema without the reference to its definition, and without null beside it.
fn known<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        return root.pointer(name.trim_start_matches('#')).map_or(schema, |schema| known(root, schema));
    }
    let either = schema.get("anyOf").and_then(Value::as_array);
    let other = either.and_then(|either| either.iter().find(|schema| !is_type(schema, "null")));
    other.map_or(schema, |schema| known(root, schema))
}

fn is_type(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|each| each == name),
        Some(kind) => kind == name,
        None => false,
    }
}

/// What may be chosen: an `enum`, a `const`, or a `oneOf` of them, in which some choices are described.
fn choices(schema: &Value) -> Vec<String> {
    let list = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten();
    let own = schema.get("const").into_iter().chain(list("enum"));
    let own = own.filter_map(|value| value.as_str().map(str::to_owned));
    own.chain(list("oneOf").flat_map(choices)).collect()
}

/// What a schema is said to be, first of all.
fn first_paragraph(schema: &Value) -> String {
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let first = description.split("\n\n").next().unwrap_or_default();
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounded;
    use schemars::{JsonSchema, schema_for};

    #[derive(JsonSchema, Serialize, Default)]
    struct Whole {
        inner: Inner,
    }

    #[derive(JsonSchema, Serialize, Default)]
    struct Inner {
        /// How many, at least
        /// one.
        ///
        /// More of it.
        count: Option<Bounded<1, 9>>,
        /// Which.
        colour: Colour,
        /// A name.
        name: Option<String>,
    }

    #[derive(JsonSchema, Serialize, Default)]
    #[allow(dead_code)]
    #[serde(rename_all = "kebab-case")]
    enum Colour {
        /// Like the sky.
        #[default]
        LightBlue,
        Red,
    }

    fn described(option: &OptionOf) -> CommandOption {
        let defaults = serde_json::to_value(Whole::default()).unwrap();
        option.describe(&schema_for!(Whole), &defaults)
    }

    #[test]
    fn a_field_says_range_and_help_of_its_option() {
        let option = described(&OptionOf::new("how-many", "inner.count", "N").of("Of all: "));
        assert_eq!(
            (option.name.as_str(), option.flag.as_str(), option.metavar.as_str()),
            ("how_many", "--how-many", "N")
        );
        assert_eq!((option.kind, option.minimum, option.maximum), (ValueKind::Integer, Some(1), Some(9)));
        assert_eq!((option.default, option.help.as_str()), (Value::Null, "Of all: How many, at least one."));
    }

    #[test]
    fn a_list_of_choices_stands_in_place_of_its_name() {
        let option = described(&OptionOf::new("colour", "inner.colour", "COLOUR"));
        // What is not described comes first.
        assert_eq!(option.choices, ["red", "light-blue"]);
        assert_eq!((option.metavar.as_str(), option.default), ("red|light-blue", "light-blue".into()));
        let text = described(&OptionOf::new("name", "inner.name", "NAME").following("colour"));
        assert_eq!((text.kind, text.metavar.as_str(), text.follows), (ValueKind::String, "NAME", Some("colour")));
    }

    #[test]
    #[should_panic(expected = "--size: there is no field inner.size")]
    fn an_option_of_nothing_is_refused() {
        described(&OptionOf::new("size", "inner.size", "N"));
    }
}
