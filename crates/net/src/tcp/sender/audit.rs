//! What holds for a sender whenever it has nothing to say.

use super::Sender;
use loadstone_units::Time;

impl Sender {
    /// # Panics
    /// If the books do not balance.
    pub(in crate::tcp) fn audit(&self) {
        self.flight.audit();
        let last = self.flight.iter().last().map_or(self.una, |sent| sent.end);
        assert_eq!(self.flight.first().map_or(self.nxt, |sent| sent.start), self.una, "{self:?}");
        assert_eq!(last, self.nxt, "{self:?}");
        assert!(self.written <= self.write_seq && self.nxt <= self.written + u64::from(self.is_ending()), "{self:?}");
        assert!(self.window.cwnd >= 1 && self.window.ssthresh >= 1, "{self:?}");
        assert!(self.due.is_none(), "{self:?}");
        // What waits for an answer waits for an alarm as well, so that nothing waits for ever.
        assert!(self.flight.is_empty() || self.alarm.1 < Time::NEVER, "{self:?}");
    }
}
