//! Requests and responses, as they are found on a connection.

use crate::recording::{ACK, Told, down, exchanges, in_packets, pcap_of, read};
use loadstone_capture::{Analyzer, AnalyzerLimits, PacketReader};
use proptest::prelude::*;

/// Puts texts after one another, each a packet: of each whether it goes down, the time in us and the bytes.
fn told(texts: &[(bool, u64, Vec<u8>)]) -> Vec<Told> {
    in_packets(texts, usize::MAX)
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: example.org\r\n\r\n").into_bytes()
}

fn response(fields: &str, body: usize) -> Vec<u8> {
    [format!("HTTP/1.1 200 OK\r\n{fields}\r\n").as_bytes(), &vec![b'x'; body]].concat()
}

/// A record of TLS.
fn record(kind: u8, len: u16) -> Vec<u8> {
    [&[kind, 3, 3][..], &len.to_be_bytes(), &vec![7; len.into()]].concat()
}

#[test]
fn requests_and_responses_of_http_are_found_by_their_heads() {
    assert!(!exchanges(&told(&[(false, 60_000, get("/"))])).boolean("encrypted", 0));
    let seen = exchanges(&told(&[
        (false, 60_000, get("/")),
        (true, 70_000, response("Content-Length: 1500\r\n", 1_000)),
        (true, 75_000, vec![b'x'; 500]),
        (false, 375_000, get("/next")),
        (true, 380_000, response("Content-Length: 10\r\n", 10)),
    ]));
    assert_eq!(seen.rows(), 2);
    assert_eq!(seen.texts("kind"), ["http/1.1", "http/1.1"]);
    assert_eq!(seen.texts("method"), ["GET", "GET"]);
    assert_eq!((seen.integer("status", 0), seen.integer("body_bytes", 0)), (200, 1_500));
    assert_eq!(seen.number("response_wait_ms", 0), Some(10.0));
    assert_eq!(seen.number("response_time_ms", 0), Some(5.0));
    assert_eq!((seen.number("gap_ms", 0), seen.number("gap_ms", 1)), (None, Some(300.0)));
    assert_eq!(seen.integer("request_bytes", 0), get("/").len() as u64);
}

