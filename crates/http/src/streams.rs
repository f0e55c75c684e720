//! The session core of the protocols that carry many streams on one connection: streams, the order
//! of sending, flow control. SPDY and HTTP/2 differ from one another in their [`Framing`] alone.
//!
//! `reader` cuts the input into frames, `incoming` says what they mean to the streams; `lanes` decides
//! what goes next, `credit` what may come; `client` and `server` are the two ends, `push` is what the
//! server opens, `leaving` how an end says that it goes. What a peer does
//! wrong is an `offence`; what is allowed to it depends on the stream's `standing`, and what it may
//! ask for in vain on our `tolerance`.

mod client;
mod config;
mod credit;
mod framing;
mod heads;
mod incoming;
mod lanes;
mod leaving;
mod line;
mod offence;
mod order;
mod priorities;
mod push;
mod reader;
mod server;
mod standing;
#[cfg(test)]
mod tests;
mod tolerance;
mod tree;

pub(crate) use client::Client;
pub use config::{FrameBytes, MaxStreams, Multiplexing, Policy, Push, Window};
pub(crate) use framing::{Cause, Farewell, Frame, FrameHead, Framing, Limits, Promise, Role, Windows};
pub(crate) use heads::{Decoded, Head, Names, Place, Spared, assemble, digits, is_of_connection, sendable};
pub(crate) use offence::{Offence, Reaction};
pub(crate) use server::Server;
pub(crate) use tree::Dependency;

use crate::{Chunk, Error, Event, PeerFault, Priority, RequestHead, StreamId, Wire};
use bytes::Bytes;
use credit::Credit;
use lanes::{Lanes, Piece};
use leaving::{Leaving, Pings};
use priorities::Foretold;
use push::Early;
use reader::Reader;
use standing::{Ending, Endings, Incoming, Standing};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tolerance::Tolerance;

/// The streams that a peer is taken to allow before it says how many: what servers announce.
const PRESUMED_STREAMS: u32 = 100;

/// What both ends of a session have: everything but who opens streams.
#[derive(Debug)]
struct Streams<F> {
    framing: F,
    role: Role,
    reader: Reader,
    /// The rest of a frame that was begun.
    begun: Wire,
    /// Frames of the session's own, which go before any new one.
    answers: Wire,
    /// What goes after those and ahead of answers.
    early: VecDeque<Early>,
    lanes: Lanes,
    /// What the peer may still send on the whole session.
    credit: Credit,
    /// What the peer may send on a stream that begins.
    stream_window: Option<u32>,
    open: BTreeMap<u32, Stream>,
    /// How many of those the server has opened.
    pushes: usize,
    endings: Endings,
    /// The priorities of streams that the client has not opened yet.
    foretold: Foretold,
    tolerance: Tolerance,
    events: VecDeque<Event>,
    /// The last streams that this end and the peer opened.
    last_ours: u32,
    last_theirs: u32,
    /// How many streams the peer may have open.
    limit: usize,
    /// How many streams the peer lets be open.
    peer_limit: usize,
    /// What this end says to pushes, and what the peer does.
    push: Push,
    peer_push: Push,
    /// The peer takes no new streams.
    is_going_away: bool,
    leaving: Leaving,
    pings: Pings,
    /// Why the session is over.
    over: Option<PeerFault>,
}

/// A stream whose message from the peer is not complete, or whose own is not sent.
#[derive(Debug)]
struct Stream {
    id: StreamId,
    incoming: Incoming,
    credit: Credit,
    /// What `content-length` says, where it says how much content comes.
    expected: Option<u64>,
    /// Content that has come.
    received: u64,
    /// Whether its message has no content whatever its head says: the answer to HEAD.
    is_bodiless: bool,
    /// What this end has asked for.
    asked: Option<Arc<RequestHead>>,
    /// The stream beside which it was opened, if the server did that.
    parent: u32,
    answer: Answer,
    /// Whether the message that goes out is sent, its end included.
    is_sent: bool,
}

