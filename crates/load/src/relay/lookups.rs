//! Names that clients choose: where they lead is asked of the driver, once for all who wait for it, and remembered for a moment.
//!
//! The driver says which servers a name leads to, or that none of them may be reached. A connection goes to one of these and
//! nowhere else: nobody resolves the name a second time, so it cannot be checked with one address and used with another one
//! (DNS rebinding).

use super::rejection::Rejection;
use super::requester::Requester;
use super::{PoolLimits, Relay, StreamRef};
use crate::ServerAddress;
use crate::page::HostId;
use loadstone_units::Time;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// How many names are looked up at a time.
const AT_ONCE: usize = 64;
/// How many answers are remembered.
const MAX_ANSWERS: usize = 1000;
/// For how long: the driver does not say for how long a name server would.
const KEPT: Duration = Duration::from_secs(10);

/// Why a name that a client chose leads nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoWay {
    /// No address is known for it.
    Unknown,
    /// All of its addresses are out of bounds.
    Forbidden,
}

impl NoWay {
    const fn rejection(self) -> Rejection {
        match self {
            NoWay::Unknown => Rejection::Unreachable,
            NoWay::Forbidden => Rejection::Forbidden,
        }
    }
}

/// Names that are looked up, and what has come of it.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    /// Those under way, and which requests wait for each. One for which none waits any more goes on: the driver is at it.
    running: BTreeMap<Arc<ServerAddress>, BTreeMap<StreamRef, Requester>>,
    /// Those of them of which the driver does not know yet.
    unasked: VecDeque<Arc<ServerAddress>>,
    answers: BTreeMap<Arc<ServerAddress>, Result<Arc<[HostId]>, NoWay>>,
    /// When each of the answers came, the oldest first.
    ages: VecDeque<(Time, Arc<ServerAddress>)>,
}

impl Lookups {
    /// Where a request goes, or why it goes nowhere. None if it waits until that is known.
    fn find(
        &mut self,
        name: &Arc<ServerAddress>,
        front: StreamRef,
        client: Requester,
        limits: PoolLimits,
    ) -> Option<Result<Arc<[HostId]>, Rejection>> {
        if let Some(servers) = self.answers.get(name) {
            return Some(servers.clone().map_err(NoWay::rejection));
        }
        if self.running.get(name).is_some_and(|waiting| waiting.contains_key(&front)) {
            return None;
        }
        if !self.has_room(name, client, limits) {
            return Some(Err(Rejection::Busy));
        }
        let waiting = self.running.entry(name.clone()).or_insert_with(|| {
            self.unasked.push_back(name.clone());
            BTreeMap::new()
        });
        waiting.insert(front, client);
        None
    }

    /// Whether one more request of a client may wait for this name. One client gets its share, of names too.
    fn has_room(&self, name: &ServerAddress, client: Requester, limits: PoolLimits) -> bool {
        let all = self.running.values().map(BTreeMap::len).sum();
        let own = self.running.values().map(|waiting| waiting.values().filter(|other| **other == client).count());
        let (own, own_names) = own.fold((0, 0), |(sum, names), count| (sum + count, names + usize::from(count > 0)));
        let names = self.running.len();
        let is_new = !self.running.contains_key(name);
        let has_slot = || names < AT_ONCE && limits.may_have_more(own_names, names, AT_ONCE);
        limits.may_wait(own, all) && (!is_new || has_slot())
    }

    /// A request waits no longer.
    pub(super) fn forget(&mut self, name: &ServerAddress, front: StreamRef) {
        if let Some(waiting) = self.running.get_mut(name) {
            waiting.remove(&front);
        }
    }

    /// The answer for a name has come. Which requests have waited for it.
    fn answer(&mut self, name: &ServerAddress, servers: Result<Arc<[HostId]>, NoWay>, now: Time) -> Vec<StreamRef> {
        // What nobody has asked for is no answer.
        let Some((name, waiting)) = self.running.remove_entry(name) else { return Vec::new() };
        self.answers.insert(name.clone(), servers);
        self.ages.push_back((now, name));
        waiting.into_keys().collect()
    }

    /// Forgets answers that are too old or too many. The servers that they led to.
    fn expire(&mut self, now: Time) -> Vec<Arc<[HostId]>> {
        let mut forgotten = Vec::new();
        while let Some((since, name)) = self.ages.front()
            && (*since + KEPT <= now || self.answers.len() > MAX_ANSWERS)
        {
            forgotten.extend(self.answers.remove(name).and_then(Result::ok));
            self.ages.pop_front();
        }
        forgotten
    }

    /// The servers that names lead to.
    pub(super) fn servers(&self) -> impl Iterator<Item = &Arc<[HostId]>> {
        self.answers.values().filter_map(|servers| servers.as_ref().ok())
    }
}

impl Relay {
    /// A name that is to be looked up, until `None`: say what comes of it by [`Relay::handle_looked_up`]. Ask after each call.
    pub fn poll_lookup(&mut self) -> Option<Arc<ServerAddress>> {
        self.lookups.unasked.pop_front()
    }

    /// A name that was to be looked up leads to these servers, each of which has all of it; or nowhere. Drain
    /// [`crate::Program::poll_action`] after it, as after a `handle_*`.
    pub fn handle_looked_up(&mut self, now: Time, name: &ServerAddress, servers: Result<Vec<HostId>, NoWay>) {
        self.now = now;
        // One of them may have had another's number.
        self.forget_unused();
        let waiting = self.lookups.answer(name, servers.map(Arc::from), now);
        waiting.into_iter().for_each(|front| self.proceed(front));
        self.forget_answers();
        self.turn();
    }

    /// A request goes where the name leads that its client has chosen, as soon as that is known.
    pub(super) fn look_up(&mut self, front: StreamRef) {
        self.forget_answers();
        let limits = self.config.pool;
        let Some(early) = self.early.get_mut(&front) else { return };
        let Some(name) = &early.route.name else { return };
        match self.lookups.find(name, front, early.route.requester, limits) {
            None => {}
            Some(Ok(servers)) => {
                early.route.servers = servers;
                self.pass(front);
            }
            Some(Err(why)) => self.refuse(front, why),
        }
    }

    /// Forgets answers that are too old or too many. Requests that are under way may still go to their servers.
    pub(super) fn forget_answers(&mut self) {
        let forgotten = self.lookups.expire(self.now);
        if !forgotten.is_empty() {
            self.former_servers.extend(forgotten);
            self.former_servers.retain(|servers| Arc::strong_count(servers) > 1);
        }
    }
}
