//! What a server sends without a request: pushes (draft 2, "Server Push"; draft 3, section 3.3; RFC 9113, section
//! 8.4) and interim responses.

use super::frame_writer::{FrameWriter, Pairs, SentFrame, sent_frames};
use super::*;
use crate::Push;

const ACCEPT: Multiplexing = Multiplexing { push: Push::Accept, ..DEFAULT };
const DEFAULT: Multiplexing = Multiplexing {
    policy: Policy::Priority,
    request_order: RequestOrder::Priority,
    frame_bytes: Bounded::known(16_384),
    stream_window: Bounded::known(65_536),
    session_window: Bounded::known(65_536),
    push: Push::Forbid,
    streams: Bounded::known(100),
    request_writes: RequestWrites::Together,
};

/// A client that has asked for `/`, and a server that has heard of it.
fn asked(config: Multiplexing, protocol: Protocol) -> (Box<dyn ClientSession>, Box<dyn ServerSession>, RequestId) {
    let (mut client, mut server) = pair(protocol, config);
    let id = client.request(get("/"), Body::EMPTY.into(), Priority::default());
    exchange(client.as_mut(), server.as_mut());
    events(client.as_mut());
    events(server.as_mut());
    (client, server, id)
}

/// Each end says what it has to say, until both are silent.
fn exchange(client: &mut dyn Session, server: &mut dyn Session) {
    while carry(client, server, 10_000, 777).unwrap() + carry(server, client, 10_000, 777).unwrap() > 0 {}
}

#[test]
fn a_push_arrives_before_its_parent_with_its_request_and_its_answer() {
    for protocol in ALL {
        let (mut client, mut server, id) = asked(ACCEPT, protocol);
        let pushed = server.push(id, get("/style.css?x"), Priority::at(1)).unwrap();
        assert!(pushed.is_pushed() && !id.is_pushed());
        server.respond(id, ok(70_000), body(0, 70_000).into());
        server.respond(pushed, ok(30_000), body(1, 30_000).into());
        exchange(client.as_mut(), server.as_mut());
        let told = events(client.as_mut());
        let Event::Promised { id: promised, parent, head } = &told[0] else { panic!("{protocol}: {told:?}") };
        assert_eq!((*parent, &head.method[..], &head.path[..]), (id, &b"GET"[..], &b"/style.css?x"[..]));
        assert_eq!((&head.authority[..], head.scheme), (&b"a.test"[..], crate::Scheme::Https));
        let answers: Vec<RequestId> = told
            .iter()
            .filter(|event| matches!(event, Event::Response { head, .. } if head.status == 200))
            .map(|event| event.request().unwrap())
            .collect();
        assert_eq!(answers.len(), 2, "{protocol}: {told:?}");
        for (id, len) in [(id, 70_000), (*promised, 30_000)] {
            let came = told.iter().map(|event| match event {
                Event::Data { id: of, content } if *of == id => content.len(),
                _ => 0,
            });
            assert_eq!(came.sum::<u64>(), len, "{protocol}");
            assert!(told.contains(&Event::End { id }), "{protocol}");
        }
        let answered = events(server.as_mut());
        assert!(
            answered.contains(&Event::ResponseSent { id }) && answered.contains(&Event::ResponseSent { id: pushed })
        );
        assert_eq!(client.capacity(), 100, "{protocol}: pushes are not counted as the client's");
    }
}

#[test]
fn an_answer_that_is_late_follows_its_announcement() {
    for protocol in ALL {
        let (mut client, mut server, id) = asked(ACCEPT, protocol);
        let pushed = server.push(id, get("/late"), Priority::default()).unwrap();
        exchange(client.as_mut(), server.as_mut());
        assert!(matches!(&events(client.as_mut())[..], [Event::Promised { .. }]), "{protocol}");
        // Its parent may be over before.
        server.respond(id, ok(0), Body::EMPTY.into());
        exchange(client.as_mut(), server.as_mut());
        server.respond(pushed, ok(5), body(1, 5).into());
        exchange(client.as_mut(), server.as_mut());
        let told = events(client.as_mut());
        let [.., Event::Response { head, .. }, Event::Data { content, .. }, Event::End { id }] = &told[..] else {
            panic!("{protocol}: {told:?}")
        };
        assert_eq!((head.status, content.len(), *id), (200, 5, RequestId::PUSHED), "{protocol}");
    }
}

