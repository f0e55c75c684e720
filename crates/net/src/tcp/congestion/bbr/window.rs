//! BBR's congestion window (section 4.2.3).

use super::bandwidth::UNIT;
use super::{Bbr, BbrSample, CWND_MIN_TARGET, Mode};
use crate::tcp::congestion::{CongestionState, CongestionWindow};
use crate::tcp::delivery::between;

/// The window before the first RTT sample, and the delivered segments before the target limits cwnd
/// (`TCP_INIT_CWND`).
const INITIAL_WINDOW: u32 = 10;
/// A burst is about one millisecond of the pacing rate (`sk_pacing_shift`).
const QUANTUM_SHIFT: u32 = 10;
/// The maximum of a burst in bytes.
const MAX_QUANTUM: u64 = 65_215;
/// From this rate on, in bytes a second, a burst has at least two segments (`bbr_min_tso_rate`).
const FAST: u64 = 150_000;

impl Bbr {
    /// Saves cwnd before it shrinks by losses or `ProbeRtt` (section 4.2.3.4, `bbr_save_cwnd`).
    pub(super) fn save_cwnd(&mut self, window: &CongestionWindow) {
        let is_good = self.prev_ca_state < CongestionState::Recovery && !self.is_probing_rtt();
        self.prior_cwnd = if is_good { window.cwnd } else { self.prior_cwnd.max(window.cwnd) };
    }

    /// Section 4.2.3.6, `bbr_set_cwnd`.
    pub(super) fn set_cwnd(&mut self, window: &mut CongestionWindow, ack: &BbrSample, cwnd_gain: u64) {
        if ack.acked > 0 && !self.set_cwnd_to_recover_or_restore(window, ack) {
            let target = self.bdp(cwnd_gain) + self.ack_aggregation_cwnd();
            let target = self.quantization_budget(target);
            let grown = window.cwnd.saturating_add(ack.acked);
            if self.full_bw.reached {
                window.cwnd = grown.min(target);
            } else if window.cwnd < target || ack.delivered < u64::from(INITIAL_WINDOW) {
                window.cwnd = grown;
            }
            window.cwnd = window.cwnd.max(CWND_MIN_TARGET);
        }
        if self.is_probing_rtt() {
            window.cwnd = window.cwnd.min(CWND_MIN_TARGET);
        }
    }

    /// Adjusts cwnd to losses and to the end of recovery (section 4.2.3.4). Returns whether cwnd is final: in the first
    /// round of recovery it follows packet conservation.
    fn set_cwnd_to_recover_or_restore(&mut self, window: &mut CongestionWindow, ack: &BbrSample) -> bool {
        let before = std::mem::replace(&mut self.prev_ca_state, ack.ca_state);
        let conserved = ack.in_flight + ack.acked;
        window.cwnd = window.cwnd.saturating_sub(ack.losses).max(1);
        if ack.ca_state == CongestionState::Recovery && before != CongestionState::Recovery {
            self.packet_conservation = true;
            self.round.next_rtt_delivered = ack.delivered;
            window.cwnd = conserved;
        } else if before >= CongestionState::Recovery && ack.ca_state < CongestionState::Recovery {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        if self.packet_conservation {
            window.cwnd = window.cwnd.max(conserved);
        }
        self.packet_conservation
    }

    /// The bandwidth-delay product times `gain`, in segments (section 4.2.3.2, `bbr_bdp`).
    fn bdp(&self, gain: u64) -> u32 {
        let Some(min_rtt) = self.min_rtt_us else { return INITIAL_WINDOW };
        segments(self.bandwidth().segments_by(min_rtt, gain))
    }

    fn ack_aggregation_cwnd(&self) -> u32 {
        if self.full_bw.reached { segments(self.aggregation.ack_aggregation_cwnd(self.bandwidth())) } else { 0 }
    }

    /// The target of segments in flight at `gain`, always by the maximum bandwidth (`bbr_inflight`).
    pub(super) fn inflight(&self, gain: u64) -> u32 {
        let Some(min_rtt) = self.min_rtt_us else { return self.quantization_budget(INITIAL_WINDOW) };
        self.quantization_budget(segments(self.bandwidth.get().segments_by(min_rtt, gain)))
    }

    /// Adds what offloads need that handle several segments at once (section 4.2.3.2,
    /// `bbr_quantization_budget`); even, for ACKs of every second segment.
    fn quantization_budget(&self, window: u32) -> u32 {
        let window = (window + 3 * self.tso_segs_goal()).next_multiple_of(2);
        let is_probing = matches!(self.mode, Mode::ProbeBw { phase: 0, .. });
        window + if is_probing { 2 } else { 0 }
    }

    /// Segments of one burst (section 4.2.2, `bbr_tso_segs_goal`). Here segments are paced one by one, but cwnd has
    /// room for a burst.
    fn tso_segs_goal(&self) -> u32 {
        let whole = segments((self.pacing_rate >> QUANTUM_SHIFT).min(MAX_QUANTUM) / u64::from(self.mss));
        whole.max(if self.pacing_rate < FAST { 1 } else { 2 })
    }

    /// Segments in the network at the earliest departure time of the next (`bbr_packets_in_net_at_edt`).
    pub(super) fn packets_in_net_at_edt(&self, in_flight: u32, ack: &BbrSample) -> u32 {
        let delivered = self.bandwidth().segments_in(between(ack.now, ack.next_send));
        let more = if self.pacing_gain > UNIT { self.tso_segs_goal() } else { 0 };
        (in_flight + more).saturating_sub(segments(delivered))
    }
}

/// Saturates: larger than any cwnd.
fn segments(count: u64) -> u32 {
    count.min(1 << 24) as u32
}
