//! CUBIC as Linux has it (`net/ipv4/tcp_cubic.c`), with HyStart.
//!
//! It is RFC 9438 in integers, on a clock of ticks, with the minimum RTT in place of SRTT, and with at most one
//! segment of growth for two acknowledged.

use super::cubic::cube_root;
use super::{AckedSegments, CongestionWindow, Controller, RttSample};
use crate::tcp::rules::TICK;
use loadstone_units::Time;

/// The factor of a multiplicative decrease, in 1/1024.
const BETA: u64 = 717;
/// C = 0.4, in 1/1024 (`bic_scale`).
const BIC_SCALE: u64 = 410;
/// Of the Reno-friendly region: 8 (1024 + beta) / 3 / (1024 - beta) (`beta_scale`).
const BETA_SCALE: u64 = 8 * (1024 + BETA) / 3 / (1024 - BETA);
/// The curve's unit of time: 1024 to a second.
const BICTCP_HZ: u64 = 1024;
/// The smallest cwnd at which HyStart acts, in segments (`hystart_low_window`).
const HYSTART_LOW_WINDOW: u32 = 16;
/// Acknowledgements this close together are of one train, in ns (`hystart_ack_delta_us`).
const HYSTART_ACK_DELTA: u64 = 2_000_000;
/// What is added to the minimum RTT, half of which bounds the length of an ACK train, in ns (`hystart_ack_delay`).
const HYSTART_ACK_DELAY: u64 = 1_000_000;
/// RTT samples of a round before its delay counts (`HYSTART_MIN_SAMPLES`).
const HYSTART_MIN_SAMPLES: u32 = 8;
/// RTT samples are discarded for this long after a growth epoch begins, in ns (`cubictcp_acked`).
const DISCARD_AFTER_RECOVERY: u64 = 1_000_000_000;

#[derive(Debug)]
pub(super) struct Cubic {
    /// cwnd before the last loss.
    last_max_cwnd: u32,
    /// cwnd at the last update.
    last_cwnd: u32,
    /// The time of the last update, in ticks.
    last_time: u64,
    /// The plateau of the curve (`bic_origin_point`).
    origin_point: u32,
    /// When the curve reaches `origin_point`, in units.
    k: u64,
    /// The minimum RTT, in ns.
    delay_min: u64,
    epoch: Option<Epoch>,
    /// Segments acknowledged towards the growth of `tcp_cwnd`.
    ack_cnt: u32,
    /// The estimated cwnd of Reno.
    tcp_cwnd: u32,
    /// Acknowledged segments for one segment of growth.
    cnt: u32,
    hystart: Option<HyStart>,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// In ticks.
    start: u64,
    at: Time,
}

/// HyStart leaves slow start before the queue overflows: when the ACK train of a round is half as long as the RTT,
/// or when the RTT grows.
#[derive(Debug)]
struct HyStart {
    found: bool,
    /// When this round began.
    round_start: Time,
    /// When the last ACK of the train came.
    last_ack: Time,
    /// The round ends when this number is acknowledged.
    end_seq: u64,
    /// The minimum RTT of this round, in ns.
    curr_rtt: u64,
    sample_cnt: u32,
}

impl Cubic {
    pub(super) fn new(hystart: bool) -> Cubic {
        let hystart = hystart.then(|| HyStart::new(Time::ZERO, 0));
        Cubic {
            last_max_cwnd: 0,
            last_cwnd: 0,
            last_time: 0,
            origin_point: 0,
            k: 0,
            delay_min: u64::MAX,
            epoch: None,
            ack_cnt: 0,
            tcp_cwnd: 0,
            cnt: 0,
            hystart,
        }
    }

