//! The client's end.

use super::push::LAST_STREAM;
use super::{Framing, Multiplexing, Perspective, RequestOrder, RequestWrites, Streams};
use crate::pending::{Method, Outgoing, Pending};
use crate::{
    Chunk, ClientSession, Content, Error, Event, Fields, PersistedSettings, Priority, RequestHead, RequestId, Session,
    TransportStream, Wire,
};
use loadstone_units::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A client's end of a session.
#[derive(Debug)]
pub(crate) struct Client<F> {
    streams: Streams<F>,
    order: RequestOrder,
    writes: RequestWrites,
    /// Requests that are not on the wire: the most urgent first if they go by priority, then the earliest. Their heads are
    /// compressed when they go out, since compression depends on the order on the wire.
    waiting: BTreeMap<(u8, RequestId), OpenRequest>,
    next_id: u32,
    next_stream: u32,
}

#[derive(Debug)]
struct OpenRequest {
    head: Arc<RequestHead>,
    content: Outgoing,
    priority: Priority,
}

impl<F: Framing> Client<F> {
    /// The client's end of a new connection.
    pub(crate) fn new(framing: F, config: &Multiplexing) -> Client<F> {
        let streams = Streams::new(framing, Perspective::Client, config);
        let (order, writes) = (config.request_order, config.request_writes);
        Client { streams, order, writes, waiting: BTreeMap::new(), next_id: 0, next_stream: 1 }
    }

    /// Whether the peer's limit lets one more stream be open. The peer may have lowered it since the
    /// waiting requests were accepted.
    fn may_ask(&self) -> bool {
        self.streams.open_streams.len() - self.streams.pushes < self.streams.peer_max_streams
    }

    /// The streamed body of a request that is not on the wire.
    fn pending(&mut self, id: RequestId) -> Option<&mut Pending> {
        self.waiting.iter_mut().find(|((_, waiting), _)| *waiting == id)?.1.content.pending()
    }

    /// The body does not match content-length: cancels the queued request.
    fn give_up_waiting(&mut self, id: RequestId) {
        self.cancel(id);
        self.streams.events.push_back(Event::Reset { id });
    }

    /// Refuses the queued requests, so that the program sends them on another connection.
    fn refuse_waiting(&mut self) {
        let refused = std::mem::take(&mut self.waiting).into_keys();
        self.streams.events.extend(refused.map(|(_, id)| Event::Refused { id }));
    }

    /// Sends a request's head; returns what is left of `room`.
    fn ask(&mut self, id: RequestId, request: OpenRequest, room: u64, out: &mut Wire) -> u64 {
        let OpenRequest { head, content, priority } = request;
        let stream = self.next_stream;
        self.next_stream += 2;
        let end = content.is_nothing();
        self.streams.last_local = stream;
        self.streams.open(stream, id, Method::of(&head), priority);
        let state = self.streams.open_streams.get_mut(&stream).expect("it has just been opened");
        state.asked = Some(head.clone());
        let frame = self.streams.framing.request(stream, &head, priority, end);
        self.streams.note_sent(stream, end);
        if !end {
            self.streams.scheduler.send(stream, None, content);
        }
        self.streams.events.push_back(Event::Sent { id });
        self.streams.write_frame(frame, room, out)
    }
}

impl<F: Framing> Session for Client<F> {
    fn handle_input(&mut self, _: Time, on: TransportStream, input: &[Chunk]) -> Result<(), Error> {
        debug_assert_eq!(on, TransportStream::TCP);
        let result = self.streams.handle_input(input);
        if self.streams.is_closing() {
            self.refuse_waiting();
        }
        result
    }

    fn handle_fin(&mut self, _: Time, on: TransportStream) -> Result<(), Error> {
        debug_assert_eq!(on, TransportStream::TCP);
        let result = self.streams.handle_fin();
        self.refuse_waiting();
        result
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_transmit(&mut self, _: Time, on: TransportStream, room: usize, out: &mut Wire) {
        debug_assert_eq!(on, TransportStream::TCP);
        let before = out.len();
        let mut room = self.streams.flush(room, out);
        let is_apart = self.writes == RequestWrites::Apart;
        let is_over = |out: &Wire| is_apart && out.len() > before;
        while room > 0
            && !is_over(out)
            && self.may_ask()
            && let Some(((_, id), request)) = self.waiting.pop_first()
        {
            room = self.ask(id, request, room, out);
        }
        if !is_over(out) {
            self.streams.transmit(room, out);
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.streams.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn is_partial(&self) -> bool {
        self.streams.is_partial()
    }

    fn has_output(&self) -> bool {
        self.streams.has_output() || (!self.waiting.is_empty() && self.may_ask())
    }

    fn ping(&mut self) {
        self.streams.ping();
    }

    fn append(&mut self, id: RequestId, chunk: Chunk) {
        let Some(pending) = self.pending(id) else { return self.streams.append(id, chunk) };
        if pending.append(chunk).is_err() {
            self.give_up_waiting(id);
        }
    }

    fn finish(&mut self, id: RequestId, trailers: Fields) {
        let trailers = self.streams.fitting(trailers);
        let Some(pending) = self.pending(id) else { return self.streams.finish(id, &trailers) };
        if pending.finish(&trailers).is_err() {
            self.give_up_waiting(id);
        }
    }

    fn buffered(&self, id: RequestId) -> u64 {
        let waiting = self.waiting.iter().find(|((_, waiting), _)| *waiting == id);
        waiting.map_or_else(|| self.streams.buffered(id), |(_, request)| request.content.buffered())
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
        self.waiting.retain(|(_, waiting), _| *waiting != id);
        self.streams.cancel(id);
    }

    fn shut_down(&mut self) {
        self.streams.shut_down();
        self.refuse_waiting();
    }

    fn is_over(&self) -> bool {
        self.streams.is_over() && self.waiting.is_empty()
    }
}

impl<F: Framing> ClientSession for Client<F> {
    fn capacity(&self) -> usize {
        if self.is_closing() {
            return 0;
        }
        let taken = self.streams.open_streams.len() - self.streams.pushes + self.waiting.len();
        self.streams.peer_max_streams.saturating_sub(taken)
    }

    fn persisted(&self) -> PersistedSettings {
        self.streams.framing.persisted()
    }

    fn is_closing(&self) -> bool {
        // Stream ids run out.
        self.streams.is_closing() || self.next_id >= LAST_STREAM / 2
    }

    fn request(&mut self, head: Arc<RequestHead>, content: Content, priority: Priority) -> RequestId {
        assert!(self.capacity() > 0, "a request beyond the session's capacity");
        let id = RequestId(self.next_id);
        self.next_id += 1;
        if head.http1_len() > self.streams.framing.max_message_head() {
            self.streams.events.push_back(Event::Reset { id });
            return id;
        }
        let content = Outgoing::of_request(&head, content);
        let before = match self.order {
            RequestOrder::Priority => priority.urgency(),
            RequestOrder::FirstComeFirstServed => 0,
        };
        self.waiting.insert((before, id), OpenRequest { head, content, priority });
        id
    }
}
