//! Scenarios and their runs.

use crate::error::Failure;
use loadstone_answer::{AccountMs, TimedRun};
use loadstone_http::Protocol;
use loadstone_load::page::Page;
use loadstone_net::Network;
use loadstone_scenario::columns::{self, Column, Value};
use loadstone_scenario::{CapturePoint, HostRole, Part, Plan, SNAP_LENGTH};
use loadstone_units::{Seed, Time};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The networks that have names, with what they stand for.
#[pyfunction]
pub(crate) fn networks() -> Vec<(&'static str, &'static str)> {
    Network::presets().collect()
}

/// The traces that a network in words follows, by the names that it gives them; none if it is no
/// network.
#[pyfunction]
pub(crate) fn traces_of(network: &str) -> Vec<String> {
    network.parse().map_or_else(|_| Vec::new(), |network: Network| network.traces().map(str::to_owned).collect())
}

/// A network whose round trip is this long, in ms, and by how much that is shorter; `None` if it is not.
#[pyfunction]
pub(crate) fn nearer_network(network: &str, rtt_ms: f64) -> PyResult<Option<(String, f64)>> {
    let network: Network = network.parse().map_err(Failure::from)?;
    let rtt = Duration::from_secs_f64(rtt_ms / 1e3);
    let shorter = (2 * network.propagation()).checked_sub(rtt).filter(|shorter| !shorter.is_zero());
    Ok(shorter.map(|shorter| (network.with_rtt(rtt).to_string(), shorter.as_secs_f64() * 1e3)))
}

/// The names of all protocols.
#[pyfunction]
pub(crate) fn protocols() -> Vec<&'static str> {
    Protocol::ALL.into_iter().map(Protocol::name).collect()
}

/// The names of the points at which packets are captured, the default first.
#[pyfunction]
pub(crate) fn capture_points() -> Vec<&'static str> {
    CapturePoint::ALL.into_iter().map(CapturePoint::name).collect()
}

/// What one run is, from JSON. It can be run any number of times, with any seed.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct Scenario {
    pub(crate) scenario: loadstone_scenario::Scenario,
    /// What all runs share.
    pub(crate) plan: Plan,
}

impl Scenario {
    fn planned(scenario: loadstone_scenario::Scenario) -> Result<Scenario, Failure> {
        let plan = Plan::new(&scenario)?;
        Ok(Scenario { scenario, plan })
    }
}

#[pymethods]
impl Scenario {
    #[new]
    fn new(py: Python<'_>, json: &str) -> PyResult<Scenario> {
        let scenario = py.detach(|| Scenario::planned(loadstone_scenario::Scenario::from_json(json.as_bytes())?))?;
        Ok(scenario)
    }

    /// A scenario of `page` with these settings, which are JSON: all that a scenario has besides.
    #[staticmethod]
    fn of(py: Python<'_>, page: &crate::page::Page, settings: &str) -> PyResult<Scenario> {
        let shared = &page.page;
        let scenario = py.detach(|| {
            Scenario::planned(loadstone_scenario::Scenario::of_page(shared.clone(), settings.as_bytes())?)
        })?;
        Ok(scenario)
    }

    /// The scenario as JSON, every field stated.
    fn to_json(&self) -> String {
        self.scenario.to_json()
    }

    /// The scenario without its page and its traces, as JSON.
    fn settings_json(&self) -> String {
        self.scenario.settings_json()
    }

    /// The round trip of its network, in ms, without what single hosts have in addition; `None` where a topology has
    /// several links.
    #[getter]
    fn rtt_ms(&self) -> Option<f64> {
        self.scenario.topology.is_none().then(|| ms(2 * self.scenario.network.propagation()))
    }

    /// Of how many loads its page was put together; `None` if of none.
    #[getter]
    fn page_loads(&self) -> Option<u32> {
        self.scenario.page.loads.map(|loads| loads.count)
    }

    /// Whether chance has a part in it, so that seeds differ.
    #[getter]
    fn is_random(&self) -> bool {
        self.plan.is_random()
    }
}

/// An account in ms by part.
pub(crate) fn account_dict<'py>(py: Python<'py>, account: &AccountMs) -> PyResult<Bound<'py, PyDict>> {
    let parts = PyDict::new(py);
    for (part, ms) in Part::ALL.into_iter().zip(account) {
        parts.set_item(part.name(), ms)?;
    }
    Ok(parts)
}

