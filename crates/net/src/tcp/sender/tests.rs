use super::*;
use crate::tcp::config::{Config, Congestion, Profile};
use crate::tcp::mechanisms::Mechanisms;
use crate::tcp::segment::{Flags, Sacks, Segment};

/// A sender whose window is `cwnd` segments, with an initial one of ten.
fn sender(cwnd: u32, restart: IdleRestart) -> Sender {
    let mechanisms = Mechanisms { idle_restart: Some(restart), ..Mechanisms::default() };
    let config = Config { mechanisms, ..Config::default() };
    let mut sender = Sender::new(&config, config.rules());
    sender.window.cwnd = cwnd;
    sender
}

#[test]
fn a_window_that_is_not_used_goes_half_way_to_what_is_and_not_below_the_initial_one_rfc2861() {
    for (used, state, expected) in [
        (20, CongestionState::Open, 25),
        (4, CongestionState::Open, 20),
        (30, CongestionState::Open, 30),
        (20, CongestionState::Recovery, 30),
    ] {
        let mut sender = sender(30, IdleRestart::Never);
        (sender.ca_state, sender.cwv.snd_cwnd_used) = (state, used);
        sender.cwnd_application_limited(Time::ZERO);
        assert_eq!(sender.window.cwnd, expected, "{used} used, {state:?}");
    }
}

#[test]
fn a_pause_halves_the_window_once_for_each_timeout_that_has_passed() {
    let timeout = sender(80, IdleRestart::Halving).rto();
    for (pause, expected) in
        [(timeout, 80), (timeout + 1, 40), (2 * timeout, 40), (2 * timeout + 1, 20), (40 * timeout, 10)]
    {
        let mut sender = sender(80, IdleRestart::Halving);
        sender.handle_tx_start(Time::from_nanos(pause));
        assert_eq!(sender.window.cwnd, expected, "after {pause} ns");
    }
}

#[test]
fn a_pause_beyond_a_timeout_brings_back_the_initial_window_or_nothing_rfc5681_4_1() {
    let timeout = sender(80, IdleRestart::Initial).rto();
    for (restart, pause, expected) in [
        (IdleRestart::Initial, timeout, 80),
        (IdleRestart::Initial, timeout + 1, 10),
        (IdleRestart::Never, 10 * timeout, 80),
    ] {
        let mut sender = sender(80, restart);
        sender.handle_tx_start(Time::from_nanos(pause));
        assert_eq!(sender.window.cwnd, expected, "{restart:?} after {pause} ns");
    }
}

/// A sender of four segments, which are in flight, and of nothing more.
fn all_sent(profile: Profile) -> Sender {
    let config = Config { profile, ..Config::default() };
    let mut sender = Sender::new(&config, config.rules());
    sender.snd_wnd_end = 1 << 20;
    sender.write(4 * 1448);
    let sent = std::iter::from_fn(|| sender.poll(Time::ZERO, 0)).count();
    assert_eq!(sent, 4);
    sender
}

#[test]
fn in_recovery_without_anything_to_send_the_last_segment_is_a_rescue_once_rfc6675_4() {
    use CongestionState::{Disorder, Loss, Open, Recovery};
    for (profile, state, is_sent) in [
        (Profile::Textbook, Recovery, true),
        (Profile::Textbook, Open, false),
        (Profile::Textbook, Disorder, false),
        (Profile::Textbook, Loss, false),
        // RACK and FACK mark by themselves, and a tail loss probe is there for the tail.
        (Profile::Linux37, Recovery, false),
        (Profile::Linux6, Recovery, false),
    ] {
        let mut sender = all_sent(profile);
        sender.ca_state = state;
        let rescue = sender.poll(Time::ZERO, 0).map(|sent| sent.range);
        assert_eq!(rescue, is_sent.then_some(3 * 1448 + 1..4 * 1448 + 1), "{profile:?} in {state:?}");
        assert!(sender.poll(Time::ZERO, 0).is_none(), "one rescue in a recovery");
    }
}

#[test]
fn a_last_segment_that_has_arrived_is_no_rescue_rfc6675_4() {
    let mut sender = all_sent(Profile::Textbook);
    let mut sacks = Sacks::default();
    sacks.push(1, 3 * 1448 + 1..4 * 1448 + 1);
    sender.handle_ack(Time::ZERO, &Segment { sacks, ..ack_of_nothing(&sender) });
    // The holes have been filled already.
    (sender.ca_state, sender.high_rxt) = (CongestionState::Recovery, 3 * 1448 + 1);
    assert!(sender.poll(Time::ZERO, 0).is_none());
}

