//! The round-trip estimator and the retransmission timeout (RFC 6298).

use super::config::Constants;

/// What is known of the round trip. In nanoseconds: this is done for every acknowledgement.
#[derive(Debug)]
pub(super) struct Rtt {
    smoothed: Option<u64>,
    variation: u64,
    /// How often in a row the timeout has been doubled.
    backoff: u32,
    initial: u64,
    min: u64,
    max: u64,
}

impl Rtt {
    pub(super) fn new(constants: &Constants) -> Rtt {
        Rtt {
            smoothed: None,
            variation: 0,
            backoff: 0,
            initial: constants.rto_initial.as_nanos() as u64,
            min: constants.rto_min.as_nanos() as u64,
            max: constants.rto_max.as_nanos() as u64,
        }
    }

    /// The smoothed round trip in nanoseconds; zero before the first sample.
    pub(super) fn smoothed(&self) -> u64 {
        self.smoothed.unwrap_or_default()
    }

    /// A measurement in nanoseconds. Timestamps make it valid for retransmitted segments too (RFC 7323, 4.1).
    pub(super) fn on_sample(&mut self, sample: u64) {
        self.backoff = 0;
        let Some(smoothed) = self.smoothed else {
            // (2.2) SRTT <- R, RTTVAR <- R/2
            self.smoothed = Some(sample);
            self.variation = sample / 2;
            return;
        };
        // (2.3) RTTVAR <- (1 - 1/4) * RTTVAR + 1/4 * |SRTT - R'|, SRTT <- (1 - 1/8) * SRTT + 1/8 * R'
        self.variation = (self.variation * 3 + smoothed.abs_diff(sample)) / 4;
        self.smoothed = Some((smoothed * 7 + sample) / 8);
    }

    /// (5.5) The timer has expired: the next timeout is twice as long.
    pub(super) fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// How often in a row the timer has expired without an answer.
    pub(super) fn backoffs(&self) -> u32 {
        self.backoff
    }

    /// The retransmission timeout now, in nanoseconds.
    pub(super) fn timeout(&self) -> u64 {
        let base = match self.smoothed {
            None => self.initial,
            Some(smoothed) => (smoothed + self.variation * 4).max(self.min),
        };
        base.saturating_mul(1 << self.backoff.min(16)).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Config;
    use super::*;

    const MS: fn(u64) -> u64 = |ms| ms * 1_000_000;

    #[test]
    fn the_estimator_follows_rfc6298_2() {
        let mut rtt = Rtt::new(&Config::default().constants());
        assert_eq!(rtt.timeout(), MS(1000));
        rtt.on_sample(MS(800));
        assert_eq!(rtt.timeout(), MS(800 + 4 * 400));
        rtt.on_sample(MS(400));
        // RTTVAR = 3/4 * 400 + 1/4 * 400 = 400, SRTT = 7/8 * 800 + 1/8 * 400 = 750.
        assert_eq!((rtt.smoothed(), rtt.timeout()), (MS(750), MS(750 + 1600)));
    }

    #[test]
    fn the_timeout_doubles_up_to_its_maximum_and_a_sample_ends_it_rfc6298_5() {
        let mut rtt = Rtt::new(&Config::default().constants());
        rtt.on_sample(MS(100));
        let mut seen = Vec::new();
        for _ in 0..8 {
            rtt.back_off();
            seen.push(rtt.timeout() / 1_000_000_000);
        }
        assert_eq!(seen, [2, 4, 8, 16, 32, 60, 60, 60]);
        rtt.on_sample(MS(100));
        assert_eq!(rtt.timeout(), MS(1000));
    }
}
