//! How a relay uses its cache: what it answers from there, and what it asks for.
//!
//! To servers the cache is a client like others: its requests have the place of a stream of a connection that does not exist,
//! [`CACHE`]. So they wait for connections, are repeated and given up like all. What they bring is read as fast as it comes, since
//! there is room for it, and each client gets it at its own pace.

use super::cache::{
    CACHE, Cache, CacheFill, CacheOutcome, Course, FillId, Sharing, StoredAnswer, Subscriber, TakenContent, Verdict,
    answer_of,
};
use super::fields::{passed_trailers, returned};
use super::link::Peer;
use super::pending_request::PendingRequest;
use super::pool::Wanted;
use super::rejection::Rejection;
use super::requester::Requester;
use super::route::RequestRoute;
use super::{Relay, StreamRef};
use crate::page::HostId;
use loadstone_http::{Chunk, Event, RequestId, ResponseHead};
use std::sync::Arc;

impl Relay {
    /// A request has come that the cache may answer.
    pub(super) fn consult(&mut self, front: StreamRef) {
        let now = self.now;
        let (Some(cache), Some(early)) = (&mut self.cache, self.early.get(&front)) else { return };
        let course = cache.course(&early.head, now);
        self.follow(front, course);
    }

    /// What is stored for a request was read, and there is no room for it.
    pub(super) fn do_without(&mut self, front: StreamRef) {
        let Some(early) = self.early.get(&front) else { return };
        let course = Cache::course_without(&early.head);
        self.follow(front, course);
    }

    fn follow(&mut self, front: StreamRef, course: Course) {
        let (Some(cache), Some(early)) = (&mut self.cache, self.early.get(&front)) else { return };
        match course {
            Course::Pass => self.pass(front),
            Course::Answer(answer, outcome, fill) => {
                let servers = self.early.remove(&front).map(|early| early.route.servers);
                self.serve(front, answer, outcome);
                if let (Some(fill), Some(servers)) = (fill, servers) {
                    self.begin_fill(*fill, servers);
                }
            }
            Course::Join(id) => self.subscribe(front, id),
            Course::Fill(mut fill) => {
                fill.leader = Some(front);
                let servers = early.route.servers.clone();
                let id = cache.begin(*fill);
                self.subscribe(front, id);
                self.ask(id, servers);
            }
            Course::Fetch(number) => cache.wait(front, number),
            Course::Unanswered => self.refuse(front, Rejection::NotStored),
        }
    }

    /// A request goes to its server, whatever is stored.
    pub(super) fn pass(&mut self, front: StreamRef) {
        if self.cache.is_some() {
            self.link(front.0).note_cache(front.1, CacheOutcome::Passed);
        }
        self.seek(front, Wanted::Any);
    }

    /// A response that the cache has no part in goes back.
    pub(super) fn pass_head(&mut self, (to, stream): StreamRef, head: Arc<ResponseHead>) {
        let link = self.links.get_mut(&to);
        let Some(exchange) = link.and_then(|link| link.exchange(stream)) else { return };
        let (request, outcome, is_safe) = (exchange.request.clone(), exchange.cache, exchange.is_safe());
        let head = match (&mut self.cache, outcome) {
            (Some(cache), outcome) => {
                if !is_safe && matches!(head.status, 200..=399) {
                    invalidate(cache, &request.authority, &request.path, &head);
                }
                Cache::marked(&head, outcome.unwrap_or(CacheOutcome::Passed), None)
            }
            (None, _) => head,
        };
        let now = self.now;
        self.link(to).respond(stream, head, now);
    }

    fn begin_fill(&mut self, fill: CacheFill, servers: Arc<[HostId]>) {
        let Some(cache) = &mut self.cache else { return };
        let id = cache.begin(fill);
        self.ask(id, servers);
    }

