//! Whatever a server sends, a client reports it or refuses it; how it was cut does not matter.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use loadstone_http::{
    Body, Chunk, ClientSession, Content, Event, Fields, Priority, RequestHead, Session, TransportStream, Wire, h1,
};
use loadstone_units::Time;

/// What a client made of a response: its events, with the pieces of a body joined, and its end.
fn outcome(pieces: &[&[u8]]) -> (Vec<Event>, bool) {
    let mut client = h1::Client::pipelining();
    for path in ["/", "/1", "/2"] {
        client.request(
            RequestHead::get("a.test", path, Fields::default()).into(),
            Body::EMPTY.into(),
            Priority::default(),
        );
    }
    let put = RequestHead::new("PUT".into(), "a.test".into(), "/3".into(), Fields::default());
    let id = client.request(put.into(), Content::Streamed, Priority::default());
    client.append(id, Chunk::Bytes(Bytes::from_static(b"content")));
    client.finish(id, Fields::from_pairs([("x", "y")]));
    client.poll_transmit(Time::ZERO, TransportStream::TCP, usize::MAX, &mut Wire::default());
    let mut events = Vec::new();
    let mut drain = |client: &mut h1::Client| {
        while let Some(event) = client.poll_event() {
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
    };
    drain(&mut client);
    let mut fine = true;
    for piece in pieces {
        fine = client
            .handle_input(Time::ZERO, TransportStream::TCP, &[Chunk::Bytes(Bytes::copy_from_slice(piece))])
            .is_ok();
        drain(&mut client);
        if !fine {
            break;
        }
    }
    fine = fine && client.handle_fin(Time::ZERO, TransportStream::TCP).is_ok();
    drain(&mut client);
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
