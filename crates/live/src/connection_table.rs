//! The connections of a host: which are ready, whose time is up, and which are gone.
//!
//! A turn costs what is done in it, however many connections there are: it touches some, and before the
//! host sleeps, only those are asked what they wait for.

use crate::connection::SocketConnection;
use crate::connection_log::{ConnectionLog, RecordKeeping};
use crate::ready_set::ReadySet;
use crate::{Clock, Connected, Error, Limits};
use loadstone_load::ConnId;
use loadstone_units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::task::{Context, Waker};

#[derive(Debug)]
pub(crate) struct ConnectionTable {
    slots: BTreeMap<ConnId, Slot>,
    /// How many there have been: the name of the next. No name is used twice.
    begun: u64,
    /// The most at a time.
    most: usize,
    ready: ReadySet,
    /// When the host stops waiting for which connection: each is there once at most.
    due: BTreeSet<(Time, ConnId)>,
    /// With whom something has happened since they were last asked what they wait for.
    touched: BTreeSet<ConnId>,
    limits: Limits,
    log: ConnectionLog,
}

#[derive(Debug)]
struct Slot {
    connection: SocketConnection,
    waker: Waker,
    /// Its time in `due`; never if it is not there.
    due: Time,
}

/// What is known of all connections at the end.
#[derive(Debug)]
pub(crate) struct ClosedTable {
    /// The records that were kept, by their names.
    pub(crate) records: Vec<Connected>,
    /// How many there was no room for in the channel that they were passed to.
    pub(crate) lost: u64,
    /// The most connections at a time.
    pub(crate) most: usize,
    /// How many were left.
    pub(crate) left: usize,
}

