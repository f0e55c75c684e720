//! Content codings: bodies compressed anew, so that as many bytes are sent as when they were recorded.

use bytes::Bytes;
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use std::io::Write;

/// Levels of gzip, and the one that is tried first.
const GZIP: (&[u32], u32) = (&[1, 2, 3, 4, 5, 6, 7, 8, 9], 6);
/// Levels of Brotli, and the one that is tried first.
const BROTLI: (&[u32], u32) = (&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11], 5);
/// Levels of Brotli for long bodies: the best one takes a second for each megabyte.
const BROTLI_OF_LONG: (&[u32], u32) = (&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 5);
const LONG: usize = 4 * 1024 * 1024;
/// The logarithm of Brotli's window, which browsers and servers have as a rule.
const WINDOW: u32 = 22;

/// The longest comment of gzip's, in bytes.
const LONGEST_COMMENT: usize = 60_000;

/// The longest block that holds no content of Brotli's (RFC 7932, section 9.2), with a length of two bytes.
const LONGEST_METADATA: usize = 1 << 16;

/// A content coding that can be made here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Coding {
    Gzip,
    Brotli,
}

/// A body as it is sent with a content coding.
#[derive(Clone, Debug)]
pub(super) struct Coded {
    /// The coding's name.
    pub(super) name: String,
    pub(super) bytes: Bytes,
}

impl Coding {
    /// The coding that a recorded one is sent with: Brotli in the place of what cannot be made here, which is younger.
    pub(super) fn instead_of(name: &str) -> Coding {
        if matches!(name, "gzip" | "x-gzip" | "deflate" | "compress") { Coding::Gzip } else { Coding::Brotli }
    }

    fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Brotli => "br",
        }
    }

    /// A body as servers send it as a rule.
    pub(super) fn usual(self, body: &[u8]) -> Coded {
        let (_, level) = self.levels(body);
        self.coded(&self.compressed(body, level), body, 0)
    }

    /// A body coded to this many bytes, by the level that comes nearest and by padding; it is longer if no level
    /// makes it so short.
    pub(super) fn of_len(self, body: &[u8], len: usize) -> Coded {
        let (levels, first) = self.levels(body);
        let overhead = self.coded(&[], body, 0).bytes.len();
        // Higher levels give less. The lowest that gives no more is between those with these places.
        let (mut from, mut until) = (0, levels.len());
        let mut at = levels.iter().position(|level| *level == first).unwrap_or(0);
        let (mut fits, mut least) = (None, None::<Vec<u8>>);
        while from < until {
            let compressed = self.compressed(body, levels[at]);
            if compressed.len() + overhead <= len {
                until = at;
                fits = Some(compressed);
            } else {
                from = at + 1;
                if least.as_ref().is_none_or(|least| compressed.len() < least.len()) {
                    least = Some(compressed);
                }
            }
            at = usize::midpoint(from, until);
        }
        let content = fits.or(least).unwrap_or_default();
        let missing = len.saturating_sub(content.len() + overhead);
        self.coded(&content, body, missing)
    }

    fn levels(self, body: &[u8]) -> (&'static [u32], u32) {
        match self {
            Coding::Gzip => GZIP,
            Coding::Brotli if body.len() > LONG => BROTLI_OF_LONG,
            Coding::Brotli => BROTLI,
        }
    }

    /// The compressed content, without what is around it.
    fn compressed(self, body: &[u8], level: u32) -> Vec<u8> {
        match self {
            Coding::Gzip => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(level));
                encoder.write_all(body).and_then(|()| encoder.finish()).expect("memory takes everything")
            }
            Coding::Brotli => {
                let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, level, WINDOW);
                // Whole bytes, to which blocks can be added.
                encoder.write_all(body).and_then(|()| encoder.flush()).expect("memory takes everything");
                encoder.get_ref().clone()
            }
        }
    }

    /// What is sent, with so many bytes of padding.
    fn coded(self, content: &[u8], body: &[u8], padding: usize) -> Coded {
        let bytes = match self {
            Coding::Gzip => gzip(content, body, padding),
            // The last block, which is empty.
            Coding::Brotli => [content, &metadata(padding), &[3]].concat(),
        };
        Coded { name: self.name().to_owned(), bytes: bytes.into() }
    }
}

