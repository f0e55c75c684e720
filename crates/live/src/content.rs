//! What the bodies that this end sends consist of.

use crate::pattern;
use loadstone_http::BodyId;
use std::fmt;

/// Makes counted bodies real.
pub trait Bodies: fmt::Debug {
    /// Appends `len` bytes of `body` from `offset` on to `out`.
    fn append(&self, body: BodyId, offset: u64, len: u64, out: &mut Vec<u8>);
}

/// The content of a page's bodies, of which only the lengths are known: byte `i` of each is
/// (131 i + 7 floor(i / 256) + 13) mod 256.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pattern;

impl Bodies for Pattern {
    fn append(&self, _: BodyId, offset: u64, len: u64, out: &mut Vec<u8>) {
        pattern::append(offset, len, out);
    }
}
