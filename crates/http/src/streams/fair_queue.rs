//! Streams that wait in a line: one after the other, in turn, or by what they have had for their weight.

use super::config::Policy;
use super::weight::cost;
use crate::Priority;
use std::collections::{BTreeMap, BTreeSet};

/// Weights of the urgencies 0 to 7: what Chromium wrote into HTTP/2's frames for them (256 to 1 in equal
/// steps, rounded).
const WEIGHTS: [u16; 8] = [256, 220, 183, 147, 110, 74, 37, 1];

/// All streams, and the line of those that are ready.
#[derive(Debug)]
pub(super) struct FairQueue {
    policy: Policy,
    entries: BTreeMap<u32, QueuedStream>,
    ready: BTreeSet<QueueKey>,
    /// The next number for those who wait in line.
    next_arrival: u64,
    /// Virtual time: the one of who went last.
    virtual_time: u64,
}

#[derive(Debug)]
struct QueuedStream {
    priority: Priority,
    key: QueueKey,
    /// Whether the turn is in the line: kept here, since to look for it there takes longer.
    is_ready: bool,
}

/// A stream's place in the order of sending.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct QueueKey {
    urgency: u8,
    /// Weighted: what it has had for its weight, in virtual time.
    start_tag: u64,
    arrival: u64,
    stream: u32,
}

impl FairQueue {
    /// Nobody waits.
    pub(super) fn new(policy: Policy) -> FairQueue {
        FairQueue { policy, entries: BTreeMap::new(), ready: BTreeSet::new(), next_arrival: 1, virtual_time: 0 }
    }

    pub(super) fn open(&mut self, stream: u32, priority: Priority) {
        let key = QueueKey { urgency: 0, start_tag: 0, arrival: 0, stream };
        self.entries.insert(stream, QueuedStream { priority, key, is_ready: false });
    }

    /// The stream takes its place.
    pub(super) fn enqueue(&mut self, stream: u32) {
        let arrival = self.take_arrival();
        self.block(stream);
        let Some(entry) = self.entries.get_mut(&stream) else { return };
        entry.key.arrival = arrival;
        self.rekey(stream);
    }

    /// Gives a turn the form that the policy and its priority demand.
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
        // Who was away has saved nothing meanwhile.
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

    /// Those that are ready, in their order.
    pub(super) fn streams(&self) -> impl Iterator<Item = u32> {
        self.ready.iter().map(|key| key.stream)
    }

    /// A frame has gone out: the stream keeps its turn or goes back in the line.
    ///
    /// Weighted streams go by start-time fair queueing (Goyal, Vin and Cheng, 1996): a frame's time is the end of
    /// the one before, its length divided by the weight later. So what two streams that are always ready have
    /// sent, divided by their weights, never differs by more than a frame of each.
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

    /// The stream has another priority from now on.
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
