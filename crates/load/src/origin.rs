//! A server: answers each request with what its site has for it.

mod config;
mod session;
#[cfg(test)]
mod tests;

pub use config::{Closing, Config, MaxKept, Timeouts};

use crate::catalogue::Catalogue;
use crate::site::{Answer, Ending, Exchange, Pushed, Site, Ticket};
use crate::{Action, Closed, ConnId, Opened, Program, Service};
use loadstone_http::{
    Body, Chunk, Event, Fields, Protocol, RequestHead, RequestId, ResponseHead, TransportStream, Wire,
};
use loadstone_units::Time;
use session::{OriginSession, UnderWay};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The server of one site; in the simulator that of one host of a page.
#[derive(Debug)]
pub struct Origin<S: Site = Arc<Catalogue>> {
    site: S,
    config: Config,
    /// Until when its processor has something to do.
    busy: Time,
    sessions: BTreeMap<ConnId, OriginSession<S::Asked>>,
    thinking: BinaryHeap<Reverse<Thought>>,
    actions: VecDeque<Action>,
    /// Requests for a page's objects, in the order in which they were complete.
    services: Vec<Service>,
    /// How many of them were for a page that its site had before.
    before: usize,
    /// When to look for connections that have gone on for too long.
    next_expiry: Time,
    /// Sessions that may have come to their end while they sent.
    ending: Vec<ConnId>,
    /// When it last heard of anything.
    heard: Time,
    /// Bytes that are kept of the heads of requests.
    kept: usize,
    is_draining: bool,
}

/// How long a server does not look for connections after it has looked.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// A response that is being thought about; the first to be ready comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Thought {
    ready: Time,
    conn: ConnId,
    stream: RequestId,
}

impl Origin {
    /// From now on it has the objects of another page.
    pub fn restock(&mut self, catalogue: Arc<Catalogue>) {
        self.site = catalogue;
        self.before = self.services.len();
        for session in self.sessions.values_mut() {
            session.ask_again(|request| self.site.ask(request));
        }
    }
}

impl<S: Site> Origin<S> {
    /// A server of `site` that has had no connections yet.
    pub fn new(site: S, config: Config) -> Origin<S> {
        Origin {
            site,
            config,
            busy: Time::ZERO,
            sessions: BTreeMap::new(),
            thinking: BinaryHeap::new(),
            actions: VecDeque::new(),
            services: Vec::new(),
            before: 0,
            next_expiry: Time::NEVER,
            ending: Vec::new(),
            heard: Time::ZERO,
            kept: 0,
            is_draining: false,
        }
    }

    /// When the requests for its objects arrived and were answered, in the order of their arrival.
    pub fn services(&self) -> &[Service] {
        &self.services[self.before..]
    }

    /// Begins to leave: what is under way goes on to its end, and no connection is used for more. Drain
    /// [`Program::poll_action`] after it, as after a `handle_*`.
    pub fn shut_down(&mut self, _: Time) {
        self.is_draining = true;
        let conns: Vec<ConnId> = self.sessions.keys().copied().collect();
        conns.into_iter().for_each(|conn| self.leave(conn));
    }

    /// Gives up whatever is under way. Nothing is said on any connection; the driver drops them.
    pub fn give_up(&mut self, now: Time) {
        while let Some((conn, _)) = self.sessions.first_key_value() {
            let conn = *conn;
            self.forget(now, conn);
        }
    }

    fn leave(&mut self, conn: ConnId) {
        let session = self.session(conn);
        session.is_drained = true;
        session.engine.shut_down();
        self.transmit_if_any(conn);
        self.close_if_over(conn);
    }

    fn drain_events(&mut self, now: Time, conn: ConnId) {
        while let Some(event) = self.sessions.get_mut(&conn).and_then(|session| session.engine.poll_event()) {
            self.handle_event(now, conn, event);
        }
    }

