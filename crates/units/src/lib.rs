//! The quantities everything else is written in: [`Time`] of a run, [`Rate`] of a link,
//! [`Probability`] of a loss, and [`Seed`], from which every random decision draws by name; and how they are read,
//! from words ([`parse`]) and from JSON ([`json`]).
//!
//! Read first: [`Time`], [`Rate`], [`Seed`]. Elsewhere: what the quantities describe (crate `net`).
//!
//! ```
//! use loadstone_units::{Rate, Seed, Time, parse};
//! use std::time::Duration;
//!
//! let rate = Rate::from_bits_per_second(10_000_000);
//! assert_eq!(rate.transmission(1500), Duration::from_micros(1200));
//! assert_eq!(parse::duration("80ms").unwrap(), Duration::from_millis(80));
//!
//! let mut loss = Seed(7).stream("down.loss");
//! let same = Seed(7).stream("down.loss").next_u64();
//! assert_eq!(loss.next_u64(), same);
//! assert_eq!(Time::ZERO + Duration::from_secs(1), Time::from_nanos(1_000_000_000));
//! ```

mod bounded;
mod factors;
pub mod json;
pub mod options;
pub mod parse;
mod probability;
mod rate;
mod seed;
mod time;
mod visible;

pub use bounded::{Bounded, OutOfRange};
pub use factors::Factors;
pub use json::JsonError;
pub use parse::UnitError;
pub use probability::Probability;
pub use rate::Rate;
pub use seed::{RandomStream, Seed};
pub use time::Time;
pub use visible::visible;
