//! Bandwidths, and their windowed maximum (section 4.1.1).

/// What gains are counted in: 256 is 1.
pub(super) const UNIT: u64 = 256;
/// What a bandwidth is shifted by.
const SHIFT: u32 = 24;

/// Segments per µs, shifted by 24 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Bandwidth(u64);

impl Bandwidth {
    /// `segments` in `micros` µs, which are not 0.
    pub(super) fn new(segments: u64, micros: u64) -> Bandwidth {
        Bandwidth((segments << SHIFT) / micros)
    }

    /// Segments in `micros` µs, rounded down.
    pub(super) fn segments_in(self, micros: u64) -> u64 {
        ((u128::from(self.0) * u128::from(micros)) >> SHIFT) as u64
    }

    /// Segments in `micros` µs, times `gain`, rounded up.
    pub(super) fn segments_by(self, micros: u64, gain: u64) -> u64 {
        let whole = u128::from(self.0) * u128::from(micros) * u128::from(gain) / u128::from(UNIT);
        whole.div_ceil(1 << SHIFT) as u64
    }

    /// The pacing rate for segments of `mss` bytes, in bytes a second: 1 % below the bandwidth, so that inaccurate
    /// clocks do not cause a queue (`bbr_rate_bytes_per_sec`).
    pub(super) fn rate(self, mss: u32, gain: u64) -> u64 {
        let bytes = u128::from(self.0) * u128::from(mss) * u128::from(gain) / u128::from(UNIT);
        ((bytes * 990_000) >> SHIFT) as u64
    }

    /// The bandwidth times `gain`.
    pub(super) fn scaled_by(self, gain: u64) -> Bandwidth {
        Bandwidth(self.0 * gain / UNIT)
    }

    /// The absolute difference.
    pub(super) fn abs_diff(self, other: Bandwidth) -> Bandwidth {
        Bandwidth(self.0.abs_diff(other.0))
    }

    /// The mean of both.
    pub(super) fn halfway_to(self, other: Bandwidth) -> Bandwidth {
        Bandwidth((self.0 + other.0) / 2)
    }
}

/// Windowed maximum of the bandwidth: the best, second best and third best sample of parts of the window
/// (`struct minmax`, `lib/minmax.c`).
#[derive(Debug, Default)]
pub(super) struct MaxFilter {
    estimates: [(u64, Bandwidth); 3],
}

/// The window in rounds (`bbr_bw_rtts`).
const BW_RTTS: u64 = 10;

impl MaxFilter {
    pub(super) fn get(&self) -> Bandwidth {
        self.estimates[0].1
    }

    /// A sample of the round `round`.
    pub(super) fn update(&mut self, round: u64, sample: Bandwidth) {
        let new = (round, sample);
        if sample >= self.estimates[0].1 || round - self.estimates[2].0 > BW_RTTS {
            self.estimates = [new; 3];
            return;
        }
        if sample >= self.estimates[1].1 {
            (self.estimates[1], self.estimates[2]) = (new, new);
        } else if sample >= self.estimates[2].1 {
            self.estimates[2] = new;
        }
        self.subwin_update(new);
    }

    /// Drops samples older than the window; second and third are of later parts of it (`minmax_subwin_update`).
    fn subwin_update(&mut self, new: (u64, Bandwidth)) {
        let [first, second, third] = self.estimates;
        let age = new.0 - first.0;
        if age > BW_RTTS {
            self.estimates = if new.0 - second.0 > BW_RTTS { [third, new, new] } else { [second, third, new] };
        } else if second.0 == first.0 && age > BW_RTTS / 4 {
            self.estimates = [first, new, new];
        } else if third.0 == second.0 && age > BW_RTTS / 2 {
            self.estimates[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ten_segments_in_a_tenth_of_a_second_are_a_hundred_a_second() {
        let bandwidth = Bandwidth::new(10, 100_000);
        // Both are rounded down by the shift.
        assert_eq!(bandwidth.segments_in(1_000_000), 99);
        assert_eq!(bandwidth.segments_by(1_000_000, UNIT), 100);
        assert_eq!(bandwidth.segments_by(1_000_000, 2 * UNIT), 200);
        assert_eq!(bandwidth.scaled_by(UNIT * 5 / 4), Bandwidth(bandwidth.0 * 5 / 4));
        let rate = bandwidth.rate(1000, UNIT);
        assert!((98_900..=99_000).contains(&rate), "{rate}");
    }

    #[test]
    fn the_largest_is_remembered_for_ten_rounds_and_not_longer() {
        let mut filter = MaxFilter::default();
        filter.update(1, Bandwidth(9));
        for round in 2..=11 {
            filter.update(round, Bandwidth(5));
            assert_eq!(filter.get(), Bandwidth(9), "round {round}");
        }
        filter.update(12, Bandwidth(5));
        assert_eq!(filter.get(), Bandwidth(5));
    }

    proptest! {
        /// It may forget a little early, since it keeps three samples only; but never what is newest, and
        /// never is it more than the true one.
        #[test]
        fn it_lies_between_the_newest_and_the_true_largest(samples in prop::collection::vec((0_u64..4, 1_u64..100), 1..80)) {
            let (mut filter, mut round, mut seen) = (MaxFilter::default(), 1, Vec::new());
            for (later, value) in samples {
                round += later;
                seen.push((round, value));
                filter.update(round, Bandwidth(value));
                let recent = seen.iter().filter(|(at, _)| round - at <= BW_RTTS);
                let most = recent.map(|(_, value)| *value).max().unwrap();
                prop_assert!((value..=most).contains(&filter.get().0), "{} of {most}", filter.get().0);
            }
        }
    }
}
