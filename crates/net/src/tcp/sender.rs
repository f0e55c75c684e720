//! The sending half: chooses the next segment. `acks` processes acknowledgements, `timers` what happens when
//! none comes, `cong_control` the calls of the congestion control and pacing.

mod acks;
mod cong_control;
#[cfg(test)]
mod invariants;
mod send_buffer;
#[cfg(test)]
mod tests;
mod timers;
mod undo;

use super::config::Config;
use super::congestion::{self, CongestionState, CongestionWindow, Controller};
use super::flight::{Flight, Sent};
use super::loss_recovery::LossRecovery;
use super::mechanisms::IdleRestart;
use super::metrics::Metrics;
use super::rack::Rack;
use super::repair::Repair;
use super::rtt::{Rtt, SendSequence};
use super::rules::{LossDetection, Rules};
use super::segment::Segment;
use loadstone_units::Time;
use send_buffer::SendBuffer;
use std::ops::Range;
use timers::{SenderTimer, Tlp};
use undo::Undo;

/// The sending half of an endpoint, from the first byte of data on.
#[derive(Debug)]
pub(super) struct Sender {
    rules: Rules,
    /// Payload of the segment being built, in bytes: MSS less the SACK option (`tcp_current_mss`).
    mss_now: u32,
    /// The first number that is not acknowledged (SND.UNA).
    una: u64,
    /// The next number to send for the first time (SND.NXT).
    nxt: u64,
    /// The number after the last byte that the program has handed over.
    app_end: u64,
    /// The number after the last byte in the send buffer (`write_seq`).
    write_seq: u64,
    /// Whether the program writes no more, so that a FIN follows the last byte.
    closing: bool,
    /// The right edge of the send window (SND.UNA + SND.WND).
    snd_wnd_end: u64,
    /// The end of the last segment sent that was not full (`snd_sml`, Minshall's rule).
    snd_sml: u64,
    flight: Flight,
    window: CongestionWindow,
    send_buffer: Option<SendBuffer>,
    /// The initial window in segments.
    initial_window: u32,
    controller: Box<dyn Controller>,
    /// What [`Controller::is_model_based`] says.
    is_model_based: bool,
    cwv: CwndValidation,
    /// Bytes acknowledged that have not yet made a segment for the congestion control.
    bytes_acked: u64,
    ca_state: CongestionState,
    /// SND.NXT when `ca_state` last changed: the recovery point (`high_seq`).
    high_seq: u64,
    undo: Undo,
    rack: Rack,
    rtt: Rtt,
    /// The highest number that was retransmitted in this recovery (HighRxt, RFC 6675).
    high_rxt: u64,
    /// The one rescue retransmission of this recovery was made (RescueRxt, RFC 6675).
    rescue_rxt_done: bool,
    /// F-RTO is finding out whether the last timeout was spurious (RFC 5682).
    frto: bool,
    /// New data goes before retransmissions, as F-RTO's probe (`REXMIT_NEW`).
    rexmit_new: bool,
    tlp: Option<Tlp>,
    timer: (SenderTimer, Time),
    /// A segment to be sent even if cwnd is full.
    forced: Option<ForcedSend>,
    /// Timeouts since SND.UNA last advanced (`icsk_retransmits`).
    retransmits: u32,
    last_sent: Time,
    retransmissions: u64,
    loss_recovery: LossRecovery,
}

/// A segment to be sent even if cwnd is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ForcedSend {
    /// The first segment that is not acknowledged.
    Head,
    /// A tail loss probe.
    LossProbe,
}

/// Congestion window validation: a window that is not used does not grow, and shrinks after a while
/// (`tcp_cwnd_validate` of Linux).
#[derive(Debug, Default)]
struct CwndValidation {
    /// The window was what stopped the sending, in this round trip.
    is_cwnd_limited: bool,
    /// The maximum of outstanding segments in this round trip.
    max_packets_out: u32,
    /// The round trip ends when this number is acknowledged.
    cwnd_usage_seq: u64,
    /// The maximum of outstanding segments since the window was last full.
    snd_cwnd_used: u32,
    /// When the window was last full.
    snd_cwnd_stamp: Time,
    /// Something was sent since the last validation.
    sent: bool,
}