    /// Updates `cnt` (`bictcp_update`).
    fn update(&mut self, cwnd: u32, acked: u32, now: Time) {
        self.ack_cnt += acked;
        let now_ticks = ticks(now);
        let soon = (now_ticks - self.last_time) * TICK <= 1_000_000_000 / 32;
        if self.last_cwnd == cwnd && soon && self.cnt > 0 {
            return;
        }
        if self.epoch.is_none() || now_ticks != self.last_time {
            (self.last_cwnd, self.last_time) = (cwnd, now_ticks);
            self.follow_the_curve(cwnd, acked, now);
        }
        self.tcp_friendliness(cwnd);
        self.cnt = self.cnt.max(2);
    }

    fn follow_the_curve(&mut self, cwnd: u32, acked: u32, now: Time) {
        let now_ticks = ticks(now);
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => {
                (self.ack_cnt, self.tcp_cwnd) = (acked, cwnd);
                self.origin_point = self.last_max_cwnd.max(cwnd);
                let below = u64::from(self.origin_point - cwnd);
                self.k = if below == 0 { 0 } else { cube_root((1 << 40) / BIC_SCALE * below) };
                let epoch = Epoch { start: now_ticks, at: now };
                self.epoch = Some(epoch);
                epoch
            }
        };
        let delay_min = if self.delay_min == u64::MAX { 0 } else { self.delay_min.div_ceil(TICK) };
        let since = units(now_ticks.saturating_sub(epoch.start) + delay_min);
        let off = since.abs_diff(self.k);
        let delta = ((u128::from(BIC_SCALE) * u128::from(off).pow(3)) >> 40) as u32;
        let target = if since < self.k { self.origin_point.saturating_sub(delta) } else { self.origin_point + delta };
        self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max_cwnd == 0 {
            // No loss yet: at least 5 % growth per RTT.
            self.cnt = self.cnt.min(20);
        }
    }

    /// Not slower than Reno would be (RFC 9438, section 4.3).
    fn tcp_friendliness(&mut self, cwnd: u32) {
        let each = ((u64::from(cwnd) * BETA_SCALE) >> 3) as u32;
        // Only what goes beyond it makes a segment.
        if let Some(more) = self.ack_cnt.saturating_sub(1).checked_div(each) {
            self.tcp_cwnd += more;
            self.ack_cnt -= more * each;
        }
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
    }
}

impl Controller for Cubic {
    fn ssthresh(&mut self, window: &CongestionWindow, _: u32) -> u32 {
        let cwnd = u64::from(window.cwnd);
        self.epoch = None;
        // Fast convergence (RFC 9438, section 4.7).
        let converging = window.cwnd < self.last_max_cwnd;
        self.last_max_cwnd = if converging { (cwnd * (1024 + BETA) / 2048) as u32 } else { window.cwnd };
        ((cwnd * BETA / 1024) as u32).max(2)
    }

    fn cong_avoid(&mut self, window: &mut CongestionWindow, growth: AckedSegments) {
        let mut acked = growth.segments;
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        self.update(window.cwnd, acked, growth.now);
        window.cong_avoid_ai(self.cnt, acked);
    }

    fn on_rtt_sample(&mut self, window: &mut CongestionWindow, sample: RttSample) {
        if self.epoch.is_some_and(|epoch| sample.now.nanos_since(epoch.at) < DISCARD_AFTER_RECOVERY) {
            return;
        }
        self.delay_min = self.delay_min.min(sample.rtt.max(1));
        if let Some(hystart) = &mut self.hystart
            && !hystart.found
            && window.in_slow_start()
        {
            hystart.update(window, sample, self.delay_min);
        }
    }

    fn on_timeout(&mut self, sample: RttSample) {
        let hystart = self.hystart.is_some().then(|| HyStart::new(sample.now, sample.nxt));
        *self = Cubic { hystart, ..Cubic::new(false) };
    }

    fn on_tx_start(&mut self, now: Time, nanos: u64) {
        // The epoch may have begun within the pause, by the acknowledgement of what was sent before.
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + nanos / TICK).min(ticks(now));
            epoch.at = epoch.at.plus_nanos(nanos).min(now);
        }
    }
}

