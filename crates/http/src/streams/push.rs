//! Server push (RFC 9113, section 8.4; draft 2, "Server Push Transactions"; draft 3, section 3.3) and interim
//! responses: what is sent before responses.

use super::stream_state::{CloseReason, RecvState, StreamState};
use super::violation::{ErrorAction, StreamViolation};
use super::{Decoded, Framing, Perspective, Promise, Push, ResponseState, StreamDependency, Streams};
use crate::pending::Method;
use crate::{Event, PeerFault, Priority, RequestHead, RequestId, ResponseHead, Wire};
use std::sync::Arc;

/// The largest stream id.
pub(super) const LAST_STREAM: u32 = 0x7fff_ffff;

/// What is sent before responses. Heads are compressed when they go out, since compression depends on the
/// order on the wire.
#[derive(Debug)]
pub(super) enum Early {
    Promise(Promise),
    Interim { stream: u32, head: Arc<ResponseHead> },
}

/// A server's request id of a stream, by the order of stream ids; also a client's, for pushes.
pub(super) fn request_id(stream: u32) -> RequestId {
    match stream % 2 {
        1 => RequestId(stream / 2),
        _ => RequestId(RequestId::PUSHED.0 + stream / 2 - 1),
    }
}

/// The stream of a server's request id; the inverse of [`request_id`].
pub(super) fn stream_of(id: RequestId) -> u32 {
    // A place that is too large is no stream's.
    let (place, first) = if id.is_pushed() { (id.0 - RequestId::PUSHED.0, 2) } else { (id.0, 1) };
    place.saturating_mul(2).saturating_add(first)
}

impl<F: Framing> Streams<F> {
    /// Opens a push associated with `parent`, if the client and the limits allow it.
    pub(super) fn promise(
        &mut self,
        parent: RequestId,
        head: Arc<RequestHead>,
        priority: Priority,
    ) -> Option<RequestId> {
        let parent = stream_of(parent);
        let has_parent = self
            .open_streams
            .get(&parent)
            .is_some_and(|state| !state.is_sent && state.response != ResponseState::FromSession);
        let may_push = self.peer_push == Push::Accept && !self.is_closing();
        // Also bounded by our own limit: a client that sets no limit must not make us buffer responses
        // without end.
        let has_room =
            self.pushes < self.peer_max_streams.min(self.local_max_streams) && self.last_local < LAST_STREAM - 2;
        let fits = head.http1_len() <= self.framing.max_message_head();
        if parent.is_multiple_of(2) || !has_parent || !may_push || !has_room || !fits {
            return None;
        }
        let stream = self.last_local + 2;
        let id = request_id(stream);
        self.last_local = stream;
        self.open(stream, id, Method::of(&head), priority);
        self.scheduler.depend(stream, StreamDependency::default_on(parent));
        let state = self.open_streams.get_mut(&stream).expect("it has just been opened");
        (state.recv_state, state.parent) = (RecvState::Complete, parent);
        self.early.push_back(Early::Promise(Promise { stream, parent, head, priority }));
        Some(id)
    }

    /// Queues an interim response, unless the final response has been given.
    pub(super) fn send_interim(&mut self, id: RequestId, head: Arc<ResponseHead>) {
        let stream = stream_of(id);
        if self.open_streams.get(&stream).is_some_and(|state| state.response == ResponseState::Awaited) {
            self.early.push_back(Early::Interim { stream, head });
        }
    }

    /// Puts promises and interim responses on the wire; returns what is left of `room`.
    pub(super) fn transmit_early(&mut self, mut room: u64, out: &mut Wire) -> u64 {
        while room > 0
            && let Some(early) = self.early.pop_front()
        {
            let frame = match early {
                Early::Promise(promise) if !self.open_streams.contains_key(&promise.stream) => continue,
                Early::Promise(promise) if !self.open_streams.contains_key(&promise.parent) => {
                    self.drop_stream(promise.stream, |id| Event::Reset { id });
                    continue;
                }
                Early::Promise(promise) => {
                    let head = F::PUSHES_HEADS.then(|| self.scheduler.take_response_head(promise.stream)).flatten();
                    let end = head.as_ref().is_some_and(|(_, end)| *end);
                    let frame = self.framing.promise(&promise, head);
                    self.note_sent(promise.stream, end);
                    frame
                }
                Early::Interim { stream, .. } if !self.open_streams.contains_key(&stream) => continue,
                Early::Interim { stream, head } => self.framing.interim(stream, &head),
            };
            room = self.write_frame(frame, room, out);
        }
        room
    }

