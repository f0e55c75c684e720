//! What has been sent and is not acknowledged, segment by segment.

use super::segment::Segment;
use loadstone_units::Time;
use std::collections::VecDeque;
use std::ops::Range;

/// The segments that room is made for beforehand, at most.
const MOST_EXPECTED: u32 = 32;

/// A segment that has been sent and is not acknowledged in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Whether the last number is the FIN.
    pub(super) fin: bool,
    /// When it was last sent.
    pub(super) at: Time,
    /// The other end has it.
    pub(super) sacked: bool,
    /// It counts as lost, its first or its last transmission.
    pub(super) lost: bool,
    /// A retransmission counts as being on its way.
    pub(super) retransmitted: bool,
    /// It has been sent more than once.
    pub(super) ever_retransmitted: bool,
    /// What had been delivered when it was last sent: for samples of the rate of delivery.
    pub(super) tx: TxDelivery,
}

/// How far delivery had come when a segment was sent (`tcp_rate_skb_sent` of Linux).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TxDelivery {
    /// Segments delivered until then.
    pub(super) delivered: u64,
    /// When the last of those was.
    pub(super) delivered_time: Time,
    /// When the segment was sent whose delivery began this flight's measurement.
    pub(super) first_sent_time: Time,
    /// There was less to send than would have been allowed.
    pub(super) app_limited: bool,
}

/// What an acknowledgement has brought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckSummary {
    /// Segments that are known to be delivered, and were not before.
    pub(super) delivered: u32,
    /// Bytes that it acknowledges in order, or by SACK, and that were not before.
    pub(super) bytes: u64,
    /// It acknowledges more in order.
    pub(super) advanced: bool,
    /// It brings news by SACK.
    pub(super) sacked: bool,
    /// Something sent only once and before the last loss has been delivered: what makes a timeout
    /// spurious.
    pub(super) orig_sack_acked: bool,
    /// Something is acknowledged of which a retransmission was on its way.
    pub(super) retrans_acked: bool,
    /// Something that was sent again counts as lost again.
    pub(super) lost_retrans: bool,
    /// Something may be late or lost, and a timer was set to find out.
    pub(super) reo_timer_armed: bool,
    /// When the first and the last were sent of those that are newly acknowledged in order and were
    /// sent only once.
    pub(super) acked_times: Option<(Time, Time)>,
    /// The same of those newly acknowledged by SACK.
    pub(super) sacked_times: Option<(Time, Time)>,
    /// Of all that is newly delivered the one last sent: of those sent once, and of those sent again.
    pub(super) newest_delivered: [Option<Sent>; 2],
    /// The first number of what was sent once and has arrived after something sent later.
    pub(super) reord: Option<u64>,
    /// Where the highest begins that is SACKed; what is acknowledged if nothing is.
    pub(super) fack: u64,
}

impl Sent {
    /// Whether both have arrived beyond a hole and are equally long.
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

/// All segments that have been sent and are not acknowledged in order, in that order.
#[derive(Debug, Default)]
pub(super) struct Flight {
    sent: VecDeque<Sent>,
    sacked_out: u32,
    /// SACKed segments whose neighbour before them is SACKed and as long.
    shifted: u32,
    lost_out: u32,
    retrans_out: u32,
    /// Transmissions that ever counted as lost.
    lost: u64,
    /// The number after the highest that was ever SACKed, and that one's first.
    highest_sack_end: u64,
    highest_sack_start: u64,
    /// The SACK blocks of the last acknowledgement, whose segments are marked.
    recv_sack_cache: [Range<u64>; 3],
    /// What lies below has been judged by what is SACKed above it.
    lost_hint: u64,
    /// Where to look for the next lost segment: there is none before this place.
    retransmit_hint: usize,
}

impl Flight {
    /// Nothing is outstanding, and there is room for `window` segments: so many are expected at first.
    pub(super) fn new(window: u32) -> Flight {
        Flight { sent: VecDeque::with_capacity(window.min(MOST_EXPECTED) as usize), ..Flight::default() }
    }

    /// Segments outstanding.
    pub(super) fn len(&self) -> u32 {
        self.sent.len() as u32
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Segments on their way: those outstanding that are neither delivered nor lost, and
    /// retransmissions.
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        self.len() - self.sacked_out - self.lost_out + self.retrans_out
    }

    pub(super) fn sacked_out(&self) -> u32 {
        self.sacked_out
    }

    /// SACKed segments that have become one with those before them: Linux keeps neighbours that are as long
    /// as one (`tcp_shift_skb_data`).
    pub(super) fn shifted(&self) -> u32 {
        self.shifted
    }

    pub(super) fn lost_out(&self) -> u32 {
        self.lost_out
    }

    /// Transmissions that ever counted as lost.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Retransmissions on their way.
    pub(super) fn retrans_out(&self) -> u32 {
        self.retrans_out
    }

    /// The number after the highest that was SACKed.
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

    /// The segment at `place` is sent again.
    pub(super) fn retransmit(&mut self, index: usize, now: Time, tx: TxDelivery) -> Sent {
        let sent = &mut self.sent[index];
        self.retrans_out += u32::from(!sent.retransmitted);
        sent.retransmitted = true;
        self.retransmit_for_tlp(index, now, tx)
    }

