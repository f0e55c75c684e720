//! Programs that read more slowly than data comes, and connections that are broken off.

use super::*;

/// What a receiver has that is ten segments large by the RFCs. Linux takes such a window for half of a buffer:
/// 28,960 bytes, of which a full segment takes 2,304, so that twelve fit.
const SMALL: u32 = 10 * MSS as u32;

fn small(profile: Profile) -> Config {
    Config { profile, receive_window: Some(Bounded::known(SMALL)), ..Config::default() }
}

/// B has written `bytes` and A reads nothing of it.
fn unread<'f>(config: Config, bytes: u64, lost: impl FnMut(usize, usize, &Segment) -> bool + 'f) -> Pair<'f> {
    let mut pair = Pair::new(config, lost);
    pair.takes[A] = 0;
    pair.serve(bytes);
    pair
}

/// A reads `bytes`; whether it says so at once.
fn reads(pair: &mut Pair, bytes: u64) -> bool {
    let before = pair.sent.len();
    pair.take(A, bytes);
    pair.flush();
    pair.sent.len() > before
}

/// The numbers up to which A lets B send, as it said so.
fn edges(pair: &Pair) -> Vec<u64> {
    let acks = pair.sent.iter().filter(|(_, side, segment)| *side == A && segment.flags.ack);
    acks.map(|(_, _, segment)| segment.ack + u64::from(segment.window)).collect()
}

/// When B asked for the window, in ms: segments without data and with a number that is acknowledged.
fn probes(pair: &Pair) -> Vec<u64> {
    let mut next = 1;
    let mut times = Vec::new();
    for (time, _, segment) in pair.sent.iter().filter(|(_, side, _)| *side == B) {
        if !segment.flags.syn && segment.end() < next {
            times.push(time.as_nanos() / 1_000_000);
        }
        next = next.max(segment.end());
    }
    times
}

fn arrived(pair: &mut Pair) -> u64 {
    prefix(&mut pair.arrived[A])
}

#[test]
fn what_is_not_read_closes_the_window_and_its_edge_never_goes_back_rfc9293_3_8_6_2_1() {
    for (profile, segments) in [(Profile::Textbook, 10), (Profile::Linux6, 12)] {
        let mut pair = unread(small(profile), 100 * MSS, |_, _, _| false);
        pair.run_until(at(60_000));
        assert_eq!(arrived(&mut pair), segments * MSS, "{profile:?}: what was offered at first, and no more");
        assert!(edges(&pair).is_sorted(), "{profile:?}");
        let (_, _, last) = pair.sent.iter().rfind(|(_, side, _)| *side == A).unwrap();
        assert!(u64::from(last.window) < MSS, "{profile:?}: {}", last.window);
        assert_eq!(pair.ends[B].state(), State::Established, "{profile:?}");
    }
}

#[test]
fn the_window_opens_by_whole_segments_and_when_it_has_doubled_rfc9293_3_8_6_2_2() {
    // The textbook reckons in segments of 1,460 bytes; with Linux a full segment leaves its memory when its last byte
    // is read.
    for (profile, segment) in [(Profile::Textbook, 1460), (Profile::Linux6, MSS)] {
        let mut pair = unread(small(profile), 100 * MSS, |_, _, _| false);
        pair.run_until(at(300));
        assert!(!reads(&mut pair, segment - 1), "{profile:?}: less than a segment");
        assert!(reads(&mut pair, 1), "{profile:?}: a segment");
        assert_eq!(u64::from(pair.sent.last().unwrap().2.window), segment, "{profile:?}");
        assert!(!reads(&mut pair, segment - 1), "{profile:?}: not twice as much");
        assert!(reads(&mut pair, 1), "{profile:?}: twice as much");
        assert_eq!(u64::from(pair.sent.last().unwrap().2.window), 2 * segment, "{profile:?}");
        assert!(!reads(&mut pair, segment), "{profile:?}: three are not twice two");
        assert!(reads(&mut pair, segment), "{profile:?}: four are");
    }
}

