//! The client's end.

use super::head::{After, Length, parse_response};
use super::known::Known;
use super::outbox::Outbox;
use super::reader::{Messages, Reader};
use super::streamed_body::{Framing, StreamedBody};
use crate::held::{BackPressure, Held};
use crate::pending::{Method, Outgoing, Pending};
use crate::streams::MAX_EMPTY;
use crate::{
    Chunk, ClientSession, Content, Error, Event, Fields, PeerFault, PersistedSettings, Priority, RequestHead,
    RequestId, Session, TransportStream, Wire,
};
use bytes::Bytes;
use loadstone_units::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// A client's end of an HTTP/1.1 connection.
#[derive(Debug)]
pub struct Client {
    pipelining: bool,
    next: u32,
    waiting: VecDeque<(RequestId, Arc<RequestHead>, Outgoing)>,
    outbox: Outbox,
    reader: Reader,
    responses: ResponseQueue,
}

impl Client {
    /// One request at a time.
    pub fn persistent() -> Client {
        Client::new(false)
    }

    /// An idle connection takes any number of requests at once; the responses come in order
    /// (RFC 9112, section 9.3.2). While responses are outstanding it takes no more.
    pub fn pipelining() -> Client {
        Client::new(true)
    }

    /// The same client, which knows heads that others read.
    pub(crate) fn knowing(mut self, known: &Arc<Known>) -> Client {
        self.responses.known = known.clone();
        self
    }

    fn new(pipelining: bool) -> Client {
        Client {
            pipelining,
            next: 0,
            waiting: VecDeque::new(),
            outbox: Outbox::default(),
            reader: Reader::new(),
            responses: ResponseQueue::default(),
        }
    }

    fn begin_open(
        &mut self,
        id: RequestId,
        head: &RequestHead,
        pending: Box<Pending>,
        room: u64,
        out: &mut Wire,
    ) -> u64 {
        let framing = if pending.is_counted() { Framing::Counted } else { Framing::Chunked };
        self.outbox.begin_open(id, head.http1_framed(framing.line()), StreamedBody::new(framing, pending), room, out)
    }

    /// The body of a streamed request.
    fn pending(&mut self, id: RequestId) -> Option<&mut Pending> {
        if self.outbox.is_streaming(id) {
            return self.outbox.pending(id);
        }
        self.waiting.iter_mut().find(|(waiting, ..)| *waiting == id)?.2.pending()
    }

    /// The body does not match content-length: cancels the request.
    fn give_up(&mut self, id: RequestId) {
        self.cancel(id);
        self.responses.events.push_back(Event::Reset { id });
    }
}

impl Session for Client {
    fn handle_input(&mut self, _: Time, on: TransportStream, input: &[Chunk]) -> Result<(), Error> {
        debug_assert_eq!(on, TransportStream::TCP);
        if let Some(held) = &mut self.responses.held {
            held.handle_input(input);
        }
        let result = self.reader.read(input, &mut self.responses);
        if result.is_err() {
            // A request made now would be answered by what cannot be read.
            self.responses.after = After::Closes;
        }
        if result.is_err() || self.responses.is_last && self.responses.outstanding.is_empty() {
            // There is nothing more to say on this connection.
            self.waiting.clear();
            self.outbox = Outbox::default();
        }
        Ok(result?)
    }

