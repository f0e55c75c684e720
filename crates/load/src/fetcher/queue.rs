//! What waits for one server, and which connections it has.

use super::TransferId;
use crate::ConnId;
use crate::page::HostId;
use loadstone_http::Protocol;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

/// How many connections in a row may end without having brought anything.
const RETRIES: u32 = 3;

/// One server's.
#[derive(Debug)]
pub(super) struct Queue {
    /// What has not been asked for, or has to be asked for again.
    waiting: VecDeque<TransferId>,
    /// Where the server may be found, without the places where it was not.
    addresses: Range<u32>,
    /// Connections that are being opened.
    opening: u32,
    /// Connections that take requests, now or when they have answered some.
    pub(super) live: BTreeSet<ConnId>,
    /// What the server speaks, as far as that is known.
    spoken: Option<Protocol>,
    /// A connection was lost before all was answered: what is left is asked for one by one (RFC 9112,
    /// section 9.3.2).
    is_careful: bool,
    /// How many connections in a row have brought nothing.
    barren: u32,
    /// How many connections there may be, where one carries one request at a time.
    max_connections: u32,
}

impl Queue {
    pub(super) fn new(spoken: Option<Protocol>, max_connections: u32) -> Queue {
        let (waiting, live) = (VecDeque::new(), BTreeSet::new());
        Queue { waiting, addresses: 0..0, opening: 0, live, spoken, is_careful: false, barren: 0, max_connections }
    }

    /// The server may be found at these places.
    pub(super) fn find(&mut self, addresses: Range<u32>) {
        self.addresses = addresses;
    }

    /// It has to be asked for, after all others.
    pub(super) fn want(&mut self, transfer: TransferId) {
        self.waiting.push_back(transfer);
    }

    /// These have to be asked for again, before all others.
    pub(super) fn want_again(&mut self, transfers: impl DoubleEndedIterator<Item = TransferId>) {
        transfers.rev().for_each(|transfer| self.waiting.push_front(transfer));
    }

    /// What is to be asked for next.
    pub(super) fn take(&mut self) -> Option<TransferId> {
        self.waiting.pop_front()
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether there is no place at which to look for the server.
    pub(super) fn is_nowhere(&self) -> bool {
        self.addresses.is_empty()
    }

    /// The host to open one more connection to, if one more is needed; it is then noted as being opened.
    pub(super) fn open(&mut self) -> Option<HostId> {
        let limit = match self.spoken {
            // The first connection shows whether it is enough.
            None => 1,
            Some(protocol) if self.spoken_on(protocol) == Protocol::Http1 => self.max_connections,
            Some(_) => 1,
        };
        let is_wanted = self.waiting.len() > self.opening as usize;
        let is_allowed = self.live.len() as u32 + self.opening < limit;
        if !is_wanted || !is_allowed || self.addresses.is_empty() {
            return None;
        }
        self.opening += 1;
        Some(HostId(self.addresses.start))
    }

    /// What is spoken on a connection that agreed on `protocol`.
    pub(super) fn spoken_on(&self, protocol: Protocol) -> Protocol {
        match protocol {
            Protocol::Http1Pipelining if self.is_careful => Protocol::Http1,
            other => other,
        }
    }

    /// A connection is open.
    pub(super) fn opened(&mut self, conn: ConnId, protocol: Protocol) {
        self.opening -= 1;
        self.live.insert(conn);
        self.spoken = Some(protocol);
    }

    /// A connection could not be opened at this place, so the next one is tried. Whether there is hope.
    pub(super) fn missed(&mut self, place: HostId) -> bool {
        self.opening -= 1;
        if self.addresses.start == place.0 && !self.addresses.is_empty() {
            self.addresses.start += 1;
        }
        !self.addresses.is_empty() || self.opening > 0 || !self.live.is_empty()
    }

    /// A connection was lost with `answers` responses outstanding.
    pub(super) fn lost(&mut self, answers: usize) {
        self.is_careful |= answers > 0;
    }

    /// A connection takes no more for good. `settled` is how many transfers have come to an end on it. Whether
    /// there is hope.
    pub(super) fn ended(&mut self, conn: ConnId, settled: u64) -> bool {
        self.live.remove(&conn);
        match settled {
            0 if !self.is_empty() => self.barren += 1,
            0 => {}
            _ => self.barren = 0,
        }
        self.barren <= RETRIES * self.max_connections
    }
}