/// Who gives the message that goes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    /// The program will.
    Awaited,
    /// The program has.
    Given,
    /// The session has: the request was no good, and what the program says to it goes nowhere.
    Own,
}

impl<F: Framing> Streams<F> {
    fn new(mut framing: F, role: Role, config: &Multiplexing) -> Streams<F> {
        let (stream_window, session_window) = (config.stream_window.get(), config.session_window.get());
        let by_tree = config.policy == Policy::Tree;
        let policy = if by_tree && !F::HAS_DEPENDENCIES { Policy::Weighted } else { config.policy };
        let config = &Multiplexing { policy, ..*config };
        let limits = Limits { stream_window, session_window, streams: config.streams.get(), push: config.push, policy };
        let windows = framing.windows();
        let mut answers = Wire::default();
        answers.push(Chunk::Bytes(framing.opening(&limits)));
        Streams {
            framing,
            role,
            reader: Reader::new(if role == Role::Server { F::PREFACE } else { b"" }),
            begun: Wire::default(),
            answers,
            early: VecDeque::new(),
            lanes: Lanes::new(config, windows),
            credit: Credit::new(windows.session.map(|least| session_window.max(least))),
            stream_window: windows.stream.map(|_| stream_window),
            open: BTreeMap::new(),
            pushes: 0,
            endings: Endings::default(),
            foretold: Foretold::default(),
            tolerance: Tolerance::default(),
            events: VecDeque::new(),
            last_ours: 0,
            last_theirs: 0,
            limit: config.streams.get() as usize,
            peer_limit: PRESUMED_STREAMS as usize,
            push: config.push,
            peer_push: Push::Accept,
            is_going_away: false,
            leaving: Leaving::Staying,
            pings: Pings::default(),
            over: None,
        }
    }

    /// # Errors
    /// If the peer has broken the protocol, now or before: GOAWAY is then all that still goes out.
    fn handle_input(&mut self, input: &[Chunk]) -> Result<(), Error> {
        if self.over.is_none() {
            let mut reader = std::mem::take(&mut self.reader);
            if let Err(fault) = reader.read(input, self) {
                self.end(fault);
            }
            self.reader = reader;
        }
        self.over.map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// The session is over: what is under way is given up, and the peer is told why.
    fn end(&mut self, fault: PeerFault) {
        self.over = Some(fault);
        self.open.clear();
        self.pushes = 0;
        self.early.clear();
        self.lanes.clear();
        self.answers.push(Chunk::Bytes(self.framing.go_away(self.last_theirs, Some(fault))));
    }

    fn handle_close(&mut self) -> Result<(), Error> {
        let is_whole = self.open.values().all(|stream| stream.incoming == Incoming::Complete);
        match self.over {
            Some(fault) => Err(fault.into()),
            None if is_whole => {
                self.is_going_away = true;
                Ok(())
            }
            None => Err(PeerFault::Truncated.into()),
        }
    }

    /// Whether no new streams are opened.
    fn is_closing(&self) -> bool {
        self.is_going_away || self.over.is_some() || self.leaving != Leaving::Staying
    }

    fn has_output(&self) -> bool {
        !self.begun.is_empty() || !self.answers.is_empty() || !self.early.is_empty() || self.lanes.has_piece()
    }

    fn standing(&self, stream: u32) -> Standing {
        if let Some(state) = self.open.get(&stream) {
            return Standing::Open(state.incoming);
        }
        let is_clients = stream % 2 == 1;
        let last = if is_clients == (self.role == Role::Client) { self.last_ours } else { self.last_theirs };
        match self.endings.of(stream) {
            _ if stream > last => Standing::Idle,
            Some(ending) => Standing::Over(ending),
            None => Standing::Passed,
        }
    }

    /// A stream begins.
    fn open(&mut self, stream: u32, id: StreamId, priority: Priority) {
        let state = Stream {
            id,
            incoming: Incoming::Head,
            credit: Credit::new(self.stream_window),
            expected: None,
            received: 0,
            is_bodiless: false,
            asked: None,
            parent: 0,
            answer: Answer::Awaited,
            is_sent: false,
        };
        self.open.insert(stream, state);
        self.pushes += usize::from(stream.is_multiple_of(2));
        self.lanes.open(stream, priority);
    }

    /// Puts a frame of the session's own in line.
    fn say(&mut self, frame: Bytes) {
        self.answers.push(Chunk::Bytes(frame));
        self.tolerance.note_answer();
    }

    /// Puts what was begun, and the session's own frames, on the wire; returns what is left of `room`.
    fn flush(&mut self, room: usize, out: &mut Wire) -> u64 {
        let mut room = room as u64;
        for wire in [&mut self.begun, &mut self.answers] {
            let count = room.min(wire.len());
            wire.move_to(count, out);
            room -= count;
        }
        if self.answers.is_empty() {
            self.tolerance.note_read();
        }
        room
    }

    /// Puts a frame on the wire and keeps what does not fit; returns what is left of `room`.
    fn put(&mut self, mut frame: Bytes, room: u64, out: &mut Wire) -> u64 {
        let fits = frame.len().min(room as usize);
        out.push(Chunk::Bytes(frame.split_to(fits)));
        self.begun.push(Chunk::Bytes(frame));
        room - fits as u64
    }

    /// Puts heads and bodies on the wire, each time the piece whose turn it is.
    fn transmit(&mut self, room: u64, out: &mut Wire) {
        let mut room = self.transmit_early(room, out);
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
            if self.role == Role::Server && state.answer == Answer::Given {
                self.events.push_back(Event::Answered { id: state.id });
            }
            self.forget_if_over(stream);
        }
    }