    fn handle_fin(&mut self, _: Time, on: TransportStream) -> Result<(), Error> {
        debug_assert_eq!(on, TransportStream::TCP);
        self.reader.close(&mut self.responses)?;
        if self.responses.outstanding.is_empty() { Ok(()) } else { Err(PeerFault::Truncated.into()) }
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_transmit(&mut self, _: Time, on: TransportStream, room: usize, out: &mut Wire) {
        debug_assert_eq!(on, TransportStream::TCP);
        let mut room = self.outbox.resume(room, out);
        while room > 0
            && let Some((id, head, content)) = self.waiting.pop_front()
        {
            room = match content {
                Outgoing::Whole(body) => self.outbox.begin(head.http1(), body, room, out),
                Outgoing::Streamed(pending) => self.begin_open(id, &head, pending, room, out),
            };
            self.responses.outstanding.push_back(Asked { id, method: Method::of(&head) });
            self.responses.events.push_back(Event::Sent { id });
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.responses.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn is_partial(&self) -> bool {
        self.reader.is_partial()
    }

    fn has_output(&self) -> bool {
        self.outbox.has_output() || (!self.outbox.is_begun() && !self.waiting.is_empty())
    }

    fn ping(&mut self) {}

    fn append(&mut self, id: RequestId, chunk: Chunk) {
        if self.pending(id).is_some_and(|pending| pending.append(chunk).is_err()) {
            self.give_up(id);
        }
    }

    fn finish(&mut self, id: RequestId, trailers: Fields) {
        if self.pending(id).is_some_and(|pending| pending.finish(&trailers).is_err()) {
            self.give_up(id);
        }
        self.outbox.settle();
    }

    fn buffered(&self, id: RequestId) -> u64 {
        let waiting = self.waiting.iter().find(|(waiting, ..)| *waiting == id);
        waiting.map_or(0, |(.., content)| content.buffered()) + self.outbox.buffered(id)
    }

    fn hold(&mut self) {
        self.responses.held = Some(Box::new(Held::new(BackPressure::Transport)));
    }

    fn release(&mut self, id: RequestId, bytes: u64) {
        if let Some(held) = &mut self.responses.held {
            held.release(id, bytes);
        }
    }

    fn poll_used(&mut self, _: TransportStream) -> u64 {
        self.responses.held.as_mut().map_or(0, |held| held.poll_used())
    }

    fn cancel(&mut self, id: RequestId) {
        if let Some(held) = &mut self.responses.held {
            held.forget(id);
        }
        self.waiting.retain(|(waiting, ..)| *waiting != id);
        if self.outbox.is_streaming(id) {
            // What is left of it would be taken for the next request.
            self.outbox = Outbox::default();
            self.responses.outstanding.clear();
            self.responses.after = After::Closes;
        }
        if self.responses.outstanding.iter().any(|asked| asked.id == id) {
            // What is under way cannot be told from what is wanted but by its end.
            self.responses.outstanding.clear();
            self.responses.after = After::Closes;
        }
    }

    fn shut_down(&mut self) {
        self.responses.after = After::Closes;
        let refused = std::mem::take(&mut self.waiting).into_iter();
        self.responses.events.extend(refused.map(|(id, ..)| Event::Refused { id }));
    }

    fn is_over(&self) -> bool {
        self.is_closing() && self.responses.outstanding.is_empty() && !self.has_output()
    }
}

impl ClientSession for Client {
    fn capacity(&self) -> usize {
        let is_idle = self.responses.outstanding.is_empty() && !self.outbox.is_any_streaming();
        match (is_idle && !self.is_closing(), self.pipelining) {
            (false, _) => 0,
            // RFC 9112, section 9.3.2: not behind what cannot be repeated if the connection fails.
            (true, true) if self.waiting.back().is_some_and(|(_, head, _)| !is_idempotent(head)) => 0,
            (true, true) => usize::MAX,
            (true, false) => usize::from(self.waiting.is_empty()),
        }
    }

    fn persisted(&self) -> PersistedSettings {
        PersistedSettings::default()
    }

    fn is_closing(&self) -> bool {
        self.responses.after == After::Closes
    }

    fn request(&mut self, head: Arc<RequestHead>, content: Content, _: Priority) -> RequestId {
        assert!(self.capacity() > 0, "a request beyond the session's capacity");
        let id = RequestId(self.next);
        self.next += 1;
        let content = Outgoing::of_request(&head, content);
        self.waiting.push_back((id, head, content));
        id
    }
}

/// Whether a request may be made twice (RFC 9110, section 9.2.2).
fn is_idempotent(head: &RequestHead) -> bool {
    const IDEMPOTENT: [&[u8]; 6] = [b"GET", b"HEAD", b"OPTIONS", b"TRACE", b"PUT", b"DELETE"];
    IDEMPOTENT.contains(&&head.method[..])
}

/// A request on the wire whose response is not complete.
#[derive(Debug)]
struct Asked {
    id: RequestId,
    method: Method,
}

/// What the reader reports, matched with the requests in their order.
#[derive(Default, Debug)]
struct ResponseQueue {
    known: Arc<Known>,
    outstanding: VecDeque<Asked>,
    events: VecDeque<Event>,
    /// Content that the program has not used, if it says when it has.
    held: Option<Box<Held>>,
    /// The head just read was an interim one (RFC 9110, section 15.2): the final response follows.
    interim: bool,
    /// How many there were since the last final one.
    interims: u32,
    /// What the server has said of the connection.
    after: After,
    /// It has said so with the response that is being read, or was read last: no other follows.
    is_last: bool,
}

impl Messages for ResponseQueue {
    fn head(&mut self, text: &Bytes) -> Result<Option<(usize, Length)>, PeerFault> {
        let Some(asked) = self.outstanding.front() else { return Err(PeerFault::UnexpectedResponse) };
        let Some(parsed) = self.known.responses.read(text, parse_response)? else { return Ok(None) };
        let status = parsed.head.status;
        self.interim = (100..200).contains(&status);
        if self.interim {
            self.interims += 1;
            if self.interims > MAX_EMPTY {
                return Err(PeerFault::Flood);
            }
            self.events.push_back(Event::Interim { id: asked.id, head: parsed.head });
            return Ok(Some((parsed.len, Length::Known(0))));
        }
        self.interims = 0;
        if parsed.after == After::Closes {
            self.after = After::Closes;
            self.is_last = true;
        }
        // RFC 9112, section 6.3, rule 1: these never have a body, whatever their fields say.
        let bodiless = asked.method == Method::Head || status == 204 || status == 304;
        let length = if bodiless { Length::Known(0) } else { parsed.body.unwrap_or(Length::UntilClose) };
        self.events.push_back(Event::Response { id: asked.id, head: parsed.head });
        Ok(Some((parsed.len, length)))
    }

    fn data(&mut self, content: Chunk) {
        if let Some(asked) = self.outstanding.front() {
            if let Some(held) = &mut self.held {
                held.take(asked.id, content.len());
            }
            self.events.push_back(Event::Data { id: asked.id, content });
        }
    }

    fn trailers(&mut self, fields: Fields) {
        if let Some(asked) = self.outstanding.front().filter(|_| !fields.is_empty()) {
            self.events.push_back(Event::Trailers { id: asked.id, fields: fields.into() });
        }
    }

    fn end(&mut self) {
        if self.interim {
            self.interim = false;
        } else if let Some(asked) = self.outstanding.pop_front() {
            self.events.push_back(Event::End { id: asked.id });
        }
        if self.is_last {
            // RFC 9112, section 9.6: requests pipelined after it get no response.
            self.outstanding.clear();
        }
    }
}
