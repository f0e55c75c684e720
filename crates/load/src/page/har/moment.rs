//! Moments: ISO 8601 dates with offsets, in ms since 1970.

/// Reads `2017-06-28T17:41:55.090+09:00` and its variants: a space for the T, a comma for the
/// point, no fraction, no offset (then UTC), an offset without its colon or minutes.
pub(super) fn parse(text: &str) -> Option<f64> {
    let mut rest = text.trim();
    let year = digits(&mut rest, 4)?;
    let month = after(&mut rest, "-", 2).filter(|month| (1..=12).contains(month))?;
    let day = after(&mut rest, "-", 2).filter(|day| (1..=31).contains(day))?;
    rest = rest.strip_prefix(['T', 't', ' '])?;
    let hour = digits(&mut rest, 2).filter(|hour| *hour <= 24)?;
    let minute = after(&mut rest, ":", 2).filter(|minute| *minute <= 59)?;
    // 60 is a leap second.
    let second = if rest.starts_with(':') { after(&mut rest, ":", 2).filter(|second| *second <= 60)? } else { 0 };
    let fraction = fraction(&mut rest)?;
    let offset = offset(rest.trim_start())?;
    let minutes = (days_since_1970(year, month, day) * 24 + hour) * 60 + minute - offset;
    Some((minutes * 60 + second) as f64 * 1e3 + fraction)
}

/// Exactly `count` digits.
fn digits(rest: &mut &str, count: usize) -> Option<i64> {
    let (number, after) = rest.split_at_checked(count)?;
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    *rest = after;
    number.parse().ok()
}

/// A separator, then exactly `count` digits.
fn after(rest: &mut &str, separator: &str, count: usize) -> Option<i64> {
    *rest = rest.strip_prefix(separator)?;
    digits(rest, count)
}

/// The fraction of a second in ms, if there is one.
fn fraction(rest: &mut &str) -> Option<f64> {
    let Some(fraction) = rest.strip_prefix(['.', ',']) else { return Some(0.0) };
    let end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
    *rest = &fraction[end..];
    // What is finer than a nanosecond is noise.
    let kept = &fraction[..end.min(9)];
    let number: u32 = if kept.is_empty() { 0 } else { kept.parse().ok()? };
    let unit = [1e3, 1e2, 1e1, 1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6][kept.len()];
    Some(f64::from(number) * unit)
}

/// The offset from UTC in minutes.
fn offset(text: &str) -> Option<i64> {
    let (sign, mut rest) = match text.as_bytes().first() {
        None => return Some(0),
        Some(b'Z' | b'z') => return (text.len() == 1).then_some(0),
        Some(b'+') => (1, &text[1..]),
        Some(b'-') => (-1, &text[1..]),
        Some(_) => return None,
    };
    let hours = digits(&mut rest, 2)?;
    rest = rest.strip_prefix(':').unwrap_or(rest);
    let minutes = if rest.is_empty() { 0 } else { digits(&mut rest, 2)? };
    rest.is_empty().then_some(sign * (hours * 60 + minutes))
}

/// The Gregorian calendar, counted from the first of March so that leap days end a year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_are_read_with_their_offsets() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", 0.0),
            ("1970-01-02 00:00:00,5", 86_400_500.0),
            ("2000-03-01T00:00:00.000+00:00", 951_868_800_000.0),
            ("2017-06-28T17:41:55.090+09:00", 1_498_639_315_090.0),
            ("2017-06-28T08:41:55.090Z", 1_498_639_315_090.0),
            ("2017-06-28T04:11:55.09-0430", 1_498_639_315_090.0),
            ("2017-06-28T10:41:55.0905+02", 1_498_639_315_090.5),
            ("2024-02-29T23:59", 1_709_251_140_000.0),
        ] {
            let read = parse(text).unwrap_or_else(|| panic!("{text}"));
            assert!((read - ms).abs() < 0.001, "{text}: {read}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for bad in ["", "now", "2017-13-01T00:00:00Z", "2017-06-28", "17-06-28T08:41:55Z", "2017-06-28T08:41:55X"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,12}", date in "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.Z+\\-é]{0,20}") {
            let _ = (parse(&text), parse(&date));
        }
    }
}
