//! The heads of objects for which a page gives only sizes, and of those whose fields it gives.

use super::file::Field;
use loadstone_http::h1::{MAX_FIELDS, MAX_HEAD};
use loadstone_http::{Fields, RequestHead, ResponseHead};

/// Bytes of a request's head where a page does not say.
pub(super) const REQUEST_HEADER_BYTES: u32 = 400;
/// Bytes of a response's head where a page does not say.
pub(super) const RESPONSE_HEADER_BYTES: u32 = 250;

pub(super) const REQUEST_FIELDS: [(&str, &str); 3] = [
    ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) Loadstone"),
    ("accept", "*/*"),
    ("accept-encoding", "gzip, deflate, br"),
];

/// What a head of a stated size cannot be smaller than.
pub(super) struct TooSmall {
    /// Bytes without any padding.
    pub(super) min: usize,
}

/// A request's head of exactly `size` bytes: method, path, host, a fixed user agent and accept set,
/// then one `cookie` that is constant per host and cut to fit. With no size stated the usual one
/// is aimed at, and what does not fit is left as it is.
pub(super) fn sized_request(
    method: &str,
    authority: &str,
    path: &str,
    upload: u64,
    size: Option<u32>,
) -> Result<RequestHead, TooSmall> {
    let with = |padding: Option<&str>| {
        let length = (upload > 0).then(|| ("content-length", upload.to_string()));
        let known = REQUEST_FIELDS.into_iter().map(|(name, value)| (name, value.to_owned())).chain(length);
        let fields = Fields::from_pairs(known.chain(padding.map(|text| ("cookie", crumbs(text)))));
        RequestHead::new(method.to_owned().into(), authority.to_owned().into(), path.to_owned().into(), fields)
    };
    pad(size, REQUEST_HEADER_BYTES, authority, with, RequestHead::http1_len)
}

/// A response's head of exactly `size` bytes: its content's length, then one filler field that is
/// constant per host and cut to fit.
pub(super) fn sized_response(
    status: u16,
    authority: &str,
    body: u64,
    size: Option<u32>,
) -> Result<ResponseHead, TooSmall> {
    let with = |padding: Option<&str>| {
        let length = [("content-length", body.to_string())].into_iter();
        let fields = Fields::from_pairs(length.chain(padding.map(|text| ("x-filler", text.to_owned()))));
        ResponseHead::new(status, fields)
    };
    pad(size, RESPONSE_HEADER_BYTES, authority, with, ResponseHead::http1_len)
}

/// Makes a head with padding so that its length is the stated size.
fn pad<H>(
    stated: Option<u32>,
    usual: u32,
    authority: &str,
    with: impl Fn(Option<&str>) -> H,
    len: impl Fn(&H) -> usize,
) -> Result<H, TooSmall> {
    let bare = with(None);
    let bare_len = len(&bare);
    let size = stated.unwrap_or(usual) as usize;
    if size == bare_len {
        return Ok(bare);
    }
    let least_padded = len(&with(Some("")));
    match size.checked_sub(least_padded) {
        Some(count) => Ok(with(Some(&padding(authority, count)))),
        None if stated.is_none() => Ok(bare),
        None => Err(TooSmall { min: least_padded }),
    }
}

/// `count` characters that depend on the host alone: every head of one host begins with the same.
fn padding(authority: &str, count: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    // A cookie looks random to a compressor that has not seen it before.
    let seed = authority.bytes().fold(0, |seed: u64, byte| seed.wrapping_mul(131).wrapping_add(u64::from(byte)));
    let mut stream = loadstone_units::Seed(seed).stream("page.padding");
    (0..count).map(|_| LETTERS[(stream.next_u64() >> 58) as usize] as char).collect()
}

/// The same text as a list of cookies, as sites set them: several, of some twenty characters each.
/// HTTP/2 sends and remembers each by itself (RFC 9113, section 8.2.3).
fn crumbs(text: &str) -> String {
    const CRUMB: usize = 24;
    let shape = |(at, letter)| match at % CRUMB {
        2 => '=',
        22 => ';',
        23 => ' ',
        _ => letter,
    };
    let mut crumbs: String = text.chars().enumerate().map(shape).collect();
    // A list does not end with what separates.
    let end = crumbs.trim_end_matches([';', ' ']).len();
    crumbs.replace_range(end.., &"x".repeat(text.len() - end));
    crumbs
}

/// A request's head with fields of its own.
pub(super) fn real_request(method: &str, authority: &str, path: &str, upload: u64, fields: &[Field]) -> RequestHead {
    let length = (upload > 0).then(|| upload.to_string());
    let room = MAX_HEAD / 2 - path.len().min(MAX_HEAD / 4) - authority.len();
    let fields = real_fields(fields, length.as_deref(), room);
    RequestHead::new(method.to_owned().into(), authority.to_owned().into(), path.to_owned().into(), fields)
}

/// A response's head with fields of its own.
pub(super) fn real_response(status: u16, body: u64, fields: &[Field]) -> ResponseHead {
    ResponseHead::new(status, real_fields(fields, Some(&body.to_string()), MAX_HEAD / 2))
}

/// The given fields less those that belong to one connection or are set here, and less what cannot
/// stand in a head; at most `room` bytes of them.
fn real_fields(fields: &[Field], content_length: Option<&str>, mut room: usize) -> Fields {
    const OURS: [&str; 8] = [
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "keep-alive",
        "proxy-connection",
        "upgrade",
        // The session tells the urgency that the page states, the same over every protocol.
        "priority",
    ];
    let kept = fields.iter().filter(|(name, value)| {
        is_token(name) && is_value(value) && !OURS.iter().any(|ours| ours.eq_ignore_ascii_case(name))
    });
    let kept = kept.take(MAX_FIELDS - 8).take_while(|(name, value)| {
        let len = name.len() + value.len() + 4;
        let fits = len <= room;
        room = room.saturating_sub(len);
        fits
    });
    let length = content_length.map(|value| ("content-length", value));
    Fields::from_pairs(kept.map(|(name, value)| (name.as_str(), value.as_str())).chain(length))
}

/// RFC 9110, section 5.6.2.
pub(crate) fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// RFC 9110, section 5.5: no control characters but the tab.
pub(crate) fn is_value(value: &str) -> bool {
    value.bytes().all(|byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_priority_does_not_contradict_the_pages_urgency() {
        let fields =
            [("Priority", "u=5, i"), ("accept", "*/*")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let head = real_request("GET", "a.test", "/a.css", 0, &fields);
        assert_eq!((head.fields.get(b"priority"), head.fields.get(b"accept")), (None, Some(&b"*/*"[..])));
    }
}
