//! The clock of a run: real time, less the spans for which the machine was paused.

use loadstone_units::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long to wait for a watchman who is late, before looking again.
const A_MOMENT: Duration = Duration::from_micros(50);

/// Real time since the run began, without pauses. Its clones are the same clock: all threads of a
/// run share one.
///
/// A machine that is a guest of another is paused now and then and not told. Whoever watches over it
/// takes the span off with [`Clock::pause`]. A pause is known only afterwards, so the watchman says in
/// advance when he looks next ([`Clock::believe_until`]), and until he does nobody reads a later time
/// than that: a thread that wakes first after a pause does not see it. The clock never goes back: what
/// it has shown before a span was taken off it goes on showing until real time has caught up.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Hands>);

/// All in nanoseconds of real time since the beginning.
#[derive(Debug)]
struct Hands {
    began: Instant,
    /// How much of it was paused.
    paused: AtomicU64,
    /// What is not believed before the watchman has looked.
    horizon: AtomicU64,
    /// The latest that the clock has shown.
    shown: AtomicU64,
}

impl Clock {
    /// A clock that begins now, and that nobody watches.
    #[allow(clippy::disallowed_methods, reason = "this is the clock that a driver reads")]
    pub fn start() -> Clock {
        Clock(Arc::new(Hands {
            began: Instant::now(),
            paused: AtomicU64::new(0),
            horizon: AtomicU64::new(u64::MAX),
            shown: AtomicU64::new(0),
        }))
    }

    /// What it shows.
    pub fn now(&self) -> Time {
        // The horizon first: whoever sees a new one has to see the pause that came with it.
        let horizon = self.0.horizon.load(Ordering::Acquire);
        self.show(self.elapsed().min(horizon))
    }

    /// What it shows at `instant`, which the watchman believes.
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

    /// The watchman looks again by `instant`.
    pub fn believe_until(&self, instant: Instant) {
        self.0.horizon.store(self.since_beginning(instant), Ordering::Release);
    }

    /// Nobody watches any more.
    pub fn believe_for_ever(&self) {
        self.0.horizon.store(u64::MAX, Ordering::Release);
    }

    /// How long it is in real time until the clock shows `at`, at least: a pause makes it longer, so
    /// whoever sleeps for it looks again and sleeps on. Zero if, and only if, it shows `at` already.
    pub fn until(&self, at: Time) -> Duration {
        if self.now() >= at {
            return Duration::ZERO;
        }
        // Where the clock waits for real time to catch up, the wait counts too.
        let due = at.as_nanos().saturating_add(self.0.paused.load(Ordering::Acquire));
        let left = Duration::from_nanos(due.saturating_sub(self.elapsed()));
        // Time is there and not believed: the watchman is late, and a moment will do.
        if left.is_zero() { A_MOMENT } else { left }
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
        Time::from_nanos(self.0.shown.fetch_max(running, Ordering::Relaxed).max(running))
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
        assert!((hour - soon..=hour).contains(&clock.until(at)));
        clock.pause(hour);
        assert!((hour + hour - soon..=hour + hour).contains(&clock.until(at)));
        assert_eq!(clock.until(Time::ZERO), Duration::ZERO);
    }

    #[test]
    fn nobody_sees_a_pause_before_the_watchman() {
        let clock = Clock::start();
        let (ms, began) = (Duration::from_millis(1), clock.0.began);
        // The machine stops from the beginning for an hour; the watchman had meant to look at 11 ms.
        clock.believe_until(began - 3600 * 1000 * ms);
        assert_eq!(clock.now(), Time::ZERO);
        assert!(!clock.until(Time::from_nanos(1)).is_zero(), "not shown, however much time has passed");
        assert_eq!(clock.at(began + 10 * ms), Time::ZERO + 10 * ms, "he himself believes what he sees");
        clock.believe_for_ever();
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
