//! How exchanges of a relay begin and end: a request needs a connection to its server, and what ends on one side
//! ends on the other.

use super::fields::{bad_gateway, forwarded, misdirected};
use super::link::{Peer, PendingRequest};
use super::{Relay, StreamRef};
use crate::page::HostId;
use crate::{Action, ConnId, Tag};
use loadstone_http::{Body, Content, Event, RequestHead};
use std::sync::Arc;

impl Relay {
    /// A request has come, which needs a connection to its server: one that is idle, or a new one.
    pub(super) fn begin(&mut self, front: StreamRef, head: Arc<RequestHead>) {
        let Some(&to) = self.servers.get(&*String::from_utf8_lossy(&head.authority).to_ascii_lowercase()) else {
            return self.link(front.0).respond(front.1, misdirected(), Content::Whole(Body::EMPTY));
        };
        let behind = self.links.iter_mut().find(|(_, link)| link.is_idle(to)).map(|(conn, link)| {
            link.is_taken = true;
            *conn
        });
        self.early.insert(front, PendingRequest { head, server: to, behind, events: Vec::new() });
        if behind.is_none() {
            // A new connection is tagged by its server alone: any exchange that waits for that server may take it.
            self.actions.push_back(Action::Open { to, tag: Tag(to.0) });
        }
    }

    /// A request goes out on the connection that it has, when it is known whether content follows.
    pub(super) fn join(&mut self, front: StreamRef) {
        let is_ready = |early: &PendingRequest| early.behind.is_some() && !early.events.is_empty();
        let Some(early) = self.early.get(&front).filter(|early| is_ready(early)).map(|_| front) else { return };
        let Some(PendingRequest { head, behind: Some(behind), mut events, .. }) = self.early.remove(&early) else {
            return;
        };
        let has_content = !matches!(events[0], Event::End { .. });
        let content = if has_content { Content::Streamed } else { Content::Whole(Body::EMPTY) };
        let stream = self.link(behind).request(forwarded(&head), content);
        self.link(behind).peers.insert(stream, Peer::new(front));
        self.link(front.0).peers.insert(front.1, Peer::new((behind, stream)));
        events.drain(..usize::from(!has_content));
        events.into_iter().for_each(|event| self.handle_event(front.0, event));
        self.settle(behind);
    }

    /// A stream has ended before its time, and so does its peer.
    pub(super) fn cut(&mut self, (conn, id): StreamRef) {
        if let Some(PendingRequest { behind: Some(behind), .. }) = self.early.remove(&(conn, id)) {
            self.link(behind).is_taken = false;
        }
        let Some(peer) = self.links.get_mut(&conn).and_then(|link| link.peers.remove(&id)) else { return };
        let (other, stream) = peer.place;
        if self.links.get_mut(&other).is_some_and(|link| link.give_up(stream)) {
            self.abort(other);
        }
        self.settle(other);
    }

    pub(super) fn abort(&mut self, conn: ConnId) {
        self.links.remove(&conn);
        self.actions.push_back(Action::Abort { conn });
    }

    /// A request gets no connection to its server.
    pub(super) fn refuse(&mut self, front: StreamRef) {
        if self.early.remove(&front).is_some() {
            self.link(front.0).respond(front.1, bad_gateway(), Content::Whole(Body::EMPTY));
            self.settle(front.0);
        }
    }

    /// A connection carries nothing any more.
    pub(super) fn lose(&mut self, conn: ConnId) {
        let early = self.early.iter().filter(|(_, early)| early.behind == Some(conn)).map(|(front, _)| *front);
        early.collect::<Vec<_>>().into_iter().for_each(|front| self.refuse(front));
        let streams = self.links.get(&conn).into_iter().flat_map(|link| link.peers.keys().map(|id| (conn, *id)));
        let early = self.early.keys().filter(|front| front.0 == conn).copied();
        streams.chain(early).collect::<Vec<_>>().into_iter().for_each(|place| self.cut(place));
        if let Some(link) = self.links.get_mut(&conn) {
            // It may still have to send what the other end did wrong.
            link.is_closed = true;
            self.actions.extend(link.has_output().then_some(Action::Transmit { conn }));
            self.actions.push_back(Action::Close { conn });
        }
    }

    /// Whether something is under way on a connection in front.
    pub(super) fn is_busy(&self, front: ConnId) -> bool {
        let has_peers = self.links.get(&front).is_some_and(|link| !link.is_behind() && !link.peers.is_empty());
        has_peers || self.early.keys().any(|(conn, _)| *conn == front)
    }

    /// The first request that has no connection to this server.
    pub(super) fn waiting(&self, server: HostId) -> Option<StreamRef> {
        let mut waiting = self.early.iter().filter(|(_, early)| early.behind.is_none() && early.server == server);
        waiting.next().map(|(front, _)| *front)
    }
}