    fn handle_event(&mut self, now: Time, conn: ConnId, event: Event) {
        match event {
            Event::Request { id, head } => self.begin(now, conn, id, head),
            Event::Rejected { id, head, status } => self.reject(now, conn, id, head, status),
            Event::Data { id, content } => {
                let session = self.sessions.get_mut(&conn).expect("its events are being polled");
                if let Some(asked) = session.exchange(id).and_then(|exchange| exchange.asked.as_mut()) {
                    self.site.take(asked, content);
                }
            }
            Event::End { id } => self.answer(now, conn, id),
            Event::ResponseSent { id } => self.finish(now, conn, id, Ending::Complete),
            Event::Reset { id } => self.finish(now, conn, id, Ending::CutShort),
            Event::Trailers { .. } | Event::Pong => {}
            Event::Sent { .. }
            | Event::Discarded { .. }
            | Event::Interim { .. }
            | Event::Promised { .. }
            | Event::Response { .. }
            | Event::Refused { .. } => {
                unreachable!("a server's session asks for nothing")
            }
        }
    }

    fn session(&mut self, conn: ConnId) -> &mut OriginSession<S::Asked> {
        self.sessions.get_mut(&conn).expect("a connection that is named is there")
    }

    fn begin(&mut self, now: Time, conn: ConnId, stream: RequestId, request: Arc<RequestHead>) {
        let requests = self.config.requests_per_connection;
        let session = self.session(conn);
        session.stirred = now;
        if session.asked == requests && !session.protocol.is_multiplexed() {
            // It came in one packet with the last one (RFC 9112, section 9.6: it is not answered).
            return session.engine.cancel(stream);
        }
        session.asked += 1;
        let is_last = session.asked == requests;
        // RFC 9110, section 10.1.1: the client holds its content back until it hears this, or for a time of its own.
        let is_waiting = request.fields.get(b"expect").is_some_and(|it| it.eq_ignore_ascii_case(b"100-continue"));
        let request = self.site.keep(request);
        let kept = request.memory_len();
        let MaxKept { connection, all } = self.config.max_kept;
        if kept > connection - self.session(conn).kept || kept > all - self.kept {
            let (session, cancelled) = (self.session(conn), UnderWay::new(request, now));
            session.engine.cancel(stream);
            let protocol = session.protocol;
            return self.note_over(now, conn, protocol, cancelled, Ending::CutShort);
        }
        self.kept += kept;
        let asked = self.site.ask(&request);
        let session = self.session(conn);
        if is_waiting {
            session.engine.send_interim(stream, Arc::new(ResponseHead::new(100, Fields::default())));
        }
        session.begin(stream, UnderWay::arriving(request, now, asked, kept));
        self.expire_in(now, self.config.timeouts.request);
        if is_last {
            self.leave(conn);
        }
    }

    /// The session has answered a request that breaks the rules of HTTP: it is an exchange like any other. `head` is
    /// what was read of it, if the request has not begun.
    fn reject(&mut self, now: Time, conn: ConnId, stream: RequestId, head: Option<Arc<RequestHead>>, status: u16) {
        let rejected = head.map(|head| UnderWay::new(self.site.keep(head), now));
        let session = self.session(conn);
        session.stirred = now;
        if let Some(rejected) = rejected {
            session.begin(stream, rejected);
        }
        if let Some(exchange) = session.exchange(stream) {
            exchange.asked = None;
        }
        session.note_response(stream, status, Body::EMPTY);
    }

    /// A request is complete.
    fn answer(&mut self, now: Time, conn: ConnId, stream: RequestId) {
        let Some(exchange) = self.session(conn).exchange(stream) else { return };
        let asked = exchange.asked.take().expect("a request ends once");
        let client = self.session(conn).client;
        if let Some(answer) = self.site.answer(asked, Ticket { conn, stream, client }) {
            self.give(now, conn, stream, answer);
        }
    }

