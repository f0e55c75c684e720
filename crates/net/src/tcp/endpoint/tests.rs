//! Two endpoints, a delay between them, and a rule that says which packets get lost.

mod invariants;
mod paced;
mod repairs;
mod slow;

use super::*;
use crate::Packet;
use crate::tcp::{Congestion, InitialWindow, Profile};
use loadstone_units::{Bounded, Seed};
use proptest::prelude::*;
use std::time::Duration;

const A: usize = 0;
const B: usize = 1;

/// What becomes of the n-th packet of a direction: the time it takes, or nothing if it is lost.
type Fate<'f> = Box<dyn FnMut(usize, usize, &Segment) -> Option<Duration> + 'f>;

struct Pair<'f> {
    now: Time,
    ends: [Endpoint; 2],
    fate: Fate<'f>,
    /// Arrival, receiver, order of sending, segment.
    wire: Vec<(Time, usize, usize, Segment)>,
    /// When, by which end, what.
    sent: Vec<(Time, usize, Segment)>,
    /// How many bytes the programs take when something has come, and have taken.
    takes: [u64; 2],
    read: [u64; 2],
    /// The ranges of data that have arrived at each side: the judge of what it may read.
    arrived: [Vec<(u64, u64)>; 2],
}

fn config(iw: i64, cc: Congestion) -> Config {
    let profile = Profile::Textbook;
    Config { profile, iw: Some(InitialWindow::try_from(iw).unwrap()), cc: Some(cc), ..Config::default() }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

impl<'f> Pair<'f> {
    /// 50 ms each way; `lost` says of the n-th packet (from 0) of side A or B whether it is lost.
    fn new(config: Config, mut lost: impl FnMut(usize, usize, &Segment) -> bool + 'f) -> Pair<'f> {
        Pair::with_fate(config, Box::new(move |side, n, segment| (!lost(side, n, segment)).then_some(ms(50))))
    }

    fn with_fate(config: Config, fate: Fate<'f>) -> Pair<'f> {
        let ends = [Endpoint::connect(&config), Endpoint::listen(&config)];
        let mut pair = Pair {
            now: Time::ZERO,
            ends,
            fate,
            wire: Vec::new(),
            sent: Vec::new(),
            takes: [u64::MAX; 2],
            read: [0; 2],
            arrived: [const { Vec::new() }; 2],
        };
        pair.flush();
        pair
    }

    fn flush(&mut self) {
        for side in [A, B] {
            while let Some(segment) = self.ends[side].poll_segment(self.now) {
                let n = self.sent.iter().filter(|(_, from, _)| *from == side).count();
                if let Some(delay) = (self.fate)(side, n, &segment) {
                    self.wire.push((self.now + delay, 1 - side, self.sent.len(), segment));
                }
                self.sent.push((self.now, side, segment));
            }
        }
    }

    /// Lets the next thing happen, if any does by `end`.
    fn step(&mut self, end: Time) -> bool {
        let arrival = self.wire.iter().map(|(at, _, n, _)| (*at, *n)).min();
        let timer = self.ends[A].poll_timeout().min(self.ends[B].poll_timeout());
        let next = timer.min(arrival.map_or(Time::NEVER, |(at, _)| at));
        if next > end || next == Time::NEVER {
            return false;
        }
        self.now = next;
        if let Some((_, n)) = arrival.filter(|(at, _)| *at == next) {
            let place = self.wire.iter().position(|(_, _, number, _)| *number == n).unwrap();
            let (_, side, _, segment) = self.wire.remove(place);
            self.ends[side].handle_segment(next, &segment);
            if segment.len > 0 {
                self.arrived[side].push((segment.seq, segment.seq + u64::from(segment.len)));
            }
            self.take(side, self.takes[side]);
        } else {
            self.ends.iter_mut().for_each(|end| end.handle_timeout(next));
        }
        self.flush();
        true
    }

    /// The program at one side reads, `most` bytes.
    fn take(&mut self, side: usize, most: u64) {
        let read = self.ends[side].read(most);
        self.read[side] += read;
        if read > 0 {
            let there = prefix(&mut self.arrived[side]);
            assert_eq!(self.read[side], if read < most { there } else { there.min(self.read[side]) }, "without a hole");
        }
    }

    fn run_until(&mut self, end: Time) -> &mut Self {
        while self.step(end) {}
        self.now = end;
        self
    }

    /// The handshake, and then `bytes` written by B at 100 ms, when A's acknowledgement has come.
    fn serve(&mut self, bytes: u64) -> &mut Self {
        self.run_until(at(150));
        assert_eq!(self.ends[B].state(), State::Established);
        self.ends[B].write(bytes);
        self.flush();
        self
    }

    /// How many data segments `side` sent, by the time of sending in ms.
    fn data_by_time(&self, side: usize) -> Vec<(u64, usize)> {
        let mut counts: Vec<(u64, usize)> = Vec::new();
        for (time, from, segment) in &self.sent {
            let time = time.as_nanos() / 1_000_000;
            match counts.last_mut() {
                _ if *from != side || segment.len == 0 => {}
                Some((last, count)) if *last == time => *count += 1,
                _ => counts.push((time, 1)),
            }
        }
        counts
    }
}

const MSS: u64 = 1448;

#[test]
fn a_handshake_takes_a_round_trip_and_three_packets() {
    let mut pair = Pair::new(config(10, Congestion::Cubic), |_, _, _| false);
    pair.run_until(at(1000));
    let packets: Vec<_> = pair.sent.iter().map(|(time, side, s)| (*time, *side, Packet::len(s))).collect();
    assert_eq!(packets, [(at(0), A, 60), (at(50), B, 60), (at(100), A, 52)]);
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::Established; 2]);
}

#[test]
fn slow_start_sends_a_window_a_round_and_doubles_it() {
    let mut pair = Pair::new(config(10, Congestion::Reno), |_, _, _| false);
    pair.serve(150 * MSS).run_until(at(2000));
    // All windows are even, so every segment is acknowledged by a pair and nothing waits.
    assert_eq!(pair.data_by_time(B), [(150, 10), (250, 20), (350, 40), (450, 80)]);
    assert_eq!(pair.read[A], 150 * MSS);
}

#[test]
fn the_odd_segment_of_a_window_waits_for_the_delayed_acknowledgement() {
    let mut pair = Pair::new(config(3, Congestion::Reno), |_, _, _| false);
    pair.serve(12 * MSS).run_until(at(2000));
    // 3 segments; the first two are acknowledged at once and free 2 + 2, the third after 40 ms more
    // and frees 1 + 1; the four are acknowledged in pairs.
    assert_eq!(pair.data_by_time(B), [(150, 3), (250, 4), (290, 2), (350, 3)]);
}

#[test]
fn a_lone_segment_is_acknowledged_after_40_ms() {
    let mut pair = Pair::new(config(10, Congestion::Cubic), |_, _, _| false);
    pair.serve(100).run_until(at(2000));
    let (time, _, ack) = pair.sent.last().unwrap();
    assert_eq!((*time, ack.len, ack.ack), (at(240), 0, 101));
}

#[test]
fn a_lost_segment_is_sent_again_after_three_duplicates_and_halves_reno_s_window_rfc6675_5() {
    let mut pair = Pair::new(config(10, Congestion::Reno), |side, _, s| side == B && s.seq == 1 && s.ts_val == at(150));
    pair.serve(40 * MSS).run_until(at(249));
    assert_eq!(pair.ends[B].cwnd(), 10);
    pair.run_until(at(250));
    // Ten were outstanding; the duplicates come for segments 2 to 10.
    assert_eq!(pair.ends[B].cwnd(), 5);
    let again: Vec<u64> =
        pair.sent.iter().filter(|(t, side, _)| *side == B && *t == at(250)).map(|(_, _, s)| s.seq).collect();
    assert_eq!(again[..3], [1 + 10 * MSS, 1 + 11 * MSS, 1], "two by limited transmit, then the lost one");
    pair.run_until(at(2000));
    assert_eq!((pair.read[A], pair.ends[B].retransmissions()), (40 * MSS, 1));
    assert_eq!(pair.ends[B].loss_recovery(), LossRecovery { fast_retransmissions: 1, ..LossRecovery::default() });
    assert_eq!(pair.ends[A].loss_recovery(), LossRecovery::default(), "it lost nothing");
}

#[test]
fn cubic_keeps_seven_tenths_rfc9438_4_6() {
    let mut pair =
        Pair::new(config(10, Congestion::Cubic), |side, _, s| side == B && s.seq == 1 && s.ts_val == at(150));
    pair.serve(40 * MSS).run_until(at(250));
    assert_eq!(pair.ends[B].cwnd(), 7);
}

#[test]
fn a_lost_tail_waits_for_the_timeout_and_starts_from_one_segment_rfc6298_5() {
    let mut pair =
        Pair::new(config(10, Congestion::Reno), |side, _, s| side == B && s.seq > 8 * MSS && s.ts_val == at(150));
    pair.serve(10 * MSS).run_until(at(5000));
    // The last acknowledgement of new data comes at 250 ms; the timeout is the least, one second.
    // Nothing has arrived beyond the hole, so the segment is a lone one: its acknowledgement waits.
    assert_eq!(pair.data_by_time(B), [(150, 10), (1250, 1), (1390, 1)]);
    assert_eq!((pair.read[A], pair.ends[B].retransmissions()), (10 * MSS, 2));
    // One timeout was enough for both; the second segment went by slow start.
    assert_eq!(pair.ends[B].loss_recovery(), LossRecovery { timeouts: 1, ..LossRecovery::default() });
}

#[test]
fn a_lost_retransmission_doubles_the_timeout_rfc6298_5_5() {
    let mut pair = Pair::new(config(10, Congestion::Cubic), |side, _, s| side == B && s.len > 0 && s.ts_val < at(3000));
    pair.serve(MSS).run_until(at(9000));
    assert_eq!(pair.data_by_time(B), [(150, 1), (1150, 1), (3150, 1)]);
    assert_eq!(pair.read[A], MSS);
}

#[test]
fn a_lost_syn_is_sent_again_after_1_2_4_seconds() {
    let mut pair = Pair::new(config(10, Congestion::Cubic), |side, n, _| side == A && n < 3);
    pair.run_until(at(9000));
    let syns: Vec<Time> =
        pair.sent.iter().filter(|(_, side, s)| *side == A && s.flags.syn).map(|(t, _, _)| *t).collect();
    assert_eq!(syns, [at(0), at(1000), at(3000), at(7000)]);
    assert_eq!(pair.ends[A].loss_recovery(), LossRecovery::default(), "of data only");
    assert_eq!(pair.ends[A].cwnd(), 1, "more than one repetition: one segment (RFC 6928, section 2)");
    assert_eq!(pair.ends[B].cwnd(), 10);
}

#[test]
fn one_lost_syn_or_answer_leaves_the_initial_window() {
    for lost in [A, B] {
        let mut pair = Pair::new(config(10, Congestion::Cubic), |side, n, _| side == lost && n == 0);
        pair.run_until(at(3000));
        assert_eq!([A, B].map(|side| pair.ends[side].cwnd()), [10; 2]);
        assert_eq!([A, B].map(|side| pair.ends[side].state()), [State::Established; 2]);
    }
}

#[test]
fn an_unanswered_syn_times_out_after_six_retransmissions() {
    let mut pair = Pair::new(config(10, Congestion::Cubic), |_, _, _| true);
    // 1 + 2 + 4 + 8 + 16 + 32 + 60 s.
    pair.run_until(at(122_999));
    assert_eq!((pair.ends[A].state(), pair.sent.len()), (State::SynSent, 7));
    pair.run_until(at(123_000));
    assert_eq!((pair.ends[A].state(), pair.sent.len()), (State::TimedOut, 7));
    assert_eq!(pair.ends[A].poll_timeout(), Time::NEVER);
}

#[test]
fn unacknowledged_data_times_out() {
    let mut pair = Pair::new(config(10, Congestion::Cubic), |side, n, _| side == B && n > 0);
    pair.serve(MSS).run_until(Time::NEVER);
    assert_eq!(pair.ends[B].state(), State::TimedOut);
    assert_eq!((pair.ends[B].retransmissions(), pair.ends[B].loss_recovery().timeouts), (15, 15));
}

#[test]
fn both_ends_close_in_either_order_or_at_once() {
    for (a, b) in [(200, 400), (400, 200), (200, 200)] {
        let mut pair = Pair::new(config(10, Congestion::Cubic), |_, _, _| false);
        pair.run_until(at(150));
        for (time, side) in if a < b { [(a, A), (b, B)] } else { [(b, B), (a, A)] } {
            pair.run_until(at(time));
            pair.ends[side].write(10);
            pair.ends[side].close();
            pair.flush();
        }
        pair.run_until(at(2000));
        assert_eq!([A, B].map(|side| pair.ends[side].state()), [State::Closed; 2], "{a} {b}");
        assert_eq!(pair.read, [10, 10]);
    }
}

#[test]
fn a_half_closed_connection_still_carries_data_the_other_way() {
    let mut pair = Pair::new(config(10, Congestion::Cubic), |_, _, _| false);
    pair.run_until(at(150));
    pair.ends[A].close();
    pair.flush();
    pair.run_until(at(300));
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::FinWait2, State::CloseWait]);
    pair.ends[B].write(5000);
    pair.flush();
    pair.run_until(at(600));
    assert_eq!(pair.read[A], 5000);
}

