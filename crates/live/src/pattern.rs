//! What bodies consist of: byte `i` of every body is (131 i + 7 floor(i / 256) + 13) mod 256.

use std::sync::LazyLock;

/// The period of the pattern in bytes: 131 x 65536 and 7 x 65536 / 256 are multiples of 256.
const PERIOD: usize = 65_536;

static PATTERN: LazyLock<Vec<u8>> =
    LazyLock::new(|| (0..PERIOD).map(|i| (131 * i + 7 * (i / 256) + 13) as u8).collect());

/// Appends the `len` bytes from `offset` on to `out`.
pub(crate) fn append(offset: u64, len: u64, out: &mut Vec<u8>) {
    let (mut at, mut left) = ((offset % PERIOD as u64) as usize, len as usize);
    out.reserve(left);
    while left > 0 {
        let piece = left.min(PERIOD - at);
        out.extend_from_slice(&PATTERN[at..at + piece]);
        left -= piece;
        at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_the_formula_s_wherever_a_piece_begins() {
        let byte = |i: u64| ((131_u128 * u128::from(i) + 7 * u128::from(i / 256) + 13) % 256) as u8;
        for (offset, len) in [(0, 0), (0, 700), (65_530, 20), (255, 2), (1_000_003, 140_000), (u64::MAX - 70_000, 9)] {
            let mut out = vec![1, 2];
            append(offset, len, &mut out);
            assert!(out[2..].iter().copied().eq((offset..offset + len).map(byte)), "{len} from {offset}");
        }
    }
}
