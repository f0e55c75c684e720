//! The file of an edge.

use crate::error::Failure;
use loadstone_load::EdgeFile;
use pyo3::prelude::*;

/// The text of an edge's file as JSON: its tables, and the fields of the one that only a simulation wants.
#[pyfunction]
pub(crate) fn edge_file_json(text: &[u8]) -> PyResult<String> {
    let EdgeFile { tables, simulated } = EdgeFile::parse(text).map_err(Failure::from)?;
    Ok(serde_json::to_string(&(tables, simulated)).map_err(Failure::from)?)
}
