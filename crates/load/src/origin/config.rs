//! How a server behaves.

use crate::Work;
use loadstone_http::SessionFactory;
use loadstone_units::Factors;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// How a server behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where its sessions come from.
    pub sessions: Arc<SessionFactory>,
    /// How long it waits for a client.
    pub timeouts: Timeouts,
    /// The most requests that it answers on a connection before it leaves it (`Connection: close`, GOAWAY): with 1
    /// it keeps no connection alive.
    pub requests_per_connection: u32,
    /// Who closes a connection that carries no more requests.
    pub closing: Closing,
    /// What its one processor needs for each response.
    pub work: Work,
    /// What it keeps of requests.
    pub max_kept: MaxKept,
    /// What the time that it thinks about an object is multiplied by, by the object's number.
    pub thinking: Factors,
}

/// How many bytes of the heads of requests a server keeps at a time; a request beyond that is cancelled. A relay may use half of
/// that for content, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaxKept {
    /// Of one connection.
    pub connection: usize,
    /// Of all.
    pub all: usize,
}

impl MaxKept {
    /// Whatever comes, as in the simulator.
    pub const UNLIMITED: MaxKept = MaxKept { connection: usize::MAX, all: usize::MAX };
}

impl Config {
    /// A server that waits without end, answers any number of requests on a connection, and needs no time.
    pub fn new(sessions: Arc<SessionFactory>) -> Config {
        let (timeouts, requests_per_connection) = (Timeouts::ENDLESS, u32::MAX);
        let (closing, work, max_kept) = (Closing::default(), Work::default(), MaxKept::UNLIMITED);
        let thinking = Factors::ONE;
        Config { sessions, timeouts, requests_per_connection, closing, work, max_kept, thinking }
    }
}

/// How long a server waits before it gives a connection up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeouts {
    /// Without a request, before it leaves.
    pub idle: Duration,
    /// With an incomplete request, before it gives the connection up.
    pub request: Duration,
    /// With a response blocked by the client's windows, before it gives the connection up, unless the client lets
    /// 16 KiB of content out in that time.
    pub response: Duration,
}

/// Which end closes a connection of HTTP/1.1 that carries no more requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Closing {
    /// The server, with its last response: the FIN brings along whatever Nagle's algorithm held back.
    #[default]
    Server,
    /// The client, when it has the last response; until then the server's end stays open.
    Client,
}

impl Closing {
    /// Whether it is what servers do where nothing else is said.
    pub fn is_default(&self) -> bool {
        *self == Closing::default()
    }
}

impl Timeouts {
    /// It never loses it, as in the simulator.
    pub const ENDLESS: Timeouts = Timeouts { idle: Duration::MAX, request: Duration::MAX, response: Duration::MAX };
}
