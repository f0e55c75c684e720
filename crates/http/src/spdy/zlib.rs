//! Header compression: one zlib stream in each direction for the whole session (draft 3, section
//! 2.6.10.1), by flate2.

use super::block;
use super::version::Blocks;
use crate::PeerFault;
use crate::h1::{MAX_FIELDS, MAX_HEAD};
use crate::memory::Codec;
use crate::streams::{Decoded, MessageHead};
use bytes::Bytes;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// The window is 2^11 bytes: what Chromium, nginx and spdylay used.
const WINDOW_BITS: u8 = 11;
/// The largest window that a peer may use.
const MAX_WINDOW_BITS: u8 = 15;
/// The most bytes that a header block may have when it is inflated: it has a length for each name and value, where
/// HTTP/1.1 has separators.
const MAX_BLOCK: usize = MAX_HEAD + 4 * (MAX_FIELDS + 1);

/// Compresses the header blocks of one direction.
#[derive(Debug)]
pub(crate) struct Deflater {
    blocks: &'static Blocks,
    zlib: Compress,
    block: Vec<u8>,
}

impl Codec for Deflater {
    type Start = &'static Blocks;
    type Input = MessageHead;
    type Output = Bytes;

    fn fresh(blocks: &'static Blocks) -> Deflater {
        let mut zlib = Compress::new_with_window_bits(Compression::best(), true, WINDOW_BITS);
        zlib.set_dictionary((blocks.dictionary)()).expect("a fresh compressor takes a dictionary");
        Deflater { blocks, zlib, block: Vec::new() }
    }

    fn step(&mut self, head: &MessageHead) -> Result<Bytes, PeerFault> {
        self.block.clear();
        block::write(self.blocks, head, &mut self.block);
        let mut out = Vec::with_capacity(self.block.len() / 2 + 64);
        let mut rest = &self.block[..];
        loop {
            let before = self.zlib.total_in();
            let status = self.zlib.compress_vec(rest, &mut out, FlushCompress::Sync);
            rest = &rest[(self.zlib.total_in() - before) as usize..];
            // All is out once there was room to spare.
            if rest.is_empty() && out.len() < out.capacity() || !matches!(status, Ok(Status::Ok)) {
                break;
            }
            out.reserve(256);
        }
        Ok(out.into())
    }

    fn is_same(one: &MessageHead, other: &MessageHead) -> bool {
        one.is_same(other)
    }

    fn size(head: &MessageHead, compressed: &Bytes) -> usize {
        head.size() + compressed.len()
    }
}

/// Decompresses the header blocks of one direction.
#[derive(Debug)]
pub(crate) struct Inflater {
    blocks: &'static Blocks,
    zlib: Decompress,
}

impl Codec for Inflater {
    type Start = &'static Blocks;
    type Input = Bytes;
    type Output = Decoded;

    fn fresh(blocks: &'static Blocks) -> Inflater {
        Inflater { blocks, zlib: Decompress::new_with_window_bits(true, MAX_WINDOW_BITS) }
    }

    fn step(&mut self, compressed: &Bytes) -> Result<Decoded, PeerFault> {
        Ok(block::read(self.blocks, &self.inflate(compressed)?.into()))
    }

    fn is_same(one: &Bytes, other: &Bytes) -> bool {
        one == other
    }

    fn size(compressed: &Bytes, decoded: &Decoded) -> usize {
        compressed.len() + decoded.size()
    }
}

impl Inflater {
    /// The block in plain.
    pub(super) fn inflate(&mut self, compressed: &[u8]) -> Result<Vec<u8>, PeerFault> {
        let mut out = Vec::with_capacity(1024);
        let mut rest = compressed;
        loop {
            let (before, had) = (self.zlib.total_in(), out.len());
            let result = self.zlib.decompress_vec(rest, &mut out, FlushDecompress::Sync);
            let taken = (self.zlib.total_in() - before) as usize;
            rest = &rest[taken..];
            match result {
                Err(error) if error.needs_dictionary().is_some() => {
                    self.zlib.set_dictionary((self.blocks.dictionary)()).map_err(|_| PeerFault::Compression)?;
                }
                // The stream ends with the session, not before.
                Err(_) | Ok(Status::StreamEnd) => return Err(PeerFault::Compression),
                Ok(_) if out.len() > MAX_BLOCK => return Err(PeerFault::HeadTooLarge),
                Ok(_) if rest.is_empty() && out.len() < out.capacity() => return Ok(out),
                Ok(_) if out.len() == out.capacity() => out.reserve_exact(out.len().min(MAX_BLOCK + 1 - out.len())),
                // No way forward.
                Ok(_) if taken == 0 && out.len() == had => return Err(PeerFault::Compression),
                Ok(_) => {}
            }
        }
    }
}
