//! Invariants of a sender that has nothing to send now.

use super::Sender;
use loadstone_units::Time;

impl Sender {
    /// # Panics
    /// If an invariant is broken.
    pub(in crate::tcp) fn check_invariants(&self) {
        self.flight.check_invariants();
        let last = self.flight.iter().last().map_or(self.una, |sent| sent.end);
        assert_eq!(self.flight.first().map_or(self.nxt, |sent| sent.start), self.una, "{self:?}");
        assert_eq!(last, self.nxt, "{self:?}");
        assert!(
            self.write_seq <= self.app_end && self.nxt <= self.write_seq + u64::from(self.is_fin_pending()),
            "{self:?}"
        );
        assert!(self.window.cwnd >= 1 && self.window.ssthresh >= 1, "{self:?}");
        assert!(self.forced.is_none(), "{self:?}");
        // While data is outstanding a timer is set, so that nothing waits for ever.
        assert!(self.flight.is_empty() || self.timer.1 < Time::NEVER, "{self:?}");
    }
}
