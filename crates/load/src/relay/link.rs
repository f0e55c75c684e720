//! A connection of a relay, in front or behind.

use super::StreamRef;
use super::cache::CacheOutcome;
use super::fields::FrontClient;
use super::rejection::Rejection;
use super::relayed::RelayedExchange;
use super::repeatable::RepeatableRequest;
use crate::page::HostId;
use crate::shut::{Responses, Shut};
use loadstone_http::{
    Body, Chunk, ClientSession, Content, Fields, Priority, Protocol, RequestHead, RequestId, ResponseHead,
    ServerSession, Session, TransportStream,
};
use loadstone_units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many bytes that are not used yet a connection may bring, in either direction.
pub(super) const WINDOW: u64 = 64 * 1024;
/// The most requests on a connection behind, so that its window has room for those of all its streams.
pub(super) const MAX_STREAMS: usize = 100;

/// A connection: a session, and the peers of its streams.
#[derive(Debug)]
pub(super) struct RelayConnection {
    pub(super) half: Half,
    pub(super) peers: BTreeMap<RequestId, Peer>,
    /// How much of the transport has been used, and up to where it may be read.
    used: u64,
    limit: u64,
    /// The driver has yet to be told that there is something to send.
    pub(super) is_transmitting: bool,
    /// When an exchange began or ended on it, or, behind, when it was last the client's turn, or content moved.
    pub(super) stirred: Time,
    /// Nothing more goes out on it.
    pub(super) is_closed: bool,
    /// Nothing more comes on it.
    pub(super) is_ended: bool,
}

#[derive(Debug)]
pub(super) enum Half {
    Front(Front),
    Behind(Behind),
}

/// The half of a connection to a client.
#[derive(Debug)]
pub(super) struct Front {
    session: Box<dyn ServerSession>,
    pub(super) client: FrontClient,
    /// Those that are not over.
    pub(super) exchanges: BTreeMap<RequestId, RelayedExchange>,
    /// The client lets nothing of its responses out, or too little.
    pub(super) shut: Option<Shut>,
    /// Bytes that are kept of its requests.
    pub(super) kept: usize,
    /// The client has been told that nothing new is taken.
    pub(super) is_drained: bool,
}

/// The half of a connection to a server.
#[derive(Debug)]
pub(super) struct Behind {
    server: HostId,
    protocol: Protocol,
    session: Box<dyn ClientSession>,
    /// The requests that it is kept for: of them it is not known yet whether content follows.
    pub(super) kept_for: BTreeSet<StreamRef>,
    /// It has carried one before: the server may close it at any time.
    pub(super) was_used: bool,
}

/// What belongs to a stream: the stream at the other side, and what came from there.
#[derive(Debug)]
pub(super) struct Peer {
    /// None where the cache is the other side.
    pub(super) place: Option<StreamRef>,
    /// Bytes appended here that have not gone out yet. Then they are called used at the other side,
    pub(super) passed: u64,
    /// but for the first so many, which were before: the request is made again.
    pub(super) used: u64,
    /// All has come from there.
    pub(super) is_finished: bool,
    /// Behind: its response has begun.
    pub(super) is_answered: bool,
    trailers: Fields,
    /// Behind: when it was last the client's turn, or anything moved.
    pub(super) stirred: Time,
    /// Behind: its request, if that can be made again.
    pub(super) repeatable: Option<RepeatableRequest>,
}

impl Peer {
    pub(super) fn new(place: StreamRef) -> Peer {
        Peer { place: Some(place), ..Peer::of_cache() }
    }

    /// What belongs to a stream whose content comes from the cache.
    pub(super) fn of_cache() -> Peer {
        Peer {
            place: None,
            passed: 0,
            used: 0,
            is_finished: false,
            is_answered: false,
            trailers: Fields::default(),
            stirred: Time::ZERO,
            repeatable: None,
        }
    }

    /// What belongs to a stream behind on which a request goes out now.
    pub(super) fn of_request(place: StreamRef, now: Time, repeatable: RepeatableRequest) -> Peer {
        Peer { repeatable: Some(repeatable), stirred: now, ..Peer::new(place) }
    }
}

