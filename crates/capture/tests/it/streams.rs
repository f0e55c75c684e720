//! Exchanges of SPDY and HTTP/2, as they are found by the frames of real sessions.

use crate::heads::{pairs, with_heads};
use crate::recording::{Seen, Told, exchanges, in_packets};
use loadstone_http::{
    Body, BodyId, Chunk, ClientSession, Fields, Multiplexing, Priority, Protocol, Push, RequestHead, RequestId,
    ResponseHead, ServerSession, SessionFactory, TransportStream, Wire,
};
use loadstone_units::Time;
use proptest::prelude::*;

const MANY: [Protocol; 3] = [Protocol::Spdy2, Protocol::Spdy31, Protocol::H2];
const NOW: Time = Time::ZERO;

/// A client and a server, and what they have said: of each text whether it goes down, the time in us and the bytes.
struct Talk {
    client: Box<dyn ClientSession>,
    server: Box<dyn ServerSession>,
    said: Vec<(bool, u64, Vec<u8>)>,
}

impl Talk {
    fn new(protocol: Protocol) -> Talk {
        let sessions = SessionFactory::new(Multiplexing { push: Push::Accept, ..Multiplexing::default() });
        Talk { client: sessions.client(protocol), server: sessions.server(protocol), said: Vec::new() }
    }

    fn ask(&mut self, us: u64, paths: &[&str]) {
        for path in paths {
            let head = RequestHead::get("a.test", path, Fields::from_pairs([("accept", &b"a"[..])]));
            self.client.request(head.into(), Body::EMPTY.into(), Priority::at(3));
        }
        self.up(us);
    }

    fn answer(&mut self, id: usize, status: u16, len: u64) {
        let head = ResponseHead::new(status, Fields::from_pairs([("server", "x")]));
        self.server.respond(RequestId(id as _), head.into(), Body { id: BodyId(id as _), len }.into());
    }

    /// The client sends what it has.
    fn up(&mut self, us: u64) {
        let mut wire = Wire::default();
        self.client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
        let chunks = wire.take_all();
        self.server.handle_input(NOW, TransportStream::TCP, &chunks).unwrap();
        self.said.push((false, us, bytes(&chunks)));
    }

    /// The server sends so many bytes at most of what it has.
    fn down(&mut self, us: u64, room: usize) {
        let mut wire = Wire::default();
        self.server.poll_transmit(NOW, TransportStream::TCP, room, &mut wire);
        let chunks = wire.take_all();
        self.client.handle_input(NOW, TransportStream::TCP, &chunks).unwrap();
        self.said.push((true, us, bytes(&chunks)));
    }

    /// All of it in packets of `size` bytes.
    fn packets(&self, size: usize) -> Vec<Told> {
        in_packets(&self.said, size)
    }
}

/// Bodies as zeros.
fn bytes(chunks: &[Chunk]) -> Vec<u8> {
    let real = |chunk: &Chunk| match chunk {
        Chunk::Bytes(bytes) => bytes.to_vec(),
        Chunk::Run { len, .. } => vec![0; *len as usize],
    };
    chunks.iter().flat_map(real).collect()
}

/// Two requests at 60 ms, of which the second is answered first, and a third one at 300 ms.
fn three(protocol: Protocol) -> Talk {
    let mut talk = Talk::new(protocol);
    talk.ask(60_000, &["/1", "/2"]);
    talk.answer(1, 404, 0);
    talk.down(70_000, usize::MAX);
    talk.answer(0, 200, 20_000);
    talk.down(80_000, 10_000);
    talk.down(90_000, usize::MAX);
    talk.ask(300_000, &["/3"]);
    talk.answer(2, 304, 0);
    talk.down(340_000, usize::MAX);
    talk
}

/// Kind, method, status, bytes of the body of each exchange.
fn rows(seen: &Seen) -> Vec<(&str, &str, u64, u64)> {
    let row = |row| {
        (seen.text("kind", row), seen.text("method", row), seen.integer("status", row), seen.integer("body_bytes", row))
    };
    (0..seen.rows()).map(row).collect()
}

