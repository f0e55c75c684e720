//! The connections of a host: which are ready, which have timed out, and which are closed.
//!
//! An iteration costs what is done in it, however many connections there are: it marks those that it uses as dirty,
//! and before the host sleeps, only their wakers and deadlines are updated.

use crate::connection::SocketConnection;
use crate::connection_log::{ConnectionLog, RecordKeeping};
use crate::ready_set::ReadySet;
use crate::{Clock, Error, Limits, SocketRecord};
use loadstone_load::ConnId;
use loadstone_units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::task::{Context, Waker};

#[derive(Debug)]
pub(crate) struct ConnectionTable {
    /// Boxed, since a table has nearly twice as many places as connections.
    slots: BTreeMap<ConnId, Box<Slot>>,
    /// The id of the next. No id is used twice.
    next_id: u64,
    /// The most at a time.
    peak: usize,
    ready: ReadySet,
    /// Deadlines, at most one per connection.
    deadlines: BTreeSet<(Time, ConnId)>,
    /// Connections whose wakers and deadlines must be updated.
    dirty: BTreeSet<ConnId>,
    limits: Limits,
    log: ConnectionLog,
}

#[derive(Debug)]
struct Slot {
    connection: SocketConnection,
    waker: Waker,
    /// Its entry in `deadlines`; never if it has none.
    deadline: Time,
}

/// The connections at the end.
#[derive(Debug)]
pub(crate) struct ClosedTable {
    /// The records that were collected, by `ConnId`.
    pub(crate) records: Vec<SocketRecord>,
    /// How many records the channel that they are forwarded to had no room for.
    pub(crate) records_dropped: u64,
    /// The most connections at a time.
    pub(crate) peak_connections: usize,
    /// How many were still open.
    pub(crate) still_open: usize,
}

impl ConnectionTable {
    /// An empty table.
    pub(crate) fn new(limits: Limits, records: RecordKeeping) -> ConnectionTable {
        ConnectionTable {
            slots: BTreeMap::new(),
            next_id: 0,
            peak: 0,
            ready: ReadySet::new(),
            deadlines: BTreeSet::new(),
            dirty: BTreeSet::new(),
            limits,
            log: ConnectionLog::new(records),
        }
    }

    /// Has these limits from now on.
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether there are as many as there may be.
    pub(crate) fn is_full(&self) -> bool {
        self.slots.len() >= self.limits.max_connections
    }

    /// The id of the next.
    ///
    /// # Errors
    /// If all ids have been used.
    pub(crate) fn next(&self) -> Result<ConnId, Error> {
        u32::try_from(self.next_id).map(ConnId).map_err(|_| Error::ConnIdsExhausted)
    }

    /// Adds the next, whose id is `conn`.
    pub(crate) fn add(&mut self, conn: ConnId, connection: SocketConnection) {
        assert_eq!(u64::from(conn.0), self.next_id, "connections are numbered in the order of opening");
        self.log.begin(connection.record());
        let slot = Box::new(Slot { connection, waker: self.ready.of(conn), deadline: Time::NEVER });
        self.slots.insert(conn, slot);
        self.next_id += 1;
        self.peak = self.peak.max(self.slots.len());
        self.dirty.insert(conn);
    }

    /// The connection `conn`, which is marked as dirty; none if it is gone.
    pub(crate) fn get_mut(&mut self, conn: ConnId) -> Option<&mut SocketConnection> {
        let slot = self.slots.get_mut(&conn)?;
        self.dirty.insert(conn);
        Some(&mut slot.connection)
    }

    /// Sets `conn` ready, so that the next iteration looks at it.
    pub(crate) fn set_ready(&self, conn: ConnId) {
        self.ready.insert(conn);
    }

    /// The ready connections, ascending. A connection that becomes ready from now on wakes `task`.
    pub(crate) fn take_ready(&self, task: &Waker) -> BTreeSet<ConnId> {
        self.ready.take(task)
    }