#[test]
fn a_reader_that_has_caught_up_gets_the_full_window() {
    for profile in [Profile::Textbook, Profile::Linux6] {
        let mut pair = unread(small(profile), 10 * MSS, |_, _, _| false);
        pair.run_until(at(1_000));
        pair.takes[A] = u64::MAX;
        assert!(reads(&mut pair, u64::MAX), "{profile:?}");
        pair.run_until(at(2_000));
        // Ten segments are nine of 1,460 bytes.
        pair.ends[B].write(9 * MSS);
        pair.flush();
        pair.run_until(at(2_060));
        assert_eq!(pair.read[A], 19 * MSS, "{profile:?}: an open window takes them all in one go");
        assert!(probes(&pair).is_empty(), "{profile:?}");
    }
}

#[test]
fn a_closed_window_is_asked_for_after_a_timeout_and_then_ever_more_seldom_rfc9293_3_8_6_1() {
    let mut pair = unread(small(Profile::Textbook), 100 * MSS, |_, _, _| false);
    pair.run_until(at(3_600_000));
    let times = probes(&pair);
    // Ten segments leave at 150 ms, and what acknowledges the last two is here at 250. A timeout is a second at least,
    // a minute at most, and begins with the answer to the probe before, which takes 100 ms.
    let waits = [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000];
    let expected = waits.into_iter().fold(vec![1_250], |mut times, wait| {
        times.push(times[times.len() - 1] + 100 + wait);
        times
    });
    assert_eq!(times[..8], expected);
    assert!(times.len() > 50, "an hour of probes that are answered is no reason to give up");
    assert_eq!(pair.ends[B].state(), State::Established);
}

#[test]
fn linux_too_doubles_the_time_between_probes_up_to_two_minutes() {
    let mut pair = unread(small(Profile::Linux6), 100 * MSS, |_, _, _| false);
    pair.run_until(at(3_600_000));
    let gaps: Vec<u64> = probes(&pair).windows(2).map(|pair| pair[1] - pair[0]).collect();
    // 100 ms of round trip and 200 more, twice; a timer's ticks make it up to an eighth longer.
    assert!((600..=750).contains(&gaps[0]), "{gaps:?}");
    assert!(gaps.windows(2).all(|pair| pair[1] >= pair[0] && pair[1] < pair[0] * 5 / 2), "{gaps:?}");
    assert!((120_000..=135_000).contains(gaps.last().unwrap()), "{gaps:?}");
}

#[test]
fn a_lost_word_of_an_open_window_is_made_good_by_the_probe() {
    for profile in [Profile::Textbook, Profile::Linux6] {
        // At 10 s all is read, and of that nothing is heard.
        let mut pair = unread(small(profile), 30 * MSS, |side, _, s| side == A && s.ts_val == at(10_000));
        pair.run_until(at(10_000));
        pair.takes[A] = u64::MAX;
        assert!(reads(&mut pair, u64::MAX), "{profile:?}");
        pair.run_until(at(60_000));
        assert_eq!(pair.read[A], 30 * MSS, "{profile:?}");
    }
}

#[test]
fn what_is_written_when_the_window_is_closed_already_is_probed_for_as_well() {
    for (profile, segments) in [(Profile::Textbook, 10), (Profile::Linux6, 12)] {
        let mut pair = unread(small(profile), segments * MSS, |side, _, s| side == A && s.ts_val == at(10_000));
        pair.run_until(at(10_000));
        assert!(probes(&pair).is_empty(), "{profile:?}: there is nothing to ask for");
        pair.takes[A] = u64::MAX;
        assert!(reads(&mut pair, u64::MAX), "{profile:?}: it is lost");
        pair.run_until(at(20_000));
        pair.ends[B].write(MSS);
        pair.flush();
        pair.run_until(at(60_000));
        assert_eq!(pair.read[A], (segments + 1) * MSS, "{profile:?}");
    }
}

