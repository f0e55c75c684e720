//! A log of packets: each as it came to a link, and what became of it there.

use crate::LinkId;
use loadstone_units::Time;
use std::collections::BTreeMap;

/// The first packets that came to any link of a path, in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketLog<H> {
    /// Those packets, at most the limit of the log.
    pub packets: Vec<Logged<H>>,
    limit: usize,
    /// The packets whose fate is not known yet, by link and by number there: the place of each in `packets`, and the
    /// nanoseconds from there to its host or to the next link of its route.
    undecided: BTreeMap<(LinkId, u64), (usize, u64)>,
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
    /// The queue dropped it: it was full, or its AQM did.
    Dropped,
    /// It had not arrived when the run ended.
    Underway,
}

impl Fate {
    /// The same with its time counted from `origin`.
    #[must_use]
    pub fn counted_from(self, origin: Time) -> Fate {
        match self {
            Fate::Delivered(at) => Fate::Delivered(at.counted_from(origin)),
            other => other,
        }
    }
}

impl<H> PacketLog<H> {
    /// An empty log for at most `limit` packets.
    pub(crate) fn new(limit: usize) -> PacketLog<H> {
        PacketLog { packets: Vec::new(), limit, undecided: BTreeMap::new(), left_out: 0 }
    }

    /// A packet has come to a link, where it has this number; behind the link it needs `delay` nanoseconds more.
    /// [`PacketLog::decide`] says what becomes of it.
    pub(crate) fn note(&mut self, entered: Time, (link, number): (LinkId, u64), head: H, delay: u64) {
        if self.packets.len() < self.limit {
            self.undecided.insert((link, number), (self.packets.len(), delay));
            self.packets.push(Logged { entered, link, head, fate: Fate::Underway });
        } else {
            self.left_out += 1;
        }
    }

    /// What becomes of a packet is known; [`Fate::Delivered`] has when it comes out of the link.
    pub(crate) fn decide(&mut self, link: LinkId, number: u64, fate: Fate) {
        if let Some((at, delay)) = self.undecided.remove(&(link, number)) {
            self.packets[at].fate = match fate {
                Fate::Delivered(out) => Fate::Delivered(out.plus_nanos(delay)),
                other => other,
            };
        }
    }

    /// From now on there is nothing of what came before.
    pub(crate) fn forget(&mut self) {
        *self = PacketLog::new(self.limit);
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
