//! The server of one host: answers each request with the object that the page has at its path.

use crate::page::{ActivityId, HostId, Page};
use crate::{Action, Closed, ConnId, Peer, Service};
use bytes::Bytes;
use loadstone_http::{Body, Chunk, Event, Fields, Protocol, ResponseHead, ServerSession, Sessions, StreamId, Wire};
use loadstone_units::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// What a host has to offer: its objects by path. Made once for all runs of a page.
#[derive(Debug)]
pub struct Catalogue {
    /// Ascending by path; no two objects of a host have one path.
    shelf: Vec<(Bytes, ActivityId)>,
    page: Arc<Page>,
    host: HostId,
}

impl Catalogue {
    /// The catalogues of all hosts of `page`, in their order.
    pub fn all(page: &Arc<Page>) -> Vec<Catalogue> {
        let mut shelves = vec![Vec::new(); page.hosts.len()];
        for (at, (_, fetch)) in page.fetches().enumerate() {
            shelves[fetch.host.0 as usize].push((fetch.request.path.clone(), ActivityId(at as u32)));
        }
        let catalogue = |(host, mut shelf): (usize, Vec<(Bytes, ActivityId)>)| {
            shelf.sort_unstable();
            Catalogue { shelf, page: page.clone(), host: HostId(host as u32) }
        };
        shelves.into_iter().enumerate().map(catalogue).collect()
    }

    fn look_up(&self, path: &Bytes) -> Option<ActivityId> {
        let at = self.shelf.binary_search_by(|(shelved, _)| shelved.cmp(path)).ok()?;
        Some(self.shelf[at].1)
    }

    fn think(&self, object: ActivityId) -> Duration {
        self.page.hosts[self.host.0 as usize].think + self.page.fetch(object).think
    }
}

/// The server of one host.
#[derive(Debug)]
pub struct Origin {
    catalogue: Arc<Catalogue>,
    maker: Arc<Sessions>,
    sessions: BTreeMap<ConnId, Session>,
    thinking: BinaryHeap<Reverse<Thought>>,
    actions: VecDeque<Action>,
    /// Requests for its objects, in the order in which they were complete.
    services: Vec<Service>,
}

#[derive(Debug)]
struct Session {
    engine: Box<dyn ServerSession>,
    /// Requests whose end has not come, with the object that answers them.
    arriving: VecDeque<(StreamId, Option<ActivityId>)>,
    /// Nothing more is heard; it may have a last word to say.
    is_closing: bool,
}

/// A response that is being thought about; the first to be ready comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Thought {
    ready: Time,
    conn: ConnId,
    stream: StreamId,
    object: ActivityId,
    /// Its place in the list of services.
    service: usize,
}

impl Origin {
    /// A server that nobody has asked anything; it takes its sessions from `maker`.
    pub fn new(catalogue: Arc<Catalogue>, maker: Arc<Sessions>) -> Origin {
        Origin {
            catalogue,
            maker,
            sessions: BTreeMap::new(),
            thinking: BinaryHeap::new(),
            actions: VecDeque::new(),
            services: Vec::new(),
        }
    }

    /// When the requests for its objects arrived and were answered, in the order of their arrival.
    pub fn services(&self) -> &[Service] {
        &self.services
    }

    fn drain_events(&mut self, now: Time, conn: ConnId) {
        while let Some(event) = self.sessions.get_mut(&conn).and_then(|session| session.engine.poll_event()) {
            match event {
                Event::Request { id, head } => {
                    let object = self.catalogue.look_up(&head.path);
                    self.session(conn).arriving.push_back((id, object));
                }
                Event::End { id } => {
                    let arriving = &mut self.session(conn).arriving;
                    let at = arriving.iter().position(|(stream, _)| *stream == id).expect("a request ends once");
                    let object = arriving.remove(at).and_then(|(_, object)| object);
                    self.answer(now, conn, id, object);
                }
                Event::Data { .. } | Event::Answered { .. } | Event::Pong => {}
                Event::Reset { id } => self.session(conn).arriving.retain(|(stream, _)| *stream != id),
                Event::Sent { .. }
                | Event::Interim { .. }
                | Event::Promised { .. }
                | Event::Response { .. }
                | Event::Refused { .. } => {
                    unreachable!("a server's session asks for nothing")
                }
            }
        }
    }

