//! State for undoing a reduction of the window that proves spurious.

use crate::tcp::congestion::CongestionWindow;
use crate::tcp::segment::Segment;
use loadstone_units::Time;

/// Undo state of Linux.
#[derive(Debug, Default)]
pub(super) struct Undo {
    /// SND.UNA when the reduction began.
    undo_marker: Option<u64>,
    /// Retransmissions since then not yet reported duplicate by D-SACK; `None` before the first.
    undo_retrans: Option<u32>,
    /// `prior_cwnd` and `prior_ssthresh`.
    prior: Option<(u32, u32)>,
    /// When the first retransmission was sent.
    retrans_stamp: Option<Time>,
}

impl Undo {
    /// A reduction of `window` begins, with `retrans` retransmissions in flight (`tcp_init_undo`).
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

    /// No retransmitted segment is outstanding.
    pub(super) fn clear_retrans_stamp(&mut self) {
        self.retrans_stamp = None;
    }

    /// A D-SACK whose block ends at `end`.
    pub(super) fn note_dsack(&mut self, end: u64) {
        if self.undo_marker.is_some_and(|marker| end > marker) {
            self.undo_retrans = self.undo_retrans.map(|retrans| retrans.saturating_sub(1));
        }
    }

    /// Whether D-SACKs report every retransmission as spurious (`undo_retrans` is 0).
    pub(super) fn was_all_spurious(&self) -> bool {
        self.undo_marker.is_some() && self.undo_retrans == Some(0)
    }

    /// Whether the reduction may be undone: nothing was lost (`tcp_may_undo`).
    pub(super) fn may_undo(&self, segment: &Segment) -> bool {
        self.was_all_spurious() || (self.undo_marker.is_some() && self.packet_delayed(segment))
    }

    /// Whether `segment` acknowledges an original sent before the first retransmission (Eifel detection, RFC 3522;
    /// `tcp_packet_delayed`).
    pub(super) fn packet_delayed(&self, segment: &Segment) -> bool {
        self.retrans_stamp.is_none_or(|first| segment.ts_ecr_before(first))
    }

    /// The reduction is undone: returns the prior cwnd and ssthresh.
    pub(super) fn end(&mut self) -> Option<(u32, u32)> {
        self.undo_marker = None;
        self.prior
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(retrans: u32) -> Undo {
        let mut undo = Undo::default();
        undo.begin(100, retrans, &CongestionWindow::new(20));
        undo
    }

    #[test]
    fn a_reduction_was_spurious_when_d_sacks_report_every_retransmission_rfc3708() {
        let mut undo = begun(0);
        assert!(!undo.was_all_spurious(), "nothing has been retransmitted");
        undo.note_retransmission(Time::from_nanos(1));
        undo.note_retransmission(Time::from_nanos(2));
        for (end, is_spurious) in [(100, false), (101, false), (99, false), (110, true), (110, true)] {
            undo.note_dsack(end);
            assert_eq!(undo.was_all_spurious(), is_spurious, "up to {end}; what ends at 100 was sent before");
        }
    }

    #[test]
    fn retransmissions_in_flight_when_it_began_have_to_be_reported_too() {
        let mut undo = begun(2);
        undo.note_dsack(110);
        assert!(!undo.was_all_spurious());
        undo.note_dsack(110);
        assert!(undo.was_all_spurious());
    }

    #[test]
    fn what_has_ended_is_not_undone_again() {
        let mut undo = begun(1);
        undo.note_dsack(110);
        assert!(undo.has_marker() && undo.was_all_spurious());
        assert_eq!(undo.end(), Some((20, u32::MAX)));
        assert!(!undo.has_marker() && !undo.was_all_spurious());
        let mut undo = Undo::default();
        undo.note_retransmission(Time::ZERO);
        undo.note_dsack(110);
        assert!(!undo.was_all_spurious(), "no reduction has begun");
    }
}
