//! Applies the peer's frames to the streams.

use super::push::request_id;
use super::reader::Frames;
use super::stream_state::{CloseReason, RecvState, StreamState};
use super::violation::{ErrorAction, StreamViolation};
use super::{Decoded, Frame, FrameHeader, Framing, Perspective, Push, ResetCause, ResponseState, Stream, Streams};
use crate::h1::MAX_HEAD;
use crate::pending::{Method, Outgoing, announced};
use crate::{Body, Chunk, Event, Fields, PeerFault, Priority, RequestHead, ResponseHead};
use bytes::Bytes;
use std::sync::Arc;

/// Bytes of requests' heads that the program has not polled: further streams are refused. A few bytes of compressed
/// heads are many when they are decompressed, and a program polls after all that has arrived in one go.
const MAX_UNPOLLED_HEADS: usize = 1024 * 1024;

impl<F: Framing> Streams<F> {
    /// Reacts to a violation as the protocol demands.
    pub(super) fn handle_violation(&mut self, stream: u32, violation: StreamViolation) -> Result<(), PeerFault> {
        match self.framing.error_action(violation) {
            ErrorAction::Ignore => {}
            ErrorAction::Reset(status) => {
                // A client may open too many streams before it knows how many it may. Servers open none to have them
                // reset.
                if violation != StreamViolation::TooMany && self.role == Perspective::Server {
                    self.abuse.note_violation();
                }
                self.reset(stream, status);
            }
            ErrorAction::BadRequest => return self.respond_bad_request(stream),
            ErrorAction::End(fault) => return Err(fault),
        }
        Ok(())
    }

    /// Responds with status 400 in the program's place. If the program has already responded, the stream is
    /// reset instead.
    fn respond_bad_request(&mut self, stream: u32) -> Result<(), PeerFault> {
        let Some(state) = self.open_streams.get_mut(&stream) else { return Ok(()) };
        if state.response != ResponseState::Awaited {
            return self.handle_violation(stream, StreamViolation::Malformed);
        }
        state.response = ResponseState::FromSession;
        let (id, status) = (state.id, 400);
        // Of a head that breaks the rules nothing is left.
        let head = RequestHead::new(Bytes::new(), Bytes::new(), Bytes::new(), Fields::default());
        let head = Some(Arc::new(head)).filter(|_| state.recv_state != RecvState::Body);
        if state.recv_state == RecvState::Body {
            state.recv_state = RecvState::Discarding;
            self.forget(id);
        }
        self.abuse.note_violation();
        self.events.push_back(Event::Rejected { id, head, status });
        self.abuse.note_reset();
        let head = Arc::new(ResponseHead::new(status, Fields::from_pairs([("content-length", "0")])));
        self.scheduler.send(stream, Some(head), Outgoing::Whole(Body::EMPTY));
        Ok(())
    }

    fn handle_frame(&mut self, frame: Frame) -> Result<(), PeerFault> {
        match frame {
            Frame::SynStream { stream, head, priority, end } => self.accept(stream, head, Some(priority), end),
            Frame::Push { stream, associated, head, end } => self.accept_push(stream, associated, head, end),
            Frame::SynReply { stream, head, end } => self.handle_response(stream, head, end),
            Frame::SpdyHeaders { stream, head, end } => self.handle_fields(stream, head, end),
            Frame::Headers { stream, head, dependency, end } => {
                self.handle_dependency(stream, dependency);
                match (self.role, self.state(stream)) {
                    (Perspective::Server, StreamState::Idle | StreamState::ImplicitlyClosed) => {
                        self.accept(stream, head, None, end)
                    }
                    (Perspective::Client, StreamState::Open(RecvState::Head)) => {
                        self.handle_response(stream, head, end)
                    }
                    _ => self.handle_fields(stream, head, end),
                }
            }
            Frame::Priority { stream, dependency } => {
                self.abuse.note_empty();
                self.handle_dependency(stream, Some(dependency));
                Ok(())
            }
            Frame::PriorityUpdate { stream, priority } => self.handle_priority(stream, priority),
            Frame::Malformed { stream, violation } => self.handle_violation(stream, violation),
            Frame::Reset { stream, cause } => self.handle_reset(stream, cause),
            Frame::WindowUpdate { stream, delta } => self.handle_window(stream, delta),
            Frame::PingAck { number } => {
                self.handle_pong(number);
                Ok(())
            }
            Frame::Settings { stream_window, streams, push } => {
                if let Some(streams) = streams {
                    self.peer_max_streams = streams as usize;
                }
                self.peer_push = push.unwrap_or(self.peer_push);
                if self.peer_push == Push::Forbid {
                    self.cancel_promises();
                }
                match stream_window {
                    Some(window) => self.set_initial_window(window),
                    None => Ok(()),
                }
            }
            Frame::GoAway { last } => {
                self.goaway_received = true;
                if self.role == Perspective::Client {
                    let later = self.open_streams.range(last.saturating_add(1)..).map(|(stream, _)| *stream);
                    let refused: Vec<u32> = later.filter(|stream| stream % 2 == 1).collect();
                    refused.into_iter().for_each(|stream| self.drop_stream(stream, |id| Event::Refused { id }));
                }
                Ok(())
            }
        }
    }

