//! The bytes of each version, written out by hand or by another implementation (zlib itself, called from
//! Python with its full window of 2^15 bytes).

use crate::{
    Body, Chunk, Content, Event, Fields, Multiplexing, PersistedSettings, Priority, Protocol, RequestHead,
    ResponseHead, TransportStream,
};
use crate::{RequestId, Session, SessionFactory, Wire};
use bytes::{Buf, Bytes};
use loadstone_units::Time;

const NOW: Time = Time::ZERO;
const ALL: [Protocol; 3] = [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31];

fn sessions() -> SessionFactory {
    SessionFactory::new(Multiplexing::default())
}

fn feed(session: &mut dyn Session, text: &'static [u8]) {
    session.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(text))]).unwrap();
}

/// All that it sends, bodies left out.
fn sent(session: &mut dyn Session) -> Vec<u8> {
    let mut wire = Wire::default();
    session.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
    wire.take_all()
        .iter()
        .flat_map(|chunk| if let Chunk::Bytes(bytes) = chunk { bytes.to_vec() } else { vec![] })
        .collect()
}

const REQUEST_2: &[u8] = b"\x80\x02\x00\x01\x01\x00\x00X\x00\x00\x00\x01\x00\x00\x00\x00\x80\x00x\xf9\xdf\xa2Q\xb2b`c`\x01\xe5\x12\x06\xb6D\xbd\x92T\x10\x9d\x0b\xcc\x95\xf9)\x0c\xcc\xee\xae!\x0cl\xc5\xc0\x88\xccM\x05*)))``\x06i`\xd3\xaf\xb0\xaf\xb45d`\x87\x1a\xc2\xc0\x013\x1bh\x048\xe110'2$\x01\x00\x00\x00\xff\xff";
const REQUEST_3: &[u8] = b"\x80\x03\x00\x01\x01\x00\x00U\x00\x00\x00\x01\x00\x00\x00\x00\xa0\x00x\xf9\xe3\xc6\xa7\xc2\x02\xa5#Pv\xb2\x82\x16\x08l\x89z%\xa9`\x16\xbb\x15\x22!\xbb\xbb\x86\x80E\x8a\x81\xc5a.\xb8\x90\xc9())\x00\xeb+H\x04\x97`l\xfa\x15\xf6\x95\xb6\xa04\xcca\x85=m#\x0ap\xe6D\x86$\x00\x00\x00\x00\xff\xff";
const RESPONSE_2: &[u8] = b"\x80\x02\x00\x02\x01\x00\x006\x00\x00\x00\x01\x00\x00x\xf9\xdf\xa2Q\xb2b`a`\x83\x082\xb0\x01\x13\xab\x82\xbf7\x03;T\x9a\x81\x03\xa6\x8b\x81\x05\x94\x91\x18\x98rS\x19\x18+\x18\x18\x0d\x01\x00\x00\x00\xff\xff";
const RESPONSE_3: &[u8] = b"\x80\x03\x00\x02\x01\x00\x00)\x00\x00\x00\x01x\xf9\xe3\xc6\xa7\xc2\x02%oPz\xb4\xc2\x92H9\xac\xb0\xa7RX\xe1\xc1\x94\x0bJ\x86\x8c\x15 \xc2\x10\x00\x00\x00\xff\xff";

/// A request that zlib compressed, and the status "200 OK" with a field `host`.
fn others(protocol: Protocol) -> (&'static [u8], &'static [u8]) {
    if protocol == Protocol::Spdy2 { (REQUEST_2, RESPONSE_2) } else { (REQUEST_3, RESPONSE_3) }
}

