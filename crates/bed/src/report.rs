//! What the links saw of a run.

use crate::lateness::Lateness;
use crate::{BedHost, PacketHead};
use loadstone_net::{Fate, LinkCounts, LinkId, Logged, LostPacket};
use loadstone_units::Time;
use std::ops::Range;
use std::time::Duration;

/// What the links saw of a run, in the time of its clock.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// What passed each link in each direction, in the order of [`LinkId`]s.
    pub passages: Vec<LinkStats>,
    /// When each host sent its first packet: load times count from a browser's.
    pub departures: Vec<Option<Time>>,
    /// What came to each host.
    pub arrivals: Vec<Arrivals>,
    /// The TCP connections, in the order in which they were opened.
    pub connections: Vec<ConnectionReport>,
    /// When the run was finished.
    pub end: Time,
    /// How long the machine was paused, all in all. The clock stood meanwhile.
    pub paused: Duration,
    /// How often it was paused.
    pub pauses: u64,
    /// The longest pause.
    pub longest_pause: Duration,
    /// How long after they were due packets were delivered.
    pub lateness: Lateness,
    /// Whether the pump had real-time priority.
    pub priority: Scheduling,
    /// Packets that were no part of the run: of connections from before it, and what went to no host of the bed.
    pub unmatched: u64,
    /// The packets, as they entered the links, as many as were asked for.
    pub trace: Vec<LoggedPacket>,
    /// How many packets entered links after those.
    pub left_out: u64,
}

impl LinkReport {
    /// What passed a link in one direction.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn passage(&self, link: LinkId) -> &LinkStats {
        &self.passages[link.0 as usize]
    }

    /// What passed the first link towards its first end: in a star, towards the client.
    ///
    /// # Panics
    /// If there is no link.
    pub fn down(&self) -> &LinkStats {
        self.passage(LinkId(0))
    }

    /// What passed the first link towards its second end: in a star, towards the servers.
    ///
    /// # Panics
    /// If there is no link.
    pub fn up(&self) -> &LinkStats {
        self.passage(LinkId(1))
    }
}

/// With what priority the pump ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheduling {
    /// Before everything else.
    RealTime,
    /// Like any other thread: the system did not allow more. Packets are later.
    Ordinary,
}

/// What passed a link in one direction.
#[derive(Clone, Debug)]
pub struct LinkStats {
    /// What entered the link, and how much of it was lost and dropped.
    pub counts: LinkCounts,
    /// The packets that were lost and dropped, as they entered.
    pub lost: Vec<LostPacket<PacketHead>>,
}

/// What came to a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrivals {
    /// When the last packet was delivered.
    pub last: Option<Time>,
    /// When the last segment with data was delivered.
    pub last_data: Option<Time>,
}

/// A connection of a run. A client may use one port towards several servers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ConnectionKey {
    /// The host that opened it; if that was not seen, the one that was seen to send first.
    pub client: BedHost,
    /// The client's port.
    pub client_port: u16,
    /// Where it goes.
    pub server: BedHost,
    /// The server's port.
    pub server_port: u16,
}

/// What the links saw of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectionReport {
    /// Which one.
    pub connection: ConnectionKey,
    /// When its first SYN was sent; none if it was open before its first packet was seen.
    pub opened: Option<Time>,
    /// What the client sent.
    pub up: SentCounts,
    /// What the server sent.
    pub down: SentCounts,
    /// When the server missed something that had been lost on the way: ascending, not touching.
    pub stalls_up: Vec<Range<Time>>,
    /// When the client did.
    pub stalls_down: Vec<Range<Time>>,
}

/// How much one end of a connection sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SentCounts {
    /// All packets, lost ones included.
    pub packets: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// Segments with data or a FIN of which some part had been sent before.
    pub retransmissions: u64,
    /// SYNs that had been sent before, with or without an acknowledgement.
    pub syn_retransmissions: u64,
}

/// A packet as it entered a link, and what became of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoggedPacket {
    /// What it was.
    pub packet: PacketHead,
    /// Which link, in which direction.
    pub link: LinkId,
    /// When it entered the link.
    pub entered: Time,
    /// What became of it there.
    pub fate: Fate,
    /// When it was put into its host's namespace, if it came so far.
    pub written: Option<Time>,
}

impl LoggedPacket {
    /// What a path has logged of a packet; `written` has for each packet's number when it was.
    pub(crate) fn of(logged: Logged<PacketHead>, written: &[Option<Time>]) -> LoggedPacket {
        let Logged { entered, link, head: packet, fate } = logged;
        LoggedPacket { packet, link, entered, fate, written: written.get(packet.number).copied().flatten() }
    }
}
