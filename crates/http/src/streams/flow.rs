//! What the program appends to streamed bodies, and when it releases content that it has received.

use super::push::stream_of;
use super::{Framing, Perspective, Streams};
use crate::h1::MAX_HEAD;
use crate::held::{BackPressure, Held};
use crate::{Chunk, Event, Fields, RequestId};

impl<F: Framing> Streams<F> {
    /// The stream of this request, if it is open.
    pub(super) fn stream(&self, id: RequestId) -> Option<u32> {
        if self.role == Perspective::Server || id.is_pushed() {
            return Some(stream_of(id)).filter(|stream| self.open_streams.contains_key(stream));
        }
        // A client's requests leave in another order than they were made.
        self.open_streams.iter().find(|(_, state)| state.id == id).map(|(stream, _)| *stream)
    }

    pub(super) fn append(&mut self, id: RequestId, chunk: Chunk) {
        let Some(stream) = self.stream(id) else { return };
        if self.scheduler.append(stream, chunk).is_err() {
            self.give_up(id);
        }
    }

    pub(super) fn finish(&mut self, id: RequestId, trailers: &Fields) {
        let Some(stream) = self.stream(id) else { return };
        if self.scheduler.finish(stream, trailers).is_err() {
            self.give_up(id);
        }
    }

    /// Drops trailers that are too long for the protocol: a message is complete without them (RFC 9110,
    /// section 6.5.1).
    pub(super) fn fitting(&self, trailers: Fields) -> Fields {
        let max = self.framing.max_message_head().min(MAX_HEAD);
        if trailers.http1_len() <= max { trailers } else { Fields::default() }
    }

    pub(super) fn buffered(&self, id: RequestId) -> u64 {
        self.stream(id).map_or(0, |stream| self.scheduler.buffered(stream))
    }

    /// The body does not match content-length: resets the stream.
    fn give_up(&mut self, id: RequestId) {
        self.cancel(id);
        self.events.push_back(Event::Reset { id });
    }

    pub(super) fn hold(&mut self) {
        let bound = self.stream_window.map_or(BackPressure::Transport, |_| BackPressure::FlowControl);
        self.held = Some(Box::new(Held::new(bound)));
    }

    /// The program has used content of a message, which may be complete.
    pub(super) fn release(&mut self, id: RequestId, bytes: u64) {
        let released = self.held.as_mut().map_or(0, |held| held.release(id, bytes));
        let stream = self.stream(id).unwrap_or(0);
        self.release_held(stream, released);
    }

    /// The program wants no more of a request: what it has not used goes back to the session's window.
    pub(super) fn forget(&mut self, id: RequestId) {
        let released = self.held.as_mut().map_or(0, |held| held.forget(id));
        self.release_held(0, released);
    }

    /// With flow control no more is held than fits into the windows, so a `u32` is enough.
    fn release_held(&mut self, stream: u32, released: u64) {
        if released > 0 && self.connection_error.is_none() {
            self.release_capacity(stream, u32::try_from(released).unwrap_or(u32::MAX));
        }
    }
}
