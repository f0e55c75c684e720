//! Segments as IP packets, and back: what the kernel's world speaks.

use crate::script::{Form, WINDOW_SCALE};
use loadstone_bed::packet::TcpPacket;
use loadstone_net::tcp::{Flags, Sacks, Segment};
use loadstone_scenario::{CapturedFlags, SegmentHeader};
use loadstone_units::Time;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;

/// Where the script's end begins to count its numbers, and its timestamps in ms.
const INITIAL: u32 = 4_000_000_000;
const CLOCK: u32 = 1_000_000;
const NANOS_PER_MS: u64 = 1_000_000;

/// Both ends of a connection, and what the packets of one say only relative to what it said first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    pub(crate) tested: (Ipv4Addr, u16),
    pub(crate) script: (Ipv4Addr, u16),
    /// The number of the tested end's SYN, and by how many bits it counts its window less.
    initial: u32,
    scale: u8,
}

impl Wire {
    pub(crate) fn new(tested: (Ipv4Addr, u16), script: (Ipv4Addr, u16)) -> Wire {
        Wire { tested, script, initial: 0, scale: 0 }
    }

    /// The packet of an injected segment with these numbers, sent at `now`.
    pub(crate) fn written(&self, form: &Form, numbers: &Range<u64>, now: Time, echo: Option<Time>) -> Vec<u8> {
        let mut options = Vec::new();
        if form.syn {
            // MSS 1460, SACK, window scale.
            options.extend([2, 4, 0x05, 0xb4, 1, 1, 4, 2, 1, 3, 3, WINDOW_SCALE]);
        }
        options.extend([1, 1, 8, 10]);
        options.extend((CLOCK + (now.as_nanos() / NANOS_PER_MS) as u32).to_be_bytes());
        options.extend(echo.map_or(0, |echo| (echo.as_nanos() / NANOS_PER_MS) as u32).to_be_bytes());
        let blocks: Vec<&Range<u64>> = form.duplicate.iter().chain(&form.sacks).collect();
        if !blocks.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
            for block in blocks {
                options.extend(self.initial.wrapping_add(block.start as u32).to_be_bytes());
                options.extend(self.initial.wrapping_add(block.end as u32).to_be_bytes());
            }
        }
        let window = form.announced() >> if form.syn { 0 } else { WINDOW_SCALE };
        let end = |(address, port)| SocketAddrV4::new(address, port);
        let header = SegmentHeader {
            source: end(self.script),
            destination: end(self.tested),
            id: 0,
            sequence: INITIAL.wrapping_add(numbers.start as u32),
            acknowledgement: form.ack.map_or(0, |ack| self.initial.wrapping_add(ack as u32)),
            flags: CapturedFlags { syn: form.syn, fin: form.fin, rst: false, ack: form.ack.is_some() },
            push: form.push,
            window: window as u16,
            options,
        };
        header.packet(&vec![0; (numbers.end - numbers.start) as usize])
    }

    /// The segment in a packet of the tested end; in words, if it is none of the connection.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<Segment, String> {
        let packet = TcpPacket::read(bytes).ok_or("there came a packet that is not TCP")?;
        if (packet.destination, packet.destination_port) != self.script {
            return Err(format!("there came a packet to {}:{}", packet.destination, packet.destination_port));
        }
        if packet.flags.rst {
            return Err("there came a reset".to_owned());
        }
        self.tested.1 = packet.source_port;
        let mut options = Options::default();
        options.read(&bytes[40..packet.len as usize - packet.payload as usize]);
        if packet.flags.syn {
            (self.initial, self.scale) = (packet.sequence, options.scale);
        }
        let ack = u64::from(packet.acknowledgement.wrapping_sub(INITIAL));
        let mut blocks: Vec<Range<u64>> =
            options.blocks.iter().map(|[start, end]| relative(*start)..relative(*end)).collect();
        // RFC 2883, section 4: the first block tells of a duplicate if it is acknowledged, or within the next.
        let holds = |outer: &Range<u64>, inner: &Range<u64>| outer.start <= inner.start && inner.end <= outer.end;
        let is_duplicate =
            |first: &Range<u64>| first.end <= ack || blocks.get(1).is_some_and(|next| holds(next, first));
        let duplicate = blocks.first().filter(|first| is_duplicate(first)).map(|first| first.end);
        if duplicate.is_some() {
            blocks.remove(0);
        }
        let mut sacks = Sacks::default();
        blocks.into_iter().for_each(|block| sacks.push(ack, block));
        Ok(Segment {
            seq: u64::from(packet.sequence.wrapping_sub(self.initial)),
            ack,
            len: packet.payload,
            window: u32::from(packet.window) << if packet.flags.syn { 0 } else { self.scale },
            flags: Flags { syn: packet.flags.syn, ack: packet.flags.ack, fin: packet.flags.fin, rst: packet.flags.rst },
            ts_val: Time::from_nanos(u64::from(options.timestamp) * NANOS_PER_MS),
            ts_ecr: Time::NEVER,
            sacks,
            dsack_end: duplicate.unwrap_or(0),
            repair: None,
        })
    }
}

/// A number of the script's end.
fn relative(number: u32) -> u64 {
    u64::from(number.wrapping_sub(INITIAL))
}

/// What a segment says in its options.
#[derive(Default)]
struct Options {
    scale: u8,
    timestamp: u32,
    blocks: Vec<[u32; 2]>,
}

impl Options {
    fn read(&mut self, mut bytes: &[u8]) {
        let word = |bytes: &[u8]| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        while let [kind, rest @ ..] = bytes {
            let len = match (kind, rest) {
                (0, _) => return,
                (1, _) => 1,
                (3, [_, scale, ..]) => {
                    self.scale = *scale;
                    3
                }
                (5, [len, blocks @ ..]) => {
                    let blocks = blocks[..usize::from(*len) - 2].chunks_exact(8);
                    self.blocks = blocks.map(|block| [word(block), word(&block[4..])]).collect();
                    usize::from(*len)
                }
                (8, [_, stamps @ ..]) => {
                    self.timestamp = word(stamps);
                    10
                }
                (_, [len, ..]) => usize::from(*len),
                (_, []) => return,
            };
            bytes = &bytes[len..];
        }
    }
}
