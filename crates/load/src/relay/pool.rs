//! The connections to one server, and the requests that wait for one.

use super::{PoolGauges, PoolLimits, StreamRef};
use crate::ConnId;
use loadstone_http::Protocol;
use std::collections::{BTreeSet, VecDeque};

/// The connections to one server, and the requests that wait for one.
#[derive(Debug)]
pub(super) struct ServerPool {
    /// Whether a connection carries many requests at a time: as the last one that was opened does, or else as is presumed.
    is_multiplexed: bool,
    /// Connections that are open.
    open: BTreeSet<ConnId>,
    /// Those of them that take a request.
    free: BTreeSet<ConnId>,
    /// How many are being opened.
    opening: usize,
    /// Requests for which one is being opened. They take connections in the order of their streams.
    openers: BTreeSet<StreamRef>,
    /// Requests for which there was no room. They take connections in the order in which they came.
    queue: VecDeque<StreamRef>,
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
            open: BTreeSet::new(),
            free: BTreeSet::new(),
            opening: 0,
            openers: BTreeSet::new(),
            queue: VecDeque::new(),
        }
    }

    /// Finds a request its place.
    pub(super) fn place(&mut self, front: StreamRef, wanted: Wanted, limits: PoolLimits) -> PoolPlace {
        let has_room = self.has_room(limits);
        if (wanted == Wanted::Any || !has_room)
            && let Some(conn) = self.free.first()
        {
            return PoolPlace::Free(*conn);
        }
        if has_room && !self.awaits_one_for_all() {
            self.opening += 1;
            self.openers.insert(front);
            return PoolPlace::Opening;
        }
        if self.queue.len() >= limits.waiting {
            return PoolPlace::None;
        }
        self.queue.push_back(front);
        PoolPlace::Waiting
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
        self.open.insert(conn);
        self.openers.pop_first()
    }

    /// A connection could not be opened. Which requests that leaves without one: all who wait, if it was for all of them.
    pub(super) fn failed(&mut self) -> Vec<StreamRef> {
        self.opening -= 1;
        let is_for_all = self.is_multiplexed && self.open.is_empty() && self.opening == 0;
        let waiting = if is_for_all { std::mem::take(&mut self.queue) } else { VecDeque::new() };
        self.openers.pop_first().into_iter().chain(waiting).collect()
    }

    /// The next request that waits, for a connection that takes one.
    pub(super) fn next_waiting(&mut self) -> Option<StreamRef> {
        self.queue.pop_front()
    }

    /// Notes whether a connection takes a request.
    pub(super) fn note(&mut self, conn: ConnId, is_free: bool) {
        if !is_free {
            self.free.remove(&conn);
        } else if self.open.contains(&conn) {
            self.free.insert(conn);
        }
    }

    /// A connection is lost.
    pub(super) fn lost(&mut self, conn: ConnId) {
        self.open.remove(&conn);
        self.free.remove(&conn);
    }

    /// Whether one more connection is to be opened: for a request that has waited for room.
    pub(super) fn poll_open(&mut self, limits: PoolLimits) -> bool {
        let may_open = self.has_room(limits) && !self.awaits_one_for_all();
        let next = if may_open { self.queue.pop_front() } else { None };
        next.is_some_and(|front| {
            self.opening += 1;
            self.openers.insert(front)
        })
    }

    /// A request that has no connection wants none any more.
    pub(super) fn forget(&mut self, front: StreamRef) {
        if !self.openers.remove(&front) {
            self.queue.retain(|waiting| *waiting != front);
        }
    }

    /// Whether it has no connection, and nobody waits for one.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.opening == 0 && self.queue.is_empty()
    }

    /// What leads to the server at the moment, where so many connections are unused.
    pub(super) fn gauges(&self, idle: u64) -> PoolGauges {
        let [open, opening, waiting] = [self.open.len(), self.opening, self.queue.len()].map(|count| count as u64);
        PoolGauges { open, idle, opening, waiting }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_http::RequestId;

    const LIMITS: PoolLimits = PoolLimits { connections: 2, waiting: 2 };

    fn stream(number: u32) -> StreamRef {
        (ConnId(0), RequestId(number))
    }

    #[test]
    fn connections_are_opened_up_to_the_limit_then_requests_wait_in_their_order_and_then_are_refused() {
        let mut pool = ServerPool::new(Protocol::Http1);
        let place = |pool: &mut ServerPool, number| pool.place(stream(number), Wanted::Any, LIMITS);
        let places = [1, 2, 3, 4, 5].map(|number| place(&mut pool, number));
        assert_eq!(
            places,
            [PoolPlace::Opening, PoolPlace::Opening, PoolPlace::Waiting, PoolPlace::Waiting, PoolPlace::None]
        );
        assert_eq!(pool.opened(ConnId(7), Protocol::Http1), Some(stream(1)));
        assert_eq!(pool.next_waiting(), Some(stream(3)), "who waits is first");
        pool.forget(stream(4));
        assert_eq!(pool.next_waiting(), None);
        pool.note(ConnId(7), true);
        assert_eq!(place(&mut pool, 6), PoolPlace::Free(ConnId(7)));
    }

    #[test]
    fn a_connection_that_fails_costs_one_request_and_makes_room_for_another() {
        let mut pool = ServerPool::new(Protocol::Http1);
        (1..=3).for_each(|number| _ = pool.place(stream(number), Wanted::Any, LIMITS));
        assert!(!pool.poll_open(LIMITS), "there is no room");
        assert_eq!(pool.failed(), [stream(1)]);
        assert!(pool.poll_open(LIMITS) && !pool.poll_open(LIMITS));
        let opened = [1, 2].map(|number| pool.opened(ConnId(number), Protocol::Http1));
        assert_eq!(opened, [Some(stream(2)), Some(stream(3))]);
        pool.lost(ConnId(1));
        assert_eq!(pool.place(stream(4), Wanted::Any, LIMITS), PoolPlace::Opening);
    }

    #[test]
    fn a_request_that_lost_its_connection_takes_a_new_one_while_there_is_room() {
        let mut pool = ServerPool::new(Protocol::Http1);
        pool.place(stream(1), Wanted::Any, LIMITS);
        pool.opened(ConnId(1), Protocol::Http1);
        pool.note(ConnId(1), true);
        assert_eq!(pool.place(stream(2), Wanted::New, LIMITS), PoolPlace::Opening);
        assert_eq!(pool.place(stream(3), Wanted::New, LIMITS), PoolPlace::Free(ConnId(1)), "or a free one");
    }

    #[test]
    fn of_connections_that_carry_many_requests_one_is_opened_and_the_next_when_it_takes_no_more() {
        let mut pool = ServerPool::new(Protocol::H2);
        let place = |pool: &mut ServerPool, number| pool.place(stream(number), Wanted::Any, LIMITS);
        let places = [1, 2, 3, 4].map(|number| place(&mut pool, number));
        assert_eq!(places, [PoolPlace::Opening, PoolPlace::Waiting, PoolPlace::Waiting, PoolPlace::None]);
        assert!(!pool.poll_open(LIMITS), "one is on its way");
        assert_eq!(pool.opened(ConnId(1), Protocol::H2), Some(stream(1)));
        pool.note(ConnId(1), true);
        assert_eq!(place(&mut pool, 5), PoolPlace::Free(ConnId(1)));
        pool.note(ConnId(1), false);
        assert!(pool.poll_open(LIMITS) && !pool.poll_open(LIMITS));
        assert_eq!(pool.failed(), [stream(2)], "the others have the first one");
        pool.lost(ConnId(1));
        assert!(pool.poll_open(LIMITS));
        place(&mut pool, 6);
        assert_eq!(pool.failed(), [stream(3), stream(6)], "nobody else would answer them sooner");
    }

    #[test]
    fn a_server_that_speaks_less_than_was_presumed_gets_a_connection_for_each_request() {
        let mut pool = ServerPool::new(Protocol::H2);
        (1..=3).for_each(|number| _ = pool.place(stream(number), Wanted::Any, LIMITS));
        assert_eq!(pool.opened(ConnId(1), Protocol::Http1), Some(stream(1)));
        assert!(pool.poll_open(LIMITS) && !pool.poll_open(LIMITS), "as many as there is room for");
    }
}
