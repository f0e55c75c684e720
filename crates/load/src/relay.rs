//! The relay: takes requests of any protocol in front, passes them on over any behind, and the responses back,
//! as they come; if it has a cache, from there what may be.
//!
//! An exchange has a stream in front and one behind, each the other's peer. What comes on one is appended to the
//! other, and is used when it has left there: so no more than a window of a message is ever held, and an end that
//! reads slowly makes the other end send slowly. `admission` says which requests are passed on, `fields` what of their heads,
//! `rejection` what is answered in place of a server. `exchange` says how exchanges begin and end (`relayed` is one, `repeatable` says
//! which requests are made again), `link` is a connection, `pool` the connections to one server (`growth` is when one more is worth opening, `client_turns` is who is next,
//! `client_shares` how many each client has). `route` says where a request may go, `lookups` where a name leads that its client has
//! chosen, `balance` to which of several servers it goes, `health` which of them are left out by what `observation` has seen of
//! them, `checks` how they are asked. `processor` is the time that requests take, `expiry` what is not waited for any longer, `drain`
//! how it leaves, `reconfigure` how it gets other settings, `gauges` what it has at the moment. `cache` is what it remembers,
//! `caching` how it is used, `keeping` what is said to its disk.

mod admission;
mod balance;
mod cache;
mod caching;
mod checks;
mod client_shares;
mod client_turns;
mod config;
mod drain;
mod exchange;
mod expiry;
mod fields;
mod gauges;
mod growth;
mod health;
mod keeping;
mod link;
mod lookups;
mod observation;
mod pending_request;
mod pipelined;
mod pool;
mod processor;
mod reconfigure;
mod rejection;
mod relayed;
mod repeatable;
mod requester;
mod route;

pub use cache::{
    AdoptedFile, CacheFile, CacheLimits, CacheOutcome, DiskTask, FileNumber, KeptEntry, Purge, StatedHits,
};
pub use config::{
    ExchangeNotes, Forwarding, HealthCheck, HealthRules, PoolLimits, RelayConfig, ServerProtocol, ServerTimeouts,
    windows_behind, windows_in_front,
};
pub use gauges::{CacheGauges, DiskGauges, PoolGauges, RelayGauges};
pub use growth::PoolGrowth;
pub use lookups::NoWay;
pub use pipelined::Pipelined;
pub use rejection::Rejection;

use crate::page::HostId;
use crate::{Action, Closed, ConnId, Ending, Exchange, Opened, Opener, Program, Tag};
use cache::{CACHE, Cache, FillId};
use checks::ServerChecks;
use fields::{FrontClient, passed_trailers, returned};
use link::RelayConnection;
use loadstone_http::{Chunk, Event, Protocol, RequestHead, RequestId, TransportStream, Wire};
use loadstone_units::Time;
use lookups::Lookups;
use pending_request::PendingRequest;
use pool::{ServerPool, Wanted};
use processor::Processor;
use relayed::RelayedExchange;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// A stream of a connection.
type StreamRef = (ConnId, RequestId);

/// A program between clients and the servers of some hosts.
#[derive(Debug)]
pub struct Relay {
    config: Box<RelayConfig>,
    /// Boxed, since a table has nearly twice as many places as connections.
    links: BTreeMap<ConnId, Box<RelayConnection>>,
    /// The connections behind, by their servers.
    pools: BTreeMap<HostId, ServerPool>,
    /// How servers are asked whether they are well.
    checks: ServerChecks,
    /// How often a server was chosen for a request.
    choices: u64,
    /// Those of earlier settings and answers that requests may still go to.
    former_servers: Vec<Arc<[HostId]>>,
    /// Where names lead that clients choose.
    lookups: Lookups,
    /// When requests will have waited for too long for a connection to a server.
    growing: BTreeSet<(Time, HostId)>,
    /// Requests that have no stream behind yet.
    early: BTreeMap<StreamRef, PendingRequest>,
    /// The connections that are being opened, their servers, and since when.
    opening: BTreeMap<ConnId, (HostId, Time)>,
    /// Connections whose sessions may have something to say.
    stirring: BTreeSet<ConnId>,
    /// Exchanges that are over.
    over: VecDeque<Exchange>,
    /// What it remembers of responses, if it does.
    cache: Option<Box<Cache>>,
    /// Its processor, if it has to wait for that.
    processor: Option<Box<Processor>>,
    peak_held: u64,
    /// Bytes that are kept of requests.
    kept: usize,
    is_draining: bool,
    /// When it last heard of anything.
    now: Time,
    /// When to look for what has gone on for too long.
    next_look: Time,
    actions: VecDeque<Action>,
}

