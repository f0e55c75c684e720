//! The receiving half: reassembly, and when to acknowledge.

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
    /// The next number expected (RCV.NXT).
    rcv_nxt: u64,
    /// The out-of-order queue.
    out_of_order: Assembler,
    /// Bytes in order that the program has not read (RCV.NXT - `copied_seq`).
    unread: u64,
    /// The number of the other end's FIN, once it has come.
    fin: Option<u64>,
    ack_pending: AckPending,
    delayed_ack: DelayedAck,
    compression: SackCompression,
    buffer: ReceiveBuffer,
    /// Last.ACK.sent (RFC 7323, section 4.3; `rcv_wup`).
    last_ack_sent: u64,
    /// TS.Recent (RFC 7323, section 4.3).
    ts_recent: Time,
    /// The end of a duplicate segment not yet reported by D-SACK (RFC 2883); 0 if there is none.
    dsack_end: u64,
    sends_dsack: bool,
}

/// The pending acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum AckPending {
    /// No ACK is pending.
    None,
    /// A delayed ACK.
    Delayed,
    /// A compressed SACK: one of several duplicate ACKs of the same gap.
    Compressed,
    /// An immediate ACK.
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

    /// Processes the other end's SYN.
    pub(super) fn handle_syn(&mut self, segment: &Segment) {
        self.rcv_nxt = segment.seq + 1;
        self.ts_recent = segment.ts_val;
    }

    /// RCV.NXT.
    pub(super) fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// Whether the other end's SYN has come.
    pub(super) fn has_begun(&self) -> bool {
        self.rcv_nxt > 0
    }

    /// Processes a segment of a synchronised connection with an SRTT of `rtt` ns, and sets the pending ACK.
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
            // RFC 9293, section 3.10.7.4: unacceptable segments are acknowledged. That is how a window probe is
            // answered.
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
            // A duplicate segment: its ACK may have been lost.
            if self.sends_dsack {
                self.dsack_end = end;
            }
            self.delayed_ack.enter_quickack_mode();
            self.ack_pending = AckPending::Now;
        } else {
            self.accept(now, segment, rtt);
        }
    }

    /// The highest number received - RCV.NXT; 0 if the out-of-order queue is empty.
    fn out_of_order_span(&self) -> u64 {
        self.out_of_order.iter().map(|block| block.end).max().map_or(0, |last| last - self.rcv_nxt)
    }

    /// A segment in order has come.
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

    /// The pending ACK.
    pub(super) fn ack_pending(&self) -> AckPending {
        self.ack_pending
    }

    /// How long an ACK may be delayed, in ns, with an SRTT of `rtt` ns.
    pub(super) fn ack_delay(&self, rtt: u64) -> u64 {
        self.delayed_ack.delay(rtt)
    }

    /// How long a compressed SACK may wait, in ns, with an SRTT of `rtt` ns.
    pub(super) fn compression_delay(&self, rtt: u64) -> u64 {
        SackCompression::delay(self.buffer.rcv_rtt().map_or(rtt, |seen| if rtt > 0 { seen.min(rtt) } else { seen }))
    }

    /// The timer of compressed SACKs has expired.
    pub(super) fn handle_compression_delay(&mut self) {
        if self.compression.is_compressing() {
            self.ack_pending = AckPending::Now;
        }
    }

    /// The timer of the delayed ACK has expired.
    pub(super) fn handle_delay(&mut self) {
        self.delayed_ack.handle_delay();
        self.ack_pending = AckPending::Now;
    }

    /// Requests an immediate ACK.
    pub(super) fn acknowledge_now(&mut self) {
        self.ack_pending = AckPending::Now;
    }

    /// Data is sent, perhaps in reply to received data.
    pub(super) fn note_data_sent(&mut self, now: Time) {
        self.delayed_ack.event_data_sent(now);
    }

    /// Whether the other end's FIN and all data before it have come.
    pub(super) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.rcv_nxt > fin)
    }

    /// Whether the program has read all data in order.
    pub(super) fn is_read(&self) -> bool {
        self.unread == 0
    }

    /// Reads up to `most` in-order bytes and returns how many.
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

    /// The length of the next segment's SACK option, in bytes.
    pub(super) fn sack_bytes(&self) -> u32 {
        let blocks = self.out_of_order.len() + usize::from(self.dsack_end > 0);
        Sacks::bytes(blocks.min(Sacks::MAX) as u32)
    }

    /// Fills in acknowledgement, window, TSecr and SACK blocks of a segment that is about to be sent.
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
