//! Why something was sent again. All is captured at the server; the client is 50 ms away.

use crate::recording::{ACK, SYN, Told, down, handshake, pcap, read, up};

const MSS: u32 = 1_000;

/// A handshake, and so many segments of 1,000 bytes at 60 ms, of which the first is acknowledged.
fn flight(segments: u32) -> Vec<Told> {
    let mut packets = handshake();
    packets.extend((0..segments).map(|n| down(60_000 + u64::from(n), ACK, 1 + n * MSS, MSS, 1)));
    packets.push(up(110_000, ACK, 1, 0, 1 + MSS));
    packets
}

fn causes(packets: &[Told]) -> Vec<String> {
    let (_, again, end) = read(&pcap(packets));
    end.unwrap();
    again.texts("cause").into_iter().map(str::to_owned).collect()
}

#[test]
fn what_sack_shows_to_be_lost_is_sent_again_fast() {
    let mut packets = flight(6);
    packets.extend([
        up(110_001, ACK, 1, 0, 1_001).sack(&[(2_001, 3_001)]),
        up(110_002, ACK, 1, 0, 1_001).sack(&[(2_001, 4_001)]),
        up(110_003, ACK, 1, 0, 1_001).sack(&[(2_001, 5_001)]),
        down(110_004, ACK, 1_001, MSS, 1),
        up(160_004, ACK, 1, 0, 6_001),
    ]);
    assert_eq!(causes(&packets), ["fast"]);
    let (connections, again, _) = read(&pcap(&packets));
    assert_eq!(connections.integer("retransmitted_bytes_down", 0), 1_000);
    assert_eq!(connections.integer("triple_duplicate_acks_up", 0), 1);
    assert_eq!((again.integer("seq", 0), again.integer("bytes", 0)), (1_001, 1_000));
    assert_eq!(again.text("way", 0), "down");
    assert_eq!(again.number("after_ms", 0), Some(50.003));
    assert!(!again.boolean("spurious", 0));
}

#[test]
fn the_last_segment_after_a_silence_is_a_tail_loss_probe() {
    let mut packets = flight(4);
    packets.extend([
        // Two round trips after the last acknowledgement.
        down(215_000, ACK, 3_001, MSS, 1),
        up(265_000, ACK, 1, 0, 1_001).sack(&[(3_001, 4_001)]),
        // It showed what is lost.
        down(265_001, ACK, 1_001, MSS, 1),
        down(265_002, ACK, 2_001, MSS, 1),
        up(315_002, ACK, 1, 0, 4_001),
    ]);
    assert_eq!(causes(&packets), ["tail_loss_probe", "fast", "fast"]);
}

#[test]
fn after_a_timeout_all_that_was_on_its_way_is_sent_again() {
    let mut packets = flight(4);
    packets.extend([
        down(215_000, ACK, 3_001, MSS, 1),
        // Nothing comes back.
        down(520_000, ACK, 1_001, MSS, 1),
        up(570_000, ACK, 1, 0, 2_001),
        down(570_001, ACK, 2_001, MSS, 1),
        down(570_002, ACK, 3_001, MSS, 1),
        up(620_001, ACK, 1, 0, 4_001),
    ]);
    assert_eq!(causes(&packets), ["tail_loss_probe", "timeout", "timeout", "timeout"]);
}

#[test]
fn a_second_timeout_is_one_as_well() {
    let mut packets = flight(2);
    packets.extend([
        down(360_000, ACK, 1_001, MSS, 1),
        down(660_000, ACK, 1_001, MSS, 1),
        down(1_260_000, ACK, 1_001, MSS, 1),
        up(1_310_000, ACK, 1, 0, 2_001),
    ]);
    // Of a single segment the first one is a probe: Linux sends it in place of a timeout.
    assert_eq!(causes(&packets), ["tail_loss_probe", "timeout", "timeout"]);
}

