//! The receiving half: what has come, and when to acknowledge it.

use super::config::Constants;
use super::segment::{Sacks, Segment};
use crate::Assembler;
use loadstone_units::Time;

/// The receiving half of an endpoint.
#[derive(Debug)]
pub(super) struct Receiver {
    /// The next number expected.
    next: u64,
    beyond: Assembler,
    /// Bytes in order that the program has not taken.
    unread: u64,
    /// The number of the other end's FIN, once it has come.
    fin: Option<u64>,
    /// Segments in order that no acknowledgement has answered.
    unanswered: u32,
    ack: Ack,
    /// The last acknowledged number, and the timestamp to echo (RFC 7323, section 4.3).
    last_ack: u64,
    echo: Time,
    window: u32,
}

/// What is owed to the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ack {
    /// Nothing.
    None,
    /// An acknowledgement that may wait for company.
    Delayed,
    /// An acknowledgement at once.
    Now,
}

impl Receiver {
    /// Before the other end's SYN.
    pub(super) fn new(constants: &Constants) -> Receiver {
        Receiver {
            next: 0,
            beyond: Assembler::default(),
            unread: 0,
            fin: None,
            unanswered: 0,
            ack: Ack::None,
            last_ack: 0,
            echo: Time::NEVER,
            window: u32::try_from(constants.receive_window).unwrap_or(u32::MAX),
        }
    }

    /// The other end's SYN has come.
    pub(super) fn handle_syn(&mut self, segment: &Segment) {
        self.next = segment.seq + 1;
        self.echo = segment.timestamp;
    }

    /// The next number expected.
    pub(super) fn expected(&self) -> u64 {
        self.next
    }

    /// Whether the other end's SYN has come.
    pub(super) fn has_begun(&self) -> bool {
        self.next > 0
    }

    /// A segment of a synchronised connection. Says what is owed for it.
    pub(super) fn handle_segment(&mut self, segment: &Segment) {
        if segment.seq <= self.last_ack {
            // > (2) If: SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent
            // > then SEG.TSval is copied to TS.Recent
            self.echo = if self.echo == Time::NEVER { segment.timestamp } else { self.echo.max(segment.timestamp) };
        }
        let end = segment.end();
        if end == segment.seq {
            return;
        }
        if segment.flags.fin {
            self.fin = Some(end - 1);
        }
        if segment.seq > self.next {
            // RFC 5681, section 4.2:
            // > A TCP receiver SHOULD send an immediate duplicate ACK when an out-of-order segment
            // > arrives.
            self.beyond.insert(segment.seq..end);
            self.ack = Ack::Now;
        } else if end <= self.next {
            // A segment that was here already: its acknowledgement may have been lost.
            self.ack = Ack::Now;
        } else {
            self.accept(end);
        }
    }

    /// The next numbers in order have come, up to `end`.
    fn accept(&mut self, end: u64) {
        let filled_a_hole = !self.beyond.is_empty();
        let reached = if filled_a_hole { self.beyond.advance(end) } else { end };
        let fin = self.fin.is_some_and(|fin| reached > fin);
        self.unread += reached - self.next - u64::from(fin);
        self.next = reached;
        self.unanswered += 1;
        // RFC 9293, section 3.8.6.3: at least every second segment; RFC 5681, section 4.2: at once
        // when a segment fills in all or part of a gap.
        let at_once = filled_a_hole || fin || self.unanswered >= 2;
        self.ack = if at_once || self.ack == Ack::Now { Ack::Now } else { Ack::Delayed };
    }

    /// What is owed.
    pub(super) fn owed(&self) -> Ack {
        self.ack
    }

    /// A delayed acknowledgement has waited long enough, or one is wanted for another reason.
    pub(super) fn answer_now(&mut self) {
        self.ack = Ack::Now;
    }

    /// Whether all that the other end ever sends has come.
    pub(super) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// Takes the bytes that are there in order.
    pub(super) fn read(&mut self) -> u64 {
        std::mem::take(&mut self.unread)
    }

    /// Bytes that the SACK blocks of the next segment will take.
    pub(super) fn sack_bytes(&self) -> u32 {
        Sacks::bytes(self.beyond.len().min(Sacks::MAX) as u32)
    }

    /// Writes into a segment that is about to leave what it acknowledges.
    pub(super) fn answer(&mut self, segment: &mut Segment) {
        segment.flags.ack = true;
        segment.ack = self.next;
        segment.window = self.window;
        segment.echo = self.echo;
        for block in self.beyond.iter().take(Sacks::MAX) {
            segment.sacks.push(self.next, block);
        }
        self.last_ack = self.next;
        self.unanswered = 0;
        self.ack = Ack::None;
    }
}
