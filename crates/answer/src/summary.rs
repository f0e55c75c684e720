//! What times of one kind are like.

/// Times of one kind in ms: page load times of one variant on one network.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TimeSummary {
    /// How many there are.
    pub count: usize,
    /// The median.
    pub median: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The geometric mean.
    pub geometric_mean: f64,
    /// The shortest.
    pub least: f64,
    /// The 10th percentile: a tenth of the times are shorter. Between two times it is interpolated.
    pub p10: f64,
    /// The 25th percentile.
    pub p25: f64,
    /// The 75th percentile.
    pub p75: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The longest.
    pub most: f64,
}

impl TimeSummary {
    /// Summarises times in ms, which are above 0; `None` where there are none.
    pub fn of(times: &[f64]) -> Option<TimeSummary> {
        let ordered = sorted(times);
        let count = ordered.len();
        let mean = |of: fn(f64) -> f64| times.iter().map(|time| of(*time)).sum::<f64>() / count as f64;
        let at = |share| quantile(&ordered, share);
        Some(TimeSummary {
            count,
            median: median(times)?,
            mean: mean(|time| time),
            geometric_mean: libm::exp(mean(libm::log)),
            least: at(0.0)?,
            p10: at(0.1)?,
            p25: at(0.25)?,
            p75: at(0.75)?,
            p90: at(0.9)?,
            p95: at(0.95)?,
            most: at(1.0)?,
        })
    }
}

/// The median, or `None` where there are no values.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let ordered = sorted(values);
    let half = ordered.len() / 2;
    match ordered.len() % 2 {
        _ if ordered.is_empty() => None,
        1 => Some(ordered[half]),
        _ => Some((ordered[half - 1] + ordered[half]) / 2.0),
    }
}

/// Where this share of the values lies below, which come in order; between two it is interpolated. `None` where there
/// are none.
pub(crate) fn quantile(ordered: &[f64], share: f64) -> Option<f64> {
    let last = ordered.len().checked_sub(1)?;
    let place = share.clamp(0.0, 1.0) * last as f64;
    let below = place as usize;
    let above = ordered[(below + 1).min(last)];
    Some(ordered[below] + (above - ordered[below]) * (place - below as f64))
}

pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut ordered = values.to_vec();
    ordered.sort_unstable_by(f64::total_cmp);
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_of_times_whose_answers_are_known() {
        let summary = TimeSummary::of(&[16.0, 1.0, 2.0, 4.0, 8.0]).unwrap();
        assert_eq!((summary.count, summary.median, summary.mean), (5, 4.0, 6.2));
        assert_eq!((summary.least, summary.most, summary.p25, summary.p75), (1.0, 16.0, 2.0, 8.0));
        assert!((summary.geometric_mean - 4.0).abs() < 1e-12);
        // The 90th percentile is 0.6 of the way from the fourth to the fifth.
        assert!((summary.p90 - 12.8).abs() < 1e-12);
        assert_eq!(TimeSummary::of(&[]), None);
    }

    #[test]
    fn medians_of_odd_even_and_no_values() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }
}
