//! Whatever a client sends, a server reports it or refuses it, and answers what it reported; how
//! it was cut does not matter.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use loadstone_http::{
    Body, BodyId, Chunk, Content, Event, Fields, RequestId, ResponseHead, ServerSession, Session, TransportStream,
    Wire, h1,
};
use loadstone_units::Time;

/// Answers by a body that is known or, every other time, streamed. Without a length HTTP/1.0 would have the connection
/// closed, and what is heard after that depends on when it was answered.
fn respond(server: &mut h1::Server, id: RequestId) {
    let body = Body { id: BodyId(id.0), len: 5 };
    if id.0 % 2 == 0 {
        return server.respond(id, ResponseHead::new(200, Fields::default()).into(), body.into());
    }
    let head = ResponseHead::new(200, Fields::from_pairs([("content-length", "5")]));
    server.respond(id, head.into(), Content::Streamed);
    server.append(id, Chunk::Run { body: body.id, offset: 0, len: body.len });
    server.finish(id, Fields::from_pairs([("x", "y")]));
}

/// What a server made of a request: its events, with the pieces of a body joined, and its end.
fn outcome(pieces: &[&[u8]]) -> (Vec<Event>, bool) {
    let mut server = h1::Server::new();
    let mut events = Vec::new();
    let mut drain = |server: &mut h1::Server| {
        while let Some(event) = server.poll_event() {
            if let Event::Request { id, .. } = &event {
                respond(server, *id);
            }
            match (events.last_mut(), event) {
                (
                    Some(Event::Data { id: last, content: Chunk::Bytes(sum) }),
                    Event::Data { id, content: Chunk::Bytes(more) },
                ) if *last == id => {
                    *sum = [&sum[..], &more].concat().into();
                }
                // When an answer has gone out depends on when it is drained, and so on the pieces.
                (_, Event::ResponseSent { .. }) => {}
                (_, event) => events.push(event),
            }
        }
        server.poll_transmit(Time::ZERO, TransportStream::TCP, usize::MAX, &mut Wire::default());
    };
    let mut fine = true;
    for piece in pieces {
        fine = server
            .handle_input(Time::ZERO, TransportStream::TCP, &[Chunk::Bytes(Bytes::copy_from_slice(piece))])
            .is_ok();
        drain(&mut server);
        if !fine {
            break;
        }
    }
    fine = fine && server.handle_fin(Time::ZERO, TransportStream::TCP).is_ok();
    drain(&mut server);
    (events, fine)
}

fuzz_target!(|input: &[u8]| {
    let Some((step, bytes)) = input.split_first() else { return };
    let cut: Vec<&[u8]> = bytes.chunks(usize::from(*step % 16) + 1).collect();
    let (whole, fine) = outcome(&[bytes]);
    let (in_pieces, fine_in_pieces) = outcome(&cut);
    assert_eq!(fine, fine_in_pieces);
    if fine {
        assert_eq!(whole, in_pieces);
    }
});
