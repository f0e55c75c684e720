//! Message heads as header compression takes and gives them, whatever the protocol calls the pseudo-headers.

use crate::request_target::AbsoluteForm;
use crate::trailers::trailers;
use crate::{Fields, Priority, RequestHead, ResponseHead, Scheme};
use bytes::Bytes;
use std::sync::Arc;

/// A head to be compressed. Heads are compared by pointer, not by content: a head sent twice is the same `Arc`.
#[derive(Clone, Debug)]
pub(crate) enum MessageHead {
    Request(Arc<RequestHead>, Priority),
    Response(Arc<ResponseHead>),
    /// SPDY: the announcement of a push: the request's control data and, if it is known, the head of the response.
    Pushed(Arc<RequestHead>, Option<Arc<ResponseHead>>),
    Trailers(Arc<Fields>),
}

impl MessageHead {
    pub(crate) fn is_same(&self, other: &MessageHead) -> bool {
        match (self, other) {
            (MessageHead::Request(one, first), MessageHead::Request(two, second)) => {
                Arc::ptr_eq(one, two) && first == second
            }
            (MessageHead::Response(one), MessageHead::Response(two)) => Arc::ptr_eq(one, two),
            (MessageHead::Trailers(one), MessageHead::Trailers(two)) => Arc::ptr_eq(one, two),
            (MessageHead::Pushed(one, first), MessageHead::Pushed(two, second)) => {
                Arc::ptr_eq(one, two) && first.as_ref().map(Arc::as_ptr) == second.as_ref().map(Arc::as_ptr)
            }
            _ => false,
        }
    }

    /// Its approximate size in bytes.
    pub(crate) fn size(&self) -> usize {
        match self {
            MessageHead::Request(head, _) => head.http1_len(),
            MessageHead::Response(head) => head.http1_len(),
            MessageHead::Pushed(request, response) => pushed_size(request, response.as_deref()),
            MessageHead::Trailers(fields) => fields.http1_len(),
        }
    }
}

/// A header block that was decompressed.
#[derive(Clone, Debug)]
pub(crate) enum Decoded {
    Request(Arc<RequestHead>, Priority),
    Response(Arc<ResponseHead>),
    /// SPDY: a pushed request, a GET if no method is given, and perhaps the head of its response.
    Pushed(Arc<RequestHead>, Option<Arc<ResponseHead>>),
    /// No pseudo-headers at all.
    Trailers(Arc<Fields>),
    /// A request with a missing or invalid pseudo-header.
    Incomplete,
    /// It breaks the rules of HTTP.
    Malformed,
}

impl Decoded {
    /// Its approximate size in bytes.
    pub(crate) fn size(&self) -> usize {
        match self {
            Decoded::Request(head, _) => head.http1_len(),
            Decoded::Response(head) => head.http1_len(),
            Decoded::Pushed(request, response) => pushed_size(request, response.as_deref()),
            Decoded::Trailers(fields) => fields.http1_len(),
            Decoded::Incomplete | Decoded::Malformed => 0,
        }
    }
}

fn pushed_size(request: &RequestHead, response: Option<&ResponseHead>) -> usize {
    request.http1_len() + response.map_or(0, ResponseHead::http1_len)
}

/// A protocol's pseudo-header names (RFC 9113, section 8.3; draft 3, section 3.2).
#[derive(Debug)]
pub(crate) struct PseudoHeaderNames {
    pub(crate) method: &'static [u8],
    pub(crate) path: &'static [u8],
    pub(crate) scheme: &'static [u8],
    pub(crate) authority: &'static [u8],
    pub(crate) status: &'static [u8],
    /// The version of HTTP: SPDY demands it.
    pub(crate) version: Option<&'static [u8]>,
    /// Which pseudo-headers a request may omit.
    pub(crate) optional: OptionalPseudoHeaders,
    /// Where pseudo-headers may stand.
    pub(crate) position: PseudoHeaderPosition,
}

/// The pseudo-headers that a request may omit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OptionalPseudoHeaders {
    None,
    /// Scheme and host (draft 2, "Request").
    SchemeAndHost,
}

/// Where pseudo-headers may stand among the fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PseudoHeaderPosition {
    First,
    Anywhere,
}

/// Makes a head from a decompressed list of names and values.
pub(crate) fn assemble(text: &Bytes, pairs: &[(&[u8], &[u8])], names: &PseudoHeaderNames) -> Decoded {
    let mut line = ControlData::default();
    let mut fields = Fields::within(text, pairs.len());
    for (name, value) in pairs {
        if let Some(part) = line.slot(name, names) {
            let is_late = names.position == PseudoHeaderPosition::First && !fields.is_empty();
            if is_late || !is_field_value(value) || part.replace(value).is_some() {
                return Decoded::Malformed;
            }
        } else if is_field_name(name) && is_field_value(value) {
            fields.add_within(name, value);
        } else {
            return Decoded::Malformed;
        }
    }
    line.finish(text, fields, names)
}

