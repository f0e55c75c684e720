//! What tells one protocol of many streams from another: how it writes frames and heads.

use crate::{Fields, PeerFault, Priority, RequestHead, ResponseHead, Scheme, Wire};
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;

pub(crate) use super::reader::FrameHead;

/// How frames are written and read. It holds the session's header compression.
pub(crate) trait Framing: fmt::Debug {
    /// Bytes of a frame's head.
    const HEAD: usize;
    /// What a client sends before its first frame.
    const PREFACE: &'static [u8];
    /// The flow-control windows of streams and session until someone says otherwise.
    const WINDOW: u32;

    /// What this end sends first: for a client the preface, then SETTINGS and the session's window.
    fn opening(&mut self, limits: &Limits) -> Bytes;

    /// What a frame's head says.
    fn head(&self, head: &[u8]) -> Result<FrameHead, PeerFault>;

    /// What a complete frame says, if it is for the session; answers that the framing gives by
    /// itself go to `answers`.
    fn control(&mut self, head: &[u8], payload: Bytes, answers: &mut Wire) -> Result<Option<Frame>, PeerFault>;

    /// The frames of a request's head.
    fn request(&mut self, stream: u32, head: &Arc<RequestHead>, priority: Priority, end: bool) -> Bytes;

    /// The frames of a response's head.
    fn response(&mut self, stream: u32, head: &Arc<ResponseHead>, end: bool) -> Bytes;

    /// The head of a DATA frame.
    fn data(&self, stream: u32, len: u32, end: bool) -> Bytes;

    /// A WINDOW_UPDATE frame; stream 0 is the session.
    fn window_update(&self, stream: u32, delta: u32) -> Bytes;

    /// A RST_STREAM frame.
    fn reset(&self, stream: u32, reason: Reason) -> Bytes;
}

/// Which end of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Client,
    Server,
}

/// What an end announces at the beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) stream_window: u32,
    pub(crate) session_window: u32,
    /// How many streams the other end may have open.
    pub(crate) streams: u32,
}

/// Why a stream is ended before its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    Protocol,
    Refused,
    FlowControl,
    Closed,
}

/// What a frame says to the session.
#[derive(Debug)]
pub(crate) enum Frame {
    Request {
        stream: u32,
        head: Arc<RequestHead>,
        priority: Priority,
        end: bool,
    },
    Response {
        stream: u32,
        head: Arc<ResponseHead>,
        end: bool,
    },
    /// Fields after the body, which nobody here needs.
    Trailers {
        stream: u32,
        end: bool,
    },
    /// A head that breaks the rules of HTTP, its compression being sound.
    Malformed {
        stream: u32,
    },
    Reset {
        stream: u32,
    },
    Window {
        stream: u32,
        delta: u32,
    },
    Limits {
        stream_window: Option<u32>,
        streams: Option<u32>,
    },
    GoAway {
        last: u32,
    },
}

/// A head to be compressed. Heads are compared by what they are, not by what they say: whoever
/// sends one twice shares it.
#[derive(Clone, Debug)]
pub(crate) enum Head {
    Request(Arc<RequestHead>, Priority),
    Response(Arc<ResponseHead>),
}

impl Head {
    pub(crate) fn is_same(&self, other: &Head) -> bool {
        match (self, other) {
            (Head::Request(one, first), Head::Request(two, second)) => Arc::ptr_eq(one, two) && first == second,
            (Head::Response(one), Head::Response(two)) => Arc::ptr_eq(one, two),
            _ => false,
        }
    }

    /// About how many bytes it takes.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Head::Request(head, _) => head.http1_len(),
            Head::Response(head) => head.http1_len(),
        }
    }
}

/// A header block that was decompressed.
#[derive(Clone, Debug)]
pub(crate) enum Decoded {
    Request(Arc<RequestHead>, Priority),
    Response(Arc<ResponseHead>),
    /// No names of the request or status line at all.
    Trailers,
    /// It breaks the rules of HTTP.
    Malformed,
}

