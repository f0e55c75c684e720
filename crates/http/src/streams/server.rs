//! The server's end.

use super::push::stream_of;
use super::{Framing, Multiplexing, Perspective, ResponseState, Streams};
use crate::pending::Outgoing;
use crate::{
    Body, Chunk, Content, Error, Event, Fields, PersistedSettings, Priority, RequestHead, RequestId, ResponseHead,
    ServerSession, Session, TransportStream, Wire,
};
use loadstone_units::Time;
use std::sync::Arc;

/// A server's end of a session. Which response is sent next is decided when there is room for it.
#[derive(Debug)]
pub(crate) struct Server<F> {
    streams: Streams<F>,
}

impl<F: Framing> Server<F> {
    /// The server's end of a new connection.
    pub(crate) fn new(framing: F, config: &Multiplexing) -> Server<F> {
        Server { streams: Streams::new(framing, Perspective::Server, config) }
    }
}

impl<F: Framing> Session for Server<F> {
    fn handle_input(&mut self, _: Time, on: TransportStream, input: &[Chunk]) -> Result<(), Error> {
        debug_assert_eq!(on, TransportStream::TCP);
        self.streams.handle_input(input)
    }

    fn handle_fin(&mut self, _: Time, on: TransportStream) -> Result<(), Error> {
        debug_assert_eq!(on, TransportStream::TCP);
        self.streams.handle_fin()
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_transmit(&mut self, _: Time, on: TransportStream, room: usize, out: &mut Wire) {
        debug_assert_eq!(on, TransportStream::TCP);
        let room = self.streams.flush(room, out);
        self.streams.transmit(room, out);
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.streams.poll_event()
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn is_partial(&self) -> bool {
        self.streams.is_partial()
    }

    fn has_output(&self) -> bool {
        self.streams.has_output()
    }

    fn ping(&mut self) {
        self.streams.ping();
    }

    fn append(&mut self, id: RequestId, chunk: Chunk) {
        self.streams.append(id, chunk);
    }

    fn finish(&mut self, id: RequestId, trailers: Fields) {
        let trailers = self.streams.fitting(trailers);
        self.streams.finish(id, &trailers);
    }

    fn buffered(&self, id: RequestId) -> u64 {
        self.streams.buffered(id)
    }

    fn hold(&mut self) {
        self.streams.hold();
    }

    fn release(&mut self, id: RequestId, bytes: u64) {
        self.streams.release(id, bytes);
    }

    fn poll_used(&mut self, _: TransportStream) -> u64 {
        self.streams.held.as_mut().map_or(0, |held| held.poll_used())
    }

    fn cancel(&mut self, id: RequestId) {
        self.streams.cancel(id);
    }

    fn shut_down(&mut self) {
        self.streams.shut_down();
    }

    fn is_over(&self) -> bool {
        self.streams.is_over()
    }
}

impl<F: Framing> ServerSession for Server<F> {
    /// A head that is too long for the protocol is replaced by status 500.
    fn respond(&mut self, id: RequestId, head: Arc<ResponseHead>, content: Content) {
        let stream = stream_of(id);
        let last = if id.is_pushed() { self.streams.last_local } else { self.streams.last_remote };
        assert!(stream <= last, "a response to a request that never came");
        // The stream may have been reset meanwhile, or the session has responded with status 400.
        let Some(state) =
            self.streams.open_streams.get_mut(&stream).filter(|state| state.response != ResponseState::FromSession)
        else {
            return;
        };
        assert!(state.response == ResponseState::Awaited, "a second response to one request");
        state.response = ResponseState::FromProgram;
        let (head, content) = if head.http1_len() <= self.streams.framing.max_message_head() {
            let content = Outgoing::of_response(&head, state.method, content);
            (head, content)
        } else {
            let head = ResponseHead::new(500, Fields::from_pairs([("content-length", "0")]));
            (Arc::new(head), Outgoing::Whole(Body::EMPTY))
        };
        self.streams.scheduler.send(stream, Some(head), content);
    }

    fn persist(&mut self, settings: &PersistedSettings) {
        let frame = self.streams.framing.persist(settings);
        self.streams.control_queue.push(Chunk::Bytes(frame));
    }

    fn persisted(&self) -> PersistedSettings {
        self.streams.framing.persisted()
    }

    fn send_interim(&mut self, id: RequestId, head: Arc<ResponseHead>) {
        self.streams.send_interim(id, head);
    }

    fn push(&mut self, parent: RequestId, head: Arc<RequestHead>, priority: Priority) -> Option<RequestId> {
        self.streams.promise(parent, head, priority)
    }
}
