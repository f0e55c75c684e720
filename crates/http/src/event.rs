//! What a session tells the program above it, and the streams that it happens on.

use crate::{Chunk, Fields, RequestHead, ResponseHead};
use std::sync::Arc;

/// One lane of a session: a request and its response. Within a session the client's requests count from
/// 0, and what the server pushes from [`StreamId::PUSHED`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StreamId(pub u32);

impl StreamId {
    /// The first stream that the server opens.
    pub const PUSHED: StreamId = StreamId(1 << 31);

    /// Whether the server has opened it.
    pub const fn is_pushed(self) -> bool {
        self.0 >= StreamId::PUSHED.0
    }
}

/// What a session tells the program above it.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// Client: the first byte of the request has been put on the wire.
    Sent {
        /// Which request.
        id: StreamId,
    },
    /// Server: a request's head has arrived.
    Request {
        /// The request's stream, to respond on.
        id: StreamId,
        /// Its head.
        head: Arc<RequestHead>,
    },
    /// Client: an interim response has come, a final one follows: 103 (RFC 8297), for instance.
    Interim {
        /// The request that it is about.
        id: StreamId,
        /// Its head.
        head: Arc<ResponseHead>,
    },
    /// Client: the server has made a request in the client's place and is going to answer it.
    Promised {
        /// The stream of the answer.
        id: StreamId,
        /// The request beside which it comes.
        parent: StreamId,
        /// What the server thinks that the client would have asked for.
        head: Arc<RequestHead>,
    },
    /// Client: a response's final head has arrived.
    Response {
        /// The request it answers.
        id: StreamId,
        /// Its head.
        head: Arc<ResponseHead>,
    },
    /// Bytes of the message's body have arrived.
    Data {
        /// Whose.
        id: StreamId,
        /// What has come: real bytes where a live peer sent them.
        content: Chunk,
    },
    /// Fields that came behind the content (RFC 9110, section 6.5): just before the message's end.
    Trailers {
        /// Whose.
        id: StreamId,
        /// All that may stand there.
        fields: Arc<Fields>,
    },
    /// The message is complete.
    End {
        /// Whose.
        id: StreamId,
    },
    /// Server: the last byte of the response has been put on the wire.
    Answered {
        /// Which response.
        id: StreamId,
    },
    /// The stream was ended before its time by the peer, or for the peer's fault: nothing more comes.
    Reset {
        /// Which one.
        id: StreamId,
    },
    /// Client: the server has done nothing with the request and will not; it may be asked for again on
    /// another connection, whatever its method (RFC 9113, section 8.7).
    Refused {
        /// Which one.
        id: StreamId,
    },
    /// The peer has answered [`crate::Session::ping`].
    Pong,
}

impl Event {
    /// The stream that it happened on, if it was one.
    pub fn stream(&self) -> Option<StreamId> {
        match self {
            Event::Sent { id }
            | Event::Request { id, .. }
            | Event::Interim { id, .. }
            | Event::Promised { id, .. }
            | Event::Response { id, .. }
            | Event::Data { id, .. }
            | Event::Trailers { id, .. }
            | Event::End { id }
            | Event::Answered { id }
            | Event::Reset { id }
            | Event::Refused { id } => Some(*id),
            Event::Pong => None,
        }
    }
}
