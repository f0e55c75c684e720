//! A recording with its bodies, for servers.

use crate::error::Failure;
use bytes::Bytes;
use loadstone_live::{LongerResponse, MatchReport, Queries, RecordedResponse, SentAs};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// A response as Python has it: `loadstone.recording.served.ServedResponse`.
#[derive(FromPyObject)]
pub(crate) struct GivenResponse {
    method: String,
    url: String,
    status: u16,
    fields: Vec<(PyBackedBytes, PyBackedBytes)>,
    body: PyBackedBytes,
    raw: Option<PyBackedBytes>,
    wire_length: Option<u64>,
    is_written: bool,
    any_query: bool,
    think_ms: f64,
}

impl GivenResponse {
    fn response(&self) -> Result<RecordedResponse, Failure> {
        let copied = |part: &PyBackedBytes| Bytes::copy_from_slice(part);
        let response = RecordedResponse::new(&self.method, &self.url, self.status, copied(&self.body));
        let sent_as = match (&self.raw, self.wire_length) {
            (Some(raw), _) => SentAs::Raw(copied(raw)),
            (None, Some(len)) => SentAs::Len(len),
            (None, None) if self.is_written => SentAs::Usual,
            (None, None) => SentAs::Identity,
        };
        let think = Duration::try_from_secs_f64(self.think_ms / 1e3);
        let think = think.map_err(|error| Failure::new(format!("{}: think_ms: {error}", self.url)))?;
        Ok(RecordedResponse {
            queries: if self.any_query { Queries::Any } else { Queries::Own },
            fields: self.fields.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect(),
            sent_as,
            think,
            ..response.map_err(Failure::from)?
        })
    }
}

/// The responses of a recording, for the servers of all its hosts.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct RecordedSite {
    pub(crate) site: Arc<loadstone_live::RecordedSite>,
}

#[pymethods]
impl RecordedSite {
    /// Makes it of responses in the order of recording.
    #[new]
    fn new(py: Python<'_>, responses: Vec<GivenResponse>) -> PyResult<RecordedSite> {
        let make = || {
            let responses = responses.iter().map(GivenResponse::response).collect::<Result<Vec<_>, _>>()?;
            Ok::<_, Failure>(RecordedSite { site: Arc::new(loadstone_live::RecordedSite::new(responses)) })
        };
        Ok(py.detach(make)?)
    }

    /// Its hosts, in the order of recording.
    #[getter]
    fn hosts(&self) -> Vec<String> {
        self.site.hosts().to_vec()
    }

    /// Counts from here on as if nothing had been asked for.
    fn restart(&self) {
        self.site.restart();
    }

    /// How requests were matched with what was recorded, as JSON.
    fn report_json(&self) -> String {
        let MatchReport { exact, by_query, by_shape, unmatched, not_recorded, unused, longer } = self.site.report();
        let longer = longer.iter().map(|LongerResponse { name, recorded, sent }| {
            json!({"request": name, "recorded_bytes": recorded, "sent_bytes": sent})
        });
        let report = json!({
            "exact": exact,
            "by_query": by_query,
            "by_shape": by_shape,
            "unmatched": unmatched,
            "not_recorded": not_recorded,
            "unused": unused,
            "longer": longer.collect::<Vec<_>>(),
        });
        report.to_string()
    }
}
