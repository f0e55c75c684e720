//! The smallest protocol of many transport streams: on each of them one exchange of HTTP/1.1, begun by its client.

use crate::{Chunk, ClientSession, Content, Error, Event, Fields, PeerFault, PersistedSettings, Priority, RequestHead};
use crate::{RequestId, ResponseHead, ServerSession, Session, TransportStream, Wire, h1};
use bytes::Bytes;
use loadstone_units::Time;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The only exchange of each session inside.
const INSIDE: RequestId = RequestId(0);

/// One exchange: an end of HTTP/1.1, whose connection is the transport's stream.
#[derive(Debug)]
struct Lane<S> {
    session: S,
    priority: Priority,
    /// The program knows of it.
    is_known: bool,
    /// The message that comes is complete.
    is_heard: bool,
    /// The message that goes out has been given as a whole.
    is_given: bool,
    /// It was cancelled: its events are dropped.
    is_given_up: bool,
}

impl<S: Session> Lane<S> {
    fn new(mut session: S, priority: Priority, holds: bool) -> Lane<S> {
        if holds {
            session.hold();
        }
        Lane { session, priority, is_known: false, is_heard: false, is_given: false, is_given_up: false }
    }

    fn has_output(&self) -> bool {
        !self.is_given_up && self.session.has_output()
    }

    /// What can be said of it on its own stream is that nothing more comes.
    fn give_up(&mut self) {
        self.session.cancel(INSIDE);
        (self.is_given_up, self.is_given) = (true, true);
    }

    /// Takes note of what happened; whether the program is to hear of it.
    fn note(&mut self, event: &Event) -> bool {
        match event {
            // Content of a cancelled request is released at once.
            Event::Data { content, .. } if self.is_given_up => self.session.release(INSIDE, content.len()),
            Event::Request { head, .. } => {
                self.is_known = true;
                self.priority = head.fields.get(b"priority").map_or(self.priority, Priority::parse);
            }
            Event::End { .. } => self.is_heard = true,
            Event::Reset { .. } | Event::Refused { .. } => {
                (self.is_given_up, self.is_given) = (true, true);
                return true;
            }
            _ => {}
        }
        !self.is_given_up
    }
}

/// One end of all of them.
#[derive(Debug)]
pub(super) struct Bundle<S> {
    lanes: BTreeMap<RequestId, Lane<S>>,
    events: VecDeque<Event>,
    /// What becomes of a stream that the other end opens, if it may.
    accept: Option<fn() -> S>,
    holds: bool,
    is_leaving: bool,
}

/// The number of an exchange's stream: the client's bidirectional ones (RFC 9000, section 2.1).
fn stream(id: RequestId) -> TransportStream {
    TransportStream(4 * u64::from(id.0))
}

impl Bundle<h1::Client> {
    pub(super) fn client() -> Bundle<h1::Client> {
        Bundle::new(None)
    }
}

impl Bundle<h1::Server> {
    pub(super) fn server() -> Bundle<h1::Server> {
        Bundle::new(Some(h1::Server::new))
    }
}

impl<S: Session> Bundle<S> {
    fn new(accept: Option<fn() -> S>) -> Bundle<S> {
        Bundle { lanes: BTreeMap::new(), events: VecDeque::new(), accept, holds: false, is_leaving: false }
    }

    /// The exchange of a stream, which may begin with it.
    fn arrived(&mut self, on: TransportStream) -> Result<RequestId, Error> {
        let id = RequestId(u32::try_from(on.0 / 4).map_err(|_| PeerFault::StreamOutOfOrder)?);
        if stream(id) != on || (self.accept.is_none() && !self.lanes.contains_key(&id)) {
            return Err(PeerFault::StreamOutOfOrder.into());
        }
        if let (Some(accept), false) = (self.accept, self.lanes.contains_key(&id)) {
            let mut lane = Lane::new(accept(), Priority::default(), self.holds);
            if self.is_leaving {
                lane.give_up();
            }
            self.lanes.insert(id, lane);
        }
        Ok(id)
    }

