//! ACK processing: the congestion state machine and loss recovery.
//!
//! ```text
//!            SACKs                    a segment is marked lost
//!   Open ───────────> Disorder ───────────────────────────> Recovery
//!    ^ <───────────── (all in order)                           │
//!    │                                                         │ all up to high_seq is acknowledged,
//!    │ <───────────────────────────────────────────────────────┘ or the reduction is undone
//!    │
//!    └─────────────── Loss <─────── the retransmission timer expires, from anywhere
//! ```

use super::timers::TIMEOUT_MIN;
use super::{Sender, SenderTimer};
use crate::tcp::congestion::{CongestionState, RttSample};
use crate::tcp::flight::AckSummary;
use crate::tcp::rack::DUP_THRESH;
use crate::tcp::reduction::{CwndReduction, ReductionState};
use crate::tcp::rtt::SendSequence;
use crate::tcp::rules::LossDetection;
use crate::tcp::segment::Segment;
use loadstone_units::Time;

impl Sender {
    /// Processes an ACK: validation, SACK, RTT, loss detection, recovery, cwnd.
    pub(in crate::tcp) fn handle_ack(&mut self, now: Time, segment: &Segment) {
        // RFC 9293, section 3.10.7.4: is the ACK acceptable?
        if segment.ack > self.nxt || segment.ack < self.una {
            return;
        }
        if !self.takes_fast_path(segment)
            && let Some(send_buffer) = &mut self.send_buffer
        {
            send_buffer.note_ack();
        }
        // RFC 9293, section 3.10.7.4: update the send window.
        let wnd_end = segment.ack + u64::from(segment.window);
        let is_pure =
            segment.len == 0 && wnd_end <= self.snd_wnd_end && segment.ack == self.una && segment.sacks.is_empty();
        self.snd_wnd_end = self.snd_wnd_end.max(wnd_end);
        if segment.ack == self.una && segment.sacks.is_empty() && segment.dsack_end == 0 {
            // Data of the other direction or a window update: nothing is newly acknowledged.
            if self.tlp.is_some() {
                self.process_tlp_ack(segment.ack, 0, is_pure);
            }
            return;
        }
        let prior = self.prior();
        // RFC 6675, section 4, Update(): the cumulative acknowledgement and the SACK blocks.
        let mut summary = AckSummary::default();
        self.flight.handle_ack(segment, self.high_seq, &mut summary);
        self.una = segment.ack;
        if summary.advanced {
            self.retransmits = 0;
        }
        // RFC 2883, section 4: D-SACK.
        if segment.dsack_end > 0 {
            self.undo.note_dsack(segment.dsack_end);
        }
        // RFC 8985, section 6.2, steps 1 to 3. Before this ACK's RTT enters min_RTT: a segment's RTT is compared with
        // min_RTT and must not already be it (`tcp_clean_rtx_queue`).
        self.rack.update(now, &summary, &self.rtt, segment, self.rules.constants.mss);
        // RFC 6298, section 2: RTT.
        let rtt = self.update_rtt(now, segment, &summary);
        // RFC 8985, section 7.4.2: did a tail loss probe repair a loss?
        if self.process_tlp_ack(segment.ack, segment.dsack_end, is_pure) {
            self.reduce_cwnd_for_tlp();
        }
        // RFC 6675, section 5, and RFC 8985, section 6.2, steps 4 and 5: loss detection and recovery.
        let is_dubious =
            self.ca_state != CongestionState::Open || summary.sacked || segment.dsack_end > 0 || !summary.advanced;
        if is_dubious {
            self.fastretrans_alert(now, segment, &mut summary);
        }
        // RFC 6298, section 5.3, or RFC 8985, section 7.2: the retransmission timer or the PTO.
        if (summary.advanced || self.sack_rearms_rto(&summary)) && !summary.reo_timer_armed {
            self.set_xmit_timer(now);
        }
        // RFC 5681, section 3.1, or RFC 9937 in recovery: cwnd.
        self.cong_control(now, &summary, rtt, prior);
    }

    /// Takes the ACK's RTT sample (`tcp_ack_update_rtt`). Returns that of the last segment, in ns, if there is one.
    fn update_rtt(&mut self, now: Time, segment: &Segment, summary: &AckSummary) -> Option<u64> {
        let reached = SendSequence { una: self.una, nxt: self.nxt };
        // No RTT from an ACK that also covers retransmitted data: the other segments may have waited for it.
        let acked = summary.acked_times.filter(|_| !summary.retrans_acked);
        let Some((first, last)) = acked.or(summary.sacked_times) else {
            if summary.advanced && segment.ts_ecr != Time::NEVER {
                // Only retransmitted data: TSecr tells which transmission (RFC 7323, section 4.1).
                let rtt = now.nanos_since(segment.ts_ecr);
                self.rtt.on_sample(rtt, reached);
                return Some(rtt);
            }
            return None;
        };
        self.rtt.on_sample(now.nanos_since(first), reached);
        let rtt = now.nanos_since(last);
        self.rtt.note_min_rtt(rtt);
        let (una, nxt) = (self.una, self.nxt);
        self.controller.on_rtt_sample(&mut self.window, RttSample { now, rtt, una, nxt });
        Some(rtt)
    }

