//! How much faster a variant is.

use crate::bootstrap::{Draws, NotPairs, Pairing, Resampled};
use crate::summary::median;

/// The confidence of an interval where nothing else is said.
pub const CONFIDENCE: f64 = 0.95;

/// Fewer pairs have no 95 % interval of a median: even the whole range of 5 covers it in 93.75 %.
pub const LEAST_PAIRS: usize = 6;

/// How much faster a variant is: the baseline's median over the variant's, above 1 is faster.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gain {
    /// The quotient of the medians.
    pub ratio: f64,
    /// Its interval, if there is chance and there are [`LEAST_PAIRS`].
    pub interval: Option<(f64, f64)>,
    /// Chance had no part in it, so that there is no interval.
    pub is_exact: bool,
    /// The share of the variance of ln gain that pairing saved, against runs of both sides under seeds apart; `None`
    /// without pairs or interval. Below 0 pairing did harm.
    pub saved: Option<f64>,
}

impl Gain {
    /// A gain of runs in which chance has no part; `None` where a side has none.
    pub fn exact(baseline: &[f64], variant: &[f64]) -> Option<Gain> {
        let ratio = median(baseline)? / median(variant)?;
        Some(Gain { ratio, interval: None, is_exact: true, saved: None })
    }

    /// Compares two variants by their times in ms; `None` where a side has none. With the gain come the draws of which
    /// its interval is, if it has one.
    ///
    /// # Errors
    /// If sides of different length are to be pairs.
    pub fn of(
        baseline: &[f64],
        variant: &[f64],
        pairing: &Pairing,
        draws: &mut Draws,
        confidence: f64,
    ) -> Result<Option<(Gain, Option<Resampled>)>, NotPairs> {
        let Some(ratio) = median(baseline).zip(median(variant)).map(|(one, other)| one / other) else {
            return Ok(None);
        };
        if baseline.len().min(variant.len()) < LEAST_PAIRS {
            return Ok(Some((Gain { ratio, interval: None, is_exact: false, saved: None }, None)));
        }
        let drawn = draws.resample(baseline, variant, pairing)?;
        let (low, high) = drawn.interval(confidence);
        // What was found is not outside of what may be.
        let interval = Some((libm::exp(low).min(ratio), libm::exp(high).max(ratio)));
        let saved = if *pairing == Pairing::Apart { None } else { drawn.saved() };
        Ok(Some((Gain { ratio, interval, is_exact: false, saved }, Some(drawn))))
    }

    /// Whether there is no doubt about the direction.
    pub fn is_clear(&self) -> bool {
        let is_apart = |(low, high): (f64, f64)| low > 1.0 || high < 1.0;
        if self.is_exact { self.ratio != 1.0 } else { self.interval.is_some_and(is_apart) }
    }

    /// Half of the interval relative to the gain, 0.01 for 1 %; 0 if it is exact.
    pub fn half_width(&self) -> Option<f64> {
        if self.is_exact {
            return Some(0.0);
        }
        self.interval.map(|(low, high)| (high - low) / (2.0 * self.ratio))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_units::Seed;
    use proptest::prelude::*;

    fn gain(baseline: &[f64], variant: &[f64]) -> Gain {
        let pairing = Pairing::same_seeds(baseline.len());
        Gain::of(baseline, variant, &pairing, &mut Draws::new(1), CONFIDENCE).unwrap().unwrap().0
    }

    #[test]
    fn it_is_the_ratio_of_medians_not_the_median_of_ratios() {
        let gain = Gain::exact(&[100.0, 200.0, 600.0], &[50.0, 400.0, 100.0]).unwrap();
        assert_eq!((gain.ratio, gain.is_exact, gain.is_clear(), gain.half_width()), (2.0, true, true, Some(0.0)));
        assert_eq!(Gain::exact(&[], &[1.0]), None);
    }

    #[test]
    fn an_interval_needs_enough_pairs() {
        let runs: Vec<f64> = (1..=6).map(f64::from).collect();
        assert_eq!(gain(&runs[..5], &runs[..5]).interval, None);
        assert!(gain(&runs, &runs).interval.is_some());
    }

    #[test]
    fn pairing_saves_what_both_sides_have_in_common() {
        let mut chance = Seed(7).stream("test");
        let first: Vec<f64> = (0..21).map(|_| 100.0 + 100.0 * chance.next_f64()).collect();
        let same = gain(&first, &first);
        assert_eq!((same.saved, same.interval), (Some(1.0), Some((1.0, 1.0))));
        let apart = Gain::of(&first, &first, &Pairing::Apart, &mut Draws::new(1), CONFIDENCE).unwrap();
        let (apart, _) = apart.unwrap();
        let (low, high) = apart.interval.unwrap();
        assert!(apart.saved.is_none() && low < 0.95 && high > 1.05, "{apart:?}");
    }

    proptest! {
        /// Whole numbers: of times that differ in the last bit alone, dividing may change the order.
        #[test]
        fn a_constant_factor_is_known_exactly(
            times in prop::collection::vec(1_u32..1_000_000, LEAST_PAIRS..30),
            factor in 0.1..10.0_f64,
        ) {
            let times: Vec<f64> = times.into_iter().map(f64::from).collect();
            let found = gain(&times, &times.iter().map(|ms| ms / factor).collect::<Vec<f64>>());
            let (low, high) = found.interval.unwrap();
            for value in [found.ratio, low, high] {
                prop_assert!((value / factor - 1.0).abs() < 1e-9);
            }
        }
    }
}
