//! The smoothed bootstrap of two medians (Banks 1988, "Histospline smoothing the Bayesian bootstrap").
//!
//! The plain bootstrap draws runs again, so a drawn median is one of few times, and the interval's ends jump between
//! them. Here a draw gives each run a weight at random, and the drawn median is where half of the weight lies below,
//! between two neighbours in proportion. n times cut the line into n + 1 gaps, in each of which the true median lies
//! with a known probability; the weights are such that a drawn median lies there just as often. So the interval of one
//! median is exact whatever the times' distribution, as the sign test is.

use crate::normal;
use crate::summary::{quantile, sorted};
use loadstone_units::{RandomStream, Seed};

/// How often medians are drawn.
pub const RESAMPLES: usize = 10_000;

/// Of more runs the normal approximation says well enough where the median lies among them.
const WEIGHED: usize = 255;

/// Runs that lie this many places apart share a weight, so that a table of weights has an end.
const MOST_WEIGHTS: usize = 2_048;

/// About the least that studies/statistics/narrowing.py finds: intervals rather a little wide than narrow. For pairs
/// that are much alike it could be several times as much.
const NARROWING: f64 = 1.0;

/// How the runs of both sides belong together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pairing {
    /// The same place in both lists means the same seed. These are the places of the runs among all seeds.
    SameSeeds(Vec<usize>),
    /// All runs are under seeds of their own.
    Apart,
}

impl Pairing {
    /// Of runs under the first `count` seeds.
    pub fn same_seeds(count: usize) -> Pairing {
        Pairing::SameSeeds((0..count).collect())
    }
}

/// Sides of different length, which cannot be pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{baseline} and {variant} runs are not pairs: compare them as apart")]
pub struct NotPairs {
    /// Runs of the baseline.
    pub baseline: usize,
    /// Runs of the variant.
    pub variant: usize,
}

/// The weights of all draws of one seed, made when they are first needed.
#[derive(Clone, Debug)]
pub struct Draws {
    count: usize,
    /// Of baselines and pairs, and of variants that are not in pairs.
    weights: [Weights; 2],
    /// Which normal deviates have the ranks of so many draws as were last asked for.
    deviations: Vec<f64>,
}

/// Row by row, so that a place has the same weight however many there are: first the weight that lies beyond the last
/// run, then that of each place, draw by draw. They are to be held against their sum over the runs that there are.
#[derive(Clone, Debug)]
struct Weights {
    stream: RandomStream,
    rows: Vec<Vec<f32>>,
}

impl Weights {
    fn make(&mut self, rows: usize, draws: usize) {
        while self.rows.len() < rows {
            let exponential = || {
                // 23 bits and a half: never 0, never 1.
                let share = ((self.stream.next_u64() >> 41) as f32 + 0.5) / (1_u32 << 23) as f32;
                -libm::logf(share)
            };
            self.rows.push(std::iter::repeat_with(exponential).take(draws).collect());
        }
    }
}

impl Draws {
    /// [`RESAMPLES`] draws under this seed.
    pub fn new(seed: u64) -> Draws {
        Draws::of(seed, RESAMPLES)
    }

    /// So many draws under this seed.
    pub fn of(seed: u64, count: usize) -> Draws {
        let weights = |name| Weights { stream: Seed(seed).stream(name), rows: Vec::new() };
        Draws { count, weights: [weights("bootstrap.pairs"), weights("bootstrap.apart")], deviations: Vec::new() }
    }

    /// Draws the medians of both sides again, of times in ms.
    ///
    /// # Errors
    /// If sides of different length are to be pairs.
    pub fn resample(&mut self, baseline: &[f64], variant: &[f64], pairing: &Pairing) -> Result<Resampled, NotPairs> {
        let [first, second] =
            [baseline, variant].map(|side| side.iter().map(|ms| libm::log(*ms)).collect::<Vec<f64>>());
        let runs = first.len().min(second.len());
        let (baseline, variant) = match pairing {
            Pairing::SameSeeds(places) if first.len() == second.len() && places.len() == runs => {
                (self.medians(&first, places, 0), self.medians(&second, places, 0))
            }
            Pairing::SameSeeds(_) => return Err(NotPairs { baseline: first.len(), variant: second.len() }),
            Pairing::Apart => {
                let places: Vec<usize> = (0..first.len().max(second.len())).collect();
                (self.medians(&first, &places[..first.len()], 0), self.medians(&second, &places[..second.len()], 1))
            }
        };
        Ok(Resampled { baseline, variant, runs })
    }

