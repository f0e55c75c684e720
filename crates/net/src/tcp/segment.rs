//! What TCP sends: headers with a count in place of data.

use super::repair::Repair;
use crate::Packet;
use loadstone_units::Time;
use std::ops::Range;

const NANOS_PER_MS: u64 = 1_000_000;

/// A segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The number of the first byte of data, or of the SYN.
    pub seq: u64,
    /// The next number expected from the other end; meaningless without [`Flags::ack`].
    pub ack: u64,
    /// Bytes of data.
    pub len: u32,
    /// Bytes beyond `ack` that may be sent.
    pub window: u32,
    /// SYN, ACK, FIN.
    pub flags: Flags,
    /// TSval: when it was sent (RFC 7323).
    pub ts_val: Time,
    /// TSecr: the timestamp that it echoes (RFC 7323); [`Time::NEVER`] if none.
    pub ts_ecr: Time,
    /// The SACK blocks: data received above `ack` (RFC 2018).
    pub sacks: Sacks,
    /// The end of the D-SACK block (RFC 2883); 0 if there is none.
    pub dsack_end: u64,
    /// Why it is sent, if to repair a loss. That stands in no packet; the receiver does not read it.
    pub repair: Option<Repair>,
}

/// A segment's flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags {
    /// It opens the connection.
    pub syn: bool,
    /// It acknowledges.
    pub ack: bool,
    /// The sender sends no more.
    pub fin: bool,
    /// It breaks the connection off.
    pub rst: bool,
}

/// Up to three SACK blocks, which fit together with the timestamps. They are relative to the segment's `ack`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sacks {
    blocks: [(u32, u32); 3],
    count: u8,
}

impl Sacks {
    /// The maximum of blocks in a segment.
    pub(super) const MAX: usize = 3;

    /// Bytes of the option with this many blocks, padded to a multiple of four.
    pub(super) fn bytes(blocks: u32) -> u32 {
        if blocks == 0 { 0 } else { 4 + 8 * blocks }
    }

    /// Adds a block; one beyond the third is left out.
    pub fn push(&mut self, ack: u64, block: Range<u64>) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.count)) {
            *slot = ((block.start - ack) as u32, (block.end - ack) as u32);
            self.count += 1;
        }
    }

    /// The blocks, in order of the option.
    pub fn iter(&self, ack: u64) -> impl Iterator<Item = Range<u64>> {
        let blocks = self.blocks[..usize::from(self.count)].iter();
        blocks.map(move |(start, end)| ack + u64::from(*start)..ack + u64::from(*end))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl Segment {
    /// The number after the last of this segment; SYN and FIN take one each.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.flags.syn) + u64::from(self.flags.fin)
    }

    /// Whether TSecr is older than `sent`, on a clock of milliseconds.
    pub(super) fn ts_ecr_before(&self, sent: Time) -> bool {
        let ms = |time: Time| time.as_nanos() / NANOS_PER_MS;
        self.ts_ecr != Time::NEVER && ms(self.ts_ecr) < ms(sent)
    }
}

impl Segment {
    /// Leaves out the SACK blocks if they do not fit into `mss` bytes with the data.
    pub(super) fn drop_sacks_beyond(&mut self, mss: u32) {
        if self.blocks() > 0 && self.len + Sacks::bytes(self.blocks()) > mss {
            (self.sacks, self.dsack_end) = (Sacks::default(), 0);
        }
    }

    /// SACK blocks, the D-SACK block included.
    fn blocks(&self) -> u32 {
        u32::from(self.sacks.count) + u32::from(self.dsack_end > 0)
    }
}

impl Packet for Segment {
    /// 20 bytes of IP, 20 of TCP, and options: 20 with a SYN (MSS, SACK permitted, timestamps,
    /// window scale), else 12 for the timestamps and 4 + 8 per SACK block.
    fn len(&self) -> u32 {
        let options = if self.flags.syn { 20 } else { 12 + Sacks::bytes(self.blocks()) };
        40 + options + self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_have_the_lengths_of_the_convention() {
        let flags = Flags { ack: true, ..Flags::default() };
        let (window, time) = (65_535, Time::ZERO);
        let sacks = Sacks::default();
        let (ts_val, ts_ecr, dsack_end, repair) = (time, time, 0, None);
        let ack = Segment { seq: 1, ack: 1, len: 0, window, flags, ts_val, ts_ecr, sacks, dsack_end, repair };
        assert_eq!(Packet::len(&ack), 52);
        assert_eq!(Packet::len(&Segment { flags: Flags { syn: true, ..flags }, ..ack }), 60);
        assert_eq!(Packet::len(&Segment { len: 1448, ..ack }), 1500);
        let mut sacks = Sacks::default();
        sacks.push(1, 11..21);
        assert_eq!(Packet::len(&Segment { sacks, ..ack }), 64);
        assert!(sacks.iter(1).eq(std::iter::once(11..21)));
    }
}
