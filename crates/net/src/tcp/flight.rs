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
    pub(super) again: bool,
    /// It has been sent more than once.
    pub(super) repeated: bool,
    /// What had been delivered when it was last sent: for samples of the rate of delivery.
    pub(super) stamp: Stamp,
}

/// How far delivery had come when a segment was sent (`tcp_rate_skb_sent` of Linux).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp {
    /// Segments delivered until then.
    pub(super) delivered: u64,
    /// When the last of those was.
    pub(super) delivered_at: Time,
    /// When the segment was sent whose delivery began this flight's measurement.
    pub(super) first_sent: Time,
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
    pub(super) original: bool,
    /// Something is acknowledged of which a retransmission was on its way.
    pub(super) again: bool,
    /// Something that was sent again counts as lost again.
    pub(super) lost_again: bool,
    /// Something may be late or lost, and a timer was set to find out.
    pub(super) waits: bool,
    /// When the first and the last were sent of those that are newly acknowledged in order and were
    /// sent only once.
    pub(super) acked: Option<(Time, Time)>,
    /// The same of those newly acknowledged by SACK.
    pub(super) sacked_times: Option<(Time, Time)>,
    /// Of all that is newly delivered the one last sent: of those sent once, and of those sent again.
    pub(super) latest: [Option<Sent>; 2],
    /// The first number of what was sent once and has arrived after something sent later.
    pub(super) reordered_from: Option<u64>,
    /// Where the highest begins that is SACKed; what is acknowledged if nothing is.
    pub(super) forward: u64,
}

impl Sent {
    /// Whether both have arrived beyond a hole and are equally long.
    fn merges_with(&self, next: &Sent) -> bool {
        self.sacked && next.sacked && self.end - self.start == next.end - next.start
    }
}

impl AckSummary {
    fn deliver(&mut self, sent: Sent) {
        self.delivered += 1;
        self.bytes += sent.end - sent.start;
        let latest = &mut self.latest[usize::from(sent.repeated)];
        if latest.is_none_or(|last| (last.at, last.end) <= (sent.at, sent.end)) {
            *latest = Some(sent);
        }
    }
}

