//! Two ends joined by a wire that damages bytes: no end panics, hangs or talks forever. The first byte
//! chooses the protocol, what the client says to pushes, who leaves and whether content is held; each three that follow are a damage:
//! how far from the last one, and which bits.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use loadstone_http::{
    Body, BodyId, Chunk, Content, Event, Fields, Multiplexing, Priority, Protocol, Push, RequestHead, TransportStream,
};
use loadstone_http::{RequestId, ResponseHead, ServerSession, Session, SessionFactory, Wire};
use loadstone_units::Time;
use std::sync::Arc;

const TURNS: u32 = 64;
const REQUESTS: u32 = 8;

/// The wire: what it has carried, and where it damages it.
struct Damaging<'a> {
    carried: usize,
    next: usize,
    damages: std::slice::ChunksExact<'a, u8>,
    bits: u8,
}

impl<'a> Damaging<'a> {
    fn new(damages: &'a [u8]) -> Damaging<'a> {
        let mut wire = Damaging { carried: 0, next: 0, damages: damages.chunks_exact(3), bits: 0 };
        wire.step();
        wire
    }

    fn step(&mut self) {
        match self.damages.next() {
            Some(&[high, low, bits]) => {
                self.next += 1 + usize::from(high % 16) * 256 + usize::from(low);
                self.bits = bits;
            }
            _ => self.next = usize::MAX,
        }
    }

    /// Carries what one has to say to the other; whether that one has enough of it, and how much it was.
    fn carry(&mut self, from: &mut dyn Session, to: &mut dyn Session) -> (bool, u64) {
        let mut wire = Wire::default();
        from.poll_transmit(Time::ZERO, TransportStream::TCP, 1 << 18, &mut wire);
        let len = wire.len();
        for chunk in wire.take_all() {
            let mut bytes = match chunk {
                Chunk::Bytes(bytes) => bytes.to_vec(),
                Chunk::Run { len, .. } => vec![0; len as usize],
            };
            while self.next < self.carried + bytes.len() {
                bytes[self.next - self.carried] ^= self.bits;
                self.step();
            }
            self.carried += bytes.len();
            if to.handle_input(Time::ZERO, TransportStream::TCP, &[Chunk::Bytes(Bytes::from(bytes))]).is_err() {
                return (false, len);
            }
        }
        (true, len)
    }
}

fn trailers() -> Fields {
    Fields::from_pairs([("x", "y")])
}

/// Answers by a body that is known or, every other time, streamed.
fn answer(server: &mut dyn ServerSession, id: RequestId, head: Arc<ResponseHead>) {
    let body = Body { id: BodyId(id.0), len: 900 };
    if id.0 % 2 == 0 {
        return server.respond(id, head, body.into());
    }
    server.respond(id, head, Content::Streamed);
    for offset in [0, 450] {
        server.append(id, Chunk::Run { body: body.id, offset, len: 450 });
    }
    server.finish(id, trailers());
}

fuzz_target!(|input: &[u8]| {
    let [choice, damages @ ..] = input else { return };
    let protocol = [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2][usize::from(*choice % 4)];
    let push = [Push::Forbid, Push::Decline, Push::Accept, Push::Accept][usize::from(*choice >> 2 & 3)];
    let sessions = SessionFactory::isolated(Multiplexing { push, ..Multiplexing::default() });
    let (mut client, mut server) = (sessions.client(protocol), sessions.server(protocol));
    if choice & 0x80 != 0 {
        client.hold();
        server.hold();
    }
    let mut wire = Damaging::new(damages);
    for turn in 0..TURNS {
        match (turn, choice >> 4) {
            (5, 1) => client.shut_down(),
            (5, 2) => server.shut_down(),
            (3, 3) => client.cancel(loadstone_http::RequestId(1)),
            (1 | 4, 4..) => {
                client.ping();
                server.ping();
            }
            _ => {}
        }
        if turn < REQUESTS && client.capacity() > 0 {
            let head = RequestHead::get("a.test", &format!("/{turn}"), Fields::from_pairs([("accept", "*/*")]));
            let body = if turn % 2 == 0 { Body::EMPTY } else { Body { id: BodyId(turn), len: 700 } };
            let content = if turn % 3 == 0 { Content::Streamed } else { body.into() };
            let id = client.request(head.into(), content, Priority::at(turn as u8));
            if content == Content::Streamed {
                client.append(id, Chunk::Run { body: BodyId(turn), offset: 0, len: 700 });
                client.finish(id, trailers());
            }
        }
        let (goes_on, up) = wire.carry(client.as_mut(), server.as_mut());
        let mut asked = Vec::new();
        while let Some(event) = server.poll_event() {
            match event {
                Event::Request { id, .. } => asked.push(id),
                Event::Reset { id } | Event::Rejected { id, .. } => asked.retain(|asked| *asked != id),
                Event::Data { id, content } => server.release(id, content.len()),
                _ => {}
            }
        }
        for id in asked {
            let head = ResponseHead::new(200, Fields::from_pairs([("x", "y")]));
            let head = Arc::new(head);
            let promise = RequestHead::get("a.test", "/pushed", Fields::default());
            let pushed = server.push(id, promise.into(), Priority::default());
            server.send_interim(id, ResponseHead::new(103, Fields::default()).into());
            answer(server.as_mut(), id, head.clone());
            if let Some(pushed) = pushed {
                server.respond(pushed, head, Body { id: BodyId(0), len: 90 }.into());
            }
        }
        let (heard, down) = wire.carry(server.as_mut(), client.as_mut());
        while let Some(event) = client.poll_event() {
            if let Event::Data { id, content } = event {
                client.release(id, content.len());
            }
        }
        if !goes_on || !heard {
            return;
        }
        // After the last request there is an end to what they say.
        assert!(turn < TURNS - 1 || up + down == 0, "they talk without end");
    }
});
