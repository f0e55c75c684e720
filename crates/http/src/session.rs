//! The seam between programs and protocols: one connection's protocol as a machine.

use crate::{
    Body, Chunk, Error, Event, Fields, PersistedSettings, Priority, RequestHead, ResponseHead, StreamId, Wire,
};
use loadstone_units::Time;
use std::fmt;
use std::sync::Arc;

/// A stream of the transport that carries a session, numbered as QUIC does (RFC 9000, section 2.1). TCP has one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct TransportStream(pub u64);

impl TransportStream {
    /// The only one of a TCP connection.
    pub const TCP: TransportStream = TransportStream(0);
}

/// What follows a message's head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// A body that is counted, known from the beginning.
    Whole(Body),
    /// What comes by [`Session::append`], until [`Session::finish`]. If the head names a `content-length`, it is
    /// exactly that much, or the message is given up; how it is framed is the session's to say.
    Open,
}

impl From<Body> for Content {
    fn from(body: Body) -> Content {
        Content::Whole(body)
    }
}

/// One connection's protocol, seen from one of its ends.
///
/// Four kinds of method are all it has: `handle_*` tells it what the world did, `poll_*` asks what
/// it wants, plain verbs command it, `&self` getters look. After each `handle_*` or command, drain
/// `poll_event` and, while there is room, `poll_transmit`. Draining twice gives nothing; a timeout
/// that comes early does nothing; how the input was cut does not matter.
///
/// A driver over TCP has one stream of the transport, [`TransportStream::TCP`], and need not ask for the next.
pub trait Session: fmt::Debug {
    /// Bytes have arrived on a stream of the transport, in order.
    ///
    /// # Errors
    /// If the peer breaks the protocol. The connection is then to be closed, once what
    /// [`Session::poll_transmit`] still has to say (GOAWAY, where the protocol has it) is on its way.
    fn handle_input(&mut self, now: Time, on: TransportStream, input: &[Chunk]) -> Result<(), Error>;

    /// The other end sends no more on this stream: TCP's FIN.
    ///
    /// # Errors
    /// If a message is cut short by it and the connection is lost with it: a stream that carries no other message ends
    /// alone, by [`Event::Reset`].
    fn handle_fin(&mut self, now: Time, on: TransportStream) -> Result<(), Error>;

    /// The deadline that [`Session::poll_timeout`] named has come.
    fn handle_timeout(&mut self, now: Time);

    /// The transport's stream that carries a stream of the session.
    fn carrier(&self, _id: StreamId) -> TransportStream {
        TransportStream::TCP
    }

    /// Of the transport's streams that have room, the one on which something goes out next. What nobody has opened
    /// yet has room if this end may open it, and to send there does; what [`Session::poll_transmit`] gave nothing for
    /// counts as without room until it has more.
    fn next_stream(&self, room: &dyn Fn(TransportStream) -> usize) -> Option<TransportStream> {
        (room(TransportStream::TCP) > 0 && self.has_output()).then_some(TransportStream::TCP)
    }

    /// Puts at most `room` bytes of a stream on the wire, decided at this moment: nothing if that is too little for
    /// what frames the content.
    fn poll_transmit(&mut self, now: Time, on: TransportStream, room: usize, out: &mut Wire);

    /// Whether nothing more goes out on a stream once what was polled has gone: its FIN is due. TCP's comes with
    /// the end of the connection.
    fn is_finished(&self, _on: TransportStream) -> bool {
        false
    }

    /// The next thing that happened, until `None`.
    fn poll_event(&mut self) -> Option<Event>;

    /// When [`Session::handle_timeout`] is to be called, if at all.
    fn poll_timeout(&self) -> Option<Time>;

    /// Whether [`Session::poll_transmit`] has something to give, if there is room.
    fn has_output(&self) -> bool;

    /// Asks the peer for a sign of life, which comes as [`Event::Pong`]; once at a time. HTTP/1.1 has
    /// no means to ask, and none comes.
    fn ping(&mut self);

    /// More of the content of a message that was begun as [`Content::Open`]. On a stream that is over it goes
    /// nowhere.
    ///
    /// # Panics
    /// If the message has been finished and is still going out.
    fn append(&mut self, id: StreamId, chunk: Chunk);

    /// The message is complete. Trailers follow where the protocol has a place for them (RFC 9110, section 6.5).
    ///
    /// # Panics
    /// If it has been finished before and is still going out.
    fn finish(&mut self, id: StreamId, trailers: Fields);

    /// Bytes of an open message that were appended and have not gone out: what a program in between may not let
    /// grow.
    fn unsent(&self, id: StreamId) -> u64;

    /// From now on content is used when the program says so by [`Session::release`], and not as it comes: to be
    /// said before the first input.
    fn hold(&mut self);

    /// The program has used so many bytes of the content that came on a stream: its windows open by as much (RFC
    /// 9113, section 6.9.1). Needed only after [`Session::hold`], also for a message that is complete.
    fn release(&mut self, id: StreamId, bytes: u64);

    /// Bytes of the transport's stream that were used since the last call: so many more may be read. It counts
    /// after [`Session::hold`] alone: without it all is used as it comes, and this is 0.
    fn poll_used(&mut self, on: TransportStream) -> u64;

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
    fn persisted(&self) -> PersistedSettings;

