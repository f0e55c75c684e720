//! Finds out that a policer, and not a queue, takes what is too much (`bbr_lt_bw_sampling`; not in the
//! draft): where two spans of time that each end with many losses have the same rate of delivery, that is
//! what is allowed, and for a while not more is tried.

use super::BbrSample;
use super::bandwidth::{Bandwidth, UNIT};
use loadstone_units::Time;

/// The least and the most rounds of a span.
const LT_INTVL_MIN_RTTS: u32 = 4;
const LT_INTVL_MAX_RTTS: u32 = 16;
/// What is lost of what is delivered, of 256, where it is much.
const LT_LOSS_THRESH: u64 = 50;
/// How close two rates are to be, of 256, or in bytes a second.
const LT_BW_RATIO: u64 = UNIT / 8;
const LT_BW_DIFF: u64 = 500;
/// Rounds for which the rate is believed.
const LT_BW_MAX_RTTS: u32 = 48;

#[derive(Debug, Default)]
pub(super) struct LtBw {
    /// The rate of the last span, or that of two which agreed.
    bandwidth: Option<Bandwidth>,
    use_bw: bool,
    is_sampling: bool,
    /// Rounds of this span, or for which the rate has been believed.
    rtt_cnt: u32,
    interval_start: IntervalStart,
}

/// What there was when a span began.
#[derive(Clone, Copy, Debug, Default)]
struct IntervalStart {
    delivered: u64,
    lost: u64,
    at: Time,
}

impl LtBw {
    /// The rate that a policer is believed to allow.
    pub(super) fn bandwidth(&self) -> Option<Bandwidth> {
        self.bandwidth.filter(|_| self.use_bw)
    }

    /// Nothing is known.
    pub(super) fn reset(&mut self) {
        *self = LtBw::default();
    }

    /// A round of probing has begun. Gives whether the rate has been believed long enough.
    pub(super) fn expire(&mut self) -> bool {
        self.rtt_cnt += 1;
        let over = self.rtt_cnt >= LT_BW_MAX_RTTS;
        if over {
            self.reset();
        }
        over
    }

    /// An acknowledgement, or a timeout; `begun` if with it a round begins. `mss` in bytes.
    pub(super) fn update(&mut self, ack: &BbrSample, begun: bool, mss: u32) {
        if !self.is_sampling {
            // The first loss says that what had been saved up is used up.
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
