//! The way of packets between hosts: links and delays behind one another, shared by all that goes through them.
//!
//! A machine, driven by the simulator and by the bed: packets and the time go in, arrivals and a deadline come out.
//! Only this file defines the order of events at one time, what happens to a packet on its route, and the names of
//! the links' random streams.

use crate::delay_line::DelayLine;
use crate::fabric::{Fabric, Hop, Route};
use crate::packet_log::{Fate, PacketLog};
use crate::{Device, Link, LinkCounts, LinkId, NamedLink, NodeId, NotAccepted, Packet};
use loadstone_units::{Seed, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// A packet as a path carries it.
pub trait Carried: Packet {
    /// What a packet log keeps of it.
    type Head;

    /// That.
    fn head(&self) -> Self::Head;
}

/// The links and delays of a fabric with the packets in them.
///
/// Things of one time go in this order: the links as the fabric has them, of each the packets towards its first
/// end before those towards its second, then what was delayed, in the order in which it came.
#[derive(Debug)]
pub struct Path<P: Carried> {
    fabric: Arc<Fabric>,
    /// Of each link both directions, down first: in the order of [`LinkId`].
    links: Vec<Link<Transit<P>>>,
    delays: DelayLine<Transit<P>>,
    lost: VecDeque<LostPacket<P>>,
    log: Option<Box<PacketLog<P::Head>>>,
}

/// What happens next on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Due {
    /// When.
    pub at: Time,
    /// The index of the link that a packet leaves or whose queue is served; one past the last if a delay ends.
    index: usize,
}

/// A packet on its route.
#[derive(Clone, Copy, Debug)]
pub struct Transit<P> {
    /// The packet.
    pub packet: P,
    /// Its next hop.
    hop: u32,
}

impl<P> Transit<P> {
    /// A packet at the beginning of its route.
    #[inline]
    pub fn new(route: Route, packet: P) -> Transit<P> {
        Transit { packet, hop: route.0 }
    }
}

impl<P: Packet> Packet for Transit<P> {
    #[inline]
    fn len(&self) -> u32 {
        self.packet.len()
    }

    fn flow(&self) -> u32 {
        self.packet.flow()
    }
}

/// A packet that was lost at a link or dropped there.
#[derive(Clone, Debug)]
pub struct LostPacket<P> {
    /// The packet.
    pub packet: P,
    /// At which link.
    pub link: LinkId,
    /// Its number among those that came to this link in this direction, from 0.
    pub number: u64,
    /// When it would have been at its host with no further queue or loss.
    pub due: Time,
    /// [`Fate::Lost`] or [`Fate::Dropped`].
    pub fate: Fate,
}

impl<P: Carried> Path<P> {
    /// An idle path. Each direction of each link draws its losses from a stream of `seed` of its own:
    /// `NAME.down.loss` and `NAME.up.loss`, without `NAME.` for a link that has none. The first `noted` packets
    /// that come to any link are logged, if that is wanted.
    pub fn new(fabric: &Arc<Fabric>, seed: Seed, noted: Option<usize>) -> Path<P> {
        Path {
            fabric: fabric.clone(),
            links: fabric.links().iter().flat_map(|link| both_directions(link, seed)).collect(),
            delays: DelayLine::new(),
            lost: VecDeque::new(),
            log: noted.map(|limit| Box::new(PacketLog::new(limit))),
        }
    }

    /// The way from one node to another, for packets that were not planned; `None` if nothing joins
    /// them. Each call makes another route.
    pub fn add_route(&mut self, from: NodeId, to: NodeId) -> Option<Route> {
        Arc::make_mut(&mut self.fabric).add_route(from, to)
    }

    /// The links and delays.
    pub fn fabric(&self) -> &Arc<Fabric> {
        &self.fabric
    }

    /// A host sends a packet.
    #[inline]
    pub fn handle_packet(&mut self, now: Time, transit: Transit<P>) {
        self.forward(now, transit);
    }

    /// What happens next, and when; at [`Time::NEVER`] if nothing is underway.
    #[inline]
    pub fn next(&self) -> Due {
        let (pairs, _) = self.links.as_chunks();
        let mut next = Due { at: Time::NEVER, index: self.links.len() };
        for (pair, [down, up]) in pairs.iter().enumerate() {
            if down.next_due() < next.at {
                next = Due { at: down.next_due(), index: 2 * pair };
            }
            if up.next_due() < next.at {
                next = Due { at: up.next_due(), index: 2 * pair + 1 };
            }
        }
        if self.delays.next() < next.at { Due { at: self.delays.next(), index: self.links.len() } } else { next }
    }

    /// Lets the one thing happen that [`Path::next`] has named. A packet, if it is at its host with that.
    #[inline]
    pub fn advance(&mut self, due: Due) -> Option<Transit<P>> {
        // The same call twice, so that the packet is not moved to a common place first.
        match self.links.get_mut(due.index) {
            Some(link) => {
                if link.is_managed() {
                    return self.advance_managed(due);
                }
                let transit = link.poll_packet(due.at)?;
                self.pass_on(due.at, transit)
            }
            None => {
                let transit = self.delays.pop(due.at)?;
                self.pass_on(due.at, transit)
            }
        }
    }

