//! How long a host waits for a peer, and how many it has at a time.

use std::time::Duration;

/// How long a host waits for a peer before it drops the connection, and how many connections it has at
/// a time. Spans are those of the [`crate::Clock`]. How long a peer may say nothing between two
/// requests is the program's to decide, not the driver's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// From when TCP has accepted a connection, or begun one, until the program can use it: TLS's
    /// handshake, for the most part. Beyond it: [`crate::Failure::Unshaken`].
    pub handshake: Duration,
    /// For how long a peer may take nothing of what waits for it. It has taken something when the
    /// kernel has room again by the rule of [`crate::Lowat`]. Beyond it: [`crate::Failure::Stalled`].
    pub stall: Duration,
    /// From when the program sends no more until the peer has taken the rest and has closed its side.
    /// Beyond it: [`crate::Failure::Unclosed`].
    pub closing: Duration,
    /// The most connections at a time. Those beyond it wait in the listener's queue, unanswered, until
    /// one ends.
    pub connections: usize,
}

impl Limits {
    /// For measurements: a slow peer is what is measured.
    pub const UNLIMITED: Limits =
        Limits { handshake: Duration::MAX, stall: Duration::MAX, closing: Duration::MAX, connections: usize::MAX };
}

impl Default for Limits {
    /// For a server that strangers talk to.
    fn default() -> Limits {
        Limits {
            handshake: Duration::from_secs(10),
            stall: Duration::from_secs(60),
            closing: Duration::from_secs(10),
            connections: 20_000,
        }
    }
}
