//! What clients say of priorities on the wire: RFC 9218's PRIORITY_UPDATE, RFC 7540's dependencies.

use super::frame_writer::FrameWriter;
use super::*;

/// A server by this policy, with frames of 1,000 bytes, which a raw client has greeted.
fn server(policy: Policy) -> (Box<dyn ServerSession>, FrameWriter) {
    let config = Multiplexing { policy, frame_bytes: Bounded::known(1000), ..Multiplexing::default() };
    let mut server = sessions(config).server(Protocol::H2);
    server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(MAGIC))]).unwrap();
    (server, FrameWriter::new(Protocol::H2))
}

fn feed(server: &mut dyn ServerSession, frame: Vec<u8>) -> Result<(), Error> {
    server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(frame.into())])
}

/// GET on a stream, with these fields of RFC 7540's priority.
fn open(writer: &mut FrameWriter, stream: u32, dependency: Option<(u32, u8)>) -> Vec<u8> {
    let pairs = writer.get(&[]);
    let mut frame = writer.open(stream, &pairs, true);
    if let Some((on, weight)) = dependency {
        let block = frame.split_off(9);
        frame = writer.h2(1, 0x25, stream, &[&on.to_be_bytes()[..], &[weight], &block].concat());
    }
    frame
}

fn update(writer: &FrameWriter, stream: u32, field: &str) -> Vec<u8> {
    writer.h2(0x10, 0, 0, &[&stream.to_be_bytes(), field.as_bytes()].concat())
}

/// Answers with two frames' worth each; the streams, frame by frame.
fn order(server: &mut dyn ServerSession, ids: &[u32]) -> Vec<u32> {
    ids.iter().for_each(|id| server.respond(RequestId(*id), ok(2_000), body(*id, 2_000).into()));
    let mut wire = Wire::default();
    server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
    let stream = |chunk: Chunk| if let Chunk::Run { body, .. } = chunk { Some(body.0) } else { None };
    wire.take_all().into_iter().filter_map(stream).collect()
}

#[test]
fn a_client_may_change_its_mind_before_and_after_it_asks_rfc9218_7() {
    let (mut server, mut writer) = server(Policy::Priority);
    let early = update(&writer, 5, "u=0");
    feed(server.as_mut(), early).unwrap();
    for stream in [1, 3, 5] {
        let frame = open(&mut writer, stream, None);
        feed(server.as_mut(), frame).unwrap();
    }
    let late = update(&writer, 3, "u=1");
    feed(server.as_mut(), late).unwrap();
    assert_eq!(order(server.as_mut(), &[0, 1, 2]), [2, 2, 1, 1, 0, 0]);
    // What is over is not meant any more.
    let over = update(&writer, 1, "u=1");
    assert_eq!(feed(server.as_mut(), over), Ok(()));
}

#[test]
fn priority_updates_that_break_the_rules_end_the_session_rfc9218_7_1() {
    let (out_of_place, size) = (Err(PeerFault::UnexpectedFrame.into()), Err(PeerFault::FrameSize.into()));
    let cases: [(&[u8], Result<(), Error>, &str); 6] = [
        (b"\0\0\x07\x10\0\0\0\0\0\0\0\0\x01u=1", Ok(()), "a stream to come"),
        (b"\0\0\x04\x10\0\0\0\0\0\0\0\0\x01", Ok(()), "without parameters: the default"),
        (b"\0\0\x07\x10\0\0\0\0\x01\0\0\0\x01u=1", out_of_place, "on a stream"),
        (b"\0\0\x07\x10\0\0\0\0\0\0\0\0\0u=1", out_of_place, "for stream 0"),
        (b"\0\0\x07\x10\0\0\0\0\0\0\0\0\x02u=1", out_of_place, "for a push that was not promised"),
        (b"\0\0\x03\x10\0\0\0\0\0\0\0\0", size, "RFC 9113, 4.2: of 3 bytes"),
    ];
    for (frame, expected, why) in cases {
        assert_eq!(server_after(Protocol::H2, &[MAGIC, frame]), expected, "{why}");
    }
    // Servers do not send it.
    let client = sessions(Multiplexing::default()).client(Protocol::H2);
    assert_eq!(after(client, &[&MAGIC[24..], cases[0].0]).0, Err(PeerFault::UnexpectedFrame.into()));
    // Of streams to come and streams that are open there are no more than may be open.
    for (open_streams, foretold, is_fine) in [(0, 100, true), (0, 101, false), (40, 60, true), (40, 61, false)] {
        let (mut server, mut writer) = server(Policy::Priority);
        for at in 0..open_streams {
            let frame = open(&mut writer, 2 * at + 1, None);
            feed(server.as_mut(), frame).unwrap();
        }
        let frames: Vec<u8> = (0..foretold).flat_map(|at| update(&writer, 1001 + 2 * at, "u=1")).collect();
        assert_eq!(feed(server.as_mut(), frames).is_ok(), is_fine, "{open_streams} and {foretold}");
    }
}

