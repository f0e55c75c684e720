//! Requests that are made again on another connection, with what has come of their content.

use super::pending_request::PendingRequest;
use super::pool::Wanted;
use super::route::RequestRoute;
use super::{Relay, StreamRef};
use crate::{ConnId, MaxKept};
use loadstone_http::{Event, RequestHead, content_length};
use std::sync::Arc;

/// How many bytes of a request's content are kept, so that the request can be made again. As many as a connection may bring that are
/// not used yet: so keeping them holds no more of a message than an end that reads slowly does.
const MAX_CONTENT: usize = 64 * 1024;
/// What a piece of content takes besides its bytes: many are small where a client sends small frames.
const PIECE: usize = 64;

/// A request that can be made again: nothing of a response has come, and all of its content that did come is kept.
#[derive(Debug)]
pub(super) struct RepeatableRequest {
    pub(super) head: Arc<RequestHead>,
    /// Its content so far, and its trailers.
    pub(super) events: Vec<Event>,
    pub(super) route: RequestRoute,
    /// Even if the server may have seen it, since its connection was lost (RFC 9110, section 9.2.2): it is idempotent, and not
    /// the first of its connection, so the server may have closed that before the request came.
    pub(super) is_safe_if_lost: bool,
}

impl Relay {
    /// Makes the request of a stream behind again, if it may be. Whether it is.
    pub(super) fn try_again(&mut self, (conn, stream): StreamRef, wanted: Wanted) -> bool {
        let Some(link) = self.links.get_mut(&conn) else { return false };
        let Some(peer) = link.peers.get_mut(&stream) else { return false };
        let (Some(front), Some(request)) = (peer.place, peer.repeatable.take()) else { return false };
        let RepeatableRequest { head, mut events, route, .. } = request;
        let came: u64 = events.iter().map(content_len).sum();
        let used = came + peer.used - peer.passed;
        events.extend(peer.is_finished.then_some(Event::End { id: front.1 }));
        link.peers.remove(&stream);
        if self.detach(front) {
            let (length, now) = (content_length(&head.fields).unwrap_or_default(), self.now);
            let pending = PendingRequest { head, length, route, since: now, read_at: now, behind: None, events, used };
            self.early.insert(front, pending);
            self.seek(front, wanted);
        }
        true
    }

    /// The same for all requests of a connection that is lost, of those that have no stream on it yet too.
    pub(super) fn try_all_again(&mut self, conn: ConnId) {
        let Some(link) = self.links.get_mut(&conn) else { return };
        let safe = link.safe_if_lost();
        let kept_for = link.as_behind().map(|half| std::mem::take(&mut half.kept_for)).unwrap_or_default();
        for front in kept_for {
            self.early.entry(front).and_modify(|early| early.behind = None);
            self.seek(front, Wanted::New);
        }
        for stream in safe {
            self.try_again((conn, stream), Wanted::New);
        }
    }

    /// Keeps content or trailers of a request that go on to its server. If there is no room, the request cannot be made again. Heads
    /// have half of what may be kept for themselves: without content a request is still served, without its head it is not.
    pub(super) fn keep_content(&mut self, front: StreamRef, (conn, stream): StreamRef, event: &Event) {
        let bytes = match event {
            Event::Data { content, .. } => PIECE + content.len() as usize,
            Event::Trailers { fields, .. } => fields.iter().map(|(name, value)| PIECE + name.len() + value.len()).sum(),
            _ => return,
        };
        let peer = self.links.get(&conn).and_then(|link| link.peers.get(&stream));
        if peer.is_none_or(|peer| peer.repeatable.is_none()) {
            return;
        }
        let MaxKept { connection, all } = self.config.max_kept;
        let kept = self.kept + bytes;
        let Some(half) = self.link(front.0).as_front() else { return };
        let kept_here = half.kept + bytes;
        let Some(exchange) = half.exchanges.get_mut(&front.1) else { return };
        let content = exchange.kept_content + bytes;
        let has_room = content <= MAX_CONTENT && kept_here <= connection / 2 && kept <= all / 2;
        if has_room {
            (exchange.kept_content, half.kept, self.kept) = (content, kept_here, kept);
        } else {
            self.drop_content(front);
        }
        self.link(conn).peers.entry(stream).and_modify(|peer| {
            peer.repeatable = peer.repeatable.take().filter(|_| has_room);
            peer.repeatable.iter_mut().for_each(|request| request.events.push(event.clone()));
        });
    }

    /// Nothing of a request's content is kept any longer.
    pub(super) fn drop_content(&mut self, (conn, stream): StreamRef) {
        let Some(half) = self.links.get_mut(&conn).and_then(|link| link.as_front()) else { return };
        let Some(exchange) = half.exchanges.get_mut(&stream) else { return };
        let content = std::mem::take(&mut exchange.kept_content);
        half.kept -= content;
        self.kept -= content;
    }
}

fn content_len(event: &Event) -> u64 {
    if let Event::Data { content, .. } = event { content.len() } else { 0 }
}