/// What has to be done about a connection one of whose streams has lost its peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GivenUp {
    /// Nothing more: it has been answered.
    Stream,
    /// Nothing more: its exchange is over.
    Cancelled,
    /// HTTP/1.1 has no smaller unit: the connection goes with it.
    Connection,
}

impl RelayConnection {
    pub(super) fn front(mut session: Box<dyn ServerSession>, client: FrontClient, now: Time) -> RelayConnection {
        session.hold();
        let (exchanges, shut, kept, is_drained) = (BTreeMap::new(), None, 0, false);
        RelayConnection::new(Half::Front(Front { session, client, exchanges, shut, kept, is_drained }), now)
    }

    pub(super) fn behind(
        server: HostId,
        protocol: Protocol,
        mut session: Box<dyn ClientSession>,
        now: Time,
    ) -> RelayConnection {
        session.hold();
        let half = Behind { server, protocol, session, kept_for: BTreeSet::new(), was_used: false };
        RelayConnection::new(Half::Behind(half), now)
    }

    fn new(half: Half, now: Time) -> RelayConnection {
        RelayConnection {
            half,
            peers: BTreeMap::new(),
            used: 0,
            limit: 0,
            is_transmitting: false,
            stirred: now,
            is_closed: false,
            is_ended: false,
        }
    }

    pub(super) fn session(&mut self) -> &mut dyn Session {
        match &mut self.half {
            Half::Front(front) => front.session.as_mut(),
            Half::Behind(behind) => behind.session.as_mut(),
        }
    }

    pub(super) fn look(&self) -> &dyn Session {
        match &self.half {
            Half::Front(front) => front.session.as_ref(),
            Half::Behind(behind) => behind.session.as_ref(),
        }
    }

    pub(super) fn as_front(&mut self) -> Option<&mut Front> {
        if let Half::Front(front) = &mut self.half { Some(front) } else { None }
    }

    /// What is spoken on it.
    pub(super) fn protocol(&self) -> Protocol {
        match &self.half {
            Half::Front(front) => front.client.protocol,
            Half::Behind(behind) => behind.protocol,
        }
    }

    /// What a client speaks, if it is one.
    pub(super) fn protocol_in_front(&self) -> Option<Protocol> {
        if let Half::Front(front) = &self.half { Some(front.client.protocol) } else { None }
    }

    pub(super) fn as_behind(&mut self) -> Option<&mut Behind> {
        if let Half::Behind(behind) = &mut self.half { Some(behind) } else { None }
    }

    /// An exchange in front that is not over.
    pub(super) fn exchange(&mut self, stream: RequestId) -> Option<&mut RelayedExchange> {
        self.as_front()?.exchanges.get_mut(&stream)
    }

    /// Sends a request; content follows if it is streamed.
    pub(super) fn request(&mut self, head: Arc<RequestHead>, content: Content) -> RequestId {
        match &mut self.half {
            Half::Behind(behind) => behind.session.request(head, content, Priority::default()),
            Half::Front(_) => unreachable!("clients are asked nothing"),
        }
    }

    pub(super) fn respond(&mut self, stream: RequestId, head: Arc<ResponseHead>, now: Time) {
        if let Half::Front(front) = &mut self.half
            && let Some(exchange) = front.exchanges.get_mut(&stream)
        {
            exchange.status = Some(head.status);
            exchange.answered = Some(now);
            front.session.respond(stream, head, Content::Streamed);
        }
    }

    /// Answers a request that has no answer yet.
    pub(super) fn reject(&mut self, stream: RequestId, why: Rejection) {
        let Half::Front(front) = &mut self.half else { return };
        let Some(exchange) = front.exchanges.get_mut(&stream) else { return };
        (exchange.status, exchange.rejected) = (Some(why.status()), Some(why));
        if exchange.is_head() {
            return front.session.respond(stream, why.head(), Content::Whole(Body::EMPTY));
        }
        exchange.sent = why.text().len() as u64;
        front.session.respond(stream, why.head(), Content::Streamed);
        front.session.append(stream, Chunk::Bytes(why.text().into()));
        front.session.finish(stream, Fields::default());
    }

