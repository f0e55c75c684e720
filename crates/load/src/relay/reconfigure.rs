//! How a relay gets other settings while it runs: what is under way goes on with what it has, and what comes is served by the
//! new ones.

use super::cache::Cache;
use super::health::ServerHealth;
use super::{Relay, RelayConfig};
use crate::page::HostId;
use loadstone_units::Time;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Relay {
    /// Goes on with other settings; a server that has been there keeps its number, and the processor is as it was. Drain
    /// [`crate::Program::poll_action`] after it, as after a `handle_*`.
    pub fn reconfigure(&mut self, now: Time, config: RelayConfig) {
        self.now = now;
        self.forget_unused();
        let former = std::mem::replace(&mut *self.config, config);
        if former.health.check.is_some() != self.config.health.check.is_some() {
            // What brings servers back is another thing now.
            self.pools.values_mut().for_each(|pool| pool.health = ServerHealth::default());
        }
        self.set_checks();
        self.former_servers.extend(former.servers.into_values());
        self.former_servers.retain(|servers| Arc::strong_count(servers) > 1);
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

    /// Forgets how servers have done of which nothing is left: others may get their numbers.
    pub(super) fn forget_unused(&mut self) {
        let named: BTreeSet<HostId> = self.named_servers().collect();
        self.pools.retain(|server, pool| named.contains(server) || !pool.is_empty());
    }

    /// Whether anything leads to a server, or may yet: a name, an answer, a connection or a request that is not over.
    pub fn has_server(&self, server: HostId) -> bool {
        self.named_servers().any(|known| known == server)
            || self.pools.get(&server).is_some_and(|pool| !pool.is_empty())
    }

    /// The servers that names lead to, or have led to as long as a request may still go there.
    fn named_servers(&self) -> impl Iterator<Item = HostId> {
        let may_come = |servers: &&Arc<[HostId]>| Arc::strong_count(servers) > 1;
        let servers = self.config.servers.values().chain(self.lookups.servers());
        let servers = servers.chain(self.former_servers.iter().filter(may_come));
        servers.flat_map(|servers| servers.iter().copied())
    }
}
