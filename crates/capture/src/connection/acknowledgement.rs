//! What an acknowledgement says of the direction that it acknowledges.

use crate::connection::half_connection::{HalfConnection, unwrap};
use crate::connection::sent_segments::SentSegment;
use crate::headers::TcpHeader;

/// What an acknowledgement said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Acknowledged {
    /// It acknowledged the same as the one before, and nothing else was in it (RFC 5681, section 2).
    pub(crate) duplicate: bool,
    /// It is the third of these.
    pub(crate) third_duplicate: bool,
    /// A segment arrived that the receiver had already (RFC 2883).
    pub(crate) dsack: bool,
}

impl HalfConnection {
    /// The other end sent an acknowledgement.
    #[inline]
    pub(crate) fn handle_ack(&mut self, at: u64, header: &TcpHeader<'_>) -> Acknowledged {
        if let Some((_, ts_ecr)) = header.options.timestamps {
            self.take_echo(at, ts_ecr);
        }
        if self.next == 0 {
            self.begin(header.ack, false);
        }
        let ack = unwrap(header.ack, self.next);
        let mut said = Acknowledged::default();
        self.flights.handle_ack(at, ack, header.len > 0);
        if ack > self.acked {
            self.advance(at, ack, header);
        } else {
            (said.duplicate, said.third_duplicate) = self.note_duplicate(at, header);
        }
        self.last_ack = Some((header.ack, header.window));
        if !header.options.sack_blocks().is_empty() {
            said.dsack = self.handle_sacks(at, ack, header);
        }
        said
    }

    fn advance(&mut self, at: u64, ack: u64, header: &TcpHeader<'_>) {
        if ack > self.next {
            self.counts.unseen_bytes += ack - self.next;
            let next = self.next;
            self.disorder().holes.push(next, ack);
            self.next = ack;
        }
        let (acked, early) = (self.acked, at.saturating_sub(self.rtt.min() / EARLY));
        if let Some(disorder) = &mut self.disorder {
            let ts_ecr = header.options.timestamps.map(|(_, ts_ecr)| ts_ecr);
            self.counts.spurious += ts_ecr.map_or(0, |ts_ecr| disorder.judge_by_echo(acked, ack, ts_ecr));
            self.counts.spurious += disorder.judge_by_time(early, acked, ack);
            disorder.handle_advance(ack);
        }
        // The acknowledgement may have waited for a segment below that was sent again since.
        let mut latest_below = 0;
        while let Some(segment) = self.flight.take_acknowledged(ack) {
            if latest_below <= segment.sent {
                self.take_round_trip(at, ack, &segment);
            }
            latest_below = latest_below.max(segment.sent);
        }
        self.acked = ack;
        if !self.first_flight_over && ack > self.isn + 1 {
            self.first_flight_over = true;
        }
        (self.duplicates, self.news_at) = (0, at);
        if self.in_flight() == 0 {
            self.rest(at);
        }
    }

    /// A round trip is measured by a segment whose end is what is acknowledged, that was sent once (Karn), and after
    /// which the last one that was sent again is not one before it, acknowledged or not.
    fn take_round_trip(&mut self, at: u64, ack: u64, segment: &SentSegment) {
        let is_measured = segment.end() == ack && segment.copies == 0;
        let sent_below = self.disorder.as_ref().map_or((0, 0), |disorder| disorder.sent_below);
        if is_measured && !(sent_below.0 > segment.sent && sent_below.1 < segment.start) {
            let took = at.saturating_sub(segment.sent);
            self.rtt.add(took);
            if let Some(tally) = &mut self.tally {
                tally.add_round_trip(took);
            }
        }
    }

    fn note_duplicate(&mut self, at: u64, header: &TcpHeader<'_>) -> (bool, bool) {
        const NOT_PLAIN: u8 = TcpHeader::SYN | TcpHeader::FIN | TcpHeader::RST;
        let is_same = self.last_ack.is_some_and(|(ack, window)| {
            // With SACK the window may change (RFC 6675, section 2).
            ack == header.ack && (window == header.window || !header.options.sack_blocks().is_empty())
        });
        let is_duplicate = is_same && header.len == 0 && header.flags & NOT_PLAIN == 0 && self.in_flight() > 0;
        if is_duplicate {
            self.duplicates += 1;
            self.news_at = at;
        }
        (is_duplicate, is_duplicate && self.duplicates == 3)
    }

    /// Handles the blocks of SACK: whether the first one tells of a segment that the receiver had already.
    fn handle_sacks(&mut self, at: u64, ack: u64, header: &TcpHeader<'_>) -> bool {
        let mut has_dsack = false;
        let blocks = header.options.sack_blocks();
        for (place, &(start, end)) in blocks.iter().enumerate() {
            let (start, end) = (unwrap(start, self.next), unwrap(end, self.next));
            if start >= end || end > self.next {
                continue;
            }
            let second = blocks.get(1).map(|(start, end)| (unwrap(*start, self.next), unwrap(*end, self.next)));
            let is_within_second = second.is_some_and(|(from, to)| from <= start && end <= to);
            if place == 0 && (end <= ack || is_within_second) {
                has_dsack = true;
                self.counts.spurious += self.disorder().judge_by_dsack(start, end);
                continue;
            }
            let early = at.saturating_sub(self.rtt.min() / EARLY);
            let disorder = self.disorder.get_or_insert_default();
            if start >= ack && disorder.sacked.add(start, end) {
                self.news_at = at;
                self.counts.spurious += disorder.judge_by_time(early, start, end);
            }
        }
        has_dsack
    }

    /// An echo of the first segment with a TSval measures a round trip, also where data was sent again.
    fn take_echo(&mut self, at: u64, ts_ecr: u32) {
        let Some((ts_val, sent)) = self.awaited_echo else { return };
        // An echo of a later one answers it as well, and measures nothing.
        let after = ts_ecr.wrapping_sub(ts_val) as i32;
        if after == 0 {
            let took = at.saturating_sub(sent);
            self.timestamp_rtt = Some(self.timestamp_rtt.map_or(took, |least| least.min(took)));
        }
        self.awaited_echo = self.awaited_echo.filter(|_| after < 0);
    }

    /// This end sent a TSval: its echo is waited for if it is a new one. One of a segment before may still come, but for what
    /// is sent `again`.
    #[inline]
    pub(crate) fn note_timestamp(&mut self, at: u64, ts_val: u32, again: bool) {
        let is_new = self.latest_ts_val.is_none_or(|latest| (ts_val.wrapping_sub(latest) as i32) > 0);
        if is_new {
            self.latest_ts_val = Some(ts_val);
            self.awaited_echo = self.awaited_echo.filter(|_| !again).or(Some((ts_val, at)));
        }
    }
}

/// What arrives within a round trip divided by this is no answer to what was sent then.
const EARLY: u64 = 2;
