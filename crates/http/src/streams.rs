//! The session core of the protocols that carry many streams on one connection: streams, the order
//! of sending, flow control. SPDY and HTTP/2 differ from one another in their [`Framing`] alone.
//!
//! `reader` cuts the input into frames, `incoming` says what they mean to the streams; `lanes` decides
//! what goes next, `credit` what may come; `client` and `server` are the two ends, `push` is what the
//! server opens, `leaving` how an end says that it goes. What a peer does
//! wrong is an `violation`; what is allowed to it depends on the stream's `standing`, and what it may
//! ask for that brings nothing, on our `abuse`.

mod abuse;
mod client;
mod config;
mod fair_queue;
mod flow;
mod framing;
mod heads;
mod incoming;
mod order;
mod priorities;
mod push;
mod reader;
mod receive_window;
mod scheduler;
mod server;
mod shutdown;
mod stream_state;
#[cfg(test)]
mod tests;
mod tree;
mod violation;
mod weight;

pub(crate) use client::Client;
pub use config::{FrameBytes, MaxStreams, Multiplexing, Policy, Push, Window};
pub(crate) use framing::{
    Frame, FrameHeader, Framing, GoAwayMode, LocalSettings, Perspective, Promise, ResetCause, Windows,
};
pub(crate) use heads::{
    Decoded, MessageHead, OptionalPseudoHeaders, PseudoHeaderNames, PseudoHeaderPosition, assemble, digits,
    is_connection_specific, sendable_fields,
};
pub(crate) use server::Server;
pub(crate) use tree::StreamDependency;
pub(crate) use violation::{ErrorAction, StreamViolation};

use crate::held::Held;
use crate::pending::Method;
use crate::{Chunk, Error, Event, Fields, PeerFault, Priority, RequestHead, StreamId, Wire};
use abuse::AbuseCounters;
use bytes::Bytes;
use priorities::PendingPriorities;
use push::Early;
use reader::Reader;
use receive_window::ReceiveWindow;
use scheduler::{NextFrame, SendScheduler};
use shutdown::{Pings, Shutdown};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use stream_state::{CloseReason, ClosedStreams, RecvState, StreamState};

/// The streams that a peer is taken to allow before it says how many: what servers announce.
const PRESUMED_STREAMS: u32 = 100;

/// What both ends of a session have: everything but who opens streams.
#[derive(Debug)]
struct Streams<F> {
    framing: F,
    role: Perspective,
    reader: Reader,
    /// The rest of a frame that was begun.
    partial_frame: Wire,
    /// Frames of the session's own, which go before any new one.
    control_queue: Wire,
    /// What goes after those and ahead of answers.
    early: VecDeque<Early>,
    scheduler: SendScheduler,
    /// What the peer may still send on the whole session.
    receive_window: ReceiveWindow,
    /// What the peer may send on a stream that begins.
    stream_window: Option<u32>,
    open_streams: BTreeMap<u32, Stream>,
    /// How many of those the server has opened.
    pushes: usize,
    closed_streams: ClosedStreams,
    /// Fields that came behind heads, the latest of each stream.
    trailers: BTreeMap<u32, Arc<Fields>>,
    /// The priorities of streams that the client has not opened yet.
    pending_priorities: PendingPriorities,
    /// What the program has not used, if it says when it has.
    held: Option<Box<Held>>,
    abuse: AbuseCounters,
    events: VecDeque<Event>,
    /// The last streams that this end and the peer opened.
    last_local: u32,
    last_remote: u32,
    /// How many streams the peer may have open.
    local_max_streams: usize,
    /// How many streams the peer lets be open.
    peer_max_streams: usize,
    /// What this end says to pushes, and what the peer does.
    push: Push,
    peer_push: Push,
    /// The peer takes no new streams.
    goaway_received: bool,
    shutdown: Shutdown,
    pings: Pings,
    /// Why the session is over.
    connection_error: Option<PeerFault>,
}

/// A stream whose message from the peer is not complete, or whose own is not sent.
#[derive(Debug)]
struct Stream {
    id: StreamId,
    recv_state: RecvState,
    receive_window: ReceiveWindow,
    /// What `content-length` says, where it says how much content comes.
    content_length: Option<u64>,
    /// Content that has come.
    received: u64,
    /// What was asked for on it: the answer to HEAD has no content whatever its head says.
    method: Method,
    /// What this end has asked for.
    asked: Option<Arc<RequestHead>>,
    /// The stream beside which it was opened, if the server did that.
    parent: u32,
    response: ResponseState,
    /// Whether the message that goes out is sent, its end included.
    is_sent: bool,
}

/// Who gives the message that goes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ResponseState {
    /// The program will.
    Awaited,
    /// The program has.
    FromProgram,
    /// The session has: the request was no good, and what the program says to it goes nowhere.
    FromSession,
}

