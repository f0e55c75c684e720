//! The packets of one run on their way between the hosts, and what is noted of them.
//!
//! A machine: it is given packets and the time, and says what is due where. What befalls a packet on its way, and
//! in which order, is the [`Path`]'s; what packets tell of connections is that of [`Flows`].

use crate::BedHost;
use crate::flows::{Flows, Older};
use crate::parcel::{Datagram, PacketHead};
use crate::report::{Arrivals, ConnectionReport, LinkStats, LoggedPacket};
use crate::tap::Tap;
use loadstone_net::{Carried, Fabric, LinkId, LostPacket, NodeId, Path, Route, Transit};
use loadstone_units::{Seed, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What joins the hosts of a run.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) fabric: Arc<Fabric>,
    /// The place of each host.
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) seed: Seed,
    /// How many packets are kept, if any are.
    pub(crate) noted: Option<usize>,
    /// Who is given what one host sends and gets.
    pub(crate) tap: Option<Tap>,
}

/// The packets of one run.
#[derive(Debug)]
pub(crate) struct Journey {
    path: Path<Datagram>,
    /// How many links there are.
    links: usize,
    nodes: Vec<NodeId>,
    /// From host to host; none where nothing joins them.
    routes: BTreeMap<(BedHost, BedHost), Option<Route>>,
    flows: Flows,
    lost: Vec<LostPacket<PacketHead>>,
    departures: Vec<Option<Time>>,
    arrivals: Vec<Arrivals>,
    /// How many packets were sent.
    sent: usize,
    /// For each packet's number when it was delivered, where packets are kept.
    written: Option<Vec<Option<Time>>>,
}

/// A packet that is no part of the run.
#[derive(Debug)]
pub(crate) enum Stray {
    /// It belongs to a connection from before the run, and is handed back.
    Older(Datagram),
    /// Nothing joins its hosts.
    Nowhere,
}

/// What a journey has to say when it is over.
#[derive(Debug)]
pub(crate) struct JourneyLog {
    pub(crate) passages: Vec<LinkStats>,
    pub(crate) departures: Vec<Option<Time>>,
    pub(crate) arrivals: Vec<Arrivals>,
    pub(crate) connections: Vec<ConnectionReport>,
    pub(crate) trace: Vec<LoggedPacket>,
    pub(crate) left_out: u64,
    /// The packets that have not arrived.
    pub(crate) underway: Vec<Datagram>,
    /// What the next run has to know of connections.
    pub(crate) flows: Flows,
}

impl Journey {
    /// No packet is on its way yet; `flows` knows what was there before.
    pub(crate) fn new(layout: Layout, flows: Flows) -> Journey {
        let Layout { fabric, nodes, seed, noted, tap: _ } = layout;
        Journey {
            path: Path::new(&fabric, seed, noted),
            links: fabric.links().len(),
            departures: vec![None; nodes.len()],
            arrivals: vec![Arrivals::default(); nodes.len()],
            nodes,
            routes: BTreeMap::new(),
            flows,
            lost: Vec::new(),
            sent: 0,
            written: noted.map(|_| Vec::new()),
        }
    }

    /// A host sends a packet.
    ///
    /// # Errors
    /// If it is no part of the run.
    pub(crate) fn handle_packet(&mut self, now: Time, mut parcel: Datagram) -> Result<(), Stray> {
        let route = self.route(parcel.from, parcel.to).ok_or(Stray::Nowhere)?;
        match self.flows.handle_packet(now, &parcel) {
            Ok(connection) => parcel.connection = connection,
            Err(Older) => return Err(Stray::Older(parcel)),
        }
        self.departures[parcel.from.0].get_or_insert(now);
        parcel.number = self.sent;
        self.sent += 1;
        self.path.handle_packet(now, Transit::new(route, parcel));
        self.note_losses();
        Ok(())
    }

    fn route(&mut self, from: BedHost, to: BedHost) -> Option<Route> {
        let Journey { path, nodes, .. } = self;
        *self.routes.entry((from, to)).or_insert_with(|| path.add_route(nodes[from.0], nodes[to.0]))
    }

    fn note_losses(&mut self) {
        while let Some(LostPacket { packet, link, number, due, fate }) = self.path.poll_lost() {
            self.flows.handle_loss(&packet, due);
            self.lost.push(LostPacket { packet: packet.head(), link, number, due, fate });
        }
    }

    /// When something is due; [`Time::NEVER`] if nothing is.
    pub(crate) fn next(&self) -> Time {
        self.path.next().at
    }

    /// The next packet that is due at its host by `now`, and when it was.
    pub(crate) fn poll_packet(&mut self, now: Time) -> Option<(Time, Datagram)> {
        loop {
            let due = self.path.next();
            if due.at > now || due.at == Time::NEVER {
                return None;
            }
            let arrived = self.path.advance(due);
            self.note_losses();
            if let Some(arrived) = arrived {
                return Some((due.at, arrived.packet));
            }
        }
    }

    /// A packet that was due is delivered.
    pub(crate) fn note_delivery(&mut self, now: Time, parcel: &Datagram) {
        let arrivals = &mut self.arrivals[parcel.to.0];
        arrivals.last = Some(now);
        if parcel.segment.is_some_and(|segment| segment.payload > 0) {
            arrivals.last_data = Some(now);
        }
        if let Some(written) = &mut self.written {
            written.resize(written.len().max(parcel.number + 1), None);
            written[parcel.number] = Some(now);
        }
        self.flows.handle_delivery(parcel, now);
    }

    /// Ends it at `now`.
    pub(crate) fn end(mut self, now: Time) -> JourneyLog {
        let connections = self.flows.end(now);
        let directions = (0..2 * self.links as u32).map(LinkId);
        let passage = |link| LinkStats { counts: self.path.counts(link), lost: Vec::new() };
        let mut passages: Vec<LinkStats> = directions.map(passage).collect();
        for lost in self.lost {
            passages[lost.link.0 as usize].lost.push(lost);
        }
        let underway = self.path.drain();
        let (mut trace, mut left_out) = (Vec::new(), 0);
        if let Some(log) = self.path.into_log(now) {
            let written = self.written.unwrap_or_default();
            trace.extend(log.packets.into_iter().map(|logged| LoggedPacket::of(logged, &written)));
            left_out = log.left_out;
        }
        let (departures, arrivals, flows) = (self.departures, self.arrivals, self.flows);
        JourneyLog { passages, departures, arrivals, connections, trace, left_out, underway, flows }
    }
}

#[cfg(test)]
mod tests;
