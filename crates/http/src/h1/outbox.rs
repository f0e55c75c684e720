//! Puts messages on the wire, as far as there is room; keeps the rest of the one that was begun.

use crate::{Body, Chunk, Wire};
use bytes::Bytes;

/// The part of a message that has been begun and did not fit into the room.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    unsent: Wire,
}

impl Outbox {
    /// Whether a message that was begun has a rest.
    pub(super) fn is_begun(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Goes on with the message that was begun; what is then left of `room` is for new ones.
    pub(super) fn resume(&mut self, room: usize, out: &mut Wire) -> u64 {
        let room = room as u64;
        let count = room.min(self.unsent.len());
        self.unsent.move_to(count, out);
        room - count
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
}
