//! The sending half: what goes next, and what an acknowledgement means for it.

use super::config::{Config, Constants};
use super::congestion::{self, Acked, Controller};
use super::recovery::{Cause, Recovery};
use super::rtt::Rtt;
use super::scoreboard::{DUP_THRESH, Scoreboard};
use super::segment::Segment;
use loadstone_units::Time;
use std::ops::Range;

/// The sending half of an endpoint, from the first byte of data on.
#[derive(Debug)]
pub(super) struct Sender {
    mss: u32,
    /// Bytes of data that fit into the segment that is being made: less than `mss` beside SACKs.
    limit: u32,
    /// The first number that is not acknowledged (SND.UNA).
    una: u64,
    /// The next number to send for the first time (SND.NXT).
    nxt: u64,
    /// The number after the last byte written.
    written: u64,
    /// Whether the program writes no more, so that a FIN follows the last byte.
    closing: bool,
    /// The first number that the other end does not take (SND.UNA + SND.WND).
    edge: u64,
    congestion: Box<dyn Controller>,
    /// Its window, which is asked for more often than it changes.
    cwnd: u64,
    rtt: Rtt,
    scoreboard: Scoreboard,
    recovery: Option<Recovery>,
    /// Acknowledgements in a row that only brought news of SACKs.
    dup_acks: u32,
    /// Bytes of new data sent on the first duplicates, before recovery (RFC 3042).
    limited: u64,
    /// Bytes on their way (RFC 6675's pipe).
    pipe: u64,
    last_sent: Time,
    usage: Usage,
    retransmissions: u64,
}

/// How much of the window has been used since a round began: a window that was not used does not
/// grow (RFC 9438, section 4.2, and RFC 7661).
#[derive(Debug)]
struct Usage {
    peak: u64,
    /// The round ends when this number is acknowledged.
    until: u64,
}

/// A range of numbers to send, and whether it has been sent before.
#[derive(Clone, Debug)]
pub(super) struct Transmission {
    pub(super) range: Range<u64>,
    /// Whether the last number is the FIN.
    pub(super) fin: bool,
    pub(super) again: bool,
}

impl Sender {
    pub(super) fn new(config: &Config, constants: &Constants) -> Sender {
        Sender {
            mss: constants.mss,
            limit: constants.mss,
            una: 1,
            nxt: 1,
            written: 1,
            closing: false,
            edge: 1,
            congestion: congestion::controller(config.cc, config.iw.segments(), constants.mss),
            cwnd: u64::from(config.iw.segments()) * u64::from(constants.mss),
            rtt: Rtt::new(constants),
            scoreboard: Scoreboard::default(),
            recovery: None,
            dup_acks: 0,
            limited: 0,
            pipe: 0,
            last_sent: Time::ZERO,
            usage: Usage { peak: 0, until: 0 },
            retransmissions: 0,
        }
    }

    /// RFC 6928, section 2, after RFC 5681, section 3.1: the handshake had to be repeated more than
    /// once, so the initial window is one segment.
    pub(super) fn restart_from_one_segment(&mut self) {
        self.congestion.on_timeout(0, true);
        self.cwnd = self.congestion.window();
    }

    pub(super) fn write(&mut self, bytes: u64) {
        debug_assert!(!self.closing, "nothing is written after close");
        self.written += bytes;
    }

    pub(super) fn close(&mut self) {
        self.closing = true;
    }

    /// Bytes written and never sent.
    pub(super) fn unsent(&self) -> u64 {
        self.written.saturating_sub(self.nxt)
    }

    /// Whether something is sent and not acknowledged.
    pub(super) fn is_outstanding(&self) -> bool {
        self.una < self.nxt
    }

    /// Whether the FIN is acknowledged.
    pub(super) fn is_fin_acked(&self) -> bool {
        self.closing && self.una > self.written
    }

    /// The number that a segment without data bears.
    pub(super) fn next(&self) -> u64 {
        self.nxt
    }

    /// The retransmission timeout in nanoseconds.
    pub(super) fn timeout(&self) -> u64 {
        self.rtt.timeout()
    }

    pub(super) fn backoffs(&self) -> u32 {
        self.rtt.backoffs()
    }

    /// The round-trip estimator doubles its timeout: also for a handshake that is sent again.
    pub(super) fn back_off(&mut self) {
        self.rtt.back_off();
    }

    pub(super) fn window(&self) -> u64 {
        self.cwnd
    }

    pub(super) fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// The other end's window, and a round trip, from a segment of the handshake.
    pub(super) fn handle_handshake(&mut self, now: Time, segment: &Segment) {
        self.sample(now, segment);
        self.edge = self.edge.max(segment.ack + u64::from(segment.window));
    }

    fn sample(&mut self, now: Time, segment: &Segment) {
        if segment.echo != Time::NEVER {
            self.rtt.on_sample(now.nanos_since(segment.echo));
        }
    }

