//! From packets to segments of TCP: what is in a capture is counted here.

use crate::end_pair::EndPair;
use crate::file::RawPacket;
use crate::headers::{IpPacket, TcpHeader, ip_packet};
use crate::segment::CapturedSegment;

const TCP: u8 = 6;

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
    /// Connections that ended because too many were open.
    pub evicted: u64,
    /// When the first packet was captured, in ns since 1970.
    pub first_at: Option<u64>,
    /// When the last one was.
    pub last_at: Option<u64>,
}

/// Counts packets, and takes segments of TCP out of them.
#[derive(Debug, Default)]
pub struct Intake {
    totals: CaptureTotals,
}

impl Intake {
    pub(crate) fn totals(&self) -> &CaptureTotals {
        &self.totals
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
