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

/// Adds a server's events, with the pieces of a body joined; gives the requests among them.
fn drain(server: &mut h1::Server, events: &mut Vec<Event>) -> Vec<RequestId> {
    let mut asked = Vec::new();
    while let Some(event) = server.poll_event() {
        if let Event::Request { id, .. } = &event {
            asked.push(*id);
        }
        match (events.last_mut(), event) {
            (
                Some(Event::Data { id: last, content: Chunk::Bytes(sum) }),
                Event::Data { id, content: Chunk::Bytes(more) },
            ) if *last == id => {
                *sum = [&sum[..], &more].concat().into();
            }
            (_, event) => events.push(event),
        }
    }
    asked
}

/// What a server made of what it got in these pieces, all of them before it answers: its events, and whether it found
/// them in order.
fn outcome(pieces: &[&[u8]]) -> (Vec<Event>, bool) {
    let (mut server, mut events, mut asked) = (h1::Server::new(), Vec::new(), Vec::new());
    let mut fine = true;
    for piece in pieces {
        let input = [Chunk::Bytes(Bytes::copy_from_slice(piece))];
        fine = fine && server.handle_input(Time::ZERO, TransportStream::TCP, &input).is_ok();
        asked.extend(drain(&mut server, &mut events));
    }
    // With an answer it may go on with what it left unread.
    while !asked.is_empty() {
        std::mem::take(&mut asked).into_iter().for_each(|id| respond(&mut server, id));
        server.poll_transmit(Time::ZERO, TransportStream::TCP, usize::MAX, &mut Wire::default());
        asked = drain(&mut server, &mut events);
    }
    fine = fine && server.handle_fin(Time::ZERO, TransportStream::TCP).is_ok();
    drain(&mut server, &mut events);
    (events, fine)
}

fuzz_target!(|input: &[u8]| {
    let Some((step, bytes)) = input.split_first() else { return };
    let cut: Vec<&[u8]> = bytes.chunks(usize::from(*step % 16) + 1).collect();
    let (whole, fine) = outcome(&[bytes]);
    let (in_pieces, fine_in_pieces) = outcome(&cut);
    // What is refused at once may in pieces be the beginning of a head, whose end is waited for.
    let is_refused = |events: &[Event]| events.iter().any(|event| matches!(event, Event::Rejected { .. }));
    if is_refused(&whole) || is_refused(&in_pieces) {
        return;
    }
    assert_eq!(fine, fine_in_pieces);
    if fine {
        assert_eq!(whole, in_pieces);
    }
});
