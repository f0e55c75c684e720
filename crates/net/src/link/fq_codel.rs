//! Flow queue CoDel (RFC 8290): a queue for each flow, each under CoDel, served in turns.

use super::codel::{CodelQueue, QueuedPacket};
use crate::{Packet, QueueLimit};
use loadstone_units::Time;
use std::collections::VecDeque;

/// Bytes that a flow may send in its turn (RFC 8290, section 5.2.4).
const QUANTUM: i64 = 1514;
/// What an Ethernet header adds to an IP packet, in bytes: a full packet of 1,500 is a turn.
const HEADER: i64 = 14;
/// How many queues there are (section 5.2.5).
const FLOWS: u32 = 1024;
/// How many packets are dropped at once at most when there is no room (section 4.1).
const BATCH: u64 = 64;

/// Queues of flows. The flow with number n has queue n modulo 1024: a hash without perturbation, under which as many
/// flows as there are queues never share one.
#[derive(Debug)]
pub(super) struct FqCodel<P> {
    /// As many as have been needed.
    flows: Vec<FlowQueue<P>>,
    /// Flows that have begun to send, with a turn before all others.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    packets: usize,
    bytes: u64,
}

#[derive(Debug)]
struct FlowQueue<P> {
    queue: CodelQueue<P>,
    /// Bytes that it may still send in this turn; below zero where it has sent more.
    deficit: i64,
    /// Whether it is in one of the lists.
    is_active: bool,
}

impl<P: Packet> FqCodel<P> {
    pub(super) fn new() -> FqCodel<P> {
        FqCodel { flows: Vec::new(), new: VecDeque::new(), old: VecDeque::new(), packets: 0, bytes: 0 }
    }

    /// How many packets wait.
    pub(super) fn len(&self) -> usize {
        self.packets
    }

    /// A packet comes (section 4.1). What is dropped because there is no room goes to `dropped`.
    pub(super) fn enqueue(
        &mut self,
        limit: QueueLimit,
        waiting: QueuedPacket<P>,
        dropped: &mut VecDeque<QueuedPacket<P>>,
    ) {
        let at = queue_of(&waiting.packet);
        if at >= self.flows.len() {
            self.flows.resize_with(at + 1, FlowQueue::new);
        }
        self.packets += 1;
        self.bytes += u64::from(waiting.packet.len());
        let flow = &mut self.flows[at];
        flow.queue.push(waiting);
        if !flow.is_active {
            (flow.is_active, flow.deficit) = (true, QUANTUM);
            self.new.push_back(at);
        }
        while !limit.holds(self.packets, self.bytes) {
            self.shorten_longest(dropped);
        }
    }

    /// The packet that is sent now (section 4.2); those before it that CoDel drops go to `dropped`.
    pub(super) fn dequeue(&mut self, now: Time, dropped: &mut VecDeque<QueuedPacket<P>>) -> Option<QueuedPacket<P>> {
        loop {
            let list = if self.new.is_empty() { &mut self.old } else { &mut self.new };
            let at = *list.front()?;
            let flow = &mut self.flows[at];
            if flow.deficit <= 0 {
                flow.deficit += QUANTUM;
                list.pop_front();
                self.old.push_back(at);
                continue;
            }
            let before = (flow.queue.len(), flow.queue.bytes());
            // Like Linux: what counts as a standing queue is what waits in all queues together.
            let taken = flow.queue.dequeue(now, self.bytes - before.1, dropped);
            self.packets -= before.0 - flow.queue.len();
            self.bytes -= before.1 - flow.queue.bytes();
            if let Some(waiting) = taken {
                flow.deficit -= i64::from(waiting.packet.len()) + HEADER;
                return Some(waiting);
            }
            let was_new = !self.new.is_empty();
            if was_new {
                // Not new at once again, so that no flow starves the old ones by sending little and often.
                self.new.pop_front();
                self.old.push_back(at);
            } else {
                self.old.pop_front();
                flow.is_active = false;
            }
        }
    }

    /// The bytes that flows in their turns would send before the end of one more packet of this flow.
    pub(super) fn bytes_before(&self, packet: &P) -> u64 {
        let own = self.flows.get(queue_of(packet)).map_or(0, |flow| flow.queue.bytes());
        let turns = own + u64::from(packet.len());
        self.flows.iter().map(|flow| flow.queue.bytes().min(turns)).sum()
    }

    /// Takes any packet away.
    pub(super) fn pop(&mut self) -> Option<QueuedPacket<P>> {
        let waiting = self.flows.iter_mut().find_map(|flow| flow.queue.pop())?;
        self.packets -= 1;
        self.bytes -= u64::from(waiting.packet.len());
        Some(waiting)
    }

    /// Drops from the head of the longest queue until it has half of its bytes, at most a batch. Like Linux: CoDel
    /// counts what is dropped.
    #[cold]
    fn shorten_longest(&mut self, dropped: &mut VecDeque<QueuedPacket<P>>) {
        let longest = self
            .flows
            .iter_mut()
            .reduce(|longest, flow| if flow.queue.bytes() > longest.queue.bytes() { flow } else { longest });
        let Some(FlowQueue { queue, .. }) = longest else { return };
        let before = (queue.len(), queue.bytes());
        let mut count = 0;
        while count < BATCH && before.1 - queue.bytes() < before.1.div_ceil(2) {
            dropped.extend(queue.pop());
            count += 1;
        }
        queue.count_overflow(count);
        self.packets -= before.0 - queue.len();
        self.bytes -= before.1 - queue.bytes();
    }
}

impl<P: Packet> FlowQueue<P> {
    fn new() -> FlowQueue<P> {
        FlowQueue { queue: CodelQueue::new(), deficit: 0, is_active: false }
    }
}

/// The queue of a packet's flow.
fn queue_of(packet: &impl Packet) -> usize {
    (packet.flow() % FLOWS) as usize
}

#[cfg(test)]
mod tests;
