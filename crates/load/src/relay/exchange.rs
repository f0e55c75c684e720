//! How exchanges of a relay begin and end: a request needs a connection to its server, and what ends on one side
//! ends on the other.

use super::admission::{Admitted, admit, is_idempotent};
use super::cache::{CACHE, FillId};
use super::fields::{Forwarded, forwarded, without_content};
use super::link::{GivenUp, Half, Peer};
use super::pending_request::PendingRequest;
use super::pool::{PoolPlace, ServerPool, Wanted};
use super::rejection::Rejection;
use super::relayed::RelayedExchange;
use super::repeatable::RepeatableRequest;
use super::route::RequestRoute;
use super::{ExchangeNotes, Forwarding, Relay, RelayConfig, StreamRef};
use crate::page::HostId;
use crate::{Action, ConnId, Ending, Exchange, MaxKept, Tag};
use loadstone_http::{Body, Content, Event, RequestHead, RequestId};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Relay {
    /// A request has come, which needs a connection to its server.
    pub(super) fn begin(&mut self, front: StreamRef, head: &RequestHead) {
        let Some(head) = self.taken(front, head) else { return };
        let head = &*head;
        let (kept, now) = (head.memory_len(), self.now);
        let MaxKept { connection, all } = self.config.max_kept;
        let room = all - self.kept;
        let Some(half) = self.link(front.0).as_front() else { return };
        let (client, requester) = (half.client, half.client.requester());
        if kept > room || kept > connection - half.kept {
            self.note_begun(front, RelayedExchange::new(Arc::new(head.excerpt(&[])), now, 0));
            self.link(front.0).session().cancel(front.1);
            return self.note_over(front, Ending::CutShort);
        }
        self.note_begun(front, RelayedExchange::new(Arc::new(head.excerpt(&[])), now, kept));
        let admitted = admit(head, &self.config).and_then(|admitted| {
            let (route, forwarding) = match admitted {
                Admitted::Known(servers) => (RequestRoute::new(requester, servers), self.config.forwarding),
                Admitted::Chosen(name) => (RequestRoute::chosen_by(requester, name), Forwarding::Via),
            };
            Ok((route, forwarded(head, client, forwarding)?))
        });
        match admitted {
            Ok((route, Forwarded { head, length })) => {
                let read_at = self.occupy(front);
                let (behind, events) = (None, Vec::new());
                let pending = PendingRequest { head, length, route, since: now, read_at, behind, events, used: 0 };
                self.early.insert(front, pending);
                self.proceed(front);
            }
            Err(why) => self.link(front.0).reject(front.1, why),
        }
    }

    /// Whether a request has to wait for those before it on its connection: requests that are pipelined may be served side
    /// by side only if all of them are safe (RFC 9112, section 9.3.2).
    fn waits_its_turn(&mut self, (conn, stream): StreamRef) -> bool {
        let half = self.link(conn).as_front().filter(|half| !half.client.protocol.is_multiplexed());
        half.is_some_and(|half| {
            let mut until = half.exchanges.range(..=stream);
            half.exchanges.range(..stream).next().is_some() && !until.all(|(_, exchange)| exchange.is_safe())
        })
    }

    /// Lets requests go on that have waited for others on their connection.
    fn go_on(&mut self, conn: ConnId) {
        let all = (conn, RequestId(0))..=(conn, RequestId(u32::MAX));
        let waiting = self.early.range(all).filter(|(_, early)| early.is_untried()).map(|(front, _)| *front);
        for front in waiting.collect::<Vec<_>>() {
            self.proceed(front);
        }
    }

    /// Lets a request go on if it is its turn: where its client has chosen, or to the cache, if there is one, else to its server.
    pub(super) fn proceed(&mut self, front: StreamRef) {
        let is_new = |early: &&PendingRequest| early.is_untried() && early.read_at <= self.now;
        let Some(early) = self.early.get(&front).filter(is_new) else { return };
        let is_for_cache = self.cache.is_some() && matches!(&early.head.method[..], b"GET" | b"HEAD");
        let (is_empty, is_clients) = (early.is_empty(), early.route.is_clients());
        if self.waits_its_turn(front) {
            return;
        }
        if is_clients {
            return self.look_up(front);
        }
        match is_empty {
            Some(true) if is_for_cache => self.consult(front),
            None if is_for_cache => {}
            _ => self.pass(front),
        }
    }

    /// Looks for a server and a connection for a request.
    pub(super) fn seek(&mut self, front: StreamRef, wanted: Wanted) {
        let Some(early) = self.early.get(&front) else { return };
        let requester = early.route.requester;
        let chosen = if early.route.goes_on() { self.choose(&early.route) } else { None };
        let Some(server) = chosen else { return self.refuse(front, Rejection::Unreachable) };
        self.note_chosen(server);
        self.early.entry(front).and_modify(|early| early.route.server = Some(server));
        let limits = self.config.pool;
        self.tidy(server);
        let now = self.now;
        match self.pool(server).place(now, requester, front, wanted, limits) {
            PoolPlace::Free(conn) => self.take(conn, front),
            PoolPlace::Opening => self.open(server),
            PoolPlace::Waiting => self.watch_growth(server),
            PoolPlace::None => self.refuse(front, Rejection::Busy),
        }
    }

    /// Notes what has just come on connections, so that those which are said to be free are.
    fn tidy(&mut self, server: HostId) {
        while let Some(conn) = self.pool(server).first_free()
            && !self.links.get(&conn).is_some_and(|link| link.is_free())
        {
            self.pool(server).note_taken(conn);
        }
    }

    /// What leads to a server.
    pub(super) fn pool(&mut self, server: HostId) -> &mut ServerPool {
        Relay::pool_of(&mut self.pools, &self.config, server)
    }

    /// The same, where the settings are wanted meanwhile.
    pub(super) fn pool_of<'p>(
        pools: &'p mut BTreeMap<HostId, ServerPool>,
        config: &RelayConfig,
        server: HostId,
    ) -> &'p mut ServerPool {
        let presumed = config.server_protocol.protocol();
        pools.entry(server).or_insert_with(|| ServerPool::new(presumed))
    }

    fn open(&mut self, to: HostId) {
        // A new connection is tagged by its server alone: any exchange that waits for that server may take it.
        self.actions.push_back(Action::Open { to, tag: Tag(to.0) });
    }

    /// A request has its connection.
    pub(super) fn take(&mut self, conn: ConnId, front: StreamRef) {
        let Some(early) = self.early.get_mut(&front) else { return };
        early.behind = Some(conn);
        early.route.note_connection();
        let (requester, server, is_ready) = (early.route.requester, early.route.server, early.is_ready());
        let now = self.now;
        if let Some(server) = server {
            self.pool(server).take(now, conn, requester);
        }
        if is_ready {
            self.join(front);
        } else if let Some(half) = self.link(conn).as_behind() {
            half.kept_for.insert(front);
        }
        self.note_free(conn);
    }

    /// A request goes out on the connection that it has, when it is known whether content follows.
    pub(super) fn join(&mut self, front: StreamRef) {
        let Some(behind) = self.early.get(&front).filter(|early| early.is_ready()).and_then(|early| early.behind)
        else {
            return;
        };
        let link = self.link(behind);
        let has_capacity = link.has_capacity();
        if let Some(half) = link.as_behind() {
            half.kept_for.remove(&front);
        }
        if !has_capacity {
            // The server takes fewer, or no more, since.
            self.early.entry(front).and_modify(|early| early.behind = None);
            return self.seek(front, Wanted::Any);
        }
        let Some(PendingRequest { mut head, length, mut events, route, used, .. }) = self.early.remove(&front) else {
            return;
        };
        let is_empty = matches!(events.first(), Some(Event::End { .. }));
        if is_empty && length.is_some_and(|length| length > 0) {
            self.link(front.0).reject(front.1, Rejection::Malformed);
            self.stir(front.0);
            return self.stir(behind);
        }
        if is_empty && length.is_none() && matches!(&head.method[..], b"POST" | b"PUT" | b"PATCH") {
            head = without_content(&head);
        }
        let now = self.now;
        let link = self.link(behind);
        link.stirred = now;
        let content = if is_empty { Content::Whole(Body::EMPTY) } else { Content::Streamed };
        let stream = link.request(head.clone(), content);
        let was_used = link.as_behind().is_some_and(|half| std::mem::replace(&mut half.was_used, true));
        let is_safe_if_lost = was_used && is_idempotent(&head.method);
        let repeatable = RepeatableRequest { head, events: Vec::new(), route, is_safe_if_lost };
        let mut peer = Peer::of_request(front, now, repeatable);
        (peer.is_finished, peer.used) = (is_empty, used);
        link.peers.insert(stream, peer);
        self.attach(front, (behind, stream));
        events.drain(..usize::from(is_empty));
        if !events.is_empty() {
            self.drop_content(front);
        }
        events.into_iter().for_each(|event| self.handle_event(front.0, event));
        self.stir(behind);
    }

    /// Requests that wait take what a connection behind takes, which may have changed.
    pub(super) fn offer(&mut self, conn: ConnId) {
        let is_draining = self.is_draining;
        let Some(server) = self.links.get(&conn).and_then(|link| link.server()) else { return };
        self.note_free(conn);
        self.refill(server);
        if is_draining && self.links.get(&conn).is_some_and(|link| link.is_unused() && !link.is_closed) {
            self.lose(conn, Rejection::Closed);
        }
    }

    /// Notes what a connection behind carries, and whether it takes one more request.
    fn note_free(&mut self, conn: ConnId) {
        let Some(link) = self.links.get(&conn) else { return };
        let (carried, is_free, now) = (link.carried(), link.is_free(), self.now);
        if let Some(server) = link.server() {
            self.pool(server).note(now, conn, carried, is_free);
        }
    }

    /// Requests that wait get what there is: connections that are free, and others that are opened for them.
    pub(super) fn refill(&mut self, server: HostId) {
        let (limits, now) = (self.config.pool, self.now);
        while self.pool(server).has_waiting() {
            self.tidy(server);
            match self.pool(server).place_waiting(now, limits) {
                Some((front, PoolPlace::Free(conn))) => self.take(conn, front),
                Some(_) => self.open(server),
                None => return self.watch_growth(server),
            }
        }
    }

    /// One more connection is opened if those who wait do so for too long.
    fn watch_growth(&mut self, server: HostId) {
        let (limits, now) = (self.config.pool, self.now);
        if let Some(until) = self.pool(server).watch(now, limits) {
            self.growing.insert((until, server));
        }
    }

    /// Opens connections for those who have waited for too long.
    pub(super) fn grow_overdue(&mut self) {
        while let Some((_, server)) = self.growing.first().copied().filter(|(until, _)| *until <= self.now) {
            self.growing.pop_first();
            if let Some(pool) = self.pools.get_mut(&server) {
                pool.note_overdue();
                self.refill(server);
            }
        }
    }

    /// A stream has ended before its time, and so does its peer.
    pub(super) fn cut(&mut self, (conn, id): StreamRef, why: Rejection) {
        if let Some(early) = self.early.remove(&(conn, id)) {
            match early.behind {
                Some(behind) => self.release_taken(behind, (conn, id)),
                None => self.forget((conn, id), &early.route),
            }
        }
        let Some(peer) = self.links.get_mut(&conn).and_then(|link| link.peers.remove(&id)) else { return };
        match peer.place {
            Some((CACHE, fill)) => self.fail_fill(FillId(fill.0), why),
            Some(place) => self.end_stream(place, why),
            None => self.leave_fill((conn, id)),
        }
    }

    /// The other side of a stream is gone.
    pub(super) fn end_stream(&mut self, (other, stream): StreamRef, why: Rejection) {
        match self.links.get_mut(&other).and_then(|link| link.give_up(stream, why)) {
            Some(GivenUp::Connection) => self.abort(other),
            Some(GivenUp::Stream) => self.stir(other),
            Some(GivenUp::Cancelled) => {
                self.stir(other);
                self.note_over((other, stream), Ending::CutShort);
            }
            None => {}
        }
    }

    /// A connection was kept for a request that wants it no more.
    fn release_taken(&mut self, behind: ConnId, front: StreamRef) {
        if let Some(half) = self.links.get_mut(&behind).and_then(|link| link.as_behind()) {
            half.kept_for.remove(&front);
            self.stir(behind);
        }
    }

    /// A server's answer to a request cannot be used, or does not come: of HTTP/1.1, nothing more of its connection is believed.
    pub(super) fn give_up_behind(&mut self, (conn, stream): StreamRef, why: Rejection) {
        let Some(link) = self.links.get_mut(&conn) else { return };
        if link.protocol().is_multiplexed() {
            link.session().cancel(stream);
            self.cut((conn, stream), why);
            return self.stir(conn);
        }
        self.give_up_connection(conn, why);
    }

    /// A server is not believed any more, or not waited for: none of its requests is made again.
    pub(super) fn give_up_connection(&mut self, conn: ConnId, why: Rejection) {
        let Some(link) = self.links.get_mut(&conn) else { return };
        link.peers.values_mut().for_each(|peer| peer.repeatable = None);
        self.lose(conn, why);
        // It may not listen, and would not close.
        self.abort(conn);
    }

    /// Gives a connection up at once, with all that it carries.
    pub(super) fn abort(&mut self, conn: ConnId) {
        self.part_with(conn, Rejection::Closed);
        self.links.remove(&conn);
        self.actions.push_back(Action::Abort { conn });
    }

    /// A request that has no connection wants none any more.
    fn forget(&mut self, front: StreamRef, route: &RequestRoute) {
        match (route.server, &route.name) {
            (Some(server), _) => self.pool(server).forget(route.requester, front),
            (None, Some(name)) => self.lookups.forget(name, front),
            (None, None) => {}
        }
    }

    /// A request gets no connection to its server.
    pub(super) fn refuse(&mut self, front: StreamRef, why: Rejection) {
        if let Some(early) = self.early.remove(&front) {
            self.forget(front, &early.route);
            if let (CACHE, fill) = front {
                return self.fail_fill(FillId(fill.0), why);
            }
            self.link(front.0).reject(front.1, why);
            self.stir(front.0);
        }
    }

    /// A connection carries nothing any more.
    pub(super) fn lose(&mut self, conn: ConnId, why: Rejection) {
        self.part_with(conn, why);
        if let Some(link) = self.links.get_mut(&conn).filter(|link| !link.is_closed) {
            // It may still have to send what the other end did wrong.
            link.is_closed = true;
            self.actions.extend(link.has_output().then_some(Action::Transmit { conn }));
            self.actions.push_back(Action::Close { conn });
        }
    }

    /// What a connection carried ends, or goes on elsewhere.
    fn part_with(&mut self, conn: ConnId, why: Rejection) {
        let Some(link) = self.links.get_mut(&conn) else { return };
        let streams: Vec<_> = match &mut link.half {
            Half::Front(front) => front.exchanges.keys().copied().collect(),
            Half::Behind(_) => {
                let Some(server) = link.server() else { return };
                self.pool(server).lost(conn);
                self.try_all_again(conn);
                self.refill(server);
                self.links.get(&conn).into_iter().flat_map(|link| link.peers.keys().copied()).collect()
            }
        };
        streams.iter().for_each(|stream| self.cut((conn, *stream), why));
        streams.into_iter().for_each(|stream| self.note_over((conn, stream), Ending::CutShort));
    }

    /// Whether something is under way on a connection in front.
    pub(super) fn is_busy(&mut self, front: ConnId) -> bool {
        self.link(front).as_front().is_some_and(|half| !half.exchanges.is_empty())
    }

    pub(super) fn note_begun(&mut self, (conn, stream): StreamRef, exchange: RelayedExchange) {
        let (kept, now) = (exchange.kept, self.now);
        let link = self.link(conn);
        link.stirred = now;
        if let Some(half) = link.as_front() {
            half.kept += kept;
            half.exchanges.insert(stream, exchange);
            self.kept += kept;
        }
    }

    /// An exchange in front is over.
    pub(super) fn note_over(&mut self, (conn, stream): StreamRef, end: Ending) {
        let (now, notes) = (self.now, self.config.notes);
        let Some(link) = self.links.get_mut(&conn) else { return };
        link.stirred = now;
        let Some(half) = link.as_front() else { return };
        let Some(over) = half.exchanges.remove(&stream) else { return };
        let protocol = half.client.protocol;
        half.kept -= over.kept + over.kept_content;
        self.kept -= over.kept + over.kept_content;
        if notes == ExchangeNotes::Kept {
            let response = over.status.map(|status| (status, Body { len: over.sent, ..Body::EMPTY }));
            let RelayedExchange { request, began, answered, cache, rejected, .. } = over;
            self.over.push_back(Exchange {
                conn,
                protocol,
                request,
                response,
                began,
                answered,
                ended: now,
                end,
                cache,
                rejected,
            });
        }
        if !protocol.is_multiplexed() {
            self.go_on(conn);
        }
    }
}
