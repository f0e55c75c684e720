//! The access link: both directions, and a note of what comes to them if one is wanted.

use crate::connection::{CLIENT, Connection};
use loadstone_load::ConnId;
use loadstone_load::page::HostId;
use loadstone_net::tcp::Segment;
use loadstone_net::{Device, Link, Network, Packet};
use loadstone_scenario::{Capture, Captured, Fate, Flags, Way};
use loadstone_units::{Seed, Time};

/// A segment on its way, and to which end of which connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parcel {
    pub(crate) conn: ConnId,
    pub(crate) segment: Segment,
}

impl Packet for Parcel {
    fn len(&self) -> u32 {
        Packet::len(&self.segment)
    }
}

#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) down: Link<Parcel>,
    pub(crate) up: Link<Parcel>,
    note: Option<Note>,
}

/// What is noted of packets.
#[derive(Debug)]
struct Note {
    packets: Vec<Captured>,
    limit: usize,
}

impl Access {
    /// An idle link of which the first packets are noted: `limit` of them, if that is wanted.
    pub(crate) fn new(network: &Network, seed: Seed, limit: Option<usize>) -> Access {
        Access {
            down: Link::new(&network.down(), seed.stream("down.loss")),
            up: Link::new(&network.up(), seed.stream("up.loss")),
            note: limit.map(|limit| Note { packets: Vec::new(), limit }),
        }
    }

    /// A packet comes to the link on its way to this side.
    #[inline]
    pub(crate) fn handle_packet(&mut self, now: Time, side: usize, parcel: Parcel) {
        let (link, way) = if side == CLIENT { (&mut self.down, Way::Down) } else { (&mut self.up, Way::Up) };
        match &mut self.note {
            None => link.handle_packet(now, parcel),
            Some(note) => note.handle_packet(now, link, way, parcel),
        }
    }

    /// What was noted, at `end`, of a run's connections.
    pub(crate) fn into_capture(self, end: Time, connections: &[Connection]) -> Option<Capture> {
        let entered = self.down.counts().packets + self.up.counts().packets;
        let Note { mut packets, .. } = self.note?;
        for packet in &mut packets {
            let connection = &connections[packet.connection as usize];
            packet.host = HostId(connection.origin);
            if let Fate::Delivered(out) = packet.fate {
                let due = if packet.way == Way::Up { out + connection.one_way } else { out };
                packet.fate = if due > end { Fate::Underway } else { Fate::Delivered(due) };
            }
        }
        Some(Capture { left_out: entered - packets.len() as u64, packets })
    }
}

impl Note {
    /// Passes a packet on to the link, and notes what the link makes of it.
    #[cold]
    fn handle_packet(&mut self, now: Time, link: &mut Link<Parcel>, way: Way, parcel: Parcel) {
        let before = link.counts();
        link.handle_packet(now, parcel);
        if self.packets.len() == self.limit {
            return;
        }
        let after = link.counts();
        let fate = if after.dropped > before.dropped {
            Fate::Dropped
        } else if after.lost > before.lost {
            Fate::Lost
        } else {
            Fate::Delivered(link.last_out().expect("it was accepted"))
        };
        let Parcel { conn, segment } = parcel;
        self.packets.push(Captured {
            entered: now,
            way,
            connection: conn.0,
            // Known to the connection.
            host: HostId(0),
            flags: Flags { syn: segment.flags.syn, fin: segment.flags.fin, rst: false, ack: segment.flags.ack },
            seq: segment.seq,
            len: segment.len,
            ack: segment.ack,
            sacks: segment.sacks.iter(segment.ack).collect(),
            duplicate: segment.duplicate,
            bytes: Packet::len(&segment),
            fate,
        });
    }
}
