//! Page loads in virtual time: [`run`] carries out a scenario's [`Plan`] and gives an [`Outcome`].
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

mod alarms;
mod connection;
mod host;
mod outcome;
mod parcel;
mod tcp;
mod transport;
mod world;

use loadstone_scenario::{Outcome, Plan};
use loadstone_units::Seed;

/// Carries out a scenario in virtual time, with `seed` instead of the one that it names: what its browser gave, or
/// the first of them.
pub fn run(plan: &Plan, seed: Seed) -> Outcome {
    first(run_all(plan, seed, None))
}

/// Carries out a scenario like [`run`], and gives its first packets as well, `limit` at most.
pub fn run_captured(plan: &Plan, seed: Seed, limit: usize) -> Outcome {
    first(run_all(plan, seed, Some(limit)))
}

/// Carries out a scenario until all its browsers have ended: what each of them gave, in their order. The first has
/// the first packets of the run, `noted` of them, if that is wanted.
pub fn run_all(plan: &Plan, seed: Seed, noted: Option<usize>) -> Vec<Outcome> {
    let mut world = world::World::new(plan, seed, noted);
    world.load();
    outcome::outcomes(world, seed)
}

fn first(outcomes: Vec<Outcome>) -> Outcome {
    outcomes.into_iter().next().expect("a plan has a browser")
}
