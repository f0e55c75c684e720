//! What is told of a connection.

use crate::recording::{ACK, FIN, PSH, RST, SYN, Told, down, handshake, pcap, pcap_of, read, read_within, up};
use loadstone_capture::AnalyzerLimits;

/// A request of 400 bytes and a response of 5,000, captured at the server; 50 ms away is the client.
fn exchange() -> Vec<Told> {
    let mut packets = handshake();
    packets.extend([
        up(50_200, ACK | PSH, 1, 400, 1),
        down(50_300, ACK, 1, 0, 401),
        down(52_000, ACK, 1, 1_400, 401),
        down(52_001, ACK, 1_401, 1_400, 401),
        down(52_002, ACK, 2_801, 1_400, 401),
        up(102_000, ACK, 401, 0, 1_401),
        up(103_001, ACK, 401, 0, 4_201),
        down(103_002, ACK | PSH, 4_201, 800, 401),
        up(153_002, ACK, 401, 0, 5_001),
        down(153_100, ACK | FIN, 5_001, 0, 401),
        up(203_100, ACK | FIN, 401, 0, 5_002),
        down(203_200, ACK, 5_002, 0, 402),
    ]);
    packets
}

#[test]
fn an_exchange_is_counted_and_timed() {
    let (connections, again, end) = read(&pcap(&exchange()));
    end.unwrap();
    assert_eq!((connections.rows(), again.rows()), (1, 0));
    assert_eq!(connections.text("client", 0), "10.0.0.1");
    assert_eq!(connections.integer("server_port", 0), 443);
    assert_eq!(connections.integer("bytes_up", 0), 400);
    // The server's numbers wrap on the way.
    assert_eq!(connections.integer("bytes_down", 0), 5_000);
    assert_eq!(connections.integer("data_packets_down", 0), 4);
    assert_eq!(connections.integer("most_in_flight_down", 0), 4_200);
    assert_eq!(connections.number("duration_ms", 0), Some(203.2));
    assert!(connections.boolean("opened", 0) && connections.boolean("closed", 0));
    // The first round trip is that of the SYN-ACK; what ends within an acknowledgement measures nothing.
    assert_eq!(connections.integer("rtt_samples_down", 0), 5);
    assert_eq!(connections.number("rtt_min_ms_down", 0), Some(50.0));
    assert_eq!(connections.number("rtt_max_ms_down", 0), Some(50.999));
    assert_eq!(connections.number("rtt_median_ms_down", 0), Some(50.0));
    assert_eq!(connections.number("rtt_min_ms_up", 0), Some(0.1));
}

#[test]
fn the_first_flight_ends_when_the_first_data_is_acknowledged() {
    let (connections, _, _) = read(&pcap(&exchange()));
    assert_eq!(connections.integer("first_flight_packets_down", 0), 3);
    assert_eq!(connections.integer("first_flight_bytes_down", 0), 4_200);
}

#[test]
fn what_is_sent_again_is_no_more_of_the_first_flight() {
    let mut packets = handshake();
    packets.extend([
        down(60_000, ACK, 1, 1_000, 1),
        down(360_000, ACK, 1, 1_000, 1),
        up(410_000, ACK, 1, 0, 1_001),
        down(410_001, ACK, 1_001, 1_000, 1),
    ]);
    let (connections, _, _) = read(&pcap(&packets));
    assert_eq!(connections.integer("first_flight_packets_down", 0), 1);
    assert_eq!(connections.integer("first_flight_bytes_down", 0), 1_000);
}

#[test]
fn the_handshake_says_where_it_was_captured() {
    let at = |syn_ack: u64, ack: u64| {
        let packets = [up(0, SYN, 0, 0, 0), down(syn_ack, SYN | ACK, 0, 0, 1), up(ack, ACK, 1, 0, 1)];
        read(&pcap(&packets)).0.text("captured_at", 0).to_owned()
    };
    assert_eq!(at(100, 50_000), "server");
    assert_eq!(at(50_000, 50_100), "client");
    assert_eq!(at(20_000, 50_000), "between");
}

#[test]
fn the_next_connection_of_the_same_ends_is_another_one() {
    let mut packets = exchange();
    // Another SYN with other numbers: counted from the old ones.
    packets.extend([up(300_000, SYN, 70_000, 0, 0), down(300_100, SYN | ACK, 90_000, 0, 70_001)]);
    let (connections, again, _) = read(&pcap(&packets));
    assert_eq!((connections.rows(), again.rows()), (2, 0));
    // Of each the number of its first packet.
    assert_eq!((connections.integer("connection", 0), connections.integer("connection", 1)), (1, 16));
    assert_eq!(connections.integer("packets_up", 1), 1);
}

