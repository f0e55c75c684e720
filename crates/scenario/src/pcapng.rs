//! A capture as a file for Wireshark, tcpdump and tcptrace: pcapng (draft-ietf-opsawg-pcapng), with headers as they stand
//! in packets, and what the laboratory knows of each packet as a comment.

mod headers;

use crate::hosts::address;
use crate::{Capture, CapturePoint, Captured, Repetition};
use core::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use headers::{Addressing, headers, window_shift};
use loadstone_net::Fate;
use loadstone_net::tcp::{LossDetection, Repair};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::name_resolution::{Ipv4Record, NameResolutionBlock, Record};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

/// When every run begins by the clock of its file: 2000-01-01 00:00 UTC, so that equal runs are equal bytes.
const EPOCH: Duration = Duration::from_secs(946_684_800);
/// Times are in 10⁻⁹ s (`if_tsresol`).
const NANOSECONDS: u8 = 9;
/// The maximum of bytes that are kept of a packet, if nothing else is asked for: as tcpdump has it, all of it.
pub const SNAP_LENGTH: u32 = 262_144;
/// The ports of clients, in the order of their connections: those of Linux.
const CLIENT_PORTS: std::ops::Range<u16> = 32_768..61_000;

impl Capture {
    /// Writes the packets that are seen at a point as pcapng, in the order of time: one interface, the names of hosts,
    /// nanoseconds, and of each packet `snap_length` bytes at most. The same capture gives the same bytes.
    ///
    /// The data are what was written: heads and frames; bodies and what TLS encrypts are zeros. Of the real kernel's packets
    /// there are only the headers. A packet has a comment if it repairs a loss, repeats what was sent before, or does not
    /// arrive.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn write_pcapng(&self, point: CapturePoint, snap_length: u32, to: impl io::Write) -> io::Result<()> {
        self.write_blocks(point, snap_length, to).map_err(|error| match error {
            PcapError::IoError(error) => error,
            other => io::Error::other(other.to_string()),
        })
    }

    fn write_blocks(&self, point: CapturePoint, snap_length: u32, to: impl io::Write) -> Result<(), PcapError> {
        let mut writer = PcapNgWriter::with_section_header(to, self.section())?;
        writer.write_pcapng_block(interface(point, snap_length))?;
        writer.write_pcapng_block(self.names())?;
        let notes = PacketNotes::of(self);
        for sighting in self.sightings(point, EPOCH) {
            let packet = &self.packets[sighting.packet];
            let options = notes.comment(self, sighting.packet).map(|text| EnhancedPacketOption::Comment(text.into()));
            let payload = self.payload(packet);
            let mut data = headers(packet, payload.as_deref(), &notes.addressing(self, sighting.packet));
            data.extend(payload.into_iter().flatten());
            data.truncate(snap_length as usize);
            writer.write_pcapng_block(EnhancedPacketBlock {
                interface_id: 0,
                timestamp: sighting.at,
                original_len: packet.bytes,
                data: data.into(),
                options: options.into_iter().collect(),
            })?;
        }
        writer.into_inner().flush().map_err(PcapError::IoError)
    }

    /// A packet's data, if they are known.
    fn payload(&self, packet: &Captured) -> Option<Vec<u8>> {
        let said = self.transcripts.get(packet.connection as usize)?;
        let connection = &self.connections[packet.connection as usize];
        let said = &said[usize::from(packet.sender != connection.client)];
        Some(said.bytes(connection.tls, packet.seq..packet.seq + u64::from(packet.len)))
    }

    fn section(&self) -> SectionHeaderBlock<'static> {
        let mut options = vec![SectionHeaderOption::UserApplication("Loadstone".into())];
        if self.left_out > 0 {
            let (kept, more) = (self.packets.len(), self.left_out);
            options.push(SectionHeaderOption::Comment(format!("the first {kept} packets; {more} more came").into()));
        }
        SectionHeaderBlock { endianness: Endianness::Little, options, ..SectionHeaderBlock::default() }
    }

    fn names(&self) -> NameResolutionBlock<'_> {
        let record = |(host, name): (usize, &String)| {
            let name = Cow::Owned(name.clone());
            Record::Ipv4(Ipv4Record { ip_addr: host_address(host as u32).octets().to_vec().into(), names: vec![name] })
        };
        NameResolutionBlock { records: self.hosts.iter().enumerate().map(record).collect(), options: Vec::new() }
    }
}

fn interface(point: CapturePoint, snaplen: u32) -> InterfaceDescriptionBlock<'static> {
    let described = match point {
        CapturePoint::Client => "the browsers' end of their connections",
        CapturePoint::Server => "the servers' end of all connections",
        CapturePoint::Link => "the entry of the access link, both directions",
    };
    let options = vec![
        InterfaceDescriptionOption::IfName(point.name().into()),
        InterfaceDescriptionOption::IfDescription(described.into()),
        InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
    ];
    InterfaceDescriptionBlock { linktype: DataLink::RAW, snaplen, options }
}

