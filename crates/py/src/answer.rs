//! Statistics of runs.

use crate::error::Failure;
use loadstone_answer::{CONFIDENCE, Draws, Pairing, RESAMPLES};
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// The weights of the seeds that were last asked for, the latest last: they are the same for many gains.
static KNOWN: Mutex<Vec<((u64, usize), Draws)>> = Mutex::new(Vec::new());
const MOST_KNOWN: usize = 4;

/// Asks with these weights. They are taken out meanwhile: threads do not wait for one another, but make their own.
pub(crate) fn with_draws<T>(seed: u64, resamples: usize, ask: impl FnOnce(&mut Draws) -> T) -> T {
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (seed, resamples);
    let take = |known: &mut Vec<_>| known.iter().position(|(other, _)| *other == key).map(|at| known.remove(at));
    let mut draws = take(&mut known()).map_or_else(|| Draws::of(seed, resamples), |(_, draws)| draws);
    let result = ask(&mut draws);
    let mut known = known();
    if known.len() == MOST_KNOWN {
        known.remove(0);
    }
    known.push((key, draws));
    result
}

/// How much faster a variant is: the baseline's median over the variant's, above 1 is faster.
#[pyclass(frozen, eq, get_all, from_py_object, module = "loadstone._native")]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Gain {
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
    is_exact: bool,
    saved: Option<f64>,
}

impl From<loadstone_answer::Gain> for Gain {
    fn from(gain: loadstone_answer::Gain) -> Gain {
        let loadstone_answer::Gain { ratio, interval, is_exact, saved } = gain;
        Gain { ratio, low: interval.map(|(low, _)| low), high: interval.map(|(_, high)| high), is_exact, saved }
    }
}

impl Gain {
    fn answer(&self) -> loadstone_answer::Gain {
        let &Gain { ratio, low, high, is_exact, saved } = self;
        loadstone_answer::Gain { ratio, interval: low.zip(high), is_exact, saved }
    }
}

#[pymethods]
impl Gain {
    #[new]
    #[pyo3(signature = (ratio, low=None, high=None, is_exact=false, saved=None))]
    fn new(ratio: f64, low: Option<f64>, high: Option<f64>, is_exact: bool, saved: Option<f64>) -> Gain {
        Gain { ratio, low, high, is_exact, saved }
    }

    /// Whether there is no doubt about the direction.
    #[getter]
    fn is_clear(&self) -> bool {
        self.answer().is_clear()
    }

    /// Half of the interval relative to the gain, 0.01 for 1 %; 0 if it is exact.
    #[getter]
    fn half_width(&self) -> Option<f64> {
        self.answer().half_width()
    }

    /// How much faster sessions of one page are than others, by a time in ms of each; `None` where a side has none.
    #[staticmethod]
    fn of_sessions(baseline: Vec<f64>, variant: Vec<f64>) -> Option<Gain> {
        loadstone_answer::Gain::of_sessions(&baseline, &variant).map(Gain::from)
    }

    fn __repr__(&self) -> String {
        let Gain { ratio, low, high, is_exact, .. } = self;
        format!("Gain(ratio={ratio}, low={low:?}, high={high:?}, is_exact={is_exact})")
    }
}

/// One variant's gains on several pages.
#[pyclass(frozen, eq, get_all, module = "loadstone._native")]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct OverPages {
    gain: Gain,
    least: f64,
    most: f64,
    faster: usize,
    slower: usize,
}

#[pymethods]
impl OverPages {
    /// Sums up the gains on each page; `None` where there are none.
    #[staticmethod]
    fn of(gains: Vec<Gain>) -> Option<OverPages> {
        let gains: Vec<_> = gains.iter().map(Gain::answer).collect();
        let loadstone_answer::OverPages { gain, least, most, faster, slower } =
            loadstone_answer::OverPages::of(&gains)?;
        Some(OverPages { gain: gain.into(), least, most, faster, slower })
    }
}

/// What the medians of both sides might have been.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct Resampled {
    resampled: loadstone_answer::Resampled,
    seed: u64,
    resamples: usize,
}

fn pairing(paired: bool, places: Option<Vec<usize>>, runs: usize) -> Pairing {
    match (paired, places) {
        (false, _) => Pairing::Apart,
        (true, Some(places)) => Pairing::SameSeeds(places),
        (true, None) => Pairing::same_seeds(runs),
    }
}

