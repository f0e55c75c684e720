//! What the links saw of a run.

use crate::Host;
use crate::lateness::Lateness;
use crate::packet::{Flags, Packet, Sacks};
use loadstone_net::LinkCounts;
use loadstone_units::Time;
use std::ops::Range;
use std::time::Duration;

/// What the links saw of a run, in the time of its clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkReport {
    /// Towards the client.
    pub down: Passage,
    /// Towards the servers.
    pub up: Passage,
    /// The connections, in the order in which they were opened.
    pub connections: Vec<ConnectionReport>,
    /// When the first SYN entered the link: load times count from here.
    pub first_syn: Option<Time>,
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
    pub priority: Priority,
    /// Packets that were no part of the run: of other protocols, or of connections from before it.
    pub strays: u64,
    /// The packets, as they entered the links, as many as were asked for.
    pub trace: Vec<Event>,
}

/// With what priority the pump ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
    /// Before everything else.
    RealTime,
    /// Like any other thread: the system did not allow more. Packets are later.
    Ordinary,
}

/// What passed in one direction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Passage {
    /// What entered the link, and how much of it was lost and dropped.
    pub counts: LinkCounts,
    /// When the last packet was delivered.
    pub last: Option<Time>,
    /// When the last packet with data was delivered.
    pub last_data: Option<Time>,
    /// The packets that were lost and dropped, as they entered.
    pub lost: Vec<Lost>,
}

/// A connection of a run. A client may use one port towards several servers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Connection {
    /// The client's port.
    pub client_port: u16,
    /// Which server it goes to.
    pub server: usize,
    /// The server's port.
    pub server_port: u16,
}

/// What the links saw of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectionReport {
    /// Which one.
    pub connection: Connection,
    /// When its first SYN entered the link.
    pub opened: Time,
    /// What the client sent again.
    pub up: Resent,
    /// What the server sent again.
    pub down: Resent,
    /// When the server missed something that had been lost on the way: ascending, not touching.
    pub stalls_up: Vec<Range<Time>>,
    /// When the client did.
    pub stalls_down: Vec<Range<Time>>,
}

/// What one end of a connection sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Resent {
    /// Segments with data or a FIN of which some part had been sent before.
    pub retransmissions: u64,
    /// SYNs that had been sent before, with or without an acknowledgement.
    pub syn_retransmissions: u64,
}

/// A packet that was lost or dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost {
    /// Its number among those that entered the link in this direction, from 0.
    pub number: u64,
    /// Whose it was.
    pub connection: Connection,
    /// When it entered the link.
    pub entered: Time,
    /// When it would have been delivered.
    pub due: Time,
    /// Why it was not.
    pub cause: Cause,
    /// Its sequence number.
    pub sequence: u32,
    /// How many numbers it took, from there on: its data, SYN and FIN.
    pub numbers: u32,
    /// What kind of segment it was.
    pub flags: Flags,
}

/// Why a packet did not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// Chance.
    Loss,
    /// The queue was full.
    Queue,
}

/// What became of one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Where it goes.
    pub to: Host,
    /// Whose it is.
    pub connection: Connection,
    /// When it entered the link.
    pub entered: Time,
    /// What became of it.
    pub fate: Fate,
    /// Its headers.
    pub packet: Packet,
    /// Its SACK blocks.
    pub sacks: Sacks,
}

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It was on its way when the run ended.
    Underway,
    /// It was lost or dropped.
    Lost(Cause),
    /// It was delivered.
    Delivered {
        /// When it was due.
        due: Time,
        /// When it was put into the host's namespace.
        written: Time,
    },
}
