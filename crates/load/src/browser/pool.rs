//! The connections to one host, and the objects that wait for one.

use super::Joining;
use crate::ConnId;
use crate::page::ActivityId;
use loadstone_http::Protocol;
use std::collections::VecDeque;

/// The connections to one host.
///
/// Objects are not bound to a connection: each connection, when established or idle, takes the next
/// object of the list, which is in page order or as the browser's scheduling has it. Each object that finds none that
/// is free opens one, up to the limit. One that is being opened already, for an object that came on another one meanwhile,
/// does not count (Chromium's `TransportClientSocketPool::RequestSocketInternal`). A pipelining connection takes
/// all that wait at once, so one is enough while it is free; one of a protocol with many streams is all that there is.
#[derive(Debug)]
pub(super) struct Pool {
    /// What connections to the host speak.
    pub(super) protocol: Protocol,
    limit: u32,
    /// The most that may be open where one does not carry all.
    connections: u32,
    /// Ascending by the places that they were given.
    waiting: VecDeque<(u64, ActivityId)>,
    /// How many of those that wait have not led to a connection.
    unopened: u32,
    /// Established connections that may take a request, in the order in which they became free.
    free: VecDeque<ConnId>,
    open: u32,
    /// Of those, the ones that are not yet established.
    connecting: u32,
    /// How many failed in a row before one was established.
    failed: u32,
    /// The most that were being opened at once meanwhile.
    abreast: u32,
    /// The connection of another host that carries all requests meanwhile; it is not counted here.
    shared: Option<ConnId>,
    /// Whether no other host's connection may carry them.
    pub(super) is_alone: bool,
    /// Where each request opens a connection of its own until there is one that carries them all.
    joining: Option<JoinedHost>,
    /// Whether each request opens one until the first is established, which then carries them all.
    is_racing: bool,
    /// Whether the browser is to look here.
    pub(super) stirred: bool,
    /// Whether a connection is to be opened although nothing waits for one.
    is_expected: bool,
    /// How many were opened so and are for no object yet.
    spare: u32,
    /// Whether no connection has closed in the middle of a pipeline.
    pub(super) may_pipeline: bool,
    /// The most requests in a pipeline.
    pub(super) pipelined: u32,
}

/// How far requests have joined the connection that carries them all.
#[derive(Default, Debug)]
struct JoinedHost {
    carrier: Option<ConnId>,
    /// How many of those that wait may be asked for there.
    admitted: u32,
}

impl Pool {
    /// No connections to a host that speaks `protocol`, of which at most `connections` may be open.
    pub(super) fn new(protocol: Protocol, connections: u32, joining: Joining) -> Pool {
        let is_shared = protocol.is_multiplexed();
        // With one connection allowed, there is none to open for each request.
        let joining = if is_shared && connections > 1 { joining } else { Joining::Together };
        let limit = if is_shared && joining == Joining::Together { 1 } else { connections };
        Pool {
            protocol,
            joining: (joining == Joining::OneByOne).then(JoinedHost::default),
            is_racing: joining == Joining::Racing,
            limit,
            connections,
            waiting: VecDeque::new(),
            unopened: 0,
            free: VecDeque::new(),
            open: 0,
            connecting: 0,
            failed: 0,
            abreast: 0,
            shared: None,
            is_alone: false,
            stirred: false,
            is_expected: false,
            spare: 0,
            may_pipeline: true,
            pipelined: u32::MAX,
        }
    }

    /// What a new connection speaks: one that closed in the middle of a pipeline is not trusted with another (RFC 9112,
    /// section 9.3.2).
    pub(super) fn spoken(&self) -> Protocol {
        match self.protocol {
            Protocol::Http1Pipelining if !self.may_pipeline => Protocol::Http1,
            protocol => protocol,
        }
    }

    /// How many requests a connection takes at a time, if its session takes that many.
    pub(super) fn at_a_time(&self) -> u32 {
        if self.spoken() == Protocol::Http1Pipelining { self.pipelined } else { u32::MAX }
    }