#[test]
fn what_is_lost_again_after_a_timeout_is_found_by_acknowledgements_and_so_is_all_after_it() {
    let mut packets = flight(6);
    packets.extend([
        down(520_000, ACK, 1_001, MSS, 1),
        up(570_000, ACK, 1, 0, 2_001),
        down(570_001, ACK, 2_001, MSS, 1),
        down(570_002, ACK, 3_001, MSS, 1),
        up(620_002, ACK, 1, 0, 2_001).sack(&[(3_001, 4_001)]),
        // It came after what was sent after this, which is lost once more.
        down(620_003, ACK, 2_001, MSS, 1),
        up(670_003, ACK, 1, 0, 4_001),
        down(670_004, ACK, 4_001, MSS, 1),
        down(670_005, ACK, 5_001, MSS, 1),
        up(720_005, ACK, 1, 0, 6_001),
    ]);
    // Linux counts the last two as TCPFastRetrans, without that loss as TCPSlowStartRetrans.
    assert_eq!(causes(&packets), ["timeout", "timeout", "timeout", "fast", "fast", "fast"]);
}

#[test]
fn a_timer_that_waits_for_reordered_segments_is_no_timeout() {
    // 20 ms away. The kernel's timer goes off by its ticks, which may be of 4 ms, and later where queues have grown.
    let handshake = [up(0, SYN, 0, 0, 0), down(10, SYN | ACK, 0, 0, 1), up(20_000, ACK, 1, 0, 1)];
    let flight = (0..6).map(|n| down(30_000 + u64::from(n), ACK, 1 + n * MSS, MSS, 1));
    let begun: Vec<Told> = handshake.into_iter().chain(flight).collect();
    let again_at = |us: u64, sacked: bool| {
        let news = up(50_005, ACK, 1, 0, 1_001);
        let news = if sacked { news.sack(&[(5_001, 6_001)]) } else { news };
        let again = if sacked { 1_001 } else { 5_001 };
        let more =
            [up(50_000, ACK, 1, 0, 1_001), news, down(us, ACK, again, MSS, 1), up(us + 20_000, ACK, 1, 0, 6_001)];
        causes(&begun.iter().cloned().chain(more).collect::<Vec<_>>())
    };
    assert_eq!(again_at(65_200, true), ["fast"]);
    assert_eq!(again_at(139_000, true), ["fast"], "109 ms after it was sent");
    assert_eq!(again_at(260_000, true), ["timeout"]);
    // Without news of what is beyond a gap nothing of the kind goes off.
    assert_eq!(again_at(65_200, false), ["tail_loss_probe"]);
}

#[test]
fn without_sack_three_duplicates_and_what_follows_are_fast() {
    let mut packets = flight(6);
    packets.extend([
        up(110_001, ACK, 1, 0, 1_001),
        up(110_002, ACK, 1, 0, 1_001),
        up(110_003, ACK, 1, 0, 1_001),
        down(110_004, ACK, 1_001, MSS, 1),
        // A part of what was on its way: the next one is lost as well (RFC 6582).
        up(160_004, ACK, 1, 0, 3_001),
        down(160_005, ACK, 3_001, MSS, 1),
        up(210_005, ACK, 1, 0, 6_001),
    ]);
    assert_eq!(causes(&packets), ["fast", "fast"]);
}

#[test]
fn a_d_sack_says_that_it_was_for_nothing() {
    let mut packets = flight(3);
    packets.extend([
        down(300_000, ACK, 1_001, MSS, 1),
        // The acknowledgements were only late.
        up(310_000, ACK, 1, 0, 3_001),
        up(350_000, ACK, 1, 0, 3_001).sack(&[(1_001, 2_001)]),
    ]);
    let (connections, again, _) = read(&pcap(&packets));
    assert_eq!(again.texts("cause"), ["timeout"]);
    assert!(again.boolean("spurious", 0));
    assert_eq!(connections.integer("spurious_down", 0), 1);
    assert_eq!(connections.integer("dsack_packets_up", 0), 1);
}

#[test]
fn an_echo_of_the_original_says_that_it_was_for_nothing() {
    let again_at = |ts_ecr: u32| {
        let mut packets = handshake();
        packets.extend([
            down(60_000, ACK, 1, MSS, 1).stamped(60, 50),
            down(360_000, ACK, 1, MSS, 1).stamped(360, 50),
            up(412_000, ACK, 1, 0, 1_001).stamped(405, ts_ecr),
        ]);
        let (_, again, _) = read(&pcap(&packets));
        again.boolean("spurious", 0)
    };
    assert!(again_at(60));
    assert!(!again_at(360));
}

