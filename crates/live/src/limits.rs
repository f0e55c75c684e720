//! How long a host waits for a peer, and how many it has at a time.

use std::time::Duration;

/// How long a host waits for a peer before it drops the connection, and how many connections it has at
/// a time. Spans are those of the [`crate::Clock`]. How long a peer may be idle between two
/// requests is the program's to decide, not the driver's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// From when TCP has accepted a connection, or begun one, until the program can use it: TLS's
    /// handshake, for the most part. Beyond it: [`crate::Failure::HandshakeTimeout`].
    pub handshake_timeout: Duration,
    /// For how long a peer may read nothing of what is to be written. It has read something when the
    /// kernel has room again by the rule of [`crate::Lowat`]. Beyond it: [`crate::Failure::WriteTimeout`].
    pub write_timeout: Duration,
    /// From when the program sends no more until the peer has read the rest and has closed its side.
    /// Beyond it: [`crate::Failure::CloseTimeout`].
    pub close_timeout: Duration,
    /// The most connections at a time. Further ones wait in the listener's queue, unanswered, until
    /// one ends.
    pub max_connections: usize,
}

impl Limits {
    /// For measurements: a slow peer is what is measured.
    pub const UNLIMITED: Limits = Limits {
        handshake_timeout: Duration::MAX,
        write_timeout: Duration::MAX,
        close_timeout: Duration::MAX,
        max_connections: usize::MAX,
    };
}

impl Default for Limits {
    /// For a public server.
    fn default() -> Limits {
        Limits {
            handshake_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(60),
            close_timeout: Duration::from_secs(10),
            max_connections: 20_000,
        }
    }
}
