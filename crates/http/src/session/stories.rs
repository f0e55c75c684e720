//! Scenarios with streamed bodies, run for every protocol.

use super::pair::{NOW, Pair, TCP, run, text, trailing};
use super::tests::{counted, drain_events};
use crate::{Body, BodyId, Chunk, Content, Event, Fields, Multiplexing, Policy, Priority, Protocol, RequestHead};
use crate::{RequestId, ResponseHead, ServerSession, Session, Wire, h1};
use bytes::Bytes;
use loadstone_units::Bounded;
use proptest::prelude::*;
use std::sync::Arc;

/// The events of a body that has come: content, trailers, end.
fn heard(id: RequestId, len: u64, trailers: Option<(&str, &str)>) -> Vec<Event> {
    let data = (len > 0).then(|| Event::Data { id, content: counted(len) });
    let trailers = trailers.map(|pair| Event::Trailers { id, fields: Arc::new(Fields::from_pairs([pair])) });
    data.into_iter().chain(trailers).chain([Event::End { id }]).collect()
}

/// Whether a message goes through in these pieces, spoken one by one or all at once, whichever end it comes from.
fn passes(protocol: Protocol, pieces: &[Chunk], fields: &[(&str, &str)], trailers: &Fields, at_once: bool) {
    let context = format!("{protocol}, {pieces:?}, {fields:?}, {trailers:?}, at once: {at_once}");
    let is_h1 = !protocol.is_multiplexed();
    let may_trail = !trailers.is_empty() && (!is_h1 || fields.is_empty());
    let expected = may_trail.then_some(("server-timing", "db;dur=5"));
    let len = pieces.iter().map(Chunk::len).sum();

    let mut pair = Pair::new(protocol);
    let id = pair.asked(fields);
    for piece in pieces {
        pair.server.append(id, piece.clone());
        if !at_once {
            pair.talk();
        }
    }
    assert!(!pair.at_server.contains(&Event::ResponseSent { id }), "{context}");
    pair.server.finish(id, trailers.clone());
    pair.talk();
    assert!(matches!(pair.at_client[0], Event::Response { .. }), "{context}");
    assert_eq!(pair.at_client[1..], heard(id, len, expected), "{context}");
    assert_eq!(pair.at_server, [Event::ResponseSent { id }], "{context}");
    assert!(pair.client.capacity() > 0 && !pair.server.is_over(), "{context}");

    pair.at_server.clear();
    let id = pair.client.request(
        RequestHead::new("POST".into(), "a.test".into(), "/".into(), Fields::from_pairs(fields.iter().copied())).into(),
        Content::Streamed,
        Priority::default(),
    );
    for piece in pieces {
        pair.client.append(id, piece.clone());
        if !at_once {
            pair.talk();
        }
    }
    pair.client.finish(id, trailers.clone());
    pair.talk();
    assert!(matches!(pair.at_server[0], Event::Request { .. }), "{context}");
    assert_eq!(pair.at_server[1..], heard(id, len, expected), "{context}");
    pair.server.respond(id, ResponseHead::new(204, Fields::default()).into(), Body::EMPTY.into());
    pair.talk();
    assert_eq!(pair.at_client.last(), Some(&Event::End { id }), "{context}");
}

#[test]
fn content_in_pieces_arrives_with_what_follows_it_in_every_protocol() {
    let bodies: [(&[Chunk], &str); 5] = [
        (&[], "0"),
        (&[text(5), text(0), run(0, 40_000)], "40005"),
        (&[run(0, 10), run(10, 16_384), text(1)], "16395"),
        (&[text(16_384)], "16384"),
        (&[text(3), text(4), text(5)], "12"),
    ];
    for protocol in Protocol::ALL {
        for (pieces, len) in bodies {
            for fields in [&[][..], &[("content-length", len)]] {
                for trailers in [Fields::default(), trailing()] {
                    for at_once in [false, true] {
                        passes(protocol, pieces, fields, &trailers, at_once);
                    }
                }
            }
        }
    }
}

