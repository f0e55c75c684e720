//! Which fields may follow the content of a message.

use crate::Fields;

/// Fields for framing, routing, request modifiers, response control, authentication and the content's format: they
/// are valid in the head only (RFC 9110, section 6.5.1; RFC 7230, section 4.1.2).
const HEAD_ONLY: [&str; 35] = [
    "age",
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "expect",
    "expires",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "retry-after",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
    "warning",
    "www-authenticate",
];

/// Of these fields, those that may follow the content.
pub(crate) fn trailers(fields: &Fields) -> Fields {
    let may = |name: &[u8]| !HEAD_ONLY.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
    Fields::from_pairs(fields.iter().filter(|(name, _)| may(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_head_is_left_out_whatever_its_case_rfc9110_6_5_1() {
        let fields = [("Content-Length", "3"), ("etag", "\"x\""), ("HOST", "a"), ("Server-Timing", "db;dur=5")];
        let may = [("etag", "\"x\""), ("Server-Timing", "db;dur=5")];
        assert_eq!(trailers(&Fields::from_pairs(fields)), Fields::from_pairs(may));
    }
}
