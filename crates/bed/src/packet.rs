//! What is read of a packet: the header of IPv4, and that of TCP where there is one.

pub use loadstone_scenario::{CapturedFlags, Timestamps};
use std::net::Ipv4Addr;

const TCP: u8 = 6;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// Kinds of TCP's options (RFC 9293, RFC 2018, RFC 7323).
const END: u8 = 0;
const NOTHING: u8 = 1;
const WINDOW_SCALE: u8 = 3;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// The header of an IPv4 packet, whatever is in it: also of a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// Who sent it.
    pub source: Ipv4Addr,
    /// Who is to get it.
    pub destination: Ipv4Addr,
    /// Bytes of the whole packet, as its header says.
    pub len: u32,
}

impl Envelope {
    /// Reads the header; nothing if this is no whole packet of IPv4.
    pub fn read(bytes: &[u8]) -> Option<Envelope> {
        let len = half(bytes, 2)?;
        let header = u16::from(bytes[0] & 15) * 4;
        let is_whole = (20..=len).contains(&header) && usize::from(len) <= bytes.len();
        if bytes[0] >> 4 != 4 || !is_whole {
            return None;
        }
        Some(Envelope { source: word(bytes, 12)?.into(), destination: word(bytes, 16)?.into(), len: len.into() })
    }
}

/// The headers of a TCP segment in an IPv4 packet. Numbers are as they stand in the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpPacket {
    /// Who sent it.
    pub source: Ipv4Addr,
    /// Who is to get it.
    pub destination: Ipv4Addr,
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// Bytes of the whole packet, as its header says.
    pub len: u32,
    /// Bytes of data.
    pub payload: u32,
    /// The number of the first byte of data, or of the SYN.
    pub sequence: u32,
    /// The number that is expected next; of no meaning without [`CapturedFlags::ack`].
    pub acknowledgement: u32,
    /// The window as it stands there, unscaled.
    pub window: u16,
    /// What kind of segment it is.
    pub flags: CapturedFlags,
}

/// The SACK blocks of a segment (RFC 2018): first number and the one after the last, four at most; both the
/// same where there is none.
pub type SackBlocks = [(u32, u32); 4];

/// What is read of a segment's options.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacketOptions {
    /// Its SACK blocks.
    pub sacks: SackBlocks,
    /// Its timestamps (RFC 7323), as they stand there.
    pub timestamps: Option<Timestamps>,
    /// By how many bits the windows of its sender are shifted (RFC 7323, section 2.2); in SYNs.
    pub window_scale: Option<u8>,
}

impl TcpPacket {
    /// Reads the headers; nothing if this is no whole IPv4 packet with a TCP segment in it.
    pub fn read(bytes: &[u8]) -> Option<TcpPacket> {
        let Envelope { source, destination, len } = Envelope::read(bytes)?;
        // Neither a further fragment nor one that is followed by others.
        let is_whole = half(bytes, 6)? & 0x3fff == 0;
        if !is_whole || bytes[9] != TCP {
            return None;
        }
        let segment = bytes.get(usize::from(bytes[0] & 15) * 4..len as usize)?;
        let data = usize::from(segment.get(12)? >> 4) * 4;
        let payload = segment.len().checked_sub(data).filter(|_| data >= 20)?;
        let bits = segment[13];
        let flags =
            CapturedFlags { syn: bits & SYN != 0, fin: bits & FIN != 0, rst: bits & RST != 0, ack: bits & ACK != 0 };
        Some(TcpPacket {
            source,
            destination,
            source_port: half(segment, 0)?,
            destination_port: half(segment, 2)?,
            len,
            payload: payload as u32,
            sequence: word(segment, 4)?,
            acknowledgement: word(segment, 8)?,
            window: half(segment, 14)?,
            flags,
        })
    }

    /// Reads the options of what [`TcpPacket::read`] has read. Apart, since few callers need them.
    pub fn options(bytes: &[u8]) -> PacketOptions {
        let header = bytes.first().map_or(0, |first| usize::from(first & 15) * 4);
        let data = bytes.get(header + 12).map_or(0, |word| usize::from(word >> 4) * 4);
        bytes.get(header + 20..header + data).map_or_else(PacketOptions::default, options)
    }

    /// How many sequence numbers it takes: its data, SYN and FIN.
    pub fn numbers(&self) -> u32 {
        self.payload + u32::from(self.flags.syn) + u32::from(self.flags.fin)
    }

    /// Whether it bears data or ends them.
    pub fn is_data(&self) -> bool {
        self.payload > 0 || self.flags.fin
    }
}

fn options(mut options: &[u8]) -> PacketOptions {
    let mut found = PacketOptions::default();
    while let Some((kind, rest)) = options.split_first().filter(|(kind, _)| **kind != END) {
        if *kind == NOTHING {
            options = rest;
            continue;
        }
        let Some(len) = rest.first().map(|len| usize::from(*len)) else { break };
        let Some(value) = options.get(2..len) else { break };
        match *kind {
            SACK => {
                for (place, block) in found.sacks.iter_mut().zip(value.chunks_exact(8)) {
                    *place = (word(block, 0).unwrap_or(0), word(block, 4).unwrap_or(0));
                }
            }
            TIMESTAMPS => {
                found.timestamps = word(value, 0).zip(word(value, 4)).map(|(val, ecr)| Timestamps { val, ecr });
            }
            WINDOW_SCALE => found.window_scale = value.first().copied(),
            _ => {}
        }
        options = &options[len..];
    }
    found
}

