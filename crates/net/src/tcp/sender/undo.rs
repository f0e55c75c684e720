//! What is needed to take a reduction of the window back that proves to have been needless.

use crate::tcp::congestion::CongestionWindow;
use crate::tcp::segment::Segment;
use loadstone_units::Time;

/// What is needed to take a reduction of the window back (Linux: `undo_marker` and its like).
#[derive(Debug, Default)]
pub(super) struct Undo {
    /// The first unacknowledged number when the reduction began.
    marker: Option<u64>,
    /// Retransmissions since then of which D-SACKs have not said that they were needless; `None` before
    /// the first.
    again: Option<u32>,
    /// Window and threshold before.
    prior: Option<(u32, u32)>,
    /// When something was first sent again.
    first_again: Option<Time>,
}

impl Undo {
    /// A reduction of `window` begins, with `again` retransmissions on their way.
    pub(super) fn begin(&mut self, una: u64, again: u32, window: &CongestionWindow) {
        self.marker = Some(una);
        self.again = (again > 0).then_some(again);
        self.prior = Some((window.cwnd, window.remembered()));
    }

    pub(super) fn has_marker(&self) -> bool {
        self.marker.is_some()
    }

    pub(super) fn note_retransmission(&mut self, now: Time) {
        self.again = Some(self.again.unwrap_or(0) + 1);
        self.first_again.get_or_insert(now);
    }

    /// Nothing that was sent again is outstanding.
    pub(super) fn forget_retransmissions(&mut self) {
        self.first_again = None;
    }

    /// A D-SACK: what ends before this number had arrived already.
    pub(super) fn note_duplicate(&mut self, end: u64) {
        if self.marker.is_some_and(|marker| end > marker) {
            self.again = self.again.map(|again| again.saturating_sub(1));
        }
    }

    /// Whether D-SACKs say that every retransmission was needless.
    pub(super) fn was_all_needless(&self) -> bool {
        self.marker.is_some() && self.again == Some(0)
    }

    /// Whether the reduction may be taken back: nothing was lost after all.
    pub(super) fn may_undo(&self, segment: &Segment) -> bool {
        self.was_all_needless() || (self.marker.is_some() && self.was_delayed(segment))
    }

    /// Whether `segment` answers something sent before the first retransmission (RFC 3522).
    pub(super) fn was_delayed(&self, segment: &Segment) -> bool {
        self.first_again.is_none_or(|first| segment.answers_before(first))
    }

    /// The reduction is taken back: window and threshold before it.
    pub(super) fn end(&mut self) -> Option<(u32, u32)> {
        self.marker = None;
        self.prior
    }
}