    /// SETTINGS_INITIAL_WINDOW_SIZE. Each change costs a look at all streams.
    fn set_initial_window(&mut self, window: u32) -> Result<(), PeerFault> {
        if self.scheduler.initial_window() != i64::from(window) {
            self.abuse.note_empty();
        }
        self.scheduler.set_initial_window(window)
    }

    /// The client has opened a stream.
    fn accept(&mut self, stream: u32, head: Decoded, priority: Option<Priority>, end: bool) -> Result<(), PeerFault> {
        if self.role == Perspective::Client || stream.is_multiple_of(2) {
            return Err(PeerFault::StreamOutOfOrder);
        }
        match self.state(stream) {
            StreamState::Idle => self.last_remote = stream,
            StreamState::Open(_) => return self.handle_violation(stream, StreamViolation::Reopened),
            StreamState::Closed(_) if stream == self.last_remote => {
                return self.handle_violation(stream, StreamViolation::Reopened);
            }
            StreamState::Closed(_) | StreamState::ImplicitlyClosed => return Err(PeerFault::StreamOutOfOrder),
        }
        let pending_priority = self.pending_priorities.take(stream);
        if self.is_goaway_sent() {
            self.abuse.note_reset();
            self.closed_streams.note(stream, CloseReason::LocalReset);
            return Ok(());
        }
        let is_full = self.open_streams.len() - self.pushes >= self.local_max_streams;
        if is_full || self.unpolled_heads > MAX_UNPOLLED_HEADS {
            return self.handle_violation(stream, StreamViolation::TooMany);
        }
        if matches!(head, Decoded::Malformed | Decoded::Pushed(_, Some(_))) {
            return self.handle_violation(stream, StreamViolation::Malformed);
        }
        let id = request_id(stream);
        let Decoded::Request(head, field) = head else {
            if self.framing.error_action(StreamViolation::MissingPseudoHeader) != ErrorAction::BadRequest {
                return self.handle_violation(stream, StreamViolation::MissingPseudoHeader);
            }
            self.open(stream, id, Method::Other, Priority::default());
            self.set_recv_state(stream, if end { RecvState::Complete } else { RecvState::Discarding });
            return self.handle_violation(stream, StreamViolation::MissingPseudoHeader);
        };
        self.open(stream, id, Method::of(&head), pending_priority.or(priority).unwrap_or(field));
        self.abuse.note_content();
        self.expect_content(stream, &head.fields);
        self.unpolled_heads += head.memory_len();
        self.events.push_back(Event::Request { id, head });
        self.begin_body(stream, end)
    }

    pub(super) fn handle_response(&mut self, stream: u32, head: Decoded, end: bool) -> Result<(), PeerFault> {
        match self.recv_state(stream)? {
            None => return Ok(()),
            Some(RecvState::Head) => {}
            Some(_) if self.role == Perspective::Server => {
                return self.handle_violation(stream, StreamViolation::Malformed);
            }
            Some(_) => return self.handle_violation(stream, StreamViolation::SecondHead),
        }
        let is_interim = |head: &ResponseHead| (100..200).contains(&head.status);
        match head {
            // RFC 9110, section 15.2: an interim response does not end the stream.
            Decoded::Response(head) if is_interim(&head) && !end => {
                self.abuse.note_empty();
                let id = self.open_streams[&stream].id;
                self.events.push_back(Event::Interim { id, head });
                Ok(())
            }
            Decoded::Response(head) if !is_interim(&head) => {
                // RFC 9110, section 15.4.5: the content-length of a 304 is that of a 200.
                if head.status != 304 {
                    self.expect_content(stream, &head.fields);
                }
                self.abuse.note_content();
                let id = self.open_streams[&stream].id;
                self.events.push_back(Event::Response { id, head });
                self.begin_body(stream, end)
            }
            _ => self.handle_violation(stream, StreamViolation::Malformed),
        }
    }