impl Relay {
    /// A relay that has no connections.
    pub fn new(config: RelayConfig) -> Relay {
        let mut relay = Relay {
            cache: config.cache.map(|limits| Box::new(Cache::new(limits))),
            processor: Processor::new(config.request_time).map(Box::new),
            config: Box::new(config),
            links: BTreeMap::new(),
            pools: BTreeMap::new(),
            checks: ServerChecks::default(),
            choices: 0,
            former_servers: Vec::new(),
            lookups: Lookups::default(),
            growing: BTreeSet::new(),
            early: BTreeMap::new(),
            opening: BTreeMap::new(),
            stirring: BTreeSet::new(),
            over: VecDeque::new(),
            peak_held: 0,
            kept: 0,
            is_draining: false,
            now: Time::ZERO,
            next_look: Time::NEVER,
            actions: VecDeque::new(),
        };
        relay.set_checks();
        relay
    }

    /// The most bytes of a message that it has held at a time.
    pub fn peak_held(&self) -> u64 {
        self.peak_held
    }

    /// The bytes of memory that its cache takes.
    pub fn cached_bytes(&self) -> u64 {
        self.cache.as_ref().map_or(0, |cache| cache.bytes())
    }

    /// Makes the cache forget responses. How many it has forgotten.
    pub fn purge(&mut self, purge: &Purge) -> u64 {
        self.cache.as_mut().map_or(0, |cache| cache.purge(purge))
    }

    /// An exchange that is over, until `None`: with [`ExchangeNotes::Kept`].
    pub fn poll_exchange(&mut self) -> Option<Exchange> {
        self.over.pop_front()
    }

    /// The session of a connection may have something to say.
    fn stir(&mut self, conn: ConnId) {
        self.stirring.insert(conn);
    }

    /// Hears all sessions that have something to say, and lets them read and send what they may.
    fn turn(&mut self) {
        while let Some(conn) = self.stirring.pop_first() {
            while let Some(event) = self.links.get_mut(&conn).and_then(|link| link.session().poll_event()) {
                self.handle_event(conn, event);
            }
            self.settle(conn);
        }
    }

    fn handle_event(&mut self, conn: ConnId, event: Event) {
        let Some(id) = event.request() else { return };
        self.note_progress(conn, &event);
        if let Some(early) =
            self.early.get_mut(&(conn, id)).filter(|_| !matches!(event, Event::Reset { .. } | Event::Rejected { .. }))
        {
            early.events.push(event);
            self.proceed((conn, id));
            return self.join((conn, id));
        }
        if matches!(event, Event::Refused { .. }) && self.try_again((conn, id), Wanted::Any) {
            return;
        }
        let link = self.links.get(&conn);
        let (protocol, is_from_client) =
            link.map_or((Protocol::Http1, false), |link| (link.protocol(), !link.is_behind()));
        let peer = link.and_then(|link| link.peers.get(&id)).and_then(|peer| peer.place);
        if let Some((CACHE, fill)) = peer {
            return self.handle_fill_event((conn, id), FillId(fill.0), event);
        }
        // A server that has answered early may be gone, or its stream, while the rest of the request still comes.
        let peer = peer.filter(|(to, it)| self.links.get(to).is_some_and(|link| link.peers.contains_key(it)));
        if let Some(behind) = peer.filter(|_| is_from_client) {
            self.keep_content((conn, id), behind, &event);
        }
        match (event, peer) {
            (Event::Request { head, .. }, _) => self.begin((conn, id), &head),
            (Event::Interim { head, .. }, Some((to, stream))) => match returned(&head, protocol) {
                Ok(head) => self.link(to).inform(stream, head),
                Err(why) => self.give_up_behind((conn, id), why),
            },
            (Event::Response { head, .. }, Some((to, stream))) => match returned(&head, protocol) {
                Ok(head) => self.pass_head((to, stream), head),
                Err(why) => self.give_up_behind((conn, id), why),
            },
            (Event::Data { content, .. }, Some((to, stream))) => {
                self.peak_held = self.peak_held.max(self.link(to).append(stream, content));
            }
            // The exchange has ended: the content is dropped.
            (Event::Data { content, .. }, None) => self.link(conn).session().release(id, content.len()),
            (Event::Trailers { fields, .. }, Some((to, stream))) => {
                self.link(to).trailers(stream, passed_trailers(&fields))
            }
            (Event::End { .. }, Some((to, stream))) => self.end(conn, id, (to, stream)),
            (Event::ResponseSent { .. }, _) => {
                self.link(conn).part(id);
                self.note_over((conn, id), Ending::Complete);
            }
            (Event::Rejected { head, status, .. }, _) => self.note_rejected((conn, id), head, status),
            (Event::Reset { .. } | Event::Refused { .. }, _) => {
                self.cut((conn, id), Rejection::Closed);
                self.note_over((conn, id), Ending::CutShort);
            }
            _ => {}
        }
        if let Some((to, _)) = peer {
            self.stir(to);
        }
    }

