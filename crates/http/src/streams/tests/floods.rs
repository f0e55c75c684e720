//! Peers that send without end what brings nothing: every flood has a number at which it is over.

use super::frame_writer::{FrameWriter, SentFrame, sent_frames};
use super::*;
use crate::streams::abuse::{MAX_ACKNOWLEDGED, MAX_EMPTY, MAX_RESETS, MAX_UNFLUSHED, MAX_VIOLATIONS};

/// How many of these frames a server takes, of which it reads nothing or all as it goes.
fn taken(protocol: Protocol, reads: bool, mut frame: impl FnMut(&mut FrameWriter, u32) -> Vec<u8>) -> Option<u32> {
    let mut server = sessions(Multiplexing::default()).server(protocol);
    let mut writer = FrameWriter::new(protocol);
    let greeting = if protocol == Protocol::H2 { MAGIC } else { b"" };
    server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(greeting))]).unwrap();
    server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
    for at in 0..20_000 {
        let input = [Chunk::Bytes(frame(&mut writer, at).into())];
        if let Err(error) = server.handle_input(NOW, TransportStream::TCP, &input) {
            assert_eq!(error, PeerFault::Flood.into());
            return Some(at);
        }
        events(server.as_mut());
        if reads {
            server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
        }
    }
    None
}

fn ping(writer: &mut FrameWriter, _: u32) -> Vec<u8> {
    match writer.protocol {
        Protocol::H2 => writer.h2(6, 0, 0, b"12345678"),
        _ => writer.spdy(6, 0, &1_u32.to_be_bytes()),
    }
}

fn settings(writer: &mut FrameWriter, _: u32) -> Vec<u8> {
    writer.h2(4, 0, 0, b"")
}

#[test]
fn pings_and_settings_are_answered_up_to_a_number_also_if_the_answers_are_read() {
    for reads in [true, false] {
        for protocol in ALL {
            // The SETTINGS of the greeting were the first.
            let greeting = u32::from(protocol == Protocol::H2);
            assert_eq!(taken(protocol, reads, ping), Some(MAX_ACKNOWLEDGED - greeting), "{protocol}");
        }
        assert_eq!(taken(Protocol::H2, reads, settings), Some(MAX_ACKNOWLEDGED - 1));
    }
}

#[test]
fn pings_between_requests_are_answered_as_long_as_the_answers_are_read() {
    for protocol in ALL {
        let pings = |reads| {
            let mut stream = 1;
            taken(protocol, reads, |writer, at| {
                if !at.is_multiple_of(MAX_ACKNOWLEDGED) {
                    return ping(writer, at);
                }
                let pairs = writer.get(&[]);
                stream += 2;
                writer.open(stream - 2, &pairs, true)
            })
        };
        assert_eq!(pings(true), None, "{protocol}");
        let requests = 1 + MAX_UNFLUSHED / MAX_ACKNOWLEDGED;
        assert_eq!(pings(false), Some(MAX_UNFLUSHED + requests), "{protocol}");
    }
}

/// Servers measure the round trip of an upload with PING, and have no content to send.
#[test]
fn pings_to_a_client_that_uploads_are_answered_without_end() {
    for protocol in ALL {
        let mut client = sessions(Multiplexing::default()).client(protocol);
        let id = client.request(get("/"), Content::Streamed, Priority::default());
        let mut writer = FrameWriter::new(protocol);
        let greeting = if protocol == Protocol::H2 { settings(&mut writer, 0) } else { Vec::new() };
        client.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(greeting.into())]).unwrap();
        for at in 0..5 * MAX_ACKNOWLEDGED {
            if at.is_multiple_of(MAX_ACKNOWLEDGED) {
                client.append(id, Chunk::Bytes(Bytes::from_static(b"x")));
            }
            client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
            let heard = client.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(ping(&mut writer, at).into())]);
            assert_eq!(heard, Ok(()), "{protocol}, {at}");
        }
    }
}

