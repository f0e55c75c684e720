//! The header of QUIC, as far as it is not encrypted (RFC 8999, 9000, 9369).

/// The fixed bit and the form bit of a long header.
const LONG: u8 = 0xc0;
const LONG_FORM: u8 = 0x80;
const FIXED: u8 = 0x40;
/// The latency spin bit of a short header (RFC 9000, section 17.4).
const SPIN: u8 = 0x20;
/// Connection IDs have no more bytes.
const LONGEST_ID: u8 = 20;
const VERSION_1: u32 = 1;
const VERSION_2: u32 = 0x6b33_43cf;
/// Drafts of version 1.
const DRAFTS: core::ops::RangeInclusive<u32> = 0xff00_001d..=0xff00_00ff;

/// What the first packet of a datagram is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QuicHeader {
    Long {
        /// Its version.
        version: u32,
        kind: LongKind,
    },
    /// A server does not speak the version (RFC 8999, section 6).
    VersionNegotiation,
    Short {
        spin: bool,
    },
}

/// Types of packets with a long header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LongKind {
    Initial,
    ZeroRtt,
    Handshake,
    Retry,
}

impl QuicHeader {
    /// Reads what begins a datagram's payload; nothing if that is no QUIC.
    #[inline]
    pub(crate) fn read(payload: &[u8]) -> Option<QuicHeader> {
        let first = *payload.first()?;
        if first & LONG_FORM == 0 {
            return (first & FIXED != 0).then_some(QuicHeader::Short { spin: first & SPIN != 0 });
        }
        let version = u32::from_be_bytes(*payload.get(1..)?.first_chunk()?);
        let id = *payload.get(5)?;
        if id > LONGEST_ID {
            return None;
        }
        if version == 0 {
            return Some(QuicHeader::VersionNegotiation);
        }
        let is_known = version == VERSION_1 || version == VERSION_2 || DRAFTS.contains(&version);
        if first & LONG != LONG || !is_known {
            return None;
        }
        // Version 2 has them in another order (RFC 9369, section 3.2).
        let turned = u8::from(version == VERSION_2);
        let kind = match ((first >> 4) & 3).wrapping_sub(turned) & 3 {
            0 => LongKind::Initial,
            1 => LongKind::ZeroRtt,
            2 => LongKind::Handshake,
            _ => LongKind::Retry,
        };
        Some(QuicHeader::Long { version, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(first: u8, version: u32) -> Option<QuicHeader> {
        let mut bytes = vec![first];
        bytes.extend(version.to_be_bytes());
        bytes.extend([8; 20]);
        QuicHeader::read(&bytes)
    }

    #[test]
    fn types_of_version_2_are_turned_by_one() {
        let kinds = |version| [0xc0, 0xd0, 0xe0, 0xf0].map(|first| long(first, version));
        use LongKind::{Handshake, Initial, Retry, ZeroRtt};
        let expect = |version, of: [LongKind; 4]| of.map(|kind| Some(QuicHeader::Long { version, kind }));
        assert_eq!(kinds(1), expect(1, [Initial, ZeroRtt, Handshake, Retry]));
        assert_eq!(kinds(VERSION_2), expect(VERSION_2, [Retry, Initial, ZeroRtt, Handshake]));
    }

    #[test]
    fn what_is_no_quic_is_none() {
        assert_eq!(QuicHeader::read(&[]), None);
        // No fixed bit; a version that nobody knows; a connection ID that is too long.
        assert_eq!(QuicHeader::read(&[0x20]), None);
        assert_eq!(long(0xc0, 0x1234_5678), None);
        assert_eq!(QuicHeader::read(&[0xc0, 0, 0, 0, 1, 21]), None);
        assert_eq!(long(0x80, 0), Some(QuicHeader::VersionNegotiation));
        assert_eq!(QuicHeader::read(&[0x60]), Some(QuicHeader::Short { spin: true }));
    }
}