    /// Has a session inside do something, if it goes on, and hears what came of it.
    fn with(&mut self, id: RequestId, act: impl FnOnce(&mut Lane<S>)) {
        if let Some(lane) = self.lanes.get_mut(&id).filter(|lane| !lane.is_given_up) {
            act(lane);
            self.hear(id);
        }
    }

    fn hear(&mut self, id: RequestId) {
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        while let Some(event) = lane.session.poll_event() {
            if lane.note(&event) {
                self.events.push_back(of(event, id));
            }
        }
    }

    /// A violation ends the exchange, and no other.
    fn judge(&mut self, id: RequestId, result: Result<(), Error>) {
        self.hear(id);
        let Some(lane) = self.lanes.get_mut(&id).filter(|lane| result.is_err() && !lane.is_given_up) else { return };
        lane.give_up();
        if lane.is_known {
            self.events.push_back(Event::Reset { id });
        }
    }
}

/// What happened inside, as it is told outside.
fn of(event: Event, id: RequestId) -> Event {
    match event {
        Event::Sent { .. } => Event::Sent { id },
        Event::Request { head, .. } => Event::Request { id, head },
        Event::Rejected { head, status, .. } => Event::Rejected { id, head, status },
        Event::Interim { head, .. } => Event::Interim { id, head },
        Event::Response { head, .. } => Event::Response { id, head },
        Event::Data { content, .. } => Event::Data { id, content },
        Event::Trailers { fields, .. } => Event::Trailers { id, fields },
        Event::End { .. } => Event::End { id },
        Event::ResponseSent { .. } => Event::ResponseSent { id },
        Event::Reset { .. } => Event::Reset { id },
        Event::Refused { .. } => Event::Refused { id },
        Event::Promised { .. } | Event::Discarded { .. } | Event::Pong => unreachable!("HTTP/1.1 has none"),
    }
}

impl<S: Session> Session for Bundle<S> {
    fn handle_input(&mut self, now: Time, on: TransportStream, input: &[Chunk]) -> Result<(), Error> {
        let id = self.arrived(on)?;
        let result = self.lanes.get_mut(&id).map(|lane| lane.session.handle_input(now, TransportStream::TCP, input));
        self.judge(id, result.unwrap_or(Ok(())));
        Ok(())
    }

