//! What a peer can do wrong on one stream, and the possible reactions. Each protocol has a table of its reactions:
//! [`super::Framing::error_action`].

use crate::PeerFault;

/// What a peer did wrong on one stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StreamViolation {
    /// Content or fields on an idle stream.
    Idle,
    /// RST_STREAM or WINDOW_UPDATE on an idle stream.
    ControlOnIdle,
    /// Content or fields before the head of the response.
    BeforeHead,
    /// A second head of the response.
    SecondHead,
    /// Content or fields after the end of the message.
    AfterEnd,
    /// Content or fields on a stream that the peer has reset.
    AfterReset,
    /// Content or fields on a stream that both ends have closed by END_STREAM.
    AfterClose,
    /// The stream was opened a second time.
    Reopened,
    /// A head that breaks the rules.
    Malformed,
    /// A request with a missing or invalid pseudo-header.
    MissingPseudoHeader,
    /// More or less content than `content-length` said.
    Length,
    /// A stream beyond the limit of open streams.
    TooMany,
    /// A push that is not wanted.
    UnwantedPush,
    /// A push whose associated stream is idle, or is a push itself.
    BadAssociatedStream,
    /// A push with a stream id that was used before.
    PromisedIdReused,
    /// A push whose request is not a GET or HEAD, is malformed, or has another origin than the associated request.
    NotPromisable,
    /// More content than the stream's window allowed.
    WindowExceeded,
    /// A WINDOW_UPDATE that makes the stream's window larger than 2^31 - 1.
    WindowOverflow,
    /// A WINDOW_UPDATE of 0.
    ZeroDelta,
    /// A frame whose length is wrong for its type.
    FrameSize,
}

/// The reaction to a violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ErrorAction {
    Ignore,
    /// A stream error: RST_STREAM with this error code.
    Reset(u32),
    /// A response with status 400.
    BadRequest,
    /// A connection error.
    End(PeerFault),
}