    /// Answers a request: sends hints and pushes, thinks, or responds.
    fn give(&mut self, now: Time, conn: ConnId, stream: RequestId, mut answer: Answer) {
        let pushes = std::mem::take(&mut answer.pushes);
        if let Some(hint) = answer.hint.take() {
            self.session(conn).engine.send_interim(stream, hint);
            self.transmit(conn);
        }
        for pushed in pushes {
            if !self.push(now, conn, stream, pushed) {
                break;
            }
        }
        self.think(now, conn, stream, answer);
    }

    /// Pushes a response with `parent` as the associated request. Returns whether the client takes it.
    fn push(&mut self, now: Time, conn: ConnId, parent: RequestId, pushed: Pushed) -> bool {
        let Pushed { request, priority } = pushed;
        let Some(stream) = self.session(conn).engine.push(parent, request.clone(), priority) else { return false };
        let asked = self.site.ask(&request);
        let client = self.session(conn).client;
        let answer = self.site.answer(asked, Ticket { conn, stream, client });
        self.session(conn).begin(stream, UnderWay::new(request, now));
        self.transmit(conn);
        if let Some(answer) = answer {
            self.think(now, conn, stream, answer);
        }
        true
    }

    fn think(&mut self, now: Time, conn: ConnId, stream: RequestId, answer: Answer) {
        let done = self.occupy(now, self.config.work.of_response(answer.body.len));
        let think = match answer.object {
            Some(_) => self.config.thinking.scale(answer.key, answer.think),
            None => answer.think,
        };
        let ready = done + think;
        let service = answer.object.map(|object| {
            self.services.push(Service { conn, object, is_pushed: stream.is_pushed(), arrived: now, answered: None });
            self.services.len() - 1
        });
        let Some(exchange) = self.session(conn).exchange(stream) else { return };
        exchange.service = service;
        if ready == now {
            return self.respond(now, conn, stream, answer);
        }
        exchange.answer = Some(Box::new(answer));
        self.thinking.push(Reverse(Thought { ready, conn, stream }));
    }

    /// The processor is given something to do; when it is done, after all that it was given before.
    fn occupy(&mut self, now: Time, span: Duration) -> Time {
        if span.is_zero() {
            return now;
        }
        self.busy = self.busy.max(now) + span;
        self.busy
    }

    /// A response is ready.
    fn remember(&mut self, now: Time, Thought { conn, stream, .. }: Thought) {
        // The connection may have failed while the server was thinking, or the client lost interest.
        let exchange = self.sessions.get_mut(&conn).and_then(|session| session.exchange(stream));
        if let Some(answer) = exchange.and_then(|exchange| exchange.answer.take()) {
            self.respond(now, conn, stream, *answer);
        }
    }

    fn respond(&mut self, now: Time, conn: ConnId, stream: RequestId, Answer { head, body, .. }: Answer) {
        let Some(session) = self.sessions.get_mut(&conn).filter(|session| !session.is_closing) else { return };
        let Some(exchange) = session.exchange(stream) else { return };
        if let Some(service) = exchange.service {
            self.services[service].answered = Some(now);
        }
        session.note_response(stream, head.status, body);
        session.engine.respond(stream, head, body.into());
        self.transmit(conn);
    }

    /// An exchange is over.
    fn finish(&mut self, now: Time, conn: ConnId, stream: RequestId, end: Ending) {
        let session = self.session(conn);
        session.stirred = now;
        let protocol = session.protocol;
        if let Some(over) = session.end(stream) {
            self.note_over(now, conn, protocol, over, end);
        }
        self.expire_in(now, self.config.timeouts.idle);
    }

    /// An exchange is over, and nothing is kept of it here.
    fn note_over(&mut self, now: Time, conn: ConnId, protocol: Protocol, over: UnderWay<S::Asked>, end: Ending) {
        let response = over.response();
        let UnderWay { request, began, kept, .. } = over;
        self.kept -= kept;
        self.site.done(&Exchange {
            conn,
            protocol,
            request,
            response,
            began,
            answered: None,
            ended: now,
            end,
            cache: None,
            rejected: None,
        });
    }

