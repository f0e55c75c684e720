//! One direction of a connection: what one end sent, and what the other acknowledged of it.

use crate::connection::disorder::Disorder;
use crate::connection::flights::{NewData, SentFlights};
use crate::connection::periods::Tally;
use crate::connection::retransmission::{Evidence, Retransmission, RetransmissionCause};
use crate::connection::rtt_samples::RttSamples;
use crate::connection::sent_segments::{SentSegment, SentSegments};
use crate::headers::TcpHeader;
use crate::seen_at::SeenAt;

/// A packet that comes to two places of a capture, on the way through a machine, comes within so much: ns.
const TWICE_WITHIN: u64 = 10_000_000;
/// Below this a number is from before the capture began.
const BEFORE: u64 = 1 << 30;

/// Counts of what one end sent. There are many of these at a time, so packets have 32 bits: enough for 6 TB.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct HalfCounts {
    pub(crate) packets: u32,
    pub(crate) acks: u32,
    pub(crate) pure_acks: u32,
    pub(crate) sack_packets: u32,
    pub(crate) dsack_packets: u32,
    pub(crate) data_packets: u32,
    pub(crate) data_bytes: u64,
    pub(crate) retransmitted_packets: u32,
    pub(crate) retransmitted_bytes: u64,
    pub(crate) out_of_order_packets: u32,
    pub(crate) pushed_packets: u32,
    pub(crate) syns: u32,
    pub(crate) fins: u32,
    pub(crate) resets: u32,
    pub(crate) duplicate_acks: u32,
    pub(crate) triple_duplicate_acks: u32,
    pub(crate) zero_windows: u32,
    pub(crate) captured_twice: u32,
    pub(crate) by_cause: [u32; RetransmissionCause::ALL.len()],
    pub(crate) spurious: u32,
    /// Bytes that the other end acknowledged and that are not in the capture.
    pub(crate) unseen_bytes: u64,
    pub(crate) first_flight_packets: u32,
    pub(crate) first_flight_bytes: u64,
}

/// What the other end of the connection has told until now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OtherEnd {
    /// The bytes that it accepts; missing if nothing of it was seen.
    pub(crate) window: Option<u32>,
    /// The least time from one of its segments to the acknowledgement, in ns: from the capture to the sender and back.
    pub(crate) round_trip: u64,
}

/// One direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct HalfConnection {
    pub(crate) counts: HalfCounts,
    /// What it said in its SYN.
    pub(crate) mss: Option<u16>,
    pub(crate) window_scale: Option<u8>,
    /// The MSS that the other end accepts.
    pub(crate) peer_mss: Option<u16>,
    /// Whether the other end shifts windows as well.
    pub(crate) peer_scales: bool,
    pub(crate) sack_permitted: bool,
    pub(crate) timestamps: bool,
    pub(crate) syn_at: Option<SeenAt>,
    pub(crate) first_data_at: Option<SeenAt>,
    pub(crate) last_data_at: Option<SeenAt>,
    pub(crate) largest_segment: u32,
    pub(crate) smallest_segment: u32,
    /// Whether it announced a window after its SYN.
    has_window: bool,
    pub(crate) largest_window: u32,
    pub(crate) smallest_window: u32,
    /// The most that was on its way, in bytes.
    pub(crate) most_in_flight: u64,
    /// How long data was on its way, and how long the other end's window had no room for a segment; ns.
    pub(crate) busy: u64,
    pub(crate) without_room: u64,
    /// Since when they are; ns since 1970. The first one counts while there is data on its way.
    busy_since: u64,
    full_since: Option<SeenAt>,
    /// What it sent in this period, if that is asked for.
    pub(crate) tally: Option<Box<Tally>>,
    /// Round trips from the capture to the other end: from its data to their acknowledgements.
    pub(crate) rtt: RttSamples,
    /// The least of them by timestamps, in ns.
    pub(crate) timestamp_rtt: Option<u64>,
    /// The first number that it used, of its SYN if there is one; unwrapped.
    pub(crate) isn: u64,
    /// The number after the highest that it sent; 0 if nothing was seen. Numbers are unwrapped: their lower 32 bits are
    /// those of the packets.
    pub(crate) next: u64,
    /// The number up to which the other end acknowledged.
    pub(crate) acked: u64,
    pub(crate) first_flight_over: bool,
    pub(crate) flights: SentFlights,
    pub(crate) flight: SentSegments,
    /// What was lost, sent again or out of order.
    pub(crate) disorder: Option<Box<Disorder>>,
    /// When the other end last told of something new: that data had arrived, in order or beyond a gap.
    pub(crate) news_at: u64,
    /// Its last pure acknowledgement: number and window.
    pub(crate) last_ack: Option<(u32, u16)>,
    pub(crate) duplicates: u32,
    pub(crate) last_window: u32,
    last_packet_at: u64,
    last_identity: Option<(u16, u32, u32, u32)>,
    /// The latest TSval that it sent.
    pub(crate) latest_ts_val: Option<u32>,
    /// A TSval that it sent, and when: its echo measures a round trip.
    pub(crate) awaited_echo: Option<(u32, u64)>,
}