#[test]
fn tcp_has_one_stream_which_is_next_if_it_has_room_and_something_waits() {
    for protocol in Protocol::ALL {
        let mut pair = Pair::new(protocol);
        assert_eq!(pair.client.next_stream(&|_| 100), None, "{protocol}");
        let head = RequestHead::get("a.test", "/", Fields::default());
        pair.client.request(head.into(), Body::EMPTY.into(), Priority::default());
        assert_eq!(pair.client.next_stream(&|_| 100), Some(TCP), "{protocol}");
        assert_eq!(pair.client.next_stream(&|_| 0), None, "{protocol}");
        assert!(!pair.client.is_finished(TCP), "{protocol}");
    }
}

#[test]
fn trailers_that_are_too_long_are_left_out_and_the_message_is_whole() {
    for protocol in Protocol::ALL.into_iter().filter(|protocol| protocol.is_multiplexed()) {
        for (len, is_there) in [(60_000, true), (70_000, false)] {
            let mut pair = Pair::new(protocol);
            let id = pair.asked(&[]);
            pair.server.append(id, text(1));
            pair.server.finish(id, Fields::from_pairs([("x", "y".repeat(len))]));
            pair.talk();
            let has_trailers = pair.at_client.iter().any(|event| matches!(event, Event::Trailers { .. }));
            assert_eq!((has_trailers, pair.at_client.last()), (is_there, Some(&Event::End { id })), "{protocol}");
        }
    }
}

#[test]
fn what_has_not_gone_out_is_counted_until_it_has() {
    for protocol in Protocol::ALL {
        let mut pair = Pair::new(protocol);
        let id = pair.asked(&[]);
        pair.server.append(id, run(0, 30_000));
        assert_eq!(pair.server.buffered(id), 30_000, "{protocol}");
        let mut wire = Wire::default();
        pair.server.poll_transmit(NOW, TCP, 10_000, &mut wire);
        let runs = wire.take_all().iter().map(|chunk| if let Chunk::Run { len, .. } = chunk { *len } else { 0 }).sum();
        assert!((9_000..10_000_u64).contains(&runs), "{protocol}");
        assert_eq!(pair.server.buffered(id), 30_000 - runs, "{protocol}");
        pair.server.append(id, run(30_000, 500));
        pair.server.finish(id, Fields::default());
        assert_eq!(pair.server.buffered(id), 30_500 - runs, "{protocol}");
        pair.server.poll_transmit(NOW, TCP, 1 << 20, &mut wire);
        assert_eq!((pair.server.buffered(id), pair.server.has_output()), (0, false), "{protocol}");
        assert_eq!(pair.server.buffered(RequestId(5)), 0, "a stream that is unknown");

        // The same for a request that waits for its turn.
        let mut pair = Pair::new(protocol);
        let head = RequestHead::get("a.test", "/", Fields::default());
        let id = pair.client.request(head.into(), Content::Streamed, Priority::default());
        pair.client.append(id, text(70));
        assert_eq!(pair.client.buffered(id), 70, "{protocol}");
        pair.talk();
        assert_eq!(pair.client.buffered(id), 0, "{protocol}");
    }
}