    fn transmit(&mut self, conn: ConnId) {
        let action = Action::Transmit { conn };
        if self.actions.back() != Some(&action) {
            self.actions.push_back(action);
        }
    }

    fn transmit_if_any(&mut self, conn: ConnId) {
        if self.session(conn).engine.has_output() {
            self.transmit(conn);
        }
    }

    /// Closes a connection on which nothing is under way any more, once all has been said.
    fn close_if_over(&mut self, conn: ConnId) {
        let is_left = |session: &OriginSession<S::Asked>| {
            self.config.closing == Closing::Client && !session.protocol.is_multiplexed()
        };
        if self.sessions.get(&conn).is_some_and(is_left) {
            return;
        }
        let is_over = |session: &OriginSession<S::Asked>| {
            session.is_stuck() || (session.engine.is_over() && !session.engine.has_output())
        };
        if self.sessions.get(&conn).is_some_and(is_over) {
            self.drop_session(conn);
        }
    }

    /// Closes a connection, after what its session still has to say: why it ends, for instance. The
    /// session goes when the driver takes the action.
    fn drop_session(&mut self, conn: ConnId) {
        let Some(session) = self.sessions.get_mut(&conn).filter(|session| !session.is_closing) else { return };
        session.is_closing = true;
        self.transmit_if_any(conn);
        self.actions.push_back(Action::Close { conn });
    }

    /// A session is gone: so are its exchanges.
    fn forget(&mut self, now: Time, conn: ConnId) -> bool {
        let Some(session) = self.sessions.remove(&conn) else { return false };
        let protocol = session.protocol;
        let is_open = !session.is_closing;
        for over in session.into_exchanges() {
            self.note_over(now, conn, protocol, over, Ending::CutShort);
        }
        is_open
    }

    /// Looks at the timeouts again after this time, or earlier.
    fn expire_in(&mut self, now: Time, timeout: Duration) {
        if timeout != Duration::MAX {
            self.next_expiry = self.next_expiry.min(now + timeout);
        }
    }

    /// Leaves connections that are idle, gives up those with incomplete requests, and sets the time to look
    /// again.
    fn expire_idle(&mut self, now: Time) {
        let Timeouts { idle, request, response } = self.config.timeouts;
        let mut due: Vec<(ConnId, Time, Stalled)> = Vec::new();
        for (conn, session) in self.sessions.iter().filter(|(_, session)| !session.is_closing) {
            let arriving = session.exchanges().filter(|exchange| exchange.asked.is_some());
            let began = arriving.map(|exchange| exchange.began).min();
            due.extend(began.map(|began| (*conn, began + request, Stalled::Halfway)));
            due.extend(session.shut.map(|shut| (*conn, shut.since + response, Stalled::Halfway)));
            if session.exchanges().len() == 0 {
                due.push((*conn, session.stirred + idle, Stalled::Idle));
            }
        }
        let next = due.iter().map(|(_, at, _)| *at).filter(|at| *at > now).min();
        // Not at every connection's own moment, or ten thousand would be looked through ten thousand times.
        self.next_expiry = next.map_or(Time::NEVER, |at| at.max(now + BETWEEN_LOOKS));
        for (conn, _, stalled) in due.into_iter().filter(|(_, at, _)| *at <= now) {
            let session = self.session(conn);
            // A client that is still there after the shutdown has ignored it, and one that says half a word hears none.
            if stalled == Stalled::Halfway || session.is_drained || session.engine.is_partial() {
                self.drop_session(conn);
            } else {
                session.stirred = now;
                self.expire_in(now, idle);
                self.leave(conn);
            }
        }
    }
}

/// What a connection does not get on with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stalled {
    /// A request does not arrive, or a response does not go.
    Halfway,
    Idle,
}

