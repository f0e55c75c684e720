//! Congestion control: told of facts, it moves the window.

mod bbr;
mod cubic;
mod kernel_cubic;
mod reno;

use super::config::Congestion;
use super::flight::{AckSummary, TxDelivery};
use super::pacer::Pacer;
use super::reduction::{CwndReduction, ReductionState};
use super::rtt::Rtt;
use super::rules::Rules;
use loadstone_units::Time;
use std::fmt;

/// How many segments may be on their way, and when the next may leave: what a sender asks of its congestion
/// control. The answers stand here and not behind a call, because they are asked for with every segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CongestionWindow {
    pub(super) cwnd: u32,
    /// Below it is slow start.
    pub(super) ssthresh: u32,
    /// What has been acknowledged towards the next segment of growth.
    pub(super) cwnd_cnt: u32,
    /// How it shrinks while losses are repaired.
    pub(super) reduction: ReductionState,
    /// Lets everything go at once unless the congestion control tells it of what leaves.
    pub(super) pacer: Pacer,
}

impl CongestionWindow {
    pub(super) fn new(initial: u32) -> CongestionWindow {
        // None is under way: whoever begins one says which.
        let reduction = ReductionState::new(CwndReduction::PrrSsrb, initial);
        CongestionWindow { cwnd: initial, ssthresh: u32::MAX, cwnd_cnt: 0, reduction, pacer: Pacer::default() }
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by what is acknowledged, up to the threshold; gives what is left of it (RFC 5681, 3.1).
    fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let rest = acked - (grown - self.cwnd);
        self.cwnd = grown;
        rest
    }

    /// Grows by a segment for every `per` that are acknowledged (`tcp_cong_avoid_ai` of Linux).
    fn cong_avoid_ai(&mut self, per: u32, acked: u32) {
        if self.cwnd_cnt >= per {
            self.cwnd_cnt = 0;
            self.cwnd += 1;
        }
        self.cwnd_cnt += acked;
        self.cwnd += self.cwnd_cnt / per;
        self.cwnd_cnt %= per;
    }

    /// What the threshold is worth when it is looked at after a pause: three quarters of the window at
    /// least (`tcp_current_ssthresh` of Linux).
    pub(super) fn current_ssthresh(&self) -> u32 {
        self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4)
    }
}

/// A congestion control: all that a sender knows of it. It is told what happens, in the order in which it
/// happens, and moves the [`Window`]. It knows nothing of numbers and lists; windows are in segments.
///
/// What is written out here is what goes by losses: the window grows until something is lost, and shrinks by
/// proportional rate reduction while that is repaired. What goes by something else says so method by method.
pub(super) trait Controller: fmt::Debug + Send {
    /// The connection is established, and has measured this of its round trip.
    fn on_established(&mut self, _window: &mut CongestionWindow, _now: Time, _rtt: &Rtt) {}

    /// Whether it goes by the rate of delivery: then it is told of shortages and of each departure. The others have
    /// no use for that, and it would come with every segment.
    fn is_model_based(&self) -> bool {
        false
    }

    /// The program had too little to write, with `in_flight` segments on their way.
    fn on_app_limited(&mut self, _in_flight: u32) {}

    /// There was nothing to send for `nanos` ns until now.
    fn on_tx_start(&mut self, _now: Time, _nanos: u64) {}

    /// A segment is about to leave. Gives what it shall remember until it is delivered.
    fn on_sent(&mut self, _window: &mut CongestionWindow, _packet: &SentPacket) -> TxDelivery {
        TxDelivery::default()
    }

    /// A round trip was measured on something that was sent only once.
    fn on_rtt_sample(&mut self, _window: &mut CongestionWindow, _sample: RttSample) {}

    /// An acknowledgement, whatever it brings (`tcp_cong_control` of Linux).
    fn on_ack(&mut self, window: &mut CongestionWindow, ack: &AckSample) {
        if ack.ca_state == CongestionState::Recovery {
            if ack.summary.delivered > 0 {
                self.cwnd_reduction(window, ack.summary.delivered, ack.in_flight, ack.safe_ack);
            }
        } else if ack.growth > 0 {
            self.cong_avoid(window, AckedSegments { now: ack.now, segments: ack.growth, rtt: ack.rtt.srtt() });
        }
    }

