//! The headers of a packet of IPv4 with a segment of TCP, as bytes (RFC 791, RFC 9293).

use crate::{CapturedFlags, checksum};
use core::net::SocketAddrV4;

const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 20;
const DONT_FRAGMENT: u16 = 0x4000;
const TIME_TO_LIVE: u8 = 64;
const TCP: u8 = 6;

/// What the headers of a segment say. Numbers are as they stand in the packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SegmentHeader {
    /// Who sends it.
    pub source: SocketAddrV4,
    /// Who gets it.
    pub destination: SocketAddrV4,
    /// The identification of the IP packet.
    pub id: u16,
    /// The number of its first byte, or of its SYN.
    pub sequence: u32,
    /// The number that is expected next; of no meaning without [`CapturedFlags::ack`].
    pub acknowledgement: u32,
    /// Its flags but PSH.
    pub flags: CapturedFlags,
    /// Whether its data are to be handed on at once (PSH).
    pub push: bool,
    /// The receive window, shifted already.
    pub window: u16,
    /// Its options, padded to a multiple of four bytes; 40 bytes at most.
    pub options: Vec<u8>,
}

impl SegmentHeader {
    /// Both headers of a packet with `len` bytes of data. Where `data` are fewer, the checksum is that of zeros for the rest.
    pub fn bytes(&self, len: u32, data: &[u8]) -> Vec<u8> {
        let segment_len = TCP_HEADER + self.options.len() + len as usize;
        let (source, destination) = (self.source.ip().octets(), self.destination.ip().octets());
        let mut tcp = self.tcp();
        let pseudo = [&source[..], &destination, &[0, TCP], &(segment_len as u16).to_be_bytes()].concat();
        let sum = checksum(&[pseudo.as_slice(), &tcp, data].concat());
        put_checksum(&mut tcp, 16, sum);
        let mut bytes = vec![0x45, 0];
        bytes.extend(((IP_HEADER + segment_len) as u16).to_be_bytes());
        bytes.extend(self.id.to_be_bytes());
        bytes.extend(DONT_FRAGMENT.to_be_bytes());
        bytes.extend([TIME_TO_LIVE, TCP, 0, 0]);
        bytes.extend([source, destination].concat());
        let sum = checksum(&bytes);
        put_checksum(&mut bytes, 10, sum);
        bytes.extend(tcp);
        bytes
    }

    /// The packet with all of its data.
    pub fn packet(&self, data: &[u8]) -> Vec<u8> {
        let mut packet = self.bytes(data.len() as u32, data);
        packet.extend(data);
        packet
    }

    /// TCP's header, without the checksum.
    fn tcp(&self) -> Vec<u8> {
        let CapturedFlags { syn, fin, rst, ack } = self.flags;
        let bits = [(fin, 0x01), (syn, 0x02), (rst, 0x04), (self.push, 0x08), (ack, 0x10)];
        let mut header = Vec::with_capacity(TCP_HEADER + self.options.len());
        header.extend(self.source.port().to_be_bytes());
        header.extend(self.destination.port().to_be_bytes());
        header.extend(self.sequence.to_be_bytes());
        header.extend(self.acknowledgement.to_be_bytes());
        header.push((((TCP_HEADER + self.options.len()) / 4) as u8) << 4);
        header.push(bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum());
        header.extend(self.window.to_be_bytes());
        header.extend([0; 4]);
        header.extend(&self.options);
        header
    }
}

fn put_checksum(header: &mut [u8], at: usize, sum: u16) {
    header[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksums_of_a_packet_are_right_rfc1071() {
        let header = SegmentHeader {
            source: "192.0.2.1:40000".parse().unwrap(),
            destination: "198.51.100.7:443".parse().unwrap(),
            id: 7,
            sequence: u32::MAX,
            acknowledgement: 7,
            flags: CapturedFlags { syn: true, ack: true, ..CapturedFlags::default() },
            push: true,
            window: 1000,
            options: vec![2, 4, 0, 64],
        };
        let bytes = header.packet(b"abc");
        assert_eq!((bytes.len(), bytes[33], &bytes[40..44], &bytes[44..]), (47, 0x1a, &[2, 4, 0, 64][..], &b"abc"[..]));
        // What has its checksum in it has the sum zero.
        assert_eq!(checksum(&bytes[..20]), 0);
        let pseudo = [&bytes[12..20], &[0, TCP, 0, 27]].concat();
        assert_eq!(checksum(&[&pseudo, &bytes[20..]].concat()), 0);
        // Where data are not known, zeros are meant.
        assert_eq!(header.bytes(3, &[]), header.packet(&[0; 3])[..44]);
    }
}
