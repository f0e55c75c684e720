//! Pairs: a client's and a server's session of SPDY or HTTP/2 joined by wires that a test cuts as
//! it likes; and peers that break the rules, byte by byte.

use crate::session::tests::{counted, drain_events as events};
use crate::{
    Body, BodyId, Chunk, ClientSession, Content, Error, Event, Fields, Multiplexing, PeerFault, Policy, Priority,
    RequestOrder, RequestWrites, TransportStream,
};
use crate::{Protocol, RequestHead, RequestId, ResponseHead, ServerSession, Session, SessionFactory, Wire};
use bytes::Bytes;
use loadstone_units::{Bounded, Time};
use proptest::prelude::*;
use std::sync::Arc;

mod damage;
mod floods;
mod frame_writer;
mod frames;
mod priorities;
mod pushes;
mod raw_peer;
mod shutdown;
mod violations;

const NOW: Time = Time::ZERO;
const ALL: [Protocol; 4] = [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2];

fn sessions(multiplexing: Multiplexing) -> SessionFactory {
    SessionFactory::new(multiplexing)
}

fn get(path: &str) -> Arc<RequestHead> {
    let fields = [("User-Agent", "Loadstone"), ("cookie", "a=1; b=2"), ("accept", "*/*"), ("accept", "text/html")];
    Arc::new(RequestHead::get("a.test", path, Fields::from_pairs(fields)))
}

fn ok(len: u64) -> Arc<ResponseHead> {
    let len = len.to_string();
    Arc::new(ResponseHead::new(200, Fields::from_pairs([("content-length", &len[..]), ("server", "x")])))
}

fn body(id: u32, len: u64) -> Body {
    Body { id: BodyId(id), len }
}

/// Moves everything from one session to the other, `room` bytes at a time cut at `piece` bytes;
/// returns how many.
fn carry(from: &mut dyn Session, to: &mut dyn Session, room: usize, piece: u64) -> Result<u64, Error> {
    let mut total = 0;
    loop {
        let mut wire = Wire::default();
        from.poll_transmit(NOW, TransportStream::TCP, room, &mut wire);
        if wire.is_empty() {
            assert!(room < 10 || !from.has_output(), "it has output and gives none");
            return Ok(total);
        }
        assert!(wire.len() <= room as u64, "more than there was room for");
        total += wire.len();
        while !wire.is_empty() {
            let mut input = Vec::new();
            wire.take(piece.min(wire.len()), &mut input);
            to.handle_input(NOW, TransportStream::TCP, &input)?;
        }
    }
}

/// Both ends of a new session, its beginnings exchanged.
fn pair(protocol: Protocol, config: Multiplexing) -> (Box<dyn ClientSession>, Box<dyn ServerSession>) {
    let sessions = sessions(config);
    let (mut client, mut server) = (sessions.client(protocol), sessions.server(protocol));
    for _ in 0..2 {
        carry(client.as_mut(), server.as_mut(), 10_000, 10_000).unwrap();
        carry(server.as_mut(), client.as_mut(), 10_000, 10_000).unwrap();
    }
    (client, server)
}

/// The order in which bodies leave the server: the ids of their streams.
fn order_of_data(server: &mut dyn Session, room: usize) -> Vec<u32> {
    let mut order = Vec::new();
    loop {
        let mut wire = Wire::default();
        server.poll_transmit(NOW, TransportStream::TCP, room, &mut wire);
        if wire.is_empty() {
            return order;
        }
        for chunk in wire.take_all() {
            if let Chunk::Run { body, .. } = chunk
                && order.last() != Some(&body.0)
            {
                order.push(body.0);
            }
        }
    }
}

/// What a session's end says to these bytes of the other end, after the usual beginning.
fn after(mut session: Box<dyn Session>, text: &[&[u8]]) -> (Result<(), Error>, Box<dyn Session>) {
    session.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
    let input = [Chunk::Bytes(Bytes::from(text.concat()))];
    (session.handle_input(NOW, TransportStream::TCP, &input), session)
}