#[test]
fn nobody_is_pushed_what_he_does_not_take() {
    for protocol in ALL {
        let forbids = Multiplexing { push: Push::Forbid, ..DEFAULT };
        let (mut client, mut server, id) = asked(forbids, protocol);
        let pushed = server.push(id, get("/a"), Priority::default());
        // HTTP/2 can say so beforehand (RFC 9113, section 6.5.2); SPDY resets.
        assert_eq!(pushed.is_none(), protocol == Protocol::H2, "{protocol}");
        exchange(client.as_mut(), server.as_mut());
        if let Some(pushed) = pushed {
            assert_eq!(events(server.as_mut()), [Event::Reset { id: pushed }], "{protocol}");
            server.respond(pushed, ok(10), body(1, 10).into());
        }
        assert_eq!(events(client.as_mut()), []);
        // After the response nothing can be pushed with its request any more.
        let (mut client, mut server, id) = asked(ACCEPT, protocol);
        server.respond(id, ok(0), Body::EMPTY.into());
        exchange(client.as_mut(), server.as_mut());
        assert_eq!(server.push(id, get("/a"), Priority::default()), None, "{protocol}");
    }
    let mut server = crate::h1::Server::new();
    server
        .handle_input(
            NOW,
            TransportStream::TCP,
            &[Chunk::Bytes(Bytes::from_static(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"))],
        )
        .unwrap();
    assert_eq!(server.push(RequestId(0), get("/a"), Priority::default()), None);
}

#[test]
fn as_many_pushes_are_open_as_the_client_lets_be() {
    for protocol in ALL {
        let (mut client, mut server, id) = asked(ACCEPT, protocol);
        let pushes: Vec<_> = (0..101).map(|at| server.push(id, get(&format!("/{at}")), Priority::default())).collect();
        assert!(pushes[..100].iter().all(Option::is_some) && pushes[100].is_none(), "{protocol}");
        for pushed in pushes.into_iter().flatten() {
            server.respond(pushed, ok(10), body(1, 10).into());
        }
        exchange(client.as_mut(), server.as_mut());
        let ended = events(client.as_mut()).into_iter().filter(|event| matches!(event, Event::End { .. })).count();
        assert_eq!(ended, 100, "{protocol}");
        assert!(server.push(id, get("/more"), Priority::default()).is_some(), "{protocol}: they are over");
    }
}

#[test]
fn a_client_cancels_a_push_and_in_spdy_all_of_them_draft3_3_3_2() {
    for protocol in ALL {
        let (mut client, mut server, id) = asked(ACCEPT, protocol);
        let pushes: Vec<RequestId> =
            ["/a", "/b"].map(|path| server.push(id, get(path), Priority::default()).unwrap()).into();
        exchange(client.as_mut(), server.as_mut());
        client.cancel(pushes[0]);
        exchange(client.as_mut(), server.as_mut());
        assert_eq!(events(server.as_mut()), [Event::Reset { id: pushes[0] }], "{protocol}");
        client.cancel(id);
        exchange(client.as_mut(), server.as_mut());
        let told = events(server.as_mut());
        match protocol {
            Protocol::H2 => assert_eq!(told, [Event::Reset { id }]),
            _ => assert_eq!(told, [Event::Reset { id }, Event::Reset { id: pushes[1] }], "{protocol}"),
        }
        let all = events(client.as_mut());
        let resets: Vec<&Event> = all.iter().filter(|event| matches!(event, Event::Reset { .. })).collect();
        // The end that cancels a request gets events only for the pushes that go with it.
        let with_it = if protocol == Protocol::H2 { vec![] } else { vec![Event::Reset { id: pushes[1] }] };
        assert_eq!(resets, with_it.iter().collect::<Vec<_>>(), "{protocol}");
    }
}

#[test]
fn a_server_keeps_no_more_answers_than_it_would_take_requests_whatever_the_client_lets_be() {
    for protocol in ALL {
        let (mut client, mut server, id) = asked(ACCEPT, protocol);
        // SETTINGS_MAX_CONCURRENT_STREAMS of 2^31 - 1.
        let many: &[u8] = match protocol {
            Protocol::H2 => b"\0\0\x06\x04\0\0\0\0\0\0\x03\x7f\xff\xff\xff",
            Protocol::Spdy2 => b"\x80\x02\0\x04\0\0\0\x0c\0\0\0\x01\x04\0\0\0\x7f\xff\xff\xff",
            _ => b"\x80\x03\0\x04\0\0\0\x0c\0\0\0\x01\0\0\0\x04\x7f\xff\xff\xff",
        };
        server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(many))]).unwrap();
        let pushed = (0..200).filter_map(|_| server.push(id, get("/x"), Priority::default())).count();
        assert_eq!(pushed, 100, "{protocol}");
        exchange(client.as_mut(), server.as_mut());
    }
}