    fn session(&mut self, conn: ConnId) -> &mut Session {
        self.sessions.get_mut(&conn).expect("its events have just been polled")
    }

    /// A request is complete: thinks, or responds.
    fn answer(&mut self, now: Time, conn: ConnId, stream: StreamId, object: Option<ActivityId>) {
        let Some(object) = object else {
            let head = ResponseHead::new(404, Fields::from_pairs([("content-length", "0")]));
            return self.respond(conn, stream, Arc::new(head), Body::EMPTY);
        };
        let service = self.services.len();
        self.services.push(Service { conn, object, arrived: now, answered: None });
        let ready = now + self.catalogue.think(object);
        let thought = Thought { ready, conn, stream, object, service };
        if ready == now {
            self.respond_with(now, thought);
        } else {
            self.thinking.push(Reverse(thought));
        }
    }

    fn respond_with(&mut self, now: Time, thought: Thought) {
        let Thought { conn, stream, object, service, .. } = thought;
        self.services[service].answered = Some(now);
        let fetch = self.catalogue.page.fetch(object);
        let (head, body) = (fetch.response.clone(), fetch.body);
        self.respond(conn, stream, head, body);
    }

    fn respond(&mut self, conn: ConnId, stream: StreamId, head: Arc<ResponseHead>, body: Body) {
        // The connection may have failed while the server was thinking.
        if let Some(session) = self.sessions.get_mut(&conn) {
            session.engine.respond(stream, head, body);
            self.transmit(conn);
        }
    }

    fn transmit(&mut self, conn: ConnId) {
        let action = Action::Transmit { conn };
        if self.actions.back() != Some(&action) {
            self.actions.push_back(action);
        }
    }

    /// Closes a connection, after what its session still has to say: why it ends, for instance. The
    /// session goes when the driver takes the action.
    fn drop_session(&mut self, conn: ConnId) {
        let Some(session) = self.sessions.get_mut(&conn).filter(|session| !session.is_closing) else { return };
        session.is_closing = true;
        if session.engine.has_output() {
            self.transmit(conn);
        }
        self.actions.push_back(Action::Close { conn });
    }
}

impl Peer for Origin {
    fn handle_open(&mut self, _: Time, conn: ConnId, protocol: Protocol) {
        let engine = self.maker.server(protocol);
        if engine.has_output() {
            self.transmit(conn);
        }
        self.sessions.insert(conn, Session { engine, arriving: VecDeque::new(), is_closing: false });
    }

    fn handle_input(&mut self, now: Time, conn: ConnId, input: &[Chunk]) {
        let Some(session) = self.sessions.get_mut(&conn).filter(|session| !session.is_closing) else { return };
        let result = session.engine.handle_input(now, input);
        self.drain_events(now, conn);
        if result.is_err() {
            self.drop_session(conn);
        } else if self.session(conn).engine.has_output() {
            self.transmit(conn);
        }
    }

    fn handle_close(&mut self, _: Time, conn: ConnId, _: Closed) {
        if self.sessions.remove(&conn).is_some_and(|session| !session.is_closing) {
            self.actions.push_back(Action::Close { conn });
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        while self.thinking.peek().is_some_and(|Reverse(thought)| thought.ready <= now) {
            if let Some(Reverse(thought)) = self.thinking.pop() {
                self.respond_with(now, thought);
            }
        }
    }

    fn poll_action(&mut self) -> Option<Action> {
        let action = self.actions.pop_front();
        if let Some(Action::Close { conn }) = action {
            self.sessions.remove(&conn);
        }
        action
    }

    fn poll_transmit(&mut self, now: Time, conn: ConnId, room: usize, out: &mut Wire) {
        if let Some(session) = self.sessions.get_mut(&conn) {
            session.engine.poll_transmit(now, room, out);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.thinking.peek().map(|Reverse(thought)| thought.ready)
    }
}
