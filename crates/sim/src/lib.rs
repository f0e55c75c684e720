//! Page loads in virtual time: [`Plan::run`] carries out a [`Scenario`] and gives an [`Outcome`].
//!
//! The same scenario and seed give the same outcome, bit for bit, on every machine.
//!
//! ```
//! use loadstone_scenario::Scenario;
//! use loadstone_sim::Plan;
//! use loadstone_units::Seed;
//!
//! let scenario = Scenario::from_json(
//!     br#"{"page": {"objects": [{"url": "http://a.test/", "bytes": 1000}]}, "network": "1000mbit,100ms"}"#,
//! ).unwrap();
//! let outcome = Plan::new(&scenario).unwrap().run(Seed(1));
//! // One round trip for the handshake, one for the request; a packet takes next to nothing.
//! assert!((200.0..200.1).contains(&outcome.plt.as_ms()));
//! ```
//!
//! Read `world` for how it goes. Elsewhere: everything that decides anything. **Invariant:** no
//! protocol, queue or browser rule stands here; this crate only passes bytes, packets and time
//! between machines.

mod alarms;
mod connection;
mod detour;
mod plan;
mod world;

pub use plan::{Plan, RunError};
