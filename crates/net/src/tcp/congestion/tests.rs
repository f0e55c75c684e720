//! What holds for every congestion control, whatever it is told.

use super::*;
use crate::tcp::config::{Config, Profile};
use crate::tcp::flight::Sent;
use crate::tcp::rtt::Reached;
use proptest::prelude::*;
use std::collections::VecDeque;

const MSS: u64 = 1448;
const MS: u64 = 1_000_000;

/// Something that a sender tells.
#[derive(Clone, Copy, Debug)]
enum Fact {
    Established,
    Shortage,
    Pause,
    Sent(u64),
    Sample,
    /// Up to so many segments are delivered in this phase, and so many are lost with it.
    Acked(usize, CongestionState, u32),
    /// The reordering timer has found losses.
    Shrink,
    Loss,
    Repaired,
    Undo,
    Timeout,
}

const PHASES: [CongestionState; 4] =
    [CongestionState::Open, CongestionState::Disorder, CongestionState::Recovery, CongestionState::Loss];
const BOUNDS: [PrrBound; 3] = [PrrBound::Conservative, PrrBound::SlowStart, PrrBound::Halving];
const CONTROLS: [Congestion; 3] = [Congestion::Reno, Congestion::Cubic, Congestion::Bbr];

/// A sender that checks nothing: what it tells is true but for the order, only that nothing is repaired that
/// was not lost.
struct Teller {
    controller: Box<dyn Controller>,
    window: CongestionWindow,
    bound: PrrBound,
    now: Time,
    rtt: Rtt,
    flight: VecDeque<Sent>,
    una: u64,
    nxt: u64,
    lost: u64,
    /// The window before the last loss, if there was one.
    prior: Option<u32>,
}

impl Teller {
    fn new(cc: Congestion, profile: Profile, bound: PrrBound, iw: u32) -> Teller {
        let rules = Config { profile, ..Config::default() }.rules();
        let (controller, rtt) = (controller(cc, &rules, iw), Rtt::new(&rules.constants));
        let (window, flight) = (CongestionWindow::new(iw), VecDeque::new());
        Teller { controller, window, bound, now: Time::ZERO, rtt, flight, una: 1, nxt: 1, lost: 0, prior: None }
    }

    fn in_flight(&self) -> u32 {
        self.flight.len() as u32
    }

    fn tell(&mut self, fact: Fact) {
        let (window, now, in_flight) = (&mut self.window, self.now, self.flight.len() as u32);
        let sample = Sample { now, rtt: 50 * MS, una: self.una, nxt: self.nxt };
        match fact {
            Fact::Established => self.controller.on_established(window, now, &self.rtt),
            Fact::Shortage => self.controller.on_shortage(in_flight),
            Fact::Pause => self.controller.on_pause(now, 7 * MS),
            Fact::Sent(bytes) => self.send(bytes),
            Fact::Sample => self.controller.on_sample(window, sample),
            Fact::Acked(most, phase, losses) => self.acknowledge(most, phase, losses),
            Fact::Shrink => self.controller.shrink(window, 1, in_flight, false),
            Fact::Loss => self.lose(),
            Fact::Repaired if self.prior.is_some() => self.controller.on_repaired(window),
            Fact::Undo => self.controller.on_undo(window, self.prior.unwrap_or(0)),
            Fact::Timeout => self.controller.on_timeout(sample),
            Fact::Repaired => {}
        }
    }

    fn send(&mut self, bytes: u64) {
        let (now, outstanding) = (self.now, self.in_flight());
        let departure = Departure { now, bytes, outstanding, in_flight: outstanding };
        let stamp = self.controller.on_sent(&mut self.window, &departure);
        let (start, end) = (self.nxt, self.nxt + bytes);
        let (fin, sacked, lost, again, repeated) = (false, false, false, false, false);
        self.flight.push_back(Sent { start, end, fin, at: now, sacked, lost, again, repeated, stamp });
        self.nxt = end;
    }

    fn acknowledge(&mut self, most: usize, phase: CongestionState, losses: u32) {
        let prior_in_flight = self.in_flight();
        let mut news = AckSummary::default();
        for sent in self.flight.drain(..most.min(prior_in_flight as usize)) {
            news.delivered += 1;
            news.bytes += sent.end - sent.start;
            (news.advanced, news.acked, news.latest[0]) = (true, Some((sent.at, sent.at)), Some(sent));
            self.una = sent.end;
        }
        let sample = news.acked.map(|(_, at)| self.now.nanos_since(at));
        if let Some(sample) = sample {
            self.rtt.on_sample(sample, Reached { una: self.una, nxt: self.nxt });
        }
        self.lost += u64::from(losses);
        let ack = Acked {
            now: self.now,
            news: &news,
            phase,
            growth: if phase == CongestionState::Recovery { 0 } else { news.delivered },
            smooth: losses == 0,
            prior_in_flight,
            in_flight: self.in_flight(),
            losses,
            lost: self.lost,
            sample,
            rtt: &self.rtt,
        };
        self.controller.on_ack(&mut self.window, &ack);
    }

    /// What a sender does when it finds losses.
    fn lose(&mut self) {
        self.prior = Some(self.window.cwnd);
        self.window.ssthresh = self.controller.ssthresh(&self.window, self.flight.len() as u32);
        self.window.reduction = Reduction::new(self.bound, self.window.cwnd);
        self.window.count = 0;
    }
}

