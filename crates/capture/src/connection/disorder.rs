//! What is kept of a direction once something in it was lost, sent again or out of order. Most connections have nothing
//! of that, and there are many at a time.

use crate::connection::flights::EndedFlight;
use crate::connection::holes::Holes;
use crate::connection::retransmission::{Evidence, Recovery, Retransmission, RetransmissionCause};
use crate::connection::sacked::Sacked;
use std::collections::VecDeque;

/// Retransmissions that wait for what may be learned of them. Where there are more, the oldest are settled.
const OPEN_RETRANSMISSIONS: usize = 256;

/// How one direction was out of order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disorder {
    /// What the capture has not seen.
    pub(crate) holes: Holes,
    /// What the receiver has beyond a gap.
    pub(crate) sacked: Sacked,
    /// When something was sent last from below the highest number, and where it began.
    pub(crate) sent_below: (u64, u64),
    /// A tail loss probe was sent since the last acknowledgement of new data.
    pub(crate) probed: bool,
    pub(crate) recovery: Option<Recovery>,
    /// Whether its sender sends tail loss probes (RFC 8985, section 7), if it has shown it.
    sends_probes: Option<bool>,
    /// What was taken for its last probe was the only segment on its way, so it may have been a timeout.
    is_doubtful: bool,
    /// What was sent again, where a D-SACK may still say that it was for nothing.
    open: VecDeque<Retransmission>,
    /// The number after the highest of it: nothing of it lies beyond, so most acknowledgements need not look through it.
    open_until: u64,
    /// What was sent again before that: for the caller to take.
    pub(crate) judged: Vec<Retransmission>,
}

impl Disorder {
    /// Whether tail loss probes may be expected, of a sender that uses SACK.
    pub(crate) fn may_probe(&self) -> bool {
        self.sends_probes != Some(false)
    }

    /// A segment was sent again.
    pub(crate) fn push(&mut self, again: Retransmission) {
        if self.open.len() == OPEN_RETRANSMISSIONS {
            self.judged.extend(self.open.pop_front());
        }
        self.open_until = self.open_until.max(again.end);
        self.open.push_back(again);
    }

    /// Nothing more can be learned of what was sent again.
    pub(crate) fn settle(&mut self) {
        self.judged.extend(self.open.drain(..));
    }

    /// Notes that losses are being repaired. All numbers are below `next`, and those below `acked` are acknowledged.
    pub(crate) fn begin_repair(&mut self, again: &Retransmission, acked: u64, next: u64) {
        let begins = match again.cause {
            RetransmissionCause::TailLossProbe => {
                self.probed = true;
                false
            }
            RetransmissionCause::Timeout => again.start <= acked || self.recovery.is_none(),
            // After a timeout: what was sent again since is lost once more, and Linux takes the losses as found by
            // acknowledgements from then on.
            RetransmissionCause::Fast => {
                self.recovery.is_none_or(|recovery| recovery.cause == RetransmissionCause::Timeout)
            }
            RetransmissionCause::Syn | RetransmissionCause::WindowProbe => false,
        };
        if begins {
            self.recovery = Some(Recovery { cause: again.cause, since: again.at, until: next });
        }
    }

    /// All below `ack` has arrived.
    pub(crate) fn handle_advance(&mut self, ack: u64) {
        self.sacked.forget_below(ack);
        self.probed = false;
        self.recovery = self.recovery.filter(|recovery| ack < recovery.until);
    }

    /// Notes what a retransmission shows of its sender's probes: how many that were taken for probes were timeouts.
    pub(crate) fn note_evidence(&mut self, evidence: &Evidence) -> u32 {
        let taken_back = if evidence.shows_no_probes() { self.note_no_probes() } else { 0 };
        match evidence.cause() {
            RetransmissionCause::TailLossProbe if evidence.is_first => self.is_doubtful = self.sends_probes.is_none(),
            RetransmissionCause::TailLossProbe => self.sends_probes = self.sends_probes.or(Some(true)),
            // It makes the window smaller, whatever was before.
            _ => self.is_doubtful = false,
        }
        taken_back
    }

    /// After a timeout the window is one segment (RFC 5681, section 3.1), and two when that is acknowledged; after a probe
    /// it is what it was. Gives how many that were taken for probes were timeouts.
    pub(crate) fn handle_flight(&mut self, ended: EndedFlight) -> u32 {
        const AFTER_TIMEOUT: u32 = 2;
        let was_doubtful = std::mem::take(&mut self.is_doubtful);
        let is_small = ended.by_window && ended.segments <= AFTER_TIMEOUT;
        if was_doubtful && is_small { self.note_no_probes() } else { 0 }
    }

    /// Its sender sends none, if it has not shown that it does.
    fn note_no_probes(&mut self) -> u32 {
        if self.sends_probes.is_some() {
            return 0;
        }
        self.sends_probes = Some(false);
        let taken = self.open.iter_mut().filter(|again| again.cause == RetransmissionCause::TailLossProbe);
        taken.map(|again| again.cause = RetransmissionCause::Timeout).count() as u32
    }

    /// A segment that arrived twice: the latest copy that no other D-SACK was for. Gives how many are known for the first time
    /// to have been for nothing, as the next two do.
    pub(crate) fn judge_by_dsack(&mut self, start: u64, end: u64) -> u32 {
        let is_copy = |again: &&mut Retransmission| !again.in_dsack && again.start < end && start < again.end;
        let Some(again) = self.open.iter_mut().rev().find(is_copy) else { return 0 };
        again.in_dsack = true;
        u32::from(again.note_spurious())
    }

    /// A range has arrived: what was sent again of it later than `early`, much less than a round trip ago, cannot be what
    /// arrived.
    pub(crate) fn judge_by_time(&mut self, early: u64, start: u64, end: u64) -> u32 {
        if start >= self.open_until {
            return 0;
        }
        let late = self.open.iter_mut().rev().take_while(|again| again.at > early);
        let arrived = late.filter(|again| start <= again.start && again.end <= end);
        arrived.map(|again| u32::from(again.note_spurious())).sum()
    }

    /// All from `acked` to `ack` has arrived: an echo that is older than the copy of the first of it is one of the original
    /// (RFC 3522).
    pub(crate) fn judge_by_echo(&mut self, acked: u64, ack: u64, ts_ecr: u32) -> u32 {
        if acked >= self.open_until {
            return 0;
        }
        let filling =
            self.open.iter_mut().filter(|again| again.start <= acked && acked < again.end && again.end <= ack);
        let is_older = |ts_val: u32| (ts_ecr.wrapping_sub(ts_val) as i32) < 0;
        let original = filling.filter(|again| again.ts_val.is_some_and(is_older));
        original.map(|again| u32::from(again.note_spurious())).sum()
    }
}