    /// An acknowledgement. Returns whether it acknowledges something new.
    pub(super) fn handle_ack(&mut self, now: Time, segment: &Segment) -> bool {
        if segment.ack > self.nxt || segment.ack < self.una {
            return false;
        }
        self.edge = self.edge.max(segment.ack + u64::from(segment.window));
        let acked = segment.ack - self.una;
        if acked == 0 && segment.sacks.is_empty() && self.scoreboard.is_empty() {
            // Data that came the other way, most often: it says nothing about what is sent here.
            return false;
        }
        let sacked = self.scoreboard.total();
        self.una = segment.ack;
        let news = self.note_sacks(segment);
        let delivered = acked + self.scoreboard.total() - sacked;
        if acked > 0 {
            self.sample(now, segment);
            (self.dup_acks, self.limited) = (0, 0);
            self.grow(now, delivered);
            if self.recovery.as_ref().is_some_and(|recovery| recovery.point <= segment.ack) {
                self.recovery = None;
            }
        } else if news {
            self.dup_acks += 1;
        }
        // RFC 6675, section 5: three duplicates, or one that makes the first byte count as lost.
        let lost = self.dup_acks >= DUP_THRESH as u32 || self.scoreboard.lost_edge() > self.una;
        if self.recovery.is_none() && lost && !self.scoreboard.is_empty() {
            self.enter_recovery();
        }
        self.set_pipe();
        if let Some(Recovery { cause: Cause::Acks(prr), .. }) = &mut self.recovery {
            prr.handle_ack(delivered, self.pipe);
        }
        acked > 0
    }

    /// Lets the window grow by what has been delivered: never by what an acknowledgement merely
    /// jumps over because it was SACKed before.
    fn grow(&mut self, now: Time, delivered: u64) {
        // RFC 3465, sections 2.2 and 2.3: in slow start two segments an acknowledgement at most,
        // and one after a timeout.
        let segments = match &self.recovery {
            Some(recovery) if recovery.is_fast() => return,
            Some(_) => 1,
            None => 2,
        };
        if !self.used_the_window() {
            return;
        }
        let limit = if self.congestion.in_slow_start() { segments * u64::from(self.mss) } else { u64::MAX };
        self.congestion.on_ack(Acked { now, bytes: delivered.min(limit), rtt: self.rtt.smoothed() });
        self.cwnd = self.congestion.window();
    }

    /// Brings the scoreboard up to date; returns whether it says something new.
    fn note_sacks(&mut self, segment: &Segment) -> bool {
        if segment.sacks.is_empty() && self.scoreboard.is_empty() {
            return false;
        }
        let blocks = segment.sacks.iter(segment.ack).filter(|block| block.end <= self.nxt);
        let news = self.scoreboard.update(self.una, blocks);
        self.scoreboard.advance(self.una);
        self.scoreboard.detect_losses(self.mss);
        news
    }

    /// RFC 6675, section 5, step (4).
    fn enter_recovery(&mut self) {
        // RFC 5681, section 3.2:
        // > When [RFC3042] is in use, additional data sent in limited transmit MUST NOT be included
        // > in this calculation.
        self.congestion.on_loss(self.nxt - self.una - self.limited);
        self.cwnd = self.congestion.window();
        self.recovery = Some(Recovery::fast(self.una, self.nxt, self.cwnd));
    }

    /// The retransmission timer has expired.
    pub(super) fn handle_timeout(&mut self) {
        let again = self.rtt.backoffs() > 0;
        // RFC 5681, equation (4), is an upper bound. While a retransmission was missing, data beyond
        // it went on being delivered, so the unacknowledged range may be many windows long.
        self.congestion.on_timeout((self.nxt - self.una).min(self.cwnd), again);
        self.cwnd = self.congestion.window();
        self.rtt.back_off();
        (self.dup_acks, self.limited) = (0, 0);
        self.scoreboard.lose_all(self.nxt);
        self.recovery = Some(Recovery::timeout(self.una, self.nxt));
        self.set_pipe();
    }

    fn set_pipe(&mut self) {
        if let Some(recovery) = &mut self.recovery {
            recovery.high_rxt = recovery.high_rxt.max(self.una);
        }
        let high_rxt = self.recovery.as_ref().map_or(self.una, |recovery| recovery.high_rxt);
        self.pipe = match self.scoreboard.is_empty() && self.recovery.is_none() {
            true => self.nxt - self.una,
            false => self.scoreboard.pipe(self.una, self.nxt, high_rxt),
        };
    }

    fn note_usage(&mut self) {
        if self.una >= self.usage.until {
            self.usage = Usage { peak: self.pipe, until: self.nxt };
        } else {
            self.usage.peak = self.usage.peak.max(self.pipe);
        }
    }

    /// Whether the window was in use: in slow start more than half of it, else all of it but what
    /// is too small for a segment.
    fn used_the_window(&self) -> bool {
        if self.congestion.in_slow_start() {
            2 * self.usage.peak > self.cwnd
        } else {
            self.usage.peak + u64::from(self.mss) > self.cwnd
        }
    }