fn server_after(protocol: Protocol, text: &[&[u8]]) -> Result<(), Error> {
    after(sessions(Multiplexing::default()).server(protocol), text).0
}

/// The preface of a client, and empty SETTINGS (RFC 9113, section 3.4).
const MAGIC: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

#[test]
fn a_request_arrives_as_it_was_sent_less_the_case_of_its_names() {
    for protocol in ALL {
        let (mut client, mut server) = pair(protocol, Multiplexing::default());
        let head = get("/x?y=1");
        let id = client.request(head.clone(), Body::EMPTY.into(), Priority::at(1));
        carry(client.as_mut(), server.as_mut(), 10_000, 1).unwrap();
        assert_eq!(events(client.as_mut()), [Event::Sent { id }]);
        let events = events(server.as_mut());
        let [Event::Request { head: arrived, .. }, Event::End { .. }] = &events[..] else { panic!("{events:?}") };
        assert_eq!((&arrived.method, &arrived.path, &arrived.authority), (&head.method, &head.path, &head.authority));
        assert_eq!(arrived.scheme, head.scheme);
        assert_eq!(arrived.fields.get(b"user-agent"), Some(&b"Loadstone"[..]));
        let accepts = arrived.fields.iter().filter(|(name, _)| *name == b"accept").map(|(_, value)| value);
        assert_eq!(accepts.collect::<Vec<_>>(), [&b"*/*"[..], b"text/html"]);
    }
}

#[test]
fn a_session_says_whether_its_input_ends_within_a_frame() {
    for protocol in ALL {
        let mut server = sessions(Multiplexing::default()).server(protocol);
        assert_eq!(server.is_partial(), protocol == Protocol::H2, "{protocol}: a preface is missing, or nothing");
        let feed = |server: &mut dyn Session, part: &[u8]| {
            server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::copy_from_slice(part))]).unwrap();
        };
        if protocol == Protocol::H2 {
            feed(server.as_mut(), MAGIC);
        }
        let mut writer = frame_writer::FrameWriter::new(protocol);
        let pairs = writer.get(&[]);
        let frame = writer.open(1, &pairs, true);
        let mut is_partial = Vec::new();
        for part in [&frame[..0], &frame[..3], &frame[3..20], &frame[20..]] {
            feed(server.as_mut(), part);
            is_partial.push(server.is_partial());
        }
        assert_eq!(is_partial, [false, true, true, false], "{protocol}");
    }
}

#[test]
fn half_a_block_of_http2_is_as_partial_as_half_a_frame_rfc9113_6_10() {
    let (_, mut server) = pair(Protocol::H2, Multiplexing::default());
    let head = frame_writer::FrameWriter::new(Protocol::H2).h2(1, 1, 1, b"");
    server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(head.into())]).unwrap();
    assert!(server.is_partial());
}

#[test]
fn without_room_no_request_leaves() {
    for protocol in ALL {
        let (mut client, _) = pair(protocol, Multiplexing::default());
        client.request(get("/"), Body::EMPTY.into(), Priority::default());
        client.poll_transmit(NOW, TransportStream::TCP, 0, &mut Wire::default());
        assert_eq!(events(client.as_mut()), [], "{protocol}");
    }
}

#[test]
fn a_more_urgent_response_overtakes_one_that_is_under_way() {
    for protocol in ALL {
        let (mut client, mut server) = pair(protocol, Multiplexing::default());
        let slow = client.request(get("/image"), Body::EMPTY.into(), Priority::at(5));
        let urgent = client.request(get("/style"), Body::EMPTY.into(), Priority::at(0));
        carry(client.as_mut(), server.as_mut(), 10_000, 10_000).unwrap();
        let ids: Vec<RequestId> = events(server.as_mut())
            .into_iter()
            .filter_map(|event| if let Event::Request { id, .. } = event { Some(id) } else { None })
            .collect();
        // The urgent request was asked for last and left first.
        assert_eq!(events(client.as_mut()), [Event::Sent { id: urgent }, Event::Sent { id: slow }]);
        server.respond(ids[1], ok(30_000), body(1, 30_000).into());
        server.poll_transmit(NOW, TransportStream::TCP, 5_000, &mut Wire::default());
        server.respond(ids[0], ok(9_000), body(0, 9_000).into());
        assert_eq!(order_of_data(server.as_mut(), 5_000), [0, 1]);
    }
}

