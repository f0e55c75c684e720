//! The packets of a load as both worlds tell of them: sequence numbers counted from each end's SYN,
//! connections by the order of opening.

use crate::packet::{CapturedFlags, SackBlocks};
use crate::{BedHost, ConnectionKey, LinkReport, LoggedPacket};
use loadstone_net::{Fabric, Fate};
use loadstone_scenario::{Capture, Captured, CapturedConnection, Plan};
use loadstone_units::Time;
use std::ops::Range;

/// What the links have kept of a run, counted from the first browser's first packet.
pub(super) fn of(plan: &Plan, fabric: &Fabric, report: &LinkReport) -> Capture {
    let origin = report.departures[BedHost::CLIENT.0].unwrap_or(Time::ZERO);
    let mut syns = vec![[Syn::default(); 2]; report.connections.len()];
    let mut packets = Vec::new();
    for event in &report.trace {
        // What is not TCP has no place in such a table.
        if let Some(at) = event.packet.connection {
            packets.extend(captured(report, event, &mut syns[at], origin));
        }
    }
    let left_out = report.left_out + (report.trace.len() - packets.len()) as u64;
    let joined = report.connections.iter().map(|seen| {
        let ConnectionKey { client, server, .. } = seen.connection;
        CapturedConnection::new(plan, fabric, client.0, server.0)
    });
    Capture { connections: joined.collect(), left_out, packets, ..Capture::new(plan) }
}

/// What an end's SYN says of the packets after it.
#[derive(Clone, Copy, Default)]
struct Syn {
    number: u32,
    window_scale: Option<u8>,
}

/// A packet of a connection; `syns` are the client's SYN and the server's.
fn captured(report: &LinkReport, event: &LoggedPacket, syns: &mut [Syn; 2], origin: Time) -> Option<Captured> {
    let (at, packet, options) = (event.packet.connection?, event.packet.segment?, event.packet.options);
    let connection = report.connections[at].connection;
    let from = usize::from(event.packet.from != connection.client);
    if packet.flags.syn {
        syns[from] = Syn { number: packet.sequence, window_scale: options.window_scale };
    }
    let (own, other) = (syns[from].number, syns[1 - from].number);
    let (sacks, dsack_end) = blocks(&options.sacks, packet.acknowledgement, other);
    Some(Captured {
        entered: event.entered.counted_from(origin),
        link: event.link,
        connection: at as u32,
        host: connection.server.0 as u32,
        sender: event.packet.from.0 as u32,
        flags: packet.flags,
        seq: counted(packet.sequence, own),
        len: packet.payload,
        ack: if packet.flags.ack { counted(packet.acknowledgement, other) } else { 0 },
        sacks,
        dsack_end,
        window: u32::from(packet.window) << scale(packet.flags, syns, from),
        timestamps: options.timestamps,
        bytes: packet.len,
        repair: None,
        fate: match event.fate {
            Fate::Delivered(due) => Fate::Delivered(due.counted_from(origin)),
            fate => fate,
        },
    })
}

/// By how many bits a window is shifted: not in a SYN, and only if both ends have said it (RFC 7323, section 2.2, with
/// the maximum of section 2.3).
fn scale(flags: CapturedFlags, syns: &[Syn; 2], from: usize) -> u8 {
    let is_agreed = !flags.syn && syns.iter().all(|syn| syn.window_scale.is_some());
    syns[from].window_scale.filter(|_| is_agreed).unwrap_or(0).min(14)
}

/// A number counted from the SYN's. They wrap after 4 GiB, which no capture reaches.
fn counted(number: u32, syn: u32) -> u64 {
    number.wrapping_sub(syn).into()
}

/// The SACK blocks of a packet, and the end of the first if it tells of a duplicate: then it lies before the
/// acknowledgement, or within the second.
fn blocks(sacks: &SackBlocks, acknowledgement: u32, syn: u32) -> (Vec<Range<u64>>, u64) {
    let there = sacks.iter().filter(|(start, end)| start != end);
    let mut blocks: Vec<_> = there.map(|(start, end)| counted(*start, syn)..counted(*end, syn)).collect();
    let mut dsack_end = 0;
    if let [first, rest @ ..] = &blocks[..] {
        let within = |other: &Range<u64>| other.start <= first.start && first.end <= other.end;
        if first.end <= counted(acknowledgement, syn) || rest.first().is_some_and(within) {
            dsack_end = first.end;
            blocks.remove(0);
        }
    }
    (blocks, dsack_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_block_that_is_acknowledged_or_within_the_second_tells_of_a_duplicate_rfc2883() {
        let syn = u32::MAX - 99;
        let number = |offset: u32| syn.wrapping_add(offset);
        let told = |given: [(u32, u32); 2]| {
            let mut sacks = SackBlocks::default();
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
