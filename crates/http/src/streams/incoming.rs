//! What the peer's frames mean to the streams.

use super::push::id_of;
use super::reader::Frames;
use super::stream_state::{CloseReason, Incoming, StreamState};
use super::violation::{ErrorAction, StreamViolation};
use super::{AnswerState, Decoded, Frame, FrameHead, Framing, Perspective, Push, ResetCause, Stream, Streams};
use crate::h1::MAX_HEAD;
use crate::pending::{Method, Outgoing, announced};
use crate::{Body, Chunk, Event, Fields, PeerFault, Priority, ResponseHead};
use bytes::Bytes;
use std::sync::Arc;

impl<F: Framing> Streams<F> {
    /// Reacts as the protocol demands.
    pub(super) fn offend(&mut self, stream: u32, violation: StreamViolation) -> Result<(), PeerFault> {
        match self.framing.error_action(violation) {
            ErrorAction::Ignore => {}
            ErrorAction::Reset(status) => self.reset(stream, status),
            ErrorAction::BadRequest => return self.answer_bad_request(stream),
            ErrorAction::End(fault) => return Err(fault),
        }
        Ok(())
    }

    /// Answers a request with status 400 in the program's place. What the program has already said
    /// cannot be taken back: then the stream is reset.
    fn answer_bad_request(&mut self, stream: u32) -> Result<(), PeerFault> {
        let Some(state) = self.open.get_mut(&stream) else { return Ok(()) };
        if state.answer != AnswerState::Awaited {
            return self.offend(stream, StreamViolation::Malformed);
        }
        state.answer = AnswerState::Own;
        if state.incoming == Incoming::Body {
            state.incoming = Incoming::Discarding;
            let id = state.id;
            self.events.push_back(Event::Reset { id });
            self.forget(id);
        }
        self.abuse.note_reset();
        let head = Arc::new(ResponseHead::new(400, Fields::from_pairs([("content-length", "0")])));
        self.scheduler.send(stream, Some(head), Outgoing::Whole(Body::EMPTY));
        Ok(())
    }

    fn handle_frame(&mut self, frame: Frame) -> Result<(), PeerFault> {
        match frame {
            Frame::Open { stream, head, priority, end } => self.accept(stream, head, Some(priority), end),
            Frame::Push { stream, associated, head, end } => self.accept_push(stream, associated, head, end),
            Frame::Reply { stream, head, end } => self.handle_reply(stream, head, end),
            Frame::Fields { stream, head, end } => self.handle_fields(stream, head, end),
            Frame::Headers { stream, head, dependency, end } => {
                self.handle_dependency(stream, dependency);
                match (self.role, self.state(stream)) {
                    (Perspective::Server, StreamState::Idle | StreamState::Passed) => {
                        self.accept(stream, head, None, end)
                    }
                    (Perspective::Client, StreamState::Open(Incoming::Head)) => self.handle_reply(stream, head, end),
                    _ => self.handle_fields(stream, head, end),
                }
            }
            Frame::Depend { stream, dependency } => {
                self.abuse.note_empty();
                self.handle_dependency(stream, Some(dependency));
                Ok(())
            }
            Frame::Prioritise { stream, priority } => self.handle_priority(stream, priority),
            Frame::Faulty { stream, violation } => self.offend(stream, violation),
            Frame::Reset { stream, cause } => self.handle_reset(stream, cause),
            Frame::Window { stream, delta } => self.handle_window(stream, delta),
            Frame::Pong { number } => {
                self.handle_pong(number);
                Ok(())
            }
            Frame::Limits { stream_window, streams, push } => {
                if let Some(streams) = streams {
                    self.peer_limit = streams as usize;
                }
                self.peer_push = push.unwrap_or(self.peer_push);
                if self.peer_push == Push::Forbid {
                    self.drop_promises();
                }
                stream_window.map_or(Ok(()), |window| self.scheduler.set_initial_window(window))
            }
            Frame::GoAway { last } => {
                self.is_going_away = true;
                if self.role == Perspective::Client {
                    let later = self.open.range(last.saturating_add(1)..).map(|(stream, _)| *stream);
                    let refused: Vec<u32> = later.filter(|stream| stream % 2 == 1).collect();
                    refused.into_iter().for_each(|stream| self.drop_stream(stream, |id| Event::Refused { id }));
                }
                Ok(())
            }
        }
    }