#[test]
fn a_syn_that_is_sent_again_is_no_other_connection() {
    let packets = [up(0, SYN, 0, 0, 0), up(1_000_000, SYN, 0, 0, 0), down(1_050_000, SYN | ACK, 0, 0, 1)];
    let (connections, again, _) = read(&pcap(&packets));
    assert_eq!(connections.rows(), 1);
    assert_eq!(connections.integer("syn_retransmissions_up", 0), 1);
    assert_eq!(again.texts("cause"), ["syn"]);
    // Nobody knows which of the two was answered.
    assert_eq!(connections.number("server_handshake_ms", 0), None);
    assert_eq!(connections.number("rtt_min_ms_up", 0), None);
}

#[test]
fn a_capture_that_begins_in_the_middle_says_so() {
    let packets = [down(0, ACK, 9_001, 1_000, 501), up(50_000, ACK, 501, 0, 10_001), up(50_001, RST, 501, 0, 0)];
    let (connections, _, _) = read(&pcap(&packets));
    assert!(!connections.boolean("opened", 0) && connections.boolean("closed", 0));
    // The lower port is the server's.
    assert_eq!(connections.integer("server_port", 0), 443);
    assert_eq!(connections.integer("bytes_down", 0), 1_000);
    assert_eq!(connections.integer("first_flight_packets_down", 0), 0);
    assert_eq!(connections.number("rtt_min_ms_down", 0), Some(50.0));
}

#[test]
fn what_was_acknowledged_and_not_captured_is_told() {
    let mut packets = handshake();
    packets.extend([down(60_000, ACK, 1, 1_000, 1), up(110_000, ACK, 1, 0, 3_001)]);
    let (connections, _, _) = read(&pcap(&packets));
    assert_eq!(connections.integer("unseen_bytes_down", 0), 2_000);
}

#[test]
fn windows_are_counted_where_they_close() {
    let mut packets = handshake();
    packets.extend([
        down(60_000, ACK, 1, 1_000, 1),
        up(110_000, ACK, 1, 0, 1_001).window(0),
        // A probe of the closed window is no retransmission.
        down(400_000, ACK, 1_001, 1, 1),
        up(450_000, ACK, 1, 0, 1_001).window(0),
        down(900_000, ACK, 1_001, 1, 1),
        up(950_000, ACK, 1, 0, 1_001).window(9_000),
    ]);
    let (connections, again, _) = read(&pcap(&packets));
    assert_eq!(connections.integer("zero_windows_up", 0), 2);
    assert_eq!(connections.integer("window_probes_down", 0), 1);
    assert_eq!(connections.integer("retransmitted_packets_down", 0), 0);
    assert_eq!(again.texts("cause"), ["window_probe"]);
}

#[test]
fn a_silent_connection_is_over_and_what_comes_later_is_another() {
    let minute = 60_000_000;
    let mut packets = handshake();
    packets.push(up(20 * minute, ACK, 1, 0, 1).of_port(1));
    packets.push(down(21 * minute, ACK, 1, 10, 1));
    let (connections, _, _) = read(&pcap(&packets));
    assert_eq!(connections.rows(), 3);
    let patient = AnalyzerLimits { idle: 3_600, ..AnalyzerLimits::default() };
    assert_eq!(read_within(&pcap(&packets), patient).0.rows(), 2);
}

#[test]
fn no_more_connections_are_kept_than_allowed() {
    let second = 1_000_000;
    // None of them is ever closed.
    let packets: Vec<Told> = (0..2_000).map(|n| up(u64::from(n) * second / 10, SYN, 0, 0, 0).of_port(n)).collect();
    let few = AnalyzerLimits { open: 100, ..AnalyzerLimits::default() };
    let (connections, _, _) = read_within(&pcap(&packets), few);
    assert_eq!(connections.rows(), 2_000);
    let all: u64 = (0..2_000).map(|row| connections.integer("packets_up", row)).sum();
    assert_eq!(all, 2_000);
}

#[test]
fn a_packet_that_was_captured_twice_counts_once() {
    let mut packets = Vec::new();
    for packet in exchange() {
        packets.extend([packet.clone(), packet]);
    }
    let (twice, again, _) = read(&pcap(&packets));
    let (once, _, _) = read(&pcap(&exchange()));
    assert_eq!(again.rows(), 0);
    assert_eq!(twice.integer("captured_twice_down", 0), once.integer("packets_down", 0));
    for name in ["packets_down", "bytes_down", "rtt_samples_down", "duplicate_acks_up"] {
        assert_eq!(twice.integer(name, 0), once.integer(name, 0), "{name}");
    }
}