/// The first frame opens a stream, the others are `rest`.
fn on_a_stream(protocol: Protocol, rest: fn(&mut FrameWriter) -> Vec<u8>) -> Option<u32> {
    taken(protocol, true, |writer, at| {
        let pairs = writer.get(&[]);
        if at == 0 { writer.open(1, &pairs, false) } else { rest(writer) }
    })
}

#[test]
fn empty_frames_are_taken_up_to_a_number() {
    for protocol in ALL {
        assert_eq!(on_a_stream(protocol, |writer| writer.data(1, 0, false)), Some(1 + MAX_EMPTY), "{protocol}");
        assert_eq!(on_a_stream(protocol, |writer| writer.data(1, 1, false)), None, "{protocol}");
    }
    let fields = |writer: &mut FrameWriter| writer.fields(1, &[("x", "y")], false);
    for protocol in [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31] {
        assert_eq!(on_a_stream(protocol, fields), Some(1 + MAX_EMPTY), "{protocol}");
    }
}

#[test]
fn interim_responses_are_taken_up_to_a_number() {
    for protocol in ALL {
        let mut client = sessions(Multiplexing::default()).client(protocol);
        client.request(get("/"), Body::EMPTY.into(), Priority::default());
        client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
        let mut writer = FrameWriter::new(protocol);
        if protocol == Protocol::H2 {
            let settings = Chunk::Bytes(writer.h2(4, 0, 0, b"").into());
            client.handle_input(NOW, TransportStream::TCP, &[settings]).unwrap();
        }
        let mut feed = || {
            let mut pairs = writer.ok(&[]);
            pairs[0].1 = "103";
            client.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(writer.reply(1, &pairs, false).into())])
        };
        assert_eq!((0..MAX_EMPTY).position(|_| feed().is_err()), None, "{protocol}");
        assert_eq!(feed(), Err(PeerFault::Flood.into()), "{protocol}");
    }
}

#[test]
fn a_header_block_has_at_most_64_kib_however_many_frames_it_comes_in() {
    let writer = FrameWriter::new(Protocol::H2);
    let piece = [0; 16_384];
    let mut block = writer.h2(1, 0, 1, &piece);
    (0..3).for_each(|_| block.extend(writer.h2(9, 0, 1, &piece)));
    assert_eq!(server_after(Protocol::H2, &[MAGIC, &block]), Ok(()));
    let one_more = writer.h2(9, 0, 1, b"x");
    assert_eq!(server_after(Protocol::H2, &[MAGIC, &block, &one_more]), Err(PeerFault::HeadTooLarge.into()));
}

#[test]
fn streams_are_opened_and_reset_up_to_a_number() {
    for protocol in ALL {
        let both = |writer: &mut FrameWriter, at: u32| {
            let pairs = writer.get(&[]);
            let open = writer.open(2 * at + 1, &pairs, true);
            [open, writer.reset(2 * at + 1, 8)].concat()
        };
        assert_eq!(taken(protocol, true, both), Some(MAX_RESETS), "{protocol}");
        // The same by violations, which this end has to reset.
        let wrong = |writer: &mut FrameWriter, at: u32| {
            let pairs = writer.get(&[("X", "y")]);
            writer.open(2 * at + 1, &pairs, true)
        };
        assert_eq!(taken(protocol, true, wrong), Some(MAX_VIOLATIONS), "{protocol}");
    }
}

