use super::*;
use crate::tcp::{AckCounting, IdleRestart, Mechanisms};

fn system(profile: Profile) -> Config {
    Config { profile, ..Config::default() }
}

fn linux_6(mechanisms: Mechanisms) -> Config {
    Config { mechanisms, ..system(Profile::Linux6) }
}

/// When `side` sent the segment that begins with `seq`, in ms.
fn times_of(pair: &Pair, side: usize, seq: u64) -> Vec<u64> {
    let sent = pair.sent.iter().filter(|(_, from, segment)| *from == side && segment.seq == seq && segment.len > 0);
    sent.map(|(time, _, _)| time.as_nanos() / 1_000_000).collect()
}

#[test]
fn a_lost_syn_waits_for_3_seconds_where_rfc6298_is_not_known() {
    for (profile, waits) in [(Profile::Linux26, 3), (Profile::Windows7, 3), (Profile::Linux37, 1), (Profile::Linux6, 1)]
    {
        let mut pair = Pair::new(system(profile), |side, n, _| side == A && n == 0);
        pair.run_until(at(4000));
        let again = pair.sent.iter().filter(|(_, side, segment)| *side == A && segment.flags.syn).nth(1).unwrap().0;
        // Not before its time, and with a coarse timer a little after.
        assert!((waits * 1000..waits * 1000 + 150).contains(&(again.as_nanos() / 1_000_000)), "{profile:?}: {again:?}");
    }
}

#[test]
fn each_system_has_its_initial_window() {
    for (profile, window) in
        [(Profile::Linux26, 3), (Profile::Linux37, 10), (Profile::Linux6, 10), (Profile::Windows7, 2)]
    {
        let mut pair = Pair::new(system(profile), |_, _, _| false);
        pair.serve(60 * MSS);
        assert_eq!(pair.data_by_time(B)[0], (150, window), "{profile:?}");
    }
}

#[test]
fn the_first_receive_window_of_linux_2_6_holds_4_segments() {
    let server = Config { iw: Some(InitialWindow::try_from(10).unwrap()), ..system(Profile::Linux26) };
    let mut pair = Pair::new(server, |_, _, _| false);
    pair.serve(60 * MSS);
    assert_eq!(pair.data_by_time(B)[0], (150, 4), "5,840 bytes");
}

#[test]
fn slow_start_counts_acknowledgements_bytes_or_segments_as_chosen() {
    // Every second segment is acknowledged: ten segments make five acknowledgements.
    for (counting, second) in
        [(AckCounting::Acks, 15), (AckCounting::Bytes1, 15), (AckCounting::Bytes2, 20), (AckCounting::Segments, 20)]
    {
        let chosen = Mechanisms { counting: Some(counting), ..Mechanisms::default() };
        let mut pair = Pair::new(Config { mechanisms: chosen, ..config(10, Congestion::Reno) }, |_, _, _| false);
        pair.serve(100 * MSS);
        pair.run_until(at(260));
        assert_eq!(pair.data_by_time(B)[1], (250, second), "{counting:?}");
    }
}

#[test]
fn windows_7_waits_200_ms_with_a_lone_acknowledgement() {
    let mut pair = Pair::new(system(Profile::Windows7), |_, _, _| false);
    pair.serve(100);
    pair.run_until(at(1000));
    let ack = pair.sent.iter().find(|(time, side, _)| *side == A && *time > at(150)).unwrap();
    assert_eq!(ack.0, at(400));
}

#[test]
fn mac_os_x_waits_100_ms_with_a_lone_acknowledgement_but_not_at_the_end_of_a_write() {
    for (bytes, answered) in [(MSS, 300), (100, 200)] {
        let mut pair = Pair::new(system(Profile::MacOsX105), |_, _, _| false);
        pair.serve(bytes);
        pair.run_until(at(1000));
        let ack = pair.sent.iter().find(|(time, side, _)| *side == A && *time > at(150)).unwrap();
        assert_eq!(ack.0, at(answered), "{bytes} bytes");
    }
}

