//! Cuts one direction of a connection into heads and bodies, however the bytes arrive.

use super::chunked::{Chunked, Piece};
use super::head::{Length, MAX_HEAD, parse_trailers};
use crate::{Chunk, Fields, PeerFault};
use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Chunks with less content than this, in bytes, are reported together.
const SMALL_CHUNK: u64 = 256;

/// Where in the stream of messages the reader stands.
#[derive(Debug)]
pub(super) struct Reader {
    state: ReaderState,
    /// The beginning of a head, or of trailers, whose rest has not arrived; a head that cannot be read.
    partial: BytesMut,
    /// Input that begins with a head that the session does not take yet.
    unread: Vec<Chunk>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ReaderState {
    Head,
    Body {
        left: u64,
    },
    Chunked(Chunked),
    UntilClose,
    /// What comes is not looked at.
    Over,
}

/// What a reader reports to its session.
pub(super) trait Messages {
    /// Whether it takes a further head now. If not, the input is kept until [`Reader::resume`].
    fn takes_head(&self) -> bool {
        true
    }
    /// Reads the head at the beginning of `text`: its length, and how long the body is; `None` if
    /// the head is not all there.
    fn head(&mut self, text: &Bytes) -> Result<Option<(usize, Length)>, PeerFault>;
    /// Bytes of the body.
    fn data(&mut self, content: Chunk);
    /// Fields behind the content.
    fn trailers(&mut self, fields: Fields);
    /// The message is complete.
    fn end(&mut self);
}

/// A chunk in memory of its own: most of the text from which it was cut has been read.
fn alone(chunk: Chunk) -> Chunk {
    match chunk {
        Chunk::Bytes(bytes) => Chunk::Bytes(Bytes::copy_from_slice(&bytes)),
        run => run,
    }
}

/// Reports what small chunks had, if anything.
fn report(joined: &mut BytesMut, messages: &mut impl Messages) {
    if !joined.is_empty() {
        messages.data(Chunk::Bytes(joined.split().freeze()));
    }
}

impl Reader {
    pub(super) fn new() -> Reader {
        Reader { state: ReaderState::Head, partial: BytesMut::new(), unread: Vec::new() }
    }

    /// Takes what has arrived and reports what it means.
    pub(super) fn read(&mut self, input: &[Chunk], messages: &mut impl Messages) -> Result<(), PeerFault> {
        if !self.unread.is_empty() {
            self.unread.extend_from_slice(input);
            return Ok(());
        }
        for (at, chunk) in input.iter().enumerate() {
            if let (ReaderState::Body { left }, Chunk::Run { len, .. }) = (self.state, chunk)
                && (1..=left).contains(len)
            {
                // Nearly all that comes: a piece of the body and nothing else.
                messages.data(chunk.clone());
                self.begin_body(Length::Known(left - len), messages);
                continue;
            }
            let mut chunk = chunk.clone();
            while !chunk.is_empty() {
                match self.state {
                    ReaderState::Head if !messages.takes_head() => {
                        self.unread.push(alone(chunk));
                        self.unread.extend_from_slice(&input[at + 1..]);
                        return Ok(());
                    }
                    ReaderState::Head => {
                        let Chunk::Bytes(bytes) = chunk else { return Err(PeerFault::BodyInsteadOfHead) };
                        chunk = Chunk::Bytes(self.read_head(bytes, messages)?);
                    }
                    ReaderState::Body { left } => {
                        let content = chunk.split_to(left.min(chunk.len()));
                        let left = left - content.len();
                        messages.data(content);
                        self.begin_body(Length::Known(left), messages);
                    }
                    ReaderState::Chunked(body) => self.read_chunked(body, &mut chunk, messages)?,
                    ReaderState::UntilClose => {
                        messages.data(chunk);
                        break;
                    }
                    ReaderState::Over => return Ok(()),
                }
            }
        }
        Ok(())
    }

    /// Goes on with the input that was kept, if the session takes a head now.
    pub(super) fn resume(&mut self, messages: &mut impl Messages) -> Result<(), PeerFault> {
        let input = std::mem::take(&mut self.unread);
        self.read(&input, messages)
    }

