//! The model fed by hand: rounds of 100 ms, each acknowledged as a whole unless a test says otherwise.

use super::*;
use crate::tcp::congestion::{Controller, RttSample};

const MSS: u32 = 1448;
const RTT: u64 = 100_000_000;

struct Path {
    bbr: Bbr,
    window: CongestionWindow,
    now: Time,
    delivered: u64,
    lost: u64,
    /// What the next acknowledgements say in addition to what is delivered.
    losses: u32,
    repair: CongestionState,
    app_limited: bool,
    in_flight: u32,
}

impl Path {
    fn new(window: u32) -> Path {
        let (mut bbr, window, now) = (Bbr::new(MSS), CongestionWindow::new(window), Time::from_nanos(RTT));
        bbr.init(now, &window, RTT, RTT);
        Path {
            bbr,
            window,
            now,
            delivered: 1,
            lost: 0,
            losses: 0,
            repair: CongestionState::Open,
            app_limited: false,
            in_flight: 0,
        }
    }

    /// `acked` segments are acknowledged that were sent `ago` ns ago, when all but them had been delivered.
    fn ack(&mut self, acked: u32, ago: u64, rtt: u64) {
        let (delivered, prior) = (u64::from(acked), self.delivered);
        self.acknowledge(
            acked,
            RateSample { delivered, prior_delivered: prior, interval_us: ago / 1000, app_limited: self.app_limited },
            rtt,
        );
    }

    fn acknowledge(&mut self, acked: u32, rate: RateSample, rtt: u64) {
        self.delivered += u64::from(acked);
        self.lost += u64::from(self.losses);
        let ack = BbrSample {
            now: self.now,
            rate_sample: Some(rate),
            rtt: Some(rtt / 1000),
            delayed: false,
            acked,
            losses: self.losses,
            delivered: self.delivered,
            lost: self.lost,
            delivered_time: self.now,
            prior_in_flight: self.in_flight + acked,
            in_flight: self.in_flight,
            next_send: self.now,
            ca_state: self.repair,
        };
        self.bbr.bbr_main(&mut self.window, &ack);
    }

    /// The last of a flight of `flight` segments is acknowledged, which took a round trip.
    fn ack_one_of(&mut self, flight: u64) {
        let prior = self.delivered + 1 - flight;
        self.acknowledge(
            1,
            RateSample { delivered: flight, prior_delivered: prior, interval_us: RTT / 1000, app_limited: false },
            RTT,
        );
    }

    /// A round that delivers `acked` segments; a little longer than the round trip.
    fn round(&mut self, acked: u32) -> &mut Path {
        self.now = self.now.plus_nanos(RTT + 1_000_000);
        self.ack(acked, RTT, RTT);
        self
    }

    /// The rate in segments of a round trip, before the margin of 1 %.
    fn rate(&self) -> f64 {
        self.bbr.pacing_rate as f64 / 0.99 / f64::from(MSS) * 0.1
    }

    fn assert_rate(&self, segments: f64) {
        assert!((self.rate() / segments - 1.0).abs() < 0.005, "{} and not {segments} a round", self.rate());
    }

    /// In `ProbeBw` with 100 segments a round.
    fn probing() -> Path {
        let mut path = Path::new(10);
        for acked in [10, 20, 40, 80, 100, 100, 100, 100] {
            path.round(acked);
        }
        assert!(matches!(path.bbr.mode, Mode::ProbeBw { phase: FIRST_PHASE, .. }), "{:?}", path.bbr.mode);
        path
    }
}

#[test]
fn before_anything_is_delivered_the_initial_window_leaves_in_a_third_of_a_round_trip() {
    Path::new(10).assert_rate(28.85);
}

#[test]
fn startup_doubles_window_and_rate_each_round_4_3_2() {
    let mut path = Path::new(10);
    for window in [10, 20, 40, 80, 160] {
        assert_eq!(path.window.cwnd, window);
        path.round(window);
        path.assert_rate(2.885 * f64::from(window));
    }
    assert_eq!(path.bbr.mode, Mode::Startup);
}

#[test]
fn three_rounds_that_grow_less_than_a_quarter_fill_the_pipe_and_more_do_not_4_3_2_2() {
    let mut path = Path::new(10);
    path.in_flight = 200;
    for acked in [10, 20, 40, 80, 100, 120, 124] {
        path.round(acked);
    }
    assert_eq!(path.bbr.mode, Mode::Startup, "100 was a quarter more, then there were two rounds");
    path.round(126);
    assert_eq!(path.bbr.mode, Mode::Startup, "126 is a quarter more than 100");
    for _ in 0..3 {
        assert_eq!(path.bbr.mode, Mode::Startup);
        path.round(126);
    }
    assert_eq!(path.bbr.mode, Mode::Drain);
    path.assert_rate(126.0 * 88.0 / 256.0);
}

