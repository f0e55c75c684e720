//! Connections of QUIC: what their datagrams show without keys. All is captured at the client; the server is 40 ms away.

use crate::recording::{pcap_of, quic};

/// Types of long headers of version 1.
const INITIAL: u8 = 0xc3;
const HANDSHAKE: u8 = 0xe3;
const RETRY: u8 = 0xf0;
const SHORT: u8 = 0x41;
const SPIN: u8 = 0x20;

/// A packet of IPv4 with a datagram whose payload begins with this and has so many bytes: its time in us is first.
fn datagram(us: u64, down: bool, head: &[u8], len: u16) -> (u64, Vec<u8>, u32) {
    let mut bytes = vec![0x45, 0];
    bytes.extend((28 + len).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    let (client, server) = ([10, 0, 0, 1], [192, 0, 2, 1]);
    let (from, to) = if down { (server, client) } else { (client, server) };
    bytes.extend(from);
    bytes.extend(to);
    let (from, to): (u16, u16) = if down { (443, 50_000) } else { (50_000, 443) };
    bytes.extend(from.to_be_bytes());
    bytes.extend(to.to_be_bytes());
    bytes.extend((8 + len).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(head);
    let missing = u32::from(len) - head.len() as u32;
    (us, bytes, missing)
}

fn long(us: u64, down: bool, kind: u8, version: u32, len: u16) -> (u64, Vec<u8>, u32) {
    let [a, b, c, d] = version.to_be_bytes();
    datagram(us, down, &[kind, a, b, c, d, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0], len)
}

fn handshake() -> Vec<(u64, Vec<u8>, u32)> {
    vec![
        long(0, false, INITIAL, 1, 1_200),
        long(40_000, true, INITIAL, 1, 1_200),
        long(40_100, true, HANDSHAKE, 1, 900),
        long(41_000, false, HANDSHAKE, 1, 100),
    ]
}

#[test]
fn a_handshake_shows_its_round_trip_and_where_it_was_captured() {
    let seen = quic(&pcap_of(101, handshake()));
    assert_eq!(seen.rows(), 1);
    assert_eq!((seen.text("client", 0), seen.integer("server_port", 0)), ("10.0.0.1", 443));
    assert_eq!(seen.integer("version", 0), 1);
    assert_eq!(seen.number("server_handshake_ms", 0), Some(40.0));
    assert_eq!(seen.number("client_handshake_ms", 0), Some(1.0));
    assert_eq!(seen.text("captured_at", 0), "client");
    assert_eq!((seen.integer("datagrams_up", 0), seen.integer("bytes_down", 0)), (2, 2_100));
    assert_eq!((seen.integer("initial_datagrams_up", 0), seen.integer("handshake_datagrams_down", 0)), (1, 1));
    assert_eq!(seen.integer("largest_datagram_up", 0), 1_200);
    assert!(!seen.boolean("retry", 0));
    assert!(!seen.known("spin_rtt_min_ms", 0));
}

#[test]
fn the_spin_bit_turns_once_in_a_round_trip() {
    let mut packets = handshake();
    for turn in 0..6_u64 {
        let spin = if turn % 2 == 0 { SPIN } else { 0 };
        // Three packets in each round trip of 51 ms.
        for packet in 0..3 {
            packets.push(datagram(100_000 + turn * 50_000 + turn * 1_000 + packet * 10, true, &[SHORT | spin], 1_200));
        }
    }
    // One of before comes late, and turns it back for a moment.
    packets.insert(packets.len() - 1, datagram(355_015, true, &[SHORT | SPIN], 1_200));
    let seen = quic(&pcap_of(101, packets));
    // The first of six values begins at a time that nobody knows.
    assert_eq!(seen.integer("spin_rtt_samples", 0), 4);
    assert_eq!(seen.number("spin_rtt_min_ms", 0), Some(51.0));
    assert_eq!(seen.number("spin_rtt_max_ms", 0), Some(51.0));
}

#[test]
fn the_bit_of_a_client_alone_measures_nothing() {
    let mut packets = handshake();
    for turn in 0..6_u64 {
        let spin = if turn % 2 == 0 { SPIN } else { 0 };
        packets.push(datagram(100_000 + turn * 50_000, false, &[SHORT | spin], 100));
        packets.push(datagram(100_010 + turn * 50_000, true, &[SHORT], 1_200));
    }
    assert!(!quic(&pcap_of(101, packets)).known("spin_rtt_min_ms", 0));
}

#[test]
fn a_bit_that_is_turned_at_random_measures_nothing() {
    let mut packets = handshake();
    for packet in 0..50_u64 {
        let spin = if packet % 2 == 0 { SPIN } else { 0 };
        packets.push(datagram(200_000 + packet * 100, true, &[SHORT | spin], 1_200));
    }
    assert!(!quic(&pcap_of(101, packets)).known("spin_rtt_min_ms", 0));
}

#[test]
fn retries_and_other_versions_are_told() {
    let mut packets = vec![
        long(0, false, INITIAL, 0xff00_001d, 1_200),
        // Version negotiation, then a new beginning, which the server wants with a token.
        long(40_000, true, 0x80, 0, 60),
        long(40_100, false, INITIAL, 1, 1_200),
        long(80_100, true, RETRY, 1, 100),
    ];
    packets.extend(handshake().into_iter().map(|(us, bytes, missing)| (us + 80_200, bytes, missing)));
    let seen = quic(&pcap_of(101, packets));
    assert_eq!(seen.rows(), 1);
    assert!(seen.boolean("retry", 0) && seen.boolean("version_negotiation", 0));
    assert_eq!(seen.integer("version", 0), 1);
}

#[test]
fn datagrams_of_others_are_no_quic() {
    let packets = [
        // Too short to open a connection, an unknown version, short headers of none, DNS.
        long(0, false, INITIAL, 1, 1_100),
        long(10, false, INITIAL, 0x0a0a_0a0a, 1_200),
        datagram(20, true, &[SHORT | SPIN], 500),
        datagram(30, false, &[0x12, 0x34, 1, 0], 40),
        datagram(40, false, &[], 0),
    ];
    assert_eq!(quic(&pcap_of(101, packets)).rows(), 0);
}