#[test]
fn mac_os_x_repeats_a_syn_every_3_seconds_before_it_doubles_that() {
    let mut pair = Pair::new(system(Profile::MacOsX105), |side, _, _| side == A);
    pair.run_until(at(120_000));
    let syns: Vec<u64> = pair.sent.iter().map(|(time, _, _)| time.as_nanos() / 1_000_000_000).collect();
    assert_eq!(syns, [0, 3, 6, 9, 12, 15, 21, 33]);
}

#[test]
fn linux_6_acknowledges_the_first_segments_one_by_one() {
    let mut pair = Pair::new(system(Profile::Linux6), |_, _, _| false);
    pair.serve(10 * MSS);
    pair.run_until(at(260));
    assert_eq!(pair.sent.iter().filter(|(time, side, _)| *side == A && *time == at(200)).count(), 10);
}

#[test]
fn a_lost_tail_is_probed_for_after_two_round_trips_rfc8985_7() {
    let tail = 9 * MSS + 1;
    let lossy = || move |side: usize, _: usize, s: &Segment| side == B && s.seq == tail && s.ts_val == at(150);
    let mut pair = Pair::new(system(Profile::Linux6), lossy());
    pair.serve(10 * MSS);
    pair.run_until(at(2000));
    // The last acknowledgement but one comes at 250. One segment is outstanding, which may wait for a delayed
    // acknowledgement: two round trips and 200 ms, or the timeout of 300 ms, whichever is less, in ticks.
    let again = times_of(&pair, B, tail)[1];
    assert!((550..580).contains(&again), "{again}");

    let without = Mechanisms { tail_loss_probes: Some(false), ..Mechanisms::default() };
    let mut pair = Pair::new(linux_6(without), |side, _, s| side == B && s.seq > 7 * MSS && s.ts_val == at(150));
    pair.serve(10 * MSS);
    pair.run_until(at(2000));
    let timeout = times_of(&pair, B, 7 * MSS + 1)[1];
    assert_eq!(pair.ends[B].loss_recovery(), LossRecovery { timeouts: 1, ..LossRecovery::default() });
    let mut pair =
        Pair::new(linux_6(Mechanisms::default()), |side, _, s| side == B && s.seq > 7 * MSS && s.ts_val == at(150));
    pair.serve(10 * MSS);
    pair.run_until(at(2000));
    // Three are outstanding: the last one is sent again after two round trips, its SACK tells of the others.
    let probe = times_of(&pair, B, 9 * MSS + 1)[1];
    assert!((450..470).contains(&probe) && probe + 50 < timeout, "{probe}, {timeout}");
    let counts = LossRecovery { fast_retransmissions: 2, tail_loss_probes: 1, timeouts: 0 };
    assert_eq!((pair.ends[B].loss_recovery(), pair.ends[B].retransmissions()), (counts, 3));
    assert_eq!(pair.read[A], 10 * MSS);
}

#[test]
fn a_segment_that_is_overtaken_is_sent_again_only_while_nothing_was_ever_out_of_order_rfc8985_6() {
    // The second of ten comes 20 ms late, behind all others.
    let late = |round: u64| {
        move |side: usize, _: usize, s: &Segment| {
            let is_late = side == B && s.seq == MSS + 1 + round * 10 * MSS;
            Some(if is_late { ms(70) } else { ms(50) })
        }
    };
    let first = late(0);
    let mut pair = Pair::with_fate(system(Profile::Linux6), Box::new(first));
    pair.serve(10 * MSS);
    pair.run_until(at(2000));
    // Sent again, since three SACKs are enough; the D-SACK then takes the reduction back.
    assert_eq!(times_of(&pair, B, MSS + 1).len(), 2);
    assert!(pair.ends[B].cwnd() >= 10, "{}", pair.ends[B].cwnd());
}

