//! The packets of a load as both worlds tell of them: sequence numbers counted from each end's SYN,
//! connections by the order of opening.

use crate::Host;
use crate::packet::Sacks;
use crate::report::{Cause, Connection, Event, Fate, LinkReport};
use loadstone_load::page::HostId;
use loadstone_scenario::{self as told, Capture, Captured, Way};
use loadstone_units::Time;
use std::collections::BTreeMap;
use std::ops::Range;

/// What the links have kept of a load.
pub(super) fn of(report: &LinkReport) -> Capture {
    let numbered = report.connections.iter().zip(0..);
    let numbers = numbered.map(|(report, number)| (report.connection, Numbers { connection: number, syns: [0; 2] }));
    let mut numbers: BTreeMap<Connection, Numbers> = numbers.collect();
    let origin = report.first_syn.unwrap_or(Time::ZERO);
    let captured = |event: &Event| Some(numbers.get_mut(&event.connection)?.captured(event, origin));
    let packets: Vec<Captured> = report.trace.iter().filter_map(captured).collect();
    let entered = report.down.counts.packets + report.up.counts.packets;
    Capture { left_out: entered - packets.len() as u64, packets }
}

/// What the numbers of a connection are counted from.
struct Numbers {
    /// Its place in the order of opening.
    connection: u32,
    /// The numbers of the client's SYN and of the server's.
    syns: [u32; 2],
}

impl Numbers {
    fn captured(&mut self, event: &Event, origin: Time) -> Captured {
        let Event { packet, .. } = event;
        let (way, from) = if event.to == Host::Client { (Way::Down, 1) } else { (Way::Up, 0) };
        if packet.flags.syn {
            self.syns[from] = packet.sequence;
        }
        let (own, other) = (self.syns[from], self.syns[1 - from]);
        let (sacks, duplicate) = blocks(&event.sacks, packet.acknowledgement, other);
        Captured {
            entered: event.entered.counted_from(origin),
            way,
            connection: self.connection,
            host: HostId(event.connection.server as u32),
            flags: packet.flags,
            seq: counted(packet.sequence, own),
            len: packet.payload,
            ack: if packet.flags.ack { counted(packet.acknowledgement, other) } else { 0 },
            sacks,
            duplicate,
            bytes: packet.len,
            fate: match event.fate {
                Fate::Underway => told::Fate::Underway,
                Fate::Lost(Cause::Loss) => told::Fate::Lost,
                Fate::Lost(Cause::Queue) => told::Fate::Dropped,
                Fate::Delivered { due, .. } => told::Fate::Delivered(due.counted_from(origin)),
            },
        }
    }
}

/// A number counted from the SYN's. They wrap after 4 GiB, which no capture reaches.
fn counted(number: u32, syn: u32) -> u64 {
    number.wrapping_sub(syn).into()
}

/// The SACK blocks of a packet, and the end of the first if it tells of a duplicate: then it lies before the
/// acknowledgement, or within the second.
fn blocks(sacks: &Sacks, acknowledgement: u32, syn: u32) -> (Vec<Range<u64>>, u64) {
    let there = sacks.iter().filter(|(start, end)| start != end);
    let mut blocks: Vec<_> = there.map(|(start, end)| counted(*start, syn)..counted(*end, syn)).collect();
    let mut duplicate = 0;
    if let [first, rest @ ..] = &blocks[..] {
        let within = |other: &Range<u64>| other.start <= first.start && first.end <= other.end;
        if first.end <= counted(acknowledgement, syn) || rest.first().is_some_and(within) {
            duplicate = first.end;
            blocks.remove(0);
        }
    }
    (blocks, duplicate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_block_that_is_acknowledged_or_within_the_second_tells_of_a_duplicate_rfc2883() {
        let syn = u32::MAX - 99;
        let number = |offset: u32| syn.wrapping_add(offset);
        let told = |given: [(u32, u32); 2]| {
            let mut sacks = Sacks::default();
            for (place, (start, end)) in sacks.iter_mut().zip(given) {
                *place = (number(start), number(end));
            }
            blocks(&sacks, number(1000), syn)
        };
        let (held, further) = (2000..3000, 4000..5000);
        assert_eq!(told([(2000, 3000), (4000, 5000)]), (vec![held.clone(), further.clone()], 0));
        assert_eq!(told([(500, 1000), (4000, 5000)]), (vec![further], 1000));
        assert_eq!(told([(2100, 2200), (2000, 3000)]), (vec![held], 2200));
    }
}
