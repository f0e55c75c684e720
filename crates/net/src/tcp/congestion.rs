//! Congestion control: moves cwnd and ssthresh on events of the sender.

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

/// cwnd, ssthresh and pacing: what a sender reads of its congestion control. Plain fields and not calls, because
/// they are read for every segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CongestionWindow {
    /// The congestion window in segments.
    pub(super) cwnd: u32,
    /// The slow start threshold in segments: below it is slow start.
    pub(super) ssthresh: u32,
    /// Segments acknowledged towards the next segment of growth (`snd_cwnd_cnt`).
    pub(super) cwnd_cnt: u32,
    /// The reduction during recovery.
    pub(super) reduction: ReductionState,
    /// Paces only if the congestion control reports each sent segment to it.
    pub(super) pacer: Pacer,
}

impl CongestionWindow {
    pub(super) fn new(initial: u32) -> CongestionWindow {
        // No reduction is in progress; the variant is set when one begins.
        let reduction = ReductionState::new(CwndReduction::PrrSsrb, initial);
        CongestionWindow { cwnd: initial, ssthresh: u32::MAX, cwnd_cnt: 0, reduction, pacer: Pacer::default() }
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by `acked` segments up to ssthresh; returns the rest of `acked` (RFC 5681, 3.1; `tcp_slow_start`).
    fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let rest = acked - (grown - self.cwnd);
        self.cwnd = grown;
        rest
    }

    /// Grows by one segment for every `w` acknowledged (`tcp_cong_avoid_ai` of Linux).
    fn cong_avoid_ai(&mut self, per: u32, acked: u32) {
        if self.cwnd_cnt >= per {
            self.cwnd_cnt = 0;
            self.cwnd += 1;
        }
        self.cwnd_cnt += acked;
        self.cwnd += self.cwnd_cnt / per;
        self.cwnd_cnt %= per;
    }

    /// ssthresh, but at least three quarters of cwnd (`tcp_current_ssthresh` of Linux).
    pub(super) fn current_ssthresh(&self) -> u32 {
        self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4)
    }
}

/// A congestion control, as a sender sees it. It gets the events of a connection in their order and moves the
/// [`CongestionWindow`]. It knows neither sequence numbers nor the retransmission queue; windows are in segments.
///
/// The default methods are those of loss-based controls: the window grows until a segment is lost, and shrinks by
/// proportional rate reduction during recovery. Others (BBR) override them.
pub(super) trait Controller: fmt::Debug + Send {
    /// The connection is established, with this RTT estimate.
    fn on_established(&mut self, _window: &mut CongestionWindow, _now: Time, _rtt: &Rtt) {}

    /// Whether it uses the delivery rate: then [`Controller::on_app_limited`] and [`Controller::on_sent`] are called.
    /// Other controls do not need them, and the calls cost time for every segment.
    fn is_model_based(&self) -> bool {
        false
    }

    /// The connection was application-limited, with `in_flight` segments in flight.
    fn on_app_limited(&mut self, _in_flight: u32) {}

    /// The first transmission with nothing in flight, after `nanos` idle ns (`CA_EVENT_TX_START`).
    fn on_tx_start(&mut self, _now: Time, _nanos: u64) {}

    /// A segment is about to be sent. Returns the delivery state that it bears.
    fn on_sent(&mut self, _window: &mut CongestionWindow, _packet: &SentPacket) -> TxDelivery {
        TxDelivery::default()
    }

    /// An RTT sample of a segment that was never retransmitted.
    fn on_rtt_sample(&mut self, _window: &mut CongestionWindow, _sample: RttSample) {}

    /// An ACK that acknowledges or SACKs something, or is a D-SACK (`tcp_cong_control` of Linux).
    fn on_ack(&mut self, window: &mut CongestionWindow, ack: &AckSample) {
        if ack.ca_state == CongestionState::Recovery {
            if ack.summary.delivered > 0 {
                self.cwnd_reduction(window, ack.summary.delivered, ack.in_flight, ack.safe_ack);
            }
        } else if ack.growth > 0 {
            self.cong_avoid(window, AckedSegments { now: ack.now, segments: ack.growth, rtt: ack.rtt.srtt() });
        }
    }

