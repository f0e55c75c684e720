//! The frames of a connection's bytes.

use crate::error::Failure;
use bytes::Bytes;
use loadstone_http::{Protocol, decode as frames};
use pyo3::prelude::*;

/// The frames of one direction of a connection, each as JSON, and why they end before the bytes do.
#[pyfunction]
pub(crate) fn decode(py: Python<'_>, protocol: &str, data: &[u8]) -> PyResult<(Vec<String>, Option<String>)> {
    let protocol: Protocol = protocol.parse().map_err(Failure::from)?;
    Ok(py.detach(|| {
        let (lines, result) = frames::decode(protocol, &Bytes::copy_from_slice(data));
        let json = |line| serde_json::to_string(line).expect("lines have only keys that are text");
        (lines.iter().map(json).collect(), result.err().map(|error| error.to_string()))
    }))
}
