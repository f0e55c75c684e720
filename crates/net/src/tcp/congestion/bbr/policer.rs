//! Finds out that a policer, and not a queue, takes what is too much (`bbr_lt_bw_sampling`; not in the
//! draft): where two spans of time that each end with many losses have the same rate of delivery, that is
//! what is allowed, and for a while not more is tried.

use super::Reading;
use super::bandwidth::{Bandwidth, UNIT};
use loadstone_units::Time;

/// The least and the most rounds of a span.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 16;
/// What is lost of what is delivered, of 256, where it is much.
const MUCH: u64 = 50;
/// How close two rates are to be, of 256, or in bytes a second.
const RATIO: u64 = UNIT / 8;
const DIFFERENCE: u64 = 500;
/// Rounds for which the rate is believed.
const BELIEVED: u32 = 48;

#[derive(Debug, Default)]
pub(super) struct Policer {
    /// The rate of the last span, or that of two which agreed.
    bandwidth: Option<Bandwidth>,
    believed: bool,
    sampling: bool,
    /// Rounds of this span, or for which the rate has been believed.
    rounds: u32,
    began: Began,
}

/// What there was when a span began.
#[derive(Clone, Copy, Debug, Default)]
struct Began {
    delivered: u64,
    lost: u64,
    at: Time,
}

impl Policer {
    /// The rate that a policer is believed to allow.
    pub(super) fn bandwidth(&self) -> Option<Bandwidth> {
        self.bandwidth.filter(|_| self.believed)
    }

    /// Nothing is known.
    pub(super) fn reset(&mut self) {
        *self = Policer::default();
    }

    /// A round of probing has begun. Gives whether the rate has been believed long enough.
    pub(super) fn end_belief(&mut self) -> bool {
        self.rounds += 1;
        let over = self.rounds >= BELIEVED;
        if over {
            self.reset();
        }
        over
    }

    /// An acknowledgement, or a timeout; `begun` if with it a round begins. `mss` in bytes.
    pub(super) fn update(&mut self, ack: &Reading, begun: bool, mss: u32) {
        if !self.sampling {
            // The first loss says that what had been saved up is used up.
            if ack.losses == 0 {
                return;
            }
            self.begin(ack);
            self.sampling = true;
        }
        if ack.rate.is_some_and(|rate| rate.app_limited) {
            return self.reset();
        }
        self.rounds += u32::from(begun);
        if self.rounds < LEAST_ROUNDS {
            return;
        }
        if self.rounds > MOST_ROUNDS {
            return self.reset();
        }
        let (lost, delivered) = (ack.lost - self.began.lost, ack.delivered - self.began.delivered);
        let ms = ms(ack.delivered_at) - ms(self.began.at);
        if ack.losses > 0 && delivered > 0 && lost * UNIT >= MUCH * delivered && ms > 0 {
            self.end_span(Bandwidth::new(delivered, ms * 1000), ack, mss);
        }
    }

    fn begin(&mut self, ack: &Reading) {
        self.began = Began { delivered: ack.delivered, lost: ack.lost, at: ack.delivered_at };
        self.rounds = 0;
    }

    fn end_span(&mut self, bandwidth: Bandwidth, ack: &Reading, mss: u32) {
        if let Some(before) = self.bandwidth {
            let off = bandwidth.off(before);
            if off <= before.by(RATIO) || off.rate(mss, UNIT) <= DIFFERENCE {
                self.bandwidth = Some(bandwidth.halfway_to(before));
                (self.believed, self.rounds) = (true, 0);
                return;
            }
        }
        self.bandwidth = Some(bandwidth);
        self.begin(ack);
    }
}

fn ms(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}
