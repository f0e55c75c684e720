//! What is stored of a key: above all a response, and how it answers a request.

use super::body::CachedBody;
use super::date::parse_date;
use super::freshness::{Freshness, Moments};
use super::key::Varies;
use super::outcome::{CacheOutcome, cache_status};
use super::{has_body_length, of_name};
use loadstone_http::{Chunk, Fields, RequestHead, ResponseHead};
use loadstone_units::Time;
use std::sync::Arc;

/// Bytes that a stored response takes besides its text and its content.
const OVERHEAD: u64 = 512;

/// Fields that a 304 does not change, since they are about the bytes that are stored (RFC 9111, section 3.2).
const OF_THE_CONTENT: [&[u8]; 4] = [b"content-length", b"content-encoding", b"content-md5", b"content-range"];
/// Fields of the message that has come, not of what is stored: a 304 has its own, or none.
const OF_THE_MESSAGE: [&[u8]; 2] = [b"age", b"date"];
/// Fields that a 304 has of the response in whose place it comes (RFC 9110, section 15.4.5).
const OF_NOT_MODIFIED: [&[u8]; 9] = [
    b"cache-control",
    b"cdn-cache-control",
    b"content-location",
    b"date",
    b"etag",
    b"expires",
    b"last-modified",
    b"vary",
    b"via",
];

/// What is known of a key.
#[derive(Clone, Debug)]
pub(super) enum Stored {
    Response(Arc<StoredResponse>),
    /// There are responses, by what they vary by.
    Varies(Varies),
    /// A response could not be stored: until then nobody waits for another one.
    Unstorable {
        until: Time,
    },
}

impl Stored {
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Stored::Response(response) => StoredResponse::bytes(&response.head, response.body.len()),
            Stored::Varies(varies) => varies.bytes(),
            Stored::Unstorable { .. } => 0,
        }
    }

    /// Whether it stays in memory when it is dropped here.
    pub(super) fn is_in_use(&self) -> bool {
        matches!(self, Stored::Response(response) if Arc::strong_count(response) > 1 || response.body.is_shared())
    }
}

/// A complete response that may be used again.
#[derive(Clone, Debug)]
pub(in crate::relay) struct StoredResponse {
    pub(super) head: Arc<ResponseHead>,
    pub(super) body: CachedBody,
    pub(super) freshness: Freshness,
}

/// What a client gets of a stored response.
#[derive(Debug)]
pub(in crate::relay) struct StoredAnswer {
    pub(in crate::relay) head: Arc<ResponseHead>,
    pub(in crate::relay) content: Vec<Chunk>,
}

/// What of a stored response a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Whole,
    /// It has not changed since the client got it.
    NotModified,
    /// So many bytes from the first on.
    Range {
        first: u64,
        len: u64,
    },
    /// What only the origin can give.
    Other,
}

impl StoredResponse {
    /// A response as it is stored: with a Date (RFC 9110, section 6.6.1).
    pub(super) fn head(head: &ResponseHead, moments: Moments) -> Arc<ResponseHead> {
        let date = httpdate::fmt_http_date(moments.day());
        let has_date = head.fields.get(b"date").is_some();
        let own = (!has_date).then_some((&b"date"[..], date.as_bytes()));
        Arc::new(ResponseHead::new(head.status, Fields::from_pairs(head.fields.iter().chain(own))))
    }

    /// The bytes of memory that a response takes whose content is so long.
    pub(super) fn bytes(head: &ResponseHead, len: u64) -> u64 {
        2 * head.http1_len() as u64 + len + OVERHEAD
    }

    /// What is stored once the origin has said that it has not changed: with what it said besides (RFC 9111, section 4.3.4).
    /// `None` if it said it of another response.
    pub(super) fn freshened(&self, not_modified: &ResponseHead) -> Option<ResponseHead> {
        let new = |name: &[u8]| not_modified.fields.get(name);
        let is_other = |name: &[u8]| {
            new(name).is_some_and(|value| self.head.fields.get(name).is_none_or(|old| opaque(old) != opaque(value)))
        };
        if is_other(b"etag") || (new(b"etag").is_none() && is_other(b"last-modified")) {
            return None;
        }
        let is_of = |list: &[&[u8]], name: &[u8]| list.iter().any(|own| name.eq_ignore_ascii_case(own));
        let stays = |name: &[u8]| is_of(&OF_THE_CONTENT, name);
        let is_replaced = |name: &[u8]| !stays(name) && (new(name).is_some() || is_of(&OF_THE_MESSAGE, name));
        let old = self.head.fields.iter().filter(|(name, _)| !is_replaced(name));
        let said = not_modified.fields.iter().filter(|(name, _)| !stays(name));
        Some(ResponseHead::new(self.head.status, Fields::from_pairs(old.chain(said))))
    }

    /// Whether an origin can be asked if it is still right.
    pub(super) fn has_validator(&self) -> bool {
        has_validator(&self.head)
    }

    /// A request that asks so (RFC 9111, section 4.3.1).
    pub(super) fn validation(&self, request: &RequestHead) -> RequestHead {
        let validators = [(&b"if-none-match"[..], &b"etag"[..]), (b"if-modified-since", b"last-modified")];
        let own = validators.into_iter().filter_map(|(name, of)| Some((name, self.head.fields.get(of)?)));
        unconditional(request, own)
    }

