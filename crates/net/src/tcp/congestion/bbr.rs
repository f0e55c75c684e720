//! BBR, version 1, as Linux has it (`net/ipv4/tcp_bbr.c`); sections are those of
//! draft-cardwell-iccrg-bbr-congestion-control-00.
//!
//! It does not wait for losses: it keeps a model of the path, the recent maximum bandwidth and minimum RTT, sends
//! at that bandwidth and keeps about two BDP in flight. Both cannot be measured at the same time, so it probes
//! for one after the other:
//!
//! ```text
//!              the bandwidth has                  the queue that this
//!   Startup ── grown for the last time ──> Drain ── made is empty ──> ProbeBw ──┐
//!      ^                                                                ^       │ no smaller round trip
//!      └──────────────────────────── ProbeRtt <─────────────────────────┼───────┘ for ten seconds
//!                                        └──────────── after 200 ms ────┘
//! ```
//!
//! Linux draws the phase in which `ProbeBw` begins. Here it is always the middle one of the seven, so that a run
//! without losses is deterministic.

mod aggregation;
mod bandwidth;
mod controller;
mod lt_bw;
mod window;

use super::{CongestionState, CongestionWindow};
use crate::tcp::delivery::{Delivery, RateSample, between};
use aggregation::Aggregation;
use bandwidth::{Bandwidth, MaxFilter, UNIT};
use loadstone_units::Time;
use lt_bw::LtBw;

/// `bbr_high_gain`: doubles the rate each round, 2/ln 2 (section 4.3.2), in 256ths as all gains.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// `bbr_drain_gain`: drains the queue of Startup in one round.
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// `bbr_pacing_gain[]`: the gain cycle of `ProbeBw` (section 4.3.4): probe for more, drain that queue, cruise.
const PACING_GAIN: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The phase to begin in. Linux draws one of all but the second, so that the first is 0 to 6 phases away; here it
/// is 3 away.
const FIRST_PHASE: usize = 5;
/// `bbr_cwnd_gain`: cwnd in `ProbeBw`, in BDP.
const CWND_GAIN: u64 = 2 * UNIT;
/// `bbr_full_bw_thresh`: the bandwidth still grows if it has grown by a quarter.
const FULL_BW_THRESH: u64 = UNIT * 5 / 4;
/// `bbr_full_bw_cnt`: the pipe is full after this many rounds without such growth.
const FULL_BW_CNT: u32 = 3;
/// The window of the min_rtt filter, in ns (`bbr_min_rtt_win_sec`).
const MIN_RTT_WINDOW: u64 = 10_000_000_000;
/// The duration of `ProbeRtt`, in ns (`bbr_probe_rtt_mode_ms`).
const PROBE_RTT_DURATION: u64 = 200_000_000;
/// `bbr_cwnd_min_target`: the minimum of cwnd in segments (section 4.2.3.3).
const CWND_MIN_TARGET: u32 = 4;
/// The RTT before the first sample, in ns.
const NOMINAL_RTT: u64 = 1_000_000;

/// A model of the path, and the rate and the window that follow from it.
#[derive(Debug)]
pub(super) struct Bbr {
    /// Bytes of data in a full segment.
    mss: u32,
    mode: Mode,
    bandwidth: MaxFilter,
    round: Round,
    /// The minimum RTT in µs, once there is a sample.
    min_rtt_us: Option<u64>,
    /// When it was measured.
    min_rtt_stamp: Time,
    full_bw: FullBw,
    pacing_gain: u64,
    /// The pacing rate in bytes a second.
    pacing_rate: u64,
    /// cwnd before losses or `ProbeRtt` reduced it.
    prior_cwnd: u32,
    /// The congestion state at the last ACK.
    prev_ca_state: CongestionState,
    /// In the first round of recovery only as much is sent as is delivered.
    packet_conservation: bool,
    /// Sending restarted after an idle phase, and no segment sent since then is acknowledged.
    idle_restart: bool,
    aggregation: Aggregation,
    lt_bw: LtBw,
    delivery: Delivery,
}

/// BBR's mode (section 4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Doubles its rate each round.
    Startup,
    /// Drains the queue of Startup.
    Drain,
    /// Cycles through the pacing gains.
    ProbeBw { phase: usize, since: Time },
    /// cwnd is 4, to measure the RTT without a queue: until `done_stamp` (set when in flight <= 4) and for at least
    /// one round.
    ProbeRtt { done_stamp: Option<Time>, round_done: bool },
}

/// Packet-timed round trips (section 4.1.1.3).
#[derive(Debug, Default)]
struct Round {
    count: u64,
    /// The round ends when a segment sent at or after this delivered count is acknowledged.
    next_rtt_delivered: u64,
    /// A round began with this ACK.
    round_start: bool,
}

/// Estimates whether the pipe is full (section 4.3.2.2).
#[derive(Debug, Default)]
struct FullBw {
    bandwidth: Bandwidth,
    /// Rounds without significant growth beyond that.
    count: u32,
    reached: bool,
}

