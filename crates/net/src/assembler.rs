//! Data received out of order, as ranges of numbers; independent of TCP.

use std::ops::Range;

/// Disjoint ranges, the most recently changed first: the order of SACK blocks (RFC 2018).
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    ranges: Vec<Range<u64>>,
}

impl Assembler {
    /// Whether there are no ranges.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many ranges there are.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The ranges, the most recently changed first.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.ranges.iter().cloned()
    }

    /// Adds a range; those that it touches are joined to it.
    pub fn insert(&mut self, range: Range<u64>) {
        let mut joined = range;
        self.ranges.retain(|held| {
            let touches = held.start <= joined.end && joined.start <= held.end;
            if touches {
                joined = held.start.min(joined.start)..held.end.max(joined.end);
            }
            !touches
        });
        self.ranges.insert(0, joined);
    }

    /// All before `next` has arrived: returns the end of the data in order from there, and drops the ranges before
    /// that.
    pub fn advance(&mut self, next: u64) -> u64 {
        let mut reached = next;
        // Ranges neither overlap nor touch, so at most one continues.
        self.ranges.retain(|held| {
            if held.start <= next {
                reached = reached.max(held.end);
            }
            held.start > next
        });
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_latest_range_comes_first_rfc2018_4() {
        let mut held = Assembler::default();
        held.insert(10..20);
        held.insert(30..40);
        held.insert(50..60);
        held.insert(20..25);
        assert_eq!(held.iter().collect::<Vec<_>>(), [10..25, 50..60, 30..40]);
        assert_eq!(held.advance(10), 25);
        assert_eq!(held.iter().count(), 2);
    }

    proptest! {
        #[test]
        fn it_holds_what_a_set_of_bytes_holds(ranges in prop::collection::vec((0_u64..200, 1_u64..30), 1..40), next in 0_u64..200) {
            let mut held = Assembler::default();
            let mut bytes = std::collections::BTreeSet::new();
            for (start, len) in ranges {
                held.insert(start..start + len);
                bytes.extend(start..start + len);
            }
            let all: std::collections::BTreeSet<u64> = held.iter().flatten().collect();
            prop_assert_eq!(&all, &bytes);
            prop_assert_eq!(held.iter().map(|r| r.end - r.start).sum::<u64>(), bytes.len() as u64);
            let mut reached = next;
            while bytes.contains(&reached) { reached += 1; }
            // TCP never leaves a range wholly before `next`.
            prop_assume!(!held.iter().any(|range| range.end < next));
            prop_assert_eq!(held.advance(next), reached);
        }
    }
}