#[test]
fn after_fifteen_unanswered_window_probes_the_connection_times_out() {
    for profile in [Profile::Textbook, Profile::Linux6] {
        let mut pair = unread(small(profile), 100 * MSS, |side, _, s| side == A && s.ts_val > at(1_000));
        while pair.ends[B].state() == State::Established && pair.step(Time::NEVER) {}
        assert_eq!(pair.ends[B].state(), State::TimedOut, "{profile:?}");
        // Those of the first second have been answered.
        assert_eq!(probes(&pair).iter().filter(|time| **time > 1_000 - 50).count(), 15, "{profile:?}");
        assert_eq!(pair.ends[B].poll_timeout(), Time::NEVER, "{profile:?}");
    }
}

#[test]
fn a_buffer_grows_with_what_is_read_and_not_with_what_comes() {
    // 131,072 bytes of buffer hold 56 full segments of 2,304.
    let mut pair = unread(Config::default(), 10_000_000, |_, _, _| false);
    pair.run_until(at(5_000));
    assert_eq!(arrived(&mut pair), 56 * MSS);
    for second in 5..60 {
        reads(&mut pair, 10_000);
        pair.run_until(at(1000 * (second + 1)));
        let (come, read) = (arrived(&mut pair), pair.read[A]);
        assert!(come <= read + 57 * MSS, "{second}: {come} of which {read} are read");
    }
    assert!(edges(&pair).is_sorted());
}

#[test]
fn a_connection_that_is_broken_off_ends_at_both_ends_rfc9293_3_10_5() {
    for profile in [Profile::Textbook, Profile::Linux6] {
        let mut pair = unread(small(profile), 100 * MSS, |_, _, _| false);
        pair.run_until(at(5_000));
        pair.ends[A].abort();
        pair.flush();
        assert!(pair.sent.last().unwrap().2.flags.rst, "{profile:?}");
        assert_eq!((pair.ends[A].state(), pair.ends[A].poll_timeout()), (State::Reset, Time::NEVER), "{profile:?}");
        pair.run_until(at(5_049));
        assert_eq!(pair.ends[B].state(), State::Established, "{profile:?}");
        let sent = pair.sent.len();
        pair.run_until(at(5_050));
        assert_eq!((pair.ends[B].state(), pair.ends[B].poll_timeout()), (State::Reset, Time::NEVER), "{profile:?}");
        pair.run_until(Time::NEVER);
        assert_eq!(pair.sent.len(), sent, "{profile:?}: no further segment");
        assert!(!pair.ends[B].may_write() && pair.ends[B].writable() == 0, "{profile:?}");
    }
}

#[test]
fn a_lost_reset_is_said_again_when_the_other_end_is_heard_rfc9293_3_10_7_1() {
    for profile in [Profile::Textbook, Profile::Linux6] {
        let mut lost = 0;
        let mut pair = unread(small(profile), 100 * MSS, |_, _, s| {
            lost += u32::from(s.flags.rst);
            s.flags.rst && lost <= 2
        });
        pair.run_until(at(5_000));
        pair.ends[A].abort();
        pair.flush();
        // Its window is closed, so what is heard are probes.
        pair.run_until(Time::NEVER);
        assert_eq!([A, B].map(|side| pair.ends[side].state()), [State::Reset; 2], "{profile:?}");
        assert_eq!(pair.sent.iter().filter(|(_, _, s)| s.flags.rst).count(), 3, "{profile:?}");
    }
}

#[test]
fn what_is_over_is_not_broken_off() {
    let mut pair = Pair::new(config(10, Congestion::Reno), |_, _, _| false);
    pair.run_until(at(150));
    pair.ends.iter_mut().for_each(Endpoint::close);
    pair.flush();
    pair.run_until(at(2_000));
    assert_eq!(pair.ends[A].state(), State::Closed);
    let sent = pair.sent.len();
    pair.ends[A].abort();
    pair.flush();
    assert_eq!((pair.ends[A].state(), pair.sent.len()), (State::Closed, sent));
}

