//! What each segment says of why it was sent.

use super::*;
use crate::tcp::{LossDetection, Repair};

/// When a side sent segments to repair losses, in ms, and why; the probes of new data among them.
fn repairs(pair: &Pair, side: usize) -> Vec<(u64, u64, Repair)> {
    let sent = pair.sent.iter().filter(|(_, from, _)| *from == side);
    let repairs = sent.filter_map(|(at, _, segment)| Some((at.as_nanos() / 1_000_000, segment.seq, segment.repair?)));
    repairs.collect()
}

fn of(profile: Profile) -> Config {
    Config { profile, ..config(10, Congestion::Reno) }
}

#[test]
fn a_segment_that_acknowledgements_showed_to_be_lost_says_how_it_was_detected() {
    for (profile, detection) in [
        (Profile::Textbook, LossDetection::DupThresh),
        (Profile::Linux26, LossDetection::Fack),
        (Profile::Linux6, LossDetection::Rack),
    ] {
        let lost = |side: usize, _: usize, s: &Segment| side == B && s.seq == 1 && s.ts_val == at(150);
        let mut pair = Pair::new(of(profile), lost);
        pair.serve(40 * MSS).run_until(at(2000));
        assert_eq!(repairs(&pair, B), [(250, 1, Repair::Fast(detection))], "{profile:?}");
        assert_eq!(repairs(&pair, A), []);
    }
}

#[test]
fn the_first_segment_after_a_timeout_says_so_and_the_others_that_go_by_slow_start_rfc6298_5_4() {
    let mut pair =
        Pair::new(config(10, Congestion::Reno), |side, _, s| side == B && s.seq > 8 * MSS && s.ts_val == at(150));
    pair.serve(10 * MSS).run_until(at(5000));
    let (first, second) = (8 * MSS + 1, 9 * MSS + 1);
    assert_eq!(repairs(&pair, B), [(1250, first, Repair::Timeout), (1390, second, Repair::SlowStart)]);
}

#[test]
fn a_tail_loss_probe_is_the_last_segment_again_or_new_data_rfc8985_7_3() {
    for (most, expected) in [(10, Repair::LossProbe), (11, Repair::NewDataProbe)] {
        // The whole flight is lost, and so the eleventh segment waits until the probe.
        let lost = |side: usize, _: usize, s: &Segment| side == B && s.ts_val == at(150) && s.len > 0;
        let mut pair = Pair::new(of(Profile::Linux6), lost);
        pair.serve(most * MSS).run_until(at(5000));
        let repairs = repairs(&pair, B);
        assert_eq!((repairs[0].1, repairs[0].2), ((most - 1) * MSS + 1, expected));
        assert_eq!(expected.is_retransmission(), most == 10);
        // Its acknowledgement shows the loss of the others.
        assert!(repairs[1..].iter().all(|(_, _, repair)| *repair == Repair::Fast(LossDetection::Rack)), "{repairs:?}");
        assert_eq!(repairs.len() as u64, if most == 10 { 10 } else { 11 });
    }
}

#[test]
fn a_handshake_that_is_sent_again_says_so_and_so_does_a_fin() {
    let mut pair = Pair::new(config(10, Congestion::Cubic), |side, n, _| side == A && n < 2);
    pair.run_until(at(9000));
    assert_eq!(repairs(&pair, A), [(1000, 0, Repair::Handshake), (3000, 0, Repair::Handshake)]);
    let mut pair = Pair::new(config(10, Congestion::Cubic), |side, n, _| side == B && n == 0);
    pair.run_until(at(9000));
    assert!(repairs(&pair, B).contains(&(1050, 0, Repair::Handshake)), "{:?}", repairs(&pair, B));
    let mut pair =
        Pair::new(config(10, Congestion::Cubic), |side, _, s| side == B && s.flags.fin && s.ts_val < at(200));
    pair.run_until(at(150));
    pair.ends[B].close();
    pair.flush();
    pair.run_until(at(9000));
    assert_eq!(repairs(&pair, B), [(1150, 1, Repair::Timeout)]);
}
