//! The server's end.

use super::head::{After, Length, Version, parse_request, salvage_request};
use super::known::Known;
use super::outbox::Outbox;
use super::reader::{Messages, Reader};
use super::streamed_body::{Framing, StreamedBody};
use crate::held::{BackPressure, Held};
use crate::pending::{Method, Outgoing, Pending};
use crate::{
    Body, Chunk, Content, Error, Event, Fields, PeerFault, PersistedSettings, Priority, RequestHead, ResponseHead,
    ServerSession, Session, TransportStream,
};
use crate::{RequestId, Wire};
use bytes::{BufMut, Bytes, BytesMut};
use loadstone_units::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of requests' heads that wait for their responses: further requests stay unread. As much as nginx reads of one
/// head.
pub(super) const MAX_WAITING: usize = 32 * 1024;

/// A server's end of an HTTP/1.1 connection. Responses leave in the order of the requests,
/// whatever the order in which they are given (RFC 9112, section 9.3.2).
#[derive(Debug)]
pub struct Server {
    reader: Reader,
    requests: Requests,
    outbox: Outbox,
    /// The response of which a rest is in the outbox.
    sending: Option<RequestId>,
    /// The client sends no more.
    has_fin: bool,
}

impl Server {
    /// The server's end of a new connection.
    pub fn new() -> Server {
        let (reader, requests, outbox) = (Reader::new(), Requests::default(), Outbox::default());
        Server { reader, requests, outbox, sending: None, has_fin: false }
    }

    /// The same server, which knows heads that others read.
    pub(crate) fn knowing(mut self, known: &Arc<Known>) -> Server {
        self.requests.known = known.clone();
        self
    }

    fn note_sent(&mut self) {
        if let Some(id) = self.sending.take_if(|_| !self.outbox.is_begun()) {
            self.requests.events.push_back(Event::ResponseSent { id });
        }
    }

    /// Reads on after responses have gone out.
    fn resume(&mut self) {
        // Not with each response, or each costs a copy of what stays unread.
        if self.takes_input() || self.requests.waiting_bytes > MAX_WAITING / 2 {
            return;
        }
        if let Some(held) = &mut self.requests.held {
            held.set_unread(0);
        }
        let mut result = self.reader.resume(&mut self.requests);
        self.note_unread();
        if self.has_fin && result.is_ok() && self.takes_input() {
            result = self.end_input();
        }
        if let Err(fault) = result
            && self.reject(fault).is_err()
        {
            self.requests.after = After::Closes;
            self.requests.queue.clear();
        }
    }

    /// The client sends no more.
    fn end_input(&mut self) -> Result<(), PeerFault> {
        // RFC 9112, section 9.6: what comes after the last request is not looked at, half a head neither.
        let is_over = self.requests.after == After::Closes && self.reader.is_partial();
        self.requests.after = After::Closes;
        if is_over { Ok(()) } else { self.reader.close(&mut self.requests) }
    }

    fn note_unread(&mut self) {
        if let Some(held) = &mut self.requests.held {
            held.set_unread(self.reader.unread());
        }
    }

    /// The framing of the queue's first response if its body is streamed, and its head.
    fn frame(&mut self, head: &ResponseHead, pending: &Pending) -> (Framing, Bytes) {
        let version = self.requests.queue.front().map_or(Version::Usual, |front| front.version);
        let framing = match version {
            _ if pending.is_counted() => Framing::Counted,
            Version::Usual => Framing::Chunked,
            // RFC 9112, section 7: HTTP/1.0 has no chunks.
            Version::Old => Framing::UntilClose,
        };
        if framing == Framing::UntilClose {
            self.requests.give_up_from(1);
        }
        (framing, head.http1_framed(framing.line()))
    }

    /// The body of a streamed response.
    fn pending(&mut self, id: RequestId) -> Option<&mut Pending> {
        if self.outbox.is_streaming(id) {
            return self.outbox.pending(id);
        }
        let at = id.0.checked_sub(self.requests.first)?;
        let (_, content) = self.requests.queue.get_mut(at as usize)?.response.as_mut()?;
        content.pending()
    }

    /// The body does not match content-length: cancels the request.
    fn give_up(&mut self, id: RequestId) {
        self.cancel(id);
        self.requests.events.push_back(Event::Reset { id });
    }

    /// A request cannot be read. If there is a status that says so, it is the last that is answered.
    fn reject(&mut self, fault: PeerFault) -> Result<(), PeerFault> {
        let malformed = self.reader.give_up();
        let Some(status) = status(fault) else {
            // There is nothing more to say on this connection.
            self.outbox = Outbox::default();
            self.requests.queue.iter_mut().for_each(|waiting| *waiting = Waiting::default());
            self.requests.waiting_bytes = 0;
            return Err(fault);
        };
        self.requests.reject(malformed, status);
        Ok(())
    }