#[test]
fn a_spurious_timeout_is_taken_back_rfc5682() {
    // All acknowledgements are held up for 600 ms once; nothing is lost.
    let fate = |side: usize, _: usize, s: &Segment| {
        let held = side == A && (at(200)..at(300)).contains(&s.ts_val);
        Some(if held { ms(650) } else { ms(50) })
    };
    let window = |frto| {
        let chosen =
            Mechanisms { frto: Some(frto), undo: Some(frto), tail_loss_probes: Some(false), ..Mechanisms::default() };
        let mut pair = Pair::with_fate(linux_6(chosen), Box::new(fate));
        pair.serve(10 * MSS);
        pair.run_until(at(855));
        pair.ends[B].cwnd()
    };
    assert!(window(true) >= 10, "{}", window(true));
    assert!(window(false) < 10, "{}", window(false));
}

#[test]
fn after_idleness_linux_halves_the_window_for_each_timeout_down_to_the_initial_one() {
    let window_after = |idle: u64, restart: Option<IdleRestart>| {
        let chosen = Mechanisms { idle_restart: restart, ..Mechanisms::default() };
        let mut pair = Pair::new(linux_6(chosen), |_, _, _| false);
        pair.serve(100 * MSS);
        pair.run_until(at(1000));
        let last = pair.sent.iter().rfind(|(_, side, s)| *side == B && s.len > 0).unwrap().0;
        pair.run_until(last + ms(idle));
        pair.ends[B].write(400 * MSS);
        pair.flush();
        pair.ends[B].cwnd()
    };
    let (busy, one, two, long) =
        (window_after(150, None), window_after(450, None), window_after(800, None), window_after(5000, None));
    assert!(busy > 60 && one * 2 <= busy + 1 && two < one && long == 10, "{busy} {one} {two} {long}");
    assert_eq!(window_after(5000, Some(IdleRestart::Never)), busy);
}

#[test]
fn hystart_leaves_slow_start_before_a_train_of_acknowledgements_is_as_long_as_a_round_trip() {
    // A link of 10 Mbit/s without end of queue: a segment takes 1.2 ms.
    let window = |hystart| {
        let mut free = Time::ZERO;
        let link = move |side: usize, _: usize, s: &Segment| {
            if side == A || s.len == 0 {
                return Some(ms(50));
            }
            free = free.max(s.ts_val).plus_nanos(1_200_000);
            Some(ms(50) + Duration::from_nanos(free.nanos_since(s.ts_val)))
        };
        let chosen = Mechanisms { hystart: Some(hystart), ..Mechanisms::default() };
        let mut pair = Pair::with_fate(linux_6(chosen), Box::new(link));
        pair.serve(3000 * MSS);
        pair.run_until(at(900));
        pair.ends[B].cwnd()
    };
    // The path holds 83 segments; half a round trip of train is 42.
    assert!(window(true) < 150, "{}", window(true));
    assert!(window(false) > 300, "{}", window(false));
}

#[test]
fn tcp_plus_behaves_like_its_flows_together() {
    let six = Config { flows: Some(Bounded::known(6)), ..config(10, Congestion::Reno) };
    let mut pair = Pair::new(six, |side, _, s| side == B && s.seq == 1 && s.ts_val == at(150));
    pair.serve(60 * MSS);
    assert_eq!(pair.data_by_time(B)[0], (150, 60));
    pair.run_until(at(2000));
    // One of six flows halves its window: 60 become 55.
    assert_eq!(pair.ends[B].cwnd(), 55);
}

/// Lets B write as its room allows until it has written `bytes`, and all that arrive.
fn serve_as_room_allows(pair: &mut Pair, bytes: u64) {
    let mut left = bytes;
    loop {
        loop {
            let room = pair.ends[B].writable().min(left);
            if room == 0 {
                break;
            }
            pair.ends[B].write(room);
            left -= room;
            pair.flush();
        }
        if !pair.step(at(100_000)) {
            return;
        }
    }
}

