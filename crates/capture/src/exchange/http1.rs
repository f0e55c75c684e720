//! Exchanges of HTTP/1.1 (RFC 9112) by their heads, as far as these were captured.

use super::heads::{self, ExchangeHeads, HeadFields};
use super::turns::Turns;
use super::{ExchangeKind, SeenExchange};
use core::mem::MaybeUninit;
use std::collections::VecDeque;

/// Bytes of a head at most.
const LONGEST_HEAD: usize = 64 << 10;
const MOST_FIELDS: usize = 100;
/// Requests that wait for their responses at most.
const MOST_OPEN: usize = 1000;
/// How responses begin.
const RESPONSE: &[u8] = b"HTTP/1.";
const METHODS: [&str; 9] = ["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"];

/// Where a direction is in its messages.
#[derive(Clone, Debug)]
enum MessagePart {
    /// In a head, of which so much has come.
    Head(Vec<u8>),
    /// In a body of which so much is still to come.
    Body(u64),
    /// In a body that ends where the next head begins, or in something that was not captured.
    Unknown,
}

impl Default for MessagePart {
    fn default() -> Self {
        MessagePart::Head(Vec::new())
    }
}

/// A head that is complete, or as complete as it was captured.
struct SeenHead {
    method: Option<&'static str>,
    status: Option<u16>,
    /// Bytes of the body, if they are said.
    body: Option<u64>,
    /// Bytes of the head.
    len: usize,
    /// What it says, if that is asked for.
    fields: Option<HeadFields>,
}

/// The requests and responses of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Http1 {
    up: MessagePart,
    down: MessagePart,
    open: VecDeque<SeenExchange>,
    count: u64,
    last_ended_at: Option<u64>,
    tells_heads: bool,
}

/// The method that bytes begin with, if they may be the beginning of a request.
pub(crate) fn method_of(bytes: &[u8]) -> Option<&'static str> {
    METHODS
        .into_iter()
        .find(|method| bytes.strip_prefix(method.as_bytes()).is_some_and(|rest| rest.first() == Some(&b' ')))
}

/// A method by its name.
pub(crate) fn method_named(name: &str) -> Option<&'static str> {
    METHODS.into_iter().find(|method| *method == name)
}

fn is_response(bytes: &[u8]) -> bool {
    bytes.starts_with(RESPONSE)
}

/// Whether a request may begin with bytes, of which more may come.
fn may_be_request(bytes: &[u8]) -> bool {
    let is_begun = |method: &&str| method.as_bytes().starts_with(bytes);
    method_of(bytes).is_some() || (!bytes.is_empty() && METHODS.iter().any(is_begun))
}

fn may_be_response(bytes: &[u8]) -> bool {
    is_response(bytes) || (!bytes.is_empty() && RESPONSE.starts_with(bytes))
}

impl Http1 {
    /// A connection on which nothing was said yet; whether exchanges have their heads.
    pub(crate) fn new(tells_heads: bool) -> Http1 {
        Http1 { tells_heads, ..Http1::default() }
    }

    /// The client sent bytes, of which the first ones were captured, after others that were not.
    pub(crate) fn handle_up(&mut self, at: u64, captured: &[u8], len: u64, skipped: u64) {
        self.up.skip(skipped, || method_of(captured).is_some());
        let (mut captured, mut len) = (captured, len);
        while len > 0 {
            if let MessagePart::Unknown = self.up
                && method_of(captured).is_some()
            {
                self.up = MessagePart::default();
            }
            let is_first = matches!(&self.up, MessagePart::Head(head) if head.is_empty());
            let (taken, head) = self.up.take(captured, len, may_be_request, self.tells_heads);
            if is_first && (head.is_some() || matches!(&self.up, MessagePart::Head(_))) {
                self.count += 1;
                let overlaps = !self.open.is_empty();
                self.open
                    .push_back(SeenExchange { overlaps, ..SeenExchange::new(ExchangeKind::Http1, self.count, at) });
            }
            if let Some(request) = self.open.back_mut() {
                request.extend_request(at, taken);
                if let Some(head) = head {
                    request.method = head.method.or(request.method);
                    request.heads = head.fields.map(|fields| {
                        let request_head_bytes = head.len as u64;
                        Box::new(ExchangeHeads { request: fields, request_head_bytes, ..ExchangeHeads::default() })
                    });
                }
            }
            captured = captured.get(taken as usize..).unwrap_or_default();
            len -= taken;
        }
    }

