//! What the other end has selectively acknowledged, and what that says about the rest (RFC 6675).

use std::ops::Range;

/// The number of discontiguous blocks, or of segments' worth of bytes, above a number that make it
/// count as lost (RFC 6675, section 2).
pub(super) const DUP_THRESH: usize = 3;

/// The SACKed ranges between the first unacknowledged number and the highest sent one: disjoint,
/// ascending, not touching.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    sacked: Vec<Range<u64>>,
    /// All that is unSACKed below this number counts as lost.
    lost_edge: u64,
}

impl Scoreboard {
    pub(super) fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// How many bytes are SACKed.
    pub(super) fn total(&self) -> u64 {
        self.sacked.iter().map(|range| range.end - range.start).sum()
    }

    /// The number below which unSACKed data counts as lost.
    pub(super) fn lost_edge(&self) -> u64 {
        self.lost_edge
    }

    /// Notes SACKed ranges; returns whether any of them says something new.
    pub(super) fn update(&mut self, una: u64, blocks: impl Iterator<Item = Range<u64>>) -> bool {
        let mut news = false;
        for block in blocks {
            let block = block.start.max(una)..block.end;
            if block.start < block.end {
                news |= self.insert(block);
            }
        }
        news
    }

    fn insert(&mut self, block: Range<u64>) -> bool {
        let from = self.sacked.partition_point(|held| held.end < block.start);
        let to = self.sacked.partition_point(|held| held.start <= block.end);
        let Some(touched) = self.sacked.get(from..to).filter(|touched| !touched.is_empty()) else {
            self.sacked.insert(from, block);
            return true;
        };
        let joined = touched[0].start.min(block.start)..touched[touched.len() - 1].end.max(block.end);
        let news = touched.len() > 1 || touched[0] != joined;
        self.sacked.splice(from..to, [joined]);
        news
    }

    /// Everything before `una` is acknowledged.
    pub(super) fn advance(&mut self, una: u64) {
        let gone = self.sacked.partition_point(|held| held.end <= una);
        self.sacked.drain(..gone);
        if let Some(first) = self.sacked.first_mut() {
            first.start = first.start.max(una);
        }
        self.lost_edge = self.lost_edge.max(una);
    }

    /// RFC 6675, section 4, IsLost:
    /// > This routine returns whether the given sequence number is considered to be lost. The
    /// > routine returns true when either DupThresh discontiguous SACKed sequences have arrived
    /// > above 'SeqNum' or more than (DupThresh - 1) * SMSS bytes with sequence numbers greater
    /// > than 'SeqNum' have been SACKed.
    ///
    /// If a number is lost, so is all unSACKed data before it: one edge says it all.
    pub(super) fn detect_losses(&mut self, mss: u32) {
        let mut bytes = 0;
        for (count, range) in self.sacked.iter().rev().enumerate() {
            bytes += range.end - range.start;
            if count + 1 >= DUP_THRESH || bytes > (DUP_THRESH as u64 - 1) * u64::from(mss) {
                self.lost_edge = self.lost_edge.max(range.start);
                return;
            }
        }
    }

    /// A timeout: all that is unSACKed before `end` counts as lost.
    pub(super) fn lose_all(&mut self, end: u64) {
        self.lost_edge = self.lost_edge.max(end);
    }

    /// The first unSACKed range from `from` on and before `end`.
    pub(super) fn next_hole(&self, from: u64, end: u64) -> Option<Range<u64>> {
        let at = self.sacked.partition_point(|held| held.end <= from);
        let (start, next) = match self.sacked.get(at) {
            None => (from, end),
            Some(held) if held.start > from => (from, held.start),
            Some(held) => (held.end, self.sacked.get(at + 1).map_or(end, |next| next.start)),
        };
        (start < end).then(|| start..next.min(end))
    }

    /// The highest SACKed number's successor.
    pub(super) fn highest(&self) -> Option<u64> {
        self.sacked.last().map(|range| range.end)
    }

    /// RFC 6675, section 4, SetPipe: an estimate of the bytes on their way. Counted are those not
    /// SACKed and not lost, and once more those that have been sent again (all before `high_rxt`).
    pub(super) fn pipe(&self, una: u64, nxt: u64, high_rxt: u64) -> u64 {
        let edge = self.lost_edge.clamp(una, nxt);
        let (mut above, mut sacked_below_rxt) = (nxt - edge, 0);
        for range in &self.sacked {
            above -= range.end.min(nxt).saturating_sub(range.start.max(edge));
            sacked_below_rxt += range.end.min(high_rxt).saturating_sub(range.start);
        }
        above + high_rxt.saturating_sub(una).saturating_sub(sacked_below_rxt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn board(blocks: &[(u64, u64)]) -> Scoreboard {
        let mut board = Scoreboard::default();
        board.update(0, blocks.iter().map(|(start, end)| *start..*end));
        board
    }

    #[test]
    fn three_blocks_or_more_than_two_segments_above_make_a_loss_rfc6675_4() {
        let edge = |blocks: &[(u64, u64)]| {
            let mut board = board(blocks);
            board.detect_losses(1000);
            board.lost_edge()
        };
        assert_eq!(edge(&[(1000, 3000)]), 0, "exactly two segments are not more than two");
        assert_eq!(edge(&[(1000, 3001)]), 1000);
        assert_eq!(edge(&[(1000, 1100), (2000, 2100)]), 0);
        assert_eq!(edge(&[(1000, 1100), (2000, 2100), (3000, 3100)]), 1000);
        assert_eq!(edge(&[(1000, 1100), (2000, 2100), (3000, 3100), (5000, 8000)]), 5000);
    }

    #[test]
    fn holes_are_found_in_order() {
        let board = board(&[(1000, 2000), (3000, 4000)]);
        assert_eq!(board.next_hole(0, 5000), Some(0..1000));
        assert_eq!(board.next_hole(500, 5000), Some(500..1000));
        assert_eq!(board.next_hole(1000, 5000), Some(2000..3000));
        assert_eq!(board.next_hole(3500, 5000), Some(4000..5000));
        assert_eq!(board.next_hole(3500, 4000), None);
        assert_eq!(board.next_hole(0, 700), Some(0..700));
    }

    #[test]
    fn only_news_is_news() {
        let mut board = board(&[(1000, 2000)]);
        assert!(!board.update(0, [1000..2000, 1200..1500].into_iter()));
        assert!(board.update(0, std::iter::once(2000..2001)));
        assert!(!board.update(2000, std::iter::once(500..2000)), "what lies before una is old");
    }

    proptest! {
        /// The definition of SetPipe, octet by octet, as the oracle.
        #[test]
        fn pipe_is_what_counting_octets_gives(
            blocks in prop::collection::vec((0_u64..300, 1_u64..40), 0..12),
            (una, len, rxt) in (0_u64..50, 1_u64..300, 0_u64..300),
        ) {
            let nxt = una + len;
            let high_rxt = (una + rxt).min(nxt);
            let mut board = Scoreboard::default();
            board.update(una, blocks.iter().map(|(start, len)| *start..(start + len).min(nxt)));
            board.advance(una);
            board.detect_losses(20);
            let sacked = |seq: u64| blocks.iter().any(|(start, len)| (*start..start + len).contains(&seq));
            let count = (una..nxt).filter(|seq| !sacked(*seq)).map(|seq| {
                u64::from(seq >= board.lost_edge()) + u64::from(seq < high_rxt)
            });
            prop_assert_eq!(board.pipe(una, nxt, high_rxt), count.sum::<u64>());
        }
    }
}
