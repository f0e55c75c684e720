//! A request and its response, as it is told afterwards.

use crate::ConnId;
use loadstone_http::{Chunk, Error, RequestHead, ResponseHead};
use loadstone_units::Time;
use std::sync::Arc;

/// A transfer, by its place among all of a fetcher's: first the requests in their order, as often as
/// they are repeated, then what servers pushed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TransferId(pub u32);

/// A request and its response.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The request, or what a server promised.
    pub request: Arc<RequestHead>,
    /// Its server's place in [`crate::FetchList::servers`].
    pub server: usize,
    /// If a server pushed this one: the transfer of the associated request.
    pub parent: Option<TransferId>,
    /// The connection on which it was asked for last.
    pub connection: Option<ConnId>,
    /// How often it was asked for.
    pub attempts: u32,
    /// It was given to a connection, or promised by a server.
    pub asked: Option<Time>,
    /// The first byte of the request was put on the wire.
    pub sent: Option<Time>,
    /// The response's head was there.
    pub first_byte: Option<Time>,
    /// The response was complete.
    pub last_byte: Option<Time>,
    /// The response's head.
    pub response: Option<Arc<ResponseHead>>,
    /// Bytes of the response's body that have come.
    pub bytes: u64,
    /// Why it is not complete, if it is not and will not be.
    pub failure: Option<Unanswered>,
}

impl Transfer {
    /// A request that has not been sent.
    pub(super) fn new(request: Arc<RequestHead>, server: usize) -> Transfer {
        Transfer {
            request,
            server,
            parent: None,
            connection: None,
            attempts: 0,
            asked: None,
            sent: None,
            first_byte: None,
            last_byte: None,
            response: None,
            bytes: 0,
            failure: None,
        }
    }

    /// Whether nothing more comes.
    pub fn is_settled(&self) -> bool {
        self.last_byte.is_some() || self.failure.is_some()
    }

    /// Whether it may be asked for again after its connection was lost: the server has done nothing with it,
    /// or may do it twice (RFC 9110, section 9.2.2), and has not begun to answer.
    pub(super) fn is_repeatable(&self) -> bool {
        const IDEMPOTENT: [&[u8]; 6] = [b"GET", b"HEAD", b"PUT", b"DELETE", b"OPTIONS", b"TRACE"];
        let may_repeat = self.sent.is_none() || IDEMPOTENT.contains(&&self.request.method[..]);
        self.parent.is_none() && self.response.is_none() && may_repeat
    }
}

/// Why there is no complete response.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unanswered {
    /// The server's address is not known.
    #[error("the server's name was not found: check it, or say where it is with --resolve HOST:PORT:ADDRESS")]
    NotFound,
    /// The server cannot be connected to.
    #[error("there is no connection to the server: see that it listens there")]
    Unreachable,
    /// The stream ended before its time.
    #[error("the stream was reset, by the server or for what it sent on it")]
    Reset,
    /// Streams were refused on one connection after the other.
    #[error("the server refused it on every connection: ask for less at a time with --concurrency")]
    Refused,
    /// The connection ended first.
    #[error("the connection ended before the response was complete")]
    Closed,
    /// The connection was given up for what the server did.
    #[error("{0}")]
    ProtocolError(Error),
    /// There was no time left.
    #[error("the response was not complete in time: allow more with --timeout")]
    TimedOut,
    /// It was stopped.
    #[error("interrupted")]
    Interrupted,
}

/// What has come of bodies. It is handed on, not kept.
#[derive(Clone, PartialEq, Debug)]
pub enum BodyPiece {
    /// The next bytes of a body.
    Piece {
        /// Whose.
        transfer: TransferId,
        /// What has come.
        chunk: Chunk,
    },
    /// The body is complete; perhaps nothing came before.
    End {
        /// Whose.
        transfer: TransferId,
    },
    /// The rest of the body does not come.
    Cut {
        /// Whose.
        transfer: TransferId,
    },
}
