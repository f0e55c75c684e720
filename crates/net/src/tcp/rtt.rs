//! The round-trip estimator and the retransmission timeout (RFC 6298).

use super::rules::Constants;

/// What is known of the round trip. In nanoseconds: this is done for every acknowledgement.
#[derive(Debug)]
pub(super) struct Rtt {
    smoothed: Option<u64>,
    /// The smallest sample.
    least: u64,
    deviation: Deviation,
    /// How often in a row the timeout has been doubled.
    backoff: u32,
    initial: u64,
    min: u64,
    max: u64,
}

/// What the timeout adds to the smoothed round trip.
#[derive(Debug)]
enum Deviation {
    /// Four times the mean deviation (RFC 6298, section 2).
    Mean(u64),
    /// As Linux has it: at least the least timeout, and slow to shrink (`tcp_rtt_estimator`).
    Slow {
        /// Four times the mean deviation.
        mean: u64,
        /// The largest `mean` of this round trip.
        most: u64,
        /// What is added.
        added: u64,
        /// The round trip ends when this number is acknowledged.
        until: u64,
    },
}

/// Where the sender stands when a sample is taken: the first number that is not acknowledged, and the
/// next to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    pub(super) una: u64,
    pub(super) nxt: u64,
}

impl Rtt {
    pub(super) fn new(constants: &Constants) -> Rtt {
        let min = constants.rto_min.as_nanos() as u64;
        Rtt {
            smoothed: None,
            least: u64::MAX,
            deviation: match constants.adds_least_timeout {
                false => Deviation::Mean(0),
                true => Deviation::Slow { mean: 0, most: min, added: min, until: 0 },
            },
            backoff: 0,
            initial: constants.rto_initial.as_nanos() as u64,
            min,
            max: constants.rto_max.as_nanos() as u64,
        }
    }

    /// The smoothed round trip in nanoseconds; zero before the first sample.
    pub(super) fn smoothed(&self) -> u64 {
        self.smoothed.unwrap_or_default()
    }

    /// The smallest sample in nanoseconds.
    pub(super) fn least(&self) -> u64 {
        self.least
    }

    /// A round trip that says only how short it can be.
    pub(super) fn note_least(&mut self, sample: u64) {
        self.least = self.least.min(sample);
    }

    /// A measurement in nanoseconds.
    pub(super) fn on_sample(&mut self, sample: u64, reached: Reached) {
        self.backoff = 0;
        self.note_least(sample);
        let min = self.min;
        let Some(smoothed) = self.smoothed else {
            // (2.2) SRTT <- R, RTTVAR <- R/2
            self.smoothed = Some(sample);
            match &mut self.deviation {
                Deviation::Mean(mean) => *mean = sample / 2,
                Deviation::Slow { mean, most, added, until } => {
                    *mean = 2 * sample;
                    *added = min.max(*mean);
                    (*most, *until) = (*added, reached.nxt);
                }
            }
            return;
        };
        // (2.3) RTTVAR <- (1 - 1/4) * RTTVAR + 1/4 * |SRTT - R'|, SRTT <- (1 - 1/8) * SRTT + 1/8 * R'
        self.smoothed = Some((smoothed * 7 + sample) / 8);
        match &mut self.deviation {
            Deviation::Mean(mean) => *mean = (*mean * 3 + smoothed.abs_diff(sample)) / 4,
            Deviation::Slow { mean, most, added, until } => {
                let off = smoothed.abs_diff(sample);
                // A round trip that shrinks makes for a deviation that is less believed.
                if off > *mean / 4 {
                    let more = off - *mean / 4;
                    *mean += if sample < smoothed { more / 8 } else { more };
                } else {
                    *mean -= *mean / 4 - off;
                }
                *most = (*most).max(*mean);
                *added = (*added).max(*most);
                if reached.una > *until {
                    *added -= (*added - (*most).min(*added)) / 4;
                    (*most, *until) = (min, reached.nxt);
                }
            }
        }
    }

    /// (5.5) The timer has expired: the next timeout is twice as long.
    pub(super) fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// The timeout is what the samples say again.
    pub(super) fn end_backing_off(&mut self) {
        self.backoff = 0;
    }

    /// How often in a row the timer has expired without an answer.
    pub(super) fn backoffs(&self) -> u32 {
        self.backoff
    }

    /// The retransmission timeout now, in nanoseconds.
    pub(super) fn timeout(&self) -> u64 {
        let base = match (self.smoothed, &self.deviation) {
            (None, _) => self.initial,
            (Some(smoothed), Deviation::Mean(mean)) => (smoothed + mean * 4).max(self.min),
            (Some(smoothed), Deviation::Slow { added, .. }) => smoothed + added,
        };
        base.saturating_mul(1 << self.backoff.min(16)).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{Config, Profile};
    use super::*;

    const MS: fn(u64) -> u64 = |ms| ms * 1_000_000;
    const HERE: Reached = Reached { una: 1, nxt: 1 };

    fn rtt(profile: Profile) -> Rtt {
        Rtt::new(&Config { profile, ..Config::default() }.rules().constants)
    }

    #[test]
    fn the_estimator_follows_rfc6298_2() {
        let mut rtt = rtt(Profile::Textbook);
        assert_eq!(rtt.timeout(), MS(1000));
        rtt.on_sample(MS(800), HERE);
        assert_eq!(rtt.timeout(), MS(800 + 4 * 400));
        rtt.on_sample(MS(400), HERE);
        // RTTVAR = 3/4 * 400 + 1/4 * 400 = 400, SRTT = 7/8 * 800 + 1/8 * 400 = 750.
        assert_eq!((rtt.smoothed(), rtt.timeout()), (MS(750), MS(750 + 1600)));
    }

    #[test]
    fn the_timeout_doubles_up_to_its_maximum_and_a_sample_ends_it_rfc6298_5() {
        let mut rtt = rtt(Profile::Textbook);
        rtt.on_sample(MS(100), HERE);
        let mut seen = Vec::new();
        for _ in 0..8 {
            rtt.back_off();
            seen.push(rtt.timeout() / 1_000_000_000);
        }
        assert_eq!(seen, [2, 4, 8, 16, 32, 60, 60, 60]);
        rtt.on_sample(MS(100), HERE);
        assert_eq!(rtt.timeout(), MS(1000));
    }

    #[test]
    fn linux_adds_at_least_200_ms_and_first_twice_the_round_trip() {
        let mut near = rtt(Profile::Linux6);
        near.on_sample(MS(20), HERE);
        assert_eq!(near.timeout(), MS(220));
        let mut far = rtt(Profile::Linux6);
        far.on_sample(MS(200), HERE);
        assert_eq!(far.timeout(), MS(600));
        // Steady round trips bring what is added down by a quarter of the excess each round.
        for round in 1..40 {
            far.on_sample(MS(200), Reached { una: 2 * round, nxt: 2 * round + 1 });
        }
        assert_eq!(far.timeout() / MS(1), 400);
    }
}