/// All segments that have been sent and are not acknowledged in order, in that order.
#[derive(Debug, Default)]
pub(super) struct Flight {
    sent: VecDeque<Sent>,
    sacked: u32,
    /// SACKed segments whose neighbour before them is SACKed and as long.
    merged: u32,
    lost: u32,
    retrans_out: u32,
    /// Transmissions that ever counted as lost.
    losses: u64,
    /// The number after the highest that was ever SACKed, and that one's first.
    highest: u64,
    top: u64,
    /// The SACK blocks of the last acknowledgement, whose segments are marked.
    known: [Range<u64>; 3],
    /// What lies below has been judged by what is SACKed above it.
    judged: u64,
    /// Where to look for the next lost segment: there is none before this place.
    hint: usize,
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
        self.len() - self.sacked - self.lost + self.retrans_out
    }

    pub(super) fn sacked(&self) -> u32 {
        self.sacked
    }

    /// SACKed segments that have become one with those before them: Linux keeps neighbours that are as long
    /// as one (`tcp_shift_skb_data`).
    pub(super) fn merged(&self) -> u32 {
        self.merged
    }

    pub(super) fn lost(&self) -> u32 {
        self.lost
    }

    /// Transmissions that ever counted as lost.
    pub(super) fn losses(&self) -> u64 {
        self.losses
    }

    /// Retransmissions on their way.
    pub(super) fn retrans_out(&self) -> u32 {
        self.retrans_out
    }

    /// The number after the highest that was SACKed.
    pub(super) fn highest(&self) -> u64 {
        self.highest
    }

    pub(super) fn get(&self, place: usize) -> &Sent {
        &self.sent[place]
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
    pub(super) fn resend(&mut self, place: usize, now: Time, stamp: Stamp) -> Sent {
        let sent = &mut self.sent[place];
        self.retrans_out += u32::from(!sent.again);
        sent.again = true;
        self.probe(place, now, stamp)
    }

    /// The segment at `place` is sent again, though it does not count as lost: no more are on their way for
    /// that.
    pub(super) fn probe(&mut self, place: usize, now: Time, stamp: Stamp) -> Sent {
        let sent = &mut self.sent[place];
        (sent.repeated, sent.at, sent.stamp) = (true, now, stamp);
        *sent
    }

    /// The place of the next segment that is lost and not on its way again.
    pub(super) fn next_lost(&mut self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        let mut rest = self.sent.range(self.hint..);
        let found = rest.position(|sent| sent.lost && !sent.again);
        self.hint = found.map_or(self.sent.len(), |at| at + self.hint);
        found.map(|_| self.hint)
    }

    /// The place of the first segment from `from` on, before `end`, that has neither arrived nor been
    /// sent again, when no loss is left that was not.
    pub(super) fn next_missing(&self, from: u64, end: u64) -> Option<usize> {
        // What lies below what has been judged has arrived, or is lost and was sent again.
        let from = from.max(self.judged);
        let begin = self.sent.partition_point(|sent| sent.start < from);
        let within = self.sent.range(begin..).take_while(|sent| sent.end <= end);
        within.zip(begin..).find(|(sent, _)| !sent.sacked && !sent.again).map(|(_, place)| place)
    }

    /// The segment at `place` counts as lost; whether that is a retransmission.
    pub(super) fn lose(&mut self, place: usize) -> bool {
        let sent = &mut self.sent[place];
        if sent.sacked {
            return false;
        }
        self.hint = self.hint.min(place);
        if !sent.lost {
            sent.lost = true;
            self.lost += 1;
            self.losses += 1;
            return false;
        }
        self.retrans_out -= u32::from(sent.again);
        self.losses += u64::from(sent.again);
        std::mem::take(&mut sent.again)
    }

    /// What has `count` SACKed segments above it counts as lost (RFC 6675, IsLost).
    pub(super) fn lose_below(&mut self, count: u32) {
        if self.sacked < count {
            return;
        }
        let forward = self.sent.partition_point(|sent| sent.start < self.highest);
        let sacked = (0..forward).rev().filter(|place| self.sent[*place].sacked);
        let Some(edge) = sacked.take(count as usize).last() else { return };
        let judged = self.sent.partition_point(|sent| sent.start < self.judged);
        self.judged = self.sent[edge].start;
        for place in judged..edge {
            if !self.sent[place].lost {
                self.lose(place);
            }
        }
    }

    /// What lies `count` segments or more below the highest SACKed one counts as lost, if so many lie
    /// between that and the first (`tcp_mark_head_lost` of Linux with forward acknowledgements).
    pub(super) fn lose_far_below(&mut self, count: u32) {
        if self.sacked == 0 {
            return;
        }
        let forward = self.sent.partition_point(|sent| sent.start < self.highest);
        let judged = self.sent.partition_point(|sent| sent.start < self.judged);
        let edge = forward.saturating_sub(count as usize);
        for place in judged..edge {
            if !self.sent[place].sacked && !self.sent[place].lost {
                self.lose(place);
            }
        }
        if let Some(sent) = self.sent.get(edge).filter(|_| edge > judged) {
            self.judged = sent.start;
        }
    }

    /// Whether nothing is SACKed, lost or sent again.
    pub(super) fn is_clean(&self) -> bool {
        self.sacked + self.lost == 0 && !self.has_repeated()
    }

    /// Whether something outstanding was sent again, as far as the first segment and those under way
    /// tell.
    pub(super) fn has_repeated(&self) -> bool {
        self.retrans_out > 0 || self.first().is_some_and(|sent| sent.repeated)
    }

    /// Nothing counts as lost any longer, until it is judged again.
    pub(super) fn clear_loss_marks(&mut self) {
        self.sent.iter_mut().for_each(|sent| sent.lost = false);
        (self.lost, self.judged) = (0, 0);
    }

    /// Takes note of what `segment` acknowledges, and puts it into `news`, which is large: so it is not moved.
    /// `high` is the number up to which things were sent before the last loss.
    pub(super) fn handle_ack(&mut self, segment: &Segment, high: u64, news: &mut AckSummary) {
        let una = self.first().map_or(segment.ack, |sent| sent.start);
        let overtaken = if self.sacked > 0 { self.top } else { una };
        self.note_sacks(segment, high, news);
        while let Some(sent) = self.sent.front().copied().filter(|sent| sent.end <= segment.ack) {
            self.sent.pop_front();
            self.hint = self.hint.saturating_sub(1);
            self.merged -= u32::from(self.first().is_some_and(|next| sent.merges_with(next)));
            self.retire(sent, high, news);
            // A hole is filled by what was sent once: it was late.
            if !sent.sacked && !sent.repeated && sent.start < overtaken {
                news.reordered_from = Some(news.reordered_from.map_or(sent.start, |from| from.min(sent.start)));
            }
        }
        news.advanced = segment.ack > una;
        news.forward = if self.sacked > 0 { self.top } else { segment.ack };
    }

    /// A segment has been acknowledged in order.
    fn retire(&mut self, sent: Sent, high: u64, news: &mut AckSummary) {
        self.retrans_out -= u32::from(sent.again);
        self.lost -= u32::from(sent.lost);
        self.sacked -= u32::from(sent.sacked);
        if sent.repeated {
            news.again = true;
        } else if !sent.sacked {
            news.original |= sent.end <= high;
            news.acked = Some((news.acked.map_or(sent.at, |(first, _)| first), sent.at));
        }
        if !sent.sacked {
            news.deliver(sent);
        }
    }

    /// Marks what the SACK blocks report. Blocks that the acknowledgement before had as well are known.
    fn note_sacks(&mut self, segment: &Segment, high: u64, news: &mut AckSummary) {
        if segment.sacks.is_empty() {
            return;
        }
        let mut blocks: [Range<u64>; 3] = [0..0, 0..0, 0..0];
        for (place, block) in blocks.iter_mut().zip(segment.sacks.iter(segment.ack)) {
            *place = block;
        }
        // Lower ones first: what comes with a higher one has not been overtaken by it.
        blocks.sort_unstable_by_key(|block| block.start);
        for block in &blocks {
            let mut from = block.start;
            // The known part is left out; most often a block has grown at its end.
            if let Some(known) = self.known.iter().find(|known| known.start <= from && from < known.end) {
                from = known.end;
            }
            if from < block.end {
                self.mark(from..block.end, high, news);
            }
        }
        self.known = blocks;
    }

    fn mark(&mut self, block: Range<u64>, high: u64, news: &mut AckSummary) {
        let begin = self.sent.partition_point(|sent| sent.start < block.start);
        let highest = self.highest;
        for place in begin..self.sent.len() {
            let sent = &mut self.sent[place];
            if sent.end > block.end {
                break;
            }
            if sent.sacked {
                continue;
            }
            if sent.lost {
                self.lost -= 1;
                self.retrans_out -= u32::from(sent.again);
                (sent.lost, sent.again) = (false, false);
            }
            if !sent.repeated {
                news.original |= sent.end <= high;
                news.sacked_times = Some((news.sacked_times.map_or(sent.at, |(first, _)| first), sent.at));
                if sent.start < highest {
                    news.reordered_from = Some(news.reordered_from.map_or(sent.start, |from| from.min(sent.start)));
                }
            }
            sent.sacked = true;
            self.sacked += 1;
            if sent.end > self.highest {
                (self.highest, self.top) = (sent.end, sent.start);
            }
            news.sacked = true;
            news.deliver(*sent);
            self.merge(place);
        }
    }

    /// The segment at `place` is SACKed.
    fn merge(&mut self, place: usize) {
        let pair =
            |one: Option<&Sent>, next: Option<&Sent>| one.zip(next).is_some_and(|(one, next)| one.merges_with(next));
        let before = place.checked_sub(1).and_then(|before| self.sent.get(before));
        let (own, after) = (self.sent.get(place), self.sent.get(place + 1));
        self.merged += u32::from(pair(before, own)) + u32::from(pair(own, after));
    }
}