    /// The segment at `place` is sent again, though it does not count as lost: no more are on their way for
    /// that.
    pub(super) fn retransmit_for_tlp(&mut self, index: usize, now: Time, tx: TxDelivery) -> Sent {
        let sent = &mut self.sent[index];
        (sent.ever_retransmitted, sent.at, sent.tx) = (true, now, tx);
        *sent
    }

    /// The place of the next segment that is lost and not on its way again.
    pub(super) fn next_lost(&mut self) -> Option<usize> {
        if self.lost_out == 0 {
            return None;
        }
        let mut rest = self.sent.range(self.retransmit_hint..);
        let found = rest.position(|sent| sent.lost && !sent.retransmitted);
        self.retransmit_hint = found.map_or(self.sent.len(), |at| at + self.retransmit_hint);
        found.map(|_| self.retransmit_hint)
    }

    /// The place of the first segment from `from` on, before `end`, that has neither arrived nor been
    /// sent again, when no loss is left that was not.
    pub(super) fn next_seg_rule_3(&self, from: u64, end: u64) -> Option<usize> {
        // What lies below what has been judged has arrived, or is lost and was sent again.
        let from = from.max(self.lost_hint);
        let begin = self.sent.partition_point(|sent| sent.start < from);
        let within = self.sent.range(begin..).take_while(|sent| sent.end <= end);
        within.zip(begin..).find(|(sent, _)| !sent.sacked && !sent.retransmitted).map(|(_, index)| index)
    }

    /// The segment at `place` counts as lost; whether that is a retransmission.
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

    /// What has `count` SACKed segments above it counts as lost (RFC 6675, IsLost).
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

    /// What lies `count` segments or more below the highest SACKed one counts as lost, if so many lie
    /// between that and the first (`tcp_mark_head_lost` of Linux with forward acknowledgements).
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

    /// Whether nothing is SACKed, lost or sent again.
    pub(super) fn is_clean(&self) -> bool {
        self.sacked_out + self.lost_out == 0 && !self.any_retrans_done()
    }

    /// Whether something outstanding was sent again, as far as the first segment and those under way
    /// tell.
    pub(super) fn any_retrans_done(&self) -> bool {
        self.retrans_out > 0 || self.first().is_some_and(|sent| sent.ever_retransmitted)
    }

    /// Nothing counts as lost any longer, until it is judged again.
    pub(super) fn clear_loss_marks(&mut self) {
        self.sent.iter_mut().for_each(|sent| sent.lost = false);
        (self.lost_out, self.lost_hint) = (0, 0);
    }

    /// Takes note of what `segment` acknowledges, and puts it into `news`, which is large: so it is not moved.
    /// `high` is the number up to which things were sent before the last loss.
    pub(super) fn handle_ack(&mut self, segment: &Segment, high_seq: u64, summary: &mut AckSummary) {
        let una = self.first().map_or(segment.ack, |sent| sent.start);
        let prior_fack = if self.sacked_out > 0 { self.highest_sack_start } else { una };
        self.note_sacks(segment, high_seq, summary);
        while let Some(sent) = self.sent.front().copied().filter(|sent| sent.end <= segment.ack) {
            self.sent.pop_front();
            self.retransmit_hint = self.retransmit_hint.saturating_sub(1);
            self.shifted -= u32::from(self.first().is_some_and(|next| sent.shifts_with(next)));
            self.retire(sent, high_seq, summary);
            // A hole is filled by what was sent once: it was late.
            if !sent.sacked && !sent.ever_retransmitted && sent.start < prior_fack {
                summary.reord = Some(summary.reord.map_or(sent.start, |from| from.min(sent.start)));
            }
        }
        summary.advanced = segment.ack > una;
        summary.fack = if self.sacked_out > 0 { self.highest_sack_start } else { segment.ack };
    }

    /// A segment has been acknowledged in order.
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

    /// Marks what the SACK blocks report. Blocks that the acknowledgement before had as well are known.
    fn note_sacks(&mut self, segment: &Segment, high_seq: u64, summary: &mut AckSummary) {
        if segment.sacks.is_empty() {
            return;
        }
        let mut blocks: [Range<u64>; 3] = [0..0, 0..0, 0..0];
        for (index, block) in blocks.iter_mut().zip(segment.sacks.iter(segment.ack)) {
            *index = block;
        }
        // Lower ones first: what comes with a higher one has not been overtaken by it.
        blocks.sort_unstable_by_key(|block| block.start);
        for block in &blocks {
            let mut from = block.start;
            // The known part is left out; most often a block has grown at its end.
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

    /// The segment at `place` is SACKed.
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
    /// If what is counted is not what is marked, or if a loss would never be repaired.
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
    fn what_was_forgiven_is_judged_anew() {
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

    /// What an acknowledgement of `1` with these SACK blocks brings.
    fn sacked(flight: &mut Flight, blocks: &[Range<u64>]) -> AckSummary {
        let mut sacks = Sacks::default();
        blocks.iter().for_each(|block| sacks.push(1, block.clone()));
        let flags = Flags { ack: true, ..Flags::default() };
        let (ts_val, ts_ecr) = (Time::ZERO, Time::ZERO);
        let (seq, ack, len, window, dsack_end) = (1, 1, 0, 65_535, 0);
        let segment = Segment { seq, ack, len, window, flags, ts_val, ts_ecr, sacks, dsack_end };
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
}
