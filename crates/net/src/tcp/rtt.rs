//! The round-trip estimator and the retransmission timeout (RFC 6298).

use super::rules::Constants;

/// The RTT estimator. In integer nanoseconds: it runs for every ACK.
#[derive(Debug)]
pub(super) struct Rtt {
    /// SRTT; `None` before the first sample.
    srtt: Option<u64>,
    /// The minimum of all samples.
    min_rtt: u64,
    rttvar: RttVar,
    /// How often in a row the RTO has been doubled.
    backoff: u32,
    rto_initial: u64,
    rto_min: u64,
    rto_max: u64,
}

/// What the RTO adds to SRTT.
#[derive(Debug)]
enum RttVar {
    /// RTTVAR; the RTO adds four times that (RFC 6298, section 2).
    Mean(u64),
    /// As in Linux: at least rto_min, and slow to shrink (`tcp_rtt_estimator`).
    Linux {
        /// Four times the mean deviation (`mdev_us`).
        mdev: u64,
        /// The maximum of `mdev` in this round trip (`mdev_max_us`).
        mdev_max: u64,
        /// What the RTO adds (`rttvar_us`).
        rttvar: u64,
        /// The round trip ends when this number is acknowledged (`rtt_seq`).
        rtt_seq: u64,
    },
}

/// The send sequence variables SND.UNA and SND.NXT (RFC 9293, section 3.3.1) when a sample is taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendSequence {
    pub(super) una: u64,
    pub(super) nxt: u64,
}

impl Rtt {
    pub(super) fn new(constants: &Constants) -> Rtt {
        let min = constants.rto_min.as_nanos() as u64;
        Rtt {
            srtt: None,
            min_rtt: u64::MAX,
            rttvar: match constants.rto_min_bounds_rttvar {
                false => RttVar::Mean(0),
                true => RttVar::Linux { mdev: 0, mdev_max: min, rttvar: min, rtt_seq: 0 },
            },
            backoff: 0,
            rto_initial: constants.rto_initial.as_nanos() as u64,
            rto_min: min,
            rto_max: constants.rto_max.as_nanos() as u64,
        }
    }

    /// SRTT in nanoseconds; zero before the first sample.
    pub(super) fn srtt(&self) -> u64 {
        self.srtt.unwrap_or_default()
    }

    /// The minimum of all samples in nanoseconds.
    pub(super) fn min_rtt(&self) -> u64 {
        self.min_rtt
    }

    /// A sample for the minimum only.
    pub(super) fn note_min_rtt(&mut self, sample: u64) {
        self.min_rtt = self.min_rtt.min(sample);
    }

    /// An RTT sample in nanoseconds.
    pub(super) fn on_sample(&mut self, sample: u64, seq: SendSequence) {
        self.backoff = 0;
        self.note_min_rtt(sample);
        let min = self.rto_min;
        let Some(srtt) = self.srtt else {
            // (2.2) SRTT <- R, RTTVAR <- R/2
            self.srtt = Some(sample);
            match &mut self.rttvar {
                RttVar::Mean(mean) => *mean = sample / 2,
                RttVar::Linux { mdev, mdev_max, rttvar, rtt_seq } => {
                    *mdev = 2 * sample;
                    *rttvar = min.max(*mdev);
                    (*mdev_max, *rtt_seq) = (*rttvar, seq.nxt);
                }
            }
            return;
        };
        // (2.3) RTTVAR <- (1 - 1/4) * RTTVAR + 1/4 * |SRTT - R'|, SRTT <- (1 - 1/8) * SRTT + 1/8 * R'
        self.srtt = Some((srtt * 7 + sample) / 8);
        match &mut self.rttvar {
            RttVar::Mean(mean) => *mean = (*mean * 3 + srtt.abs_diff(sample)) / 4,
            RttVar::Linux { mdev, mdev_max, rttvar, rtt_seq } => {
                let error = srtt.abs_diff(sample);
                // If the RTT falls, mdev uses gain 1/32 instead of 1/4 (as Eifel).
                if error > *mdev / 4 {
                    let more = error - *mdev / 4;
                    *mdev += if sample < srtt { more / 8 } else { more };
                } else {
                    *mdev -= *mdev / 4 - error;
                }
                *mdev_max = (*mdev_max).max(*mdev);
                *rttvar = (*rttvar).max(*mdev_max);
                if seq.una > *rtt_seq {
                    *rttvar -= (*rttvar - (*mdev_max).min(*rttvar)) / 4;
                    (*mdev_max, *rtt_seq) = (min, seq.nxt);
                }
            }
        }
    }

