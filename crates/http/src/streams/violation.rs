//! What a peer can do wrong on one stream, and how one may react. Which reaction belongs to which
//! violation each protocol says in one table: [`super::Framing::error_action`].

use crate::PeerFault;

/// What a peer did wrong on one stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StreamViolation {
    /// Content or fields on a stream that nobody opened.
    Idle,
    /// RST_STREAM or WINDOW_UPDATE on a stream that nobody opened.
    ControlOnIdle,
    /// Content or fields before the head of the response.
    BeforeHead,
    /// A second head of the response.
    SecondHead,
    /// Content or fields after the end of the message.
    AfterEnd,
    /// Content or fields on a stream that the peer has reset.
    AfterReset,
    /// Content or fields on a stream that both ends have brought to its end.
    AfterClose,
    /// The stream was opened a second time.
    Reopened,
    /// A head that breaks the rules.
    Malformed,
    /// A request without some part of its line.
    MissingPseudoHeader,
    /// More or less content than `content-length` said.
    Length,
    /// A request beyond the streams that may be open.
    TooMany,
    /// A push that is not wanted.
    UnwantedPush,
    /// A push that belongs to no request.
    BadAssociatedStream,
    /// A push on a stream that the server has opened before.
    PromisedIdReused,
    /// A push of what cannot be asked for, or of another origin than its parent's.
    NotPromisable,
    /// More content than the stream's window allowed.
    WindowExceeded,
    /// The stream's window was opened beyond 2^31 - 1.
    WindowOverflow,
    /// The stream's window was opened by 0.
    ZeroDelta,
    /// A frame that has not the length of its kind.
    FrameSize,
}

/// What is done about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ErrorAction {
    Ignore,
    /// RST_STREAM with this status: the other streams go on.
    Reset(u32),
    /// The request is answered with status 400.
    BadRequest,
    /// The session is over.
    End(PeerFault),
}