/// An ACK as BBR uses it (Linux's `rate_sample`).
#[derive(Clone, Copy, Debug)]
struct BbrSample {
    now: Time,
    /// The delivery rate sample, if it delivers anything.
    rate_sample: Option<RateSample>,
    /// The RTT sample in µs.
    rtt: Option<u64>,
    /// The ACK may have been delayed (`is_ack_delayed`).
    delayed: bool,
    /// Segments that it delivers.
    acked: u32,
    /// Transmissions newly marked lost.
    losses: u32,
    /// Segments ever delivered.
    delivered: u64,
    /// Transmissions ever marked lost.
    lost: u64,
    /// When the last segment was delivered.
    delivered_time: Time,
    /// Segments in flight before it.
    prior_in_flight: u32,
    /// Segments in flight after it.
    in_flight: u32,
    /// The earliest departure time of the next segment.
    next_send: Time,
    ca_state: CongestionState,
}

impl BbrSample {
    /// The rate sample, if it is valid.
    fn valid_rate_sample(&self) -> Option<RateSample> {
        self.rate_sample.filter(|rate| rate.interval_us > 0)
    }
}

impl Bbr {
    pub(super) fn new(mss: u32) -> Bbr {
        Bbr {
            mss,
            mode: Mode::Startup,
            bandwidth: MaxFilter::default(),
            round: Round::default(),
            min_rtt_us: None,
            min_rtt_stamp: Time::ZERO,
            full_bw: FullBw::default(),
            pacing_gain: HIGH_GAIN,
            pacing_rate: 0,
            prior_cwnd: 0,
            prev_ca_state: CongestionState::Open,
            packet_conservation: false,
            idle_restart: false,
            aggregation: Aggregation::default(),
            lt_bw: LtBw::default(),
            delivery: Delivery::new(),
        }
    }

    /// The connection is established, with SRTT (0 if there is none) and min_RTT in ns (section 4.3.1, `bbr_init`).
    fn init(&mut self, now: Time, window: &CongestionWindow, srtt: u64, min_rtt: u64) {
        let rtt = if srtt == 0 { NOMINAL_RTT } else { srtt };
        self.pacing_rate = Bandwidth::new(window.cwnd.into(), (rtt / 1000).max(1)).rate(self.mss, HIGH_GAIN);
        self.min_rtt_us = (min_rtt < u64::MAX).then_some(min_rtt / 1000);
        self.min_rtt_stamp = now;
        self.round.next_rtt_delivered = self.delivery.delivered();
        self.aggregation.restart(now);
    }

    /// Whether cwnd is at its minimum, so that rate samples do not show the bandwidth.
    fn is_probing_rtt(&self) -> bool {
        matches!(self.mode, Mode::ProbeRtt { .. })
    }

    /// Sending restarts with nothing in flight, after an application-limited phase (section 4.3.4.4).
    fn handle_tx_start(&mut self, now: Time, window: &mut CongestionWindow, delivered_time: Time) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.mode {
            // Restart at the estimated bandwidth, without a queue.
            Mode::ProbeBw { .. } => self.set_pacing_rate(UNIT),
            Mode::ProbeRtt { done_stamp, .. } => self.check_probe_rtt_done(now, done_stamp, window, delivered_time),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// An ACK (section 3.5.2).
    fn bbr_main(&mut self, window: &mut CongestionWindow, ack: &BbrSample) {
        self.update_bandwidth(ack);
        if ack.acked > 0 && ack.valid_rate_sample().is_some() {
            let bandwidth = self.bandwidth();
            self.aggregation.update(ack, bandwidth, window.cwnd, self.round.round_start);
        }
        if self.is_next_cycle_phase(ack) {
            self.advance_cycle_phase(ack.delivered_time);
        }
        self.check_full_bw_reached(ack);
        self.check_drain(window, ack);
        self.update_min_rtt(window, ack);
        let (pacing_gain, cwnd_gain) = self.gains();
        self.pacing_gain = pacing_gain;
        self.set_pacing_rate(pacing_gain);
        self.set_cwnd(window, ack, cwnd_gain);
    }

    /// The bandwidth estimate (`bbr_bw`).
    fn bandwidth(&self) -> Bandwidth {
        self.lt_bw.bandwidth().unwrap_or(self.bandwidth.get())
    }

    /// Section 4.1.1.5.
    fn update_bandwidth(&mut self, ack: &BbrSample) {
        self.round.round_start = false;
        let Some(sample) = ack.valid_rate_sample() else { return };
        if sample.prior_delivered >= self.round.next_rtt_delivered {
            self.round = Round { count: self.round.count + 1, next_rtt_delivered: ack.delivered, round_start: true };
            self.packet_conservation = false;
        }
        self.lt_bw_sampling(ack);
        let bandwidth = Bandwidth::new(sample.delivered, sample.interval_us);
        // An app-limited sample is only a lower bound of the bandwidth.
        if !sample.app_limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.update(self.round.count, bandwidth);
        }
    }

