//! What travels on a connection: real bytes for heads, counted runs for bodies.

use bytes::Bytes;
use std::collections::VecDeque;

/// Names a body: which resource a [`Chunk::Run`] belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BodyId(pub u32);

/// A body that is counted, not carried: its name and its length in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Body {
    /// Which resource's content it is.
    pub id: BodyId,
    /// Bytes.
    pub len: u64,
}

impl Body {
    /// No body at all.
    pub const EMPTY: Body = Body { id: BodyId(u32::MAX), len: 0 };
}

/// A piece of a connection's byte stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Chunk {
    /// Real bytes: heads and whatever frames them.
    Bytes(Bytes),
    /// `len` bytes of a body from `offset` on; only a live driver and tests make them real.
    Run {
        /// Whose body.
        body: BodyId,
        /// The first byte's place in the body.
        offset: u64,
        /// Bytes.
        len: u64,
    },
}

impl Chunk {
    /// Bytes on the wire.
    pub fn len(&self) -> u64 {
        match self {
            Chunk::Bytes(bytes) => bytes.len() as u64,
            Chunk::Run { len, .. } => *len,
        }
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the first `at` bytes off; `self` keeps the rest.
    ///
    /// # Panics
    /// If `at` exceeds the length.
    pub fn split_to(&mut self, at: u64) -> Chunk {
        assert!(at <= self.len(), "split at {at} of {} bytes", self.len());
        match self {
            Chunk::Bytes(bytes) => Chunk::Bytes(bytes.split_to(at as usize)),
            Chunk::Run { body, offset, len } => {
                let head = Chunk::Run { body: *body, offset: *offset, len: at };
                *offset += at;
                *len -= at;
                head
            }
        }
    }
}

/// A queue of chunks: a session's output that the driver has not taken yet.
#[derive(Clone, Default, Debug)]
pub struct Wire {
    chunks: VecDeque<Chunk>,
    len: u64,
}

impl Wire {
    /// Bytes in the queue.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Bytes of counted bodies in the queue.
    pub fn counted(&self) -> u64 {
        let runs = self.chunks.iter().filter(|chunk| matches!(chunk, Chunk::Run { .. }));
        runs.map(Chunk::len).sum()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a chunk; a run that continues the last one is joined to it.
    pub fn push(&mut self, chunk: Chunk) {
        if chunk.is_empty() {
            return;
        }
        self.len += chunk.len();
        if let Chunk::Run { body, offset, len } = chunk
            && let Some(Chunk::Run { body: last, offset: start, len: before }) = self.chunks.back_mut()
            && *last == body
            && *start + *before == offset
        {
            *before += len;
            return;
        }
        self.chunks.push_back(chunk);
    }

    /// Takes the first `count` bytes off and appends them to `out`.
    ///
    /// # Panics
    /// If fewer than `count` bytes wait.
    pub fn take(&mut self, count: u64, out: &mut Vec<Chunk>) {
        assert!(count <= self.len, "{count} bytes wanted of {}", self.len);
        self.len -= count;
        let mut left = count;
        while left > 0 {
            let front = self.chunks.front_mut().expect("the length counts the chunks");
            if front.len() <= left {
                left -= front.len();
                out.extend(self.chunks.pop_front());
            } else {
                out.push(front.split_to(left));
                left = 0;
            }
        }
    }

    /// Takes all chunks off.
    pub fn drain(&mut self) -> impl ExactSizeIterator<Item = Chunk> {
        self.len = 0;
        self.chunks.drain(..)
    }

    /// Moves the first `count` bytes to the end of `to`.
    ///
    /// # Panics
    /// If fewer than `count` bytes wait.
    pub fn move_to(&mut self, count: u64, to: &mut Wire) {
        assert!(count <= self.len, "{count} bytes wanted of {}", self.len);
        self.len -= count;
        let mut left = count;
        while left > 0 {
            let front = self.chunks.front_mut().expect("the length counts the chunks");
            let piece = front.split_to(left.min(front.len()));
            left -= piece.len();
            if front.is_empty() {
                self.chunks.pop_front();
            }
            to.push(piece);
        }
    }

    /// The last `count` bytes, or all where there are fewer.
    pub fn last(&self, count: u64) -> Vec<Chunk> {
        let (mut left, mut last) = (count, Vec::new());
        for chunk in self.chunks.iter().rev() {
            if left == 0 {
                break;
            }
            let mut piece = chunk.clone();
            let before = piece.len().saturating_sub(left);
            piece.split_to(before);
            left -= piece.len();
            last.push(piece);
        }
        last.reverse();
        last
    }

    /// Takes everything.
    pub fn take_all(&mut self) -> Vec<Chunk> {
        self.drain().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(offset: u64, len: u64) -> Chunk {
        Chunk::Run { body: BodyId(3), offset, len }
    }

    #[test]
    fn runs_that_continue_one_another_are_joined_and_others_are_not() {
        let mut wire = Wire::default();
        wire.push(run(0, 10));
        wire.push(run(10, 5));
        wire.push(run(20, 5));
        assert_eq!(wire.take_all(), [run(0, 15), run(20, 5)]);
    }

    #[test]
    fn the_last_bytes_are_those_that_were_pushed_last() {
        let mut wire = Wire::default();
        wire.push(Chunk::Bytes(Bytes::from_static(b"head")));
        wire.push(run(0, 10));
        assert_eq!(wire.last(0), []);
        assert_eq!(wire.last(4), [run(6, 4)]);
        assert_eq!(wire.last(12), [Chunk::Bytes(Bytes::from_static(b"ad")), run(0, 10)]);
        assert_eq!(wire.last(99), wire.take_all());
    }

    proptest! {
        #[test]
        fn however_it_is_cut_the_same_bytes_come_out(cuts in prop::collection::vec(1_u64..40, 0..30)) {
            let mut wire = Wire::default();
            wire.push(Chunk::Bytes(Bytes::from_static(b"HTTP/1.1 200 OK\r\n\r\n")));
            wire.push(run(0, 500));
            let (mut whole, mut cut) = (wire.clone(), Wire::default());
            for count in cuts {
                let mut out = Vec::new();
                wire.take(count.min(wire.len()), &mut out);
                out.into_iter().for_each(|chunk| cut.push(chunk));
            }
            wire.move_to(wire.len(), &mut cut);
            prop_assert_eq!(wire.len(), 0);
            let bytes = |chunks: Vec<Chunk>| {
                let mut text = Vec::new();
                let mut runs = Vec::new();
                for chunk in chunks {
                    match chunk {
                        Chunk::Bytes(b) => text.extend_from_slice(&b),
                        run @ Chunk::Run { .. } => runs.push(run),
                    }
                }
                (text, runs)
            };
            prop_assert_eq!(bytes(whole.take_all()), bytes(cut.take_all()));
        }
    }
}
