//! How the window shrinks while losses are being repaired.

use serde::{Deserialize, Serialize};

/// Proportional rate reduction (RFC 6937, RFC 9937): the flight shrinks to the new window in step
/// with what is delivered, instead of pausing and then bursting. In segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ReductionState {
    variant: CwndReduction,
    /// The window before (RecoverFS, as Linux has it).
    prior_cwnd: u32,
    /// Delivered during the reduction (prr_delivered).
    prr_delivered: u32,
    /// Sent during the reduction (prr_out).
    prr_out: u32,
}

/// How many segments a reduction sends where the flight has fallen below the new window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum CwndReduction {
    /// As many as are delivered: the conservative reduction bound (RFC 6937).
    #[serde(rename = "conservative")]
    PrrCrb,
    /// One more for each acknowledgement that goes on in order and finds nothing lost: the slow start
    /// reduction bound (RFC 6937, and Linux since 4.3).
    #[serde(rename = "slow-start")]
    PrrSsrb,
    /// One for every second that is delivered, down to the new window, and not more than one beyond what
    /// is on its way: rate halving (Linux before 3.2, `tcp_cwnd_down`).
    #[serde(rename = "halving")]
    RateHalving,
}

impl ReductionState {
    /// A reduction of the window `prior` begins.
    pub(super) fn new(variant: CwndReduction, prior: u32) -> ReductionState {
        ReductionState { variant, prior_cwnd: prior.max(1), prr_delivered: 0, prr_out: 0 }
    }

    /// The window after an acknowledgement that delivered `delivered` segments: `flight` are on their
    /// way, and `ssthresh` shall be. `smooth` if it goes on in order and finds nothing lost.
    pub(super) fn cwnd(&mut self, delivered: u32, flight: u32, ssthresh: u32, safe_ack: bool) -> u32 {
        self.prr_delivered += delivered;
        let due = match self.variant {
            CwndReduction::RateHalving => {
                let halved = self.prior_cwnd.saturating_sub(self.prr_delivered / 2).max(ssthresh);
                return halved.min(flight + 1);
            }
            _ if flight > ssthresh => {
                // > sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out
                let share = u64::from(self.prr_delivered) * u64::from(ssthresh);
                (share.div_ceil(u64::from(self.prior_cwnd)) as u32).saturating_sub(self.prr_out)
            }
            CwndReduction::PrrCrb => {
                // > limit = prr_delivered - prr_out
                (ssthresh - flight).min(self.prr_delivered.saturating_sub(self.prr_out))
            }
            CwndReduction::PrrSsrb => {
                // > limit = MAX(prr_delivered - prr_out, DeliveredData) + MSS
                let limit = self.prr_delivered.saturating_sub(self.prr_out).max(delivered) + u32::from(safe_ack);
                (ssthresh - flight).min(limit)
            }
        };
        // The first retransmission goes out whatever the window says; and where nothing is on its way any
        // more, since retransmissions were lost as well, one does, or only the timeout would go on.
        flight + due.max(u32::from(self.prr_out == 0 || flight == 0))
    }

    pub(super) fn handle_sent(&mut self) {
        self.prr_out += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_nothing_on_its_way_one_segment_may_go() {
        for variant in [CwndReduction::PrrCrb, CwndReduction::PrrSsrb, CwndReduction::RateHalving] {
            let mut reduction = ReductionState::new(variant, 10);
            (0..5).for_each(|_| reduction.handle_sent());
            // Five were sent and one is delivered: the other four are lost.
            assert_eq!(reduction.cwnd(1, 0, 5, false), 1, "{variant:?}");
        }
    }
}
