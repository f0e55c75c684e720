//! The seam between programs and protocols: one connection's protocol as a machine.

use crate::memory::Keeps;
use crate::spdy;
use crate::{Body, Chunk, Error, Kept, Multiplexing, Priority, RequestHead, ResponseHead, Wire};
use loadstone_units::Time;
use std::fmt;
use std::str::FromStr;
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
    /// The peer has answered [`Session::ping`].
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
            | Event::End { id }
            | Event::Answered { id }
            | Event::Reset { id }
            | Event::Refused { id } => Some(*id),
            Event::Pong => None,
        }
    }
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
    /// If the peer breaks the protocol. The connection is then to be closed, once what
    /// [`Session::poll_transmit`] still has to say (GOAWAY, where the protocol has it) is on its way.
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

    /// Whether [`Session::poll_transmit`] has something to give, if there is room.
    fn has_output(&self) -> bool;

    /// Asks the peer for a sign of life, which comes as [`Event::Pong`]; once at a time. HTTP/1.1 has
    /// no means to ask, and none comes.
    fn ping(&mut self);

    /// Ends a stream before its time. In HTTP/1.1 only the connection can be ended: the session is
    /// then over, unless nobody has heard of the stream yet.
    fn cancel(&mut self, id: StreamId);

    /// Begins to leave: no more streams from here or, once the peer has been told, from there; what is
    /// under way goes on to its end (GOAWAY: RFC 9113, section 6.8; draft 3, section 2.6.6).
    fn shut_down(&mut self);

    /// Whether nothing is under way any more and nothing will be: the connection is to be closed, once
    /// what [`Session::poll_transmit`] still has to say is on its way.
    fn is_over(&self) -> bool;
}

/// The end that asks.
pub trait ClientSession: Session {
    /// How many more requests it takes at this moment.
    fn capacity(&self) -> usize;

    /// Whether it never takes another one: either end is leaving.
    fn is_closing(&self) -> bool;

    /// What the server has asked to be kept for the next session, and what was kept before.
    fn kept(&self) -> Kept;

    /// Adds a request; it goes out with the next [`Session::poll_transmit`]. HTTP/1.1 has no means
    /// to tell the server of a priority.
    ///
    /// # Panics
    /// If there is no [`ClientSession::capacity`].
    fn request(&mut self, head: Arc<RequestHead>, body: Body, priority: Priority) -> StreamId;
}

/// The end that answers.
pub trait ServerSession: Session {
    /// Answers the request `id`, once.
    ///
    /// An answer to a stream that was reset meanwhile goes nowhere.
    ///
    /// # Panics
    /// If no request `id` has come, or if it has been answered.
    fn respond(&mut self, id: StreamId, head: Arc<ResponseHead>, body: Body);

    /// Asks the client to keep these settings for its next session, if the protocol can (SPDY).
    fn keep(&mut self, settings: &Kept);

    /// What the client has kept of an earlier session.
    fn returned(&self) -> Kept;

    /// Sends an interim response (a status of 100 to 199) ahead of the answer to `id`. SPDY has none, and
    /// none goes out once the answer has been given.
    fn inform(&mut self, id: StreamId, head: Arc<ResponseHead>);

    /// Makes a request in the client's place, to be answered like any other: by
    /// [`ServerSession::respond`], at best at once. It is announced before anything else of the answer to
    /// `parent`. `None` if the client takes no (more) pushes, as with HTTP/1.1, or if the answer to
    /// `parent` has gone out.
    fn push(&mut self, parent: StreamId, head: Arc<RequestHead>, priority: Priority) -> Option<StreamId>;
}

/// Which protocol a connection speaks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Protocol {
    /// HTTP/1.1, one request at a time on a persistent connection.
    #[default]
    Http1,
    /// HTTP/1.1 with pipelining (RFC 9112, section 9.3.2).
    Http1Pipelining,
    /// SPDY/2 (draft 2).
    Spdy2,
    /// SPDY/3 (draft-mbelshe-httpbis-spdy-00).
    Spdy3,
    /// SPDY/3.1: SPDY/3 with a flow-control window for the session.
    Spdy31,
    /// HTTP/2 (RFC 9113).
    H2,
}

impl Protocol {
    /// All of them, in the order in which they are named to people.
    pub const ALL: [Protocol; 6] =
        [Protocol::Http1, Protocol::Http1Pipelining, Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2];

