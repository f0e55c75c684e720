//! On whose behalf a server is asked: by this clients are told apart where they share what a relay has.

use core::net::{IpAddr, Ipv6Addr};

/// The bits of an IPv6 address that name an interface (RFC 4291, section 2.5.4): its host chooses them.
const INTERFACE: u128 = u64::MAX as u128;

/// On whose behalf a server is asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Requester {
    /// The cache's own.
    Cache,
    /// A client's: all connections from one IPv4 address, or from one IPv6 network of 64 bits.
    Client(IpAddr),
}

impl Requester {
    /// The one with this address.
    pub(super) fn at(address: IpAddr) -> Requester {
        Requester::Client(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !INTERFACE).into(),
            address => address,
        })
    }
}

#[cfg(test)]
impl Requester {
    /// One of several clients of a test.
    pub(super) fn client(number: u8) -> Requester {
        Requester::at([192, 0, 2, number].into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> Requester {
        Requester::at(address.parse().unwrap())
    }

    #[test]
    fn a_client_is_an_address_of_ipv4_and_a_network_of_ipv6() {
        assert_eq!(at("192.0.2.1"), at("::ffff:192.0.2.1"), "a socket for both says it so (RFC 4291, section 2.5.5.2)");
        assert_ne!(at("192.0.2.1"), at("192.0.2.2"));
        assert_eq!(at("2001:db8:0:1::1"), at("2001:db8:0:1:ffff::2"));
        assert_ne!(at("2001:db8:0:1::1"), at("2001:db8:0:2::1"));
    }
}