/// Draft 3, section 2.6.7; HEADERS of draft 2 has no flags.
#[test]
fn trailers_end_the_stream_by_a_flag_or_where_there_is_none_by_an_empty_frame() {
    for protocol in ALL {
        let mut server = sessions().server(protocol);
        feed(server.as_mut(), others(protocol).0);
        server.respond(RequestId(0), ResponseHead::new(200, Fields::default()).into(), Content::Streamed);
        sent(server.as_mut());
        server.finish(RequestId(0), Fields::from_pairs([("x", "y")]));
        let said = sent(server.as_mut());
        let (is_2, end) = (protocol == Protocol::Spdy2, b"\0\0\0\x01\x01\0\0\0");
        assert_eq!((said[3], said[4]), (8, u8::from(!is_2)), "{protocol}");
        assert_eq!(said.ends_with(end), is_2, "{protocol}");
    }
}

#[test]
fn what_another_implementation_writes_is_read() {
    for protocol in ALL {
        let (request, response) = others(protocol);
        let mut server = sessions().server(protocol);
        feed(server.as_mut(), request);
        let Some(Event::Request { id, head }) = server.poll_event() else { panic!("{protocol}") };
        assert_eq!((id, &head.method[..], &head.path[..]), (RequestId(0), &b"GET"[..], &b"/x?y=1"[..]));
        assert_eq!((&head.authority[..], head.scheme.name()), (&b"a.test"[..], "http"));
        assert_eq!(head.fields, Fields::from_pairs([("accept", "a"), ("accept", "b")]));

        let mut client = sessions().client(protocol);
        client.request(
            RequestHead::get("a.test", "/", Fields::default()).into(),
            Body::EMPTY.into(),
            Priority::default(),
        );
        sent(client.as_mut());
        assert_eq!(client.poll_event(), Some(Event::Sent { id }));
        feed(client.as_mut(), response);
        let Some(Event::Response { head, .. }) = client.poll_event() else { panic!("{protocol}") };
        assert_eq!((head.status, &head.fields), (200, &Fields::from_pairs([("x", "1")])));
        assert_eq!(client.poll_event(), Some(Event::End { id }));
    }
}

/// The names and values of a header block, read by hand.
fn pairs(block: &[u8], dictionary: &[u8], width: usize) -> Vec<(String, String)> {
    let mut zlib = flate2::Decompress::new_with_window_bits(true, 15);
    let mut text = Vec::with_capacity(4096);
    zlib.decompress_vec(block, &mut text, flate2::FlushDecompress::Sync).unwrap_err();
    zlib.set_dictionary(dictionary).unwrap();
    let rest = &block[zlib.total_in() as usize..];
    zlib.decompress_vec(rest, &mut text, flate2::FlushDecompress::Sync).unwrap();
    let mut text = &text[..];
    let part = |text: &mut &[u8]| {
        let len = text.get_uint(width) as usize;
        String::from_utf8(text.copy_to_bytes(len).to_vec()).unwrap()
    };
    let count = text.get_uint(width);
    (0..count).map(|_| (part(&mut text), part(&mut text))).collect()
}

#[test]
fn what_is_written_is_as_the_drafts_say_2_6() {
    let fields = Fields::from_pairs([("Accept", "a"), ("accept", "b"), ("x-empty", ""), ("connection", "close")]);
    for (protocol, version, priority, unused, dictionary, width) in [
        (Protocol::Spdy2, 2, 2 << 6, 2, super::dictionary::two(), 2),
        (Protocol::Spdy3, 3, 5 << 5, 0, super::dictionary::three(), 4),
        (Protocol::Spdy31, 3, 5 << 5, 0, super::dictionary::three(), 4),
    ] {
        let mut client = sessions().client(protocol);
        client.request(RequestHead::get("a.test", "/p", fields.clone()).into(), Body::EMPTY.into(), Priority::at(5));
        let all = sent(client.as_mut());
        let frame = &all[all.windows(6).position(|six| six == [0x80, version, 0, 1, 1, 0]).unwrap()..];
        assert_eq!(frame[7] as usize, frame.len() - 8);
        assert_eq!(frame[8..18], [0, 0, 0, 1, 0, 0, 0, 0, priority, 0], "{protocol}");
        let names = if version == 2 {
            ["method", "url", "version", "host", "scheme"]
        } else {
            [":method", ":path", ":version", ":host", ":scheme"]
        };
        let mut expected: Vec<(&str, &str)> =
            names.into_iter().zip(["GET", "/p", "HTTP/1.1", "a.test", "https"]).collect();
        expected.push(("accept", "a\0b"));
        if version == 3 {
            expected.push(("x-empty", ""));
        }
        let expected: Vec<_> = expected.into_iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
        assert_eq!(pairs(&frame[18..], dictionary, width), expected);

        let mut server = sessions().server(protocol);
        feed(server.as_mut(), others(protocol).0);
        sent(server.as_mut());
        server.respond(RequestId(0), ResponseHead::new(404, Fields::default()).into(), Body::EMPTY.into());
        let frame = sent(server.as_mut());
        assert_eq!(frame[..6], [0x80, version, 0, 2, 1, 0]);
        assert_eq!(frame[8..12 + unused], [&[0, 0, 0, 1][..], &vec![0; unused]].concat());
        let names = if version == 2 { ["status", "version"] } else { [":status", ":version"] };
        let expected = names.map(str::to_owned).into_iter().zip(["404", "HTTP/1.1"].map(str::to_owned));
        assert_eq!(pairs(&frame[12 + unused..], dictionary, width), expected.collect::<Vec<_>>());
    }
}