#[test]
fn a_retransmission_of_the_head_restarts_the_timer_rfc6298_5_3() {
    let mut sender = all_sent(Profile::Textbook);
    let (now, rto) = (Time::from_nanos(50_000_000), sender.rto());
    assert_eq!(sender.timer, (SenderTimer::Rto, Time::from_nanos(rto)));
    sender.ca_state = CongestionState::Recovery;
    sender.flight.mark_lost(0);
    assert_eq!(sender.poll(now, 0).map(|sent| sent.range), Some(1..1449));
    assert_eq!(sender.timer, (SenderTimer::Rto, now.plus_nanos(rto)));
}

#[test]
fn a_window_is_used_as_far_as_it_was_at_most_in_a_round_trip() {
    for (before, after) in [(2, 4), (6, 6)] {
        let mut sender = all_sent(Profile::Linux6);
        sender.cwv = CwndValidation { max_packets_out: before, cwnd_usage_seq: u64::MAX, ..sender.cwv };
        sender.cwv.is_cwnd_limited = false;
        sender.cwnd_validate(Time::ZERO);
        assert_eq!(sender.cwv.max_packets_out, after);
    }
}

#[test]
fn only_when_nothing_is_on_its_way_the_other_ends_window_stops_the_sending_rfc9293_3_8_6_1() {
    let mut sender = all_sent(Profile::Linux6);
    sender.snd_wnd_end = sender.nxt + 100;
    sender.write(1448);
    assert!(!sender.is_blocked_by_snd_wnd(), "an acknowledgement comes, and may open it");
    sender.handle_ack(Time::ZERO, &Segment { ack: sender.nxt, window: 100, ..ack_of_nothing(&sender) });
    assert!(sender.is_blocked_by_snd_wnd());
    sender.snd_wnd_end = sender.nxt + 1448;
    assert!(!sender.is_blocked_by_snd_wnd());
}

#[test]
fn what_is_written_may_be_sent_unless_window_or_pacer_are_against_it() {
    let mut sender = all_sent(Profile::Linux6);
    assert!(!sender.may_send_new(), "nothing is left");
    sender.write(1448);
    assert!(sender.may_send_new());
    sender.window.cwnd = 4;
    assert!(!sender.may_send_new());
}

#[test]
fn a_sender_with_less_than_a_segment_left_and_room_in_its_window_is_application_limited() {
    // RFC 9438 and the like do not ask; BBR's samples say it (the draft's CheckIfApplicationLimited()).
    for (cwnd, written, is_limited) in [(10, 100, true), (3, 100, false), (10, 1448, false)] {
        let config = Config { cc: Some(Congestion::Bbr), ..Config::default() };
        let mut sender = Sender::new(&config, config.rules());
        sender.snd_wnd_end = 1 << 20;
        sender.write(4 * 1448);
        assert_eq!(std::iter::from_fn(|| sender.poll(Time::ZERO, 0)).count(), 4);
        // What the handshake was limited by is over.
        sender.handle_ack(Time::ZERO, &Segment { ack: 1449, ..ack_of_nothing(&sender) });
        sender.window.cwnd = cwnd;
        (sender.app_end, sender.write_seq) = (sender.nxt + written, sender.nxt + written);
        sender.check_app_limited();
        let sent = sender.tx_delivery(Time::ZERO, 100);
        assert_eq!(sent.app_limited, is_limited, "{cwnd}, {written}");
    }
}

/// An ACK that says nothing new.
fn ack_of_nothing(sender: &Sender) -> Segment {
    Segment {
        seq: 1,
        ack: sender.una,
        len: 0,
        window: (sender.snd_wnd_end - sender.una) as u32,
        flags: Flags { ack: true, ..Flags::default() },
        ts_val: Time::ZERO,
        ts_ecr: Time::ZERO,
        sacks: Sacks::default(),
        dsack_end: 0,
        repair: None,
    }
}

#[test]
fn the_fast_path_is_for_data_that_says_nothing_new() {
    let plain = |sender: &Sender| Segment { len: 100, ..ack_of_nothing(sender) };
    let mut sacks = Sacks::default();
    sacks.push(1, 1449..2897);
    type Change = fn(&mut Segment);
    let changes: [(&str, Change); 5] = [
        ("no data", |segment| segment.len = 0),
        ("another window", |segment| segment.window += 1),
        ("an ACK", |segment| (segment.ack, segment.window) = (segment.ack + 1, segment.window - 1)),
        ("a D-SACK", |segment| segment.dsack_end = 1),
        ("a FIN", |segment| segment.flags.fin = true),
    ];
    let sender = all_sent(Profile::Linux6);
    // 4 * 1448 bytes and 4 * 832 bytes take 9,120 of 12,288 bytes in three pages: 3,168 are left, and 100 bytes take 960.
    assert!(sender.takes_fast_path(&plain(&sender)));
    for (what, change) in changes {
        let mut segment = plain(&sender);
        change(&mut segment);
        assert!(!sender.takes_fast_path(&segment), "{what}");
    }
    assert!(!sender.takes_fast_path(&Segment { sacks, ..plain(&sender) }));
}
