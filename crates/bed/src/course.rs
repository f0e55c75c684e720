//! The course of the packets of one run: the access link, and beyond it the way to each server.
//!
//! A machine: it is given packets and the time, and says what is due where. The order of things is
//! that of the simulator's world, and so are the names of the random streams.

use crate::Host;
use crate::flow::Flow;
use crate::packet::Packet;
use crate::report::{Cause, Connection, ConnectionReport, Event, Fate, Lost, Passage};
use loadstone_net::{Detour, Device, Link, Network};
use loadstone_units::{Seed, Time};
use std::collections::BTreeMap;
use std::time::Duration;

/// A packet on its way.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub(crate) bytes: Box<[u8]>,
    packet: Packet,
    to: Host,
    connection: Connection,
    /// Where it stands in the trace, if it does.
    event: Option<usize>,
}

impl loadstone_net::Packet for Parcel {
    fn len(&self) -> u32 {
        self.packet.len
    }
}

impl Parcel {
    /// What `from` sends; nothing if it is no segment from there to a host with which it can have a
    /// connection. There are `servers` servers.
    pub(crate) fn read(from: Host, bytes: &[u8], servers: usize) -> Option<Parcel> {
        let packet = Packet::read(bytes)?;
        let to = Host::at(packet.destination).filter(|to| to.number() <= servers)?;
        if Host::at(packet.source) != Some(from) {
            return None;
        }
        let (server, client_port, server_port) = match (from, to) {
            (Host::Client, Host::Server(server)) => (server, packet.source_port, packet.destination_port),
            (Host::Server(server), Host::Client) => (server, packet.destination_port, packet.source_port),
            _ => return None,
        };
        let connection = Connection { client_port, server, server_port };
        Some(Parcel { bytes: bytes.into(), packet, to, connection, event: None })
    }

    /// Where it goes.
    pub(crate) fn to(&self) -> Host {
        self.to
    }

    /// Whether it opens a connection.
    fn opens(&self) -> bool {
        self.to != Host::Client && self.packet.flags.syn && !self.packet.flags.ack
    }
}

/// The course of the packets of one run.
#[derive(Debug)]
pub(crate) struct Course {
    /// What a packet takes between the access link and each server.
    one_ways: Vec<Duration>,
    down: Direction,
    up: Direction,
    /// Beyond the access link.
    beyond: Detour<Parcel>,
    /// The connections by their ports, and the place of each in the order of opening.
    known: BTreeMap<Connection, usize>,
    connections: Vec<(Connection, Time, Flow, Flow)>,
    first_syn: Option<Time>,
    trace: Vec<Event>,
    /// How many events are kept.
    trace_limit: usize,
}

/// One direction of the access link and what is noted of it.
#[derive(Debug)]
struct Direction {
    link: Link<Parcel>,
    passage: Passage,
}

/// What a course has to say when it is over.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) down: Passage,
    pub(crate) up: Passage,
    pub(crate) connections: Vec<ConnectionReport>,
    pub(crate) first_syn: Option<Time>,
    pub(crate) trace: Vec<Event>,
}

impl Course {
    /// The course through a network; `extra_rtts` are the servers' own, beyond it.
    pub(crate) fn new(network: &Network, extra_rtts: &[Duration], seed: Seed, trace_limit: usize) -> Course {
        let direction = |link| Direction { link, passage: Passage::default() };
        Course {
            one_ways: extra_rtts.iter().map(|rtt| *rtt / 2).collect(),
            down: direction(Link::new(&network.down(), seed.stream("down.loss"))),
            up: direction(Link::new(&network.up(), seed.stream("up.loss"))),
            beyond: Detour::new(),
            known: BTreeMap::new(),
            connections: Vec::new(),
            first_syn: None,
            trace: Vec::new(),
            trace_limit,
        }
    }

    /// A host sends a packet.
    ///
    /// # Errors
    /// The packet, if it is of a connection that was not opened on this course.
    pub(crate) fn handle_packet(&mut self, now: Time, parcel: Parcel) -> Result<(), Parcel> {
        if !self.known.contains_key(&parcel.connection) {
            if !parcel.opens() {
                return Err(parcel);
            }
            self.known.insert(parcel.connection, self.connections.len());
            self.connections.push((parcel.connection, now, Flow::default(), Flow::default()));
            self.first_syn = self.first_syn.or(Some(now));
        }
        let one_way = self.one_ways[parcel.connection.server];
        if parcel.to == Host::Client && !one_way.is_zero() {
            self.beyond.handle_packet(now, one_way, parcel);
        } else {
            self.enter_link(now, parcel);
        }
        Ok(())
    }