    /// Gives ln of the gain in the first `count` draws, such that their quantiles are the ends of intervals.
    ///
    /// A place has the same weight in every list, however many there are in it. So draws of conditions that were run
    /// under the same seeds, or some of them, can be averaged draw by draw, for the interval of what several gains
    /// make; where runs have seeds apart, the seed of the draws has to differ too.
    pub fn ln_gains(&mut self, resampled: &Resampled, count: usize) -> Vec<f64> {
        let mut ln_gains: Vec<f64> = resampled.ln_gains().take(count).collect();
        let count = ln_gains.len();
        if self.deviations.len() != count {
            self.deviations = (0..count).map(|at| normal::quantile((at as f64 + 0.5) / count as f64)).collect();
        }
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|one, other| ln_gains[*one].total_cmp(&ln_gains[*other]));
        let ordered: Vec<f64> = order.iter().map(|at| ln_gains[*at]).collect();
        let inflation = resampled.inflation();
        for (at, deviation) in order.into_iter().zip(&self.deviations) {
            ln_gains[at] = quantile(&ordered, normal::cdf(deviation / inflation)).expect("there are draws");
        }
        ln_gains
    }

    fn medians(&mut self, values: &[f64], places: &[usize], stream: usize) -> Vec<f64> {
        let row = |at: &usize| 1 + at % MOST_WEIGHTS;
        let weights = &mut self.weights[stream];
        weights.make(1 + places.iter().map(row).max().unwrap_or(0), self.count);
        let mut order: Vec<(f64, usize)> = values.iter().copied().zip(places.iter().map(row)).collect();
        order.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let (ordered, rows): (Vec<f64>, Vec<usize>) = order.into_iter().unzip();
        if ordered.len() > WEIGHED {
            normal_approximation(&ordered, &rows, weights, self.count)
        } else {
            weighted_medians(&ordered, &rows, weights, self.count)
        }
    }
}

/// Where half of the weight lies below, draw by draw; `rows` are those of the weights, in order.
///
/// A run's weight is that of the gap above it in every other draw, and the weight that is left that of the lowest gap;
/// in the other draws it is that of the gap below it, and what is left that of the highest.
fn weighted_medians(ordered: &[f64], rows: &[usize], weights: &Weights, draws: usize) -> Vec<f64> {
    let left = &weights.rows[0];
    let is_above = |draw: usize| draw.is_multiple_of(2);
    let mut totals = vec![0.0_f32; draws];
    for row in rows {
        totals.iter_mut().zip(&weights.rows[*row]).for_each(|(total, weight)| *total += weight);
    }
    // What the runs' own weights have to add up to.
    let half = |draw: usize| (totals[draw] + left[draw]) / 2.0 - if is_above(draw) { left[draw] } else { 0.0 };
    let halves: Vec<f32> = (0..draws).map(half).collect();
    // How many runs lie below, and the sum of their weights.
    let mut below = vec![(0_usize, 0.0_f32); draws];
    let mut sums = vec![0.0_f32; draws];
    for row in rows {
        for (((sum, weight), below), half) in sums.iter_mut().zip(&weights.rows[*row]).zip(&mut below).zip(&halves) {
            *sum += weight;
            *below = if *sum < *half { (below.0 + 1, *sum) } else { *below };
        }
    }
    let last = rows.len() - 1;
    // The ends have no neighbour beyond.
    let end = |place: usize| ordered[place.saturating_sub(1).min(last)];
    let median = |draw: usize| {
        let (place, sum) = below[draw];
        // Where all are passed, none is crossed: the share is cut to 1.
        let across = weights.rows[rows[place.min(last)]][draw];
        let share = f64::from(((halves[draw] - sum) / across).clamp(0.0, 1.0));
        let place = place + usize::from(is_above(draw));
        end(place) + (end(place + 1) - end(place)) * share
    };
    (0..draws).map(median).collect()
}

