//! Between whom a packet goes.

use core::hash::{Hash, Hasher};
use core::net::Ipv6Addr;

/// The two ends of a connection, in an order that does not depend on who sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EndPair {
    low: End,
    high: End,
}

/// An address, as a number, and a port.
type End = (u128, u16);

/// What is between two ends.
pub(crate) trait Between {
    /// These.
    fn ends(&self) -> &EndPair;
}

/// As three numbers: it takes much longer byte by byte, and is done for each packet.
impl Hash for EndPair {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(self.low.0);
        state.write_u128(self.high.0);
        state.write_u32(u32::from(self.low.1) << 16 | u32::from(self.high.1));
    }
}

impl EndPair {
    /// The ends of a packet, and whether the lower one sent it.
    #[inline]
    pub(crate) fn of(source: (Ipv6Addr, u16), destination: (Ipv6Addr, u16)) -> (EndPair, bool) {
        let [source, destination] = [source, destination].map(|(address, port)| (address.to_bits(), port));
        if source < destination {
            (EndPair { low: source, high: destination }, true)
        } else {
            (EndPair { low: destination, high: source }, false)
        }
    }

    pub(crate) fn low(&self) -> (Ipv6Addr, u16) {
        (Ipv6Addr::from_bits(self.low.0), self.low.1)
    }

    pub(crate) fn high(&self) -> (Ipv6Addr, u16) {
        (Ipv6Addr::from_bits(self.high.0), self.high.1)
    }

    /// A number that is the same for each packet between them, and mostly another between others.
    #[inline]
    pub(crate) fn mixed(&self) -> u32 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let folded =
            |(address, port): End| (address as u64 ^ (address >> 64) as u64).wrapping_add(u64::from(port) << 32);
        let mixed = folded(self.low).wrapping_mul(ODD) ^ folded(self.high);
        (mixed.wrapping_mul(ODD) >> 32) as u32
    }
}
