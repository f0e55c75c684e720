//! Streamed bodies on the wire (RFC 9112, sections 6 and 7.1).

use crate::pending::Pending;
use crate::{Chunk, Fields, Wire};
use bytes::{BufMut, Bytes, BytesMut};

/// The most bytes of content in a chunk.
const MAX_CHUNK: u64 = 16_384;

/// How the end of the content is marked (RFC 9112, section 6.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Framing {
    /// By `content-length`.
    Counted,
    Chunked,
    /// By the end of the connection.
    UntilClose,
}

impl Framing {
    /// The line that the head needs for it.
    pub(super) fn line(self) -> &'static [u8] {
        match self {
            Framing::Chunked => b"transfer-encoding: chunked\r\n",
            Framing::Counted | Framing::UntilClose => b"",
        }
    }
}

/// The streamed body of the message that is being sent.
#[derive(Debug)]
pub(super) struct StreamedBody {
    framing: Framing,
    pub(super) pending: Box<Pending>,
    /// Whether the last chunk has been written.
    is_ended: bool,
}

impl StreamedBody {
    pub(super) fn new(framing: Framing, pending: Box<Pending>) -> StreamedBody {
        StreamedBody { framing, pending, is_ended: false }
    }

    pub(super) fn has_output(&self) -> bool {
        self.pending.len() > 0 || (self.framing == Framing::Chunked && self.pending.is_at_end())
    }

    /// Whether there is nothing more to write.
    pub(super) fn is_over(&self) -> bool {
        self.is_ended || (self.framing != Framing::Chunked && self.pending.is_at_end())
    }

    /// Puts on the wire what there is room for, and what does not fit of the last chunk into `rest`; returns what is
    /// left of `room`.
    pub(super) fn put(&mut self, mut room: u64, out: &mut Wire, rest: &mut Wire) -> u64 {
        if self.framing != Framing::Chunked {
            let count = room.min(self.pending.len());
            self.pending.take(count, out);
            return room - count;
        }
        while let len @ 1.. = chunk_within(room, self.pending.len()) {
            let size = format!("{len:x}\r\n");
            room -= size.len() as u64 + len + 2;
            out.push(Chunk::Bytes(size.into()));
            self.pending.take(len, out);
            out.push(Chunk::Bytes(Bytes::from_static(b"\r\n")));
        }
        if room == 0 || !self.pending.is_at_end() {
            return room;
        }
        self.is_ended = true;
        let mut last = Chunk::Bytes(last_chunk(&self.pending.take_trailers().unwrap_or_default()));
        let fits = last.len().min(room);
        out.push(last.split_to(fits));
        rest.push(last);
        room - fits
    }
}

/// How much content a chunk has, if so much waits and there is room for so much, its framing included.
fn chunk_within(room: u64, waiting: u64) -> u64 {
    let framing = |len: u64| u64::from((u64::BITS - len.leading_zeros()).div_ceil(4)) + "\r\n\r\n".len() as u64;
    let max = waiting.min(MAX_CHUNK);
    max.min(room.saturating_sub(framing(max.min(room))))
}

/// The empty chunk, and the trailers behind it (RFC 9112, section 7.1.2).
fn last_chunk(trailers: &Fields) -> Bytes {
    let mut out = BytesMut::from(&b"0\r\n"[..]);
    trailers.write(&mut out);
    out.put_slice(b"\r\n");
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_fits_with_its_framing_into_the_room_and_no_larger_one_would() {
        for room in (0..600).chain([4_100, 4_101, 4_102, 16_391, 16_392, 16_393, u64::MAX]) {
            for waiting in [1, 15, 16, 17, 255, 256, 4_095, 4_096, 16_384, 16_385, u64::MAX] {
                let len = chunk_within(room, waiting);
                let size = |len: u64| format!("{len:x}\r\n\r\n").len() as u64 + len;
                assert!(len == 0 || size(len) <= room, "{len} of {waiting} in {room}");
                let is_most = len == waiting || len == MAX_CHUNK || size(len + 1) + 1 > room;
                assert!(is_most, "{len} of {waiting} in {room}");
            }
        }
    }
}