    /// (5.5) The timer has expired: the next RTO is twice as long.
    pub(super) fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Ends the backoff.
    pub(super) fn end_backing_off(&mut self) {
        self.backoff = 0;
    }

    /// How often in a row the timer has expired without an ACK.
    pub(super) fn backoffs(&self) -> u32 {
        self.backoff
    }

    /// The RTO now, in nanoseconds.
    pub(super) fn rto(&self) -> u64 {
        let base = match (self.srtt, &self.rttvar) {
            (None, _) => self.rto_initial,
            (Some(srtt), RttVar::Mean(mean)) => (srtt + mean * 4).max(self.rto_min),
            (Some(srtt), RttVar::Linux { rttvar, .. }) => srtt + rttvar,
        };
        base.saturating_mul(1 << self.backoff.min(16)).min(self.rto_max)
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{Config, Profile};
    use super::*;

    const MS: fn(u64) -> u64 = |ms| ms * 1_000_000;
    const HERE: SendSequence = SendSequence { una: 1, nxt: 1 };

    fn rtt(profile: Profile) -> Rtt {
        Rtt::new(&Config { profile, ..Config::default() }.rules().constants)
    }

    #[test]
    fn the_estimator_follows_rfc6298_2() {
        let mut rtt = rtt(Profile::Textbook);
        assert_eq!(rtt.rto(), MS(1000));
        rtt.on_sample(MS(800), HERE);
        assert_eq!(rtt.rto(), MS(800 + 4 * 400));
        rtt.on_sample(MS(400), HERE);
        // RTTVAR = 3/4 * 400 + 1/4 * 400 = 400, SRTT = 7/8 * 800 + 1/8 * 400 = 750.
        assert_eq!((rtt.srtt(), rtt.rto()), (MS(750), MS(750 + 1600)));
    }

    #[test]
    fn the_timeout_doubles_up_to_its_maximum_and_a_sample_ends_it_rfc6298_5() {
        let mut rtt = rtt(Profile::Textbook);
        rtt.on_sample(MS(100), HERE);
        let mut seen = Vec::new();
        for _ in 0..8 {
            rtt.back_off();
            seen.push(rtt.rto() / 1_000_000_000);
        }
        assert_eq!(seen, [2, 4, 8, 16, 32, 60, 60, 60]);
        rtt.on_sample(MS(100), HERE);
        assert_eq!(rtt.rto(), MS(1000));
    }

    #[test]
    fn a_round_trip_that_falls_moves_linuxs_deviation_by_an_eighth_of_what_a_rising_one_does() {
        for (sample, rto) in [(200, 1_775 + 225), (3_800, 2_225 + 1_800)] {
            let mut rtt = rtt(Profile::Linux6);
            // The deviation is nearly 0 after as many steady rounds.
            for round in 0..80 {
                rtt.on_sample(MS(2_000), SendSequence { una: 2 * round, nxt: 2 * round + 1 });
            }
            rtt.on_sample(MS(sample), HERE);
            assert_eq!((rtt.rto() + MS(1) / 2) / MS(1), rto, "{sample} ms");
        }
    }

    #[test]
    fn linux_adds_at_least_200_ms_and_first_twice_the_round_trip() {
        let mut near = rtt(Profile::Linux6);
        near.on_sample(MS(20), HERE);
        assert_eq!(near.rto(), MS(220));
        let mut far = rtt(Profile::Linux6);
        far.on_sample(MS(200), HERE);
        assert_eq!(far.rto(), MS(600));
        // Steady round trips bring what is added down by a quarter of the excess each round.
        for round in 1..40 {
            far.on_sample(MS(200), SendSequence { una: 2 * round, nxt: 2 * round + 1 });
        }
        assert_eq!(far.rto() / MS(1), 400);
    }
}
