//! The session core of the protocols that carry many streams on one connection: streams, the order
//! of sending, flow control. SPDY and HTTP/2 differ from one another in their [`Framing`] alone.
//!
//! `lanes` decides what goes next, `credit` what may come, `reader` cuts the input into frames;
//! `client` and `server` are the two ends.

mod client;
mod config;
mod credit;
mod framing;
mod heads;
mod lanes;
mod reader;
mod server;
#[cfg(test)]
mod tests;

pub(crate) use client::Client;
pub use config::{FrameBytes, Multiplexing, Policy, Window};
pub(crate) use framing::{Frame, FrameHead, Framing, Limits, Reason, Role, Windows};
pub(crate) use heads::{Decoded, Head, Names, Place, Spared, assemble, digits, is_of_connection, sendable};
pub(crate) use server::Server;

use crate::{Chunk, Error, Event, PeerFault, Priority, RequestHead, ResponseHead, StreamId, Wire};
use bytes::Bytes;
use credit::Credit;
use lanes::{Lanes, Piece};
use reader::{Frames, Reader};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The streams that a peer may have open at a time: what servers announce.
const MAX_STREAMS: usize = 100;
/// The most bytes of answers to the peer's frames that wait for the peer to read.
const MAX_ANSWERS: u64 = 256 * 1024;

/// What both ends of a session have: everything but who opens streams.
#[derive(Debug)]
struct Streams<F> {
    framing: F,
    role: Role,
    reader: Reader,
    /// What goes before any new frame: control frames, and the rest of a head that was begun.
    outbox: Wire,
    lanes: Lanes,
    /// What the peer may still send on the whole session.
    credit: Credit,
    /// What the peer may send on a stream that begins.
    stream_window: Option<u32>,
    open: BTreeMap<u32, Stream>,
    events: VecDeque<Event>,
    /// The last stream that the client opened.
    last: u32,
    /// How many streams the peer lets be open.
    peer_limit: usize,
    /// The peer takes no new streams.
    is_going_away: bool,
}

/// A stream whose message from the peer is not complete, or whose own is not sent.
#[derive(Debug)]
struct Stream {
    id: StreamId,
    incoming: Incoming,
    credit: Credit,
    /// Whether the message that goes out is sent, its end included.
    is_sent: bool,
}

/// How far the peer's message has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Incoming {
    Head,
    Body,
    Complete,
}

impl<F: Framing> Streams<F> {
    fn new(mut framing: F, role: Role, config: &Multiplexing) -> Streams<F> {
        let (stream_window, session_window) = (config.stream_window.get(), config.session_window.get());
        let limits = Limits { stream_window, session_window, streams: MAX_STREAMS as u32 };
        let windows = framing.windows();
        let mut outbox = Wire::default();
        outbox.push(Chunk::Bytes(framing.opening(&limits)));
        Streams {
            framing,
            role,
            reader: Reader::new(if role == Role::Server { F::PREFACE } else { b"" }),
            outbox,
            lanes: Lanes::new(config, windows),
            credit: Credit::new(windows.session.map(|least| session_window.max(least))),
            stream_window: windows.stream.map(|_| stream_window),
            open: BTreeMap::new(),
            events: VecDeque::new(),
            last: 0,
            peer_limit: MAX_STREAMS,
            is_going_away: false,
        }
    }

    fn handle_input(&mut self, input: &[Chunk]) -> Result<(), Error> {
        let mut reader = std::mem::take(&mut self.reader);
        let result = reader.read(input, self);
        self.reader = reader;
        Ok(result?)
    }

    fn handle_close(&mut self) -> Result<(), Error> {
        let is_whole = self.open.values().all(|stream| stream.incoming == Incoming::Complete);
        if is_whole { Ok(()) } else { Err(PeerFault::Truncated.into()) }
    }

    fn has_output(&self) -> bool {
        !self.outbox.is_empty() || self.lanes.has_piece()
    }

    fn open(&mut self, stream: u32, id: StreamId, priority: Priority) {
        let credit = Credit::new(self.stream_window);
        self.open.insert(stream, Stream { id, incoming: Incoming::Head, credit, is_sent: false });
        self.lanes.open(stream, priority);
        self.last = stream;
    }

