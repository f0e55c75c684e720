//! The headers of IP: version 4 (RFC 791) and 6 (RFC 8200).

use core::net::Ipv6Addr;

/// How an IPv4 address begins as one of IPv6: `::ffff:0.0.0.0` (RFC 4291, section 2.5.5.2).
const V4_MAPPED: u128 = 0xffff << 32;
/// Headers after that of IPv6 at most; each takes at least eight bytes.
const MOST_EXTENSIONS: usize = 8;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;

/// A packet of IP, as far as it was captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IpPacket<'a> {
    /// Who sent it; an IPv4 address as `::ffff:a.b.c.d`.
    pub(crate) source: Ipv6Addr,
    /// Who is to get it.
    pub(crate) destination: Ipv6Addr,
    /// The protocol of what is in it.
    pub(crate) protocol: u8,
    /// The identification of IPv4; 0 for IPv6.
    pub(crate) id: u16,
    /// Bytes of what is in it, on the wire.
    pub(crate) len: u32,
    /// What was captured of that.
    pub(crate) payload: &'a [u8],
}

impl<'a> IpPacket<'a> {
    /// Reads the headers. `missing` bytes of the end were not captured. Nothing if this is no IP, is not even a header
    /// or a fragment behind the first.
    #[inline]
    pub(crate) fn read(bytes: &'a [u8], missing: u32) -> Option<IpPacket<'a>> {
        match bytes.first()? >> 4 {
            4 => IpPacket::read_v4(bytes, missing),
            6 => IpPacket::read_v6(bytes, missing),
            _ => None,
        }
    }

    #[inline]
    fn read_v4(bytes: &'a [u8], missing: u32) -> Option<IpPacket<'a>> {
        let header: &[u8; 20] = bytes.first_chunk()?;
        let header_len = usize::from(header[0] & 15) * 4;
        let is_first_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x1fff == 0;
        if header_len < 20 || !is_first_fragment {
            return None;
        }
        let total = match u16::from_be_bytes([header[2], header[3]]) {
            // The kernel gives it to the network card, which cuts it into packets (segmentation offload).
            0 => bytes.len() as u32 + missing,
            total => total.into(),
        };
        let len = total.checked_sub(header_len as u32)?;
        let payload = bytes.get(header_len..)?;
        // Put together as a number it takes less time than byte by byte.
        let v4 = |at: usize| {
            let bits = u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
            Ipv6Addr::from_bits(V4_MAPPED | u128::from(bits))
        };
        Some(IpPacket {
            source: v4(12),
            destination: v4(16),
            protocol: header[9],
            id: u16::from_be_bytes([header[4], header[5]]),
            len,
            payload: &payload[..payload.len().min(len as usize)],
        })
    }

    fn read_v6(bytes: &'a [u8], missing: u32) -> Option<IpPacket<'a>> {
        let header: &[u8; 40] = bytes.first_chunk()?;
        let mut len = match u16::from_be_bytes([header[4], header[5]]) {
            // A jumbogram, or segmentation offload.
            0 => (bytes.len() as u32 + missing).saturating_sub(40),
            len => len.into(),
        };
        let (mut protocol, mut payload) = (header[6], &bytes[40..]);
        for _ in 0..MOST_EXTENSIONS {
            let extension_len = match protocol {
                HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => (usize::from(*payload.get(1)?) + 1) * 8,
                AUTHENTICATION => (usize::from(*payload.get(1)?) + 2) * 4,
                FRAGMENT if u16::from_be_bytes([*payload.get(2)?, *payload.get(3)?]) >> 3 == 0 => 8,
                FRAGMENT => return None,
                _ => break,
            };
            protocol = payload[0];
            payload = payload.get(extension_len..)?;
            len = len.checked_sub(extension_len as u32)?;
        }
        let v6 =
            |at: usize| Ipv6Addr::from_bits(u128::from_be_bytes(header[at..at + 16].try_into().expect("16 bytes")));
        let payload = &payload[..payload.len().min(len as usize)];
        Some(IpPacket { source: v6(8), destination: v6(24), protocol, id: 0, len, payload })
    }
}