    /// What of it a request asks for.
    pub(super) fn part(&self, request: &RequestHead) -> Part {
        if self.is_not_modified(request) {
            return Part::NotModified;
        }
        match request.fields.get(b"range").filter(|_| self.head.status == 200) {
            None => Part::Whole,
            Some(range) => match byte_range(range, self.body.len()) {
                Some((first, len)) => Part::Range { first, len },
                None => Part::Other,
            },
        }
    }

    /// Whether what a client has is the same (RFC 9110, section 13.2.2).
    fn is_not_modified(&self, request: &RequestHead) -> bool {
        if self.head.status != 200 {
            return false;
        }
        let own = |name: &[u8]| self.head.fields.get(name);
        let mut tags = of_name(&request.fields, b"if-none-match").peekable();
        if tags.peek().is_some() {
            let is_own = |tag: &[u8]| tag == b"*" || own(b"etag").is_some_and(|own| opaque(own) == opaque(tag));
            return tags.any(|tags| tags.split(|byte| *byte == b',').any(|tag| is_own(tag.trim_ascii())));
        }
        // What does not say when it was changed was not changed after it came (RFC 9111, section 4.3.2).
        let modified = own(b"last-modified").or_else(|| own(b"date")).and_then(parse_date);
        let since = request.fields.get(b"if-modified-since").and_then(parse_date);
        matches!((since, modified), (Some(since), Some(modified)) if modified <= since)
    }

    /// It as an answer of this kind.
    pub(super) fn answer(&self, part: Part, is_head: bool, outcome: CacheOutcome, now: Time) -> StoredAnswer {
        let mut own = vec![
            ("age", self.freshness.age(now).as_secs().to_string()),
            ("cache-status", cache_status(outcome, Some(self.freshness.ttl(now)))),
        ];
        let (status, content) = match part {
            Part::Whole | Part::Other => {
                if has_body_length(self.head.status) && self.head.fields.get(b"content-length").is_none() {
                    own.push(("content-length", self.body.len().to_string()));
                }
                (self.head.status, self.body.pieces().to_vec())
            }
            Part::NotModified => (304, Vec::new()),
            Part::Range { first, len } => {
                own.push(("content-range", format!("bytes {first}-{}/{}", first + len - 1, self.body.len())));
                own.push(("content-length", len.to_string()));
                (206, self.body.part(first, len))
            }
        };
        let stays = |name: &[u8]| match part {
            Part::Whole | Part::Other => true,
            Part::NotModified => OF_NOT_MODIFIED.iter().any(|own| name.eq_ignore_ascii_case(own)),
            Part::Range { .. } => !name.eq_ignore_ascii_case(b"content-length"),
        };
        let kept = self.head.fields.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(b"age") && stays(name));
        let fields =
            Fields::from_pairs(kept.chain(own.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()))));
        let content = if is_head { Vec::new() } else { content };
        StoredAnswer { head: Arc::new(ResponseHead::new(status, fields)), content }
    }
}

/// Whether a response says by what it is known.
pub(super) fn has_validator(head: &ResponseHead) -> bool {
    head.fields.get(b"etag").is_some() || head.fields.get(b"last-modified").is_some()
}

/// A request without the conditions of its client, with others in their place.
pub(super) fn unconditional<'a>(
    request: &'a RequestHead,
    others: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) -> RequestHead {
    let is_condition =
        |name: &[u8]| name.eq_ignore_ascii_case(b"if-none-match") || name.eq_ignore_ascii_case(b"if-modified-since");
    let kept = request.fields.iter().filter(|(name, _)| !is_condition(name));
    let (method, authority, path) = (request.method.clone(), request.authority.clone(), request.path.clone());
    RequestHead::new(method, authority, path, Fields::from_pairs(kept.chain(others))).over(request.scheme)
}

/// What of an entity tag is compared where weak ones are alike (RFC 9110, section 8.8.3.2).
fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

/// The only range of a request (RFC 9110, section 14.1.2): its first byte, and how many they are.
fn byte_range(value: &[u8], whole: u64) -> Option<(u64, u64)> {
    let (unit, range) = std::str::from_utf8(value).ok()?.split_once('=')?;
    let (first, last) = range.trim().split_once('-').filter(|_| unit.eq_ignore_ascii_case("bytes"))?;
    let number = |text: &str| text.parse::<u64>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let (first, end) = match (first, last) {
        ("", suffix) => (whole.saturating_sub(number(suffix)?), whole),
        (first, "") => (number(first)?, whole),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first, if last < first { 0 } else { last.saturating_add(1).min(whole) })
        }
    };
    (first < end).then(|| (first, end - first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_that_can_be_met_is_cut_out_and_all_others_are_the_origins_rfc9110_14_1_2() {
        for (value, range) in [
            ("bytes=0-0", Some((0, 1))),
            ("Bytes=2-", Some((2, 8))),
            ("bytes=-3", Some((7, 3))),
            ("bytes=-30", Some((0, 10))),
            ("bytes=5-99", Some((5, 5))),
            ("bytes=0-18446744073709551615", Some((0, 10))),
            ("bytes=10-", None),
            ("bytes=3-2", None),
            ("bytes=-0", None),
            ("bytes=0-1,3-4", None),
            ("bytes=+1-2", None),
            ("lines=0-1", None),
        ] {
            assert_eq!(byte_range(value.as_bytes(), 10), range, "{value}");
        }
    }
}
