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
//! let outcome = loadstone_sim::run(&Plan::new(&scenario).unwrap(), Seed(1)).unwrap();
//! // One round trip for the handshake, one for the request, 0.2 ms of the browser's and of the server's; a
//! // packet takes next to nothing.
//! assert!((200.4..200.5).contains(&outcome.plt.as_ms()));
//! ```
//!
//! Read `world` for how it goes. Elsewhere: everything that decides anything. **Invariant:** no
//! protocol, queue or browser rule stands here; this crate only passes bytes, packets and time
//! between machines.

mod access;
mod alarms;
mod connection;
mod world;

use loadstone_scenario::{Outcome, Plan, ScenarioError};
use loadstone_units::Seed;

/// Carries out a scenario in virtual time, with `seed` instead of the one that it names.
///
/// # Errors
/// If the scenario asks for what the simulator has no model of. At present there is no such thing.
pub fn run(plan: &Plan, seed: Seed) -> Result<Outcome, ScenarioError> {
    Ok(world::World::new(plan, seed, None).run(seed))
}

/// Carries out a scenario like [`run`], and gives the first packets of it as well, `limit` at most.
///
/// # Errors
/// As for [`run`].
pub fn run_captured(plan: &Plan, seed: Seed, limit: usize) -> Result<Outcome, ScenarioError> {
    Ok(world::World::new(plan, seed, Some(limit)).run(seed))
}
