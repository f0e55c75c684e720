//! The time of a run.

use std::fmt;
use std::ops::{Add, AddAssign};
use std::time::Duration;

/// Nanoseconds since the run began.
///
/// A point in time, not a span: spans are [`Duration`]. There is no subtraction that could go
/// below zero; [`Time::nanos_since`] saturates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The beginning of the run.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens: "no deadline" where an `Option` would cost a branch.
    pub const NEVER: Time = Time(u64::MAX);

    /// The point `nanos` ns after the beginning.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// Nanoseconds since the beginning.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Milliseconds since the beginning, as shown to people and written to results.
    pub fn as_ms(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Nanoseconds from `earlier` to here; zero if `earlier` is later. Not a [`Duration`], which keeps
    /// seconds and nanoseconds apart: making one costs a division, and this is asked with every packet.
    pub const fn nanos_since(self, earlier: Time) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The same moment counted from `origin`; zero if it came before.
    #[must_use]
    pub const fn counted_from(self, origin: Time) -> Time {
        Time(self.0.saturating_sub(origin.0))
    }

    /// The point `nanos` ns later; saturates at [`Time::NEVER`].
    pub const fn plus_nanos(self, nanos: u64) -> Time {
        Time(self.0.saturating_add(nanos))
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    /// Saturates at [`Time::NEVER`].
    fn add(self, span: Duration) -> Time {
        let nanos = span.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(span.subsec_nanos()));
        Time(self.0.saturating_add(nanos))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Time::NEVER { write!(f, "never") } else { write!(f, "{:.6}ms", self.as_ms()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_saturates_at_never() {
        assert_eq!(Time::from_nanos(5) + Duration::MAX, Time::NEVER);
        assert_eq!(Time::NEVER + Duration::from_secs(1), Time::NEVER);
    }

    #[test]
    fn since_an_instant_that_is_yet_to_come_is_zero() {
        assert_eq!(Time::from_nanos(5).nanos_since(Time::from_nanos(9)), 0);
    }
}