    /// An object is to be fetched, after all those of a lower place.
    pub(super) fn want(&mut self, object: ActivityId, place: u64) {
        let at = self.waiting.partition_point(|waiting| *waiting < (place, object));
        self.waiting.insert(at, (place, object));
        match self.spare {
            0 => self.unopened += 1,
            _ => self.spare -= 1,
        }
        if let Some(joined) = &mut self.joining {
            joined.admitted += u32::from(joined.carrier.is_some());
        }
    }

    /// Something is going to be asked for: a connection is opened, if there is none.
    pub(super) fn expect(&mut self) {
        self.is_expected = self.open == 0 && self.waiting.is_empty() && self.shared.is_none();
    }

    /// An object that waits, if it does, gets another place.
    pub(super) fn move_up(&mut self, object: ActivityId, place: u64) {
        if let Some(at) = self.waiting.iter().position(|(_, waiting)| *waiting == object) {
            self.waiting.remove(at);
            let to = self.waiting.partition_point(|waiting| *waiting < (place, object));
            self.waiting.insert(to, (place, object));
        }
    }

    /// An object is being pushed; whether it waited.
    pub(super) fn remove(&mut self, object: ActivityId) -> bool {
        let found = self.waiting.iter().position(|(_, waiting)| *waiting == object);
        let has_waited = found.is_some_and(|at| self.waiting.remove(at).is_some());
        self.unopened = self.unopened.min(self.waiting.len() as u32);
        has_waited
    }

    /// The next object to ask for.
    pub(super) fn take(&mut self) -> Option<ActivityId> {
        if self.unadmitted() as usize == self.waiting.len() {
            return None;
        }
        if let Some(joined) = self.joining.as_mut().filter(|_| self.shared.is_none()) {
            joined.admitted -= 1;
        }
        self.give_up()
    }

    /// An object that is not going to be asked for, of those that wait.
    pub(super) fn give_up(&mut self) -> Option<ActivityId> {
        let (_, object) = self.waiting.pop_front()?;
        self.unopened = self.unopened.min(self.waiting.len() as u32);
        Some(object)
    }

    /// Of those that wait, how many have to open a connection of their own first.
    fn unadmitted(&self) -> u32 {
        let waiting = self.waiting.len() as u32;
        self.joining
            .as_ref()
            .filter(|_| self.shared.is_none())
            .map_or(0, |joined| waiting.saturating_sub(joined.admitted))
    }

    /// The connection to try next, if something waits that may go there.
    pub(super) fn next_free(&self) -> Option<ConnId> {
        self.free.front().copied().filter(|_| self.waiting.len() > self.unadmitted() as usize)
    }

    /// The connection may take a request.
    pub(super) fn free(&mut self, conn: ConnId) {
        if !self.free.contains(&conn) {
            self.free.push_back(conn);
        }
    }

    /// The connection takes no request for now.
    pub(super) fn busy(&mut self, conn: ConnId) {
        self.free.retain(|free| *free != conn);
    }

    /// A connection of another host carries all requests from now on. For hosts that have none.
    pub(super) fn join(&mut self, conn: ConnId) {
        self.shared = Some(conn);
        self.is_expected = false;
        self.free(conn);
    }

    /// Takes leave of a connection of another host; whether it was one.
    pub(super) fn leave(&mut self, conn: ConnId) -> bool {
        let is_left = self.shared.take_if(|shared| *shared == conn).is_some();
        if is_left {
            self.busy(conn);
        }
        is_left
    }

    /// Whether it is not known yet that one connection carries all requests.
    pub(super) fn is_racing(&self) -> bool {
        self.is_racing
    }

    /// A connection that was being opened is established; whether it is of use.
    pub(super) fn established(&mut self, conn: ConnId) -> bool {
        let is_late = self.protocol.is_multiplexed() && self.limit == 1 && self.open > self.connecting;
        self.connecting -= 1;
        (self.failed, self.abreast) = (0, self.connecting);
        if std::mem::take(&mut self.is_racing) {
            self.limit = 1;
        }
        let Some(joined) = &mut self.joining else { return !is_late };
        joined.admitted += 1;
        *joined.carrier.get_or_insert(conn) == conn
    }