#[test]
fn requests_leave_as_they_were_made_if_the_client_knows_no_priorities() {
    for protocol in ALL {
        let config = Multiplexing { request_order: RequestOrder::FirstComeFirstServed, ..Multiplexing::default() };
        let (mut client, mut server) = pair(protocol, config);
        let ids = [5, 0, 3].map(|urgency| client.request(get("/"), Body::EMPTY.into(), Priority::at(urgency)));
        carry(client.as_mut(), server.as_mut(), 10_000, 10_000).unwrap();
        assert_eq!(events(client.as_mut()), ids.map(|id| Event::Sent { id }), "{protocol}");
    }
}

#[test]
fn requests_leave_in_writes_of_their_own_if_the_client_is_such() {
    let writes = |protocol, request_writes| {
        let (mut client, _) = pair(protocol, Multiplexing { request_writes, ..Multiplexing::default() });
        let ids = [3, 0].map(|urgency| client.request(get("/"), Body::EMPTY.into(), Priority::at(urgency)));
        let mut asked = Vec::new();
        while client.has_output() {
            client.poll_transmit(NOW, TransportStream::TCP, 10_000, &mut Wire::default());
            asked.push(events(client.as_mut()));
        }
        // SPDY/2 begins a connection without a frame.
        asked.retain(|one| !one.is_empty());
        (asked, ids.map(|id| Event::Sent { id }))
    };
    for protocol in ALL {
        let (asked, [slow, urgent]) = writes(protocol, RequestWrites::Apart);
        assert_eq!(asked, [vec![urgent.clone()], vec![slow.clone()]], "{protocol}");
        assert_eq!(writes(protocol, RequestWrites::Together).0, [vec![urgent, slow]], "{protocol}");
    }
}

#[test]
fn policies_decide_the_order_of_frames() {
    for protocol in ALL {
        let order = |policy| {
            let config = Multiplexing { policy, frame_bytes: Bounded::known(1000), ..Multiplexing::default() };
            let (mut client, mut server) = pair(protocol, config);
            for urgency in [5, 0] {
                client.request(get("/"), Body::EMPTY.into(), Priority::at(urgency));
            }
            carry(client.as_mut(), server.as_mut(), 10_000, 10_000).unwrap();
            // The stream of the more urgent request is 0, and its answer is ready last.
            [1, 0].into_iter().for_each(|id| server.respond(RequestId(id), ok(2_000), body(id, 2_000).into()));
            order_of_data(server.as_mut(), 100_000)
        };
        assert_eq!(order(Policy::Priority), [0, 1]);
        assert_eq!(order(Policy::RoundRobin), [1, 0, 1, 0]);
        assert_eq!(order(Policy::FirstComeFirstServed), [1, 0]);
    }
}

#[test]
fn no_more_leaves_than_the_windows_let_and_the_rest_when_they_open() {
    let config = Multiplexing {
        session_window: Bounded::known(65_536),
        stream_window: Bounded::known(70_000),
        ..Default::default()
    };
    for (protocol, window) in [(Protocol::Spdy31, 65_536), (Protocol::H2, 65_535)] {
        let (mut client, mut server) = pair(protocol, config);
        let id = client.request(get("/"), Body::EMPTY.into(), Priority::default());
        carry(client.as_mut(), server.as_mut(), 10_000, 10_000).unwrap();
        server.respond(id, ok(200_000), body(0, 200_000).into());
        let mut wire = Wire::default();
        server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
        let input = wire.take_all();
        let runs = |chunk: &Chunk| if let Chunk::Run { len, .. } = chunk { *len } else { 0 };
        // HTTP/2's client had to say that its window is one byte larger than the usual one.
        let window = if protocol == Protocol::H2 { window + 1 } else { window };
        assert_eq!(input.iter().map(runs).sum::<u64>(), window, "{protocol}");
        assert!(!server.has_output());
        client.handle_input(NOW, TransportStream::TCP, &input).unwrap();
        for _ in 0..20 {
            carry(client.as_mut(), server.as_mut(), 10_000, 10_000).unwrap();
            carry(server.as_mut(), client.as_mut(), 10_000, 10_000).unwrap();
        }
        let all = events(client.as_mut());
        assert_eq!(all.last(), Some(&Event::End { id }));
    }
}