#[test]
fn streams_that_come_to_a_good_end_excuse_those_that_are_reset() {
    for protocol in ALL {
        let (mut client, mut server) = pair(protocol, Multiplexing::default());
        let writer = FrameWriter::new(protocol);
        for at in 0..2 * MAX_RESETS + 100 {
            client.request(get("/"), Body::EMPTY.into(), Priority::default());
            carry(client.as_mut(), server.as_mut(), 10_000, 10_000).unwrap();
            if at % 2 == 0 {
                server.respond(RequestId(at), ok(0), Body::EMPTY.into());
                carry(server.as_mut(), client.as_mut(), 10_000, 10_000).unwrap();
            } else {
                let reset = Chunk::Bytes(writer.reset(2 * at + 1, 5).into());
                assert_eq!(server.handle_input(NOW, TransportStream::TCP, &[reset]), Ok(()), "{protocol}, {at}");
                // The client hears it from the server.
                client
                    .handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(writer.reset(2 * at + 1, 5).into())])
                    .unwrap();
            }
            events(client.as_mut());
            events(server.as_mut());
        }
    }
}

#[test]
fn a_large_head_that_waits_is_no_flood() {
    for protocol in ALL {
        let (mut client, mut server) = pair(protocol, Multiplexing::default());
        // Text that no compression makes small, in fields that a peer takes.
        let value =
            |at: u32| (0..50_000).map(|n| char::from(33 + ((n + at) * 7_919 % 5_003 % 90) as u8)).collect::<String>();
        let fields = Fields::from_pairs([("x", value(1)), ("y", value(2)), ("z", value(3)), ("w", value(4))]);
        client.request(get("/"), Body::EMPTY.into(), Priority::default());
        carry(client.as_mut(), server.as_mut(), 10_000, 10_000).unwrap();
        server.respond(RequestId(0), ResponseHead::new(200, fields).into(), Body::EMPTY.into());
        server.poll_transmit(NOW, TransportStream::TCP, 1, &mut Wire::default());
        let mut writer = FrameWriter::new(protocol);
        for _ in 0..MAX_ACKNOWLEDGED {
            assert_eq!(
                server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(ping(&mut writer, 0).into())]),
                Ok(()),
                "{protocol}"
            );
        }
    }
}

#[test]
fn a_block_that_inflates_without_end_is_refused_at_64_kib() {
    for protocol in [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31] {
        let read = |len: usize| {
            let mut writer = FrameWriter::new(protocol);
            let value = "x".repeat(len / 8);
            let names: Vec<String> = (0..8).map(|at| format!("x{at}")).collect();
            let more: Vec<(&str, &str)> = names.iter().map(|name| (&name[..], &value[..])).collect();
            let pairs = writer.get(&more);
            server_after(protocol, &[&writer.open(1, &pairs, true)])
        };
        assert_eq!(read(63 * 1024), Ok(()), "{protocol}");
        assert_eq!(read(66 * 1024), Err(PeerFault::HeadTooLarge.into()), "{protocol}");
    }
}

#[test]
fn frames_that_change_nothing_are_taken_up_to_a_number() {
    let limit = Some(1 + MAX_EMPTY);
    for protocol in ALL {
        let resets = |writer: &mut FrameWriter, at: u32| {
            let pairs = writer.get(&[]);
            let open = if at == 0 { writer.open(1, &pairs, true) } else { Vec::new() };
            [open, writer.reset(1, 8)].concat()
        };
        assert_eq!(taken(protocol, true, resets), limit, "{protocol}: RST_STREAM on a closed stream");
        let unknown = |writer: &mut FrameWriter| match writer.protocol {
            Protocol::H2 => writer.h2(0xbb, 0, 0, b"grease"),
            _ => writer.spdy(99, 0, b"grease"),
        };
        assert_eq!(on_a_stream(protocol, unknown), limit, "{protocol}: unknown frames");
    }
    assert_eq!(on_a_stream(Protocol::Spdy2, |writer| writer.spdy(5, 0, b"")), limit, "NOOP");
    for padding in [&[0][..], &[3, 0, 0, 0]] {
        let padded = |writer: &mut FrameWriter, at| {
            let pairs = writer.get(&[]);
            if at == 0 { writer.open(1, &pairs, false) } else { writer.h2(0, 8, 1, padding) }
        };
        assert_eq!(taken(Protocol::H2, true, padded), limit, "nothing but padding");
    }
}

