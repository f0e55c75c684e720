//! Content-Length (RFC 9110, section 8.6): what all protocols take for a length.

use crate::{Fields, PeerFault};

/// The Content-Length of a message; `None` if its head has none.
///
/// # Errors
/// If a value is not one in decimal digits, or if there are two that differ.
pub fn content_length(fields: &Fields) -> Result<Option<u64>, PeerFault> {
    fields.get_all(b"content-length").try_fold(None, |before, value| with_another(before, value).map(Some))
}

/// The Content-Length of a message in whose head one more value of it stands.
pub(crate) fn with_another(before: Option<u64>, value: &[u8]) -> Result<u64, PeerFault> {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let length = std::str::from_utf8(value).ok().filter(|_| digits).and_then(|text| text.parse().ok());
    length.filter(|length| before.is_none_or(|before| before == *length)).ok_or(PeerFault::InvalidLength)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_in_decimal_digits_and_there_is_one_rfc9110_8_6() {
        let read =
            |values: &[&str]| content_length(&Fields::from_pairs(values.iter().map(|it| ("Content-Length", it))));
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&["3"]), Ok(Some(3)));
        assert_eq!(read(&["18446744073709551615"]), Ok(Some(u64::MAX)));
        assert_eq!(read(&["3", "03"]), Ok(Some(3)), "the same length twice");
        for values in
            [&["+3"][..], &["-3"], &[""], &[" 3"], &["3, 3"], &["0x3"], &["3", "4"], &["18446744073709551616"]]
        {
            assert_eq!(read(values), Err(PeerFault::InvalidLength), "{values:?}");
        }
    }
}