/// The two bytes from `at` on.
fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The four bytes from `at` on.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Writes a packet, with `options` bytes of options in the TCP header: the reverse of
    /// [`Packet::read`].
    pub(crate) fn written(packet: &TcpPacket, options: u8, sacks: SackBlocks) -> Vec<u8> {
        let mut bytes = vec![0x45, 0];
        bytes.extend((packet.len as u16).to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, TCP, 0, 0]);
        bytes.extend(packet.source.octets());
        bytes.extend(packet.destination.octets());
        bytes.extend(packet.source_port.to_be_bytes());
        bytes.extend(packet.destination_port.to_be_bytes());
        bytes.extend(packet.sequence.to_be_bytes());
        bytes.extend(packet.acknowledgement.to_be_bytes());
        let bit = |flag: bool, bit: u8| if flag { bit } else { 0 };
        let flags = packet.flags;
        bytes.push((5 + options / 4) << 4);
        bytes.push(bit(flags.syn, SYN) | bit(flags.fin, FIN) | bit(flags.rst, RST) | bit(flags.ack, ACK));
        bytes.extend(packet.window.to_be_bytes());
        bytes.extend([0; 4]);
        let blocks: Vec<(u32, u32)> = sacks.into_iter().filter(|(start, end)| start != end).collect();
        if !blocks.is_empty() {
            bytes.extend([NOTHING, NOTHING, SACK, 2 + 8 * blocks.len() as u8]);
            blocks.iter().flat_map(|(start, end)| [start, end]).for_each(|number| bytes.extend(number.to_be_bytes()));
        }
        bytes.resize(packet.len as usize, 0);
        bytes
    }

    /// `count` SACK blocks.
    fn blocks(count: usize) -> SackBlocks {
        std::array::from_fn(|at| if at < count { (at as u32 * 10, at as u32 * 10 + 5) } else { (0, 0) })
    }

    fn packets() -> impl Strategy<Value = (TcpPacket, u8, SackBlocks)> {
        let ports = (any::<u16>(), any::<u16>(), any::<u16>());
        let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>());
        (ports, numbers, 0_u32..1400, (0_u8..=10, 0_usize..=4), any::<[bool; 4]>()).prop_map(
            |(ports, numbers, payload, (words, sacks), flags)| {
                let words = if sacks > 0 { words.max(1 + 2 * sacks as u8) } else { words };
                let packet = TcpPacket {
                    source: numbers.0.into(),
                    destination: numbers.1.into(),
                    source_port: ports.0,
                    destination_port: ports.1,
                    len: 40 + 4 * u32::from(words) + payload,
                    payload,
                    sequence: numbers.2,
                    acknowledgement: numbers.3,
                    window: ports.2,
                    flags: CapturedFlags { syn: flags[0], fin: flags[1], rst: flags[2], ack: flags[3] },
                };
                (packet, 4 * words, blocks(sacks))
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read((packet, options, sacks) in packets()) {
            let bytes = written(&packet, options, sacks);
            prop_assert_eq!((TcpPacket::read(&bytes), TcpPacket::options(&bytes).sacks), (Some(packet), sacks));
        }

        #[test]
        fn a_packet_that_is_cut_short_is_none((packet, options, sacks) in packets(), keep in 0.0..1.0_f64) {
            let bytes = written(&packet, options, sacks);
            let kept = (bytes.len() as f64 * keep) as usize;
            prop_assert_eq!(TcpPacket::read(&bytes[..kept]), None);
        }

        #[test]
        fn no_bytes_make_it_panic(
            mut bytes in prop::collection::vec(any::<u8>(), 0..100),
            (version, protocol) in (0x40_u8..0x50, 5_u8..8),
        ) {
            // Most get past the first checks this way.
            if let Some(first) = bytes.first_mut() { *first = version }
            if let Some(tenth) = bytes.get_mut(9) { *tenth = protocol }
            let _whatever = TcpPacket::options(&bytes);
            if let Some(packet) = TcpPacket::read(&bytes) {
                prop_assert!(packet.payload + 40 <= packet.len && packet.len as usize <= bytes.len());
            }
        }
    }

    #[test]
    fn fragments_other_protocols_and_other_versions_are_none() {
        let packet = TcpPacket {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
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
        assert_eq!(TcpPacket::read(&bytes), Some(packet));
        for (at, value) in [(0, 0x65), (0, 0x44), (6, 0x20), (7, 1), (9, 17), (32, 0x40)] {
            let mut other = bytes.clone();
            other[at] = value;
            assert_eq!(TcpPacket::read(&other), None, "byte {at}");
        }
    }

    #[test]
    fn options_are_found_behind_others_and_no_further_than_they_go() {
        let sacks = |bytes: &[u8]| options(bytes).sacks;
        let timestamps = [NOTHING, NOTHING, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let sack = [NOTHING, NOTHING, SACK, 10, 0, 0, 0, 7, 0, 0, 0, 9];
        let both = [timestamps, sack].concat();
        assert_eq!(sacks(&both), [(7, 9), (0, 0), (0, 0), (0, 0)]);
        assert_eq!(sacks(&both[..23]), SackBlocks::default(), "it is cut short");
        assert_eq!(sacks(&[&[END], &sack[..]].concat()), SackBlocks::default(), "behind the end of the options");
        assert_eq!(sacks(&[8, 0]), SackBlocks::default(), "an option shorter than its own head");
        assert_eq!(sacks(&[8]), SackBlocks::default());
        assert_eq!(options(&both).timestamps, Some(Timestamps { val: 1, ecr: 2 }));
        assert_eq!(options(&[8, 6, 0, 0, 0, 1]).timestamps, None, "too short for two");
        let scale = [NOTHING, WINDOW_SCALE, 3, 7];
        let PacketOptions { timestamps, window_scale, .. } = options(&[&timestamps[..], &scale].concat());
        assert_eq!((timestamps.map(|times| times.ecr), window_scale), (Some(2), Some(7)));
        assert_eq!(options(&both).window_scale, None);
    }
}
