//! Answers as all parts of an offer make them.

use loadstone_http::{Body, BodyId, Fields, RequestHead, ResponseHead};
use loadstone_load::Answer;
use std::sync::Arc;

/// An answer without content, with these fields.
pub(super) fn bare(status: u16, fields: &[(&str, &str)]) -> Answer {
    let length = [("content-length", "0")];
    let fields = Fields::from_pairs(fields.iter().chain(&length).copied());
    Answer::new(Arc::new(ResponseHead::new(status, fields)), Body::EMPTY)
}

/// The head of an answer of `len` bytes of `kind`.
pub(super) fn head(kind: &str, len: u64, more: &[(&str, &str)]) -> ResponseHead {
    let length = len.to_string();
    let fields = [("content-type", kind), ("content-length", &length)];
    ResponseHead::new(200, Fields::from_pairs(fields.iter().chain(more).copied()))
}

/// An answer to `request` of `len` bytes of `kind`, which the answer to HEAD only speaks of (RFC 9110,
/// section 9.3.2).
pub(super) fn content(request: &RequestHead, kind: &str, id: BodyId, len: u64) -> Answer {
    Answer::new(Arc::new(head(kind, len, &[])), if is_head(request) { Body::EMPTY } else { Body { id, len } })
}

/// Whether only the head of the answer is wanted.
pub(super) fn is_head(request: &RequestHead) -> bool {
    request.method == b"HEAD"[..]
}

/// Whether the request is to be answered with what is there.
pub(super) fn is_to_get(request: &RequestHead) -> bool {
    is_head(request) || request.method == b"GET"[..]
}

/// The answer to methods other than GET and HEAD (RFC 9110, section 15.5.6).
pub(super) fn not_allowed() -> Answer {
    bare(405, &[("allow", "GET, HEAD")])
}

/// The path of a request without its query.
pub(super) fn path(request: &RequestHead) -> &[u8] {
    request.path.split(|byte| *byte == b'?').next().unwrap_or_default()
}

/// A request without fields, for tests.
#[cfg(test)]
pub(super) fn request(method: &str, authority: &str, path: &str) -> RequestHead {
    let [method, authority, path] =
        [method, authority, path].map(|text| bytes::Bytes::copy_from_slice(text.as_bytes()));
    RequestHead::new(method, authority, path, Fields::default())
}
