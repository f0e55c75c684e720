//! The relay: takes requests of any protocol in front, passes them on over HTTP/1.1 behind, and the responses back,
//! as they come and without a cache.
//!
//! An exchange has a stream in front and one behind, each the other's peer. What comes on one is appended to the
//! other, and is used when it has left there: so no more than a window of a message is ever held, and an end that
//! reads slowly makes the other end send slowly. `exchange` says how those begin and end, `link` is a connection, `fields` what is
//! passed on of heads.

mod exchange;
mod fields;
mod link;

use crate::page::HostId;
use crate::{Action, Closed, ConnId, Opened, Opener, Program, Tag};
use fields::returned;
use link::{PendingRequest, RelayConnection};
use loadstone_http::{Chunk, Content, Event, Protocol, RequestId, SessionFactory, TransportStream, Wire};
use loadstone_units::Time;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A stream of a connection.
type StreamRef = (ConnId, RequestId);

/// A program between clients and the servers of some hosts.
#[derive(Debug)]
pub struct Relay {
    sessions: Arc<SessionFactory>,
    /// The servers, by the authorities that requests name.
    servers: BTreeMap<String, HostId>,
    links: BTreeMap<ConnId, RelayConnection>,
    /// Requests that have no stream behind yet.
    early: BTreeMap<StreamRef, PendingRequest>,
    /// The connections that are being opened, and their servers.
    opening: BTreeMap<ConnId, HostId>,
    peak_held: u64,
    actions: VecDeque<Action>,
}

impl Relay {
    /// A relay to these servers that has no connections. Its sessions come from `sessions`.
    pub fn new(servers: BTreeMap<String, HostId>, sessions: Arc<SessionFactory>) -> Relay {
        let (links, early, opening) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Relay { sessions, servers, links, early, opening, peak_held: 0, actions: VecDeque::new() }
    }

    /// The most bytes of a message that it has held at a time.
    pub fn peak_held(&self) -> u64 {
        self.peak_held
    }

    fn drain_events(&mut self, conn: ConnId) {
        while let Some(event) = self.links.get_mut(&conn).and_then(|link| link.session().poll_event()) {
            self.handle_event(conn, event);
        }
        self.settle(conn);
    }

    fn handle_event(&mut self, conn: ConnId, event: Event) {
        let Some(id) = event.request() else { return };
        if let Some(early) =
            self.early.get_mut(&(conn, id)).filter(|_| !matches!(event, Event::Reset { .. } | Event::Rejected { .. }))
        {
            early.events.push(event);
            return self.join((conn, id));
        }
        let peer = self.links.get(&conn).and_then(|link| link.peers.get(&id)).map(|peer| peer.place);
        match (event, peer) {
            (Event::Request { head, .. }, _) => self.begin((conn, id), head),
            (Event::Interim { head, .. }, Some((to, stream))) => self.link(to).inform(stream, head),
            (Event::Response { head, .. }, Some((to, stream))) => {
                self.link(to).respond(stream, returned(&head), Content::Streamed);
            }
            (Event::Data { content, .. }, Some((to, stream))) => {
                self.peak_held = self.peak_held.max(self.link(to).append(stream, content));
            }
            // The exchange has ended: the content is dropped.
            (Event::Data { content, .. }, None) => self.link(conn).session().release(id, content.len()),
            (Event::Trailers { fields, .. }, Some((to, stream))) => self.link(to).trailers(stream, &fields),
            (Event::End { .. }, Some((to, stream))) => {
                self.link(to).finish(stream);
                if self.link(conn).end(id) {
                    self.abort(conn);
                }
            }
            (Event::ResponseSent { .. }, _) => self.link(conn).part(id),
            (Event::Reset { .. } | Event::Rejected { .. } | Event::Refused { .. }, _) => self.cut((conn, id)),
            _ => {}
        }
        peer.into_iter().for_each(|(to, _)| self.settle(to));
    }

    /// Lets a connection read and send what it may, or end.
    fn settle(&mut self, conn: ConnId) {
        let Some(link) = self.links.get_mut(&conn) else { return };
        self.actions.extend(link.limit().map(|limit| Action::Receive { conn, on: TransportStream::TCP, limit }));
        self.actions.extend(link.has_output().then_some(Action::Transmit { conn }));
        if link.is_over() {
            link.is_closed = true;
            self.actions.push_back(Action::Close { conn });
            if link.is_ended {
                self.links.remove(&conn);
            }
        }
    }

    fn link(&mut self, conn: ConnId) -> &mut RelayConnection {
        self.links.get_mut(&conn).expect("an exchange ends with its connections")
    }
}

impl Program for Relay {
    fn handle_opening(&mut self, _: Time, conn: ConnId, Tag(server): Tag) {
        self.opening.insert(conn, HostId(server));
    }

    fn handle_open(&mut self, _: Time, conn: ConnId, opened: Opened) {
        let link = match (opened.by, self.opening.remove(&conn)) {
            (Opener::Us, Some(server)) => RelayConnection::behind(server, self.sessions.client(Protocol::Http1)),
            _ => RelayConnection::front(self.sessions.server(opened.protocol)),
        };
        let server = link.server();
        self.links.insert(conn, link);
        self.settle(conn);
        if let Some(front) = server.and_then(|server| self.waiting(server)) {
            self.link(conn).is_taken = true;
            self.early.entry(front).and_modify(|early| early.behind = Some(conn));
            self.join(front);
        }
    }

    fn handle_input(&mut self, now: Time, conn: ConnId, on: TransportStream, input: &[Chunk]) {
        let Some(link) = self.links.get_mut(&conn).filter(|link| !link.is_closed) else { return };
        let result = link.session().handle_input(now, on, input);
        self.drain_events(conn);
        if result.is_err() {
            self.lose(conn);
        }
    }

    fn handle_close(&mut self, now: Time, conn: ConnId, how: Closed) {
        if let Some(server) = self.opening.remove(&conn) {
            self.waiting(server).into_iter().for_each(|front| self.refuse(front));
        }
        let Some(link) = self.links.get_mut(&conn) else { return };
        link.is_ended = true;
        let is_whole = how == Closed::Finished && link.session().handle_fin(now, TransportStream::TCP).is_ok();
        self.drain_events(conn);
        // After a FIN the client may still read its responses.
        if !is_whole || !self.is_busy(conn) {
            self.lose(conn);
            self.links.remove(&conn);
        }
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn poll_transmit(&mut self, now: Time, conn: ConnId, on: TransportStream, room: usize, out: &mut Wire) {
        let Some(link) = self.links.get_mut(&conn) else { return };
        link.session().poll_transmit(now, on, room, out);
        for ((other, stream), bytes) in link.poll_passed() {
            if let Some(link) = self.links.get_mut(&other) {
                link.session().release(stream, bytes);
                self.settle(other);
            }
        }
        self.drain_events(conn);
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }
}

#[cfg(test)]
mod tests;
