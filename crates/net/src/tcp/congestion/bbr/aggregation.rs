//! ACK aggregation: how many more segments are acknowledged than the bandwidth estimate explains
//! (`bbr_update_ack_aggregation`; not in the draft). cwnd is larger by that, or the sender would stall between
//! bursts of ACKs.

use super::BbrSample;
use super::bandwidth::Bandwidth;
use crate::tcp::delivery::between;
use loadstone_units::Time;

/// Window of the max filter: 5 rounds, two buckets (`bbr_extra_acked_win_rtts`).
const EXTRA_ACKED_WIN_RTTS: u32 = 5;
/// The maximum of `acked` in one epoch, in segments (a field of 20 bits in Linux).
const ACK_EPOCH_ACKED_MAX: u64 = 0xF_FFFF;
/// The maximum increase of cwnd, in µs of the bandwidth (`bbr_extra_acked_max_us`).
const EXTRA_ACKED_MAX_US: u64 = 100_000;

#[derive(Debug, Default)]
pub(super) struct Aggregation {
    /// When this epoch began.
    since: Time,
    /// Segments acknowledged in this epoch.
    acked: u64,
    /// The maximum excess in the current window and in the one before.
    extra_acked: [u64; 2],
    /// Rounds in the current window.
    win_rtts: u32,
}

impl Aggregation {
    /// A new epoch begins.
    pub(super) fn restart(&mut self, now: Time) {
        (self.since, self.acked) = (now, 0);
    }

    /// An ACK with a rate sample; `begun` if a round begins with it.
    pub(super) fn update(&mut self, ack: &BbrSample, bandwidth: Bandwidth, window: u32, begun: bool) {
        if begun {
            self.win_rtts += 1;
            if self.win_rtts >= EXTRA_ACKED_WIN_RTTS {
                self.win_rtts = 0;
                self.extra_acked = [0, self.extra_acked[0]];
            }
        }
        let mut expected = bandwidth.segments_in(between(self.since, ack.delivered_time));
        let acked = u64::from(ack.acked);
        if self.acked <= expected || self.acked + acked > ACK_EPOCH_ACKED_MAX {
            self.restart(ack.delivered_time);
            expected = 0;
        }
        self.acked = (self.acked + acked).min(ACK_EPOCH_ACKED_MAX);
        let excess = (self.acked - expected).min(window.into());
        self.extra_acked[0] = self.extra_acked[0].max(excess);
    }

    /// By how many segments cwnd is larger.
    pub(super) fn ack_aggregation_cwnd(&self, bandwidth: Bandwidth) -> u64 {
        let [now, before] = self.extra_acked;
        now.max(before).min(bandwidth.segments_in(EXTRA_ACKED_MAX_US))
    }
}
