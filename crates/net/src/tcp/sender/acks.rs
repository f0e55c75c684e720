//! What an acknowledgement means for the sender.
//!
//! ```text
//!            SACKs                 a loss counts as such
//!   Open ───────────> Disorder ───────────────────────────> Recovery
//!    ^ <───────────── (all in order)                           │
//!    │                                                         │ all sent before is acknowledged,
//!    │ <───────────────────────────────────────────────────────┘ or nothing was lost after all
//!    │
//!    └─────────────── Loss <─────── the retransmission timer expires, from anywhere
//! ```

use super::alarms::SLACK;
use super::{Alarm, Sender};
use crate::tcp::congestion::{CongestionState, Sample};
use crate::tcp::flight::AckSummary;
use crate::tcp::rack::DUP_THRESH;
use crate::tcp::reduction::{PrrBound, Reduction};
use crate::tcp::rtt::Reached;
use crate::tcp::rules::LossDetection;
use crate::tcp::segment::Segment;
use loadstone_units::Time;

impl Sender {
    /// An acknowledgement.
    pub(in crate::tcp) fn handle_ack(&mut self, now: Time, segment: &Segment) {
        if segment.ack > self.nxt || segment.ack < self.una {
            return;
        }
        if !self.is_foreseen(segment)
            && let Some(space) = &mut self.space
        {
            space.note_segment();
        }
        let edge = segment.ack + u64::from(segment.window);
        let is_pure =
            segment.len == 0 && edge <= self.snd_wnd_end && segment.ack == self.una && segment.sacks.is_empty();
        self.snd_wnd_end = self.snd_wnd_end.max(edge);
        if segment.ack == self.una && segment.sacks.is_empty() && segment.duplicate == 0 {
            // Data that came the other way, or a window: it says nothing about what is sent here.
            if self.probe.is_some() {
                self.settle_probe(segment.ack, 0, is_pure);
            }
            return;
        }
        let before = self.before();
        let mut news = AckSummary::default();
        self.flight.handle_ack(segment, self.high_seq, &mut news);
        self.una = segment.ack;
        if news.advanced {
            self.timeouts = 0;
        }
        if segment.duplicate > 0 {
            self.undo.note_duplicate(segment.duplicate);
        }
        // Before the round trip is measured: what is judged by the least must not be it (`tcp_clean_rtx_queue`).
        self.rack.handle_news(now, &news, &self.rtt, segment, self.rules.constants.mss);
        let rtt = self.sample(now, segment, &news);
        if self.settle_probe(segment.ack, segment.duplicate, is_pure) {
            self.reduce_for_a_probe();
        }
        let is_dubious = self.state != CongestionState::Open || news.sacked || segment.duplicate > 0 || !news.advanced;
        if is_dubious {
            self.judge(now, segment, &mut news);
        }
        if (news.advanced || self.is_overtaken(&news)) && !news.waits {
            self.restart_timer(now);
        }
        self.tell_acked(now, &news, rtt, before);
    }

    /// What it says of the round trip: of that of the last segment, in ns, if it says anything.
    fn sample(&mut self, now: Time, segment: &Segment, news: &AckSummary) -> Option<u64> {
        let reached = Reached { una: self.una, nxt: self.nxt };
        // With something that was sent again the rest may have waited for that.
        let acked = news.acked.filter(|_| !news.again);
        let Some((first, last)) = acked.or(news.sacked_times) else {
            if news.advanced && segment.echo != Time::NEVER {
                // Only what was sent again: the timestamp says which transmission (RFC 7323, section 4.1).
                let rtt = now.nanos_since(segment.echo);
                self.rtt.on_sample(rtt, reached);
                return Some(rtt);
            }
            return None;
        };
        self.rtt.on_sample(now.nanos_since(first), reached);
        let rtt = now.nanos_since(last);
        self.rtt.note_least(rtt);
        let (una, nxt) = (self.una, self.nxt);
        self.controller.on_sample(&mut self.window, Sample { now, rtt, una, nxt });
        Some(rtt)
    }