#[test]
fn after_a_pause_the_send_buffer_holds_less_than_the_window() {
    let mut pair = Pair::new(system(Profile::Linux6), |_, _, _| false);
    pair.run_until(at(150));
    serve_as_room_allows(&mut pair, 300_000);
    assert_eq!(pair.read[A], 300_000);
    let window = u64::from(pair.ends[B].cwnd());
    let mut written = 0;
    while pair.ends[B].writable() > 0 {
        let room = pair.ends[B].writable();
        pair.ends[B].write(room);
        pair.flush();
        written += room;
    }
    // The buffer was made for the window that there was when the program had no more to write.
    assert!(window > 200 && (60 * MSS..window * MSS * 3 / 4).contains(&written), "{written} of {window} segments");
    // As soon as something is acknowledged while the program waits, it is made for the window that there is.
    serve_as_room_allows(&mut pair, 600_000);
    assert_eq!(pair.read[A], 900_000 + written);
}

#[test]
fn a_window_that_is_not_used_does_not_grow_beyond_twice_what_was() {
    let mut pair = Pair::new(linux_6(Mechanisms { hystart: Some(false), ..Mechanisms::default() }), |_, _, _| false);
    pair.run_until(at(150));
    // Four segments at a time, each time all acknowledged.
    for _ in 0..30 {
        pair.ends[B].write(4 * MSS);
        pair.flush();
        let next = pair.now + ms(110);
        pair.run_until(next);
    }
    assert_eq!(pair.ends[B].cwnd(), 10);
}

#[test]
fn linux_6_waits_with_an_acknowledgement_for_a_round_trip_at_most_however_far_apart_segments_come() {
    let mut pair = Pair::new(system(Profile::Linux6), |_, _, _| false);
    pair.run_until(at(150));
    // Full segments 150 ms apart, of which none is answered: the delay doubles each time that it was of no use.
    for n in 1..40 {
        pair.ends[B].write(MSS);
        pair.flush();
        pair.run_until(at(150 + 150 * n));
    }
    let acks: Vec<_> = pair.sent.iter().filter(|(time, side, s)| *side == A && s.len == 0 && *time > at(150)).collect();
    let came = |ack: u64| pair.sent.iter().find(|(_, side, s)| *side == B && s.end() == ack).unwrap().0 + ms(50);
    let waits: Vec<u64> = acks.iter().map(|(time, _, s)| time.nanos_since(came(s.ack)) / 1_000_000).collect();
    // The round trip is 100 ms; a tick and half a tick for the timer.
    assert!(waits.iter().all(|wait| *wait <= 106) && waits.contains(&102), "{waits:?}");
}

#[test]
fn nagles_algorithm_allows_one_short_segment_in_flight_rfc896() {
    let sent = |nagle: bool| {
        let mechanisms = Mechanisms { nagle: Some(nagle), ..Mechanisms::default() };
        let mut pair = Pair::new(Config { mechanisms, ..config(10, Congestion::Reno) }, |_, _, _| false);
        pair.run_until(at(100));
        for bytes in [100, 200, 2 * 1448 + 300, 50] {
            pair.ends[A].write(bytes);
            pair.flush();
        }
        let lens = |pair: &Pair| -> Vec<u32> {
            pair.sent.iter().filter(|(_, side, segment)| *side == A && segment.len > 0).map(|(.., s)| s.len).collect()
        };
        let at_once = lens(&pair);
        pair.run_until(at(1_000));
        (at_once, lens(&pair), pair.read[B])
    };
    assert_eq!(sent(false).0, [100, 200, 1448, 1448, 300, 50]);
    // Full segments do not wait; the rest does until the first is acknowledged.
    let (at_once, all, read) = sent(true);
    assert_eq!((at_once, all, read), (vec![100, 1448, 1448], vec![100, 1448, 1448, 550], 3_546));
}