#[test]
fn a_message_that_is_not_as_long_as_its_head_says_is_given_up() {
    type Act = fn(&mut dyn Session, RequestId);
    let acts: [Act; 3] = [
        |session, id| {
            session.append(id, text(9));
            session.finish(id, Fields::default());
        },
        |session, id| session.append(id, text(11)),
        |session, id| {
            session.append(id, text(5));
            session.append(id, text(6));
        },
    ];
    for (protocol, act) in Protocol::ALL.into_iter().flat_map(|protocol| acts.map(|act| (protocol, act))) {
        for goes_first in [false, true] {
            let mut pair = Pair::new(protocol);
            let id = pair.asked(&[("content-length", "10")]);
            if goes_first {
                pair.talk();
            }
            act(pair.server.as_mut(), id);
            pair.talk();
            assert_eq!(pair.at_server, [Event::Reset { id }], "{protocol}");
            assert!(!pair.at_client.contains(&Event::End { id }), "{protocol}");
            match protocol.is_multiplexed() {
                true => assert_eq!(pair.at_client.last(), Some(&Event::Reset { id }), "{protocol}"),
                false => assert!(pair.server.is_over() && pair.client.handle_fin(NOW, TCP).is_err(), "{protocol}"),
            }
            // What is said of it now goes nowhere.
            pair.server.append(id, text(1));
            pair.server.finish(id, Fields::default());
            assert!(!pair.server.has_output() && pair.server.poll_event().is_none(), "{protocol}");

            let mut pair = Pair::new(protocol);
            let head = RequestHead::get("a.test", "/", Fields::from_pairs([("content-length", "10")]));
            let id = pair.client.request(head.into(), Content::Streamed, Priority::default());
            if goes_first {
                pair.talk();
            }
            act(pair.client.as_mut(), id);
            pair.talk();
            assert_eq!(pair.at_client.last(), Some(&Event::Reset { id }), "{protocol}");
            assert!(!pair.at_server.contains(&Event::End { id }), "{protocol}");
            assert_eq!(pair.client.is_over(), goes_first && !protocol.is_multiplexed(), "{protocol}");
        }
    }
}

#[test]
fn a_message_may_be_cancelled_in_its_middle() {
    for protocol in Protocol::ALL {
        let mut pair = Pair::new(protocol);
        let id = pair.asked(&[]);
        pair.server.append(id, text(5));
        pair.talk();
        pair.server.append(id, text(5));
        pair.server.cancel(id);
        pair.server.append(id, text(5));
        pair.server.finish(id, Fields::default());
        pair.talk();
        assert_eq!(pair.at_client[1], Event::Data { id, content: counted(5) }, "{protocol}");
        assert!(!pair.at_client.contains(&Event::End { id }), "{protocol}");
        assert_eq!((pair.server.buffered(id), pair.server.has_output()), (0, false), "{protocol}");
        match protocol.is_multiplexed() {
            true => assert_eq!(pair.at_client[2..], [Event::Reset { id }], "{protocol}"),
            false => assert!(pair.server.is_over() && pair.client.handle_fin(NOW, TCP).is_err(), "{protocol}"),
        }

        let mut pair = Pair::new(protocol);
        let id = pair.ask("POST", &[], Content::Streamed);
        pair.client.append(id, text(5));
        pair.talk();
        pair.client.append(id, text(5));
        pair.client.cancel(id);
        pair.client.finish(id, Fields::default());
        pair.talk();
        assert!(!pair.at_server.contains(&Event::End { id }), "{protocol}");
        assert!(!pair.client.has_output(), "{protocol}");
        assert_eq!(pair.client.is_over(), !protocol.is_multiplexed(), "{protocol}");
    }
}

#[test]
fn a_server_may_answer_before_the_request_is_complete() {
    for protocol in Protocol::ALL {
        let mut pair = Pair::new(protocol);
        let id = pair.ask("POST", &[], Content::Streamed);
        pair.client.append(id, text(5));
        pair.talk();
        let head = ResponseHead::new(200, Fields::default());
        pair.server.respond(id, head.into(), Content::Streamed);
        pair.server.append(id, text(3));
        pair.server.finish(id, trailing());
        pair.talk();
        assert!(!pair.server.has_output(), "{protocol}: its stream is open, and it has nothing to say there");
        assert_eq!(pair.at_client.last(), Some(&Event::End { id }), "{protocol}");
        // In HTTP/1.1 another request would have to wait behind this one.
        assert_eq!(pair.client.capacity() > 0, protocol.is_multiplexed(), "{protocol}");
        pair.client.append(id, text(6));
        pair.client.finish(id, Fields::default());
        pair.talk();
        let content = pair.at_server.iter().filter_map(|event| match event {
            Event::Data { content, .. } => Some(content.len()),
            _ => None,
        });
        assert_eq!(content.sum::<u64>(), 11, "{protocol}");
        assert_eq!(pair.at_server.last(), Some(&Event::End { id }), "{protocol}");
        // The next one is not confused by it.
        let next = pair.ask("GET", &[], Body::EMPTY.into());
        assert!(pair.at_server.iter().any(|event| matches!(event, Event::Request { id, .. } if *id == next)));
    }
}

