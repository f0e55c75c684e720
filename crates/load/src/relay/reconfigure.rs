//! How a relay gets other settings while it runs: what is under way goes on with what it has, and what comes is served by the
//! new ones.

use super::cache::Cache;
use super::{Relay, RelayConfig};
use crate::page::HostId;
use loadstone_units::Time;

impl Relay {
    /// Goes on with other settings; a server that has been there keeps its number, and the processor is as it was. Drain
    /// [`crate::Program::poll_action`] after it, as after a `handle_*`.
    pub fn reconfigure(&mut self, now: Time, config: RelayConfig) {
        self.now = now;
        self.config = config;
        match (&mut self.cache, self.config.cache) {
            (Some(known), limits) => known.limit(limits),
            (None, Some(limits)) => self.cache = Some(Box::new(Cache::new(limits))),
            (None, None) => {}
        }
        // There may be more room for requests that wait.
        let pools: Vec<HostId> = self.pools.keys().copied().collect();
        pools.into_iter().for_each(|server| self.refill(server));
        self.turn();
    }

    /// Whether anything leads to a server, or is to: a name, a connection or a request that waits for one.
    pub fn has_server(&self, server: HostId) -> bool {
        self.config.servers.values().any(|known| *known == server)
            || self.pools.get(&server).is_some_and(|pool| !pool.is_empty())
            || self.early.values().any(|early| early.server == server)
    }
}