#[test]
fn what_comes_in_another_order_was_not_sent_again() {
    let mut packets = handshake();
    packets.extend([
        down(60_000, ACK, 1, MSS, 1),
        down(60_002, ACK, 2_001, MSS, 1),
        down(60_003, ACK, 1_001, MSS, 1),
        up(110_000, ACK, 1, 0, 3_001),
    ]);
    let (connections, again, _) = read(&pcap(&packets));
    assert_eq!(again.rows(), 0);
    assert_eq!(connections.integer("out_of_order_packets_down", 0), 1);
    assert_eq!(connections.integer("bytes_down", 0), 3_000);
}

#[test]
fn a_round_trip_is_not_measured_by_what_had_to_wait_for_what_was_sent_again() {
    let mut packets = flight(5);
    packets.extend([
        // The second and the fourth were lost; the third and the fifth wait for them.
        up(110_001, ACK, 1, 0, 1_001).sack(&[(2_001, 3_001)]),
        up(110_002, ACK, 1, 0, 1_001).sack(&[(4_001, 5_001), (2_001, 3_001)]),
        down(110_003, ACK, 1_001, MSS, 1),
        down(110_004, ACK, 3_001, MSS, 1),
        up(160_003, ACK, 1, 0, 3_001).sack(&[(4_001, 5_001)]),
        up(160_004, ACK, 1, 0, 5_001),
    ]);
    let (connections, again, _) = read(&pcap(&packets));
    assert_eq!(again.texts("cause"), ["fast", "fast"]);
    // Those of the handshake and of the first are left.
    assert_eq!(connections.integer("rtt_samples_down", 0), 2);
}

#[test]
fn a_round_trip_is_not_measured_by_what_was_sent_twice() {
    let mut packets = handshake();
    packets.extend([
        down(60_000, ACK, 1, MSS, 1),
        down(400_000, ACK, 1, MSS, 1),
        up(420_000, ACK, 1, 0, 1_001),
        down(430_000, ACK, 1_001, MSS, 1),
        up(480_000, ACK, 1, 0, 2_001),
    ]);
    let (connections, _, _) = read(&pcap(&packets));
    assert_eq!(connections.integer("rtt_samples_down", 0), 2);
    assert_eq!(connections.number("rtt_min_ms_down", 0), Some(50.0));
    assert_eq!(connections.number("rtt_max_ms_down", 0), Some(50.0));
}

#[test]
fn a_long_connection_tells_of_its_retransmissions_before_it_ends() {
    let mut packets = handshake();
    for n in 0..1_000_u32 {
        let at = 60_000 + u64::from(n) * 400_000;
        packets.push(down(at, ACK, 1 + n * MSS, MSS, 1));
        packets.push(down(at + 300_000, ACK, 1 + n * MSS, MSS, 1));
        packets.push(up(at + 350_000, ACK, 1, 0, 1 + (n + 1) * MSS));
    }
    let (connections, again, _) = read(&pcap(&packets));
    assert_eq!(again.rows(), 1_000);
    assert_eq!(connections.integer("retransmitted_packets_down", 0), 1_000);
    let order: Vec<u64> = (0..1_000).map(|row| again.integer("seq", row)).collect();
    assert!(order.is_sorted());
}

#[test]
fn a_server_whose_timer_expires_where_others_probe_sends_no_probes() {
    let mut packets = flight(4);
    packets.extend([
        // The first of three after a silence: a system with probes would have sent the last one before.
        down(420_000, ACK, 1_001, MSS, 1),
        up(470_000, ACK, 1, 0, 4_001),
        down(470_001, ACK, 4_001, MSS, 1),
        down(830_000, ACK, 4_001, MSS, 1),
        up(880_000, ACK, 1, 0, 5_001),
    ]);
    assert_eq!(causes(&packets), ["timeout", "timeout"]);
}