/// The address of a host, which a bed gives it as well.
fn host_address(host: u32) -> Ipv4Addr {
    match address(host as usize) {
        IpAddr::V4(address) => address,
        IpAddr::V6(_) => unreachable!("hosts have addresses of IPv4"),
    }
}

/// What is known of the packets of a capture beyond each by itself.
struct PacketNotes {
    /// Where each came to the first link of its route.
    departures: Vec<usize>,
    /// What becomes of each in the end, by that place.
    fates: Vec<Fate>,
    repetitions: Vec<Repetition>,
    /// The identification of each IP packet, by that place: counted on each side of each connection.
    ids: Vec<u16>,
    /// The first number of each segment with data, by connection, sender and the number after its last.
    starts: BTreeMap<(u32, u32, u64), u64>,
    window_shift: u8,
}

impl PacketNotes {
    fn of(capture: &Capture) -> PacketNotes {
        let departures = capture.departures();
        let mut counts: BTreeMap<(u32, u32), u16> = BTreeMap::new();
        let mut ids = vec![0; capture.packets.len()];
        let mut starts = BTreeMap::new();
        for (at, packet) in capture.packets.iter().enumerate().filter(|(at, _)| departures[*at] == *at) {
            let count = counts.entry((packet.connection, packet.sender)).or_default();
            *count = count.wrapping_add(1);
            ids[at] = *count;
            // Others begin where the segment before them ends.
            if !packet.numbers().is_empty() {
                starts.insert((packet.connection, packet.sender, packet.numbers().end), packet.seq);
            }
        }
        let scaled = capture.packets.iter().filter(|packet| !packet.flags.syn);
        PacketNotes {
            fates: capture.final_fates(&departures),
            departures,
            repetitions: capture.repetitions(),
            ids,
            starts,
            window_shift: window_shift(scaled.map(|packet| packet.window).max().unwrap_or(0)),
        }
    }

    fn addressing(&self, capture: &Capture, at: usize) -> Addressing {
        let packet = &capture.packets[at];
        let connection = &capture.connections[packet.connection as usize];
        let ports = u32::from(CLIENT_PORTS.end - CLIENT_PORTS.start);
        let port = CLIENT_PORTS.start + (packet.connection % ports) as u16;
        let client = SocketAddrV4::new(host_address(connection.client), port);
        let server = SocketAddrV4::new(host_address(connection.server), connection.server_port);
        let is_from_client = packet.sender == connection.client;
        let (source, destination) = if is_from_client { (client, server) } else { (server, client) };
        let receiver = if is_from_client { connection.server } else { connection.client };
        let start = self.starts.get(&(packet.connection, receiver, packet.dsack_end)).copied();
        Addressing {
            source,
            destination,
            id: self.ids[self.departures[at]],
            window_shift: self.window_shift,
            dsack_start: start.unwrap_or(packet.dsack_end.saturating_sub(1)),
        }
    }

    /// What is to be said of a packet, if anything is.
    fn comment(&self, capture: &Capture, at: usize) -> Option<String> {
        let why = why(&capture.packets[at], self.repetitions[at]);
        let end = match self.fates[self.departures[at]] {
            Fate::Lost => Some("lost"),
            Fate::Dropped => Some("dropped by the queue"),
            Fate::Delivered(_) | Fate::Underway => None,
        };
        let said: Vec<&str> = why.as_deref().into_iter().chain(end).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// Why a packet was sent, if to repair a loss, and whether for nothing. The kernel does not say why.
fn why(packet: &Captured, repetition: Repetition) -> Option<String> {
    let why = match packet.repair {
        Some(Repair::Fast(LossDetection::DupThresh)) => "retransmission: fast (three SACKed above)",
        Some(Repair::Fast(LossDetection::Fack)) => "retransmission: fast (FACK)",
        Some(Repair::Fast(LossDetection::Rack)) => "retransmission: fast (RACK)",
        Some(Repair::LossProbe) => "retransmission: tail loss probe",
        Some(Repair::NewDataProbe) => "tail loss probe of new data",
        Some(Repair::Timeout) => "retransmission: timeout",
        Some(Repair::SlowStart) => "retransmission: timeout (slow start)",
        Some(Repair::Handshake) => "retransmission: handshake",
        None if repetition == Repetition::New => return None,
        None => "retransmission",
    };
    let spurious = if repetition == Repetition::Spurious { ", spurious" } else { "" };
    Some(format!("{why}{spurious}"))
}
