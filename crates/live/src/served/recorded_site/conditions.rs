//! What a request's fields ask of a response: that it is new, a part of it, a coding, or leave to read it.

use super::heads::SentFields;
use loadstone_http::RequestHead;
use std::ops::Range;

/// The fields of requests that are read for it.
pub(crate) const FIELDS_READ: [&[u8]; 9] = [
    b"accept-encoding",
    b"access-control-request-headers",
    b"access-control-request-method",
    b"if-modified-since",
    b"if-none-match",
    b"if-range",
    b"origin",
    b"range",
    b"sec-fetch-dest",
];

/// Fields that an answer has which says that nothing is new (RFC 9110, section 15.4.5), and by which a browser lets a
/// page read it.
const OF_UNCHANGED: [&str; 8] = [
    "cache-control",
    "content-location",
    "cross-origin-resource-policy",
    "date",
    "etag",
    "expires",
    "last-modified",
    "vary",
];

/// Whether a field belongs to an answer that says that nothing is new.
pub(super) fn is_of_unchanged(name: &str) -> bool {
    OF_UNCHANGED.contains(&name) || name.starts_with("access-control-") || name == "timing-allow-origin"
}

/// Whether the client has the response already (RFC 9110, section 13.2.2).
pub(super) fn is_unchanged(request: &RequestHead, fields: &SentFields) -> bool {
    match (request.fields.get(b"if-none-match"), request.fields.get(b"if-modified-since")) {
        (Some(known), _) => {
            let opaque = |tag: &[u8]| tag.strip_prefix(b"W/").unwrap_or(tag).to_vec();
            let own = fields.get("etag").map(|tag| opaque(tag.trim_ascii()));
            let is_own = |tag: &[u8]| tag == b"*" || Some(opaque(tag)) == own;
            known.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).any(is_own)
        }
        // Browsers send back what they were told.
        (None, Some(since)) => fields.get("last-modified").is_some_and(|at| at.trim_ascii() == since.trim_ascii()),
        (None, None) => false,
    }
}

/// Whether the client accepts a content coding (RFC 9110, section 12.5.3).
pub(super) fn accepts(request: &RequestHead, coding: &str) -> bool {
    let accepted = request.fields.get(b"accept-encoding").unwrap_or_default();
    let weight = |wanted: &str| {
        accepted.split(|byte| *byte == b',').find_map(|entry| {
            let mut parts = entry.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
            let is_it = parts.next()?.eq_ignore_ascii_case(wanted.as_bytes());
            let is_refused = |part: &[u8]| matches!(part, b"q=0" | b"q=0.0" | b"q=0.00" | b"q=0.000");
            is_it.then(|| !parts.any(is_refused))
        })
    };
    weight(coding).or_else(|| weight("*")).unwrap_or(false)
}

/// The one part of a body of `len` bytes that is asked for (RFC 9110, section 14.2); none if all of it is, or if
/// there is no such part.
pub(super) fn part(request: &RequestHead, fields: &SentFields, len: u64) -> Option<Range<u64>> {
    if let Some(known) = request.fields.get(b"if-range") {
        let is_same = [fields.get("etag"), fields.get("last-modified")].contains(&Some(known));
        if !is_same {
            return None;
        }
    }
    let text = std::str::from_utf8(request.fields.get(b"range")?).ok()?;
    let (first, last) = text.trim().strip_prefix("bytes=")?.split_once('-')?;
    let range = match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) => first..last.saturating_add(1).min(len),
        (Ok(first), Err(_)) if last.is_empty() => first..len,
        (Err(_), Ok(last)) if first.is_empty() => len.saturating_sub(last)..len,
        _ => return None,
    };
    (!range.is_empty()).then_some(range)
}

/// What a browser is told that asks for leave to send a request of which only the answer was recorded, which has
/// these fields. Nothing if that answer gives leave to nobody.
pub(super) fn leave(request: &RequestHead, answer: &[(String, Vec<u8>)]) -> Vec<(String, Vec<u8>)> {
    let recorded = |wanted: &str| answer.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let asked = |name: &[u8]| request.fields.get(name).map(<[u8]>::to_vec);
    let Some(reader) = recorded("access-control-allow-origin") else { return Vec::new() };
    let leave = [
        ("access-control-allow-origin", Some(reader)),
        ("access-control-allow-credentials", recorded("access-control-allow-credentials")),
        ("access-control-allow-methods", asked(b"access-control-request-method")),
        ("access-control-allow-headers", asked(b"access-control-request-headers")),
        ("vary", Some(b"origin".to_vec())),
    ];
    leave.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_http::Fields;

    fn asking(fields: &[(&str, &str)]) -> RequestHead {
        RequestHead::get("a.test", "/", Fields::from_pairs(fields.iter().copied()))
    }

    fn having(fields: &[(&str, &str)]) -> SentFields {
        let pairs = fields.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        SentFields::of(&pairs.collect::<Vec<_>>())
    }

    #[test]
    fn validators_are_compared_weakly_and_tags_come_first_rfc9110_13_2_2() {
        let own = having(&[("etag", "W/\"1\""), ("last-modified", "Mon")]);
        for (asked, expected) in [
            (&[("if-none-match", "\"1\"")][..], true),
            (&[("if-none-match", "\"0\", W/\"1\"")], true),
            (&[("if-none-match", "*")], true),
            (&[("if-none-match", "\"2\""), ("if-modified-since", "Mon")], false),
            (&[("if-modified-since", "Mon")], true),
            (&[("if-modified-since", "Tue")], false),
            (&[], false),
        ] {
            assert_eq!(is_unchanged(&asking(asked), &own), expected, "{asked:?}");
        }
        assert!(!is_unchanged(&asking(&[("if-none-match", "\"1\"")]), &having(&[])));
    }

    #[test]
    fn codings_are_those_that_the_client_names_rfc9110_12_5_3() {
        for (accepted, gzip, br) in [
            ("gzip, deflate, br", true, true),
            ("GZIP;q=0.5, br;q=0", true, false),
            ("identity;q=1, *;q=0", false, false),
            ("*", true, true),
            ("", false, false),
        ] {
            let request = asking(&[("accept-encoding", accepted)]);
            assert_eq!((accepts(&request, "gzip"), accepts(&request, "br")), (gzip, br), "{accepted}");
        }
        assert!(!accepts(&asking(&[]), "gzip"));
    }

    #[test]
    fn one_part_can_be_asked_for_rfc9110_14_2() {
        for (range, expected) in [
            ("bytes=0-", Some(0..10)),
            ("bytes=2-4", Some(2..5)),
            ("bytes=2-99", Some(2..10)),
            ("bytes=-3", Some(7..10)),
            ("bytes=-30", Some(0..10)),
            ("bytes=10-", None),
            ("bytes=4-2", None),
            ("bytes=0-1,3-4", None),
            ("lines=0-1", None),
            ("bytes=-", None),
        ] {
            assert_eq!(part(&asking(&[("range", range)]), &having(&[]), 10), expected, "{range}");
        }
        let own = having(&[("etag", "\"1\"")]);
        for (tag, expected) in [("\"1\"", Some(0..10)), ("\"2\"", None)] {
            assert_eq!(part(&asking(&[("range", "bytes=0-"), ("if-range", tag)]), &own, 10), expected);
        }
    }
}
