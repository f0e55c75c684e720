//! One end of a connection.

use super::config::Config;
use super::loss_recovery::LossRecovery;
use super::metrics::Metrics;
use super::receiver::{AckPending, Receiver};
use super::repair::Repair;
use super::rules::Rules;
use super::segment::{Flags, Sacks, Segment};
use super::sender::Sender;
use super::state::State;
use super::timer::{Timer, Timers};
use loadstone_units::Time;

/// One end of a connection.
///
/// Methods come in four kinds: `handle_*` passes events in, `poll_*` asks what to do next, plain verbs are the
/// program's calls, `&self` getters read. After each `handle_*` or command call
/// [`Endpoint::poll_segment`] until it returns `None`, then come back at
/// [`Endpoint::poll_timeout`].
///
/// While the program has more to write, write up to [`Endpoint::writable`] before each
/// [`Endpoint::poll_segment`]: a segment takes what is there and does not wait for more.
#[derive(Debug)]
pub struct Endpoint {
    rules: Rules,
    state: State,
    sender: Sender,
    receiver: Receiver,
    timers: Timers,
    /// A SYN, or a SYN and ACK, is to be sent.
    handshake_due: bool,
    /// A RST is to be sent.
    reset_due: bool,
    window_probe: ZeroWindowProbe,
    /// SYNs, or SYN-ACKs, sent so far.
    handshakes_sent: u32,
}

/// Zero-window probing (RFC 9293, section 3.8.6.1), while SND.WND is zero or too small.
#[derive(Clone, Copy, Debug, Default)]
struct ZeroWindowProbe {
    /// Written data did not fit into SND.WND: the persist timer may be needed.
    is_suspected: bool,
    /// A probe is to be sent.
    is_due: bool,
    /// Probes since the window became too small (`icsk_backoff`).
    backoff: u32,
    /// Probes since a segment last came from the other end (`icsk_probes_out`).
    probes_out: u32,
}

impl Endpoint {
    /// The end that opens the connection: its SYN is due at once.
    pub fn connect(config: &Config) -> Endpoint {
        Endpoint { handshake_due: true, ..Endpoint::new(config, State::SynSent) }
    }

    /// The end that waits for a SYN.
    pub fn listen(config: &Config) -> Endpoint {
        Endpoint::new(config, State::Listen)
    }

    /// The same end, which starts with the cached metrics of the other end's host.
    #[must_use]
    pub fn with_cached_metrics(mut self, metrics: Metrics) -> Endpoint {
        self.sender.load_metrics(metrics);
        self
    }

    /// The connection is over: updates the cached metrics of the other end's host.
    pub fn save_metrics(&self, metrics: &mut Metrics) {
        if self.state.is_synchronised() {
            self.sender.save_metrics(metrics);
        }
    }

    fn new(config: &Config, state: State) -> Endpoint {
        let rules = config.rules();
        Endpoint {
            rules,
            state,
            sender: Sender::new(config, rules),
            receiver: Receiver::new(rules),
            timers: Timers::new(),
            handshake_due: false,
            reset_due: false,
            window_probe: ZeroWindowProbe::default(),
            handshakes_sent: 0,
        }
    }