    /// Fields after the head: trailers. In SPDY/2 HEADERS has no FIN flag.
    fn handle_fields(&mut self, stream: u32, head: Decoded, end: bool) -> Result<(), PeerFault> {
        match self.recv_state(stream)? {
            None => Ok(()),
            // SPDY: the head of what is pushed (draft 3, section 3.3.1).
            Some(RecvState::Head) if stream.is_multiple_of(2) => self.handle_response(stream, head, end),
            Some(RecvState::Head) => self.handle_violation(stream, StreamViolation::BeforeHead),
            Some(RecvState::Complete) => self.handle_violation(stream, StreamViolation::AfterEnd),
            Some(_) => {
                let Decoded::Trailers(fields) = head else {
                    return self.handle_violation(stream, StreamViolation::Malformed);
                };
                // Kept until END_STREAM. Their size is bounded here, since each open stream may have some.
                if (1..=MAX_HEAD).contains(&fields.http1_len()) {
                    self.trailers.insert(stream, fields);
                }
                if end {
                    return self.complete(stream);
                }
                self.abuse.note_empty();
                Ok(())
            }
        }
    }

    fn handle_reset(&mut self, stream: u32, cause: ResetCause) -> Result<(), PeerFault> {
        match self.state(stream) {
            StreamState::Idle => self.handle_violation(stream, StreamViolation::ControlOnIdle),
            StreamState::Closed(_) | StreamState::ImplicitlyClosed => {
                self.abuse.note_empty();
                Ok(())
            }
            StreamState::Open(_) => {
                self.closed_streams.note(stream, CloseReason::RemoteReset);
                // A client may reset pushes as often as it likes.
                if stream % 2 == 1 {
                    self.abuse.note_reset();
                }
                match (cause, self.role) {
                    (ResetCause::Refused, Perspective::Client) => self.drop_stream(stream, |id| Event::Refused { id }),
                    _ => self.drop_stream(stream, |id| Event::Reset { id }),
                }
                if cause == ResetCause::Cancelled {
                    self.drop_pushes_of(stream, CloseReason::RemoteReset);
                }
                Ok(())
            }
        }
    }

    fn handle_window(&mut self, stream: u32, delta: u32) -> Result<(), PeerFault> {
        match (stream, delta, self.state(stream)) {
            (0, 0, _) => Err(PeerFault::MalformedFrame),
            (0, ..) => self.scheduler.increase_session_window(delta),
            (_, _, StreamState::Idle) => self.handle_violation(stream, StreamViolation::ControlOnIdle),
            (_, 0, StreamState::Open(_)) => self.handle_violation(stream, StreamViolation::ZeroDelta),
            _ => match self.scheduler.increase_window(stream, delta) {
                Ok(()) => Ok(()),
                Err(_) => self.handle_violation(stream, StreamViolation::WindowOverflow),
            },
        }
    }

    /// The state of a stream on which HEADERS or DATA have arrived. `None` if the stream is not open; the violation
    /// has then been handled. The header block has been decoded in any case, as compression needs.
    fn recv_state(&mut self, stream: u32) -> Result<Option<RecvState>, PeerFault> {
        let violation = match self.state(stream) {
            StreamState::Open(recv_state) => return Ok(Some(recv_state)),
            // The frame was in flight when the stream was reset.
            StreamState::Closed(CloseReason::LocalReset) | StreamState::ImplicitlyClosed => {
                self.abuse.note_empty();
                return Ok(None);
            }
            StreamState::Idle => StreamViolation::Idle,
            StreamState::Closed(CloseReason::RemoteReset) => StreamViolation::AfterReset,
            StreamState::Closed(CloseReason::Complete) => StreamViolation::AfterClose,
        };
        self.handle_violation(stream, violation).map(|()| None)
    }

    fn set_recv_state(&mut self, stream: u32, recv_state: RecvState) {
        if let Some(state) = self.open_streams.get_mut(&stream) {
            state.recv_state = recv_state;
        }
    }

    /// Notes how much content a head announces.
    fn expect_content(&mut self, stream: u32, fields: &Fields) {
        // Only the response to HEAD has no content; a request may have some.
        let may_have = |state: &&mut Stream| self.role == Perspective::Server || state.method != Method::Head;
        let Some(state) = self.open_streams.get_mut(&stream).filter(may_have) else { return };
        state.content_length = announced(fields);
    }

    fn begin_body(&mut self, stream: u32, end: bool) -> Result<(), PeerFault> {
        self.set_recv_state(stream, RecvState::Body);
        if end { self.complete(stream) } else { Ok(()) }
    }

    /// The peer's message is complete.
    fn complete(&mut self, stream: u32) -> Result<(), PeerFault> {
        self.check_length(stream, u64::eq)?;
        let Some(state) = self.open_streams.get_mut(&stream) else { return Ok(()) };
        let (id, before) = (state.id, std::mem::replace(&mut state.recv_state, RecvState::Complete));
        if before == RecvState::Body {
            if let Some(fields) = self.take_trailers(stream) {
                self.events.push_back(Event::Trailers { id, fields });
            }
            self.events.push_back(Event::End { id });
        }
        self.close_if_complete(stream);
        Ok(())
    }

