//! Requests and responses on a connection, by what can be seen of them.

mod client_hello;
mod decryption;
mod dialogue;
mod heads;
mod http1;
mod in_order;
mod key_log;
mod record_opener;
mod streams;
mod tls_records;
mod turns;

pub(crate) use dialogue::{Dialogue, SaidBytes};
pub use heads::{ExchangeHeads, HeadFields};
pub(crate) use in_order::{InOrder, OrderedData};
pub use key_log::{KeyLog, KeyLogError};

/// By what an exchange was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExchangeKind {
    /// By the heads of HTTP/1.1 (RFC 9112).
    Http1,
    /// By application data in TLS records (RFC 8446, section 5.1), where these cannot be decrypted: a request is what a client
    /// sends after a response.
    Tls,
    /// By the frames of HTTP/2 (RFC 9113), or by who sends where these cannot be read.
    H2,
    /// By the frames of SPDY, or by who sends where these cannot be read.
    Spdy,
    /// By who sends: something else.
    Other,
}

impl ExchangeKind {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            ExchangeKind::Http1 => "http/1.1",
            ExchangeKind::Tls => "tls",
            ExchangeKind::H2 => "h2",
            ExchangeKind::Spdy => "spdy",
            ExchangeKind::Other => "other",
        }
    }
}

/// A request and its response. Times in ns since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SeenExchange {
    pub(crate) kind: ExchangeKind,
    /// Its place on the connection, from 1.
    pub(crate) number: u64,
    pub(crate) method: Option<&'static str>,
    pub(crate) status: Option<u16>,
    /// When its first byte was captured.
    pub(crate) request_at: u64,
    pub(crate) request_end_at: u64,
    /// Bytes of the request, with its head or TLS's records.
    pub(crate) request_bytes: u64,
    pub(crate) response_at: Option<u64>,
    pub(crate) response_end_at: Option<u64>,
    /// Bytes of the response, with its head or TLS's records.
    pub(crate) response_bytes: u64,
    /// Bytes of the response's body, if its head or frames say how many.
    pub(crate) body_bytes: Option<u64>,
    /// When the response before it had ended.
    pub(crate) before_ended_at: Option<u64>,
    /// Whether others were under way when it began.
    pub(crate) overlaps: bool,
    /// Whether the server sends the response without a request.
    pub(crate) pushed: bool,
    /// Whether it went through TLS.
    pub(crate) encrypted: bool,
    /// Packets that the server sent again from the first byte of the response to its last.
    pub(crate) sent_again: u64,
    /// Its heads, where these are asked for.
    pub(crate) heads: Option<Box<ExchangeHeads>>,
}

impl SeenExchange {
    pub(crate) fn new(kind: ExchangeKind, number: u64, at: u64) -> SeenExchange {
        SeenExchange {
            kind,
            number,
            method: None,
            status: None,
            request_at: at,
            request_end_at: at,
            request_bytes: 0,
            response_at: None,
            response_end_at: None,
            response_bytes: 0,
            body_bytes: None,
            before_ended_at: None,
            overlaps: false,
            pushed: false,
            encrypted: kind == ExchangeKind::Tls,
            sent_again: 0,
            heads: None,
        }
    }

    /// Bytes of the request came.
    pub(crate) fn extend_request(&mut self, at: u64, bytes: u64) {
        // Clocks go back, and what waited for others may be older.
        self.request_end_at = self.request_end_at.max(at);
        self.request_bytes += bytes;
    }

    /// Bytes of the response came; until now the server had sent so many packets again.
    pub(crate) fn extend_response(&mut self, at: u64, bytes: u64, sent_again: u64) {
        if self.response_at.is_none() {
            (self.response_at, self.sent_again) = (Some(at), sent_again);
        }
        self.response_end_at = self.response_end_at.max(Some(at));
        self.response_bytes += bytes;
    }

    /// It is over; until now the server had sent so many packets again.
    pub(crate) fn counted(self, sent_again: u64) -> SeenExchange {
        let during = if self.response_at.is_some() { sent_again - self.sent_again } else { 0 };
        SeenExchange { sent_again: during, ..self }
    }
}