#[test]
fn the_initial_window_changes_up_to_a_number_of_times() {
    // One entry: the initial window.
    let settings = |writer: &mut FrameWriter, window: u8| match writer.protocol {
        Protocol::H2 => writer.h2(4, 0, 0, &[0, 4, 0, 0, 0, window]),
        _ => writer.spdy(4, 0, &[0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, window]),
    };
    let flapping = |writer: &mut FrameWriter, at: u32| settings(writer, (at % 2) as u8);
    assert_eq!(taken(Protocol::Spdy31, true, |writer, _| settings(writer, 1)), None);
    assert_eq!(taken(Protocol::Spdy31, true, flapping), Some(MAX_EMPTY));
    assert_eq!(taken(Protocol::H2, true, flapping), Some(MAX_ACKNOWLEDGED - 1));
    for protocol in [Protocol::Spdy31, Protocol::H2] {
        let with_requests = |writer: &mut FrameWriter, at: u32| {
            let pairs = writer.get(&[]);
            if at.is_multiple_of(500) { writer.open(at / 250 + 1, &pairs, true) } else { flapping(writer, at) }
        };
        assert_eq!(taken(protocol, true, with_requests), None, "{protocol}");
    }
}

/// RFC 9113, section 7.
const REFUSED_STREAM: u32 = 7;

/// A request of HTTP/2 with `count` fields, each of which is one byte that stands for 3,900 bytes of the table. The
/// request on stream 1 puts them there.
fn inflated(writer: &FrameWriter, stream: u32, count: usize) -> Vec<u8> {
    let mut block = b"\x82\x87\x84".to_vec();
    if stream == 1 {
        // 3,900 is 127 + 3,773 (RFC 7541, section 5.1).
        block.extend(b"\x41\x01a\x40\x01x\x7f\xbd\x1d");
        block.extend([b'v'; 3_900]);
    } else {
        block.push(0xbf);
        block.extend(vec![0xbe; count]);
    }
    writer.h2(1, 0x5, stream, &block)
}

#[test]
fn a_head_of_references_is_as_large_as_it_is_without_them() {
    let writer = FrameWriter::new(Protocol::H2);
    let server = |count| server_after(Protocol::H2, &[MAGIC, &inflated(&writer, 1, 0), &inflated(&writer, 3, count)]);
    assert_eq!((server(16), server(17)), (Ok(()), Err(PeerFault::HeadTooLarge.into())));
}

#[test]
fn of_what_arrives_in_one_go_a_megabyte_of_heads_is_taken() {
    let writer = FrameWriter::new(Protocol::H2);
    let mut server = sessions(Multiplexing::default()).server(Protocol::H2);
    let input = |streams: std::ops::Range<u32>| -> Vec<Chunk> {
        streams.map(|at| Chunk::Bytes(inflated(&writer, 2 * at + 1, 16).into())).collect()
    };
    server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(MAGIC))]).unwrap();
    for streams in [0..50, 50..90] {
        server.handle_input(NOW, TransportStream::TCP, &input(streams.clone())).unwrap();
        let events = events(server.as_mut());
        let taken = events.iter().filter(|event| matches!(event, Event::Request { .. })).count();
        assert!((16..=18).contains(&taken), "{taken} heads of 62 KiB");
        let mut wire = Wire::default();
        server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
        let sent = wire.take_all().into_iter().flat_map(|chunk| match chunk {
            Chunk::Bytes(bytes) => bytes,
            Chunk::Run { .. } => panic!("there is no content"),
        });
        let sent = sent_frames(Protocol::H2, &Vec::from_iter(sent));
        let refused = sent.iter().filter(|frame| matches!(frame, SentFrame::Reset(_, REFUSED_STREAM))).count();
        assert_eq!(refused, streams.len() - taken);
    }
}