#[test]
fn the_answer_to_head_has_no_content_and_no_framing() {
    for protocol in Protocol::ALL {
        for fields in [&[][..], &[("content-length", "500")]] {
            let mut pair = Pair::new(protocol);
            let id = pair.ask("HEAD", &[], Body::EMPTY.into());
            let head = ResponseHead::new(200, Fields::from_pairs(fields.iter().copied()));
            pair.server.respond(id, head.into(), Content::Streamed);
            pair.talk();
            pair.server.finish(id, Fields::default());
            pair.talk();
            let [.., Event::Response { head, .. }, Event::End { .. }] = &pair.at_client[..] else {
                panic!("{protocol}")
            };
            assert_eq!(head.fields, Fields::from_pairs(fields.iter().copied()), "{protocol}");
            assert_eq!(pair.at_server.last(), Some(&Event::ResponseSent { id }), "{protocol}");
            let next = pair.ask("GET", &[], Body::EMPTY.into());
            assert_eq!(pair.at_client.last(), Some(&Event::Sent { id: next }), "{protocol}");
        }
    }
}

/// What HTTP/1.1's server says to this, if it answers with these fields and pieces.
fn said(request: &'static str, fields: &[(&str, &str)], pieces: &[&'static str]) -> (String, bool) {
    let mut server = h1::Server::new();
    server.handle_input(NOW, TCP, &[Chunk::Bytes(Bytes::from_static(request.as_bytes()))]).unwrap();
    let mut wire = Wire::default();
    let head = ResponseHead::new(200, Fields::from_pairs(fields.iter().copied()));
    server.respond(RequestId(0), head.into(), Content::Streamed);
    for piece in pieces {
        server.append(RequestId(0), Chunk::Bytes(Bytes::from_static(piece.as_bytes())));
        server.poll_transmit(NOW, TCP, 1_000, &mut wire);
    }
    server.finish(RequestId(0), trailing());
    server.poll_transmit(NOW, TCP, 1_000, &mut wire);
    let bytes = wire.take_all().into_iter().map(|chunk| match chunk {
        Chunk::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        Chunk::Run { .. } => panic!("real bytes were appended"),
    });
    (bytes.collect(), server.is_over())
}

#[test]
fn http1_frames_by_length_by_chunks_or_by_the_end_rfc9112_6_3() {
    let new = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    let chunked = "HTTP/1.1 200 \r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n3\r\nyou\r\n";
    let chunked = format!("{chunked}0\r\nserver-timing: db;dur=5\r\n\r\n");
    assert_eq!(said(new, &[], &["hello", "you"]), (chunked.clone(), false));
    // What a program took over from another message does not stand there twice.
    assert_eq!(said(new, &[("Transfer-Encoding", "chunked")], &["hello", "you"]), (chunked, false));
    let counted = "HTTP/1.1 200 \r\ncontent-length: 8\r\n\r\nhelloyou";
    assert_eq!(said(new, &[("content-length", "8")], &["hello", "you"]), (counted.to_owned(), false));
    let both = [("content-length", "8"), ("transfer-encoding", "chunked")];
    assert_eq!(said(new, &both, &["hello", "you"]), (counted.to_owned(), false));
    for old in ["GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n"] {
        let closed = "HTTP/1.1 200 \r\nconnection: close\r\n\r\nhelloyou";
        assert_eq!(said(old, &[], &["hello", "you"]), (closed.to_owned(), true), "{old:?}");
    }
    let (text, is_over) = said("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n", &[("content-length", "0")], &[]);
    assert_eq!((&text[..], is_over), ("HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n", false));
}

