//! Numbers (RFC 7541, section 5.1).

use crate::PeerFault;

/// Appends a number whose first byte begins with the bits `first` and has `bits` bits of its own.
pub(super) fn encode(number: usize, first: u8, bits: u8, out: &mut Vec<u8>) {
    let full = (1 << bits) - 1;
    if number < full {
        return out.push(first | number as u8);
    }
    out.push(first | full as u8);
    let mut rest = number - full;
    while rest >= 128 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Takes a number that has `bits` bits of the first byte.
pub(super) fn decode(input: &mut &[u8], bits: u8) -> Result<usize, PeerFault> {
    let full = (1 << bits) - 1;
    let mut number = usize::from(take(input)?) & full;
    if number < full {
        return Ok(number);
    }
    // No length or index here comes near 2^28, so four more bytes are enough.
    for shift in [0, 7, 14, 21] {
        let byte = usize::from(take(input)?);
        number += (byte & 0x7f) << shift;
        if byte < 128 {
            return Ok(number);
        }
    }
    Err(PeerFault::Compression)
}

fn take(input: &mut &[u8]) -> Result<u8, PeerFault> {
    let (first, rest) = input.split_first().ok_or(PeerFault::Compression)?;
    *input = rest;
    Ok(*first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_examples_of_rfc7541_c_1() {
        for (number, bits, bytes) in [(10, 5, &[10_u8][..]), (1337, 5, &[31, 154, 10]), (42, 8, &[42])] {
            let mut out = Vec::new();
            encode(number, 0, bits, &mut out);
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn a_number_that_is_cut_short_or_without_end_is_an_error() {
        for mut input in [&[][..], &[31], &[31, 0x80], &[31, 0xff, 0xff, 0xff, 0xff, 0x01]] {
            assert_eq!(decode(&mut input, 5), Err(PeerFault::Compression));
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(number in 0_usize..1 << 28, bits in 1_u8..8) {
            let mut out = Vec::new();
            encode(number, 0, bits, &mut out);
            let mut input = &out[..];
            prop_assert_eq!(decode(&mut input, bits), Ok(number));
            prop_assert!(input.is_empty());
        }
    }
}