impl HalfConnection {
    /// Whether a packet was captured twice: the same number of IP, and all else the same. A retransmission has another
    /// number of IP, or comes later where a sender always uses the same (RFC 6864, section 4.1).
    #[inline]
    pub(crate) fn is_captured_twice(&mut self, at: u64, ip_id: u16, header: &TcpHeader<'_>) -> bool {
        let identity = (ip_id, header.seq, header.ack, header.len);
        let is_near = at.saturating_sub(self.last_packet_at) <= TWICE_WITHIN;
        let twice = ip_id != 0 && is_near && self.last_identity == Some(identity);
        (self.last_packet_at, self.last_identity) = (at, Some(identity));
        self.counts.captured_twice += u32::from(twice);
        twice
    }

    /// What was lost, sent again or out of order, from now on.
    pub(crate) fn disorder(&mut self) -> &mut Disorder {
        self.disorder.get_or_insert_default()
    }

    /// Whether the capture has all that was sent.
    fn has_no_holes(&self) -> bool {
        self.disorder.as_ref().is_none_or(|disorder| disorder.holes.is_empty())
    }

    /// Whether another segment would be within the other end's window.
    fn has_room(&self, window: u32) -> bool {
        self.in_flight() + u64::from(self.largest_segment) <= u64::from(window)
    }

    /// All that was sent is acknowledged, or nothing more is to come.
    pub(crate) fn rest(&mut self, at: u64) {
        self.busy += at.saturating_sub(self.busy_since);
        self.busy_since = at;
    }

    /// The other end announced a window.
    #[inline]
    pub(crate) fn note_room(&mut self, at: u64, window: u32) {
        let Some(since) = self.full_since else { return };
        if self.has_room(window) {
            self.without_room += SeenAt::new(at).since(since);
            self.full_since = None;
        }
    }

    /// Nothing more is to come.
    pub(crate) fn close(&mut self, at: u64) {
        if self.in_flight() > 0 {
            self.rest(at);
        }
        self.without_room += self.full_since.take().map_or(0, |since| SeenAt::new(at).since(since));
        if let Some(disorder) = &mut self.disorder {
            disorder.settle();
        }
    }

    /// Bytes that were sent and not acknowledged.
    pub(crate) fn in_flight(&self) -> u64 {
        self.next - self.acked
    }

    /// Bytes of data, each once.
    pub(crate) fn unique_bytes(&self) -> u64 {
        self.counts.data_bytes - self.counts.retransmitted_bytes
    }

    /// By how many bits its windows are shifted: if both ends can do it (RFC 7323, section 2.2).
    fn window_shift(&self) -> u8 {
        if self.peer_scales { self.window_scale.unwrap_or(0) } else { 0 }
    }