fn facts() -> impl Strategy<Value = Vec<(u64, Fact)>> {
    let fact = prop_oneof![
        1 => Just(Fact::Established),
        1 => Just(Fact::Shortage),
        1 => Just(Fact::Pause),
        8 => prop_oneof![Just(MSS), 0..MSS].prop_map(Fact::Sent),
        2 => Just(Fact::Sample),
        8 => (0..20_usize, prop::sample::select(&PHASES[..]), 0..4_u32).prop_map(|(n, phase, lost)| Fact::Acked(n, phase, lost)),
        1 => Just(Fact::Shrink),
        1 => Just(Fact::Loss),
        1 => Just(Fact::Repaired),
        1 => Just(Fact::Undo),
        1 => Just(Fact::Timeout),
    ];
    // Now and then a pause that is longer than what is remembered of the path.
    let gap = prop_oneof![6 => Just(0), 6 => 0..30 * MS, 1 => 0..20_000 * MS];
    prop::collection::vec((gap, fact), 1..300)
}

proptest! {
    #[test]
    fn told_of_anything_in_any_order_a_window_has_room_for_a_segment_and_a_threshold_for_two(
        cc in prop::sample::select(&CONTROLS[..]),
        profile in prop::sample::select(&[Profile::Linux6, Profile::Textbook][..]),
        bound in prop::sample::select(&BOUNDS[..]),
        iw in 1..100_u32,
        facts in facts(),
    ) {
        let mut teller = Teller::new(cc, profile, bound, iw);
        for (gap, fact) in facts {
            teller.now = teller.now.plus_nanos(gap);
            teller.tell(fact);
            prop_assert!(teller.window.cwnd >= 1, "{fact:?}: {:?}", teller.window);
            if let Fact::Loss = fact {
                prop_assert!(teller.window.ssthresh >= 2, "{:?}", teller.window);
            }
            // Who goes by losses never makes a segment wait.
            let waits = teller.window.pacer.next() > teller.now;
            prop_assert!(!waits || cc == Congestion::Bbr, "{fact:?}: {:?}", teller.window);
        }
    }
}

/// A window of 20 segments that are all on their way, and of which all are lost that are to be.
fn at_a_loss(cc: Congestion) -> Teller {
    let mut teller = Teller::new(cc, Profile::Linux6, PrrBound::SlowStart, 20);
    teller.tell(Fact::Established);
    (0..20).for_each(|_| teller.tell(Fact::Sent(MSS)));
    teller.now = Time::from_nanos(100 * MS);
    teller.tell(Fact::Loss);
    teller
}

#[test]
fn what_goes_by_losses_shrinks_to_the_threshold_and_comes_back_when_nothing_was_lost() {
    for (cc, threshold) in [(Congestion::Reno, 10), (Congestion::Cubic, 14)] {
        let mut teller = at_a_loss(cc);
        assert_eq!((teller.window.cwnd, teller.window.ssthresh), (20, threshold), "{cc:?}");
        // RFC 6937, section 3: of 20, as many go as the threshold's share of what is delivered, the first at once.
        teller.tell(Fact::Shrink);
        assert_eq!(teller.window.cwnd, 21, "{cc:?}");
        teller.tell(Fact::Repaired);
        assert_eq!(teller.window.cwnd, threshold, "{cc:?}");
        teller.tell(Fact::Undo);
        assert_eq!(teller.window.cwnd, 20, "{cc:?}");
    }
}

#[test]
fn what_goes_by_a_model_keeps_its_window_when_others_shrink_theirs() {
    let mut teller = at_a_loss(Congestion::Bbr);
    for fact in [Fact::Shrink, Fact::Repaired, Fact::Undo] {
        teller.tell(fact);
        assert_eq!((teller.window.cwnd, teller.window.ssthresh), (20, u32::MAX), "{fact:?}");
    }
}

#[test]
fn only_what_paces_is_asked_to_wait_and_only_with_the_eleventh_segment() {
    for cc in CONTROLS {
        let mut teller = Teller::new(cc, Profile::Linux6, PrrBound::SlowStart, 20);
        teller.tell(Fact::Established);
        for sent in 1..=10 {
            assert!(!teller.window.pacer.holds(teller.now, true), "{cc:?}, before {sent}");
            teller.tell(Fact::Sent(MSS));
        }
        assert_eq!(teller.window.pacer.holds(teller.now, true), cc == Congestion::Bbr, "{cc:?}");
    }
}

#[test]
fn an_acknowledgement_lets_a_window_grow_unless_losses_are_being_repaired() {
    for cc in [Congestion::Reno, Congestion::Cubic] {
        for (phase, cwnd) in [
            (CongestionState::Open, 22),
            (CongestionState::Disorder, 22),
            (CongestionState::Loss, 22),
            (CongestionState::Recovery, 21),
        ] {
            let mut teller = Teller::new(cc, Profile::Textbook, PrrBound::SlowStart, 20);
            (0..20).for_each(|_| teller.tell(Fact::Sent(MSS)));
            // Slow start by two; or, with the first in recovery, 18 on their way and two delivered, and one more.
            teller.tell(Fact::Acked(2, phase, 0));
            assert_eq!(teller.window.cwnd, cwnd, "{cc:?} in {phase:?}");
        }
    }
}
