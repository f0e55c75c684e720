//! Why a sender repairs a loss, or what it takes for one, with a segment.

use super::rules::LossDetection;

/// Why a segment is sent to repair a loss, or what its sender takes for one. What follows from the state of the
/// sender as it sends the segment is counted in the same way by [`LossRecovery`](super::LossRecovery).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repair {
    /// Acknowledgements showed that it was lost (RFC 6675; RFC 8985, section 6; Linux's `TCPFastRetrans`), detected in
    /// this way.
    Fast(LossDetection),
    /// A tail loss probe: the last segment again (RFC 8985, section 7.3).
    LossProbe,
    /// A tail loss probe that is new data, so no retransmission (RFC 8985, section 7.3).
    NewDataProbe,
    /// The retransmission timer expired: the first segment that is not acknowledged (RFC 6298, section 5.4).
    Timeout,
    /// A further segment that was lost by the account of a timeout, sent in the slow start after it (RFC 5681, section
    /// 3.1; Linux's `TCPSlowStartRetrans`).
    SlowStart,
    /// A SYN, or a SYN and ACK, again: its timer expired, or the SYN came again (RFC 6298, section 5.7).
    Handshake,
}

impl Repair {
    /// Whether the segment was sent before.
    pub fn is_retransmission(self) -> bool {
        self != Repair::NewDataProbe
    }
}