    /// Whether there are retransmissions of which nothing more can be learned.
    pub(crate) fn has_judged(&self) -> bool {
        self.disorder.as_ref().is_some_and(|disorder| !disorder.judged.is_empty())
    }

    /// How many segments it sent again for this cause.
    pub(crate) fn caused_by(&self, cause: RetransmissionCause) -> u32 {
        self.counts.by_cause[cause as usize]
    }

    /// Whether a SYN has another number than the one that opened this direction.
    pub(crate) fn is_other_syn(&self, seq: u32) -> bool {
        self.next != 0 && self.isn as u32 != seq
    }

    /// This end sent a segment: the number of its first byte of data, if it has any.
    #[inline]
    pub(crate) fn handle_segment(&mut self, at: u64, header: &TcpHeader<'_>, other: OtherEnd) -> Option<u64> {
        self.count(at, header);
        if self.next == 0 {
            self.begin(header.seq, header.has(TcpHeader::SYN));
        }
        let before = self.next;
        if header.numbers() > 0 {
            self.handle_numbers(at, header, other);
            // Without data there may be no answer, and so no echo, for a long time.
            if let Some((ts_val, _)) = header.options.timestamps {
                self.note_timestamp(at, ts_val, self.next == before);
            }
        }
        (header.len > 0).then(|| unwrap(header.seq, before) + u64::from(header.has(TcpHeader::SYN)))
    }

    /// The number of the first byte of data, if its SYN was seen.
    pub(crate) fn first_number(&self) -> Option<u64> {
        (self.counts.syns > 0).then_some(self.isn + 1)
    }

    /// The first number of this direction that the capture has, or that the other end expects.
    pub(crate) fn begin(&mut self, number: u32, is_syn: bool) {
        let start = (1 << 32) + u64::from(number);
        (self.isn, self.next, self.acked) = (start, start, start);
        if !is_syn {
            // Nobody knows what was acknowledged before.
            self.first_flight_over = true;
            // What was sent before the capture began may still come out of order.
            self.disorder().holes.push(start - BEFORE, start);
        }
    }

    #[inline]
    fn count(&mut self, at: u64, header: &TcpHeader<'_>) {
        let counts = &mut self.counts;
        counts.packets += 1;
        let is_plain = header.flags & (TcpHeader::SYN | TcpHeader::FIN | TcpHeader::RST) == 0;
        if header.has(TcpHeader::ACK) {
            counts.acks += 1;
            counts.pure_acks += u32::from(is_plain && header.len == 0);
        }
        if header.len > 0 {
            counts.data_packets += 1;
            counts.data_bytes += u64::from(header.len);
            counts.pushed_packets += u32::from(header.has(TcpHeader::PSH));
            self.first_data_at.get_or_insert(SeenAt::new(at));
            self.last_data_at = Some(SeenAt::new(at));
            let is_first = counts.data_packets == 1;
            self.largest_segment = self.largest_segment.max(header.len);
            self.smallest_segment = if is_first { header.len } else { self.smallest_segment.min(header.len) };
        }
        if !is_plain {
            self.count_flags(at, header);
        }
        if !header.options.sack_blocks().is_empty() {
            self.counts.sack_packets += 1;
        }
        self.count_window(header, is_plain);
    }

    fn count_flags(&mut self, at: u64, header: &TcpHeader<'_>) {
        self.counts.resets += u32::from(header.has(TcpHeader::RST));
        self.counts.fins += u32::from(header.has(TcpHeader::FIN));
        if header.has(TcpHeader::SYN) {
            self.counts.syns += 1;
            self.syn_at.get_or_insert(SeenAt::new(at));
            self.mss = header.options.mss.or(self.mss);
            self.window_scale = header.options.window_scale;
            self.sack_permitted = header.options.sack_permitted;
            self.timestamps = header.options.timestamps.is_some();
        }
    }

