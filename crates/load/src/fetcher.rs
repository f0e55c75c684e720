//! The fetcher: asks for a list of things, follows what comes of each, and hands on what arrives.
//!
//! `errand` is what is asked for, `transfer` what came of it, `queue` what waits for a server and for
//! how long there is hope; this file joins them with the sessions.

mod fetch_list;
mod queue;
#[cfg(test)]
mod tests;
mod transfer;
mod url_list;

pub use fetch_list::{
    FetchList, FetchListError, NoServerAddress, Request, RequestTemplate, ServerAddress, header_field,
};
pub use transfer::{BodyPiece, Transfer, TransferId, Unanswered};
pub use url_list::{UrlFile, UrlListError, urls_with_priorities};

use crate::page::HostId;
use crate::{Action, Closed, ConnId, Opened, Program, Tag};
use loadstone_http::{
    Chunk, ClientSession, Error, Event, Fields, Protocol, RequestHead, RequestId, ResponseHead, SessionFactory,
    TransportStream, Wire,
};
use loadstone_units::Time;
use queue::Queue;
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// The most pushes of all servers together: pushes are not requested, so they have to be bounded.
const MAX_PUSHES: usize = 10_000;

/// How a fetcher behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// What connections speak; `None` if that is for the first one to find out.
    pub protocol: Option<Protocol>,
    /// The most connections to a server, where one carries one request at a time.
    pub connections: NonZeroU32,
    /// The most requests that are unanswered on a connection; `None` for as many as its session takes.
    pub concurrency: Option<NonZeroU32>,
    /// How often each thing is asked for.
    pub repeat: NonZeroU32,
    /// Whether connections are measured.
    pub ping: Ping,
    /// Where sessions come from; they say whether servers may push.
    pub sessions: Arc<SessionFactory>,
}

/// Whether a connection's round trip is measured, where the protocol has the means.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ping {
    /// It is not.
    #[default]
    Never,
    /// It is, ahead of the connection's first request.
    Once,
}

/// What the fetcher knows of a connection afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Use {
    /// Its server's place in [`FetchList::servers`].
    pub server: usize,
    /// From a PING to its answer.
    pub round_trip: Option<Duration>,
    /// What the server did wrong, if the connection was given up for that.
    pub fault: Option<Error>,
}

/// A program that fetches what a [`FetchList`] names, with as few connections as the protocol allows.
///
/// What is requested again: what a server refused (RFC 9113, section 8.7), when it has answered something else on
/// that connection, or else on another one, and what was unanswered on a connection that closed, if it may be done
/// twice, without pipelining (RFC 9112, section 9.3). Four connections in a row that bring nothing end a server's part.
#[derive(Debug)]
pub struct Fetcher {
    config: Config,
    errand: FetchList,
    /// One for each server.
    queues: Vec<Queue>,
    connections: Vec<FetcherConnection>,
    transfers: Vec<Transfer>,
    /// For each request the head that came last: most often the next one is the same.
    latest: Vec<Option<Arc<ResponseHead>>>,
    /// Transfers to which something may still come.
    unsettled: usize,
    pushes: usize,
    /// PINGs that are not answered.
    pings: usize,
    contents: VecDeque<BodyPiece>,
    actions: VecDeque<Action>,
}

#[derive(Debug)]
struct FetcherConnection {
    server: usize,
    to: HostId,
    stage: FetcherStage,
    /// What is under way.
    streams: BTreeMap<RequestId, TransferId>,
    /// How much of that was asked for from here.
    asked: usize,
    /// How many transfers have come to their end here.
    settled: u64,
    /// The server has refused something, and come to the end of nothing since.
    is_refusing: bool,
    ping: Measure,
    fault: Option<Error>,
    /// What a session that is over still has to say.
    farewell: Wire,
}

#[derive(Debug)]
enum FetcherStage {
    Opening,
    Open(Box<dyn ClientSession>),
    Ended,
}