/// The sequence numbers of a segment to send.
#[derive(Clone, Debug)]
pub(super) struct Transmission {
    pub(super) range: Range<u64>,
    /// Whether the last number is the FIN.
    pub(super) fin: bool,
    pub(super) repair: Option<Repair>,
}

impl Sender {
    pub(super) fn new(config: &Config, rules: Rules) -> Sender {
        let initial = config.initial_window().segments();
        let controller = congestion::controller(config.congestion(), &rules, initial);
        Sender {
            mss_now: rules.constants.mss,
            una: 1,
            nxt: 1,
            app_end: 1,
            write_seq: 1,
            closing: false,
            snd_wnd_end: 1,
            snd_sml: 1,
            flight: Flight::new(initial),
            window: CongestionWindow::new(initial),
            send_buffer: rules.mechanisms.send_buffer.then(|| SendBuffer::new(initial, controller.sndbuf_expand())),
            initial_window: initial,
            is_model_based: controller.is_model_based(),
            controller,
            cwv: CwndValidation::default(),
            bytes_acked: 0,
            ca_state: CongestionState::Open,
            high_seq: 1,
            undo: Undo::default(),
            rack: Rack::new(),
            rtt: Rtt::new(&rules.constants),
            high_rxt: 1,
            rescue_rxt_done: false,
            frto: false,
            rexmit_new: false,
            tlp: None,
            timer: (SenderTimer::Rto, Time::NEVER),
            forced: None,
            retransmits: 0,
            last_sent: Time::ZERO,
            retransmissions: 0,
            loss_recovery: LossRecovery::default(),
            rules,
        }
    }

    /// RFC 6928, section 2, after RFC 5681, section 3.1: the handshake had to be repeated more than
    /// once, so the initial window is one segment.
    pub(super) fn restart_from_one_segment(&mut self) {
        self.window.cwnd = 1;
    }

    /// Starts with the cached metrics of the other end's host.
    pub(super) fn load_metrics(&mut self, metrics: Metrics) {
        if self.rules.mechanisms.metrics {
            self.window.ssthresh = metrics.ssthresh();
        }
    }

    /// The connection is over: updates the cached metrics of the other end's host.
    pub(super) fn save_metrics(&self, metrics: &mut Metrics) {
        if self.rules.mechanisms.metrics {
            metrics.update(&self.window, self.ca_state == CongestionState::Open);
        }
    }

    pub(super) fn write(&mut self, bytes: u64) {
        debug_assert!(!self.closing, "nothing is written after close");
        self.check_app_limited();
        self.app_end += bytes;
        self.fill_send_buffer();
    }

    /// The number after the last byte that the program has handed over.
    pub(super) fn app_end(&self) -> u64 {
        self.app_end
    }

    pub(super) fn close(&mut self) {
        self.closing = true;
    }

    /// Nothing more is expected from the other end.
    pub(super) fn stop(&mut self) {
        self.timer.1 = Time::NEVER;
        self.forced = None;
        self.window.pacer.stop();
    }

    /// Bytes in the send buffer that were never sent (`tcpi_notsent_bytes`).
    pub(super) fn notsent(&self) -> u64 {
        self.write_seq.saturating_sub(self.nxt)
    }

    /// Bytes that the program has handed over and that were never sent, in the send buffer or not.
    pub(super) fn app_notsent(&self) -> u64 {
        self.app_end.saturating_sub(self.nxt)
    }

    /// Whether a FIN follows the last byte in the send buffer.
    fn is_fin_pending(&self) -> bool {
        self.closing && self.write_seq == self.app_end
    }

    /// Whether only the other end's window (SND.WND), zero or too small, stops the sending.
    #[inline]
    pub(super) fn is_blocked_by_snd_wnd(&self) -> bool {
        // Called after every burst. Cheapest test first: most often a full segment fits.
        self.nxt + u64::from(self.rules.constants.mss) > self.snd_wnd_end && self.is_snd_wnd_too_small()
    }