#[test]
fn a_lost_fin_and_a_lost_answer_to_it_are_made_good() {
    for lost_from in [A, B] {
        let mut pair = Pair::new(config(10, Congestion::Cubic), |side, _, s| {
            side == lost_from && (s.flags.fin || s.ack > 1) && s.ts_val < at(1000)
        });
        pair.run_until(at(150));
        pair.ends[A].close();
        pair.ends[B].close();
        pair.flush();
        pair.run_until(at(9000));
        assert_eq!([A, B].map(|side| pair.ends[side].state()), [State::Closed; 2]);
    }
}

#[test]
fn after_a_second_of_idleness_cwnd_is_the_restart_window_rfc5681_4_1() {
    for (pause, window) in [(900, 20), (1100, 10)] {
        let mut pair = Pair::new(config(10, Congestion::Reno), |_, _, _| false);
        pair.serve(10 * MSS).run_until(at(150 + pause));
        pair.ends[B].write(40 * MSS);
        pair.flush();
        assert_eq!(pair.data_by_time(B).last(), Some(&(150 + pause, window)));
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut pair = Pair::new(config(10, Congestion::Reno), |_, _, _| false);
    pair.serve(2 * MSS);
    for round in 1..10 {
        pair.run_until(at(150 + 200 * round));
        pair.ends[B].write(2 * MSS);
        pair.flush();
    }
    assert_eq!(pair.ends[B].cwnd(), 10);
}

#[test]
fn the_receive_window_bounds_what_is_on_its_way() {
    let mut pair = Pair::new(config(1000, Congestion::Reno), |_, _, _| false);
    let window = config(10, Congestion::Reno).rules().constants.receive_window;
    pair.run_until(at(150));
    (0..9).for_each(|_| pair.ends[B].write(1_000_000));
    pair.flush();
    pair.run_until(at(450));
    let (mut acked, mut most) = (1, 0);
    for (_, side, segment) in &pair.sent {
        if *side == A {
            acked = acked.max(segment.ack);
        } else {
            most = most.max(segment.end() - acked);
        }
    }
    assert!(most <= window, "{most} bytes beyond the acknowledged ones");
    pair.run_until(at(5000));
    assert_eq!(pair.read[A], 9_000_000);
}

#[test]
fn a_chosen_receive_window_bounds_it_more_narrowly() {
    let narrow = Config { receive_window: Some(Bounded::known(4 * MSS as u32)), ..config(100, Congestion::Reno) };
    let mut pair = Pair::new(narrow, |_, _, _| false);
    pair.run_until(at(150));
    pair.ends[B].write(40 * MSS);
    pair.flush();
    // Four segments a round trip of 100 ms: the tenth four arrive after 50 and nine more round trips.
    pair.run_until(at(1099));
    assert!(pair.read[A] < 40 * MSS);
    pair.run_until(at(1101));
    assert_eq!(pair.read[A], 40 * MSS);
}

#[test]
fn room_opens_at_half_the_mark_and_then_up_to_it() {
    let mut pair = Pair::new(config(1, Congestion::Reno), |_, _, _| false);
    pair.run_until(at(150));
    assert_eq!(pair.ends[B].writable(), 16 * 1024);
    pair.ends[B].write(16 * 1024);
    pair.flush();
    // One segment has left; 16384 - 1448 bytes wait.
    assert_eq!(pair.ends[B].writable(), 0);
    pair.run_until(at(345));
    let waiting = 16 * 1024 - 3 * MSS;
    assert_eq!((waiting > 8192, pair.ends[B].writable()), (true, 0));
    pair.run_until(at(900));
    assert_eq!(pair.ends[B].writable(), 16 * 1024);
}

/// How much of the stream has arrived without a hole. Joins the ranges that begin it.
fn prefix(arrived: &mut Vec<(u64, u64)>) -> u64 {
    let mut reached = 1;
    while let Some(end) = arrived.iter().filter(|(start, end)| *start <= reached && *end > reached).map(|r| r.1).max() {
        reached = end;
    }
    arrived.retain(|(_, end)| *end > reached);
    arrived.push((1, reached));
    reached - 1
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_byte_arrives_once_and_in_order_whatever_is_lost_or_overtaken(
        seed in any::<u64>(),
        loss in 0_u32..30,
        spread in 0_u64..30,
        writes in prop::collection::vec((any::<bool>(), 1_u64..60_000), 1..8),
        iw in 1_i64..40,
        cc in prop::sample::select(vec![Congestion::Reno, Congestion::Cubic, Congestion::Bbr]),
    ) {
        let mut draws = Seed(seed).stream("fate");
        let fate: Fate = Box::new(move |_, _, _| {
            let delay = ms(50) + Duration::from_micros(draws.next_u64() % (spread * 1000 + 1));
            (draws.next_f64() >= f64::from(loss) / 100.0).then_some(delay)
        });
        let mut pair = Pair::with_fate(config(iw, cc), fate);
        let mut written = [0; 2];
        let mut last = Time::ZERO;
        for (index, (by_client, bytes)) in writes.into_iter().enumerate() {
            let side = if by_client { A } else { B };
            while !pair.ends[side].state().is_synchronised() && pair.step(Time::NEVER) {}
            prop_assume!(!pair.ends[side].state().is_over());
            pair.ends[side].write(bytes);
            written[side] += bytes;
            pair.flush();
            let until = last + ms(100 * index as u64);
            while pair.now < until && pair.step(until) {}
            last = until;
        }
        while !pair.ends.iter().all(|end| end.state().is_synchronised()) && pair.step(Time::NEVER) {}
        pair.ends.iter_mut().for_each(Endpoint::close);
        pair.flush();
        while pair.step(Time::NEVER) {}
        // With much loss a connection may be given up, and then not all arrives; never too much.
        if pair.ends.iter().all(|end| end.state() == State::Closed) {
            prop_assert_eq!(pair.read, [written[B], written[A]]);
        }
        // Nothing goes out that was not written, and every packet fits the link.
        for (_, side, segment) in &pair.sent {
            prop_assert!(segment.end() <= written[*side] + 2, "{:?}", segment);
            prop_assert!(Packet::len(segment) <= 1500 || segment.len == 0, "{:?}", segment);
        }
    }
}

/// What the profiles of systems do otherwise than the textbook.
mod systems;