    /// The server sent bytes: exchanges that have ended by that.
    pub(crate) fn handle_down(
        &mut self,
        at: u64,
        captured: &[u8],
        len: u64,
        skipped: u64,
        sent_again: u64,
        ended: &mut Vec<SeenExchange>,
    ) {
        self.down.skip(skipped, || is_response(captured));
        let (mut captured, mut len) = (captured, len);
        while len > 0 {
            if let MessagePart::Unknown = self.down
                && is_response(captured)
            {
                // The one before it is over, if it has begun.
                if self.open.front().is_some_and(|first| first.response_at.is_some()) {
                    self.end_first(sent_again, ended);
                }
                self.down = MessagePart::default();
            }
            let (taken, head) = self.down.take(captured, len, may_be_response, self.tells_heads);
            self.note_response(at, taken, head, sent_again);
            if matches!(&self.down, MessagePart::Head(head) if head.is_empty()) {
                self.end_first(sent_again, ended);
            }
            captured = captured.get(taken as usize..).unwrap_or_default();
            len -= taken;
        }
        while self.open.len() > MOST_OPEN {
            self.end_first(sent_again, ended);
        }
    }

    fn note_response(&mut self, at: u64, taken: u64, head: Option<SeenHead>, sent_again: u64) {
        let Some(first) = self.open.front_mut() else { return };
        if let Some(head) = head {
            let is_interim = head.status.is_some_and(|status| (100..200).contains(&status) && status != 101);
            if is_interim {
                self.down = MessagePart::Unknown;
                return;
            }
            first.status = head.status;
            if let Some((heads, fields)) = first.heads.as_mut().zip(head.fields) {
                (heads.response, heads.response_head_bytes) = (fields, head.len as u64);
            }
            let has_no_body = first.method == Some("HEAD") || matches!(head.status, Some(204 | 304));
            first.body_bytes = if has_no_body { Some(0) } else { head.body };
            self.down = match first.body_bytes {
                Some(0) => MessagePart::default(),
                Some(body) => MessagePart::Body(body),
                None => MessagePart::Unknown,
            };
        }
        first.extend_response(at, taken, sent_again);
    }

    fn end_first(&mut self, sent_again: u64, ended: &mut Vec<SeenExchange>) {
        if let Some(mut first) = self.open.pop_front() {
            if self.open.is_empty() {
                // Connections wait for most of their time.
                self.open = VecDeque::new();
            }
            first.before_ended_at = self.last_ended_at;
            self.last_ended_at = first.response_end_at.or(self.last_ended_at);
            ended.push(first.counted(sent_again));
        }
    }

    /// What comes after these exchanges, by who sends.
    pub(crate) fn turns(&self) -> Turns {
        Turns::after(self.count, self.last_ended_at)
    }

    /// The connection is over: all exchanges are.
    pub(crate) fn close(&mut self, sent_again: u64, ended: &mut Vec<SeenExchange>) {
        while !self.open.is_empty() {
            self.end_first(sent_again, ended);
        }
    }
}

impl MessagePart {
    /// Bytes that the capture has not. After them a head may begin.
    fn skip(&mut self, skipped: u64, begins: impl FnOnce() -> bool) {
        if skipped == 0 {
            return;
        }
        *self = match self {
            MessagePart::Body(remaining) if *remaining > skipped => MessagePart::Body(*remaining - skipped),
            _ if begins() => MessagePart::default(),
            _ => MessagePart::Unknown,
        };
    }