    #[cold]
    fn is_snd_wnd_too_small(&self) -> bool {
        let segment = u64::from(self.rules.constants.mss).min(self.notsent());
        self.flight.is_empty() && segment > 0 && self.nxt + segment > self.snd_wnd_end
    }

    /// Whether the FIN is acknowledged.
    pub(super) fn is_fin_acked(&self) -> bool {
        self.closing && self.una > self.write_seq
    }

    /// Whether data from the send buffer may be sent now.
    pub(super) fn may_send_new(&self) -> bool {
        let next = self.write_seq.min(self.nxt + u64::from(self.mss_now));
        let is_paced = self.pacing_deadline() < Time::NEVER;
        let fits = next <= self.snd_wnd_end && self.flight.in_flight() < self.window.cwnd;
        self.notsent() > 0 && fits && !is_paced && !self.nagle_check(next)
    }

    /// Whether Nagle's algorithm delays data up to `end`: it does not fill a segment, and an earlier segment that
    /// was not full is unacknowledged (RFC 896 with Minshall's change; a FIN does not wait; `tcp_nagle_check`).
    fn nagle_check(&self, end: u64) -> bool {
        let is_partial = end - self.nxt < u64::from(self.mss_now);
        self.rules.mechanisms.nagle
            && is_partial
            && self.snd_sml > self.una
            && !(self.is_fin_pending() && end == self.write_seq)
    }

    /// SND.NXT, which a segment without data bears.
    pub(super) fn snd_nxt(&self) -> u64 {
        self.nxt
    }

    /// The retransmission timeout (RTO) in nanoseconds.
    pub(super) fn rto(&self) -> u64 {
        self.rtt.rto()
    }

    /// How often in a row the timer of a handshake or of data has expired.
    pub(super) fn backoffs(&self) -> u32 {
        self.rtt.backoffs()
    }

    /// Doubles the RTO, for a handshake that is retransmitted.
    pub(super) fn back_off(&mut self) {
        self.rtt.back_off();
    }

    /// The congestion window in segments.
    pub(super) fn cwnd(&self) -> u32 {
        self.window.cwnd
    }

    pub(super) fn srtt(&self) -> u64 {
        self.rtt.srtt()
    }

    pub(super) fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    pub(super) fn loss_recovery(&self) -> LossRecovery {
        self.loss_recovery
    }

    /// The other end's window, and a round trip, from a segment of the handshake.
    pub(super) fn handle_handshake(&mut self, now: Time, segment: &Segment) {
        self.rtt.end_backing_off();
        if segment.ts_ecr != Time::NEVER {
            let took = now.nanos_since(segment.ts_ecr);
            self.rtt.on_sample(took, SendSequence { una: self.una, nxt: self.nxt });
        }
        self.snd_wnd_end = self.snd_wnd_end.max(segment.ack + u64::from(segment.window));
        self.cwv.snd_cwnd_stamp = now;
        self.controller.on_established(&mut self.window, now, &self.rtt);
    }

    /// What to send at this moment, if anything, in a segment that also bears `sacks` bytes of SACK
    /// blocks.
    pub(super) fn poll(&mut self, now: Time, sacks: u32) -> Option<Transmission> {
        self.mss_now = self.rules.constants.mss - sacks;
        if self.app_end > self.write_seq && self.has_space() {
            self.fill_send_buffer();
        }
        let next = match self.forced.take() {
            Some(forced) => self.send_forced(now, forced),
            None => self.send_allowed(now),
        };
        if next.is_none() {
            if self.cwv.sent {
                self.cwnd_validate(now);
            }
            self.check_space();
        }
        next
    }

    fn send_forced(&mut self, now: Time, forced: ForcedSend) -> Option<Transmission> {
        match forced {
            ForcedSend::Head if self.flight.is_empty() => self.send_allowed(now),
            ForcedSend::Head => Some(self.retransmit(now, 0, Repair::Timeout)),
            ForcedSend::LossProbe => self.send_loss_probe(now),
        }
    }

