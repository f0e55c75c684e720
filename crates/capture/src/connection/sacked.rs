//! What a receiver has beyond a gap (RFC 2018).

/// Ranges that are kept; a receiver tells of the newest first. Where there are more, the lowest are forgotten.
const MOST: usize = 128;

/// Ranges of numbers, in order, that do not touch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sacked {
    ranges: Vec<(u64, u64)>,
}

impl Sacked {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// All below `ack` has arrived anyway.
    pub(crate) fn forget_below(&mut self, ack: u64) {
        self.ranges.retain_mut(|range| {
            range.0 = range.0.max(ack);
            range.0 < range.1
        });
    }

    /// Adds a block: whether anything of it is new.
    pub(crate) fn add(&mut self, start: u64, end: u64) -> bool {
        let first = self.ranges.partition_point(|range| range.1 < start);
        let last = self.ranges.partition_point(|range| range.0 <= end);
        let (mut low, mut high) = (start, end);
        if let Some(touched @ [from, ..]) = self.ranges.get(first..last) {
            let to = touched[touched.len() - 1];
            (low, high) = (low.min(from.0), high.max(to.1));
            if touched.len() == 1 && (low, high) == *from {
                return false;
            }
        }
        self.ranges.splice(first..last, [(low, high)]);
        if self.ranges.len() > MOST {
            self.ranges.remove(0);
        }
        true
    }
}
