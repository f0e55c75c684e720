//! Which numbers of a direction the capture has not seen, below the highest that it has.

/// Holes that are known at a time. Where there are more, the lowest is forgotten: what comes there later counts as
/// sent again.
const MOST: usize = 64;

/// Ranges of numbers, in order, that do not touch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holes {
    ranges: Vec<(u64, u64)>,
}

impl Holes {
    /// A range above all others that was left out.
    pub(crate) fn push(&mut self, start: u64, end: u64) {
        if self.ranges.len() == MOST {
            self.ranges.remove(0);
        }
        self.ranges.push((start, end));
    }

    /// Whether nothing is missing.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many numbers of a range are in holes.
    pub(crate) fn within(&self, start: u64, end: u64) -> u64 {
        self.ranges.iter().map(|(from, to)| end.min(*to).saturating_sub(start.max(*from))).sum()
    }

    /// A range was seen.
    pub(crate) fn fill(&mut self, start: u64, end: u64) {
        let mut rest = Vec::with_capacity(self.ranges.len() + 1);
        for (from, to) in self.ranges.drain(..) {
            if end <= from || to <= start {
                rest.push((from, to));
                continue;
            }
            if from < start {
                rest.push((from, start));
            }
            if end < to {
                rest.push((end, to));
            }
        }
        self.ranges = rest;
        if self.ranges.len() > MOST {
            self.ranges.remove(0);
        }
    }
}