    /// The same at a link that decides when its queue is served.
    #[inline(never)]
    fn advance_managed(&mut self, due: Due) -> Option<Transit<P>> {
        let id = LinkId(due.index as u32);
        let transit = self.link(id).poll_packet(due.at);
        self.note_decisions(id);
        self.pass_on(due.at, transit?)
    }

    /// A packet has passed a hop: it goes on, or is returned at its host.
    #[inline(always)]
    fn pass_on(&mut self, now: Time, transit: Transit<P>) -> Option<Transit<P>> {
        if matches!(self.fabric.hop_at(transit.hop), Hop::Host) {
            return Some(transit);
        }
        self.go_on(now, transit);
        None
    }

    #[inline(always)]
    fn link(&mut self, id: LinkId) -> &mut Link<Transit<P>> {
        &mut self.links[id.0 as usize]
    }

    /// A packet between two hops.
    #[inline(never)]
    fn go_on(&mut self, now: Time, transit: Transit<P>) {
        self.forward(now, transit);
    }

    /// A packet goes on to its next hop.
    #[inline(always)]
    fn forward(&mut self, now: Time, mut transit: Transit<P>) {
        let next = self.fabric.hop_at(transit.hop);
        transit.hop += 1;
        match next {
            Hop::Link(id) => self.enter_link(now, id, transit),
            Hop::Delay(nanos) => self.delays.handle_packet(now, nanos, transit),
            Hop::Host => unreachable!("at its host a packet goes no further"),
        }
    }

    #[inline(always)]
    fn enter_link(&mut self, now: Time, id: LinkId, transit: Transit<P>) {
        if self.log.is_some() {
            return self.enter_noting(now, id, transit);
        }
        let link = self.link(id);
        link.handle_packet(now, transit);
        if link.has_lost() {
            self.note_decisions(id);
        }
    }

    /// A packet arrives at a link and is logged, with its fate as soon as the link has decided it.
    #[cold]
    fn enter_noting(&mut self, now: Time, id: LinkId, transit: Transit<P>) {
        let (head, delay) = (transit.packet.head(), self.fabric.delay_at(transit.hop));
        let link = self.link(id);
        link.handle_packet(now, transit);
        let number = link.counts().packets - 1;
        let is_accepted = !link.is_managed() && !link.has_lost();
        let out = link.last_out().filter(|_| is_accepted);
        if let Some(log) = &mut self.log {
            log.note(now, (id, number), head, delay);
            if let Some(out) = out {
                log.decide(id, number, Fate::Delivered(out));
            }
        }
        self.note_decisions(id);
    }

    /// Notes what a link tells of its packets: which it lost or dropped, and when the others come out.
    #[cold]
    fn note_decisions(&mut self, id: LinkId) {
        let (link, log) = (&mut self.links[id.0 as usize], &mut self.log);
        let mut decide = |number, fate| {
            if let Some(log) = log {
                log.decide(id, number, fate);
            }
        };
        while let Some((number, out)) = link.poll_served() {
            decide(number, Fate::Delivered(out));
        }
        while let Some(NotAccepted { packet: Transit { packet, hop }, number, out, fate }) = link.poll_lost() {
            decide(number, fate);
            let due = out.plus_nanos(self.fabric.min_delay_from(hop));
            self.lost.push_back(LostPacket { packet, link: id, number, due, fate });
        }
    }

    /// Whether [`Path::poll_lost`] returns a packet: the cheaper test.
    #[inline]
    pub fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The next packet that was lost or dropped, in order. They are kept until they are polled.
    pub fn poll_lost(&mut self) -> Option<LostPacket<P>> {
        self.lost.pop_front()
    }

    /// What one direction of a link has met so far.
    pub fn counts(&self, id: LinkId) -> LinkCounts {
        self.links[id.0 as usize].counts()
    }

    /// All packets that are underway, by link, and then those that are being delayed. They are gone then.
    pub fn drain(&mut self) -> Vec<P> {
        let mut underway = Vec::new();
        for link in &mut self.links {
            underway.extend(link.drain().map(|transit| transit.packet));
        }
        underway.extend(std::iter::from_fn(|| self.delays.pop(Time::NEVER)).map(|transit| transit.packet));
        underway
    }

    /// Begins the log anew, if one is wanted.
    pub fn forget_log(&mut self) {
        self.log.iter_mut().for_each(|log| log.forget());
    }

    /// The log of a run that is over at `end`, if one was wanted.
    pub fn into_log(self, end: Time) -> Option<PacketLog<P::Head>> {
        let mut log = self.log?;
        log.end(end);
        Some(*log)
    }
}

fn both_directions<P: Packet>(link: &NamedLink, seed: Seed) -> [Link<P>; 2] {
    let NamedLink { name, network } = link;
    let prefix = if name.is_empty() { String::new() } else { format!("{name}.") };
    [Link::new(&network.down(), seed, &format!("{prefix}down")), Link::new(&network.up(), seed, &format!("{prefix}up"))]
}

#[cfg(test)]
mod tests;
