//! HTTP/1.1 (RFC 9112): persistent and pipelined connections.
//!
//! `head` reads heads, `known` those that were read before, `reader` cuts a byte stream into messages,
//! `chunked` the bodies that come in chunks, `outbox` puts messages on the wire, `open` those whose content comes by
//! and by; [`Client`] and [`Server`] are the two ends. Bodies are framed by Content-Length, by chunks or by the end of
//! the connection.

mod chunked;
mod client;
mod head;
mod known;
mod open;
mod outbox;
mod reader;
mod server;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use head::{MAX_FIELDS, MAX_HEAD};
pub(crate) use known::Known;
pub use server::Server;
