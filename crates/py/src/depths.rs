//! What an author sees of a page and of one load of it, object by object.

use crate::error::Failure;
use crate::run::Scenario;
use loadstone_load::page::{ObjectDepth, Page, depths};
use loadstone_load::{ActivitySpan, PathLeg, activity_spans, announced, path_legs};
use loadstone_scenario::Outcome;
use loadstone_units::{Seed, Time};
use pyo3::prelude::*;
use serde::Serialize;
use std::collections::BTreeSet;
use std::time::Duration;

#[derive(Serialize)]
struct LoadDepths<'a> {
    completed: bool,
    plt_ms: f64,
    objects: Vec<ObjectRow<'a>>,
    critical_path: Vec<LegRow<'a>>,
}

#[derive(Serialize)]
struct ObjectRow<'a> {
    name: &'a str,
    kind: &'a str,
    bytes: u64,
    level: usize,
    depth: usize,
    found_ms: Option<f64>,
    to_finish_ms: Option<f64>,
    slack_ms: Option<f64>,
    on_critical_path: bool,
}

#[derive(Serialize)]
struct LegRow<'a> {
    name: &'a str,
    from_ms: f64,
    to_ms: f64,
    network_ms: f64,
    computing_ms: f64,
    waiting_ms: f64,
}

/// Loads a page once and gives, as JSON, level, depth, time to finish and slack of each of its objects, and the
/// critical path.
#[pyfunction]
pub(crate) fn load_depths(py: Python<'_>, scenario: &Scenario, seed: u64) -> PyResult<String> {
    let json = py.detach(|| {
        let (outcome, marks) = loadstone_sim::run_marked(&scenario.plan, Seed(seed));
        let page = scenario.plan.page();
        let spans = activity_spans(page, &marks, outcome.plt);
        let depths = depths(page);
        serde_json::to_string(&LoadDepths::of(page, &outcome, &spans, &depths))
    });
    Ok(json.map_err(Failure::from)?)
}

/// What the servers of a scenario push or hint at with which response, as JSON: a manifest for `serve`.
#[pyfunction]
pub(crate) fn manifest_json(py: Python<'_>, scenario: &Scenario) -> PyResult<String> {
    let announced = py.detach(|| announced(scenario.plan.page(), scenario.plan.variant().foresight));
    Ok(serde_json::to_string(&announced).map_err(Failure::from)?)
}

impl<'a> LoadDepths<'a> {
    fn of(page: &'a Page, outcome: &Outcome, spans: &[ActivitySpan], depths: &[ObjectDepth]) -> LoadDepths<'a> {
        let on_path: BTreeSet<u32> = outcome.path.iter().map(|span| span.activity.0).collect();
        let found = |at: usize| spans[at].began.filter(|found| *found <= outcome.plt);
        let fetches = page.fetches().zip(depths).enumerate();
        let objects = fetches.map(|(at, ((activity, fetch), depth))| ObjectRow {
            name: &activity.name,
            kind: &fetch.kind,
            bytes: fetch.body.len,
            level: depth.level,
            depth: depth.depth,
            found_ms: spans[at].began.map(Time::as_ms),
            to_finish_ms: found(at).map(|found| Time::from_nanos(outcome.plt.nanos_since(found)).as_ms()),
            slack_ms: spans[at].slack.map(ms),
            on_critical_path: on_path.contains(&(at as u32)),
        });
        let legs = path_legs(&outcome.path, spans, page).into_iter();
        LoadDepths {
            completed: outcome.completed,
            plt_ms: outcome.plt.as_ms(),
            objects: objects.collect(),
            critical_path: legs.map(|leg| LegRow::of(page, leg)).collect(),
        }
    }
}

impl<'a> LegRow<'a> {
    fn of(page: &'a Page, leg: PathLeg) -> LegRow<'a> {
        LegRow {
            name: &page.activities[leg.activity].name,
            from_ms: leg.from.as_ms(),
            to_ms: leg.to.as_ms(),
            network_ms: ms(leg.network),
            computing_ms: ms(leg.computing),
            waiting_ms: ms(leg.waiting),
        }
    }
}

fn ms(span: Duration) -> f64 {
    Time::from_nanos(span.as_nanos() as u64).as_ms()
}
