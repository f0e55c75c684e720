//! The rate that a link has at least: that of the moment in which most came through it.

use loadstone_units::{Rate, Time};
use std::time::Duration;

/// The shortest moment whose rate is measured: at high rates by its length, since a program reads a little late, at low
/// rates by what comes, since packets are coarse. It is no longer, so that a burst of a few windows shows the link's
/// rate even where the page leaves the link idle most of the time.
pub const BUSIEST_MOMENT: (Duration, u64) = (Duration::from_millis(50), 64 * 1024);

/// Bytes that have come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ByteArrival {
    /// When.
    pub at: Time,
    /// How many.
    pub bytes: u64,
}

/// A time in which something was missing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ArrivalGap {
    /// Since when.
    pub from: Time,
    /// Until when.
    pub to: Time,
}

/// The busiest moment of connections together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busiest {
    /// How fast bytes came, without the heads of packets if these were not counted.
    pub rate: Rate,
    /// For how long.
    pub span: Duration,
}

/// How fast bytes came over all connections together, in the fastest stretch that lasts `span` and brings `bytes`, at
/// least, and in which nothing was missing. Where there is none: in the fastest one of ten times as long and as many, for
/// which it does not matter when exactly something came behind a hole; else in one of an eighth, which is less exact; else
/// over all of it. `None` if nothing came twice.
///
/// Bytes that came with the stretch's first moment do not count: they were on their way before it.
pub fn busiest(
    mut arrivals: Vec<ByteArrival>,
    mut gaps: Vec<ArrivalGap>,
    span: Duration,
    bytes: u64,
) -> Option<Busiest> {
    arrivals.sort_unstable();
    gaps.sort_unstable();
    let (first, last) = (arrivals.first()?, arrivals.last()?);
    let all: u64 = arrivals.iter().map(|arrival| arrival.bytes).sum();
    let whole = Stretch { bytes: all - first.bytes, nanos: last.at.nanos_since(first.at) };
    let least = Stretch { bytes, nanos: span.as_nanos() as u64 };
    let longer = Stretch { bytes: 10 * least.bytes, nanos: 10 * least.nanos };
    let shorter = Stretch { bytes: least.bytes / 8, nanos: least.nanos / 8 };
    let ways = [(least, &gaps[..]), (longer, &[]), (shorter, &gaps)];
    let found = ways.into_iter().find_map(|(least, gaps)| fastest(&arrivals, least, gaps));
    found.unwrap_or(whole).busiest()
}

/// The fastest of the shortest stretches that have at least so much of both, and in none of these gaps a part.
fn fastest(arrivals: &[ByteArrival], least: Stretch, gaps: &[ArrivalGap]) -> Option<Stretch> {
    let mut best: Option<Stretch> = None;
    // `within` is of what came after `first`, up to `end`; no gap before `gap` is of interest any more.
    let (mut end, mut within, mut gap) = (0, 0, 0);
    for (at, first) in arrivals.iter().enumerate() {
        if end <= at {
            (end, within) = (at + 1, 0);
        } else {
            within -= first.bytes;
        }
        let stretch = loop {
            let stretch = Stretch { bytes: within, nanos: arrivals[end - 1].at.nanos_since(first.at) };
            if stretch.nanos >= least.nanos && stretch.bytes >= least.bytes {
                break stretch;
            }
            let Some(next) = arrivals.get(end) else { return best };
            (within, end) = (within + next.bytes, end + 1);
        };
        while gaps.get(gap).is_some_and(|gap| gap.to <= first.at) {
            gap += 1;
        }
        // Of those that end later the earliest begins first, or nearly so: gaps of several connections may overlap.
        let is_in_gap =
            gaps[gap..].iter().take_while(|gap| gap.from < arrivals[end - 1].at).any(|gap| gap.to > first.at);
        if !is_in_gap && best.is_none_or(|best| stretch.is_faster(best)) {
            best = Some(stretch);
        }
    }
    best
}

/// Bytes, and the time in which they came.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    bytes: u64,
    nanos: u64,
}

impl Stretch {
    fn is_faster(self, than: Stretch) -> bool {
        u128::from(self.bytes) * u128::from(than.nanos) > u128::from(than.bytes) * u128::from(self.nanos)
    }

    /// `None` if it has no length.
    fn busiest(self) -> Option<Busiest> {
        let bits_per_second = self.bytes as f64 * 8e9 / self.nanos as f64;
        let rate = Rate::from_bits_per_second(1).scaled(bits_per_second);
        (self.nanos > 0).then_some(Busiest { rate, span: Duration::from_nanos(self.nanos) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_within_the_moment_makes_it_another_one() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        // 8 Mbit/s for 100 ms, then 4 Mbit/s for as long.
        let slow = |ms: u64| if ms <= 100 { 1_000 } else { 500 };
        let arrivals: Vec<_> = (0..=200).map(|ms| ByteArrival { at: at(ms), bytes: slow(ms) }).collect();
        let rate = |gaps| {
            let found = busiest(arrivals.clone(), gaps, Duration::from_millis(50), 1).unwrap();
            found.rate.bits_per_second()
        };
        assert_eq!(rate(Vec::new()), 8_000_000);
        assert_eq!(rate(vec![ArrivalGap { from: at(0), to: at(100) }]), 4_000_000);
    }
}