    /// Puts what was begun on the wire; returns what is left of `room`.
    fn flush(&mut self, room: usize, out: &mut Wire) -> u64 {
        let room = room as u64;
        let count = room.min(self.outbox.len());
        self.outbox.move_to(count, out);
        room - count
    }

    /// Puts a frame on the wire, what does not fit into the outbox; returns what is left of `room`.
    fn put(&mut self, mut frame: Bytes, room: u64, out: &mut Wire) -> u64 {
        let fits = frame.len().min(room as usize);
        out.push(Chunk::Bytes(frame.split_to(fits)));
        self.outbox.push(Chunk::Bytes(frame));
        room - fits as u64
    }

    /// Puts heads and bodies on the wire, each time the piece whose turn it is.
    fn transmit(&mut self, mut room: u64, out: &mut Wire) {
        while let Some(piece) = self.lanes.poll(room.saturating_sub(F::HEAD as u64)) {
            match piece {
                Piece::Head { stream, head, end } => {
                    let frame = self.framing.response(stream, &head, end);
                    room = self.put(frame, room, out);
                    self.note_sent(stream, end);
                }
                Piece::Data { stream, run, end } => {
                    room -= F::HEAD as u64 + run.len();
                    out.push(Chunk::Bytes(self.framing.data(stream, run.len() as u32, end)));
                    out.push(run);
                    self.note_sent(stream, end);
                }
            }
        }
    }

    fn note_sent(&mut self, stream: u32, end: bool) {
        if let Some(state) = self.open.get_mut(&stream).filter(|_| end) {
            state.is_sent = true;
            self.forget_if_over(stream);
        }
    }

    fn forget_if_over(&mut self, stream: u32) {
        let over = |state: &Stream| state.is_sent && state.incoming == Incoming::Complete;
        if self.open.get(&stream).is_some_and(over) {
            self.open.remove(&stream);
            self.lanes.close(stream);
        }
    }

    /// Ends a stream before its time, from here.
    fn reset(&mut self, stream: u32, reason: Reason) {
        self.outbox.push(Chunk::Bytes(self.framing.reset(stream, reason)));
        self.drop_stream(stream);
    }

    fn drop_stream(&mut self, stream: u32) {
        self.lanes.close(stream);
        if let Some(state) = self.open.remove(&stream)
            && state.incoming != Incoming::Complete
        {
            self.events.push_back(Event::Reset { id: state.id });
        }
    }

    fn handle_frame(&mut self, frame: Frame) -> Result<(), PeerFault> {
        match frame {
            Frame::Request { stream, head, priority, end } => {
                if self.role == Role::Client {
                    // A push, which nobody asked for.
                    self.reset(stream, Reason::Refused);
                    return Ok(());
                }
                self.accept(stream, head, priority, end)?;
            }
            Frame::Response { stream, head, end } => self.handle_response(stream, head, end),
            Frame::Trailers { stream, end } => self.handle_trailers(stream, end)?,
            Frame::Malformed { stream } => {
                if self.role == Role::Server {
                    self.last = self.last.max(stream);
                }
                self.reset(stream, Reason::Protocol);
            }
            Frame::Reset { stream } => self.drop_stream(stream),
            Frame::Window { stream: 0, delta } => self.lanes.widen_session(delta)?,
            Frame::Window { stream, delta } => {
                if self.lanes.widen(stream, delta).is_err() {
                    self.reset(stream, Reason::FlowControl);
                }
            }
            Frame::Limits { stream_window, streams } => {
                if let Some(window) = stream_window {
                    self.lanes.set_initial_window(window)?;
                }
                if let Some(streams) = streams {
                    self.peer_limit = streams as usize;
                }
            }
            Frame::GoAway { last } => {
                self.is_going_away = true;
                if self.role == Role::Client {
                    let refused: Vec<u32> = self.open.range(last.saturating_add(1)..).map(|(id, _)| *id).collect();
                    refused.into_iter().for_each(|stream| self.drop_stream(stream));
                }
            }
        }
        Ok(())
    }

