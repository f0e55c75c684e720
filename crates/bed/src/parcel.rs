//! A packet on its way between two hosts.

use crate::BedHost;
use crate::packet::{Envelope, PacketOptions, TcpPacket};
use loadstone_net::Carried;

/// A packet on its way between two hosts.
#[derive(Debug)]
pub(crate) struct Datagram {
    pub(crate) bytes: Box<[u8]>,
    pub(crate) from: BedHost,
    pub(crate) to: BedHost,
    pub(crate) len: u32,
    /// Its headers, if it is a segment of TCP and whole.
    pub(crate) segment: Option<TcpPacket>,
    /// The place of its connection among those of the run, if it has one.
    pub(crate) connection: Option<usize>,
    /// Its number among the packets of the run.
    pub(crate) number: usize,
}

/// What is kept of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketHead {
    /// Who sent it.
    pub from: BedHost,
    /// Who is to get it.
    pub to: BedHost,
    /// Bytes of the whole packet.
    pub len: u32,
    /// The headers of its segment; none if it is not TCP, or a fragment.
    pub segment: Option<TcpPacket>,
    /// The options of its segment.
    pub options: PacketOptions,
    /// The place of its connection in [`LinkReport::connections`](crate::LinkReport::connections); none if it is
    /// of none.
    pub connection: Option<usize>,
    /// Its number among the packets that were sent in the run.
    pub number: usize,
}

impl PacketHead {
    /// Bytes of data in its segment.
    pub fn payload(&self) -> u32 {
        self.segment.map_or(0, |segment| segment.payload)
    }

    /// How many sequence numbers its segment takes.
    pub fn numbers(&self) -> u32 {
        self.segment.map_or(0, |segment| segment.numbers())
    }
}

impl Datagram {
    /// What `from` sends, one of `hosts` hosts; nothing if it does not go from there to another of them.
    pub(crate) fn read(from: BedHost, bytes: &[u8], hosts: usize) -> Option<Datagram> {
        let Envelope { source, destination, len } = Envelope::read(bytes)?;
        let to = BedHost::at(destination).filter(|to| to.0 < hosts && *to != from)?;
        if BedHost::at(source) != Some(from) {
            return None;
        }
        let segment = TcpPacket::read(bytes);
        Some(Datagram { bytes: bytes.into(), from, to, len, segment, connection: None, number: 0 })
    }
}

impl loadstone_net::Packet for Datagram {
    fn len(&self) -> u32 {
        self.len
    }

    /// Its connection. What is of none has one flow for each host to which it goes, numbered from the highest down.
    fn flow(&self) -> u32 {
        self.connection.map_or(u32::MAX - self.to.0 as u32, |connection| connection as u32)
    }
}

impl Carried for Datagram {
    type Head = PacketHead;

    fn head(&self) -> PacketHead {
        let &Datagram { from, to, len, segment, connection, number, .. } = self;
        let options = segment.map_or_else(PacketOptions::default, |_| TcpPacket::options(&self.bytes));
        PacketHead { from, to, len, segment, options, connection, number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::written;
    use crate::packet::{CapturedFlags, SackBlocks};

    #[test]
    fn what_goes_from_its_sender_to_another_host_of_the_bed_is_read_whatever_is_in_it() {
        let packet = TcpPacket {
            source: BedHost(2).address(),
            destination: BedHost(1).address(),
            source_port: 1,
            destination_port: 2,
            len: 41,
            payload: 1,
            sequence: 3,
            acknowledgement: 4,
            window: 5,
            flags: CapturedFlags::default(),
        };
        let bytes = written(&packet, 0, SackBlocks::default());
        let read = |from, bytes: &[u8], hosts| Datagram::read(BedHost(from), bytes, hosts);
        let parcel = read(2, &bytes, 3).unwrap();
        assert_eq!((parcel.to, parcel.len, parcel.segment), (BedHost(1), 41, Some(packet)));
        assert!(read(2, &bytes, 1).is_none(), "there is no such host");
        assert!(read(0, &bytes, 3).is_none(), "the source is another host's");
        assert!(read(2, &bytes[..40], 3).is_none(), "it is cut short");
        let to_itself = TcpPacket { destination: packet.source, ..packet };
        assert!(read(2, &written(&to_itself, 0, SackBlocks::default()), 3).is_none());
        for (at, value, what) in [(9, 17, "UDP"), (9, 1, "ICMP"), (6, 0x20, "a first fragment"), (7, 9, "another")] {
            let mut other = bytes.clone();
            other[at] = value;
            let parcel = read(2, &other, 3).unwrap();
            assert_eq!((parcel.to, parcel.len, parcel.segment), (BedHost(1), 41, None), "{what}");
        }
    }
}
