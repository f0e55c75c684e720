//! HTTP/1.1 (RFC 9112): persistent and pipelined connections.
//!
//! `head` reads heads, `reader` cuts a byte stream into messages, `outbox` puts them on the wire; [`Client`] and
//! [`Server`] are the two ends. Bodies are framed by Content-Length or by the end of the
//! connection.

mod client;
mod head;
mod outbox;
mod reader;
mod server;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use head::{MAX_FIELDS, MAX_HEAD};
pub use server::Server;
