//! When a receiver had to wait for data that was lost.

use loadstone_units::Time;
use std::collections::VecDeque;
use std::ops::Range;

/// The stalls of one direction of a connection, found from what was lost and what the receiver
/// expects.
///
/// A *stall* is a time during which the next number in order had been lost on the way and had not
/// arrived again. It begins when the lost packet would have arrived, or when the receiver has all
/// that comes before it, whichever is later, and ends when the receiver goes on to another number.
/// A retransmission that is lost as well prolongs it; what is lost although the receiver has it
/// already begins none.
///
/// While [`Stalls::is_idle`] no call is needed, so a connection without losses has no cost.
#[derive(Clone, Debug, Default)]
pub struct Stalls {
    /// What has been lost and may still be expected, ascending by its first number.
    lost: VecDeque<Lost>,
    /// The number that the receiver expects; of no meaning while nothing is lost.
    expected: u64,
    /// Since when, if it is later than the first loss that is kept.
    reached: Time,
    /// Those that have ended: ascending, not touching.
    ended: Vec<Range<Time>>,
}

#[derive(Clone, Debug)]
struct Lost {
    numbers: Range<u64>,
    /// When they would have arrived.
    due: Time,
}

impl Stalls {
    /// A packet with these numbers was lost and would have arrived at `due`; the receiver expects
    /// the number `expected` at this moment. A packet without numbers (a pure acknowledgement) is
    /// no loss here.
    pub fn handle_lost(&mut self, numbers: Range<u64>, due: Time, expected: u64) {
        if numbers.is_empty() || numbers.end <= expected {
            return;
        }
        if self.lost.is_empty() {
            // `due` is yet to come, so it does not matter when the receiver reached that number.
            (self.expected, self.reached) = (expected, Time::ZERO);
        }
        let at = self.lost.partition_point(|lost| lost.numbers.start <= numbers.start);
        self.lost.insert(at, Lost { numbers, due });
    }

    /// From `now` on the receiver expects the number `expected`. Needless while [`Stalls::is_idle`].
    pub fn handle_expected(&mut self, now: Time, expected: u64) {
        if self.lost.is_empty() || expected == self.expected {
            return;
        }
        self.end(now);
        (self.expected, self.reached) = (expected, now);
        // Of those that begin before it few are there: the ones behind it are of no interest here.
        let mut at = 0;
        while self.lost.get(at).is_some_and(|lost| lost.numbers.start < expected) {
            if self.lost[at].numbers.end <= expected {
                self.lost.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Whether nothing that has been lost is still expected.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.lost.is_empty()
    }

    /// The stalls until `now`, ascending and not touching one another; one that is under way ends
    /// there.
    pub fn until(mut self, now: Time) -> Vec<Range<Time>> {
        self.end(now);
        self.ended
    }

    /// Notes the stall that is under way, if there is one, as ended.
    fn end(&mut self, now: Time) {
        let missing = self.lost.iter().take_while(|lost| lost.numbers.start <= self.expected);
        let Some(due) = missing.map(|lost| lost.due).min() else { return };
        let from = due.max(self.reached);
        match self.ended.last_mut() {
            _ if from >= now => {}
            Some(last) if last.end == from => last.end = now,
            _ => self.ended.push(from..now),
        }
    }
}

#[cfg(test)]
mod tests;
