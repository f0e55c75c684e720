//! The sending half: what goes next. `acks` says what an acknowledgement means for it, `alarms` what
//! happens when none comes.

mod acks;
mod alarms;
#[cfg(test)]
mod audit;
mod facts;
mod space;
#[cfg(test)]
mod tests;
mod undo;

use super::config::Config;
use super::congestion::{self, CongestionState, CongestionWindow, Controller};
use super::flight::{Flight, Sent};
use super::mechanisms::IdleRestart;
use super::metrics::Metrics;
use super::rack::Rack;
use super::rtt::{Reached, Rtt};
use super::rules::{LossDetection, Rules};
use super::segment::Segment;
use alarms::{Alarm, Probe};
use loadstone_units::Time;
use space::Space;
use std::ops::Range;
use undo::Undo;

/// The sending half of an endpoint, from the first byte of data on.
#[derive(Debug)]
pub(super) struct Sender {
    rules: Rules,
    /// Bytes of data that fit into the segment that is being made: less than a full one beside SACKs.
    limit: u32,
    /// The first number that is not acknowledged (SND.UNA).
    una: u64,
    /// The next number to send for the first time (SND.NXT).
    nxt: u64,
    /// The number after the last byte that the program has written, and that the send buffer has taken.
    write_seq: u64,
    written: u64,
    /// Whether the program writes no more, so that a FIN follows the last byte.
    closing: bool,
    /// The first number that the other end does not take (SND.UNA + SND.WND).
    snd_wnd_end: u64,
    /// The number after the last segment that was not full.
    snd_sml: u64,
    flight: Flight,
    window: CongestionWindow,
    space: Option<Space>,
    /// The initial window in segments.
    initial: u32,
    controller: Box<dyn Controller>,
    /// What [`Controller::is_model_based`] says.
    is_model_based: bool,
    usage: Usage,
    /// Bytes acknowledged that have not yet made a segment for the congestion control.
    bytes_acked: u64,
    state: CongestionState,
    /// The next number to send when the phase began; what is below it belongs to the last loss.
    high_seq: u64,
    undo: Undo,
    rack: Rack,
    rtt: Rtt,
    /// What was sent again up to here, and whether the one rescue was made (RFC 6675).
    high_rxt: u64,
    rescued: bool,
    /// It is being found out whether the last timeout was spurious (RFC 5682).
    frto: bool,
    /// New data goes before retransmissions, to find that out.
    new_first: bool,
    probe: Option<Probe>,
    alarm: (Alarm, Time),
    /// What is to be sent whatever the window says.
    due: Option<Due>,
    /// Timeouts since something was last acknowledged.
    timeouts: u32,
    last_sent: Time,
    retransmissions: u64,
}

/// What is to be sent whatever the window says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Due {
    /// The first segment that is not acknowledged.
    First,
    /// A tail loss probe.
    Probe,
}

/// How much of the window is used: one that is not used does not grow, and shrinks after a while
/// (`tcp_cwnd_validate` of Linux).
#[derive(Debug, Default)]
struct Usage {
    /// The window was what stopped the sending, in this round.
    limited: bool,
    /// The most segments outstanding in this round.
    most: u32,
    /// The round ends when this number is acknowledged.
    until: u64,
    /// The most segments outstanding since the window was last full, and when that was.
    used: u32,
    full: Time,
    /// Something was sent since this was last looked at.
    sent: bool,
}

/// A range of numbers to send.
#[derive(Clone, Debug)]
pub(super) struct Transmission {
    pub(super) range: Range<u64>,
    /// Whether the last number is the FIN.
    pub(super) fin: bool,
}