    /// Asks a server for a fill.
    fn ask(&mut self, id: FillId, servers: Arc<[HostId]>) {
        let now = self.now;
        let Some(fill) = self.cache.as_ref().and_then(|cache| cache.fills.get(&id)) else { return };
        let place = (CACHE, RequestId(id.0));
        let (leader, request) = (fill.leader, fill.request.clone());
        let leader = leader.and_then(|(conn, _)| self.links.get_mut(&conn)?.as_front());
        let requester = leader.map_or(Requester::Cache, |half| half.client.requester());
        let route = RequestRoute::new(requester, servers);
        self.early.insert(place, PendingRequest::complete(request, route, place.1, now));
        self.seek(place, Wanted::Any);
    }

    /// Sends a response from the cache.
    fn serve(&mut self, front: StreamRef, answer: StoredAnswer, outcome: CacheOutcome) {
        self.open_from_cache(front, answer.head, outcome, answer.content);
        if let Some(link) = self.links.get_mut(&front.0) {
            link.finish(front.1);
        }
    }

    /// Begins a response whose content comes from the cache.
    fn open_from_cache(
        &mut self,
        (conn, stream): StreamRef,
        head: Arc<ResponseHead>,
        outcome: CacheOutcome,
        begun: Vec<Chunk>,
    ) {
        if let Some(cache) = &mut self.cache {
            cache.waiting.remove(&(conn, stream));
        }
        let now = self.now;
        let Some(link) = self.links.get_mut(&conn) else { return };
        link.peers.insert(stream, Peer::of_cache());
        link.note_cache(stream, outcome);
        link.respond(stream, head, now);
        begun.into_iter().for_each(|chunk| _ = link.append(stream, chunk));
        self.stir(conn);
    }

    /// A request waits for what is on its way.
    fn subscribe(&mut self, front: StreamRef, id: FillId) {
        let (now, Some(cache)) = (self.now, &mut self.cache) else { return };
        let Some(pending) = self.early.remove(&front) else { return };
        let sharing = cache.sharing(id, &pending.head, now);
        let Some(fill) = cache.fills.get_mut(&id) else { return };
        cache.waiting.insert(front, id);
        let begun = fill.begun().filter(|_| sharing == Sharing::Receives);
        let subscriber = if begun.is_some() { Subscriber::Receiving } else { Subscriber::Waiting(pending) };
        fill.subscribers.insert(front, subscriber);
        match begun {
            Some((head, content)) => self.receive(front, id, &head, content, CacheOutcome::Collapsed),
            None => _ = self.link(front.0).peers.insert(front.1, Peer::of_cache()),
        }
    }

    /// A client gets a response as it comes. To whom it is another's, the cache says how old it is (RFC 9111, section 4).
    fn receive(&mut self, front: StreamRef, id: FillId, head: &ResponseHead, begun: Vec<Chunk>, outcome: CacheOutcome) {
        let now = self.now;
        let fill = self.cache.as_ref().and_then(|cache| cache.fills.get(&id));
        let age = fill.filter(|_| outcome == CacheOutcome::Collapsed).and_then(|fill| fill.age(now));
        self.open_from_cache(front, Cache::marked(head, outcome, age), outcome, begun);
        if let Some(cache) = &mut self.cache {
            cache.waiting.insert(front, id);
        }
    }

    /// A client wants nothing of a fill any more.
    pub(super) fn leave_fill(&mut self, front: StreamRef) {
        let Some(cache) = &mut self.cache else { return };
        let Some(id) = cache.waiting.remove(&front) else { return };
        let Some(fill) = cache.fills.get_mut(&id) else { return };
        fill.subscribers.remove(&front);
        fill.leader = fill.leader.filter(|leader| *leader != front);
        if fill.subscribers.is_empty() && !fill.is_background {
            self.abandon_fill(id);
        }
    }

    /// Gives up what nobody wants, or nobody may have. Who has waited for it.
    fn abandon_fill(&mut self, id: FillId) -> Option<CacheFill> {
        let now = self.now;
        let fill = self.cache.as_mut()?.abandon(id, now)?;
        self.cut((CACHE, RequestId(id.0)), Rejection::Closed);
        if let Some(behind) = fill.behind {
            self.end_stream(behind, Rejection::Closed);
        }
        Some(fill)
    }