/// How far the measurement of a round trip is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Measure {
    Never,
    /// The PING goes out with the next bytes.
    Due,
    Since(Time),
    Took(Duration),
}

impl Fetcher {
    /// A fetcher that has not begun.
    pub fn new(errand: FetchList, config: Config) -> Fetcher {
        let queue = |_| Queue::new(config.protocol, config.connections.get());
        let mut queues: Vec<_> = errand.servers().iter().map(queue).collect();
        let requests = errand.requests();
        let again = (0..config.repeat.get()).flat_map(|_| requests);
        let transfers: Vec<_> = again.map(|request| Transfer::new(request.head.clone(), request.server)).collect();
        for (at, transfer) in transfers.iter().enumerate() {
            queues[transfer.server].want(TransferId(at as u32));
        }
        Fetcher {
            queues,
            connections: Vec::new(),
            latest: vec![None; requests.len()],
            unsettled: transfers.len(),
            transfers,
            pushes: 0,
            pings: 0,
            contents: VecDeque::new(),
            actions: VecDeque::new(),
            config,
            errand,
        }
    }

    /// Begins. Server `k` of the errand is found at `addresses[k]` places, one of which has to do: in
    /// [`Action::Open`] they are counted through in the order of the servers.
    ///
    /// # Panics
    /// If there are not as many numbers of addresses as servers.
    pub fn start(&mut self, addresses: &[u32]) {
        assert_eq!(addresses.len(), self.queues.len(), "each server has its number of addresses");
        let mut next = 0;
        for (queue, count) in self.queues.iter_mut().zip(addresses) {
            queue.find(next..next + count);
            next += count;
        }
        for server in 0..self.queues.len() {
            if self.queues[server].is_nowhere() {
                self.give_up(server, None, Unanswered::NotFound);
            }
            self.open(server);
        }
    }

    /// Whether nothing more is to come.
    pub fn is_over(&self) -> bool {
        self.unsettled == 0 && self.pings == 0
    }

    /// Path and query that a transfer is about.
    ///
    /// # Panics
    /// If there is no such transfer.
    pub fn path(&self, transfer: TransferId) -> &[u8] {
        &self.transfers[transfer.0 as usize].request.path
    }

    /// What has come of bodies, in order, until `None`.
    pub fn poll_content(&mut self) -> Option<BodyPiece> {
        self.contents.pop_front()
    }

    /// What came of all transfers, and what is known of connections, by their names. What is not settled
    /// is unanswered for the reason `else_why`.
    pub fn finish(self, else_why: Unanswered) -> (Vec<Transfer>, Vec<Use>) {
        let mut transfers = self.transfers;
        for transfer in transfers.iter_mut().filter(|transfer| !transfer.is_settled()) {
            transfer.failure = Some(else_why);
        }
        (transfers, self.connections.iter().map(FetcherConnection::used).collect())
    }

    /// Opens the connections to a server that are called for.
    fn open(&mut self, server: usize) {
        while let Some(to) = self.queues[server].open() {
            let tag = Tag(self.connections.len() as u32);
            self.connections.push(FetcherConnection::new(server, to));
            self.actions.push_back(Action::Open { to, tag });
        }
    }

    /// Gives what waits for a server to those of its connections that take it, and opens more.
    fn dispatch(&mut self, now: Time, server: usize) {
        let live: Vec<ConnId> = self.queues[server].live.iter().copied().collect();
        for conn in live {
            if self.queues[server].is_empty() {
                return;
            }
            self.fill(now, conn);
        }
        self.open(server);
    }