    /// What to send at this moment, if anything, in a segment that also bears `sacks` bytes of SACK
    /// blocks.
    pub(super) fn poll(&mut self, now: Time, sacks: u32) -> Option<Transmission> {
        self.limit = self.mss - sacks;
        if self.recovery.is_none() {
            // The usual answer, given first: there is nothing, or no room for it.
            let new = self.written + u64::from(self.closing) - self.nxt;
            if new == 0 || self.pipe + new.min(u64::from(self.limit)) > self.cwnd {
                return None;
            }
        }
        // RFC 5681, section 4.1: after idleness for more than a timeout the window starts anew.
        if !self.is_outstanding() && self.nxt > 1 {
            let pause = now.nanos_since(self.last_sent);
            if pause > self.timeout() {
                self.congestion.on_idle();
                self.cwnd = self.congestion.window();
            } else {
                self.congestion.on_pause(pause);
            }
        }
        let next = if self.recovery.is_some() { self.next_in_recovery() } else { self.next_new() };
        let next = next?;
        self.last_sent = now;
        self.retransmissions += u64::from(next.again);
        self.pipe += next.range.end - next.range.start;
        if let Some(Recovery { cause: Cause::Acks(prr), .. }) = &mut self.recovery {
            prr.handle_sent(next.range.end - next.range.start);
        }
        if !next.again {
            self.nxt = next.range.end;
            if self.recovery.is_none() && !self.scoreboard.is_empty() {
                self.limited += next.range.end - next.range.start;
            }
        }
        self.note_usage();
        Some(next)
    }

    /// How many bytes may be on their way now.
    fn allowance(&self) -> u64 {
        match &self.recovery {
            Some(Recovery { cause: Cause::Acks(prr), .. }) => prr.window(),
            _ => self.cwnd,
        }
    }

    /// Whether there is data, or a FIN, that has never been sent.
    fn has_new(&self) -> bool {
        self.nxt < self.written + u64::from(self.closing)
    }

    /// The next data that has never been sent, if both windows let it.
    fn next_new(&self) -> Option<Transmission> {
        if !self.has_new() {
            return None;
        }
        let next = self.cut(self.nxt, self.written + 1, false);
        let len = next.range.end - next.range.start;
        let allowed = self.pipe + len <= self.allowance() && next.range.end <= self.edge + u64::from(next.fin);
        allowed.then_some(next)
    }

    /// RFC 6675, section 4, NextSeg, and section 5, step (C).
    fn next_in_recovery(&mut self) -> Option<Transmission> {
        let recovery = self.recovery.as_ref()?;
        let (first, high_rxt, fast) = (recovery.first, recovery.high_rxt, recovery.is_fast());
        if !first && self.pipe + u64::from(self.mss) > self.allowance() {
            return None;
        }
        // Rule (1): the first range that counts as lost. The first retransmission of a recovery is
        // that of the first unacknowledged data, whatever the scoreboard says.
        let lost_end = if first { self.nxt } else { self.scoreboard.lost_edge().min(self.nxt) };
        let hole = self.scoreboard.next_hole(high_rxt, lost_end);
        if let Some(hole) = hole {
            return Some(self.again(hole));
        }
        // Rule (2): new data.
        if let Some(next) = self.next_new() {
            return Some(next);
        }
        if !fast {
            return None;
        }
        // Rule (3): what is not yet known to be lost, below the highest SACK.
        if let Some(hole) = self.scoreboard.next_hole(high_rxt, self.scoreboard.highest().unwrap_or(0)) {
            return Some(self.again(hole));
        }
        self.rescue()
    }

    /// Rule (4): once in a recovery, the last unSACKed segment.
    fn rescue(&mut self) -> Option<Transmission> {
        let recovery = self.recovery.as_mut()?;
        let from = self.scoreboard.highest().unwrap_or(self.una).max(recovery.high_rxt);
        if recovery.rescued || from >= self.nxt {
            return None;
        }
        recovery.rescued = true;
        let from = from.max(self.nxt.saturating_sub(u64::from(self.limit)));
        Some(self.cut(from, self.nxt, true))
    }

    /// Sends the beginning of a hole again.
    fn again(&mut self, hole: Range<u64>) -> Transmission {
        let next = self.cut(hole.start, hole.end, true);
        if let Some(recovery) = &mut self.recovery {
            recovery.first = false;
            recovery.high_rxt = next.range.end;
        }
        next
    }

    /// At most a segment of data from `from` on and before `end`, with the FIN if it comes next.
    fn cut(&self, from: u64, end: u64, again: bool) -> Transmission {
        let data_end = end.min(self.written).min(from + u64::from(self.limit));
        let fin = self.closing && data_end == self.written && end > self.written;
        let range_end = data_end.max(from) + u64::from(fin);
        Transmission { range: from..range_end, fin, again }
    }
}