    /// Bytes of input that are kept.
    pub(super) fn unread(&self) -> u64 {
        self.unread.iter().map(Chunk::len).sum()
    }

    /// The other end sends no more.
    pub(super) fn close(&mut self, messages: &mut impl Messages) -> Result<(), PeerFault> {
        match self.state {
            ReaderState::Head if self.partial.is_empty() => Ok(()),
            ReaderState::Over => Ok(()),
            ReaderState::UntilClose => {
                self.state = ReaderState::Head;
                messages.end();
                Ok(())
            }
            ReaderState::Head | ReaderState::Body { .. } | ReaderState::Chunked(_) => Err(PeerFault::Truncated),
        }
    }

    /// Whether the beginning of a head has arrived, and not its end.
    pub(super) fn is_partial(&self) -> bool {
        self.state == ReaderState::Head && !self.partial.is_empty()
    }

    /// Looks at nothing that comes from here on. Returns what stands where a head has to begin; `None` within a body.
    pub(super) fn give_up(&mut self) -> Option<Bytes> {
        let before = std::mem::replace(&mut self.state, ReaderState::Over);
        let partial = std::mem::take(&mut self.partial);
        (before == ReaderState::Head).then(|| partial.freeze())
    }

    /// Reads a head from what was kept and `bytes`; returns what follows the head.
    fn read_head(&mut self, bytes: Bytes, messages: &mut impl Messages) -> Result<Bytes, PeerFault> {
        let text = if self.partial.is_empty() {
            bytes
        } else {
            // A head is parsed again only when its end may have come, or bytes that come one by
            // one would cost the square of their number.
            let from = self.partial.len().saturating_sub(3);
            self.partial.extend_from_slice(&bytes);
            let may_end = self.partial[from..].windows(2).any(|pair| pair == b"\n\n")
                || self.partial[from..].windows(3).any(|triple| triple == b"\n\r\n");
            if !may_end && self.partial.len() <= MAX_HEAD {
                return Ok(Bytes::new());
            }
            self.partial.split().freeze()
        };
        let read = messages.head(&text);
        let Ok(Some((len, length))) = read else {
            self.partial.extend_from_slice(&text);
            return read.map(|_| Bytes::new());
        };
        self.begin_body(length, messages);
        Ok(text.slice(len..))
    }

    /// Reads a body in chunks as far as it has arrived, at most to its end. Small chunks in a row are reported
    /// together, or each byte would cost a report.
    fn read_chunked(
        &mut self,
        mut body: Chunked,
        input: &mut Chunk,
        messages: &mut impl Messages,
    ) -> Result<(), PeerFault> {
        let mut joined = BytesMut::new();
        let result = loop {
            match body.take(input) {
                Ok(Piece::Framing) => {}
                Ok(Piece::Content(len)) => {
                    if len < SMALL_CHUNK
                        && let Chunk::Bytes(bytes) = input
                    {
                        joined.extend_from_slice(&bytes[..len as usize]);
                        bytes.advance(len as usize);
                    } else {
                        report(&mut joined, messages);
                        messages.data(input.split_to(len));
                    }
                }
                Ok(Piece::Trailer(byte)) => self.partial.put_u8(byte),
                end_or_fault => break end_or_fault,
            }
            if input.is_empty() {
                self.state = ReaderState::Chunked(body);
                report(&mut joined, messages);
                return Ok(());
            }
        };
        report(&mut joined, messages);
        result?;
        if !self.partial.is_empty() {
            messages.trailers(parse_trailers(self.partial.split())?);
        }
        self.begin_body(Length::Known(0), messages);
        Ok(())
    }

    fn begin_body(&mut self, length: Length, messages: &mut impl Messages) {
        self.state = match length {
            Length::UntilClose => ReaderState::UntilClose,
            Length::Chunked => ReaderState::Chunked(Chunked::BEGIN),
            Length::Known(0) => ReaderState::Head,
            Length::Known(left) => ReaderState::Body { left },
        };
        if self.state == ReaderState::Head {
            messages.end();
        }
    }
}
