//! Bytes on their way to a socket, in the pieces in which they came.

use crate::socket::Socket;
use bytes::{Buf, Bytes};
use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};

/// The most pieces that one system call writes.
const PIECES: usize = 64;

/// Bytes on their way to a socket, in the pieces in which they came: none is copied.
#[derive(Debug, Default)]
pub(crate) struct OutputQueue {
    pieces: VecDeque<Bytes>,
    len: usize,
}

impl OutputQueue {
    /// Adds a piece.
    pub(crate) fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.len += piece.len();
            self.pieces.push_back(piece);
        }
    }

    /// How many bytes wait.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether none wait.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether these bytes wait, and no others.
    pub(crate) fn is(&self, bytes: &[u8]) -> bool {
        self.len == bytes.len() && self.pieces.iter().flatten().eq(bytes)
    }

    /// Writes as much as a socket takes at a time. How many bytes it has taken.
    pub(crate) fn write_to(&mut self, mut socket: &Socket) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); PIECES];
        let pieces = slices.iter_mut().zip(&self.pieces).map(|(slice, piece)| *slice = IoSlice::new(piece)).count();
        let count = socket.write_vectored(&slices[..pieces])?;
        self.advance(count);
        Ok(count)
    }

    fn advance(&mut self, count: usize) {
        self.len -= count;
        let mut left = count;
        while left > 0 {
            let first = self.pieces.front_mut().expect("the length counts the pieces");
            let written = left.min(first.len());
            first.advance(written);
            left -= written;
            if first.is_empty() {
                self.pieces.pop_front();
            }
        }
    }

    /// All that waits, as it goes out.
    #[cfg(test)]
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(self).pieces.into_iter().flatten().collect()
    }
}

/// What TLS writes is copied: it keeps its own.
impl Write for OutputQueue {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(Bytes::copy_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_in_part_goes_on_where_it_stopped() {
        let mut queue = OutputQueue::default();
        ["ab", "", "cde", "f"].into_iter().for_each(|piece| queue.push(piece.into()));
        assert!(queue.is(b"abcdef") && !queue.is(b"abcdeg") && !queue.is(b"abcde"));
        queue.advance(3);
        assert_eq!(queue.len(), 3);
        queue.advance(2);
        assert!(queue.is(b"f"));
        queue.advance(1);
        assert!(queue.is_empty() && queue.pieces.is_empty());
    }
}
