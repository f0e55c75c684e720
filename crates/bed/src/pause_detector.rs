//! Detects pauses of the machine: the host of a virtual machine stops it without notice.

use loadstone_live::Clock;
use loadstone_units::Time;
use std::time::{Duration, Instant};

/// How late the detector may be without there having been a pause. A thread with real-time priority
/// is 0.05 ms late as a rule, and 0.13 ms one time in a hundred.
const TOLERANCE: Duration = Duration::from_micros(500);

/// What a run has met of pauses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pauses {
    pub(crate) count: u64,
    pub(crate) total: Duration,
    pub(crate) longest: Duration,
}

/// Takes the machine's pauses off a clock. It only works in a thread that is busy, or waits no
/// longer than it says.
#[derive(Debug)]
pub(crate) struct PauseDetector {
    clock: Clock,
    /// When the next reading was meant to be, at the latest.
    expected: Instant,
    pauses: Pauses,
}

impl PauseDetector {
    pub(crate) fn new(clock: Clock) -> PauseDetector {
        let mut detector = PauseDetector { clock, expected: Instant::now(), pauses: Pauses::default() };
        detector.expect(detector.expected);
        detector
    }

    /// The time now.
    pub(crate) fn now(&mut self) -> Time {
        self.look(Instant::now())
    }

    /// The thread is about to wait for at most `span`.
    pub(crate) fn wait(&mut self, span: Duration) {
        self.expect(self.expected + span);
    }

    pub(crate) fn pauses(&self) -> Pauses {
        self.pauses
    }

    fn look(&mut self, now: Instant) -> Time {
        let late = now.saturating_duration_since(self.expected);
        if late > TOLERANCE {
            self.pauses.count += 1;
            self.pauses.total += late;
            self.pauses.longest = self.pauses.longest.max(late);
            self.clock.pause(late);
        }
        self.expect(now);
        self.clock.at(now)
    }

    fn expect(&mut self, instant: Instant) {
        self.expected = instant;
        self.clock.set_horizon(instant + TOLERANCE);
    }
}

impl Drop for PauseDetector {
    fn drop(&mut self) {
        self.clock.clear_horizon();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn what_goes_beyond_the_expected_is_a_pause_unless_it_is_small() {
        let mut detector = PauseDetector::new(Clock::start());
        let start = detector.expected;
        let began = detector.look(start).as_nanos();
        let look = |detector: &mut PauseDetector, at: Duration| detector.look(start + at).as_nanos() - began;
        // Busy for 0.5 ms, then waiting: late by just the tolerance.
        assert_eq!(look(&mut detector, MS / 2), 500_000);
        detector.wait(MS / 4);
        assert_eq!(look(&mut detector, MS / 2 + MS / 4 + TOLERANCE), 1_250_000);
        assert_eq!(detector.pauses(), Pauses::default());
        // 10 ms in which it should have waited for 1 ms.
        detector.wait(MS);
        assert_eq!(look(&mut detector, MS + MS / 4 + 10 * MS), 2_250_000);
        // 3 ms in which it was busy.
        assert_eq!(look(&mut detector, MS + MS / 4 + 13 * MS), 2_250_000);
        assert_eq!(detector.pauses(), Pauses { count: 2, total: 12 * MS, longest: 9 * MS });
        // It may be woken before its time.
        detector.wait(MS);
        assert_eq!(look(&mut detector, MS + MS / 4 + 13 * MS + MS / 2), 2_750_000);
        assert_eq!(detector.pauses().count, 2);
    }
}
