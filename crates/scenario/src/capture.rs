//! The packets of one run, one by one, alike in both worlds.

use crate::{CongestionWindowAt, Plan, Transcript};
use loadstone_net::tcp::Repair;
use loadstone_net::tls::Tls;
use loadstone_net::{Fabric, Fate, LinkId, RouteEnds};
use loadstone_units::Time;
use std::fmt::{self, Write};
use std::ops::Range;

/// The columns of the table of a capture.
pub(crate) const COLUMNS: [&str; 12] =
    ["time_ms", "way", "connection", "host", "flags", "seq", "len", "ack", "sacks", "bytes", "fate", "due_ms"];
/// The second column where links have names.
pub(crate) const LINK: &str = "link";

/// The packets of a run in the order in which they came to its links.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Capture {
    /// The names of the run's links.
    pub links: Vec<String>,
    /// The index of the link nearest to the first browser.
    pub access_link: usize,
    /// The names of the run's hosts.
    pub hosts: Vec<String>,
    /// How many of the hosts are browsers; they come first.
    pub browsers: usize,
    /// The run's connections, in the order of opening.
    pub connections: Vec<CapturedConnection>,
    /// What the client and the server of each of them wrote; empty over the real kernel.
    pub transcripts: Vec<[Transcript; 2]>,
    /// The first ones, as many as were asked for.
    pub packets: Vec<Captured>,
    /// How many came after them.
    pub left_out: u64,
    /// The servers' congestion windows as they sent those packets; empty over the real kernel.
    pub windows: Vec<CongestionWindowAt>,
}

/// A connection of a run, and where its packets meet links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapturedConnection {
    /// The host that opened it: its place in [`Capture::hosts`].
    pub client: u32,
    /// The host to which it was opened.
    pub server: u32,
    /// The server's TCP port: 443 with TLS, else 80.
    pub server_port: u16,
    /// Its TLS.
    pub tls: Tls,
    /// The links at the ends of what its client sends; `None` if that meets no link.
    pub there: Option<RouteEnds>,
    /// The same of what its server sends.
    pub back: Option<RouteEnds>,
}

/// A packet as it came to a link. Sequence numbers are counted from the SYN's 0, so the first byte
/// is 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captured {
    /// When it came to the link, since the first SYN did.
    pub entered: Time,
    /// To which link, in which direction.
    pub link: LinkId,
    /// Its connection, by the order of opening.
    pub connection: u32,
    /// To which host the connection was opened: its place in [`Capture::hosts`].
    pub host: u32,
    /// The host that sent it.
    pub sender: u32,
    /// SYN, FIN, RST, ACK.
    pub flags: CapturedFlags,
    /// The number of its first byte of data, or of the SYN.
    pub seq: u64,
    /// Bytes of data.
    pub len: u32,
    /// The next number that its sender expects; of no meaning without [`CapturedFlags::ack`].
    pub ack: u64,
    /// What its sender has beyond that (RFC 2018).
    pub sacks: Vec<Range<u64>>,
    /// The number after a segment that its sender has got twice (RFC 2883); 0 if there is none.
    pub dsack_end: u64,
    /// The receive window: how many bytes beyond `ack` its sender takes, after scaling (RFC 7323, section 2).
    pub window: u32,
    /// Its timestamps; `None` if it has none.
    pub timestamps: Option<Timestamps>,
    /// Bytes of the whole packet.
    pub bytes: u32,
    /// Why it was sent, if to repair a loss; `None` for all packets of the real kernel, which does not say it.
    pub repair: Option<Repair>,
    /// What became of it.
    pub fate: Fate,
}

/// The timestamps of a segment (RFC 7323), in ms: of the simulated clock from 1 on, or of the kernel's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timestamps {
    /// TSval: when it was sent.
    pub val: u32,
    /// TSecr: the timestamp that it echoes; 0 if none.
    pub ecr: u32,
}

/// The flags of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CapturedFlags {
    /// It opens a connection.
    pub syn: bool,
    /// Its sender sends nothing after it.
    pub fin: bool,
    /// It breaks a connection off.
    pub rst: bool,
    /// It acknowledges.
    pub ack: bool,
}

impl Capture {
    /// No packets yet of a plan's run.
    pub fn new(plan: &Plan) -> Capture {
        let links = plan.fabric().links().iter().map(|link| link.name.clone()).collect();
        let hosts = plan.hosts().iter().map(|host| host.name.clone()).collect();
        let (access_link, browsers) = (plan.access_link(0).link(), plan.browsers());
        Capture { links, access_link, hosts, browsers, ..Capture::default() }
    }

    /// The links at the ends of a packet's route; `None` if they are not known.
    pub(crate) fn route_ends(&self, packet: &Captured) -> Option<RouteEnds> {
        let connection = self.connections.get(packet.connection as usize)?;
        if packet.sender == connection.client { connection.there } else { connection.back }
    }

    /// A table in CSV, times in ms, the same for the same packets to the last byte. Where links have names, a
    /// column says which one it was.
    pub fn csv(&self) -> String {
        let has_names = self.links.iter().any(|name| !name.is_empty());
        let mut columns = COLUMNS.to_vec();
        if has_names {
            columns.insert(1, LINK);
        }
        let mut table = columns.join(",") + "\n";
        for packet in &self.packets {
            let host = quoted(&self.hosts[packet.host as usize]);
            let link = has_names.then(|| quoted(&self.links[packet.link.link()]));
            writeln!(table, "{}", CsvLine { packet, host: &host, link }).expect("a text takes what is written");
        }
        table
    }
}

