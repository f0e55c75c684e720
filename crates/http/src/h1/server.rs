//! The end that answers.

use super::head::{After, Length, Version, parse_request};
use super::known::Known;
use super::outbox::Outbox;
use super::reader::{Messages, Reader};
use crate::{Body, Chunk, Error, Event, Kept, PeerFault, Priority, RequestHead, ResponseHead, ServerSession, Session};
use crate::{StreamId, Wire};
use bytes::{BufMut, Bytes, BytesMut};
use loadstone_units::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// The most requests that wait for their answers: more than anyone pipelines.
pub(super) const MAX_WAITING: usize = 1_000;

/// A server's end of an HTTP/1.1 connection. Responses leave in the order of the requests,
/// whatever the order in which they are given (RFC 9112, section 9.3.2).
#[derive(Debug)]
pub struct Server {
    reader: Reader,
    requests: Requests,
    outbox: Outbox,
    /// The response of which a rest is in the outbox.
    sending: Option<StreamId>,
}

impl Server {
    /// The server's end of a new connection.
    pub fn new() -> Server {
        let (reader, requests, outbox) = (Reader::new(), Requests::default(), Outbox::default());
        Server { reader, requests, outbox, sending: None }
    }

    /// The same server, which knows heads that others read.
    pub(crate) fn knowing(mut self, known: &Arc<Known>) -> Server {
        self.requests.known = known.clone();
        self
    }

    fn note_sent(&mut self) {
        if let Some(id) = self.sending.take_if(|_| !self.outbox.is_begun()) {
            self.requests.events.push_back(Event::Answered { id });
        }
    }

    /// A head as it is written; the last one says that the connection closes.
    fn written(&self, head: &ResponseHead) -> Bytes {
        let text = head.http1();
        if !self.requests.ends_with_first() {
            return text;
        }
        let mut out = BytesMut::from(&text[..text.len() - 2]);
        out.put_slice(b"connection: close\r\n\r\n");
        out.freeze()
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
            self.requests.queue.iter_mut().for_each(|waiting| *waiting = Waiting::default());
        }
        Ok(result?)
    }

    fn handle_close(&mut self, _: Time) -> Result<(), Error> {
        self.reader.close(&mut self.requests)?;
        self.requests.after = After::Closes;
        Ok(())
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_transmit(&mut self, _: Time, room: usize, out: &mut Wire) {
        let mut room = self.outbox.resume(room, out);
        self.note_sent();
        while room > 0
            && let Some(front) = self.requests.queue.front_mut()
        {
            if let Some(head) = front.interim.take() {
                room = self.outbox.begin(head.http1(), Body::EMPTY, room, out);
            } else if let Some((head, body)) = front.answer.take() {
                let head = self.written(&head);
                self.sending = Some(StreamId(self.requests.first));
                self.requests.first += 1;
                self.requests.queue.pop_front();
                room = self.outbox.begin(head, body, room, out);
                self.note_sent();
            } else {
                break;
            }
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.requests.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn has_output(&self) -> bool {
        self.outbox.is_begun() || self.requests.queue.front().is_some_and(Waiting::is_ready)
    }

    fn ping(&mut self) {}

    fn cancel(&mut self, id: StreamId) {
        if id.0 >= self.requests.first || self.sending == Some(id) {
            // What the client waits for has no other end.
            self.requests.after = After::Closes;
            self.requests.queue.truncate(id.0.saturating_sub(self.requests.first) as usize);
        }
        if self.sending == Some(id) {
            self.outbox = Outbox::default();
            self.sending = None;
        }
    }

    fn shut_down(&mut self) {
        self.requests.after = After::Closes;
    }

    fn is_over(&self) -> bool {
        self.requests.after == After::Closes && self.requests.queue.is_empty() && !self.outbox.is_begun()
    }
}

impl ServerSession for Server {
    fn respond(&mut self, id: StreamId, head: Arc<ResponseHead>, body: Body) {
        if let Some(waiting) = self.requests.waiting(id) {
            assert!(waiting.answer.is_none(), "a second response to one request");
            waiting.answer = Some((head, body));
        }
    }

    fn keep(&mut self, _: &Kept) {}

    fn returned(&self) -> Kept {
        Kept::default()
    }

    fn inform(&mut self, id: StreamId, head: Arc<ResponseHead>) {
        if let Some(waiting) = self.requests.waiting(id).filter(|waiting| waiting.may_be_informed()) {
            waiting.interim = Some(head);
        }
    }

    fn push(&mut self, _: StreamId, _: Arc<RequestHead>, _: Priority) -> Option<StreamId> {
        None
    }
}

/// What is to be said to a request.
#[derive(Default, Debug)]
struct Waiting {
    version: Version,
    /// The latest interim response that has not gone out.
    interim: Option<Arc<ResponseHead>>,
    answer: Option<(Arc<ResponseHead>, Body)>,
}

impl Waiting {
    /// RFC 9110, section 15.2: HTTP/1.0 knows no interim responses.
    fn may_be_informed(&self) -> bool {
        self.answer.is_none() && self.version == Version::Usual
    }

    fn is_ready(&self) -> bool {
        self.interim.is_some() || self.answer.is_some()
    }
}

/// The requests in their order, each with its answer once it is there.
#[derive(Default, Debug)]
struct Requests {
    known: Arc<Known>,
    queue: VecDeque<Waiting>,
    /// The number of the first request in the queue.
    first: u32,
    events: VecDeque<Event>,
    /// The message that is being read is not heard, since it came after the last one.
    is_deaf: bool,
    /// Whether the last request of the queue is the last of all.
    after: After,
}

impl Requests {
    /// The request that is being read.
    fn current(&self) -> StreamId {
        StreamId(self.first + self.queue.len() as u32 - 1)
    }

    /// The request `id`; nothing if the connection was given up before its answer.
    fn waiting(&mut self, id: StreamId) -> Option<&mut Waiting> {
        let at = id.0.checked_sub(self.first).expect("a second response to one request");
        let is_closing = self.after == After::Closes;
        let waiting = self.queue.get_mut(at as usize);
        assert!(waiting.is_some() || is_closing, "a response to a request that does not wait for one");
        waiting
    }

    /// Whether the first response of the queue is the last one of the connection.
    fn ends_with_first(&self) -> bool {
        self.after == After::Closes && self.queue.len() == 1
    }
}

impl Messages for Requests {
    fn head(&mut self, text: &Bytes) -> Result<Option<(usize, Length)>, PeerFault> {
        let Some(parsed) = self.known.requests.read(text, parse_request)? else { return Ok(None) };
        // RFC 9112, section 6.3, rule 7: a request that names no length has no body.
        let length = parsed.body.unwrap_or(Length::Known(0));
        // RFC 9112, section 9.6: what comes after the last request is not looked at.
        self.is_deaf = self.after == After::Closes;
        if self.is_deaf {
            return Ok(Some((parsed.len, length)));
        }
        if self.queue.len() == MAX_WAITING {
            return Err(PeerFault::Flood);
        }
        self.after = parsed.after;
        self.queue.push_back(Waiting { version: parsed.version, ..Waiting::default() });
        self.events.push_back(Event::Request { id: self.current(), head: parsed.head });
        Ok(Some((parsed.len, length)))
    }

    fn data(&mut self, content: Chunk) {
        if !self.is_deaf {
            self.events.push_back(Event::Data { id: self.current(), content });
        }
    }

    fn end(&mut self) {
        if !self.is_deaf {
            self.events.push_back(Event::End { id: self.current() });
        }
    }
}