#[test]
fn the_queue_drains_until_the_bdp_and_the_quantization_budget_are_in_flight_4_3_3() {
    let mut path = Path::new(10);
    path.in_flight = 107;
    for acked in [10, 20, 40, 80, 100, 100, 100, 100] {
        path.round(acked);
    }
    // 100 segments and three times two at 400 kB/s, which is even already.
    assert_eq!(path.bbr.mode, Mode::Drain);
    path.in_flight = 106;
    path.round(100);
    assert!(matches!(path.bbr.mode, Mode::ProbeBw { phase: FIRST_PHASE, .. }));
    path.assert_rate(100.0);
}

#[test]
fn probing_goes_through_a_cycle_of_eight_gains_4_3_4() {
    let mut path = Path::probing();
    path.in_flight = 60;
    let mut gains = vec![path.rate() / 100.0];
    for _ in 0..12 {
        // A quarter more is on its way when that is tried.
        gains.push(path.round(100).rate() / 100.0);
    }
    let expected = [1.0, 1.0, 1.0, 1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.25, 0.75];
    assert!(gains.iter().zip(expected).all(|(gain, expected)| (gain / expected - 1.0).abs() < 0.005), "{gains:?}");
}

#[test]
fn the_gain_lasts_until_its_target_is_in_flight_or_a_segment_is_lost() {
    for lost in [0, 1] {
        let mut path = Path::probing();
        (0..3).for_each(|_| _ = path.round(100));
        path.assert_rate(125.0);
        // Of the 134 that are wanted only 100 were on their way.
        path.round(100).assert_rate(125.0);
        path.losses = lost;
        path.round(100).assert_rate(if lost > 0 { 75.0 } else { 125.0 });
    }
}

#[test]
fn the_window_is_twice_the_product_and_what_hosts_need_and_what_comes_in_bunches_4_2_3() {
    let mut path = Path::probing();
    path.round(100).round(100);
    // Twice 100, three times two at 1.4 MB/s; each round is acknowledged at once, so that 100 less what is
    // rounded down may be in flight in addition, and the total is even.
    assert_eq!(path.window.cwnd, 200 + 6 + 100);
    // The same in steady steps.
    let mut path = Path::probing();
    path.bbr.aggregation = Aggregation::default();
    for _ in 0..300 {
        path.now = path.now.plus_nanos(RTT / 100);
        path.in_flight = 200;
        path.ack_one_of(100);
    }
    assert!((206..=210).contains(&path.window.cwnd), "{}", path.window.cwnd);
}

#[test]
fn hosts_need_room_for_three_times_what_leaves_in_a_millisecond_but_one_or_two_segments_at_least_4_2_2() {
    let mut path = Path::probing();
    path.bbr.min_rtt_us = None;
    for (rate, segments) in [(0, 1), (149_999, 1), (150_000, 2), (4_448_255, 2), (4_448_256, 3), (1 << 40, 45)] {
        path.bbr.pacing_rate = rate;
        // Ten before a round trip is known, and all that even.
        let room: u32 = 10 + 3 * segments;
        assert_eq!(path.bbr.inflight(UNIT), room + room % 2, "{rate}");
    }
}

#[test]
fn the_smallest_round_trip_is_looked_for_after_ten_seconds_4_3_5() {
    let mut path = Path::probing();
    path.bbr.min_rtt_stamp = path.now;
    let began = path.now;
    while path.now.nanos_since(began) < 9_900_000_000 {
        path.round(100);
        assert!(!path.bbr.is_probing_rtt());
    }
    path.in_flight = 50;
    path.round(100);
    assert_eq!((path.bbr.is_probing_rtt(), path.window.cwnd), (true, CWND_MIN_TARGET), "{:?}", path.now);
    // It lasts 200 ms from when there is next to nothing on its way, and a round.
    path.round(50);
    path.in_flight = 4;
    path.round(46);
    let down = path.now;
    while path.bbr.is_probing_rtt() {
        assert!(path.now.nanos_since(down) <= 204_000_000);
        path.round(4);
    }
    assert!(path.now.nanos_since(down) > PROBE_RTT_DURATION);
    assert!(path.window.cwnd >= 200, "the window is back: {}", path.window.cwnd);
    path.assert_rate(100.0);
    assert_eq!(path.bbr.min_rtt_stamp, path.now);
}

#[test]
fn a_smaller_round_trip_is_believed_at_once_and_a_larger_one_after_ten_seconds() {
    let mut path = Path::probing();
    path.now = path.now.plus_nanos(RTT);
    path.ack(100, RTT, RTT - 5_000_000);
    assert_eq!(path.bbr.min_rtt_us, Some(95_000));
    path.round(100);
    assert_eq!(path.bbr.min_rtt_us, Some(95_000));
    path.now = path.now.plus_nanos(MIN_RTT_WINDOW);
    path.round(100);
    assert_eq!(path.bbr.min_rtt_us, Some(100_000));
}

