//! Controlled Delay (RFC 8289): a queue that drops what leaves it, ever faster, while its packets wait for too long.

use crate::Packet;
use loadstone_units::Time;
use std::collections::VecDeque;

/// How long packets may wait, in nanoseconds (TARGET: RFC 8289, section 4.3).
const TARGET: u64 = 5_000_000;
/// For how long they may wait longer before one is dropped, in nanoseconds (INTERVAL: section 4.2).
const INTERVAL: u64 = 100_000_000;
/// A full-sized IP packet, in bytes: where no more than that waits, the link is not kept busy by a standing queue.
const MTU: u64 = 1500;

/// A packet that waits in a queue.
#[derive(Debug)]
pub(super) struct QueuedPacket<P> {
    pub(super) packet: P,
    /// When it came.
    pub(super) entered: Time,
    /// Its number among the packets that came to the link.
    pub(super) number: u64,
}

/// A queue under CoDel. The names are those of the pseudocode in RFC 8289, section 5.
#[derive(Debug)]
pub(super) struct CodelQueue<P> {
    packets: VecDeque<QueuedPacket<P>>,
    bytes: u64,
    /// When packets will have waited for longer than the target for an interval, if they do now.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    /// How many packets have been dropped since it began to drop.
    count: u64,
    /// What `count` was when it began to drop the last time; 0 if it never did.
    last_count: u64,
}

/// What has left the queue at its head.
struct Head<P> {
    waiting: Option<QueuedPacket<P>>,
    /// Whether packets have waited for too long for an interval.
    may_drop: bool,
}

impl<P: Packet> CodelQueue<P> {
    pub(super) fn new() -> CodelQueue<P> {
        CodelQueue {
            packets: VecDeque::new(),
            bytes: 0,
            first_above: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    /// How many packets wait.
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Their bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn push(&mut self, waiting: QueuedPacket<P>) {
        self.bytes += u64::from(waiting.packet.len());
        self.packets.push_back(waiting);
    }

    /// Takes the first packet away, without a thought of how long it has waited.
    pub(super) fn pop(&mut self) -> Option<QueuedPacket<P>> {
        let waiting = self.packets.pop_front()?;
        self.bytes -= u64::from(waiting.packet.len());
        Some(waiting)
    }

    /// So many packets were dropped because there was no room: CoDel goes on from there.
    pub(super) fn count_overflow(&mut self, packets: u64) {
        self.count += packets;
    }

    /// The packet that is sent now; those before it that are dropped go to `dropped` (RFC 8289, section 5.5). Other
    /// queues of the link have `elsewhere` bytes.
    pub(super) fn dequeue(
        &mut self,
        now: Time,
        elsewhere: u64,
        dropped: &mut VecDeque<QueuedPacket<P>>,
    ) -> Option<QueuedPacket<P>> {
        let mut head = self.take_head(now, elsewhere);
        if !self.dropping {
            if head.may_drop {
                dropped.extend(head.waiting);
                head = self.take_head(now, elsewhere);
                self.start_dropping(now);
            }
            return head.waiting;
        }
        self.dropping = head.may_drop;
        while self.dropping && now >= self.drop_next {
            dropped.extend(head.waiting);
            self.count += 1;
            head = self.take_head(now, elsewhere);
            self.dropping = head.may_drop;
            if head.may_drop {
                self.drop_next = control_law(self.drop_next, self.count);
            }
        }
        head.waiting
    }

    /// Takes the first packet away, and notes for how long packets have waited for too long (section 5.6).
    fn take_head(&mut self, now: Time, elsewhere: u64) -> Head<P> {
        let waiting = self.pop();
        let is_above = waiting.as_ref().is_some_and(|waiting| now.nanos_since(waiting.entered) >= TARGET)
            && self.bytes + elsewhere > MTU;
        let may_drop = is_above && self.first_above.is_some_and(|at| now >= at);
        self.first_above = is_above.then(|| self.first_above.unwrap_or(now.plus_nanos(INTERVAL)));
        Head { waiting, may_drop }
    }

    /// The first packet was dropped. If it dropped not long ago, it goes on at the rate that it had reached then.
    fn start_dropping(&mut self, now: Time) {
        let since = self.count - self.last_count;
        let was_recent = self.last_count > 0 && now.nanos_since(self.drop_next) < 16 * INTERVAL;
        self.count = if since > 1 && was_recent { since } else { 1 };
        self.last_count = self.count;
        self.drop_next = control_law(now, self.count);
        self.dropping = true;
    }
}

/// When the next packet is dropped: an interval later, divided by the square root of how many were (section 5.6).
/// In whole numbers, so that it is the same on every machine.
fn control_law(at: Time, count: u64) -> Time {
    at.plus_nanos((INTERVAL * INTERVAL / count).isqrt())
}

#[cfg(test)]
mod tests;
