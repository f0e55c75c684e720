//! Which of several servers of a name a request goes to.

use super::health::Fitness;
use super::pool::Wanted;
use super::route::RequestRoute;
use super::{Relay, StreamRef};
use crate::ConnId;
use crate::page::HostId;

impl Relay {
    /// The healthy server of a route with the least to do, of equals the one that has waited longest for a request. One where the
    /// request was lost comes after the others. None, if it can be nowhere any more.
    pub(super) fn choose(&self, route: &RequestRoute) -> Option<HostId> {
        let rank = |server: &HostId| {
            let was_there = route.server == Some(*server);
            let pool = self.pools.get(server);
            let fitness = pool.map_or(Fitness::Healthy, |pool| pool.health.fitness(self.now));
            // Who was lost there does not try it.
            let fitness = if was_there { fitness.max(Fitness::Healthy) } else { fitness };
            let (load, chosen) = pool.map_or((0, 0), |pool| (pool.load(), pool.chosen));
            (fitness, was_there, load, chosen)
        };
        route.open().min_by_key(rank)
    }

    /// A connection that was being opened has failed, if it was.
    pub(super) fn end_opening(&mut self, conn: ConnId) {
        let Some((server, _)) = self.opening.remove(&conn) else { return };
        let failed = self.pool(server).failed();
        self.note_failure(server);
        failed.into_iter().for_each(|front| self.go_elsewhere(front));
        self.refill(server);
    }

    /// No connection could be opened for a request, so nothing of it was sent: it goes to another server, if there is one.
    pub(super) fn go_elsewhere(&mut self, front: StreamRef) {
        self.early.entry(front).and_modify(|early| early.route.note_unreached());
        self.seek(front, Wanted::Any);
    }

    /// A request goes to a server.
    pub(super) fn note_chosen(&mut self, server: HostId) {
        self.choices += 1;
        let (now, chosen) = (self.now, self.choices);
        let pool = Relay::pool_of(&mut self.pools, &self.config, server);
        pool.chosen = chosen;
        pool.health.note_chosen(now, &self.config.health);
    }
}