#[test]
fn the_end_of_what_has_gone_out_is_heard_of_at_once_rfc9112_6_3() {
    for (fields, request) in [("content-length", "GET / HTTP/1.1\r\nhost: a\r\n\r\n"), ("x", "GET / HTTP/1.0\r\n\r\n")]
    {
        let mut server = h1::Server::new();
        server.handle_input(NOW, TCP, &[Chunk::Bytes(request.into())]).unwrap();
        let head = ResponseHead::new(200, Fields::from_pairs([(fields, "5")]));
        server.respond(RequestId(0), head.into(), Content::Streamed);
        server.append(RequestId(0), text(5));
        server.poll_transmit(NOW, TCP, 1_000, &mut Wire::default());
        assert_eq!(drain_events(&mut server).len(), 2, "the request, and its end");
        server.finish(RequestId(0), Fields::default());
        assert!(!server.has_output());
        assert_eq!(server.poll_event(), Some(Event::ResponseSent { id: RequestId(0) }));
    }
}

#[test]
fn open_answers_leave_in_the_order_of_pipelined_requests_rfc9112_9_3_2() {
    let mut pair = Pair::new(Protocol::Http1Pipelining);
    let get = || Arc::new(RequestHead::get("a.test", "/", Fields::default()));
    let [first, second] = [0, 1].map(|_| pair.client.request(get(), Body::EMPTY.into(), Priority::default()));
    pair.talk();
    for id in [second, first] {
        pair.server.respond(id, ResponseHead::new(200, Fields::default()).into(), Content::Streamed);
        pair.server.append(id, text(4));
    }
    pair.server.finish(second, Fields::default());
    pair.talk();
    assert_eq!((pair.server.buffered(first), pair.server.buffered(second)), (0, 4));
    assert!(!pair.server.has_output());
    pair.server.finish(first, Fields::default());
    pair.talk();
    let ends: Vec<&Event> = pair.at_client.iter().filter(|event| matches!(event, Event::End { .. })).collect();
    assert_eq!(ends, [&Event::End { id: first }, &Event::End { id: second }]);
    assert_eq!(pair.at_server[4..], [first, second].map(|id| Event::ResponseSent { id }));
}

#[test]
fn a_stream_that_waits_for_its_content_lets_the_others_go() {
    for protocol in Protocol::ALL.into_iter().filter(|protocol| protocol.is_multiplexed()) {
        for policy in Policy::ALL {
            let mut pair = Pair::of(protocol, Multiplexing { policy, ..Multiplexing::default() });
            let get = || Arc::new(RequestHead::get("a.test", "/", Fields::default()));
            let urgent = pair.client.request(get(), Body::EMPTY.into(), Priority::at(0));
            let other = pair.client.request(get(), Body::EMPTY.into(), Priority::at(5));
            pair.talk();
            let ok = || Arc::new(ResponseHead::new(200, Fields::default()));
            pair.server.respond(urgent, ok(), Content::Streamed);
            pair.server.append(urgent, text(1_000));
            pair.server.respond(other, ok(), Body { id: BodyId(1), len: 30_000 }.into());
            pair.room = 10_000;
            pair.speak();
            pair.speak();
            // Its content is urgent whenever there is some.
            pair.server.append(urgent, text(1_000));
            pair.server.finish(urgent, Fields::default());
            pair.talk();
            let ends = pair.at_client.iter().filter(|event| matches!(event, Event::End { .. })).count();
            assert_eq!(ends, 2, "{protocol}, {policy:?}");
            if policy == Policy::Priority {
                let end = pair.at_client.iter().position(|event| *event == Event::End { id: urgent });
                assert!(end < pair.at_client.iter().position(|event| *event == Event::End { id: other }), "{protocol}");
            }
        }
    }
}