    /// Something has come for a fill.
    pub(super) fn handle_fill_event(&mut self, (conn, stream): StreamRef, id: FillId, event: Event) {
        let protocol = self.link(conn).protocol();
        match event {
            Event::Interim { head, .. } => match returned(&head, protocol) {
                Ok(head) => self.inform_leader(id, head),
                Err(why) => self.give_up_behind((conn, stream), why),
            },
            Event::Response { head, .. } => match returned(&head, protocol) {
                Ok(own) => {
                    let is_framed = protocol.is_multiplexed() || is_framed(&head);
                    self.handle_fill_head((conn, stream), id, &own, is_framed);
                }
                Err(why) => self.give_up_behind((conn, stream), why),
            },
            Event::Data { content, .. } => self.handle_fill_content((conn, stream), id, content),
            Event::Trailers { fields, .. } => {
                for front in self.receiving(id) {
                    self.link(front.0).trailers(front.1, passed_trailers(&fields));
                }
            }
            Event::End { .. } => {
                self.complete_fill(id);
                self.end_response(conn, stream);
            }
            Event::Reset { .. } | Event::Refused { .. } => self.cut((conn, stream), Rejection::Closed),
            _ => {}
        }
    }

    fn inform_leader(&mut self, id: FillId, head: Arc<ResponseHead>) {
        let leader = self.cache.as_ref().and_then(|cache| cache.fills.get(&id)?.leader);
        if let Some((conn, stream)) = leader {
            self.link(conn).inform(stream, head);
            self.stir(conn);
        }
    }

    /// Those who get a response as it comes.
    fn receiving(&self, id: FillId) -> Vec<StreamRef> {
        let Some(fill) = self.cache.as_ref().and_then(|cache| cache.fills.get(&id)) else { return Vec::new() };
        let receiving = fill.subscribers.iter().filter(|(_, it)| matches!(it, Subscriber::Receiving));
        receiving.map(|(front, _)| *front).collect()
    }

    fn handle_fill_head(&mut self, behind: StreamRef, id: FillId, head: &Arc<ResponseHead>, is_framed: bool) {
        let now = self.now;
        let Some(cache) = self.cache.as_mut() else { return };
        match cache.handle_head(id, head, is_framed, now) {
            Verdict::Answered { response, outcome, is_for_all } => {
                let Some(fill) = cache.end(id) else { return };
                for (front, subscriber) in fill.subscribers {
                    let Subscriber::Waiting(pending) = subscriber else { continue };
                    if is_for_all || fill.leader == Some(front) {
                        let outcome = if fill.leader == Some(front) { outcome } else { CacheOutcome::Collapsed };
                        self.serve(front, answer_of(&response, &pending.head, outcome, now), outcome);
                    } else {
                        self.go_alone(front, pending);
                    }
                }
                if head.status != 304 {
                    self.end_stream(behind, Rejection::Closed);
                }
            }
            Verdict::Storing(outcome) => self.share(id, outcome),
            Verdict::Unstorable(outcome) => {
                let Some(fill) = cache.end(id) else { return };
                self.connect(behind, &fill, head, outcome);
                self.release_others(fill);
            }
            Verdict::Mistaken => {
                let Some(mut fill) = cache.end(id) else { return };
                fill.leader = None;
                self.release_others(fill);
            }
        }
    }

    /// A response is being stored: all who may have it get it, and the others go on without it.
    fn share(&mut self, id: FillId, outcome: CacheOutcome) {
        let now = self.now;
        let Some(cache) = self.cache.as_mut() else { return };
        let Some(fill) = cache.fills.get_mut(&id) else { return };
        let (leader, begun) = (fill.leader, fill.begun());
        let subscribers = std::mem::take(&mut fill.subscribers);
        let Some((head, _)) = begun else { return };
        for (front, subscriber) in subscribers {
            let Some(cache) = self.cache.as_mut() else { return };
            let Subscriber::Waiting(pending) = subscriber else { continue };
            let is_leader = leader == Some(front);
            let sharing = if is_leader { Sharing::Receives } else { cache.sharing(id, &pending.head, now) };
            let outcome = if is_leader { outcome } else { CacheOutcome::Collapsed };
            match (sharing, cache.fills.get_mut(&id)) {
                (Sharing::Receives, Some(fill)) => {
                    fill.subscribers.insert(front, Subscriber::Receiving);
                    self.receive(front, id, &head, Vec::new(), outcome);
                }
                (Sharing::Waits, Some(fill)) => _ = fill.subscribers.insert(front, Subscriber::Waiting(pending)),
                (Sharing::Other, _) => {
                    cache.waiting.remove(&front);
                    self.link(front.0).peers.remove(&front.1);
                    self.early.insert(front, pending);
                    self.consult(front);
                }
                _ => self.go_alone(front, pending),
            }
        }
        let is_wanted = self.cache.as_ref().and_then(|cache| cache.fills.get(&id));
        if is_wanted.is_some_and(|fill| fill.subscribers.is_empty() && !fill.is_background) {
            self.abandon_fill(id);
        }
    }

