//! The time that a relay's processor needs for requests, in the simulator: it looks at one after the other.

use super::{Relay, StreamRef};
use loadstone_units::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// A processor that needs time for each request.
#[derive(Debug)]
pub(super) struct Processor {
    span: Duration,
    /// Until when it is busy.
    busy: Time,
    /// The requests at which it has yet to look, in their order.
    unread: VecDeque<StreamRef>,
}

impl Processor {
    /// A processor that needs so long for a request; none if it needs no time.
    pub(super) fn new(span: Duration) -> Option<Processor> {
        (!span.is_zero()).then(|| Processor { span, busy: Time::ZERO, unread: VecDeque::new() })
    }
}

impl Relay {
    /// A request has come: when the processor has looked at it, after all that came before.
    pub(super) fn occupy(&mut self, front: StreamRef) -> Time {
        let Some(processor) = &mut self.processor else { return self.now };
        processor.busy = processor.busy.max(self.now) + processor.span;
        processor.unread.push_back(front);
        processor.busy
    }

    /// When the processor has looked at the next request.
    pub(super) fn next_reading(&self) -> Time {
        let next = self.processor.as_ref().and_then(|processor| processor.unread.front());
        next.map_or(Time::NEVER, |front| self.early.get(front).map_or(self.now, |early| early.read_at))
    }

    /// Requests go on at which the processor has looked.
    pub(super) fn read_due(&mut self) {
        while self.next_reading() <= self.now
            && let Some(front) = self.processor.as_mut().and_then(|processor| processor.unread.pop_front())
        {
            self.proceed(front);
            self.join(front);
        }
    }
}
