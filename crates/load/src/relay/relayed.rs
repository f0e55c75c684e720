//! An exchange with a client that is not over.

use super::cache::CacheOutcome;
use super::rejection::Rejection;
use crate::shut::PROGRESS;
use loadstone_http::RequestHead;
use loadstone_units::Time;
use std::sync::Arc;
use std::time::Duration;

/// An exchange with a client that is not over.
#[derive(Debug)]
pub(super) struct RelayedExchange {
    /// What is noted of the request: its method and what it asks for.
    pub(super) request: Arc<RequestHead>,
    pub(super) began: Time,
    /// That of the response, once there is one.
    pub(super) status: Option<u16>,
    /// When there was one.
    pub(super) answered: Option<Time>,
    /// Bytes of content that the response has so far.
    pub(super) sent: u64,
    /// Bytes that are kept of the request's head.
    pub(super) kept: usize,
    /// Bytes that are kept of its content.
    pub(super) kept_content: usize,
    /// What the cache had to do with it, if there is one.
    pub(super) cache: Option<CacheOutcome>,
    /// Why the relay has answered in the server's place, or could not finish.
    pub(super) rejected: Option<Rejection>,
    /// How the request arrives, until it is complete.
    pub(super) arrival: Option<Arrival>,
}

/// How a request arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Since when it has been the client's turn, without [`PROGRESS`].
    pub(super) since: Time,
    /// Bytes of content that came since then.
    came: u64,
}

impl RelayedExchange {
    pub(super) fn new(request: Arc<RequestHead>, now: Time, kept: usize) -> RelayedExchange {
        let arrival = Some(Arrival { since: now, came: 0 });
        RelayedExchange {
            request,
            began: now,
            status: None,
            answered: None,
            sent: 0,
            kept,
            kept_content: 0,
            cache: None,
            rejected: None,
            arrival,
        }
    }

    /// Whether it changes nothing at the server (RFC 9110, section 9.2.1).
    pub(super) fn is_safe(&self) -> bool {
        matches!(&self.request.method[..], b"GET" | b"HEAD" | b"OPTIONS")
    }

    /// Whether its response has no content, whatever its head says.
    pub(super) fn is_head(&self) -> bool {
        &self.request.method[..] == b"HEAD"
    }
}

impl Arrival {
    /// Content has come.
    pub(super) fn note(&mut self, now: Time, bytes: u64) {
        self.came += bytes;
        if self.came >= PROGRESS {
            *self = Arrival { since: now, came: 0 };
        }
    }

    /// It is the server's turn.
    pub(super) fn wait(&mut self, now: Time) {
        *self = Arrival { since: now, came: 0 };
    }

    /// Whether the client has taken longer than it may.
    pub(super) fn is_late(self, now: Time, timeout: Duration) -> bool {
        self.since + timeout <= now
    }
}