impl Decoded {
    /// About how many bytes it takes.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Decoded::Request(head, _) => head.http1_len(),
            Decoded::Response(head) => head.http1_len(),
            Decoded::Trailers | Decoded::Malformed => 0,
        }
    }
}

/// Makes a head of names and values in order. Names that begin with `:` are those of the request
/// or status line; `host` is the name of the one that bears the authority (RFC 9113, section 8.3;
/// draft 3, section 3.2).
pub(crate) fn assemble(text: &Bytes, pairs: &[(&[u8], &[u8])], host: &[u8]) -> Decoded {
    let mut line = Line::default();
    let mut fields = Fields::within(text, pairs.len());
    for (name, value) in pairs {
        if let [b':', ..] = name {
            if !fields.is_empty() || !line.take(name, value, host) {
                return Decoded::Malformed;
            }
        } else if is_field_name(name) && is_field_value(value) {
            fields.add_within(name, value);
        } else {
            return Decoded::Malformed;
        }
    }
    line.finish(text, fields)
}

/// The parts of a request or status line.
#[derive(Default)]
struct Line<'a> {
    method: Option<&'a [u8]>,
    path: Option<&'a [u8]>,
    scheme: Option<&'a [u8]>,
    authority: Option<&'a [u8]>,
    status: Option<&'a [u8]>,
    version: Option<&'a [u8]>,
}

impl<'a> Line<'a> {
    /// Takes a part; whether it is one, and the first of its name.
    fn take(&mut self, name: &[u8], value: &'a [u8], host: &[u8]) -> bool {
        let place = match name {
            b":method" => &mut self.method,
            b":path" => &mut self.path,
            b":scheme" => &mut self.scheme,
            b":status" => &mut self.status,
            // SPDY alone has it; the framing of HTTP/2 lets no such name through.
            b":version" => &mut self.version,
            _ if name == host => &mut self.authority,
            _ => return false,
        };
        is_field_value(value) && place.replace(value).is_none()
    }

    fn finish(self, text: &Bytes, fields: Fields) -> Decoded {
        let slice = |part: &[u8]| if part.is_empty() { Bytes::new() } else { text.slice_ref(part) };
        match self {
            Line { method: Some(method), path: Some(path), scheme: Some(scheme), authority, status: None, .. } => {
                let host = authority.or_else(|| fields.get(b"host"));
                let (Some(host), Some(scheme)) = (host, Scheme::named(scheme)) else { return Decoded::Malformed };
                if method.is_empty() || path.is_empty() || method.contains(&b' ') || path.contains(&b' ') {
                    return Decoded::Malformed;
                }
                let priority = fields.get(b"priority").map(Priority::parse).unwrap_or_default();
                let (method, host, path) = (slice(method), slice(host), slice(path));
                let head = RequestHead::new(method, host, path, fields).over(scheme);
                Decoded::Request(Arc::new(head), priority)
            }
            Line { status: Some(status), method: None, path: None, scheme: None, authority: None, .. } => {
                match parse_status(status) {
                    Some(status) => Decoded::Response(Arc::new(ResponseHead::new(status, fields))),
                    None => Decoded::Malformed,
                }
            }
            Line { method: None, path: None, scheme: None, authority: None, status: None, version: None } => {
                Decoded::Trailers
            }
            _ => Decoded::Malformed,
        }
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

/// The fields of a head as these protocols send them: names in lower case, without those that
/// belong to one connection of HTTP/1.1 (RFC 9113, section 8.2.2; draft 3, section 3.2.1).
pub(crate) fn sendable(fields: &Fields) -> impl Iterator<Item = (Vec<u8>, &[u8])> {
    const CONNECTION: [&[u8]; 6] =
        [b"connection", b"host", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"];
    let lower = fields.iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
    lower.filter(|(name, value)| !CONNECTION.contains(&&name[..]) && (name != b"te" || *value == b"trailers"))
}