    /// The connection carries no more: if it was the one that carried all, they begin again.
    fn part(&mut self, conn: ConnId) {
        if let Some(joined) = self.joining.as_mut().filter(|joined| joined.carrier == Some(conn)) {
            *joined = JoinedHost::default();
        }
    }

    /// A connection takes no more requests: another one may be opened in its place while it goes on with
    /// what it has.
    pub(super) fn drain(&mut self, conn: ConnId) {
        if self.leave(conn) {
            return;
        }
        self.open -= 1;
        self.busy(conn);
        self.part(conn);
    }

    /// A connection has ended that had not been retired.
    pub(super) fn lose(&mut self, conn: ConnId, established: bool) {
        if self.leave(conn) {
            return;
        }
        self.open -= 1;
        self.connecting -= u32::from(!established);
        // What one that is established carries is not lost because no more can be had.
        self.failed += u32::from(!established && self.open == self.connecting);
        self.busy(conn);
        self.part(conn);
    }

    /// How often in a row all connections failed before one was established. What fails is opened again at
    /// once, so they need not do so at the same time.
    pub(super) fn failed_rounds(&self) -> u32 {
        self.failed / self.abreast.max(1)
    }

    /// How many connections there are, open or being opened.
    pub(super) fn open(&self) -> u32 {
        self.open
    }

    /// A connection that may take a request while there is none.
    pub(super) fn unwanted(&self) -> Option<ConnId> {
        self.free.front().copied().filter(|conn| self.waiting.is_empty() && self.shared != Some(*conn))
    }