    /// Takes bytes: how many belong to the same message, and its head if that is complete now. A head that was cut by the
    /// snap length is complete as it is.
    fn take(
        &mut self,
        captured: &[u8],
        len: u64,
        may_be: impl Fn(&[u8]) -> bool,
        tells_fields: bool,
    ) -> (u64, Option<SeenHead>) {
        match self {
            MessagePart::Unknown => (len, None),
            MessagePart::Body(remaining) => {
                let taken = len.min(*remaining);
                *remaining -= taken;
                if *remaining == 0 {
                    *self = MessagePart::default();
                }
                (taken, None)
            }
            MessagePart::Head(begun) => {
                let before = begun.len();
                begun.extend_from_slice(&captured[..captured.len().min(LONGEST_HEAD.saturating_sub(before))]);
                if !may_be(begun) {
                    *self = MessagePart::Unknown;
                    return (len, None);
                }
                let Some(head) = SeenHead::read(begun, tells_fields) else {
                    let is_cut = (captured.len() as u64) < len || begun.len() >= LONGEST_HEAD;
                    let has_begun = method_of(begun).is_some() || is_response(begun);
                    let head = (is_cut && has_begun).then(|| SeenHead::cut(begun));
                    if is_cut {
                        *self = MessagePart::Unknown;
                    }
                    return (len, head);
                };
                let taken = (head.len - before) as u64;
                *self = match head.body {
                    Some(0) => MessagePart::default(),
                    Some(body) => MessagePart::Body(body),
                    None => MessagePart::Unknown,
                };
                (taken, Some(head))
            }
        }
    }
}

impl SeenHead {
    /// Reads a head; nothing if it is not complete.
    fn read(bytes: &[u8], tells_fields: bool) -> Option<SeenHead> {
        // Filled with empty ones they would take longer than all else here.
        let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
        let parser = httparse::ParserConfig::default();
        if is_response(bytes) {
            let mut response = httparse::Response::new(&mut []);
            let parsed = parser.parse_response_with_uninit_headers(&mut response, bytes, &mut fields);
            let httparse::Status::Complete(len) = parsed.ok()? else { return None };
            let body = body_of(response.headers);
            let status = response.code.map(|code| code.to_string()).unwrap_or_default();
            let fields = tells_fields.then(|| heads::of_http1(&[(":status", &status)], response.headers));
            Some(SeenHead { method: None, status: response.code, body, len, fields })
        } else {
            let mut request = httparse::Request::new(&mut []);
            let parsed = parser.parse_request_with_uninit_headers(&mut request, bytes, &mut fields);
            let httparse::Status::Complete(len) = parsed.ok()? else { return None };
            // A request without a length has no body (RFC 9112, section 6.3), unless it comes in chunks.
            let is_chunked = has(request.headers, "transfer-encoding");
            let body = if is_chunked { None } else { Some(body_of(request.headers).unwrap_or(0)) };
            let first_line = [(":method", request.method), (":path", request.path)];
            let first_line = first_line.map(|(name, value)| (name, value.unwrap_or_default()));
            let fields = tells_fields.then(|| heads::of_http1(&first_line, request.headers));
            Some(SeenHead { method: method_of(bytes), status: None, body, len, fields })
        }
    }

    /// What the first bytes of a head say.
    fn cut(bytes: &[u8]) -> SeenHead {
        let status = bytes.get(9..12).filter(|_| is_response(bytes));
        let status = status.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        SeenHead { method: method_of(bytes), status, body: None, len: bytes.len(), fields: None }
    }
}

fn has(fields: &[httparse::Header<'_>], name: &str) -> bool {
    fields.iter().any(|field| field.name.eq_ignore_ascii_case(name))
}

fn body_of(fields: &[httparse::Header<'_>]) -> Option<u64> {
    if has(fields, "transfer-encoding") {
        return None;
    }
    let length = fields.iter().find(|field| field.name.eq_ignore_ascii_case("content-length"))?;
    std::str::from_utf8(length.value).ok()?.trim().parse().ok()
}