fn converted<'py>(py: Python<'py>, value: Value<'_>) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Missing => Ok(py.None().into_bound(py)),
        Value::Boolean(value) => value.into_bound_py_any(py),
        Value::Integer(value) => value.into_bound_py_any(py),
        Value::Number(value) => value.into_bound_py_any(py),
        Value::String(value) => value.into_bound_py_any(py),
    }
}

/// What one run gave.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct Outcome {
    outcome: loadstone_scenario::Outcome,
    page: Arc<Page>,
    /// What the run's other browsers gave: name, page load time in ms, whether it was completed.
    others: Vec<(String, f64, bool)>,
}

impl Outcome {
    /// What the browsers of a run gave, of which the first is told of in full.
    pub(crate) fn of(plan: &Plan, outcomes: Vec<loadstone_scenario::Outcome>) -> Outcome {
        let mut named = plan.hosts().iter().zip(outcomes);
        let (_, outcome) = named.next().expect("a plan has a browser");
        let others = named.map(|(host, other)| (host.name.clone(), other.plt.as_ms(), other.completed));
        Outcome { outcome, page: Arc::clone(first_page(plan)), others: others.collect() }
    }

    /// What answers are made of.
    pub(crate) fn timed(&self) -> TimedRun {
        let (outcome, completed) = (&self.outcome, self.outcome.completed);
        let account = completed.then(|| self.account_ms());
        TimedRun { seed: outcome.seed, plt_ms: completed.then(|| outcome.plt.as_ms()), account }
    }

    fn account_ms(&self) -> AccountMs {
        let account = self.outcome.account();
        Part::ALL.map(|part| Time::from_nanos(account.nanos(part)).as_ms())
    }

    fn table<'py>(&self, py: Python<'py>, columns: &[Column]) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        for column in columns {
            let values = (column.values)(&self.page, &self.outcome).into_iter();
            table.set_item(column.name, values.map(|value| converted(py, value)).collect::<PyResult<Vec<_>>>()?)?;
        }
        Ok(table)
    }
}

#[pymethods]
impl Outcome {
    /// The value of a column of `RUN`.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let column = columns::RUN.iter().find(|column| column.name == name);
        let column = column.ok_or_else(|| PyAttributeError::new_err(format!("an outcome has no '{name}'")))?;
        let values = (column.values)(&self.page, &self.outcome);
        converted(py, values[0])
    }

    /// What the other browsers of the run gave, where its topology has several: name, page load time in ms, whether
    /// it was completed.
    #[getter]
    fn others(&self) -> Vec<(String, f64, bool)> {
        self.others.clone()
    }

    /// The marks of every object as columns, in page order; `None` where something did not happen.
    fn waterfall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.table(py, columns::WATERFALL)
    }

    /// What the page load time went into, in ms by part; `None` if the load was not completed.
    fn account<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        if !self.outcome.completed {
            return Ok(None);
        }
        Ok(Some(account_dict(py, &self.account_ms())?))
    }

    /// The critical path as columns, from the start to the page load time without gaps; empty if the
    /// load was not completed.
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.table(py, columns::PATH)
    }

    /// How the machine behaved during a run over the real kernel, spans in ms; `None` for a run in
    /// virtual time.
    fn conditions<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(conditions) = &self.outcome.conditions else { return Ok(None) };
        let fields = PyDict::new(py);
        fields.set_item("kernel", &conditions.kernel)?;
        fields.set_item("paused_ms", ms(conditions.paused))?;
        fields.set_item("pauses", conditions.pauses)?;
        fields.set_item("late_median_ms", ms(conditions.late_median))?;
        fields.set_item("late_p90_ms", ms(conditions.late_p90))?;
        fields.set_item("late_worst_ms", ms(conditions.late_worst))?;
        Ok(Some(fields))
    }

    /// The packets of a run of which they were asked for, as a table in CSV, and how many there were beyond
    /// those; `None` for any other run.
    fn capture(&self, py: Python<'_>) -> Option<(String, u64)> {
        let capture = self.outcome.capture.as_ref()?;
        Some((py.detach(|| capture.csv()), capture.left_out))
    }

    /// The same packets as a file in pcapng, as they are seen at a point, with so many bytes of each at most, and how many there
    /// were beyond those.
    #[pyo3(signature = (point, snap_length = None))]
    fn pcapng<'py>(
        &self,
        py: Python<'py>,
        point: &str,
        snap_length: Option<u32>,
    ) -> PyResult<Option<(Bound<'py, PyBytes>, u64)>> {
        let Some(capture) = self.outcome.capture.as_ref() else { return Ok(None) };
        let point: CapturePoint = point.parse().map_err(Failure::from)?;
        let snap_length = snap_length.unwrap_or(SNAP_LENGTH);
        let mut file = Vec::new();
        py.detach(|| capture.write_pcapng(point, snap_length, &mut file)).expect("memory takes what is written");
        Ok(Some((PyBytes::new(py, &file), capture.left_out)))
    }

    /// The same packets as qlog, as both ends of each connection see them, and how many there were beyond those.
    fn qlog<'py>(&self, py: Python<'py>) -> Option<(Bound<'py, PyBytes>, u64)> {
        let capture = self.outcome.capture.as_ref()?;
        let mut file = Vec::new();
        py.detach(|| capture.write_qlog(&mut file)).expect("memory takes what is written");
        Some((PyBytes::new(py, &file), capture.left_out))
    }

    /// How TCP fared on the connection that brought most, as JSON, of a run of which packets were asked for; `None`
    /// for any other run, or if nothing came.
    fn timeline_json(&self, py: Python<'_>) -> Option<String> {
        let capture = self.outcome.capture.as_ref()?;
        py.detach(|| capture.timeline())
            .map(|timeline| serde_json::to_string(&timeline).expect("a timeline has only numbers and text"))
    }

    /// What each connection was used for as columns, in the order of opening.
    fn connection_table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.table(py, columns::CONNECTIONS)
    }
}

