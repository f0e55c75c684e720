//! The Internet checksum, which IPv4, ICMP and TCP have in their headers.

/// The Internet checksum (RFC 1071); an odd last byte counts as if a zero came after it.
pub fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > u16::MAX.into() {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_example_in_rfc1071_3() {
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&[0xf6, 0xf7, 0x12]), checksum(&[0xf6, 0xf7, 0x12, 0]));
    }
}
