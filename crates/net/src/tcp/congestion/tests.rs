//! Invariants of every congestion control, under any sequence of events.

use super::*;
use crate::tcp::config::{Config, Profile};
use crate::tcp::flight::Sent;
use crate::tcp::rtt::SendSequence;
use proptest::prelude::*;
use std::collections::VecDeque;

const MSS: u64 = 1448;
const MS: u64 = 1_000_000;

/// An event that a sender reports.
#[derive(Clone, Copy, Debug)]
enum Event {
    Established,
    AppLimited,
    TxStart,
    Sent(u64),
    Sample,
    /// Delivered segments at most, congestion state, segments newly lost.
    Acked(usize, CongestionState, u32),
    /// The reordering timer has found losses.
    CwndReduction,
    Loss,
    EndCwndReduction,
    Undo,
    Timeout,
}

const STATES: [CongestionState; 4] =
    [CongestionState::Open, CongestionState::Disorder, CongestionState::Recovery, CongestionState::Loss];
const VARIANTS: [CwndReduction; 3] = [CwndReduction::PrrCrb, CwndReduction::PrrSsrb, CwndReduction::RateHalving];
const CONTROLS: [Congestion; 3] = [Congestion::Reno, Congestion::Cubic, Congestion::Bbr];

/// Reports events in any order, except that recovery ends only after a loss.
struct FakeSender {
    controller: Box<dyn Controller>,
    window: CongestionWindow,
    variant: CwndReduction,
    now: Time,
    rtt: Rtt,
    flight: VecDeque<Sent>,
    una: u64,
    nxt: u64,
    lost: u64,
    /// The window before the last loss, if there was one.
    prior: Option<u32>,
}

impl FakeSender {
    fn new(cc: Congestion, profile: Profile, variant: CwndReduction, iw: u32) -> FakeSender {
        let rules = Config { profile, ..Config::default() }.rules();
        let (controller, rtt) = (controller(cc, &rules, iw), Rtt::new(&rules.constants));
        let (window, flight) = (CongestionWindow::new(iw), VecDeque::new());
        FakeSender { controller, window, variant, now: Time::ZERO, rtt, flight, una: 1, nxt: 1, lost: 0, prior: None }
    }

    fn in_flight(&self) -> u32 {
        self.flight.len() as u32
    }

    fn report(&mut self, event: Event) {
        let (window, now, in_flight) = (&mut self.window, self.now, self.flight.len() as u32);
        let sample = RttSample { now, rtt: 50 * MS, una: self.una, nxt: self.nxt };
        match event {
            Event::Established => self.controller.on_established(window, now, &self.rtt),
            Event::AppLimited => self.controller.on_app_limited(in_flight),
            Event::TxStart => self.controller.on_tx_start(now, 7 * MS),
            Event::Sent(bytes) => self.send(bytes),
            Event::Sample => self.controller.on_rtt_sample(window, sample),
            Event::Acked(most, ca_state, losses) => self.acknowledge(most, ca_state, losses),
            Event::CwndReduction => self.controller.cwnd_reduction(window, 1, in_flight, false),
            Event::Loss => self.lose(),
            Event::EndCwndReduction if self.prior.is_some() => self.controller.end_cwnd_reduction(window),
            Event::Undo => self.controller.on_undo(window, self.prior.unwrap_or(0)),
            Event::Timeout => self.controller.on_timeout(sample),
            Event::EndCwndReduction => {}
        }
    }

    fn send(&mut self, bytes: u64) {
        let (now, outstanding) = (self.now, self.in_flight());
        let packet = SentPacket { now, bytes, outstanding, in_flight: outstanding };
        let tx = self.controller.on_sent(&mut self.window, &packet);
        let (start, end) = (self.nxt, self.nxt + bytes);
        let (fin, sacked, lost, retransmitted, ever_retransmitted) = (false, false, false, false, false);
        self.flight.push_back(Sent { start, end, fin, at: now, sacked, lost, retransmitted, ever_retransmitted, tx });
        self.nxt = end;
    }

    fn acknowledge(&mut self, most: usize, ca_state: CongestionState, losses: u32) {
        let prior_in_flight = self.in_flight();
        let mut summary = AckSummary::default();
        for sent in self.flight.drain(..most.min(prior_in_flight as usize)) {
            summary.delivered += 1;
            summary.bytes += sent.end - sent.start;
            (summary.advanced, summary.acked_times, summary.newest_delivered[0]) =
                (true, Some((sent.at, sent.at)), Some(sent));
            self.una = sent.end;
        }
        let sample = summary.acked_times.map(|(_, at)| self.now.nanos_since(at));
        if let Some(sample) = sample {
            self.rtt.on_sample(sample, SendSequence { una: self.una, nxt: self.nxt });
        }
        self.lost += u64::from(losses);
        let ack = AckSample {
            now: self.now,
            summary: &summary,
            ca_state,
            growth: if ca_state == CongestionState::Recovery { 0 } else { summary.delivered },
            safe_ack: losses == 0,
            prior_in_flight,
            in_flight: self.in_flight(),
            losses,
            lost: self.lost,
            rtt_sample: sample,
            rtt: &self.rtt,
        };
        self.controller.on_ack(&mut self.window, &ack);
    }

