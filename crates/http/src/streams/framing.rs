//! What SPDY and HTTP/2 differ in: how frames and heads are written.

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
    /// Bytes of a frame header (RFC 9113, section 4.1).
    const FRAME_HEADER_LEN: usize;
    /// The error code CANCEL.
    const CANCEL: u32;
    /// Whether the announcement of a push has the head of its response too, and CANCEL of a stream cancels its
    /// pushes too (SPDY).
    const PUSHES_HEADS: bool;
    /// Whether there are dependencies between streams (RFC 7540, section 5.3).
    const HAS_DEPENDENCIES: bool;
    /// The fixed string before a client's first frame (RFC 9113, section 3.4).
    const PREFACE: &'static [u8];

    /// The largest head that this end sends, in bytes as HTTP/1.1 would write it.
    fn max_message_head(&self) -> usize;

    /// The initial flow-control windows.
    fn windows(&self) -> Windows;

    /// What this end sends first: the client's fixed string, then SETTINGS and a WINDOW_UPDATE for the session.
    fn connection_preface(&mut self, settings: &LocalSettings) -> Bytes;

    fn parse_frame_header(&self, head: &[u8]) -> Result<FrameHeader, PeerFault>;

    /// Parses a complete frame; `None` if the session need not see it. ACKs of SETTINGS and PING go to `out`.
    fn control(&mut self, head: &[u8], payload: Bytes, out: &mut Wire) -> Result<Option<Frame>, PeerFault>;

    /// Whether a header block has begun and not ended (RFC 9113, section 4.3).
    fn is_within_block(&self) -> bool {
        false
    }

    /// The frames of a request's head.
    fn request(&mut self, stream: u32, head: &Arc<RequestHead>, priority: Priority, end: bool) -> Bytes;

    /// The frames of a response's head; even streams are pushes.
    fn response(&mut self, stream: u32, head: &Arc<ResponseHead>, end: bool) -> Bytes;

    /// The frames of trailers, which end the message.
    fn trailers(&mut self, stream: u32, fields: &Arc<Fields>) -> Bytes;

    /// The frames of an interim response, if the protocol has them.
    fn interim(&mut self, stream: u32, head: &Arc<ResponseHead>) -> Bytes;

    /// The frames that announce a push, with the head of its response where [`Framing::PUSHES_HEADS`].
    fn promise(&mut self, promise: &Promise, response: Option<(Arc<ResponseHead>, bool)>) -> Bytes;

    /// The frame header of a DATA frame.
    fn data(&self, stream: u32, len: u32, end: bool) -> Bytes;

    /// A WINDOW_UPDATE frame; stream 0 is the session.
    fn window_update(&self, stream: u32, delta: u32) -> Bytes;

    /// A RST_STREAM frame.
    fn reset(&self, stream: u32, error_code: u32) -> Bytes;

    /// A GOAWAY frame: the last stream of the peer that was accepted, and the connection error, if there is one.
    fn go_away(&self, last: u32, fault: Option<PeerFault>) -> Bytes;

    /// A PING frame with this number.
    fn ping(&self, number: u32) -> Bytes;

    /// SPDY's persisted SETTINGS: on a client those to store, on a server those that the client sent back.
    fn persisted(&self) -> PersistedSettings;

    /// The frame that asks a client to persist these settings (SPDY).
    fn persist(&self, settings: &PersistedSettings) -> Bytes;

    /// When a server that shuts down sends GOAWAY.
    fn goaway_mode(&self) -> GoAwayMode;

    /// The reaction to a violation.
    fn error_action(&self, violation: StreamViolation) -> ErrorAction;
}

/// The flow-control windows of each stream and of the session, in bytes; `None`: no flow control.
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

/// A push to announce.
#[derive(Clone, Debug)]
pub(crate) struct Promise {
    pub(crate) stream: u32,
    /// The associated stream (RFC 9113, section 8.4).
    pub(crate) parent: u32,
    pub(crate) head: Arc<RequestHead>,
    pub(crate) priority: Priority,
}

/// When a server that shuts down sends GOAWAY.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GoAwayMode {
    /// At once with the last stream 2^31 - 1, and a round trip later with the true one (RFC 9113, section 6.8).
    TwoPhase,
    /// At once.
    Immediate,
    /// When no stream is open any more.
    WhenIdle,
}

/// What an end announces in its first SETTINGS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalSettings {
    pub(crate) stream_window: u32,
    pub(crate) session_window: u32,
    /// How many streams the peer may have open.
    pub(crate) streams: u32,
    pub(crate) push: Push,
    /// The server's order of sending.
    pub(crate) policy: Policy,
}

/// A frame that was read, by its meaning for the session.
#[derive(Debug)]
pub(crate) enum Frame {
    /// SPDY: SYN_STREAM of a client.
    SynStream {
        stream: u32,
        head: Decoded,
        priority: Priority,
        end: bool,
    },
    /// PUSH_PROMISE, or in SPDY a server's SYN_STREAM.
    Push {
        stream: u32,
        associated: u32,
        head: Decoded,
        end: bool,
    },
    /// SPDY: SYN_REPLY, the head of a response.
    SynReply {
        stream: u32,
        head: Decoded,
        end: bool,
    },
    /// SPDY: HEADERS, more fields or the head of a pushed response.
    SpdyHeaders {
        stream: u32,
        head: Decoded,
        end: bool,
    },
    /// HTTP/2: HEADERS; the stream's state tells whether it is a request, a response or trailers.
    Headers {
        stream: u32,
        head: Decoded,
        dependency: Option<StreamDependency>,
        end: bool,
    },
    /// A frame that is wrong in any stream state.
    Malformed {
        stream: u32,
        violation: StreamViolation,
    },
    /// HTTP/2: PRIORITY (RFC 7540, section 6.3), in any stream state.
    Priority {
        stream: u32,
        dependency: StreamDependency,
    },
    /// HTTP/2: PRIORITY_UPDATE (RFC 9218, section 7.1), for an open or a future stream.
    PriorityUpdate {
        stream: u32,
        priority: Priority,
    },
    Reset {
        stream: u32,
        cause: ResetCause,
    },
    /// WINDOW_UPDATE; stream 0 is the session.
    WindowUpdate {
        stream: u32,
        delta: u32,
    },
    Settings {
        stream_window: Option<u32>,
        streams: Option<u32>,
        push: Option<Push>,
    },
    /// The reply to a PING of this end.
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
    /// The request was not processed (RFC 9113, section 8.7; draft 3, section 2.6.3).
    Refused,
    /// SPDY: CANCEL, of the stream and its pushes (draft 3, section 3.3.2).
    Cancelled,
    Other,
}