    /// Gives a connection as many requests as it takes.
    fn fill(&mut self, now: Time, conn: ConnId) {
        let FetcherConnection { server, stage: FetcherStage::Open(session), streams, asked, is_refusing, .. } =
            &mut self.connections[conn.0 as usize]
        else {
            return;
        };
        let max = self.config.concurrency.map_or(usize::MAX, |max| max.get() as usize);
        let requests = self.errand.requests();
        while !*is_refusing
            && *asked < max
            && session.capacity() > 0
            && let Some(id) = self.queues[*server].take()
        {
            let request = &requests[id.0 as usize % requests.len()];
            streams.insert(session.request(request.head.clone(), request.body.into(), request.priority), id);
            *asked += 1;
            let transfer = &mut self.transfers[id.0 as usize];
            (transfer.connection, transfer.asked) = (Some(conn), Some(now));
            transfer.attempts += 1;
        }
        if session.has_output() {
            self.actions.push_back(Action::Transmit { conn });
        }
    }

    /// Notes what a session tells.
    fn drain_events(&mut self, now: Time, conn: ConnId) {
        let mut refused = Vec::new();
        while let Some(event) = self.connections[conn.0 as usize].session().and_then(|session| session.poll_event()) {
            let connection = &mut self.connections[conn.0 as usize];
            let Some(stream) = event.request() else {
                connection.note_pong(now);
                self.pings -= 1;
                continue;
            };
            if let Event::Promised { id, parent, head } = event {
                self.note_promise(now, conn, id, parent, head);
                continue;
            }
            let Some(&id) = connection.streams.get(&stream) else { continue };
            let transfer = &mut self.transfers[id.0 as usize];
            match event {
                Event::Sent { .. } => transfer.sent = Some(now),
                Event::Response { head, .. } => {
                    transfer.first_byte = Some(now);
                    transfer.response = Some(kept(head, &mut self.latest, id));
                }
                Event::Data { content: chunk, .. } => {
                    transfer.bytes += chunk.len();
                    self.contents.push_back(BodyPiece::Piece { transfer: id, chunk });
                }
                Event::End { .. } => {
                    transfer.last_byte = Some(now);
                    self.contents.push_back(BodyPiece::End { transfer: id });
                    self.unsettled -= 1;
                    connection.settle(stream);
                }
                Event::Refused { .. } if transfer.parent.is_none() && transfer.response.is_none() => {
                    refused.push(id);
                    connection.forget(stream);
                    connection.is_refusing = true;
                }
                Event::Reset { .. } | Event::Refused { .. } => {
                    connection.settle(stream);
                    self.fail(id, Unanswered::Reset);
                }
                Event::Trailers { .. }
                | Event::Interim { .. }
                | Event::Promised { .. }
                | Event::Discarded { .. }
                | Event::Pong => {}
                Event::Request { .. } | Event::Rejected { .. } | Event::ResponseSent { .. } => {
                    unreachable!("a client's session is asked nothing")
                }
            }
        }
        self.ask_again(conn, refused);
    }

    /// A server pushes something.
    fn note_promise(&mut self, now: Time, conn: ConnId, id: RequestId, parent: RequestId, head: Arc<RequestHead>) {
        let connection = &mut self.connections[conn.0 as usize];
        self.pushes += 1;
        if self.pushes > MAX_PUSHES {
            connection.session().into_iter().for_each(|session| session.cancel(id));
            return;
        }
        let transfer = TransferId(self.transfers.len() as u32);
        let (parent, connection_name) = (connection.streams.get(&parent).copied(), Some(conn));
        let pushed = Transfer::new(head, connection.server);
        self.transfers.push(Transfer { parent, connection: connection_name, asked: Some(now), ..pushed });
        self.unsettled += 1;
        connection.streams.insert(id, transfer);
    }

    /// Puts these back, in their order.
    fn ask_again(&mut self, conn: ConnId, mut transfers: Vec<TransferId>) {
        transfers.sort_unstable();
        for id in &transfers {
            let transfer = &mut self.transfers[id.0 as usize];
            (transfer.asked, transfer.sent) = (None, None);
        }
        self.queues[self.connections[conn.0 as usize].server].want_again(transfers.into_iter());
    }

