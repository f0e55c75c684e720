//! Variants compared.

use crate::answer::{Gain, Ranks, with_draws};
use crate::error::Failure;
use crate::run::{Outcome, account_dict};
use loadstone_answer::{AccountMs, CONFIDENCE, Contender, RESAMPLES, TimedRun};
use loadstone_scenario::Part;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;

/// What there is to be said of the parts of an account, in their order: name, label, how time is spent in it, what
/// happens in it.
#[pyfunction]
pub(crate) fn account_parts() -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
    Part::ALL.map(|part| (part.name(), part.label(), part.spent(), part.meaning())).to_vec()
}

/// A variant, compared with the baseline.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct Compared {
    #[pyo3(get)]
    completed: usize,
    #[pyo3(get)]
    median_plt_ms: Option<f64>,
    #[pyo3(get)]
    middle: Option<usize>,
    #[pyo3(get)]
    gain: Option<Gain>,
    #[pyo3(get)]
    ranks: Option<Ranks>,
    #[pyo3(get)]
    effect: Option<String>,
    account: Option<AccountMs>,
}

#[pymethods]
impl Compared {
    /// What the median run's time went into, in ms by part.
    #[getter]
    fn account<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.account.as_ref().map(|account| account_dict(py, account)).transpose()
    }
}

/// Variants of one load, compared.
#[pyclass(frozen, get_all, module = "loadstone._native")]
pub(crate) struct Comparison {
    variants: Vec<Py<Compared>>,
    fastest: Option<usize>,
    equals: Vec<usize>,
    rivals: Vec<usize>,
    is_alike: bool,
    best: Option<usize>,
    verdict: String,
    reason: Option<String>,
}

/// A run: an outcome, or whatever has an outcome's `seed`, `completed`, `plt_ms` and `account()`.
pub(crate) struct Run(TimedRun);

impl<'a, 'py> FromPyObject<'a, 'py> for Run {
    type Error = PyErr;

    fn extract(run: Borrowed<'a, 'py, PyAny>) -> PyResult<Run> {
        if let Ok(outcome) = run.cast::<Outcome>() {
            return Ok(Run(outcome.get().timed()));
        }
        let completed: bool = run.getattr("completed")?.extract()?;
        let plt_ms = if completed { Some(run.getattr("plt_ms")?.extract()?) } else { None };
        let parts: Option<BTreeMap<String, f64>> =
            if completed { run.call_method0("account")?.extract()? } else { None };
        let ms = |parts: &BTreeMap<String, f64>| Part::ALL.map(|part| parts.get(part.name()).copied().unwrap_or(0.0));
        Ok(Run(TimedRun { seed: run.getattr("seed")?.extract()?, plt_ms, account: parts.as_ref().map(ms) }))
    }
}

/// Compares variants, the first of which is the baseline: each its name, its protocol and its runs, in the same order of
/// seeds.
#[pyfunction]
#[pyo3(signature = (variants, seed, *, random, confidence=CONFIDENCE))]
pub(crate) fn compare(
    py: Python<'_>,
    variants: Vec<(String, String, Vec<Run>)>,
    seed: u64,
    random: bool,
    confidence: f64,
) -> PyResult<Comparison> {
    let contender = |(name, protocol, runs): (String, String, Vec<Run>)| {
        let runs = runs.into_iter().map(|Run(run)| run).collect();
        Contender { name, protocol, runs }
    };
    let contenders: Vec<Contender> = variants.into_iter().map(contender).collect();
    let compared = py.detach(|| {
        if random {
            with_draws(seed, RESAMPLES, |draws| loadstone_answer::Comparison::of(&contenders, Some(draws), confidence))
        } else {
            loadstone_answer::Comparison::of(&contenders, None, confidence)
        }
    });
    let loadstone_answer::Comparison { variants, fastest, equals, rivals, is_alike, best, verdict, reason } =
        compared.map_err(Failure::from)?;
    let compared = |variant: loadstone_answer::Compared| {
        let loadstone_answer::Compared { completed, median_ms, middle, account, gain, ranks, effect, .. } = variant;
        let (gain, ranks) = (gain.map(Gain::from), ranks.map(Ranks::from));
        Py::new(py, Compared { completed, median_plt_ms: median_ms, middle, gain, ranks, effect, account })
    };
    let variants = variants.into_iter().map(compared).collect::<PyResult<_>>()?;
    Ok(Comparison { variants, fastest, equals, rivals, is_alike, best, verdict, reason })
}
