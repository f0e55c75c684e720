//! How many of a server's connections each client has, and may have.

use super::PoolLimits;
use super::requester::Requester;
use std::collections::BTreeMap;

/// How many of a server's connections each client has.
#[derive(Debug, Default)]
pub(super) struct ClientShares {
    held: BTreeMap<Requester, usize>,
    /// By all clients.
    all: usize,
}

impl ClientShares {
    /// A client has one more.
    pub(super) fn add(&mut self, client: Requester) {
        *self.held.entry(client).or_default() += 1;
        self.all += 1;
    }

    /// A client has one less.
    pub(super) fn remove(&mut self, client: Requester) {
        let Some(held) = self.held.get_mut(&client) else { return };
        *held -= 1;
        self.all -= 1;
        if *held == 0 {
            self.held.remove(&client);
        }
    }

    /// Whether a client may have one more.
    pub(super) fn has_room(&self, client: Requester, limits: PoolLimits) -> bool {
        let own = self.held.get(&client).copied().unwrap_or_default();
        limits.may_have_more(own, self.all, limits.connections)
    }
}

impl PoolLimits {
    /// Whether a client that has so many of what all have may have one more: it gets its share of what the others leave, and at
    /// least one. So no client gets all, and some are left for one that comes later, however many are greedy.
    pub(super) fn may_have_more(self, own: usize, all: usize, limit: usize) -> bool {
        let left = limit.saturating_sub(all - own);
        let percent = self.client_share as usize;
        own < (left / 100 * percent + left % 100 * percent / 100).max(1)
    }

    /// Whether one more request of a client may wait that has so many of those that wait.
    pub(super) fn may_wait(self, own: usize, all: usize) -> bool {
        all < self.waiting && self.may_have_more(own, all, self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many connections greedy clients get, one after the other.
    fn taken(connections: usize, client_share: u32, clients: u8) -> Vec<usize> {
        let limits = PoolLimits { connections, client_share, ..PoolLimits::UNLIMITED };
        let mut shares = ClientShares::default();
        for client in (0..clients).map(Requester::client) {
            while shares.all < connections && shares.has_room(client, limits) {
                shares.add(client);
            }
        }
        shares.held.into_values().collect()
    }

    #[test]
    fn a_client_gets_its_share_of_what_others_leave_and_at_least_one() {
        assert_eq!(taken(64, 50, 8), [32, 16, 8, 4, 2, 1, 1]);
        assert_eq!(taken(64, 100, 8), [64]);
        assert_eq!(taken(64, 25, 3), [16, 12, 9]);
        assert_eq!(taken(1, 50, 2), [1]);
        assert_eq!(taken(3, 1, 9), [1, 1, 1]);
    }

    #[test]
    fn what_is_given_back_is_there_for_others() {
        let limits = PoolLimits { connections: 4, client_share: 50, ..PoolLimits::UNLIMITED };
        let mut shares = ClientShares::default();
        let [one, other] = [0, 1].map(Requester::client);
        [one, one, other].into_iter().for_each(|client| shares.add(client));
        assert!(!shares.has_room(one, limits) && !shares.has_room(other, limits));
        (0..2).for_each(|_| shares.remove(one));
        assert!(shares.has_room(one, limits) && shares.has_room(other, limits), "half of four");
        shares.remove(one);
        assert_eq!(shares.all, 1, "nobody gives back what was not taken");
    }
}
