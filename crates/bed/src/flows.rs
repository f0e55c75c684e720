//! What the packets tell of TCP's connections: when each was opened, what is sent again, when a receiver missed
//! something, and which connections are older than the run.
//!
//! A machine: it is told what hosts send, what is lost and what is delivered. It knows of no link.

use crate::BedHost;
use crate::flow::Flow;
use crate::packet::TcpPacket;
use crate::parcel::Datagram;
use crate::report::{ConnectionKey, ConnectionReport};
use loadstone_units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// The hosts and ports of both ends of a connection, the lower one first.
type Ends = [(BedHost, u16); 2];

/// The connections of a run, and those from before it.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    /// The place of each connection of the run among [`Flows::connections`].
    known: BTreeMap<Ends, usize>,
    /// In the order in which they were first seen.
    connections: Vec<SeenConnection>,
    /// What was seen between runs and in earlier ones.
    older: BTreeSet<Ends>,
}

/// A connection of the run.
#[derive(Debug)]
struct SeenConnection {
    connection: ConnectionKey,
    opened: Option<Time>,
    up: Flow,
    down: Flow,
}

/// A packet belongs to a connection from before the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Older;

impl Flows {
    /// A host sends a packet between runs.
    pub(crate) fn handle_between_runs(&mut self, parcel: &Datagram) {
        if let Some(segment) = &parcel.segment {
            self.older.insert(ends(parcel, segment));
        }
    }

    /// A host sends a packet in a run: the place of its connection among those of the run, if it has one.
    ///
    /// # Errors
    /// If it belongs to a connection from before the run.
    pub(crate) fn handle_packet(&mut self, now: Time, parcel: &Datagram) -> Result<Option<usize>, Older> {
        let Some(segment) = &parcel.segment else { return Ok(None) };
        let ends = ends(parcel, segment);
        let opens = segment.flags.syn && !segment.flags.ack;
        if opens {
            self.older.remove(&ends);
        } else if self.older.contains(&ends) {
            return Err(Older);
        }
        let known = self.known.get(&ends).copied();
        // Where it was seen without its beginning, one that begins on these ports is another.
        let known = known.filter(|at| !opens || self.connections[*at].opened.is_some());
        let at = known.unwrap_or_else(|| {
            self.known.insert(ends, self.connections.len());
            self.connections.push(SeenConnection::new(now, parcel, segment));
            self.connections.len() - 1
        });
        self.connections[at].towards(parcel.to).handle_packet(segment);
        Ok(Some(at))
    }

    /// A packet of the run is lost that would have been at its host at `due`.
    pub(crate) fn handle_loss(&mut self, parcel: &Datagram, due: Time) {
        if let (Some(at), Some(segment)) = (parcel.connection, &parcel.segment) {
            self.connections[at].towards(parcel.to).handle_loss(segment, due);
        }
    }

    /// A packet of the run has been delivered.
    pub(crate) fn handle_delivery(&mut self, parcel: &Datagram, now: Time) {
        if let (Some(at), Some(segment)) = (parcel.connection, &parcel.segment) {
            self.connections[at].towards(parcel.to).handle_delivery(segment, now);
        }
    }

    /// The run ends at `now`: its connections, which are older than the next one.
    pub(crate) fn end(&mut self, now: Time) -> Vec<ConnectionReport> {
        self.older.extend(std::mem::take(&mut self.known).into_keys());
        std::mem::take(&mut self.connections).into_iter().map(|seen| seen.into_report(now)).collect()
    }
}

impl SeenConnection {
    /// The connection of a packet, the first that was seen of it.
    fn new(now: Time, parcel: &Datagram, segment: &TcpPacket) -> SeenConnection {
        let TcpPacket { source_port, destination_port, flags, .. } = *segment;
        let (sender, receiver) = ((parcel.from, source_port), (parcel.to, destination_port));
        // A SYN-ACK comes from the server; of a connection that was open already the opener is not known.
        let (client, server) = if flags.syn && flags.ack { (receiver, sender) } else { (sender, receiver) };
        let ((client, client_port), (server, server_port)) = (client, server);
        let opened = (flags.syn && !flags.ack).then_some(now);
        let connection = ConnectionKey { client, client_port, server, server_port };
        SeenConnection { connection, opened, up: Flow::default(), down: Flow::default() }
    }

    /// The direction towards one of its hosts.
    fn towards(&mut self, host: BedHost) -> &mut Flow {
        if host == self.connection.client { &mut self.down } else { &mut self.up }
    }

    fn into_report(self, now: Time) -> ConnectionReport {
        let SeenConnection { connection, opened, up, down } = self;
        ConnectionReport {
            connection,
            opened,
            up: up.sent,
            down: down.sent,
            stalls_up: up.into_stalls(now),
            stalls_down: down.into_stalls(now),
        }
    }
}

fn ends(parcel: &Datagram, segment: &TcpPacket) -> Ends {
    let mut ends = [(parcel.from, segment.source_port), (parcel.to, segment.destination_port)];
    ends.sort_unstable();
    ends
}

#[cfg(test)]
mod tests;
