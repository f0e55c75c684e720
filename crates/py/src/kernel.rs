//! Runs over the kernel, on Linux.

use crate::error::Failure;
use crate::run::{Outcome, Scenario};
use loadstone_bed::{BackOff, Stop};
use loadstone_units::Seed;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Why this process may not run scenarios over the kernel, in one sentence with the remedy; `None` if it
/// may. A process without privileges is made root of namespaces of its own first, which it has to be
/// before it starts threads.
#[pyfunction]
pub(crate) fn live_access() -> Option<String> {
    loadstone_bed::enter().and_then(|()| loadstone_bed::access()).err().map(|refusal| refusal.to_string())
}

/// Stops runs over the kernel that were given it, from any thread.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct Stopper {
    /// Gone when it has stopped them.
    stopper: Mutex<Option<loadstone_bed::Stopper>>,
    pub(crate) stop: Stop,
}

impl Stopper {
    /// The signal by which it stops its holders.
    pub(crate) fn signal(&self) -> &Stop {
        &self.stop
    }
}

#[pymethods]
impl Stopper {
    #[new]
    fn new() -> Stopper {
        let (stopper, stop) = loadstone_bed::Stopper::new();
        Stopper { stopper: Mutex::new(Some(stopper)), stop }
    }

    /// Stops them; those that begin later stop at once.
    fn stop(&self) {
        self.stopper.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Runs a scenario with this seed over the kernel, which takes as long as the load does, or until
/// `stopper` stops it, which is an error. `machine_wide_beta` lets connections behave like several flows
/// by CUBIC's beta, which changes for the whole machine meanwhile. With `packets` that many packets
/// are captured, the first ones.
#[pyfunction]
#[pyo3(signature = (scenario, seed, stopper=None, *, machine_wide_beta=false, packets=None))]
pub(crate) fn run_live(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    stopper: Option<&Stopper>,
    machine_wide_beta: bool,
    packets: Option<usize>,
) -> PyResult<Outcome> {
    let never = Stopper::new();
    let (plan, seed, stop) = (&scenario.plan, Seed(seed), &stopper.unwrap_or(&never).stop);
    let back_off = if machine_wide_beta { BackOff::MachineWide } else { BackOff::Own };
    let run = || loadstone_bed::run_all(plan, seed, back_off, stop, packets);
    let outcomes = py.detach(|| run().map_err(Failure::from))?;
    Ok(Outcome::of(plan, outcomes))
}