    /// Something has come on a connection.
    fn note_progress(&mut self, conn: ConnId, event: &Event) {
        let now = self.now;
        let Some(link) = self.links.get_mut(&conn) else { return };
        if link.is_behind() {
            link.stirred = now;
            let has_answered = matches!(event, Event::Response { .. });
            let server = link.server().filter(|_| has_answered);
            let mut dropped = None;
            if let Some(peer) = event.request().and_then(|id| link.peers.get_mut(&id)) {
                peer.stirred = now;
                peer.is_answered |= has_answered;
                let is_unanswered = matches!(event, Event::Sent { .. } | Event::Refused { .. });
                let answered = peer.repeatable.take_if(|_| !is_unanswered);
                dropped = answered.filter(|request| !request.events.is_empty()).and(peer.place);
            }
            if let Some(front) = dropped {
                self.drop_content(front);
            }
            if let Some(server) = server {
                self.note_response(server);
            }
            return;
        }
        let Some(exchange) = event.request().and_then(|id| link.exchange(id)) else { return };
        match (event, &mut exchange.arrival) {
            (Event::Data { content, .. }, Some(arrival)) => arrival.note(now, content.len()),
            (Event::End { .. }, arrival) => *arrival = None,
            _ => {}
        }
    }

    /// All of a message has come.
    fn end(&mut self, conn: ConnId, id: RequestId, (to, stream): StreamRef) {
        self.link(to).finish(stream);
        if self.link(conn).is_behind() {
            self.end_response(conn, id);
        }
    }

    /// All of a response has come.
    fn end_response(&mut self, conn: ConnId, id: RequestId) {
        if self.link(conn).end(id) {
            // The request never got out: it would be taken for what comes next.
            self.abort(conn);
        }
    }

    /// The session has answered a request that breaks the rules of HTTP: it is an exchange like any other.
    fn note_rejected(&mut self, (conn, id): StreamRef, head: Option<Arc<RequestHead>>, status: u16) {
        self.cut((conn, id), Rejection::Malformed);
        if let Some(head) = head {
            self.note_begun((conn, id), RelayedExchange::new(Arc::new(head.excerpt(&[])), self.now, 0));
        }
        if let Some(exchange) = self.link(conn).exchange(id) {
            (exchange.status, exchange.rejected) = (Some(status), Some(Rejection::Malformed));
            exchange.arrival = None;
        }
    }

    /// Lets a connection read and send what it may, or end.
    fn settle(&mut self, conn: ConnId) {
        let Some(link) = self.links.get_mut(&conn) else { return };
        self.actions.extend(link.limit().map(|limit| Action::Receive { conn, on: TransportStream::TCP, limit }));
        if link.has_output() && !link.is_transmitting {
            link.is_transmitting = true;
            self.actions.push_back(Action::Transmit { conn });
        }
        if link.is_over() {
            if link.is_behind() {
                return self.lose(conn, Rejection::Closed);
            }
            link.is_closed = true;
            self.actions.push_back(Action::Close { conn });
            if link.is_ended {
                self.links.remove(&conn);
            }
        } else if link.is_stuck() {
            return self.leave_ended(conn);
        }
        self.offer(conn);
    }

    /// A connection whose other end is over is of no more use.
    fn leave_ended(&mut self, conn: ConnId) {
        self.lose(conn, Rejection::Closed);
        self.links.remove(&conn);
    }

    fn link(&mut self, conn: ConnId) -> &mut RelayConnection {
        self.links.get_mut(&conn).expect("an exchange ends with its connections")
    }
}