#[test]
fn a_session_begins_with_settings_in_its_versions_order_of_bytes_2_6_4() {
    // Ids are little-endian in SPDY/2; flags come last there and first in SPDY/3.
    let two = b"\x80\x02\0\x04\0\0\0\x14\0\0\0\x02\x04\0\0\0\0\0\0\x64\x07\0\0\0\x7f\xff\xff\xff";
    let three = b"\x80\x03\0\x04\0\0\0\x14\0\0\0\x02\0\0\0\x04\0\0\0\x64\0\0\0\x07\0\x60\0\0";
    let window = b"\x80\x03\0\x09\0\0\0\x08\0\0\0\0\0\xef\0\0";
    for (protocol, expected) in [
        (Protocol::Spdy2, two.to_vec()),
        (Protocol::Spdy3, three.to_vec()),
        (Protocol::Spdy31, [&three[..], window].concat()),
    ] {
        assert_eq!(sent(sessions().client(protocol).as_mut()), expected, "{protocol}");
    }
}

#[test]
fn settings_are_read_in_their_versions_order_of_bytes_2_6_4() {
    let five_streams: [&[u8]; 2] = [
        b"\x80\x02\0\x04\0\0\0\x0c\0\0\0\x01\x04\0\0\x01\0\0\0\x05",
        b"\x80\x03\0\x04\0\0\0\x0c\0\0\0\x01\x01\0\0\x04\0\0\0\x05",
    ];
    for protocol in ALL {
        let mut client = sessions().client(protocol);
        feed(client.as_mut(), five_streams[usize::from(protocol != Protocol::Spdy2)]);
        assert_eq!(client.capacity(), 5, "{protocol}");
    }
}

#[test]
fn windows_are_those_of_the_version_2_6_8() {
    // What a server sends of a body of 200,000 bytes to a client that says nothing of windows, and that
    // then opens the stream by 100,000, and then the session.
    let stream = b"\x80\x03\0\x09\0\0\0\x08\0\0\0\x01\0\x01\x86\xa0";
    let session = b"\x80\x03\0\x09\0\0\0\x08\0\0\0\0\0\x01\x86\xa0";
    for (protocol, expected) in [
        (Protocol::Spdy2, [200_000, 0, 0]),
        (Protocol::Spdy3, [65_536, 100_000, 0]),
        (Protocol::Spdy31, [65_536, 0, 100_000]),
    ] {
        let mut server = sessions().server(protocol);
        feed(server.as_mut(), others(protocol).0);
        server.respond(
            RequestId(0),
            ResponseHead::new(200, Fields::default()).into(),
            Body { id: crate::BodyId(0), len: 200_000 }.into(),
        );
        assert_eq!(content(server.as_mut()), expected[0], "{protocol}");
        if protocol != Protocol::Spdy2 {
            for (update, expected) in [(&stream[..], expected[1]), (session, expected[2])] {
                server
                    .handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::copy_from_slice(update))])
                    .unwrap();
                assert_eq!(content(server.as_mut()), expected, "{protocol}");
            }
        }
    }
}

