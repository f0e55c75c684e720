//! Content that has come and that the program has not used yet.

use crate::{Chunk, RequestId};
use std::collections::BTreeMap;

/// What keeps a peer from sending more while content is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BackPressure {
    /// The protocol's flow control: what arrives on the transport is read at once.
    FlowControl,
    /// The transport's: content that is not used is not read from the socket.
    Transport,
}

/// Counts the content that the program has not released.
#[derive(Debug)]
pub(crate) struct Held {
    back_pressure: BackPressure,
    streams: BTreeMap<RequestId, u64>,
    /// Bytes of the transport that were used since the last [`Held::poll_used`].
    used: u64,
    /// Content of the current frame that the program has got.
    in_frame: u64,
    /// Bytes of input that the session has not read.
    unread: u64,
}

impl Held {
    pub(crate) fn new(bound: BackPressure) -> Held {
        Held { back_pressure: bound, streams: BTreeMap::new(), used: 0, in_frame: 0, unread: 0 }
    }

    /// Counts all input as used; [`Held::take`] takes back what is content.
    pub(crate) fn handle_input(&mut self, input: &[Chunk]) {
        self.used += input.iter().map(Chunk::len).sum::<u64>();
    }

    /// The session leaves so many bytes of its input unread: they are not used.
    pub(crate) fn set_unread(&mut self, bytes: u64) {
        self.used = self.used + self.unread - bytes;
        self.unread = bytes;
    }

    /// The program gets content.
    pub(crate) fn take(&mut self, id: RequestId, len: u64) {
        *self.streams.entry(id).or_insert(0) += len;
        self.in_frame += len;
        if self.back_pressure == BackPressure::Transport {
            self.used -= len;
        }
    }

    /// The program has used content. Returns how much of it was held.
    pub(crate) fn release(&mut self, id: RequestId, bytes: u64) -> u64 {
        let Some(held) = self.streams.get_mut(&id) else { return 0 };
        let released = bytes.min(*held);
        *held -= released;
        if *held == 0 {
            self.streams.remove(&id);
        }
        if self.back_pressure == BackPressure::Transport {
            self.used += released;
        }
        released
    }

    /// The program wants no more of a request. Returns how much of it was held.
    pub(crate) fn forget(&mut self, id: RequestId) -> u64 {
        self.release(id, u64::MAX)
    }

    pub(crate) fn poll_used(&mut self) -> u64 {
        std::mem::take(&mut self.used)
    }

    /// The frame is complete. Returns how much of it the program got.
    pub(crate) fn end_frame(&mut self) -> u64 {
        std::mem::take(&mut self.in_frame)
    }
}
