//! How late packets were: a histogram that does not grow.

use std::time::Duration;

/// Each power of two is cut into this many parts, so a figure is right to an eighth.
const PARTS: u64 = 8;
const BUCKETS: usize = 62 * PARTS as usize;

/// How long after they were due packets were delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lateness {
    /// How many packets were delivered.
    pub packets: u64,
    /// Half of them were no later than this; right to an eighth of itself, and never too small.
    pub median: Duration,
    /// Nine in ten were no later than this; right to an eighth of itself, and never too small.
    pub p90: Duration,
    /// The latest of all.
    pub worst: Duration,
}

/// How often each lateness has been met.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    buckets: Box<[u64; BUCKETS]>,
    packets: u64,
    /// In nanoseconds.
    worst: u64,
}

impl Histogram {
    pub(crate) fn new() -> Histogram {
        Histogram { buckets: Box::new([0; BUCKETS]), packets: 0, worst: 0 }
    }

    pub(crate) fn note(&mut self, nanos: u64) {
        self.buckets[bucket(nanos)] += 1;
        self.packets += 1;
        self.worst = self.worst.max(nanos);
    }

    pub(crate) fn lateness(&self) -> Lateness {
        Lateness {
            packets: self.packets,
            median: self.quantile(5),
            p90: self.quantile(9),
            worst: Duration::from_nanos(self.worst),
        }
    }

    /// What `tenths` tenths of the packets do not exceed.
    fn quantile(&self, tenths: u64) -> Duration {
        let wanted = (self.packets * tenths).div_ceil(10);
        let mut below = 0;
        let at = self.buckets.iter().position(|count| {
            below += count;
            below >= wanted
        });
        Duration::from_nanos(largest(at.unwrap_or(BUCKETS - 1)).min(self.worst))
    }
}

/// The bucket of a number.
fn bucket(nanos: u64) -> usize {
    if nanos < PARTS {
        return nanos as usize;
    }
    let power = nanos.ilog2() - PARTS.ilog2();
    (u64::from(power) * PARTS + (nanos >> power)) as usize
}

/// The largest number in a bucket.
fn largest(bucket: usize) -> u64 {
    let (power, part) = (bucket as u64 / PARTS, bucket as u64 % PARTS);
    match power.checked_sub(1) {
        None => part,
        Some(power) => ((u128::from(PARTS + part + 1) << power) - 1) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_follow_one_another_without_a_gap() {
        let mut least = 0;
        for at in 0..BUCKETS {
            assert_eq!((bucket(least), bucket(largest(at))), (at, at));
            least = largest(at).wrapping_add(1);
        }
        assert_eq!((least, bucket(u64::MAX)), (0, BUCKETS - 1), "the last one ends with the numbers");
    }

    #[test]
    fn of_nothing_everything_is_zero() {
        assert_eq!(Histogram::new().lateness(), Lateness::default());
    }

    proptest! {
        #[test]
        fn quantiles_are_right_to_an_eighth(mut nanos in prop::collection::vec(0_u64..100_000_000, 1..300)) {
            let mut histogram = Histogram::new();
            nanos.iter().for_each(|nanos| histogram.note(*nanos));
            nanos.sort_unstable();
            let given = histogram.lateness();
            prop_assert_eq!((given.packets, given.worst.as_nanos() as u64), (nanos.len() as u64, nanos[nanos.len() - 1]));
            for (given, tenths) in [(given.median, 5), (given.p90, 9)] {
                let (true_one, given) = (nanos[(nanos.len() * tenths).div_ceil(10) - 1], given.as_nanos() as u64);
                prop_assert!(true_one <= given && given <= true_one + true_one / 8, "{given} for {true_one}");
            }
        }
    }
}
