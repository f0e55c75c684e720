//! Delays without a rate: each packet has one of its own, as it has its own way.

use loadstone_units::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Packets that are being delayed.
///
/// Not a [`Device`](crate::Device): each packet has its route's delay, which a device, asking only a packet's
/// length, cannot know.
#[derive(Debug)]
pub(crate) struct DelayLine<P> {
    heap: BinaryHeap<DelayedPacket<P>>,
    count: u64,
}

#[derive(Debug)]
struct DelayedPacket<P> {
    out: Time,
    /// Packets of one time leave in the order in which they came.
    number: u64,
    packet: P,
}

impl<P> DelayLine<P> {
    /// With nothing in it.
    pub(crate) fn new() -> DelayLine<P> {
        DelayLine { heap: BinaryHeap::new(), count: 0 }
    }

    /// A packet enters, and leaves after `delay` nanoseconds.
    pub(crate) fn handle_packet(&mut self, now: Time, delay: u64, packet: P) {
        self.count += 1;
        self.heap.push(DelayedPacket { out: now.plus_nanos(delay), number: self.count, packet });
    }

    /// When the next packet leaves; [`Time::NEVER`] if none is inside.
    pub(crate) fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |entry| entry.out)
    }

    /// The next packet that leaves by `now`.
    pub(crate) fn pop(&mut self, now: Time) -> Option<P> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|entry| entry.packet)
    }
}

impl<P> DelayedPacket<P> {
    fn key(&self) -> (Time, u64) {
        (self.out, self.number)
    }
}

impl<P> PartialEq for DelayedPacket<P> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<P> Eq for DelayedPacket<P> {}

impl<P> PartialOrd for DelayedPacket<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for DelayedPacket<P> {
    /// The earliest is the greatest: the heap gives the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_after_their_delay_and_together_in_order() {
        let mut line = DelayLine::new();
        let at = Time::from_nanos;
        line.handle_packet(at(0), 10, 'a');
        line.handle_packet(at(5), 5, 'b');
        line.handle_packet(at(6), 1, 'c');
        assert_eq!((line.next(), line.pop(at(6))), (at(7), None));
        assert_eq!([line.pop(at(10)), line.pop(at(10)), line.pop(at(10))], [Some('c'), Some('a'), Some('b')]);
    }
}
