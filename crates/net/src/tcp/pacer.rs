//! Pacing: segments are sent one by one at a rate, as in Linux without a queueing discipline's help
//! (`tcp_update_skb_after_send`, `tcp_pacing_check`).

use loadstone_units::Time;

/// The first segments of a connection are not paced.
const UNPACED: u32 = 10;

/// When the next segment may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Pacer {
    /// The earliest departure time of the next segment.
    next_send: Time,
    /// Segments with data sent so far, up to where they are paced.
    sent: u32,
    /// A segment waits for it.
    waiting: bool,
}

impl Pacer {
    /// Whether sending has to wait; `pending` if there is a segment to send (`tcp_pacing_check`).
    pub(super) fn pacing_check(&mut self, now: Time, pending: bool) -> bool {
        let is_paced = self.next_send > now;
        self.waiting = is_paced && pending;
        is_paced
    }

    /// No segment waits any longer.
    pub(super) fn stop(&mut self) {
        self.waiting = false;
    }

    /// When the waiting segment may be sent; [`Time::NEVER`] if none waits.
    pub(super) fn deadline(&self) -> Time {
        if self.waiting { self.next_send } else { Time::NEVER }
    }

    /// The earliest departure time of the next segment; it may have passed.
    pub(super) fn next_send(&self) -> Time {
        self.next_send
    }

    /// A pure ACK is sent: it takes no time, but the next segment no longer counts as late.
    pub(super) fn note_pure_ack(&mut self, now: Time) {
        self.next_send = self.next_send.max(now);
    }

    /// A segment with `bytes` of data is sent, at `rate` bytes a second.
    pub(super) fn note_sent(&mut self, now: Time, bytes: u64, rate: u64) {
        self.sent = (self.sent + u32::from(bytes > 0)).min(UNPACED);
        let due = self.next_send;
        self.note_pure_ack(now);
        if self.sent < UNPACED || rate == 0 {
            return;
        }
        let takes = (u128::from(bytes) * 1_000_000_000 / u128::from(rate)) as u64;
        // A late segment shortens the next gap by its lateness, at most by half.
        let late = self.next_send.nanos_since(due);
        self.next_send = self.next_send.plus_nanos(takes - late.min(takes / 2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * MS)
    }

    /// A pacer that has let the unpaced segments go, at 100 ms.
    fn begun() -> Pacer {
        let mut pacer = Pacer::default();
        (0..9).for_each(|_| pacer.note_sent(at(100), 1000, 100_000));
        pacer
    }

    #[test]
    fn the_first_ten_leave_at_once_and_the_tenth_is_the_first_that_takes_time() {
        let mut pacer = begun();
        assert!(!pacer.pacing_check(at(100), true));
        pacer.note_sent(at(100), 1000, 100_000);
        assert!(pacer.pacing_check(at(109), true));
        assert_eq!(pacer.deadline(), at(110));
        assert!(!pacer.pacing_check(at(110), true));
        assert_eq!(pacer.deadline(), Time::NEVER);
    }

    #[test]
    fn one_that_leaves_late_is_followed_sooner_but_not_by_more_than_half() {
        for (late, next) in [(0, 120), (3, 120), (5, 120), (8, 123), (500, 615)] {
            let mut pacer = begun();
            pacer.note_sent(at(100), 1000, 100_000);
            pacer.note_sent(at(110 + late), 1000, 100_000);
            assert_eq!(pacer.next_send(), at(next), "{late} ms late");
        }
    }

    #[test]
    fn after_an_acknowledgement_without_data_nothing_is_late() {
        let mut pacer = begun();
        pacer.note_pure_ack(at(500));
        pacer.note_sent(at(500), 1000, 100_000);
        assert_eq!(pacer.next_send(), at(510));
    }

    #[test]
    fn without_data_or_a_rate_nothing_takes_time() {
        let mut pacer = begun();
        (0..5).for_each(|_| pacer.note_sent(at(101), 0, 100_000));
        assert_eq!((pacer.next_send(), pacer.sent), (at(101), 9));
        pacer.note_sent(at(102), 1000, 0);
        assert_eq!(pacer.next_send(), at(102));
    }

    #[test]
    fn it_asks_to_be_woken_only_if_something_waits() {
        let mut pacer = begun();
        pacer.note_sent(at(100), 1000, 100_000);
        assert!(pacer.pacing_check(at(101), false));
        assert_eq!(pacer.deadline(), Time::NEVER);
        assert!(pacer.pacing_check(at(101), true));
        pacer.stop();
        assert_eq!(pacer.deadline(), Time::NEVER);
    }
}
