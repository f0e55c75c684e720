//! The end that answers.

use super::head::{Length, parse_request};
use super::known::Known;
use super::outbox::Outbox;
use super::reader::{Messages, Reader};
use crate::{Body, Chunk, Error, Event, PeerFault, ResponseHead, ServerSession, Session, StreamId, Wire};
use bytes::Bytes;
use loadstone_units::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// A server's end of an HTTP/1.1 connection. Responses leave in the order of the requests,
/// whatever the order in which they are given (RFC 9112, section 9.3.2).
#[derive(Debug)]
pub struct Server {
    reader: Reader,
    requests: Requests,
    outbox: Outbox,
}

impl Server {
    /// The server's end of a new connection.
    pub fn new() -> Server {
        Server { reader: Reader::new(), requests: Requests::default(), outbox: Outbox::default() }
    }

    /// The same server, which knows heads that others read.
    pub(crate) fn knowing(mut self, known: &Arc<Known>) -> Server {
        self.requests.known = known.clone();
        self
    }
}

impl Default for Server {
    fn default() -> Server {
        Server::new()
    }
}

impl Session for Server {
    fn handle_input(&mut self, _: Time, input: &[Chunk]) -> Result<(), Error> {
        let result = self.reader.read(input, &mut self.requests);
        if result.is_err() {
            // There is nothing more to say on this connection.
            self.outbox = Outbox::default();
            self.requests.queue.iter_mut().for_each(|answer| *answer = None);
        }
        Ok(result?)
    }

    fn handle_close(&mut self, _: Time) -> Result<(), Error> {
        Ok(self.reader.close(&mut self.requests)?)
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_transmit(&mut self, _: Time, room: usize, out: &mut Wire) {
        let mut room = self.outbox.resume(room, out);
        while room > 0
            && let Some((head, body)) = self.requests.next_answer()
        {
            room = self.outbox.begin(head.http1(), body, room, out);
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.requests.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn has_output(&self) -> bool {
        self.outbox.is_begun() || self.requests.queue.front().is_some_and(Option::is_some)
    }
}

impl ServerSession for Server {
    fn respond(&mut self, id: StreamId, head: Arc<ResponseHead>, body: Body) {
        let first = self.requests.first;
        let place = id.0.checked_sub(first).and_then(|at| self.requests.queue.get_mut(at as usize));
        let place = place.expect("a response to a request that does not wait for one");
        assert!(place.is_none(), "a second response to one request");
        *place = Some((head, body));
    }
}

type Answer = (Arc<ResponseHead>, Body);

/// The requests in their order, each with its answer once it is there.
#[derive(Default, Debug)]
struct Requests {
    known: Arc<Known>,
    queue: VecDeque<Option<Answer>>,
    /// The number of the first request in the queue.
    first: u32,
    events: VecDeque<Event>,
}

impl Requests {
    fn next_answer(&mut self) -> Option<Answer> {
        self.queue.front()?.as_ref()?;
        self.first += 1;
        self.queue.pop_front().flatten()
    }

    /// The request that is being read.
    fn current(&self) -> StreamId {
        StreamId(self.first + self.queue.len() as u32 - 1)
    }
}

impl Messages for Requests {
    fn head(&mut self, text: &Bytes) -> Result<Option<(usize, Length)>, PeerFault> {
        let Some(parsed) = self.known.requests.read(text, parse_request)? else { return Ok(None) };
        self.queue.push_back(None);
        self.events.push_back(Event::Request { id: self.current(), head: parsed.head });
        // RFC 9112, section 6.3, rule 7: a request that names no length has no body.
        Ok(Some((parsed.len, parsed.body.unwrap_or(Length::Known(0)))))
    }

    fn data(&mut self, content: Chunk) {
        self.events.push_back(Event::Data { id: self.current(), content });
    }

    fn end(&mut self) {
        self.events.push_back(Event::End { id: self.current() });
    }
}
