//! Bodies in chunks (RFC 9112, section 7.1): each says its size, the last one is empty, trailers follow.

use super::head::MAX_HEAD;
use crate::{Chunk, PeerFault};
use bytes::Buf;

/// Where in a chunked body the reader stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Chunked {
    stage: ChunkedStage,
    /// Bytes of extensions, which are ignored, and of trailers so far: a peer may send no more of them than of a head.
    spare: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ChunkedStage {
    /// The size in hexadecimal digits.
    Size {
        size: u64,
        digits: u32,
    },
    /// What may stand behind the size (section 7.1.1).
    Extension {
        size: u64,
    },
    SizeLf {
        size: u64,
    },
    Content {
        left: u64,
    },
    ContentCr,
    ContentLf,
    /// Where a trailer begins, or the empty line that ends them (section 7.1.2).
    Line,
    Trailer,
    TrailerLf,
    LastLf,
}

/// What a piece of the input was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    Framing,
    /// So many bytes of the input are content; whoever reads takes them off.
    Content(u64),
    /// A byte of the trailers.
    Trailer(u8),
    End,
}

impl Chunked {
    /// The beginning of a body.
    pub(super) const BEGIN: Chunked = Chunked { stage: ChunkedStage::Size { size: 0, digits: 0 }, spare: 0 };

    /// Takes a piece off the input, unless it is content.
    #[inline]
    pub(super) fn take(&mut self, input: &mut Chunk) -> Result<Piece, PeerFault> {
        if let ChunkedStage::Content { left } = self.stage {
            let content = left.min(input.len());
            let left = left - content;
            self.stage = if left == 0 { ChunkedStage::ContentCr } else { ChunkedStage::Content { left } };
            return Ok(Piece::Content(content));
        }
        let Chunk::Bytes(bytes) = input else { return Err(PeerFault::BodyInsteadOfHead) };
        let byte = bytes.get_u8();
        if self.stage == ChunkedStage::LastLf && byte == b'\n' {
            return Ok(Piece::End);
        }
        let (before, after) = (self.stage, self.after(byte)?);
        self.stage = after;
        let is_trailer =
            before == ChunkedStage::TrailerLf || matches!(after, ChunkedStage::Trailer | ChunkedStage::TrailerLf);
        Ok(if is_trailer { Piece::Trailer(byte) } else { Piece::Framing })
    }

    /// The stage after a byte of the framing. Lines end in CR LF, with no leniency: what one reader
    /// takes for a line's end and another does not lets a message hide in another.
    #[inline]
    fn after(&mut self, byte: u8) -> Result<ChunkedStage, PeerFault> {
        let digit = char::from(byte).to_digit(16).map(u64::from);
        Ok(match (self.stage, byte, digit) {
            (ChunkedStage::Size { size, digits }, _, Some(digit)) if digits < u64::BITS / 4 => {
                ChunkedStage::Size { size: size << 4 | digit, digits: digits + 1 }
            }
            (ChunkedStage::Size { size, digits: 1.. } | ChunkedStage::Extension { size }, b'\r', _) => {
                ChunkedStage::SizeLf { size }
            }
            (ChunkedStage::Size { size, digits: 1.. }, b';' | b' ' | b'\t', _) => {
                self.spend(ChunkedStage::Extension { size })?
            }
            (ChunkedStage::Extension { size }, ..) if byte != b'\n' => self.spend(ChunkedStage::Extension { size })?,
            (ChunkedStage::SizeLf { size: 0 }, b'\n', _) => ChunkedStage::Line,
            (ChunkedStage::SizeLf { size }, b'\n', _) => ChunkedStage::Content { left: size },
            (ChunkedStage::ContentCr, b'\r', _) => ChunkedStage::ContentLf,
            (ChunkedStage::ContentLf, b'\n', _) => ChunkedStage::Size { size: 0, digits: 0 },
            (ChunkedStage::Line, b'\r', _) => ChunkedStage::LastLf,
            (ChunkedStage::Trailer, b'\r', _) => ChunkedStage::TrailerLf,
            (ChunkedStage::TrailerLf, b'\n', _) => ChunkedStage::Line,
            (ChunkedStage::Line | ChunkedStage::Trailer, ..) if byte != b'\n' => self.spend(ChunkedStage::Trailer)?,
            _ => return Err(PeerFault::InvalidLength),
        })
    }

    fn spend(&mut self, stage: ChunkedStage) -> Result<ChunkedStage, PeerFault> {
        self.spare += 1;
        if self.spare > MAX_HEAD { Err(PeerFault::HeadTooLarge) } else { Ok(stage) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of content of a body, and what is left behind it.
    fn read(text: &str) -> Result<Option<(u64, usize)>, PeerFault> {
        read_with_trailers(text).map(|read| read.map(|(content, left, _)| (content, left)))
    }

    fn read_with_trailers(text: &str) -> Result<Option<(u64, usize, String)>, PeerFault> {
        let (mut body, mut content, mut trailers) = (Chunked::BEGIN, 0, String::new());
        let mut input = Chunk::Bytes(text.to_owned().into());
        while !input.is_empty() {
            match body.take(&mut input)? {
                Piece::Framing => {}
                Piece::Content(len) => content += input.split_to(len).len(),
                Piece::Trailer(byte) => trailers.push(byte.into()),
                Piece::End => return Ok(Some((content, input.len() as usize, trailers))),
            }
        }
        Ok(None)
    }

    #[test]
    fn sizes_extensions_and_trailers_are_read_rfc9112_7_1() {
        for (text, expected) in [
            ("0\r\n\r\n", Some((0, 0))),
            ("5\r\nhello\r\n0\r\n\r\nHTTP", Some((5, 4))),
            ("00a\r\n0123456789\r\nA;x=\"y\"\r\n0123456789\r\n0 ;last\r\n\r\n", Some((20, 0))),
            ("1\r\n\n\r\n0\r\nX: y\r\nZ: \r\n\r\n!", Some((1, 1))),
            ("5\r\nhel", None),
            ("0\r\n", None),
        ] {
            assert_eq!(read(text), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn trailers_are_what_stands_behind_the_last_chunk_and_before_the_empty_line_rfc9112_7_1_2() {
        let trailers = |text| read_with_trailers(text).unwrap().unwrap().2;
        assert_eq!(trailers("1;x\r\n0\r\n0\r\nX: y\r\nZ: \r\n\r\n!"), "X: y\r\nZ: \r\n");
        assert_eq!(trailers("0\r\n\r\n"), "");
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused_rfc9112_7_1() {
        for text in [
            "\r\n",
            ";x\r\n",
            "-1\r\n",
            "0x1\r\n",
            "g\r\n",
            "1\nx",
            "1;\nx",
            "1\r\nxy",
            "1\r\nx\n",
            "0\r\nX: y\n",
            "0\r\n\r\r",
            "0\r\n\n",
        ] {
            assert_eq!(read(text), Err(PeerFault::InvalidLength), "{text:?}");
        }
        assert_eq!(read("ffffffffffffffff\r\nx"), Ok(None), "2^64 - 1 bytes");
        assert_eq!(read("10000000000000000\r\nx"), Err(PeerFault::InvalidLength), "2^64 bytes");
    }

    #[test]
    fn extensions_and_trailers_are_bounded() {
        let with = |len: usize| read(&format!("1;{}\r\nx\r\n0\r\n{}\r\n\r\n", "e".repeat(99), "t".repeat(len - 100)));
        assert_eq!((with(MAX_HEAD), with(MAX_HEAD + 1)), (Ok(Some((1, 0))), Err(PeerFault::HeadTooLarge)));
    }
}
