//! Between whom a packet goes.

use core::net::Ipv6Addr;

/// The two ends of a connection, in an order that does not depend on who sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct EndPair {
    low: (Ipv6Addr, u16),
    high: (Ipv6Addr, u16),
}

impl EndPair {
    /// The ends of a packet, and whether the lower one sent it.
    #[inline]
    pub(crate) fn of(source: (Ipv6Addr, u16), destination: (Ipv6Addr, u16)) -> (EndPair, bool) {
        if source < destination {
            (EndPair { low: source, high: destination }, true)
        } else {
            (EndPair { low: destination, high: source }, false)
        }
    }

    pub(crate) fn low(&self) -> (Ipv6Addr, u16) {
        self.low
    }

    pub(crate) fn high(&self) -> (Ipv6Addr, u16) {
        self.high
    }
}
