//! The end that answers.

use super::{Framing, Multiplexing, Role, Streams};
use crate::{Body, Chunk, Error, Event, ResponseHead, ServerSession, Session, StreamId, Wire};
use loadstone_units::Time;
use std::sync::Arc;

/// A server's end of a session. Which response goes next is decided when there is room for it.
#[derive(Debug)]
pub(crate) struct Server<F> {
    streams: Streams<F>,
}

impl<F: Framing> Server<F> {
    /// The server's end of a new connection.
    pub(crate) fn new(framing: F, config: &Multiplexing) -> Server<F> {
        Server { streams: Streams::new(framing, Role::Server, config) }
    }
}

impl<F: Framing> Session for Server<F> {
    fn handle_input(&mut self, _: Time, input: &[Chunk]) -> Result<(), Error> {
        self.streams.handle_input(input)
    }

    fn handle_close(&mut self, _: Time) -> Result<(), Error> {
        self.streams.handle_close()
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_transmit(&mut self, _: Time, room: usize, out: &mut Wire) {
        let room = self.streams.flush(room, out);
        self.streams.transmit(room, out);
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.streams.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn has_output(&self) -> bool {
        self.streams.has_output()
    }
}

impl<F: Framing> ServerSession for Server<F> {
    fn respond(&mut self, id: StreamId, head: Arc<ResponseHead>, body: Body) {
        // A stream that was reset meanwhile has no lane: the answer goes nowhere.
        self.streams.lanes.send(2 * id.0 + 1, Some(head), body);
    }
}