    /// The window may grow (`cong_avoid` of Linux).
    fn cong_avoid(&mut self, _window: &mut CongestionWindow, _growth: AckedSegments) {}

    /// An ACK during recovery delivered `delivered` segments; `in_flight` are in flight (`tcp_cwnd_reduction`).
    /// `safe_ack` if SND.UNA advanced and nothing is newly lost.
    fn cwnd_reduction(&mut self, window: &mut CongestionWindow, delivered: u32, in_flight: u32, smooth: bool) {
        window.cwnd = window.reduction.cwnd(delivered, in_flight, window.ssthresh, smooth);
    }

    /// A loss, with a FlightSize of `flight` segments: returns the new ssthresh.
    fn ssthresh(&mut self, window: &CongestionWindow, flight: u32) -> u32;

    /// Recovery ends (`tcp_end_cwnd_reduction`).
    fn end_cwnd_reduction(&mut self, window: &mut CongestionWindow) {
        window.cwnd = window.ssthresh;
    }

    /// The reduction is undone; the window was `prior` before (RFC 4015).
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

/// Creates a congestion control.
pub(super) fn controller(cc: Congestion, rules: &Rules, iw: u32) -> Box<dyn Controller> {
    match cc {
        Congestion::Reno => Box::new(reno::Reno::new(rules.ssthresh_from_flight_size)),
        Congestion::Cubic if rules.kernel_cubic => Box::new(kernel_cubic::Cubic::new(rules.mechanisms.hystart)),
        Congestion::Cubic => Box::new(cubic::Cubic::new(iw)),
        Congestion::Bbr => Box::new(bbr::Bbr::new(rules.constants.mss)),
    }
}

/// The state of loss recovery (Linux's `tcp_ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum CongestionState {
    /// Nothing is missing or reordered.
    Open,
    /// Segments are SACKed, none is marked lost.
    Disorder,
    /// Fast recovery: lost segments are retransmitted, the window shrinks.
    Recovery,
    /// The retransmission timer has expired.
    Loss,
}

/// A segment that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPacket {
    pub(super) now: Time,
    /// Bytes of data.
    pub(super) bytes: u64,
    /// Segments outstanding, without it.
    pub(super) outstanding: u32,
    /// Segments in flight, without it.
    pub(super) in_flight: u32,
}

/// An ACK, and the sender's state after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckSample<'a> {
    pub(super) now: Time,
    /// What it newly acknowledges.
    pub(super) summary: &'a AckSummary,
    pub(super) ca_state: CongestionState,
    /// Acknowledged segments that count for growth: 0 if not cwnd-limited, or during recovery.
    pub(super) growth: u32,
    /// SND.UNA advanced and nothing is newly lost (SafeACK, RFC 9937).
    pub(super) safe_ack: bool,
    /// Segments in flight before it.
    pub(super) prior_in_flight: u32,
    /// Segments in flight after it.
    pub(super) in_flight: u32,
    /// Transmissions newly marked lost.
    pub(super) losses: u32,
    /// Transmissions ever marked lost.
    pub(super) lost: u64,
    /// The RTT of the last segment that it acknowledges, in ns, if it gives a sample.
    pub(super) rtt_sample: Option<u64>,
    /// The RTT estimator.
    pub(super) rtt: &'a Rtt,
}

/// Acknowledged segments that let the window grow.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckedSegments {
    pub(super) now: Time,
    /// How many.
    pub(super) segments: u32,
    /// SRTT in nanoseconds.
    pub(super) rtt: u64,
}

/// An RTT sample, and the sender's sequence variables.
#[derive(Clone, Copy, Debug)]
pub(super) struct RttSample {
    pub(super) now: Time,
    /// In nanoseconds.
    pub(super) rtt: u64,
    /// SND.UNA after the ACK.
    pub(super) una: u64,
    /// SND.NXT.
    pub(super) nxt: u64,
}

#[cfg(test)]
mod tests;
