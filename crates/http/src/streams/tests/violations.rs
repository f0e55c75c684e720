//! How each protocol reacts to what a peer may do wrong. The sections are those of draft 2, which
//! has headings and no numbers, of draft 3 and of RFC 9113.

use super::frame_writer::{FrameWriter, SentFrame, sent_frames};
use super::raw_peer::{RawPeer, client, server, server_after_answer};
use super::*;
use crate::Push;
use SentFrame::{GoAway, Reply, Reset};

/// What is wrong, how it is done, and how SPDY/2, SPDY/3, SPDY/3.1 and HTTP/2 react.
type Case = (&'static str, fn(&mut RawPeer), [Option<SentFrame>; 4]);

const NO: Option<SentFrame> = None;

const fn rst(stream: u32, status: u32) -> Option<SentFrame> {
    Some(Reset(stream, status))
}

/// GOAWAY with the last stream and the statuses of SPDY and HTTP/2.
const fn end(last: u32, h2: u32) -> [Option<SentFrame>; 4] {
    let three = Some(GoAway(last, Some(1)));
    [Some(GoAway(last, None)), three, three, Some(GoAway(last, Some(h2)))]
}

/// RST_STREAM with the same status in all versions of SPDY.
const fn reset(stream: u32, spdy: u32, h2: u32) -> [Option<SentFrame>; 4] {
    [rst(stream, spdy), rst(stream, spdy), rst(stream, spdy), rst(stream, h2)]
}

fn check(case: Case, begin: fn(Protocol) -> RawPeer, goes_on: fn(&mut RawPeer) -> bool) {
    let (what, act, expected) = case;
    for (protocol, expected) in ALL.into_iter().zip(expected) {
        let mut peer = begin(protocol);
        act(&mut peer);
        assert_eq!(peer.said(), Vec::from_iter(expected), "{protocol}, {what}");
        let is_over = matches!(expected, Some(GoAway(..)));
        assert_eq!(peer.result.is_err(), is_over, "{protocol}, {what}: {:?}", peer.result);
        assert!(is_over || goes_on(&mut peer), "{protocol}, {what}: the session does not go on");
    }
}

/// Whether another request, in the same compression, is still taken.
fn takes_another(peer: &mut RawPeer) -> bool {
    events(peer.session.as_mut());
    peer.get(1001, &[("accept", "*/*")], true);
    let id = RequestId(500);
    let events = events(peer.session.as_mut());
    matches!(&events[..], [Event::Request { head, .. }, Event::End { .. }]
        if head.fields.get(b"accept") == Some(b"*/*") && events[0].request() == Some(id))
}

/// Whether the other response, in the same compression, still arrives.
fn receives_the_other(peer: &mut RawPeer) -> bool {
    events(peer.session.as_mut());
    peer.ok(3, &[("x", "y")], true);
    let events = events(peer.session.as_mut());
    matches!(&events[..], [Event::Response { head, .. }, Event::End { id: RequestId(1) }]
        if head.fields.get(b"x") == Some(b"y"))
}

const OF_CLIENTS: &[Case] = &[
    (
        "Request, 3.2.1, -: a request without a version",
        |t| {
            let mut pairs = t.writer.get(&[]);
            pairs.retain(|(name, _)| !name.ends_with("version"));
            let frame = t.writer.open(1, &pairs, true);
            t.feed(frame);
        },
        [Some(Reply(1)), Some(Reply(1)), Some(Reply(1)), NO],
    ),
    (
        "Request, 3.2.1, 8.3.1: a path with a blank",
        |t| {
            let mut pairs = t.writer.get(&[]);
            pairs.iter_mut().filter(|(_, value)| *value == "/").for_each(|(_, path)| *path = "/a b");
            let frame = t.writer.open(1, &pairs, true);
            t.feed(frame);
        },
        [Some(Reply(1)), Some(Reply(1)), Some(Reply(1)), rst(1, 1)],
    ),
    (
        "Request, 3.2.1, 8.3.1: a request without a method, and more content than a window",
        |t| {
            let pairs = t.writer.get(&[]).split_off(1);
            let frame = t.writer.open(1, &pairs, false);
            t.feed(frame);
            (0..20).for_each(|_| t.data(1, 4_096, false));
        },
        [Some(Reply(1)), Some(Reply(1)), Some(Reply(1)), rst(1, 1)],
    ),
    (
        "HEADERS, 2.6.7, 8.1: fields that end nothing",
        |t| {
            t.get(1, &[], false);
            t.fields(1, false);
        },
        [NO, NO, NO, rst(1, 1)],
    ),
    ("Data frames, 2.2.2, 5.1: DATA on an idle stream", |t| t.data(1, 1, false), {
        [rst(1, 2), rst(1, 2), rst(1, 2), Some(GoAway(0, Some(1)))]
    }),
    (
        "Stream half-close, 2.3.6, 5.1: DATA after FIN",
        |t| {
            t.get(1, &[], true);
            t.data(1, 1, false)
        },
        { [rst(1, 1), rst(1, 9), rst(1, 9), rst(1, 5)] },
    ),
    (
        "Stream half-close, 2.3.6, 5.1: fields after FIN",
        |t| {
            t.get(1, &[], true);
            t.fields(1, true)
        },
        { [rst(1, 1), rst(1, 9), rst(1, 9), rst(1, 5)] },
    ),
    ("HEADERS, 2.6.7, 8.3.1: fields on an idle stream", |t| t.fields(1, true), reset(1, 2, 1)),
    (
        "Stream close, 2.3.7, 5.1: DATA after the client's own reset",
        |t| {
            t.get(1, &[], false);
            t.reset(1);
            t.data(1, 1, true)
        },
        { [NO, rst(1, 1), rst(1, 1), rst(1, 5)] },
    ),
    (
        "RST_STREAM, 2.6.3, 5.4.2: a reset is not answered",
        |t| {
            t.get(1, &[], false);
            t.reset(1);
            t.reset(1)
        },
        [NO; 4],
    ),
    (
        "Stream close, 2.3.7, 5.1: DATA on its way while it was reset from here",
        |t| {
            t.get(1, &[("X", "upper case")], false);
            t.data(1, 1, true);
        },
        reset(1, 1, 1),
    ),
    (
        "Stream creation, 2.3.2, 8.1: a stream that is opened twice",
        |t| {
            t.get(1, &[], false);
            t.get(1, &[], false)
        },
        reset(1, 1, 1),
    ),
    (
        "Stream creation, 2.3.2, 5.1: a stream that is opened twice after its end",
        |t| {
            t.get(1, &[], true);
            t.get(1, &[], true)
        },
        { [rst(1, 1), rst(1, 1), rst(1, 1), rst(1, 5)] },
    ),
    (
        "Stream creation, 2.3.2, 5.1.1: a stream below another",
        |t| {
            t.get(3, &[], true);
            t.get(1, &[], true)
        },
        end(3, 1),
    ),
    ("Stream creation, 2.3.2, 5.1.1: an even stream", |t| t.get(2, &[], true), end(0, 1)),
    ("Stream creation, 2.3.2, 5.1.1: stream 0", |t| t.get(0, &[], true), end(0, 1)),
    ("-, -, 5.1: RST_STREAM on an idle stream", |t| t.reset(1), [NO, NO, NO, Some(GoAway(0, Some(1)))]),
    ("-, -, 5.1: WINDOW_UPDATE on an idle stream", |t| t.window(1, 1), [NO, NO, NO, Some(GoAway(0, Some(1)))]),
    (
        "-, 2.6.8, 6.9: a window opened by 0",
        |t| {
            t.get(1, &[], true);
            t.window(1, 0)
        },
        [NO, rst(1, 1), rst(1, 1), rst(1, 1)],
    ),
    (
        "-, 2.6.8, 6.9.1: a window above 2^31 - 1",
        |t| {
            t.get(1, &[], true);
            t.window(1, 0x7fff_ffff)
        },
        { [NO, rst(1, 7), rst(1, 7), rst(1, 3)] },
    ),
    (
        "-, 2.6.8, 6.9: WINDOW_UPDATE on a stream that was reset",
        |t| {
            t.get(1, &[], true);
            t.reset(1);
            t.window(1, 1)
        },
        [NO; 4],
    ),
    ("-, 2.6.8, 6.9: the session's window opened by 0", |t| t.window(0, 0), {
        [NO, NO, Some(GoAway(0, Some(1))), Some(GoAway(0, Some(1)))]
    }),
    ("-, 2.6.8, 6.9.1: the session's window above 2^31 - 1", |t| t.window(0, 0x7fff_ffff), {
        [NO, NO, Some(GoAway(0, Some(1))), Some(GoAway(0, Some(3)))]
    }),
    (
        "-, 2.6.8, 6.9.1: the last byte of a window",
        |t| {
            t.get(1, &[], false);
            (0..8).for_each(|_| t.data(1, 4_096, false))
        },
        [NO; 4],
    ),
    (
        "Stream creation, 2.3.2, 5.1.2: one stream too many",
        |t| {
            (0..101).for_each(|at| t.get(2 * at + 1, &[], false));
            t.reset(1)
        },
        { reset(201, 3, 7) },
    ),
    (
        "Request, 3.2.1, 8.3.1: a request without its line",
        |t| {
            let f = t.writer.open(1, &[("x", "y")], true);
            t.feed(f)
        },
        { [Some(Reply(1)), Some(Reply(1)), Some(Reply(1)), rst(1, 1)] },
    ),
    (
        "Request, 3.2.1, 8.3.1: a request without a method, and what it sends",
        |t| {
            let pairs = t.writer.get(&[]).split_off(1);
            let frame = t.writer.open(1, &pairs, false);
            t.feed(frame);
            t.data(1, 5, true);
        },
        [Some(Reply(1)), Some(Reply(1)), Some(Reply(1)), rst(1, 1)],
    ),
    ("Name/value block, 2.6.10, 8.2.1: a name in upper case", |t| t.get(1, &[("X", "y")], true), reset(1, 1, 1)),
    ("Name/value block, 2.6.10, 8.2.1: an empty name", |t| t.get(1, &[("", "y")], true), reset(1, 1, 1)),
    ("Name/value block, 2.6.10, 8.2.1: NUL at the end of a value", |t| t.get(1, &[("x", "y\0")], true), reset(1, 1, 1)),
    ("Request, 3.2.1, 8.2.1: a line break in a value", |t| t.get(1, &[("x", "y\r\nz: 1")], true), reset(1, 1, 1)),
    (
        "Name/value block, 2.6.10, -: a name twice",
        |t| t.get(1, &[("x", "y"), ("x", "z")], true),
        [rst(1, 1), rst(1, 1), rst(1, 1), NO],
    ),
    ("Name/value block, 2.6.10, -: an empty value", |t| t.get(1, &[("x", "")], true), [rst(1, 1), NO, NO, NO]),
    (
        "Request, 3.2.1, 8.2.2: a field of the connection",
        |t| t.get(1, &[("keep-alive", "1")], true),
        [NO, NO, NO, rst(1, 1)],
    ),
    (
        "-, 3.2.1, 8.1.1: less content than announced",
        |t| {
            t.get(1, &[("content-length", "5")], false);
            t.data(1, 4, true)
        },
        { [NO, Some(Reply(1)), Some(Reply(1)), rst(1, 1)] },
    ),
    (
        "-, 3.2.1, 8.1.1: more content than announced",
        |t| {
            t.get(1, &[("content-length", "5")], false);
            t.data(1, 6, false)
        },
        { [NO, Some(Reply(1)), Some(Reply(1)), rst(1, 1)] },
    ),
    ("-, 3.2.1, 8.1.1: content announced and none there", |t| t.get(1, &[("content-length", "5")], true), {
        [NO, Some(Reply(1)), Some(Reply(1)), rst(1, 1)]
    }),
    (
        "-, 3.2.1, 8.1.1: as much content as announced",
        |t| {
            t.get(1, &[("content-length", "5")], false);
            t.data(1, 5, true)
        },
        [NO; 4],
    ),
    (
        "-, 3.2.1, 8.1.1: a length that is none (RFC 9110, section 8.6)",
        |t| t.get(1, &[("content-length", "+0")], true),
        [NO, Some(Reply(1)), Some(Reply(1)), rst(1, 1)],
    ),
    (
        "Name/value block, 2.6.10, 8.1.1: two lengths that differ",
        |t| t.get(1, &[("content-length", "0"), ("content-length", "1")], true),
        reset(1, 1, 1),
    ),
    ("-, -, 8.2.1: a blank before a value", |t| t.get(1, &[("x", " y")], true), [NO, NO, NO, rst(1, 1)]),
    ("-, -, 8.2.1: a tab after a value", |t| t.get(1, &[("x", "y\t")], true), [NO, NO, NO, rst(1, 1)]),
    ("-, -, 8.2.1: a blank within a value", |t| t.get(1, &[("x", "y z")], true), [NO; 4]),
    (
        "SYN_STREAM, 2.3.2.1, -: a stream on which nothing may be sent",
        |t| {
            if !t.is_h2() {
                let pairs = t.writer.get(&[]);
                let frame = t.writer.push_of(1, 0, &pairs, 3);
                t.feed(frame);
            }
        },
        [rst(1, 1), rst(1, 1), rst(1, 1), NO],
    ),
    (
        "SYN_STREAM, 2.3.2.1, -: a stream on which nothing may be sent, and its content",
        |t| {
            if !t.is_h2() {
                let pairs = t.writer.get(&[]);
                let frame = t.writer.push_of(1, 0, &pairs, 2);
                t.feed(frame);
                t.data(1, 5, true);
            }
        },
        [rst(1, 1), rst(1, 1), rst(1, 1), NO],
    ),
    ("Control frames, -, 4.1: a frame that nobody knows", |t| t.control(0x77, 0x77, b"x"), [NO; 4]),
    (
        "NOOP, 2.6.9, -: NOOP or CREDENTIAL",
        |t| t.control(if t.writer.protocol == Protocol::Spdy2 { 5 } else { 10 }, 0x77, b""),
        [NO; 4],
    ),
    (
        "SETTINGS, 2.6.4, 6.5.2: an unknown setting",
        |t| {
            let entry: &[u8] = if t.is_h2() { b"\x77\x77\0\0\0\0" } else { b"\0\0\0\x01\x77\0\0\x77\0\0\0\0" };
            t.control(4, 4, entry);
        },
        [NO; 4],
    ),
];

#[test]
fn what_a_client_does_wrong_on_a_stream() {
    OF_CLIENTS.iter().for_each(|case| check(*case, server, takes_another));
}

#[test]
fn what_a_client_does_wrong_after_the_answer() {
    let cases: &[Case] = &[
        (
            "Stream creation, 2.3.2, 5.1: a stream that is opened again",
            |t| t.get(1, &[], true),
            [rst(1, 1), rst(1, 1), rst(1, 1), Some(GoAway(1, Some(5)))],
        ),
        (
            "Stream close, 2.3.7, 5.1: DATA on a closed stream",
            |t| t.data(1, 1, true),
            [NO, rst(1, 1), rst(1, 1), Some(GoAway(1, Some(5)))],
        ),
        (
            "Stream close, 2.3.7, 5.1: fields on a closed stream",
            |t| t.fields(1, true),
            [NO, rst(1, 1), rst(1, 1), Some(GoAway(1, Some(5)))],
        ),
        ("-, 2.6.8, 6.9: WINDOW_UPDATE on a closed stream", |t| t.window(1, 1), [NO; 4]),
        ("RST_STREAM, 2.6.3, 5.1: RST_STREAM on a closed stream", |t| t.reset(1), [NO; 4]),
    ];
    cases.iter().for_each(|case| check(*case, server_after_answer, takes_another));
}

const OF_SERVERS: &[Case] = &[
    (
        "-, -, RFC 9110, 15.4.5: what a 304 says of its length is not its own",
        |t| {
            let mut pairs = t.writer.ok(&[("content-length", "5")]);
            pairs[0].1 = "304";
            let frame = t.writer.reply(1, &pairs, true);
            t.feed(frame);
        },
        [NO; 4],
    ),
    (
        "SYN_REPLY, 2.6.2, 8.1: a second head",
        |t| {
            t.ok(1, &[], false);
            t.ok(1, &[], false)
        },
        [rst(1, 1), rst(1, 8), rst(1, 8), rst(1, 1)],
    ),
    (
        "Data frames, 2.2.2, 8.1: DATA before the head",
        |t| t.data(1, 1, false),
        [Some(GoAway(0, None)), rst(1, 1), rst(1, 1), rst(1, 1)],
    ),
    (
        "Data frames, 2.6.2, 5.1: a head on an idle stream",
        |t| t.ok(9, &[], false),
        [rst(9, 2), rst(9, 2), rst(9, 2), Some(GoAway(0, Some(1)))],
    ),
    (
        "Response, 3.2.2, 8.3.2: a head without status",
        |t| {
            let f = t.writer.reply(1, &[("x", "y")], true);
            t.feed(f)
        },
        reset(1, 1, 1),
    ),
    (
        "-, 3.2.2, 8.3.2: a status that is none",
        |t| {
            let mut pairs = t.writer.ok(&[]);
            pairs[0].1 = "20";
            let frame = t.writer.reply(1, &pairs, true);
            t.feed(frame);
        },
        reset(1, 1, 1),
    ),
    (
        "Stream close, 2.3.7, 5.1: DATA on a closed stream",
        |t| {
            t.ok(1, &[], true);
            t.data(1, 1, true)
        },
        [NO, rst(1, 1), rst(1, 1), Some(GoAway(0, Some(5)))],
    ),
    (
        "-, 3.2.2, 8.1.1: a length that is none (RFC 9110, section 8.6)",
        |t| t.ok(1, &[("content-length", "+0")], true),
        { [NO, NO, NO, rst(1, 1)] },
    ),
    ("-, -, 8.2.1: a blank after a value", |t| t.ok(1, &[("x", "y ")], true), [NO, NO, NO, rst(1, 1)]),
    (
        "-, 3.2.2, 8.1.1: less content than announced",
        |t| {
            t.ok(1, &[("content-length", "5")], false);
            t.data(1, 4, true)
        },
        { [NO, NO, NO, rst(1, 1)] },
    ),
    ("Server Push, 2.3.2, 8.4: a push, which is forbidden where it can be", |t| t.push(2, 1), {
        [rst(2, 3), rst(2, 3), rst(2, 3), Some(GoAway(0, Some(1)))]
    }),
];

#[test]
fn what_a_server_does_wrong_on_a_stream() {
    OF_SERVERS.iter().for_each(|case| check(*case, |protocol| client(protocol, Push::Forbid), receives_the_other));
}

#[test]
fn a_push_that_is_declined_harms_nothing() {
    let cases: &[Case] = &[
        ("Server Push, 2.3.2, 8.4.2: a push", |t| t.push(2, 1), reset(2, 3, 7)),
        (
            "Stream close, 2.3.7, 5.1: what comes on it",
            |t| {
                t.push(2, 1);
                t.fields(2, false);
                t.data(2, 9, true)
            },
            reset(2, 3, 7),
        ),
        ("Server Push, 3.3.1, 6.6: a push for a request that was not made", |t| t.push(2, 9), {
            [rst(2, 2), rst(2, 2), rst(2, 2), Some(GoAway(2, Some(1)))]
        }),
        (
            "Stream creation, 2.3.2, 5.1.1: two pushes on one stream",
            |t| {
                t.push(2, 1);
                t.sent.clear();
                t.push(2, 1)
            },
            { [rst(2, 1), rst(2, 1), rst(2, 1), Some(GoAway(2, Some(1)))] },
        ),
        (
            "Stream creation, 2.3.2, 5.1.1: a push below another",
            |t| {
                t.push(4, 1);
                t.sent.clear();
                t.push(2, 1)
            },
            end(4, 1),
        ),
        ("Stream creation, 2.3.2, 5.1.1: a push on an odd stream", |t| t.push(5, 1), end(0, 1)),
    ];
    cases.iter().for_each(|case| check(*case, |protocol| client(protocol, Push::Decline), receives_the_other));
    // In SPDY a push needs a request to belong to.
    for protocol in [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31] {
        let mut peer = client(protocol, Push::Forbid);
        peer.push(2, 0);
        assert_eq!((peer.said(), peer.result), (vec![Reset(2, 2)], Ok(())), "{protocol}");
    }
}

#[test]
fn priorities_of_rfc7540_are_read_for_their_errors_5_3_1() {
    let cases: [(&[u8], Option<SentFrame>); 4] = [
        (b"\0\0\0\x03\x10", None),
        (b"\0\0\0\x01\x10", rst(1, 1)),
        (b"\0\0\0\x03", rst(1, 6)),
        (b"\x80\0\0\x01\x10", rst(1, 1)),
    ];
    for (payload, expected) in cases {
        let mut peer = server(Protocol::H2);
        let frame = peer.writer.h2(2, 0, 1, payload);
        peer.feed(frame);
        assert_eq!((peer.said(), peer.result), (Vec::from_iter(expected), Ok(())));
    }
    let mut peer = server(Protocol::H2);
    let headers = peer.writer.h2(1, 0x25, 1, b"\0\0\0\x01\x10\x82\x87\x84\x41\x01a");
    peer.feed(headers);
    assert_eq!((peer.said(), takes_another(&mut peer)), (vec![Reset(1, 1)], true));
}

#[test]
fn a_reset_that_says_refused_lets_the_request_be_made_again_rfc9113_8_7() {
    for (protocol, refused) in ALL.into_iter().zip([3, 3, 3, 7]) {
        let mut peer = client(protocol, Push::Forbid);
        let frame = peer.writer.reset(1, refused);
        peer.feed(frame);
        peer.reset(3);
        let (first, second) = (RequestId(0), RequestId(1));
        assert_eq!(events(peer.session.as_mut()), [Event::Refused { id: first }, Event::Reset { id: second }]);
        // At a server it is an ordinary reset: a server has no request to send again.
        let mut peer = server(protocol);
        peer.get(1, &[], false);
        let frame = peer.writer.reset(1, refused);
        peer.feed(frame);
        assert_eq!(events(peer.session.as_mut())[1..], [Event::Reset { id: first }]);
    }
}

#[test]
fn the_answer_to_head_has_no_content_whatever_it_announces_rfc9110_9_3_2() {
    let mut client = sessions(Multiplexing::default()).client(Protocol::H2);
    let head = RequestHead::new("HEAD".into(), "a".into(), "/".into(), Fields::default());
    let id = client.request(head.into(), Body::EMPTY.into(), Priority::default());
    client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
    let mut writer = FrameWriter::new(Protocol::H2);
    let pairs = writer.ok(&[("content-length", "5")]);
    let reply = writer.reply(1, &pairs, true);
    client.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes([&MAGIC[24..], &reply].concat().into())]).unwrap();
    assert_eq!(events(client.as_mut()).last(), Some(&Event::End { id }));
}

