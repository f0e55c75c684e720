//! The connections to one server, and the requests that wait for one.

use super::client_shares::ClientShares;
use super::client_turns::ClientTurns;
use super::health::ServerHealth;
use super::{PoolGauges, PoolLimits, StreamRef};
use crate::ConnId;
use loadstone_http::Protocol;
use std::collections::{BTreeMap, BTreeSet};

/// The connections to one server, and the requests that wait for one.
#[derive(Debug)]
pub(super) struct ServerPool {
    /// Whether a connection carries many requests at a time: as the last one that was opened does, or else as is presumed.
    is_multiplexed: bool,
    /// Connections that are open.
    open: BTreeMap<ConnId, PoolConnection>,
    /// How many exchanges all of them carry.
    carried: usize,
    /// Those of them that take a request.
    free: BTreeSet<ConnId>,
    /// How many are being opened.
    opening: usize,
    /// Requests for which one is being opened, and their clients. They take connections in the order of their streams.
    openers: BTreeMap<StreamRef, ConnId>,
    /// Requests for which there was no room.
    queue: ClientTurns,
    /// How many connections each client has, open or being opened: none of those that carry many requests, where no client
    /// stops another one.
    shares: ClientShares,
    /// How the server has done.
    pub(super) health: ServerHealth,
    /// When it was last chosen for a request, counted in choices.
    pub(super) chosen: u64,
}

/// A connection that is open.
#[derive(Debug, Default)]
struct PoolConnection {
    /// How many exchanges it carries.
    carried: usize,
    /// The client that has it, if it carries one request at a time.
    client: Option<ConnId>,
}

/// How a request gets a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PoolPlace {
    /// It takes this one.
    Free(ConnId),
    /// One has to be opened.
    Opening,
    /// It waits for one.
    Waiting,
    /// There are too many already.
    None,
}

/// Which connections a request may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    Any,
    /// A new one, if there is room: the others may be as dead as the one that was lost.
    New,
}

impl ServerPool {
    /// The pool of a server of which it is presumed that it speaks this.
    pub(super) fn new(presumed: Protocol) -> ServerPool {
        ServerPool {
            is_multiplexed: presumed.is_multiplexed(),
            open: BTreeMap::new(),
            carried: 0,
            free: BTreeSet::new(),
            opening: 0,
            openers: BTreeMap::new(),
            queue: ClientTurns::default(),
            shares: ClientShares::default(),
            health: ServerHealth::default(),
            chosen: 0,
        }
    }

    /// Finds a request of a client its place.
    pub(super) fn place(&mut self, client: ConnId, front: StreamRef, wanted: Wanted, limits: PoolLimits) -> PoolPlace {
        if self.is_multiplexed || self.shares.has_room(client, limits) {
            let has_room = self.has_room(limits);
            if (wanted == Wanted::Any || !has_room)
                && let Some(conn) = self.first_free()
            {
                return PoolPlace::Free(conn);
            }
            if has_room && !self.awaits_one_for_all() {
                self.await_one(client, front);
                return PoolPlace::Opening;
            }
        }
        if !limits.may_wait(self.queue.of(client), self.queue.len()) {
            return PoolPlace::None;
        }
        self.queue.push(client, front);
        PoolPlace::Waiting
    }

    /// What the next of those who wait gets, if there is something for one.
    pub(super) fn place_waiting(&mut self, limits: PoolLimits) -> Option<(StreamRef, PoolPlace)> {
        let free = self.first_free();
        if free.is_none() && (!self.has_room(limits) || self.awaits_one_for_all()) {
            return None;
        }
        let (client, front) = self.queue.pop(|client| self.is_multiplexed || self.shares.has_room(client, limits))?;
        if let Some(conn) = free {
            return Some((front, PoolPlace::Free(conn)));
        }
        self.await_one(client, front);
        Some((front, PoolPlace::Opening))
    }

    /// A connection is opened for a request.
    fn await_one(&mut self, client: ConnId, front: StreamRef) {
        self.opening += 1;
        self.openers.insert(front, client);
        self.shares.add(client);
    }

    /// A connection that takes a request.
    pub(super) fn first_free(&self) -> Option<ConnId> {
        self.free.first().copied()
    }

    fn has_room(&self, limits: PoolLimits) -> bool {
        self.open.len() + self.opening < limits.connections
    }

    /// Whether a connection is being opened that may have room for all who wait.
    fn awaits_one_for_all(&self) -> bool {
        self.is_multiplexed && self.opening > 0
    }

    /// A connection has been opened that speaks this. Which request it was opened for.
    pub(super) fn opened(&mut self, conn: ConnId, protocol: Protocol) -> Option<StreamRef> {
        self.is_multiplexed = protocol.is_multiplexed();
        self.opening -= 1;
        self.open.insert(conn, PoolConnection::default());
        self.first_opener()
    }

