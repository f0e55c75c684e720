//! The Huffman code for strings (RFC 7541, section 5.2).

use super::tables::CODES;
use crate::PeerFault;
use std::sync::LazyLock;

/// The longest code in bits.
const MAX_BITS: usize = 30;
/// The end of the string, which is never written out.
const EOS: usize = 256;

/// Bytes of `text` when it is encoded.
pub(super) fn encoded_len(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|byte| usize::from(CODES[usize::from(*byte)].1)).sum();
    bits.div_ceil(8)
}

/// Appends `text`, encoded.
pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0_u64, 0);
    for byte in text {
        let (code, len) = CODES[usize::from(*byte)];
        bits = bits << len | u64::from(code);
        count += len;
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        // The rest of the last byte begins the code of EOS: ones.
        out.push((bits << (8 - count)) as u8 | 0xff >> count);
    }
}

/// The code turned around. Codes of one length are successive numbers, and those of the next length
/// go on from there, so a code is found by comparing.
struct Lengths {
    /// For each length: beyond which bits, left-aligned in 32, codes are longer.
    limits: [u64; MAX_BITS + 1],
    /// For each length: its first code, and where its symbols begin.
    firsts: [(u32, usize); MAX_BITS + 1],
    /// By length, then by code.
    symbols: Vec<u16>,
}

static LENGTHS: LazyLock<Lengths> = LazyLock::new(|| {
    let mut by_code: Vec<(u8, u32, u16)> =
        CODES.iter().enumerate().map(|(symbol, (code, len))| (*len, *code, symbol as u16)).collect();
    by_code.sort_unstable();
    let mut lengths =
        Lengths { limits: [0; MAX_BITS + 1], firsts: [(0, 0); MAX_BITS + 1], symbols: Vec::with_capacity(257) };
    for (len, code, symbol) in by_code {
        let len = usize::from(len);
        if lengths.limits[len] == 0 {
            lengths.firsts[len] = (code, lengths.symbols.len());
        }
        lengths.limits[len] = u64::from(code + 1) << (32 - len);
        lengths.symbols.push(symbol);
    }
    lengths
});

/// Appends what `coded` says.
pub(super) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Result<(), PeerFault> {
    let lengths = &*LENGTHS;
    let (mut bits, mut count) = (0_u64, 0_usize);
    let mut rest = coded.iter();
    loop {
        while count < MAX_BITS
            && let Some(byte) = rest.next()
        {
            bits = bits << 8 | u64::from(*byte);
            count += 8;
        }
        // Missing bits at the end are ones.
        let window = if count >= 32 { bits >> (count - 32) } else { ((bits + 1) << (32 - count)) - 1 } & 0xffff_ffff;
        let len = (5..=MAX_BITS).find(|len| window < lengths.limits[*len]).unwrap_or(MAX_BITS);
        if len > count {
            // RFC 7541, section 5.2: less than a byte, and all ones.
            let is_padding = count < 8 && bits & ((1 << count) - 1) == (1 << count) - 1;
            return if is_padding { Ok(()) } else { Err(PeerFault::Compression) };
        }
        let (first, begin) = lengths.firsts[len];
        let symbol = usize::from(lengths.symbols[begin + ((window >> (32 - len)) as u32 - first) as usize]);
        if symbol == EOS {
            return Err(PeerFault::Compression);
        }
        out.push(symbol as u8);
        count -= len;
        bits &= (1 << count) - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        encode(text, &mut out);
        out
    }

    fn decoded(coded: &[u8]) -> Result<Vec<u8>, PeerFault> {
        let mut out = Vec::new();
        decode(coded, &mut out).map(|()| out)
    }

    #[test]
    fn the_code_is_complete_and_successive_as_decoding_takes_it() {
        let share: f64 = CODES.iter().map(|(_, len)| 0.5_f64.powi(i32::from(*len))).sum();
        assert!((share - 1.0).abs() < f64::EPSILON);
        let mut by_len: Vec<_> = CODES.iter().map(|(code, len)| (*len, *code)).collect();
        by_len.sort_unstable();
        for pair in by_len.windows(2) {
            assert_eq!(pair[1].1, (pair[0].1 + 1) << (pair[1].0 - pair[0].0));
        }
    }

    #[test]
    fn padding_is_ones_and_less_than_a_byte_rfc7541_5_2() {
        // "a" is 00011.
        assert_eq!(decoded(&[0b0001_1111]), Ok(b"a".to_vec()));
        assert_eq!(decoded(&[0b0001_1110]), Err(PeerFault::Compression));
        assert_eq!(decoded(&[0b0001_1111, 0xff]), Err(PeerFault::Compression));
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xff]), Err(PeerFault::Compression), "EOS");
        assert_eq!(decoded(&[]), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let coded = encoded(&text);
            prop_assert_eq!(coded.len(), encoded_len(&text));
            prop_assert_eq!(decoded(&coded), Ok(text));
        }

        #[test]
        fn whatever_decodes_is_encoded_the_same_again(coded in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(text) = decoded(&coded) {
                prop_assert_eq!(encoded(&text), coded);
            }
        }
    }
}