    /// The transfer fails.
    fn fail(&mut self, id: TransferId, why: Unanswered) {
        self.transfers[id.0 as usize].failure = Some(why);
        self.unsettled -= 1;
        self.contents.push_back(BodyPiece::Cut { transfer: id });
    }

    /// Nothing that waits for this server will be answered; `conn` showed it.
    fn give_up(&mut self, server: usize, conn: Option<ConnId>, why: Unanswered) {
        while let Some(id) = self.queues[server].take() {
            self.transfers[id.0 as usize].connection = conn;
            self.fail(id, why);
        }
    }

    /// A connection takes nothing more. What is under way on it is lost, if anything is, for the reason `why`.
    fn end(&mut self, now: Time, conn: ConnId, why: Unanswered) {
        let connection = &mut self.connections[conn.0 as usize];
        let server = connection.server;
        let has_hope = match std::mem::replace(&mut connection.stage, FetcherStage::Ended) {
            FetcherStage::Ended => return,
            FetcherStage::Opening => self.queues[server].missed(connection.to),
            FetcherStage::Open(mut session) => {
                session.poll_transmit(now, TransportStream::TCP, usize::MAX, &mut connection.farewell);
                self.pings -= usize::from(connection.is_measuring());
                let lost = std::mem::take(&mut connection.streams);
                self.queues[server].lost(connection.asked);
                let is_repeatable = |id: &TransferId| self.transfers[id.0 as usize].is_repeatable();
                let is_fault = matches!(why, Unanswered::ProtocolError(_));
                let (again, failed): (Vec<_>, Vec<_>) =
                    lost.into_values().partition(|id| !is_fault && is_repeatable(id));
                connection.settled += failed.len() as u64;
                let settled = connection.settled;
                failed.into_iter().for_each(|id| self.fail(id, why));
                self.ask_again(conn, again);
                self.queues[server].ended(conn, settled)
            }
        };
        if !self.connections[conn.0 as usize].farewell.is_empty() {
            self.actions.push_back(Action::Transmit { conn });
        }
        self.actions.push_back(Action::Close { conn });
        if !has_hope {
            self.give_up(server, Some(conn), why);
        }
        self.dispatch(now, server);
    }

    /// Goes on after something has come on a connection.
    fn go_on(&mut self, now: Time, conn: ConnId) {
        let connection = &mut self.connections[conn.0 as usize];
        let server = connection.server;
        // Where it refuses all there is, whatever the reason, another connection has another one.
        let is_useless = connection.is_refusing && connection.asked == 0;
        if let Some(session) = connection.session() {
            if is_useless {
                session.shut_down();
            }
            let (is_closing, is_over) = (session.is_closing(), session.is_over());
            if is_closing {
                self.queues[server].live.remove(&conn);
            }
            if is_over {
                self.end(now, conn, Unanswered::Refused);
            } else {
                self.fill(now, conn);
                self.open(server);
            }
        }
        if self.is_over() {
            self.leave(now);
        }
    }

    /// Takes leave of all servers.
    fn leave(&mut self, now: Time) {
        for at in 0..self.connections.len() {
            if let Some(session) = self.connections[at].session() {
                session.shut_down();
                self.end(now, ConnId(at as u32), Unanswered::Closed);
            }
        }
    }
}

/// The head as it is kept: once, if the last one for the same request was the same, and else apart from the
/// bytes that came with it.
fn kept(head: Arc<ResponseHead>, latest: &mut [Option<Arc<ResponseHead>>], id: TransferId) -> Arc<ResponseHead> {
    let last = &mut latest[id.0 as usize % latest.len()];
    match last {
        Some(last) if *last == head => last.clone(),
        _ => last.insert(Arc::new(ResponseHead::new(head.status, Fields::from_pairs(head.fields.iter())))).clone(),
    }
}

