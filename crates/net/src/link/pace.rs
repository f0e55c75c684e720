//! How fast a link takes packets: at a rate, or at the opportunities of a trace.

use crate::trace::{OPPORTUNITY, Trace};
use loadstone_units::{Rate, Time};
use std::sync::Arc;
use std::time::Duration;

/// How fast a link takes packets.
#[derive(Debug)]
pub(super) enum Pace {
    /// At a rate.
    Even {
        rate: Rate,
        /// The length of the last packet and the nanoseconds that it takes to serialise: most are of one length, and
        /// a division costs as much as all else that a link does.
        last: (u32, u64),
    },
    /// At the opportunities of a recording.
    Traced {
        trace: StartedTrace,
        /// The opportunity that the last packet ended with, and what is left of it.
        reached: TracePlace,
    },
}

/// A recording that is at `start` when the run begins.
#[derive(Debug)]
pub(super) struct StartedTrace {
    trace: Arc<Trace>,
    start: Duration,
}

impl StartedTrace {
    /// When an opportunity is, in the run's time.
    fn time(&self, opportunity: u64) -> Time {
        match self.trace.time(opportunity) {
            Time::NEVER => Time::NEVER,
            recorded => recorded.counted_from(Time::ZERO + self.start),
        }
    }

    /// The number of the first opportunity at `now` or later.
    fn first_from(&self, now: Time) -> u64 {
        self.trace.first_from(now + self.start)
    }
}

/// A place in a trace: an opportunity, and the bytes of it that are left.
#[derive(Clone, Copy, Debug)]
pub(super) struct TracePlace {
    opportunity: u64,
    left: u32,
}

impl Pace {
    pub(super) fn new(rate: Rate, trace: Option<Arc<Trace>>, start: Duration) -> Pace {
        match trace {
            None => Pace::Even { rate, last: (0, 0) },
            Some(trace) => {
                let trace = StartedTrace { trace, start };
                let opportunity = trace.first_from(Time::ZERO);
                Pace::Traced { trace, reached: TracePlace { opportunity, left: OPPORTUNITY } }
            }
        }
    }

    /// When the serialisation of a packet begins that comes `now`, where those before it have left at
    /// `busy_until`.
    #[inline]
    pub(super) fn start(&self, now: Time, busy_until: Time) -> Time {
        match self {
            Pace::Even { .. } => now.max(busy_until),
            Pace::Traced { trace, reached } => trace.time(reached.next(trace, now).opportunity),
        }
    }

    /// When a packet of `len` bytes has left that comes `now` and whose serialisation begins at
    /// `start`, and the place in the trace, if there is one.
    #[inline]
    fn leave(&mut self, now: Time, start: Time, len: u32) -> (Time, Option<TracePlace>) {
        match self {
            Pace::Even { rate, last } => {
                if last.0 != len {
                    *last = (len, rate.transmission(len).as_nanos() as u64);
                }
                (start.plus_nanos(last.1), None)
            }
            Pace::Traced { trace, reached } => {
                let place = reached.next(trace, now).after(len);
                (trace.time(place.opportunity), Some(place))
            }
        }
    }

    /// Takes a packet; gives when it has left.
    #[inline]
    pub(super) fn take(&mut self, now: Time, start: Time, len: u32) -> Time {
        let (left, place) = self.leave(now, start, len);
        if let (Pace::Traced { reached, .. }, Some(place)) = (self, place) {
            *reached = place;
        }
        left
    }

    /// When a packet would have left that is not taken.
    pub(super) fn would_leave(&mut self, now: Time, busy_until: Time, len: u32) -> Time {
        let start = self.start(now, busy_until);
        self.leave(now, start, len).0
    }
}

impl TracePlace {
    /// Where a packet begins that comes `now`: what an earlier opportunity had left is wasted.
    fn next(self, trace: &StartedTrace, now: Time) -> TracePlace {
        let whole = |opportunity| TracePlace { opportunity, left: OPPORTUNITY };
        if trace.time(self.opportunity) < now {
            whole(trace.first_from(now))
        } else if self.left == 0 {
            whole(self.opportunity + 1)
        } else {
            self
        }
    }

    /// Where a packet of `len` bytes ends that begins here.
    fn after(self, len: u32) -> TracePlace {
        if len <= self.left {
            return TracePlace { left: self.left - len, ..self };
        }
        let beyond = len - self.left;
        let more = beyond.div_ceil(OPPORTUNITY);
        TracePlace { opportunity: self.opportunity + u64::from(more), left: more * OPPORTUNITY - beyond }
    }
}
