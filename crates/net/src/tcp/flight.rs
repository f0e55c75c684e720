//! The retransmission queue: segments sent and not cumulatively acknowledged.

use super::segment::Segment;
use loadstone_units::Time;
use std::collections::VecDeque;
use std::ops::Range;

/// The maximum of segments that memory is reserved for beforehand.
const MAX_PREALLOCATED: u32 = 32;

/// A segment that has been sent and is not acknowledged in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Whether the last number is the FIN.
    pub(super) fin: bool,
    /// When it was last sent (RACK's segment.xmit_ts).
    pub(super) at: Time,
    /// SACKed (`TCPCB_SACKED_ACKED`).
    pub(super) sacked: bool,
    /// Marked lost (`TCPCB_LOST`); a retransmission in flight is `retransmitted`.
    pub(super) lost: bool,
    /// A retransmission is in flight (`TCPCB_SACKED_RETRANS`).
    pub(super) retransmitted: bool,
    /// It was ever retransmitted (`TCPCB_EVER_RETRANS`).
    pub(super) ever_retransmitted: bool,
    /// Delivery state when it was last sent, for delivery rate samples.
    pub(super) tx: TxDelivery,
}

/// The delivery state that a segment bears (the draft's per-packet state; `tx` of Linux's `tcp_skb_cb`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TxDelivery {
    /// Segments delivered when it was sent (P.delivered).
    pub(super) delivered: u64,
    /// When the last of those was delivered (P.delivered_time).
    pub(super) delivered_time: Time,
    /// The start of the send interval that is measured with it (P.first_sent_time).
    pub(super) first_sent_time: Time,
    /// The connection was application-limited (P.is_app_limited).
    pub(super) app_limited: bool,
}

/// What an ACK newly acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckSummary {
    /// Segments newly delivered.
    pub(super) delivered: u32,
    /// Bytes newly acknowledged or SACKed.
    pub(super) bytes: u64,
    /// SND.UNA advances.
    pub(super) advanced: bool,
    /// It newly SACKs data.
    pub(super) sacked: bool,
    /// Data below `high_seq` that was never retransmitted is newly delivered: the timeout was spurious
    /// (`FLAG_ORIG_SACK_ACKED`).
    pub(super) orig_sack_acked: bool,
    /// It acknowledges data that was ever retransmitted (`FLAG_RETRANS_DATA_ACKED`).
    pub(super) retrans_acked: bool,
    /// A retransmission is marked lost (`FLAG_LOST_RETRANS`).
    pub(super) lost_retrans: bool,
    /// RACK's reordering timer was armed (Linux then clears `FLAG_SET_XMIT_TIMER`).
    pub(super) reo_timer_armed: bool,
    /// When the first and the last segment were sent that are newly cumulatively acknowledged and were never
    /// retransmitted.
    pub(super) acked_times: Option<(Time, Time)>,
    /// The same of newly SACKed segments.
    pub(super) sacked_times: Option<(Time, Time)>,
    /// The most recently sent newly delivered segment: [never retransmitted, retransmitted].
    pub(super) newest_delivered: [Option<Sent>; 2],
    /// The lowest number delivered after a higher one, of segments never retransmitted (`state->reord`).
    pub(super) reord: Option<u64>,
    /// The start of the highest SACKed segment, or SEG.ACK if none is SACKed (`tcp_highest_sack_seq`).
    pub(super) fack: u64,
}

impl Sent {
    /// Whether both are SACKed and equally long.
    fn shifts_with(&self, next: &Sent) -> bool {
        self.sacked && next.sacked && self.end - self.start == next.end - next.start
    }
}

impl AckSummary {
    fn deliver(&mut self, sent: Sent) {
        self.delivered += 1;
        self.bytes += sent.end - sent.start;
        let latest = &mut self.newest_delivered[usize::from(sent.ever_retransmitted)];
        if latest.is_none_or(|last| (last.at, last.end) <= (sent.at, sent.end)) {
            *latest = Some(sent);
        }
    }
}