#[test]
fn a_reset_does_not_wait_for_a_window_or_for_what_was_written() {
    // B, whose data is not read, sends the RST.
    for profile in [Profile::Textbook, Profile::Linux6] {
        let mut pair = unread(small(profile), 100 * MSS, |_, _, _| false);
        pair.run_until(at(5_000));
        pair.ends[B].abort();
        pair.flush();
        pair.run_until(at(5_050));
        assert_eq!(pair.ends[A].state(), State::Reset, "{profile:?}");
    }
}

/// A program that reads at random, and a network that loses.
#[derive(Clone, Debug)]
struct Slow {
    config: Config,
    seed: u64,
    /// In percent.
    loss: u32,
    /// Bytes that are written, with what pauses in ms before them.
    writes: Vec<(u64, u64)>,
    /// The most bytes of a read, and the most ms between two.
    bite: u64,
    pause: u64,
}

impl Slow {
    fn is_lost(&self) -> impl FnMut(usize, usize, &Segment) -> bool + 'static {
        let (mut draws, loss) = (Seed(self.seed).stream("loss"), f64::from(self.loss) / 100.0);
        // So no connection times out: the handshake completes, and some of the rest arrives.
        let (mut packets, mut in_a_row) = (0, 0);
        move |_, _, _| {
            packets += 1;
            let lost = draws.next_f64() < loss && packets > 3 && in_a_row < 6;
            in_a_row = if lost { in_a_row + 1 } else { 0 };
            lost
        }
    }

    /// Writes and reads until all is read; what it was then.
    fn carry_out(&self) -> Pair<'static> {
        let mut draws = Seed(self.seed).stream("reads");
        let mut pair = Pair::new(self.config, self.is_lost());
        pair.takes[A] = 0;
        while !pair.ends.iter().all(|end| end.state().is_synchronised()) && pair.step(Time::NEVER) {}
        let mut writes = self.writes.iter();
        let (mut due, mut next) = (pair.now, writes.next());
        let all: u64 = self.writes.iter().map(|(bytes, _)| bytes).sum();
        let mut turns = 0;
        while pair.read[A] < all {
            turns += 1;
            assert!(turns < 100_000, "it stands still at {} of {all}: {:?}", pair.read[A], pair.ends);
            if let Some((bytes, pause)) = next.filter(|_| due <= pair.now) {
                pair.ends[B].write(*bytes);
                (due, next) = (pair.now + ms(*pause), writes.next());
                pair.flush();
            }
            reads(&mut pair, draws.next_u64() % (self.bite + 1));
            let until = pair.now + ms(1 + draws.next_u64() % self.pause);
            pair.run_until(until);
        }
        pair
    }
}

fn any_slow() -> impl Strategy<Value = Slow> {
    let profiles = vec![Profile::Textbook, Profile::Linux26, Profile::Linux37, Profile::Linux6];
    let window = prop_oneof![Just(None), (2048_u32..5000).prop_map(Some), (5000_u32..60_000).prop_map(Some)];
    let config = (prop::sample::select(profiles), window).prop_map(|(profile, window)| Config {
        profile,
        receive_window: window.map(Bounded::known),
        ..Config::default()
    });
    let loss = prop_oneof![Just(0), 1_u32..20];
    let writes = prop::collection::vec((prop_oneof![1_u64..4000, 1_u64..200_000], 0_u64..5000), 1..5);
    let bite = prop_oneof![1000_u64..3000, 1000_u64..50_000];
    (config, any::<u64>(), loss, writes, bite, 2_u64..500).prop_map(|(config, seed, loss, writes, bite, pause)| Slow {
        config,
        seed,
        loss,
        writes,
        bite,
        pause,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_slow_reader_gets_everything_and_no_segment_exceeds_the_window(slow in any_slow()) {
        let pair = slow.carry_out();
        prop_assert!(edges(&pair).is_sorted(), "an edge that was offered is not taken back");
        let mut edge = 0;
        for (_, side, segment) in &pair.sent {
            if *side == A {
                edge = edge.max(segment.ack + u64::from(segment.window));
            } else if segment.len > 0 {
                prop_assert!(segment.end() <= edge, "{:?} beyond {}", segment, edge);
            }
        }
    }
}