#[test]
fn a_client_asks_for_no_more_at_a_time_than_the_server_lets_it() {
    for protocol in ALL {
        let (mut client, mut server) = pair(protocol, Multiplexing::default());
        let mut asked = 0;
        while client.capacity() > 0 {
            client.request(get("/"), Body::EMPTY.into(), Priority::default());
            asked += 1;
        }
        assert_eq!(asked, 100);
        carry(client.as_mut(), server.as_mut(), 100_000, 100_000).unwrap();
        server.respond(RequestId(7), ok(0), Body::EMPTY.into());
        carry(server.as_mut(), client.as_mut(), 100_000, 100_000).unwrap();
        assert_eq!(client.capacity(), 1);
    }
}

#[test]
fn a_server_holds_its_clients_to_the_streams_that_it_announces() {
    for protocol in ALL {
        let config = Multiplexing { streams: Bounded::known(3), ..Multiplexing::default() };
        let (client, _) = pair(protocol, config);
        assert_eq!(client.capacity(), 3, "{protocol}");
        // One that has not heard of it yet presumes more: what is beyond is refused, and the rest goes on.
        let sessions = sessions(config);
        let (mut client, mut server) = (sessions.client(protocol), sessions.server(protocol));
        for _ in 0..5 {
            client.request(get("/"), Body::EMPTY.into(), Priority::default());
        }
        carry(client.as_mut(), server.as_mut(), 100_000, 100_000).unwrap();
        let asked = events(server.as_mut()).into_iter().filter(|event| matches!(event, Event::Request { .. }));
        assert_eq!(asked.count(), 3, "{protocol}");
        carry(server.as_mut(), client.as_mut(), 100_000, 100_000).unwrap();
        let refused = [RequestId(3), RequestId(4)].map(|id| Event::Refused { id });
        assert!(events(client.as_mut()).ends_with(&refused), "{protocol}");
    }
}

#[test]
fn a_client_keeps_to_a_limit_that_comes_after_its_requests_were_taken_rfc9113_5_1_2() {
    let mut client = sessions(Multiplexing::default()).client(Protocol::H2);
    let ids: Vec<RequestId> =
        (0..3).map(|_| client.request(get("/"), Body::EMPTY.into(), Priority::default())).collect();
    let one_stream = b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x01";
    client.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(one_stream))]).unwrap();
    client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
    assert_eq!(events(client.as_mut()), [Event::Sent { id: ids[0] }]);
    assert!(!client.has_output() && client.capacity() == 0);
    client
        .handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(b"\0\0\x01\x01\x05\0\0\0\x01\x88"))])
        .unwrap();
    client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
    assert!(events(client.as_mut()).contains(&Event::Sent { id: ids[1] }));
}

#[test]
fn cookies_of_any_number_of_parts_arrive() {
    for (fields, parts) in [(1, 100), (11, 100), (1, 3000)] {
        let cookie = (0..parts).map(|at| format!("a={at}")).collect::<Vec<_>>().join("; ");
        let cookies = Fields::from_pairs((0..fields).map(|_| ("cookie", &cookie)));
        for protocol in ALL {
            let (mut client, mut server) = pair(protocol, Multiplexing::default());
            let head = RequestHead::get("a.test", "/", cookies.clone());
            client.request(head.into(), Body::EMPTY.into(), Priority::default());
            carry(client.as_mut(), server.as_mut(), 100_000, 100_000).unwrap();
            assert!(matches!(events(server.as_mut())[0], Event::Request { .. }), "{protocol}, {fields} of {parts}");
        }
    }
}