    #[inline]
    fn count_window(&mut self, header: &TcpHeader<'_>, is_plain: bool) {
        // That of a RST means nothing. That of a SYN is not scaled: where others are, it counts until there is one.
        if header.has(TcpHeader::RST) {
            return;
        }
        let is_syn = header.has(TcpHeader::SYN);
        let window = u32::from(header.window) << if is_syn { 0 } else { self.window_shift() };
        let is_scaled = self.peer_scales && self.window_scale.is_some();
        let was_of_syn = !std::mem::replace(&mut self.has_window, !is_syn) && is_scaled;
        let is_first = was_of_syn || self.counts.packets == 1;
        self.largest_window = if is_first { window } else { self.largest_window.max(window) };
        self.smallest_window = if is_first { window } else { self.smallest_window.min(window) };
        self.counts.zero_windows += u32::from(window == 0 && is_plain);
        self.last_window = window;
        if let Some(tally) = &mut self.tally {
            tally.add_window(window);
        }
    }

    #[inline]
    fn handle_numbers(&mut self, at: u64, header: &TcpHeader<'_>, other: OtherEnd) {
        let start = unwrap(header.seq, self.next);
        let (end, before) = (start + header.numbers(), self.next);
        let sent_again = self.counts.retransmitted_packets;
        if header.len > 0 && end > self.next {
            self.note_new_data(at, start, header, other);
        }
        if start == self.next {
            self.send_new(at, start, end);
        } else if start > self.next {
            let next = self.next;
            self.disorder().holes.push(next, start);
            self.send_new(at, start, end);
        } else {
            self.handle_old(at, header, (start, end), other);
        }
        if let Some(tally) = &mut self.tally {
            tally.bytes += self.next.saturating_sub(before.max(start)).min(u64::from(header.len));
        }
        if header.len > 0 && self.full_since.is_none() && other.window.is_some_and(|window| !self.has_room(window)) {
            self.full_since = Some(SeenAt::new(at));
        }
        if !self.first_flight_over && header.len > 0 && self.counts.retransmitted_packets == sent_again {
            self.counts.first_flight_packets += 1;
            self.counts.first_flight_bytes += u64::from(header.len);
        }
    }

    #[inline]
    fn note_new_data(&mut self, at: u64, start: u64, header: &TcpHeader<'_>, other: OtherEnd) {
        // What the SYN announced, less the option that each segment has.
        let segment = self.peer_mss.map(|mss| u32::from(mss).saturating_sub(if self.timestamps { 12 } else { 0 }));
        let segment = segment.filter(|segment| *segment > 0).unwrap_or(self.largest_segment).max(1);
        let ended = self.flights.handle_data(NewData {
            at,
            start,
            end: start + u64::from(header.len),
            segments: header.len.div_ceil(segment),
            is_full: self.has_no_holes() && header.len >= segment && header.len.is_multiple_of(segment),
            // At the receiver what is captured is acknowledged, and more may be on its way.
            was_idle: self.in_flight() == 0 && at >= self.news_at.saturating_add(other.round_trip / 2),
            window: other.window,
            is_in_order: self.disorder.is_none() && start <= self.next,
            to_sender: other.round_trip,
            round_trip: self.rtt.min().saturating_add(other.round_trip),
        });
        if let (Some(ended), Some(disorder)) = (ended, &mut self.disorder) {
            let taken_back = disorder.handle_flight(ended);
            self.take_back_probes(taken_back);
        }
    }

    #[inline]
    fn send_new(&mut self, at: u64, start: u64, end: u64) {
        self.flight.insert(SentSegment::new(start, end, at));
        if self.in_flight() == 0 {
            self.busy_since = at;
        }
        self.next = end;
        let in_flight = self.in_flight();
        self.most_in_flight = self.most_in_flight.max(in_flight);
        if let Some(tally) = &mut self.tally {
            tally.most_in_flight = tally.most_in_flight.max(in_flight);
        }
    }