    pub(super) fn inform(&mut self, stream: RequestId, head: Arc<ResponseHead>) {
        if let Half::Front(front) = &mut self.half {
            front.session.send_interim(stream, head);
        }
    }

    /// More of a message; how much of it is held now.
    pub(super) fn append(&mut self, stream: RequestId, chunk: Chunk) -> u64 {
        let Some(peer) = self.peers.get_mut(&stream) else { return 0 };
        peer.passed += chunk.len();
        let held = peer.passed;
        if let Some(exchange) = self.exchange(stream) {
            exchange.sent += chunk.len();
        }
        self.session().append(stream, chunk);
        held
    }

    /// Notes what the cache had to do with a response.
    pub(super) fn note_cache(&mut self, stream: RequestId, outcome: CacheOutcome) {
        if let Some(exchange) = self.exchange(stream) {
            exchange.cache = Some(outcome);
        }
    }

    pub(super) fn trailers(&mut self, stream: RequestId, fields: Fields) {
        self.peers.entry(stream).and_modify(|peer| peer.trailers = fields);
    }

    pub(super) fn finish(&mut self, stream: RequestId) {
        let trailers = self.peers.get_mut(&stream).map(|peer| {
            peer.is_finished = true;
            std::mem::take(&mut peer.trailers)
        });
        self.session().finish(stream, trailers.unwrap_or_default());
    }

    /// What has gone out since it was last asked, as bytes that are used at the other side.
    pub(super) fn poll_passed(&mut self, now: Time) -> Vec<(StreamRef, u64)> {
        let session = match &self.half {
            Half::Front(front) => front.session.as_ref() as &dyn Session,
            Half::Behind(behind) => behind.session.as_ref(),
        };
        let (mut passed, mut let_out) = (Vec::new(), 0);
        for (stream, peer) in self.peers.iter_mut().filter(|(_, peer)| peer.passed > 0) {
            let buffered = session.buffered(*stream);
            if peer.passed > buffered {
                peer.stirred = now;
                let went = peer.passed - buffered;
                let again = went.min(peer.used);
                let_out += went;
                passed.extend(peer.place.map(|place| (place, went - again)));
                (peer.passed, peer.used) = (buffered, peer.used - again);
            }
        }
        self.note_shut(now, let_out);
        passed
    }

    /// Notes whether the client lets nothing out although there was room, and `let_out` bytes of content went.
    fn note_shut(&mut self, now: Time, let_out: u64) {
        let held = self.peers.values().any(|peer| peer.passed > 0);
        let Half::Front(front) = &mut self.half else { return };
        let responses = match (held, front.session.has_output()) {
            (false, _) => Responses::None,
            (true, true) => Responses::Going,
            (true, false) => Responses::Blocked,
        };
        front.shut = Shut::after(front.shut, now, responses, let_out);
    }

    /// All of a response has come, and with that a stream behind is over. Whether the connection is of no more use, because
    /// its request never got out.
    pub(super) fn end(&mut self, stream: RequestId) -> bool {
        let Half::Behind(Behind { session, protocol, .. }) = &mut self.half else { return false };
        let peer = self.peers.remove(&stream);
        if !protocol.is_multiplexed() {
            return session.capacity() == 0 && !session.is_closing();
        }
        if peer.is_some_and(|peer| !peer.is_finished) || session.buffered(stream) > 0 {
            // RFC 9113, section 8.1: the server has answered without the rest of the request.
            session.cancel(stream);
        }
        false
    }

    /// The streams whose requests may be made again now that it is lost.
    pub(super) fn safe_if_lost(&self) -> Vec<RequestId> {
        if !self.protocol().is_multiplexed() && self.look().is_partial() {
            // An answer has begun.
            return Vec::new();
        }
        let is_safe = |peer: &Peer| peer.repeatable.as_ref().is_some_and(|request| request.is_safe_if_lost);
        self.peers.iter().filter(|(_, peer)| is_safe(peer)).map(|(stream, _)| *stream).collect()
    }

