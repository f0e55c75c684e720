//! How connections go on: periods, and what holds a sender back. All is captured at the server; the client is 50 ms away.

use crate::recording::{ACK, PSH, Told, down, handshake, pcap, periods, read, up};

const MSS: u32 = 1_000;

/// A segment that is sent at a time in us, and acknowledged so much later.
fn round(at: u64, place: u32, took: u64) -> [Told; 2] {
    let seq = 1 + place * MSS;
    [down(at, ACK, seq, MSS, 1), up(at + took, ACK, 1, 0, seq + MSS).window(30_000 - place as u16)]
}

#[test]
fn each_period_is_twice_as_long_and_has_its_own_round_trips() {
    let mut packets = handshake();
    packets.extend(round(50_200, 0, 49_700));
    packets.extend(round(150_000, 1, 60_000));
    packets.extend(round(210_000, 2, 80_000));
    packets.extend(round(650_000, 3, 200_000));
    let told = periods(&packets);
    let down: Vec<_> = (0..told.rows()).filter(|row| told.text("way", *row) == "down").collect();
    let numbers = |name: &str| -> Vec<_> { down.iter().map(|row| told.number(name, *row)).collect() };
    let integers = |name: &str| -> Vec<_> { down.iter().map(|row| told.integer(name, *row)).collect() };
    assert_eq!(integers("period"), [1, 2, 3, 4]);
    assert_eq!(numbers("begin_ms"), [Some(0.0), Some(100.0), Some(300.0), Some(700.0)]);
    assert_eq!(numbers("end_ms"), [Some(100.0), Some(300.0), Some(700.0), Some(850.0)]);
    assert_eq!(integers("bytes"), [1_000, 2_000, 1_000, 0]);
    assert_eq!(integers("rtt_samples"), [2, 2, 0, 1]);
    assert_eq!(numbers("rtt_min_ms"), [Some(49.7), Some(60.0), None, Some(200.0)]);
    assert_eq!(numbers("rtt_mean_ms"), [Some(49.85), Some(70.0), None, Some(200.0)]);
    assert_eq!(numbers("rtt_max_ms"), [Some(50.0), Some(80.0), None, Some(200.0)]);
}

#[test]
fn what_a_period_sends_again_and_has_on_its_way_is_its_own() {
    let mut packets = handshake();
    packets.extend([
        down(60_000, ACK, 1, MSS, 1),
        down(60_001, ACK, 1_001, MSS, 1),
        down(360_000, ACK, 1, MSS, 1),
        up(410_000, ACK, 1, 0, 2_001).window(7_000),
    ]);
    let told = periods(&packets);
    let rows: Vec<_> = (0..told.rows()).filter(|row| told.text("way", *row) == "down").collect();
    let integers = |name: &str| -> Vec<_> { rows.iter().map(|row| told.integer(name, *row)).collect() };
    assert_eq!(integers("period"), [1, 3]);
    assert_eq!(integers("most_in_flight"), [2_000, 0]);
    assert_eq!(integers("retransmitted_packets"), [0, 1]);
}

#[test]
fn without_being_asked_for_there_are_no_periods() {
    let (connections, ..) = read(&pcap(&handshake()));
    assert_eq!(connections.integer("packets_up", 0), 2);
}

#[test]
fn a_receive_window_without_room_holds_the_sender_back() {
    let mut packets = handshake();
    packets.extend([
        up(50_200, ACK | PSH, 1, 300, 1).window(3_000),
        down(50_300, ACK, 1, MSS, 301),
        down(50_301, ACK, 1_001, MSS, 301),
        down(50_302, ACK, 2_001, MSS, 301),
        // Its application reads late.
        up(100_302, ACK, 301, 0, 3_001).window(0),
        up(400_302, ACK, 301, 0, 3_001).window(60_000),
        down(400_400, ACK, 3_001, MSS, 301),
        up(450_400, ACK, 301, 0, 4_001).window(60_000),
    ]);
    let (connections, ..) = read(&pcap(&packets));
    assert_eq!(connections.number("window_limited_ms_down", 0), Some(350.0));
    assert_eq!(connections.number("window_limited_ms_up", 0), Some(0.0));
    // The SYN-ACK, and two times data until it was acknowledged.
    assert_eq!(connections.number("busy_ms_down", 0), Some(50.0 + 50.002 + 50.0));
}

#[test]
fn flights_that_the_window_ended_are_told_from_those_of_the_application() {
    let mut packets = handshake();
    let (full, mut next, mut asked, mut at) = (1_460, 1, 1, 50_200);
    for (segments, request) in [(4, 300), (2, 0), (2, 300), (1, 300)] {
        packets.push(up(at, ACK | PSH, asked, request, next));
        asked += request;
        for segment in 0..segments {
            packets.push(down(at + 100 + segment, ACK, next, full, asked));
            next += full;
        }
        at += 50_200;
    }
    packets.push(up(at, ACK, asked, 0, next));
    let (connections, ..) = read(&pcap(&packets));
    assert_eq!(connections.integer("flights_down", 0), 4);
    assert_eq!(connections.integer("cwnd_limited_flights_down", 0), 1);
}
