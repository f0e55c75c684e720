//! Long-term bandwidth sampling, which detects policers (`bbr_lt_bw_sampling`; not in the draft): if two
//! consecutive intervals with high loss have about the same delivery rate, that is the policed rate, and it is
//! used for a while without probing.

use super::BbrSample;
use super::bandwidth::{Bandwidth, UNIT};
use loadstone_units::Time;

/// The minimum of rounds in an interval (`bbr_lt_intvl_min_rtts`).
const LT_INTVL_MIN_RTTS: u32 = 4;
/// The maximum of rounds in an interval: four times that.
const LT_INTVL_MAX_RTTS: u32 = 16;
/// High loss: the ratio of lost to delivered segments, in 1/256 (`bbr_lt_loss_thresh`).
const LT_LOSS_THRESH: u64 = 50;
/// The maximum relative difference of two rates, in 1/256 (`bbr_lt_bw_ratio`).
const LT_BW_RATIO: u64 = UNIT / 8;
/// The maximum absolute difference of two rates, in bytes a second (`bbr_lt_bw_diff`).
const LT_BW_DIFF: u64 = 500;
/// Rounds for which the policed rate is used (`bbr_lt_bw_max_rtts`).
const LT_BW_MAX_RTTS: u32 = 48;

#[derive(Debug, Default)]
pub(super) struct LtBw {
    /// The rate of the last interval, or the mean of two that agreed.
    bandwidth: Option<Bandwidth>,
    /// The policed rate is in use (`lt_use_bw`).
    use_bw: bool,
    /// An interval is being measured (`lt_is_sampling`).
    is_sampling: bool,
    /// Rounds of this interval, or for which the rate has been used (`lt_rtt_cnt`).
    rtt_cnt: u32,
    interval_start: IntervalStart,
}

/// Counters when an interval began.
#[derive(Clone, Copy, Debug, Default)]
struct IntervalStart {
    delivered: u64,
    lost: u64,
    at: Time,
}

impl LtBw {
    /// The policed rate, if one is in use.
    pub(super) fn bandwidth(&self) -> Option<Bandwidth> {
        self.bandwidth.filter(|_| self.use_bw)
    }

    /// Starts over (`bbr_reset_lt_bw_sampling`).
    pub(super) fn reset(&mut self) {
        *self = LtBw::default();
    }

    /// A round has begun in `ProbeBw`. Returns whether the policed rate has been used long enough; it is then dropped.
    pub(super) fn expire(&mut self) -> bool {
        self.rtt_cnt += 1;
        let over = self.rtt_cnt >= LT_BW_MAX_RTTS;
        if over {
            self.reset();
        }
        over
    }

    /// An ACK; `begun` if a round begins with it. `mss` in bytes.
    pub(super) fn update(&mut self, ack: &BbrSample, begun: bool, mss: u32) {
        if !self.is_sampling {
            // The first loss: the token bucket's burst is spent.
            if ack.losses == 0 {
                return;
            }
            self.reset_interval(ack);
            self.is_sampling = true;
        }
        if ack.rate_sample.is_some_and(|rate| rate.app_limited) {
            return self.reset();
        }
        self.rtt_cnt += u32::from(begun);
        if self.rtt_cnt < LT_INTVL_MIN_RTTS {
            return;
        }
        if self.rtt_cnt > LT_INTVL_MAX_RTTS {
            return self.reset();
        }
        let (lost, delivered) = (ack.lost - self.interval_start.lost, ack.delivered - self.interval_start.delivered);
        let ms = ms(ack.delivered_time) - ms(self.interval_start.at);
        if ack.losses > 0 && delivered > 0 && lost * UNIT >= LT_LOSS_THRESH * delivered && ms > 0 {
            self.interval_done(Bandwidth::new(delivered, ms * 1000), ack, mss);
        }
    }

    fn reset_interval(&mut self, ack: &BbrSample) {
        self.interval_start = IntervalStart { delivered: ack.delivered, lost: ack.lost, at: ack.delivered_time };
        self.rtt_cnt = 0;
    }

    fn interval_done(&mut self, bandwidth: Bandwidth, ack: &BbrSample, mss: u32) {
        if let Some(before) = self.bandwidth {
            let off = bandwidth.abs_diff(before);
            if off <= before.scaled_by(LT_BW_RATIO) || off.rate(mss, UNIT) <= LT_BW_DIFF {
                self.bandwidth = Some(bandwidth.halfway_to(before));
                (self.use_bw, self.rtt_cnt) = (true, 0);
                return;
            }
        }
        self.bandwidth = Some(bandwidth);
        self.reset_interval(ack);
    }
}

fn ms(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}
