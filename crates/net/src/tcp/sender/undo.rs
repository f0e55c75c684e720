//! What is needed to take a reduction of the window back that proves to have been needless.

use crate::tcp::congestion::CongestionWindow;
use crate::tcp::segment::Segment;
use loadstone_units::Time;

/// What is needed to take a reduction of the window back (Linux: `undo_marker` and its like).
#[derive(Debug, Default)]
pub(super) struct Undo {
    /// The first unacknowledged number when the reduction began.
    undo_marker: Option<u64>,
    /// Retransmissions since then of which D-SACKs have not said that they were needless; `None` before
    /// the first.
    undo_retrans: Option<u32>,
    /// Window and threshold before.
    prior: Option<(u32, u32)>,
    /// When something was first sent again.
    retrans_stamp: Option<Time>,
}

impl Undo {
    /// A reduction of `window` begins, with `again` retransmissions on their way.
    pub(super) fn begin(&mut self, una: u64, retrans: u32, window: &CongestionWindow) {
        self.undo_marker = Some(una);
        self.undo_retrans = (retrans > 0).then_some(retrans);
        self.prior = Some((window.cwnd, window.current_ssthresh()));
    }

    pub(super) fn has_marker(&self) -> bool {
        self.undo_marker.is_some()
    }

    pub(super) fn note_retransmission(&mut self, now: Time) {
        self.undo_retrans = Some(self.undo_retrans.unwrap_or(0) + 1);
        self.retrans_stamp.get_or_insert(now);
    }

    /// Nothing that was sent again is outstanding.
    pub(super) fn clear_retrans_stamp(&mut self) {
        self.retrans_stamp = None;
    }

    /// A D-SACK: what ends before this number had arrived already.
    pub(super) fn note_dsack(&mut self, end: u64) {
        if self.undo_marker.is_some_and(|marker| end > marker) {
            self.undo_retrans = self.undo_retrans.map(|retrans| retrans.saturating_sub(1));
        }
    }

    /// Whether D-SACKs say that every retransmission was needless.
    pub(super) fn was_all_spurious(&self) -> bool {
        self.undo_marker.is_some() && self.undo_retrans == Some(0)
    }

    /// Whether the reduction may be taken back: nothing was lost after all.
    pub(super) fn may_undo(&self, segment: &Segment) -> bool {
        self.was_all_spurious() || (self.undo_marker.is_some() && self.packet_delayed(segment))
    }

    /// Whether `segment` answers something sent before the first retransmission (RFC 3522).
    pub(super) fn packet_delayed(&self, segment: &Segment) -> bool {
        self.retrans_stamp.is_none_or(|first| segment.ts_ecr_before(first))
    }

    /// The reduction is taken back: window and threshold before it.
    pub(super) fn end(&mut self) -> Option<(u32, u32)> {
        self.undo_marker = None;
        self.prior
    }
}