/// The initial window of a server that sends flights of so many segments. After each there is a round trip, and then more
/// at once or a new request, as `limited` says.
fn initial_window(flights: &[(u32, bool)], window: u16, last_len: u32) -> Option<u64> {
    let mut packets = handshake();
    let (mut at, mut next, mut asked) = (50_200, 1, 1);
    packets.push(up(at, ACK | PSH, asked, 300, 1).window(window));
    asked += 300;
    for (segments, limited) in flights {
        for segment in 0..*segments {
            let len = if segment + 1 == *segments { last_len } else { 1_460 };
            packets.push(down(at + 100 + u64::from(segment), ACK, next, len, asked));
            next += len;
        }
        at += 50_100;
        let request = if *limited { 0 } else { 300 };
        packets.push(up(at, ACK, asked, request, next).window(window));
        asked += request;
    }
    packets.push(down(at + 100, ACK, next, 1_460, asked));
    packets.push(up(at + 50_100, ACK, asked, 0, next + 1_460).window(window));
    let (connections, _, _) = read(&pcap(&packets));
    connections.known("initial_window_down", 0).then(|| connections.integer("initial_window_down", 0))
}

#[test]
fn the_initial_window_is_known_where_it_ended_a_flight() {
    assert_eq!(initial_window(&[(10, true)], 60_000, 1_460), Some(10));
    assert_eq!(initial_window(&[(3, true)], 60_000, 1_460), Some(3));
    // The application ended it, with a part of a segment or until the next request.
    assert_eq!(initial_window(&[(10, true)], 60_000, 700), None);
    assert_eq!(initial_window(&[(10, false)], 60_000, 1_460), None);
    // The receiver ended it.
    assert_eq!(initial_window(&[(10, true)], 15_000, 1_460), None);
}

#[test]
fn a_small_flight_before_it_changes_no_initial_window_and_a_larger_one_may() {
    assert_eq!(initial_window(&[(2, false), (10, true)], 60_000, 1_460), Some(10));
    // The window of ten may have grown to sixteen, and was not sixteen.
    assert_eq!(initial_window(&[(6, false), (16, true)], 60_000, 1_460), None);
}

#[test]
fn segments_that_the_card_cuts_count_as_they_are_on_the_wire() {
    let mut packets = handshake();
    packets.extend([
        up(50_200, ACK | PSH, 1, 300, 1),
        down(50_300, ACK, 1, 5 * 1_460, 301),
        down(50_301, ACK, 7_301, 5 * 1_460, 301),
        up(100_300, ACK, 301, 0, 14_601),
        down(100_400, ACK, 14_601, 1_460, 301),
    ]);
    assert_eq!(read(&pcap(&packets)).0.integer("initial_window_down", 0), 10);
}

#[test]
fn timestamps_measure_a_round_trip_where_data_was_sent_again() {
    let mut packets = handshake();
    packets.extend([
        down(60_000, ACK, 1, 1_000, 1).stamped(600, 500),
        down(360_000, ACK, 1, 1_000, 1).stamped(900, 500),
        // The echo says that the copy is what arrived.
        up(412_000, ACK, 1, 0, 1_001).stamped(550, 900),
    ]);
    let (connections, _, _) = read(&pcap(&packets));
    assert_eq!(connections.number("timestamp_rtt_min_ms_down", 0), Some(52.0));
    assert_eq!(connections.integer("rtt_samples_down", 0), 1);
}

#[test]
fn many_timestamps_under_way_measure_as_few_do() {
    let mut packets = handshake();
    let at = |n: u32| 60_000 + u64::from(n) * 1_000;
    // A segment each millisecond, each acknowledged 50 ms later.
    for n in 0..200 {
        packets.push(down(at(n), ACK, 1 + n * 100, 100, 1).stamped(600 + n, 500));
        if let Some(acked) = n.checked_sub(50) {
            packets.push(up(at(n) + 1, ACK, 1, 0, 1 + (acked + 1) * 100).stamped(550 + n, 600 + acked));
        }
    }
    let (connections, _, _) = read(&pcap(&packets));
    assert_eq!(connections.number("timestamp_rtt_min_ms_down", 0), Some(50.001));
}

