//! The way between the access link and a distant host: a delay of its own for each packet.

use loadstone_units::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Packets on their way beyond the access link.
///
/// Not a [`Device`](crate::Device): each packet has its host's delay, which a device, asking only a packet's
/// length, cannot know.
#[derive(Debug)]
pub struct Detour<P> {
    heap: BinaryHeap<Entry<P>>,
    count: u64,
}

#[derive(Debug)]
struct Entry<P> {
    out: Time,
    /// Packets of one time leave in the order in which they came.
    number: u64,
    packet: P,
}

impl<P> Detour<P> {
    /// With nothing on its way.
    pub fn new() -> Detour<P> {
        Detour { heap: BinaryHeap::new(), count: 0 }
    }

    /// A packet enters, and leaves after `delay`.
    pub fn handle_packet(&mut self, now: Time, delay: Duration, packet: P) {
        self.count += 1;
        self.heap.push(Entry { out: now + delay, number: self.count, packet });
    }

    /// When the next packet leaves; [`Time::NEVER`] if none is inside.
    pub fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |entry| entry.out)
    }

    /// The next packet that leaves by `now`.
    pub fn pop(&mut self, now: Time) -> Option<P> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|entry| entry.packet)
    }
}

impl<P> Default for Detour<P> {
    fn default() -> Detour<P> {
        Detour::new()
    }
}

impl<P> Entry<P> {
    fn key(&self) -> (Time, u64) {
        (self.out, self.number)
    }
}

impl<P> PartialEq for Entry<P> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<P> Eq for Entry<P> {}

impl<P> PartialOrd for Entry<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Entry<P> {
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
        let mut detour = Detour::new();
        let at = Time::from_nanos;
        detour.handle_packet(at(0), Duration::from_nanos(10), 'a');
        detour.handle_packet(at(5), Duration::from_nanos(5), 'b');
        detour.handle_packet(at(6), Duration::from_nanos(1), 'c');
        assert_eq!((detour.next(), detour.pop(at(6))), (at(7), None));
        assert_eq!([detour.pop(at(10)), detour.pop(at(10)), detour.pop(at(10))], [Some('c'), Some('a'), Some('b')]);
    }
}
