//! The timers of an endpoint: one table, no callbacks.

use loadstone_units::Time;

/// What an endpoint waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timer {
    /// The retransmission of a SYN or SYN-ACK (RFC 6298).
    Handshake,
    /// A delayed ACK (RFC 9293, section 3.8.6.3).
    DelayedAck,
    /// Compressed SACKs.
    CompressedAck,
    /// The persist timer: a zero-window probe (RFC 9293, section 3.8.6.1).
    Persist,
}

/// When each timer expires.
#[derive(Debug)]
pub(super) struct Timers {
    deadlines: [Time; 4],
}

impl Timers {
    /// No timer set.
    pub(super) fn new() -> Timers {
        Timers { deadlines: [Time::NEVER; 4] }
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
        let [one, two, three, four] = self.deadlines;
        one.min(two).min(three.min(four))
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