#[test]
fn a_url_of_spdy2_may_be_absolute_draft2_request() {
    for (url, scheme, host, path) in [
        ("/x", "http", "a", "/x"),
        ("https://b.test:8/x?y=/", "https", "b.test:8", "/x?y=/"),
        ("https://b.test", "https", "b.test", "/"),
    ] {
        let mut peer = server(Protocol::Spdy2);
        let mut pairs = peer.writer.get(&[]);
        pairs[1].1 = url;
        let frame = peer.writer.open(1, &pairs, true);
        peer.feed(frame);
        let events = events(peer.session.as_mut());
        let [Event::Request { head, .. }, Event::End { .. }] = &events[..] else { panic!("{events:?}") };
        assert_eq!(
            (head.scheme.name(), &head.authority[..], &head.path[..]),
            (scheme, host.as_bytes(), path.as_bytes())
        );
    }
}

#[test]
fn a_server_must_not_allow_pushes_rfc9113_6_5_2() {
    for (allowed, expected) in [(0, Ok(())), (1, Err(PeerFault::MalformedFrame.into()))] {
        let mut peer = client(Protocol::H2, Push::Forbid);
        peer.control(0, 4, &[0, 2, 0, 0, 0, allowed]);
        assert_eq!(peer.result, expected);
    }
}

#[test]
fn when_a_session_is_over_goaway_is_all_that_goes_out() {
    for protocol in ALL {
        let mut server = sessions(Multiplexing::default()).server(protocol);
        let mut writer = FrameWriter::new(protocol);
        let greeting = if protocol == Protocol::H2 { MAGIC } else { b"" };
        let pairs = writer.get(&[]);
        let (good, bad) = (writer.open(3, &pairs, true), writer.open(2, &pairs, true));
        server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes([greeting, &good].concat().into())]).unwrap();
        server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
        server.respond(RequestId(1), ok(9), body(0, 9).into());
        assert_eq!(
            server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(bad.into())]),
            Err(PeerFault::StreamOutOfOrder.into())
        );
        server.respond(RequestId(1), ok(9), body(0, 9).into());
        let mut wire = Wire::default();
        server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
        let [Chunk::Bytes(bytes)] = &wire.take_all()[..] else { panic!("{protocol}") };
        assert!(matches!(sent_frames(protocol, bytes)[..], [GoAway(3, _)]), "{protocol}");
        assert_eq!((server.has_output(), server.handle_fin(NOW, TransportStream::TCP).is_err()), (false, true));
    }
}