#[cfg(test)]
impl Flight {
    /// # Panics
    /// If what is counted is not what is marked, or if a loss would never be repaired.
    pub(super) fn audit(&self) {
        let count = |is: fn(&Sent) -> bool| self.sent.iter().filter(|sent| is(sent)).count() as u32;
        let counted = (count(|sent| sent.sacked), count(|sent| sent.lost), count(|sent| sent.again));
        assert_eq!(counted, (self.sacked, self.lost, self.retrans_out), "{self:?}");
        let merged = self.sent.iter().zip(self.sent.iter().skip(1)).filter(|(one, next)| one.merges_with(next)).count();
        assert_eq!(merged as u32, self.merged, "{self:?}");
        assert_eq!(count(|sent| sent.sacked && sent.lost), 0, "{self:?}");
        assert!(self.sent.iter().zip(self.sent.iter().skip(1)).all(|(one, next)| one.end == next.start), "{self:?}");
        assert!(!self.sent.iter().take(self.hint).any(|sent| sent.lost && !sent.again), "{self:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::segment::{Flags, Sacks};
    use std::slice::from_ref;

    /// Segments of ten bytes are sent.
    fn outstanding(flight: &mut Flight, numbers: Range<u64>) {
        let (fin, sacked, lost, again, repeated) = (false, false, false, false, false);
        for start in numbers.step_by(10) {
            let (end, at, stamp) = (start + 10, Time::ZERO, Stamp::default());
            flight.push(Sent { start, end, fin, at, sacked, lost, again, repeated, stamp });
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
        for judge in [Flight::lose_below, Flight::lose_far_below] {
            let mut flight = half_sacked();
            judge(&mut flight, 3);
            assert_eq!((flight.lost(), flight.in_flight()), (4, 0));
            flight.clear_loss_marks();
            assert_eq!(flight.lost(), 0);
            judge(&mut flight, 3);
            assert_eq!((flight.lost(), flight.in_flight()), (4, 0));
            flight.audit();
        }
    }

    /// What an acknowledgement of `1` with these SACK blocks brings.
    fn sacked(flight: &mut Flight, blocks: &[Range<u64>]) -> AckSummary {
        let mut sacks = Sacks::default();
        blocks.iter().for_each(|block| sacks.push(1, block.clone()));
        let flags = Flags { ack: true, ..Flags::default() };
        let (timestamp, echo) = (Time::ZERO, Time::ZERO);
        let (seq, ack, len, window, duplicate) = (1, 1, 0, 65_535, 0);
        let segment = Segment { seq, ack, len, window, flags, timestamp, echo, sacks, duplicate };
        let mut news = AckSummary::default();
        flight.handle_ack(&segment, 81, &mut news);
        news
    }

    #[test]
    fn what_is_sacked_at_once_has_not_been_overtaken_whatever_the_order_of_the_blocks() {
        let mut flight = half_sacked();
        // The newest block comes first (RFC 2018, section 4).
        outstanding(&mut flight, 81..121);
        let news = sacked(&mut flight, &[101..111, 81..91]);
        assert_eq!((news.delivered, news.reordered_from), (2, None));
        assert_eq!(sacked(&mut flight, &[101..111, 81..101]).reordered_from, Some(91));
    }

    #[test]
    fn sacked_neighbours_become_one() {
        let mut flight = half_sacked();
        assert_eq!(flight.merged(), 3);
        sacked(&mut flight, &[21..31, 41..81]);
        assert_eq!(flight.merged(), 3);
        sacked(&mut flight, from_ref(&(21..81)));
        assert_eq!(flight.merged(), 5);
        flight.audit();
    }

    #[test]
    fn each_loss_is_found_once_and_again_when_it_is_lost_again() {
        let mut flight = half_sacked();
        flight.lose_below(3);
        for place in [0, 1, 2, 3] {
            assert_eq!(flight.next_lost(), Some(place));
            flight.resend(place, Time::ZERO, Stamp::default());
        }
        assert_eq!((flight.next_lost(), flight.losses()), (None, 4));
        assert!(flight.lose(2));
        assert_eq!((flight.next_lost(), flight.losses()), (Some(2), 5));
        // What is lost and was not sent again cannot be lost once more, and what has arrived not at all.
        assert!(!flight.lose(2) && !flight.lose(5));
        assert_eq!((flight.lost(), flight.losses()), (4, 5));
        flight.audit();
    }

    #[test]
    fn what_may_be_missing_is_looked_for_from_a_number_on_to_another_rfc6675_4() {
        // Of 1 to 80 in tens, 41 to 80 are SACKed; the first is sent again.
        let mut flight = half_sacked();
        flight.lose(0);
        flight.resend(0, Time::ZERO, Stamp::default());
        let found = [(1, 80), (1, 20), (1, 21), (11, 80), (12, 80), (31, 40), (31, 41), (41, 81)]
            .map(|(from, end)| flight.next_missing(from, end));
        assert_eq!(found, [Some(1), None, Some(1), Some(1), Some(2), None, Some(3), None]);
    }
}