    /// What a sender does when it finds losses.
    fn lose(&mut self) {
        self.prior = Some(self.window.cwnd);
        self.window.ssthresh = self.controller.ssthresh(&self.window, self.flight.len() as u32);
        self.window.reduction = ReductionState::new(self.variant, self.window.cwnd);
        self.window.cwnd_cnt = 0;
    }
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let event = prop_oneof![
        1 => Just(Event::Established),
        1 => Just(Event::AppLimited),
        1 => Just(Event::TxStart),
        8 => prop_oneof![Just(MSS), 0..MSS].prop_map(Event::Sent),
        2 => Just(Event::Sample),
        8 => (0..20_usize, prop::sample::select(&STATES[..]), 0..4_u32).prop_map(|(n, ca_state, lost)| Event::Acked(n, ca_state, lost)),
        1 => Just(Event::CwndReduction),
        1 => Just(Event::Loss),
        1 => Just(Event::EndCwndReduction),
        1 => Just(Event::Undo),
        1 => Just(Event::Timeout),
    ];
    // Now and then a pause that is longer than what is remembered of the path.
    let gap = prop_oneof![6 => Just(0), 6 => 0..30 * MS, 1 => 0..20_000 * MS];
    prop::collection::vec((gap, event), 1..300)
}

proptest! {
    #[test]
    fn after_any_events_cwnd_is_at_least_one_segment_and_ssthresh_two(
        cc in prop::sample::select(&CONTROLS[..]),
        profile in prop::sample::select(&[Profile::Linux6, Profile::Textbook][..]),
        variant in prop::sample::select(&VARIANTS[..]),
        iw in 1..100_u32,
        events in events(),
    ) {
        let mut sender = FakeSender::new(cc, profile, variant, iw);
        for (gap, event) in events {
            sender.now = sender.now.plus_nanos(gap);
            sender.report(event);
            prop_assert!(sender.window.cwnd >= 1, "{event:?}: {:?}", sender.window);
            if let Event::Loss = event {
                prop_assert!(sender.window.ssthresh >= 2, "{:?}", sender.window);
            }
            // Loss-based controls do not pace.
            let waits = sender.window.pacer.next_send() > sender.now;
            prop_assert!(!waits || cc == Congestion::Bbr, "{event:?}: {:?}", sender.window);
        }
    }
}

/// A window of 20 segments that are all on their way, and of which all are lost that are to be.
fn at_a_loss(cc: Congestion) -> FakeSender {
    let mut sender = FakeSender::new(cc, Profile::Linux6, CwndReduction::PrrSsrb, 20);
    sender.report(Event::Established);
    (0..20).for_each(|_| sender.report(Event::Sent(MSS)));
    sender.now = Time::from_nanos(100 * MS);
    sender.report(Event::Loss);
    sender
}

#[test]
fn what_goes_by_losses_shrinks_to_the_threshold_and_comes_back_when_nothing_was_lost() {
    for (cc, threshold) in [(Congestion::Reno, 10), (Congestion::Cubic, 14)] {
        let mut sender = at_a_loss(cc);
        assert_eq!((sender.window.cwnd, sender.window.ssthresh), (20, threshold), "{cc:?}");
        // RFC 6937, section 3: of 20, as many go as the threshold's share of what is delivered, the first at once.
        sender.report(Event::CwndReduction);
        assert_eq!(sender.window.cwnd, 21, "{cc:?}");
        sender.report(Event::EndCwndReduction);
        assert_eq!(sender.window.cwnd, threshold, "{cc:?}");
        sender.report(Event::Undo);
        assert_eq!(sender.window.cwnd, 20, "{cc:?}");
    }
}

#[test]
fn what_goes_by_a_model_keeps_its_window_when_others_shrink_theirs() {
    let mut sender = at_a_loss(Congestion::Bbr);
    for event in [Event::CwndReduction, Event::EndCwndReduction, Event::Undo] {
        sender.report(event);
        assert_eq!((sender.window.cwnd, sender.window.ssthresh), (20, u32::MAX), "{event:?}");
    }
}

#[test]
fn only_what_paces_is_asked_to_wait_and_only_with_the_eleventh_segment() {
    for cc in CONTROLS {
        let mut sender = FakeSender::new(cc, Profile::Linux6, CwndReduction::PrrSsrb, 20);
        sender.report(Event::Established);
        for sent in 1..=10 {
            assert!(!sender.window.pacer.pacing_check(sender.now, true), "{cc:?}, before {sent}");
            sender.report(Event::Sent(MSS));
        }
        assert_eq!(sender.window.pacer.pacing_check(sender.now, true), cc == Congestion::Bbr, "{cc:?}");
    }
}

#[test]
fn an_ack_lets_a_window_grow_except_in_recovery() {
    for cc in [Congestion::Reno, Congestion::Cubic] {
        for (ca_state, cwnd) in [
            (CongestionState::Open, 22),
            (CongestionState::Disorder, 22),
            (CongestionState::Loss, 22),
            (CongestionState::Recovery, 21),
        ] {
            let mut sender = FakeSender::new(cc, Profile::Textbook, CwndReduction::PrrSsrb, 20);
            (0..20).for_each(|_| sender.report(Event::Sent(MSS)));
            // Slow start by two; or, with the first in recovery, 18 on their way and two delivered, and one more.
            sender.report(Event::Acked(2, ca_state, 0));
            assert_eq!(sender.window.cwnd, cwnd, "{cc:?} in {ca_state:?}");
        }
    }
}
