//! What a relay answers itself.

use loadstone_http::{Fields, ResponseHead};
use std::sync::Arc;

/// Why a relay answers a request itself, or cannot finish its response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rejection {
    /// OPTIONS is meant for the relay itself (RFC 9110, section 7.6.2).
    LastHop,
    /// It cannot be written as HTTP/1.1, or its head and its content say two things.
    Malformed,
    /// CONNECT and TRACE: a relay to known servers makes no tunnels, and shows nobody what it adds.
    Method,
    /// It is for a server that may not be reached.
    Forbidden,
    /// It does not come on within the time.
    TooSlow,
    /// It is for a server that the relay does not know.
    Misdirected,
    /// It is for a server that the relay does not know, and the relay goes to others by http alone.
    NotForwarded,
    /// It asks for another protocol on this connection.
    Upgrade,
    /// No connection to the server is to be had, or none on which it takes the request.
    Unreachable,
    /// The server has closed the connection or reset the stream before all of its response.
    Closed,
    /// The server's response cannot be read.
    Unreadable,
    /// All connections to the server are taken.
    Busy,
    /// The server is silent.
    Silent,
    /// It is only for what is stored (RFC 9111, section 5.2.1.7), and that is not.
    NotStored,
    /// It has come through this relay before (RFC 9110, section 7.6.3; RFC 5842, section 7.2).
    Loop,
}

impl Rejection {
    /// Its name in logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Rejection::LastHop => "last-hop",
            Rejection::Malformed => "malformed",
            Rejection::Method => "method",
            Rejection::Forbidden => "forbidden",
            Rejection::TooSlow => "too-slow",
            Rejection::Misdirected => "misdirected",
            Rejection::NotForwarded => "not-forwarded",
            Rejection::Upgrade => "upgrade",
            Rejection::Unreachable => "unreachable",
            Rejection::Closed => "closed",
            Rejection::Unreadable => "unreadable",
            Rejection::Busy => "busy",
            Rejection::Silent => "silent",
            Rejection::NotStored => "not-stored",
            Rejection::Loop => "loop",
        }
    }

    /// The status (RFC 9110, sections 15.5 and 15.6).
    pub(super) const fn status(self) -> u16 {
        match self {
            Rejection::LastHop => 200,
            Rejection::Malformed => 400,
            Rejection::Forbidden => 403,
            Rejection::Method => 405,
            Rejection::TooSlow => 408,
            Rejection::Misdirected | Rejection::NotForwarded => 421,
            Rejection::Upgrade => 501,
            Rejection::Unreachable | Rejection::Closed | Rejection::Unreadable => 502,
            Rejection::Busy => 503,
            Rejection::Silent | Rejection::NotStored => 504,
            Rejection::Loop => 508,
        }
    }

    /// The content: what is wrong and what to do.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Rejection::LastHop => "200: this edge is the last that the request is for.\n",
            Rejection::Malformed => {
                "400: this request cannot be passed on: its method, path, fields or length are not valid.\n"
            }
            Rejection::Forbidden => "403: this edge may not go to where this name leads: see what --forward allows.\n",
            Rejection::Method => "405: this edge has no tunnels and no traces: use another method.\n",
            Rejection::TooSlow => "408: the rest of this request did not come in time.\n",
            Rejection::Misdirected => "421: this edge serves no host of this name: see what names it was given.\n",
            Rejection::NotForwarded => {
                "421: this edge serves no host of this name, and as a proxy it goes to URLs of http alone.\n"
            }
            Rejection::Upgrade => "501: this edge does not change protocols: leave out Upgrade.\n",
            Rejection::Unreachable => "502: the origin cannot be reached.\n",
            Rejection::Closed => "502: the origin has closed the connection without a response.\n",
            Rejection::Unreadable => "502: the origin's response cannot be read.\n",
            Rejection::Busy => "503: all connections to the origin are taken: try again later.\n",
            Rejection::Silent => "504: the origin did not answer in time.\n",
            Rejection::NotStored => "504: nothing is stored that may answer this: leave out only-if-cached.\n",
            Rejection::Loop => "508: this request has come through an edge before: it would not end.\n",
        }
    }

    pub(super) fn head(self) -> Arc<ResponseHead> {
        let length = self.text().len().to_string();
        let usual = [("content-type", "text/plain; charset=utf-8"), ("content-length", &length[..])];
        let more: &[(&str, &str)] = match self {
            Rejection::LastHop | Rejection::Method => &[("allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")],
            Rejection::Busy => &[("retry-after", "1")],
            _ => &[],
        };
        let fields = usual.iter().chain(more).copied();
        Arc::new(ResponseHead::new(self.status(), Fields::from_pairs(fields)))
    }
}
