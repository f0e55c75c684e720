//! When each machine wants to be woken.

use loadstone_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A machine, by its number in the world.
pub(crate) type Key = u32;

/// The deadlines of all machines.
///
/// Deadlines move later all the time (each acknowledgement moves a retransmission timeout), so a
/// machine keeps its place in the heap until that time comes, and is asked again then: a deadline
/// that moved later costs nothing now and one early wake-up, which machines ignore, later.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    heap: BinaryHeap<Reverse<ArmedAlarm>>,
    /// For each machine its earliest entry in the heap.
    armed: Vec<Time>,
}

/// A time, and of machines of one time the number: in one integer, since comparing is most of what a heap does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct ArmedAlarm(u128);

impl ArmedAlarm {
    fn new(at: Time, key: Key) -> ArmedAlarm {
        ArmedAlarm(u128::from(at.as_nanos()) << Key::BITS | u128::from(key))
    }

    fn at(self) -> Time {
        Time::from_nanos((self.0 >> Key::BITS) as u64)
    }

    fn key(self) -> Key {
        self.0 as Key
    }
}

impl Alarms {
    /// A machine that is not waited for; the next number.
    pub(crate) fn add(&mut self) -> Key {
        self.armed.push(Time::NEVER);
        self.armed.len() as Key - 1
    }

    /// Wakes the machine at `deadline` at the latest.
    pub(crate) fn arm(&mut self, key: Key, deadline: Time) {
        let armed = &mut self.armed[key as usize];
        if deadline < *armed {
            *armed = deadline;
            self.heap.push(Reverse(ArmedAlarm::new(deadline, key)));
        }
    }

    /// When the next machine is to be woken; [`Time::NEVER`] if none.
    pub(crate) fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse(alarm)| alarm.at())
    }

    /// The next machine to be woken by `now`. It is no longer armed.
    pub(crate) fn pop(&mut self, now: Time) -> Option<Key> {
        while self.next() <= now {
            let Reverse(alarm) = self.heap.pop()?;
            // One that an earlier one has replaced says nothing.
            let armed = &mut self.armed[alarm.key() as usize];
            if *armed == alarm.at() {
                *armed = Time::NEVER;
                return Some(alarm.key());
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
        let mut alarms = Alarms::default();
        let keys: Vec<Key> = (0..3).map(|_| alarms.add()).collect();
        alarms.arm(keys[2], at(5));
        alarms.arm(keys[1], at(5));
        alarms.arm(keys[0], at(9));
        assert_eq!(alarms.pop(at(4)), None);
        assert_eq!((alarms.pop(at(9)), alarms.pop(at(9)), alarms.pop(at(9))), (Some(1), Some(2), Some(0)));
    }

    #[test]
    fn an_earlier_deadline_replaces_a_later_one_and_a_later_one_waits() {
        let mut alarms = Alarms::default();
        let key = alarms.add();
        alarms.arm(key, at(9));
        alarms.arm(key, at(5));
        alarms.arm(key, at(7));
        assert_eq!(alarms.next(), at(5));
        assert_eq!(alarms.pop(at(20)), Some(key));
        assert_eq!(alarms.pop(at(20)), None, "the entry for 9 was replaced");
    }
}