    /// The response of a fill is its leader's alone: it gets it directly, at its own pace.
    fn connect(&mut self, behind: StreamRef, fill: &CacheFill, head: &ResponseHead, outcome: CacheOutcome) {
        let Some(front) = fill.leader else { return self.end_stream(behind, Rejection::Closed) };
        self.join_streams(front, behind);
        let now = self.now;
        self.link(front.0).note_cache(front.1, outcome);
        self.link(front.0).respond(front.1, Cache::marked(head, outcome, None), now);
        self.stir(front.0);
    }

    fn join_streams(&mut self, front: StreamRef, behind: StreamRef) {
        if let Some(cache) = &mut self.cache {
            cache.waiting.remove(&front);
        }
        for (own, other) in [(front, behind), (behind, front)] {
            self.link(own.0).peers.entry(own.1).and_modify(|peer| peer.place = Some(other));
        }
    }

    fn handle_fill_content(&mut self, behind: StreamRef, id: FillId, content: Chunk) {
        let Some(cache) = self.cache.as_mut() else { return };
        let len = content.len();
        match cache.take_content(id, &content) {
            TakenContent::Stored(chunk) => {
                for front in self.receiving(id) {
                    self.link(front.0).append(front.1, chunk.clone());
                    self.stir(front.0);
                }
            }
            TakenContent::TooMuch => return self.overflow(behind, id, content),
            TakenContent::Dropped => {}
        }
        self.link(behind.0).session().release(behind.1, len);
        self.stir(behind.0);
    }

    /// A response is larger than may be stored: its leader gets the rest directly, and those who wait go on without it.
    fn overflow(&mut self, behind: StreamRef, id: FillId, content: Chunk) {
        let now = self.now;
        let Some(fill) = self.cache.as_mut().and_then(|cache| cache.abandon(id, now)) else { return };
        match fill.leader {
            Some(front) => {
                self.join_streams(front, behind);
                self.link(front.0).append(front.1, content);
                self.stir(front.0);
            }
            None => self.end_stream(behind, Rejection::Closed),
        }
        self.release_others(fill);
    }

    /// All of a response has come.
    fn complete_fill(&mut self, id: FillId) {
        let now = self.now;
        let Some((fill, response)) = self.cache.as_mut().and_then(|cache| cache.complete(id)) else { return };
        for (front, subscriber) in fill.subscribers {
            match subscriber {
                Subscriber::Receiving => {
                    if let Some(cache) = &mut self.cache {
                        cache.waiting.remove(&front);
                    }
                    self.link(front.0).finish(front.1);
                    self.stir(front.0);
                }
                Subscriber::Waiting(pending) => {
                    let outcome = CacheOutcome::Collapsed;
                    self.serve(front, answer_of(&response, &pending.head, outcome, now), outcome);
                }
            }
        }
    }

