//! The time of a run on a machine that its host stops now and then.

use loadstone_units::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time of a run, for any thread: it goes on as the machine does.
///
/// Whoever watches over the machine takes the pauses off. A pause is known only afterwards, so the
/// watchman says in advance when he looks next, and until he does nobody reads a later time than
/// that: a thread that wakes first after a pause does not see it.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Hands>);

/// All in nanoseconds of the machine's time since the start.
#[derive(Debug)]
struct Hands {
    start: Instant,
    /// How much of it was paused.
    paused: AtomicU64,
    /// What is not believed before the watchman has looked.
    horizon: AtomicU64,
    /// The latest time given to anyone.
    latest: AtomicU64,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Clock {
        Clock(Arc::new(Hands {
            start: Instant::now(),
            paused: AtomicU64::new(0),
            horizon: AtomicU64::new(u64::MAX),
            latest: AtomicU64::new(0),
        }))
    }

    /// The time now. It never goes back.
    pub fn now(&self) -> Time {
        // The horizon first: whoever sees a new one has to see the pause that came with it.
        let horizon = self.0.horizon.load(Ordering::Acquire);
        self.read(Instant::now(), horizon)
    }

    /// The time at `instant`, which the watchman believes.
    pub(crate) fn at(&self, instant: Instant) -> Time {
        self.read(instant, u64::MAX)
    }

    fn read(&self, instant: Instant, horizon: u64) -> Time {
        let reading = self.since_start(instant).min(horizon).saturating_sub(self.0.paused.load(Ordering::Acquire));
        let before = self.0.latest.fetch_max(reading, Ordering::Relaxed);
        Time::from_nanos(before.max(reading))
    }

    /// Takes a pause off.
    pub fn pause(&self, span: Duration) {
        self.0.paused.fetch_add(span.as_nanos() as u64, Ordering::Release);
    }

    /// The watchman looks again by `instant`.
    pub(crate) fn believe_until(&self, instant: Instant) {
        self.0.horizon.store(self.since_start(instant), Ordering::Release);
    }

    /// Nobody watches any more.
    pub(crate) fn believe_for_ever(&self) {
        self.0.horizon.store(u64::MAX, Ordering::Release);
    }

    fn since_start(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.0.start).as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_pause_is_no_time() {
        let clock = Clock::start();
        let start = clock.0.start;
        assert_eq!(clock.at(start + 10 * MS), ms(10));
        clock.pause(80 * MS);
        assert_eq!(clock.at(start + 91 * MS), ms(11));
        assert_eq!(clock.clone().at(start + 92 * MS), ms(12), "all copies are one clock");
    }

    #[test]
    fn nobody_sees_a_pause_before_the_watchman() {
        let clock = Clock::start();
        let start = clock.0.start;
        let horizon = |at: Duration| clock.since_start(start + at);
        // The machine stops from 10 ms to 90 ms; the watchman had meant to look at 11 ms.
        assert_eq!(clock.read(start + 90 * MS, horizon(11 * MS)), ms(11));
        clock.pause(79 * MS);
        assert_eq!(clock.read(start + 90 * MS, horizon(91 * MS)), ms(11));
        assert_eq!(clock.read(start + 91 * MS, horizon(91 * MS)), ms(12));
    }

    #[test]
    fn time_never_goes_back() {
        let clock = Clock::start();
        let start = clock.0.start;
        assert_eq!(clock.at(start + 10 * MS), ms(10));
        clock.pause(5 * MS);
        assert_eq!([12, 15, 16].map(|at| clock.at(start + at * MS)), [ms(10), ms(10), ms(11)]);
        clock.believe_until(start);
        let before = clock.now();
        clock.believe_for_ever();
        assert!(before >= ms(11) && clock.now() >= before);
    }
}
