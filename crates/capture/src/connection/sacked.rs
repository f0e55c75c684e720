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

    /// Adds a block: what of it is new, as one range that covers it; nothing if all was known.
    pub(crate) fn add(&mut self, start: u64, end: u64) -> Option<(u64, u64)> {
        let first = self.ranges.partition_point(|range| range.1 < start);
        let last = self.ranges.partition_point(|range| range.0 <= end);
        let Some(touched) = self.ranges.get(first..last).filter(|touched| !touched.is_empty()) else {
            self.ranges.insert(first, (start, end));
            if self.ranges.len() > MOST {
                self.ranges.remove(0);
            }
            return Some((start, end));
        };
        let (low, high) = (touched[0].0, touched[touched.len() - 1].1);
        if low <= start && end <= high && touched.len() == 1 {
            return None;
        }
        // Blocks mostly grow at one end: only that is new.
        let from = if low <= start && touched.len() == 1 { high } else { start };
        let to = if end <= high && touched.len() == 1 { low } else { end };
        self.ranges.splice(first..last, [(low.min(start), high.max(end))]);
        Some((from, to))
    }
}
