//! Puts messages on the wire, as far as there is room; keeps the rest of the one that was begun.

use super::streamed_body::StreamedBody;
use crate::pending::Pending;
use crate::{Body, Chunk, RequestId, Wire};
use bytes::Bytes;

/// The part of a message that has been begun and did not fit into the room, or has not been appended.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    unsent: Wire,
    /// The body of the message, if it is streamed.
    open: Option<(RequestId, StreamedBody)>,
}

impl Outbox {
    /// Whether a message that was begun has a rest.
    pub(super) fn is_begun(&self) -> bool {
        !self.unsent.is_empty() || self.open.is_some()
    }

    /// Whether its body is streamed.
    pub(super) fn is_any_streaming(&self) -> bool {
        self.open.is_some()
    }

    /// Whether something of it can go.
    pub(super) fn has_output(&self) -> bool {
        !self.unsent.is_empty() || self.open.as_ref().is_some_and(|(_, open)| open.has_output())
    }

    /// Goes on with the message that was begun; what is then left of `room` is for new ones.
    pub(super) fn resume(&mut self, room: usize, out: &mut Wire) -> u64 {
        let room = room as u64;
        let count = room.min(self.unsent.len());
        self.unsent.move_to(count, out);
        if self.open.is_some() { self.go_on(room - count, out) } else { room - count }
    }

    /// Begins a message; returns what is left of `room`, which is nothing if the message did not fit.
    pub(super) fn begin(&mut self, head: Bytes, body: Body, room: u64, out: &mut Wire) -> u64 {
        let mut left = room;
        for mut chunk in [Chunk::Bytes(head), Chunk::Run { body: body.id, offset: 0, len: body.len }] {
            let fits = chunk.len().min(left);
            left -= fits;
            if fits < chunk.len() {
                out.push(chunk.split_to(fits));
                self.unsent.push(chunk);
            } else {
                out.push(chunk);
            }
        }
        left
    }

    /// Begins a message with a streamed body; nothing is left of `room` until it is complete.
    pub(super) fn begin_open(
        &mut self,
        id: RequestId,
        head: Bytes,
        open: StreamedBody,
        room: u64,
        out: &mut Wire,
    ) -> u64 {
        let left = self.begin(head, Body::EMPTY, room, out);
        self.open = Some((id, open));
        self.go_on(left, out)
    }

    fn go_on(&mut self, room: u64, out: &mut Wire) -> u64 {
        let Some((_, open)) = &mut self.open else { return room };
        let left = open.put(room, out, &mut self.unsent);
        self.settle();
        if self.open.is_some() { 0 } else { left }
    }

    /// What was appended to the message that was begun, if it is this one.
    pub(super) fn pending(&mut self, id: RequestId) -> Option<&mut Pending> {
        self.open.as_mut().filter(|(open, _)| *open == id).map(|(_, open)| &mut *open.pending)
    }

    /// Whether the message that was begun is this one, and its body is streamed.
    pub(super) fn is_streaming(&self, id: RequestId) -> bool {
        self.open.as_ref().is_some_and(|(open, _)| *open == id)
    }

    /// Bytes that were appended to this message and not sent.
    pub(super) fn buffered(&self, id: RequestId) -> u64 {
        self.open.as_ref().filter(|(open, _)| *open == id).map_or(0, |(_, open)| open.pending.len())
    }

    /// Drops the message if it is complete.
    pub(super) fn settle(&mut self) {
        self.open.take_if(|(_, open)| open.is_over());
    }
}
