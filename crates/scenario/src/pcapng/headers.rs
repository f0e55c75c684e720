//! The headers of a captured packet, with TCP's options (RFC 9293, RFC 7323, RFC 2018).

use crate::{Captured, SegmentHeader};
use core::net::SocketAddrV4;

/// Bytes of the headers without options.
const BARE: usize = 40;
/// The maximum of bytes of a TCP header's options.
const MAX_OPTIONS: usize = 40;
/// The MSS that SYNs announce: what fits into 1,500 bytes without options (RFC 9293, section 3.7.1).
const MSS: u16 = 1460;
/// Windows are shifted by so many bits at most (RFC 7323, section 2.3).
const MAX_SHIFT: u8 = 14;

/// What a packet's headers need beside the packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addressing {
    pub(super) source: SocketAddrV4,
    pub(super) destination: SocketAddrV4,
    /// The identification of the IP packet.
    pub(super) id: u16,
    /// By how many bits all windows are shifted but those of SYNs.
    pub(super) window_shift: u8,
    /// The first number of the segment that came twice, if the packet reports one (RFC 2883).
    pub(super) dsack_start: u64,
}

/// The least shift that lets windows up to `most` bytes stand in 16 bits.
pub(super) fn window_shift(most: u32) -> u8 {
    (0..MAX_SHIFT).find(|shift| most >> shift <= u16::MAX.into()).unwrap_or(MAX_SHIFT)
}

/// The headers of a packet, as many bytes as it has without its data. Where the data are not known, TCP's checksum is that
/// of zeros.
pub(super) fn headers(packet: &Captured, payload: Option<&[u8]>, addressing: &Addressing) -> Vec<u8> {
    let room = (packet.bytes as usize).saturating_sub(BARE + packet.len as usize).min(MAX_OPTIONS);
    let mut options = options(packet, addressing, room);
    // NOPs; a header's length is a multiple of four.
    options.resize(room.next_multiple_of(4), 1);
    let shift = if packet.flags.syn { 0 } else { addressing.window_shift };
    let header = SegmentHeader {
        source: addressing.source,
        destination: addressing.destination,
        id: addressing.id,
        sequence: packet.seq as u32,
        acknowledgement: packet.ack as u32,
        flags: packet.flags,
        push: false,
        window: (packet.window >> shift).min(u16::MAX.into()) as u16,
        options,
    };
    header.bytes(packet.len, payload.unwrap_or_default())
}

/// A segment's options as Linux orders them, those that fit.
fn options(packet: &Captured, addressing: &Addressing, room: usize) -> Vec<u8> {
    let mut options = Vec::new();
    let mut add = |option: &[u8]| {
        if options.len() + option.len() <= room {
            options.extend(option);
        }
    };
    let timestamps = packet.timestamps.map(|times| {
        let numbers = [times.val.to_be_bytes(), times.ecr.to_be_bytes()];
        [&[8, 10], numbers.concat().as_slice()].concat()
    });
    if packet.flags.syn {
        add(&[&[2, 4], &MSS.to_be_bytes()[..]].concat());
        match timestamps {
            Some(timestamps) => add(&[&[4, 2], timestamps.as_slice()].concat()),
            None => add(&[1, 1, 4, 2]),
        }
        add(&[1, 3, 3, addressing.window_shift]);
    } else if let Some(timestamps) = timestamps {
        add(&[&[1, 1], timestamps.as_slice()].concat());
    }
    let blocks = sack_blocks(packet, addressing);
    if !blocks.is_empty() {
        add(&[&[1, 1, 5, 2 + blocks.len() as u8], blocks.as_slice()].concat());
    }
    options
}

/// The blocks of a SACK option, the one that reports a duplicate first (RFC 2883, section 4).
fn sack_blocks(packet: &Captured, addressing: &Addressing) -> Vec<u8> {
    let duplicate = (packet.dsack_end > 0).then_some(addressing.dsack_start..packet.dsack_end);
    let blocks = duplicate.into_iter().chain(packet.sacks.iter().cloned());
    blocks.flat_map(|block| [block.start, block.end]).flat_map(|number| (number as u32).to_be_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_shifted_by_no_more_than_they_need_rfc7323_2_3() {
        let most = [0, 65_535, 65_536, 131_071, 131_072, 6_000_000, 1 << 30, u32::MAX];
        assert_eq!(most.map(window_shift), [0, 0, 1, 1, 2, 7, 14, 14]);
    }
}