    fn send_allowed(&mut self, now: Time) -> Option<Transmission> {
        if self.is_paced(now) || self.flight.in_flight() >= self.window.cwnd {
            return None;
        }
        if self.rexmit_new {
            if let Some(new) = self.send_new(now) {
                return Some(new);
            }
            // No new data for F-RTO's probe (RFC 5682, section 3.1, step 2.b).
            self.rexmit_new = false;
            self.frto &= self.nxt > self.high_seq;
            if self.frto {
                return None;
            }
        }
        if self.ca_state >= CongestionState::Recovery
            && let Some(index) = self.flight.next_lost()
        {
            let repair = match self.ca_state {
                // After a timeout the window starts again, and what it lets out is not fast (`tcp_xmit_retransmit_queue`).
                CongestionState::Loss => Repair::SlowStart,
                _ => Repair::Fast(self.rules.detection()),
            };
            return Some(self.retransmit(now, index, repair));
        }
        match self.send_new(now) {
            None if self.ca_state == CongestionState::Recovery
                && self.rules.detection() == LossDetection::DupThresh =>
            {
                self.send_next_seg_rules_3_4(now)
            }
            new => new,
        }
    }

    /// RFC 6675, section 4, NextSeg(), rules (3) and (4): segments that are not marked lost.
    fn send_next_seg_rules_3_4(&mut self, now: Time) -> Option<Transmission> {
        if let Some(index) = self.flight.next_seg_rule_3(self.high_rxt, self.flight.highest_sack_end()) {
            self.flight.mark_lost(index);
            return Some(self.retransmit(now, index, Repair::Fast(LossDetection::DupThresh)));
        }
        let last = (self.flight.len() as usize).checked_sub(1)?;
        let from = self.flight.highest_sack_end().max(self.high_rxt);
        if self.rescue_rxt_done || self.flight.get(last).start < from {
            return None;
        }
        self.rescue_rxt_done = true;
        self.flight.mark_lost(last);
        Some(self.retransmit(now, last, Repair::Fast(LossDetection::DupThresh)))
    }

    /// Retransmits the segment at `index`.
    fn retransmit(&mut self, now: Time, index: usize, repair: Repair) -> Transmission {
        self.undo.note_retransmission(now);
        self.retransmissions += 1;
        self.loss_recovery.fast_retransmissions += u64::from(matches!(repair, Repair::Fast(_)));
        let sent = self.flight.get(index);
        let tx = self.tx_delivery(now, sent.end - sent.start - u64::from(sent.fin));
        let sent = self.flight.retransmit(index, now, tx);
        self.high_rxt = self.high_rxt.max(sent.end);
        if self.ca_state == CongestionState::Recovery {
            self.window.reduction.handle_sent();
        }
        self.last_sent = now;
        self.cwv.sent = true;
        if index == 0 && self.timer.0 != SenderTimer::ReoTimeout {
            self.set_timer(SenderTimer::Rto, now, self.rto());
        }
        Transmission { range: sent.start..sent.end, fin: sent.fin, repair: Some(repair) }
    }

    /// Sends new data or the FIN, if there is any and SND.WND allows it.
    #[inline]
    fn send_new(&mut self, now: Time) -> Option<Transmission> {
        // Called for every segment received, and most often there is nothing to send.
        if self.nxt < self.write_seq + u64::from(self.is_fin_pending()) { self.send_next(now) } else { None }
    }

