//! Which addresses an edge may go to where its clients say where that is.

use schemars::JsonSchema;
use serde::Deserialize;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of IPv4 that are nowhere on the public internet, or that are this network's own (IANA's registry of special-purpose
/// addresses, RFC 6890), with the length of their prefix.
const SPECIAL_V4: [(Ipv4Addr, u32); 16] = [
    // This network (RFC 791): the system takes it for loopback.
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    // Private (RFC 1918).
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // Between a provider's customers and its NAT (RFC 6598).
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    // Loopback (RFC 1122).
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Link-local (RFC 3927), where clouds have their metadata.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    // Azure's agent, at a public address that only its machines reach.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    // Protocol assignments (RFC 6890).
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    // Documentation (RFC 5737).
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Relays of 6to4, given up (RFC 7526).
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    // Benchmarking (RFC 2544).
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    // Multicast (RFC 5771).
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    // Reserved (RFC 1112), and broadcast.
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// What of IPv6 is given out for the public internet (RFC 4291, section 2.4).
const GLOBAL_UNICAST: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
/// What of that is special all the same.
const SPECIAL_V6: [(Ipv6Addr, u32); 4] = [
    // Protocol assignments (RFC 2928): Teredo, in which an address of IPv4 is hidden (RFC 4380), benchmarking, ORCHID.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // Documentation (RFC 3849, RFC 9637).
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
    // 6to4, in which an address of IPv4 is hidden (RFC 3056).
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
];
/// NAT64, whose last 32 bits are an address of IPv4 (RFC 6052).
const NAT64: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Which addresses an edge may go to where its clients say where that is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ForwardScope {
    /// Those of the public internet: no private or local ones, no metadata of a cloud.
    Public,
    /// Those of this machine alone, by its loopback.
    Loopback,
}

impl ForwardScope {
    /// As it is written.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            ForwardScope::Public => "public",
            ForwardScope::Loopback => "loopback",
        }
    }

    /// Whether an address is in it. One of IPv4 that is written as IPv6 is the same one (RFC 4291, section 2.5.5.2).
    pub(crate) fn has(self, address: IpAddr) -> bool {
        match (self, address.to_canonical()) {
            (ForwardScope::Loopback, address) => address.is_loopback(),
            (ForwardScope::Public, IpAddr::V4(address)) => is_public_v4(address),
            (ForwardScope::Public, IpAddr::V6(address)) => is_public_v6(address),
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let is_in = |(network, prefix): &(Ipv4Addr, u32)| (address.to_bits() ^ network.to_bits()) >> (32 - prefix) == 0;
    !SPECIAL_V4.iter().any(is_in)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let is_in = |(network, prefix): &(Ipv6Addr, u32)| (address.to_bits() ^ network.to_bits()) >> (128 - prefix) == 0;
    if is_in(&NAT64) {
        // What the translator would make of it.
        return is_public_v4(Ipv4Addr::from_bits(address.to_bits() as u32));
    }
    is_in(&GLOBAL_UNICAST) && !SPECIAL_V6.iter().any(is_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses with the scopes that have them: public, loopback.
    const ADDRESSES: [(&str, bool, bool); 74] = [
        ("1.1.1.1", true, false),
        ("9.255.255.255", true, false),
        ("11.0.0.0", true, false),
        ("100.63.255.255", true, false),
        ("100.128.0.0", true, false),
        ("126.255.255.255", true, false),
        ("128.0.0.0", true, false),
        ("168.63.129.15", true, false),
        ("169.253.255.255", true, false),
        ("169.255.0.0", true, false),
        ("172.15.255.255", true, false),
        ("172.32.0.0", true, false),
        ("192.0.1.0", true, false),
        ("192.167.255.255", true, false),
        ("192.169.0.0", true, false),
        ("198.17.255.255", true, false),
        ("198.20.0.0", true, false),
        ("223.255.255.255", true, false),
        ("2606:4700::1111", true, false),
        ("2001:200::1", true, false),
        ("2a00::", true, false),
        ("3ffe::1", true, false),
        ("::ffff:1.1.1.1", true, false),
        ("64:ff9b::1.1.1.1", true, false),
        // This machine.
        ("127.0.0.1", false, true),
        ("127.255.255.254", false, true),
        ("::1", false, true),
        ("::ffff:127.0.0.1", false, true),
        ("0.0.0.0", false, false),
        ("0.255.255.255", false, false),
        ("::", false, false),
        ("::ffff:0.0.0.0", false, false),
        // This network.
        ("10.0.0.0", false, false),
        ("10.255.255.255", false, false),
        ("172.16.0.0", false, false),
        ("172.31.255.255", false, false),
        ("192.168.0.0", false, false),
        ("192.168.255.255", false, false),
        ("100.64.0.0", false, false),
        ("100.127.255.255", false, false),
        ("169.254.0.0", false, false),
        ("169.254.255.255", false, false),
        ("::ffff:10.0.0.1", false, false),
        ("fe80::1", false, false),
        ("fec0::1", false, false),
        ("fc00::1", false, false),
        // Where clouds have their metadata.
        ("169.254.169.254", false, false),
        ("::ffff:169.254.169.254", false, false),
        ("64:ff9b::169.254.169.254", false, false),
        ("168.63.129.16", false, false),
        ("100.100.100.200", false, false),
        ("192.0.0.192", false, false),
        ("fd00:ec2::254", false, false),
        ("fd20:ce::254", false, false),
        // Nobody's.
        ("192.0.0.1", false, false),
        ("192.0.2.1", false, false),
        ("192.88.99.1", false, false),
        ("198.18.0.0", false, false),
        ("198.19.255.255", false, false),
        ("198.51.100.1", false, false),
        ("203.0.113.1", false, false),
        ("224.0.0.1", false, false),
        ("240.0.0.1", false, false),
        ("255.255.255.255", false, false),
        ("2001:db8::1", false, false),
        ("3fff::1", false, false),
        ("ff02::1", false, false),
        ("100::1", false, false),
        // An address of IPv4 is hidden in them.
        ("::127.0.0.1", false, false),
        ("::1.1.1.1", false, false),
        ("64:ff9b::127.0.0.1", false, false),
        ("64:ff9b:1::1.1.1.1", false, false),
        ("2002:7f00:1::1", false, false),
        ("2001:0:4136:e378:8000:63bf:80ff:fffe", false, false),
    ];

    #[test]
    fn a_scope_has_the_public_internet_or_this_machine_and_nothing_of_what_lies_between() {
        for (address, is_public, is_loopback) in ADDRESSES {
            let parsed: IpAddr = address.parse().unwrap();
            let scopes = [ForwardScope::Public, ForwardScope::Loopback].map(|scope| scope.has(parsed));
            assert_eq!(scopes, [is_public, is_loopback], "{address}");
        }
    }
}
