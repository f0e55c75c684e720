//! Tables of packets, and where two of them diverge.

use crate::error::Failure;
use pyo3::prelude::*;

/// A table that a run's `capture` gave.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct CaptureTable {
    table: loadstone_scenario::CaptureTable,
}

#[pymethods]
impl CaptureTable {
    #[new]
    fn new(py: Python<'_>, data: &[u8]) -> PyResult<CaptureTable> {
        let table = py.detach(|| loadstone_scenario::CaptureTable::read(data)).map_err(Failure::from)?;
        Ok(CaptureTable { table })
    }

    /// The first packet that the other one has not alike, as JSON, with as many of its connection before and after
    /// it as `around` says. Times may differ by `tolerance_ms`.
    fn compare_json(&self, py: Python<'_>, other: &CaptureTable, tolerance_ms: f64, around: usize) -> PyResult<String> {
        let text = py.detach(|| {
            let compared = loadstone_scenario::CaptureComparison::new(&self.table, &other.table, tolerance_ms, around);
            serde_json::to_string(&compared)
        });
        Ok(text.map_err(Failure::from)?)
    }
}