#[pymethods]
impl Resampled {
    /// Draws the medians of both sides again, of times in ms; pairs keep together, each drawn by its place among all
    /// seeds.
    #[new]
    #[pyo3(signature = (baseline, variant, seed, *, paired, places=None, resamples=RESAMPLES))]
    fn new(
        py: Python<'_>,
        baseline: Vec<f64>,
        variant: Vec<f64>,
        seed: u64,
        paired: bool,
        places: Option<Vec<usize>>,
        resamples: usize,
    ) -> PyResult<Resampled> {
        let pairing = pairing(paired, places, baseline.len());
        let resampled =
            py.detach(|| with_draws(seed, resamples, |draws| draws.resample(&baseline, &variant, &pairing)));
        Ok(Resampled { resampled: resampled.map_err(Failure::from)?, seed, resamples })
    }

    /// Ln of the baseline's median, draw by draw.
    #[getter]
    fn baseline(&self) -> Vec<f64> {
        self.resampled.baseline().to_vec()
    }

    /// Ln of the variant's median, draw by draw.
    #[getter]
    fn variant(&self) -> Vec<f64> {
        self.resampled.variant().to_vec()
    }

    /// The ends of the interval of ln of the gain.
    fn interval(&self, confidence: f64) -> (f64, f64) {
        self.resampled.interval(confidence)
    }

    /// Ln of the gain in the first `count` draws, such that their quantiles are the ends of intervals.
    fn ln_gains(&self, py: Python<'_>, count: usize) -> Vec<f64> {
        py.detach(|| with_draws(self.seed, self.resamples, |draws| draws.ln_gains(&self.resampled, count)))
    }

    /// The share of the variance of ln gain that pairing saved.
    fn saved(&self) -> Option<f64> {
        self.resampled.saved()
    }

    /// How alike both sides spread.
    fn balance(&self) -> f64 {
        self.resampled.balance()
    }
}

/// Compares two variants by their times in ms; `None` where one has none. With the gain come the draws of which its
/// interval is, if it has one.
#[pyfunction]
#[pyo3(signature = (baseline, variant, seed, *, random, paired=true, confidence=CONFIDENCE, places=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn gain(
    py: Python<'_>,
    baseline: Vec<f64>,
    variant: Vec<f64>,
    seed: u64,
    random: bool,
    paired: bool,
    confidence: f64,
    places: Option<Vec<usize>>,
) -> PyResult<Option<(Gain, Option<Resampled>)>> {
    if !random {
        return Ok(loadstone_answer::Gain::exact(&baseline, &variant).map(|gain| (gain.into(), None)));
    }
    let pairing = pairing(paired, places, baseline.len());
    let compared = py.detach(|| {
        with_draws(seed, RESAMPLES, |draws| {
            loadstone_answer::Gain::of(&baseline, &variant, &pairing, draws, confidence)
        })
    });
    Ok(compared.map_err(Failure::from)?.map(|(gain, resampled)| {
        (gain.into(), resampled.map(|resampled| Resampled { resampled, seed, resamples: RESAMPLES }))
    }))
}

/// In how many pairs of loads, one of each side, the variant is faster, and whether chance does that.
#[pyclass(frozen, eq, get_all, module = "loadstone._native")]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Ranks {
    pairs: usize,
    is_paired: bool,
    faster: usize,
    slower: usize,
    p_value: f64,
    share_faster: f64,
}

impl From<loadstone_answer::Ranks> for Ranks {
    fn from(ranks: loadstone_answer::Ranks) -> Ranks {
        let loadstone_answer::Ranks { pairs, is_paired, faster, slower, p_value } = ranks;
        Ranks { pairs, is_paired, faster, slower, p_value, share_faster: ranks.share_faster() }
    }
}

/// Compares times in ms rank by rank; `None` where a side has none.
#[pyfunction]
#[pyo3(signature = (baseline, variant, *, paired=true))]
pub(crate) fn rank_test(baseline: Vec<f64>, variant: Vec<f64>, paired: bool) -> Option<Ranks> {
    let compare = if paired { loadstone_answer::Ranks::of_pairs } else { loadstone_answer::Ranks::of_sides };
    compare(&baseline, &variant).map(Ranks::from)
}

/// Times of one kind in ms.
#[pyclass(frozen, eq, get_all, module = "loadstone._native")]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Summary {
    count: usize,
    median: f64,
    mean: f64,
    geometric_mean: f64,
    least: f64,
    p10: f64,
    p25: f64,
    p75: f64,
    p90: f64,
    p95: f64,
    most: f64,
}

#[pymethods]
impl Summary {
    /// Summarises times in ms, which are above 0; `None` where there are none.
    #[staticmethod]
    fn of(times: Vec<f64>) -> Option<Summary> {
        let summary = loadstone_answer::TimeSummary::of(&times)?;
        let loadstone_answer::TimeSummary { count, median, mean, geometric_mean, least, most, .. } = summary;
        let loadstone_answer::TimeSummary { p10, p25, p75, p90, p95, .. } = summary;
        Some(Summary { count, median, mean, geometric_mean, least, p10, p25, p75, p90, p95, most })
    }
}
