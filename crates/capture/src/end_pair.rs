//! Between whom a packet goes.

use core::hash::{Hash, Hasher};
use core::net::Ipv6Addr;

/// The two ends of a connection, in an order that does not depend on who sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EndPair {
    /// Of the lower end and of the higher one, as numbers.
    addresses: [u128; 2],
    ports: [u16; 2],
}

/// What is between two ends.
pub(crate) trait Between {
    /// These.
    fn ends(&self) -> &EndPair;
}

/// As three numbers: it takes much longer byte by byte, and is done for each packet.
impl Hash for EndPair {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(self.addresses[0]);
        state.write_u128(self.addresses[1]);
        state.write_u32(u32::from(self.ports[0]) << 16 | u32::from(self.ports[1]));
    }
}

impl EndPair {
    /// The ends of a packet, and whether the lower one sent it.
    #[inline]
    pub(crate) fn of(source: (Ipv6Addr, u16), destination: (Ipv6Addr, u16)) -> (EndPair, bool) {
        let [source, destination] = [source, destination].map(|(address, port)| (address.to_bits(), port));
        let from_low = source < destination;
        let (low, high) = if from_low { (source, destination) } else { (destination, source) };
        (EndPair { addresses: [low.0, high.0], ports: [low.1, high.1] }, from_low)
    }

    pub(crate) fn low(&self) -> (Ipv6Addr, u16) {
        (Ipv6Addr::from_bits(self.addresses[0]), self.ports[0])
    }

    pub(crate) fn high(&self) -> (Ipv6Addr, u16) {
        (Ipv6Addr::from_bits(self.addresses[1]), self.ports[1])
    }

    /// A number that is the same for each packet between them, and mostly another between others.
    #[inline]
    pub(crate) fn mixed(&self) -> u32 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let [low, high] = [0, 1].map(|place| {
            let bits = self.addresses[place];
            (bits as u64 ^ (bits >> 64) as u64).wrapping_add(u64::from(self.ports[place]) << 32)
        });
        let mixed = low.wrapping_mul(ODD) ^ high;
        (mixed.wrapping_mul(ODD) >> 32) as u32
    }
}