    fn forget_if_over(&mut self, stream: u32) {
        let is_over = |state: &Stream| state.is_sent && state.incoming == Incoming::Complete;
        if self.open.get(&stream).is_some_and(is_over) {
            self.remove(stream);
            self.endings.note(stream, Ending::Complete);
            self.tolerance.note_success();
        }
    }

    fn remove(&mut self, stream: u32) -> Option<Stream> {
        self.lanes.close(stream);
        let state = self.open.remove(&stream)?;
        self.pushes -= usize::from(stream.is_multiple_of(2));
        self.leave_if_idle();
        Some(state)
    }

    /// Gives up a stream that the program wants no more of.
    fn cancel(&mut self, stream: u32) {
        let is_known = !self.is_unannounced(stream);
        if self.remove(stream).is_some() && is_known {
            let frame = self.framing.reset(stream, F::CANCEL);
            self.answers.push(Chunk::Bytes(frame));
            self.endings.note(stream, Ending::FromHere);
            if F::PUSHES_HEADS && self.role == Role::Client {
                self.drop_pushes_beside(stream, Ending::FromHere);
            }
        }
    }

    /// Ends a stream before its time, from here.
    fn reset(&mut self, stream: u32, status: u32) {
        let frame = self.framing.reset(stream, status);
        self.say(frame);
        self.endings.note(stream, Ending::FromHere);
        self.tolerance.note_reset();
        self.drop_stream(stream, |id| Event::Reset { id });
    }

    /// Forgets a stream; if its message was still to come, or its answer to go, the program hears of it.
    fn drop_stream(&mut self, stream: u32, event: fn(StreamId) -> Event) {
        if let Some(state) = self.remove(stream)
            && (matches!(state.incoming, Incoming::Head | Incoming::Body) || self.owes_answer(&state))
        {
            self.events.push_back(event(state.id));
        }
    }

    /// Whether the program of a server counts on a stream.
    fn owes_answer(&self, state: &Stream) -> bool {
        self.role == Role::Server && !state.is_sent && state.answer != Answer::Own
    }
}
