//! One direction of a connection, as far as its segments tell: what is sent again, and when the
//! receiver missed something that was lost.

use crate::packet::TcpPacket;
use crate::report::SentCounts;
use loadstone_net::{Assembler, Stalls};
use loadstone_units::Time;
use std::ops::Range;

/// One direction of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    /// The number of its SYN.
    syn: Option<u32>,
    /// The number after the highest that has been sent. They wrap.
    next: u32,
    /// The next number that the receiver expects, counted from the SYN's 0 and never wrapping.
    expected: u64,
    /// What has reached the receiver beyond that.
    beyond: Assembler,
    stalls: Stalls,
    pub(crate) sent: SentCounts,
}

impl Flow {
    /// A segment is sent.
    pub(crate) fn handle_packet(&mut self, packet: &TcpPacket) {
        self.sent.packets += 1;
        self.sent.bytes += u64::from(packet.len);
        if self.syn.is_none() && !packet.flags.syn {
            // Its beginning was not seen: it counts as if its SYN had been just before this.
            (self.syn, self.next, self.expected) = (Some(packet.sequence.wrapping_sub(1)), packet.sequence, 1);
        }
        if packet.flags.syn {
            if self.syn == Some(packet.sequence) {
                self.sent.syn_retransmissions += 1;
            } else {
                // The first one, or a connection that uses the ports of another again.
                (self.syn, self.next) = (Some(packet.sequence), packet.sequence.wrapping_add(1));
                (self.expected, self.beyond) = (0, Assembler::default());
            }
        } else if packet.is_data() {
            if is_before(packet.sequence, self.next) {
                self.sent.retransmissions += 1;
            }
            let end = packet.sequence.wrapping_add(packet.numbers());
            if is_before(self.next, end) {
                self.next = end;
            }
        }
    }

    /// A segment is lost that would have arrived at `due`.
    pub(crate) fn handle_loss(&mut self, packet: &TcpPacket, due: Time) {
        if let Some(numbers) = self.numbers(packet) {
            self.stalls.handle_lost(numbers, due, self.expected);
        }
    }

    /// A segment reaches the receiver.
    pub(crate) fn handle_delivery(&mut self, packet: &TcpPacket, now: Time) {
        let Some(numbers) = self.numbers(packet).filter(|numbers| numbers.end > self.expected) else { return };
        if numbers.start > self.expected {
            self.beyond.insert(numbers);
            return;
        }
        self.expected = self.beyond.advance(numbers.end);
        if !self.stalls.is_idle() {
            self.stalls.handle_expected(now, self.expected);
        }
    }

    /// When the receiver missed something that had been lost, until `end`.
    pub(crate) fn into_stalls(self, end: Time) -> Vec<Range<Time>> {
        self.stalls.until(end)
    }

    /// The numbers of a segment, counted from the SYN's 0; none where there is none.
    fn numbers(&self, packet: &TcpPacket) -> Option<Range<u64>> {
        let syn = self.syn?;
        // Within 2 GiB of what is expected, on either side.
        let expected = syn.wrapping_add(self.expected as u32);
        let off = i64::from(packet.sequence.wrapping_sub(expected) as i32);
        let start = self.expected.checked_add_signed(off)?;
        let count = u64::from(packet.numbers());
        (count > 0).then(|| start..start + count)
    }
}

/// Whether one sequence number comes before another.
fn is_before(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::CapturedFlags;

    fn packet(sequence: u32, payload: u32, flags: CapturedFlags) -> TcpPacket {
        TcpPacket {
            source: [0; 4].into(),
            destination: [0; 4].into(),
            source_port: 1,
            destination_port: 2,
            len: 40 + payload,
            payload,
            sequence,
            acknowledgement: 0,
            window: 0,
            flags,
        }
    }

    #[test]
    fn a_receiver_stalls_from_when_the_lost_would_have_come_until_it_comes_again() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let syn = CapturedFlags { syn: true, ..CapturedFlags::default() };
        for first in [0, u32::MAX - 1500] {
            let number = |offset: u32| first.wrapping_add(offset);
            let data = |offset| packet(number(offset), 1000, CapturedFlags::default());
            let mut flow = Flow::default();
            flow.handle_packet(&packet(number(0), 0, syn));
            flow.handle_delivery(&packet(number(0), 0, syn), at(1));
            for offset in [1, 1001, 2001] {
                flow.handle_packet(&data(offset));
            }
            flow.handle_delivery(&data(1), at(10));
            flow.handle_loss(&data(1001), at(11));
            flow.handle_delivery(&data(2001), at(12));
            flow.handle_packet(&data(1001));
            flow.handle_delivery(&data(1001), at(50));
            assert_eq!(flow.expected, 3001);
            assert_eq!(flow.into_stalls(at(99)), [at(11)..at(50)]);
        }
    }

    #[test]
    fn only_what_was_sent_before_is_sent_again_also_where_numbers_wrap() {
        let (syn, fin) = (
            CapturedFlags { syn: true, ..CapturedFlags::default() },
            CapturedFlags { fin: true, ..CapturedFlags::default() },
        );
        let none = CapturedFlags::default();
        for first in [0, u32::MAX - 1500] {
            let at = |offset: u32| first.wrapping_add(offset);
            let mut flow = Flow::default();
            let mut send = |sequence, payload, flags| {
                flow.handle_packet(&packet(sequence, payload, flags));
                (flow.sent.retransmissions, flow.sent.syn_retransmissions)
            };
            assert_eq!(send(at(0), 0, syn), (0, 0));
            assert_eq!(send(at(0), 0, syn), (0, 1));
            assert_eq!(send(at(1), 1000, none), (0, 1));
            assert_eq!(send(at(1001), 1000, none), (0, 1));
            assert_eq!(send(at(1001), 0, none), (0, 1), "an acknowledgement");
            assert_eq!(send(at(1), 1000, none), (1, 1), "all of it again");
            assert_eq!(send(at(1501), 1000, none), (2, 1), "a part of it again");
            assert_eq!(send(at(2501), 0, fin), (2, 1));
            assert_eq!(send(at(2501), 0, fin), (3, 1));
            assert_eq!(send(at(0).wrapping_sub(77), 0, syn), (3, 1), "a new connection");
            assert_eq!(send(at(0).wrapping_sub(76), 10, none), (3, 1));
        }
    }
}