    /// The server has announced a push.
    pub(super) fn accept_push(&mut self, stream: u32, parent: u32, head: Decoded, end: bool) -> Result<(), PeerFault> {
        let is_next = stream.is_multiple_of(2) && stream > self.last_remote;
        if stream > 0 && stream == self.last_remote {
            return self.handle_violation(stream, StreamViolation::PromisedIdReused);
        }
        if self.role == Perspective::Server || !is_next {
            return Err(PeerFault::StreamOutOfOrder);
        }
        self.last_remote = stream;
        let is_ours = parent % 2 == 1;
        match self.state(parent) {
            StreamState::Idle => return self.handle_violation(stream, StreamViolation::BadAssociatedStream),
            _ if !is_ours => return self.handle_violation(stream, StreamViolation::BadAssociatedStream),
            StreamState::Open(RecvState::Head | RecvState::Body) if self.push == Push::Accept => {}
            // It was in flight when this end reset the associated stream, or pushes are not taken.
            _ => return self.decline(stream, StreamViolation::UnwantedPush),
        }
        if self.pushes >= self.local_max_streams || self.is_closing() {
            return self.decline(stream, StreamViolation::TooMany);
        }
        let (request, response) = match head {
            Decoded::Request(request, _) => (request, None),
            Decoded::Pushed(request, response) => (request, response),
            _ => return self.handle_violation(stream, StreamViolation::NotPromisable),
        };
        let opener = &self.open_streams[&parent];
        let (opener, asked) = (opener.id, opener.asked.as_ref());
        let is_same_origin =
            asked.is_some_and(|asked| asked.authority == request.authority && asked.scheme == request.scheme);
        // RFC 9113, section 8.4: safe, cacheable, without content.
        let is_fit = matches!(&request.method[..], b"GET" | b"HEAD") && is_same_origin;
        if !is_fit {
            return self.handle_violation(stream, StreamViolation::NotPromisable);
        }
        let id = request_id(stream);
        self.open(stream, id, Method::of(&request), Priority::default());
        let state = self.open_streams.get_mut(&stream).expect("it has just been opened");
        (state.is_sent, state.parent) = (true, parent);
        self.abuse.note_content();
        self.events.push_back(Event::Promised { id, parent: opener, head: request });
        match response {
            Some(response) => self.handle_response(stream, Decoded::Response(response), end),
            None if end => self.handle_violation(stream, StreamViolation::Malformed),
            None => Ok(()),
        }
    }

    /// Resets a push without counting it as abuse: the server cannot know how many are wanted.
    fn decline(&mut self, stream: u32, violation: StreamViolation) -> Result<(), PeerFault> {
        match self.framing.error_action(violation) {
            ErrorAction::Reset(status) => {
                let frame = self.framing.reset(stream, status);
                self.queue_control(frame);
                self.closed_streams.note(stream, CloseReason::LocalReset);
                Ok(())
            }
            _ => self.handle_violation(stream, violation),
        }
    }

    /// Closes the pushes that are associated with a stream, for this reason.
    pub(super) fn drop_pushes_of(&mut self, parent: u32, reason: CloseReason) {
        let pushed = self.open_streams.iter().filter(|(stream, state)| *stream % 2 == 0 && state.parent == parent);
        let pushed: Vec<u32> = pushed.map(|(stream, _)| *stream).collect();
        for stream in pushed {
            self.closed_streams.note(stream, reason);
            self.drop_stream(stream, |id| Event::Reset { id });
        }
    }

    /// The client forbids pushes: drops the promises not yet sent, since after SETTINGS ACK no PUSH_PROMISE may
    /// follow.
    pub(super) fn cancel_promises(&mut self) {
        let promised = self.early.iter().filter_map(|early| match early {
            Early::Promise(promise) => Some(promise.stream),
            Early::Interim { .. } => None,
        });
        let promised: Vec<u32> = promised.collect();
        promised.into_iter().for_each(|stream| self.drop_stream(stream, |id| Event::Reset { id }));
        self.early.retain(|early| matches!(early, Early::Interim { .. }));
    }

    /// Whether the PUSH_PROMISE of a stream has not been sent.
    pub(super) fn is_promise_queued(&self, stream: u32) -> bool {
        self.early.iter().any(|early| matches!(early, Early::Promise(promise) if promise.stream == stream))
    }
}
