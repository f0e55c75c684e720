use super::*;
use crate::tcp::config::Config;
use crate::tcp::mechanisms::Mechanisms;

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
