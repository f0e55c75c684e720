//! The rate of a link.

use std::fmt;
use std::time::Duration;

/// Bits per second, never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Rate(u64);

impl Rate {
    /// The largest rate that is accepted: 1 Tbit/s.
    pub const MAX: Rate = Rate(1_000_000_000_000);

    /// A rate of `bits` per second.
    ///
    /// # Panics
    /// If `bits` is zero or above [`Rate::MAX`]; text is checked by [`crate::parse::rate`].
    pub const fn from_bits_per_second(bits: u64) -> Rate {
        assert!(bits > 0 && bits <= Rate::MAX.0);
        Rate(bits)
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// The rate multiplied by a factor, within what a rate may be.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Rate {
        Rate(((self.0 as f64 * factor) as u64).clamp(1, Rate::MAX.0))
    }

    /// The time that `bytes` bytes take on the wire, rounded up to a whole nanosecond so that a
    /// link never exceeds its rate.
    pub fn transmission(self, bytes: u32) -> Duration {
        Duration::from_nanos((u64::from(bytes) * 8_000_000_000).div_ceil(self.0))
    }

    /// The whole bytes that pass in `span`.
    pub fn bytes_in(self, span: Duration) -> u64 {
        u64::try_from(u128::from(self.0) * span.as_nanos() / 8_000_000_000).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Rate {
    /// In the largest unit that needs no rounding: `10mbit`, `768kbit`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, size) in [("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1_000)] {
            // One decimal place is what people write: 1.6mbit.
            if self.0 >= size && self.0.is_multiple_of(size / 10) {
                return write!(f, "{}{unit}", self.0 as f64 / size as f64);
            }
        }
        write!(f, "{}bit", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_rounds_up_so_the_rate_is_never_exceeded() {
        let third = Rate::from_bits_per_second(3_000_000_000);
        assert_eq!(third.transmission(1), Duration::from_nanos(3));
        assert_eq!(Rate::from_bits_per_second(768_000).transmission(1500), Duration::from_micros(15_625));
    }

    #[test]
    fn bytes_in_a_span_is_the_inverse() {
        assert_eq!(Rate::from_bits_per_second(10_000_000).bytes_in(Duration::from_millis(100)), 125_000);
    }

    #[test]
    fn display_uses_the_unit_people_write() {
        let shown: Vec<String> =
            [1_600_000, 768_000, 10_000_000, 1_234_567].map(|bits| Rate::from_bits_per_second(bits).to_string()).into();
        assert_eq!(shown, ["1.6mbit", "768kbit", "10mbit", "1234567bit"]);
    }
}
