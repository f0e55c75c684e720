//! Whole numbers that lie between two bounds, both included.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct Bounded<const MIN: u32, const MAX: u32>(u32);

/// A number outside its bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{value} is out of range: give {min} to {max}")]
pub struct OutOfRange {
    value: i64,
    min: u32,
    max: u32,
}

impl<const MIN: u32, const MAX: u32> Bounded<MIN, MAX> {
    /// The number, or why it is none.
    ///
    /// # Errors
    /// If it lies outside the bounds.
    pub fn new(value: i64) -> Result<Self, OutOfRange> {
        let inside = u32::try_from(value).ok().filter(|value| (MIN..=MAX).contains(value));
        inside.map(Bounded).ok_or(OutOfRange { value, min: MIN, max: MAX })
    }

    /// A number known to lie within the bounds.
    ///
    /// # Panics
    /// If it does not.
    pub const fn known(value: u32) -> Self {
        assert!(MIN <= value && value <= MAX);
        Bounded(value)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl<const MIN: u32, const MAX: u32> TryFrom<i64> for Bounded<MIN, MAX> {
    type Error = OutOfRange;

    fn try_from(value: i64) -> Result<Self, OutOfRange> {
        Bounded::new(value)
    }
}

impl<const MIN: u32, const MAX: u32> From<Bounded<MIN, MAX>> for i64 {
    fn from(bounded: Bounded<MIN, MAX>) -> i64 {
        i64::from(bounded.0)
    }
}

impl<const MIN: u32, const MAX: u32> JsonSchema for Bounded<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("From{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": MIN, "maximum": MAX})
    }
}

impl<const MIN: u32, const MAX: u32> fmt::Display for Bounded<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_bounds_are_inside_and_their_neighbours_are_not() {
        type Small = Bounded<1, 10>;
        assert_eq!([1, 10].map(|n| Small::new(n).unwrap().get()), [1, 10]);
        for outside in [0, 11, -1, i64::MAX] {
            assert!(Small::new(outside).unwrap_err().to_string().contains("give 1 to 10"));
        }
    }
}