    /// Server: the client has opened a stream.
    fn accept(&mut self, stream: u32, head: Arc<RequestHead>, priority: Priority, end: bool) -> Result<(), PeerFault> {
        if stream.is_multiple_of(2) || stream <= self.last {
            return Err(PeerFault::StreamOutOfOrder);
        }
        if self.open.len() >= MAX_STREAMS {
            self.last = stream;
            self.reset(stream, Reason::Refused);
            return Ok(());
        }
        // Streams of clients are odd: numbered by themselves they are 0, 1, 2, ...
        let id = StreamId(stream / 2);
        self.open(stream, id, priority);
        self.events.push_back(Event::Request { id, head });
        self.begin_body(stream, end);
        Ok(())
    }

    fn handle_response(&mut self, stream: u32, head: Arc<ResponseHead>, end: bool) {
        let Some(state) = self.open.get_mut(&stream).filter(|_| self.role == Role::Client) else {
            // A stream that was reset from here, most likely: its head went through the decoder, and that is all.
            return;
        };
        if state.incoming != Incoming::Head {
            return self.reset(stream, Reason::Protocol);
        }
        // RFC 9110, section 15.2: an interim response ends nothing.
        if (100..200).contains(&head.status) && !end {
            return;
        }
        self.events.push_back(Event::Response { id: state.id, head });
        self.begin_body(stream, end);
    }

    fn handle_trailers(&mut self, stream: u32, end: bool) -> Result<(), PeerFault> {
        match self.open.get_mut(&stream) {
            Some(state) if state.incoming == Incoming::Body => {
                if end {
                    self.complete(stream);
                }
                Ok(())
            }
            Some(_) => {
                self.reset(stream, Reason::Protocol);
                Ok(())
            }
            None if stream > self.last => Err(PeerFault::UnexpectedFrame),
            None => Ok(()),
        }
    }

    fn begin_body(&mut self, stream: u32, end: bool) {
        if let Some(state) = self.open.get_mut(&stream) {
            state.incoming = Incoming::Body;
        }
        if end {
            self.complete(stream);
        }
    }

    /// The peer's message is complete.
    fn complete(&mut self, stream: u32) {
        if let Some(state) = self.open.get_mut(&stream) {
            state.incoming = Incoming::Complete;
            self.events.push_back(Event::End { id: state.id });
            self.forget_if_over(stream);
        }
    }

    /// Gives back to the peer what has been taken in: whole frames, so that it does not depend on
    /// how they arrived.
    fn give_back(&mut self, stream: u32, len: u32) {
        if let Some(delta) = self.credit.give_back(len) {
            self.outbox.push(Chunk::Bytes(self.framing.window_update(0, delta)));
        }
        let state = self.open.get_mut(&stream).filter(|state| state.incoming == Incoming::Body);
        if let Some(delta) = state.and_then(|state| state.credit.give_back(len)) {
            self.outbox.push(Chunk::Bytes(self.framing.window_update(stream, delta)));
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
        if let Some(frame) = self.framing.control(head, payload, &mut self.outbox)? {
            self.handle_frame(frame)?;
        }
        // Whoever asks and does not read the answers is to be left.
        if self.outbox.len() > MAX_ANSWERS { Err(PeerFault::Flood) } else { Ok(()) }
    }

    fn data_begins(&mut self, stream: u32, len: u32) -> Result<(), PeerFault> {
        if stream == 0 {
            return Err(PeerFault::UnexpectedFrame);
        }
        self.credit.take(len)?;
        let Some(state) = self.open.get_mut(&stream) else {
            // It may have been under way when the stream was reset, but not before it was opened.
            return if stream > self.last { Err(PeerFault::UnexpectedFrame) } else { Ok(()) };
        };
        if state.incoming != Incoming::Body {
            self.reset(stream, Reason::Closed);
        } else if state.credit.take(len).is_err() {
            self.reset(stream, Reason::FlowControl);
        }
        Ok(())
    }

    fn data(&mut self, stream: u32, len: u64) {
        if let Some(state) = self.open.get(&stream) {
            self.events.push_back(Event::Data { id: state.id, len });
        }
    }

    fn data_ends(&mut self, stream: u32, len: u32, end: bool) {
        if end && self.open.get(&stream).is_some_and(|state| state.incoming == Incoming::Body) {
            self.complete(stream);
        }
        self.give_back(stream, len);
    }
}
