//! NewReno's window (RFC 5681), counted in acknowledged bytes (RFC 3465).

use super::{Acked, Controller};

#[derive(Debug)]
pub(super) struct Reno {
    mss: u64,
    initial: u64,
    window: u64,
    ssthresh: u64,
    /// Bytes acknowledged in congestion avoidance that have not yet earned a segment.
    credit: u64,
}

impl Reno {
    pub(super) fn new(initial: u64, mss: u64) -> Reno {
        // RFC 5681, section 3.1:
        // > The initial value of ssthresh SHOULD be set arbitrarily high
        Reno { mss, initial, window: initial, ssthresh: u64::MAX, credit: 0 }
    }

    /// RFC 5681, equation (4): ssthresh = max (FlightSize / 2, 2*SMSS)
    fn halved(&self, flight: u64) -> u64 {
        (flight / 2).max(2 * self.mss)
    }
}

impl Controller for Reno {
    fn window(&self) -> u64 {
        self.window
    }

    fn in_slow_start(&self) -> bool {
        self.window < self.ssthresh
    }

    fn on_ack(&mut self, ack: Acked) {
        let mut bytes = ack.bytes;
        if self.in_slow_start() {
            // The window grows by what is acknowledged, up to the threshold; the rest of the
            // acknowledgement counts for congestion avoidance.
            let growth = bytes.min(self.ssthresh - self.window);
            self.window += growth;
            bytes -= growth;
        }
        // RFC 3465, section 2.1: one segment for each window of acknowledged bytes.
        self.credit += bytes;
        if self.credit >= self.window {
            self.credit -= self.window;
            self.window += self.mss;
        }
    }

    fn on_loss(&mut self, flight: u64) {
        self.ssthresh = self.halved(flight);
        self.window = self.ssthresh;
        self.credit = 0;
    }

    fn on_timeout(&mut self, flight: u64, again: bool) {
        // RFC 5681, section 3.1: for data that the timer has already sent again, ssthresh is held.
        if !again {
            self.ssthresh = self.halved(flight);
        }
        self.window = self.mss;
        self.credit = 0;
    }

    fn on_pause(&mut self, _: u64) {}

    fn on_idle(&mut self) {
        self.window = self.window.min(self.initial);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_units::Time;

    const MSS: u64 = 1000;

    fn acked(bytes: u64) -> Acked {
        Acked { now: Time::ZERO, bytes, rtt: 100_000_000 }
    }

    #[test]
    fn slow_start_grows_by_what_is_acknowledged() {
        let mut reno = Reno::new(10 * MSS, MSS);
        reno.on_ack(acked(2 * MSS));
        reno.on_ack(acked(MSS));
        assert_eq!(reno.window(), 13 * MSS);
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_a_window_rfc5681_3_1() {
        let mut reno = Reno::new(20 * MSS, MSS);
        reno.on_loss(20 * MSS);
        assert_eq!(reno.window(), 10 * MSS);
        (0..9).for_each(|_| reno.on_ack(acked(MSS)));
        assert_eq!(reno.window(), 10 * MSS);
        reno.on_ack(acked(MSS));
        assert_eq!(reno.window(), 11 * MSS);
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_a_second_keeps_the_threshold_rfc5681_3_1() {
        let mut reno = Reno::new(40 * MSS, MSS);
        reno.on_timeout(40 * MSS, false);
        reno.on_timeout(MSS, true);
        assert_eq!(reno.window(), MSS);
        (0..19).for_each(|_| reno.on_ack(acked(MSS)));
        assert_eq!((reno.window(), reno.in_slow_start()), (20 * MSS, false));
    }

    #[test]
    fn the_threshold_is_never_below_two_segments() {
        let mut reno = Reno::new(MSS, MSS);
        reno.on_loss(MSS);
        assert_eq!(reno.window(), 2 * MSS);
    }

    #[test]
    fn idleness_brings_the_window_back_to_the_initial_one_rfc5681_4_1() {
        let mut reno = Reno::new(3 * MSS, MSS);
        reno.on_ack(acked(20 * MSS));
        reno.on_idle();
        assert_eq!(reno.window(), 3 * MSS);
    }
}