    /// Whether the newly SACKed data was sent before the head's last (re)transmission. Only then does the SACK
    /// re-arm the RTO; otherwise recovery could postpone it for ever (`tcp_clean_rtx_queue` of Linux).
    fn sack_rearms_rto(&self, summary: &AckSummary) -> bool {
        let sacked = summary.sacked_times.map(|(first, _)| first);
        self.rules.detection() == LossDetection::Rack
            && self.flight.first().zip(sacked).is_some_and(|(first, sacked)| sacked < first.at)
    }

    fn set_xmit_timer(&mut self, now: Time) {
        if self.may_schedule_pto() {
            self.set_pto(now, true);
        } else {
            self.rearm(now);
        }
    }

    /// Advances the congestion state for this ACK (`tcp_fastretrans_alert`).
    fn fastretrans_alert(&mut self, now: Time, segment: &Segment, summary: &mut AckSummary) {
        if self.ca_state == CongestionState::Open {
            self.undo.clear_retrans_stamp();
        } else if self.ca_state == CongestionState::Recovery && self.una >= self.high_seq {
            self.leave_recovery(segment);
        }
        match self.ca_state {
            CongestionState::Recovery => {
                if summary.advanced {
                    self.try_undo_partial(segment);
                }
                self.try_undo_dsack();
                self.identify_packet_loss(now, summary);
                if self.ca_state == CongestionState::Recovery {
                    return;
                }
            }
            CongestionState::Loss => {
                self.process_loss(segment, summary);
                self.identify_packet_loss(now, summary);
                if self.ca_state != CongestionState::Open && !summary.lost_retrans {
                    return;
                }
            }
            CongestionState::Open | CongestionState::Disorder => {
                self.try_undo_dsack();
                self.identify_packet_loss(now, summary);
            }
        }
        if self.flight.lost_out() == 0 {
            self.try_keep_open();
        } else {
            self.enter_recovery();
        }
    }

    /// Marks lost segments (`tcp_identify_packet_loss`).
    fn identify_packet_loss(&mut self, now: Time, summary: &mut AckSummary) {
        match self.rules.detection() {
            LossDetection::DupThresh => self.flight.mark_lost_by_sacks(DUP_THRESH),
            LossDetection::Fack => self.flight.mark_lost_by_fack(DUP_THRESH),
            LossDetection::Rack => {
                let recovering = self.ca_state >= CongestionState::Recovery;
                let (lost_retrans, wait) = self.rack.mark_lost(now, &mut self.flight, recovering, &self.rtt);
                summary.lost_retrans |= lost_retrans;
                if let Some(wait) = wait {
                    self.set_timer(SenderTimer::ReoTimeout, now, (wait + TIMEOUT_MIN).min(self.rto()));
                    summary.reo_timer_armed = true;
                }
            }
        }
    }

    /// No segment is marked lost (`tcp_try_keep_open`).
    fn try_keep_open(&mut self) {
        if !self.flight.any_retrans_done() {
            self.undo.clear_retrans_stamp();
        }
        let ca_state = if self.flight.is_clean() { CongestionState::Open } else { CongestionState::Disorder };
        if ca_state != self.ca_state {
            (self.ca_state, self.high_seq) = (ca_state, self.nxt);
        }
    }

    /// FlightSize in segments, without those sent by limited transmit.
    ///
    /// > When [RFC3042] is in use, additional data sent in limited transmit MUST NOT be included in
    /// > this calculation. (RFC 5681, section 3.2)
    pub(super) fn flight_size(&self) -> u32 {
        match self.ca_state {
            CongestionState::Disorder => self.flight.iter().take_while(|sent| sent.end <= self.high_seq).count() as u32,
            _ => self.flight.len(),
        }
    }

    /// RFC 6675, section 5, step (4), and RFC 6937.
    pub(super) fn enter_recovery(&mut self) {
        self.undo.begin(self.una, self.initial_undo_retrans(), &self.window);
        self.init_cwnd_reduction();
        self.ca_state = CongestionState::Recovery;
        (self.high_rxt, self.rescue_rxt_done) = (self.una, false);
    }

