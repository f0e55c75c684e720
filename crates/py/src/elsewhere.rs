//! What stands in for sockets and the kernel on systems other than Linux: it says that it is not there.
//!
//! The drivers wait, look into sockets and open files by Linux's own system calls.

use crate::error::Failure;
use crate::run::{Outcome, Scenario};
use pyo3::prelude::*;

const WHY: &str = "this needs Linux, whose system calls it uses: run it there, in a virtual machine or in a container";

fn refused<T>() -> PyResult<T> {
    Err(Failure::new(WHY.to_owned()).into())
}

/// Why this process may not run scenarios over the kernel.
#[pyfunction]
pub(crate) fn live_access() -> Option<String> {
    Some(WHY.to_owned())
}

/// The options that set fields of a server's settings, as JSON: none.
#[pyfunction]
pub(crate) fn server_options_json() -> &'static str {
    "[]"
}

/// The options that set fields of an edge's settings, as JSON: none.
#[pyfunction]
pub(crate) fn edge_options_json() -> &'static str {
    "[]"
}

/// Stops nothing.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct Stopper;

#[pymethods]
impl Stopper {
    #[new]
    fn new() -> Stopper {
        Stopper
    }

    /// Stops nothing.
    fn stop(&self) {}
}

/// No site.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct RecordedSite;

#[pymethods]
impl RecordedSite {
    #[new]
    fn new(_responses: Vec<Bound<'_, PyAny>>) -> PyResult<RecordedSite> {
        refused()
    }
}

/// Loads from no servers.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct Replayer;

#[pymethods]
impl Replayer {
    #[new]
    #[pyo3(signature = (scenario, wanted, stopper, cacert=None))]
    #[allow(unused_variables)]
    fn new(scenario: &Scenario, wanted: &str, stopper: &Stopper, cacert: Option<Vec<u8>>) -> PyResult<Replayer> {
        refused()
    }
}

/// No server.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct Server;

#[pymethods]
impl Server {
    #[new]
    #[pyo3(signature = (json, site=None))]
    #[allow(unused_variables)]
    fn new(json: &str, site: Option<&RecordedSite>) -> PyResult<Server> {
        refused()
    }

    /// No edge.
    #[staticmethod]
    #[allow(unused_variables)]
    fn edge(file: Option<String>, origins: Vec<String>, given: &str) -> PyResult<Server> {
        refused()
    }
}

/// No bed.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct CommandBed;

#[pymethods]
impl CommandBed {
    #[new]
    #[pyo3(signature = (scenario, serves=true, capture=None, site=None, manifest=None, hints=false))]
    #[allow(unused_variables)]
    fn new(
        scenario: &Scenario,
        serves: bool,
        capture: Option<String>,
        site: Option<&RecordedSite>,
        manifest: Option<&str>,
        hints: bool,
    ) -> PyResult<CommandBed> {
        refused()
    }
}

/// No command.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct BedCommand;

/// What came of no fetch.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct Fetch;

/// Fetches nothing.
#[pyfunction]
#[pyo3(signature = (wanted, stopper, data=None, cacert=None))]
#[allow(unused_variables)]
pub(crate) fn fetch(
    wanted: &str,
    stopper: &Stopper,
    data: Option<Vec<u8>>,
    cacert: Option<Vec<u8>>,
) -> PyResult<Fetch> {
    refused()
}

/// Sees no windows.
#[pyfunction]
#[allow(unused_variables)]
pub(crate) fn probe_windows(wanted: &str, stopper: &Stopper) -> PyResult<String> {
    refused()
}

/// Runs nothing.
#[pyfunction]
#[pyo3(signature = (scenario, seed, stopper=None, *, machine_wide_beta=false, packets=None))]
#[allow(unused_variables)]
pub(crate) fn run_live(
    scenario: &Scenario,
    seed: u64,
    stopper: Option<&Stopper>,
    machine_wide_beta: bool,
    packets: Option<usize>,
) -> PyResult<Outcome> {
    refused()
}