impl<F: Framing> Streams<F> {
    fn new(mut framing: F, role: Perspective, config: &Multiplexing) -> Streams<F> {
        let (stream_window, session_window) = (config.stream_window.get(), config.session_window.get());
        let by_tree = config.policy == Policy::Tree;
        let policy = if by_tree && !F::HAS_DEPENDENCIES { Policy::Weighted } else { config.policy };
        let config = &Multiplexing { policy, ..*config };
        let settings =
            LocalSettings { stream_window, session_window, streams: config.streams.get(), push: config.push, policy };
        let windows = framing.windows();
        let mut control_queue = Wire::default();
        control_queue.push(Chunk::Bytes(framing.connection_preface(&settings)));
        Streams {
            framing,
            role,
            reader: Reader::new(if role == Perspective::Server { F::PREFACE } else { b"" }),
            partial_frame: Wire::default(),
            control_queue,
            early: VecDeque::new(),
            scheduler: SendScheduler::new(config, windows),
            receive_window: ReceiveWindow::new(windows.session.map(|least| session_window.max(least))),
            stream_window: windows.stream.map(|_| stream_window),
            open_streams: BTreeMap::new(),
            pushes: 0,
            closed_streams: ClosedStreams::default(),
            trailers: BTreeMap::new(),
            pending_priorities: PendingPriorities::default(),
            held: None,
            abuse: AbuseCounters::default(),
            events: VecDeque::new(),
            last_local: 0,
            last_remote: 0,
            local_max_streams: config.streams.get() as usize,
            peer_max_streams: PRESUMED_STREAMS as usize,
            push: config.push,
            peer_push: Push::Accept,
            goaway_received: false,
            shutdown: Shutdown::Open,
            pings: Pings::default(),
            connection_error: None,
        }
    }

