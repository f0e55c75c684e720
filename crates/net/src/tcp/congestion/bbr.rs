//! BBR, version 1, as Linux has it (`net/ipv4/tcp_bbr.c`); sections are those of
//! draft-cardwell-iccrg-bbr-congestion-control-00.
//!
//! It does not wait for losses: it keeps a model of the path, the largest bandwidth and the smallest round
//! trip of late, sends at that bandwidth and keeps about twice their product on its way. Since no moment
//! shows both, it probes for one after the other:
//!
//! ```text
//!              the bandwidth has                  the queue that this
//!   Startup ── grown for the last time ──> Drain ── made is empty ──> ProbeBw ──┐
//!      ^                                                                ^       │ no smaller round trip
//!      └──────────────────────────── ProbeRtt <─────────────────────────┼───────┘ for ten seconds
//!                                        └──────────── after 200 ms ────┘
//! ```
//!
//! Where the kernel draws in which phase of its cycle `ProbeBw` begins, this begins in the middle one of the
//! seven: without loss nothing of a run is left to chance.

mod aggregation;
mod bandwidth;
mod facts;
mod policer;
mod window;

use super::{CongestionState, CongestionWindow};
use crate::tcp::delivery::{Delivery, RateSample, between};
use aggregation::Aggregation;
use bandwidth::{Bandwidth, Largest, UNIT};
use loadstone_units::Time;
use policer::Policer;

/// Doubles the rate each round: 2/ln 2 (section 4.3.2), in 256ths as all gains.
const HIGH: u64 = UNIT * 2885 / 1000 + 1;
/// Drains in a round what that has queued.
const DRAIN: u64 = UNIT * 1000 / 2885;
/// The phases of a cycle of `ProbeBw` (section 4.3.4): more, to find out if there is; less, to drain that.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The phase to begin in. The kernel draws one of all but the second; then there are 0 to 6 phases to
/// the first one, and here 3.
const FIRST_PHASE: usize = 5;
/// What is allowed on its way in `ProbeBw`, of the product of bandwidth and round trip.
const ROOM: u64 = 2 * UNIT;
/// The bandwidth still grows if it has grown by a quarter in a round, and no more if it has not in three.
const GROWTH: u64 = UNIT * 5 / 4;
const ROUNDS_WITHOUT_GROWTH: u32 = 3;
/// For how long the smallest round trip is believed, in ns, and how long a smaller one is looked for.
const BELIEVED: u64 = 10_000_000_000;
const PROBING: u64 = 200_000_000;
/// The least window in segments (section 4.2.3.3).
const LEAST_WINDOW: u32 = 4;
/// The round trip before one is known, in ns.
const NOMINAL_RTT: u64 = 1_000_000;

/// A model of the path, and the rate and the window that follow from it.
#[derive(Debug)]
pub(super) struct Bbr {
    /// Bytes of data in a full segment.
    mss: u32,
    mode: Mode,
    bandwidth: Largest,
    round: Round,
    /// The smallest round trip in µs, if there is one, and when it was measured.
    least_rtt: Option<u64>,
    least_at: Time,
    pipe: PipeState,
    pacing_gain: u64,
    /// The rate at which segments are to leave, in bytes a second.
    rate: u64,
    /// The window before losses or `ProbeRtt` made it smaller.
    prior: u32,
    /// Where the repair of losses stood at the last acknowledgement.
    repair: CongestionState,
    /// For a round after a loss only as much is sent as is delivered.
    conserving: bool,
    /// There was nothing to send, and nothing sent since then is acknowledged.
    restarting: bool,
    aggregation: Aggregation,
    policer: Policer,
    delivery: Delivery,
}

/// What it is about (section 4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Doubles its rate each round.
    Startup,
    /// Lets the queue drain that this has made.
    Drain,
    /// Goes round the cycle of gains.
    ProbeBw { phase: usize, since: Time },
    /// Sends next to nothing, to see the round trip without a queue: until then, once it is down to that,
    /// and for a round.
    ProbeRtt { until: Option<Time>, round_over: bool },
}

/// Rounds, counted by what is delivered (section 4.1.1.3).
#[derive(Debug, Default)]
struct Round {
    count: u64,
    /// It ends when something is delivered that was sent after so many segments had been.
    until: u64,
    /// It began with this acknowledgement.
    begun: bool,
}

/// Whether the pipe is full (section 4.3.2.2).
#[derive(Debug, Default)]
struct PipeState {
    bandwidth: Bandwidth,
    /// Rounds since that was reached.
    rounds: u32,
    full: bool,
}