    /// The client has opened a stream.
    fn accept(&mut self, stream: u32, head: Decoded, priority: Option<Priority>, end: bool) -> Result<(), PeerFault> {
        if self.role == Perspective::Client || stream.is_multiple_of(2) {
            return Err(PeerFault::StreamOutOfOrder);
        }
        match self.state(stream) {
            StreamState::Idle => self.last_theirs = stream,
            StreamState::Open(_) => return self.offend(stream, StreamViolation::Reopened),
            StreamState::Over(_) if stream == self.last_theirs => {
                return self.offend(stream, StreamViolation::Reopened);
            }
            StreamState::Over(_) | StreamState::Passed => return Err(PeerFault::StreamOutOfOrder),
        }
        let foretold = self.pending_priorities.take(stream);
        if self.is_gone() {
            self.endings.note(stream, CloseReason::FromHere);
            return Ok(());
        }
        if self.open.len() - self.pushes >= self.limit {
            return self.offend(stream, StreamViolation::TooMany);
        }
        if matches!(head, Decoded::Malformed | Decoded::Pushed(_, Some(_))) {
            return self.offend(stream, StreamViolation::Malformed);
        }
        let id = id_of(stream);
        let Decoded::Request(head, field) = head else {
            if self.framing.error_action(StreamViolation::Incomplete) != ErrorAction::BadRequest {
                return self.offend(stream, StreamViolation::Incomplete);
            }
            self.open(stream, id, Method::Other, Priority::default());
            self.set_incoming(stream, if end { Incoming::Complete } else { Incoming::Discarding });
            return self.offend(stream, StreamViolation::Incomplete);
        };
        self.open(stream, id, Method::of(&head), foretold.or(priority).unwrap_or(field));
        self.abuse.note_content();
        self.expect_content(stream, &head.fields);
        self.events.push_back(Event::Request { id, head });
        self.begin_body(stream, end)
    }

    pub(super) fn handle_reply(&mut self, stream: u32, head: Decoded, end: bool) -> Result<(), PeerFault> {
        match self.incoming(stream)? {
            None => return Ok(()),
            Some(Incoming::Head) => {}
            Some(_) if self.role == Perspective::Server => return self.offend(stream, StreamViolation::Malformed),
            Some(_) => return self.offend(stream, StreamViolation::SecondHead),
        }
        let is_interim = |head: &ResponseHead| (100..200).contains(&head.status);
        match head {
            // RFC 9110, section 15.2: an interim response ends nothing.
            Decoded::Response(head) if is_interim(&head) && !end => {
                self.abuse.note_empty();
                let id = self.open[&stream].id;
                self.events.push_back(Event::Interim { id, head });
                Ok(())
            }
            Decoded::Response(head) if !is_interim(&head) => {
                // RFC 9110, section 15.4.5: what a 304 says of its length is not its own.
                if head.status != 304 {
                    self.expect_content(stream, &head.fields);
                }
                self.abuse.note_content();
                let id = self.open[&stream].id;
                self.events.push_back(Event::Response { id, head });
                self.begin_body(stream, end)
            }
            _ => self.offend(stream, StreamViolation::Malformed),
        }
    }

