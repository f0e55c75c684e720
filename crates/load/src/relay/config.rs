//! How a relay behaves.

use super::cache::CacheLimits;
use crate::page::HostId;
use crate::{MaxKept, Timeouts};
use loadstone_http::{Scheme, SessionFactory};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How a relay behaves.
#[derive(Clone, Debug)]
pub struct RelayConfig {
    /// Where its sessions come from.
    pub sessions: Arc<SessionFactory>,
    /// The servers, by the authorities that requests name, in lower case. One without a port is meant with any.
    pub servers: BTreeMap<String, HostId>,
    /// What servers are told of the client.
    pub forwarding: Forwarding,
    /// The connections behind.
    pub pool: PoolLimits,
    /// How long it waits for a client.
    pub timeouts: Timeouts,
    /// How long it waits for a server.
    pub server_timeouts: ServerTimeouts,
    /// What it keeps of requests.
    pub max_kept: MaxKept,
    /// What becomes of exchanges that are over.
    pub notes: ExchangeNotes,
    /// How much it remembers of responses; nothing, if it has no cache.
    pub cache: Option<CacheLimits>,
    /// How long its processor is busy with each request, one after the other; nothing where a real one is.
    pub request_time: Duration,
}

impl RelayConfig {
    /// A relay without limits, as in the simulator.
    pub fn new(servers: BTreeMap<String, HostId>, sessions: Arc<SessionFactory>) -> RelayConfig {
        RelayConfig {
            sessions,
            servers,
            forwarding: Forwarding::Via,
            pool: PoolLimits::UNLIMITED,
            timeouts: Timeouts::ENDLESS,
            server_timeouts: ServerTimeouts::ENDLESS,
            max_kept: MaxKept::UNLIMITED,
            notes: ExchangeNotes::Dropped,
            cache: None,
            request_time: Duration::ZERO,
        }
    }
}

/// What servers are told of the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forwarding {
    /// Which protocol it spoke (RFC 9110, section 7.6.3).
    Via,
    /// Its address too, the host that it named, and this scheme (RFC 7239). What it says of this itself is not passed on.
    Client(Scheme),
}

/// How much there may be of what leads to one server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolLimits {
    /// Connections, with those that are being opened.
    pub connections: usize,
    /// Requests that wait for one of them.
    pub waiting: usize,
}

impl PoolLimits {
    /// Whatever comes.
    pub const UNLIMITED: PoolLimits = PoolLimits { connections: usize::MAX, waiting: usize::MAX };
}

/// How long a relay waits for a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServerTimeouts {
    /// While it is the server's turn: it takes nothing of a request, or sends nothing of a response. As long a request waits
    /// for a connection.
    pub silence: Duration,
    /// For how long an idle connection is kept.
    pub idle: Duration,
}

impl ServerTimeouts {
    /// Without end.
    pub const ENDLESS: ServerTimeouts = ServerTimeouts { silence: Duration::MAX, idle: Duration::MAX };
}

/// What becomes of exchanges that are over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExchangeNotes {
    /// Nothing is kept of them.
    Dropped,
    /// [`super::Relay::poll_exchange`] gives them.
    Kept,
}