/// The bytes of bodies that it sends.
fn content(session: &mut dyn Session) -> u64 {
    let mut wire = Wire::default();
    session.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
    wire.take_all().iter().map(|chunk| if let Chunk::Run { len, .. } = chunk { *len } else { 0 }).sum()
}

#[test]
fn settings_of_a_window_mean_nothing_in_spdy2() {
    let mut server = sessions().server(Protocol::Spdy2);
    feed(server.as_mut(), b"\x80\x02\0\x04\0\0\0\x0c\0\0\0\x01\x07\0\0\0\0\0\0\x05");
    feed(server.as_mut(), REQUEST_2);
    let body = Body { id: crate::BodyId(0), len: 200_000 };
    server.respond(RequestId(0), ResponseHead::new(200, Fields::default()).into(), body.into());
    assert_eq!(content(server.as_mut()), 200_000);
}

#[test]
fn fields_that_spdy2_would_take_for_parts_of_the_line_stay_away() {
    let mut client = sessions().client(Protocol::Spdy2);
    let fields = Fields::from_pairs([("version", "9"), ("url", "/x"), ("status", "9"), ("x", "y")]);
    client.request(RequestHead::get("a.test", "/", fields.clone()).into(), Body::EMPTY.into(), Priority::default());
    let mut server = sessions().server(Protocol::Spdy2);
    server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(sent(client.as_mut()).into())]).unwrap();
    let Some(Event::Request { id, head }) = server.poll_event() else { panic!("a request") };
    assert_eq!(head.fields, Fields::from_pairs([("x", "y")]));
    server.respond(id, ResponseHead::new(200, fields).into(), Body::EMPTY.into());
    client.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(sent(server.as_mut()).into())]).unwrap();
    assert_eq!(client.poll_event(), Some(Event::Sent { id }));
    let Some(Event::Response { head, .. }) = client.poll_event() else { panic!("a response") };
    assert_eq!((head.status, &head.fields), (200, &Fields::from_pairs([("x", "y")])));
}

#[test]
fn what_a_server_asks_to_be_kept_is_returned_in_the_next_session_draft3_2_6_4() {
    let sessions = SessionFactory::new(Multiplexing::default());
    let carry = |from: &mut dyn Session, to: &mut dyn Session| {
        let mut wire = Wire::default();
        from.poll_transmit(Time::ZERO, TransportStream::TCP, usize::MAX, &mut wire);
        to.handle_input(Time::ZERO, TransportStream::TCP, &wire.take_all()).unwrap();
    };
    for protocol in [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31] {
        let (mut client, mut server) = (sessions.client(protocol), sessions.server(protocol));
        // The congestion window is the client's to return; a limit of streams would be taken for its own.
        let asked = PersistedSettings::from_pairs([(4, 7), (5, 37)]);
        server.persist(&asked);
        carry(server.as_mut(), client.as_mut());
        assert_eq!((client.persisted(), client.capacity()), (asked.clone(), 7), "{protocol}");
        let mut next = sessions.client_with_settings(protocol, &client.persisted());
        let mut server = sessions.server(protocol);
        carry(next.as_mut(), server.as_mut());
        assert_eq!(server.persisted(), PersistedSettings::from_pairs([(5, 37)]), "{protocol}");
        assert_eq!(next.persisted(), asked, "what the new session says nothing of is kept on");
        // A server may have all of it forgotten: SETTINGS with the flag CLEAR_SETTINGS.
        let version = if protocol == Protocol::Spdy2 { 2 } else { 3 };
        let clear = vec![0x80, version, 0, 4, 1, 0, 0, 4, 0, 0, 0, 0];
        next.handle_input(Time::ZERO, TransportStream::TCP, &[Chunk::Bytes(clear.into())]).unwrap();
        assert_eq!(next.persisted(), PersistedSettings::default(), "{protocol}");
    }
}
