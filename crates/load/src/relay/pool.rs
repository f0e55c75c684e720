//! The connections to one server, and the requests that wait for one.

use super::{PoolGauges, PoolLimits, StreamRef};
use crate::ConnId;
use std::collections::{BTreeSet, VecDeque};

/// The connections to one server, and the requests that wait for one.
#[derive(Default, Debug)]
pub(super) struct ServerPool {
    /// Connections that are open.
    open: BTreeSet<ConnId>,
    /// Those of them that carry nothing and take a request.
    idle: BTreeSet<ConnId>,
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
    /// It has this one, which was idle.
    Idle(ConnId),
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
    /// A new one, if there is room: those that are idle may be as dead as the one that was lost.
    New,
}

impl ServerPool {
    /// Finds a request its place.
    pub(super) fn place(&mut self, front: StreamRef, wanted: Wanted, limits: PoolLimits) -> PoolPlace {
        let has_room = self.has_room(limits);
        if (wanted == Wanted::Any || !has_room)
            && let Some(conn) = self.idle.pop_first()
        {
            return PoolPlace::Idle(conn);
        }
        if has_room {
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

    /// A connection has been opened. Which request takes it; it is idle if there is none.
    pub(super) fn opened(&mut self, conn: ConnId) -> Option<StreamRef> {
        self.opening -= 1;
        self.open.insert(conn);
        let taker = self.openers.pop_first().or_else(|| self.queue.pop_front());
        if taker.is_none() {
            self.idle.insert(conn);
        }
        taker
    }

    /// A connection could not be opened. Which request that leaves without one.
    pub(super) fn failed(&mut self) -> Option<StreamRef> {
        self.opening -= 1;
        self.openers.pop_first()
    }

    /// A connection carries nothing any more and takes a request. Which request takes it; it is idle if there is none.
    pub(super) fn freed(&mut self, conn: ConnId) -> Option<StreamRef> {
        let taker = self.queue.pop_front();
        if taker.is_none() {
            self.idle.insert(conn);
        }
        taker
    }

    /// A connection takes no more requests.
    pub(super) fn lost(&mut self, conn: ConnId) {
        self.open.remove(&conn);
        self.idle.remove(&conn);
    }

    /// Whether one more connection is to be opened: for a request that has waited for room.
    pub(super) fn poll_open(&mut self, limits: PoolLimits) -> bool {
        let next = if self.has_room(limits) { self.queue.pop_front() } else { None };
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

    /// What leads to the server at the moment.
    pub(super) fn gauges(&self) -> PoolGauges {
        PoolGauges {
            open: self.open.len() as u64,
            idle: self.idle.len() as u64,
            opening: self.opening as u64,
            waiting: self.queue.len() as u64,
        }
    }

    /// The connections that are idle.
    pub(super) fn idle(&self) -> impl Iterator<Item = ConnId> {
        self.idle.iter().copied()
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
        let mut pool = ServerPool::default();
        let place = |pool: &mut ServerPool, number| pool.place(stream(number), Wanted::Any, LIMITS);
        let places = [1, 2, 3, 4, 5].map(|number| place(&mut pool, number));
        assert_eq!(
            places,
            [PoolPlace::Opening, PoolPlace::Opening, PoolPlace::Waiting, PoolPlace::Waiting, PoolPlace::None]
        );
        assert_eq!(pool.opened(ConnId(7)), Some(stream(1)));
        assert_eq!(pool.freed(ConnId(7)), Some(stream(3)), "who waits is first");
        pool.forget(stream(4));
        assert_eq!((pool.freed(ConnId(7)), place(&mut pool, 6)), (None, PoolPlace::Idle(ConnId(7))));
    }

    #[test]
    fn a_connection_that_fails_costs_one_request_and_makes_room_for_another() {
        let mut pool = ServerPool::default();
        (1..=3).for_each(|number| _ = pool.place(stream(number), Wanted::Any, LIMITS));
        assert!(!pool.poll_open(LIMITS), "there is no room");
        assert_eq!(pool.failed(), Some(stream(1)));
        assert!(pool.poll_open(LIMITS) && !pool.poll_open(LIMITS));
        assert_eq!((pool.opened(ConnId(1)), pool.opened(ConnId(2))), (Some(stream(2)), Some(stream(3))));
        pool.lost(ConnId(1));
        assert_eq!(pool.place(stream(4), Wanted::Any, LIMITS), PoolPlace::Opening);
    }

    #[test]
    fn a_request_that_lost_its_connection_takes_a_new_one_while_there_is_room() {
        let mut pool = ServerPool::default();
        pool.place(stream(1), Wanted::Any, LIMITS);
        pool.opened(ConnId(1));
        assert_eq!(pool.freed(ConnId(1)), None);
        assert_eq!(pool.place(stream(2), Wanted::New, LIMITS), PoolPlace::Opening);
        assert_eq!(pool.place(stream(3), Wanted::New, LIMITS), PoolPlace::Idle(ConnId(1)), "or an idle one");
    }
}
