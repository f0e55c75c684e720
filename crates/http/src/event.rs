//! What a session tells the program above it, and the ids of the requests concerned.

use crate::{Chunk, Fields, RequestHead, ResponseHead};
use std::sync::Arc;

/// A request and its response. Within a session the client's requests count from 0, and what the server
/// pushes from [`RequestId::PUSHED`]. It is not the stream identifier of the frames.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RequestId(pub u32);

impl RequestId {
    /// The first push.
    pub const PUSHED: RequestId = RequestId(1 << 31);

    /// Whether the server has opened it.
    pub const fn is_pushed(self) -> bool {
        self.0 >= RequestId::PUSHED.0
    }
}

/// What a session tells the program above it.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// Client: the first byte of the request has been put on the wire.
    Sent {
        /// Which request.
        id: RequestId,
    },
    /// Server: a request's head has arrived.
    Request {
        /// Which one, to respond to.
        id: RequestId,
        /// Its head.
        head: Arc<RequestHead>,
    },
    /// Client: an interim response has arrived, for instance 103 (RFC 8297); a final one follows.
    Interim {
        /// The request that it is about.
        id: RequestId,
        /// Its head.
        head: Arc<ResponseHead>,
    },
    /// Client: the server has announced a push: a request in the client's place, whose response follows.
    Promised {
        /// The pushed request.
        id: RequestId,
        /// The associated request (RFC 9113, section 8.4).
        parent: RequestId,
        /// The head of the pushed request.
        head: Arc<RequestHead>,
    },
    /// Client: a response's final head has arrived.
    Response {
        /// The request it answers.
        id: RequestId,
        /// Its head.
        head: Arc<ResponseHead>,
    },
    /// Server: the request breaks the rules of HTTP, and the session has answered it with this status and no content
    /// (RFC 9110, section 15.5). It may take no more requests after it. The program's answer is not needed, and its
    /// end is an [`Event::ResponseSent`] or [`Event::Reset`].
    Rejected {
        /// Which one.
        id: RequestId,
        /// What could be read of its head; `None` if it was read, and came by [`Event::Request`].
        head: Option<Arc<RequestHead>>,
        /// 400, 431, 501 or 505.
        status: u16,
    },
    /// Bytes of the message's body have arrived.
    Data {
        /// Whose.
        id: RequestId,
        /// What has come: real bytes where a live peer sent them.
        content: Chunk,
    },
    /// Trailers (RFC 9110, section 6.5): just before the message's end.
    Trailers {
        /// Whose.
        id: RequestId,
        /// Those that are allowed as trailers.
        fields: Arc<Fields>,
    },
    /// The message is complete.
    End {
        /// Whose.
        id: RequestId,
    },
    /// Server: the last byte of the response has been put on the wire.
    ResponseSent {
        /// Which response.
        id: RequestId,
    },
    /// The peer reset the stream, or this end did for the peer's fault: nothing more comes.
    Reset {
        /// Which one.
        id: RequestId,
    },
    /// Client: the server has not processed the request and will not; it may be sent again on another
    /// connection, whatever its method (RFC 9113, section 8.7).
    Refused {
        /// Which one.
        id: RequestId,
    },
    /// Client: content of a push came that had been refused ([`crate::Session::cancel`]).
    Discarded {
        /// How many bytes.
        len: u64,
    },
    /// The peer has answered [`crate::Session::ping`].
    Pong,
}

impl Event {
    /// The request concerned, if it is one.
    pub fn request(&self) -> Option<RequestId> {
        match self {
            Event::Sent { id }
            | Event::Request { id, .. }
            | Event::Rejected { id, .. }
            | Event::Interim { id, .. }
            | Event::Promised { id, .. }
            | Event::Response { id, .. }
            | Event::Data { id, .. }
            | Event::Trailers { id, .. }
            | Event::End { id }
            | Event::ResponseSent { id }
            | Event::Reset { id }
            | Event::Refused { id } => Some(*id),
            Event::Discarded { .. } | Event::Pong => None,
        }
    }
}
