//! What the peer's frames mean to the streams.

use super::offence::{Offence, Reaction};
use super::push::id_of;
use super::reader::Frames;
use super::standing::{Ending, Incoming, Standing};
use super::{Answer, Cause, Decoded, Frame, FrameHead, Framing, Push, Role, Streams};
use crate::{Body, Chunk, Event, Fields, PeerFault, Priority, ResponseHead};
use bytes::Bytes;
use std::sync::Arc;

impl<F: Framing> Streams<F> {
    /// Reacts as the protocol demands.
    pub(super) fn offend(&mut self, stream: u32, offence: Offence) -> Result<(), PeerFault> {
        match self.framing.reaction(offence) {
            Reaction::Ignore => {}
            Reaction::Reset(status) => self.reset(stream, status),
            Reaction::BadRequest => return self.answer_bad_request(stream),
            Reaction::End(fault) => return Err(fault),
        }
        Ok(())
    }

    /// Answers a request with status 400 in the program's place. What the program has already said
    /// cannot be taken back: then the stream is reset.
    fn answer_bad_request(&mut self, stream: u32) -> Result<(), PeerFault> {
        let Some(state) = self.open.get_mut(&stream) else { return Ok(()) };
        if state.answer != Answer::Awaited {
            return self.offend(stream, Offence::Malformed);
        }
        state.answer = Answer::Own;
        if state.incoming == Incoming::Body {
            state.incoming = Incoming::Unwanted;
            self.events.push_back(Event::Reset { id: state.id });
        }
        self.tolerance.note_reset();
        let head = Arc::new(ResponseHead::new(400, Fields::from_pairs([("content-length", "0")])));
        self.lanes.send(stream, Some(head), Body::EMPTY);
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
                match (self.role, self.standing(stream)) {
                    (Role::Server, Standing::Idle | Standing::Passed) => self.accept(stream, head, None, end),
                    (Role::Client, Standing::Open(Incoming::Head)) => self.handle_reply(stream, head, end),
                    _ => self.handle_fields(stream, head, end),
                }
            }
            Frame::Depend { stream, dependency } => {
                self.tolerance.note_empty();
                self.handle_dependency(stream, Some(dependency));
                Ok(())
            }
            Frame::Prioritise { stream, priority } => self.handle_priority(stream, priority),
            Frame::Faulty { stream, offence } => self.offend(stream, offence),
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
                stream_window.map_or(Ok(()), |window| self.lanes.set_initial_window(window))
            }
            Frame::GoAway { last } => {
                self.is_going_away = true;
                if self.role == Role::Client {
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
        if self.role == Role::Client || stream.is_multiple_of(2) {
            return Err(PeerFault::StreamOutOfOrder);
        }
        match self.standing(stream) {
            Standing::Idle => self.last_theirs = stream,
            Standing::Open(_) => return self.offend(stream, Offence::Reopened),
            Standing::Over(_) if stream == self.last_theirs => return self.offend(stream, Offence::Reopened),
            Standing::Over(_) | Standing::Passed => return Err(PeerFault::StreamOutOfOrder),
        }
        let foretold = self.foretold.take(stream);
        if self.is_gone() {
            self.endings.note(stream, Ending::FromHere);
            return Ok(());
        }
        if self.open.len() - self.pushes >= self.limit {
            return self.offend(stream, Offence::TooMany);
        }
        if matches!(head, Decoded::Malformed | Decoded::Pushed(_, Some(_))) {
            return self.offend(stream, Offence::Malformed);
        }
        let id = id_of(stream);
        let Decoded::Request(head, field) = head else {
            if self.framing.reaction(Offence::Incomplete) != Reaction::BadRequest {
                return self.offend(stream, Offence::Incomplete);
            }
            self.open(stream, id, Priority::default());
            self.set_incoming(stream, if end { Incoming::Complete } else { Incoming::Unwanted });
            return self.offend(stream, Offence::Incomplete);
        };
        self.open(stream, id, foretold.or(priority).unwrap_or(field));
        self.tolerance.note_content();
        self.expect_content(stream, &head.fields);
        self.events.push_back(Event::Request { id, head });
        self.begin_body(stream, end)
    }

    pub(super) fn handle_reply(&mut self, stream: u32, head: Decoded, end: bool) -> Result<(), PeerFault> {
        match self.incoming(stream)? {
            None => return Ok(()),
            Some(Incoming::Head) => {}
            Some(_) if self.role == Role::Server => return self.offend(stream, Offence::Malformed),
            Some(_) => return self.offend(stream, Offence::SecondHead),
        }
        let is_interim = |head: &ResponseHead| (100..200).contains(&head.status);
        match head {
            // RFC 9110, section 15.2: an interim response ends nothing.
            Decoded::Response(head) if is_interim(&head) && !end => {
                self.tolerance.note_empty();
                let id = self.open[&stream].id;
                self.events.push_back(Event::Interim { id, head });
                Ok(())
            }
            Decoded::Response(head) if !is_interim(&head) => {
                // RFC 9110, section 15.4.5: what a 304 says of its length is not its own.
                if head.status != 304 {
                    self.expect_content(stream, &head.fields);
                }
                self.tolerance.note_content();
                let id = self.open[&stream].id;
                self.events.push_back(Event::Response { id, head });
                self.begin_body(stream, end)
            }
            _ => self.offend(stream, Offence::Malformed),
        }
    }

    /// Fields after the head, which nobody here needs.
    fn handle_fields(&mut self, stream: u32, head: Decoded, end: bool) -> Result<(), PeerFault> {
        match self.incoming(stream)? {
            None => Ok(()),
            // SPDY: the head of what is pushed (draft 3, section 3.3.1).
            Some(Incoming::Head) if stream.is_multiple_of(2) => self.handle_reply(stream, head, end),
            Some(Incoming::Head) => self.offend(stream, Offence::BeforeHead),
            Some(Incoming::Complete) => self.offend(stream, Offence::AfterEnd),
            Some(_) if !matches!(head, Decoded::Trailers) => self.offend(stream, Offence::Malformed),
            Some(_) if end => self.complete(stream),
            Some(_) => {
                self.tolerance.note_empty();
                Ok(())
            }
        }
    }

    fn handle_reset(&mut self, stream: u32, cause: Cause) -> Result<(), PeerFault> {
        match self.standing(stream) {
            Standing::Idle => self.offend(stream, Offence::IdleControl),
            Standing::Over(_) | Standing::Passed => Ok(()),
            Standing::Open(_) => {
                self.endings.note(stream, Ending::FromPeer);
                // What the server pushed unasked a client may decline as often as it likes.
                if stream % 2 == 1 {
                    self.tolerance.note_reset();
                }
                match (cause, self.role) {
                    (Cause::Refused, Role::Client) => self.drop_stream(stream, |id| Event::Refused { id }),
                    _ => self.drop_stream(stream, |id| Event::Reset { id }),
                }
                if cause == Cause::Cancelled {
                    self.drop_pushes_beside(stream, Ending::FromPeer);
                }
                Ok(())
            }
        }
    }

    fn handle_window(&mut self, stream: u32, delta: u32) -> Result<(), PeerFault> {
        match (stream, delta, self.standing(stream)) {
            (0, 0, _) => Err(PeerFault::MalformedFrame),
            (0, ..) => self.lanes.widen_session(delta),
            (_, _, Standing::Idle) => self.offend(stream, Offence::IdleControl),
            (_, 0, Standing::Open(_)) => self.offend(stream, Offence::ZeroDelta),
            _ => match self.lanes.widen(stream, delta) {
                Ok(()) => Ok(()),
                Err(_) => self.offend(stream, Offence::WindowOverflow),
            },
        }
    }

    /// What is expected on a stream on which something has come. Nothing if it is not open: then that has been
    /// answered. A head has gone through the decoder all the same.
    fn incoming(&mut self, stream: u32) -> Result<Option<Incoming>, PeerFault> {
        let offence = match self.standing(stream) {
            Standing::Open(incoming) => return Ok(Some(incoming)),
            // It was under way when the stream was reset.
            Standing::Over(Ending::FromHere) | Standing::Passed => return Ok(None),
            Standing::Idle => Offence::Idle,
            Standing::Over(Ending::FromPeer) => Offence::AfterReset,
            Standing::Over(Ending::Complete) => Offence::AfterClose,
        };
        self.offend(stream, offence).map(|()| None)
    }

    fn set_incoming(&mut self, stream: u32, incoming: Incoming) {
        if let Some(state) = self.open.get_mut(&stream) {
            state.incoming = incoming;
        }
    }

    /// Notes how much content a head announces; what cannot be read is more than ever comes.
    fn expect_content(&mut self, stream: u32, fields: &Fields) {
        let Some(state) = self.open.get_mut(&stream).filter(|state| !state.is_bodiless) else { return };
        let digits = |value: &[u8]| std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
        state.expected = fields.get(b"content-length").map(|value| digits(value).unwrap_or(u64::MAX));
    }

    fn begin_body(&mut self, stream: u32, end: bool) -> Result<(), PeerFault> {
        self.set_incoming(stream, Incoming::Body);
        if end { self.complete(stream) } else { Ok(()) }
    }

    /// The peer's message is complete.
    fn complete(&mut self, stream: u32) -> Result<(), PeerFault> {
        self.check_length(stream, u64::eq)?;
        let Some(state) = self.open.get_mut(&stream) else { return Ok(()) };
        if state.incoming == Incoming::Body {
            self.events.push_back(Event::End { id: state.id });
        }
        state.incoming = Incoming::Complete;
        self.forget_if_over(stream);
        Ok(())
    }

    /// Holds the content that has come against what the head announced, once.
    fn check_length(&mut self, stream: u32, is_fine: fn(&u64, &u64) -> bool) -> Result<(), PeerFault> {
        let Some(state) = self.open.get_mut(&stream) else { return Ok(()) };
        let received = state.received;
        match state.expected.take_if(|expected| !is_fine(&received, expected)) {
            Some(_) => self.offend(stream, Offence::Length),
            None => Ok(()),
        }
    }

    /// Gives back to the peer what has been taken in: whole frames, so that it does not depend on
    /// how they arrived.
    fn give_back(&mut self, stream: u32, len: u32) {
        if let Some(delta) = self.credit.give_back(len) {
            let frame = self.framing.window_update(0, delta);
            self.say(frame);
        }
        let is_running = |incoming| matches!(incoming, Incoming::Body | Incoming::Unwanted);
        let state = self.open.get_mut(&stream).filter(|state| is_running(state.incoming));
        if let Some(delta) = state.and_then(|state| state.credit.give_back(len)) {
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
            self.tolerance.note_answer();
        }
        if let Some(frame) = frame {
            self.handle_frame(frame)?;
        }
        self.tolerance.check()
    }

    fn data_begins(&mut self, stream: u32, len: u32) -> Result<(), PeerFault> {
        if stream == 0 {
            return Err(PeerFault::UnexpectedFrame);
        }
        self.credit.take(len)?;
        match self.incoming(stream)? {
            None => Ok(()),
            Some(Incoming::Head) => self.offend(stream, Offence::BeforeHead),
            Some(Incoming::Complete) => self.offend(stream, Offence::AfterEnd),
            Some(Incoming::Body | Incoming::Unwanted) => {
                let state = self.open.get_mut(&stream).expect("it is open");
                match state.credit.take(len) {
                    Ok(()) => Ok(()),
                    Err(_) => self.offend(stream, Offence::WindowExceeded),
                }
            }
        }
    }

    fn data(&mut self, stream: u32, content: Chunk) {
        self.tolerance.note_content();
        if let Some(state) = self.open.get_mut(&stream).filter(|state| state.incoming == Incoming::Body) {
            state.received += content.len();
            self.events.push_back(Event::Data { id: state.id, content });
        }
    }

    fn data_ends(&mut self, stream: u32, len: u32, end: bool) -> Result<(), PeerFault> {
        let is_running = matches!(self.standing(stream), Standing::Open(Incoming::Body | Incoming::Unwanted));
        if end && is_running {
            self.complete(stream)?;
        } else if is_running {
            self.check_length(stream, u64::le)?;
        }
        if len == 0 && !end {
            self.tolerance.note_empty();
        }
        self.give_back(stream, len);
        self.tolerance.check()
    }
}
