//! What tells one protocol of many streams from another: how it writes frames and heads.

use super::config::{Policy, Push};
use super::heads::Decoded;
use super::tree::StreamDependency;
use super::violation::{ErrorAction, StreamViolation};
use crate::{Fields, PeerFault, PersistedSettings, Priority, RequestHead, ResponseHead, Wire};
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;

pub(crate) use super::reader::FrameHeader;

/// How frames are written and read. It holds the session's header compression.
pub(crate) trait Framing: fmt::Debug {
    /// Bytes of a frame's head.
    const FRAME_HEADER_LEN: usize;
    /// The status of a stream that nobody wants any more.
    const CANCEL: u32;
    /// Whether a push is announced with the head of the response as well, and CANCEL on a stream means what
    /// is pushed beside it too.
    const PUSHES_HEADS: bool;
    /// Whether clients say which stream depends on which.
    const HAS_DEPENDENCIES: bool;
    /// What a client sends before its first frame.
    const PREFACE: &'static [u8];

    /// The most bytes of a head, as HTTP/1.1 writes it, that this end sends.
    fn max_message_head(&self) -> usize;

    /// The flow-control windows until someone says otherwise.
    fn windows(&self) -> Windows;

    /// What this end sends first: for a client the preface, then SETTINGS and the session's window.
    fn connection_preface(&mut self, settings: &LocalSettings) -> Bytes;

    /// What a frame's head says.
    fn parse_frame_header(&self, head: &[u8]) -> Result<FrameHeader, PeerFault>;

    /// What a complete frame says, if it is for the session; answers that the framing gives by
    /// itself go to `answers`.
    fn control(&mut self, head: &[u8], payload: Bytes, out: &mut Wire) -> Result<Option<Frame>, PeerFault>;

    /// The frames of a request's head.
    fn request(&mut self, stream: u32, head: &Arc<RequestHead>, priority: Priority, end: bool) -> Bytes;

    /// The frames of a response's head; the server has opened even streams itself.
    fn response(&mut self, stream: u32, head: &Arc<ResponseHead>, end: bool) -> Bytes;

    /// The frames of the fields behind the content, which end the message.
    fn trailers(&mut self, stream: u32, fields: &Arc<Fields>) -> Bytes;

    /// The frames of an interim response, where the protocol has them.
    fn interim(&mut self, stream: u32, head: &Arc<ResponseHead>) -> Bytes;

    /// The frames that announce a push, with the head of the response where they may have it.
    fn promise(&mut self, promise: &Promise, response: Option<(Arc<ResponseHead>, bool)>) -> Bytes;

    /// The head of a DATA frame.
    fn data(&self, stream: u32, len: u32, end: bool) -> Bytes;

    /// A WINDOW_UPDATE frame; stream 0 is the session.
    fn window_update(&self, stream: u32, delta: u32) -> Bytes;

    /// A RST_STREAM frame.
    fn reset(&self, stream: u32, error_code: u32) -> Bytes;

    /// A GOAWAY frame: why the session is over, if for a fault, and the last stream of the peer's that was
    /// taken.
    fn go_away(&self, last: u32, fault: Option<PeerFault>) -> Bytes;

    /// This end's PING of this number.
    fn ping(&self, number: u32) -> Bytes;

    /// What was kept of an earlier session: at a client what the server asked to be kept, at a server what
    /// the client returned.
    fn persisted(&self) -> PersistedSettings;

    /// The frame that asks a client to keep these settings, where the protocol has it.
    fn persist(&self, settings: &PersistedSettings) -> Bytes;

    /// When a server that leaves says so.
    fn goaway_mode(&self) -> GoAwayMode;

    /// What is to be done about a violation.
    fn error_action(&self, violation: StreamViolation) -> ErrorAction;
}

/// The flow-control windows of each stream and of the session, in bytes; none where the protocol lets
/// any number of them go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    pub(crate) stream: Option<u32>,
    pub(crate) session: Option<u32>,
}

/// Which end of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Perspective {
    Client,
    Server,
}

/// A stream that the server opens.
#[derive(Clone, Debug)]
pub(crate) struct Promise {
    pub(crate) stream: u32,
    /// The stream beside which it comes.
    pub(crate) parent: u32,
    pub(crate) head: Arc<RequestHead>,
    pub(crate) priority: Priority,
}

/// When a server that leaves says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GoAwayMode {
    /// At once, and a round trip later which requests it still took (RFC 9113, section 6.8).
    TwoPhase,
    /// At once.
    Immediate,
    /// When nothing is under way any more.
    WhenIdle,
}

/// What an end announces at the beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalSettings {
    pub(crate) stream_window: u32,
    pub(crate) session_window: u32,
    /// How many streams the other end may have open.
    pub(crate) streams: u32,
    pub(crate) push: Push,
    /// What the server goes by.
    pub(crate) policy: Policy,
}

/// What a frame says to the session.
#[derive(Debug)]
pub(crate) enum Frame {
    /// SPDY: the client opens a stream.
    SynStream {
        stream: u32,
        head: Decoded,
        priority: Priority,
        end: bool,
    },
    /// The server opens a stream for what it thinks that the client wants beside `associated`.
    Push {
        stream: u32,
        associated: u32,
        head: Decoded,
        end: bool,
    },
    /// SPDY: the head of a response.
    SynReply {
        stream: u32,
        head: Decoded,
        end: bool,
    },
    /// SPDY: more fields.
    SpdyHeaders {
        stream: u32,
        head: Decoded,
        end: bool,
    },
    /// HTTP/2: any of the three, as the stream stands.
    Headers {
        stream: u32,
        head: Decoded,
        dependency: Option<StreamDependency>,
        end: bool,
    },
    /// A frame that is wrong whatever its stream's standing.
    Malformed {
        stream: u32,
        violation: StreamViolation,
    },
    /// HTTP/2: a stream's place among the others, whatever its standing.
    Priority {
        stream: u32,
        dependency: StreamDependency,
    },
    /// HTTP/2: the client wants a stream sooner or later than it said, or is about to ask.
    PriorityUpdate {
        stream: u32,
        priority: Priority,
    },
    Reset {
        stream: u32,
        cause: ResetCause,
    },
    /// Room in a window; stream 0 is the session.
    WindowUpdate {
        stream: u32,
        delta: u32,
    },
    Settings {
        stream_window: Option<u32>,
        streams: Option<u32>,
        push: Option<Push>,
    },
    /// An answer to this end's PING.
    PingAck {
        number: u32,
    },
    GoAway {
        last: u32,
    },
}

/// Why the peer resets a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ResetCause {
    /// It has done nothing with the request (RFC 9113, section 8.7; draft 3, section 2.6.3).
    Refused,
    /// SPDY: it wants neither the stream nor what is pushed beside it (draft 3, section 3.3.2).
    Cancelled,
    Other,
}
