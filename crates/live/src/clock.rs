//! The clock of a run: real time, less the spans for which the machine was paused.

use loadstone_units::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long to sleep when the pause detector is late, before looking again.
const DETECTOR_RETRY: Duration = Duration::from_micros(50);

/// Real time since the run began, without pauses. Its clones are the same clock: all threads of a
/// run share one.
///
/// A virtual machine is paused now and then by its host, without notice. A pause detector takes the span
/// off with [`Clock::pause`]. It learns of a pause only afterwards. So it sets a horizon in advance
/// ([`Clock::set_horizon`]): until the detector has run, `now` never exceeds the horizon, and a thread that
/// wakes first after a pause does not see the pause. The clock never goes back: after a span was taken off,
/// it goes on showing what it has shown until real time has caught up.
#[derive(Clone, Debug)]
pub struct Clock(Arc<ClockInner>);

/// Times are nanoseconds of real time since the beginning.
#[derive(Debug)]
struct ClockInner {
    began: Instant,
    /// How much of it was paused.
    paused: AtomicU64,
    /// The latest time to show before the pause detector has run again.
    horizon: AtomicU64,
    /// The latest that the clock has shown.
    last: AtomicU64,
}

impl Clock {
    /// A clock that begins now, without a pause detector.
    #[allow(clippy::disallowed_methods, reason = "this is the clock that a driver reads")]
    pub fn start() -> Clock {
        Clock(Arc::new(ClockInner {
            began: Instant::now(),
            paused: AtomicU64::new(0),
            horizon: AtomicU64::new(u64::MAX),
            last: AtomicU64::new(0),
        }))
    }

    /// What it shows.
    pub fn now(&self) -> Time {
        // The horizon first: a thread that sees a new one has to see the pause that came with it.
        let horizon = self.0.horizon.load(Ordering::Acquire);
        self.show(self.elapsed().min(horizon))
    }

    /// What it shows at `instant`, for the pause detector: the horizon does not apply.
    pub fn at(&self, instant: Instant) -> Time {
        self.show(self.since_beginning(instant))
    }

    /// Takes a span off during which the machine was paused.
    pub fn pause(&self, span: Duration) {
        self.0.paused.fetch_add(span.as_nanos() as u64, Ordering::Release);
    }

    /// How much was taken off.
    pub fn paused(&self) -> Duration {
        Duration::from_nanos(self.0.paused.load(Ordering::Acquire))
    }

    /// The pause detector runs again by `instant`.
    pub fn set_horizon(&self, instant: Instant) {
        self.0.horizon.store(self.since_beginning(instant), Ordering::Release);
    }

    /// The pause detector has ended.
    pub fn clear_horizon(&self) {
        self.0.horizon.store(u64::MAX, Ordering::Release);
    }

    /// How long it is in real time until the clock shows `at`, at least: a pause makes it longer, so the
    /// caller looks again after sleeping. Zero if, and only if, it shows `at` already.
    pub fn duration_until(&self, at: Time) -> Duration {
        if self.now() >= at {
            return Duration::ZERO;
        }
        // Where the clock waits for real time to catch up, the wait counts too.
        let due = at.as_nanos().saturating_add(self.0.paused.load(Ordering::Acquire));
        let left = Duration::from_nanos(due.saturating_sub(self.elapsed()));
        // Real time is past the horizon: the pause detector is late, so look again soon.
        if left.is_zero() { DETECTOR_RETRY } else { left }
    }

    /// Nanoseconds of real time since the beginning.
    fn elapsed(&self) -> u64 {
        self.0.began.elapsed().as_nanos() as u64
    }

    fn since_beginning(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.0.began).as_nanos() as u64
    }

    /// What it shows when this much real time has elapsed.
    fn show(&self, elapsed: u64) -> Time {
        let running = elapsed.saturating_sub(self.0.paused.load(Ordering::Acquire));
        // One number that only grows, so every thread sees it grow.
        Time::from_nanos(self.0.last.fetch_max(running, Ordering::Relaxed).max(running))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_pause_is_no_time() {
        let clock = Clock::start();
        assert_eq!(clock.show(1_000), Time::from_nanos(1_000));
        clock.pause(Duration::from_nanos(600));
        assert_eq!(clock.show(1_500), Time::from_nanos(1_000), "it has shown 1,000 and waits there");
        assert_eq!(clock.show(1_700), Time::from_nanos(1_100));
        assert_eq!(clock.paused(), Duration::from_nanos(600));
    }

    #[test]
    fn a_sleep_lasts_as_long_as_the_clock_is_held() {
        let clock = Clock::start();
        let hour = Duration::from_secs(3600);
        let (at, soon) = (clock.now() + hour, Duration::from_secs(60));
        assert!((hour - soon..=hour).contains(&clock.duration_until(at)));
        clock.pause(hour);
        assert!((hour + hour - soon..=hour + hour).contains(&clock.duration_until(at)));
        assert_eq!(clock.duration_until(Time::ZERO), Duration::ZERO);
    }

    #[test]
    fn no_thread_sees_a_pause_before_the_detector() {
        let clock = Clock::start();
        let (ms, began) = (Duration::from_millis(1), clock.0.began);
        // The machine stops from the beginning for an hour; the detector was to run at 11 ms.
        clock.set_horizon(began - 3600 * 1000 * ms);
        assert_eq!(clock.now(), Time::ZERO);
        assert!(!clock.duration_until(Time::from_nanos(1)).is_zero(), "not shown, however much time has passed");
        assert_eq!(clock.at(began + 10 * ms), Time::ZERO + 10 * ms, "the detector itself is not held by the horizon");
        clock.clear_horizon();
        clock.pause(5 * ms);
        assert_eq!([12, 15, 16].map(|at| clock.at(began + at * ms).as_ms()), [10.0, 10.0, 11.0], "it never goes back");
    }

    proptest! {
        #[test]
        fn it_never_goes_back_and_never_runs_ahead(
            steps in prop::collection::vec((0_u64..1_000_000, prop::option::of(0_u64..3_000_000)), 1..100),
        ) {
            let clock = Clock::start();
            let (mut elapsed, mut last) = (0, Time::ZERO);
            for (step, pause) in steps {
                elapsed += step;
                let before = last;
                last = clock.show(elapsed);
                prop_assert!(last >= before && last.as_nanos() <= elapsed);
                prop_assert!(last.nanos_since(before) <= step);
                if let Some(nanos) = pause {
                    clock.pause(Duration::from_nanos(nanos));
                }
            }
        }
    }

    #[test]
    fn threads_that_read_one_after_the_other_read_no_less() {
        let clock = Clock::start();
        let latest = std::sync::Mutex::new(Time::ZERO);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for at in 0..2_000 {
                        let mut latest = latest.lock().unwrap();
                        let now = clock.now();
                        assert!(now >= *latest);
                        *latest = now;
                        drop(latest);
                        clock.pause(Duration::from_nanos(at % 300));
                    }
                });
            }
        });
    }
}