impl FetcherConnection {
    fn new(server: usize, to: HostId) -> FetcherConnection {
        FetcherConnection {
            server,
            to,
            stage: FetcherStage::Opening,
            streams: BTreeMap::new(),
            asked: 0,
            settled: 0,
            is_refusing: false,
            ping: Measure::Never,
            fault: None,
            farewell: Wire::default(),
        }
    }

    fn session(&mut self) -> Option<&mut dyn ClientSession> {
        match &mut self.stage {
            FetcherStage::Open(session) => Some(session.as_mut()),
            FetcherStage::Opening | FetcherStage::Ended => None,
        }
    }

    /// The transfer of this stream has come to its end.
    fn settle(&mut self, stream: RequestId) {
        self.settled += 1;
        self.is_refusing = false;
        self.forget(stream);
    }

    /// Nothing more comes on this stream.
    fn forget(&mut self, stream: RequestId) {
        self.asked -= usize::from(self.streams.remove(&stream).is_some() && !stream.is_pushed());
    }

    fn is_measuring(&self) -> bool {
        matches!(self.ping, Measure::Due | Measure::Since(_))
    }

    fn note_pong(&mut self, now: Time) {
        if let Measure::Since(sent) = self.ping {
            self.ping = Measure::Took(Duration::from_nanos(now.nanos_since(sent)));
        }
    }

    fn used(&self) -> Use {
        let round_trip = match self.ping {
            Measure::Took(span) => Some(span),
            Measure::Never | Measure::Due | Measure::Since(_) => None,
        };
        Use { server: self.server, round_trip, fault: self.fault }
    }
}

impl Program for Fetcher {
    fn handle_opening(&mut self, _: Time, conn: ConnId, tag: Tag) {
        // It accepts none, so the driver numbers them in the order in which they were asked for.
        assert_eq!(conn.0, tag.0, "a fetcher's connections are those that it opens");
    }

    fn handle_open(&mut self, now: Time, conn: ConnId, Opened { protocol, .. }: Opened) {
        let connection = &mut self.connections[conn.0 as usize];
        let queue = &mut self.queues[connection.server];
        let protocol = queue.spoken_on(protocol);
        queue.opened(conn, protocol);
        let mut session = self.config.sessions.client(protocol);
        if self.config.ping == Ping::Once && protocol.is_multiplexed() {
            session.ping();
            connection.ping = Measure::Due;
            self.pings += 1;
        }
        connection.stage = FetcherStage::Open(session);
        self.go_on(now, conn);
    }

    fn handle_input(&mut self, now: Time, conn: ConnId, on: TransportStream, input: &[Chunk]) {
        let Some(session) = self.connections[conn.0 as usize].session() else { return };
        let result = session.handle_input(now, on, input);
        self.drain_events(now, conn);
        if let Err(error) = result {
            self.connections[conn.0 as usize].fault = Some(error);
            self.end(now, conn, Unanswered::ProtocolError(error));
        }
        self.go_on(now, conn);
    }

    fn handle_close(&mut self, now: Time, conn: ConnId, how: Closed) {
        if let (Some(session), Closed::Finished) = (self.connections[conn.0 as usize].session(), how) {
            // What is cut short is seen from what is under way.
            let _truncated = session.handle_fin(now, TransportStream::TCP);
            self.drain_events(now, conn);
        }
        let is_open = self.connections[conn.0 as usize].session().is_some();
        self.end(now, conn, if is_open { Unanswered::Closed } else { Unanswered::Unreachable });
        self.go_on(now, conn);
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn poll_transmit(&mut self, now: Time, conn: ConnId, on: TransportStream, room: usize, out: &mut Wire) {
        let FetcherConnection { stage, farewell, ping, .. } = &mut self.connections[conn.0 as usize];
        let FetcherStage::Open(session) = stage else {
            return farewell.move_to(farewell.len().min(room as u64), out);
        };
        session.poll_transmit(now, on, room, out);
        if *ping == Measure::Due {
            *ping = Measure::Since(now);
        }
        self.drain_events(now, conn);
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }
}