#[test]
fn more_pushes_than_a_client_lets_be_are_refused_draft3_2_3_9_rfc9113_5_1_2() {
    for (protocol, refused) in ALL.into_iter().zip([3, 3, 3, 7]) {
        let mut client = sessions(Multiplexing { streams: Bounded::known(1), ..ACCEPT }).client(protocol);
        client.request(get("/"), Body::EMPTY.into(), Priority::default());
        client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
        let mut writer = FrameWriter::new(protocol);
        let mut input = if protocol == Protocol::H2 { MAGIC[24..].to_vec() } else { Vec::new() };
        for stream in [2, 4] {
            let pairs = writer.pushed("a.test", "https://a.test/x", "/x", false);
            input.extend(writer.push_of(stream, 1, &pairs, 2));
        }
        client.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(input.into())]).unwrap();
        let mut wire = Wire::default();
        client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
        let sent: Vec<u8> = wire
            .take_all()
            .into_iter()
            .flat_map(|chunk| if let Chunk::Bytes(bytes) = chunk { bytes } else { panic!("nothing is uploaded") })
            .collect();
        assert_eq!(sent_frames(protocol, &sent), [SentFrame::Reset(4, refused)], "{protocol}");
    }
}

#[test]
fn declining_any_number_of_pushes_is_no_quarrel() {
    for protocol in [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31] {
        let (mut client, mut server) = pair(protocol, Multiplexing { push: Push::Forbid, ..DEFAULT });
        for turn in 0..30 {
            client.request(get("/"), Body::EMPTY.into(), Priority::default());
            exchange(client.as_mut(), server.as_mut());
            let id = RequestId(turn);
            for _ in 0..100 {
                server.push(id, get("/x"), Priority::default());
            }
            exchange(client.as_mut(), server.as_mut());
            server.respond(id, ok(0), Body::EMPTY.into());
            exchange(client.as_mut(), server.as_mut());
            events(server.as_mut());
        }
        let ended = events(client.as_mut()).into_iter().filter(|event| matches!(event, Event::End { .. })).count();
        assert_eq!(ended, 30, "{protocol}");
    }
}

#[test]
fn nothing_is_promised_after_a_client_has_heard_that_it_forbade_it_rfc9113_6_5_2() {
    let (_, mut server, id) = asked(ACCEPT, Protocol::H2);
    let pushed = server.push(id, get("/x"), Priority::default()).unwrap();
    let forbid = b"\0\0\x06\x04\0\0\0\0\0\0\x02\0\0\0\0";
    server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(forbid))]).unwrap();
    assert_eq!(events(server.as_mut()), [Event::Reset { id: pushed }]);
    let mut wire = Wire::default();
    server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
    assert_eq!(wire.take_all(), [Chunk::Bytes(Bytes::from_static(b"\0\0\0\x04\x01\0\0\0\0"))], "SETTINGS ACK alone");
}

#[test]
fn who_cancels_a_request_of_spdy_hears_that_what_was_pushed_with_it_does_not_come() {
    for protocol in [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31] {
        let (mut client, mut server, id) = asked(ACCEPT, protocol);
        server.push(id, get("/x"), Priority::default()).unwrap();
        exchange(client.as_mut(), server.as_mut());
        events(client.as_mut());
        client.cancel(id);
        assert_eq!(events(client.as_mut()), [Event::Reset { id: RequestId::PUSHED }], "{protocol}");
        exchange(client.as_mut(), server.as_mut());
        client.shut_down();
        assert!(client.is_over() && client.handle_fin(NOW, TransportStream::TCP).is_ok(), "{protocol}");
    }
}