    /// There is new data, or the FIN.
    #[inline(never)]
    fn send_next(&mut self, now: Time) -> Option<Transmission> {
        let data_end = self.write_seq.min(self.nxt + u64::from(self.mss_now));
        let fin = self.is_fin_pending() && data_end == self.write_seq;
        let range = self.nxt..data_end + u64::from(fin);
        if data_end > self.snd_wnd_end || self.nagle_check(data_end) {
            return None;
        }
        if data_end - self.nxt < u64::from(self.mss_now) {
            self.snd_sml = data_end;
        }
        if self.flight.is_empty() && self.nxt > 1 {
            self.handle_tx_start(now);
        }
        let (start, end) = (range.start, range.end);
        let tx = self.tx_delivery(now, data_end - start);
        let flags = (false, false, false, false);
        let (sacked, lost, retransmitted, ever_retransmitted) = flags;
        self.flight.push(Sent { start, end, fin, at: now, sacked, lost, retransmitted, ever_retransmitted, tx });
        self.nxt = end;
        self.last_sent = now;
        self.cwv.sent = true;
        if self.ca_state == CongestionState::Recovery {
            self.window.reduction.handle_sent();
        }
        if self.flight.len() == 1 || self.timer.0 == SenderTimer::LossProbe {
            self.rearm(now);
        }
        Some(Transmission { range, fin, repair: None })
    }

    /// The first transmission after nothing was outstanding: restarts an idle connection (RFC 5681, section 4.1).
    fn handle_tx_start(&mut self, now: Time) {
        let pause = now.nanos_since(self.last_sent);
        let timeout = self.rto();
        let window = &mut self.window;
        match self.rules.mechanisms.idle_restart {
            // RFC 5681, section 4.1: idle for more than one RTO, so cwnd is at most the restart window.
            IdleRestart::Initial if pause > timeout => window.cwnd = window.cwnd.min(self.initial_window),
            IdleRestart::Halving if pause > timeout => {
                window.ssthresh = window.current_ssthresh();
                let floor = self.initial_window.min(window.cwnd);
                let halvings = ((pause - 1) / timeout).min(31);
                window.cwnd = (window.cwnd >> halvings).max(floor);
                (self.cwv.snd_cwnd_stamp, self.cwv.snd_cwnd_used) = (now, 0);
            }
            _ => {}
        }
        self.controller.on_tx_start(now, pause);
    }

    /// Validates the congestion window, after a burst has been sent as far as it may be.
    fn cwnd_validate(&mut self, now: Time) {
        self.cwv.sent = false;
        let full = self.flight.in_flight() >= self.window.cwnd;
        let cwv = &mut self.cwv;
        let outstanding = self.flight.len();
        if self.una >= cwv.cwnd_usage_seq || full || (!cwv.is_cwnd_limited && outstanding > cwv.max_packets_out) {
            (cwv.is_cwnd_limited, cwv.max_packets_out, cwv.cwnd_usage_seq) = (full, outstanding, self.nxt);
        }
        if self.is_cwnd_limited() {
            (self.cwv.snd_cwnd_used, self.cwv.snd_cwnd_stamp) = (0, now);
        } else {
            self.cwv.snd_cwnd_used = self.cwv.snd_cwnd_used.max(outstanding);
            if self.rules.mechanisms.unused_window_shrinks && now.nanos_since(self.cwv.snd_cwnd_stamp) >= self.rto() {
                self.cwnd_application_limited(now);
            }
        }
        if self.may_schedule_pto() {
            self.set_pto(now, false);
        }
    }

    /// cwnd-limited; in slow start also while cwnd < 2 * max_packets_out (`tcp_is_cwnd_limited`).
    fn is_cwnd_limited(&self) -> bool {
        let doubled = self.window.in_slow_start() && self.window.cwnd < 2 * self.cwv.max_packets_out;
        self.cwv.is_cwnd_limited || doubled
    }

    /// The window was not filled for one RTO (`tcp_cwnd_application_limited`).
    fn cwnd_application_limited(&mut self, now: Time) {
        if self.ca_state == CongestionState::Open {
            let used = self.cwv.snd_cwnd_used.max(self.initial_window);
            if used < self.window.cwnd {
                self.window.ssthresh = self.window.current_ssthresh();
                self.window.cwnd = (self.window.cwnd + used) / 2;
            }
            self.cwv.snd_cwnd_used = 0;
        }
        self.cwv.snd_cwnd_stamp = now;
    }
}