    /// Fields after the head: trailers. In SPDY/2 they cannot say that they are the end.
    fn handle_fields(&mut self, stream: u32, head: Decoded, end: bool) -> Result<(), PeerFault> {
        match self.incoming(stream)? {
            None => Ok(()),
            // SPDY: the head of what is pushed (draft 3, section 3.3.1).
            Some(Incoming::Head) if stream.is_multiple_of(2) => self.handle_reply(stream, head, end),
            Some(Incoming::Head) => self.offend(stream, StreamViolation::BeforeHead),
            Some(Incoming::Complete) => self.offend(stream, StreamViolation::AfterEnd),
            Some(_) => {
                let Decoded::Trailers(fields) = head else { return self.offend(stream, StreamViolation::Malformed) };
                // They wait for the end of the message, and nobody bounds how many streams have some.
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
            StreamState::Idle => self.offend(stream, StreamViolation::IdleControl),
            StreamState::Over(_) | StreamState::Passed => Ok(()),
            StreamState::Open(_) => {
                self.endings.note(stream, CloseReason::FromPeer);
                // What the server pushed unasked a client may decline as often as it likes.
                if stream % 2 == 1 {
                    self.abuse.note_reset();
                }
                match (cause, self.role) {
                    (ResetCause::Refused, Perspective::Client) => self.drop_stream(stream, |id| Event::Refused { id }),
                    _ => self.drop_stream(stream, |id| Event::Reset { id }),
                }
                if cause == ResetCause::Cancelled {
                    self.drop_pushes_beside(stream, CloseReason::FromPeer);
                }
                Ok(())
            }
        }
    }

    fn handle_window(&mut self, stream: u32, delta: u32) -> Result<(), PeerFault> {
        match (stream, delta, self.state(stream)) {
            (0, 0, _) => Err(PeerFault::MalformedFrame),
            (0, ..) => self.scheduler.widen_session(delta),
            (_, _, StreamState::Idle) => self.offend(stream, StreamViolation::IdleControl),
            (_, 0, StreamState::Open(_)) => self.offend(stream, StreamViolation::ZeroDelta),
            _ => match self.scheduler.widen(stream, delta) {
                Ok(()) => Ok(()),
                Err(_) => self.offend(stream, StreamViolation::WindowOverflow),
            },
        }
    }

    /// What is expected on a stream on which something has come. Nothing if it is not open: then that has been
    /// answered. A head has gone through the decoder all the same.
    fn incoming(&mut self, stream: u32) -> Result<Option<Incoming>, PeerFault> {
        let violation = match self.state(stream) {
            StreamState::Open(incoming) => return Ok(Some(incoming)),
            // It was under way when the stream was reset.
            StreamState::Over(CloseReason::FromHere) | StreamState::Passed => return Ok(None),
            StreamState::Idle => StreamViolation::Idle,
            StreamState::Over(CloseReason::FromPeer) => StreamViolation::AfterReset,
            StreamState::Over(CloseReason::Complete) => StreamViolation::AfterClose,
        };
        self.offend(stream, violation).map(|()| None)
    }

    fn set_incoming(&mut self, stream: u32, incoming: Incoming) {
        if let Some(state) = self.open.get_mut(&stream) {
            state.incoming = incoming;
        }
    }

    /// Notes how much content a head announces.
    fn expect_content(&mut self, stream: u32, fields: &Fields) {
        // What a request has does not depend on what it asks for.
        let may_have = |state: &&mut Stream| self.role == Perspective::Server || state.method != Method::Head;
        let Some(state) = self.open.get_mut(&stream).filter(may_have) else { return };
        state.expected = announced(fields);
    }

    fn begin_body(&mut self, stream: u32, end: bool) -> Result<(), PeerFault> {
        self.set_incoming(stream, Incoming::Body);
        if end { self.complete(stream) } else { Ok(()) }
    }

    /// The peer's message is complete.
    fn complete(&mut self, stream: u32) -> Result<(), PeerFault> {
        self.check_length(stream, u64::eq)?;
        let Some(state) = self.open.get_mut(&stream) else { return Ok(()) };
        let (id, before) = (state.id, std::mem::replace(&mut state.incoming, Incoming::Complete));
        if before == Incoming::Body {
            if let Some(fields) = self.take_trailers(stream) {
                self.events.push_back(Event::Trailers { id, fields });
            }
            self.events.push_back(Event::End { id });
        }
        self.forget_if_over(stream);
        Ok(())
    }

    /// Holds the content that has come against what the head announced, once.
    fn check_length(&mut self, stream: u32, is_fine: fn(&u64, &u64) -> bool) -> Result<(), PeerFault> {
        let Some(state) = self.open.get_mut(&stream) else { return Ok(()) };
        let received = state.received;
        match state.expected.take_if(|expected| !is_fine(&received, expected)) {
            Some(_) => self.offend(stream, StreamViolation::Length),
            None => Ok(()),
        }
    }

    /// Fields that came behind the head.
    pub(super) fn take_trailers(&mut self, stream: u32) -> Option<Arc<Fields>> {
        // Nearly always there are none, and this is asked of every stream.
        if self.trailers.is_empty() { None } else { self.trailers.remove(&stream) }
    }

    /// Gives back to the peer what has been used: of what comes, whole frames, so that it does not depend on how
    /// they arrived.
    // Each DATA frame comes here. That `release` does so as well made it a call, which cost 0.1 % of a run.
    #[inline(always)]
    pub(super) fn give_back(&mut self, stream: u32, len: u32) {
        if let Some(delta) = self.receive_window.release(len) {
            let frame = self.framing.window_update(0, delta);
            self.say(frame);
        }
        let is_running = |incoming| matches!(incoming, Incoming::Body | Incoming::Discarding);
        let state = self.open.get_mut(&stream).filter(|state| is_running(state.incoming));
        if let Some(delta) = state.and_then(|state| state.credit.release(len)) {
            let frame = self.framing.window_update(stream, delta);
            self.say(frame);
        }
    }
}

impl<F: Framing> Frames for Streams<F> {
    fn head_len(&self) -> usize {
        F::HEAD
    }