/// The initial window as a client's capture shows it: the server is 50 ms away, and segments of its flight come `apart` us
/// apart.
fn initial_window_at_client(segments: u32, apart: u64) -> Option<u64> {
    let mut packets = vec![up(0, SYN, 0, 0, 0), down(50_000, SYN | ACK, 0, 0, 1), up(50_100, ACK, 1, 0, 1)];
    packets.push(up(50_200, ACK | PSH, 1, 300, 1));
    let arrives = |n: u32| 100_200 + u64::from(n) * apart;
    let mut told: Vec<_> =
        (0..segments).map(|n| (arrives(n), down(arrives(n), ACK, 1 + n * 1_460, 1_460, 301))).collect();
    for n in 0..segments {
        // Acknowledged at once, which lets two more go; they come after those that are on their way.
        let at = (arrives(n) + 50_010).max(arrives(segments));
        let ack = up(arrives(n) + 10, ACK, 301, 0, 1 + (n + 1) * 1_460);
        told.push((arrives(n) + 10, ack));
        told.push((at, down(at, ACK, 1 + (segments + n) * 1_460, 1_460, 301)));
    }
    told.sort_by_key(|(at, _)| *at);
    packets.extend(told.into_iter().map(|(_, packet)| packet));
    let (connections, _, _) = read(&pcap(&packets));
    connections.known("initial_window_down", 0).then(|| connections.integer("initial_window_down", 0))
}

#[test]
fn a_client_sees_the_initial_window_where_the_flight_is_over_before_more_can_come() {
    assert_eq!(initial_window_at_client(10, 100), Some(10));
    assert_eq!(initial_window_at_client(4, 2_000), Some(4));
    // It may be what a loss has left.
    assert_eq!(initial_window_at_client(1, 100), None);
    // On a slow link the flight has no end.
    assert_eq!(initial_window_at_client(10, 6_000), None);
}

#[test]
fn a_flight_whose_end_was_lost_before_the_capture_tells_no_initial_window() {
    let mut packets = vec![up(0, SYN, 0, 0, 0), down(50_000, SYN | ACK, 0, 0, 1), up(50_100, ACK, 1, 0, 1)];
    packets.push(up(50_200, ACK | PSH, 1, 300, 1));
    packets.extend((0..4).map(|n| down(100_200 + u64::from(n), ACK, 1 + n * 1_460, 1_460, 301)));
    packets.push(up(100_210, ACK, 301, 0, 1 + 4 * 1_460));
    // Six more were on their way.
    packets.push(down(150_220, ACK, 1 + 10 * 1_460, 1_460, 301));
    packets.push(up(150_230, ACK, 301, 0, 1 + 4 * 1_460));
    assert!(!read(&pcap(&packets)).0.known("initial_window_down", 0));
}

#[test]
fn a_loss_before_it_leaves_the_initial_window_unknown() {
    let mut packets = handshake();
    packets.extend([
        up(50_200, ACK | PSH, 1, 300, 1),
        down(50_300, ACK, 1, 1_460, 301),
        down(350_300, ACK, 1, 1_460, 301),
        up(400_300, ACK, 301, 300, 1_461),
    ]);
    packets.extend((0..10).map(|n| down(400_400 + u64::from(n), ACK, 1_461 + n * 1_460, 1_460, 601)));
    packets.push(up(450_400, ACK, 601, 0, 1 + 11 * 1_460));
    packets.push(down(450_500, ACK, 1 + 11 * 1_460, 1_460, 601));
    packets.push(up(500_500, ACK, 601, 0, 1 + 12 * 1_460));
    assert!(!read(&pcap(&packets)).0.known("initial_window_down", 0));
}

#[test]
fn the_window_of_a_syn_counts_where_windows_are_not_scaled() {
    let packets =
        [up(0, SYN, 0, 0, 0).window(9_000), down(100, SYN | ACK, 0, 0, 1), up(200, ACK, 1, 0, 1).window(8_000)];
    let (connections, ..) = read(&pcap(&packets));
    assert_eq!(connections.integer("largest_window_up", 0), 9_000);
    assert_eq!(connections.integer("smallest_window_up", 0), 8_000);
}

#[test]
fn the_same_number_of_ip_is_a_copy_of_the_packet_at_once_and_a_retransmission_later() {
    let twice = |apart: u64| {
        let mut bytes = handshake().iter().map(|told| (told.us, told.ipv4())).collect::<Vec<_>>();
        let told = down(60_000, ACK, 1, 1_000, 1);
        bytes.extend([(60_000, told.ipv4()), (60_000 + apart, told.ipv4())]);
        let packets = bytes.into_iter().map(|(us, packet)| {
            let size = packet.len() as u32;
            (us, packet, size)
        });
        let (connections, ..) = read(&pcap_of(101, packets));
        ["captured_twice_down", "retransmitted_packets_down"].map(|name| connections.integer(name, 0))
    };
    assert_eq!(twice(1_000), [1, 0]);
    assert_eq!(twice(300_000), [0, 1]);
}