#[test]
fn of_a_push_that_nobody_has_heard_of_nobody_hears() {
    for protocol in ALL {
        let (mut client, mut server, id) = asked(ACCEPT, protocol);
        let pushed = server.push(id, get("/x"), Priority::default()).unwrap();
        server.cancel(pushed);
        server.respond(id, ok(0), Body::EMPTY.into());
        exchange(client.as_mut(), server.as_mut());
        assert!(matches!(&events(client.as_mut())[..], [Event::Response { .. }, Event::End { .. }]), "{protocol}");
    }
}

#[test]
fn heads_that_a_protocol_cannot_write_go_nowhere() {
    let long = "x".repeat(65_500);
    for protocol in ALL {
        let (mut client, mut server, id) = asked(ACCEPT, protocol);
        // SPDY/2 has 16 bits for the length of a part.
        let fits = protocol != Protocol::Spdy2;
        let there = RequestHead::get(&long, "/x", Fields::default());
        assert_eq!(server.push(id, there.into(), Priority::default()).is_some(), fits, "{protocol}");
        let fields = Fields::from_pairs([("x-long", &long[..40_000]), ("x-long", &long[..30_000])]);
        server.respond(id, ResponseHead::new(200, fields).into(), Body::EMPTY.into());
        let mut wire = Wire::default();
        server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
        if !fits {
            client.handle_input(NOW, TransportStream::TCP, &wire.take_all()).unwrap();
            let told = events(client.as_mut());
            assert!(matches!(&told[0], Event::Response { head, .. } if head.status == 500), "{told:?}");
            let id = client.request(get(&format!("/{long}")), Body::EMPTY.into(), Priority::default());
            assert_eq!((events(client.as_mut()), client.has_output()), (vec![Event::Reset { id }], false));
        }
    }
}

#[test]
fn in_spdy2_headers_do_not_end_a_stream_and_data_does_draft2_headers() {
    let (mut client, mut server, id) = asked(ACCEPT, Protocol::Spdy2);
    let pushed = server.push(id, get("/x"), Priority::default()).unwrap();
    exchange(client.as_mut(), server.as_mut());
    server.respond(pushed, ok(0), Body::EMPTY.into());
    let mut wire = Wire::default();
    server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
    let [Chunk::Bytes(frames)] = &wire.take_all()[..] else { panic!("there is no content") };
    assert_eq!((&frames[..5], frames[4]), (&b"\x80\x02\0\x08\0"[..], 0));
    assert!(frames.ends_with(b"\0\0\0\x02\x01\0\0\0"));
    client.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(frames.clone())]).unwrap();
    assert!(events(client.as_mut()).contains(&Event::End { id: RequestId::PUSHED }));
}

#[test]
fn an_interim_response_goes_ahead_of_the_answer_rfc8297() {
    let hint = || Arc::new(ResponseHead::new(103, Fields::from_pairs([("link", "</a>; rel=preload")])));
    for protocol in ALL.into_iter().chain([Protocol::Http1]) {
        let (mut client, mut server, id) = asked(DEFAULT, protocol);
        server.send_interim(id, hint());
        exchange(client.as_mut(), server.as_mut());
        let told = events(client.as_mut());
        match protocol {
            Protocol::H2 | Protocol::Http1 => {
                let [Event::Interim { head, .. }] = &told[..] else { panic!("{protocol}: {told:?}") };
                assert_eq!((head.status, head.fields.get(b"link")), (103, Some(&b"</a>; rel=preload"[..])));
            }
            _ => assert_eq!(told, [], "SPDY has none"),
        }
        server.respond(id, ok(3), body(0, 3).into());
        server.send_interim(id, hint());
        exchange(client.as_mut(), server.as_mut());
        let told = events(client.as_mut());
        assert!(matches!(&told[..], [Event::Response { .. }, Event::Data { .. }, Event::End { .. }]), "{told:?}");
    }
}