    /// Compares the content that has arrived with `content-length`; a mismatch is handled once.
    fn check_length(&mut self, stream: u32, is_fine: fn(&u64, &u64) -> bool) -> Result<(), PeerFault> {
        let Some(state) = self.open_streams.get_mut(&stream) else { return Ok(()) };
        let received = state.received;
        match state.content_length.take_if(|expected| !is_fine(&received, expected)) {
            Some(_) => self.handle_violation(stream, StreamViolation::Length),
            None => Ok(()),
        }
    }

    /// The trailers of a stream.
    pub(super) fn take_trailers(&mut self, stream: u32) -> Option<Arc<Fields>> {
        // Cheapest test first: nearly no stream has trailers.
        if self.trailers.is_empty() { None } else { self.trailers.remove(&stream) }
    }

    /// Returns capacity to the peer: sends WINDOW_UPDATE once half a window has been consumed. For input this is
    /// called at the end of a DATA frame, so the result does not depend on how the input was split.
    // Inlined by force: with two callers the compiler made it a call, which was 0.1 % slower.
    #[inline(always)]
    pub(super) fn release_capacity(&mut self, stream: u32, len: u32) {
        if let Some(delta) = self.receive_window.release_capacity(len) {
            let frame = self.framing.window_update(0, delta);
            self.queue_control(frame);
        }
        let is_running = |recv_state| matches!(recv_state, RecvState::Body | RecvState::Discarding);
        let state = self.open_streams.get_mut(&stream).filter(|state| is_running(state.recv_state));
        if let Some(delta) = state.and_then(|state| state.receive_window.release_capacity(len)) {
            let frame = self.framing.window_update(stream, delta);
            self.queue_control(frame);
        }
    }
}

impl<F: Framing> Frames for Streams<F> {
    fn frame_header_len(&self) -> usize {
        F::FRAME_HEADER_LEN
    }

    fn parse_frame_header(&self, head: &[u8]) -> Result<FrameHeader, PeerFault> {
        self.framing.parse_frame_header(head)
    }

    fn control(&mut self, head: &[u8], payload: Bytes) -> Result<(), PeerFault> {
        let before = self.control_queue.len();
        let frame = self.framing.control(head, payload, &mut self.control_queue)?;
        if self.control_queue.len() > before {
            self.abuse.note_control();
            self.abuse.note_acknowledged();
        }
        match frame {
            Some(frame) => self.handle_frame(frame)?,
            None if self.control_queue.len() == before => self.abuse.note_empty(),
            None => {}
        }
        self.abuse.check()
    }

    fn data_begins(&mut self, stream: u32, len: u32) -> Result<(), PeerFault> {
        if stream == 0 {
            return Err(PeerFault::UnexpectedFrame);
        }
        self.receive_window.consume(len)?;
        // Until content comes: a frame may be nothing but padding.
        self.abuse.note_empty();
        match self.recv_state(stream)? {
            None => Ok(()),
            Some(RecvState::Head) => self.handle_violation(stream, StreamViolation::BeforeHead),
            Some(RecvState::Complete) => self.handle_violation(stream, StreamViolation::AfterEnd),
            Some(RecvState::Body | RecvState::Discarding) => {
                let state = self.open_streams.get_mut(&stream).expect("it is open");
                match state.receive_window.consume(len) {
                    Ok(()) => Ok(()),
                    Err(_) => self.handle_violation(stream, StreamViolation::WindowExceeded),
                }
            }
        }
    }

    fn data(&mut self, stream: u32, content: Chunk) {
        self.abuse.note_content();
        if let Some(state) = self.open_streams.get_mut(&stream).filter(|state| state.recv_state == RecvState::Body) {
            state.received += content.len();
            if let Some(held) = &mut self.held {
                held.take(state.id, content.len());
            }
            self.events.push_back(Event::Data { id: state.id, content });
        } else if self.role == Perspective::Client && stream.is_multiple_of(2) {
            self.events.push_back(Event::Discarded { len: content.len() });
        }
    }

    fn data_ends(&mut self, stream: u32, len: u32, end: bool) -> Result<(), PeerFault> {
        let is_running = matches!(self.state(stream), StreamState::Open(RecvState::Body | RecvState::Discarding));
        if end && is_running {
            self.complete(stream)?;
        } else if is_running {
            self.check_length(stream, u64::le)?;
        }
        let held = self.held.as_mut().map_or(0, |held| held.end_frame());
        self.release_capacity(stream, len - held as u32);
        self.abuse.check()
    }
}
