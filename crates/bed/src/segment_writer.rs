//! TCP segments as IPv4 packets, for those who speak TCP without the kernel's.

use crate::packet::CapturedFlags;
use loadstone_scenario::checksum;
use std::net::SocketAddrV4;

const HEADER: usize = 20;
const TCP: u8 = 6;
const TIME_TO_LIVE: u8 = 64;
const DONT_FRAGMENT: u16 = 0x4000;
/// The kind and length of the option that announces an MSS (RFC 9293, section 3.2).
const MSS_OPTION: [u8; 2] = [2, 4];

/// The header of a segment to send. Numbers are as they stand in the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OutgoingSegment {
    pub(crate) source: SocketAddrV4,
    pub(crate) destination: SocketAddrV4,
    pub(crate) sequence: u32,
    /// Of no meaning without [`CapturedFlags::ack`].
    pub(crate) acknowledgement: u32,
    pub(crate) window: u16,
    pub(crate) flags: CapturedFlags,
    /// The MSS that a SYN announces.
    pub(crate) mss: Option<u16>,
}

impl OutgoingSegment {
    /// The packet with this header and these data (RFC 791, RFC 9293).
    pub(crate) fn packet(&self, payload: &[u8]) -> Vec<u8> {
        let (source, destination) = (self.source.ip().octets(), self.destination.ip().octets());
        let mut segment = self.header();
        segment.extend(payload);
        let pseudo = [&source[..], &destination, &[0, TCP], &(segment.len() as u16).to_be_bytes()].concat();
        let sum = checksum(&[pseudo, segment.clone()].concat());
        segment[16..18].copy_from_slice(&sum.to_be_bytes());
        let mut packet = vec![0x45, 0];
        packet.extend(((HEADER + segment.len()) as u16).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(DONT_FRAGMENT.to_be_bytes());
        packet.extend([TIME_TO_LIVE, TCP, 0, 0]);
        packet.extend([source, destination].concat());
        let sum = checksum(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend(segment);
        packet
    }

    /// TCP's header, without the checksum.
    fn header(&self) -> Vec<u8> {
        let CapturedFlags { syn, fin, rst, ack } = self.flags;
        let bits = [(fin, 0x01), (syn, 0x02), (rst, 0x04), (ack, 0x10)];
        let options = self.mss.map_or(Vec::new(), |mss| [MSS_OPTION, mss.to_be_bytes()].concat());
        let mut header = Vec::with_capacity(HEADER + options.len());
        header.extend(self.source.port().to_be_bytes());
        header.extend(self.destination.port().to_be_bytes());
        header.extend(self.sequence.to_be_bytes());
        header.extend(self.acknowledgement.to_be_bytes());
        header.push((((HEADER + options.len()) / 4) as u8) << 4);
        header.push(bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum());
        header.extend(self.window.to_be_bytes());
        header.extend([0; 4]);
        header.extend(options);
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::TcpPacket;

    #[test]
    fn what_is_written_is_read_with_checksums_that_are_right() {
        let flags = CapturedFlags { syn: true, ack: true, ..CapturedFlags::default() };
        let (source, destination) = ("192.0.2.1:40000".parse().unwrap(), "198.51.100.7:443".parse().unwrap());
        let (sequence, acknowledgement, window, mss) = (u32::MAX, 7, 1000, Some(64));
        let segment = OutgoingSegment { source, destination, sequence, acknowledgement, window, flags, mss };
        let bytes = segment.packet(b"abc");
        let read = TcpPacket::read(&bytes).unwrap();
        assert_eq!((read.source, read.source_port), (*source.ip(), 40000));
        assert_eq!((read.destination, read.destination_port), (*destination.ip(), 443));
        assert_eq!((read.sequence, read.acknowledgement, read.window, read.flags), (u32::MAX, 7, 1000, flags));
        assert_eq!((read.payload, read.len, &bytes[40..44], &bytes[44..]), (3, 47, &[2, 4, 0, 64][..], &b"abc"[..]));
        // What has its checksum in it has the sum zero (RFC 1071).
        assert_eq!(checksum(&bytes[..20]), 0);
        let pseudo = [&bytes[12..20], &[0, TCP, 0, 27]].concat();
        assert_eq!(checksum(&[&pseudo, &bytes[20..]].concat()), 0);
    }
}