    /// The window may grow.
    fn cong_avoid(&mut self, _window: &mut CongestionWindow, _growth: AckedSegments) {}

    /// Losses are being repaired and `delivered` segments have arrived, so that `in_flight` are on their way.
    /// `smooth` if that goes on in order and nothing more is lost.
    fn cwnd_reduction(&mut self, window: &mut CongestionWindow, delivered: u32, in_flight: u32, smooth: bool) {
        window.cwnd = window.reduction.cwnd(delivered, in_flight, window.ssthresh, smooth);
    }

    /// Something is lost, with `flight` segments outstanding: what the threshold shall be.
    fn ssthresh(&mut self, window: &CongestionWindow, flight: u32) -> u32;

    /// What was lost is repaired.
    fn end_cwnd_reduction(&mut self, window: &mut CongestionWindow) {
        window.cwnd = window.ssthresh;
    }

    /// Nothing was lost after all, and the window was `prior` before (RFC 4015).
    fn on_undo(&mut self, window: &mut CongestionWindow, prior: u32) {
        window.cwnd = window.cwnd.max(prior);
    }

    /// The retransmission timer has expired.
    fn on_timeout(&mut self, _sample: RttSample) {}

    /// How many windows the send buffer has room for (`sndbuf_expand` of Linux).
    fn sndbuf_expand(&self) -> u64 {
        2
    }
}

/// The congestion control of this name.
pub(super) fn controller(cc: Congestion, rules: &Rules, iw: u32) -> Box<dyn Controller> {
    match cc {
        Congestion::Reno => Box::new(reno::Reno::new(rules.ssthresh_from_flight_size)),
        Congestion::Cubic if rules.kernel_cubic => Box::new(kernel_cubic::Cubic::new(rules.mechanisms.hystart)),
        Congestion::Cubic => Box::new(cubic::Cubic::new(iw)),
        Congestion::Bbr => Box::new(bbr::Bbr::new(rules.constants.mss)),
    }
}

/// Where the repair of losses stands (the states of Linux's `tcp_ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum CongestionState {
    /// Nothing is missing or reordered.
    Open,
    /// Something is SACKed, nothing counts as lost.
    Disorder,
    /// Losses are being repaired, the window shrinks.
    Recovery,
    /// The retransmission timer has expired.
    Loss,
}

/// A segment that is about to leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPacket {
    pub(super) now: Time,
    /// Of data.
    pub(super) bytes: u64,
    /// Segments outstanding, and on their way, without it.
    pub(super) outstanding: u32,
    pub(super) in_flight: u32,
}

/// What an acknowledgement says, and where the sender stands after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckSample<'a> {
    pub(super) now: Time,
    /// What it brings.
    pub(super) summary: &'a AckSummary,
    pub(super) ca_state: CongestionState,
    /// Segments by which the window may grow: none if it was not in use, or while losses are repaired.
    pub(super) growth: u32,
    /// It goes on in order and finds nothing lost.
    pub(super) safe_ack: bool,
    /// Segments on their way, before and after it.
    pub(super) prior_in_flight: u32,
    pub(super) in_flight: u32,
    /// Transmissions that count as lost since the last one, and that ever did.
    pub(super) losses: u32,
    pub(super) lost: u64,
    /// The round trip of the last segment that it acknowledges, in ns, if that says anything.
    pub(super) rtt_sample: Option<u64>,
    /// What is known of the round trip.
    pub(super) rtt: &'a Rtt,
}

/// What lets the window grow.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckedSegments {
    pub(super) now: Time,
    /// Segments that are acknowledged.
    pub(super) segments: u32,
    /// The smoothed round trip in nanoseconds.
    pub(super) rtt: u64,
}

/// A measured round trip, and where the sender stood.
#[derive(Clone, Copy, Debug)]
pub(super) struct RttSample {
    pub(super) now: Time,
    /// In nanoseconds.
    pub(super) rtt: u64,
    /// The first number that was not acknowledged before.
    pub(super) una: u64,
    /// The next number to be sent.
    pub(super) nxt: u64,
}

#[cfg(test)]
mod tests;