    /// A head as it is written; the last one says that the connection closes.
    fn written(&self, text: Bytes) -> Bytes {
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
    fn handle_input(&mut self, _: Time, on: TransportStream, input: &[Chunk]) -> Result<(), Error> {
        debug_assert_eq!(on, TransportStream::TCP);
        if let Some(held) = &mut self.requests.held {
            held.handle_input(input);
        }
        let result = self.reader.read(input, &mut self.requests);
        self.note_unread();
        Ok(result.or_else(|fault| self.reject(fault))?)
    }

    fn handle_fin(&mut self, _: Time, on: TransportStream) -> Result<(), Error> {
        debug_assert_eq!(on, TransportStream::TCP);
        self.has_fin = true;
        if !self.takes_input() {
            return Ok(());
        }
        Ok(self.end_input()?)
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_transmit(&mut self, _: Time, on: TransportStream, room: usize, out: &mut Wire) {
        debug_assert_eq!(on, TransportStream::TCP);
        let mut room = self.outbox.resume(room, out);
        self.note_sent();
        while room > 0
            && let Some(front) = self.requests.queue.front_mut()
        {
            if let Some(head) = front.interim.take() {
                room = self.outbox.begin(head.http1(), Body::EMPTY, room, out);
            } else if let Some((head, content)) = front.response.take() {
                let (framing, head) = match &content {
                    Outgoing::Whole(_) => (Framing::Counted, head.http1()),
                    Outgoing::Streamed(pending) => self.frame(&head, pending),
                };
                let (id, head) = (RequestId(self.requests.first), self.written(head));
                self.sending = Some(id);
                self.requests.pop();
                room = match content {
                    Outgoing::Whole(body) => self.outbox.begin(head, body, room, out),
                    Outgoing::Streamed(pending) => {
                        self.outbox.begin_open(id, head, StreamedBody::new(framing, pending), room, out)
                    }
                };
                self.note_sent();
            } else {
                break;
            }
        }
        self.resume();
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.requests.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn is_partial(&self) -> bool {
        self.reader.is_partial()
    }

    fn has_output(&self) -> bool {
        let may_begin = !self.outbox.is_begun() && self.requests.queue.front().is_some_and(Waiting::is_ready);
        self.outbox.has_output() || may_begin
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
        self.note_sent();
    }

    fn buffered(&self, id: RequestId) -> u64 {
        let waiting = id.0.checked_sub(self.requests.first).and_then(|at| self.requests.queue.get(at as usize));
        let response = waiting.and_then(|waiting| waiting.response.as_ref());
        response.map_or(0, |(_, content)| content.buffered()) + self.outbox.buffered(id)
    }

    fn hold(&mut self) {
        self.requests.held = Some(Box::new(Held::new(BackPressure::Transport)));
    }

    fn release(&mut self, id: RequestId, bytes: u64) {
        if let Some(held) = &mut self.requests.held {
            held.release(id, bytes);
        }
    }

    fn poll_used(&mut self, _: TransportStream) -> u64 {
        self.requests.held.as_mut().map_or(0, |held| held.poll_used())
    }

    fn takes_input(&self) -> bool {
        self.reader.unread() == 0
    }

    fn cancel(&mut self, id: RequestId) {
        if let Some(held) = &mut self.requests.held {
            held.forget(id);
        }
        if id.0 >= self.requests.first || self.sending == Some(id) {
            // What the client waits for has no other end.
            self.requests.give_up_from(id.0.saturating_sub(self.requests.first) as usize);
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
    fn respond(&mut self, id: RequestId, head: Arc<ResponseHead>, content: Content) {
        if self.requests.rejected == Some(id) {
            return;
        }
        if let Some(waiting) = self.requests.waiting(id) {
            assert!(waiting.response.is_none(), "a second response to one request");
            let content = Outgoing::of_response(&head, waiting.method, content);
            waiting.response = Some((head, content));
        }
    }

    fn persist(&mut self, _: &PersistedSettings) {}

    fn persisted(&self) -> PersistedSettings {
        PersistedSettings::default()
    }

    fn send_interim(&mut self, id: RequestId, head: Arc<ResponseHead>) {
        if let Some(waiting) = self.requests.waiting(id).filter(|waiting| waiting.may_be_informed()) {
            waiting.interim = Some(head);
        }
    }

    fn push(&mut self, _: RequestId, _: Arc<RequestHead>, _: Priority) -> Option<RequestId> {
        None
    }
}

/// The status that tells a client what it did wrong (RFC 9110, section 15.5; RFC 9112, sections 3.2, 6.1 and 6.3);
/// `None` if there is none.
fn status(fault: PeerFault) -> Option<u16> {
    match fault {
        PeerFault::MalformedHead | PeerFault::InvalidLength => Some(400),
        PeerFault::HeadTooLarge => Some(431),
        PeerFault::UnsupportedTransferCoding => Some(501),
        PeerFault::UnsupportedVersion => Some(505),
        _ => None,
    }
}

/// What is to be said to a request.
#[derive(Default, Debug)]
struct Waiting {
    version: Version,
    method: Method,
    /// The latest interim response that has not gone out.
    interim: Option<Arc<ResponseHead>>,
    response: Option<(Arc<ResponseHead>, Outgoing)>,
    /// Bytes of the request's head.
    len: usize,
}

impl Waiting {
    /// RFC 9110, section 15.2: HTTP/1.0 has no interim responses.
    fn may_be_informed(&self) -> bool {
        self.response.is_none() && self.version == Version::Usual
    }

    fn is_ready(&self) -> bool {
        self.interim.is_some() || self.response.is_some()
    }
}

/// The requests in their order, each with its answer once it is there.
#[derive(Default, Debug)]
struct Requests {
    known: Arc<Known>,
    queue: VecDeque<Waiting>,
    /// Bytes of the heads of the requests in the queue.
    waiting_bytes: usize,
    /// The number of the first request in the queue.
    first: u32,
    events: VecDeque<Event>,
    /// Content that the program has not used, if it says when it has.
    held: Option<Box<Held>>,
    /// The request that the session itself has answered.
    rejected: Option<RequestId>,
    /// The message that is being read is not heard, since it came after the last one.
    is_deaf: bool,
    /// Whether the last request of the queue is the last of all.
    after: After,
}

impl Requests {
    /// The request that is being read.
    fn current(&self) -> RequestId {
        RequestId(self.first + self.queue.len() as u32 - 1)
    }

    /// The request `id`; nothing if the connection was given up before its answer.
    fn waiting(&mut self, id: RequestId) -> Option<&mut Waiting> {
        let at = id.0.checked_sub(self.first).expect("a second response to one request");
        let is_closing = self.after == After::Closes;
        let waiting = self.queue.get_mut(at as usize);
        assert!(waiting.is_some() || is_closing, "a response to a request that does not wait for one");
        waiting
    }

    /// The first response of the queue goes out.
    fn pop(&mut self) {
        self.first += 1;
        self.waiting_bytes -= self.queue.pop_front().map_or(0, |sent| sent.len);
    }

    /// Answers the request that cannot be read, unless it has an answer or came after the last one. `malformed` is its
    /// head, if that is at fault.
    fn reject(&mut self, malformed: Option<Bytes>, status: u16) {
        let is_heard = if malformed.is_some() { self.after == After::Persists } else { !self.is_deaf };
        self.after = After::Closes;
        self.is_deaf = true;
        let head = malformed.map(|text| Arc::new(salvage_request(&text)));
        if is_heard && head.is_some() {
            self.queue.push_back(Waiting::default());
        }
        let Some(waiting) = self.queue.back_mut().filter(|waiting| is_heard && waiting.response.is_none()) else {
            return;
        };
        let response = ResponseHead::new(status, Fields::from_pairs([("content-length", "0")]));
        waiting.interim = None;
        waiting.response = Some((response.into(), Outgoing::Whole(Body::EMPTY)));
        let id = self.current();
        self.rejected = Some(id);
        self.events.push_back(Event::Rejected { id, head, status });
    }

    /// What stands from here on in the queue is not answered, and what comes of it is not heard.
    fn give_up_from(&mut self, at: usize) {
        self.after = After::Closes;
        // What is being read is the last one, or, once that has been answered, the one before the queue.
        self.is_deaf |= at <= self.queue.len().saturating_sub(1);
        self.waiting_bytes -= self.queue.range(at.min(self.queue.len())..).map(|waiting| waiting.len).sum::<usize>();
        self.queue.truncate(at);
    }

    /// Whether the first response of the queue is the last one of the connection.
    fn ends_with_first(&self) -> bool {
        self.after == After::Closes && self.queue.len() == 1
    }
}

impl Messages for Requests {
    fn takes_head(&self) -> bool {
        self.waiting_bytes < MAX_WAITING || self.after == After::Closes
    }

    fn head(&mut self, text: &Bytes) -> Result<Option<(usize, Length)>, PeerFault> {
        let Some(parsed) = self.known.requests.read(text, parse_request)? else { return Ok(None) };
        // RFC 9112, section 6.3, rule 7: a request that names no length has no body.
        let length = parsed.body.unwrap_or(Length::Known(0));
        // RFC 9112, section 9.6: what comes after the last request is not looked at.
        self.is_deaf = self.after == After::Closes;
        if self.is_deaf {
            return Ok(Some((parsed.len, length)));
        }
        self.after = parsed.after;
        self.waiting_bytes += parsed.len;
        self.queue.push_back(Waiting {
            version: parsed.version,
            method: Method::of(&parsed.head),
            len: parsed.len,
            ..Waiting::default()
        });
        self.events.push_back(Event::Request { id: self.current(), head: parsed.head });
        Ok(Some((parsed.len, length)))
    }

    fn data(&mut self, content: Chunk) {
        if !self.is_deaf {
            let id = self.current();
            if let Some(held) = &mut self.held {
                held.take(id, content.len());
            }
            self.events.push_back(Event::Data { id, content });
        }
    }

    fn trailers(&mut self, fields: Fields) {
        if !self.is_deaf && !fields.is_empty() {
            self.events.push_back(Event::Trailers { id: self.current(), fields: fields.into() });
        }
    }

    fn end(&mut self) {
        if !self.is_deaf {
            self.events.push_back(Event::End { id: self.current() });
        }
    }
}
