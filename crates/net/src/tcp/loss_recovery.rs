//! How often an end repaired losses, or what it took for losses, by what made it do so.

use std::iter::Sum;
use std::ops::Add;

/// How often an end repaired losses, or what it took for losses. Handshakes are not included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LossRecovery {
    /// Segments retransmitted because acknowledgements showed a loss (RFC 6675, RFC 8985, section 6; Linux's
    /// `TCPFastRetrans`).
    pub fast_retransmissions: u64,
    /// Tail loss probes, of new data or of a segment sent before (RFC 8985, section 7; `TCPLossProbes`).
    pub tail_loss_probes: u64,
    /// Expiries of the retransmission timer (RFC 6298, section 5; `TCPTimeouts`).
    pub timeouts: u64,
}

impl LossRecovery {
    /// What has been done since there was only this.
    #[must_use]
    pub fn since(self, before: LossRecovery) -> LossRecovery {
        LossRecovery {
            fast_retransmissions: self.fast_retransmissions - before.fast_retransmissions,
            tail_loss_probes: self.tail_loss_probes - before.tail_loss_probes,
            timeouts: self.timeouts - before.timeouts,
        }
    }
}

impl Add for LossRecovery {
    type Output = LossRecovery;

    fn add(self, other: LossRecovery) -> LossRecovery {
        LossRecovery {
            fast_retransmissions: self.fast_retransmissions + other.fast_retransmissions,
            tail_loss_probes: self.tail_loss_probes + other.tail_loss_probes,
            timeouts: self.timeouts + other.timeouts,
        }
    }
}

impl Sum for LossRecovery {
    fn sum<I: Iterator<Item = LossRecovery>>(each: I) -> LossRecovery {
        each.fold(LossRecovery::default(), Add::add)
    }
}