impl CapturedConnection {
    /// A connection between two of a plan's hosts, in a run with these links and delays.
    pub fn new(plan: &Plan, fabric: &Fabric, client: usize, server: usize) -> CapturedConnection {
        let way = plan.hosts().get(client).and_then(|host| host.ways.iter().find(|way| way.to == server));
        CapturedConnection {
            client: client as u32,
            server: server as u32,
            server_port: if way.is_some_and(|way| way.tls != Tls::None) { 443 } else { 80 },
            tls: way.map_or(Tls::None, |way| way.tls),
            there: way.and_then(|way| fabric.route_ends(way.there)),
            back: way.and_then(|way| fabric.route_ends(way.back)),
        }
    }
}

/// A packet as a line of the table, less its end.
struct CsvLine<'a> {
    packet: &'a Captured,
    host: &'a str,
    link: Option<String>,
}

impl fmt::Display for CsvLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CsvLine { packet, host, link } = self;
        let way = if packet.link.is_down() { "down" } else { "up" };
        write!(f, "{},", Ms(packet.entered))?;
        if let Some(link) = link {
            write!(f, "{link},")?;
        }
        write!(f, "{way},{},{host},", packet.connection)?;
        write!(f, "{},{},{},", packet.flags, packet.seq, packet.len)?;
        if packet.flags.ack {
            write!(f, "{}", packet.ack)?;
        }
        f.write_char(',')?;
        packet.write_sacks(f)?;
        write!(f, ",{},", packet.bytes)?;
        match packet.fate {
            Fate::Delivered(due) => write!(f, "delivered,{}", Ms(due)),
            Fate::Lost => f.write_str("loss,"),
            Fate::Dropped => f.write_str("queue,"),
            Fate::Underway => f.write_str("underway,"),
        }
    }
}

impl Captured {
    /// Writes what has arrived out of order, and the end of what arrived twice as `..END` before it.
    fn write_sacks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut gap = "";
        if self.dsack_end > 0 {
            write!(f, "..{}", self.dsack_end)?;
            gap = " ";
        }
        for block in &self.sacks {
            write!(f, "{gap}{}..{}", block.start, block.end)?;
            gap = " ";
        }
        Ok(())
    }
}

impl fmt::Display for CapturedFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = [(self.syn, 'S'), (self.fin, 'F'), (self.rst, 'R'), (self.ack, 'A')];
        flags.into_iter().filter(|(is_set, _)| *is_set).try_for_each(|(_, letter)| f.write_char(letter))
    }
}

/// Milliseconds with all their nanoseconds: no rounding, so that equal times are equal text.
struct Ms(Time);

impl fmt::Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        write!(f, "{}.{:06}", nanos / 1_000_000, nanos % 1_000_000)
    }
}

/// A field of CSV (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_a_line() {
        let at = Time::from_nanos;
        let ack = CapturedFlags { ack: true, ..CapturedFlags::default() };
        let data = Captured {
            entered: at(100_600_000),
            link: LinkId(0),
            connection: 0,
            host: 0,
            sender: 0,
            flags: ack,
            seq: 1449,
            len: 1448,
            ack: 79,
            sacks: Vec::new(),
            dsack_end: 0,
            window: 65_535,
            timestamps: None,
            bytes: 1500,
            repair: None,
            fate: Fate::Delivered(at(151_800_001)),
        };
        let syn = Captured {
            entered: Time::ZERO,
            link: LinkId(1),
            flags: CapturedFlags { syn: true, ..CapturedFlags::default() },
            bytes: 60,
            fate: Fate::Lost,
            ..Captured { seq: 0, len: 0, ack: 0, ..data.clone() }
        };
        let sacks = vec![2897..4345, 7241..8689];
        let sack = Captured { link: LinkId(1), host: 1, connection: 3, len: 0, sacks, dsack_end: 1449, ..data.clone() };
        let fin = Captured { flags: CapturedFlags { fin: true, ..ack }, fate: Fate::Dropped, ..data.clone() };
        let late = Captured { fate: Fate::Underway, ..data.clone() };
        let (links, hosts) = (vec![String::new()], ["a.test", "b,c.test"].map(str::to_owned).to_vec());
        let capture = Capture { links, hosts, packets: vec![syn, data, sack, fin, late], ..Capture::default() };
        let lines = [
            "time_ms,way,connection,host,flags,seq,len,ack,sacks,bytes,fate,due_ms",
            "0.000000,up,0,a.test,S,0,0,,,60,loss,",
            "100.600000,down,0,a.test,A,1449,1448,79,,1500,delivered,151.800001",
            "100.600000,up,3,\"b,c.test\",A,1449,0,79,..1449 2897..4345 7241..8689,1500,delivered,151.800001",
            "100.600000,down,0,a.test,FA,1449,1448,79,,1500,queue,",
            "100.600000,down,0,a.test,A,1449,1448,79,,1500,underway,",
        ];
        assert_eq!(capture.csv(), lines.map(|line| format!("{line}\n")).concat());
        let named = Capture { links: vec!["access".to_owned()], ..capture };
        assert!(
            named.csv().starts_with("time_ms,link,way,") && named.csv().contains("\n0.000000,access,up,0,a.test,S,")
        );
    }
}