    /// The name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Http1 => "http/1.1",
            Protocol::Http1Pipelining => "http/1.1+pipelining",
            Protocol::Spdy2 => "spdy/2",
            Protocol::Spdy3 => "spdy/3",
            Protocol::Spdy31 => "spdy/3.1",
            Protocol::H2 => "h2",
        }
    }

    /// Whether one connection carries many requests side by side.
    pub const fn is_multiplexed(self) -> bool {
        !matches!(self, Protocol::Http1 | Protocol::Http1Pipelining)
    }
}

/// Makes sessions. Those of [`Sessions::new`] share what they remember of heads: a page's sessions read
/// and compress the same heads in the same order, run after run.
#[derive(Debug)]
pub struct Sessions {
    multiplexing: Multiplexing,
    h1: Arc<crate::h1::Known>,
    spdy: spdy::Memories,
    h2: crate::h2::Memories,
}

impl Sessions {
    /// A maker of sessions that behave as `multiplexing` says, where the protocol has many streams.
    pub fn new(multiplexing: Multiplexing) -> Sessions {
        Sessions::keeping(Keeps::Steps, multiplexing)
    }

    /// The same for sessions that have nothing in common: those of strangers, who should not be able to
    /// slow down one another's, nor to find out what others have sent.
    pub fn apart(multiplexing: Multiplexing) -> Sessions {
        Sessions::keeping(Keeps::Nothing, multiplexing)
    }

    fn keeping(keeps: Keeps, multiplexing: Multiplexing) -> Sessions {
        let (spdy, h2) = (spdy::Memories::new(keeps), crate::h2::Memories::new(keeps));
        Sessions { multiplexing, h1: Arc::new(crate::h1::Known::new(keeps)), spdy, h2 }
    }

    /// A new client's end.
    pub fn client(&self, protocol: Protocol) -> Box<dyn ClientSession> {
        self.client_that_kept(protocol, &Kept::default())
    }

    /// A new client's end of a connection to a server that, in an earlier session, asked for this to be
    /// kept: the client returns it.
    pub fn client_that_kept(&self, protocol: Protocol, kept: &Kept) -> Box<dyn ClientSession> {
        match protocol {
            Protocol::Http1 => Box::new(crate::h1::Client::persistent().knowing(&self.h1)),
            Protocol::Http1Pipelining => Box::new(crate::h1::Client::pipelining().knowing(&self.h1)),
            Protocol::Spdy2 => Box::new(self.spdy.client(&spdy::TWO, &self.multiplexing, kept)),
            Protocol::Spdy3 => Box::new(self.spdy.client(&spdy::THREE, &self.multiplexing, kept)),
            Protocol::Spdy31 => Box::new(self.spdy.client(&spdy::THREE_ONE, &self.multiplexing, kept)),
            Protocol::H2 => Box::new(self.h2.client(&self.multiplexing)),
        }
    }