    /// Whether its end would be a failure of the server: a request has no response, and its connection was not one that the server
    /// may have closed before the request came.
    pub(super) fn leaves_unanswered(&self) -> bool {
        let safe = self.safe_if_lost();
        self.is_behind() && self.peers.iter().any(|(stream, peer)| !peer.is_answered && !safe.contains(stream))
    }

    /// Whether it carries nothing, and is kept for nothing.
    pub(super) fn is_unused(&self) -> bool {
        self.peers.is_empty() && matches!(&self.half, Half::Behind(it) if it.kept_for.is_empty())
    }

    /// How many exchanges it carries, or is kept for.
    pub(super) fn carried(&self) -> usize {
        let kept_for = if let Half::Behind(behind) = &self.half { behind.kept_for.len() } else { 0 };
        self.peers.len() + kept_for
    }

    /// Whether it takes one more request.
    pub(super) fn is_free(&self) -> bool {
        let Half::Behind(Behind { session, kept_for, .. }) = &self.half else { return false };
        let takes = session.capacity() > kept_for.len() && self.peers.len() + kept_for.len() < MAX_STREAMS;
        takes && !self.is_closed && !self.is_ended
    }

    /// Whether a request that it is kept for may go out.
    pub(super) fn has_capacity(&self) -> bool {
        matches!(&self.half, Half::Behind(it) if it.session.capacity() > 0)
    }

    /// The whole response is sent: the rest of the request is dropped.
    pub(super) fn part(&mut self, stream: RequestId) {
        self.peers.remove(&stream);
        self.session().release(stream, u64::MAX);
    }

    /// The other side of a stream is gone. A response that has begun must not look complete: over HTTP/1.1 the end of the
    /// connection would be its end, if it has no length.
    pub(super) fn give_up(&mut self, stream: RequestId, why: Rejection) -> Option<GivenUp> {
        self.peers.remove(&stream)?;
        self.session().release(stream, u64::MAX);
        let front = match &mut self.half {
            Half::Front(front) => front,
            Half::Behind(behind) if behind.protocol.is_multiplexed() => {
                behind.session.cancel(stream);
                return Some(GivenUp::Cancelled);
            }
            Half::Behind(_) => return Some(GivenUp::Connection),
        };
        let begun = front.exchanges.get_mut(&stream).filter(|exchange| exchange.status.is_some());
        let Some(exchange) = begun else {
            self.reject(stream, why);
            return Some(GivenUp::Stream);
        };
        exchange.rejected = Some(why);
        if !front.client.protocol.is_multiplexed() {
            return Some(GivenUp::Connection);
        }
        front.session.cancel(stream);
        Some(GivenUp::Cancelled)
    }

    pub(super) fn is_behind(&self) -> bool {
        matches!(self.half, Half::Behind(_))
    }

    /// To which server it leads, if it is one behind.
    pub(super) fn server(&self) -> Option<HostId> {
        if let Half::Behind(behind) = &self.half { Some(behind.server) } else { None }
    }

    /// Up to where the transport may be read, if that has moved far enough to be worth telling.
    pub(super) fn limit(&mut self) -> Option<u64> {
        self.used += self.session().poll_used(TransportStream::TCP);
        let limit = self.used + WINDOW;
        let is_worth = limit >= self.limit + WINDOW / 4;
        is_worth.then(|| {
            self.limit = limit;
            limit
        })
    }

    pub(super) fn has_output(&self) -> bool {
        self.look().has_output()
    }

    /// Whether it is to be closed now.
    pub(super) fn is_over(&self) -> bool {
        !self.is_closed && self.look().is_over() && !self.has_output()
    }

    /// Whether all that is left to send to a client waits for windows that no longer open, since it sends no more.
    pub(super) fn is_stuck(&self) -> bool {
        let Half::Front(front) = &self.half else { return false };
        let waits = |stream: &RequestId| front.session.buffered(*stream) > 0;
        self.is_ended
            && front.client.protocol.is_multiplexed()
            && !front.session.has_output()
            && !front.exchanges.is_empty()
            && front.exchanges.keys().all(waits)
    }
}
