//! What a relay does not wait for any longer.
//!
//! It looks once a second, so a limit may be exceeded by as much: a deadline for each stream would cost more than it
//! tells.

use super::link::{Half, RelayConnection};
use super::rejection::Rejection;
use super::{Relay, StreamRef};
use crate::{ConnId, ServerTimeouts, Timeouts};
use loadstone_http::RequestId;
use loadstone_units::Time;
use std::time::Duration;

/// How long it does not look after it has looked.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// What is late.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Late {
    /// A client asks for nothing.
    Idle(ConnId),
    /// A client takes nothing, or says half a word.
    Client(ConnId),
    /// The content of a request does not come.
    Request(StreamRef),
    /// A request gets no connection to its server.
    Connection(StreamRef),
    /// A server takes nothing, and sends nothing.
    Server(ConnId),
    /// A server is asked for nothing.
    Unused(ConnId),
}

impl Relay {
    /// When it looks next, if it has limits.
    pub(super) fn look_later(&mut self) {
        let Timeouts { idle, request, response } = self.config.timeouts;
        let ServerTimeouts { silence, idle: unused } = self.config.server_timeouts;
        let has_limits = [idle, request, response, silence, unused].iter().any(|limit| *limit != Duration::MAX);
        if (has_limits || self.cache.is_some()) && self.next_look == Time::NEVER {
            self.next_look = self.now + BETWEEN_LOOKS;
        }
    }

    /// Looks for what is late, and gives it up.
    pub(super) fn expire(&mut self) {
        self.next_look = Time::NEVER;
        self.release_patient();
        let mut late = self.late_requests();
        let conns: Vec<ConnId> = self.links.keys().copied().collect();
        late.extend(conns.into_iter().filter_map(|conn| self.late_connection(conn)));
        late.into_iter().for_each(|late| self.end_late(late));
        if !self.links.is_empty() {
            self.look_later();
        }
    }

    fn end_late(&mut self, late: Late) {
        match late {
            Late::Idle(conn) => self.leave(conn),
            Late::Client(conn) => self.lose(conn, Rejection::BadGateway),
            Late::Request((conn, stream)) => self.end_late_request(conn, stream),
            Late::Connection(front) => self.refuse(front, Rejection::Busy),
            Late::Server(conn) => self.give_up_on(conn),
            Late::Unused(conn) => self.lose(conn, Rejection::BadGateway),
        }
    }

    /// The server is silent.
    fn give_up_on(&mut self, conn: ConnId) {
        if let Some(half) = self.links.get_mut(&conn).and_then(|link| link.as_behind()) {
            half.repeatable = None;
        }
        self.lose(conn, Rejection::Silent);
        // It does not listen, or it would close as well.
        self.abort(conn);
    }

    /// A request does not come on: what came of it goes no further.
    fn end_late_request(&mut self, conn: ConnId, stream: RequestId) {
        let Some(link) = self.links.get_mut(&conn) else { return };
        let is_answered = link.exchange(stream).is_none_or(|exchange| exchange.status.is_some());
        let is_multiplexed = link.as_front().is_some_and(|half| half.client.protocol.is_multiplexed());
        if is_answered || !is_multiplexed {
            // Over HTTP/1.1 the next request could not be told from the rest of this one.
            return self.lose(conn, Rejection::TooSlow);
        }
        self.cut((conn, stream), Rejection::TooSlow);
        self.link(conn).reject(stream, Rejection::TooSlow);
        self.stir(conn);
    }

    /// The requests that have waited for a connection for too long.
    fn late_requests(&self) -> Vec<Late> {
        let limit = self.config.server_timeouts.silence;
        let late = self.early.iter().filter(|(_, early)| early.is_late(self.now, limit));
        late.map(|(front, _)| Late::Connection(*front)).collect()
    }

    fn late_connection(&mut self, conn: ConnId) -> Option<Late> {
        let now = self.now;
        let link = self.links.get(&conn).filter(|link| !link.is_closed)?;
        let waits_for_peer: Vec<RequestId> = link
            .peers
            .iter()
            .filter(|(_, peer)| peer.place.is_some_and(|place| self.holds(place)))
            .map(|(stream, _)| *stream)
            .collect();
        let (timeouts, limits) = (self.config.timeouts, self.config.server_timeouts);
        let link = self.links.get_mut(&conn)?;
        match &link.half {
            Half::Behind(behind) if behind.taken_by.is_none() => {
                (link.stirred + limits.idle <= now).then_some(Late::Unused(conn))
            }
            Half::Behind(_) => {
                if !waits_for_peer.is_empty() || waits_for_request(link) {
                    link.stirred = now;
                }
                (link.stirred + limits.silence <= now).then_some(Late::Server(conn))
            }
            Half::Front(_) => late_front(conn, link, &waits_for_peer, timeouts, now),
        }
    }

    /// Whether content that came for a stream has not gone out on it.
    fn holds(&self, (conn, stream): StreamRef) -> bool {
        let peer = self.links.get(&conn).and_then(|link| link.peers.get(&stream));
        peer.is_some_and(|peer| peer.passed > 0)
    }
}

/// Whether it is the client's turn: the request of a connection behind goes on, and all that came of it is out.
fn waits_for_request(link: &RelayConnection) -> bool {
    let held = link.peers.values().any(|peer| peer.passed > 0);
    !held && link.peers.values().any(|peer| !peer.is_finished) && !link.has_output()
}

fn late_front(
    conn: ConnId,
    link: &mut RelayConnection,
    waits_for_server: &[RequestId],
    timeouts: Timeouts,
    now: Time,
) -> Option<Late> {
    let (stirred, is_partial) = (link.stirred, link.look().is_partial());
    let half = link.as_front()?;
    if half.exchanges.is_empty() {
        let is_late = stirred + timeouts.idle <= now;
        return is_late.then_some(if half.is_drained || is_partial { Late::Client(conn) } else { Late::Idle(conn) });
    }
    if half.shut.is_some_and(|shut| shut.since + timeouts.response <= now) {
        return Some(Late::Client(conn));
    }
    let mut late = None;
    for (stream, exchange) in &mut half.exchanges {
        let Some(arrival) = &mut exchange.arrival else { continue };
        if waits_for_server.contains(stream) {
            arrival.wait(now);
        } else if arrival.is_late(now, timeouts.request) {
            late = late.or(Some(Late::Request((conn, *stream))));
        }
    }
    late
}
