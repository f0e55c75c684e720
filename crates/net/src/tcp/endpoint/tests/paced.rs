//! Stories of an endpoint that paces.

use super::*;

/// When `side` sent data, in µs.
fn times(pair: &Pair, side: usize) -> Vec<u64> {
    let data = pair.sent.iter().filter(|(_, from, segment)| *from == side && segment.len > 0);
    data.map(|(time, _, _)| time.as_nanos() / 1000).collect()
}

#[test]
fn the_first_ten_segments_leave_at_once_and_the_others_at_their_rate() {
    let mut pair = Pair::new(config(32, Congestion::Bbr), |_, _, _| false);
    pair.run_until(at(150));
    pair.ends[B].write(32 * MSS);
    pair.flush();
    pair.run_until(at(249));
    let times = times(&pair, B);
    assert_eq!((times.len(), &times[..10]), (32, &[150_000; 10][..]));
    // 32 segments in the round trip of 100 ms by 2.885, less 1 %: one in 1,094 µs.
    for (n, pair) in times[9..].windows(2).enumerate() {
        let gap = pair[1] - pair[0];
        assert!(gap.abs_diff(1094) <= 4, "{gap} µs after segment {}", n + 9);
    }
}

#[test]
fn a_window_that_opens_all_at_once_does_not_leave_all_at_once() {
    let mut acks = Vec::new();
    // Acknowledgements are held up and come together, every 100 ms.
    let fate: Fate = Box::new(|side, _, segment| {
        let extra = if side == A { 100 - segment.ts_val.as_nanos() / 1_000_000 % 100 } else { 0 };
        acks.push(extra);
        Some(ms(50 + extra))
    });
    let mut pair = Pair::with_fate(config(10, Congestion::Bbr), fate);
    pair.run_until(at(350));
    pair.ends[B].write(2000 * MSS);
    pair.flush();
    pair.run_until(at(1500));
    let times = times(&pair, B);
    assert!(times.len() > 200, "{} segments", times.len());
    let together = times[10..].chunk_by(|a, b| a == b).map(<[u64]>::len).max();
    assert_eq!(together, Some(1), "each leaves by itself");
}

#[test]
fn after_each_drain_the_next_thing_to_do_lies_ahead() {
    let mut draws = Seed(7).stream("fate");
    let fate: Fate = Box::new(move |_, _, _| (draws.next_f64() >= 0.1).then_some(ms(50)));
    let mut pair = Pair::with_fate(config(20, Congestion::Bbr), fate);
    pair.run_until(at(3150));
    pair.ends[B].write(500 * MSS);
    pair.flush();
    let mut steps = 0;
    while pair.step(Time::NEVER) {
        for end in &pair.ends {
            assert!(end.poll_timeout() > pair.now, "{:?}: {end:?}", pair.now);
        }
        steps += 1;
    }
    assert!(steps > 500);
    assert_eq!(pair.read[A], 500 * MSS);
}

#[test]
fn retransmissions_are_paced_like_everything_else() {
    let lost = |side: usize, _: usize, segment: &Segment| {
        side == B && segment.ts_val < at(251) && (20 * MSS..40 * MSS).contains(&segment.seq)
    };
    let mut pair = Pair::new(config(40, Congestion::Bbr), lost);
    pair.run_until(at(150));
    pair.ends[B].write(60 * MSS);
    pair.flush();
    pair.run_until(at(3000));
    assert_eq!((pair.read[A], pair.ends[B].retransmissions() >= 20), (60 * MSS, true));
    let times = times(&pair, B);
    let together = times[10..].chunk_by(|a, b| a == b).map(<[u64]>::len).max();
    // The one that is sent at the loss, whatever the window says, is not waited for.
    assert!(together <= Some(2), "{together:?} at once");
}

#[test]
fn a_pause_does_not_shrink_the_window() {
    let mut pair = Pair::new(config(10, Congestion::Bbr), |_, _, _| false);
    pair.serve(100 * MSS).run_until(at(2000));
    let window = pair.ends[B].cwnd();
    assert!(window > 20, "{window}");
    pair.run_until(at(8000));
    pair.ends[B].write(10 * MSS);
    pair.flush();
    assert_eq!(pair.ends[B].cwnd(), window);
}
