//! The frames of a connection's bytes.

use crate::error::Failure;
use loadstone_http::Protocol;
use loadstone_http::decode as frames;
use loadstone_units::visible;
use pyo3::prelude::*;

/// Takes one direction of a connection apart, as its bytes come.
#[pyclass(module = "loadstone._native")]
pub(crate) struct Decoder {
    decoder: frames::Decoder,
}

#[pymethods]
impl Decoder {
    #[new]
    #[pyo3(signature = (protocol, header_table = None))]
    fn new(protocol: &str, header_table: Option<u32>) -> PyResult<Decoder> {
        let protocol: Protocol = protocol.parse().map_err(Failure::from)?;
        Ok(Decoder { decoder: frames::Decoder::new(protocol, header_table).map_err(Failure::from)? })
    }

    /// The frames that these bytes complete, each as JSON, and why no more can be read, if so.
    fn feed(&mut self, py: Python<'_>, data: &[u8]) -> (Vec<String>, Option<String>) {
        py.detach(|| {
            let result = self.decoder.handle_input(data);
            let json = |line| {
                let text = serde_json::to_string(&line).expect("lines have only keys that are text");
                visible(&text).into_owned()
            };
            let lines = std::iter::from_fn(|| self.decoder.poll_line()).map(json).collect();
            (lines, result.err().map(|error| error.to_string()))
        })
    }

    /// No more comes: why the last frame is not complete, if so.
    fn close(&mut self) -> Option<String> {
        self.decoder.handle_close().err().map(|error| error.to_string())
    }
}