#[test]
fn requests_and_responses_are_found_on_their_streams() {
    for protocol in MANY {
        let talk = three(protocol);
        let seen = exchanges(&talk.packets(1_400));
        let kind = if protocol == Protocol::H2 { "h2" } else { "spdy" };
        assert_eq!(rows(&seen), [(kind, "GET", 404, 0), (kind, "GET", 200, 20_000), (kind, "GET", 304, 0)]);
        assert_eq!((0..3).map(|row| seen.integer("exchange", row)).collect::<Vec<_>>(), [2, 1, 3]);
        assert_eq!((0..3).map(|row| seen.boolean("pipelined", row)).collect::<Vec<_>>(), [true, false, false]);
        let waits: Vec<_> = (0..3).map(|row| seen.number("response_wait_ms", row).unwrap().round()).collect();
        assert_eq!(waits, [10.0, 20.0, 40.0]);
        assert_eq!(seen.number("response_time_ms", 1), Some(10.0));
        // The last response before the third request ended at 90 ms.
        assert_eq!((0..3).map(|row| seen.number("gap_ms", row)).collect::<Vec<_>>(), [None, None, Some(210.0)]);
        let down: u64 = (0..3).map(|row| seen.integer("response_bytes", row)).sum();
        assert!((20_000..20_300).contains(&down), "{down} bytes with their frames");
    }
}

#[test]
fn a_segment_that_was_lost_is_read_where_it_belongs() {
    for protocol in MANY {
        let mut packets = three(protocol).packets(1_400);
        // At the client: the head of the first response comes after its content.
        let head = packets.iter().position(|packet| packet.down && packet.us == 80_000).unwrap();
        let mut late = packets.remove(head);
        late.us = 130_000;
        packets.insert(packets.iter().position(|packet| packet.us > 130_000).unwrap(), late);
        let seen = exchanges(&packets);
        assert_eq!((seen.text("method", 1), seen.integer("body_bytes", 1)), ("GET", 20_000));
        assert_eq!((seen.number("response_wait_ms", 1), seen.number("response_time_ms", 1)), (Some(70.0), Some(0.0)));
        // What came after it waited, so the last response before the third request ended then.
        assert_eq!((seen.rows(), seen.number("gap_ms", 2)), (3, Some(170.0)));
    }
}

#[test]
fn a_head_begins_with_its_first_byte() {
    for protocol in MANY {
        let mut talk = Talk::new(protocol);
        talk.ask(60_000, &["/"]);
        talk.answer(0, 200, 100);
        talk.down(70_000, usize::MAX);
        // The last frames are a head of more than 8 bytes and the content.
        let (_, _, text) = talk.said.pop().unwrap();
        let cut = text.len() - if protocol == Protocol::H2 { 9 } else { 8 } - 100 - 4;
        talk.said.extend([(true, 70_000, text[..cut].to_vec()), (true, 95_000, text[cut..].to_vec())]);
        let seen = exchanges(&talk.packets(60_000));
        assert_eq!((seen.number("response_wait_ms", 0), seen.number("response_time_ms", 0)), (Some(10.0), Some(25.0)));
    }
}

#[test]
fn what_comes_on_a_stream_that_has_ended_begins_no_exchange() {
    let mut talk = three(Protocol::H2);
    // Trailers without fields on stream 1 (RFC 9113, section 6.2): END_HEADERS and END_STREAM.
    talk.said.push((false, 400_000, vec![0, 0, 0, 1, 5, 0, 0, 0, 1]));
    assert_eq!(exchanges(&talk.packets(1_400)).rows(), 3);
}

#[test]
fn an_interim_response_is_not_the_response() {
    let mut talk = Talk::new(Protocol::H2);
    talk.ask(60_000, &["/"]);
    talk.server.send_interim(RequestId(0), ResponseHead::new(103, Fields::default()).into());
    talk.down(61_000, usize::MAX);
    talk.answer(0, 200, 7);
    talk.down(90_000, usize::MAX);
    let seen = exchanges(&talk.packets(1_400));
    assert_eq!((seen.integer("status", 0), seen.number("response_wait_ms", 0)), (200, Some(30.0)));
}

#[test]
fn bytes_of_content_may_be_missing() {
    for protocol in MANY {
        let mut packets = three(protocol).packets(1_400);
        // The last but one with data at 80 ms is within the body.
        let within = packets.iter().rposition(|packet| packet.us == 80_000).unwrap() - 1;
        packets.remove(within);
        let seen = exchanges(&packets);
        let whole = exchanges(&three(protocol).packets(1_400));
        assert_eq!(seen.integer("body_bytes", 1), 20_000);
        assert_eq!(seen.integer("response_bytes", 1), whole.integer("response_bytes", 1));
        assert_eq!((seen.rows(), seen.text("method", 2)), (3, "GET"));
    }
}