#[test]
fn a_program_that_sends_little_does_not_make_the_bandwidth_smaller_4_1_1_4() {
    let mut path = Path::probing();
    path.app_limited = true;
    for _ in 0..30 {
        path.round(3);
    }
    assert_eq!(path.bbr.bandwidth.get(), Bandwidth::new(100, 100_000));
    path.round(110);
    assert_eq!(path.bbr.bandwidth.get(), Bandwidth::new(110, 100_000), "but larger, yes");
    path.app_limited = false;
    for _ in 0..11 {
        path.round(90);
    }
    assert_eq!(path.bbr.bandwidth.get(), Bandwidth::new(90, 100_000));
}

#[test]
fn a_program_that_sends_little_does_not_fill_the_pipe() {
    let mut path = Path::new(10);
    path.app_limited = true;
    (0..20).for_each(|_| _ = path.round(3));
    assert_eq!(path.bbr.mode, Mode::Startup);
}

#[test]
fn after_idleness_it_neither_hurries_nor_probes_for_the_round_trip_4_3_4_4() {
    let mut path = Path::probing();
    (0..3).for_each(|_| _ = path.round(100));
    path.assert_rate(125.0);
    path.now = path.now.plus_nanos(2 * MIN_RTT_WINDOW);
    path.bbr.handle_tx_start(path.now, &mut path.window, path.now);
    path.assert_rate(100.0);
    path.round(10);
    assert!(!path.bbr.is_probing_rtt(), "the idle time emptied the queue");
}

#[test]
fn a_loss_conserves_packets_for_a_round_and_then_the_window_comes_back_4_2_3_4() {
    let mut path = Path::probing();
    let window = path.round(100).window.cwnd;
    // The sender asks for the threshold when it begins to repair.
    path.bbr.save_cwnd(&path.window);
    (path.repair, path.losses, path.in_flight) = (CongestionState::Recovery, 3, 60);
    path.now = path.now.plus_nanos(10_000_000);
    path.ack(1, RTT, RTT);
    assert_eq!(path.window.cwnd, 60 + 1);
    path.losses = 0;
    path.in_flight = 55;
    // All of this was sent before the loss: the round is that of the recovery.
    let until = path.bbr.round.next_rtt_delivered;
    path.bbr.round.next_rtt_delivered = u64::MAX;
    path.ack(2, RTT, RTT);
    assert_eq!(path.window.cwnd, 61, "it does not grow");
    path.bbr.round.next_rtt_delivered = until;
    path.round(40);
    assert_eq!(path.window.cwnd, 61 + 40, "after a round it does");
    path.repair = CongestionState::Open;
    path.round(1);
    assert!(path.window.cwnd >= window, "{} of {window}", path.window.cwnd);
}

#[test]
fn a_timeout_ends_with_the_window_that_was_before() {
    let mut path = Path::probing();
    let window = path.window.cwnd;
    path.bbr.save_cwnd(&path.window);
    path.bbr.on_timeout(RttSample { now: path.now, rtt: 0, una: 1, nxt: 1 });
    path.window.cwnd = 1;
    path.repair = CongestionState::Loss;
    path.round(1);
    assert_eq!(path.window.cwnd, CWND_MIN_TARGET);
    path.repair = CongestionState::Open;
    path.round(4);
    assert_eq!(path.window.cwnd, window);
}

#[test]
fn a_policer_is_believed_after_two_spans_of_one_rate_and_for_48_rounds() {
    let mut path = Path::probing();
    path.losses = 30;
    // Each span has four rounds; the first begins with the first loss.
    (0..7).for_each(|_| _ = path.round(100));
    assert!(path.bbr.lt_bw.bandwidth().is_none());
    path.round(100);
    assert!(path.bbr.lt_bw.bandwidth().is_some());
    path.losses = 0;
    for _ in 0..47 {
        path.round(100);
        assert!((path.rate() / 100.0 - 0.99).abs() < 0.01, "the rate of a round and 1 ms: {}", path.rate());
    }
    assert!(path.bbr.lt_bw.bandwidth().is_some());
    path.round(100);
    assert!(path.bbr.lt_bw.bandwidth().is_none());
}

#[test]
fn less_than_a_fifth_lost_is_no_policer() {
    let mut path = Path::probing();
    path.losses = 18;
    (0..200).for_each(|_| _ = path.round(100));
    assert!(path.bbr.lt_bw.bandwidth().is_none());
}

#[test]
fn a_loss_that_was_none_lets_it_look_for_more_bandwidth() {
    let mut path = Path::new(10);
    path.in_flight = 200;
    for acked in [10, 20, 40, 80, 100, 100, 100] {
        path.round(acked);
    }
    path.bbr.on_undo(&mut path.window, 0);
    (0..3).for_each(|_| _ = path.round(100));
    assert_eq!(path.bbr.mode, Mode::Startup, "the first sets the mark, then there were two rounds");
    path.round(100);
    assert_eq!(path.bbr.mode, Mode::Drain);
}
