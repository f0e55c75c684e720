//! Pairs: a client's and a server's session joined by wires that a test cuts as it likes.

mod back_pressure;
mod malformed;

use super::{Client, MAX_FIELDS, MAX_HEAD, Server};
use crate::session::tests::{counted, drain_events as events};
use crate::{Body, BodyId, Chunk, ClientSession, Error, Event, Fields, PeerFault, Priority, TransportStream};
use crate::{RequestHead, RequestId, ResponseHead, ServerSession, Session, Wire};
use bytes::Bytes;
use loadstone_units::Time;
use proptest::prelude::*;
use std::sync::Arc;

const NOW: Time = Time::ZERO;

fn get(path: &str) -> Arc<RequestHead> {
    Arc::new(RequestHead::get("a.test", path, Fields::from_pairs([("accept", "*/*")])))
}

fn ok(len: u64) -> Arc<ResponseHead> {
    Arc::new(ResponseHead::new(200, Fields::from_pairs([("content-length", len.to_string())])))
}

/// Moves everything from one session to the other in pieces of at most `piece` bytes.
fn carry(from: &mut dyn Session, to: &mut dyn Session, piece: usize) -> Result<(), Error> {
    loop {
        let mut wire = Wire::default();
        from.poll_transmit(NOW, TransportStream::TCP, piece, &mut wire);
        if wire.is_empty() {
            return Ok(());
        }
        assert!(wire.len() <= piece as u64, "more than there was room for");
        to.handle_input(NOW, TransportStream::TCP, &wire.take_all())?;
    }
}

fn client_after(text: &'static [u8]) -> (Client, Result<(), Error>) {
    let mut client = Client::persistent();
    client.request(get("/"), Body::EMPTY.into(), Priority::default());
    client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
    let result = client.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(text))]);
    events(&mut client).drain(..1);
    (client, result)
}

#[test]
fn a_persistent_connection_takes_one_request_at_a_time() {
    let (mut client, mut server) = (Client::persistent(), Server::new());
    for round in 0..3 {
        assert_eq!(client.capacity(), 1);
        let id = client.request(get("/x"), Body::EMPTY.into(), Priority::default());
        assert_eq!(id, RequestId(round));
        assert_eq!(client.capacity(), 0);
        carry(&mut client, &mut server, usize::MAX).unwrap();
        server.respond(id, ok(10), Body { id: BodyId(1), len: 10 }.into());
        carry(&mut server, &mut client, usize::MAX).unwrap();
    }
    assert_eq!(events(&mut client).iter().filter(|event| matches!(event, Event::End { .. })).count(), 3);
}

#[test]
fn pipelined_answers_leave_in_the_order_of_the_requests_rfc9112_9_3_2() {
    let (mut client, mut server) = (Client::pipelining(), Server::new());
    let ids: Vec<RequestId> =
        ["/a", "/b", "/c"].map(|path| client.request(get(path), Body::EMPTY.into(), Priority::default())).into();
    carry(&mut client, &mut server, usize::MAX).unwrap();
    assert_eq!(client.capacity(), 0, "while answers are outstanding it takes no more");
    for (id, len) in [(ids[2], 3), (ids[0], 1), (ids[1], 2)] {
        server.respond(id, ok(len), Body { id: BodyId(0), len }.into());
    }
    carry(&mut server, &mut client, usize::MAX).unwrap();
    let ends: Vec<RequestId> =
        events(&mut client).iter().filter_map(|e| if let Event::End { id } = e { Some(*id) } else { None }).collect();
    assert_eq!(ends, ids);
    assert_eq!(client.capacity(), usize::MAX);
}

#[test]
fn small_chunks_that_arrive_together_are_reported_together_and_in_order_rfc9112_7_1() {
    let mut server = Server::new();
    let head = "POST / HTTP/1.1\r\nhost: a.test\r\ntransfer-encoding: chunked\r\n\r\n";
    let large = "L".repeat(1_000);
    let body = format!("{}3e8\r\n{large}\r\n{}0\r\n\r\n", "1\r\na\r\n".repeat(300), "1\r\nz\r\n".repeat(300));
    let input = Chunk::Bytes(format!("{head}{body}").into());
    server.handle_input(NOW, TransportStream::TCP, &[input]).unwrap();
    let events: Vec<Event> = std::iter::from_fn(|| server.poll_event()).collect();
    let content: Vec<Bytes> = events
        .iter()
        .filter_map(|event| match event {
            Event::Data { content: Chunk::Bytes(bytes), .. } => Some(bytes.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(content, ["a".repeat(300), large, "z".repeat(300)]);
    assert!(matches!(events.last(), Some(Event::End { .. })));
}

#[test]
fn behind_a_response_that_is_said_to_be_the_last_nothing_is_waited_for_rfc9112_9_6() {
    let mut client = Client::pipelining();
    for path in ["/a", "/b", "/c"] {
        client.request(get(path), Body::EMPTY.into(), Priority::default());
    }
    client.poll_transmit(NOW, TransportStream::TCP, 1, &mut Wire::default());
    let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 4\r\n\r\n";
    client.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(answer))]).unwrap();
    assert!(client.is_closing() && !client.is_over(), "the last one is to come to its end");
    client.handle_input(NOW, TransportStream::TCP, &[counted(4)]).unwrap();
    assert!(client.is_over() && !client.has_output(), "what has not been sent stays unsent");
    assert!(client.handle_fin(NOW, TransportStream::TCP).is_ok());
}

