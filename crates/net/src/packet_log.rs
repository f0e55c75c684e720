//! A log of packets: each as it came to a link, and what became of it there.

use crate::LinkId;
use loadstone_units::Time;

/// The first packets that came to any link of a path, in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketLog<H> {
    /// Those packets, at most the limit of the log.
    pub packets: Vec<Logged<H>>,
    limit: usize,
    /// The number of packets after them.
    pub left_out: u64,
}

/// A packet as it came to a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Logged<H> {
    /// When it came.
    pub entered: Time,
    /// To which link, in which direction.
    pub link: LinkId,
    /// The part of it that is logged.
    pub head: H,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a packet at a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It arrives at its host, or at the next link of its route, at this time.
    Delivered(Time),
    /// It was lost at random.
    Lost,
    /// The queue was full.
    Dropped,
    /// The run ended before it arrived.
    Underway,
}

impl<H> PacketLog<H> {
    /// An empty log for at most `limit` packets.
    pub(crate) fn new(limit: usize) -> PacketLog<H> {
        PacketLog { packets: Vec::new(), limit, left_out: 0 }
    }

    /// A packet has come to a link.
    pub(crate) fn note(&mut self, packet: Logged<H>) {
        if self.packets.len() < self.limit {
            self.packets.push(packet);
        } else {
            self.left_out += 1;
        }
    }

    /// The run is over at `end`: what would be delivered later is underway.
    pub(crate) fn end(&mut self, end: Time) {
        for packet in &mut self.packets {
            if matches!(packet.fate, Fate::Delivered(due) if due > end) {
                packet.fate = Fate::Underway;
            }
        }
    }
}