    /// Adds a request; it goes out with the next [`Session::poll_transmit`]. HTTP/1.1 has no means
    /// to tell the server of a priority.
    ///
    /// # Panics
    /// If there is no [`ClientSession::capacity`].
    fn request(&mut self, head: Arc<RequestHead>, content: Content, priority: Priority) -> StreamId;
}

/// The end that answers.
pub trait ServerSession: Session {
    /// Answers the request `id`, once.
    ///
    /// An answer to a stream that was reset meanwhile goes nowhere.
    ///
    /// # Panics
    /// If no request `id` has come, or if it has been answered.
    fn respond(&mut self, id: StreamId, head: Arc<ResponseHead>, content: Content);

    /// Asks the client to keep these settings for its next session, if the protocol can (SPDY).
    fn persist(&mut self, settings: &PersistedSettings);

    /// What the client has kept of an earlier session.
    fn persisted(&self) -> PersistedSettings;

    /// Sends an interim response (a status of 100 to 199) ahead of the answer to `id`. SPDY has none, and
    /// none goes out once the answer has been given.
    fn send_interim(&mut self, id: StreamId, head: Arc<ResponseHead>);

    /// Makes a request in the client's place, to be answered like any other: by
    /// [`ServerSession::respond`], at best at once. It is announced before anything else of the answer to
    /// `parent`. `None` if the client takes no (more) pushes, as with HTTP/1.1, or if the answer to
    /// `parent` has gone out.
    fn push(&mut self, parent: StreamId, head: Arc<RequestHead>, priority: Priority) -> Option<StreamId>;
}

#[cfg(test)]
mod bundle;
#[cfg(test)]
mod holding;
#[cfg(test)]
mod overtaking;
#[cfg(test)]
mod pair;
#[cfg(test)]
mod stories;
#[cfg(test)]
mod toy;

#[cfg(test)]
pub(crate) mod tests {
    //! The contract of the seam, held by every implementer.

    use super::*;
    use crate::{BodyId, Multiplexing, Protocol, SessionFactory};
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
            session.poll_transmit(NOW, TransportStream::TCP, room, &mut wire);
            assert!(wire.len() - before <= room as u64, "more than there was room for");
            if wire.len() == before {
                break;
            }
        }
        assert!(!session.has_output(), "it has output and gives none");
        let events = drain_events(session);
        session.handle_timeout(NOW);
        let len = wire.len();
        session.poll_transmit(NOW, TransportStream::TCP, room, &mut wire);
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

    /// Answers by a body that is known, by one that comes in pieces, or in pieces and with trailers.
    fn answer(server: &mut dyn ServerSession, id: StreamId, len: u64) {
        let length = [("content-length", len.to_string())];
        let head = ResponseHead::new(200, Fields::from_pairs(length.into_iter().filter(|_| id.0 < 2)));
        let body = BodyId(id.0);
        if id.0 == 0 {
            return server.respond(id, head.into(), Body { id: body, len }.into());
        }
        server.respond(id, head.into(), Content::Open);
        server.append(id, Chunk::Run { body, offset: 0, len: len / 3 });
        server.append(id, Chunk::Run { body, offset: len / 3, len: len - len / 3 });
        server.finish(id, Fields::from_pairs([("server-timing", "db")]));
    }

    /// Three exchanges; everything that the two ends said and sent.
    fn talk(protocol: Protocol, sizes: &[u64; 3], piece: u64) -> Vec<(Vec<Event>, Vec<Chunk>)> {
        // Windows so small that they have to be given back on the way.
        let windows = (loadstone_units::Bounded::known(65_536), loadstone_units::Bounded::known(65_536));
        let (stream_window, session_window) = windows;
        let sessions = SessionFactory::new(Multiplexing { stream_window, session_window, ..Default::default() });
        let (mut client, mut server) = (sessions.client(protocol), sessions.server(protocol));
        let mut said = Vec::new();
        let (mut asked, mut answered) = (0, 0);
        while answered < sizes.len() {
            while asked < sizes.len() && client.capacity() > 0 {
                let head = RequestHead::get("a.test", &format!("/{asked}"), Fields::from_pairs([("accept", "*/*")]));
                client.request(head.into(), Body::EMPTY.into(), Priority::default());
                asked += 1;
            }
            // Each end speaks until both are silent.
            loop {
                let (events, sent) = drain(client.as_mut(), 1 << 20);
                let is_silent = sent.is_empty();
                cut(sent.clone(), piece)
                    .into_iter()
                    .for_each(|part| server.handle_input(NOW, TransportStream::TCP, &[part]).unwrap());
                answered += events.iter().filter(|event| matches!(event, Event::End { .. })).count();
                said.push((events, sent));
                let (events, sent) = drain(server.as_mut(), 1 << 20);
                for event in &events {
                    if let Event::Request { id, .. } = event {
                        let len = sizes[id.0 as usize];
                        answer(server.as_mut(), *id, len);
                    }
                }
                let is_silent = is_silent && sent.is_empty() && !server.has_output();
                cut(sent.clone(), piece)
                    .into_iter()
                    .for_each(|part| client.handle_input(NOW, TransportStream::TCP, &[part]).unwrap());
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
