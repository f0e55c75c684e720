//! The session core of the protocols that carry many streams on one connection: streams, the order
//! of sending, flow control. SPDY and HTTP/2 differ from one another in their [`Framing`] alone.
//!
//! `reader` cuts the input into frames, `incoming` applies them to the streams. `scheduler` decides what is sent
//! next, `receive_window` counts what the peer may still send. `client` and `server` are the two ends, `push` is
//! what the server opens, `shutdown` how an end closes. A `violation` is what a peer does wrong; what it may do
//! depends on the `stream_state`. `abuse` counts frames without use.

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

pub(crate) use abuse::MAX_EMPTY;
pub(crate) use client::Client;
pub use config::{FrameBytes, MaxStreams, Multiplexing, Policy, Push, RequestOrder, RequestWrites, Window};
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
use crate::{Chunk, Error, Event, Fields, PeerFault, Priority, RequestHead, RequestId, Wire};
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

/// The peer's SETTINGS_MAX_CONCURRENT_STREAMS until it announces one: the value that servers usually send.
const PRESUMED_STREAMS: u32 = 100;

/// What client and server have in common: everything but the opening of streams.
#[derive(Debug)]
struct Streams<F> {
    framing: F,
    role: Perspective,
    reader: Reader,
    /// The rest of a frame of which a part is on the wire.
    partial_frame: Wire,
    /// Control frames to send: SETTINGS, PING, WINDOW_UPDATE, RST_STREAM, GOAWAY. They go before any new frame.
    control_queue: Wire,
    /// PUSH_PROMISE and interim responses: after control frames, before responses.
    early: VecDeque<Early>,
    scheduler: SendScheduler,
    /// What the peer may still send on the whole session.
    receive_window: ReceiveWindow,
    /// The receive window of a new stream; `None`: no flow control.
    stream_window: Option<u32>,
    open_streams: BTreeMap<u32, Stream>,
    /// How many of those the server has opened.
    pushes: usize,
    closed_streams: ClosedStreams,
    /// Trailers that have arrived, the latest of each stream.
    trailers: BTreeMap<u32, Arc<Fields>>,
    /// The priorities of streams that the client has not opened yet.
    pending_priorities: PendingPriorities,
    /// Content that the program has not used, if it says when it has.
    held: Option<Box<Held>>,
    abuse: AbuseCounters,
    events: VecDeque<Event>,
    /// Bytes of the heads of requests among the events.
    unpolled_heads: usize,
    /// The last stream that this end opened.
    last_local: u32,
    /// The last stream that the peer opened.
    last_remote: u32,
    /// This end's SETTINGS_MAX_CONCURRENT_STREAMS: how many streams the peer may have open.
    local_max_streams: usize,
    /// The peer's SETTINGS_MAX_CONCURRENT_STREAMS: how many streams this end may have open.
    peer_max_streams: usize,
    /// Whether this end takes pushes.
    push: Push,
    /// Whether the peer takes pushes.
    peer_push: Push,
    /// The peer takes no new streams.
    goaway_received: bool,
    shutdown: Shutdown,
    pings: Pings,
    /// The connection error that ended the session.
    connection_error: Option<PeerFault>,
}

/// A stream that is not closed: the peer's message is not complete, or this end's is not sent.
#[derive(Debug)]
struct Stream {
    id: RequestId,
    recv_state: RecvState,
    receive_window: ReceiveWindow,
    /// The peer's `content-length`, if it says how much content comes.
    content_length: Option<u64>,
    /// Bytes of content that have arrived.
    received: u64,
    /// The request's method: a response to HEAD has no content whatever its head says.
    method: Method,
    /// The request that this end has sent.
    asked: Option<Arc<RequestHead>>,
    /// The associated stream, if the server pushed this one (RFC 9113, section 8.4).
    parent: u32,
    response: ResponseState,
    /// Whether this end's message is sent, its end included.
    is_sent: bool,
}

