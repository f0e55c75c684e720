//! CUBIC's window (RFC 9438).
//!
//! Arithmetic is in `f64` with additions, multiplications and divisions only, which IEEE 754
//! defines to the last bit; the cube root is an integer one. So a run gives the same bits on every
//! machine.

use super::{AckedSegments, CongestionWindow, Controller, RttSample};
use loadstone_units::Time;

/// RFC 9438, section 5: the aggressiveness in segments per cubic second.
const C: f64 = 0.4;
/// RFC 9438, section 4.6: the multiplicative decrease factor.
const BETA: f64 = 0.7;
/// RFC 9438, section 4.3: the growth that makes the Reno-friendly window as fast as Reno.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// All windows in segments.
#[derive(Debug)]
pub(super) struct Cubic {
    /// The window with its fraction.
    cwnd: f64,
    /// The window before the last reduction (with fast convergence, a little less).
    w_max: f64,
    /// The window just before the last reduction.
    cwnd_prior: f64,
    /// The stage of congestion avoidance since the last reduction, once it has begun.
    epoch: Option<Epoch>,
}

#[derive(Debug)]
struct Epoch {
    start: Time,
    /// The time in seconds that the cubic curve takes to reach `w_max`.
    k: f64,
    /// What the window would be with Reno.
    w_est: f64,
}

impl Cubic {
    pub(super) fn new(initial: u32) -> Cubic {
        Cubic { cwnd: f64::from(initial), w_max: 0.0, cwnd_prior: 0.0, epoch: None }
    }

    fn begin_epoch(&mut self, now: Time) -> Epoch {
        // Figure 2: K = cbrt((W_max - cwnd_epoch) / C); zero where the window is already above.
        self.w_max = self.w_max.max(self.cwnd);
        let k_millis = cube_root(((self.w_max - self.cwnd) / C * 1e9) as u64);
        Epoch { start: now, k: k_millis as f64 / 1e3, w_est: self.cwnd }
    }

    /// Congestion avoidance: the window after `acked` more segments.
    fn avoid(&mut self, acked: f64, now: Time, rtt: u64) -> f64 {
        let mut epoch = match self.epoch.take() {
            Some(epoch) => epoch,
            None => self.begin_epoch(now),
        };
        // Figure 1: W_cubic(t) = C * (t - K)^3 + W_max
        let since = now.nanos_since(epoch.start) as f64 * 1e-9;
        let (k, w_max) = (epoch.k, self.w_max);
        let w_cubic = |t: f64| C * (t - k) * (t - k) * (t - k) + w_max;
        // Figure 4: W_est = W_est + alpha * (segments_acked / cwnd); alpha is 1 from cwnd_prior on.
        let alpha = if epoch.w_est >= self.cwnd_prior { 1.0 } else { ALPHA };
        epoch.w_est += alpha * acked / self.cwnd;
        // Section 4.2: the target is the curve one round trip on, within [cwnd, 1.5 * cwnd].
        let target = w_cubic(since + rtt as f64 * 1e-9).clamp(self.cwnd, 1.5 * self.cwnd);
        let w_est = epoch.w_est;
        self.epoch = Some(epoch);
        if w_cubic(since) < w_est {
            // Section 4.3: the Reno-friendly region.
            self.cwnd.max(w_est)
        } else {
            // Sections 4.4 and 4.5: concave and convex region.
            self.cwnd + (target - self.cwnd) / self.cwnd * acked
        }
    }
}

impl Controller for Cubic {
    /// Section 4.6, multiplicative decrease, and 4.7, fast convergence.
    fn ssthresh(&mut self, window: &CongestionWindow, flight: u32) -> u32 {
        self.sync_cwnd(window);
        let converging = self.cwnd < self.w_max;
        self.cwnd_prior = self.cwnd;
        self.w_max = if converging { self.cwnd * (1.0 + BETA) / 2.0 } else { self.cwnd };
        self.epoch = None;
        ((f64::from(flight) * BETA) as u32).max(2)
    }

    fn cong_avoid(&mut self, window: &mut CongestionWindow, growth: AckedSegments) {
        let mut acked = growth.segments;
        if window.in_slow_start() {
            acked = window.slow_start(acked);
        }
        self.sync_cwnd(window);
        if acked > 0 {
            self.cwnd = self.avoid(f64::from(acked), growth.now, growth.rtt);
            // Up to a millionth of a segment below a whole number is that number.
            window.cwnd = (self.cwnd + 1e-6) as u32;
        }
    }

    fn on_timeout(&mut self, _: RttSample) {
        self.epoch = None;
        // Section 4.8: in the first congestion avoidance after a timeout K is 0 and W_max is the
        // window at its beginning.
        self.w_max = 0.0;
    }

    fn on_tx_start(&mut self, now: Time, nanos: u64) {
        // Section 4.2: time in which there was nothing to send does not count. The epoch may have begun
        // within it, by the acknowledgement of what was sent before.
        if let Some(epoch) = &mut self.epoch {
            epoch.start = epoch.start.plus_nanos(nanos).min(now);
        }
    }
}

impl Cubic {
    /// Takes over cwnd if the sender has changed it.
    fn sync_cwnd(&mut self, window: &CongestionWindow) {
        if (self.cwnd + 1e-6) as u32 != window.cwnd {
            self.cwnd = f64::from(window.cwnd);
        }
    }
}