#[test]
fn a_session_whose_compression_broke_is_over_and_teaches_the_others_nothing() {
    let shared = sessions(Multiplexing::default());
    // (x, y) enters the table, then index 0 breaks the block; the next block refers to (x, y).
    let broken = [MAGIC, b"\0\0\x06\x01\x05\0\0\0\x01\x40\x01x\x01y\x80"];
    let refers: &[u8] = b"\0\0\x07\x01\x05\0\0\0\x03\x82\x87\x84\x41\x01a\xbf";
    let (result, mut server) = after(shared.server(Protocol::H2), &broken);
    assert_eq!(result, Err(PeerFault::Compression.into()));
    let again = server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(refers))]);
    assert_eq!((again, server.poll_event()), (Err(PeerFault::Compression.into()), None));
    let alone = after(shared.server(Protocol::H2), &[MAGIC, refers]).0;
    assert_eq!(alone, Err(PeerFault::Compression.into()), "its table is empty");
}

#[test]
fn a_session_that_follows_another_sends_the_same_bytes_as_one_that_is_alone() {
    for protocol in ALL {
        let shared = sessions(Multiplexing::default());
        let heads: Vec<_> = (0..20).map(|at| get(&format!("/{at}"))).collect();
        let talk = |sessions: &SessionFactory, order: &[usize]| {
            let mut client = sessions.client(protocol);
            for at in order {
                client.request(heads[*at].clone(), Body::EMPTY.into(), Priority::default());
            }
            let mut wire = Wire::default();
            client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
            wire.take_all()
        };
        for order in [vec![0, 1, 2, 3, 4], vec![0, 1, 2, 5, 6, 3], vec![0, 1, 2, 3, 4], vec![3, 0]] {
            assert_eq!(talk(&shared, &order), talk(&sessions(Multiplexing::default()), &order));
        }
    }
}

#[test]
fn a_session_with_trailers_says_the_same_bytes_next_to_others_as_alone() {
    for protocol in ALL {
        let shared = sessions(Multiplexing::default());
        let heads: Vec<_> = (0..4).map(|at| get(&format!("/{at}"))).collect();
        let talk = |sessions: &SessionFactory, trailers: &[(&str, &str)]| {
            let (mut client, mut server) = (sessions.client(protocol), sessions.server(protocol));
            let mut said = Vec::new();
            for head in &heads {
                let id = client.request(head.clone(), Content::Streamed, Priority::default());
                client.finish(id, Fields::from_pairs(trailers.iter().copied()));
                let mut wire = Wire::default();
                client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
                server.handle_input(NOW, TransportStream::TCP, &wire.clone().take_all()).unwrap();
                said.extend(wire.take_all());
            }
            (said, events(server.as_mut()))
        };
        for trailers in [&[][..], &[("x", "1")], &[("x", "1")], &[("x", "2"), ("y", "")], &[]] {
            assert_eq!(talk(&shared, trailers), talk(&sessions(Multiplexing::default()), trailers), "{protocol}");
        }
    }
}

#[test]
fn a_server_answers_only_what_was_asked_and_once() {
    for protocol in ALL {
        let respond = |ids: &[u32]| {
            let (mut client, mut server) = pair(protocol, Multiplexing::default());
            client.request(get("/"), Body::EMPTY.into(), Priority::default());
            carry(client.as_mut(), server.as_mut(), 10_000, 10_000).unwrap();
            let respond = || ids.iter().for_each(|id| server.respond(RequestId(*id), ok(0), Body::EMPTY.into()));
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(respond)).is_ok()
        };
        assert_eq!([&[0][..], &[1], &[u32::MAX], &[0, 0]].map(respond), [true, false, false, false]);
    }
}

