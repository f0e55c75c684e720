//! A connection of a relay, in front or behind.

use super::StreamRef;
use super::fields::bad_gateway;
use crate::page::HostId;
use loadstone_http::{
    Body, Chunk, ClientSession, Content, Event, Fields, Priority, RequestHead, RequestId, ResponseHead, ServerSession,
    Session, TransportStream,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many bytes that are not used yet a connection may bring, in either direction.
pub(super) const WINDOW: u64 = 64 * 1024;

/// A connection: a session, and the peers of its streams.
#[derive(Debug)]
pub(super) struct RelayConnection {
    half: Half,
    pub(super) peers: BTreeMap<RequestId, Peer>,
    /// It carries an exchange, or is kept for one.
    pub(super) is_taken: bool,
    /// How much of the transport has been used, and up to where it may be read.
    used: u64,
    limit: u64,
    /// Nothing more goes out on it.
    pub(super) is_closed: bool,
    /// Nothing more comes on it.
    pub(super) is_ended: bool,
}

#[derive(Debug)]
enum Half {
    Front(Box<dyn ServerSession>),
    /// To this server.
    Behind(HostId, Box<dyn ClientSession>),
}

/// What belongs to a stream: the stream at the other side, and what came from there.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) place: StreamRef,
    /// Bytes appended here and not yet called used at the other side.
    passed: u64,
    /// A head has gone out here.
    begun: bool,
    trailers: Fields,
}

/// A request that has no stream behind yet.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub(super) head: Arc<RequestHead>,
    pub(super) server: HostId,
    /// The connection that it goes out on, once there is one.
    pub(super) behind: Option<super::ConnId>,
    /// What has come of it besides.
    pub(super) events: Vec<Event>,
}

impl Peer {
    pub(super) fn new(place: StreamRef) -> Peer {
        Peer { place, passed: 0, begun: false, trailers: Fields::default() }
    }
}

impl RelayConnection {
    pub(super) fn front(mut session: Box<dyn ServerSession>) -> RelayConnection {
        session.hold();
        RelayConnection::new(Half::Front(session))
    }

    pub(super) fn behind(server: HostId, mut session: Box<dyn ClientSession>) -> RelayConnection {
        session.hold();
        RelayConnection::new(Half::Behind(server, session))
    }

    fn new(half: Half) -> RelayConnection {
        RelayConnection {
            half,
            peers: BTreeMap::new(),
            is_taken: false,
            used: 0,
            limit: 0,
            is_closed: false,
            is_ended: false,
        }
    }

    pub(super) fn session(&mut self) -> &mut dyn Session {
        match &mut self.half {
            Half::Front(session) => session.as_mut(),
            Half::Behind(_, session) => session.as_mut(),
        }
    }

    fn look(&self) -> &dyn Session {
        match &self.half {
            Half::Front(session) => session.as_ref(),
            Half::Behind(_, session) => session.as_ref(),
        }
    }

    /// Whether it goes to this server and takes a request.
    pub(super) fn is_idle(&self, server: HostId) -> bool {
        let takes = matches!(&self.half, Half::Behind(to, session) if *to == server && session.capacity() > 0);
        takes && !self.is_taken && !self.is_closed
    }

    /// Sends a request; content follows if it is `Open`.
    pub(super) fn request(&mut self, head: Arc<RequestHead>, content: Content) -> RequestId {
        match &mut self.half {
            Half::Behind(_, session) => session.request(head, content, Priority::default()),
            Half::Front(_) => unreachable!("clients are asked nothing"),
        }
    }

    pub(super) fn respond(&mut self, stream: RequestId, head: Arc<ResponseHead>, content: Content) {
        if let Half::Front(session) = &mut self.half {
            session.respond(stream, head, content);
        }
        self.peers.entry(stream).and_modify(|peer| peer.begun = true);
    }

    pub(super) fn inform(&mut self, stream: RequestId, head: Arc<ResponseHead>) {
        if let Half::Front(session) = &mut self.half {
            session.send_interim(stream, head);
        }
    }

    /// More of a message; how much of it is held now.
    pub(super) fn append(&mut self, stream: RequestId, chunk: Chunk) -> u64 {
        let Some(peer) = self.peers.get_mut(&stream) else { return 0 };
        peer.passed += chunk.len();
        let held = peer.passed;
        self.session().append(stream, chunk);
        held
    }

    pub(super) fn trailers(&mut self, stream: RequestId, fields: &Fields) {
        self.peers.entry(stream).and_modify(|peer| peer.trailers = fields.clone());
    }

    pub(super) fn finish(&mut self, stream: RequestId) {
        let trailers = self.peers.get_mut(&stream).map(|peer| std::mem::take(&mut peer.trailers));
        self.session().finish(stream, trailers.unwrap_or_default());
    }

    /// What has gone out since it was last asked, as bytes that are used at the other side.
    pub(super) fn poll_passed(&mut self) -> Vec<(StreamRef, u64)> {
        let session = match &self.half {
            Half::Front(session) => session.as_ref() as &dyn Session,
            Half::Behind(_, session) => session.as_ref(),
        };
        let mut passed = Vec::new();
        for (stream, peer) in self.peers.iter_mut().filter(|(_, peer)| peer.passed > 0) {
            let buffered = session.buffered(*stream);
            if peer.passed > buffered {
                passed.push((peer.place, peer.passed - buffered));
                peer.passed = buffered;
            }
        }
        passed
    }

    /// All of a message has come. With that a stream behind is over; whether the connection is of no more use then,
    /// because its request never got out.
    pub(super) fn end(&mut self, stream: RequestId) -> bool {
        let Half::Behind(_, session) = &self.half else { return false };
        self.peers.remove(&stream);
        self.is_taken = false;
        session.capacity() == 0 && !session.is_closing()
    }

    /// The whole response is sent: the rest of the request is dropped.
    pub(super) fn part(&mut self, stream: RequestId) {
        self.peers.remove(&stream);
        self.session().release(stream, u64::MAX);
    }

    /// The other side of a stream is gone. Whether this connection has to go with it: HTTP/1.1 has no smaller unit.
    pub(super) fn give_up(&mut self, stream: RequestId) -> bool {
        let Some(peer) = self.peers.remove(&stream) else { return false };
        self.session().release(stream, u64::MAX);
        match &mut self.half {
            Half::Front(session) if peer.begun => session.cancel(stream),
            Half::Front(session) => session.respond(stream, bad_gateway(), Content::Whole(Body::EMPTY)),
            Half::Behind(..) => return true,
        }
        false
    }

    pub(super) fn is_behind(&self) -> bool {
        matches!(self.half, Half::Behind(..))
    }

    /// The server that it goes to, if it goes to one.
    pub(super) fn server(&self) -> Option<HostId> {
        match &self.half {
            Half::Front(_) => None,
            Half::Behind(server, _) => Some(*server),
        }
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
}
