//! The seam between programs and protocols: one connection's protocol as a machine.

use crate::{Body, Chunk, Error, RequestHead, ResponseHead, Wire};
use loadstone_units::Time;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// One lane of a session: a request and its response. Counts from 0 within a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StreamId(pub u32);

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
        head: Box<RequestHead>,
    },
    /// Client: a response's final head has arrived (interim responses are not reported).
    Response {
        /// The request it answers.
        id: StreamId,
        /// Its head.
        head: Box<ResponseHead>,
    },
    /// Bytes of the message's body have arrived.
    Data {
        /// Whose.
        id: StreamId,
        /// How many.
        len: u64,
    },
    /// The message is complete.
    End {
        /// Whose.
        id: StreamId,
    },
}

/// One connection's protocol, seen from one of its ends.
///
/// Four kinds of method are all it has: `handle_*` tells it what the world did, `poll_*` asks what
/// it wants, plain verbs command it, `&self` getters look. After each `handle_*` or command, drain
/// `poll_event` and, while there is room, `poll_transmit`. Draining twice gives nothing; a timeout
/// that comes early does nothing; how the input was cut does not matter.
pub trait Session: fmt::Debug {
    /// Bytes have arrived, in order.
    ///
    /// # Errors
    /// If the peer breaks the protocol; the connection is then to be closed.
    fn handle_input(&mut self, now: Time, input: &[Chunk]) -> Result<(), Error>;

    /// The other end sends no more.
    ///
    /// # Errors
    /// If a message is cut short by it.
    fn handle_close(&mut self, now: Time) -> Result<(), Error>;

    /// The deadline that [`Session::poll_timeout`] named has come.
    fn handle_timeout(&mut self, now: Time);

    /// Puts at most `room` bytes on the wire, decided at this moment.
    fn poll_transmit(&mut self, now: Time, room: usize, out: &mut Wire);

    /// The next thing that happened, until `None`.
    fn poll_event(&mut self) -> Option<Event>;

    /// When [`Session::handle_timeout`] is to be called, if at all.
    fn poll_timeout(&self) -> Option<Time>;
}

/// The end that asks.
pub trait ClientSession: Session {
    /// How many more requests it takes at this moment.
    fn capacity(&self) -> usize;

    /// Adds a request; it goes out with the next [`Session::poll_transmit`].
    ///
    /// # Panics
    /// If there is no [`ClientSession::capacity`].
    fn request(&mut self, head: Arc<RequestHead>, body: Body) -> StreamId;
}

/// The end that answers.
pub trait ServerSession: Session {
    /// Answers the request `id`, once.
    ///
    /// # Panics
    /// If `id` is no request that waits for its response.
    fn respond(&mut self, id: StreamId, head: Arc<ResponseHead>, body: Body);
}

/// Which protocol a connection speaks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Protocol {
    /// HTTP/1.1, one request at a time on a persistent connection.
    #[default]
    Http1,
    /// HTTP/1.1 with pipelining (RFC 9112, section 9.3.2).
    Http1Pipelining,
}

impl Protocol {
    /// All of them, in the order in which they are named to people.
    pub const ALL: [Protocol; 2] = [Protocol::Http1, Protocol::Http1Pipelining];

    /// The name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Http1 => "http/1.1",
            Protocol::Http1Pipelining => "http/1.1+pipelining",
        }
    }

    /// A new client's end.
    pub fn client(self) -> Box<dyn ClientSession> {
        match self {
            Protocol::Http1 => Box::new(crate::h1::Client::persistent()),
            Protocol::Http1Pipelining => Box::new(crate::h1::Client::pipelining()),
        }
    }

    /// A new server's end.
    pub fn server(self) -> Box<dyn ServerSession> {
        Box::new(crate::h1::Server::new())
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no [`Protocol`] has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown protocol '{0}': use http/1.1 or http/1.1+pipelining")]
pub struct UnknownProtocol(pub String);

impl FromStr for Protocol {
    type Err = UnknownProtocol;

    fn from_str(name: &str) -> Result<Protocol, UnknownProtocol> {
        let found = Protocol::ALL.into_iter().find(|protocol| protocol.name() == name);
        found.ok_or_else(|| UnknownProtocol(name.to_owned()))
    }
}