/// What a push is like, and what SPDY/2, the other versions of SPDY and HTTP/2 say to it.
type Case = (&'static str, fn(&mut FrameWriter) -> Vec<Vec<u8>>, [Option<SentFrame>; 3]);

const FINE: [Option<SentFrame>; 3] = [None; 3];
const RESET: [Option<SentFrame>; 3] = [Some(SentFrame::Reset(2, 1)); 3];

/// A push of this URL's parts on stream 2, associated with stream 1.
fn push(writer: &mut FrameWriter, [host, url, path]: [&str; 3], with_answer: bool) -> Vec<u8> {
    let pairs = writer.pushed(host, url, path, with_answer);
    writer.push_of(2, 1, &pairs, 2)
}

/// The head of the answer to it, in a frame of its own.
fn head(writer: &mut FrameWriter) -> Vec<u8> {
    let pairs = writer.ok(&[]);
    writer.fields(2, &pairs, false)
}

/// A push of whose pairs some are not there and others are.
fn altered(writer: &mut FrameWriter, without: &str, with: Pairs) -> Vec<u8> {
    let mut pairs = writer.pushed("a.test", "https://a.test/x", "/x", false);
    pairs.retain(|(name, _)| name.trim_start_matches(':') != without);
    pairs.splice(0..0, with.iter().copied());
    writer.push_of(2, 1, &pairs, 2)
}

const OURS: [&str; 3] = ["a.test", "https://a.test/x", "/x"];

const CASES: &[Case] = &[
    ("Server Push, 3.3.1, 8.4: its answer apart", |h| vec![push(h, OURS, false), head(h), h.data(2, 5, true)], FINE),
    ("Server Push, 3.3.1, -: its answer with it, as far as the protocol can", |h| vec![push(h, OURS, true)], FINE),
    (
        "npm's spdy does not say that it is unidirectional",
        |h| {
            let pairs = h.pushed("a.test", "https://a.test/x", "/x", true);
            vec![h.push_of(2, 1, &pairs, 0)]
        },
        FINE,
    ),
    ("Server Push, 3.3.1, 8.4: of another host", |h| vec![push(h, ["b.test", "https://b.test/x", "/x"], false)], RESET),
    (
        "Server Push, 3.3.1, 8.3.1: without a path",
        |h| vec![altered(h, if h.protocol == Protocol::Spdy2 { "url" } else { "path" }, &[])],
        RESET,
    ),
    (
        "3.3, 3.3, 8.4: of what is not safe",
        |h| {
            let method = if h.protocol == Protocol::Spdy2 { "method" } else { ":method" };
            vec![altered(h, "method", &[(method, "POST")])]
        },
        RESET,
    ),
    (
        "Data frames, 2.2.2, 8.1: content before the head of the answer",
        |h| vec![push(h, OURS, false), h.data(2, 5, false)],
        [Some(SentFrame::GoAway(2, None)), RESET[0], RESET[0]],
    ),
    ("Server Push, 3.3.1, 8.1: a second head of the answer", |h| vec![push(h, OURS, false), head(h), head(h)], RESET),
    (
        "Server Push, 3.3.1, -: the end of an answer that never began",
        |h| {
            let pairs = h.pushed("a.test", "https://a.test/x", "/x", false);
            vec![h.push_of(2, 1, &pairs, 3)]
        },
        [RESET[0], RESET[1], None],
    ),
    (
        "Server Push, 3.3.1, 8.3.1: of an empty path",
        |h| {
            let name = if h.protocol == Protocol::Spdy2 { "url" } else { ":path" };
            vec![altered(h, name.trim_start_matches(':'), &[(name, "")])]
        },
        RESET,
    ),
];

#[test]
fn what_a_server_pushes_is_held_against_its_parent() {
    for (what, frames, expected) in CASES {
        for (protocol, expected) in ALL.into_iter().zip([expected[0], expected[1], expected[1], expected[2]]) {
            let mut client = sessions(ACCEPT).client(protocol);
            client.request(get("/"), Body::EMPTY.into(), Priority::default());
            client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
            events(client.as_mut());
            let mut writer = FrameWriter::new(protocol);
            let mut input = if protocol == Protocol::H2 { MAGIC[24..].to_vec() } else { Vec::new() };
            input.extend(frames(&mut writer).concat());
            let result = client.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(input.into())]);
            let mut wire = Wire::default();
            client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
            let mut sent = Vec::new();
            for chunk in wire.take_all() {
                let Chunk::Bytes(bytes) = chunk else { panic!("nothing is uploaded") };
                sent.extend_from_slice(&bytes);
            }
            assert_eq!(sent_frames(protocol, &sent), Vec::from_iter(expected), "{protocol}: {what}");
            assert_eq!(result.is_err(), matches!(expected, Some(SentFrame::GoAway(..))), "{protocol}: {what}");
            let promised = events(client.as_mut()).iter().any(|event| matches!(event, Event::Promised { .. }));
            assert!(promised || expected.is_some(), "{protocol}: {what}");
        }
    }
}