impl Program for Relay {
    fn handle_opening(&mut self, now: Time, conn: ConnId, tag: Tag) {
        self.now = now;
        match ServerChecks::server_of(tag) {
            Some(server) => self.begin_check(conn, server),
            None => _ = self.opening.insert(conn, (HostId(tag.0), now)),
        }
    }

    fn handle_open(&mut self, now: Time, conn: ConnId, opened: Opened) {
        self.now = now;
        if self.checks.has(conn) {
            return self.ask_check(conn, opened.protocol);
        }
        self.look_later();
        let Opened { by, peer: address, protocol } = opened;
        let server = self.opening.remove(&conn).filter(|_| by == Opener::Us).map(|(server, _)| server);
        let RelayConfig { sessions, server_sessions, .. } = &*self.config;
        let link = match server {
            Some(server) => RelayConnection::behind(server, protocol, server_sessions.client(protocol), now),
            None => RelayConnection::front(sessions.server(protocol), FrontClient { protocol, address }, now),
        };
        self.links.insert(conn, Box::new(link));
        if let Some(front) = server.and_then(|server| self.pool(server).opened(now, conn, protocol)) {
            self.take(conn, front);
        }
        self.settle(conn);
        match server {
            Some(server) => self.refill(server),
            None if self.is_draining => self.leave(conn),
            None => {}
        }
        self.turn();
    }

    fn handle_input(&mut self, now: Time, conn: ConnId, on: TransportStream, input: &[Chunk]) {
        self.now = now;
        if self.checks.has(conn) {
            self.hear_check(conn, input);
            return self.turn();
        }
        let Some(link) = self.links.get_mut(&conn).filter(|link| !link.is_closed) else { return };
        let result = link.session().handle_input(now, on, input);
        self.stir(conn);
        self.turn();
        if result.is_err() {
            self.lose(conn, Rejection::Unreadable);
            self.turn();
        }
    }

    fn handle_close(&mut self, now: Time, conn: ConnId, how: Closed) {
        self.now = now;
        if self.checks.has(conn) {
            self.actions.push_back(Action::Close { conn });
            self.end_check(conn);
        }
        self.end_opening(conn);
        if let Some(server) =
            self.links.get(&conn).filter(|link| link.leaves_unanswered()).and_then(|link| link.server())
        {
            self.note_failure(server);
        }
        if let Some(link) = self.links.get_mut(&conn) {
            link.is_ended = true;
            let is_whole = how == Closed::Finished && link.session().handle_fin(now, TransportStream::TCP).is_ok();
            self.stir(conn);
            self.turn();
            // After a FIN the client may still read its responses.
            if self.links.contains_key(&conn) && (!is_whole || !self.is_busy(conn)) {
                self.leave_ended(conn);
            }
        }
        self.turn();
    }

    fn handle_timeout(&mut self, now: Time) {
        self.now = now;
        if self.next_look <= now {
            self.expire();
        }
        self.grow_overdue();
        self.handle_checks_due();
        self.read_due();
        self.turn();
    }

    fn poll_action(&mut self) -> Option<Action> {
        let action = self.actions.pop_front();
        if let Some(Action::Transmit { conn }) = action
            && let Some(link) = self.links.get_mut(&conn)
        {
            link.is_transmitting = false;
        }
        action
    }

    fn poll_transmit(&mut self, now: Time, conn: ConnId, on: TransportStream, room: usize, out: &mut Wire) {
        self.now = now;
        self.checks.poll_transmit(now, conn, room, out);
        let Some(link) = self.links.get_mut(&conn) else { return };
        let before = out.len();
        link.session().poll_transmit(now, on, room, out);
        let passed = link.poll_passed(now);
        if out.len() == before && passed.is_empty() && !link.has_output() {
            // Drivers ask until there is nothing more: then nothing has changed.
            return;
        }
        for ((other, stream), bytes) in passed {
            if let Some(link) = self.links.get_mut(&other) {
                link.stirred = now;
                link.peers.entry(stream).and_modify(|peer| peer.stirred = now);
                link.session().release(stream, bytes);
                self.stir(other);
            }
        }
        self.stir(conn);
        self.turn();
    }

    fn poll_timeout(&self) -> Option<Time> {
        let growth = self.growing.first().map_or(Time::NEVER, |(until, _)| *until);
        let next = self.next_look.min(self.next_reading()).min(self.checks.deadline()).min(growth);
        Some(next).filter(|at| *at != Time::NEVER)
    }
}

#[cfg(test)]
mod tests;