    /// Whether what is newly SACKed was sent before the first segment was last sent: as long as such
    /// acknowledgements come the network is not silent, and that one may still wait behind a queue
    /// (`tcp_clean_rtx_queue` of Linux).
    fn is_overtaken(&self, news: &AckSummary) -> bool {
        let sacked = news.sacked_times.map(|(first, _)| first);
        self.rules.detection() == LossDetection::Rack
            && self.flight.first().zip(sacked).is_some_and(|(first, sacked)| sacked < first.at)
    }

    fn restart_timer(&mut self, now: Time) {
        if self.probe_may_be_set() {
            self.set_probe_alarm(now, true);
        } else {
            self.rearm(now);
        }
    }

    /// Where the repair of losses stands after it.
    fn judge(&mut self, now: Time, segment: &Segment, news: &mut AckSummary) {
        if self.state == CongestionState::Open {
            self.undo.forget_retransmissions();
        } else if self.state == CongestionState::Recovery && self.una >= self.high_seq {
            self.leave_recovery(segment);
        }
        match self.state {
            CongestionState::Recovery => {
                if news.advanced {
                    self.undo_partially(segment);
                }
                self.undo_by_duplicates();
                self.detect(now, news);
                if self.state == CongestionState::Recovery {
                    return;
                }
            }
            CongestionState::Loss => {
                self.handle_loss(segment, news);
                self.detect(now, news);
                if self.state != CongestionState::Open && !news.lost_again {
                    return;
                }
            }
            CongestionState::Open | CongestionState::Disorder => {
                self.undo_by_duplicates();
                self.detect(now, news);
            }
        }
        if self.flight.lost() == 0 {
            self.try_to_open();
        } else {
            self.enter_recovery();
        }
    }

    /// Marks what counts as lost.
    fn detect(&mut self, now: Time, news: &mut AckSummary) {
        match self.rules.detection() {
            LossDetection::DupThresh => self.flight.lose_below(DUP_THRESH),
            LossDetection::Fack => self.flight.lose_far_below(DUP_THRESH),
            LossDetection::Rack => {
                let recovering = self.state >= CongestionState::Recovery;
                let (again, wait) = self.rack.detect(now, &mut self.flight, recovering, &self.rtt);
                news.lost_again |= again;
                if let Some(wait) = wait {
                    self.set_alarm(Alarm::Reorder, now, (wait + SLACK).min(self.timeout()));
                    news.waits = true;
                }
            }
        }
    }

    /// Nothing counts as lost.
    fn try_to_open(&mut self) {
        if !self.flight.has_repeated() {
            self.undo.forget_retransmissions();
        }
        let phase = if self.flight.is_clean() { CongestionState::Open } else { CongestionState::Disorder };
        if phase != self.state {
            (self.state, self.high_seq) = (phase, self.nxt);
        }
    }

    /// Segments outstanding, without those sent on the first SACKs.
    ///
    /// > When [RFC3042] is in use, additional data sent in limited transmit MUST NOT be included in
    /// > this calculation. (RFC 5681, section 3.2)
    pub(super) fn flight_size(&self) -> u32 {
        match self.state {
            CongestionState::Disorder => self.flight.iter().take_while(|sent| sent.end <= self.high_seq).count() as u32,
            _ => self.flight.len(),
        }
    }

    /// RFC 6675, section 5, step (4), and RFC 6937.
    pub(super) fn enter_recovery(&mut self) {
        self.undo.begin(self.una, self.repeats(), &self.window);
        self.begin_reduction();
        self.state = CongestionState::Recovery;
        (self.high_rxt, self.rescued) = (self.una, false);
    }

