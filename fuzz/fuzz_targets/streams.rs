//! Whatever a peer sends, a session of many streams reports it or refuses it; how it was cut does
//! not matter. The first byte chooses the protocol, the end and whether it holds content until all has come, the
//! second the pieces.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use loadstone_http::{
    Body, Chunk, Content, Event, Fields, Multiplexing, Priority, Protocol, RequestHead, ResponseHead, TransportStream,
};
use loadstone_http::{Session, SessionFactory, Wire};
use loadstone_units::Time;

/// What a session says and sends after this input: its events, with the pieces of a body joined,
/// and the bytes that it puts out.
#[derive(PartialEq, Debug)]
struct Outcome {
    events: Vec<Event>,
    sent: Vec<u8>,
    is_fine: bool,
}

impl Outcome {
    fn new() -> Outcome {
        Outcome { events: Vec::new(), sent: Vec::new(), is_fine: true }
    }

    fn drain(&mut self, session: &mut dyn Session) {
        while let Some(event) = session.poll_event() {
            match (self.events.last_mut(), event) {
                (
                    Some(Event::Data { id: last, content: Chunk::Bytes(sum) }),
                    Event::Data { id, content: Chunk::Bytes(more) },
                ) if *last == id => {
                    *sum = [&sum[..], &more].concat().into();
                }
                (_, event) => self.events.push(event),
            }
        }
        let mut wire = Wire::default();
        session.poll_transmit(Time::ZERO, TransportStream::TCP, 1 << 20, &mut wire);
        for chunk in wire.take_all() {
            match chunk {
                Chunk::Bytes(bytes) => self.sent.extend_from_slice(&bytes),
                Chunk::Run { len, .. } => self.sent.extend_from_slice(&len.to_be_bytes()),
            }
        }
    }

    fn feed(&mut self, session: &mut dyn Session, piece: &[u8]) -> bool {
        self.is_fine = session
            .handle_input(Time::ZERO, TransportStream::TCP, &[Chunk::Bytes(Bytes::copy_from_slice(piece))])
            .is_ok();
        self.is_fine
    }
}

/// Uses all that came, whatever it was, and no more than came.
fn release(outcome: &mut Outcome, session: &mut dyn Session, pieces: &[&[u8]]) {
    let fed: usize = pieces.iter().map(|piece| piece.len()).sum();
    for id in outcome.events.iter().filter_map(Event::request) {
        session.release(id, 1);
        session.release(id, u64::MAX);
    }
    assert!(session.poll_used(TransportStream::TCP) <= fed as u64);
    outcome.drain(session);
}

fn client(protocol: Protocol, holds: bool, pieces: &[&[u8]]) -> Outcome {
    let (mut outcome, mut client) = (Outcome::new(), SessionFactory::new(Multiplexing::default()).client(protocol));
    if holds {
        client.hold();
    }
    let head = RequestHead::get("a.test", "/open", Fields::default());
    let open = client.request(head.into(), Content::Streamed, Priority::default());
    client.append(open, Chunk::Bytes(Bytes::from_static(b"content")));
    for path in ["/", "/1", "/2"] {
        let head = RequestHead::get("a.test", path, Fields::default());
        client.request(head.into(), Body::EMPTY.into(), Priority::default());
    }
    outcome.drain(client.as_mut());
    for piece in pieces {
        if !outcome.feed(client.as_mut(), piece) {
            break;
        }
    }
    client.finish(open, Fields::from_pairs([("x", "y")]));
    outcome.drain(client.as_mut());
    release(&mut outcome, client.as_mut(), pieces);
    outcome
}

fn server(protocol: Protocol, holds: bool, pieces: &[&[u8]]) -> Outcome {
    let (mut outcome, mut server) = (Outcome::new(), SessionFactory::new(Multiplexing::default()).server(protocol));
    if holds {
        server.hold();
    }
    for piece in pieces {
        if !outcome.feed(server.as_mut(), piece) {
            break;
        }
    }
    outcome.drain(server.as_mut());
    let head = std::sync::Arc::new(ResponseHead::new(200, Fields::default()));
    let asked: Vec<_> = outcome
        .events
        .iter()
        .filter_map(|event| if let Event::Request { id, .. } = event { Some(*id) } else { None })
        .collect();
    for id in asked {
        server.respond(id, head.clone(), if id.0 % 2 == 0 { Body::EMPTY.into() } else { Content::Streamed });
        server.append(id, Chunk::Bytes(Bytes::from_static(b"content")));
        server.finish(id, Fields::from_pairs([("x", "y")]));
    }
    outcome.drain(server.as_mut());
    release(&mut outcome, server.as_mut(), pieces);
    outcome
}

/// A client's, with empty SETTINGS; a server's is what follows the first 24 bytes.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

fuzz_target!(|input: &[u8]| {
    let [choice, step, bytes @ ..] = input else { return };
    let protocol = [Protocol::Spdy31, Protocol::H2, Protocol::Spdy2, Protocol::Spdy3][usize::from(*choice >> 2 & 3)];
    let end = if choice & 2 == 0 { client } else { server };
    // The preface need not be found again each time.
    let magic: &[u8] = match (protocol, choice & 2) {
        (Protocol::H2, 0) => &PREFACE[24..],
        (Protocol::H2, _) => PREFACE,
        _ => b"",
    };
    let text = [magic, bytes].concat();
    let cut: Vec<&[u8]> = text.chunks(usize::from(*step % 32) + 1).collect();
    let holds = choice & 1 != 0;
    let (whole, in_pieces) = (end(protocol, holds, &[&text]), end(protocol, holds, &cut));
    assert_eq!(whole.is_fine, in_pieces.is_fine);
    if whole.is_fine {
        assert_eq!(whole, in_pieces);
    }
});
