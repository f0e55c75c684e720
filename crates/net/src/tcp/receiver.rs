//! The receiving half: what has come, and when to acknowledge it.

mod buffer;
mod compression;
mod delayed_ack;

use super::rules::Rules;
use super::segment::{Sacks, Segment};
use crate::Assembler;
use buffer::Buffer;
use compression::SackCompression;
use delayed_ack::DelayedAck;
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
    ack: Ack,
    delayed_ack: DelayedAck,
    compression: SackCompression,
    buffer: Buffer,
    /// The last acknowledged number, and the timestamp to echo (RFC 7323, section 4.3).
    last_ack: u64,
    echo: Time,
    /// The end of a segment that came again and has not been reported (RFC 2883).
    duplicate: u64,
    reports_duplicates: bool,
}

/// What is owed to the other end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Ack {
    /// Nothing.
    None,
    /// An acknowledgement that may wait for company.
    Delayed,
    /// One of several that tell of the same hole, which may wait for the next.
    Compressed,
    /// An acknowledgement at once.
    Now,
}

impl Receiver {
    /// Before the other end's SYN.
    pub(super) fn new(rules: Rules) -> Receiver {
        Receiver {
            next: 0,
            beyond: Assembler::default(),
            unread: 0,
            fin: None,
            ack: Ack::None,
            delayed_ack: DelayedAck::new(&rules),
            compression: SackCompression::new(rules.mechanisms.sack_compression),
            buffer: Buffer::new(&rules),
            last_ack: 0,
            echo: Time::NEVER,
            duplicate: 0,
            reports_duplicates: rules.mechanisms.undo,
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

    /// A segment of a synchronised connection, whose round trip is `rtt` ns. Says what is owed for it.
    pub(super) fn handle_segment(&mut self, now: Time, segment: &Segment, rtt: u64) {
        if segment.seq <= self.last_ack {
            // > (2) If: SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent
            // > then SEG.TSval is copied to TS.Recent
            self.echo = if self.echo == Time::NEVER { segment.timestamp } else { self.echo.max(segment.timestamp) };
        }
        self.buffer.handle_segment(now, segment, self.delayed_ack.full());
        let end = segment.end();
        if end == segment.seq {
            // RFC 9293, section 3.10.7.4: what cannot be accepted is answered. So the window is asked for.
            if segment.seq < self.next {
                self.ack = Ack::Now;
            }
            return;
        }
        if segment.flags.fin {
            self.fin = Some(end - 1);
        }
        if segment.seq > self.next {
            // RFC 5681, section 4.2:
            // > A TCP receiver SHOULD send an immediate duplicate ACK when an out-of-order segment
            // > arrives.
            if self.reports_duplicates && self.beyond.iter().any(|held| held.start <= segment.seq && end <= held.end) {
                self.duplicate = end;
            }
            self.beyond.insert(segment.seq..end);
            let grew = self.buffer.handle_beyond(segment.len, self.reach());
            let at_once = self.delayed_ack.handle_beyond(grew) || !self.compression.holds_back(self.next);
            self.ack = self.ack.max(if at_once { Ack::Now } else { Ack::Compressed });
        } else if end <= self.next {
            // A segment that was here already: its acknowledgement may have been lost.
            if self.reports_duplicates {
                self.duplicate = end;
            }
            self.delayed_ack.handle_duplicate();
            self.ack = Ack::Now;
        } else {
            self.accept(now, segment, rtt);
        }
    }

    /// How far what has come reaches beyond what is in order, in bytes.
    fn reach(&self) -> u64 {
        self.beyond.iter().map(|held| held.end).max().map_or(0, |last| last - self.next)
    }

    /// The next numbers in order have come.
    fn accept(&mut self, now: Time, segment: &Segment, rtt: u64) {
        let end = segment.end();
        let filled_a_hole = !self.beyond.is_empty();
        let reached = if filled_a_hole { self.beyond.advance(end) } else { end };
        let fin = self.fin.is_some_and(|fin| reached > fin);
        let content = reached - self.next - u64::from(fin);
        self.unread += content;
        self.next = reached;
        let grew = self.buffer.handle_data(now, segment, content, self.reach());
        let at_once =
            self.delayed_ack.handle_data(now, segment.len, content, grew, self.buffer.announced(self.last_ack), rtt);
        // RFC 5681, section 4.2: at once when a segment fills in all or part of a gap.
        let at_once = at_once || filled_a_hole || fin;
        self.ack = self.ack.max(if at_once { Ack::Now } else { Ack::Delayed });
    }

    /// What is owed.
    pub(super) fn owed(&self) -> Ack {
        self.ack
    }

    /// How long an acknowledgement may wait, in ns, where the round trip is `rtt` ns.
    pub(super) fn delay(&self, rtt: u64) -> u64 {
        self.delayed_ack.delay(rtt)
    }

    /// How long acknowledgements that tell of one hole may wait, in ns, where the round trip is `rtt` ns.
    pub(super) fn compression_delay(&self, rtt: u64) -> u64 {
        SackCompression::delay(self.buffer.round_trip().map_or(rtt, |seen| if rtt > 0 { seen.min(rtt) } else { seen }))
    }

    /// They have waited long enough.
    pub(super) fn handle_compression_delay(&mut self) {
        if self.compression.is_holding() {
            self.ack = Ack::Now;
        }
    }

    /// A delayed acknowledgement has waited long enough.
    pub(super) fn handle_delay(&mut self) {
        self.delayed_ack.handle_delay();
        self.ack = Ack::Now;
    }

    /// An acknowledgement is wanted for another reason.
    pub(super) fn answer_now(&mut self) {
        self.ack = Ack::Now;
    }

    /// Data goes out, perhaps in reply to what has come.
    pub(super) fn note_reply(&mut self, now: Time) {
        self.delayed_ack.handle_reply(now);
    }

    /// Whether all that the other end ever sends has come.
    pub(super) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// Whether the program has taken all that has come in order.
    pub(super) fn is_read(&self) -> bool {
        self.unread == 0
    }

    /// Takes the bytes that are there in order, `most` of them.
    #[inline]
    pub(super) fn read(&mut self, most: u64) -> u64 {
        if self.unread > most || self.buffer.is_lagging() {
            return self.read_some(most);
        }
        if self.unread > 0 && self.ack == Ack::Delayed && self.delayed_ack.handle_read() {
            self.ack = Ack::Now;
        }
        std::mem::take(&mut self.unread)
    }

    /// The program reads more slowly than data comes.
    #[cold]
    fn read_some(&mut self, most: u64) -> u64 {
        let taken = self.unread.min(most);
        self.unread -= taken;
        if self.buffer.handle_slow_read(self.next, taken, self.unread) && taken > 0 {
            self.ack = Ack::Now;
        }
        taken
    }

    /// Bytes that the SACK blocks of the next segment will take.
    pub(super) fn sack_bytes(&self) -> u32 {
        let blocks = self.beyond.len() + usize::from(self.duplicate > 0);
        Sacks::bytes(blocks.min(Sacks::MAX) as u32)
    }

    /// Writes into a segment that is about to leave what it acknowledges.
    pub(super) fn answer(&mut self, segment: &mut Segment) {
        segment.flags.ack = true;
        segment.ack = self.next;
        segment.window = self.buffer.announce(self.next, self.unread);
        segment.echo = self.echo;
        segment.duplicate = std::mem::take(&mut self.duplicate);
        for block in self.beyond.iter().take(Sacks::MAX - usize::from(segment.duplicate > 0)) {
            segment.sacks.push(self.next, block);
        }
        self.last_ack = self.next;
        self.delayed_ack.handle_answer(self.ack != Ack::None);
        self.compression.handle_answer();
        self.ack = Ack::None;
    }
}