impl ConnectionTable {
    /// Nobody yet.
    pub(crate) fn new(limits: Limits, records: RecordKeeping) -> ConnectionTable {
        ConnectionTable {
            slots: BTreeMap::new(),
            begun: 0,
            most: 0,
            ready: ReadySet::new(),
            due: BTreeSet::new(),
            touched: BTreeSet::new(),
            limits,
            log: ConnectionLog::new(records),
        }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether there are as many as there may be.
    pub(crate) fn is_full(&self) -> bool {
        self.slots.len() >= self.limits.connections
    }

    /// The name of the next.
    ///
    /// # Errors
    /// If all names have been used.
    pub(crate) fn next(&self) -> Result<ConnId, Error> {
        u32::try_from(self.begun).map(ConnId).map_err(|_| Error::Names)
    }

    /// Adds the next, whose name is `conn`.
    pub(crate) fn add(&mut self, conn: ConnId, connection: SocketConnection) {
        assert_eq!(u64::from(conn.0), self.begun, "connections are numbered in the order of opening");
        self.log.begin(connection.record());
        let slot = Slot { connection, waker: self.ready.of(conn), due: Time::NEVER };
        self.slots.insert(conn, slot);
        self.begun += 1;
        self.most = self.most.max(self.slots.len());
        self.touched.insert(conn);
    }

    /// Something happens with `conn`; none if it is gone.
    pub(crate) fn touch(&mut self, conn: ConnId) -> Option<&mut SocketConnection> {
        let slot = self.slots.get_mut(&conn)?;
        self.touched.insert(conn);
        Some(&mut slot.connection)
    }

    /// Marks `conn` as ready, so that the next turn looks at it.
    pub(crate) fn mark_ready(&self, conn: ConnId) {
        self.ready.insert(conn);
    }

    /// Those that are ready, ascending. Who becomes ready from now on wakes `task`.
    pub(crate) fn take_ready(&self, task: &Waker) -> BTreeSet<ConnId> {
        self.ready.take(task)
    }

    /// When the host's patience with somebody is over, if ever.
    pub(crate) fn deadline(&self) -> Time {
        self.due.first().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// Gives up the first whose time is up at `now`; none if there are no more.
    pub(crate) fn expire(&mut self, now: Time) -> Option<ConnId> {
        while self.deadline() <= now {
            let (_, conn) = self.due.pop_first()?;
            let slot = self.slots.get_mut(&conn).expect("who is gone is not waited for");
            slot.due = Time::NEVER;
            self.touched.insert(conn);
            // In this very turn it may have done what was waited for.
            if slot.connection.expire(now, &self.limits) {
                return Some(conn);
            }
        }
        None
    }

    /// Asks those that were touched what they wait for, so that it wakes them, and drops those
    /// with whom nothing more can happen. Returns how many went.
    pub(crate) fn settle(&mut self, clock: &Clock) -> usize {
        let before = self.slots.len();
        while let Some(conn) = self.touched.pop_first() {
            let slot = self.slots.get_mut(&conn).expect("who is touched is there, and goes only here");
            let due = if slot.connection.is_alive() { slot.connection.deadline(&self.limits) } else { Time::NEVER };
            if due != slot.due {
                self.due.remove(&(slot.due, conn));
                slot.due = due;
                if due != Time::NEVER {
                    self.due.insert((due, conn));
                }
            }
            if !slot.connection.is_alive() {
                let gone = self.slots.remove(&conn).expect("it was there");
                self.log.end(gone.connection.into_record(clock.now()));
            } else if slot.connection.poll_ready(&mut Context::from_waker(&slot.waker)).is_ready() {
                self.ready.insert(conn);
            }
        }
        before - self.slots.len()
    }

    /// Whether any is ready.
    pub(crate) fn is_calling(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Drops those that are left.
    pub(crate) fn disperse(mut self, clock: &Clock) -> ClosedTable {
        let left = self.slots.len();
        let over = clock.now();
        for slot in self.slots.into_values() {
            self.log.end(slot.connection.into_record(over));
        }
        let (records, lost) = self.log.finish();
        ClosedTable { records, lost, most: self.most, left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pattern;
    use crate::channel::Channel;
    use loadstone_http::Protocol;
    use loadstone_load::page::HostId;
    use std::io::{self, ErrorKind};
    use std::rc::Rc;

    /// One that could not even begin.
    fn stillborn(conn: ConnId) -> SocketConnection {
        let record = Connected::new(conn, HostId(0), ([127, 0, 0, 1], 9).into(), None, Time::ZERO);
        let refused = Err(io::Error::from(ErrorKind::ConnectionRefused));
        SocketConnection::opening(refused, Channel::new(None, Rc::new(Pattern)), Protocol::Http1, record)
    }

    #[test]
    fn who_has_gone_is_known_by_its_record_alone_and_its_name_is_not_used_again() {
        let (clock, mut connections) = (Clock::start(), ConnectionTable::new(Limits::UNLIMITED, RecordKeeping::Kept));
        for name in 0..3 {
            assert_eq!(connections.next().unwrap(), ConnId(name));
            connections.add(ConnId(name), stillborn(ConnId(name)));
        }
        // Each has something to say, and is ready.
        assert_eq!((connections.settle(&clock), connections.is_calling()), (0, true));
        let ready: Vec<ConnId> = connections.take_ready(Waker::noop()).into_iter().collect();
        assert_eq!(ready, [0, 1, 2].map(ConnId));
        for conn in [ConnId(2), ConnId(0)] {
            assert!(connections.touch(conn).unwrap().poll_read(&clock, &mut []).ended.is_some());
        }
        assert_eq!((connections.settle(&clock), connections.is_calling()), (2, false));
        assert!(connections.touch(ConnId(0)).is_none() && connections.touch(ConnId(1)).is_some());
        assert_eq!(connections.next().unwrap(), ConnId(3));
        let ClosedTable { records, lost, most, left } = connections.disperse(&clock);
        let names: Vec<u32> = records.iter().map(|record| record.conn.0).collect();
        assert_eq!((names, lost, most, left), (vec![0, 1, 2], 0, 3, 1));
        assert!(records.iter().all(|record| record.over.is_some()));
    }

    #[test]
    fn when_all_names_are_used_it_says_so() {
        let mut connections = ConnectionTable::new(Limits::UNLIMITED, RecordKeeping::Forgotten);
        connections.begun = u64::from(u32::MAX);
        assert_eq!(connections.next().unwrap(), ConnId(u32::MAX));
        connections.add(ConnId(u32::MAX), stillborn(ConnId(u32::MAX)));
        assert!(matches!(connections.next(), Err(Error::Names)));
    }
}
