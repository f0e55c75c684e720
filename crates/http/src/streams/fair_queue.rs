//! A queue of streams: first come first served, round robin, by urgency, or start-time fair queueing.

use super::config::Policy;
use super::weight::cost;
use crate::Priority;
use std::collections::{BTreeMap, BTreeSet};

/// Weights of the urgencies 0 to 7: what Chromium wrote into HTTP/2's frames for them (256 to 1 in equal
/// steps, rounded).
const WEIGHTS: [u16; 8] = [256, 220, 183, 147, 110, 74, 37, 1];

/// All streams, and the queue of those that are ready.
#[derive(Debug)]
pub(super) struct FairQueue {
    policy: Policy,
    entries: BTreeMap<u32, QueuedStream>,
    ready: BTreeSet<QueueKey>,
    /// The next arrival number.
    next_arrival: u64,
    /// Virtual time v(t): the start tag of the stream that sent last.
    virtual_time: u64,
}

#[derive(Debug)]
struct QueuedStream {
    priority: Priority,
    key: QueueKey,
    /// Whether the key is in the queue: cheaper than a look-up there.
    is_ready: bool,
}

/// What the queue is sorted by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct QueueKey {
    urgency: u8,
    /// Weighted: the start tag of its next frame, in virtual time.
    start_tag: u64,
    /// The number of its arrival at the end of the queue.
    arrival: u64,
    stream: u32,
}

impl FairQueue {
    /// No streams.
    pub(super) fn new(policy: Policy) -> FairQueue {
        FairQueue { policy, entries: BTreeMap::new(), ready: BTreeSet::new(), next_arrival: 1, virtual_time: 0 }
    }

    pub(super) fn open(&mut self, stream: u32, priority: Priority) {
        let key = QueueKey { urgency: 0, start_tag: 0, arrival: 0, stream };
        self.entries.insert(stream, QueuedStream { priority, key, is_ready: false });
    }

    /// The stream's message is there: it arrives in the queue.
    pub(super) fn enqueue(&mut self, stream: u32) {
        let arrival = self.take_arrival();
        self.block(stream);
        let Some(entry) = self.entries.get_mut(&stream) else { return };
        entry.key.arrival = arrival;
        self.rekey(stream);
    }

    /// Fits a stream's key to the policy and its priority.
    fn rekey(&mut self, stream: u32) {
        let Some(entry) = self.entries.get_mut(&stream) else { return };
        if self.policy == Policy::Priority {
            entry.key.urgency = entry.priority.urgency();
            entry.key.arrival = if entry.priority.incremental { entry.key.arrival } else { 0 };
        }
    }

    fn take_arrival(&mut self) -> u64 {
        self.next_arrival += 1;
        self.next_arrival - 1
    }

    pub(super) fn unblock(&mut self, stream: u32) {
        let Some(entry) = self.entries.get_mut(&stream).filter(|entry| !entry.is_ready) else { return };
        // An idle stream earns no credit: its start tag is at least v(t).
        entry.key.start_tag = entry.key.start_tag.max(self.virtual_time);
        entry.is_ready = true;
        self.ready.insert(entry.key);
    }

    pub(super) fn block(&mut self, stream: u32) {
        if let Some(entry) = self.entries.get_mut(&stream).filter(|entry| entry.is_ready) {
            entry.is_ready = false;
            self.ready.remove(&entry.key);
        }
    }

    pub(super) fn close(&mut self, stream: u32) {
        if let Some(entry) = self.entries.remove(&stream).filter(|entry| entry.is_ready) {
            self.ready.remove(&entry.key);
        }
    }

    pub(super) fn next(&self) -> Option<u32> {
        self.ready.first().map(|key| key.stream)
    }

    /// The ready streams, in the order of sending.
    pub(super) fn streams(&self) -> impl Iterator<Item = u32> {
        self.ready.iter().map(|key| key.stream)
    }

    /// A frame has gone out: the stream keeps its key or moves back in the queue.
    ///
    /// Weighted is start-time fair queueing (Goyal, Vin and Cheng, 1996): a frame's start tag is the finish tag of
    /// the stream's previous frame, which is that frame's start tag plus length / weight. So what two streams that
    /// are always ready have sent, divided by their weights, never differs by more than a frame of each.
    pub(super) fn sent(&mut self, stream: u32, len: u64) {
        let arrival = self.take_arrival();
        let Some(entry) = self.entries.get_mut(&stream) else { return };
        let mut key = entry.key;
        match self.policy {
            Policy::FirstComeFirstServed | Policy::Tree => return,
            Policy::Priority if !entry.priority.incremental => return,
            Policy::Priority | Policy::RoundRobin => key.arrival = arrival,
            Policy::Weighted => {
                self.virtual_time = key.start_tag;
                key.start_tag = key.start_tag.saturating_add(cost(len, WEIGHTS[usize::from(entry.priority.urgency())]));
                key.arrival = arrival;
            }
        }
        if entry.is_ready {
            self.ready.remove(&entry.key);
            self.ready.insert(key);
        }
        entry.key = key;
    }

    /// Changes a stream's priority.
    pub(super) fn prioritise(&mut self, stream: u32, priority: Priority) {
        let arrival = self.take_arrival();
        let is_ready = self.entries.get(&stream).is_some_and(|entry| entry.is_ready);
        self.block(stream);
        let Some(entry) = self.entries.get_mut(&stream) else { return };
        if !entry.priority.incremental && entry.key.arrival == 0 {
            entry.key.arrival = arrival;
        }
        entry.priority = priority;
        self.rekey(stream);
        if is_ready {
            self.unblock(stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_becomes_incremental_goes_behind_those_that_are_rfc9218_10() {
        let incremental = Priority::incremental_at(Priority::default().urgency());
        let mut queue = FairQueue::new(Policy::Priority);
        for (stream, priority) in [(1, incremental), (3, incremental), (5, Priority::default())] {
            queue.open(stream, priority);
            queue.enqueue(stream);
            queue.unblock(stream);
        }
        assert_eq!(queue.streams().collect::<Vec<_>>(), [5, 1, 3], "one after the other, and then in turn");
        queue.prioritise(5, incremental);
        assert_eq!(queue.streams().collect::<Vec<_>>(), [1, 3, 5]);
    }
}
