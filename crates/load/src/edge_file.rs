//! The file of an edge, `edge.toml`: its tables, and apart from them what only a simulation wants to know of it.

use serde_json::{Map, Value};

/// The most bytes of a file: nobody writes more by hand.
const LIMIT: usize = 2 * 1024 * 1024;

/// The tables that every edge has; those that a file leaves out are empty.
const ALWAYS: [&str; 2] = ["front", "origins"];
/// The tables that a file may leave out.
const OTHERS: [&str; 3] = ["behind", "cache", "admin"];
/// The table of what only a simulation wants to know.
const SIMULATED: &str = "simulated";
/// What it has.
const SIMULATED_FIELDS: [&str; 4] = ["backhaul", "hit_rate", "request_us", "edges"];

/// The file of an edge. Its values are as they were written: whoever uses a field says what it may be.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EdgeFile {
    /// Its tables, by their names.
    pub tables: Map<String, Value>,
    /// What only a simulation wants to know.
    pub simulated: Map<String, Value>,
}

/// Why a text is no file of an edge.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EdgeFileError {
    /// It is larger than anybody writes it.
    #[error("more than {} MiB of text, which is much for the settings of an edge: take out what is not needed", LIMIT >> 20)]
    TooLarge,
    /// It has nothing.
    #[error("the file is empty: write or export it again")]
    Empty,
    /// It is no TOML.
    #[error("not the settings of an edge: {why} (at line {line}, column {column})")]
    Syntax {
        /// What is wrong.
        why: String,
        /// The line, from 1.
        line: usize,
        /// The character in it, from 1.
        column: usize,
    },
    /// It is no text.
    #[error("not the settings of an edge: it is no text in UTF-8")]
    NoText,
    /// Something else stands where a table should be.
    #[error("{0}: a table is wanted: write [{0}] above its fields")]
    NoTable(String),
    /// A simulation wants nothing of this name.
    #[error("{SIMULATED}.{0}: there is no such field: take {fields}", fields = SIMULATED_FIELDS.join(", "))]
    UnknownField(String),
    /// Something else stands where the path of a file should be.
    #[error("{0}: the path of a file is wanted, in quotation marks")]
    NoPath(String),
}

impl EdgeFile {
    /// Reads a file's text.
    ///
    /// # Errors
    /// If it is no TOML, or something else stands where a table should be.
    pub fn parse(text: &[u8]) -> Result<EdgeFile, EdgeFileError> {
        if text.len() > LIMIT {
            return Err(EdgeFileError::TooLarge);
        }
        let text = str::from_utf8(text).map_err(|_| EdgeFileError::NoText)?.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return Err(EdgeFileError::Empty);
        }
        let mut tables: Map<String, Value> = toml::from_str(text).map_err(|error| syntax(text, &error))?;
        for name in ALWAYS {
            tables.entry(name).or_insert_with(|| Map::new().into());
        }
        for name in ALWAYS.into_iter().chain(OTHERS) {
            if tables.get(name).is_some_and(|table| !table.is_object()) {
                return Err(EdgeFileError::NoTable(name.to_owned()));
            }
        }
        let simulated = match tables.shift_remove(SIMULATED) {
            None => Map::new(),
            Some(Value::Object(fields)) => fields,
            Some(_) => return Err(EdgeFileError::NoTable(SIMULATED.to_owned())),
        };
        match simulated.keys().find(|name| !SIMULATED_FIELDS.contains(&name.as_str())) {
            Some(unknown) => Err(EdgeFileError::UnknownField(unknown.clone())),
            None => Ok(EdgeFile { tables, simulated }),
        }
    }
}

fn syntax(text: &str, error: &toml::de::Error) -> EdgeFileError {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line_begins = before.rfind('\n').map_or(0, |at| at + 1);
    EdgeFileError::Syntax {
        why: error.message().replace('\n', ", "),
        line: before.matches('\n').count() + 1,
        column: before[line_begins..].chars().count() + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn why(text: &str) -> String {
        EdgeFile::parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn its_tables_are_as_they_were_written_and_what_is_for_simulations_stands_apart() {
        let text = "simulated.hit_rate = 85\n[front]\nb = 1\na = 2\n[cache]\nbytes = 1_000\n[extra]";
        let file = EdgeFile::parse(text.as_bytes()).unwrap();
        let tables = json!({"front": {"b": 1, "a": 2}, "cache": {"bytes": 1000}, "extra": {}, "origins": {}});
        assert_eq!(Value::from(file.tables.clone()), tables);
        let fields: Vec<&str> = file.tables["front"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, ["b", "a"], "the first mistake is to be told first");
        assert_eq!(Value::from(file.simulated), json!({"hit_rate": 85}));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, expected) in [
            (" \n", "the file is empty"),
            ("[front]\nlisten = \"a", "(at line 2, column 1"),
            ("[front]\nlisten", "not the settings of an edge: "),
            ("a = 1\na = 2", "(at line 2, column 1)"),
            ("front = 3", "front: a table is wanted: write [front] above its fields"),
            ("behind = []", "behind: a table is wanted"),
            ("simulated = 1", "simulated: a table is wanted"),
            ("[simulated]\nrate = 1", "simulated.rate: there is no such field: take backhaul, hit_rate, request_us"),
        ] {
            assert!(why(text).contains(expected), "{text}: {}", why(text));
        }
        assert_eq!(EdgeFile::parse(b"\xff"), Err(EdgeFileError::NoText));
        assert_eq!(EdgeFile::parse(&vec![b' '; LIMIT + 1]), Err(EdgeFileError::TooLarge));
    }

    #[test]
    fn what_lies_too_deeply_is_refused_at_once() {
        for (opening, middle, closing) in
            [("a = ", "[", ""), ("a = ", "{a=", ""), ("a", ".a", " = 1"), ("[a", ".a", "]")]
        {
            let text = format!("{opening}{}{closing}", middle.repeat(100_000));
            assert!(why(&text).contains("not the settings of an edge"), "{middle}");
        }
    }
}
