//! Acknowledgements that come in bunches: how much more is delivered at a time than the bandwidth explains
//! (`bbr_update_ack_aggregation`; not in the draft). So much more may be on its way, or the sender would
//! wait between the bunches.

use super::Reading;
use super::bandwidth::Bandwidth;
use crate::tcp::delivery::between;
use loadstone_units::Time;

/// Rounds that the largest excess is remembered for, once or twice.
const ROUNDS: u32 = 5;
/// The most segments that are counted in one go.
const MOST: u64 = 0xF_FFFF;
/// The most that is allowed for, in µs of the bandwidth.
const MOST_MICROS: u64 = 100_000;

#[derive(Debug, Default)]
pub(super) struct Aggregation {
    /// Since when is counted, and segments since then.
    since: Time,
    acked: u64,
    /// The largest excess of these rounds, and of those before.
    most: [u64; 2],
    rounds: u32,
}

impl Aggregation {
    /// Counting begins again.
    pub(super) fn restart(&mut self, now: Time) {
        (self.since, self.acked) = (now, 0);
    }

    /// An acknowledgement with a sample of the rate; `begun` if with it a round begins.
    pub(super) fn update(&mut self, ack: &Reading, bandwidth: Bandwidth, window: u32, begun: bool) {
        if begun {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.most = [0, self.most[0]];
            }
        }
        let mut expected = bandwidth.segments_in(between(self.since, ack.delivered_at));
        let acked = u64::from(ack.acked);
        if self.acked <= expected || self.acked + acked > MOST {
            self.restart(ack.delivered_at);
            expected = 0;
        }
        self.acked = (self.acked + acked).min(MOST);
        let excess = (self.acked - expected).min(window.into());
        self.most[0] = self.most[0].max(excess);
    }

    /// How many segments more may be on their way.
    pub(super) fn allowance(&self, bandwidth: Bandwidth) -> u64 {
        let [now, before] = self.most;
        now.max(before).min(bandwidth.segments_in(MOST_MICROS))
    }
}
