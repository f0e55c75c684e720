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
    turns: BTreeSet<Turn>,
    /// The next number for those who wait in line.
    next_place: u64,
    /// Virtual time: the one of who went last.
    now: u64,
}

#[derive(Debug)]
struct QueuedStream {
    priority: Priority,
    turn: Turn,
    /// Whether the turn is in the line: kept here, since to look for it there takes longer.
    is_ready: bool,
}

/// A stream's place in the order of sending.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Turn {
    urgency: u8,
    /// Weighted: what it has had for its weight, in virtual time.
    time: u64,
    place: u64,
    stream: u32,
}

impl FairQueue {
    /// Nobody waits.
    pub(super) fn new(policy: Policy) -> FairQueue {
        FairQueue { policy, entries: BTreeMap::new(), turns: BTreeSet::new(), next_place: 1, now: 0 }
    }

    pub(super) fn open(&mut self, stream: u32, priority: Priority) {
        let turn = Turn { urgency: 0, time: 0, place: 0, stream };
        self.entries.insert(stream, QueuedStream { priority, turn, is_ready: false });
    }

    /// The stream takes its place.
    pub(super) fn begin(&mut self, stream: u32) {
        let place = self.take_place();
        self.block(stream);
        let Some(entry) = self.entries.get_mut(&stream) else { return };
        entry.turn.place = place;
        self.settle(stream);
    }

    /// Gives a turn the form that the policy and its priority demand.
    fn settle(&mut self, stream: u32) {
        let Some(entry) = self.entries.get_mut(&stream) else { return };
        if self.policy == Policy::Priority {
            entry.turn.urgency = entry.priority.urgency();
            entry.turn.place = if entry.priority.incremental { entry.turn.place } else { 0 };
        }
    }

    fn take_place(&mut self) -> u64 {
        self.next_place += 1;
        self.next_place - 1
    }

    pub(super) fn unblock(&mut self, stream: u32) {
        let Some(entry) = self.entries.get_mut(&stream).filter(|entry| !entry.is_ready) else { return };
        // Who was away has saved nothing meanwhile.
        entry.turn.time = entry.turn.time.max(self.now);
        entry.is_ready = true;
        self.turns.insert(entry.turn);
    }

    pub(super) fn block(&mut self, stream: u32) {
        if let Some(entry) = self.entries.get_mut(&stream).filter(|entry| entry.is_ready) {
            entry.is_ready = false;
            self.turns.remove(&entry.turn);
        }
    }

    pub(super) fn close(&mut self, stream: u32) {
        if let Some(entry) = self.entries.remove(&stream).filter(|entry| entry.is_ready) {
            self.turns.remove(&entry.turn);
        }
    }

    pub(super) fn next(&self) -> Option<u32> {
        self.turns.first().map(|turn| turn.stream)
    }

    /// Those that are ready, in their order.
    pub(super) fn streams(&self) -> impl Iterator<Item = u32> {
        self.turns.iter().map(|turn| turn.stream)
    }

    /// A frame has gone out: the stream keeps its turn or goes back in the line.
    ///
    /// Weighted streams go by start-time fair queueing (Goyal, Vin and Cheng, 1996): a frame's time is the end of
    /// the one before, its length divided by the weight later. So what two streams that are always ready have
    /// sent, divided by their weights, never differs by more than a frame of each.
    pub(super) fn sent(&mut self, stream: u32, len: u64) {
        let place = self.take_place();
        let Some(entry) = self.entries.get_mut(&stream) else { return };
        let mut turn = entry.turn;
        match self.policy {
            Policy::FirstComeFirstServed | Policy::Tree => return,
            Policy::Priority if !entry.priority.incremental => return,
            Policy::Priority | Policy::RoundRobin => turn.place = place,
            Policy::Weighted => {
                self.now = turn.time;
                turn.time = turn.time.saturating_add(cost(len, WEIGHTS[usize::from(entry.priority.urgency())]));
                turn.place = place;
            }
        }
        if entry.is_ready {
            self.turns.remove(&entry.turn);
            self.turns.insert(turn);
        }
        entry.turn = turn;
    }

    /// The stream has another priority from now on.
    pub(super) fn prioritise(&mut self, stream: u32, priority: Priority) {
        let place = self.take_place();
        let is_ready = self.entries.get(&stream).is_some_and(|entry| entry.is_ready);
        self.block(stream);
        let Some(entry) = self.entries.get_mut(&stream) else { return };
        if !entry.priority.incremental && entry.turn.place == 0 {
            entry.turn.place = place;
        }
        entry.priority = priority;
        self.settle(stream);
        if is_ready {
            self.unblock(stream);
        }
    }
}
