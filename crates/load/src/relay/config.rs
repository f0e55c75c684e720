//! How a relay behaves.

use super::admission::is_path;
use super::cache::CacheLimits;
use super::growth::PoolGrowth;
use super::link::MAX_STREAMS;
use super::pipelined::Pipelined;
use crate::page::HostId;
use crate::{MaxKept, Timeouts};
use loadstone_http::{Multiplexing, Protocol, Scheme, SessionFactory, Window};
use loadstone_units::Bounded;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How many bytes of a message its sender may send beyond what the other side has taken: 32 Mbit/s over a round trip of 64 ms.
const STREAM_WINDOW: u32 = 256 * 1024;

/// The same of all that a client uploads on one connection. What a server does not take is held, for each client.
const FRONT_WINDOW: u32 = 4 * STREAM_WINDOW;

/// How a relay behaves.
#[derive(Clone, Debug)]
pub struct RelayConfig {
    /// Where its sessions with clients come from: [`windows_in_front`] says with which windows.
    pub sessions: Arc<SessionFactory>,
    /// Where its sessions with servers come from: [`windows_behind`] says with which windows.
    pub server_sessions: Arc<SessionFactory>,
    /// What servers are presumed to speak until a connection is open.
    pub server_protocol: ServerProtocol,
    /// The servers, by the authorities that requests name, in lower case. One without a port is meant with any. Of several,
    /// each has all of the name.
    pub servers: BTreeMap<String, Arc<[HostId]>>,
    /// Whether requests for other names go to them, wherever they are, if they name them in full by a URL of http. The driver says
    /// where that is: [`super::Relay::poll_lookup`].
    pub goes_anywhere: bool,
    /// What servers are told of the client. Those that a client chooses itself are told what protocol it spoke.
    pub forwarding: Forwarding,
    /// The connections behind.
    pub pool: PoolLimits,
    /// How long it waits for a client.
    pub timeouts: Timeouts,
    /// Which servers it leaves out.
    pub health: HealthRules,
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
    /// What becomes of requests of HTTP/1.1 that are pipelined.
    pub pipelined: Pipelined,
}

impl RelayConfig {
    /// A relay without limits, as in the simulator: with one server for each name, to which it speaks HTTP/1.1.
    pub fn new(servers: BTreeMap<String, HostId>, sessions: Arc<SessionFactory>) -> RelayConfig {
        RelayConfig {
            server_sessions: sessions.clone(),
            server_protocol: ServerProtocol::Http1,
            sessions,
            servers: servers.into_iter().map(|(name, server)| (name, [server].into())).collect(),
            goes_anywhere: false,
            forwarding: Forwarding::Via,
            pool: PoolLimits::UNLIMITED,
            timeouts: Timeouts::ENDLESS,
            health: HealthRules::ALL_USED,
            server_timeouts: ServerTimeouts::ENDLESS,
            max_kept: MaxKept::UNLIMITED,
            notes: ExchangeNotes::Dropped,
            cache: None,
            request_time: Duration::ZERO,
            pipelined: Pipelined::Answered,
        }
    }
}

/// The same with the windows that a relay grants clients: smaller ones if it has them.
pub fn windows_in_front(multiplexing: Multiplexing) -> Multiplexing {
    let least = |window: Window, most: u32| Bounded::known(window.get().min(most));
    Multiplexing {
        stream_window: least(multiplexing.stream_window, STREAM_WINDOW),
        session_window: least(multiplexing.session_window, FRONT_WINDOW),
        ..multiplexing
    }
}

/// The same with the windows that a relay grants servers. A stream has as much as a relay holds for a client that does not read;
/// a session has that for all its streams, so no client stops the others (RFC 9113, section 5.2.2).
pub fn windows_behind(multiplexing: Multiplexing) -> Multiplexing {
    let (stream_window, session_window) =
        (Bounded::known(STREAM_WINDOW), Bounded::known(STREAM_WINDOW * MAX_STREAMS as u32));
    Multiplexing { stream_window, session_window, ..multiplexing }
}

/// What a relay speaks to servers, if they do. (Pipelining is not here: there one response holds up others.)
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum ServerProtocol {
    /// A request at a time on each of many connections.
    #[default]
    #[serde(rename = "http/1.1")]
    Http1,
    /// Many requests on a connection, and a second one when it takes no more.
    #[serde(rename = "h2")]
    H2,
}

impl ServerProtocol {
    /// As sessions know it.
    pub const fn protocol(self) -> Protocol {
        match self {
            ServerProtocol::Http1 => Protocol::Http1,
            ServerProtocol::H2 => Protocol::H2,
        }
    }

    /// What is offered where TLS agrees on a protocol (RFC 7301), the best first.
    pub const fn offered(self) -> &'static [Protocol] {
        match self {
            ServerProtocol::Http1 => &[Protocol::Http1],
            ServerProtocol::H2 => &[Protocol::H2, Protocol::Http1],
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
    /// How many of those that other clients leave one client may have, in percent, of both; at least one. (Of connections that
    /// carry one request at a time.)
    pub client_share: u32,
    /// When one more connection is opened (of those that carry one request at a time).
    pub growth: PoolGrowth,
}

impl PoolLimits {
    /// Whatever comes.
    pub const UNLIMITED: PoolLimits =
        PoolLimits { connections: usize::MAX, waiting: usize::MAX, client_share: 100, growth: PoolGrowth::AtOnce };
}

/// When a relay leaves out a server, as long as another one of the name is healthy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HealthRules {
    /// After so many failures in a row: it cannot be reached, closes a connection without a response, or is silent.
    pub failures: u32,
    /// For so long. Then one request tries it. Where servers are asked they come back by their answers alone.
    pub pause: Duration,
    /// How servers are asked whether they are well, if they are.
    pub check: Option<HealthCheck>,
}

/// How servers are asked whether they are well: a status from 200 to 399 is a yes, all else and silence a no. So many as failures
/// in a row leave a server out, and two as yes bring it back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HealthCheck {
    /// For what they are asked, with GET.
    pub(super) path: String,
    /// After which time again.
    pub(super) interval: Duration,
}

impl HealthCheck {
    /// A check by this path and query; none, if no request can have it.
    pub fn new(path: String, interval: Duration) -> Option<HealthCheck> {
        is_path(path.as_bytes()).then_some(HealthCheck { path, interval })
    }
}

impl HealthRules {
    /// Never.
    pub const ALL_USED: HealthRules = HealthRules { failures: u32::MAX, pause: Duration::ZERO, check: None };
}

/// How long a relay waits for a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServerTimeouts {
    /// Until a connection is open.
    pub opening: Duration,
    /// While it is the server's turn: it takes nothing of a request, or sends nothing of a response. As long a request waits
    /// for a connection.
    pub silence: Duration,
    /// For how long an idle connection is kept.
    pub idle: Duration,
}

impl ServerTimeouts {
    /// Without end.
    pub const ENDLESS: ServerTimeouts =
        ServerTimeouts { opening: Duration::MAX, silence: Duration::MAX, idle: Duration::MAX };
}

/// What becomes of exchanges that are over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExchangeNotes {
    /// Nothing is kept of them.
    Dropped,
    /// [`super::Relay::poll_exchange`] gives them.
    Kept,
}