#[test]
fn interim_responses_are_passed_over_rfc9110_15_2() {
    let (mut client, result) =
        client_after(b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n");
    assert!(result.is_ok());
    assert_eq!(client.capacity(), 1, "the final response has ended the request");
    assert!(client.handle_fin(NOW, TransportStream::TCP).is_ok());
}

#[test]
fn a_body_without_a_length_lasts_until_the_close_rfc9112_6_3() {
    let (mut client, result) = client_after(b"HTTP/1.0 200 OK\r\n\r\nabc");
    assert!(result.is_ok());
    assert_eq!(client.capacity(), 0);
    assert!(client.handle_fin(NOW, TransportStream::TCP).is_ok());
    assert_eq!(events(&mut client), [Event::End { id: RequestId(0) }]);
}

#[test]
fn a_body_in_chunks_ends_with_an_empty_one_rfc9112_7_1() {
    let text =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\ncontent-length: 9\r\n\r\n4\r\nbody\r\n0\r\nx: y\r\n\r\n";
    let (mut client, result) = client_after(text);
    assert_eq!((result, client.capacity(), client.handle_fin(NOW, TransportStream::TCP)), (Ok(()), 1, Ok(())));
    let mut client = Client::persistent();
    client.request(get("/"), Body::EMPTY.into(), Priority::default());
    client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
    for byte in &text[..text.len() - 1] {
        client.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::copy_from_slice(&[*byte]))]).unwrap();
    }
    let id = RequestId(0);
    assert_eq!(events(&mut client)[2..], [Event::Data { id, content: counted(4) }], "the last byte of all is missing");
    assert_eq!(client.handle_fin(NOW, TransportStream::TCP), Err(PeerFault::Truncated.into()));
}

#[test]
fn trailers_come_before_the_end_without_what_may_not_stand_there_rfc9112_7_1_2() {
    let trailing = |lines: &str| {
        let mut server = Server::new();
        let text = format!("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n{lines}\r\n");
        let result = server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(text.into())]);
        result.map(|()| events(&mut server)[1..].to_vec())
    };
    let id = RequestId(0);
    let with = |fields: &[(&str, &str)]| {
        let fields = Arc::new(Fields::from_pairs(fields.iter().copied()));
        Ok(vec![Event::Trailers { id, fields }, Event::End { id }])
    };
    assert_eq!(trailing("Etag: x\r\nempty:\r\n"), with(&[("Etag", "x"), ("empty", "")]));
    assert_eq!(trailing("etag: x\r\ncontent-length: 5\r\nHost: b\r\n"), with(&[("etag", "x")]));
    assert_eq!(trailing("Transfer-Encoding: chunked\r\n"), Ok(vec![Event::End { id }]), "none that may be there");
    let refused = |status| Ok(vec![Event::Rejected { id, head: None, status }]);
    for lines in ["no colon\r\n", "a : b\r\n", " folded: x\r\n", ": x\r\n"] {
        assert_eq!(trailing(lines), refused(400), "{lines:?}");
    }
    let many = |count: usize| trailing(&"x: y\r\n".repeat(count));
    assert_eq!((many(MAX_FIELDS).map(|events| events.len()), many(MAX_FIELDS + 1)), (Ok(2), refused(431)));
}

#[test]
fn of_a_request_that_was_cancelled_nothing_more_is_heard() {
    for answers_first in [false, true] {
        let mut server = Server::new();
        let head = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n12345";
        server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(head))]).unwrap();
        if answers_first {
            server.respond(RequestId(0), ok(10), Body { id: BodyId(0), len: 10 }.into());
            server.poll_transmit(NOW, TransportStream::TCP, 20, &mut Wire::default());
        }
        assert_eq!(events(&mut server).len(), 2);
        server.cancel(RequestId(0));
        server.handle_input(NOW, TransportStream::TCP, &[counted(5)]).unwrap();
        assert!(events(&mut server).is_empty() && server.is_over());
    }
}

