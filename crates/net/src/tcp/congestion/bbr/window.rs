//! How many segments BBR allows on their way (section 4.2.3).

use super::bandwidth::UNIT;
use super::{Bbr, LEAST_WINDOW, Mode, Reading};
use crate::tcp::congestion::{CongestionState, CongestionWindow};
use crate::tcp::delivery::between;

/// The window before a round trip is known, and what is delivered before the target counts, in segments
/// (`TCP_INIT_CWND`).
const INITIAL_WINDOW: u32 = 10;
/// What leaves in one go is a millisecond's worth, more or less (`sk_pacing_shift`), and no more bytes than
/// these.
const QUANTUM_SHIFT: u32 = 10;
const MOST_QUANTUM: u64 = 65_215;
/// From this rate on, in bytes a second, it is two segments at least.
const FAST: u64 = 150_000;

impl Bbr {
    /// The window will shrink, by losses or `ProbeRtt`: what it was is worth remembering (section 4.2.3.4).
    pub(super) fn save(&mut self, window: &CongestionWindow) {
        let is_good = self.repair < CongestionState::Recovery && !self.is_probing_rtt();
        self.prior = if is_good { window.cwnd } else { self.prior.max(window.cwnd) };
    }

    /// Section 4.2.3.6.
    pub(super) fn set_window(&mut self, window: &mut CongestionWindow, ack: &Reading, room: u64) {
        if ack.acked > 0 && !self.modulate(window, ack) {
            let target = self.product(room) + self.allowance();
            let target = self.quantised(target);
            let grown = window.cwnd.saturating_add(ack.acked);
            if self.pipe.full {
                window.cwnd = grown.min(target);
            } else if window.cwnd < target || ack.delivered < u64::from(INITIAL_WINDOW) {
                window.cwnd = grown;
            }
            window.cwnd = window.cwnd.max(LEAST_WINDOW);
        }
        if self.is_probing_rtt() {
            window.cwnd = window.cwnd.min(LEAST_WINDOW);
        }
    }

    /// What losses and the end of their repair do to the window (section 4.2.3.4). Gives whether it is
    /// settled with that: in the first round as much is sent as is delivered.
    fn modulate(&mut self, window: &mut CongestionWindow, ack: &Reading) -> bool {
        let before = std::mem::replace(&mut self.repair, ack.repair);
        let conserved = ack.in_flight + ack.acked;
        window.cwnd = window.cwnd.saturating_sub(ack.losses).max(1);
        if ack.repair == CongestionState::Recovery && before != CongestionState::Recovery {
            self.conserving = true;
            self.round.until = ack.delivered;
            window.cwnd = conserved;
        } else if before >= CongestionState::Recovery && ack.repair < CongestionState::Recovery {
            window.cwnd = window.cwnd.max(self.prior);
            self.conserving = false;
        }
        if self.conserving {
            window.cwnd = window.cwnd.max(conserved);
        }
        self.conserving
    }

    /// The product of bandwidth and round trip by `gain`, in segments (section 4.2.3.2, `bbr_bdp`).
    fn product(&self, gain: u64) -> u32 {
        let Some(least) = self.least_rtt else { return INITIAL_WINDOW };
        segments(self.bandwidth().segments_by(least, gain))
    }

    fn allowance(&self) -> u32 {
        if self.pipe.full { segments(self.aggregation.allowance(self.bandwidth())) } else { 0 }
    }

    /// Segments that are to be on their way at `gain`. Always by the largest bandwidth (`bbr_inflight`).
    pub(super) fn in_flight_by(&self, gain: u64) -> u32 {
        let Some(least) = self.least_rtt else { return self.quantised(INITIAL_WINDOW) };
        self.quantised(segments(self.bandwidth.get().segments_by(least, gain)))
    }

    /// With what hosts need that handle several segments in one go (section 4.2.3.2,
    /// `bbr_quantization_budget`); even, for acknowledgements of every second segment.
    fn quantised(&self, window: u32) -> u32 {
        let window = (window + 3 * self.quantum()).next_multiple_of(2);
        let is_probing = matches!(self.mode, Mode::ProbeBw { phase: 0, .. });
        window + if is_probing { 2 } else { 0 }
    }

    /// Segments that leave in one go (section 4.2.2, `bbr_tso_segs_goal`). What leaves here leaves segment by
    /// segment, but the window has room for it.
    fn quantum(&self) -> u32 {
        let whole = segments((self.rate >> QUANTUM_SHIFT).min(MOST_QUANTUM) / u64::from(self.mss));
        whole.max(if self.rate < FAST { 1 } else { 2 })
    }

    /// Segments that will be in the network when the next may leave (`bbr_packets_in_net_at_edt`).
    pub(super) fn in_net(&self, in_flight: u32, ack: &Reading) -> u32 {
        let delivered = self.bandwidth().segments_in(between(ack.now, ack.next_send));
        let more = if self.pacing_gain > UNIT { self.quantum() } else { 0 };
        (in_flight + more).saturating_sub(segments(delivered))
    }
}

/// What is more than any window is as good as all.
fn segments(count: u64) -> u32 {
    count.min(1 << 24) as u32
}