/// Control data (RFC 9110, section 6.2): the values of the pseudo-headers.
#[derive(Default)]
struct ControlData<'a> {
    method: Option<&'a [u8]>,
    path: Option<&'a [u8]>,
    scheme: Option<&'a [u8]>,
    authority: Option<&'a [u8]>,
    status: Option<&'a [u8]>,
    version: Option<&'a [u8]>,
}

impl<'a> ControlData<'a> {
    /// Where the value of this pseudo-header goes; `None` for any other field.
    fn slot(&mut self, name: &[u8], names: &PseudoHeaderNames) -> Option<&mut Option<&'a [u8]>> {
        match name {
            _ if name == names.method => Some(&mut self.method),
            _ if name == names.path => Some(&mut self.path),
            _ if name == names.scheme => Some(&mut self.scheme),
            _ if name == names.authority => Some(&mut self.authority),
            _ if name == names.status => Some(&mut self.status),
            _ if Some(name) == names.version => Some(&mut self.version),
            _ => None,
        }
    }

    fn finish(mut self, text: &Bytes, fields: Fields, names: &PseudoHeaderNames) -> Decoded {
        let has_version = names.version.is_none() || self.version.is_some();
        let is_request = self.method.is_some() || self.path.is_some() || self.scheme.is_some();
        // Only SPDY demands a version, and only SPDY has a pushed request and its response in one block.
        let is_spdy = names.version.is_some();
        match self.status {
            Some(_) if is_request && is_spdy => {
                self.split_url(names);
                self.pushed(text, fields).unwrap_or(Decoded::Malformed)
            }
            Some(_) if is_request => Decoded::Malformed,
            // SPDY/2 calls the authority `host`, as many a server calls a field of its responses.
            Some(_) if self.authority.is_some() && names.optional == OptionalPseudoHeaders::None => Decoded::Malformed,
            Some(status) => match parse_status(status).filter(|_| has_version) {
                Some(status) => Decoded::Response(Arc::new(ResponseHead::new(status, fields))),
                None => Decoded::Malformed,
            },
            None if is_request || self.authority.is_some() => {
                self.split_url(names);
                let request = self.request(text, fields.clone(), names).filter(|_| has_version);
                let pushed = || self.pushed(text, fields).filter(|_| is_spdy);
                request.or_else(pushed).unwrap_or(Decoded::Incomplete)
            }
            None if self.version.is_some() => Decoded::Incomplete,
            None => Decoded::Trailers(Arc::new(trailers(&fields))),
        }
    }

    /// A `url` may be absolute (draft 2, "Request"); then scheme and host stand in it.
    fn split_url(&mut self, names: &PseudoHeaderNames) {
        let url = self.path.filter(|_| names.optional == OptionalPseudoHeaders::SchemeAndHost);
        if let Some(AbsoluteForm { scheme, authority, rest }) = url.and_then(AbsoluteForm::read) {
            self.scheme = Some(scheme.name().as_bytes());
            self.authority = Some(authority);
            self.path = Some(if rest.is_empty() { b"/" } else { rest });
        }
    }

    /// A pushed request; the fields are those of its response.
    fn pushed(&self, text: &Bytes, fields: Fields) -> Option<Decoded> {
        let (host, path) = (self.authority?, self.path?);
        let scheme = Scheme::named(self.scheme?)?;
        let method = self.method.unwrap_or(b"GET");
        if method.is_empty() || path.is_empty() || host.is_empty() {
            return None;
        }
        let [method, host, path] = [method, host, path].map(|part| slice(text, part));
        let response = match self.status {
            Some(status) => Some(Arc::new(ResponseHead::new(parse_status(status)?, fields))),
            None => None,
        };
        let request = RequestHead::new(method, host, path, Fields::default()).over(scheme);
        Some(Decoded::Pushed(Arc::new(request), response))
    }

    fn request(&self, text: &Bytes, fields: Fields, names: &PseudoHeaderNames) -> Option<Decoded> {
        let is_optional = names.optional == OptionalPseudoHeaders::SchemeAndHost;
        let (method, path) = (self.method?, self.path?);
        let host = self.authority.or_else(|| fields.get(b"host")).or(is_optional.then_some(b""))?;
        let scheme = match self.scheme {
            Some(scheme) => Scheme::named(scheme)?,
            None => is_optional.then(Scheme::default)?,
        };
        if method.is_empty() || path.is_empty() || method.contains(&b' ') || path.contains(&b' ') {
            return None;
        }
        let priority = fields.get(b"priority").map(Priority::parse).unwrap_or_default();
        let [method, host, path] = [method, host, path].map(|part| slice(text, part));
        let head = RequestHead::new(method, host, path, fields).over(scheme);
        Some(Decoded::Request(Arc::new(head), priority))
    }
}

