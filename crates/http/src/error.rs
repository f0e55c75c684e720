//! What can go wrong on a session, by blame.

/// An offence of the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PeerFault {
    /// A head that is not HTTP (RFC 9112, sections 3 and 4).
    #[error("the head is malformed")]
    MalformedHead,
    /// A head longer than [`crate::h1::MAX_HEAD`] or with more than [`crate::h1::MAX_FIELDS`] fields.
    #[error("the head is too large")]
    HeadTooLarge,
    /// A body whose length cannot be told (RFC 9112, section 6.3).
    #[error("the length of the body is invalid")]
    InvalidLength,
    /// A body in a transfer coding that this session does not decode.
    #[error("the transfer coding is not supported")]
    UnsupportedTransferCoding,
    /// A response that nobody asked for.
    #[error("a response came without a request")]
    UnexpectedResponse,
    /// The connection ended within a message.
    #[error("the connection ended within a message")]
    Truncated,
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