/// What an acknowledgement says of the path.
#[derive(Clone, Copy, Debug)]
struct Reading {
    now: Time,
    /// The rate of delivery, if it delivers anything.
    rate: Option<RateSample>,
    /// The round trip of what it acknowledges, in µs, and whether it may have been delayed.
    rtt: Option<u64>,
    delayed: bool,
    /// Segments that it delivers, and that count as lost with it.
    acked: u32,
    losses: u32,
    /// Segments delivered and lost in all, and when the last was delivered.
    delivered: u64,
    lost: u64,
    delivered_at: Time,
    /// Segments on their way, before and after it.
    prior_in_flight: u32,
    in_flight: u32,
    /// When the next segment may leave.
    next_send: Time,
    repair: CongestionState,
}

impl Reading {
    /// The rate, if it is believed.
    fn sample(&self) -> Option<RateSample> {
        self.rate.filter(|rate| rate.micros > 0)
    }
}

impl Bbr {
    pub(super) fn new(mss: u32) -> Bbr {
        Bbr {
            mss,
            mode: Mode::Startup,
            bandwidth: Largest::default(),
            round: Round::default(),
            least_rtt: None,
            least_at: Time::ZERO,
            pipe: PipeState::default(),
            pacing_gain: HIGH,
            rate: 0,
            prior: 0,
            repair: CongestionState::Open,
            conserving: false,
            restarting: false,
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            delivery: Delivery::new(),
        }
    }

    /// The connection is established. Round trips in ns: the smoothed one, 0 if there is none, and the
    /// smallest (section 4.3.1, `bbr_init`).
    fn begin(&mut self, now: Time, window: &CongestionWindow, smoothed: u64, least: u64) {
        let rtt = if smoothed == 0 { NOMINAL_RTT } else { smoothed };
        self.rate = Bandwidth::new(window.cwnd.into(), (rtt / 1000).max(1)).rate(self.mss, HIGH);
        self.least_rtt = (least < u64::MAX).then_some(least / 1000);
        self.least_at = now;
        self.round.until = self.delivery.delivered();
        self.aggregation.restart(now);
    }

    /// Whether it sends next to nothing, so that what is delivered says nothing of the bandwidth.
    fn is_probing_rtt(&self) -> bool {
        matches!(self.mode, Mode::ProbeRtt { .. })
    }

