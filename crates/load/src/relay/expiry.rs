//! What a relay does not wait for any longer.
//!
//! It looks once a second, so a limit may be exceeded by as much: a deadline for each stream would cost more than it
//! tells.

use super::link::{Half, RelayConnection};
use super::rejection::Rejection;
use super::{Relay, StreamRef};
use crate::{Action, ConnId, ServerTimeouts, Timeouts};
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
    /// A server takes nothing of any request, and sends nothing.
    Server(ConnId),
    /// A server takes nothing of one of several requests, and sends nothing of its response.
    Response(StreamRef),
    /// A server is asked for nothing.
    Unused(ConnId),
    /// A server does not answer a connection that is being opened.
    Opening(ConnId),
}

impl Relay {
    /// When it looks next, if it has limits.
    pub(super) fn look_later(&mut self) {
        let Timeouts { idle, request, response } = self.config.timeouts;
        let ServerTimeouts { opening, silence, idle: unused } = self.config.server_timeouts;
        let has_limits =
            [idle, request, response, opening, silence, unused].iter().any(|limit| *limit != Duration::MAX);
        if (has_limits || self.cache.is_some()) && self.next_look == Time::NEVER {
            self.next_look = self.now + BETWEEN_LOOKS;
        }
    }

    /// Looks for what is late, and gives it up.
    pub(super) fn expire(&mut self) {
        self.next_look = Time::NEVER;
        self.release_patient();
        if self.config.goes_anywhere {
            self.forget_answers();
            self.forget_unused();
        }
        let mut late = self.late_requests();
        let conns: Vec<ConnId> = self.links.keys().copied().collect();
        late.extend(conns.into_iter().flat_map(|conn| self.late_on(conn)));
        let limit = self.config.server_timeouts.opening;
        let openings = self.opening.iter().filter(|(_, (_, since))| *since + limit <= self.now);
        late.extend(openings.map(|(conn, _)| Late::Opening(*conn)));
        late.into_iter().for_each(|late| self.end_late(late));
        if !self.links.is_empty() || !self.opening.is_empty() {
            self.look_later();
        }
    }

    fn end_late(&mut self, late: Late) {
        match late {
            Late::Idle(conn) => self.leave(conn),
            Late::Client(conn) => self.lose(conn, Rejection::Closed),
            Late::Request((conn, stream)) => self.end_late_request(conn, stream),
            Late::Connection(front) => self.end_unopened(front),
            Late::Server(conn) => {
                self.note_silent(conn);
                self.give_up_connection(conn, Rejection::Silent);
            }
            Late::Response(behind) => {
                self.note_silent(behind.0);
                self.give_up_behind(behind, Rejection::Silent);
            }
            Late::Unused(conn) => self.lose(conn, Rejection::Closed),
            Late::Opening(conn) => {
                self.actions.push_back(Action::Abort { conn });
                self.end_opening(conn);
            }
        }
    }

    /// A request has no connection to its server. If one is being opened, the server does not answer.
    fn end_unopened(&mut self, front: StreamRef) {
        let server = self.early.get(&front).and_then(|early| early.route.server);
        if let Some(server) = server.filter(|server| self.pool(*server).is_opening_for(front)) {
            self.note_failure(server);
        }
        self.refuse(front, Rejection::Busy);
    }

    /// A server is silent on a connection.
    fn note_silent(&mut self, conn: ConnId) {
        if let Some(server) = self.links.get(&conn).and_then(|link| link.server()) {
            self.note_failure(server);
        }
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

    fn late_on(&mut self, conn: ConnId) -> Vec<Late> {
        let now = self.now;
        let Some(link) = self.links.get(&conn).filter(|link| !link.is_closed) else { return Vec::new() };
        let waits_for_peer: Vec<RequestId> = link
            .peers
            .iter()
            .filter(|(_, peer)| peer.place.is_some_and(|place| self.holds(place)))
            .map(|(stream, _)| *stream)
            .collect();
        let (timeouts, limits) = (self.config.timeouts, self.config.server_timeouts);
        let Some(link) = self.links.get_mut(&conn) else { return Vec::new() };
        match &link.half {
            Half::Behind(_) if link.is_unused() => {
                let is_late = link.stirred + limits.idle <= now;
                is_late.then_some(Late::Unused(conn)).into_iter().collect()
            }
            Half::Behind(_) => late_behind(conn, link, &waits_for_peer, limits.silence, now),
            Half::Front(_) => late_front(conn, link, &waits_for_peer, timeouts, now),
        }
    }

    /// Whether content that came for a stream has not gone out on it.
    fn holds(&self, (conn, stream): StreamRef) -> bool {
        let peer = self.links.get(&conn).and_then(|link| link.peers.get(&stream));
        peer.is_some_and(|peer| peer.passed > 0)
    }
}

fn late_behind(
    conn: ConnId,
    link: &mut RelayConnection,
    waits_for_client: &[RequestId],
    silence: Duration,
    now: Time,
) -> Vec<Late> {
    let has_output = link.has_output();
    for (stream, peer) in &mut link.peers {
        // The request goes on, and all that came of it is out.
        let waits_for_request = !peer.is_finished && peer.passed == 0 && !has_output;
        if waits_for_request || waits_for_client.contains(stream) {
            peer.stirred = now;
        }
    }
    let late = link.peers.iter().filter(|(_, peer)| peer.stirred + silence <= now);
    let late: Vec<Late> = late.map(|(stream, _)| Late::Response((conn, *stream))).collect();
    // If all are silent the connection may be dead.
    let is_all = !late.is_empty() && late.len() == link.peers.len();
    if is_all { vec![Late::Server(conn)] } else { late }
}

fn late_front(
    conn: ConnId,
    link: &mut RelayConnection,
    waits_for_server: &[RequestId],
    timeouts: Timeouts,
    now: Time,
) -> Vec<Late> {
    let (stirred, is_partial) = (link.stirred, link.look().is_partial());
    let Some(half) = link.as_front() else { return Vec::new() };
    if half.exchanges.is_empty() {
        let is_late = stirred + timeouts.idle <= now;
        let late = if half.is_drained || is_partial { Late::Client(conn) } else { Late::Idle(conn) };
        return is_late.then_some(late).into_iter().collect();
    }
    if half.shut.is_some_and(|shut| shut.since + timeouts.response <= now) {
        return vec![Late::Client(conn)];
    }
    let mut late = Vec::new();
    for (stream, exchange) in &mut half.exchanges {
        let Some(arrival) = &mut exchange.arrival else { continue };
        if waits_for_server.contains(stream) {
            arrival.wait(now);
        } else if arrival.is_late(now, timeouts.request) {
            late.push(Late::Request((conn, *stream)));
        }
    }
    late
}
