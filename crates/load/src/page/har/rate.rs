//! How fast the link was when a page was recorded.

use super::fetched::HarFetch;
use super::sizes;

/// Over how long a rate is taken, in ms, and as a share of the load. Shorter, and what a browser read from its buffers
/// at once counts as fast; longer, and the link was idle in between. These gave load times nearest to the recorded ones
/// (studies/recordings).
const WINDOW_MS: (f64, f64) = (50.0, 500.0);
const WINDOW_SHARE: f64 = 0.125;
/// The shortest time in which an answer arrives: files count in ms.
const SHORTEST_MS: f64 = 1.0;

/// The rate of the fastest half second, in short loads of less, in kbit/s: a link is at least as fast as what came through
/// it. `None` if nothing came.
pub(super) fn down_kbit(entries: &[HarFetch<'_>]) -> Option<u64> {
    let arrivals = entries.iter().filter(|fetched| fetched.skip.is_none()).map(|fetched| {
        let receive = fetched.timings.receive.positive().unwrap_or(0.0).max(SHORTEST_MS);
        let head = sizes::head(&fetched.response.headers_size).unwrap_or(0);
        (fetched.ended - receive, fetched.ended, (fetched.bytes + u64::from(head)) as f64)
    });
    let curve = Curve::of(arrivals.filter(|(from, to, _)| from.is_finite() && to.is_finite()));
    let window = (curve.span() * WINDOW_SHARE).clamp(WINDOW_MS.0, WINDOW_MS.1);
    // Bits in a ms are kbit in a second.
    Some((curve.most_within(window) * 8.0 / window).round() as u64).filter(|rate| *rate > 0)
}

/// The bytes that had arrived by each moment, which grow evenly between its points.
struct Curve(Vec<(f64, f64)>);

impl Curve {
    /// Of answers that arrived evenly: from when, until when, and how many bytes.
    fn of(arrivals: impl Iterator<Item = (f64, f64, f64)>) -> Curve {
        let slopes = arrivals.flat_map(|(from, to, bytes)| {
            let rate = bytes / (to - from);
            [(from, rate), (to, -rate)]
        });
        let mut slopes: Vec<(f64, f64)> = slopes.collect();
        slopes.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let mut points: Vec<(f64, f64)> = Vec::with_capacity(slopes.len());
        let (mut rate, mut bytes) = (0.0, 0.0);
        for (at, slope) in slopes {
            bytes += points.last().map_or(0.0, |(before, _)| rate * (at - before));
            rate += slope;
            points.push((at, bytes));
        }
        Curve(points)
    }

    /// From the first byte to the last, in ms.
    fn span(&self) -> f64 {
        self.0.last().zip(self.0.first()).map_or(0.0, |((last, _), (first, _))| last - first)
    }

    fn at(&self, moment: f64) -> f64 {
        let after = self.0.partition_point(|(at, _)| *at <= moment);
        match (after.checked_sub(1).map(|before| self.0[before]), self.0.get(after)) {
            (None, _) => 0.0,
            (Some((_, bytes)), None) => bytes,
            (Some((from, before)), Some((to, then))) => before + (then - before) * (moment - from) / (to - from),
        }
    }

    /// The most that arrived within a span. It begins or ends at a point.
    fn most_within(&self, span: f64) -> f64 {
        let windows = self.0.iter().flat_map(|(at, bytes)| [self.at(at + span) - bytes, bytes - self.at(at - span)]);
        windows.fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most(arrivals: &[(f64, f64, f64)]) -> f64 {
        Curve::of(arrivals.iter().copied()).most_within(500.0)
    }

    #[test]
    fn the_fastest_half_second_counts() {
        assert_eq!(most(&[(0.0, 1000.0, 10_000.0)]), 5_000.0, "half of what came in a second");
        assert_eq!(most(&[(0.0, 100.0, 3_000.0), (450.0, 550.0, 1_000.0)]), 3_500.0, "all of one, half of another");
        assert_eq!(most(&[(0.0, 100.0, 3_000.0), (50.0, 150.0, 1_000.0)]), 4_000.0, "at the same time");
        assert_eq!(most(&[(0.0, 1.0, 3_000.0), (900.0, 901.0, 4_000.0)]), 4_000.0, "not what came apart");
        assert_eq!(most(&[]), 0.0);
    }
}