#[test]
fn where_frames_cannot_be_read_exchanges_are_found_by_who_sends() {
    for protocol in MANY {
        let mut packets = three(protocol).packets(1_400);
        // Nothing can be read after a head that is missing; the third request is after it.
        let head = packets.iter().position(|packet| packet.down && packet.us == 70_000).unwrap();
        packets.remove(head);
        let seen = exchanges(&packets);
        assert_eq!(seen.rows(), 3);
        assert_eq!((0..3).map(|row| seen.text("method", row)).collect::<Vec<_>>(), ["GET", "GET", ""]);
        assert!(!seen.boolean("answered", 0) && seen.boolean("answered", 2));
    }
}

#[test]
fn a_push_is_a_response_without_a_request() {
    for protocol in MANY {
        let mut talk = Talk::new(protocol);
        talk.ask(60_000, &["/"]);
        let head = RequestHead::get("a.test", "/pushed", Fields::default());
        let pushed = talk.server.push(RequestId(0), head.into(), Priority::at(3)).expect("it accepts pushes");
        talk.answer(0, 200, 10);
        talk.server.respond(
            pushed,
            ResponseHead::new(200, Fields::default()).into(),
            Body { id: BodyId(9), len: 77 }.into(),
        );
        talk.down(70_000, usize::MAX);
        let seen = exchanges(&talk.packets(1_400));
        let mut told: Vec<_> =
            (0..seen.rows()).map(|row| (seen.boolean("pushed", row), seen.integer("body_bytes", row))).collect();
        told.sort_unstable();
        assert_eq!(told, [(false, 10), (true, 77)]);
    }
}

#[test]
fn a_stream_that_is_reset_is_over() {
    for protocol in MANY {
        let mut talk = Talk::new(protocol);
        talk.ask(60_000, &["/1"]);
        talk.answer(0, 200, 50_000);
        talk.down(70_000, 5_000);
        talk.client.cancel(RequestId(0));
        talk.ask(80_000, &["/2"]);
        talk.answer(1, 200, 1);
        talk.down(90_000, usize::MAX);
        let seen = exchanges(&talk.packets(1_400));
        assert_eq!(seen.rows(), 2);
        assert!(seen.integer("response_bytes", 0) <= 5_000);
        assert_eq!(seen.integer("body_bytes", 1), 1);
    }
}

proptest! {
    /// However the bytes are cut into packets, the exchanges are the same. The first bytes have to tell what is spoken.
    #[test]
    fn cuts_change_nothing(which in 0_usize..3, size in 14_usize..3_000) {
        let talk = three(MANY[which]);
        let (seen, whole) = (exchanges(&talk.packets(size)), exchanges(&talk.packets(60_000)));
        prop_assert_eq!(rows(&seen), rows(&whole));
        for row in 0..3 {
            for name in ["request_bytes", "response_bytes"] {
                prop_assert_eq!(seen.integer(name, row), whole.integer(name, row));
            }
            for name in ["request_ms", "response_wait_ms", "response_time_ms"] {
                prop_assert_eq!(seen.number(name, row), whole.number(name, row));
            }
        }
    }

    /// Damage anywhere is no harm.
    #[test]
    fn damaged_frames_are_read_as_far_as_they_go(which in 0_usize..3, at in 0_usize..25_000, byte: u8) {
        let mut talk = three(MANY[which]);
        let texts = talk.said.iter_mut().flat_map(|(_, _, text)| text);
        if let Some(damaged) = texts.into_iter().nth(at) {
            *damaged = byte;
        }
        let packets = talk.packets(1_400);
        let data: u64 = packets.iter().map(|packet| u64::from(packet.len)).sum();
        let seen = exchanges(&packets);
        let told = |name| (0..seen.rows()).map(|row| seen.integer(name, row)).sum::<u64>();
        prop_assert!(told("request_bytes") + told("response_bytes") <= data);
    }
}

#[test]
fn heads_have_the_names_of_http_2_in_every_protocol() {
    for protocol in MANY {
        let mut talk = Talk::new(protocol);
        talk.ask(60_000, &["/a"]);
        talk.answer(0, 404, 10);
        talk.down(120_000, usize::MAX);
        let rows = with_heads(&talk.packets(1_000));
        let heads = rows[0].heads().unwrap();
        let (asked, answered) = (pairs(&heads.request), pairs(&heads.response));
        for field in [(":method", "GET"), (":path", "/a"), (":authority", "a.test"), ("accept", "a")] {
            assert!(asked.contains(&field), "{protocol}: {asked:?}");
        }
        assert!(answered.iter().any(|(name, value)| *name == ":status" && value.starts_with("404")), "{answered:?}");
        assert!(heads.request_head_bytes > 0 && heads.response_head_bytes > 0);
    }
}
