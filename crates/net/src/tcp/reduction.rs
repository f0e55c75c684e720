//! The reduction of cwnd during recovery.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of a reduction: proportional rate reduction (PRR: RFC 6937, RFC 9937), which paces sending by delivery, or
/// rate halving. In segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ReductionState {
    variant: CwndReduction,
    /// cwnd before (`prior_cwnd`, Linux's RecoverFS).
    prior_cwnd: u32,
    /// Delivered during the reduction.
    prr_delivered: u32,
    /// Sent during the reduction.
    prr_out: u32,
}

/// The algorithm of a reduction: PRR with a reduction bound, which limits sending once pipe is below ssthresh, or
/// rate halving.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum CwndReduction {
    /// PRR-CRB (RFC 6937, section 3): the conservative reduction bound, as many as are delivered.
    #[serde(rename = "conservative")]
    PrrCrb,
    /// PRR-SSRB (RFC 6937, section 3; Linux since 4.3): the slow start reduction bound, one more segment for each
    /// SafeACK (RFC 9937).
    #[serde(rename = "slow-start")]
    PrrSsrb,
    /// Rate halving (Linux before 3.2, `tcp_cwnd_down`): one segment for every second that is delivered, down to
    /// ssthresh, and at most one more than are in flight.
    #[serde(rename = "halving")]
    RateHalving,
}

impl ReductionState {
    /// A reduction of the window `prior` begins.
    pub(super) fn new(variant: CwndReduction, prior: u32) -> ReductionState {
        ReductionState { variant, prior_cwnd: prior.max(1), prr_delivered: 0, prr_out: 0 }
    }

    /// cwnd after an ACK that delivered `delivered` segments, with `flight` in flight (pipe). `safe_ack` if SND.UNA
    /// advanced and nothing is newly lost (SafeACK, RFC 9937).
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
        // At least one segment for the fast retransmit, and whenever pipe is 0 (retransmissions lost), else only
        // the RTO would continue.
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
    fn with_pipe_0_one_segment_may_be_sent() {
        for variant in [CwndReduction::PrrCrb, CwndReduction::PrrSsrb, CwndReduction::RateHalving] {
            let mut reduction = ReductionState::new(variant, 10);
            (0..5).for_each(|_| reduction.handle_sent());
            // Five were sent and one is delivered: the other four are lost.
            assert_eq!(reduction.cwnd(1, 0, 5, false), 1, "{variant:?}");
        }
    }
}