    /// A segment has arrived.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment) {
        if segment.flags.rst {
            return self.handle_reset();
        }
        match self.state {
            State::TimedOut => return,
            // The peer may have missed our RST: send it again.
            State::Reset => {
                self.reset_due = true;
                return;
            }
            // Closed before anything was exchanged: nothing to acknowledge.
            State::Closed if !self.receiver.has_begun() => return,
            State::Listen if segment.flags.syn => {
                self.receiver.handle_syn(segment);
                self.state = State::SynReceived;
                self.handshake_due = true;
                return;
            }
            State::Listen => return,
            State::SynReceived if segment.flags.syn => {
                self.handshake_due = true;
                return;
            }
            State::SynSent if segment.flags.syn && segment.flags.ack => {
                self.receiver.handle_syn(segment);
                self.receiver.acknowledge_now();
                self.establish(now, segment);
                return;
            }
            State::SynReceived if segment.flags.ack && segment.ack >= 1 => self.establish(now, segment),
            State::SynReceived | State::SynSent => return,
            _ if segment.flags.syn => {
                // The other end has not heard our acknowledgement of its SYN.
                self.receiver.acknowledge_now();
                return;
            }
            _ => {}
        }
        self.handle_synchronised(now, segment);
    }

    fn handle_reset(&mut self) {
        self.state.on_reset();
        self.timers = Timers::new();
        self.sender.stop();
    }

    /// Breaks the connection off: the other end gets a RST.
    pub fn abort(&mut self) {
        if !self.state.is_over() {
            self.handle_reset();
            self.reset_due = true;
        }
    }

    fn establish(&mut self, now: Time, segment: &Segment) {
        self.state.on_handshake();
        self.timers.stop(Timer::Handshake);
        self.handshake_due = false;
        if self.handshakes_sent > 2 {
            self.sender.restart_from_one_segment();
        }
        self.sender.handle_handshake(now, segment);
    }

    fn handle_synchronised(&mut self, now: Time, segment: &Segment) {
        if segment.flags.ack {
            self.sender.handle_ack(now, segment);
            if segment.window < self.rules.constants.mss || self.timers.is_set(Timer::Persist) {
                self.ack_probe(now);
            }
            if self.sender.is_fin_acked() {
                self.state.on_fin_acked();
            }
        }
        let finished = self.receiver.is_finished();
        let rtt = self.sender.srtt();
        self.receiver.handle_segment(now, segment, rtt);
        if self.receiver.is_finished() && !finished {
            self.state.on_fin();
        }
        match self.receiver.ack_pending() {
            AckPending::Delayed if !self.timers.is_set(Timer::DelayedAck) => {
                let wait = self.rules.timer(self.receiver.ack_delay(rtt));
                self.timers.set(Timer::DelayedAck, now.plus_nanos(wait));
            }
            AckPending::Compressed if !self.timers.is_set(Timer::CompressedAck) => {
                let wait = self.receiver.compression_delay(rtt);
                self.timers.set(Timer::CompressedAck, now.plus_nanos(wait));
            }
            _ => {}
        }
    }

    /// A deadline has come. Does nothing if it comes early.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.timers.take_expired(Timer::CompressedAck, now) {
            self.receiver.handle_compression_delay();
        }
        if self.timers.take_expired(Timer::DelayedAck, now) {
            self.receiver.handle_delay();
        }
        if self.timers.take_expired(Timer::Persist, now) {
            self.handle_persist_timeout(now);
        }
        if self.sender.deadline() <= now {
            if self.sender.backoffs() < self.rules.constants.retries2 {
                self.sender.handle_timeout(now);
            } else {
                self.time_out();
            }
        }
        if self.timers.take_expired(Timer::Handshake, now) {
            if self.sender.backoffs() < self.rules.constants.syn_retries {
                // SYN retransmissions of the linear phase neither back off nor count (`tcp_write_timeout`).
                let is_even =
                    self.state == State::SynSent && self.handshakes_sent <= self.rules.constants.syn_linear_timeouts;
                if !is_even {
                    self.sender.back_off();
                }
                self.handshake_due = true;
            } else {
                self.time_out();
            }
        }
    }

    /// An ACK while SND.WND is small: starts or stops the persist timer (`tcp_ack_probe`). A window update may be lost,
    /// so the window is probed.
    ///
    /// RFC 9293, section 3.8.6.1:
    /// > The transmitting TCP peer must regularly transmit at least one octet of new data (if available), or
    /// > retransmit to the receiving TCP peer even if the send window is zero, in order to "probe" the window.
    ///
    /// Linux sends a segment without data and with a number that is acknowledged already (`tcp_xmit_probe_skb`).
    #[cold]
    fn ack_probe(&mut self, now: Time) {
        self.window_probe.probes_out = 0;
        if !self.sender.is_blocked_by_snd_wnd() {
            self.timers.stop(Timer::Persist);
            self.window_probe = ZeroWindowProbe::default();
        } else {
            // An answer restarts the timer (`tcp_ack_probe`).
            self.set_persist_timer(now);
        }
    }

    /// The persist timer has expired: sends a zero-window probe; after `retries2` unanswered probes the connection
    /// times out (`tcp_probe_timer`).
    #[cold]
    fn handle_persist_timeout(&mut self, now: Time) {
        if self.window_probe.probes_out >= self.rules.constants.retries2 {
            return self.time_out();
        }
        if self.sender.is_blocked_by_snd_wnd() {
            let ZeroWindowProbe { backoff, probes_out, .. } = self.window_probe;
            self.window_probe =
                ZeroWindowProbe { is_due: true, backoff: backoff + 1, probes_out: probes_out + 1, ..self.window_probe };
            self.set_persist_timer(now);
        }
    }

    /// RFC 9293, section 3.8.6.1:
    /// > The transmitting host SHOULD send the first zero-window probe when a zero window has existed for the
    /// > retransmission timeout period (SHLD-29) (Section 3.8.1), and SHOULD increase exponentially the interval
    /// > between successive probes (SHLD-30).
    fn set_persist_timer(&mut self, now: Time) {
        let most = self.rules.constants.rto_max.as_nanos() as u64;
        let wait = (self.sender.rto() << self.window_probe.backoff.min(16)).min(most);
        self.timers.set(Timer::Persist, now.plus_nanos(self.rules.timer(wait)));
    }

    /// Too many timeouts in a row (`tcp_write_err`).
    fn time_out(&mut self) {
        self.state = State::TimedOut;
        self.timers = Timers::new();
        self.sender.stop();
    }

    /// The next segment to send at this moment, if any.
    pub fn poll_segment(&mut self, now: Time) -> Option<Segment> {
        if !self.state.is_synchronised() {
            return self.poll_handshake(now);
        }
        if self.state == State::TimedOut || self.state == State::Reset {
            return self.poll_reset(now);
        }
        if let Some(next) = self.sender.poll(now, self.receiver.sack_bytes()) {
            self.receiver.note_data_sent(now);
            let data = next.range.end - next.range.start - u64::from(next.fin);
            let mut segment = self.segment(now, next.range.start);
            segment.len = data as u32;
            segment.flags.fin = next.fin;
            segment.repair = next.repair;
            // A retransmission keeps its length; SACK blocks that do not fit are left for the next ACK.
            segment.drop_sacks_beyond(self.rules.constants.mss);
            return Some(segment);
        }
        if (self.window_probe.is_suspected || self.window_probe.is_due)
            && let Some(probe) = self.poll_window_probe(now)
        {
            return Some(probe);
        }
        if self.receiver.ack_pending() != AckPending::Now {
            return None;
        }
        self.sender.note_pure_ack(now);
        Some(self.segment(now, self.sender.snd_nxt()))
    }

    #[cold]
    fn poll_window_probe(&mut self, now: Time) -> Option<Segment> {
        let suspected = std::mem::take(&mut self.window_probe.is_suspected);
        if suspected && self.sender.is_blocked_by_snd_wnd() && !self.timers.is_set(Timer::Persist) {
            // The window was too small before there was anything to send.
            self.set_persist_timer(now);
        }
        std::mem::take(&mut self.window_probe.is_due).then(|| self.segment(now, self.sender.snd_nxt() - 1))
    }

    /// An acknowledging segment without data. Each segment sent carries the pending ACK.
    fn segment(&mut self, now: Time, seq: u64) -> Segment {
        let mut segment = Segment {
            seq,
            ack: 0,
            len: 0,
            window: 0,
            flags: Flags::default(),
            ts_val: now,
            ts_ecr: Time::NEVER,
            sacks: Sacks::default(),
            dsack_end: 0,
            repair: None,
        };
        self.receiver.acknowledge(&mut segment);
        self.timers.stop(Timer::DelayedAck);
        self.timers.stop(Timer::CompressedAck);
        segment
    }

    fn poll_reset(&mut self, now: Time) -> Option<Segment> {
        std::mem::take(&mut self.reset_due).then(|| {
            let mut segment = self.segment(now, self.sender.snd_nxt());
            segment.flags.rst = true;
            segment
        })
    }

    fn poll_handshake(&mut self, now: Time) -> Option<Segment> {
        if !std::mem::take(&mut self.handshake_due) {
            return None;
        }
        self.handshakes_sent += 1;
        self.timers.set(Timer::Handshake, now.plus_nanos(self.rules.timer(self.sender.rto())));
        let mut segment = self.segment(now, 0);
        segment.flags = Flags { syn: true, ack: self.state == State::SynReceived, ..Flags::default() };
        // The window of a SYN is not scaled (RFC 7323, section 2.2).
        segment.window = segment.window.min(u16::MAX.into());
        segment.repair = (self.handshakes_sent > 1).then_some(Repair::Handshake);
        Some(segment)
    }

    /// When [`Endpoint::handle_timeout`] is due; [`Time::NEVER`] if it is not.
    pub fn poll_timeout(&self) -> Time {
        self.timers.next().min(self.sender.deadline()).min(self.sender.pacing_deadline())
    }

    /// Writes `bytes` bytes, to be sent as soon as the windows let them. Only if
    /// [`Endpoint::may_write`].
    pub fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
        self.window_probe.is_suspected |= self.sender.is_blocked_by_snd_wnd();
    }

    /// The sequence number of the next byte that is written.
    pub fn written(&self) -> u64 {
        self.sender.app_end()
    }

    /// Closes the sending side: a FIN follows the last byte written.
    pub fn close(&mut self) {
        if self.state.is_synchronised() && !self.state.is_over() {
            self.sender.close();
        } else {
            self.timers = Timers::new();
            self.sender.stop();
        }
        self.state.on_close();
    }

    /// How many bytes the program should write now. The connection becomes writable when less than half of the
    /// profile's
    /// TCP_NOTSENT_LOWAT is unsent, and then up to all of it; with a real kernel only when nothing more may be sent
    /// now, so that the last segment of a write is often a short one.
    pub fn writable(&self) -> u64 {
        let (notsent, lowat) = (self.sender.app_notsent(), self.rules.constants.notsent_lowat);
        // Most expensive test last.
        let is_busy = || self.rules.writable_after_sending && self.sender.may_send_new();
        if !self.may_write() || notsent >= lowat / 2 || is_busy() || !self.sender.has_space() {
            return 0;
        }
        lowat - notsent
    }

    /// Whether the program may write: the connection is established and not closed from here.
    pub fn may_write(&self) -> bool {
        matches!(self.state, State::Established | State::CloseWait)
    }

    /// Reads up to `most` in-order bytes and returns how many. Unread bytes reduce the receive window. A read may
    /// require a window update, so call [`Endpoint::poll_segment`] afterwards.
    #[inline]
    pub fn read(&mut self, most: u64) -> u64 {
        self.receiver.read(most)
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// RCV.NXT; 0, the number of the other end's SYN, before that has come.
    #[inline]
    pub fn rcv_nxt(&self) -> u64 {
        self.receiver.rcv_nxt()
    }

    /// Whether the other end sends no more, all of it having arrived and been read.
    pub fn is_finished(&self) -> bool {
        self.receiver.is_finished() && self.receiver.is_read()
    }

    /// Retransmitted segments (with data or a FIN).
    pub fn retransmissions(&self) -> u64 {
        self.sender.retransmissions()
    }

    /// How often this end repaired losses.
    pub fn loss_recovery(&self) -> LossRecovery {
        self.sender.loss_recovery()
    }

    /// The congestion window in segments.
    pub fn cwnd(&self) -> u32 {
        self.sender.cwnd()
    }
}

#[cfg(test)]
mod tests;
