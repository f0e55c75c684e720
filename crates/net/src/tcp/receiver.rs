//! The receiving half: what has come, and when to acknowledge it.

mod buffer;
mod compression;
mod delayed_ack;

use super::rules::Rules;
use super::segment::{Sacks, Segment};
use crate::Assembler;
use buffer::ReceiveBuffer;
use compression::SackCompression;
use delayed_ack::DelayedAck;
use loadstone_units::Time;

/// The receiving half of an endpoint.
#[derive(Debug)]
pub(super) struct Receiver {
    /// The next number expected.
    rcv_nxt: u64,
    out_of_order: Assembler,
    /// Bytes in order that the program has not taken.
    unread: u64,
    /// The number of the other end's FIN, once it has come.
    fin: Option<u64>,
    ack_pending: AckPending,
    delayed_ack: DelayedAck,
    compression: SackCompression,
    buffer: ReceiveBuffer,
    /// The last acknowledged number, and the timestamp to echo (RFC 7323, section 4.3).
    last_ack_sent: u64,
    ts_recent: Time,
    /// The end of a segment that came again and has not been reported (RFC 2883).
    dsack_end: u64,
    sends_dsack: bool,
}

/// What is owed to the other end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum AckPending {
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
            rcv_nxt: 0,
            out_of_order: Assembler::default(),
            unread: 0,
            fin: None,
            ack_pending: AckPending::None,
            delayed_ack: DelayedAck::new(&rules),
            compression: SackCompression::new(rules.mechanisms.sack_compression),
            buffer: ReceiveBuffer::new(&rules),
            last_ack_sent: 0,
            ts_recent: Time::NEVER,
            dsack_end: 0,
            sends_dsack: rules.mechanisms.undo,
        }
    }

    /// The other end's SYN has come.
    pub(super) fn handle_syn(&mut self, segment: &Segment) {
        self.rcv_nxt = segment.seq + 1;
        self.ts_recent = segment.ts_val;
    }

    /// The next number expected.
    pub(super) fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// Whether the other end's SYN has come.
    pub(super) fn has_begun(&self) -> bool {
        self.rcv_nxt > 0
    }

    /// A segment of a synchronised connection, whose round trip is `rtt` ns. Says what is owed for it.
    pub(super) fn handle_segment(&mut self, now: Time, segment: &Segment, rtt: u64) {
        if segment.seq <= self.last_ack_sent {
            // > (2) If: SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent
            // > then SEG.TSval is copied to TS.Recent
            self.ts_recent =
                if self.ts_recent == Time::NEVER { segment.ts_val } else { self.ts_recent.max(segment.ts_val) };
        }
        self.buffer.handle_segment(now, segment, self.delayed_ack.rcv_mss());
        let end = segment.end();
        if end == segment.seq {
            // RFC 9293, section 3.10.7.4: what cannot be accepted is answered. So the window is asked for.
            if segment.seq < self.rcv_nxt {
                self.ack_pending = AckPending::Now;
            }
            return;
        }
        if segment.flags.fin {
            self.fin = Some(end - 1);
        }
        if segment.seq > self.rcv_nxt {
            // RFC 5681, section 4.2:
            // > A TCP receiver SHOULD send an immediate duplicate ACK when an out-of-order segment
            // > arrives.
            if self.sends_dsack && self.out_of_order.iter().any(|block| block.start <= segment.seq && end <= block.end)
            {
                self.dsack_end = end;
            }
            self.out_of_order.insert(segment.seq..end);
            let grew = self.buffer.handle_out_of_order(segment.len, self.out_of_order_span());
            let at_once = self.delayed_ack.handle_out_of_order(grew) || !self.compression.compress(self.rcv_nxt);
            self.ack_pending = self.ack_pending.max(if at_once { AckPending::Now } else { AckPending::Compressed });
        } else if end <= self.rcv_nxt {
            // A segment that was here already: its acknowledgement may have been lost.
            if self.sends_dsack {
                self.dsack_end = end;
            }
            self.delayed_ack.enter_quickack_mode();
            self.ack_pending = AckPending::Now;
        } else {
            self.accept(now, segment, rtt);
        }
    }

    /// How far what has come reaches beyond what is in order, in bytes.
    fn out_of_order_span(&self) -> u64 {
        self.out_of_order.iter().map(|block| block.end).max().map_or(0, |last| last - self.rcv_nxt)
    }

    /// The next numbers in order have come.
    fn accept(&mut self, now: Time, segment: &Segment, rtt: u64) {
        let end = segment.end();
        let filled_a_gap = !self.out_of_order.is_empty();
        let reached = if filled_a_gap { self.out_of_order.advance(end) } else { end };
        let fin = self.fin.is_some_and(|fin| reached > fin);
        let content = reached - self.rcv_nxt - u64::from(fin);
        self.unread += content;
        self.rcv_nxt = reached;
        let grew = self.buffer.handle_data(now, segment, content, self.out_of_order_span());
        let at_once = self.delayed_ack.handle_data(
            now,
            segment.len,
            content,
            grew,
            self.buffer.receive_window(self.last_ack_sent),
            rtt,
        );
        // RFC 5681, section 4.2: at once when a segment fills in all or part of a gap.
        let at_once = at_once || filled_a_gap || fin;
        self.ack_pending = self.ack_pending.max(if at_once { AckPending::Now } else { AckPending::Delayed });
    }

    /// What is owed.
    pub(super) fn ack_pending(&self) -> AckPending {
        self.ack_pending
    }

    /// How long an acknowledgement may wait, in ns, where the round trip is `rtt` ns.
    pub(super) fn ack_delay(&self, rtt: u64) -> u64 {
        self.delayed_ack.delay(rtt)
    }

    /// How long acknowledgements that tell of one hole may wait, in ns, where the round trip is `rtt` ns.
    pub(super) fn compression_delay(&self, rtt: u64) -> u64 {
        SackCompression::delay(self.buffer.rcv_rtt().map_or(rtt, |seen| if rtt > 0 { seen.min(rtt) } else { seen }))
    }

    /// They have waited long enough.
    pub(super) fn handle_compression_delay(&mut self) {
        if self.compression.is_compressing() {
            self.ack_pending = AckPending::Now;
        }
    }

    /// A delayed acknowledgement has waited long enough.
    pub(super) fn handle_delay(&mut self) {
        self.delayed_ack.handle_delay();
        self.ack_pending = AckPending::Now;
    }

    /// An acknowledgement is wanted for another reason.
    pub(super) fn acknowledge_now(&mut self) {
        self.ack_pending = AckPending::Now;
    }

    /// Data goes out, perhaps in reply to what has come.
    pub(super) fn note_data_sent(&mut self, now: Time) {
        self.delayed_ack.event_data_sent(now);
    }

    /// Whether all that the other end ever sends has come.
    pub(super) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.rcv_nxt > fin)
    }

    /// Whether the program has taken all that has come in order.
    pub(super) fn is_read(&self) -> bool {
        self.unread == 0
    }

    /// Takes the bytes that are there in order, `most` of them.
    #[inline]
    pub(super) fn read(&mut self, most: u64) -> u64 {
        if self.unread > most || self.buffer.is_reader_slow() {
            return self.read_some(most);
        }
        if self.unread > 0 && self.ack_pending == AckPending::Delayed && self.delayed_ack.handle_read() {
            self.ack_pending = AckPending::Now;
        }
        std::mem::take(&mut self.unread)
    }

    /// The program reads more slowly than data comes.
    #[cold]
    fn read_some(&mut self, most: u64) -> u64 {
        let taken = self.unread.min(most);
        self.unread -= taken;
        if self.buffer.handle_slow_read(self.rcv_nxt, taken, self.unread) && taken > 0 {
            self.ack_pending = AckPending::Now;
        }
        taken
    }

    /// Bytes that the SACK blocks of the next segment will take.
    pub(super) fn sack_bytes(&self) -> u32 {
        let blocks = self.out_of_order.len() + usize::from(self.dsack_end > 0);
        Sacks::bytes(blocks.min(Sacks::MAX) as u32)
    }

    /// Writes into a segment that is about to leave what it acknowledges.
    pub(super) fn acknowledge(&mut self, segment: &mut Segment) {
        segment.flags.ack = true;
        segment.ack = self.rcv_nxt;
        segment.window = self.buffer.select_window(self.rcv_nxt, self.unread);
        segment.ts_ecr = self.ts_recent;
        segment.dsack_end = std::mem::take(&mut self.dsack_end);
        for block in self.out_of_order.iter().take(Sacks::MAX - usize::from(segment.dsack_end > 0)) {
            segment.sacks.push(self.rcv_nxt, block);
        }
        self.last_ack_sent = self.rcv_nxt;
        self.delayed_ack.event_ack_sent(self.ack_pending != AckPending::None);
        self.compression.handle_ack_sent();
        self.ack_pending = AckPending::None;
    }
}