/// The retransmission queue, in sequence order.
#[derive(Debug, Default)]
pub(super) struct Flight {
    sent: VecDeque<Sent>,
    /// SACKed segments.
    sacked_out: u32,
    /// SACKed segments that `tcp_shift_skb_data` merges into the one before them: it is SACKed and as long.
    shifted: u32,
    /// Segments marked lost.
    lost_out: u32,
    /// Retransmissions in flight.
    retrans_out: u32,
    /// Transmissions ever marked lost.
    lost: u64,
    /// The end of the highest segment ever SACKed.
    highest_sack_end: u64,
    /// The start of that segment.
    highest_sack_start: u64,
    /// The SACK blocks of the last ACK, whose segments are marked.
    recv_sack_cache: [Range<u64>; 3],
    /// Below this number segments have been checked for loss by the SACKs above (`lost_skb_hint`).
    lost_hint: u64,
    /// Before this index there is no lost segment to retransmit (`retransmit_skb_hint`).
    retransmit_hint: usize,
}

impl Flight {
    /// Empty, with memory for `window` segments.
    pub(super) fn new(window: u32) -> Flight {
        Flight { sent: VecDeque::with_capacity(window.min(MAX_PREALLOCATED) as usize), ..Flight::default() }
    }

    /// Segments outstanding.
    pub(super) fn len(&self) -> u32 {
        self.sent.len() as u32
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Segments in flight: outstanding, neither SACKed nor lost, and retransmissions (pipe of RFC 6675,
    /// `tcp_packets_in_flight`).
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        self.len() - self.sacked_out - self.lost_out + self.retrans_out
    }

    /// SACKed segments.
    pub(super) fn sacked_out(&self) -> u32 {
        self.sacked_out
    }

    /// SACKed segments that Linux merges into those before them (`tcp_shift_skb_data`): neighbours of equal
    /// length.
    pub(super) fn shifted(&self) -> u32 {
        self.shifted
    }

    /// Segments marked lost.
    pub(super) fn lost_out(&self) -> u32 {
        self.lost_out
    }

    /// Transmissions ever marked lost.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Retransmissions in flight.
    pub(super) fn retrans_out(&self) -> u32 {
        self.retrans_out
    }

    /// The end of the highest segment ever SACKed.
    pub(super) fn highest_sack_end(&self) -> u64 {
        self.highest_sack_end
    }

    pub(super) fn get(&self, index: usize) -> &Sent {
        &self.sent[index]
    }

    pub(super) fn first(&self) -> Option<&Sent> {
        self.sent.front()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Sent> {
        self.sent.iter()
    }

    /// A segment is sent for the first time.
    pub(super) fn push(&mut self, sent: Sent) {
        self.sent.push_back(sent);
    }

    /// The segment at `index` is retransmitted.
    pub(super) fn retransmit(&mut self, index: usize, now: Time, tx: TxDelivery) -> Sent {
        let sent = &mut self.sent[index];
        self.retrans_out += u32::from(!sent.retransmitted);
        sent.retransmitted = true;
        self.retransmit_for_tlp(index, now, tx)
    }

    /// The segment at `index` is retransmitted as a tail loss probe: not counted in `retrans_out`.
    pub(super) fn retransmit_for_tlp(&mut self, index: usize, now: Time, tx: TxDelivery) -> Sent {
        let sent = &mut self.sent[index];
        (sent.ever_retransmitted, sent.at, sent.tx) = (true, now, tx);
        *sent
    }

    /// The index of the next segment that is lost and has no retransmission in flight.
    pub(super) fn next_lost(&mut self) -> Option<usize> {
        if self.lost_out == 0 {
            return None;
        }
        let mut rest = self.sent.range(self.retransmit_hint..);
        let found = rest.position(|sent| sent.lost && !sent.retransmitted);
        self.retransmit_hint = found.map_or(self.sent.len(), |at| at + self.retransmit_hint);
        found.map(|_| self.retransmit_hint)
    }

    /// NextSeg() rule (3) of RFC 6675: index of the first segment in `from..end` neither SACKed nor retransmitted.
    /// Call only when [`Flight::next_lost`] is `None`.
    pub(super) fn next_seg_rule_3(&self, from: u64, end: u64) -> Option<usize> {
        // Below the hint segments are SACKed, or lost and retransmitted.
        let from = from.max(self.lost_hint);
        let begin = self.sent.partition_point(|sent| sent.start < from);
        let within = self.sent.range(begin..).take_while(|sent| sent.end <= end);
        within.zip(begin..).find(|(sent, _)| !sent.sacked && !sent.retransmitted).map(|(_, index)| index)
    }

    /// Marks the segment at `index` lost; true if its retransmission was lost (`tcp_mark_skb_lost`).
    pub(super) fn mark_lost(&mut self, index: usize) -> bool {
        let sent = &mut self.sent[index];
        if sent.sacked {
            return false;
        }
        self.retransmit_hint = self.retransmit_hint.min(index);
        if !sent.lost {
            sent.lost = true;
            self.lost_out += 1;
            self.lost += 1;
            return false;
        }
        self.retrans_out -= u32::from(sent.retransmitted);
        self.lost += u64::from(sent.retransmitted);
        std::mem::take(&mut sent.retransmitted)
    }

    /// Marks lost every segment with `count` SACKed segments above it (RFC 6675, IsLost()).
    pub(super) fn mark_lost_by_sacks(&mut self, count: u32) {
        if self.sacked_out < count {
            return;
        }
        let highest = self.sent.partition_point(|sent| sent.start < self.highest_sack_end);
        let sacked = (0..highest).rev().filter(|index| self.sent[*index].sacked);
        let Some(boundary) = sacked.take(count as usize).last() else { return };
        let checked = self.sent.partition_point(|sent| sent.start < self.lost_hint);
        self.lost_hint = self.sent[boundary].start;
        for index in checked..boundary {
            if !self.sent[index].lost {
                self.mark_lost(index);
            }
        }
    }

    /// FACK: marks lost every unSACKed segment at least `count` segments below the highest SACKed one
    /// (`tcp_mark_head_lost` of Linux).
    pub(super) fn mark_lost_by_fack(&mut self, count: u32) {
        if self.sacked_out == 0 {
            return;
        }
        let highest = self.sent.partition_point(|sent| sent.start < self.highest_sack_end);
        let checked = self.sent.partition_point(|sent| sent.start < self.lost_hint);
        let boundary = highest.saturating_sub(count as usize);
        for index in checked..boundary {
            if !self.sent[index].sacked && !self.sent[index].lost {
                self.mark_lost(index);
            }
        }
        if let Some(sent) = self.sent.get(boundary).filter(|_| boundary > checked) {
            self.lost_hint = sent.start;
        }
    }

    /// Whether nothing is SACKed, marked lost or retransmitted.
    pub(super) fn is_clean(&self) -> bool {
        self.sacked_out + self.lost_out == 0 && !self.any_retrans_done()
    }

    /// Whether retransmissions are in flight, or the head was ever retransmitted (`tcp_any_retrans_done`).
    pub(super) fn any_retrans_done(&self) -> bool {
        self.retrans_out > 0 || self.first().is_some_and(|sent| sent.ever_retransmitted)
    }

    /// Clears all loss marks, so that segments are checked again.
    pub(super) fn clear_loss_marks(&mut self) {
        self.sent.iter_mut().for_each(|sent| sent.lost = false);
        (self.lost_out, self.lost_hint) = (0, 0);
    }

    /// Processes the SACK blocks and the cumulative acknowledgement of `segment` into `summary` (by reference:
    /// large).
    pub(super) fn handle_ack(&mut self, segment: &Segment, high_seq: u64, summary: &mut AckSummary) {
        let una = self.first().map_or(segment.ack, |sent| sent.start);
        let prior_fack = if self.sacked_out > 0 { self.highest_sack_start } else { una };
        self.note_sacks(segment, high_seq, summary);
        while let Some(sent) = self.sent.front().copied().filter(|sent| sent.end <= segment.ack) {
            self.sent.pop_front();
            self.retransmit_hint = self.retransmit_hint.saturating_sub(1);
            self.shifted -= u32::from(self.first().is_some_and(|next| sent.shifts_with(next)));
            self.retire(sent, high_seq, summary);
            // A gap is filled by a segment never retransmitted: reordering.
            if !sent.sacked && !sent.ever_retransmitted && sent.start < prior_fack {
                summary.reord = Some(summary.reord.map_or(sent.start, |from| from.min(sent.start)));
            }
        }
        summary.advanced = segment.ack > una;
        summary.fack = if self.sacked_out > 0 { self.highest_sack_start } else { segment.ack };
    }

    /// A segment is cumulatively acknowledged.
    fn retire(&mut self, sent: Sent, high_seq: u64, summary: &mut AckSummary) {
        self.retrans_out -= u32::from(sent.retransmitted);
        self.lost_out -= u32::from(sent.lost);
        self.sacked_out -= u32::from(sent.sacked);
        if sent.ever_retransmitted {
            summary.retrans_acked = true;
        } else if !sent.sacked {
            summary.orig_sack_acked |= sent.end <= high_seq;
            summary.acked_times = Some((summary.acked_times.map_or(sent.at, |(first, _)| first), sent.at));
        }
        if !sent.sacked {
            summary.deliver(sent);
        }
    }

    /// Marks the segments in the SACK blocks. Blocks of the ACK before are skipped.
    fn note_sacks(&mut self, segment: &Segment, high_seq: u64, summary: &mut AckSummary) {
        if segment.sacks.is_empty() {
            return;
        }
        let mut blocks: [Range<u64>; 3] = [0..0, 0..0, 0..0];
        for (index, block) in blocks.iter_mut().zip(segment.sacks.iter(segment.ack)) {
            *index = block;
        }
        // In sequence order: blocks of one ACK do not count as reordering among themselves.
        blocks.sort_unstable_by_key(|block| block.start);
        for block in &blocks {
            let mut from = block.start;
            // The part of the ACK before is skipped: most often a block has grown at its end.
            if let Some(cached) = self.recv_sack_cache.iter().find(|cached| cached.start <= from && from < cached.end) {
                from = cached.end;
            }
            if from < block.end {
                self.mark_sacked(from..block.end, high_seq, summary);
            }
        }
        self.recv_sack_cache = blocks;
    }

    fn mark_sacked(&mut self, block: Range<u64>, high_seq: u64, summary: &mut AckSummary) {
        let begin = self.sent.partition_point(|sent| sent.start < block.start);
        let highest = self.highest_sack_end;
        for index in begin..self.sent.len() {
            let sent = &mut self.sent[index];
            if sent.end > block.end {
                break;
            }
            if sent.sacked {
                continue;
            }
            if sent.lost {
                self.lost_out -= 1;
                self.retrans_out -= u32::from(sent.retransmitted);
                (sent.lost, sent.retransmitted) = (false, false);
            }
            if !sent.ever_retransmitted {
                summary.orig_sack_acked |= sent.end <= high_seq;
                summary.sacked_times = Some((summary.sacked_times.map_or(sent.at, |(first, _)| first), sent.at));
                if sent.start < highest {
                    summary.reord = Some(summary.reord.map_or(sent.start, |from| from.min(sent.start)));
                }
            }
            sent.sacked = true;
            self.sacked_out += 1;
            if sent.end > self.highest_sack_end {
                (self.highest_sack_end, self.highest_sack_start) = (sent.end, sent.start);
            }
            summary.sacked = true;
            summary.deliver(*sent);
            self.shift(index);
        }
    }

    /// The segment at `index` is SACKed: counts the pairs that it makes with its neighbours.
    fn shift(&mut self, index: usize) {
        let pair =
            |one: Option<&Sent>, next: Option<&Sent>| one.zip(next).is_some_and(|(one, next)| one.shifts_with(next));
        let before = index.checked_sub(1).and_then(|before| self.sent.get(before));
        let (own, after) = (self.sent.get(index), self.sent.get(index + 1));
        self.shifted += u32::from(pair(before, own)) + u32::from(pair(own, after));
    }
}

#[cfg(test)]
impl Flight {
    /// # Panics
    /// If counters and marks differ, or if a lost segment would never be retransmitted.
    pub(super) fn check_invariants(&self) {
        let count = |is: fn(&Sent) -> bool| self.sent.iter().filter(|sent| is(sent)).count() as u32;
        let counted = (count(|sent| sent.sacked), count(|sent| sent.lost), count(|sent| sent.retransmitted));
        assert_eq!(counted, (self.sacked_out, self.lost_out, self.retrans_out), "{self:?}");
        let merged = self.sent.iter().zip(self.sent.iter().skip(1)).filter(|(one, next)| one.shifts_with(next)).count();
        assert_eq!(merged as u32, self.shifted, "{self:?}");
        assert_eq!(count(|sent| sent.sacked && sent.lost), 0, "{self:?}");
        assert!(self.sent.iter().zip(self.sent.iter().skip(1)).all(|(one, next)| one.end == next.start), "{self:?}");
        assert!(!self.sent.iter().take(self.retransmit_hint).any(|sent| sent.lost && !sent.retransmitted), "{self:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::segment::{Flags, Sacks};
    use std::slice::from_ref;

    /// Segments of ten bytes are sent.
    fn outstanding(flight: &mut Flight, numbers: Range<u64>) {
        let (fin, sacked, lost, retransmitted, ever_retransmitted) = (false, false, false, false, false);
        for start in numbers.step_by(10) {
            let (end, at, tx) = (start + 10, Time::ZERO, TxDelivery::default());
            flight.push(Sent { start, end, fin, at, sacked, lost, retransmitted, ever_retransmitted, tx });
        }
    }

    /// Eight segments of ten bytes are outstanding, and the last four are SACKed.
    fn half_sacked() -> Flight {
        let mut flight = Flight::default();
        outstanding(&mut flight, 1..81);
        assert_eq!(sacked(&mut flight, from_ref(&(41..81))).delivered, 4);
        flight
    }

    #[test]
    fn segments_whose_loss_marks_were_cleared_are_marked_again() {
        for mark_lost in [Flight::mark_lost_by_sacks, Flight::mark_lost_by_fack] {
            let mut flight = half_sacked();
            mark_lost(&mut flight, 3);
            assert_eq!((flight.lost_out(), flight.in_flight()), (4, 0));
            flight.clear_loss_marks();
            assert_eq!(flight.lost_out(), 0);
            mark_lost(&mut flight, 3);
            assert_eq!((flight.lost_out(), flight.in_flight()), (4, 0));
            flight.check_invariants();
        }
    }

    #[test]
    fn a_segment_is_lost_with_as_many_sacked_ones_above_it_as_asked_for_and_not_with_fewer_rfc6675_4() {
        for (count, expected) in [(4, 4), (5, 0)] {
            let mut flight = half_sacked();
            flight.mark_lost_by_sacks(count);
            assert_eq!(flight.lost_out(), expected, "{count}");
        }
    }

    /// The summary of an ACK of `1` with these SACK blocks.
    fn sacked(flight: &mut Flight, blocks: &[Range<u64>]) -> AckSummary {
        let mut sacks = Sacks::default();
        blocks.iter().for_each(|block| sacks.push(1, block.clone()));
        let flags = Flags { ack: true, ..Flags::default() };
        let (ts_val, ts_ecr) = (Time::ZERO, Time::ZERO);
        let (seq, ack, len, window, dsack_end) = (1, 1, 0, 65_535, 0);
        let repair = None;
        let segment = Segment { seq, ack, len, window, flags, ts_val, ts_ecr, sacks, dsack_end, repair };
        let mut summary = AckSummary::default();
        flight.handle_ack(&segment, 81, &mut summary);
        summary
    }

    #[test]
    fn what_is_sacked_at_once_has_not_been_overtaken_whatever_the_order_of_the_blocks() {
        let mut flight = half_sacked();
        // The newest block comes first (RFC 2018, section 4).
        outstanding(&mut flight, 81..121);
        let summary = sacked(&mut flight, &[101..111, 81..91]);
        assert_eq!((summary.delivered, summary.reord), (2, None));
        assert_eq!(sacked(&mut flight, &[101..111, 81..101]).reord, Some(91));
    }

    #[test]
    fn sacked_neighbours_become_one() {
        let mut flight = half_sacked();
        assert_eq!(flight.shifted(), 3);
        sacked(&mut flight, &[21..31, 41..81]);
        assert_eq!(flight.shifted(), 3);
        sacked(&mut flight, from_ref(&(21..81)));
        assert_eq!(flight.shifted(), 5);
        flight.check_invariants();
    }

    #[test]
    fn each_loss_is_found_once_and_again_when_it_is_lost_again() {
        let mut flight = half_sacked();
        flight.mark_lost_by_sacks(3);
        for index in [0, 1, 2, 3] {
            assert_eq!(flight.next_lost(), Some(index));
            flight.retransmit(index, Time::ZERO, TxDelivery::default());
        }
        assert_eq!((flight.next_lost(), flight.lost()), (None, 4));
        assert!(flight.mark_lost(2));
        assert_eq!((flight.next_lost(), flight.lost()), (Some(2), 5));
        // What is lost and was not sent again cannot be lost once more, and what has arrived not at all.
        assert!(!flight.mark_lost(2) && !flight.mark_lost(5));
        assert_eq!((flight.lost_out(), flight.lost()), (4, 5));
        flight.check_invariants();
    }

    #[test]
    fn what_may_be_missing_is_looked_for_from_a_number_on_to_another_rfc6675_4() {
        // Of 1 to 80 in tens, 41 to 80 are SACKed; the first is sent again.
        let mut flight = half_sacked();
        flight.mark_lost(0);
        flight.retransmit(0, Time::ZERO, TxDelivery::default());
        let found = [(1, 80), (1, 20), (1, 21), (11, 80), (12, 80), (31, 40), (31, 41), (41, 81)]
            .map(|(from, end)| flight.next_seg_rule_3(from, end));
        assert_eq!(found, [Some(1), None, Some(1), Some(1), Some(2), None, Some(3), None]);
    }

    #[test]
    fn rfc6675_counts_sacked_segments_and_fack_how_far_the_highest_is_away() {
        for (blocks, by_sacks, by_fack) in [
            (from_ref(&(21..31)), &[][..], &[][..]),
            (from_ref(&(31..41)), &[], &[0]),
            (from_ref(&(51..61)), &[], &[0, 1, 2]),
            (&[51..61, 11..21], &[], &[0, 2]),
            (from_ref(&(41..71)), &[0, 1, 2, 3], &[0, 1, 2, 3]),
            (&[61..71, 31..41, 11..21], &[0], &[0, 2]),
        ] {
            for (mark_lost, expected) in
                [(Flight::mark_lost_by_sacks as fn(&mut Flight, u32), by_sacks), (Flight::mark_lost_by_fack, by_fack)]
            {
                let mut flight = Flight::default();
                outstanding(&mut flight, 1..81);
                sacked(&mut flight, blocks);
                // A second look finds nothing new.
                for _ in 0..2 {
                    mark_lost(&mut flight, 3);
                    let lost: Vec<usize> = (0..8).filter(|index| flight.get(*index).lost).collect();
                    assert_eq!(lost, expected, "{blocks:?}");
                }
                flight.check_invariants();
            }
        }
    }

    #[test]
    fn fack_goes_on_where_it_stopped_as_the_highest_sack_moves_up() {
        let mut flight = Flight::default();
        outstanding(&mut flight, 1..81);
        for (block, lost_out) in [(41..51, 2), (51..61, 3), (71..81, 4)] {
            sacked(&mut flight, from_ref(&block));
            flight.mark_lost_by_fack(3);
            assert_eq!(flight.lost_out(), lost_out, "{block:?}");
        }
        assert!(!flight.get(4).lost && !flight.get(6).lost);
    }
}