    /// A new server's end.
    pub fn server(&self, protocol: Protocol) -> Box<dyn ServerSession> {
        match protocol {
            Protocol::Http1 | Protocol::Http1Pipelining => Box::new(crate::h1::Server::new().knowing(&self.h1)),
            Protocol::Spdy2 => Box::new(self.spdy.server(&spdy::TWO, &self.multiplexing)),
            Protocol::Spdy3 => Box::new(self.spdy.server(&spdy::THREE, &self.multiplexing)),
            Protocol::Spdy31 => Box::new(self.spdy.server(&spdy::THREE_ONE, &self.multiplexing)),
            Protocol::H2 => Box::new(self.h2.server(&self.multiplexing)),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no [`Protocol`] has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown protocol '{0}': use {names}", names = Protocol::ALL.map(Protocol::name).join(", "))]
pub struct UnknownProtocol(pub String);

impl FromStr for Protocol {
    type Err = UnknownProtocol;

    fn from_str(name: &str) -> Result<Protocol, UnknownProtocol> {
        let found = Protocol::ALL.into_iter().find(|protocol| protocol.name() == name);
        found.ok_or_else(|| UnknownProtocol(name.to_owned()))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    //! The contract of the seam, held by every implementer.

    use super::*;
    use crate::{BodyId, Fields};
    use proptest::prelude::*;

    const NOW: Time = Time::ZERO;

    /// What a piece of a body counts as in [`drain_events`].
    pub(crate) fn counted(len: u64) -> Chunk {
        Chunk::Run { body: BodyId(0), offset: 0, len }
    }

    /// All events; the pieces of one body are counted, and are one if nothing else came between them.
    pub(crate) fn drain_events(session: &mut dyn Session) -> Vec<Event> {
        let mut all: Vec<Event> = Vec::new();
        while let Some(event) = session.poll_event() {
            match (all.last_mut(), event) {
                (Some(Event::Data { id, content }), Event::Data { id: next, content: more }) if *id == next => {
                    *content = counted(content.len() + more.len());
                }
                (_, Event::Data { id, content }) => all.push(Event::Data { id, content: counted(content.len()) }),
                (_, event) => all.push(event),
            }
        }
        all
    }

    /// Drains a session; draining it again, or waking it early, gives nothing more.
    fn drain(session: &mut dyn Session, room: usize) -> (Vec<Event>, Vec<Chunk>) {
        let mut wire = Wire::default();
        loop {
            let before = wire.len();
            session.poll_transmit(NOW, room, &mut wire);
            assert!(wire.len() - before <= room as u64, "more than there was room for");
            if wire.len() == before {
                break;
            }
        }
        assert!(!session.has_output(), "it has output and gives none");
        let events = drain_events(session);
        session.handle_timeout(NOW);
        let len = wire.len();
        session.poll_transmit(NOW, room, &mut wire);
        assert_eq!((wire.len(), session.poll_event()), (len, None), "drained, and yet there is more");
        (events, wire.take_all())
    }

    /// Cuts chunks into pieces of at most `piece` bytes.
    fn cut(chunks: Vec<Chunk>, piece: u64) -> Vec<Chunk> {
        let mut pieces = Vec::new();
        for mut chunk in chunks {
            while !chunk.is_empty() {
                pieces.push(chunk.split_to(piece.min(chunk.len())));
            }
        }
        pieces
    }

    /// Three exchanges; everything that the two ends said and sent.
    fn talk(protocol: Protocol, sizes: &[u64; 3], piece: u64) -> Vec<(Vec<Event>, Vec<Chunk>)> {
        // Windows so small that they have to be given back on the way.
        let windows = (loadstone_units::Bounded::known(65_536), loadstone_units::Bounded::known(65_536));
        let (stream_window, session_window) = windows;
        let sessions = Sessions::new(Multiplexing { stream_window, session_window, ..Default::default() });
        let (mut client, mut server) = (sessions.client(protocol), sessions.server(protocol));
        let mut said = Vec::new();
        let (mut asked, mut answered) = (0, 0);
        while answered < sizes.len() {
            while asked < sizes.len() && client.capacity() > 0 {
                let head = RequestHead::get("a.test", &format!("/{asked}"), Fields::from_pairs([("accept", "*/*")]));
                client.request(head.into(), Body::EMPTY, Priority::default());
                asked += 1;
            }
            // Each end speaks until both are silent.
            loop {
                let (events, sent) = drain(client.as_mut(), 1 << 20);
                let is_silent = sent.is_empty();
                cut(sent.clone(), piece).into_iter().for_each(|part| server.handle_input(NOW, &[part]).unwrap());
                answered += events.iter().filter(|event| matches!(event, Event::End { .. })).count();
                said.push((events, sent));
                let (events, sent) = drain(server.as_mut(), 1 << 20);
                for event in &events {
                    if let Event::Request { id, .. } = event {
                        let len = sizes[id.0 as usize];
                        let head = ResponseHead::new(200, Fields::from_pairs([("content-length", len.to_string())]));
                        server.respond(*id, head.into(), Body { id: BodyId(id.0), len });
                    }
                }
                let is_silent = is_silent && sent.is_empty() && !server.has_output();
                cut(sent.clone(), piece).into_iter().for_each(|part| client.handle_input(NOW, &[part]).unwrap());
                said.push((events, sent));
                if is_silent {
                    break;
                }
            }
        }
        said
    }

    proptest! {
        #[test]
        fn however_the_input_is_cut_every_session_says_and_sends_the_same(
            sizes in [0_u64..40_000, 0_u64..40_000, 0_u64..40_000],
            piece in 1_u64..4_000,
        ) {
            for protocol in Protocol::ALL {
                prop_assert_eq!(talk(protocol, &sizes, u64::MAX), talk(protocol, &sizes, piece), "{}", protocol);
            }
        }
    }
}