#[test]
fn a_head_may_come_in_pieces_and_a_piece_may_have_many() {
    let one = get("/one");
    let both = [get("/two"), get("/three")].concat();
    let answers = [response("Content-Length: 3\r\n", 3), response("Content-Length: 4\r\n", 4)].concat();
    let seen = exchanges(&told(&[
        (false, 60_000, one[..9].to_vec()),
        (false, 61_000, one[9..].to_vec()),
        (false, 62_000, both),
        (true, 70_000, response("Content-Length: 2\r\n", 2)),
        (true, 80_000, answers),
    ]));
    assert_eq!(seen.rows(), 3);
    assert_eq!(seen.number("request_time_ms", 0), Some(1.0));
    assert_eq!((0..3).map(|row| seen.integer("body_bytes", row)).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!((0..3).map(|row| seen.boolean("pipelined", row)).collect::<Vec<_>>(), [false, true, true]);
}

#[test]
fn no_time_is_negative_where_clocks_go_back() {
    let text = get("/");
    let seen = exchanges(&told(&[
        (false, 60_000, text[..9].to_vec()),
        (false, 55_000, text[9..].to_vec()),
        (true, 58_000, response("Content-Length: 600\r\n", 300)),
        (true, 57_000, vec![b'x'; 300]),
    ]));
    assert_eq!((seen.number("request_time_ms", 0), seen.number("response_time_ms", 0)), (Some(0.0), Some(0.0)));
    assert_eq!(seen.number("response_wait_ms", 0), Some(0.0));
}

#[test]
fn a_head_may_begin_at_the_end_of_a_packet() {
    let two = [response("Content-Length: 3\r\n", 3), response("Content-Length: 4\r\n", 4)].concat();
    let first = response("Content-Length: 3\r\n", 3).len();
    let asked = [get("/one"), get("/two")].concat();
    for beyond in 1..20 {
        let (up, down) = (get("/one").len() + beyond, first + beyond);
        let seen = exchanges(&told(&[
            (false, 60_000, asked[..up].to_vec()),
            (false, 60_500, asked[up..].to_vec()),
            (true, 70_000, two[..down].to_vec()),
            (true, 90_000, two[down..].to_vec()),
        ]));
        assert_eq!((seen.rows(), seen.integer("body_bytes", 0), seen.integer("body_bytes", 1)), (2, 3, 4), "{beyond}");
        assert_eq!((seen.text("method", 1), seen.number("response_time_ms", 1)), ("GET", Some(20.0)), "{beyond}");
    }
}

#[test]
fn a_body_without_a_length_ends_where_the_next_head_begins() {
    let seen = exchanges(&told(&[
        (false, 60_000, get("/")),
        (true, 70_000, response("Transfer-Encoding: chunked\r\n", 700)),
        (true, 90_000, vec![b'x'; 900]),
        (false, 100_000, get("/next")),
        (true, 110_000, response("Content-Length: 0\r\n", 0)),
    ]));
    assert_eq!(seen.rows(), 2);
    assert_eq!(seen.number("response_time_ms", 0), Some(20.0));
    assert!(seen.integer("response_bytes", 0) > 1_600);
}

#[test]
fn an_interim_response_is_not_the_response() {
    let seen = exchanges(&told(&[
        (false, 60_000, get("/")),
        (true, 61_000, b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n".to_vec()),
        (true, 90_000, response("Content-Length: 5\r\n", 5)),
    ]));
    assert_eq!(seen.rows(), 1);
    assert_eq!((seen.integer("status", 0), seen.number("response_wait_ms", 0)), (200, Some(30.0)));
}

#[test]
fn a_response_to_head_and_one_without_changes_have_no_body() {
    let seen = exchanges(&told(&[
        (false, 60_000, b"HEAD / HTTP/1.1\r\n\r\n".to_vec()),
        (true, 70_000, response("Content-Length: 9000\r\n", 0)),
        (false, 80_000, get("/")),
        (true, 90_000, b"HTTP/1.1 304 Not Modified\r\nContent-Length: 400\r\n\r\n".to_vec()),
        (false, 95_000, get("/last")),
    ]));
    assert_eq!(seen.rows(), 3);
    assert_eq!((seen.integer("body_bytes", 0), seen.integer("status", 1)), (0, 304));
    assert!(!seen.boolean("answered", 2));
}

#[test]
fn under_tls_a_request_is_what_the_client_sends_after_a_response() {
    let finished_and_request = [record(20, 1), record(23, 53), record(23, 200)].concat();
    let seen = exchanges(&told(&[
        (false, 60_000, record(22, 500)),
        // TLS 1.3: the server's handshake looks like data, and so does the client's Finished.
        (true, 61_000, [record(22, 90), record(20, 1), record(23, 3_000)].concat()),
        (false, 111_000, finished_and_request),
        (true, 120_000, record(23, 9_000)),
        // SETTINGS with ACK, and a window update: no requests.
        (false, 170_000, [record(23, 26), record(23, 30)].concat()),
        (true, 171_000, record(23, 5_000)),
        (false, 471_000, record(23, 100)),
        (true, 472_000, record(23, 50)),
    ]));
    assert_eq!(seen.texts("kind"), ["tls", "tls"]);
    assert_eq!((seen.integer("request_bytes", 0), seen.integer("response_bytes", 0)), (200, 14_000));
    assert_eq!((seen.number("response_wait_ms", 0), seen.number("gap_ms", 1)), (Some(9.0), Some(300.0)));
}

#[test]
fn records_are_found_again_where_the_snap_length_hides_them() {
    let packets = told(&[
        (false, 60_000, record(22, 500)),
        (true, 61_000, record(22, 3_000)),
        (false, 62_000, record(23, 300)),
        (true, 70_000, record(23, 1_200)),
        (true, 70_001, record(23, 1_200)),
        (false, 90_000, record(23, 300)),
        (true, 95_000, record(23, 600)),
    ]);
    let cut = |packet: &Told| {
        let whole = packet.ipv4();
        let kept = whole.len().min(60);
        (packet.us, whole[..kept].to_vec(), (whole.len() - kept) as u32)
    };
    let file = pcap_of(101, packets.iter().map(cut));
    let mut analyzer = Analyzer::new(AnalyzerLimits::default());
    let mut reader = PacketReader::new(&file[..]).unwrap();
    while reader.next_packet(|packet| analyzer.handle_packet(&packet)).unwrap().is_some() {}
    analyzer.finish();
    let whole = exchanges(&packets);
    let rows: usize = analyzer.parts().1.iter_mut().map(|shard| shard.exchanges().rows()).sum();
    assert_eq!(rows, whole.rows());
    assert_eq!(whole.rows(), 2);
}

#[test]
fn other_protocols_speak_in_turns() {
    // A frame that no session sends: HEADERS of 16 MB.
    let unreadable = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[0xff, 0xff, 0xff, 1, 4, 0, 0, 0, 1][..]].concat();
    let seen = exchanges(&told(&[
        (false, 60_000, unreadable),
        (true, 70_000, vec![0; 1_000]),
        (false, 80_000, vec![0; 60]),
        (true, 85_000, vec![0; 500]),
    ]));
    assert_eq!(seen.texts("kind"), ["h2", "h2"]);
    assert_eq!((seen.integer("response_bytes", 0), seen.integer("request_bytes", 1)), (1_000, 60));
    let seen = exchanges(&told(&[(true, 60_000, b"220 mail".to_vec()), (false, 61_000, b"EHLO me".to_vec())]));
    assert_eq!((seen.texts("kind"), seen.boolean("answered", 0)), (vec!["other"], false));
}

#[test]
fn what_is_sent_again_is_no_second_response() {
    let mut packets = told(&[(false, 60_000, get("/")), (true, 70_000, response("Content-Length: 900\r\n", 900))]);
    let mut again = packets.last().unwrap().clone();
    again.us = 400_000;
    packets.push(again);
    let len = packets.last().unwrap().len;
    packets.push(down(400_001, ACK, 1 + len, 10, 1));
    let seen = exchanges(&packets);
    assert_eq!((seen.rows(), seen.number("response_time_ms", 0)), (1, Some(0.0)));
}

proptest! {
    /// Bytes of requests and responses are no more than those of the connection.
    #[test]
    fn bytes_are_conserved(
        texts in proptest::collection::vec((any::<bool>(), 0_usize..6, 0_usize..400), 1..40),
    ) {
        let texts: Vec<_> = texts.into_iter().enumerate().map(|(n, (is_down, what, size))| {
            let text = match what {
                0 => get("/"),
                1 => response(&format!("Content-Length: {}\r\n", size / 2), size),
                2 => record(23, 43 + size as u16),
                3 => record(22, 1 + size as u16),
                4 => vec![b'G'; 1 + size],
                _ => response("", size),
            };
            (is_down, 60_000 + n as u64, text)
        }).collect();
        let packets = told(&texts);
        let seen = exchanges(&packets);
        let (connections, _, _) = read(&crate::recording::pcap(&packets));
        let sum = |name: &str| (0..seen.rows()).map(|row| seen.integer(name, row)).sum::<u64>();
        prop_assert!(sum("request_bytes") <= connections.integer("bytes_up", 0));
        prop_assert!(sum("response_bytes") <= connections.integer("bytes_down", 0));
        let numbers: Vec<u64> = (0..seen.rows()).map(|row| seen.integer("exchange", row)).collect();
        prop_assert_eq!(numbers, (1..=seen.rows() as u64).collect::<Vec<_>>());
    }
}
