//! The end that answers.

use super::push::stream_of;
use super::{Answer, Framing, Multiplexing, Role, Streams};
use crate::{
    Body, Chunk, Error, Event, Fields, Kept, Priority, RequestHead, ResponseHead, ServerSession, Session, StreamId,
    Wire,
};
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

    fn ping(&mut self) {
        self.streams.ping();
    }

    fn cancel(&mut self, id: StreamId) {
        self.streams.cancel(stream_of(id));
    }

    fn shut_down(&mut self) {
        self.streams.shut_down();
    }

    fn is_over(&self) -> bool {
        self.streams.is_over()
    }
}

impl<F: Framing> ServerSession for Server<F> {
    /// A head that is too long for the protocol becomes a status of 500.
    fn respond(&mut self, id: StreamId, head: Arc<ResponseHead>, body: Body) {
        let stream = stream_of(id);
        let last = if id.is_pushed() { self.streams.last_ours } else { self.streams.last_theirs };
        assert!(stream <= last, "a response to a request that never came");
        // It may have been reset meanwhile, or have been answered for being no good.
        let Some(state) = self.streams.open.get_mut(&stream).filter(|state| state.answer != Answer::Own) else {
            return;
        };
        assert!(state.answer == Answer::Awaited, "a second response to one request");
        state.answer = Answer::Given;
        let (head, body) = if head.http1_len() <= self.streams.framing.most_head() {
            (head, body)
        } else {
            (Arc::new(ResponseHead::new(500, Fields::from_pairs([("content-length", "0")]))), Body::EMPTY)
        };
        self.streams.lanes.send(stream, Some(head), body);
    }

    fn keep(&mut self, settings: &Kept) {
        let frame = self.streams.framing.keep(settings);
        self.streams.answers.push(Chunk::Bytes(frame));
    }

    fn returned(&self) -> Kept {
        self.streams.framing.kept()
    }

    fn inform(&mut self, id: StreamId, head: Arc<ResponseHead>) {
        self.streams.inform(id, head);
    }

    fn push(&mut self, parent: StreamId, head: Arc<RequestHead>, priority: Priority) -> Option<StreamId> {
        self.streams.promise(parent, head, priority)
    }
}