proptest! {
    #[test]
    fn every_message_arrives_whole_however_the_bytes_are_cut(
        protocol in prop::sample::select(ALL.to_vec()),
        policy in prop::sample::select(Policy::ALL.to_vec()),
        exchanges in prop::collection::vec((0_u64..100_000, 0_u64..200_000, 0_u8..8), 1..12),
        rooms in prop::collection::vec(20_usize..30_000, 8),
        pieces in prop::collection::vec(1_u64..5_000, 8),
    ) {
        let config = Multiplexing { policy, session_window: Bounded::known(65_536), stream_window: Bounded::known(65_536), ..Default::default() };
        let sessions = sessions(config);
        let (mut client, mut server) = (sessions.client(protocol), sessions.server(protocol));
        let mut got = vec![(0_u64, false); exchanges.len()];
        let mut answered = 0;
        let mut uploads = vec![(0_u64, false); exchanges.len()];
        let mut asked = Vec::new();
        for (at, (upload, _, urgency)) in exchanges.iter().enumerate() {
            let body = if *upload == 0 { Body::EMPTY } else { body(1000 + at as u32, *upload) };
            let id = client.request(get(&format!("/{at}")), body.into(), Priority::at(*urgency));
            prop_assert_eq!(id, RequestId(at as u32));
        }
        for turn in 0..10_000 {
            let (room, piece) = (rooms[turn % 8], pieces[turn % 8]);
            let up = carry(client.as_mut(), server.as_mut(), room, piece).unwrap();
            for event in events(server.as_mut()) {
                match event {
                    Event::Request { id, head } => {
                        let at: usize = std::str::from_utf8(&head.path[1..]).unwrap().parse().unwrap();
                        asked.push((id, at));
                    }
                    Event::Data { id, content } => {
                        let at = asked.iter().find(|(asked, _)| *asked == id).unwrap().1;
                        uploads[at].0 += content.len();
                    }
                    Event::End { id } => {
                        let at = asked.iter().find(|(asked, _)| *asked == id).unwrap().1;
                        uploads[at].1 = true;
                        server.respond(id, ok(exchanges[at].1), body(at as u32, exchanges[at].1).into());
                    }
                    Event::ResponseSent { .. } => answered += 1,
                    _ => prop_assert!(false),
                }
            }
            let down = carry(server.as_mut(), client.as_mut(), room, piece).unwrap();
            for event in events(client.as_mut()) {
                match event {
                    Event::Data { id, content } => got[id.0 as usize].0 += content.len(),
                    Event::End { id } => got[id.0 as usize].1 = true,
                    Event::Sent { .. } | Event::Response { .. } => {}
                    _ => prop_assert!(false),
                }
            }
            if up + down == 0 {
                break;
            }
        }
        let expected: Vec<_> = exchanges.iter().map(|(_, down, _)| (*down, true)).collect();
        prop_assert_eq!(got, expected);
        let expected: Vec<_> = exchanges.iter().map(|(up, _, _)| (*up, true)).collect();
        prop_assert_eq!(uploads, expected);
        prop_assert_eq!(answered, exchanges.len());
        prop_assert_eq!((client.handle_fin(NOW, TransportStream::TCP), server.handle_fin(NOW, TransportStream::TCP)), (Ok(()), Ok(())));
        prop_assert!(!client.has_output() && !server.has_output());
    }

    #[test]
    fn no_input_breaks_a_session(
        protocol in prop::sample::select(ALL.to_vec()),
        frames in prop::collection::vec((any::<[u8; 9]>(), prop::collection::vec(any::<u8>(), 0..40)), 0..20),
        with_run in any::<bool>(),
    ) {
        let sessions = sessions(Multiplexing::default());
        let (mut client, mut server) = (sessions.client(protocol), sessions.server(protocol));
        client.request(get("/"), Body::EMPTY.into(), Priority::default());
        let mut wire = Wire::default();
        client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
        server.handle_input(NOW, TransportStream::TCP, &wire.take_all()).unwrap();
        for (head, payload) in frames {
            let mut input = vec![Chunk::Bytes(Bytes::copy_from_slice(&head)), Chunk::Bytes(payload.into())];
            if with_run {
                input.push(Chunk::Run { body: BodyId(0), offset: 0, len: 10 });
            }
            for session in [client.as_mut() as &mut dyn Session, server.as_mut()] {
                let _any = session.handle_input(NOW, TransportStream::TCP, &input);
                session.poll_transmit(NOW, TransportStream::TCP, 1000, &mut Wire::default());
            }
        }
    }
}
