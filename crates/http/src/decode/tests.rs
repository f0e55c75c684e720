use super::*;
use crate::{
    Body, BodyId, Chunk, Fields, Multiplexing, Priority, RequestHead, RequestId, ResponseHead, SessionFactory,
    TransportStream, Wire,
};
use loadstone_units::Time;

const NOW: Time = Time::ZERO;
const MANY: [Protocol; 4] = [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2];

/// The frames of bytes that come in pieces of `size`, and how it ends.
fn decode_in(size: usize, protocol: Protocol, text: &[u8]) -> (Vec<FrameLine>, Result<(), DecodeError>) {
    let mut decoder = Decoder::new(protocol, None).unwrap();
    let fed = text.chunks(size).try_for_each(|piece| decoder.handle_input(piece));
    let closed = decoder.handle_close();
    assert!(fed.is_ok() || fed == closed, "what went wrong stays wrong");
    (std::iter::from_fn(|| decoder.poll_line()).collect(), closed)
}

fn decode(protocol: Protocol, text: &[u8]) -> (Vec<FrameLine>, Result<(), DecodeError>) {
    decode_in(usize::MAX, protocol, text)
}

fn lines(protocol: Protocol, text: &[u8]) -> Vec<FrameLine> {
    let (lines, result) = decode(protocol, text);
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
    let sessions = SessionFactory::new(Multiplexing::default());
    let (mut client, mut server) = (sessions.client(protocol), sessions.server(protocol));
    let fields = Fields::from_pairs([("accept", &b"a"[..]), ("accept", b"b"), ("x", b"\xe9")]);
    for path in ["/1", "/2"] {
        let head = RequestHead::get("a.test", path, fields.clone());
        client.request(head.into(), Body::EMPTY.into(), Priority::at(7));
    }
    let (mut up, mut down) = (Wire::default(), Wire::default());
    client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut up);
    server.handle_input(NOW, TransportStream::TCP, &up.clone().take_all()).unwrap();
    for id in [0, 1] {
        let head = ResponseHead::new(404, Fields::from_pairs([("server", "x")]));
        server.respond(RequestId(id), head.into(), Body { id: BodyId(id), len: 20_000 }.into());
    }
    server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut down);
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
    let frames: [(&[u8], FrameLine); 11] = [
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
        (b"\0\0\x07\x10\0\0\0\0\0\0\0\0\x03u=1", {
            FrameLine { headers: pairs(&[("priority", "u=1")]), ..FrameLine::on("PRIORITY_UPDATE", 0, 3) }
        }),
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
fn how_the_input_is_cut_does_not_matter() {
    for protocol in MANY {
        for text in talk(protocol) {
            let whole = decode(protocol, &text);
            for size in [1, 2, 7, 8, 9, 24, 1000] {
                assert_eq!(decode_in(size, protocol, &text), whole, "{protocol}, {size} bytes at a time");
            }
        }
    }
}

#[test]
fn a_frame_is_listed_as_soon_as_its_last_byte_is_there() {
    for protocol in MANY {
        for text in talk(protocol) {
            let mut decoder = Decoder::new(protocol, None).unwrap();
            let mut ends = Vec::new();
            for (at, byte) in text.iter().enumerate() {
                decoder.handle_input(&[*byte]).unwrap();
                ends.extend(std::iter::from_fn(|| decoder.poll_line()).map(|_| at + 1));
            }
            for end in ends {
                assert_eq!(decode(protocol, &text[..end]).1, Ok(()), "a frame ends at {end}");
            }
        }
    }
}

#[test]
fn of_content_nothing_is_kept() {
    let mut decoder = Decoder::new(Protocol::H2, None).unwrap();
    decoder.handle_input(b"\xff\xff\xff\0\x01\0\0\0\x01").unwrap();
    for _ in 0..100 {
        decoder.handle_input(&[0; 10_000]).unwrap();
        assert!(decoder.partial.capacity() < 100);
    }
}

#[test]
fn what_is_cut_off_is_named_after_the_frames_before() {
    for protocol in MANY {
        for text in talk(protocol) {
            let (all, _) = decode(protocol, &text);
            for end in (0..text.len()).step_by(97) {
                let (lines, result) = decode(protocol, &text[..end]);
                assert_eq!(lines, all[..lines.len()]);
                match result {
                    Ok(()) => {}
                    Err(DecodeError::Truncated { begin, end: named }) => {
                        assert!(begin < named && named == end as u64);
                        assert_eq!(decode(protocol, &text[..begin as usize]), (lines, Ok(())));
                    }
                    Err(error) => panic!("{protocol}: {error}"),
                }
            }
        }
    }
    // A header block whose end is missing is not all there either.
    let begun = b"\0\0\0\x04\0\0\0\0\0\0\0\x01\x01\x01\0\0\0\x01\x82";
    assert_eq!(decode(Protocol::H2, begun).1, Err(DecodeError::Truncated { begin: 9, end: 19 }));
    // Nor is half a preface; what only begins like one is a frame.
    assert_eq!(decode(Protocol::H2, b"PRI * HTTP").1, Err(DecodeError::Truncated { begin: 0, end: 10 }));
    let long = [&b"PRI * \0\0\0"[..], &vec![0; 0x50_5249]].concat();
    assert_eq!(decode_in(4, Protocol::H2, &long).0[0].kind, "UNKNOWN");
}

#[test]
fn what_cannot_be_read_is_named_with_its_place() {
    let ping = b"\x80\x03\0\x06\0\0\0\x04\0\0\0\x01";
    let text = [&ping[..], b"\x80\x02\0\x06\0\0\0\x04\0\0\0\x01"].concat();
    let (lines, result) = decode(Protocol::Spdy31, &text);
    assert_eq!((lines.len(), result), (1, Err(DecodeError::Fault { begin: 12, fault: PeerFault::WrongVersion })));
    let refused = |protocol, table| Decoder::new(protocol, table).map(|_| ()).unwrap_err();
    assert_eq!(refused(Protocol::Http1, None), DecodeError::NoFrames(Protocol::Http1));
    assert_eq!(refused(Protocol::Spdy3, Some(4096)), DecodeError::NoHeaderTable(Protocol::Spdy3));
}

#[test]
fn a_block_of_spdy_that_says_nothing_is_named_and_the_next_one_is_read() {
    let mut zlib = flate2::Compress::new(flate2::Compression::fast(), true);
    let mut reply = |text: &[u8]| {
        let mut block = Vec::with_capacity(1000);
        zlib.compress_vec(text, &mut block, flate2::FlushCompress::Sync).unwrap();
        [&b"\x80\x03\0\x02\0\0\0"[..], &[4 + block.len() as u8, 0, 0, 0, 1], &block].concat()
    };
    // Two pairs, of which one is there; then the same pair and no other.
    let pair = b"\0\0\0\x01\0\0\0\x01x\0\0\0\x01y";
    let text = [reply(&[&b"\0\0\0\x02"[..], &pair[4..]].concat()), reply(pair)].concat();
    let reply = FrameLine::on("SYN_REPLY", 0, 1);
    let said = lines(Protocol::Spdy3, &text);
    let expected = [
        FrameLine { error: Some(PeerFault::MalformedHead), ..reply.clone() },
        FrameLine { headers: pairs(&[("x", "y")]), ..reply },
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_table_may_be_as_large_as_the_other_direction_lets_it_be_rfc7541_4_2() {
    // HEADERS that set the size of the table to 8,192 bytes, and `:method GET`.
    let larger = b"\0\0\x04\x01\x04\0\0\0\x01\x3f\xe1\x3f\x82";
    for (table, is_fine) in [(None, false), (Some(4096), false), (Some(8191), false), (Some(8192), true)] {
        let mut decoder = Decoder::new(Protocol::H2, table).unwrap();
        assert_eq!(decoder.handle_input(larger).is_ok(), is_fine, "{table:?}");
        assert_eq!(decoder.poll_line().is_some(), is_fine);
    }
}