#[test]
fn a_server_says_that_it_does_not_go_by_dependencies_unless_it_does_rfc9218_2_1() {
    let says = |policy| {
        let mut wire = Wire::default();
        server(policy).0.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
        let Chunk::Bytes(settings) = &wire.take_all()[0] else { panic!("no body yet") };
        settings[9..9 + usize::from(settings[2])].chunks(6).any(|entry| entry == b"\0\x09\0\0\0\x01")
    };
    assert!(Policy::ALL.into_iter().all(|policy| says(policy) == (policy != Policy::Tree)));
    for (value, expected) in [(0, Ok(())), (1, Ok(())), (2, Err(PeerFault::MalformedFrame.into()))] {
        let setting = [b"\0\0\x06\x04\0\0\0\0\0\0\x09\0\0\0", &[value][..]].concat();
        assert_eq!(server_after(Protocol::H2, &[MAGIC, &setting]), expected);
    }
}

#[test]
fn dependencies_decide_if_the_policy_says_so_rfc7540_5_3() {
    // 3 depends on 5, which is not known yet: on the root, then. PRIORITY moves it to 5 once both are open.
    let chain = |policy| {
        let (mut server, mut writer) = server(policy);
        for (stream, dependency) in [(1, None), (3, Some((5, 255))), (5, Some((1, 15)))] {
            let frame = open(&mut writer, stream, dependency);
            feed(server.as_mut(), frame).unwrap();
        }
        let priority = writer.h2(2, 0, 3, b"\0\0\0\x05\xff");
        feed(server.as_mut(), priority).unwrap();
        order(server.as_mut(), &[2, 1, 0])
    };
    assert_eq!(chain(Policy::Tree), [0, 0, 2, 2, 1, 1]);
    assert_eq!(chain(Policy::FirstComeFirstServed), [2, 2, 1, 1, 0, 0]);
    // An exclusive dependency on the root: all others wait.
    let (mut server, mut writer) = server(Policy::Tree);
    for (stream, dependency) in [(1, None), (3, None), (5, Some((1 << 31, 15)))] {
        let frame = open(&mut writer, stream, dependency);
        feed(server.as_mut(), frame).unwrap();
    }
    assert_eq!(order(server.as_mut(), &[0, 1, 2]), [2, 2, 0, 1, 0, 1]);
}

#[test]
fn spdy_has_no_dependencies_and_goes_by_weights_instead() {
    let order = |policy| {
        let config = Multiplexing { policy, frame_bytes: Bounded::known(1000), ..Multiplexing::default() };
        let (mut client, mut server) = pair(Protocol::Spdy31, config);
        for urgency in [7, 0, 3] {
            client.request(get("/"), Body::EMPTY.into(), Priority::at(urgency));
        }
        carry(client.as_mut(), server.as_mut(), 10_000, 10_000).unwrap();
        (0..3).for_each(|id| server.respond(RequestId(id), ok(9_000), body(id, 9_000).into()));
        order_of_data(server.as_mut(), 100_000)
    };
    assert_eq!(order(Policy::Tree), order(Policy::Weighted));
    assert_ne!(order(Policy::Tree), order(Policy::RoundRobin));
}

#[test]
fn a_flood_of_priorities_ends_the_session() {
    let frames: [&[u8]; 2] = [b"\0\0\x05\x02\0\0\0\0\x03\0\0\0\0\x10", b"\0\0\x07\x10\0\0\0\0\0\0\0\0\x01u=1"];
    for frame in frames {
        assert_eq!(server_after(Protocol::H2, &[MAGIC, &frame.repeat(1_000)]), Ok(()));
        assert_eq!(server_after(Protocol::H2, &[MAGIC, &frame.repeat(1_001)]), Err(PeerFault::Flood.into()));
    }
}
