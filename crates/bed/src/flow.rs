//! What the segments of a connection have already borne: who sends something again is found here.

use crate::packet::Packet;
use crate::report::Resent;

/// One direction of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flow {
    /// The number of its SYN.
    syn: Option<u32>,
    /// The number after the highest that has been sent. They wrap.
    next: u32,
    pub(crate) resent: Resent,
}

impl Flow {
    /// A segment is sent.
    pub(crate) fn handle_packet(&mut self, packet: &Packet) {
        if packet.flags.syn {
            if self.syn == Some(packet.sequence) {
                self.resent.syn_retransmissions += 1;
            } else {
                // The first one, or a connection that uses the ports of another anew.
                (self.syn, self.next) = (Some(packet.sequence), packet.sequence.wrapping_add(1));
            }
        } else if packet.is_data() && self.syn.is_some() {
            if is_before(packet.sequence, self.next) {
                self.resent.retransmissions += 1;
            }
            let end = packet.sequence.wrapping_add(packet.numbers());
            if is_before(self.next, end) {
                self.next = end;
            }
        }
    }
}

/// Whether one sequence number comes before another.
fn is_before(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;

    fn packet(sequence: u32, payload: u32, flags: Flags) -> Packet {
        Packet {
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
    fn only_what_was_sent_before_is_sent_again_also_where_numbers_wrap() {
        let (syn, fin) = (Flags { syn: true, ..Flags::default() }, Flags { fin: true, ..Flags::default() });
        let none = Flags::default();
        for first in [0, u32::MAX - 1500] {
            let at = |offset: u32| first.wrapping_add(offset);
            let mut flow = Flow::default();
            let mut send = |sequence, payload, flags| {
                flow.handle_packet(&packet(sequence, payload, flags));
                (flow.resent.retransmissions, flow.resent.syn_retransmissions)
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