impl Sender {
    pub(super) fn new(config: &Config, rules: Rules) -> Sender {
        let initial = config.initial_window().segments();
        let controller = congestion::controller(config.congestion(), &rules, initial);
        Sender {
            limit: rules.constants.mss,
            una: 1,
            nxt: 1,
            write_seq: 1,
            written: 1,
            closing: false,
            snd_wnd_end: 1,
            snd_sml: 1,
            flight: Flight::new(initial),
            window: CongestionWindow::new(initial),
            space: rules.mechanisms.send_buffer.then(|| Space::new(initial, controller.windows_in_buffer())),
            initial,
            is_model_based: controller.is_model_based(),
            controller,
            usage: Usage::default(),
            bytes_acked: 0,
            state: CongestionState::Open,
            high_seq: 1,
            undo: Undo::default(),
            rack: Rack::new(),
            rtt: Rtt::new(&rules.constants),
            high_rxt: 1,
            rescued: false,
            frto: false,
            new_first: false,
            probe: None,
            alarm: (Alarm::Retransmit, Time::NEVER),
            due: None,
            timeouts: 0,
            last_sent: Time::ZERO,
            retransmissions: 0,
            rules,
        }
    }

    /// RFC 6928, section 2, after RFC 5681, section 3.1: the handshake had to be repeated more than
    /// once, so the initial window is one segment.
    pub(super) fn restart_from_one_segment(&mut self) {
        self.window.cwnd = 1;
    }

    /// Begins with what is known of the other end's host.
    pub(super) fn load_metrics(&mut self, metrics: Metrics) {
        if self.rules.mechanisms.metrics {
            self.window.ssthresh = metrics.threshold();
        }
    }

    /// The connection is over: adds to what is known of the other end's host.
    pub(super) fn save_metrics(&self, metrics: &mut Metrics) {
        if self.rules.mechanisms.metrics {
            metrics.update(&self.window, self.state == CongestionState::Open);
        }
    }

    pub(super) fn write(&mut self, bytes: u64) {
        debug_assert!(!self.closing, "nothing is written after close");
        self.note_shortage();
        self.write_seq += bytes;
        self.take();
    }

    pub(super) fn close(&mut self) {
        self.closing = true;
    }

    /// Nothing more is expected from the other end.
    pub(super) fn stop(&mut self) {
        self.alarm.1 = Time::NEVER;
        self.due = None;
        self.window.pacer.stop();
    }

    /// Bytes in the send buffer that were never sent.
    pub(super) fn unsent(&self) -> u64 {
        self.written.saturating_sub(self.nxt)
    }

    /// Bytes that the program has written and that were never sent.
    pub(super) fn ahead(&self) -> u64 {
        self.write_seq.saturating_sub(self.nxt)
    }

    /// Whether a FIN follows the last byte in the send buffer.
    fn is_ending(&self) -> bool {
        self.closing && self.written == self.write_seq
    }

    /// Whether only the other end's window keeps what is written from being sent.
    #[inline]
    pub(super) fn is_shut_out(&self) -> bool {
        // Asked after every burst: most often there is room for a whole segment, and that settles it.
        self.nxt + u64::from(self.rules.constants.mss) > self.snd_wnd_end && self.has_too_small_a_window()
    }

    #[cold]
    fn has_too_small_a_window(&self) -> bool {
        let segment = u64::from(self.rules.constants.mss).min(self.unsent());
        self.flight.is_empty() && segment > 0 && self.nxt + segment > self.snd_wnd_end
    }

    /// Whether the FIN is acknowledged.
    pub(super) fn is_fin_acked(&self) -> bool {
        self.closing && self.una > self.written
    }

    /// Whether something that was written may be sent at this moment.
    pub(super) fn may_send_new(&self) -> bool {
        let next = self.written.min(self.nxt + u64::from(self.limit));
        let is_held = self.release() < Time::NEVER;
        let fits = next <= self.snd_wnd_end && self.flight.in_flight() < self.window.cwnd;
        self.unsent() > 0 && fits && !is_held && !self.waits_to_be_full(next)
    }

    /// Whether data up to `end` has to wait for more to fill its segment, or for the last one that was not full
    /// to be acknowledged (RFC 896, Minshall's rule; a FIN does not wait).
    fn waits_to_be_full(&self, end: u64) -> bool {
        let is_partial = end - self.nxt < u64::from(self.limit);
        self.rules.mechanisms.nagle
            && is_partial
            && self.snd_sml > self.una
            && !(self.is_ending() && end == self.written)
    }

    /// The number that a segment without data bears.
    pub(super) fn next(&self) -> u64 {
        self.nxt
    }

    /// The retransmission timeout in nanoseconds.
    pub(super) fn timeout(&self) -> u64 {
        self.rtt.timeout()
    }

