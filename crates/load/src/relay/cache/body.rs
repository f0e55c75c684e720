//! The content of a response, in memory of its own.

use bytes::{Bytes, BytesMut};
use loadstone_http::Chunk;

/// Pieces that are smaller are put together, so that what frames them does not weigh more than they do.
const SMALL: u64 = 4096;

/// The content of a response. It shares no memory with the buffers in which it came.
#[derive(Clone, Default, Debug)]
pub(super) struct CachedBody {
    pieces: Vec<Chunk>,
    len: u64,
}

impl CachedBody {
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn pieces(&self) -> &[Chunk] {
        &self.pieces
    }

    /// Content that is in one buffer, and alone there.
    pub(super) fn of(content: Bytes) -> CachedBody {
        let len = content.len() as u64;
        CachedBody { pieces: (len > 0).then_some(Chunk::Bytes(content)).into_iter().collect(), len }
    }

    /// Appends a copy of a piece, and returns one that shares its memory.
    pub(super) fn push(&mut self, piece: &Chunk) -> Chunk {
        self.len += piece.len();
        let own = match piece {
            Chunk::Bytes(bytes) => Chunk::Bytes(Bytes::copy_from_slice(bytes)),
            run @ Chunk::Run { .. } => run.clone(),
        };
        self.pieces.push(own.clone());
        while let [.., before, last] = &self.pieces[..] {
            let Some(joined) = joined(before, last) else { break };
            self.pieces.truncate(self.pieces.len() - 2);
            self.pieces.push(joined);
        }
        own
    }

    /// A part of it: `len` bytes from `offset` on, of which there have to be so many.
    pub(super) fn part(&self, mut offset: u64, mut len: u64) -> Vec<Chunk> {
        let mut part = Vec::new();
        for piece in &self.pieces {
            if offset >= piece.len() {
                offset -= piece.len();
                continue;
            }
            let mut piece = piece.clone();
            drop(piece.split_to(offset));
            let taken = piece.split_to(len.min(piece.len()));
            (offset, len) = (0, len - taken.len());
            part.push(taken);
            if len == 0 {
                break;
            }
        }
        part
    }

    /// Whether somebody else holds bytes of it: they stay in memory when this is dropped.
    pub(super) fn is_shared(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Chunk::Bytes(bytes) if !bytes.is_unique()))
    }
}

/// Two pieces as one: counted ones that continue each other, and small ones of about the same size, so that each byte is
/// copied only a few times.
fn joined(before: &Chunk, last: &Chunk) -> Option<Chunk> {
    match (before, last) {
        (Chunk::Run { body, offset, len }, Chunk::Run { body: other, offset: start, len: more }) => {
            let continues = body == other && offset + len == *start;
            continues.then_some(Chunk::Run { body: *body, offset: *offset, len: len + more })
        }
        (Chunk::Bytes(before), Chunk::Bytes(last)) => {
            let is_small = (before.len() as u64) < SMALL && before.len() <= 2 * last.len();
            is_small.then(|| {
                let mut both = BytesMut::with_capacity(before.len() + last.len());
                both.extend_from_slice(before);
                both.extend_from_slice(last);
                Chunk::Bytes(both.freeze())
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_http::BodyId;

    fn text(pieces: &[Chunk]) -> Vec<u8> {
        let bytes = |piece: &Chunk| if let Chunk::Bytes(bytes) = piece { bytes.to_vec() } else { panic!("{piece:?}") };
        pieces.iter().flat_map(bytes).collect()
    }

    #[test]
    fn content_that_comes_byte_by_byte_is_a_few_pieces_and_any_part_of_it_is_right() {
        let mut body = CachedBody::default();
        let all: Vec<u8> = (0..20_000_u32).map(|at| (at % 251) as u8).collect();
        for byte in &all {
            body.push(&Chunk::Bytes(Bytes::copy_from_slice(&[*byte])));
        }
        assert!(body.pieces().len() < 30, "{}", body.pieces().len());
        assert_eq!((text(body.pieces()), body.len()), (all.clone(), 20_000));
        for (offset, len) in [(0, 1), (0, 20_000), (4095, 2), (8192, 11_808), (19_999, 1)] {
            assert_eq!(text(&body.part(offset, len)), all[offset as usize..(offset + len) as usize], "{offset} {len}");
        }
    }

    #[test]
    fn counted_content_is_one_piece_and_content_shares_no_memory_with_where_it_came_from() {
        let mut body = CachedBody::default();
        let run = |offset, len| Chunk::Run { body: BodyId(3), offset, len };
        body.push(&run(0, 10));
        body.push(&run(10, 5));
        assert_eq!(body.pieces(), [run(0, 15)]);
        let mut body = CachedBody::default();
        let buffer = Bytes::from(vec![7; 100_000]);
        let given = body.push(&Chunk::Bytes(buffer.slice(..10)));
        assert!(buffer.is_unique() && body.is_shared());
        drop(given);
        assert!(!body.is_shared());
    }
}