    fn init_cwnd_reduction(&mut self) {
        let flight = self.flight_size();
        let prior =
            if self.rules.mechanisms.reduction == CwndReduction::PrrCrb { self.flight.len() } else { self.window.cwnd };
        self.window.ssthresh = self.ssthresh_after_loss(flight);
        self.window.cwnd_cnt = 0;
        self.window.reduction = ReductionState::new(self.rules.mechanisms.reduction, prior);
        self.high_seq = self.nxt;
        self.tlp = None;
    }

    /// ssthresh after a loss, with `flight` segments outstanding. With `flows` = n a loss costs 1/n of a single
    /// flow's reduction: beta' = 1 - (1 - beta) / n (TCP+ of `nsdi`).
    pub(super) fn ssthresh_after_loss(&mut self, flight: u32) -> u32 {
        let window = self.window.cwnd;
        let single = self.controller.ssthresh(&self.window, flight);
        window.saturating_sub(window.saturating_sub(single) / self.rules.constants.flows).max(single)
    }

    /// RFC 8985, section 7.4.2: a tail loss probe repaired a loss, so the window is reduced once.
    fn reduce_cwnd_for_tlp(&mut self) {
        self.init_cwnd_reduction();
        self.controller.end_cwnd_reduction(&mut self.window);
        self.try_keep_open();
    }

    /// Everything up to `high_seq` is acknowledged (`tcp_try_undo_recovery`, `tcp_end_cwnd_reduction`).
    fn leave_recovery(&mut self, segment: &Segment) {
        if self.rules.mechanisms.undo && self.undo.may_undo(segment) {
            self.undo_cwnd_reduction(false);
        } else if self.ca_state == CongestionState::Recovery && self.undo.has_marker() {
            self.controller.end_cwnd_reduction(&mut self.window);
        }
        self.ca_state = CongestionState::Open;
        self.try_keep_open();
    }

    /// Undoes the reduction of the window; loss marks as well if `unmark_loss` (`tcp_undo_cwnd_reduction`).
    fn undo_cwnd_reduction(&mut self, unmark_loss: bool) {
        if unmark_loss {
            self.flight.clear_loss_marks();
        }
        if let Some((cwnd, ssthresh)) = self.undo.end() {
            self.window.ssthresh = self.window.ssthresh.max(ssthresh);
            self.controller.on_undo(&mut self.window, cwnd);
        }
        self.rack.set_advanced();
    }

    /// A partial ACK was caused by a delayed original, not by a retransmission (`tcp_try_undo_partial`).
    fn try_undo_partial(&mut self, segment: &Segment) {
        let delayed = self.undo.has_marker() && self.undo.packet_delayed(segment);
        if self.rules.mechanisms.undo && delayed && self.flight.retrans_out() == 0 {
            self.undo_cwnd_reduction(true);
            self.ca_state = CongestionState::Open;
            self.try_keep_open();
        }
    }

    /// D-SACKs report every retransmission as spurious (`tcp_try_undo_dsack`).
    fn try_undo_dsack(&mut self) {
        if self.rules.mechanisms.undo && self.undo.was_all_spurious() {
            self.undo_cwnd_reduction(false);
            if self.ca_state == CongestionState::Recovery {
                self.ca_state = CongestionState::Open;
                self.try_keep_open();
            }
        }
    }

    /// In the state Loss: F-RTO (RFC 5682, section 3.1, with SACK), and the end of recovery when all up to
    /// `high_seq` is acknowledged (`tcp_process_loss`).
    fn process_loss(&mut self, segment: &Segment, summary: &AckSummary) {
        let recovered = self.una >= self.high_seq;
        // New data goes first only if this ACK asks for it (`REXMIT_NEW`).
        self.rexmit_new = false;
        if self.rules.mechanisms.undo && summary.advanced && self.undo.may_undo(segment) {
            return self.undo_loss();
        }
        if self.frto {
            // Step 3.b: a segment that was never retransmitted has been delivered.
            if summary.orig_sack_acked {
                return self.undo_loss();
            }
            if self.nxt > self.high_seq {
                // Step 3.a: the loss was real.
                self.frto &= !summary.sacked && summary.advanced;
            } else if summary.advanced && !recovered {
                // Step 2.b: new data, if there is any and SND.WND allows it.
                self.high_seq = self.nxt;
                self.rexmit_new = self.write_seq > self.nxt && self.snd_wnd_end > self.nxt;
                self.frto = self.rexmit_new;
                return;
            }
        }
        if recovered {
            self.frto = false;
            self.leave_recovery(segment);
        }
    }

    /// The timeout was spurious (`tcp_try_undo_loss`).
    fn undo_loss(&mut self) {
        self.frto = false;
        self.undo_cwnd_reduction(true);
        self.ca_state = CongestionState::Open;
        self.try_keep_open();
    }
}