    fn begin_reduction(&mut self) {
        let flight = self.flight_size();
        let prior = if self.rules.mechanisms.reduction == PrrBound::Conservative {
            self.flight.len()
        } else {
            self.window.cwnd
        };
        self.window.ssthresh = self.reduced(flight);
        self.window.count = 0;
        self.window.reduction = Reduction::new(self.rules.mechanisms.reduction, prior);
        self.high_seq = self.nxt;
        self.probe = None;
    }

    /// The threshold after a loss, with `flight` segments outstanding. Of several flows in one it takes
    /// what it takes from one of them: beta' = 1 - (1 - beta) / n (TCP+ of `nsdi`).
    pub(super) fn reduced(&mut self, flight: u32) -> u32 {
        let window = self.window.cwnd;
        let of_one = self.controller.ssthresh(&self.window, flight);
        window.saturating_sub(window.saturating_sub(of_one) / self.rules.constants.flows).max(of_one)
    }

    /// A probe has repaired a loss of the tail: the window is reduced as if it had been noticed.
    fn reduce_for_a_probe(&mut self) {
        self.begin_reduction();
        self.controller.on_repaired(&mut self.window);
        self.try_to_open();
    }

    /// Everything sent before the recovery began is acknowledged.
    fn leave_recovery(&mut self, segment: &Segment) {
        if self.rules.mechanisms.undo && self.undo.may_undo(segment) {
            self.take_back(false);
        } else if self.state == CongestionState::Recovery && self.undo.has_marker() {
            self.controller.on_repaired(&mut self.window);
        }
        self.state = CongestionState::Open;
        self.try_to_open();
    }

    /// The window was reduced for nothing.
    fn take_back(&mut self, forgive: bool) {
        if forgive {
            self.flight.clear_loss_marks();
        }
        if let Some((cwnd, ssthresh)) = self.undo.end() {
            self.window.ssthresh = self.window.ssthresh.max(ssthresh);
            self.controller.on_undo(&mut self.window, cwnd);
        }
        self.rack.look_again();
    }

    /// A hole was filled by what was late, not by a retransmission.
    fn undo_partially(&mut self, segment: &Segment) {
        let late = self.undo.has_marker() && self.undo.was_delayed(segment);
        if self.rules.mechanisms.undo && late && self.flight.retrans_out() == 0 {
            self.take_back(true);
            self.state = CongestionState::Open;
            self.try_to_open();
        }
    }

    /// D-SACKs say that nothing was lost.
    fn undo_by_duplicates(&mut self) {
        if self.rules.mechanisms.undo && self.undo.was_all_needless() {
            self.take_back(false);
            if self.state == CongestionState::Recovery {
                self.state = CongestionState::Open;
                self.try_to_open();
            }
        }
    }

    /// After a timeout: finds out whether it was spurious (RFC 5682, section 3.1, with SACK), and ends
    /// the repair when all is acknowledged.
    fn handle_loss(&mut self, segment: &Segment, news: &AckSummary) {
        let recovered = self.una >= self.high_seq;
        // New data goes first only where this acknowledgement asks for it (`REXMIT_NEW`).
        self.new_first = false;
        if self.rules.mechanisms.undo && news.advanced && self.undo.may_undo(segment) {
            return self.end_spurious_loss();
        }
        if self.frto {
            // Step 3.b: something that was sent only once has arrived.
            if news.original {
                return self.end_spurious_loss();
            }
            if self.nxt > self.high_seq {
                // Step 3.a: the loss was real.
                self.frto &= !news.sacked && news.advanced;
            } else if news.advanced && !recovered {
                // Step 2.b: new data, if there is any and the other end takes it.
                self.high_seq = self.nxt;
                self.new_first = self.written > self.nxt && self.snd_wnd_end > self.nxt;
                self.frto = self.new_first;
                return;
            }
        }
        if recovered {
            self.frto = false;
            self.leave_recovery(segment);
        }
    }

    fn end_spurious_loss(&mut self) {
        self.frto = false;
        self.take_back(true);
        self.state = CongestionState::Open;
        self.try_to_open();
    }
}