/// A part of a text that is kept, without a copy.
fn slice(text: &Bytes, part: &[u8]) -> Bytes {
    match part {
        [] => Bytes::new(),
        b"GET" => Bytes::from_static(b"GET"),
        b"/" => Bytes::from_static(b"/"),
        _ => text.slice_ref(part),
    }
}

/// Three digits, and perhaps words after them.
fn parse_status(status: &[u8]) -> Option<u16> {
    let (digits, rest) = status.split_at_checked(3)?;
    let is_status = digits.iter().all(u8::is_ascii_digit) && digits[0] != b'0' && matches!(rest, [] | [b' ', ..]);
    is_status.then(|| digits.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0')))
}

/// RFC 9113, section 8.2.1: lower case, and nothing that HTTP/1.1 would stumble over.
fn is_field_name(name: &[u8]) -> bool {
    const ODD: &[u8] = b"!#$%&'*+-.^_`|~";
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || ODD.contains(byte))
}

fn is_field_value(value: &[u8]) -> bool {
    !value.iter().any(|byte| matches!(byte, b'\0' | b'\r' | b'\n'))
}

/// Whether a field is connection-specific (RFC 9113, section 8.2.2; draft 3, section 3.2.1).
pub(crate) fn is_connection_specific(name: &[u8]) -> bool {
    const CONNECTION: [&[u8]; 6] =
        [b"connection", b"host", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"];
    CONNECTION.contains(&name)
}

/// Gives the fields of a head as these protocols send them, one after the other: names in lower case, without
/// connection-specific fields.
pub(crate) fn sendable_fields(fields: &Fields, mut send: impl FnMut(&[u8], &[u8])) {
    let mut lower = Vec::new();
    for (name, value) in fields.iter() {
        lower.clear();
        lower.extend_from_slice(name);
        lower.make_ascii_lowercase();
        if !is_connection_specific(&lower) && (lower != b"te" || value == b"trailers") {
            send(&lower, value);
        }
    }
}

/// The three digits of a status.
pub(crate) fn digits(status: u16) -> [u8; 3] {
    [100, 10, 1].map(|unit| b'0' + (status / unit % 10) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_the_same_only_if_all_of_it_is() {
        let (request, other) =
            (Arc::new(RequestHead::get("a", "/", Fields::default())), RequestHead::get("a", "/", Fields::default()));
        let other = Arc::new(other);
        let response = Arc::new(ResponseHead::new(200, Fields::default()));
        let heads = [
            MessageHead::Request(request.clone(), Priority::default()),
            MessageHead::Request(request.clone(), Priority::at(0)),
            MessageHead::Request(other, Priority::default()),
            MessageHead::Response(response.clone()),
            MessageHead::Pushed(request.clone(), None),
            MessageHead::Pushed(request, Some(response)),
            MessageHead::Trailers(Arc::default()),
        ];
        for (at, one) in heads.iter().enumerate() {
            let same: Vec<usize> = (0..heads.len()).filter(|other| one.is_same(&heads[*other])).collect();
            assert_eq!(same, [at]);
        }
    }

    #[test]
    fn the_size_of_a_head_is_that_of_its_text() {
        let fields = || Fields::from_pairs([("x", "y".repeat(500))]);
        let (request, response) =
            (Arc::new(RequestHead::get("a", "/", fields())), Arc::new(ResponseHead::new(200, fields())));
        for (head, least) in [
            (MessageHead::Request(request.clone(), Priority::default()), 500),
            (MessageHead::Response(response.clone()), 500),
            (MessageHead::Pushed(request, Some(response)), 500),
            (MessageHead::Trailers(Arc::new(fields())), 500),
        ] {
            assert!((least..least + 600).contains(&head.size()), "{head:?}: {}", head.size());
        }
    }

    #[test]
    fn a_status_has_three_digits_of_which_the_first_is_not_0() {
        for (text, status) in [
            ("200", Some(200)),
            ("404 Not Found", Some(404)),
            ("099", None),
            ("2x0", None),
            ("20", None),
            ("2000", None),
            ("200OK", None),
            ("", None),
        ] {
            assert_eq!(parse_status(text.as_bytes()), status, "{text:?}");
        }
    }
}