    /// Something is sent where nothing was on its way, since there was nothing to send (section 4.3.4.4).
    fn restart(&mut self, now: Time, window: &mut CongestionWindow, delivered_at: Time) {
        self.restarting = true;
        self.aggregation.restart(now);
        match self.mode {
            // No more speed is needed, so no queue is made.
            Mode::ProbeBw { .. } => self.set_rate(UNIT),
            Mode::ProbeRtt { until, .. } => self.end_probing(now, until, window, delivered_at),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// An acknowledgement (section 3.5.2, `bbr_main`).
    fn follow(&mut self, window: &mut CongestionWindow, ack: &Reading) {
        self.update_bandwidth(ack);
        if ack.acked > 0 && ack.sample().is_some() {
            let bandwidth = self.bandwidth();
            self.aggregation.update(ack, bandwidth, window.cwnd, self.round.begun);
        }
        if self.is_phase_over(ack) {
            self.next_phase(ack.delivered_at);
        }
        self.check_pipe(ack);
        self.check_drain(window, ack);
        self.update_least_rtt(window, ack);
        let (pacing, room) = self.gains();
        self.pacing_gain = pacing;
        self.set_rate(pacing);
        self.set_window(window, ack, room);
    }

    /// The bandwidth that it goes by.
    fn bandwidth(&self) -> Bandwidth {
        self.policer.bandwidth().unwrap_or(self.bandwidth.get())
    }

    /// Section 4.1.1.5.
    fn update_bandwidth(&mut self, ack: &Reading) {
        self.round.begun = false;
        let Some(sample) = ack.sample() else { return };
        if sample.prior >= self.round.until {
            self.round = Round { count: self.round.count + 1, until: ack.delivered, begun: true };
            self.conserving = false;
        }
        self.look_for_a_policer(ack);
        let bandwidth = Bandwidth::new(sample.delivered, sample.micros);
        // A program that sends little says nothing of the bandwidth, but that there is at least so much.
        if !sample.app_limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.update(self.round.count, bandwidth);
        }
    }

    fn look_for_a_policer(&mut self, ack: &Reading) {
        if self.policer.bandwidth().is_none() {
            self.policer.update(ack, self.round.begun, self.mss);
            if self.policer.bandwidth().is_some() {
                self.pacing_gain = UNIT;
            }
        } else if let Mode::ProbeBw { .. } = self.mode
            && self.round.begun
            && self.policer.end_belief()
        {
            self.probe_bandwidth(ack.delivered_at);
        }
    }

    /// Section 4.3.4.3.
    fn is_phase_over(&self, ack: &Reading) -> bool {
        let Mode::ProbeBw { since, .. } = self.mode else { return false };
        let is_long = self.least_rtt.is_some_and(|least| between(since, ack.delivered_at) > least);
        if self.pacing_gain == UNIT {
            return is_long;
        }
        let in_net = self.in_net(ack.prior_in_flight, ack);
        if self.pacing_gain > UNIT {
            // Until as much is on its way as is tried, unless the path does not hold it.
            return is_long && (ack.losses > 0 || in_net >= self.in_flight_by(self.pacing_gain));
        }
        is_long || in_net <= self.in_flight_by(UNIT)
    }

    fn next_phase(&mut self, at: Time) {
        if let Mode::ProbeBw { phase, since } = &mut self.mode {
            (*phase, *since) = ((*phase + 1) % CYCLE.len(), at);
        }
    }

    fn probe_bandwidth(&mut self, at: Time) {
        self.mode = Mode::ProbeBw { phase: FIRST_PHASE, since: at };
    }

    /// Section 4.3.2.2.
    fn check_pipe(&mut self, ack: &Reading) {
        let app_limited = ack.rate.is_some_and(|rate| rate.app_limited);
        if self.pipe.full || !self.round.begun || app_limited {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth >= self.pipe.bandwidth.by(GROWTH) {
            self.pipe = PipeState { bandwidth, ..PipeState::default() };
        } else {
            self.pipe.rounds += 1;
            self.pipe.full = self.pipe.rounds >= ROUNDS_WITHOUT_GROWTH;
        }
    }

    /// Section 4.3.3.
    fn check_drain(&mut self, window: &mut CongestionWindow, ack: &Reading) {
        if self.mode == Mode::Startup && self.pipe.full {
            self.mode = Mode::Drain;
            window.ssthresh = self.in_flight_by(UNIT);
        }
        if self.mode == Mode::Drain && self.in_net(ack.in_flight, ack) <= self.in_flight_by(UNIT) {
            self.probe_bandwidth(ack.delivered_at);
        }
    }

    /// Sections 4.1.2.3 and 4.3.5.
    fn update_least_rtt(&mut self, window: &mut CongestionWindow, ack: &Reading) {
        let expired = ack.now.nanos_since(self.least_at) > BELIEVED;
        if let Some(rtt) = ack.rtt
            && (self.least_rtt.is_none_or(|least| rtt < least) || (expired && !ack.delayed))
        {
            (self.least_rtt, self.least_at) = (Some(rtt), ack.now);
        }
        if expired && !self.restarting && !self.is_probing_rtt() {
            self.mode = Mode::ProbeRtt { until: None, round_over: false };
            self.save(window);
        }
        self.probe_rtt(window, ack);
        if ack.rate.is_some() {
            self.restarting = false;
        }
    }

    fn probe_rtt(&mut self, window: &mut CongestionWindow, ack: &Reading) {
        let Mode::ProbeRtt { until, round_over } = &mut self.mode else { return };
        if until.is_some() {
            *round_over |= self.round.begun;
            if *round_over {
                let until = *until;
                self.end_probing(ack.now, until, window, ack.delivered_at);
            }
        } else if ack.in_flight <= LEAST_WINDOW {
            (*until, *round_over) = (Some(ack.now.plus_nanos(PROBING)), false);
            self.round.until = ack.delivered;
        }
    }

    /// Ends `ProbeRtt` if its time is over (`bbr_check_probe_rtt_done`).
    fn end_probing(&mut self, now: Time, until: Option<Time>, window: &mut CongestionWindow, delivered_at: Time) {
        if until.is_none_or(|until| now <= until) {
            return;
        }
        self.least_at = now;
        window.cwnd = window.cwnd.max(self.prior);
        if self.pipe.full {
            self.probe_bandwidth(delivered_at);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// The gains of rate and window.
    fn gains(&self) -> (u64, u64) {
        match self.mode {
            Mode::Startup => (HIGH, HIGH),
            Mode::Drain => (DRAIN, HIGH),
            Mode::ProbeBw { .. } if self.policer.bandwidth().is_some() => (UNIT, ROOM),
            Mode::ProbeBw { phase, .. } => (CYCLE[phase], ROOM),
            Mode::ProbeRtt { .. } => (UNIT, UNIT),
        }
    }

    /// Section 4.2.1. Before the pipe is full the rate only grows.
    fn set_rate(&mut self, gain: u64) {
        let rate = self.bandwidth().rate(self.mss, gain);
        if self.pipe.full || rate > self.rate {
            self.rate = rate;
        }
    }
}

#[cfg(test)]
mod tests;