/// Draws the median of many runs, given in order.
///
/// By how much more weight lies in the upper half than in the lower one it is known how many places away from the
/// middle half of the weight lies below; this many runs make that as good as normal.
fn normal_approximation(ordered: &[f64], rows: &[usize], weights: &Weights, draws: usize) -> Vec<f64> {
    let (count, half) = (ordered.len(), ordered.len() / 2);
    let mut signs = vec![0.0; weights.rows.len()];
    let mut more_above = vec![0.0_f64; draws];
    for (at, row) in rows.iter().enumerate() {
        let sign = if at < half { -1.0 } else { 1.0 };
        signs[*row] += sign;
        more_above.iter_mut().zip(&weights.rows[*row]).for_each(|(sum, weight)| *sum += sign * f64::from(*weight));
    }
    let (mean, squares): (f64, f64) = (signs.iter().sum(), signs.iter().map(|sign| sign * sign).sum());
    let place = |sum: f64| {
        let deviation = (sum - mean) / libm::sqrt(squares);
        (count - 1) as f64 / 2.0 + libm::sqrt(count as f64) / 2.0 * deviation
    };
    let median = |sum| quantile(ordered, place(sum) / (count - 1) as f64).expect("there are runs");
    more_above.into_iter().map(median).collect()
}

/// What the medians of both sides might have been: ln of the time in ms, draw by draw.
#[derive(Clone, PartialEq, Debug)]
pub struct Resampled {
    baseline: Vec<f64>,
    variant: Vec<f64>,
    /// Of the side that has fewer.
    runs: usize,
}

impl Resampled {
    /// Ln of the baseline's median, draw by draw.
    pub fn baseline(&self) -> &[f64] {
        &self.baseline
    }

    /// Ln of the variant's median, draw by draw.
    pub fn variant(&self) -> &[f64] {
        &self.variant
    }

    fn ln_gains(&self) -> impl Iterator<Item = f64> + Clone {
        self.baseline.iter().zip(&self.variant).map(|(one, other)| one - other)
    }

    /// The ends of the interval of ln of the gain.
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        let ordered = sorted(&self.ln_gains().collect::<Vec<f64>>());
        // One median's interval is exact though the draws of it spread too widely: how far neighbours happen to lie
        // apart moves its ends, and the one makes up for the other. Two sides average such chance, so less of it has
        // to be made up for, and the more alike they spread the less. By how much depends on little but the number of
        // runs: studies/statistics/narrowing.py finds it for distributions of known medians.
        let end = |share| {
            let narrowed = normal::cdf(normal::quantile(share) / self.inflation());
            quantile(&ordered, narrowed).expect("there are draws")
        };
        let tail = (1.0 - confidence) / 2.0;
        (end(tail), end(1.0 - tail))
    }

    /// The share of the variance of ln gain that pairing saved; `None` where nothing varies.
    pub fn saved(&self) -> Option<f64> {
        let apart = variance(self.baseline.iter().copied()) + variance(self.variant.iter().copied());
        (apart > 0.0).then(|| 1.0 - variance(self.ln_gains()) / apart)
    }

    /// How alike both sides spread: 0 if one does not at all, 0.71 if they spread as widely.
    pub fn balance(&self) -> f64 {
        let (one, other) = (variance(self.baseline.iter().copied()), variance(self.variant.iter().copied()));
        if one == 0.0 || other == 0.0 {
            return 0.0;
        }
        let (one, other) = (one / (one + other), other / (one + other));
        libm::sqrt(one * other) * (libm::sqrt(one) + libm::sqrt(other))
    }

    /// How many times too widely the draws spread.
    fn inflation(&self) -> f64 {
        libm::sqrt(1.0 + NARROWING * self.balance() / libm::sqrt(self.runs as f64))
    }
}

