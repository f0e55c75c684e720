//! What can go wrong on a session, by blame.

/// A violation of the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PeerFault {
    /// A head that is not HTTP (RFC 9112, sections 3 and 4).
    #[error("the head is malformed")]
    MalformedHead,
    /// A version of HTTP other than 1.0 and 1.1 in a message of HTTP/1.1 (RFC 9112, section 2.3).
    #[error("the version of HTTP is not supported")]
    UnsupportedVersion,
    /// A head longer than [`crate::h1::MAX_HEAD`] or with more than [`crate::h1::MAX_FIELDS`] fields.
    #[error("the head is too large")]
    HeadTooLarge,
    /// A body whose length cannot be told (RFC 9112, section 6.3).
    #[error("the length of the body is invalid")]
    InvalidLength,
    /// A body in a transfer coding that this session does not decode.
    #[error("the transfer coding is not supported")]
    UnsupportedTransferCoding,
    /// A response without a request.
    #[error("a response came without a request")]
    UnexpectedResponse,
    /// The connection ended within a message.
    #[error("the connection ended within a message")]
    Truncated,
    /// A frame of SPDY in a version that was not agreed on.
    #[error("a frame has another version of the protocol")]
    WrongVersion,
    /// The session does not begin as it has to (RFC 9113, section 3.4).
    #[error("the session does not begin with its preface")]
    Preface,
    /// A frame longer than this end takes.
    #[error("a frame is too large")]
    FrameTooLarge,
    /// A frame whose length is wrong for its type (RFC 9113, section 4.2).
    #[error("a frame has a wrong length")]
    FrameSize,
    /// A frame whose fields contradict one another or its length.
    #[error("a frame is malformed")]
    MalformedFrame,
    /// A frame that may not come at this moment, or on this stream.
    #[error("a frame came out of place")]
    UnexpectedFrame,
    /// A frame on a stream that both ends have closed by END_STREAM (RFC 7540, section 5.1).
    #[error("a frame came on a stream that is closed")]
    StreamClosed,
    /// A stream opened with a number that is not the client's, or not above all before it.
    #[error("a stream was opened out of order")]
    StreamOutOfOrder,
    /// A header block that cannot be decompressed.
    #[error("the header compression is broken")]
    Compression,
    /// More content than a window allowed, or a window beyond 2^31 - 1.
    #[error("flow control was not kept")]
    FlowControl,
    /// A flood of frames without use: PING, SETTINGS, resets, empty ones.
    #[error("a flood of frames that bring nothing")]
    Flood,
    /// A counted body where a head has to be.
    #[error("body bytes came where a head has to be")]
    BodyInsteadOfHead,
}

/// Why a session cannot go on. It reaches the whole connection: HTTP/1.1 has no smaller unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// The other end broke the protocol.
    #[error("the peer broke the protocol: {0}")]
    Peer(#[from] PeerFault),
}
