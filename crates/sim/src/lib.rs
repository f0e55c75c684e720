//! Page loads in virtual time: [`run`] carries out a scenario's [`Plan`] and returns an [`Outcome`].
//!
//! The same scenario and seed give the same outcome, bit for bit, on every machine.
//!
//! ```
//! use loadstone_scenario::{Plan, Scenario};
//! use loadstone_units::Seed;
//!
//! let scenario = Scenario::from_json(
//!     br#"{"page": {"objects": [{"url": "http://a.test/", "bytes": 1000}]}, "network": "1000mbit,100ms"}"#,
//! ).unwrap();
//! let outcome = loadstone_sim::run(&Plan::new(&scenario).unwrap(), Seed(1));
//! // One round trip for the handshake, one for the request, 0.2 ms of the browser's and of the server's; a
//! // packet takes next to nothing.
//! assert!((200.4..200.5).contains(&outcome.plt.as_ms()));
//! ```
//!
//! Read `world` for how it goes. Elsewhere: everything that decides anything. **Invariant:** no
//! protocol, queue or browser rule stands here; this crate only passes bytes, packets and time
//! between machines.

mod connection;
mod deadline_queue;
mod host;
mod outcome;
mod packet;
mod tcp;
mod transport;
mod visit;
mod world;

use loadstone_load::Marks;
use loadstone_scenario::{Outcome, Plan};
use loadstone_units::Seed;

/// Carries out a scenario in virtual time, with `seed` instead of the one that it names. Returns the outcome of its
/// first browser.
pub fn run(plan: &Plan, seed: Seed) -> Outcome {
    first(run_all(plan, seed, None))
}

/// Carries out a scenario like [`run`], and captures its first packets, at most `capture_limit`.
pub fn run_captured(plan: &Plan, seed: Seed, capture_limit: usize) -> Outcome {
    first(run_all(plan, seed, Some(capture_limit)))
}

/// Carries out a scenario until all its browsers have ended. Returns the outcome of each, in their order; with
/// `capture_limit` the first has the first packets of the run, at most that many.
pub fn run_all(plan: &Plan, seed: Seed, capture_limit: Option<usize>) -> Vec<Outcome> {
    let mut world = world::World::new(plan, seed, capture_limit);
    world.load();
    outcome::outcomes(world, seed).into_iter().map(|(outcome, _)| outcome).collect()
}

/// Carries out a scenario like [`run`]. Returns also all that the browser has noted of its load.
pub fn run_marked(plan: &Plan, seed: Seed) -> (Outcome, Marks) {
    let mut world = world::World::new(plan, seed, None);
    world.load();
    let (outcome, marks) = outcome::outcomes(world, seed).into_iter().next().expect("a plan has a browser");
    let rows = outcome.waterfall.clone();
    (outcome, Marks { rows, ..marks })
}

fn first(outcomes: Vec<Outcome>) -> Outcome {
    outcomes.into_iter().next().expect("a plan has a browser")
}
