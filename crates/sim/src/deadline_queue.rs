//! When each machine wants to be woken.

use loadstone_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The timer of a machine, by the number of the machine in the world.
pub(crate) type TimerId = u32;

/// The deadlines of all machines.
///
/// Lazy deletion: deadlines move later all the time (each acknowledgement moves a retransmission timeout). A later
/// deadline keeps its old entry in the heap; at that time the machine is polled and armed again. So moving a deadline
/// later costs nothing now, and one early wake-up, which machines ignore, later.
#[derive(Debug, Default)]
pub(crate) struct DeadlineQueue {
    heap: BinaryHeap<Reverse<QueuedDeadline>>,
    /// For each machine its earliest entry in the heap.
    armed: Vec<Time>,
}

/// A time, and the timer, which decides between deadlines of one time. One integer: a heap mostly compares.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct QueuedDeadline(u128);

impl QueuedDeadline {
    fn new(at: Time, timer: TimerId) -> QueuedDeadline {
        QueuedDeadline(u128::from(at.as_nanos()) << TimerId::BITS | u128::from(timer))
    }

    fn at(self) -> Time {
        Time::from_nanos((self.0 >> TimerId::BITS) as u64)
    }

    fn timer(self) -> TimerId {
        self.0 as TimerId
    }
}

impl DeadlineQueue {
    /// Adds a timer that is not armed.
    pub(crate) fn add(&mut self) -> TimerId {
        self.armed.push(Time::NEVER);
        self.armed.len() as TimerId - 1
    }

    /// Wakes the machine at `deadline` at the latest.
    pub(crate) fn arm(&mut self, timer: TimerId, deadline: Time) {
        let armed = &mut self.armed[timer as usize];
        if deadline < *armed {
            *armed = deadline;
            self.heap.push(Reverse(QueuedDeadline::new(deadline, timer)));
        }
    }

    /// The earliest deadline; [`Time::NEVER`] if none.
    pub(crate) fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse(next)| next.at())
    }

    /// The next timer whose deadline has come by `now`. It is no longer armed.
    pub(crate) fn pop(&mut self, now: Time) -> Option<TimerId> {
        while self.next() <= now {
            let Reverse(next) = self.heap.pop()?;
            // An entry that an earlier one has replaced does not count.
            let armed = &mut self.armed[next.timer() as usize];
            if *armed == next.at() {
                *armed = Time::NEVER;
                return Some(next.timer());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn machines_wake_in_order_of_time_and_then_of_number() {
        let mut queue = DeadlineQueue::default();
        let timers: Vec<TimerId> = (0..3).map(|_| queue.add()).collect();
        queue.arm(timers[2], at(5));
        queue.arm(timers[1], at(5));
        queue.arm(timers[0], at(9));
        assert_eq!(queue.pop(at(4)), None);
        assert_eq!((queue.pop(at(9)), queue.pop(at(9)), queue.pop(at(9))), (Some(1), Some(2), Some(0)));
    }

    #[test]
    fn an_earlier_deadline_replaces_a_later_one_and_a_later_one_waits() {
        let mut queue = DeadlineQueue::default();
        let timer = queue.add();
        queue.arm(timer, at(9));
        queue.arm(timer, at(5));
        queue.arm(timer, at(7));
        assert_eq!(queue.next(), at(5));
        assert_eq!(queue.pop(at(20)), Some(timer));
        assert_eq!(queue.pop(at(20)), None, "the entry for 9 was replaced");
    }
}
