//! From packets to segments of TCP and datagrams of QUIC: what is in a capture is counted here.

use crate::cells::FilledTable;
use crate::end_pair::EndPair;
use crate::file::RawPacket;
use crate::headers::{IpPacket, QuicHeader, TcpHeader, ip_packet};
use crate::quic_connection::{QuicConnection, QuicDatagram};
use crate::quic_connections::QuicConnections;
use crate::segment::CapturedSegment;
use crate::shard::AnalyzerLimits;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Bytes of a header of UDP (RFC 768).
const UDP_HEADER: usize = 8;

/// What was in a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CaptureTotals {
    /// Packets, of whatever kind.
    pub packets: u64,
    /// Of these, segments of TCP.
    pub tcp_packets: u64,
    /// Packets of TCP whose header was not captured whole.
    pub cut_headers: u64,
    /// Bytes of all packets on the wire.
    pub bytes: u64,
    /// Connections of TCP.
    pub connections: u64,
    /// Datagrams of QUIC.
    pub quic_packets: u64,
    /// Connections of QUIC.
    pub quic_connections: u64,
    /// Connections that ended because too many were open.
    pub evicted: u64,
    /// When the first packet was captured, in ns since 1970.
    pub first_at: Option<u64>,
    /// When the last one was.
    pub last_at: Option<u64>,
}

/// Counts packets, takes segments of TCP out of them, and follows QUIC, of which little is to be seen.
#[derive(Debug)]
pub struct Intake {
    totals: CaptureTotals,
    quic: QuicConnections,
}

impl Intake {
    pub(crate) fn new(limits: AnalyzerLimits) -> Intake {
        Intake { totals: CaptureTotals::default(), quic: QuicConnections::new(limits) }
    }

    pub(crate) fn totals(&self) -> CaptureTotals {
        CaptureTotals { quic_connections: self.quic.opened(), ..self.totals }
    }

    /// The rows of connections of QUIC that have ended since they were taken out.
    pub fn quic(&mut self) -> &mut FilledTable<QuicConnection> {
        self.quic.ended()
    }

    /// There are no more packets: so many connections of QUIC end. Whether there are more.
    pub fn finish(&mut self, most: usize) -> bool {
        self.quic.finish(most)
    }

    /// Looks at a datagram, if it is of QUIC.
    fn handle_datagram(&mut self, at: u64, ip: &IpPacket<'_>) -> Option<()> {
        let [source, destination, len] = [0, 2, 4].map(|place| {
            ip.payload.get(place..).and_then(|bytes| bytes.first_chunk()).map(|bytes| u16::from_be_bytes(*bytes))
        });
        let (source, destination) = ((ip.source, source?), (ip.destination, destination?));
        let (ends, from_low) = EndPair::of(source, destination);
        let header = QuicHeader::read(ip.payload.get(UDP_HEADER..)?)?;
        let len = u32::from(len?).saturating_sub(UDP_HEADER as u32);
        let datagram = QuicDatagram { at, packet: self.totals.packets, ends, from_low, len, header };
        self.totals.quic_packets += u64::from(self.quic.handle_datagram(&datagram));
        Some(())
    }

    /// The segment in a packet; nothing if there is another protocol in it, or not a whole header.
    #[inline]
    pub fn segment_of<'a>(&mut self, packet: &RawPacket<'a>) -> Option<CapturedSegment<'a>> {
        let totals = &mut self.totals;
        totals.packets += 1;
        totals.bytes += u64::from(packet.len);
        totals.first_at.get_or_insert(packet.at);
        totals.last_at = totals.last_at.max(Some(packet.at));
        let missing = (packet.len as usize).saturating_sub(packet.data.len()) as u32;
        let ip = ip_packet(packet.link, packet.data).and_then(|bytes| IpPacket::read(bytes, missing))?;
        if ip.protocol != TCP {
            if ip.protocol == UDP {
                self.handle_datagram(packet.at, &ip);
            }
            return None;
        }
        totals.tcp_packets += 1;
        let Some(header) = TcpHeader::read(ip.payload, ip.len) else {
            totals.cut_headers += 1;
            return None;
        };
        let source = (ip.source, header.source_port);
        let (ends, from_low) = EndPair::of(source, (ip.destination, header.destination_port));
        Some(CapturedSegment { at: packet.at, packet: totals.packets, ends, from_low, ip_id: ip.id, header })
    }
}
