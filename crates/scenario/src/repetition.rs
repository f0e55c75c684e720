//! Which packets of a capture repeat what was sent before, and whether that was needed.

use crate::{Capture, Captured};
use loadstone_net::{Assembler, Fate};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// How a segment stands to those that its sender sent before it on its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Repetition {
    /// Nothing of it was sent before; or it takes no sequence numbers.
    #[default]
    New,
    /// Some of it was, and not all of it is in earlier segments that arrive.
    Needed,
    /// All of it is in earlier segments that arrive: a spurious retransmission, as far as the data go. The sender may
    /// have had to send it nevertheless, since the acknowledgement was lost.
    Spurious,
}

/// What tells a packet from others at the next link of its route: connection, sender, first and last number,
/// acknowledgement, TSval. Those of one millisecond that are alike stay in their order.
type PacketKey = (u32, u32, u64, u64, u64, u32);

/// What one end of a connection has sent so far.
#[derive(Default)]
struct SentSoFar {
    /// The number after the highest.
    end: u64,
    /// What arrives of it.
    arriving: Assembler,
}

impl Capture {
    /// How each packet stands to those before it, in their order. What came before the capture is not known.
    pub fn repetitions(&self) -> Vec<Repetition> {
        let departures = self.departures();
        let fates = self.final_fates(&departures);
        let mut sent: BTreeMap<(u32, u32), SentSoFar> = BTreeMap::new();
        let mut repetitions = vec![Repetition::New; self.packets.len()];
        for (at, packet) in self.packets.iter().enumerate() {
            if departures[at] != at {
                repetitions[at] = repetitions[departures[at]];
                continue;
            }
            let numbers = packet.numbers();
            if numbers.is_empty() {
                continue;
            }
            let sent = sent.entry((packet.connection, packet.sender)).or_default();
            let is_there = |held: Range<u64>| held.start <= numbers.start && numbers.end <= held.end;
            if sent.arriving.iter().any(is_there) {
                repetitions[at] = Repetition::Spurious;
            } else if numbers.start < sent.end {
                repetitions[at] = Repetition::Needed;
            }
            sent.end = sent.end.max(numbers.end);
            if matches!(fates[at], Fate::Delivered(_)) {
                sent.arriving.insert(numbers);
            }
        }
        repetitions
    }

    /// For each packet the place of the same one as it came to the first link of its route: its own where that is the
    /// only link, or where it came there before the capture.
    pub(crate) fn departures(&self) -> Vec<usize> {
        let mut underway: BTreeMap<PacketKey, VecDeque<usize>> = BTreeMap::new();
        let departure = |(at, packet): (usize, &Captured)| {
            let Some(ends) = self.route_ends(packet).filter(|ends| ends.first != ends.last) else { return at };
            let is_on_its_way = !matches!(packet.fate, Fate::Lost | Fate::Dropped);
            if packet.link == ends.first {
                if is_on_its_way {
                    underway.entry(packet.key()).or_default().push_back(at);
                }
                return at;
            }
            let Some(alike) = underway.get_mut(&packet.key()) else { return at };
            let first =
                if packet.link != ends.last && is_on_its_way { alike.front().copied() } else { alike.pop_front() };
            first.unwrap_or(at)
        };
        self.packets.iter().enumerate().map(departure).collect()
    }

    /// What became of each packet at the last link that it came to, by where it came to the first.
    pub(crate) fn final_fates(&self, departures: &[usize]) -> Vec<Fate> {
        let mut fates: Vec<Fate> = self.packets.iter().map(|packet| packet.fate).collect();
        for (packet, departure) in self.packets.iter().zip(departures) {
            fates[*departure] = packet.fate;
        }
        fates
    }
}

impl Captured {
    /// The sequence numbers that it takes: its data, SYN and FIN.
    pub fn numbers(&self) -> Range<u64> {
        self.seq..self.seq + u64::from(self.len) + u64::from(self.flags.syn) + u64::from(self.flags.fin)
    }

    fn key(&self) -> PacketKey {
        let Range { start, end } = self.numbers();
        (self.connection, self.sender, start, end, self.ack, self.timestamps.map_or(0, |times| times.val))
    }
}