    /// # Errors
    /// If the peer has broken the protocol, now or before: GOAWAY is then all that still goes out.
    fn handle_input(&mut self, input: &[Chunk]) -> Result<(), Error> {
        if let Some(held) = &mut self.held {
            held.handle_input(input);
        }
        if self.connection_error.is_none() {
            let mut reader = std::mem::take(&mut self.reader);
            if let Err(fault) = reader.read(input, self) {
                self.end(fault);
            }
            self.reader = reader;
        }
        self.connection_error.map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// The session is over: what is under way is given up, and the peer is told why.
    fn end(&mut self, fault: PeerFault) {
        self.connection_error = Some(fault);
        self.open_streams.clear();
        self.trailers.clear();
        self.pushes = 0;
        self.early.clear();
        self.scheduler.clear();
        self.control_queue.push(Chunk::Bytes(self.framing.go_away(self.last_remote, Some(fault))));
    }

    fn handle_fin(&mut self) -> Result<(), Error> {
        let is_whole = self.open_streams.values().all(|stream| stream.recv_state == RecvState::Complete);
        match self.connection_error {
            Some(fault) => Err(fault.into()),
            None if is_whole => {
                self.goaway_received = true;
                Ok(())
            }
            None => Err(PeerFault::Truncated.into()),
        }
    }

    /// Whether no new streams are opened.
    fn is_closing(&self) -> bool {
        self.goaway_received || self.connection_error.is_some() || self.shutdown != Shutdown::Open
    }

    fn has_output(&self) -> bool {
        !self.partial_frame.is_empty()
            || !self.control_queue.is_empty()
            || !self.early.is_empty()
            || self.scheduler.has_frame()
    }

    fn state(&self, stream: u32) -> StreamState {
        if let Some(state) = self.open_streams.get(&stream) {
            return StreamState::Open(state.recv_state);
        }
        let is_clients = stream % 2 == 1;
        let last = if is_clients == (self.role == Perspective::Client) { self.last_local } else { self.last_remote };
        match self.closed_streams.of(stream) {
            _ if stream > last => StreamState::Idle,
            Some(reason) => StreamState::Closed(reason),
            None => StreamState::ImplicitlyClosed,
        }
    }

    /// A stream begins.
    fn open(&mut self, stream: u32, id: StreamId, method: Method, priority: Priority) {
        let state = Stream {
            id,
            recv_state: RecvState::Head,
            receive_window: ReceiveWindow::new(self.stream_window),
            content_length: None,
            received: 0,
            method,
            asked: None,
            parent: 0,
            response: ResponseState::Awaited,
            is_sent: false,
        };
        self.open_streams.insert(stream, state);
        self.pushes += usize::from(stream.is_multiple_of(2));
        self.scheduler.open(stream, priority);
    }

    /// Puts a frame of the session's own in line.
    fn queue_control(&mut self, frame: Bytes) {
        self.control_queue.push(Chunk::Bytes(frame));
        self.abuse.note_control();
    }

    /// Puts what was begun, and the session's own frames, on the wire; returns what is left of `room`.
    fn flush(&mut self, room: usize, out: &mut Wire) -> u64 {
        let mut room = room as u64;
        for wire in [&mut self.partial_frame, &mut self.control_queue] {
            let count = room.min(wire.len());
            wire.move_to(count, out);
            room -= count;
        }
        if self.control_queue.is_empty() {
            self.abuse.note_flushed();
        }
        room
    }

    /// Puts a frame on the wire and keeps what does not fit; returns what is left of `room`.
    fn write_frame(&mut self, mut frame: Bytes, room: u64, out: &mut Wire) -> u64 {
        let fits = frame.len().min(room as usize);
        out.push(Chunk::Bytes(frame.split_to(fits)));
        self.partial_frame.push(Chunk::Bytes(frame));
        room - fits as u64
    }

    /// Puts heads and bodies on the wire, each time the piece whose turn it is.
    fn transmit(&mut self, room: u64, out: &mut Wire) {
        let mut room = self.transmit_early(room, out);
        while let Some(piece) = self.scheduler.poll(room.saturating_sub(F::FRAME_HEADER_LEN as u64)) {
            match piece {
                NextFrame::Head { stream, head, end } => {
                    let frame = self.framing.response(stream, &head, end);
                    room = self.write_frame(frame, room, out);
                    self.note_sent(stream, end);
                }
                NextFrame::Data { stream, run, end } => {
                    room -= F::FRAME_HEADER_LEN as u64 + run.len();
                    out.push(Chunk::Bytes(self.framing.data(stream, run.len() as u32, end)));
                    out.push(run);
                    self.note_sent(stream, end);
                }
                NextFrame::Streamed { stream, mut content, end } => {
                    let len = content.len();
                    room -= F::FRAME_HEADER_LEN as u64 + len;
                    out.push(Chunk::Bytes(self.framing.data(stream, len as u32, end)));
                    content.move_to(len, out);
                    self.note_sent(stream, end);
                }
                NextFrame::Trailers { stream, fields } => {
                    let frame = self.framing.trailers(stream, &fields);
                    room = self.write_frame(frame, room, out);
                    self.note_sent(stream, true);
                }
            }
        }
    }

    fn note_sent(&mut self, stream: u32, end: bool) {
        if let Some(state) = self.open_streams.get_mut(&stream).filter(|_| end) {
            state.is_sent = true;
            if self.role == Perspective::Server && state.response == ResponseState::FromProgram {
                self.events.push_back(Event::Answered { id: state.id });
            }
            self.close_if_complete(stream);
        }
    }

    fn close_if_complete(&mut self, stream: u32) {
        let is_over = |state: &Stream| state.is_sent && state.recv_state == RecvState::Complete;
        if self.open_streams.get(&stream).is_some_and(is_over) {
            self.remove(stream);
            self.closed_streams.note(stream, CloseReason::Complete);
            self.abuse.note_completed();
        }
    }

    fn remove(&mut self, stream: u32) -> Option<Stream> {
        self.scheduler.close(stream);
        self.take_trailers(stream);
        let state = self.open_streams.remove(&stream)?;
        self.pushes -= usize::from(stream.is_multiple_of(2));
        self.send_goaway_if_idle();
        Some(state)
    }

    /// Gives up a stream that the program wants no more of.
    fn cancel(&mut self, id: StreamId) {
        self.forget(id);
        let Some(stream) = self.stream(id) else { return };
        let is_known = !self.is_promise_queued(stream);
        if self.remove(stream).is_some() && is_known {
            let frame = self.framing.reset(stream, F::CANCEL);
            self.control_queue.push(Chunk::Bytes(frame));
            self.closed_streams.note(stream, CloseReason::LocalReset);
            if F::PUSHES_HEADS && self.role == Perspective::Client {
                self.drop_pushes_of(stream, CloseReason::LocalReset);
            }
        }
    }

    /// Ends a stream before its time, from here.
    fn reset(&mut self, stream: u32, error_code: u32) {
        let frame = self.framing.reset(stream, error_code);
        self.queue_control(frame);
        self.closed_streams.note(stream, CloseReason::LocalReset);
        self.abuse.note_reset();
        self.drop_stream(stream, |id| Event::Reset { id });
    }

    /// Forgets a stream; if its message was still to come, or its answer to go, the program hears of it.
    fn drop_stream(&mut self, stream: u32, event: fn(StreamId) -> Event) {
        let Some(state) = self.remove(stream) else { return };
        self.forget(state.id);
        if matches!(state.recv_state, RecvState::Head | RecvState::Body) || self.awaits_outcome(&state) {
            self.events.push_back(event(state.id));
        }
    }

    /// Whether the program of a server counts on a stream.
    fn awaits_outcome(&self, state: &Stream) -> bool {
        self.role == Perspective::Server && !state.is_sent && state.response != ResponseState::FromSession
    }
}
