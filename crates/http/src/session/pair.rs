//! Two ends joined, for stories that are told once for every protocol.

use super::tests::{counted, drain_events};
use crate::{Body, BodyId, Chunk, ClientSession, Content, Error, Event, Fields, Multiplexing, Priority, Protocol};
use crate::{RequestHead, RequestId, ResponseHead, ServerSession, Session, SessionFactory, TransportStream, Wire};
use bytes::Bytes;
use loadstone_units::Time;

pub(super) const NOW: Time = Time::ZERO;
pub(super) const TCP: TransportStream = TransportStream::TCP;

/// Two ends, and what they have heard; what a body is made of is counted.
pub(super) struct Pair {
    pub(super) client: Box<dyn ClientSession>,
    pub(super) server: Box<dyn ServerSession>,
    pub(super) at_client: Vec<Event>,
    pub(super) at_server: Vec<Event>,
    /// The bytes that the client has had.
    pub(super) to_client: u64,
    /// The room that there is at a time, and how the bytes are cut on their way.
    pub(super) room: usize,
    pub(super) piece: u64,
}

impl Pair {
    pub(super) fn new(protocol: Protocol) -> Pair {
        Pair::of(protocol, Multiplexing::default())
    }

    pub(super) fn of(protocol: Protocol, config: Multiplexing) -> Pair {
        let mut pair = Pair::silent(protocol, config);
        pair.talk();
        pair
    }

    /// Both ends use content when the test says so.
    pub(super) fn holding(protocol: Protocol, config: Multiplexing) -> Pair {
        let mut pair = Pair::silent(protocol, config);
        pair.client.hold();
        pair.server.hold();
        pair.talk();
        pair
    }

    fn silent(protocol: Protocol, config: Multiplexing) -> Pair {
        let sessions = SessionFactory::new(config);
        let (client, server) = (sessions.client(protocol), sessions.server(protocol));
        let (at_client, at_server) = (Vec::new(), Vec::new());
        Pair { client, server, at_client, at_server, to_client: 0, room: 1 << 20, piece: u64::MAX }
    }

    /// Both ends say what they have to, until they are silent.
    pub(super) fn talk(&mut self) {
        while self.speak() > 0 {}
    }

    /// Each end speaks once; how many bytes that was.
    pub(super) fn speak(&mut self) -> u64 {
        let (room, piece) = (self.room, self.piece);
        let up = carry(self.client.as_mut(), self.server.as_mut(), room, piece).unwrap();
        add(&mut self.at_server, drain_events(self.server.as_mut()));
        let down = carry(self.server.as_mut(), self.client.as_mut(), room, piece).unwrap();
        add(&mut self.at_client, drain_events(self.client.as_mut()));
        add(&mut self.at_server, drain_events(self.server.as_mut()));
        self.to_client += down;
        up + down
    }

    pub(super) fn ask(&mut self, method: &str, fields: &[(&str, &str)], content: Content) -> RequestId {
        let fields = Fields::from_pairs(fields.iter().copied());
        let head = RequestHead::new(method.to_owned().into(), "a.test".into(), "/".into(), fields);
        let id = self.client.request(head.into(), content, Priority::default());
        self.talk();
        id
    }

    /// A GET that has arrived and is answered by what is appended.
    pub(super) fn asked(&mut self, fields: &[(&str, &str)]) -> RequestId {
        let id = self.ask("GET", &[], Body::EMPTY.into());
        let head = ResponseHead::new(200, Fields::from_pairs(fields.iter().copied()));
        self.server.respond(id, head.into(), Content::Streamed);
        (self.at_client, self.at_server) = (Vec::new(), Vec::new());
        id
    }
}

/// Adds events; the pieces of one body are one if nothing else came between them.
pub(super) fn add(all: &mut Vec<Event>, more: Vec<Event>) {
    for event in more {
        match (all.last_mut(), &event) {
            (Some(Event::Data { id, content }), Event::Data { id: next, content: more }) if id == next => {
                *content = counted(content.len() + more.len());
            }
            _ => all.push(event),
        }
    }
}

pub(super) fn carry(from: &mut dyn Session, to: &mut dyn Session, room: usize, piece: u64) -> Result<u64, Error> {
    let mut wire = Wire::default();
    from.poll_transmit(NOW, TCP, room, &mut wire);
    let len = wire.len();
    assert!(len <= room as u64, "more than there was room for");
    while !wire.is_empty() {
        let mut input = Vec::new();
        wire.take(piece.min(wire.len()), &mut input);
        to.handle_input(NOW, TCP, &input)?;
    }
    Ok(len)
}

pub(super) fn text(len: usize) -> Chunk {
    Chunk::Bytes(Bytes::from(vec![b'x'; len]))
}

pub(super) fn run(offset: u64, len: u64) -> Chunk {
    Chunk::Run { body: BodyId(7), offset, len }
}

pub(super) fn trailing() -> Fields {
    Fields::from_pairs([("server-timing", "db;dur=5"), ("content-length", "3")])
}
