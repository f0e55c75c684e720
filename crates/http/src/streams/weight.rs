//! What the weight of a stream is worth (RFC 7540, section 5.3.2).

/// The largest weight.
const MAX_WEIGHT: u64 = 256;

/// What sending `len` bytes costs a stream of this weight, 1 to 256, in virtual time. The rounding error is less
/// than a thousandth of a byte.
pub(super) fn cost(len: u64, weight: u16) -> u64 {
    len.saturating_mul(MAX_WEIGHT << 12) / u64::from(weight)
}