    fn head(&self, head: &[u8]) -> Result<FrameHead, PeerFault> {
        self.framing.head(head)
    }

    fn control(&mut self, head: &[u8], payload: Bytes) -> Result<(), PeerFault> {
        let said = self.answers.len();
        let frame = self.framing.control(head, payload, &mut self.answers)?;
        if self.answers.len() > said {
            self.abuse.note_answer();
        }
        if let Some(frame) = frame {
            self.handle_frame(frame)?;
        }
        self.abuse.check()
    }

    fn data_begins(&mut self, stream: u32, len: u32) -> Result<(), PeerFault> {
        if stream == 0 {
            return Err(PeerFault::UnexpectedFrame);
        }
        self.receive_window.consume(len)?;
        match self.incoming(stream)? {
            None => Ok(()),
            Some(Incoming::Head) => self.offend(stream, StreamViolation::BeforeHead),
            Some(Incoming::Complete) => self.offend(stream, StreamViolation::AfterEnd),
            Some(Incoming::Body | Incoming::Discarding) => {
                let state = self.open.get_mut(&stream).expect("it is open");
                match state.credit.consume(len) {
                    Ok(()) => Ok(()),
                    Err(_) => self.offend(stream, StreamViolation::WindowExceeded),
                }
            }
        }
    }

    fn data(&mut self, stream: u32, content: Chunk) {
        self.abuse.note_content();
        if let Some(state) = self.open.get_mut(&stream).filter(|state| state.incoming == Incoming::Body) {
            state.received += content.len();
            if let Some(held) = &mut self.held {
                held.take(state.id, content.len());
            }
            self.events.push_back(Event::Data { id: state.id, content });
        }
    }

    fn data_ends(&mut self, stream: u32, len: u32, end: bool) -> Result<(), PeerFault> {
        let is_running = matches!(self.state(stream), StreamState::Open(Incoming::Body | Incoming::Discarding));
        if end && is_running {
            self.complete(stream)?;
        } else if is_running {
            self.check_length(stream, u64::le)?;
        }
        if len == 0 && !end {
            self.abuse.note_empty();
        }
        let held = self.held.as_mut().map_or(0, |held| held.end_frame());
        self.give_back(stream, len - held as u32);
        self.abuse.check()
    }
}
