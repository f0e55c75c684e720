//! How much a peer may ask for that brings nothing: floods end the session (RFC 9113, section 10.5).

use crate::PeerFault;

/// The most frames of this end's own (answers to PING and SETTINGS, RST_STREAM, WINDOW_UPDATE) that
/// wait for the peer to read.
pub(super) const MAX_UNREAD: u32 = 10_000;
/// The most frames without content between two that have some: empty DATA that ends nothing, fields
/// that nobody reads.
pub(super) const MAX_EMPTY: u32 = 1_000;
/// By how many more streams may be reset, by either end, than come to a good end.
pub(super) const MAX_RESETS: u32 = 1_000;

/// What a peer has asked for so far.
#[derive(Debug, Default)]
pub(super) struct AbuseLimits {
    unread: u32,
    empty: u32,
    resets: u32,
}

impl AbuseLimits {
    /// A frame of this end's own is put in line.
    pub(super) fn note_answer(&mut self) {
        self.unread += 1;
    }

    /// All of them have gone out.
    pub(super) fn note_read(&mut self) {
        self.unread = 0;
    }

    pub(super) fn note_empty(&mut self) {
        self.empty += 1;
    }

    pub(super) fn note_content(&mut self) {
        self.empty = 0;
    }

    pub(super) fn note_reset(&mut self) {
        self.resets += 1;
    }

    /// A stream came to a good end.
    pub(super) fn note_success(&mut self) {
        self.resets = self.resets.saturating_sub(1);
    }

    /// Whether it is too much.
    pub(super) fn check(&self) -> Result<(), PeerFault> {
        let is_fine = self.unread <= MAX_UNREAD && self.empty <= MAX_EMPTY && self.resets <= MAX_RESETS;
        if is_fine { Ok(()) } else { Err(PeerFault::Flood) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_are_allowed_pass_and_one_more_does_not() {
        type Note = fn(&mut AbuseLimits);
        let kinds: [(u32, Note, Note); 3] = [
            (MAX_UNREAD, AbuseLimits::note_answer, AbuseLimits::note_read),
            (MAX_EMPTY, AbuseLimits::note_empty, AbuseLimits::note_content),
            (MAX_RESETS, AbuseLimits::note_reset, AbuseLimits::note_success),
        ];
        for (most, note, excuse) in kinds {
            let mut tolerance = AbuseLimits::default();
            (0..most).for_each(|_| note(&mut tolerance));
            assert_eq!(tolerance.check(), Ok(()));
            note(&mut tolerance);
            assert_eq!(tolerance.check(), Err(PeerFault::Flood));
            excuse(&mut tolerance);
            assert_eq!(tolerance.check(), Ok(()));
        }
    }
}
