//! Quantities as people write them: `80ms`, `1.6mbit`, `64KB`, `1%`.

use crate::{Probability, Rate};
use std::time::Duration;

/// A text that is no quantity of the kind asked for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnitError {
    /// No span of time.
    #[error("'{0}' is no time: write for instance 100ms or 1.5s, not negative and at most one hour")]
    Duration(String),
    /// No rate.
    #[error("'{0}' is no rate: write for instance 10mbit or 768kbit, above zero and at most 1000gbit")]
    Rate(String),
    /// No size.
    #[error("'{0}' is no size: write for instance 500B, 10KB (1,000 bytes each), 64KiB or 1.4MB")]
    Size(String),
    /// No percentage.
    #[error("'{0}' is no percentage: write a number from 0 to 100, for instance 1%")]
    Percentage(String),
}

/// Splits `12.5ms` into 12.5 and `ms`; only plain decimal numbers that are finite and not negative.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim()))
}

/// A span: `100ms`, `1.5s`, `250us`. At most one hour.
pub fn duration(text: &str) -> Result<Duration, UnitError> {
    let error = || UnitError::Duration(text.to_owned());
    let (number, unit) = split(text).ok_or_else(error)?;
    let nanos = match unit.to_ascii_lowercase().as_str() {
        "us" => number * 1e3,
        "ms" => number * 1e6,
        "s" => number * 1e9,
        _ => return Err(error()),
    };
    if nanos > 3.6e12 { Err(error()) } else { Ok(Duration::from_nanos(nanos.round() as u64)) }
}

/// The unit of a rate in bits per second, or `None` where the text is no such unit: `mbit`, `Mbit/s`, `Mbps`. Not
/// `MBps`, which are bytes.
fn rate_unit(unit: &str) -> Option<f64> {
    let bits = unit.strip_suffix("bps").map(|prefix| format!("{prefix}bit"));
    let bits = bits.as_deref().unwrap_or(unit).to_ascii_lowercase();
    match bits.strip_suffix("/s").unwrap_or(&bits) {
        "bit" => Some(1.0),
        "kbit" => Some(1e3),
        "mbit" => Some(1e6),
        "gbit" => Some(1e9),
        _ => None,
    }
}

fn rate_error(text: &str) -> UnitError {
    UnitError::Rate(text.to_owned())
}

/// A rate: `10mbit`, `768kbit`, `1gbit`.
pub fn rate(text: &str) -> Result<Rate, UnitError> {
    let (number, unit) = split(text).ok_or_else(|| rate_error(text))?;
    scaled_rate(text, number, unit)
}

fn scaled_rate(text: &str, number: f64, unit: &str) -> Result<Rate, UnitError> {
    let scale = rate_unit(unit).ok_or_else(|| rate_error(text))?;
    let bits = (number * scale).round();
    if (1.0..=Rate::MAX.bits_per_second() as f64).contains(&bits) {
        Ok(Rate::from_bits_per_second(bits as u64))
    } else {
        Err(rate_error(text))
    }
}

/// A rate down and up: `10mbit` is both, in `10/1mbit` a rate without a unit takes the other's, and
/// `1.6mbit/768kbit` gives each its own.
pub fn rate_pair(text: &str) -> Result<(Rate, Rate), UnitError> {
    let error = || rate_error(text);
    // The first bar parts them: those of "/s" do not.
    let between = text.match_indices('/').find(|(at, _)| !text[at + 1..].starts_with(['s', 'S']));
    let Some((down, up)) = between.map(|(at, _)| (&text[..at], &text[at + 1..])) else {
        let both = rate(text)?;
        return Ok((both, both));
    };
    let (down_number, down_unit) = split(down).ok_or_else(error)?;
    let (up_number, up_unit) = split(up).ok_or_else(error)?;
    let (down_unit, up_unit) = match (down_unit, up_unit) {
        ("", unit) | (unit, "") => (unit, unit),
        units => units,
    };
    Ok((scaled_rate(text, down_number, down_unit)?, scaled_rate(text, up_number, up_unit)?))
}

/// A size in bytes: `46B`, `10KB` (1,000 bytes), `64KiB` (1,024), `1.4MB`. At most 1 TB.
pub fn bytes(text: &str) -> Result<u64, UnitError> {
    let error = || UnitError::Size(text.to_owned());
    let (number, unit) = split(text).ok_or_else(error)?;
    let scale = match unit {
        "" | "B" => 1.0,
        "KB" | "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        _ => return Err(error()),
    };
    let bytes = (number * scale).round();
    if bytes > 1e12 { Err(error()) } else { Ok(bytes as u64) }
}

/// A probability as a percentage: `1%`, `0.5%`; the sign may be left out.
pub fn percentage(text: &str) -> Result<Probability, UnitError> {
    let error = || UnitError::Percentage(text.to_owned());
    let (number, unit) = split(text).ok_or_else(error)?;
    if !matches!(unit, "" | "%") {
        return Err(error());
    }
    Probability::new(number / 100.0).ok_or_else(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_have_a_unit_and_are_not_negative() {
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        for bad in ["", "ms", "10", "-5ms", "1e9s", "NaNms", "inf s", "5 m", "1.2.3ms", "4000s"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_rate_without_a_unit_takes_the_other_direction_s() {
        let pair = |text| rate_pair(text).map(|(d, u)| (d.bits_per_second(), u.bits_per_second()));
        assert_eq!(pair("10mbit"), Ok((10_000_000, 10_000_000)));
        assert_eq!(pair("10/1mbit"), Ok((10_000_000, 1_000_000)));
        assert_eq!(pair("10mbit/1"), Ok((10_000_000, 1_000_000)));
        assert_eq!(pair("1.6mbit/768kbit"), Ok((1_600_000, 768_000)));
        for bad in ["10", "10/1", "0mbit", "-1mbit", "10mbit/0kbit", "/", "2000gbit", "1/2/3mbit"] {
            assert!(pair(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_decimal_unless_they_say_otherwise() {
        assert_eq!(bytes("10KB"), Ok(10_000));
        assert_eq!(bytes("64KiB"), Ok(65_536));
        assert_eq!(bytes("46"), Ok(46));
        assert!(bytes("3TB").is_err() && bytes("-1B").is_err());
    }

    #[test]
    fn percentages_end_at_a_hundred() {
        assert_eq!(percentage("1%").map(Probability::value), Ok(0.01));
        assert_eq!(percentage("100").map(Probability::value), Ok(1.0));
        assert!(percentage("120%").is_err() && percentage("-1%").is_err() && percentage("x").is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_a_parser_panic(text in "\\PC{0,20}") {
            let _ = (duration(&text), rate_pair(&text), bytes(&text), percentage(&text));
        }
    }
}