    /// The origin has failed.
    pub(super) fn fail_fill(&mut self, id: FillId, why: Rejection) {
        let now = self.now;
        let Some(cache) = self.cache.as_mut() else { return };
        let was_begun = cache.fills.get(&id).is_some_and(|fill| fill.begun().is_some());
        let stale = cache.fills.get(&id).and_then(|fill| fill.if_error(now)).filter(|_| !was_begun);
        let Some(fill) = cache.abandon(id, now) else { return };
        for (front, subscriber) in fill.subscribers {
            match (subscriber, &stale) {
                (Subscriber::Waiting(pending), Some(stale)) => {
                    let outcome = CacheOutcome::Stale;
                    self.serve(front, answer_of(stale, &pending.head, outcome, now), outcome);
                }
                (Subscriber::Waiting(pending), None) if was_begun => self.go_alone(front, pending),
                _ => {
                    if let Some(cache) = &mut self.cache {
                        cache.waiting.remove(&front);
                    }
                    self.end_stream(front, why);
                }
            }
        }
    }

    /// Those who have waited for a response that is not for them go on by themselves, all at once.
    fn release_others(&mut self, fill: CacheFill) {
        for (front, subscriber) in fill.subscribers {
            match subscriber {
                Subscriber::Waiting(pending) if fill.leader != Some(front) => self.go_alone(front, pending),
                _ => {}
            }
        }
    }

    /// A request that has waited goes to its server.
    fn go_alone(&mut self, front: StreamRef, pending: PendingRequest) {
        if let Some(cache) = &mut self.cache {
            cache.waiting.remove(&front);
        }
        let Some(link) = self.links.get_mut(&front.0) else { return };
        link.peers.remove(&front.1);
        self.early.insert(front, pending);
        self.pass(front);
    }

    /// Those who have waited too long for a response of unknown length go on by themselves.
    pub(super) fn release_patient(&mut self) {
        let (now, Some(cache)) = (self.now, &mut self.cache) else { return };
        let mut released = Vec::new();
        for fill in cache.fills.values_mut().filter(|fill| fill.is_slow(now)) {
            let all = std::mem::take(&mut fill.subscribers);
            for (front, subscriber) in all {
                match subscriber {
                    Subscriber::Waiting(pending) => released.push((front, pending)),
                    receiving @ Subscriber::Receiving => _ = fill.subscribers.insert(front, receiving),
                }
            }
        }
        released.into_iter().for_each(|(front, pending)| self.go_alone(front, pending));
    }

    /// A request in front, or of the cache, has its stream behind.
    pub(super) fn attach(&mut self, front: StreamRef, behind: StreamRef) {
        let (CACHE, RequestId(id)) = front else {
            self.link(front.0).peers.insert(front.1, Peer::new(behind));
            return;
        };
        if let Some(fill) = self.cache.as_mut().and_then(|cache| cache.fills.get_mut(&FillId(id))) {
            fill.behind = Some(behind);
        }
    }

    /// It has none any more. Whether it had one.
    pub(super) fn detach(&mut self, front: StreamRef) -> bool {
        let (CACHE, RequestId(id)) = front else { return self.link(front.0).peers.remove(&front.1).is_some() };
        self.cache.as_mut().and_then(|cache| cache.fills.get_mut(&FillId(id))?.behind.take()).is_some()
    }
}

/// Whether a response over HTTP/1.1 says where it ends: else it ends with its connection, and a part of it looks like the whole.
fn is_framed(head: &ResponseHead) -> bool {
    let has = |name: &[u8]| head.fields.get(name).is_some();
    matches!(head.status, 204 | 304) || has(b"content-length") || has(b"transfer-encoding")
}

/// An unsafe request has changed what it names, and what its response names on the same host (RFC 9111, section 4.4).
fn invalidate(cache: &mut Cache, authority: &[u8], path: &[u8], head: &ResponseHead) {
    cache.invalidate(authority, path);
    for name in [&b"location"[..], b"content-location"] {
        let Some(named) = head.fields.get(name) else { continue };
        let path = match named.windows(3).position(|it| it == b"://") {
            None => Some(named),
            Some(at) => {
                let own = named[at + 3..].split_at_checked(authority.len());
                own.filter(|(host, _)| host.eq_ignore_ascii_case(authority)).map(|(_, path)| path)
            }
        };
        path.filter(|path| path.first() == Some(&b'/')).into_iter().for_each(|path| cache.invalidate(authority, path));
    }
}

#[cfg(test)]
mod tests;
