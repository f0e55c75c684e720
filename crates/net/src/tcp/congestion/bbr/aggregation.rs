//! Acknowledgements that come in bunches: how much more is delivered at a time than the bandwidth explains
//! (`bbr_update_ack_aggregation`; not in the draft). So much more may be on its way, or the sender would
//! wait between the bunches.

use super::BbrSample;
use super::bandwidth::Bandwidth;
use crate::tcp::delivery::between;
use loadstone_units::Time;

/// Rounds that the largest excess is remembered for, once or twice.
const EXTRA_ACKED_WIN_RTTS: u32 = 5;
/// The most segments that are counted in one go.
const ACK_EPOCH_ACKED_MAX: u64 = 0xF_FFFF;
/// The most that is allowed for, in µs of the bandwidth.
const EXTRA_ACKED_MAX_US: u64 = 100_000;

#[derive(Debug, Default)]
pub(super) struct Aggregation {
    /// Since when is counted, and segments since then.
    since: Time,
    acked: u64,
    /// The largest excess of these rounds, and of those before.
    extra_acked: [u64; 2],
    win_rtts: u32,
}

impl Aggregation {
    /// Counting begins again.
    pub(super) fn restart(&mut self, now: Time) {
        (self.since, self.acked) = (now, 0);
    }

    /// An acknowledgement with a sample of the rate; `begun` if with it a round begins.
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

    /// How many segments more may be on their way.
    pub(super) fn ack_aggregation_cwnd(&self, bandwidth: Bandwidth) -> u64 {
        let [now, before] = self.extra_acked;
        now.max(before).min(bandwidth.segments_in(EXTRA_ACKED_MAX_US))
    }
}
