//! What a browser does about the addresses of hosts.

use super::Browser;
use super::resolver::{Answered, Resolution};
use crate::page::HostId;
use crate::{Action, NameQuery};
use loadstone_units::Time;

impl Browser {
    /// Whether the address of a host is known; if not, it is asked for.
    pub(super) fn is_resolved(&mut self, now: Time, host: HostId) -> bool {
        match self.resolver.resolve(now, host) {
            Resolution::Known => return true,
            Resolution::Query => self.actions.push_back(Action::Resolve { query: NameQuery { host, number: 0 } }),
            Resolution::Wait => {}
            Resolution::Failed => {
                while let Some(object) = self.pools[host.0 as usize].give_up() {
                    self.abandon(now, object);
                }
            }
        }
        false
    }

    /// A query is answered.
    pub(super) fn take_answer(&mut self, now: Time, query: NameQuery) {
        match self.resolver.handle_answer(now, query) {
            Answered::Nothing => {}
            Answered::Address(hosts) => hosts.into_iter().for_each(|host| self.stir(host)),
            Answered::Again(number) => self.actions.push_back(Action::Resolve { query: NameQuery { number, ..query } }),
            Answered::NameError(hosts) => {
                for host in hosts {
                    while let Some(object) = self.pools[host.0 as usize].give_up() {
                        self.fail(now, object);
                    }
                }
            }
        }
    }

    /// Asks again for names whose answer is overdue. Where that has been done too often, what waits for one is given
    /// up.
    pub(super) fn ask_for_names_again(&mut self, now: Time) {
        for (hosts, again) in self.resolver.expire(now) {
            match (again, hosts.first()) {
                (Some(number), Some(host)) => {
                    self.actions.push_back(Action::Resolve { query: NameQuery { host: *host, number } });
                }
                _ => hosts.into_iter().for_each(|host| self.stir(host)),
            }
        }
    }
}