impl HyStart {
    fn new(now: Time, nxt: u64) -> HyStart {
        HyStart { found: false, round_start: now, last_ack: now, end_seq: nxt, curr_rtt: u64::MAX, sample_cnt: 0 }
    }

    fn update(&mut self, window: &mut CongestionWindow, sample: RttSample, delay_min: u64) {
        let RttSample { now, rtt, una, nxt } = sample;
        if una > self.end_seq {
            *self = HyStart { sample_cnt: 0, ..HyStart::new(now, nxt) };
        }
        if window.cwnd < HYSTART_LOW_WINDOW {
            return;
        }
        if now.nanos_since(self.last_ack) <= HYSTART_ACK_DELTA {
            self.last_ack = now;
            if now.nanos_since(self.round_start) > (delay_min + HYSTART_ACK_DELAY) / 2 {
                self.leave(window);
            }
        }
        self.curr_rtt = self.curr_rtt.min(rtt);
        if self.sample_cnt < HYSTART_MIN_SAMPLES {
            self.sample_cnt += 1;
        } else if self.curr_rtt > delay_min + (delay_min / 8).clamp(4_000_000, 16_000_000) {
            self.leave(window);
        }
    }

    fn leave(&mut self, window: &mut CongestionWindow) {
        self.found = true;
        window.ssthresh = window.cwnd;
    }
}

/// The kernel's clock.
fn ticks(time: Time) -> u64 {
    time.as_nanos() / TICK
}

/// Ticks in the curve's units.
fn units(ticks: u64) -> u64 {
    ticks * TICK / 1000 * BICTCP_HZ / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Acknowledgements of 100 segments at these times, in ms.
    fn grow(cubic: &mut Cubic, window: &mut CongestionWindow, times: impl IntoIterator<Item = u64>) {
        for time in times {
            cubic.cong_avoid(window, AckedSegments { now: at(time), segments: 100, rtt: 100_000_000 });
        }
    }

    /// The window was 1000 segments.
    fn after_a_loss() -> (Cubic, CongestionWindow) {
        let (mut cubic, mut window) = (Cubic::new(false), CongestionWindow::new(1000));
        window.ssthresh = cubic.ssthresh(&window, 1000);
        window.cwnd = window.ssthresh;
        (cubic, window)
    }

    #[test]
    fn renos_window_grows_when_more_is_acknowledged_than_a_segment_of_growth_takes() {
        // 15 / 8 of the window: 18 for one of 10.
        for (acked, reno, left) in [(18, 10, 18), (19, 11, 1), (36, 11, 18), (37, 12, 1)] {
            let mut cubic = Cubic { ack_cnt: acked, tcp_cwnd: 10, ..Cubic::new(false) };
            cubic.tcp_friendliness(10);
            assert_eq!((cubic.tcp_cwnd, cubic.ack_cnt), (reno, left), "{acked}");
        }
    }

    #[test]
    fn below_the_curve_a_segment_of_growth_takes_the_windows_share_of_the_gap_rfc9438_4_4() {
        let (mut cubic, _) = after_a_loss();
        cubic.follow_the_curve(700, 0, at(0));
        cubic.follow_the_curve(700, 0, at(2_000));
        // K = cbrt(300 / 0.4) = 9.1 s, so two seconds after the loss the curve is at 1000 - 0.4 * 7.1^3 = 857.
        assert_eq!(cubic.cnt, 700 / 157);
    }

    #[test]
    fn a_curve_that_begins_within_a_pause_begins_at_its_end_at_the_latest() {
        // Sent at 0, acknowledged at 100, and nothing more to send until 1000.
        let (mut cubic, mut window) = after_a_loss();
        grow(&mut cubic, &mut window, [100]);
        cubic.on_tx_start(at(1000), 1_000_000_000);
        grow(&mut cubic, &mut window, (1000..3000).step_by(100));
        let (mut fresh, mut expected) = after_a_loss();
        grow(&mut fresh, &mut expected, [1000]);
        grow(&mut fresh, &mut expected, (1000..3000).step_by(100));
        assert_eq!(window, expected);
    }
}