fn variance(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The interval of the median of 100, 110, ..., 300 ms against 1 ms that is always the same.
    fn of_21() -> (Vec<f64>, f64, f64) {
        let values: Vec<f64> = (0..21).map(|at| 100.0 + 10.0 * f64::from(at)).collect();
        let resampled = Draws::new(1).resample(&values, &[1.0; 21], &Pairing::same_seeds(21)).unwrap();
        let (low, high) = resampled.interval(0.95);
        (values, libm::exp(low), libm::exp(high))
    }

    #[test]
    fn the_interval_of_a_median_is_that_of_the_sign_test() {
        // Over n distinct values the true median is below the k-th with the probability that fewer than k of n tosses
        // of a coin come up heads; so each end is between the two values where that passes 2.5 %.
        let mut ways = vec![1.0_f64];
        for _ in 0..21 {
            let next =
                (0..=ways.len()).map(|at| ways.get(at).unwrap_or(&0.0) + if at > 0 { ways[at - 1] } else { 0.0 });
            ways = next.collect();
        }
        let below = |k: usize| ways[..=k].iter().sum::<f64>() / f64::from(1 << 21);
        let (values, low, high) = of_21();
        for (share, end) in [(0.025, low), (0.975, high)] {
            let above = (0..21).find(|at| below(*at) >= share).unwrap();
            assert!(values[above - 1] <= end && end <= values[above], "{share}: {end}");
        }
    }

    #[test]
    fn a_drawn_median_lies_in_each_gap_as_often_as_the_true_one() {
        // Of 7 values k are below the true median with the probability of k heads in 7 tosses of a coin.
        let values: Vec<f64> = (1..=7).map(f64::from).collect();
        let drawn = Draws::new(1).resample(&values, &[1.0; 7], &Pairing::same_seeds(7)).unwrap();
        let ways = [1.0, 7.0, 21.0, 35.0, 35.0, 21.0, 7.0, 1.0];
        for k in 2..=7 {
            let end = libm::log(f64::from(k)) - 1e-12;
            let share = drawn.baseline.iter().filter(|median| **median < end).count() as f64 / RESAMPLES as f64;
            let expected = ways[..k as usize].iter().sum::<f64>() / 128.0;
            // Four standard deviations.
            assert!((share - expected).abs() < 0.02, "below {k}: {share} for {expected}");
        }
    }

    #[test]
    fn of_two_sides_that_spread_alike_the_interval_is_narrower_than_the_draws() {
        let mut chance = Seed(4).stream("test");
        let mut side = || (0..21).map(|_| 100.0 + 100.0 * chance.next_f64()).collect::<Vec<f64>>();
        let (one, other) = (side(), side());
        let drawn = Draws::new(1).resample(&one, &other, &Pairing::Apart).unwrap();
        let ordered = sorted(&drawn.ln_gains().collect::<Vec<f64>>());
        let ((low, high), raw) = (drawn.interval(0.95), [0.025, 0.975].map(|share| quantile(&ordered, share).unwrap()));
        assert!(drawn.balance() > 0.6 && (0.85..0.97).contains(&((high - low) / (raw[1] - raw[0]))));
    }

    #[test]
    fn many_runs_are_drawn_from_afar_with_the_same_result() {
        // 255 runs are weighed one by one, 256 are not.
        let mut chance = Seed(3).stream("test");
        let values: Vec<f64> = (0..256).map(|_| 1_000.0 * (1.0 + chance.next_f64())).collect();
        let interval = |count: usize| {
            let pairing = Pairing::same_seeds(count);
            Draws::new(1).resample(&values[..count], &vec![1.0; count], &pairing).unwrap().interval(0.95)
        };
        let ((low, high), (far_low, far_high)) = (interval(255), interval(256));
        assert!(high - low > 0.05, "{low} {high}");
        assert!((low - far_low).abs() < 0.01 && (high - far_high).abs() < 0.01, "{low} {far_low} {high} {far_high}");
    }

    #[test]
    fn a_place_has_the_same_weight_however_many_there_are() {
        let values: Vec<f64> = (0..40).map(|at| 100.0 + f64::from(at * 7 % 40)).collect();
        let some: Vec<usize> = (0..40).filter(|at| at % 3 != 0).collect();
        let of_some: Vec<f64> = some.iter().map(|at| values[*at]).collect();
        let mut draws = Draws::of(1, 1_000);
        let pairing = Pairing::SameSeeds(some);
        let first = draws.resample(&of_some, &of_some, &pairing).unwrap();
        draws.resample(&values, &values, &Pairing::same_seeds(40)).unwrap();
        assert_eq!(draws.resample(&of_some, &of_some, &pairing).unwrap(), first);
        assert_eq!(Draws::of(1, 1_000).resample(&of_some, &of_some, &pairing).unwrap(), first);
        assert_ne!(Draws::of(2, 1_000).resample(&of_some, &of_some, &pairing).unwrap(), first);
    }

    #[test]
    fn sides_of_different_length_are_no_pairs() {
        let resample = |pairing| Draws::of(1, 100).resample(&[1.0, 2.0], &[1.0, 2.0, 3.0], &pairing);
        assert_eq!(resample(Pairing::same_seeds(2)), Err(NotPairs { baseline: 2, variant: 3 }));
        assert!(resample(Pairing::Apart).is_ok());
    }
}