    fn handle_fin(&mut self, now: Time, on: TransportStream) -> Result<(), Error> {
        let id = self.arrived(on)?;
        // Behind a message that is complete it says nothing new.
        let lane = self.lanes.get_mut(&id).filter(|lane| !lane.is_heard);
        let result = lane.map(|lane| lane.session.handle_fin(now, TransportStream::TCP));
        self.judge(id, result.unwrap_or(Ok(())));
        Ok(())
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn carrier(&self, id: RequestId) -> TransportStream {
        stream(id)
    }

    fn next_stream(&self, room: &dyn Fn(TransportStream) -> usize) -> Option<TransportStream> {
        let ready = self.lanes.iter().filter(|(id, lane)| lane.has_output() && room(stream(**id)) > 0);
        ready.min_by_key(|(id, lane)| (lane.priority.urgency(), **id)).map(|(id, _)| stream(*id))
    }

    fn poll_transmit(&mut self, now: Time, on: TransportStream, room: usize, out: &mut Wire) {
        self.with(RequestId((on.0 / 4) as u32), |lane| {
            lane.session.poll_transmit(now, TransportStream::TCP, room, out);
        });
    }

    fn is_finished(&self, on: TransportStream) -> bool {
        let lane = self.lanes.get(&RequestId((on.0 / 4) as u32));
        lane.is_some_and(|lane| lane.is_given && !lane.has_output())
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn is_partial(&self) -> bool {
        self.lanes.values().any(|lane| lane.session.is_partial())
    }

    fn has_output(&self) -> bool {
        self.lanes.values().any(|lane| lane.has_output())
    }

    fn ping(&mut self) {}

    fn append(&mut self, id: RequestId, chunk: Chunk) {
        self.with(id, |lane| lane.session.append(INSIDE, chunk));
    }

    fn finish(&mut self, id: RequestId, trailers: Fields) {
        self.with(id, |lane| {
            lane.is_given = true;
            lane.session.finish(INSIDE, trailers);
        });
    }

    fn buffered(&self, id: RequestId) -> u64 {
        self.lanes.get(&id).map_or(0, |lane| lane.session.buffered(INSIDE))
    }

    fn hold(&mut self) {
        self.holds = true;
    }

    fn release(&mut self, id: RequestId, bytes: u64) {
        self.with(id, |lane| lane.session.release(INSIDE, bytes));
    }

    fn poll_used(&mut self, on: TransportStream) -> u64 {
        let lane = self.lanes.get_mut(&RequestId((on.0 / 4) as u32));
        lane.map_or(0, |lane| lane.session.poll_used(TransportStream::TCP))
    }

    fn cancel(&mut self, id: RequestId) {
        self.with(id, Lane::give_up);
    }

    fn shut_down(&mut self) {
        self.is_leaving = true;
        // A server's requests are answered, a client's go no more if they have not begun.
        let ids: Vec<RequestId> = self.lanes.keys().copied().filter(|_| self.accept.is_none()).collect();
        ids.into_iter().for_each(|id| self.with(id, |lane| lane.session.shut_down()));
    }

    fn is_over(&self) -> bool {
        let is_done = |lane: &Lane<S>| lane.is_given_up || (lane.is_heard && lane.is_given);
        self.is_leaving && self.lanes.values().all(is_done) && !self.has_output()
    }
}

impl ClientSession for Bundle<h1::Client> {
    /// Any number waits here until the transport has room on its streams.
    fn capacity(&self) -> usize {
        if self.is_leaving { 0 } else { usize::MAX }
    }

    fn is_closing(&self) -> bool {
        self.is_leaving
    }

    fn persisted(&self) -> PersistedSettings {
        PersistedSettings::default()
    }

    /// The priority goes along as a field, as in HTTP/2 and HTTP/3 (RFC 9218, section 5).
    fn request(&mut self, head: Arc<RequestHead>, content: Content, priority: Priority) -> RequestId {
        let id = RequestId(self.lanes.len() as u32);
        let mut lane = Lane::new(h1::Client::persistent(), priority, self.holds);
        let said = (priority != Priority::default()).then(|| (b"priority".to_vec(), priority.to_string().into_bytes()));
        let fields = head.fields.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).chain(said);
        let [method, authority, path] = [&head.method, &head.authority, &head.path].map(Bytes::clone);
        let head = RequestHead::new(method, authority, path, Fields::from_pairs(fields)).over(head.scheme);
        (lane.is_known, lane.is_given) = (true, matches!(content, Content::Whole(_)));
        lane.session.request(head.into(), content, priority);
        self.lanes.insert(id, lane);
        id
    }
}

impl ServerSession for Bundle<h1::Server> {
    fn respond(&mut self, id: RequestId, head: Arc<ResponseHead>, content: Content) {
        self.with(id, |lane| {
            lane.is_given = matches!(content, Content::Whole(_));
            lane.session.respond(INSIDE, head, content);
        });
    }

    fn persist(&mut self, _: &PersistedSettings) {}

    fn persisted(&self) -> PersistedSettings {
        PersistedSettings::default()
    }

    fn send_interim(&mut self, id: RequestId, head: Arc<ResponseHead>) {
        self.with(id, |lane| lane.session.send_interim(INSIDE, head));
    }

    fn push(&mut self, _: RequestId, _: Arc<RequestHead>, _: Priority) -> Option<RequestId> {
        None
    }
}