/// One segment is sent again after silences, at these times in us. When it is acknowledged, flights of so many segments follow.
fn after_a_doubt(again: &[u64], flights: &[u32]) -> Vec<String> {
    let full = 1_460;
    let mut packets = handshake();
    packets.extend([up(59_000, ACK, 1, 300, 1), down(60_000, ACK, 1, full, 301)]);
    packets.extend(again.iter().map(|at| down(*at, ACK, 1, full, 301)));
    packets.extend([up(1_410_000, ACK, 301, 0, 1 + full), up(1_411_000, ACK, 301, 300, 1 + full)]);
    let (mut at, mut next) = (1_411_100, 1 + full);
    for segments in flights {
        for _ in 0..*segments {
            packets.push(down(at, ACK, next, full, 601));
            next += full;
        }
        packets.push(up(at + 50_000, ACK, 601, 0, next));
        at += 50_100;
    }
    causes(&packets)
}

#[test]
fn a_window_of_two_segments_after_it_shows_that_a_probe_was_a_timeout() {
    assert_eq!(after_a_doubt(&[360_000], &[2, 4]), ["timeout"]);
    // The timeout after it has made the window small.
    assert_eq!(after_a_doubt(&[360_000, 660_000], &[2, 4]), ["tail_loss_probe", "timeout"]);
    // The window is what it was.
    assert_eq!(after_a_doubt(&[360_000], &[10, 20]), ["tail_loss_probe"]);
    // It was no window that ended this one.
    assert_eq!(after_a_doubt(&[360_000], &[2]), ["tail_loss_probe"]);
}

#[test]
fn a_timer_expires_also_while_there_is_news_of_others() {
    let mut packets = flight(12);
    for n in 0..9 {
        let sacked = [(2_001, 3_001 + n * MSS)];
        packets.push(up(110_001 + u64::from(n) * 40_000, ACK, 1, 0, 1_001).sack(&sacked));
        if n == 0 {
            packets.push(down(110_002, ACK, 1_001, MSS, 1));
        }
    }
    packets.insert(packets.len() - 1, down(420_000, ACK, 1_001, MSS, 1));
    assert_eq!(causes(&packets), ["fast", "timeout"]);
}

#[test]
fn an_acknowledgement_that_comes_too_soon_is_one_of_the_original() {
    let spurious_at = |at: u64| {
        let mut packets = flight(2);
        packets.extend([down(360_000, ACK, 1_001, MSS, 1), up(at, ACK, 1, 0, 2_001)]);
        let (connections, again, _) = read(&pcap(&packets));
        assert_eq!(connections.integer("spurious_down", 0), u64::from(again.boolean("spurious", 0)));
        again.boolean("spurious", 0)
    };
    assert!(spurious_at(370_000));
    assert!(!spurious_at(410_000));
}

#[test]
fn each_d_sack_is_for_one_copy_and_the_latest_first() {
    let mut packets = flight(2);
    packets.extend([
        down(360_000, ACK, 1_001, MSS, 1),
        down(860_000, ACK, 1_001, MSS, 1),
        // Too soon to be the answer of the second copy, so it came for nothing; its D-SACK says so once more.
        up(865_000, ACK, 1, 0, 2_001),
        up(910_000, ACK, 1, 0, 2_001).sack(&[(1_001, 2_001)]),
    ]);
    let (_, again, _) = read(&pcap(&packets));
    assert_eq!([again.boolean("spurious", 0), again.boolean("spurious", 1)], [false, true]);
}

#[test]
fn a_syn_that_was_answered_already_is_for_nothing() {
    let packets = [
        up(0, SYN, 0, 0, 0),
        down(100, SYN | ACK, 0, 0, 1),
        up(1_000_000, SYN, 0, 0, 0),
        down(1_000_100, SYN | ACK, 0, 0, 1),
        up(1_050_100, ACK, 1, 0, 1),
    ];
    let (_, again, _) = read(&pcap(&packets));
    assert_eq!(again.texts("cause"), ["syn", "syn"]);
    assert_eq!([again.boolean("spurious", 0), again.boolean("spurious", 1)], [true, false]);
}
