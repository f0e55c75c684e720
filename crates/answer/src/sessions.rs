//! What several pages say together, or several recorded sessions of one page.
//!
//! Pages and sessions are few and differ much more than the runs of one of them. So the interval is that of their own
//! spread, Student's t of logarithms: it is about pages, or sessions, like these.

use crate::gain::{CONFIDENCE, Gain};
use crate::student;

/// One variant's gains on several pages.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OverPages {
    /// The geometric mean, with its interval over pages like these, if there are two.
    pub gain: Gain,
    /// The least of the gains.
    pub least: f64,
    /// The greatest of the gains.
    pub most: f64,
    /// On how many pages the variant is clearly faster.
    pub faster: usize,
    /// On how many pages it is clearly slower.
    pub slower: usize,
}

impl OverPages {
    /// Sums up the gains on each page; `None` where there are none.
    pub fn of(gains: &[Gain]) -> Option<OverPages> {
        let ratios: Vec<f64> = gains.iter().map(|gain| gain.ratio).collect();
        let pages = LnMean::of(&ratios)?;
        let gain = Gain::spread(pages.mean, pages.variance.map(|variance| (variance, pages.count - 1)));
        let clear = |is_so: fn(f64) -> bool| gains.iter().filter(|gain| gain.is_clear() && is_so(gain.ratio)).count();
        Some(OverPages {
            gain,
            least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            most: ratios.iter().copied().fold(0.0, f64::max),
            faster: clear(|ratio| ratio > 1.0),
            slower: clear(|ratio| ratio < 1.0),
        })
    }
}

impl Gain {
    /// How much faster sessions of one page are than others, by a time in ms of each: the quotient of the geometric
    /// means, with an interval over sessions like these if there are two on either side (Welch's). `None` where a side
    /// has none.
    pub fn of_sessions(baseline: &[f64], variant: &[f64]) -> Option<Gain> {
        let (one, other) = (LnMean::of(baseline)?, LnMean::of(variant)?);
        let spread = one.variance.zip(other.variance).map(|(first, second)| {
            let share = |variance: f64, side: &LnMean| variance * variance / (side.count - 1) as f64;
            let degrees = (first + second) * (first + second) / (share(first, &one) + share(second, &other));
            // Rounded down the interval is rather a little wide; without any spread there is no quotient.
            (first + second, (degrees as usize).max(1))
        });
        Some(Gain::spread(one.mean - other.mean, spread))
    }

    /// A gain by its logarithm, with the variance of that and its degrees of freedom.
    fn spread(ln_gain: f64, spread: Option<(f64, usize)>) -> Gain {
        let interval = spread.map(|(variance, degrees)| {
            let half = student::critical(CONFIDENCE, degrees) * libm::sqrt(variance);
            (libm::exp(ln_gain - half), libm::exp(ln_gain + half))
        });
        Gain { ratio: libm::exp(ln_gain), interval, is_exact: false, saved: None }
    }
}

/// The mean of logarithms.
struct LnMean {
    count: usize,
    mean: f64,
    /// Of the mean; `None` of a single value.
    variance: Option<f64>,
}

impl LnMean {
    fn of(values: &[f64]) -> Option<LnMean> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let logarithms: Vec<f64> = values.iter().map(|value| libm::log(*value)).collect();
        let mean = logarithms.iter().sum::<f64>() / count as f64;
        let squares: f64 = logarithms.iter().map(|value| (value - mean) * (value - mean)).sum();
        let variance = (count > 1).then(|| squares / (count * (count - 1)) as f64);
        Some(LnMean { count, mean, variance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(ratio: f64, low: f64, high: f64) -> Gain {
        Gain { ratio, interval: Some((low, high)), is_exact: false, saved: None }
    }

    #[test]
    fn pages_are_summed_up_by_their_geometric_mean_and_their_spread() {
        let pages = [gain(2.0, 1.9, 2.1), gain(0.5, 0.4, 0.6), gain(1.0, 0.9, 1.1), gain(1.0, 0.8, 1.3)];
        let over = OverPages::of(&pages).unwrap();
        assert!((over.gain.ratio - 1.0).abs() < 1e-12 && !over.gain.is_clear());
        assert_eq!((over.faster, over.slower, over.least, over.most), (1, 1, 0.5, 2.0));
        // The logarithms' squares sum to 2 ln² 2, so the mean's error is ln 2 / √6; t of 3 degrees is 3.1824.
        let (low, high) = over.gain.interval.unwrap();
        assert!((high.ln() - 3.182_446 * 2.0_f64.ln() / 6.0_f64.sqrt()).abs() < 1e-6);
        assert!((low * high - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_page_has_no_interval_over_pages_and_none_no_mean() {
        assert_eq!(OverPages::of(&[gain(1.2, 1.1, 1.3)]).unwrap().gain.interval, None);
        assert_eq!(OverPages::of(&[]), None);
    }

    #[test]
    fn sessions_are_the_units_however_exact_each_is() {
        let before = [1000.0, 1100.0, 900.0, 1050.0];
        let alike = Gain::of_sessions(&before, &before.map(|ms| ms * 0.97)).unwrap();
        assert!((alike.ratio - 1.0 / 0.97).abs() < 1e-9 && !alike.is_clear(), "{alike:?}");
        let halved = Gain::of_sessions(&before, &before.map(|ms| ms / 2.0)).unwrap();
        assert!(halved.is_clear() && (halved.ratio - 2.0).abs() < 1e-9, "{halved:?}");
        let single = Gain::of_sessions(&before[..1], &before).unwrap();
        assert_eq!(single.interval, None, "nothing says by how much sessions before differ");
    }

    #[test]
    fn the_interval_of_sessions_is_welchs() {
        // ln 1, 2, 3 and 4, 6, 8, 10 over 10: variances of the means 1/300 and 1/60, so 4.08 degrees, taken as 4.
        let times = |tenths: &[f64]| tenths.iter().map(|tenth| libm::exp(tenth / 10.0)).collect::<Vec<f64>>();
        let gain = Gain::of_sessions(&times(&[1.0, 2.0, 3.0]), &times(&[4.0, 6.0, 8.0, 10.0])).unwrap();
        let (_, high) = gain.interval.unwrap();
        assert!((gain.ratio.ln() + 0.5).abs() < 1e-12);
        assert!((high.ln() - (-0.5 + 2.776_445 * 0.02_f64.sqrt())).abs() < 1e-6, "{high}");
        let same = Gain::of_sessions(&[5.0, 5.0], &[5.0, 5.0]).unwrap();
        assert_eq!((same.ratio, same.interval), (1.0, Some((1.0, 1.0))));
    }
}