    /// A connection could not be opened. Which requests that leaves without one: all who wait, if it was for all of them.
    pub(super) fn failed(&mut self) -> Vec<StreamRef> {
        self.opening -= 1;
        let is_for_all = self.is_multiplexed && self.open.is_empty() && self.opening == 0;
        let waiting = if is_for_all { self.queue.take() } else { Vec::new() };
        self.first_opener().into_iter().chain(waiting).collect()
    }

    fn first_opener(&mut self) -> Option<StreamRef> {
        let (front, client) = self.openers.pop_first()?;
        self.shares.remove(client);
        Some(front)
    }

    /// A request of a client takes a connection.
    pub(super) fn take(&mut self, conn: ConnId, client: ConnId) {
        if let Some(taken) = self.open.get_mut(&conn).filter(|_| !self.is_multiplexed) {
            self.shares.add(client);
            taken.client.replace(client).into_iter().for_each(|before| self.shares.remove(before));
        }
    }

    /// Notes how many exchanges a connection carries, and whether it takes one more.
    pub(super) fn note(&mut self, conn: ConnId, carried: usize, is_free: bool) {
        let Some(known) = self.open.get_mut(&conn) else { return };
        self.carried = self.carried - known.carried + carried;
        known.carried = carried;
        if let Some(client) = known.client.take_if(|_| carried == 0) {
            self.shares.remove(client);
        }
        if is_free {
            self.free.insert(conn);
        } else {
            self.free.remove(&conn);
        }
    }

    /// Notes that a connection takes no request.
    pub(super) fn note_taken(&mut self, conn: ConnId) {
        self.free.remove(&conn);
    }

    /// A connection is lost.
    pub(super) fn lost(&mut self, conn: ConnId) {
        self.free.remove(&conn);
        let Some(PoolConnection { carried, client }) = self.open.remove(&conn) else { return };
        self.carried -= carried;
        client.into_iter().for_each(|client| self.shares.remove(client));
    }

    /// A request of a client that has no connection wants none any more.
    pub(super) fn forget(&mut self, client: ConnId, front: StreamRef) {
        match self.openers.remove(&front) {
            Some(client) => self.shares.remove(client),
            None => self.queue.forget(client, front),
        }
    }

    /// Those who wait for room, who wait here no longer.
    pub(super) fn take_waiting(&mut self) -> Vec<StreamRef> {
        self.queue.take()
    }

    /// Whether a connection is being opened for this request.
    pub(super) fn is_opening_for(&self, front: StreamRef) -> bool {
        self.openers.contains_key(&front)
    }

    /// How many exchanges are under way, or wait for a connection.
    pub(super) fn load(&self) -> usize {
        self.carried + self.openers.len() + self.queue.len()
    }

    /// Whether somebody waits for room.
    pub(super) fn has_waiting(&self) -> bool {
        self.queue.len() > 0
    }

