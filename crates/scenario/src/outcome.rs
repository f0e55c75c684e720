//! What one run gave.

use crate::Capture;
use loadstone_load::page::HostId;

use loadstone_load::{Account, Row, Span};
use loadstone_net::tcp::LossRecovery;
use loadstone_units::Time;
use std::time::Duration;

/// What one run gave.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The run's seed.
    pub seed: u64,
    /// Whether everything that the page needs has arrived.
    pub completed: bool,
    /// Page load time: from the first SYN's entry into the link to the delivery of the last packet
    /// that completes the last object the page needs. Where the load was not completed, to the
    /// moment when the browser gave up.
    pub plt: Time,
    /// The first byte of the first request was handed to the transport: the handshakes before it were over.
    pub first_request: Option<Time>,
    /// IP packets that were offered to the link towards the client, lost and dropped ones included.
    pub packets_down: u64,
    /// The same towards the servers.
    pub packets_up: u64,
    /// Bytes of those packets towards the client.
    pub bytes_down: u64,
    /// Bytes of those packets towards the servers.
    pub bytes_up: u64,
    /// Bytes of bodies that came although the browser had refused them, since they were in its cache.
    pub discarded: u64,
    /// Data segments that were sent again, by either side.
    pub retransmissions: u64,
    /// How often either side repaired losses; `None` for a run over the real kernel, which does not say it of
    /// single connections.
    pub loss_recovery: Option<LossRecovery>,
    /// Connections that the browser opened.
    pub connections: u32,
    /// When each of [`loadstone_load::page::Moment::ALL`] was, if the page knows, and if it came before the load ended.
    pub moments: [Option<Time>; 3],
    /// When each of the page's [`loadstone_load::page::Page::view`] was, if it came before the load ended.
    pub view: Vec<Option<Time>>,
    /// One row for each object, in page order.
    pub waterfall: Vec<Row>,
    /// The critical path from time zero to the page load time, without gaps; empty where the load was
    /// not completed.
    pub path: Vec<Span>,
    /// One for each connection, in the order of opening.
    pub per_connection: Vec<ConnectionOutcome>,
    /// How the machine behaved during a run over the real kernel; `None` for a run in virtual time.
    pub conditions: Option<Conditions>,
    /// Its packets, where they were asked for.
    pub capture: Option<Capture>,
}

/// How far a machine that carried out a run in real time can be trusted to have done so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conditions {
    /// The kernel's release, for instance `6.18.44`.
    pub kernel: String,
    /// How long the machine was paused by its host. The link's clock stood still meanwhile, so this is not
    /// part of any time in the outcome; the kernel's own timers went on.
    pub paused: Duration,
    /// How often it was paused.
    pub pauses: u64,
    /// How late the middle one of the packets was handed on.
    pub late_median: Duration,
    /// How late nine of ten packets were handed on at most.
    pub late_p90: Duration,
    /// How late the worst packet was handed on.
    pub late_worst: Duration,
}

/// What one connection was used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectionOutcome {
    /// The server.
    pub host: HostId,
    /// Its first SYN entered the link.
    pub opened: Time,
    /// The browser could use it: TCP's and TLS's handshakes were over.
    pub established: Option<Time>,
    /// The browser closed it, of itself or because the server had; `None` if it was open to the end.
    pub closed: Option<Time>,
    /// Bytes that the browser wrote: heads, frames, bodies, without what TLS adds.
    pub content_up: u64,
    /// Bytes that the server wrote.
    pub content_down: u64,
    /// Segments with data, or a FIN, that were sent again, by either end.
    pub retransmissions: u64,
}

impl ConnectionOutcome {
    /// The same with every time counted from `origin`.
    #[must_use]
    pub fn counted_from(self, origin: Time) -> ConnectionOutcome {
        let mark = |mark: Option<Time>| mark.map(|time| time.counted_from(origin));
        let (opened, established, closed) =
            (self.opened.counted_from(origin), mark(self.established), mark(self.closed));
        ConnectionOutcome { opened, established, closed, ..self }
    }
}

impl Outcome {
    /// What the page load time went into: the spans of the path added up.
    pub fn account(&self) -> Account {
        Account::of(&self.path)
    }
}
