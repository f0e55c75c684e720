//! Requests that are made again on another connection.

use super::pending_request::PendingRequest;
use super::pool::Wanted;
use super::route::RequestRoute;
use super::{Relay, StreamRef};
use crate::ConnId;
use loadstone_http::{Event, RequestHead, content_length};
use std::sync::Arc;

/// A request that can be made again: it has no content, and nothing of a response has come.
#[derive(Debug)]
pub(super) struct RepeatableRequest {
    pub(super) head: Arc<RequestHead>,
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
        let (Some(front), Some(RepeatableRequest { head, route, .. })) = (peer.place, peer.repeatable.take()) else {
            return false;
        };
        link.peers.remove(&stream);
        if self.detach(front) {
            let (length, now) = (content_length(&head.fields).unwrap_or_default(), self.now);
            let events = vec![Event::End { id: front.1 }];
            let pending = PendingRequest { head, length, route, since: now, read_at: now, behind: None, events };
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
}
