//! What a relay observes of its servers, and whom it then sends elsewhere.

use super::Relay;
use super::checks::Verdict;
use super::pool::Wanted;
use crate::page::HostId;

impl Relay {
    /// A server could not be reached, has closed a connection without a response, or was silent. If it is left out now, who
    /// waits for it goes to another one.
    pub(super) fn note_failure(&mut self, server: HostId) {
        let now = self.now;
        let pool = Relay::pool_of(&mut self.pools, &self.config, server);
        if pool.health.note_failure(now, &self.config.health) {
            self.send_away(server);
        }
    }

    /// A server has responded.
    pub(super) fn note_response(&mut self, server: HostId) {
        Relay::pool_of(&mut self.pools, &self.config, server).health.note_response(&self.config.health);
    }

    /// A server has been asked whether it is well.
    pub(super) fn note_check(&mut self, server: HostId, verdict: Verdict) {
        let now = self.now;
        let health = &mut Relay::pool_of(&mut self.pools, &self.config, server).health;
        match verdict {
            Verdict::Passed => health.note_passed_check(),
            Verdict::Failed if health.note_failed_check(now, &self.config.health) => self.send_away(server),
            Verdict::Failed => {}
        }
    }

    /// Who waits for a server that is left out goes to another one.
    fn send_away(&mut self, server: HostId) {
        let waiting = self.pool(server).take_waiting();
        waiting.into_iter().for_each(|front| self.seek(front, Wanted::Any));
    }
}