    /// A packet comes to the access link.
    fn enter_link(&mut self, now: Time, mut parcel: Parcel) {
        let is_down = parcel.to == Host::Client;
        self.flow(&parcel).handle_packet(&parcel.packet);
        parcel.event = (self.trace.len() < self.trace_limit).then_some(self.trace.len());
        if parcel.event.is_some() {
            self.trace.push(Event {
                to: parcel.to,
                connection: parcel.connection,
                entered: now,
                fate: Fate::Underway,
                packet: parcel.packet,
                sacks: Packet::sacks(&parcel.bytes),
            });
        }
        let direction = if is_down { &mut self.down } else { &mut self.up };
        let dropped = direction.link.counts().dropped;
        direction.link.handle_packet(now, parcel);
        let counts = direction.link.counts();
        // At most the one that has just come.
        if let Some((due, parcel)) = direction.link.poll_lost() {
            let cause = if counts.dropped > dropped { Cause::Queue } else { Cause::Loss };
            if let Some(at) = parcel.event {
                self.trace[at].fate = Fate::Lost(cause);
            }
            let rest = if is_down { Duration::ZERO } else { self.one_ways[parcel.connection.server] };
            direction.passage.lost.push(Lost {
                number: counts.packets - 1,
                connection: parcel.connection,
                entered: now,
                due: due + rest,
                cause,
                sequence: parcel.packet.sequence,
                numbers: parcel.packet.numbers(),
                flags: parcel.packet.flags,
            });
            self.flow(&parcel).handle_loss(&parcel.packet, due + rest);
        }
    }

    /// The direction of the connection to which a packet belongs.
    fn flow(&mut self, parcel: &Parcel) -> &mut Flow {
        let (_, _, up, down) = &mut self.connections[self.known[&parcel.connection]];
        if parcel.to == Host::Client { down } else { up }
    }

    /// When something is due; [`Time::NEVER`] if nothing is.
    pub(crate) fn next(&self) -> Time {
        let time = |direction: &Direction| direction.link.poll_timeout().unwrap_or(Time::NEVER);
        time(&self.down).min(time(&self.up)).min(self.beyond.next())
    }

    /// The next packet that is due at its host by `now`, and when it was.
    pub(crate) fn poll_packet(&mut self, now: Time) -> Option<(Time, Parcel)> {
        loop {
            let due = self.next();
            if due > now || due == Time::NEVER {
                return None;
            }
            // Things of one time go in the order in which the simulator takes them.
            if let Some(parcel) = self.down.link.poll_packet(due) {
                return Some((due, parcel));
            }
            if let Some(parcel) = self.up.link.poll_packet(due) {
                let one_way = self.one_ways[parcel.connection.server];
                if one_way.is_zero() {
                    return Some((due, parcel));
                }
                self.beyond.handle_packet(due, one_way, parcel);
            } else if let Some(parcel) = self.beyond.pop(due) {
                if parcel.to != Host::Client {
                    return Some((due, parcel));
                }
                self.enter_link(due, parcel);
            }
        }
    }

    /// A packet that was due has been delivered.
    pub(crate) fn note_delivery(&mut self, due: Time, written: Time, parcel: &Parcel) {
        let direction = if parcel.to == Host::Client { &mut self.down } else { &mut self.up };
        direction.passage.last = Some(written);
        if parcel.packet.payload > 0 {
            direction.passage.last_data = Some(written);
        }
        if let Some(at) = parcel.event {
            self.trace[at].fate = Fate::Delivered { due, written };
        }
        self.flow(parcel).handle_delivery(&parcel.packet, written);
    }

    /// Ends it at `now`: everything that it has noted, and the packets that are still under way.
    pub(crate) fn end(mut self, now: Time) -> (Record, Vec<Parcel>) {
        let mut underway = Vec::new();
        underway.extend(std::iter::from_fn(|| self.down.link.poll_packet(Time::NEVER)));
        underway.extend(std::iter::from_fn(|| self.up.link.poll_packet(Time::NEVER)));
        underway.extend(std::iter::from_fn(|| self.beyond.pop(Time::NEVER)));
        let close = |direction: Direction| Passage { counts: direction.link.counts(), ..direction.passage };
        let connections = self.connections.into_iter().map(|(connection, opened, up, down)| ConnectionReport {
            connection,
            opened,
            up: up.resent,
            down: down.resent,
            stalls_up: up.into_stalls(now),
            stalls_down: down.into_stalls(now),
        });
        let record = Record {
            down: close(self.down),
            up: close(self.up),
            connections: connections.collect(),
            first_syn: self.first_syn,
            trace: self.trace,
        };
        (record, underway)
    }
}

#[cfg(test)]
mod tests;
