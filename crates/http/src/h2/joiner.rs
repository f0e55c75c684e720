//! Header blocks that come in several frames (RFC 9113, section 4.3).

use super::frames::{END_HEADERS, Kind, Lead};
use crate::PeerFault;
use bytes::{Bytes, BytesMut};

/// The largest header block that is taken, all its frames together, in bytes.
const MAX_BLOCK: usize = 64 * 1024;
/// The most frames that a block may come in: empty ones make it no larger.
const MAX_FRAMES: usize = 128;

/// Joins them. Between the first frame of a block and its last nothing else may come.
#[derive(Debug)]
pub(super) struct Joiner<T> {
    /// Boxed, since nearly all blocks come in one frame.
    begun: Option<Box<Begun<T>>>,
}

#[derive(Debug)]
struct Begun<T> {
    /// The frame that began the block, and what else it said.
    lead: Lead,
    what: T,
    block: BytesMut,
    frames: usize,
}

impl<T> Default for Joiner<T> {
    fn default() -> Joiner<T> {
        Joiner { begun: None }
    }
}

impl<T> Joiner<T> {
    /// Whether a frame may come now.
    pub(super) fn check(&self, lead: Lead) -> Result<(), PeerFault> {
        let is_next = |begun: &Begun<T>| lead.is(Kind::Continuation) && lead.stream == begun.lead.stream;
        if self.begun.as_ref().is_some_and(|begun| !is_next(begun)) { Err(PeerFault::UnexpectedFrame) } else { Ok(()) }
    }

    /// Whether a block has begun and not ended.
    pub(super) fn is_within(&self) -> bool {
        self.begun.is_some()
    }

    /// Takes the first frame of a block; what it was and the block, if that is all of it.
    pub(super) fn begin(&mut self, lead: Lead, what: T, fragment: Bytes) -> Option<(Lead, T, Bytes)> {
        if lead.has(END_HEADERS) {
            return Some((lead, what, fragment));
        }
        self.begun = Some(Box::new(Begun { lead, what, block: fragment.into(), frames: 1 }));
        None
    }

    /// Takes a further frame.
    pub(super) fn go_on(&mut self, lead: Lead, fragment: &[u8]) -> Result<Option<(Lead, T, Bytes)>, PeerFault> {
        let mut begun = self.begun.take().ok_or(PeerFault::UnexpectedFrame)?;
        begun.block.extend_from_slice(fragment);
        begun.frames += 1;
        if begun.block.len() > MAX_BLOCK || begun.frames > MAX_FRAMES {
            return Err(PeerFault::HeadTooLarge);
        }
        if lead.has(END_HEADERS) {
            return Ok(Some((begun.lead, begun.what, begun.block.freeze())));
        }
        self.begun = Some(begun);
        Ok(None)
    }
}