#[test]
fn what_comes_by_and_by_keeps_to_the_windows_and_its_end_needs_none() {
    let (stream_window, session_window) = (Bounded::known(65_536), Bounded::known(65_536));
    let config = Multiplexing { stream_window, session_window, ..Multiplexing::default() };
    for (protocol, trailers) in
        [(Protocol::Spdy3, false), (Protocol::Spdy31, true), (Protocol::H2, true), (Protocol::H2, false)]
    {
        let mut pair = Pair::of(protocol, config);
        let id = pair.asked(&[]);
        pair.server.append(id, run(0, 65_536));
        let mut wire = Wire::default();
        pair.server.poll_transmit(NOW, TCP, usize::MAX, &mut wire);
        assert_eq!(pair.server.buffered(id), 0, "{protocol}");
        let used_up = wire.len();
        pair.server.append(id, run(65_536, 1));
        assert_eq!((pair.server.buffered(id), pair.server.has_output()), (1, false), "{protocol}");
        pair.server.poll_transmit(NOW, TCP, usize::MAX, &mut wire);
        assert_eq!(wire.len(), used_up, "{protocol}: not even an empty frame");

        let mut pair = Pair::of(protocol, config);
        let id = pair.asked(&[]);
        pair.server.append(id, run(0, 65_536));
        pair.server.poll_transmit(NOW, TCP, usize::MAX, &mut wire);
        pair.server.finish(id, if trailers { trailing() } else { Fields::default() });
        pair.server.poll_transmit(NOW, TCP, usize::MAX, &mut wire);
        assert_eq!(drain_events(pair.server.as_mut()), [Event::ResponseSent { id }], "{protocol}");
    }
}

/// Exchanges whose messages come in pieces, one protocol, one way to cut the bytes; what the two ends hear.
fn exchange(
    protocol: Protocol,
    uploads: &[Vec<u16>],
    downloads: &[Vec<u16>],
    room: usize,
    piece: u64,
) -> [Vec<Event>; 2] {
    let windows = (Bounded::known(65_536), Bounded::known(65_536));
    let config = Multiplexing { stream_window: windows.0, session_window: windows.1, ..Multiplexing::default() };
    let mut pair = Pair { room, piece, ..Pair::of(protocol, config) };
    for (upload, download) in uploads.iter().zip(downloads) {
        let head = RequestHead::new("POST".into(), "a.test".into(), "/".into(), Fields::default());
        let id = pair.client.request(head.into(), Content::Streamed, Priority::default());
        for len in upload {
            pair.client.append(id, text(usize::from(*len)));
            pair.speak();
        }
        pair.client.finish(id, if upload.len() % 2 == 0 { trailing() } else { Fields::default() });
        pair.talk();
        pair.server.respond(id, ResponseHead::new(200, Fields::default()).into(), Content::Streamed);
        for len in download {
            pair.server.append(id, run(0, u64::from(*len)));
            pair.speak();
        }
        pair.server.finish(id, if download.len() % 2 == 0 { trailing() } else { Fields::default() });
        pair.talk();
    }
    for heard in [&pair.at_client, &pair.at_server] {
        let ends = heard.iter().filter(|event| matches!(event, Event::End { .. }));
        assert_eq!(ends.count(), uploads.len(), "{protocol}");
    }
    [pair.at_client, pair.at_server]
}

proptest! {
    #[test]
    fn however_the_bytes_are_cut_open_messages_are_the_same(
        messages in prop::collection::vec(
            (prop::collection::vec(0_u16..40_000, 0..4), prop::collection::vec(0_u16..40_000, 0..4)), 1..4),
        room in 200_usize..40_000,
        piece in 1_u64..5_000,
    ) {
        let (uploads, downloads): (Vec<_>, Vec<_>) = messages.into_iter().unzip();
        for protocol in Protocol::ALL {
            let whole = exchange(protocol, &uploads, &downloads, 1 << 24, u64::MAX);
            prop_assert_eq!(exchange(protocol, &uploads, &downloads, room, piece), whole, "{}", protocol);
        }
    }
}