impl<S: Site> Program for Origin<S> {
    fn handle_open(&mut self, now: Time, conn: ConnId, opened: Opened) {
        self.heard = now;
        let engine = self.config.sessions.server(opened.protocol);
        let session = OriginSession::new(engine, opened, now);
        self.sessions.insert(conn, session);
        self.transmit_if_any(conn);
        self.expire_in(now, self.config.timeouts.idle);
        if self.is_draining {
            self.leave(conn);
        }
    }

    fn handle_input(&mut self, now: Time, conn: ConnId, on: TransportStream, input: &[Chunk]) {
        self.heard = now;
        let Some(session) = self.sessions.get_mut(&conn).filter(|session| !session.is_closing) else { return };
        session.received += input.iter().map(Chunk::len).sum::<u64>();
        let result = session.engine.handle_input(now, on, input);
        self.actions.extend(session.pause_or_resume(conn, on));
        self.drain_events(now, conn);
        if result.is_err() {
            self.drop_session(conn);
        } else {
            self.transmit_if_any(conn);
            self.close_if_over(conn);
        }
    }

    fn handle_close(&mut self, now: Time, conn: ConnId, how: Closed) {
        self.heard = now;
        // After a FIN the client may still read its responses.
        let session = self.sessions.get_mut(&conn).filter(|session| how == Closed::Finished && !session.is_closing);
        if let Some(session) = session
            && session.engine.handle_fin(now, TransportStream::TCP).is_ok()
        {
            self.drain_events(now, conn);
            let session = self.session(conn);
            session.has_fin = true;
            if session.exchanges().len() > 0 && !session.is_stuck() {
                return;
            }
        }
        if self.forget(now, conn) {
            self.actions.push_back(Action::Close { conn });
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.heard = now;
        while self.thinking.peek().is_some_and(|Reverse(thought)| thought.ready <= now) {
            if let Some(Reverse(thought)) = self.thinking.pop() {
                self.remember(now, thought);
            }
        }
        while let Some((Ticket { conn, stream, .. }, answer)) = self.site.poll_answer(now) {
            // The client may have lost interest.
            if self.sessions.get_mut(&conn).is_some_and(|session| session.exchange(stream).is_some()) {
                self.give(now, conn, stream, answer);
            }
        }
        while let Some(conn) = self.ending.pop() {
            self.close_if_over(conn);
        }
        if self.next_expiry <= now {
            self.expire_idle(now);
        }
    }

    fn poll_action(&mut self) -> Option<Action> {
        let action = self.actions.pop_front();
        if let Some(Action::Close { conn }) = action {
            self.forget(self.heard, conn);
        }
        action
    }

    fn poll_transmit(&mut self, now: Time, conn: ConnId, on: TransportStream, room: usize, out: &mut Wire) {
        if let Some(session) = self.sessions.get_mut(&conn) {
            let timeout = self.config.timeouts.response;
            let before = if timeout == Duration::MAX { 0 } else { out.counted() };
            session.engine.poll_transmit(now, on, room, out);
            if session.is_paused {
                self.actions.extend(session.pause_or_resume(conn, on));
            }
            if (session.engine.is_over() || session.is_stuck()) && !session.is_closing {
                self.ending.push(conn);
            }
            if let Some(event) = session.engine.poll_event() {
                self.handle_event(now, conn, event);
                self.drain_events(now, conn);
            }
            if timeout != Duration::MAX
                && let Some(session) = self.sessions.get_mut(&conn)
            {
                session.note_shut(now, out.counted() - before);
                let due = session.shut.map_or(Time::NEVER, |shut| shut.since + timeout);
                self.next_expiry = self.next_expiry.min(due);
            }
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        if !self.ending.is_empty() {
            return Some(Time::ZERO);
        }
        let ready = self.thinking.peek().map_or(Time::NEVER, |Reverse(thought)| thought.ready);
        let later = self.site.poll_timeout().unwrap_or(Time::NEVER);
        Some(ready.min(self.next_expiry).min(later)).filter(|deadline| *deadline != Time::NEVER)
    }
}