    /// A segment that begins below the highest number: out of order, or sent again.
    fn handle_old(&mut self, at: u64, header: &TcpHeader<'_>, (start, end): (u64, u64), other: OtherEnd) {
        let below = end.min(self.next);
        let disorder = self.disorder();
        disorder.sent_below = (at, start);
        let unseen = disorder.holes.within(start, below);
        let again = below - start - unseen;
        if unseen > 0 {
            disorder.holes.fill(start, below);
            if let Some(tally) = &mut self.tally {
                tally.bytes += unseen.min(u64::from(header.len));
            }
            if again == 0 {
                self.counts.out_of_order_packets += 1;
                self.flight.insert(SentSegment::new(start, below, at));
            }
        }
        if again > 0 {
            self.send_again(at, header, (start, below), again, other);
        }
        if end > self.next {
            self.send_new(at, self.next, end);
        }
    }

    fn send_again(&mut self, at: u64, header: &TcpHeader<'_>, (start, end): (u64, u64), again: u64, other: OtherEnd) {
        let is_closed = other.window == Some(0);
        let is_syn = header.has(TcpHeader::SYN);
        let is_probe = !is_syn && header.len <= 1 && (is_closed || end <= self.acked);
        let cause = if is_syn {
            RetransmissionCause::Syn
        } else if is_probe {
            RetransmissionCause::WindowProbe
        } else {
            let evidence = self.evidence(at, (start, end), other.round_trip);
            let taken_back = self.disorder().note_evidence(&evidence);
            self.take_back_probes(taken_back);
            evidence.cause()
        };
        if header.len > 0 && !(is_probe && is_closed) {
            self.counts.retransmitted_packets += 1;
            self.counts.retransmitted_bytes += again.min(u64::from(header.len));
            if let Some(tally) = &mut self.tally {
                tally.sent_again += 1;
            }
        }
        self.counts.by_cause[cause as usize] += 1;
        let mut after = None;
        for segment in self.flight.touching(start, end) {
            after.get_or_insert(at.saturating_sub(segment.sent));
            segment.copies = segment.copies.saturating_add(1);
            segment.sent = at;
        }
        // What was acknowledged already had arrived.
        let spurious = end <= self.acked && !is_probe;
        self.counts.spurious += u32::from(spurious);
        let ts_val = header.options.timestamps.map(|(ts_val, _)| ts_val);
        let again = Retransmission { at, start, end, bytes: again, cause, after, ts_val, spurious, in_dsack: false };
        let (acked, next) = (self.acked, self.next);
        let disorder = self.disorder();
        disorder.begin_repair(&again, acked, next);
        disorder.push(again);
    }

    /// So many that were taken for tail loss probes were timeouts.
    fn take_back_probes(&mut self, count: u32) {
        self.counts.by_cause[RetransmissionCause::TailLossProbe as usize] -= count;
        self.counts.by_cause[RetransmissionCause::Timeout as usize] += count;
    }

    fn evidence(&mut self, at: u64, (start, end): (u64, u64), to_sender: u64) -> Evidence {
        let sent = self.flight.touching(start, end).map(|segment| segment.sent).next();
        let is_first = start <= self.acked;
        let (is_last, sack_permitted) = (end == self.next, self.sack_permitted);
        let (silence, round_trip) = (at.saturating_sub(self.news_at), self.rtt.min().saturating_add(to_sender));
        let disorder = self.disorder();
        Evidence {
            // News that the capture has seen reach the sender later, and what it does then comes back.
            silence: silence.saturating_sub(to_sender),
            round_trip,
            recovery: disorder.recovery,
            is_first,
            is_last,
            probed: disorder.probed,
            has_sacked: !disorder.sacked.is_empty(),
            may_probe: sack_permitted && disorder.may_probe(),
            age: sent.map(|sent| at.saturating_sub(sent)),
            at,
        }
    }
}

/// A number of 32 bits as the one of 64 that is nearest to `near`.
#[inline]
pub(crate) fn unwrap(number: u32, near: u64) -> u64 {
    near.wrapping_add_signed(i64::from(number.wrapping_sub(near as u32) as i32))
}
