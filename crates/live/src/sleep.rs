//! A timer at a time of the clock (timerfd). It keeps nanoseconds, which a runtime's own timers do not: those
//! round up to whole milliseconds.

use crate::Clock;
use loadstone_units::Time;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io;
use std::os::fd::AsFd;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::unix::pipe;

#[derive(Debug)]
pub(crate) struct Sleep {
    timer: TimerFd,
    /// The timerfd's readiness, by the runtime: it is read like a pipe, eight bytes when it has expired.
    readiness: pipe::Receiver,
    /// The time for which the timer is armed.
    set: Time,
}

impl Sleep {
    /// A timer that is not armed.
    pub(crate) fn new() -> io::Result<Sleep> {
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        let bell = pipe::Receiver::from_owned_fd_unchecked(timer.as_fd().try_clone_to_owned()?)?;
        Ok(Sleep { timer, readiness: bell, set: Time::NEVER })
    }

    /// Ready once the clock has reached `at`; registers the waker otherwise (may wake early).
    pub(crate) fn poll(&mut self, clock: &Clock, at: Time, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let left = clock.duration_until(at);
            if left.is_zero() {
                return Poll::Ready(());
            }
            if at != self.set {
                self.set(at, left);
            }
            if self.readiness.poll_read_ready(cx).is_pending() {
                return Poll::Pending;
            }
            if self.readiness.try_read(&mut [0; 8]).is_ok() {
                // It has expired. The clock may have been paused meanwhile: look again.
                self.set = Time::NEVER;
            }
        }
    }

    fn set(&mut self, at: Time, left: Duration) {
        let after = Expiration::OneShot(TimeSpec::from_duration(left));
        self.timer.set(after, TimerSetTimeFlags::empty()).expect("a timer takes any span above zero");
        self.set = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::host::block_on;
    use std::future::poll_fn;
    use std::task::Waker;

    fn with_timer(test: impl AsyncFnOnce(&Clock, &mut Sleep)) {
        let run = async {
            test(&Clock::start(), &mut Sleep::new().map_err(Error::Runtime)?).await;
            Ok(())
        };
        block_on(run).unwrap();
    }

    #[test]
    fn it_is_ready_when_the_clock_shows_the_time_even_after_a_pause() {
        with_timer(async |clock, timer| {
            let at = clock.now() + Duration::from_millis(5);
            let early = timer.poll(clock, at, &mut Context::from_waker(Waker::noop()));
            assert!(early.is_pending());
            // The timer is armed already, and will expire too early by this.
            clock.pause(Duration::from_millis(20));
            poll_fn(|cx| timer.poll(clock, at, cx)).await;
            assert!(clock.now() >= at);
            // A time that never comes, and one that is over.
            let early = timer.poll(clock, Time::NEVER, &mut Context::from_waker(Waker::noop()));
            assert!(early.is_pending());
            poll_fn(|cx| timer.poll(clock, Time::ZERO, cx)).await;
        });
    }

    #[test]
    fn it_does_not_round_up_to_milliseconds() {
        with_timer(async |clock, timer| {
            let mut batches = Vec::new();
            for _ in 0..5 {
                let before = clock.now();
                for _ in 0..20 {
                    let at = clock.now() + Duration::from_micros(100);
                    poll_fn(|cx| timer.poll(clock, at, cx)).await;
                }
                batches.push(clock.now().nanos_since(before));
            }
            // 20 timers, 2 ms; in whole milliseconds they would take at least 20 ms. The machine may be
            // busy, but not all the time.
            assert!(batches.iter().all(|nanos| *nanos >= 2_000_000), "{batches:?}");
            assert!(batches.iter().any(|nanos| *nanos < 10_000_000), "{batches:?}");
        });
    }
}
