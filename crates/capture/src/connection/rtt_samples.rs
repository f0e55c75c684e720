//! Round trips of one direction: how many, and how they are distributed.

/// Samples that are kept for quantiles. When there are more, every second one is given up, and from then on every
/// second one, fourth one... is kept.
const KEPT: usize = 128;

/// Samples of a round trip, in ns.
#[derive(Clone, Debug, Default)]
pub(crate) struct RttSamples {
    count: u32,
    min: u64,
    max: u64,
    sum: f64,
    squares: f64,
    kept: Vec<u32>,
    /// One sample in `1 << thinned` is kept.
    thinned: u32,
}

impl RttSamples {
    #[inline]
    pub(crate) fn add(&mut self, ns: u64) {
        let value = ns as f64;
        if self.count == 0 {
            self.min = ns;
        }
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.sum += value;
        self.squares += value * value;
        if self.count & ((1 << self.thinned) - 1) == 0 {
            self.keep(ns);
        }
        self.count += 1;
    }

    fn keep(&mut self, ns: u64) {
        if self.kept.len() == KEPT {
            let mut nth = 0;
            self.kept.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
            self.thinned += 1;
        }
        // In units of 100 ns, up to 7 minutes: half of the memory.
        self.kept.push(u32::try_from(ns / 100).unwrap_or(u32::MAX));
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Their sum, in ns.
    pub(crate) fn sum(&self) -> f64 {
        self.sum
    }

    /// The least in ns; 0 without a sample.
    pub(crate) fn min(&self) -> u64 {
        self.min
    }

    /// The least, in ms.
    pub(crate) fn min_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.min as f64 / 1e6)
    }

    /// The largest, in ms.
    pub(crate) fn max_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.max as f64 / 1e6)
    }

    /// The mean, in ms.
    pub(crate) fn mean_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count) / 1e6)
    }

    /// The standard deviation in ms; missing of a single sample.
    pub(crate) fn deviation_ms(&self) -> Option<f64> {
        let count = f64::from(self.count);
        (self.count > 1).then(|| ((self.squares - self.sum * self.sum / count).max(0.0) / (count - 1.0)).sqrt() / 1e6)
    }

    /// A quantile in ms, of the samples that were kept: the smallest sample that `share` of them do not exceed.
    pub(crate) fn quantile_ms(&self, share: f64) -> Option<f64> {
        let mut kept = self.kept.clone();
        let rank = (share * kept.len() as f64).ceil() as usize;
        (!kept.is_empty()).then(|| {
            let (_, units, _) = kept.select_nth_unstable(rank.saturating_sub(1));
            f64::from(*units) / 1e4
        })
    }
}
