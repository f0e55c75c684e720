//! NewReno's window (RFC 5681).

use super::{AckedSegments, CongestionWindow, Controller};

#[derive(Debug)]
pub(super) struct Reno {
    /// Whether ssthresh follows from FlightSize (RFC 5681, equation (4)), or from cwnd, as in Linux.
    from_flight_size: bool,
}

impl Reno {
    pub(super) fn new(from_flight_size: bool) -> Reno {
        Reno { from_flight_size }
    }
}

impl Controller for Reno {
    fn ssthresh(&mut self, window: &CongestionWindow, flight: u32) -> u32 {
        // RFC 5681, equation (4): ssthresh = max (FlightSize / 2, 2*SMSS)
        let in_flight = if self.from_flight_size { flight } else { window.cwnd };
        (in_flight / 2).max(2)
    }

    fn cong_avoid(&mut self, window: &mut CongestionWindow, growth: AckedSegments) {
        let left = if window.in_slow_start() { window.slow_start(growth.segments) } else { growth.segments };
        if left > 0 {
            window.cong_avoid_ai(window.cwnd, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_units::Time;

    fn acked(segments: u32) -> AckedSegments {
        AckedSegments { now: Time::ZERO, segments, rtt: 100_000_000 }
    }

    #[test]
    fn slow_start_grows_by_what_is_acknowledged() {
        let (mut reno, mut window) = (Reno::new(true), CongestionWindow::new(10));
        reno.cong_avoid(&mut window, acked(2));
        reno.cong_avoid(&mut window, acked(1));
        assert_eq!(window.cwnd, 13);
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_a_window_rfc5681_3_1() {
        let (mut reno, mut window) = (Reno::new(true), CongestionWindow::new(10));
        window.ssthresh = reno.ssthresh(&window, 20);
        assert_eq!(window.ssthresh, 10);
        (0..9).for_each(|_| reno.cong_avoid(&mut window, acked(1)));
        assert_eq!(window.cwnd, 10);
        reno.cong_avoid(&mut window, acked(1));
        assert_eq!(window.cwnd, 11);
    }

    #[test]
    fn what_exceeds_the_threshold_counts_for_congestion_avoidance() {
        let (mut reno, mut window) = (Reno::new(false), CongestionWindow { ssthresh: 10, ..CongestionWindow::new(9) });
        reno.cong_avoid(&mut window, acked(11));
        assert_eq!((window.cwnd, window.cwnd_cnt), (11, 0));
    }

    #[test]
    fn the_threshold_is_never_below_two_segments() {
        assert_eq!(Reno::new(true).ssthresh(&CongestionWindow::new(1), 1), 2);
        assert_eq!(Reno::new(false).ssthresh(&CongestionWindow::new(30), 7), 15);
    }
}