    /// Whether it has no connection, and nobody waits for one.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.opening == 0 && !self.has_waiting()
    }

    /// What leads to the server at the moment, where so many connections are unused.
    pub(super) fn gauges(&self, idle: u64) -> PoolGauges {
        let [open, opening, waiting] = [self.open.len(), self.opening, self.queue.len()].map(|count| count as u64);
        PoolGauges { open, idle, opening, waiting, is_healthy: self.health.is_healthy() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_http::RequestId;

    const LIMITS: PoolLimits = PoolLimits { connections: 2, waiting: 2, client_share: 100 };
    const CLIENT: ConnId = ConnId(0);

    fn stream(number: u32) -> StreamRef {
        (CLIENT, RequestId(number))
    }

    /// Whether one more connection is opened for those who wait.
    fn opens(pool: &mut ServerPool) -> bool {
        pool.place_waiting(LIMITS).is_some_and(|(_, place)| place == PoolPlace::Opening)
    }

    #[test]
    fn connections_are_opened_up_to_the_limit_then_requests_wait_in_their_order_and_then_are_refused() {
        let mut pool = ServerPool::new(Protocol::Http1);
        let place = |pool: &mut ServerPool, number| pool.place(CLIENT, stream(number), Wanted::Any, LIMITS);
        let places = [1, 2, 3, 4, 5].map(|number| place(&mut pool, number));
        assert_eq!(
            places,
            [PoolPlace::Opening, PoolPlace::Opening, PoolPlace::Waiting, PoolPlace::Waiting, PoolPlace::None]
        );
        assert_eq!(pool.opened(ConnId(7), Protocol::Http1), Some(stream(1)));
        pool.forget(CLIENT, stream(4));
        pool.note(ConnId(7), 0, true);
        assert_eq!(pool.place_waiting(LIMITS), Some((stream(3), PoolPlace::Free(ConnId(7)))), "who waits is first");
        assert_eq!(pool.place_waiting(LIMITS), None);
        assert_eq!(place(&mut pool, 6), PoolPlace::Free(ConnId(7)));
    }

    #[test]
    fn a_connection_that_fails_costs_one_request_and_makes_room_for_another() {
        let mut pool = ServerPool::new(Protocol::Http1);
        (1..=3).for_each(|number| _ = pool.place(CLIENT, stream(number), Wanted::Any, LIMITS));
        assert!(!opens(&mut pool), "there is no room");
        assert_eq!(pool.failed(), [stream(1)]);
        assert!(opens(&mut pool) && !opens(&mut pool));
        let opened = [1, 2].map(|number| pool.opened(ConnId(number), Protocol::Http1));
        assert_eq!(opened, [Some(stream(2)), Some(stream(3))]);
        pool.lost(ConnId(1));
        assert_eq!(pool.place(CLIENT, stream(4), Wanted::Any, LIMITS), PoolPlace::Opening);
    }

    #[test]
    fn a_request_that_lost_its_connection_takes_a_new_one_while_there_is_room() {
        let mut pool = ServerPool::new(Protocol::Http1);
        pool.place(CLIENT, stream(1), Wanted::Any, LIMITS);
        pool.opened(ConnId(1), Protocol::Http1);
        pool.note(ConnId(1), 0, true);
        assert_eq!(pool.place(CLIENT, stream(2), Wanted::New, LIMITS), PoolPlace::Opening);
        assert_eq!(pool.place(CLIENT, stream(3), Wanted::New, LIMITS), PoolPlace::Free(ConnId(1)), "or a free one");
    }

    #[test]
    fn of_connections_that_carry_many_requests_one_is_opened_and_the_next_when_it_takes_no_more() {
        let mut pool = ServerPool::new(Protocol::H2);
        let place = |pool: &mut ServerPool, number| pool.place(CLIENT, stream(number), Wanted::Any, LIMITS);
        let places = [1, 2, 3, 4].map(|number| place(&mut pool, number));
        assert_eq!(places, [PoolPlace::Opening, PoolPlace::Waiting, PoolPlace::Waiting, PoolPlace::None]);
        assert!(!opens(&mut pool), "one is on its way");
        assert_eq!(pool.opened(ConnId(1), Protocol::H2), Some(stream(1)));
        pool.note(ConnId(1), 0, true);
        assert_eq!(place(&mut pool, 5), PoolPlace::Free(ConnId(1)));
        pool.note(ConnId(1), 3, false);
        assert!(opens(&mut pool) && !opens(&mut pool));
        assert_eq!(pool.failed(), [stream(2)], "the others have the first one");
        pool.lost(ConnId(1));
        assert!(opens(&mut pool));
        place(&mut pool, 6);
        assert_eq!(pool.failed(), [stream(3), stream(6)], "nobody else would answer them sooner");
    }

    #[test]
    fn a_server_that_speaks_less_than_was_presumed_gets_a_connection_for_each_request() {
        let mut pool = ServerPool::new(Protocol::H2);
        (1..=3).for_each(|number| _ = pool.place(CLIENT, stream(number), Wanted::Any, LIMITS));
        assert_eq!(pool.opened(ConnId(1), Protocol::Http1), Some(stream(1)));
        assert!(opens(&mut pool) && !opens(&mut pool), "as many as there is room for");
    }

    #[test]
    fn a_client_has_its_share_of_connections_and_of_places_to_wait_and_gives_back_what_it_wants_no_more() {
        let limits = PoolLimits { connections: 4, waiting: 4, client_share: 50 };
        let mut pool = ServerPool::new(Protocol::Http1);
        let place = |pool: &mut ServerPool, number| pool.place(CLIENT, stream(number), Wanted::Any, limits);
        let places = [1, 2, 3, 4, 5].map(|number| place(&mut pool, number));
        let [opening, waiting] = [PoolPlace::Opening, PoolPlace::Waiting];
        assert_eq!(places, [opening, opening, waiting, waiting, PoolPlace::None]);
        assert_eq!(pool.load(), 4, "whatever they wait for");
        let other = (ConnId(1), RequestId(1));
        assert_eq!(pool.place(ConnId(1), other, Wanted::Any, limits), opening);
        pool.forget(CLIENT, stream(1));
        pool.forget(ConnId(1), other);
        assert_eq!(pool.place_waiting(limits), Some((stream(3), opening)), "another one in place of the first");
        assert_eq!((pool.place_waiting(limits), pool.load()), (None, 3));
    }
}