/// The largest whole number whose cube is at most `n`.
pub(super) fn cube_root(n: u64) -> u64 {
    let mut root = 0_u64;
    for bit in (0..22).rev() {
        let candidate = root | 1 << bit;
        if candidate.checked_pow(3).is_some_and(|cube| cube <= n) {
            root = candidate;
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: u64 = 100_000_000;

    /// A controller whose window is `cwnd`.
    fn cubic(cwnd: u32) -> (Cubic, CongestionWindow) {
        (Cubic::new(cwnd), CongestionWindow::new(cwnd))
    }

    /// A loss, the flight having filled the window.
    fn lose(cubic: &mut Cubic, window: &mut CongestionWindow) {
        window.ssthresh = cubic.ssthresh(window, window.cwnd);
        window.cwnd = window.ssthresh;
    }

    /// The window in segments at the end of each round, all of it being acknowledged each round.
    fn rounds(cubic: &mut Cubic, window: &mut CongestionWindow, from: Time, count: usize) -> Vec<u32> {
        let mut now = from;
        let mut round = || {
            now = now.plus_nanos(RTT);
            for _ in 0..window.cwnd {
                cubic.cong_avoid(window, AckedSegments { now, segments: 1, rtt: RTT });
            }
            window.cwnd
        };
        (0..count).map(|_| round()).collect()
    }

    #[test]
    fn the_cube_root_is_exact() {
        for n in [0, 1, 7, 8, 26, 27, 1_000_000_000, u64::MAX] {
            let root = cube_root(n);
            assert!(root.pow(3) <= n && (root + 1).checked_pow(3).is_none_or(|cube| cube > n), "{n}");
        }
    }

    #[test]
    fn slow_start_doubles() {
        let (mut cubic, mut window) = cubic(10);
        assert_eq!(rounds(&mut cubic, &mut window, Time::ZERO, 3), [20, 40, 80]);
    }

    #[test]
    fn after_a_loss_the_window_returns_to_w_max_in_k_seconds_rfc9438_4_2() {
        let (mut cubic, mut window) = cubic(1000);
        lose(&mut cubic, &mut window);
        assert_eq!(window.cwnd, 700);
        // K = cbrt(300 / 0.4) = 9.09 s = 91 rounds; the window is then at W_max, and flat there.
        let curve = rounds(&mut cubic, &mut window, Time::ZERO, 92);
        assert!((985..=1003).contains(&curve[90]), "{curve:?}");
        assert!(curve[90] - curve[80] < 10, "flat around W_max");
        assert!(curve[10] - curve[0] > 50, "steep after the loss");
        // Each of a round's acknowledgements takes 1/cwnd of what is left to the curve one round on: together 1 - 1/e.
        // After ten rounds that is the curve at 1.1 s, 1000 - 0.4 * (9.09 - 1.1)^3 = 796.
        let expected = f64::from(curve[9]) + 0.632 * (796.0 - f64::from(curve[9]));
        assert!((f64::from(curve[10]) - expected).abs() < 1.5, "{curve:?}");
        assert!(curve.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn on_small_windows_it_is_no_slower_than_reno_rfc9438_4_3() {
        let (mut cubic, mut window) = cubic(20);
        lose(&mut cubic, &mut window);
        // Reno-friendly: 0.53 segments a round from 14 on reach 20 in about 12 rounds; by the cubic
        // curve alone K = cbrt(6 / 0.4) = 2.5 s = 25 rounds would be needed.
        let curve = rounds(&mut cubic, &mut window, Time::ZERO, 14);
        assert!(curve[13] >= 20, "{curve:?}");
    }

    #[test]
    fn fast_convergence_gives_way_to_newcomers_rfc9438_4_7() {
        let (mut cubic, mut window) = cubic(100);
        lose(&mut cubic, &mut window);
        lose(&mut cubic, &mut window);
        assert_eq!(cubic.w_max, 70.0 * 0.85);
    }

    #[test]
    fn after_a_timeout_the_curve_starts_where_slow_start_ends_rfc9438_4_8() {
        let (mut cubic, mut window) = cubic(1000);
        window.ssthresh = cubic.ssthresh(&window, 1000);
        cubic.on_timeout(RttSample { now: Time::ZERO, rtt: 0, una: 1, nxt: 1 });
        window.cwnd = 1;
        let mut now = Time::ZERO;
        while window.in_slow_start() {
            now = now.plus_nanos(RTT);
            let segments = window.cwnd;
            cubic.cong_avoid(&mut window, AckedSegments { now, segments, rtt: RTT });
        }
        // With W_max = 700 and K = 0 the curve is flat at its beginning, not steep towards 1000:
        // 0.4 * 0.6^3 = 0.1 segments in six rounds; the Reno-friendly window adds half a segment each.
        let curve = rounds(&mut cubic, &mut window, now, 5);
        assert!(curve[4] <= 705, "{curve:?}");
    }

    #[test]
    fn a_pause_is_no_time_to_grow_rfc9438_4_2() {
        let after = |pause: u64| {
            let (mut cubic, mut window) = cubic(1000);
            lose(&mut cubic, &mut window);
            rounds(&mut cubic, &mut window, Time::ZERO, 10);
            let resumed = Time::from_nanos(10 * RTT).plus_nanos(pause);
            cubic.on_tx_start(resumed, pause);
            rounds(&mut cubic, &mut window, resumed, 10)
        };
        assert_eq!(after(0), after(900_000_000));
    }
}
