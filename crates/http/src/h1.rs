//! HTTP/1.1 (RFC 9112): persistent and pipelined connections.
//!
//! `head` reads heads, `known` those that were read before, `reader` cuts a byte stream into messages,
//! `chunked` decodes chunked bodies, `outbox` puts messages on the wire, `streamed_body` frames streamed bodies;
//! [`Client`] and [`Server`] are the two ends. Bodies are framed by Content-Length, by chunks or by the end of the
//! connection.

mod chunked;
mod client;
mod head;
mod known;
mod outbox;
mod reader;
mod server;
mod streamed_body;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use head::{MAX_FIELDS, MAX_HEAD};
pub(crate) use known::Known;
pub use server::Server;
