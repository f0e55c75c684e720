//! The seam between programs and protocols: one connection's protocol as a machine.

use crate::{
    Body, Chunk, Error, Event, Fields, PersistedSettings, Priority, RequestHead, RequestId, ResponseHead, Wire,
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
    /// A body that is known from the beginning; its bytes are only counted.
    Whole(Body),
    /// A streamed body: what [`Session::append`] adds, until [`Session::finish`]. If it does not match the head's
    /// `content-length`, the message is given up. The session decides how it is framed.
    Streamed,
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
    fn carrier(&self, _id: RequestId) -> TransportStream {
        TransportStream::TCP
    }

    /// Of the transport's streams that have room, the one to send on next. A stream that is not open yet has room if
    /// this end may open it, and sending on it opens it. A stream for which [`Session::poll_transmit`] returned nothing
    /// is taken to have no room until it has more.
    fn next_stream(&self, room: &dyn Fn(TransportStream) -> usize) -> Option<TransportStream> {
        (room(TransportStream::TCP) > 0 && self.has_output()).then_some(TransportStream::TCP)
    }

    /// Puts at most `room` bytes of a stream on the wire, decided at this moment: nothing if that is too little for
    /// what frames the content. It is one write: what comes with the next call may go out in other packets.
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

    /// Whether the peer has begun what is no event yet: the input ends within a preface, a frame, a header block or
    /// a head. A session that has to begin with a preface is so from the beginning.
    fn is_partial(&self) -> bool;

    /// Whether [`Session::poll_transmit`] returns something if there is room.
    fn has_output(&self) -> bool;

    /// Sends a PING, whose reply comes as [`Event::Pong`]; at most one at a time. HTTP/1.1 has none: there
    /// this does nothing.
    fn ping(&mut self);

    /// Appends to a message that was begun as [`Content::Streamed`]. On a closed stream this does nothing.
    ///
    /// # Panics
    /// If the message has been finished and is still going out.
    fn append(&mut self, id: RequestId, chunk: Chunk);

    /// Finishes a streamed message. Trailers follow if the protocol has them (RFC 9110, section 6.5).
    ///
    /// # Panics
    /// If it has been finished before and is still going out.
    fn finish(&mut self, id: RequestId, trailers: Fields);

    /// Bytes of a streamed message that were appended and not sent. An intermediary has to bound them.
    fn buffered(&self, id: RequestId) -> u64;

    /// From now on content is used when the program says so by [`Session::release`], and not as it arrives. To be
    /// called before the first input.
    fn hold(&mut self);

    /// The program has used `bytes` bytes of a message's content: its windows open by as much (RFC 9113, section
    /// 6.9.1). Needed only after [`Session::hold`], even for a message that is complete.
    fn release(&mut self, id: RequestId, bytes: u64);

    /// Bytes of the transport's stream that were used since the last call: as many more may be read. Without
    /// [`Session::hold`] all is used as it arrives, and this is 0.
    fn poll_used(&mut self, on: TransportStream) -> u64;

    /// Whether more input is of use. Not while requests of HTTP/1.1 wait for so many responses that the next ones stay
    /// unread: whoever reads on from the transport has to keep it. Ask after input, and after
    /// [`Session::poll_transmit`].
    fn takes_input(&self) -> bool {
        true
    }

    /// Cancels a request. In HTTP/1.1 only the connection can be closed: the session is then over, unless the
    /// request has not been sent.
    fn cancel(&mut self, id: RequestId);

    /// Begins a graceful shutdown: this end opens no more streams, nor does the peer once it has been told; open
    /// streams go on to their end (GOAWAY: RFC 9113, section 6.8; draft 3, section 2.6.6).
    fn shut_down(&mut self);

    /// Whether no stream is open and none will be: the connection is to be closed, once the output of
    /// [`Session::poll_transmit`] is sent.
    fn is_over(&self) -> bool;
}

/// The client's end.
pub trait ClientSession: Session {
    /// How many more requests may be made now.
    fn capacity(&self) -> usize;

    /// Whether no more requests can ever be made: either end is shutting down.
    fn is_closing(&self) -> bool;

    /// The settings to persist for the next session: those that the server asked for, and earlier ones (SPDY).
    fn persisted(&self) -> PersistedSettings;

    /// Adds a request; it goes out with the next [`Session::poll_transmit`]. HTTP/1.1 has no means
    /// to tell the server of a priority.
    ///
    /// # Panics
    /// If there is no [`ClientSession::capacity`].
    fn request(&mut self, head: Arc<RequestHead>, content: Content, priority: Priority) -> RequestId;
}

/// The server's end.
pub trait ServerSession: Session {
    /// Responds to the request `id`, once. A response to a stream that was reset meanwhile is dropped.
    ///
    /// # Panics
    /// If there was no request `id`, or if it has a response.
    fn respond(&mut self, id: RequestId, head: Arc<ResponseHead>, content: Content);

    /// Asks the client to persist these settings for its next session, if the protocol can (SPDY).
    fn persist(&mut self, settings: &PersistedSettings);

    /// The settings that the client has persisted from an earlier session (SPDY).
    fn persisted(&self) -> PersistedSettings;

    /// Sends an interim response (a status of 100 to 199) before the response to `id`. SPDY has none, and
    /// none is sent after the final response was given.
    fn send_interim(&mut self, id: RequestId, head: Arc<ResponseHead>);

    /// Pushes: makes a request in the client's place, which needs a response by [`ServerSession::respond`],
    /// preferably at once. It is announced before anything more of the response to `parent`, the associated
    /// request. `None` if the client takes no (more) pushes, as with HTTP/1.1, or if the response to `parent` is
    /// sent.
    fn push(&mut self, parent: RequestId, head: Arc<RequestHead>, priority: Priority) -> Option<RequestId>;
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
    fn answer(server: &mut dyn ServerSession, id: RequestId, len: u64) {
        let length = [("content-length", len.to_string())];
        let head = ResponseHead::new(200, Fields::from_pairs(length.into_iter().filter(|_| id.0 < 2)));
        let body = BodyId(id.0);
        if id.0 == 0 {
            return server.respond(id, head.into(), Body { id: body, len }.into());
        }
        server.respond(id, head.into(), Content::Streamed);
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
