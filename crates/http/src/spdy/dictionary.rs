//! What header compression begins with: text that both ends have "seen" before the first block.

mod three;
mod two;

/// The dictionary of SPDY/2.
pub(super) fn two() -> &'static [u8] {
    two::TWO
}

/// The dictionary of SPDY/3 and SPDY/3.1.
pub(super) fn three() -> &'static [u8] {
    &three::THREE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1950, section 9.
    fn adler32(text: &[u8]) -> u32 {
        let (low, high) = text.iter().fold((1, 0), |(low, high), byte| {
            let low = (low + u32::from(*byte)) % 65_521;
            (low, (high + low) % 65_521)
        });
        high << 16 | low
    }

    #[test]
    fn they_are_the_published_ones() {
        assert_eq!((two().len(), adler32(two())), (907, 0xdfa2_51b2));
        assert_eq!((three().len(), adler32(three())), (1423, 0xe3c6_a7c2));
    }
}
