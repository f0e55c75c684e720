//! The connections to one server, and the requests that wait for one.

use super::client_shares::ClientShares;
use super::client_turns::ClientTurns;
use super::growth::{PoolGrowth, PoolPace};
use super::health::ServerHealth;
use super::requester::Requester;
use super::{PoolGauges, PoolLimits, StreamRef};
use crate::ConnId;
use loadstone_http::Protocol;
use loadstone_units::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

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
    /// Since when others are being opened.
    opening: VecDeque<Time>,
    /// Requests for which one is being opened, and their clients. They take connections in the order of their streams.
    openers: BTreeMap<StreamRef, Requester>,
    /// Requests for which there was no room.
    queue: ClientTurns,
    /// How many connections each client has, open or being opened: none of those that carry many requests, where no client
    /// stops another one.
    shares: ClientShares,
    /// How long openings and requests have taken.
    pace: PoolPace,
    /// Whether somebody has waited for so long that one more is opened, whatever that saves.
    is_overdue: bool,
    /// Whether it is known when that will be so.
    is_watched: bool,
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
    /// The client that has it and since when, if it carries one request at a time.
    taken: Option<(Requester, Time)>,
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
            opening: VecDeque::new(),
            openers: BTreeMap::new(),
            queue: ClientTurns::default(),
            shares: ClientShares::default(),
            pace: PoolPace::default(),
            is_overdue: false,
            is_watched: false,
            health: ServerHealth::default(),
            chosen: 0,
        }
    }

    /// Finds a request of a client its place.
    pub(super) fn place(
        &mut self,
        now: Time,
        client: Requester,
        front: StreamRef,
        wanted: Wanted,
        limits: PoolLimits,
    ) -> PoolPlace {
        if self.is_multiplexed || self.shares.has_room(client, limits) {
            let has_room = self.has_room(limits);
            if (wanted == Wanted::Any || !has_room)
                && let Some(conn) = self.first_free()
            {
                return PoolPlace::Free(conn);
            }
            if has_room && (wanted == Wanted::New || self.grows(now, limits, self.queue.len())) {
                self.await_one(now, client, front);
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
    pub(super) fn place_waiting(&mut self, now: Time, limits: PoolLimits) -> Option<(StreamRef, PoolPlace)> {
        let free = self.first_free();
        let may_open = || self.has_room(limits) && (self.is_overdue || self.grows(now, limits, self.queue.len() - 1));
        if free.is_none() && !may_open() {
            return None;
        }
        let (client, front) = self.queue.pop(|client| self.is_multiplexed || self.shares.has_room(client, limits))?;
        if let Some(conn) = free {
            return Some((front, PoolPlace::Free(conn)));
        }
        self.await_one(now, client, front);
        Some((front, PoolPlace::Opening))
    }

    /// Whether one more connection is worth opening for who waits behind so many others.
    fn grows(&self, now: Time, limits: PoolLimits, waiting: usize) -> bool {
        if self.is_multiplexed {
            return !self.awaits_one_for_all();
        }
        let taken = self.open.values().filter_map(|known| Some(known.taken?.1));
        limits.growth == PoolGrowth::AtOnce
            || self.pace.is_saved_by_one_more(now, taken, self.opening.iter().copied(), waiting)
    }

    /// When those who wait will have waited for as long as a new connection needs to be of use, if there is room for one more and that is
    /// not being watched already.
    pub(super) fn watch(&mut self, now: Time, limits: PoolLimits) -> Option<Time> {
        let may_grow = limits.growth == PoolGrowth::AsItSaves && !self.is_multiplexed && self.has_room(limits);
        if self.is_watched || !may_grow || !self.has_waiting() {
            return None;
        }
        self.is_watched = true;
        Some(now + self.pace.cost()?)
    }

    /// It is that time.
    pub(super) fn note_overdue(&mut self) {
        (self.is_watched, self.is_overdue) = (false, self.has_waiting());
    }

    /// A connection is opened for a request.
    fn await_one(&mut self, now: Time, client: Requester, front: StreamRef) {
        self.is_overdue = false;
        self.opening.push_back(now);
        self.openers.insert(front, client);
        self.shares.add(client);
    }

    /// A connection that takes a request.
    pub(super) fn first_free(&self) -> Option<ConnId> {
        self.free.first().copied()
    }

    fn has_room(&self, limits: PoolLimits) -> bool {
        self.open.len() + self.opening.len() < limits.connections
    }

    /// Whether a connection is being opened that may have room for all who wait.
    fn awaits_one_for_all(&self) -> bool {
        self.is_multiplexed && !self.opening.is_empty()
    }

    /// A connection has been opened that speaks this. Which request it was opened for.
    pub(super) fn opened(&mut self, now: Time, conn: ConnId, protocol: Protocol) -> Option<StreamRef> {
        self.is_multiplexed = protocol.is_multiplexed();
        // They may overtake one another; of their mean that changes nothing.
        if let Some(since) = self.opening.pop_front() {
            self.pace.note_opening(Duration::from_nanos(now.nanos_since(since)));
        }
        self.open.insert(conn, PoolConnection::default());
        self.first_opener()
    }

    /// A connection could not be opened. Which requests that leaves without one: all who wait, if it was for all of them.
    pub(super) fn failed(&mut self) -> Vec<StreamRef> {
        self.opening.pop_front();
        let is_for_all = self.is_multiplexed && self.open.is_empty() && self.opening.is_empty();
        let waiting = if is_for_all { self.queue.take() } else { Vec::new() };
        self.first_opener().into_iter().chain(waiting).collect()
    }

    fn first_opener(&mut self) -> Option<StreamRef> {
        let (front, client) = self.openers.pop_first()?;
        self.shares.remove(client);
        Some(front)
    }

    /// A request of a client takes a connection.
    pub(super) fn take(&mut self, now: Time, conn: ConnId, client: Requester) {
        if let Some(known) = self.open.get_mut(&conn).filter(|_| !self.is_multiplexed) {
            self.shares.add(client);
            known.taken.replace((client, now)).into_iter().for_each(|(before, _)| self.shares.remove(before));
        }
    }

    /// Notes how many exchanges a connection carries, and whether it takes one more.
    pub(super) fn note(&mut self, now: Time, conn: ConnId, carried: usize, is_free: bool) {
        let Some(known) = self.open.get_mut(&conn) else { return };
        self.carried = self.carried - known.carried + carried;
        known.carried = carried;
        if let Some((client, since)) = known.taken.take_if(|_| carried == 0) {
            self.shares.remove(client);
            self.pace.note_turn(Duration::from_nanos(now.nanos_since(since)));
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
        let Some(PoolConnection { carried, taken }) = self.open.remove(&conn) else { return };
        self.carried -= carried;
        taken.into_iter().for_each(|(client, _)| self.shares.remove(client));
    }

    /// A request of a client that has no connection wants none any more.
    pub(super) fn forget(&mut self, client: Requester, front: StreamRef) {
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
        self.open.is_empty() && self.opening.is_empty() && !self.has_waiting()
    }

    /// What leads to the server at the moment, where so many connections are unused.
    pub(super) fn gauges(&self, idle: u64) -> PoolGauges {
        let [open, opening, waiting] =
            [self.open.len(), self.opening.len(), self.queue.len()].map(|count| count as u64);
        PoolGauges { open, idle, opening, waiting, is_healthy: self.health.is_healthy() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_http::RequestId;

    const LIMITS: PoolLimits = PoolLimits { connections: 2, waiting: 2, client_share: 100, growth: PoolGrowth::AtOnce };
    const NOW: Time = Time::ZERO;

    const fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn stream(number: u32) -> StreamRef {
        (ConnId(0), RequestId(number))
    }

    /// Whether one more connection is opened for those who wait.
    fn opens(pool: &mut ServerPool) -> bool {
        pool.place_waiting(NOW, LIMITS).is_some_and(|(_, place)| place == PoolPlace::Opening)
    }

    #[test]
    fn connections_are_opened_up_to_the_limit_then_requests_wait_in_their_order_and_then_are_refused() {
        let mut pool = ServerPool::new(Protocol::Http1);
        let place =
            |pool: &mut ServerPool, number| pool.place(NOW, Requester::client(0), stream(number), Wanted::Any, LIMITS);
        let places = [1, 2, 3, 4, 5].map(|number| place(&mut pool, number));
        assert_eq!(
            places,
            [PoolPlace::Opening, PoolPlace::Opening, PoolPlace::Waiting, PoolPlace::Waiting, PoolPlace::None]
        );
        assert_eq!(pool.opened(NOW, ConnId(7), Protocol::Http1), Some(stream(1)));
        pool.forget(Requester::client(0), stream(4));
        pool.note(NOW, ConnId(7), 0, true);
        assert_eq!(
            pool.place_waiting(NOW, LIMITS),
            Some((stream(3), PoolPlace::Free(ConnId(7)))),
            "who waits is first"
        );
        assert_eq!(pool.place_waiting(NOW, LIMITS), None);
        assert_eq!(place(&mut pool, 6), PoolPlace::Free(ConnId(7)));
    }

    #[test]
    fn a_connection_that_fails_costs_one_request_and_makes_room_for_another() {
        let mut pool = ServerPool::new(Protocol::Http1);
        (1..=3).for_each(|number| _ = pool.place(NOW, Requester::client(0), stream(number), Wanted::Any, LIMITS));
        assert!(!opens(&mut pool), "there is no room");
        assert_eq!(pool.failed(), [stream(1)]);
        assert!(opens(&mut pool) && !opens(&mut pool));
        let opened = [1, 2].map(|number| pool.opened(NOW, ConnId(number), Protocol::Http1));
        assert_eq!(opened, [Some(stream(2)), Some(stream(3))]);
        pool.lost(ConnId(1));
        assert_eq!(pool.place(NOW, Requester::client(0), stream(4), Wanted::Any, LIMITS), PoolPlace::Opening);
    }

    #[test]
    fn a_request_that_lost_its_connection_takes_a_new_one_while_there_is_room() {
        let mut pool = ServerPool::new(Protocol::Http1);
        pool.place(NOW, Requester::client(0), stream(1), Wanted::Any, LIMITS);
        pool.opened(NOW, ConnId(1), Protocol::Http1);
        pool.note(NOW, ConnId(1), 0, true);
        assert_eq!(pool.place(NOW, Requester::client(0), stream(2), Wanted::New, LIMITS), PoolPlace::Opening);
        assert_eq!(
            pool.place(NOW, Requester::client(0), stream(3), Wanted::New, LIMITS),
            PoolPlace::Free(ConnId(1)),
            "or a free one"
        );
    }

    #[test]
    fn of_connections_that_carry_many_requests_one_is_opened_and_the_next_when_it_takes_no_more() {
        let mut pool = ServerPool::new(Protocol::H2);
        let place =
            |pool: &mut ServerPool, number| pool.place(NOW, Requester::client(0), stream(number), Wanted::Any, LIMITS);
        let places = [1, 2, 3, 4].map(|number| place(&mut pool, number));
        assert_eq!(places, [PoolPlace::Opening, PoolPlace::Waiting, PoolPlace::Waiting, PoolPlace::None]);
        assert!(!opens(&mut pool), "one is on its way");
        assert_eq!(pool.opened(NOW, ConnId(1), Protocol::H2), Some(stream(1)));
        pool.note(NOW, ConnId(1), 0, true);
        assert_eq!(place(&mut pool, 5), PoolPlace::Free(ConnId(1)));
        pool.note(NOW, ConnId(1), 3, false);
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
        (1..=3).for_each(|number| _ = pool.place(NOW, Requester::client(0), stream(number), Wanted::Any, LIMITS));
        assert_eq!(pool.opened(NOW, ConnId(1), Protocol::Http1), Some(stream(1)));
        assert!(opens(&mut pool) && !opens(&mut pool), "as many as there is room for");
    }

    #[test]
    fn a_client_has_its_share_of_connections_and_of_places_to_wait_and_gives_back_what_it_wants_no_more() {
        let limits = PoolLimits { connections: 4, waiting: 4, client_share: 50, growth: PoolGrowth::AtOnce };
        let mut pool = ServerPool::new(Protocol::Http1);
        let place =
            |pool: &mut ServerPool, number| pool.place(NOW, Requester::client(0), stream(number), Wanted::Any, limits);
        let places = [1, 2, 3, 4, 5].map(|number| place(&mut pool, number));
        let [opening, waiting] = [PoolPlace::Opening, PoolPlace::Waiting];
        assert_eq!(places, [opening, opening, waiting, waiting, PoolPlace::None]);
        assert_eq!(pool.load(), 4, "whatever they wait for");
        let other = (ConnId(1), RequestId(1));
        assert_eq!(pool.place(NOW, Requester::client(1), other, Wanted::Any, limits), opening);
        pool.forget(Requester::client(0), stream(1));
        pool.forget(Requester::client(1), other);
        assert_eq!(pool.place_waiting(NOW, limits), Some((stream(3), opening)), "another one in place of the first");
        assert_eq!((pool.place_waiting(NOW, limits), pool.load()), (None, 3));
    }

    /// A pool that grows as it saves: openings take 100 ms and requests 60, and its one connection has been taken at 160 ms.
    fn thrifty() -> (ServerPool, PoolLimits) {
        let limits = PoolLimits { connections: 9, growth: PoolGrowth::AsItSaves, ..PoolLimits::UNLIMITED };
        let mut pool = ServerPool::new(Protocol::Http1);
        assert_eq!(pool.place(NOW, Requester::client(0), stream(0), Wanted::Any, limits), PoolPlace::Opening);
        pool.opened(at(100), ConnId(1), Protocol::Http1);
        pool.take(at(100), ConnId(1), Requester::client(0));
        pool.note(at(160), ConnId(1), 0, true);
        pool.take(at(160), ConnId(1), Requester::client(0));
        pool.note(at(160), ConnId(1), 1, false);
        (pool, limits)
    }

    #[test]
    fn a_pool_that_grows_as_it_saves_lets_a_request_wait_if_a_connection_is_soon_free() {
        let (mut pool, limits) = thrifty();
        let mut places = |ms: u64, numbers: [u32; 5]| {
            numbers.map(|number| pool.place(at(ms), Requester::client(0), stream(number), Wanted::Any, limits))
        };
        let [opening, waiting] = [PoolPlace::Opening, PoolPlace::Waiting];
        // Three wait until 220, 280 and 340 ms, a fourth would wait until 400; a new connection is of use at 360. It has a turn for
        // the next one at 320.
        assert_eq!(places(160, [1, 2, 3, 4, 5]), [waiting, waiting, waiting, opening, waiting]);
        assert_eq!(places(160, [6, 7, 8, 9, 10]), [opening, waiting, opening, waiting, opening]);
        assert_eq!(
            pool.place(at(160), Requester::client(0), stream(11), Wanted::New, limits),
            opening,
            "what was lost does not wait"
        );
    }

    #[test]
    fn who_has_waited_for_as_long_as_a_connection_needs_gets_one() {
        let (mut pool, limits) = thrifty();
        assert_eq!(pool.watch(at(160), limits), None, "nobody waits");
        assert_eq!(pool.place(at(160), Requester::client(0), stream(1), Wanted::Any, limits), PoolPlace::Waiting);
        assert_eq!((pool.watch(at(160), limits), pool.watch(at(170), limits)), (Some(at(360)), None), "once");
        assert_eq!(pool.place_waiting(at(200), limits), None);
        pool.note_overdue();
        assert_eq!(pool.place_waiting(at(360), limits), Some((stream(1), PoolPlace::Opening)));
        assert_eq!(
            pool.place(at(360), Requester::client(0), stream(2), Wanted::Any, limits),
            PoolPlace::Waiting,
            "one alone"
        );
        assert_eq!(pool.watch(at(360), limits), Some(at(560)));
        let full = PoolLimits { connections: 2, ..limits };
        pool.note_overdue();
        assert_eq!((pool.place_waiting(at(560), full), pool.watch(at(560), full)), (None, None), "there is no room");
    }
}