/// The columns of an outcome's tables, as JSON: names, kinds, units, what they are.
#[pyfunction]
pub(crate) fn columns_json() -> PyResult<String> {
    let tables: BTreeMap<_, _> = columns::TABLES.into_iter().collect();
    Ok(serde_json::to_string(&tables).map_err(Failure::from)?)
}

/// The options that set fields of a scenario, as JSON.
#[pyfunction]
pub(crate) fn scenario_options_json() -> PyResult<String> {
    Ok(serde_json::to_string(&loadstone_scenario::Scenario::options()).map_err(Failure::from)?)
}

/// What a scenario may say, as a JSON schema.
#[pyfunction]
pub(crate) fn scenario_schema_json() -> PyResult<String> {
    Ok(serde_json::to_string(&loadstone_scenario::Scenario::schema()).map_err(Failure::from)?)
}

/// The page that the first browser loads.
fn first_page(plan: &Plan) -> &Arc<Page> {
    match plan.hosts()[0].role {
        HostRole::Browser { page } => plan.page_at(page),
        HostRole::EarlierBrowser { .. } | HostRole::Relay | HostRole::Origin { .. } => {
            unreachable!("browsers come first")
        }
    }
}

/// Spans in ms, as the rest of an outcome.
fn ms(span: Duration) -> f64 {
    Time::from_nanos(span.as_nanos() as u64).as_ms()
}

/// Runs each scenario with its seed, on `threads` threads (all cores if it is left out). The
/// outcomes come in the order of the jobs and do not depend on the number of threads. With `packets` that
/// many packets of each run are captured, the first ones.
#[pyfunction]
#[pyo3(signature = (jobs, threads=None, packets=None))]
pub(crate) fn run_many(
    py: Python<'_>,
    jobs: Vec<(Py<Scenario>, u64)>,
    threads: Option<usize>,
    packets: Option<usize>,
) -> PyResult<Vec<Outcome>> {
    let outcomes = py.detach(|| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build()?;
        let run = |(scenario, seed): &(Py<Scenario>, u64)| {
            let (plan, seed) = (&scenario.get().plan, Seed(*seed));
            Outcome::of(plan, loadstone_sim::run_all(plan, seed, packets))
        };
        Ok::<_, Failure>(pool.install(|| jobs.par_iter().map(run).collect()))
    })?;
    Ok(outcomes)
}