#[test]
fn a_304_has_no_body_whatever_its_content_length_says_rfc9112_6_3() {
    let (client, result) = client_after(b"HTTP/1.1 304 Not Modified\r\ncontent-length: 500\r\n\r\n");
    assert!(result.is_ok());
    assert_eq!(client.capacity(), 1);
}

#[test]
fn violations_are_named() {
    let fault = |text| client_after(text).1.unwrap_err();
    assert_eq!(fault(b"nonsense\r\n\r\n"), PeerFault::MalformedHead.into());
    assert_eq!(fault(b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"), PeerFault::InvalidLength.into());
    assert_eq!(
        fault(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"),
        PeerFault::InvalidLength.into()
    );
    assert_eq!(
        fault(b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n"),
        PeerFault::UnsupportedTransferCoding.into()
    );
    assert_eq!(
        fault(b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"),
        PeerFault::UnexpectedResponse.into()
    );
    let (mut client, result) = client_after(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc");
    assert!(result.is_ok());
    assert_eq!(client.handle_fin(NOW, TransportStream::TCP), Err(PeerFault::Truncated.into()));
}

#[test]
fn bytes_after_a_response_leave_no_capacity_for_another_request() {
    let (client, result) = client_after(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc and more");
    assert_eq!(result, Err(PeerFault::UnexpectedResponse.into()));
    assert_eq!((client.capacity(), client.is_closing()), (0, true));
}

#[test]
fn a_head_is_accepted_up_to_its_limits_and_refused_beyond() {
    let with_fields = |count: usize| {
        let fields = (1..count).map(|at| format!("f{at}: x\r\n")).collect::<String>();
        format!("GET / HTTP/1.1\r\nhost: a\r\n{fields}\r\n")
    };
    let is_taken = |text: String| {
        let mut server = Server::new();
        server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(text.into())]).unwrap();
        match events(&mut server)[..] {
            [Event::Request { .. }, Event::End { .. }] => true,
            [Event::Rejected { status: 431, .. }] => false,
            ref other => panic!("{other:?}"),
        }
    };
    assert!(is_taken(with_fields(MAX_FIELDS)) && !is_taken(with_fields(MAX_FIELDS + 1)));

    let of_len = |len: usize| {
        let rest = "GET / HTTP/1.1\r\nhost: a\r\nx: \r\n\r\n".len();
        format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "y".repeat(len - rest))
    };
    assert!(is_taken(of_len(MAX_HEAD)) && !is_taken(of_len(MAX_HEAD + 1)));
}

#[test]
fn an_endless_head_that_comes_byte_by_byte_is_refused_in_bounded_time() {
    let mut server = Server::new();
    let mut sent = 0;
    while !server.has_output() {
        server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(b"G"))]).unwrap();
        sent += 1;
        assert!(sent <= MAX_HEAD + 1, "the head is not bounded");
    }
}

proptest! {
    #[test]
    fn however_the_bytes_are_cut_the_events_are_the_same(
        sizes in prop::collection::vec(0_u64..5_000, 1..8),
        uploads in prop::collection::vec(0_u64..2_000, 8),
        piece in 1_usize..3_000,
    ) {
        let exchange = |piece: usize| {
            let (mut client, mut server) = (Client::pipelining(), Server::new());
            for (at, upload) in (0..sizes.len()).zip(&uploads) {
                let fields = Fields::from_pairs([("content-length", upload.to_string())]);
                let head = RequestHead::new("PUT".into(), "a.test".into(), format!("/{at}").into(), fields);
                let body = Body { id: BodyId(100 + at as u32), len: *upload };
                client.request(head.into(), body.into(), Priority::default());
            }
            carry(&mut client, &mut server, piece).unwrap();
            let asked = events(&mut server);
            for (at, len) in sizes.iter().enumerate() {
                server.respond(RequestId(at as u32), ok(*len), Body { id: BodyId(at as u32), len: *len }.into());
            }
            carry(&mut server, &mut client, piece).unwrap();
            (asked, events(&mut client))
        };
        let whole = exchange(usize::MAX);
        let received: u64 = whole.1.iter().map(|e| if let Event::Data { content, .. } = e { content.len() } else { 0 }).sum();
        prop_assert_eq!(received, sizes.iter().sum::<u64>());
        prop_assert_eq!(exchange(piece), whole);
    }

    #[test]
    fn no_input_makes_a_session_panic(text in prop::collection::vec(any::<u8>(), 0..400), cut in 1_usize..50) {
        let (mut client, mut server) = (Client::persistent(), Server::new());
        client.request(get("/"), Body::EMPTY.into(), Priority::default());
        client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
        for session in [&mut client as &mut dyn Session, &mut server] {
            for piece in text.chunks(cut) {
                if session.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::copy_from_slice(piece))]).is_err() {
                    break;
                }
            }
            events(session);
        }
    }
}