/// Where the response comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ResponseState {
    /// None has been given yet.
    Awaited,
    /// The program has responded.
    FromProgram,
    /// The session itself has responded with status 400; a response of the program is ignored.
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
            receive_window: ReceiveWindow::new(windows.session.map(|initial| session_window.max(initial))),
            stream_window: windows.stream.map(|_| stream_window),
            open_streams: BTreeMap::new(),
            pushes: 0,
            closed_streams: ClosedStreams::default(),
            trailers: BTreeMap::new(),
            pending_priorities: PendingPriorities::default(),
            held: None,
            abuse: AbuseCounters::default(),
            events: VecDeque::new(),
            unpolled_heads: 0,
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

    fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front();
        if let Some(Event::Request { head, .. }) = &event {
            self.unpolled_heads -= head.memory_len();
        }
        event
    }

    /// A connection error: all streams are dropped, and a GOAWAY tells the peer the reason.
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

    fn is_partial(&self) -> bool {
        self.reader.is_partial() || self.framing.is_within_block()
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

    /// Opens a stream.
    fn open(&mut self, stream: u32, id: RequestId, method: Method, priority: Priority) {
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

    /// Queues a control frame.
    fn queue_control(&mut self, frame: Bytes) {
        self.control_queue.push(Chunk::Bytes(frame));
        self.abuse.note_control();
    }

    /// Puts the rest of a partial frame, then the control frames, on the wire; returns what is left of `room`.
    fn flush(&mut self, room: usize, out: &mut Wire) -> u64 {
        let mut room = room as u64;
        for wire in [&mut self.partial_frame, &mut self.control_queue] {
            let count = room.min(wire.len());
            wire.move_to(count, out);
            room -= count;
        }
        if self.control_queue.is_empty() {
            self.abuse.note_flushed();
            if self.open_streams.is_empty() {
                // Of many connections most are idle.
                self.control_queue = Wire::default();
            }
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

    /// Puts heads and bodies on the wire, each time the frame that the scheduler chooses.
    fn transmit(&mut self, room: u64, out: &mut Wire) {
        let mut room = self.transmit_early(room, out);
        while let Some(next) = self.scheduler.poll(room.saturating_sub(F::FRAME_HEADER_LEN as u64)) {
            match next {
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
        self.abuse.note_sent();
        if let Some(state) = self.open_streams.get_mut(&stream).filter(|_| end) {
            state.is_sent = true;
            if self.role == Perspective::Server {
                self.events.push_back(Event::ResponseSent { id: state.id });
            }
            self.close_if_complete(stream);
        }
    }

    fn close_if_complete(&mut self, stream: u32) {
        let is_complete = |state: &Stream| state.is_sent && state.recv_state == RecvState::Complete;
        if self.open_streams.get(&stream).is_some_and(is_complete) {
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

    /// Resets a stream that the program no longer wants.
    fn cancel(&mut self, id: RequestId) {
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

    /// Resets a stream with this error code.
    fn reset(&mut self, stream: u32, error_code: u32) {
        let frame = self.framing.reset(stream, error_code);
        self.queue_control(frame);
        self.closed_streams.note(stream, CloseReason::LocalReset);
        self.abuse.note_reset();
        self.drop_stream(stream, |id| Event::Reset { id });
    }

    /// Drops a stream; if the peer's message was not complete, or the response not sent, the program gets an event.
    fn drop_stream(&mut self, stream: u32, event: fn(RequestId) -> Event) {
        let Some(state) = self.remove(stream) else { return };
        self.forget(state.id);
        if matches!(state.recv_state, RecvState::Head | RecvState::Body) || self.awaits_outcome(&state) {
            self.events.push_back(event(state.id));
        }
    }

    /// Whether the server's program still expects to hear how the stream ends.
    fn awaits_outcome(&self, state: &Stream) -> bool {
        self.role == Perspective::Server && !state.is_sent
    }
}