    /// Whether something waits for a connection to the host itself.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() && self.shared.is_none()
    }

    /// How many more connections it would have, if there were room for them.
    pub(super) fn wanted(&self) -> u32 {
        if self.shared.is_some() {
            return 0;
        }
        let room = self.limit.saturating_sub(self.open);
        let expected = u32::from(self.is_expected);
        let wanted = match self.spoken() {
            Protocol::Http1 => {
                let unserved = (self.waiting.len() as u32).saturating_sub(self.connecting);
                return self.unopened.max(unserved).max(expected).min(room);
            }
            Protocol::Http1Pipelining => (self.waiting.len() as u32).div_ceil(self.pipelined),
            _ if self.joining.is_some() => self.unadmitted(),
            _ if self.is_racing => self.waiting.len() as u32,
            _ => u32::from(!self.waiting.is_empty()),
        };
        // Those that have lost a race are there for a moment.
        wanted.saturating_sub(self.connecting).max(expected).min(room)
    }

    /// How many connections to open now, where there is room for so many; they then count as being opened.
    pub(super) fn openings(&mut self, room: u32) -> u32 {
        let count = self.wanted().min(room);
        self.open += count;
        self.connecting += count;
        self.unopened = self.unopened.saturating_sub(count);
        if count > 0 && std::mem::take(&mut self.is_expected) {
            self.spare = count.saturating_sub(self.waiting.len() as u32);
        }
        self.abreast = self.abreast.max(self.connecting);
        count
    }

    /// Opens a connection that may be of no use; whether there is a place for it, and room for `room`.
    pub(super) fn open_backup(&mut self, room: u32) -> bool {
        let may_open = room > 0 && self.open < self.connections;
        self.open += u32::from(may_open);
        self.connecting += u32::from(may_open);
        self.abreast = self.abreast.max(self.connecting);
        may_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn want(pool: &mut Pool, object: u32) {
        pool.want(ActivityId(object), object.into());
    }

    fn pool_with(objects: u32) -> Pool {
        pool_of(Protocol::Http1, objects)
    }

    fn pool_of(protocol: Protocol, objects: u32) -> Pool {
        let mut pool = Pool::new(protocol, 6, Joining::Together);
        (0..objects).for_each(|at| want(&mut pool, at));
        pool
    }

    #[test]
    fn as_many_connections_are_opened_as_objects_wait_up_to_the_limit() {
        let opened = |objects| pool_with(objects).openings(u32::MAX);
        assert_eq!([0, 1, 3, 6, 7, 100].map(opened), [0, 1, 3, 6, 6, 6]);
    }

    #[test]
    fn connections_that_are_being_opened_count() {
        let mut pool = pool_with(2);
        assert_eq!((pool.openings(u32::MAX), pool.openings(u32::MAX)), (2, 0));
        (2..9).for_each(|at| want(&mut pool, at));
        assert_eq!(pool.openings(u32::MAX), 4);
    }

    #[test]
    fn each_object_that_finds_no_free_connection_opens_one() {
        let mut pool = pool_with(2);
        assert_eq!(pool.openings(u32::MAX), 2);
        pool.established(ConnId(0));
        // It carries both, one after the other, before the second is there.
        assert!(pool.take().is_some() && pool.take().is_some());
        assert_eq!(pool.openings(u32::MAX), 0);
        want(&mut pool, 2);
        assert_eq!(pool.openings(u32::MAX), 1, "not the one that is being opened");
    }

    #[test]
    fn a_backup_takes_a_place_and_is_of_no_use_beside_one_that_carries_all() {
        let mut pool = pool_of(Protocol::Http1, 1);
        assert_eq!(pool.openings(u32::MAX), 1);
        assert!(!pool.open_backup(0), "no room");
        assert_eq!((0..6).filter(|_| pool.open_backup(u32::MAX)).count(), 5, "six in all");
        assert!(pool.established(ConnId(3)) && pool.established(ConnId(0)), "each of use");

        let mut pool = pool_of(Protocol::H2, 1);
        assert_eq!(pool.openings(u32::MAX), 1);
        assert!(pool.open_backup(u32::MAX));
        assert!(pool.established(ConnId(1)), "the first that is there");
        assert!(!pool.established(ConnId(0)));
        pool.lose(ConnId(0), true);
        pool.lose(ConnId(1), true);
        assert_eq!(pool.openings(u32::MAX), 1, "both are gone");
    }

    #[test]
    fn a_pipelining_connection_carries_all() {
        assert_eq!(pool_of(Protocol::Http1Pipelining, 100).openings(u32::MAX), 1);
    }

    #[test]
    fn pipelines_of_a_stated_length_are_as_many_as_it_takes() {
        let opened = |objects: u32| {
            let mut pool = pool_of(Protocol::Http1Pipelining, objects);
            pool.pipelined = 2;
            pool.openings(u32::MAX)
        };
        assert_eq!([0, 1, 2, 3, 11, 100].map(opened), [0, 1, 1, 2, 6, 6]);
    }

    #[test]
    fn a_round_has_failed_when_as_many_have_as_are_opened_at_once() {
        for objects in [1, 2, 6, 9] {
            let mut pool = pool_with(objects);
            let abreast = pool.openings(u32::MAX);
            for failed in 1..=4 * abreast {
                pool.lose(ConnId(failed), false);
                assert_eq!(pool.failed_rounds(), failed / abreast, "{objects} objects");
                assert_eq!(pool.openings(u32::MAX), 1, "another is tried at once");
            }
            pool.established(ConnId(1));
            assert_eq!(pool.failed_rounds(), 0);
        }
    }

    #[test]
    fn while_one_is_established_no_round_fails() {
        let mut pool = pool_with(2);
        assert_eq!(pool.openings(u32::MAX), 2);
        pool.established(ConnId(1));
        pool.lose(ConnId(1), false);
        assert_eq!(pool.failed_rounds(), 0);
        pool.lose(ConnId(0), true);
        assert_eq!(pool.openings(u32::MAX), 2);
        pool.lose(ConnId(2), false);
        pool.lose(ConnId(3), false);
        assert_eq!(pool.failed_rounds(), 1);
    }

    #[test]
    fn objects_leave_in_page_order_whenever_they_came() {
        let mut pool = pool_with(0);
        [5, 1, 9, 3].into_iter().for_each(|at| want(&mut pool, at));
        let order: Vec<u32> = std::iter::from_fn(|| pool.take()).map(|object| object.0).collect();
        assert_eq!(order, [1, 3, 5, 9]);
    }

    #[test]
    fn a_free_connection_is_offered_while_something_waits_and_once() {
        let mut pool = pool_with(0);
        [1, 0, 1].into_iter().for_each(|at| pool.free(ConnId(at)));
        assert_eq!(pool.next_free(), None, "nothing waits");
        want(&mut pool, 3);
        assert_eq!(pool.next_free(), Some(ConnId(1)), "the one that has been free for longer");
        pool.busy(ConnId(1));
        assert_eq!(pool.next_free(), Some(ConnId(0)));
        pool.busy(ConnId(0));
        assert_eq!(pool.next_free(), None, "none is free twice");
    }

    #[test]
    fn what_is_pushed_waits_no_longer() {
        let mut pool = pool_with(3);
        assert_eq!(
            (pool.remove(ActivityId(1)), pool.remove(ActivityId(1)), pool.remove(ActivityId(7))),
            (true, false, false)
        );
        assert_eq!((pool.take(), pool.take(), pool.take()), (Some(ActivityId(0)), Some(ActivityId(2)), None));
    }

    #[test]
    fn a_connection_that_is_drained_leaves_its_place_to_another() {
        let mut pool = pool_of(Protocol::H2, 1);
        assert_eq!(pool.openings(u32::MAX), 1);
        assert!(pool.established(ConnId(0)));
        pool.free(ConnId(0));
        pool.drain(ConnId(0));
        assert_eq!((pool.next_free(), pool.openings(u32::MAX)), (None, 1));
    }

    #[test]
    fn one_connection_is_lost_among_several_that_are_being_opened() {
        let mut pool = pool_with(2);
        assert_eq!(pool.openings(u32::MAX), 2);
        pool.established(ConnId(0));
        pool.lose(ConnId(0), true);
        // The other one is still being opened, and one place is free.
        assert_eq!(pool.openings(u32::MAX), 1);
    }

    #[test]
    fn what_races_opens_a_connection_for_each_until_the_first_carries_all() {
        let mut pool = Pool::new(Protocol::H2, 6, Joining::Racing);
        (0..8).for_each(|at| want(&mut pool, at));
        assert_eq!((pool.openings(u32::MAX), pool.openings(u32::MAX)), (6, 0), "as many as HTTP/1.1 has");
        assert!(pool.is_racing() && pool.established(ConnId(2)) && !pool.is_racing());
        pool.free(ConnId(2));
        (0..6).filter(|conn| *conn != 2).for_each(|conn| pool.lose(ConnId(conn), false));
        assert_eq!((pool.open(), pool.next_free(), pool.openings(u32::MAX)), (1, Some(ConnId(2)), 0));
        assert!((0..8).all(|_| pool.take().is_some()));
        // It is known now, so one is opened in its place.
        pool.lose(ConnId(2), true);
        (0..8).for_each(|at| want(&mut pool, at));
        assert_eq!((pool.openings(u32::MAX), pool.failed_rounds()), (1, 0));
    }

    #[test]
    fn who_races_is_admitted_to_the_first_connection_one_by_one() {
        let mut pool = Pool::new(Protocol::H2, 6, Joining::OneByOne);
        (0..3).for_each(|at| want(&mut pool, at));
        assert_eq!((pool.openings(u32::MAX), pool.openings(u32::MAX)), (3, 0), "one for each");
        assert!(pool.established(ConnId(1)), "the first stays");
        pool.free(ConnId(1));
        assert_eq!((pool.take(), pool.take()), (Some(ActivityId(0)), None));
        assert_eq!(pool.next_free(), None, "two wait for their own connections");
        // What comes later may go there at once.
        want(&mut pool, 9);
        assert_eq!((pool.next_free(), pool.take(), pool.take()), (Some(ConnId(1)), Some(ActivityId(1)), None));
        assert!(!pool.established(ConnId(0)), "of no use any more");
        pool.lose(ConnId(0), true);
        assert_eq!((pool.take(), pool.take()), (Some(ActivityId(2)), None));
        assert_eq!(pool.openings(u32::MAX), 0, "the third one is still being opened");
        // Without the one that carries all they race again.
        pool.lose(ConnId(1), true);
        assert_eq!((pool.take(), pool.openings(u32::MAX)), (None, 0), "for the third one");
        want(&mut pool, 11);
        assert_eq!(pool.openings(u32::MAX), 1);
    }
}