/// A member of gzip (RFC 1952) with so many bytes that say nothing: a comment, and where that would be longer than
/// some readers take, blocks of deflate without content (RFC 1951, section 3.2.4).
fn gzip(content: &[u8], body: &[u8], padding: usize) -> Vec<u8> {
    const DEFLATE: u8 = 8;
    const HAS_COMMENT: u8 = 1 << 4;
    const UNKNOWN_SYSTEM: u8 = 255;
    const NO_CONTENT: [u8; 5] = [0, 0, 0, 255, 255];
    let blocks = padding.saturating_sub(LONGEST_COMMENT).div_ceil(NO_CONTENT.len());
    let comment = padding - blocks * NO_CONTENT.len();
    let flags = if comment == 0 { 0 } else { HAS_COMMENT };
    let mut member = vec![0x1f, 0x8b, DEFLATE, flags, 0, 0, 0, 0, 0, UNKNOWN_SYSTEM];
    if comment > 0 {
        member.resize(member.len() + comment - 1, b' ');
        member.push(0);
    }
    member.extend(NO_CONTENT.iter().cycle().take(blocks * NO_CONTENT.len()));
    member.extend_from_slice(content);
    let mut crc = Crc::new();
    crc.update(body);
    member.extend_from_slice(&crc.sum().to_le_bytes());
    member.extend_from_slice(&(body.len() as u32).to_le_bytes());
    member
}

/// Blocks of Brotli without content (RFC 7932, section 9.2), so many bytes in all.
fn metadata(mut len: usize) -> Vec<u8> {
    const NO_CONTENT: u8 = 0b0110;
    let mut blocks = Vec::with_capacity(len);
    while len > 0 {
        match len {
            // A block that skips nothing has one byte.
            1 | 2 => {
                blocks.push(NO_CONTENT);
                len -= 1;
            }
            // One byte for the length, less one: six bits of it follow the first two.
            3..=258 => {
                let skipped = len - 2;
                let code = (skipped - 1) as u8;
                blocks.extend([NO_CONTENT | 1 << 4 | code << 6, code >> 2]);
                blocks.resize(blocks.len() + skipped, 0);
                len = 0;
            }
            // Two bytes, of which the last may not be zero.
            _ => {
                let skipped = (len - 3).min(LONGEST_METADATA);
                if skipped <= 256 {
                    blocks.push(NO_CONTENT);
                    len -= 1;
                    continue;
                }
                let code = (skipped - 1) as u32;
                let bits = u32::from(NO_CONTENT) | 2 << 4 | code << 6;
                blocks.extend(&bits.to_le_bytes()[..3]);
                blocks.resize(blocks.len() + skipped, 0);
                len -= skipped + 3;
            }
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use proptest::prelude::*;
    use std::io::Read;

    fn decoded(coding: Coding, coded: &Coded) -> Vec<u8> {
        let mut body = Vec::new();
        match coding {
            Coding::Gzip => GzDecoder::new(&coded.bytes[..]).read_to_end(&mut body).unwrap(),
            Coding::Brotli => brotli::Decompressor::new(&coded.bytes[..], 4096).read_to_end(&mut body).unwrap(),
        };
        body
    }

    /// Text that compresses as text does.
    fn text(words: usize) -> Vec<u8> {
        let word = |at: usize| ["load", "stone", "time", "page", "byte"][at * at % 7 % 5];
        (0..words).map(|at| format!("{}{} ", word(at), at * 7919 % 1009)).collect::<String>().into_bytes()
    }

    #[test]
    fn a_body_has_the_length_that_was_recorded_wherever_it_can_be_so_short() {
        let body = text(20_000);
        for coding in [Coding::Gzip, Coding::Brotli] {
            let lens = coding.levels(&body).0.iter().map(|level| {
                let content = coding.compressed(&body, *level);
                coding.coded(&content, &body, 0).bytes.len()
            });
            let lens = lens.collect::<Vec<_>>();
            let least = *lens.iter().min().unwrap();
            println!("{coding:?}: {lens:?}");
            for len in lens.iter().copied().chain((least..least + 700).step_by(53)).chain([body.len(), 200_000]) {
                let coded = coding.of_len(&body, len);
                assert_eq!((coded.bytes.len(), decoded(coding, &coded) == body), (len, true), "{coding:?} {len}");
            }
            // Levels are not sorted by what they give where those are close to one another.
            let shortest = coding.of_len(&body, 10);
            assert!(shortest.bytes.len() <= least + least / 100, "{coding:?}");
            assert_eq!(decoded(coding, &shortest), body);
        }
    }

    #[test]
    fn padding_has_any_length() {
        let body = text(10);
        for coding in [Coding::Gzip, Coding::Brotli] {
            let content = coding.compressed(&body, 5);
            let bare = coding.coded(&content, &body, 0).bytes.len();
            for padding in (0..600).chain(65_530..65_550).chain(131_060..131_090) {
                let coded = coding.coded(&content, &body, padding);
                assert_eq!(coded.bytes.len(), bare + padding);
                assert_eq!(decoded(coding, &coded), body, "{coding:?} {padding}");
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_the_body_and_the_length_it_is_decoded_again(
            body in prop::collection::vec(any::<u8>(), 0..3000),
            len in 0..5000_usize,
        ) {
            for coding in [Coding::Gzip, Coding::Brotli] {
                let coded = coding.of_len(&body, len);
                prop_assert!(coded.bytes.len() >= len);
                prop_assert_eq!(&decoded(coding, &coded), &body);
            }
        }
    }
}
