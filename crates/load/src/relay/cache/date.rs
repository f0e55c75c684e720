//! Dates of fields (RFC 9110, section 5.6.7), which a cache takes in any case (RFC 9111, section 4.2).

use std::time::SystemTime;

/// The moment that a field's value names; none if it is no date.
pub(super) fn parse_date(value: &[u8]) -> Option<SystemTime> {
    let value = std::str::from_utf8(value).ok()?;
    httpdate::parse_http_date(value).or_else(|_| httpdate::parse_http_date(&in_usual_case(value))).ok()
}

/// The same with words as dates have them: `Thu, 18 Aug 2050 02:01:18 GMT`.
fn in_usual_case(value: &str) -> String {
    let mut is_inside = false;
    let usual = value.chars().map(|letter| {
        let goes_on = std::mem::replace(&mut is_inside, letter.is_ascii_alphabetic());
        if goes_on { letter.to_ascii_lowercase() } else { letter.to_ascii_uppercase() }
    });
    usual.collect::<String>().replace("Gmt", "GMT")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_of_three_forms_are_taken_in_any_case_and_nothing_else_is_one_rfc9111_4_2() {
        for (value, is_date) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", true),
            ("Sunday, 06-Nov-94 08:49:37 GMT", true),
            ("Sun Nov  6 08:49:37 1994", true),
            ("SUN, 06 NOV 1994 08:49:37 gmt", true),
            ("sunday, 06-nov-94 08:49:37 Gmt", true),
            ("sUN nOV  6 08:49:37 1994", true),
            ("Sun, 06  Nov 1994 08:49:37 GMT", false),
            ("Sun, 06 Nov 1994 08:49:37 UTC", false),
            ("Mon, 06 Nov 1994 08:49:37 GMT", false),
            ("784111777", false),
            ("", false),
            ("\u{e9}", false),
        ] {
            let moment = is_date.then(|| SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777));
            assert_eq!(parse_date(value.as_bytes()), moment, "{value}");
        }
    }
}