    /// How often in a row the timer of a handshake or of data has expired.
    pub(super) fn backoffs(&self) -> u32 {
        self.rtt.backoffs()
    }

    /// The round-trip estimator doubles its timeout, for a handshake that is sent again.
    pub(super) fn back_off(&mut self) {
        self.rtt.back_off();
    }

    /// The window in segments.
    pub(super) fn window(&self) -> u32 {
        self.window.cwnd
    }

    pub(super) fn smoothed_rtt(&self) -> u64 {
        self.rtt.smoothed()
    }

    pub(super) fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// The other end's window, and a round trip, from a segment of the handshake.
    pub(super) fn handle_handshake(&mut self, now: Time, segment: &Segment) {
        self.rtt.end_backing_off();
        if segment.echo != Time::NEVER {
            let took = now.nanos_since(segment.echo);
            self.rtt.on_sample(took, Reached { una: self.una, nxt: self.nxt });
        }
        self.snd_wnd_end = self.snd_wnd_end.max(segment.ack + u64::from(segment.window));
        self.usage.full = now;
        self.controller.on_established(&mut self.window, now, &self.rtt);
    }

    /// What to send at this moment, if anything, in a segment that also bears `sacks` bytes of SACK
    /// blocks.
    pub(super) fn poll(&mut self, now: Time, sacks: u32) -> Option<Transmission> {
        self.limit = self.rules.constants.mss - sacks;
        if self.write_seq > self.written && self.has_space() {
            self.take();
        }
        let next = match self.due.take() {
            Some(due) => self.send_due(now, due),
            None => self.send_allowed(now),
        };
        if next.is_none() {
            if self.usage.sent {
                self.end_burst(now);
            }
            self.look_after_space();
        }
        next
    }

    fn send_due(&mut self, now: Time, due: Due) -> Option<Transmission> {
        match due {
            Due::First if self.flight.is_empty() => self.send_allowed(now),
            Due::First => Some(self.resend(now, 0)),
            Due::Probe => self.send_probe(now),
        }
    }

    fn send_allowed(&mut self, now: Time) -> Option<Transmission> {
        if self.is_held(now) || self.flight.in_flight() >= self.window.cwnd {
            return None;
        }
        if self.new_first {
            if let Some(new) = self.send_new(now) {
                return Some(new);
            }
            // Nothing new is left to find out with (RFC 5682, section 3.1, step 2.b).
            self.new_first = false;
            self.frto &= self.nxt > self.high_seq;
            if self.frto {
                return None;
            }
        }
        if self.state >= CongestionState::Recovery
            && let Some(place) = self.flight.next_lost()
        {
            return Some(self.resend(now, place));
        }
        match self.send_new(now) {
            None if self.state == CongestionState::Recovery && self.rules.detection() == LossDetection::DupThresh => {
                self.send_unsure(now)
            }
            new => new,
        }
    }

    /// RFC 6675, section 4, NextSeg, rules (3) and (4): what is not yet known to be lost.
    fn send_unsure(&mut self, now: Time) -> Option<Transmission> {
        if let Some(place) = self.flight.next_missing(self.high_rxt, self.flight.highest()) {
            self.flight.lose(place);
            return Some(self.resend(now, place));
        }
        let last = (self.flight.len() as usize).checked_sub(1)?;
        let from = self.flight.highest().max(self.high_rxt);
        if self.rescued || self.flight.get(last).start < from {
            return None;
        }
        self.rescued = true;
        self.flight.lose(last);
        Some(self.resend(now, last))
    }

    /// Sends the segment at `place` again.
    fn resend(&mut self, now: Time, place: usize) -> Transmission {
        self.undo.note_retransmission(now);
        self.retransmissions += 1;
        let again = self.flight.get(place);
        let stamp = self.stamp(now, again.end - again.start - u64::from(again.fin));
        let sent = self.flight.resend(place, now, stamp);
        self.high_rxt = self.high_rxt.max(sent.end);
        if self.state == CongestionState::Recovery {
            self.window.reduction.handle_sent();
        }
        self.last_sent = now;
        self.usage.sent = true;
        if place == 0 && self.alarm.0 != Alarm::Reorder {
            self.set_alarm(Alarm::Retransmit, now, self.timeout());
        }
        Transmission { range: sent.start..sent.end, fin: sent.fin }
    }

