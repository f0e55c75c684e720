use super::*;
use crate::{Body, BodyId, Chunk, Fields, Multiplexing, Priority, RequestHead, ResponseHead, Sessions, StreamId, Wire};
use loadstone_units::Time;

const NOW: Time = Time::ZERO;
const MANY: [Protocol; 4] = [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2];

fn lines(protocol: Protocol, text: &[u8]) -> Vec<FrameLine> {
    let (lines, result) = decode(protocol, &Bytes::copy_from_slice(text));
    assert_eq!(result, Ok(()));
    lines
}

/// The bytes of what a wire carries, bodies as zeros.
fn bytes(wire: &mut Wire) -> Vec<u8> {
    let real = |chunk| match chunk {
        Chunk::Bytes(bytes) => bytes.to_vec(),
        Chunk::Run { len, .. } => vec![0; len as usize],
    };
    wire.take_all().into_iter().flat_map(real).collect()
}

/// Both directions of two exchanges.
fn talk(protocol: Protocol) -> [Vec<u8>; 2] {
    let sessions = Sessions::new(Multiplexing::default());
    let (mut client, mut server) = (sessions.client(protocol), sessions.server(protocol));
    let fields = Fields::from_pairs([("accept", &b"a"[..]), ("accept", b"b"), ("x", b"\xe9")]);
    for path in ["/1", "/2"] {
        let head = RequestHead::get("a.test", path, fields.clone());
        client.request(head.into(), Body::EMPTY, Priority::at(7));
    }
    let (mut up, mut down) = (Wire::default(), Wire::default());
    client.poll_transmit(NOW, usize::MAX, &mut up);
    server.handle_input(NOW, &up.clone().take_all()).unwrap();
    for id in [0, 1] {
        let head = ResponseHead::new(404, Fields::from_pairs([("server", "x")]));
        server.respond(StreamId(id), head.into(), Body { id: BodyId(id), len: 20_000 });
    }
    server.poll_transmit(NOW, usize::MAX, &mut down);
    [bytes(&mut up), bytes(&mut down)]
}

