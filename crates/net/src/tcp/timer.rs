//! The timers of an endpoint: one table, no callbacks.

use loadstone_units::Time;

/// What an endpoint waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timer {
    /// A SYN, or the answer to one, is to be sent again (RFC 6298).
    Handshake,
    /// An acknowledgement that is being delayed (RFC 9293, section 3.8.6.3).
    DelayedAck,
    /// Acknowledgements that tell of one hole and are being held back.
    CompressedAck,
}

/// When each timer expires.
#[derive(Debug)]
pub(super) struct Timers {
    deadlines: [Time; 3],
}

impl Timers {
    /// No timer set.
    pub(super) fn new() -> Timers {
        Timers { deadlines: [Time::NEVER; 3] }
    }

    pub(super) fn set(&mut self, timer: Timer, deadline: Time) {
        self.deadlines[timer as usize] = deadline;
    }

    pub(super) fn stop(&mut self, timer: Timer) {
        self.set(timer, Time::NEVER);
    }

    pub(super) fn is_set(&self, timer: Timer) -> bool {
        self.deadlines[timer as usize] != Time::NEVER
    }

    /// The next deadline; [`Time::NEVER`] if no timer is set.
    pub(super) fn next(&self) -> Time {
        self.deadlines[0].min(self.deadlines[1]).min(self.deadlines[2])
    }

    /// Whether the timer has expired by `now`; it is then no longer set.
    pub(super) fn take_expired(&mut self, timer: Timer, now: Time) -> bool {
        let expired = self.deadlines[timer as usize] <= now;
        if expired {
            self.stop(timer);
        }
        expired
    }
}
