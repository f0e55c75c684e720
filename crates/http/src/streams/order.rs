//! Which stream goes next, of those that have something to send and a window for it.

use super::config::Policy;
use super::fair_queue::FairQueue;
use super::tree::{StreamDependency, Tree};
use crate::Priority;

/// The order of sending by one policy.
#[derive(Debug)]
pub(super) enum Order {
    Queue(FairQueue),
    Tree(Tree),
}

impl Order {
    /// No streams.
    pub(super) fn new(policy: Policy) -> Order {
        match policy {
            Policy::Tree => Order::Tree(Tree::new()),
            policy => Order::Queue(FairQueue::new(policy)),
        }
    }

    /// Adds a stream that has nothing to send yet.
    pub(super) fn open(&mut self, stream: u32, priority: Priority) {
        match self {
            Order::Queue(line) => line.open(stream, priority),
            Order::Tree(tree) => tree.open(stream),
        }
    }

    /// The stream's message is there: it arrives in the queue.
    pub(super) fn enqueue(&mut self, stream: u32) {
        if let Order::Queue(line) = self {
            line.enqueue(stream);
        }
    }

    /// The stream has something to send and a window for it.
    pub(super) fn unblock(&mut self, stream: u32) {
        match self {
            Order::Queue(line) => line.unblock(stream),
            Order::Tree(tree) => tree.unblock(stream),
        }
    }

    /// The stream waits for content or for a window.
    pub(super) fn block(&mut self, stream: u32) {
        match self {
            Order::Queue(line) => line.block(stream),
            Order::Tree(tree) => tree.block(stream),
        }
    }

    /// The stream sends no more.
    pub(super) fn close(&mut self, stream: u32) {
        match self {
            Order::Queue(line) => line.close(stream),
            Order::Tree(tree) => tree.close(stream),
        }
    }

    /// The stream that sends next.
    pub(super) fn next(&self) -> Option<u32> {
        match self {
            Order::Queue(line) => line.next(),
            Order::Tree(tree) => tree.next(),
        }
    }

    /// The next stream of those for which `may` holds.
    pub(super) fn next_of(&self, may: impl Fn(u32) -> bool) -> Option<u32> {
        match self {
            Order::Queue(line) => line.streams().find(|stream| may(*stream)),
            Order::Tree(tree) => tree.streams().find(|stream| may(*stream)),
        }
    }

    /// The stream has sent `len` bytes of content.
    pub(super) fn sent(&mut self, stream: u32, len: u64) {
        match self {
            Order::Queue(line) => line.sent(stream, len),
            Order::Tree(tree) => tree.sent(stream, len),
        }
    }

    /// Changes the priority of an open stream (RFC 9218, section 7).
    pub(super) fn prioritise(&mut self, stream: u32, priority: Priority) {
        if let Order::Queue(line) = self {
            line.prioritise(stream, priority);
        }
    }

    /// Sets a stream's dependency (RFC 7540, section 5.3).
    pub(super) fn depend(&mut self, stream: u32, dependency: StreamDependency) {
        if let Order::Tree(tree) = self {
            tree.depend(stream, dependency);
        }
    }
}