    /// Sends data, or a FIN, that has never been sent, if there is any and the other end takes it.
    #[inline]
    fn send_new(&mut self, now: Time) -> Option<Transmission> {
        // Asked after every segment that comes, and most often the answer is no.
        if self.nxt < self.written + u64::from(self.is_ending()) { self.send_next(now) } else { None }
    }

    /// There is something of that kind.
    #[inline(never)]
    fn send_next(&mut self, now: Time) -> Option<Transmission> {
        let data_end = self.written.min(self.nxt + u64::from(self.limit));
        let fin = self.is_ending() && data_end == self.written;
        let range = self.nxt..data_end + u64::from(fin);
        if data_end > self.snd_wnd_end || self.waits_to_be_full(data_end) {
            return None;
        }
        if data_end - self.nxt < u64::from(self.limit) {
            self.snd_sml = data_end;
        }
        if self.flight.is_empty() && self.nxt > 1 {
            self.note_pause(now);
        }
        let (start, end) = (range.start, range.end);
        let stamp = self.stamp(now, data_end - start);
        let flags = (false, false, false, false);
        let (sacked, lost, again, repeated) = flags;
        self.flight.push(Sent { start, end, fin, at: now, sacked, lost, again, repeated, stamp });
        self.nxt = end;
        self.last_sent = now;
        self.usage.sent = true;
        if self.state == CongestionState::Recovery {
            self.window.reduction.handle_sent();
        }
        if self.flight.len() == 1 || self.alarm.0 == Alarm::Probe {
            self.rearm(now);
        }
        Some(Transmission { range, fin })
    }

    /// Nothing was outstanding for a while.
    fn note_pause(&mut self, now: Time) {
        let pause = now.nanos_since(self.last_sent);
        let timeout = self.timeout();
        let window = &mut self.window;
        match self.rules.mechanisms.idle_restart {
            // RFC 5681, section 4.1: after idleness for more than a timeout the window starts again.
            IdleRestart::Initial if pause > timeout => window.cwnd = window.cwnd.min(self.initial),
            IdleRestart::Halving if pause > timeout => {
                window.ssthresh = window.remembered();
                let floor = self.initial.min(window.cwnd);
                let halvings = ((pause - 1) / timeout).min(31);
                window.cwnd = (window.cwnd >> halvings).max(floor);
                (self.usage.full, self.usage.used) = (now, 0);
            }
            _ => {}
        }
        self.controller.on_pause(now, pause);
    }

    /// All that may be sent at this moment has been sent.
    fn end_burst(&mut self, now: Time) {
        self.usage.sent = false;
        let full = self.flight.in_flight() >= self.window.cwnd;
        let usage = &mut self.usage;
        let outstanding = self.flight.len();
        if self.una >= usage.until || full || (!usage.limited && outstanding > usage.most) {
            (usage.limited, usage.most, usage.until) = (full, outstanding, self.nxt);
        }
        if self.is_limited() {
            (self.usage.used, self.usage.full) = (0, now);
        } else {
            self.usage.used = self.usage.used.max(outstanding);
            if self.rules.mechanisms.unused_window_shrinks && now.nanos_since(self.usage.full) >= self.timeout() {
                self.shrink_unused(now);
            }
        }
        if self.probe_may_be_set() {
            self.set_probe_alarm(now, false);
        }
    }

    /// Whether the window is what limits the sending; in slow start, whether it shall double what was
    /// used of it.
    fn is_limited(&self) -> bool {
        let doubled = self.window.in_slow_start() && self.window.cwnd < 2 * self.usage.most;
        self.usage.limited || doubled
    }

    /// The window was larger than needed for a timeout (`tcp_cwnd_application_limited`).
    fn shrink_unused(&mut self, now: Time) {
        if self.state == CongestionState::Open {
            let used = self.usage.used.max(self.initial);
            if used < self.window.cwnd {
                self.window.ssthresh = self.window.remembered();
                self.window.cwnd = (self.window.cwnd + used) / 2;
            }
            self.usage.used = 0;
        }
        self.usage.full = now;
    }
}