    /// The earliest deadline of a peer; never if there is none.
    pub(crate) fn deadline(&self) -> Time {
        self.deadlines.first().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// Gives up the first connection whose deadline has passed at `now`; none if there are no more.
    pub(crate) fn expire(&mut self, now: Time) -> Option<ConnId> {
        while self.deadline() <= now {
            let (_, conn) = self.deadlines.pop_first()?;
            let slot = self.slots.get_mut(&conn).expect("a connection that is gone has no deadline");
            slot.deadline = Time::NEVER;
            self.dirty.insert(conn);
            // In this very iteration the peer may have done what was waited for.
            if slot.connection.expire(now, &self.limits) {
                return Some(conn);
            }
        }
        None
    }

    /// Updates the wakers and deadlines of dirty connections, and drops those on which nothing more can happen.
    /// Returns how many were dropped.
    pub(crate) fn update_interest(&mut self, clock: &Clock) -> usize {
        let before = self.slots.len();
        while let Some(conn) = self.dirty.pop_first() {
            let slot = self.slots.get_mut(&conn).expect("a dirty connection is there, and is dropped only here");
            let deadline =
                if slot.connection.is_alive() { slot.connection.deadline(&self.limits) } else { Time::NEVER };
            if deadline != slot.deadline {
                self.deadlines.remove(&(slot.deadline, conn));
                slot.deadline = deadline;
                if deadline != Time::NEVER {
                    self.deadlines.insert((deadline, conn));
                }
            }
            if !slot.connection.is_alive() {
                let slot = self.slots.remove(&conn).expect("it was there");
                self.log.end(slot.connection.into_record(clock.now()));
            } else if slot.connection.poll_ready(&mut Context::from_waker(&slot.waker)).is_ready() {
                self.ready.insert(conn);
            }
        }
        before - self.slots.len()
    }

    /// Whether any is ready.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Drops the connections that are still open.
    pub(crate) fn close_all(mut self, clock: &Clock) -> ClosedTable {
        let left = self.slots.len();
        let closed_at = clock.now();
        for slot in self.slots.into_values() {
            self.log.end(slot.connection.into_record(closed_at));
        }
        let (records, lost) = self.log.finish();
        ClosedTable { records, records_dropped: lost, peak_connections: self.peak, still_open: left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pattern;
    use crate::tls_layer::TlsLayer;
    use loadstone_http::Protocol;
    use loadstone_load::page::HostId;
    use std::io::{self, ErrorKind};
    use std::rc::Rc;

    /// One that could not even be opened.
    fn failed_connection(conn: ConnId) -> SocketConnection {
        let record = SocketRecord::new(conn, HostId(0), ([127, 0, 0, 1], 9).into(), None, Time::ZERO);
        let refused = Err(io::Error::from(ErrorKind::ConnectionRefused));
        SocketConnection::opening(refused, TlsLayer::new(None, Rc::new(Pattern)), Protocol::Http1, record)
    }

    #[test]
    fn of_a_closed_connection_only_its_record_remains_and_its_id_is_not_used_again() {
        let (clock, mut connections) =
            (Clock::start(), ConnectionTable::new(Limits::UNLIMITED, RecordKeeping::Collect));
        for id in 0..3 {
            assert_eq!(connections.next().unwrap(), ConnId(id));
            connections.add(ConnId(id), failed_connection(ConnId(id)));
        }
        // Each has a close to report, and is ready.
        assert_eq!((connections.update_interest(&clock), connections.has_ready()), (0, true));
        let ready: Vec<ConnId> = connections.take_ready(Waker::noop()).into_iter().collect();
        assert_eq!(ready, [0, 1, 2].map(ConnId));
        for conn in [ConnId(2), ConnId(0)] {
            assert!(connections.get_mut(conn).unwrap().poll_read(&clock, &mut bytes::BytesMut::new()).closed.is_some());
        }
        assert_eq!((connections.update_interest(&clock), connections.has_ready()), (2, false));
        assert!(connections.get_mut(ConnId(0)).is_none() && connections.get_mut(ConnId(1)).is_some());
        assert_eq!(connections.next().unwrap(), ConnId(3));
        let ClosedTable { records, records_dropped, peak_connections, still_open } = connections.close_all(&clock);
        let ids: Vec<u32> = records.iter().map(|record| record.conn.0).collect();
        assert_eq!((ids, records_dropped, peak_connections, still_open), (vec![0, 1, 2], 0, 3, 1));
        assert!(records.iter().all(|record| record.closed_at.is_some()));
    }

    #[test]
    fn when_all_ids_are_used_it_says_so() {
        let mut connections = ConnectionTable::new(Limits::UNLIMITED, RecordKeeping::Discard);
        connections.next_id = u64::from(u32::MAX);
        assert_eq!(connections.next().unwrap(), ConnId(u32::MAX));
        connections.add(ConnId(u32::MAX), failed_connection(ConnId(u32::MAX)));
        assert!(matches!(connections.next(), Err(Error::ConnIdsExhausted)));
    }
}
