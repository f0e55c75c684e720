//! Where the settings of an edge come from: a file, and options, which come before it. Both can be read again.

use crate::edge::EdgeSettings;
use crate::{ServerError, SettingProblem};
use loadstone_load::{EdgeFile, EdgeFileError};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Where an edge listens if nothing is said.
const LISTEN: &str = "127.0.0.1:8443";

/// The most bytes that are read of a file.
const LIMIT: u64 = 4 * 1024 * 1024;

/// The fields that name files, by their tables.
const PATHS: [(&str, &str); 5] =
    [("front", "cert"), ("front", "key"), ("front", "access_log"), ("behind", "cacert"), ("cache", "disk")];

/// The options of fields that are no settings yet: those that name files, and those that an edge has to have.
const OTHER_OPTIONS: [(&str, &str); 5] = [
    ("front.listen", "--listen"),
    ("front.cert", "--cert"),
    ("front.key", "--key"),
    ("behind.cacert", "--cacert"),
    ("origins", "--origin"),
];

/// Where the settings of an edge come from.
#[derive(Clone, Debug, Default)]
pub struct EdgeSource {
    /// Its file, in TOML.
    pub file: Option<PathBuf>,
    /// `NAME=URL`, for each server that an option gives.
    pub origins: Vec<String>,
    /// What other options say, by the paths of the fields that they set.
    pub given: BTreeMap<String, Value>,
}

/// Why an edge cannot be set up, with the place where that was said.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// An option that names an origin, and does not.
    #[error("--origin: '{0}' is no NAME=URL, as in a.test=http://127.0.0.1:8080")]
    Origin(String),
    /// A file cannot be read.
    #[error("{path}: {problem}")]
    File {
        /// Which.
        path: String,
        /// Why not.
        problem: FileProblem,
    },
    /// The edge's file is none.
    #[error("{path}: {error}")]
    Form {
        /// Which.
        path: String,
        /// Why not.
        error: EdgeFileError,
    },
    /// One of two that belong together.
    #[error("{0}: a certificate and its key belong together: give both, or neither")]
    HalfIdentity(String),
    /// A setting cannot be used.
    #[error("{place}: {problem}")]
    Setting {
        /// The option or the field.
        place: String,
        /// Why not.
        problem: SettingProblem,
    },
    /// Another reason.
    #[error(transparent)]
    Edge(ServerError),
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    /// It is not there.
    #[error("there is no such file")]
    Missing,
    /// It is none.
    #[error("this is a directory: give a file")]
    Directory,
    /// It is too large.
    #[error("more than {} MiB: give the file that was meant", LIMIT >> 20)]
    TooLarge,
    /// The system does not allow it.
    #[error("cannot be read ({0})")]
    Unreadable(io::Error),
}

impl EdgeSource {
    /// Reads all settings, with the files that they name.
    ///
    /// # Errors
    /// If a file cannot be read, or a setting cannot be used.
    pub fn settings(&self) -> Result<EdgeSettings, SourceError> {
        let mut tables = self.file_tables()?;
        table(&mut tables, "origins");
        for (name, urls) in self.given_origins()? {
            put(&mut tables, "origins", name, urls.into());
        }
        for (field, value) in &self.given {
            let (table, rest) = field.split_once('.').unwrap_or(("", field));
            put(&mut tables, table, rest, value.clone());
        }
        let front = table(&mut tables, "front");
        front.entry("listen").or_insert_with(|| LISTEN.into());
        let chain = self.take_file(&mut tables, "front", "cert")?;
        let key = self.take_file(&mut tables, "front", "key")?;
        match (chain, key) {
            (Some(chain), Some(key)) => put(&mut tables, "front", "identity", json!({"chain": chain, "key": key})),
            (None, None) => {}
            (chain, _) => {
                return Err(SourceError::HalfIdentity(self.place(if chain.is_some() {
                    "front.cert"
                } else {
                    "front.key"
                })));
            }
        }
        if let Some(authorities) = self.take_file(&mut tables, "behind", "cacert")? {
            put(&mut tables, "behind", "authorities", authorities.into());
        }
        EdgeSettings::from_json(Value::from(tables).to_string().as_bytes()).map_err(|error| self.placed(error))
    }

    /// The URLs that options give, by their names: more than one, if a name is given again.
    fn given_origins(&self) -> Result<BTreeMap<&str, Vec<&str>>, SourceError> {
        let mut given: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for origin in &self.origins {
            let (name, url) = origin.split_once('=').ok_or_else(|| SourceError::Origin(origin.clone()))?;
            given.entry(name).or_default().push(url);
        }
        Ok(given)
    }