fn pairs(pairs: &[(&str, &str)]) -> Option<Vec<(String, String)>> {
    Some(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
}

#[test]
fn header_compression_is_carried_through_the_whole_input() {
    for protocol in MANY {
        let [up, down] = talk(protocol);
        let asked: Vec<FrameLine> = lines(protocol, &up).into_iter().filter(|line| line.headers.is_some()).collect();
        assert_eq!(asked.len(), 2);
        let line: &[(&str, &str)] = match protocol {
            Protocol::Spdy2 => {
                &[("method", "GET"), ("url", "/2"), ("version", "HTTP/1.1"), ("host", "a.test"), ("scheme", "https")]
            }
            Protocol::H2 => &[(":method", "GET"), (":scheme", "https"), (":authority", "a.test"), (":path", "/2")],
            _ => &[
                (":method", "GET"),
                (":path", "/2"),
                (":version", "HTTP/1.1"),
                (":host", "a.test"),
                (":scheme", "https"),
            ],
        };
        let fields: &[(&str, &str)] = match protocol {
            Protocol::H2 => &[("accept", "a"), ("accept", "b"), ("x", "\u{e9}"), ("priority", "u=7")],
            _ => &[("accept", "a\0b"), ("x", "\u{e9}")],
        };
        assert_eq!((&asked[1].headers, asked[1].stream_id), (&pairs(&[line, fields].concat()), Some(3)), "{protocol}");
        let priority = [Some(3), Some(7), Some(7), None][MANY.iter().position(|it| *it == protocol).unwrap()];
        assert_eq!(asked[1].priority, priority);

        let answers = lines(protocol, &down);
        let content: Vec<_> = answers.iter().filter(|line| line.kind == "DATA" && line.stream_id == Some(3)).collect();
        assert_eq!(content.iter().filter_map(|line| line.length).sum::<u32>(), 20_000);
        assert_eq!(content.iter().map(|line| line.flags).collect::<Vec<_>>(), [0, 1], "{protocol}");
    }
}

/// The fields as issue and documentation name them, in JSON's order of writing.
#[test]
fn every_frame_of_spdy_has_its_fields() {
    let text: [(&[u8], FrameLine); 8] = [
        (b"\x80\x03\0\x03\0\0\0\x08\0\0\0\x07\0\0\0\x05", {
            FrameLine { status: Some(5), ..FrameLine::on("RST_STREAM", 0, 7) }
        }),
        (b"\x80\x03\0\x04\x01\0\0\x0c\0\0\0\x01\x02\0\0\x04\0\0\0\x64", {
            let entry = EntryLine { id: 4, flags: Some(2), value: 100 };
            FrameLine { entries: Some(vec![entry]), ..FrameLine::new("SETTINGS", 1) }
        }),
        (b"\x80\x03\0\x06\0\0\0\x04\xff\xff\xff\xff", FrameLine { id: Some(0xffff_ffff), ..FrameLine::new("PING", 0) }),
        (b"\x80\x03\0\x07\0\0\0\x08\0\0\0\x09\0\0\0\x02", {
            FrameLine { last_good_stream_id: Some(9), status: Some(2), ..FrameLine::new("GOAWAY", 0) }
        }),
        (b"\x80\x03\0\x09\0\0\0\x08\0\0\0\0\0\0\x10\0", {
            FrameLine { delta: Some(4096), ..FrameLine::on("WINDOW_UPDATE", 0, 0) }
        }),
        (b"\x80\x03\0\x0a\0\0\0\x01x", FrameLine::new("CREDENTIAL", 0)),
        (b"\x80\x03\0\x63\x08\0\0\x02xy", FrameLine { length: Some(2), ..FrameLine::new("UNKNOWN", 8) }),
        (b"\0\0\0\x05\x01\0\0\x03abc", FrameLine { length: Some(3), ..FrameLine::on("DATA", 1, 5) }),
    ];
    let all: Vec<u8> = text.iter().flat_map(|(frame, _)| frame.to_vec()).collect();
    assert_eq!(lines(Protocol::Spdy3, &all), text.map(|(_, line)| line));
    // SPDY/2: ids little-endian with the flags behind, GOAWAY without a status, NOOP.
    let two = b"\x80\x02\0\x04\0\0\0\x0c\0\0\0\x01\x04\0\0\x02\0\0\0\x64\x80\x02\0\x07\0\0\0\x04\0\0\0\x09\x80\x02\0\x05\0\0\0\0";
    let entry = EntryLine { id: 4, flags: Some(2), value: 100 };
    let expected = [
        FrameLine { entries: Some(vec![entry]), ..FrameLine::new("SETTINGS", 0) },
        FrameLine { last_good_stream_id: Some(9), ..FrameLine::new("GOAWAY", 0) },
        FrameLine::new("NOOP", 0),
    ];
    assert_eq!(lines(Protocol::Spdy2, two), expected);
}

#[test]
fn every_frame_of_http2_has_its_fields() {
    let frames: [(&[u8], FrameLine); 10] = [
        (b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64", {
            let entry = EntryLine { id: 3, flags: None, value: 100 };
            FrameLine { entries: Some(vec![entry]), ..FrameLine::on("SETTINGS", 0, 0) }
        }),
        (b"\0\0\x02\x01\x01\0\0\0\x01\x82\x87\0\0\0\x09\0\0\0\0\x01\0\0\x01\x09\x04\0\0\0\x01\x84", {
            let headers = pairs(&[(":method", "GET"), (":scheme", "https"), (":path", "/")]);
            FrameLine { headers, ..FrameLine::on("HEADERS", 1, 1) }
        }),
        (b"\0\0\x05\x02\0\0\0\0\x03\0\0\0\x01\x10", FrameLine::on("PRIORITY", 0, 3)),
        (b"\0\0\x04\x03\0\0\0\0\x03\0\0\0\x08", FrameLine { status: Some(8), ..FrameLine::on("RST_STREAM", 0, 3) }),
        (b"\0\0\x05\x05\x04\0\0\0\x01\0\0\0\x02\x88", {
            let associated_to_stream_id = Some(1);
            FrameLine {
                associated_to_stream_id,
                headers: pairs(&[(":status", "200")]),
                ..FrameLine::on("PUSH_PROMISE", 4, 2)
            }
        }),
        (b"\0\0\x08\x06\x01\0\0\0\0\x01\0\0\0\0\0\0\x02", {
            FrameLine { id: Some((1 << 56) + 2), ..FrameLine::on("PING", 1, 0) }
        }),
        (b"\0\0\x09\x07\0\0\0\0\0\0\0\0\x03\0\0\0\x0b!", {
            FrameLine { last_good_stream_id: Some(3), status: Some(11), ..FrameLine::on("GOAWAY", 0, 0) }
        }),
        (
            b"\0\0\x04\x08\0\0\0\0\x01\0\0\x10\0",
            FrameLine { delta: Some(4096), ..FrameLine::on("WINDOW_UPDATE", 0, 1) },
        ),
        (b"\0\0\x01\x77\x02\0\0\0\x05x", FrameLine { length: Some(1), ..FrameLine::on("UNKNOWN", 2, 5) }),
        (b"\0\0\x03\0\x01\0\0\0\x01abc", FrameLine { length: Some(3), ..FrameLine::on("DATA", 1, 1) }),
    ];
    let all: Vec<u8> = frames.iter().flat_map(|(frame, _)| frame.to_vec()).collect();
    let expected = frames.map(|(_, line)| line);
    assert_eq!(lines(Protocol::H2, &all), expected);
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    assert_eq!(lines(Protocol::H2, &[&preface[..], &all].concat()), expected);
}

#[test]
fn what_is_cut_off_is_named_after_the_frames_before() {
    for protocol in MANY {
        for text in talk(protocol) {
            let (all, _) = decode(protocol, &text.clone().into());
            for end in (0..text.len()).step_by(97) {
                let (lines, result) = decode(protocol, &Bytes::copy_from_slice(&text[..end]));
                assert_eq!(lines, all[..lines.len()]);
                match result {
                    Ok(()) => {}
                    Err(DecodeError::Truncated { begin, end: named }) => {
                        assert!(begin < end && named == end);
                        assert_eq!(decode(protocol, &Bytes::copy_from_slice(&text[..begin])), (lines, Ok(())));
                    }
                    Err(error) => panic!("{protocol}: {error}"),
                }
            }
        }
    }
    // A header block whose end is missing is not all there either.
    let begun = Bytes::from_static(b"\0\0\0\x04\0\0\0\0\0\0\0\x01\x01\x01\0\0\0\x01\x82");
    assert_eq!(decode(Protocol::H2, &begun).1, Err(DecodeError::Truncated { begin: 9, end: 19 }));
}

#[test]
fn what_cannot_be_read_is_named_with_its_place() {
    let ping = b"\x80\x03\0\x06\0\0\0\x04\0\0\0\x01";
    let (lines, result) = decode(Protocol::Spdy31, &[&ping[..], b"\x80\x02\0\x06\0\0\0\x04\0\0\0\x01"].concat().into());
    assert_eq!((lines.len(), result), (1, Err(DecodeError::Fault { begin: 12, fault: PeerFault::WrongVersion })));
    assert_eq!(decode(Protocol::Http1, &Bytes::new()).1, Err(DecodeError::NoFrames(Protocol::Http1)));
}
