//! TCP as a machine: one end of a connection, counting bytes.
//!
//! ```text
//!   write, close ──> ┌──────────┐ ──> poll_segment
//!                    │ Endpoint │     sender: what goes next     (recovery, congestion, rtt)
//!   read  <───────── └──────────┘ <── handle_segment
//!                                     receiver: what has come    (assembler, delayed acks)
//! ```
//!
//! Sequence numbers are 64-bit offsets: the SYN is number 0, the first byte of data number 1, the
//! FIN follows the last byte. They never wrap, so they compare as they are. Bytes are counted and
//! not carried; the driver of an endpoint keeps the bytes themselves.

mod config;
mod congestion;
mod delivery;
mod endpoint;
mod flight;
mod loss_recovery;
mod mechanisms;
mod memory;
mod metrics;
mod pacer;
mod profiles;
mod rack;
mod receiver;
mod reduction;
mod repair;
mod rtt;
mod rules;
mod segment;
mod sender;
mod state;
mod timer;

pub use config::{Config, Congestion, InitialWindow, Profile};
pub use endpoint::Endpoint;
pub use loss_recovery::LossRecovery;
pub use mechanisms::{AckCounting, IdleRestart, Mechanisms};
pub use metrics::Metrics;
pub use reduction::CwndReduction;
pub use repair::Repair;
pub use rules::LossDetection;
pub use segment::{Flags, Sacks, Segment};
pub use state::State;