    /// The tables of the file; paths in it count from its folder.
    fn file_tables(&self) -> Result<Map<String, Value>, SourceError> {
        let Some(path) = &self.file else { return Ok(Map::new()) };
        let form = |error| SourceError::Form { path: path.display().to_string(), error };
        let mut tables = EdgeFile::parse(&read(path)?).map_err(form)?.tables;
        let folder = path.parent().unwrap_or(Path::new(""));
        for (name, field) in PATHS {
            match tables.get_mut(name).and_then(|table| table.get_mut(field)) {
                // Standard output.
                Some(Value::String(named)) if named == "-" => {}
                Some(Value::String(named)) => *named = folder.join(&*named).to_string_lossy().into_owned(),
                Some(_) => return Err(form(EdgeFileError::NoPath(format!("{name}.{field}")))),
                None => {}
            }
        }
        Ok(tables)
    }

    /// Takes the path of a file out of a table, and reads the file.
    fn take_file(
        &self,
        tables: &mut Map<String, Value>,
        name: &str,
        field: &str,
    ) -> Result<Option<String>, SourceError> {
        let Some(Value::String(path)) = table(tables, name).shift_remove(field) else { return Ok(None) };
        Ok(Some(String::from_utf8_lossy(&read(Path::new(&path))?).into_owned()))
    }

    /// Says where a setting was made.
    pub(crate) fn placed(&self, error: ServerError) -> SourceError {
        match error {
            ServerError::Setting { field, problem } => SourceError::Setting { place: self.place(&field), problem },
            error => SourceError::Edge(error),
        }
    }

    /// Where a field was set: by an option, or in the file.
    fn place(&self, field: &str) -> String {
        let is_option = self.given.contains_key(field)
            || field.strip_prefix("origins.").is_some_and(|name| self.origins.iter().any(|origin| is_of(origin, name)));
        match &self.file {
            Some(path) if field.is_empty() => path.display().to_string(),
            Some(path) if !is_option => format!("{}: {field}", path.display()),
            _ => option(field).unwrap_or_else(|| format!("--origin: {field}")),
        }
    }
}

/// Whether an option gives the origin of this name.
fn is_of(origin: &str, name: &str) -> bool {
    origin.split_once('=').is_some_and(|(given, _)| given == name)
}

/// The option that sets a field, if one does.
fn option(field: &str) -> Option<String> {
    let other = OTHER_OPTIONS.iter().find(|(known, _)| *known == field).map(|(_, flag)| (*flag).to_owned());
    other.or_else(|| EdgeSettings::options().into_iter().find(|option| option.field == field).map(|option| option.flag))
}

/// A table; an empty one if there is none.
fn table<'t>(tables: &'t mut Map<String, Value>, name: &str) -> &'t mut Map<String, Value> {
    let table = tables.entry(name).or_insert_with(|| Map::new().into());
    if !table.is_object() {
        // The file's was one. What an option sets comes before what is none inside.
        *table = Map::new().into();
    }
    table.as_object_mut().expect("it was made one")
}

/// Puts a field, which is named by its path, into a table.
fn put(tables: &mut Map<String, Value>, name: &str, field: &str, value: Value) {
    let table = table(tables, name);
    match field.split_once('.').filter(|_| name != "origins") {
        Some((inner, field)) => put(table, inner, field, value),
        None => _ = table.insert(field.to_owned(), value),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, SourceError> {
    let failed = |problem| SourceError::File { path: path.display().to_string(), problem };
    let mut content = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LIMIT + 1).read_to_end(&mut content));
    match read {
        Ok(length) if length as u64 > LIMIT => Err(failed(FileProblem::TooLarge)),
        Ok(_) => Ok(content),
        Err(error) => Err(failed(match error.kind() {
            io::ErrorKind::NotFound => FileProblem::Missing,
            io::ErrorKind::IsADirectory => FileProblem::Directory,
            _ => FileProblem::Unreadable(error),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_placed_where_it_was_set() {
        let given = [("behind.timeout".to_owned(), Value::from(0))].into();
        let origins = vec!["a.test=http://127.0.0.1".to_owned()];
        let source = EdgeSource { file: Some("edge.toml".into()), origins: origins.clone(), given };
        for (field, place) in [
            ("behind.timeout", "--origin-timeout"),
            ("behind.idle", "edge.toml: behind.idle"),
            ("origins.a.test", "--origin: origins.a.test"),
            ("origins.b.test", "edge.toml: origins.b.test"),
            ("", "edge.toml"),
        ] {
            assert_eq!(source.place(field), place);
        }
        let without_a_file = EdgeSource { file: None, origins, ..source };
        assert_eq!(without_a_file.place("front.cert"), "--cert");
        assert_eq!(without_a_file.place("origins"), "--origin");
    }
}
