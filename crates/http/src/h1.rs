//! HTTP/1.1 (RFC 9112): persistent and pipelined connections.
//!
//! `head` reads and writes heads, `reader` cuts a byte stream into messages; [`Client`] and
//! [`Server`] are the two ends. Bodies are framed by Content-Length or by the end of the
//! connection.

mod client;
mod head;
mod reader;
mod server;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use head::{MAX_FIELDS, MAX_HEAD};
pub use server::Server;