    fn lt_bw_sampling(&mut self, ack: &BbrSample) {
        if self.lt_bw.bandwidth().is_none() {
            self.lt_bw.update(ack, self.round.round_start, self.mss);
            if self.lt_bw.bandwidth().is_some() {
                self.pacing_gain = UNIT;
            }
        } else if let Mode::ProbeBw { .. } = self.mode
            && self.round.round_start
            && self.lt_bw.expire()
        {
            self.reset_probe_bw_mode(ack.delivered_time);
        }
    }

    /// Section 4.3.4.3.
    fn is_next_cycle_phase(&self, ack: &BbrSample) -> bool {
        let Mode::ProbeBw { since, .. } = self.mode else { return false };
        let is_full_length = self.min_rtt_us.is_some_and(|min_rtt| between(since, ack.delivered_time) > min_rtt);
        if self.pacing_gain == UNIT {
            return is_full_length;
        }
        let inflight = self.packets_in_net_at_edt(ack.prior_in_flight, ack);
        if self.pacing_gain > UNIT {
            // Until the target of this gain is in flight, unless the path drops packets.
            return is_full_length && (ack.losses > 0 || inflight >= self.inflight(self.pacing_gain));
        }
        is_full_length || inflight <= self.inflight(UNIT)
    }

    fn advance_cycle_phase(&mut self, at: Time) {
        if let Mode::ProbeBw { phase, since } = &mut self.mode {
            (*phase, *since) = ((*phase + 1) % PACING_GAIN.len(), at);
        }
    }

    fn reset_probe_bw_mode(&mut self, at: Time) {
        self.mode = Mode::ProbeBw { phase: FIRST_PHASE, since: at };
    }

    /// Section 4.3.2.2.
    fn check_full_bw_reached(&mut self, ack: &BbrSample) {
        let app_limited = ack.rate_sample.is_some_and(|rate| rate.app_limited);
        if self.full_bw.reached || !self.round.round_start || app_limited {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth >= self.full_bw.bandwidth.scaled_by(FULL_BW_THRESH) {
            self.full_bw = FullBw { bandwidth, ..FullBw::default() };
        } else {
            self.full_bw.count += 1;
            self.full_bw.reached = self.full_bw.count >= FULL_BW_CNT;
        }
    }

    /// Section 4.3.3.
    fn check_drain(&mut self, window: &mut CongestionWindow, ack: &BbrSample) {
        if self.mode == Mode::Startup && self.full_bw.reached {
            self.mode = Mode::Drain;
            window.ssthresh = self.inflight(UNIT);
        }
        if self.mode == Mode::Drain && self.packets_in_net_at_edt(ack.in_flight, ack) <= self.inflight(UNIT) {
            self.reset_probe_bw_mode(ack.delivered_time);
        }
    }

    /// Sections 4.1.2.3 and 4.3.5.
    fn update_min_rtt(&mut self, window: &mut CongestionWindow, ack: &BbrSample) {
        let expired = ack.now.nanos_since(self.min_rtt_stamp) > MIN_RTT_WINDOW;
        if let Some(rtt) = ack.rtt
            && (self.min_rtt_us.is_none_or(|min_rtt| rtt < min_rtt) || (expired && !ack.delayed))
        {
            (self.min_rtt_us, self.min_rtt_stamp) = (Some(rtt), ack.now);
        }
        if expired && !self.idle_restart && !self.is_probing_rtt() {
            self.mode = Mode::ProbeRtt { done_stamp: None, round_done: false };
            self.save_cwnd(window);
        }
        self.probe_rtt(window, ack);
        if ack.rate_sample.is_some() {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, window: &mut CongestionWindow, ack: &BbrSample) {
        let Mode::ProbeRtt { done_stamp, round_done } = &mut self.mode else { return };
        if done_stamp.is_some() {
            *round_done |= self.round.round_start;
            if *round_done {
                let done_stamp = *done_stamp;
                self.check_probe_rtt_done(ack.now, done_stamp, window, ack.delivered_time);
            }
        } else if ack.in_flight <= CWND_MIN_TARGET {
            (*done_stamp, *round_done) = (Some(ack.now.plus_nanos(PROBE_RTT_DURATION)), false);
            self.round.next_rtt_delivered = ack.delivered;
        }
    }

    /// Ends `ProbeRtt` if its time is over.
    fn check_probe_rtt_done(
        &mut self,
        now: Time,
        done_stamp: Option<Time>,
        window: &mut CongestionWindow,
        delivered_time: Time,
    ) {
        if done_stamp.is_none_or(|done_stamp| now <= done_stamp) {
            return;
        }
        self.min_rtt_stamp = now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.full_bw.reached {
            self.reset_probe_bw_mode(delivered_time);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// Pacing gain and cwnd gain.
    fn gains(&self) -> (u64, u64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw { .. } if self.lt_bw.bandwidth().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw { phase, .. } => (PACING_GAIN[phase], CWND_GAIN),
            Mode::ProbeRtt { .. } => (UNIT, UNIT),
        }
    }

    /// Section 4.2.1. Before the pipe is full the rate only grows.
    fn set_pacing_rate(&mut self, gain: u64) {
        let rate = self.bandwidth().rate(self.mss, gain);
        if self.full_bw.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }
}

#[cfg(test)]
mod tests;
