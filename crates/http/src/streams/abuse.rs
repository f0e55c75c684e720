//! Counters against abuse: floods of frames without use end the session (RFC 9113, section 10.5).

use crate::PeerFault;

/// The most control frames of this end (ACKs of PING and SETTINGS, RST_STREAM, WINDOW_UPDATE) that wait
/// because the peer does not read.
pub(super) const MAX_UNFLUSHED: u32 = 10_000;
/// The most frames without use between two that have some: empty DATA without END_STREAM, fields and frames that are
/// ignored, RST_STREAM on closed streams, SETTINGS that change the initial window, interim responses (of HTTP/1.1 too).
pub(crate) const MAX_EMPTY: u32 = 1_000;
/// The most PING and SETTINGS frames that are acknowledged while no head and no content goes in either direction. Each
/// costs an answer, also if the peer reads all answers.
pub(super) const MAX_ACKNOWLEDGED: u32 = 1_000;
/// How many more streams may be reset, by either end, than completed.
pub(super) const MAX_RESETS: u32 = 1_000;

/// How many more violations on single streams a peer may commit than streams complete: as a programmer's mistake, not as
/// a way to have streams opened and reset.
pub(super) const MAX_VIOLATIONS: u32 = 20;

/// What is counted of one peer.
#[derive(Debug, Default)]
pub(super) struct AbuseCounters {
    unflushed: u32,
    empty: u32,
    acknowledged: u32,
    resets: u32,
    violations: u32,
}

impl AbuseCounters {
    /// A control frame is queued.
    pub(super) fn note_control(&mut self) {
        self.unflushed += 1;
    }

    /// All control frames have gone out.
    pub(super) fn note_flushed(&mut self) {
        self.unflushed = 0;
    }

    pub(super) fn note_empty(&mut self) {
        self.empty += 1;
    }

    /// A head or content arrived.
    pub(super) fn note_content(&mut self) {
        self.empty = 0;
        self.acknowledged = 0;
    }

    /// The answer to a PING or SETTINGS is queued.
    pub(super) fn note_acknowledged(&mut self) {
        self.acknowledged += 1;
    }

    /// A head or content went out: PING measures how long it takes.
    pub(super) fn note_sent(&mut self) {
        self.acknowledged = 0;
    }

    pub(super) fn note_reset(&mut self) {
        self.resets += 1;
    }

    /// A violation on one stream.
    pub(super) fn note_violation(&mut self) {
        self.violations += 1;
    }

    /// A stream completed.
    pub(super) fn note_completed(&mut self) {
        self.resets = self.resets.saturating_sub(1);
        self.violations = self.violations.saturating_sub(1);
    }

    /// # Errors
    /// If a limit is exceeded.
    pub(super) fn check(&self) -> Result<(), PeerFault> {
        let counts = [
            (self.unflushed, MAX_UNFLUSHED),
            (self.empty, MAX_EMPTY),
            (self.acknowledged, MAX_ACKNOWLEDGED),
            (self.resets, MAX_RESETS),
            (self.violations, MAX_VIOLATIONS),
        ];
        if counts.iter().all(|(count, limit)| count <= limit) { Ok(()) } else { Err(PeerFault::Flood) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_are_allowed_pass_and_one_more_does_not() {
        type Note = fn(&mut AbuseCounters);
        let kinds: [(u32, Note, Note); 6] = [
            (MAX_UNFLUSHED, AbuseCounters::note_control, AbuseCounters::note_flushed),
            (MAX_EMPTY, AbuseCounters::note_empty, AbuseCounters::note_content),
            (MAX_ACKNOWLEDGED, AbuseCounters::note_acknowledged, AbuseCounters::note_content),
            (MAX_ACKNOWLEDGED, AbuseCounters::note_acknowledged, AbuseCounters::note_sent),
            (MAX_RESETS, AbuseCounters::note_reset, AbuseCounters::note_completed),
            (MAX_VIOLATIONS, AbuseCounters::note_violation, AbuseCounters::note_completed),
        ];
        for (limit, note, undo) in kinds {
            let mut counters = AbuseCounters::default();
            (0..limit).for_each(|_| note(&mut counters));
            assert_eq!(counters.check(), Ok(()));
            note(&mut counters);
            assert_eq!(counters.check(), Err(PeerFault::Flood));
            undo(&mut counters);
            assert_eq!(counters.check(), Ok(()));
        }
    }
}
