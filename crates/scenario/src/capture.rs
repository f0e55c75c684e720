//! The packets of one run, one by one, alike in both worlds.

use loadstone_load::page::{HostId, Page};
use loadstone_units::Time;
use std::fmt::{self, Write};
use std::ops::Range;

/// The packets of a run in the order in which they came to the access link.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Capture {
    /// The first ones, as many as were asked for.
    pub packets: Vec<Captured>,
    /// How many came after them.
    pub left_out: u64,
}

/// A packet as it came to the access link. Sequence numbers are counted from the SYN's 0, so the first byte
/// is 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captured {
    /// When it came to the link, since the first SYN did.
    pub entered: Time,
    /// Where it goes.
    pub way: Way,
    /// Its connection, by the order of opening.
    pub connection: u32,
    /// The server of that connection.
    pub host: HostId,
    /// SYN, FIN, RST, ACK.
    pub flags: Flags,
    /// The number of its first byte of data, or of the SYN.
    pub seq: u64,
    /// Bytes of data.
    pub len: u32,
    /// The next number that its sender expects; of no meaning without [`Flags::ack`].
    pub ack: u64,
    /// What its sender has beyond that (RFC 2018).
    pub sacks: Vec<Range<u64>>,
    /// The number after a segment that its sender has got twice (RFC 2883); 0 if there is none.
    pub duplicate: u64,
    /// Bytes of the whole packet.
    pub bytes: u32,
    /// What became of it.
    pub fate: Fate,
}

/// Where a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// To the client.
    Down,
    /// To a server.
    Up,
}

/// The flags of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags {
    /// It opens a connection.
    pub syn: bool,
    /// Its sender sends nothing after it.
    pub fin: bool,
    /// It breaks a connection off.
    pub rst: bool,
    /// It acknowledges.
    pub ack: bool,
}

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It was there at this time, by the link's arithmetic.
    Delivered(Time),
    /// Chance took it.
    Lost,
    /// The queue was full.
    Dropped,
    /// The run was over before it was there.
    Underway,
}

impl Capture {
    /// A table in CSV, times in ms, the same for the same packets to the last byte.
    pub fn csv(&self, page: &Page) -> String {
        let mut table = "time_ms,way,connection,host,flags,seq,len,ack,sacks,bytes,fate,due_ms\n".to_owned();
        for packet in &self.packets {
            let host = quoted(&page.hosts[packet.host.0 as usize].name);
            writeln!(table, "{}", Line { packet, host: &host }).expect("a text takes what is written");
        }
        table
    }
}

/// A packet as a line of the table, less its end.
struct Line<'a> {
    packet: &'a Captured,
    host: &'a str,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line { packet, host } = self;
        let way = match packet.way {
            Way::Down => "down",
            Way::Up => "up",
        };
        write!(f, "{},{way},{},{host},", Ms(packet.entered), packet.connection)?;
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
        if self.duplicate > 0 {
            write!(f, "..{}", self.duplicate)?;
            gap = " ";
        }
        for block in &self.sacks {
            write!(f, "{gap}{}..{}", block.start, block.end)?;
            gap = " ";
        }
        Ok(())
    }
}

impl fmt::Display for Flags {
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
    use loadstone_load::page::PageFile;

    #[test]
    fn a_packet_is_a_line() {
        let page = br#"{"objects": [{"url": "http://a.test/", "bytes": 1}, {"url": "http://b,c.test/", "bytes": 1}]}"#;
        let page = PageFile::from_json(page).unwrap().build().unwrap();
        let at = Time::from_nanos;
        let ack = Flags { ack: true, ..Flags::default() };
        let data = Captured {
            entered: at(100_600_000),
            way: Way::Down,
            connection: 0,
            host: HostId(0),
            flags: ack,
            seq: 1449,
            len: 1448,
            ack: 79,
            sacks: Vec::new(),
            duplicate: 0,
            bytes: 1500,
            fate: Fate::Delivered(at(151_800_001)),
        };
        let syn = Captured {
            entered: Time::ZERO,
            way: Way::Up,
            flags: Flags { syn: true, ..Flags::default() },
            bytes: 60,
            fate: Fate::Lost,
            ..Captured { seq: 0, len: 0, ack: 0, ..data.clone() }
        };
        let sacks = vec![2897..4345, 7241..8689];
        let sack =
            Captured { way: Way::Up, host: HostId(1), connection: 3, len: 0, sacks, duplicate: 1449, ..data.clone() };
        let fin = Captured { flags: Flags { fin: true, ..ack }, fate: Fate::Dropped, ..data.clone() };
        let late = Captured { fate: Fate::Underway, ..data.clone() };
        let capture = Capture { packets: vec![syn, data, sack, fin, late], left_out: 0 };
        let lines = [
            "time_ms,way,connection,host,flags,seq,len,ack,sacks,bytes,fate,due_ms",
            "0.000000,up,0,a.test,S,0,0,,,60,loss,",
            "100.600000,down,0,a.test,A,1449,1448,79,,1500,delivered,151.800001",
            "100.600000,up,3,\"b,c.test\",A,1449,0,79,..1449 2897..4345 7241..8689,1500,delivered,151.800001",
            "100.600000,down,0,a.test,FA,1449,1448,79,,1500,queue,",
            "100.600000,down,0,a.test,A,1449,1448,79,,1500,underway,",
        ];
        assert_eq!(capture.csv(&page), lines.map(|line| format!("{line}\n")).concat());
    }
}
