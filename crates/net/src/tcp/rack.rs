//! RACK: loss detection by time (RFC 8985).
//!
//! A segment is lost when one that was sent later, by at least the reordering window, has been delivered. That
//! window is 0 if no reordering was ever seen and either 3 segments are SACKed or we are in recovery; else
//! min_RTT/4, at most SRTT.

use super::flight::{AckSummary, Flight, Sent};
use super::rtt::Rtt;
use super::segment::Segment;
use loadstone_units::Time;

/// DupThresh (RFC 8985, section 4), in SACKed segments.
pub(super) const DUP_THRESH: u32 = 3;
/// Linux's `tcp_max_reordering`, in segments.
const MAX_REORDERING: u32 = 300;

/// RACK's state.
#[derive(Debug)]
pub(super) struct Rack {
    /// (RACK.xmit_ts, RACK.end_seq): when the most recently sent of the delivered segments was sent, and its end.
    latest: (Time, u64),
    /// Its round trip, in nanoseconds (RACK.rtt).
    rtt: u64,
    /// A segment has been delivered since the last loss detection (`rack.advanced`).
    advanced: bool,
    /// The largest reordering distance seen, in segments (`tp->reordering`).
    reordering: u32,
    /// Whether reordering was ever seen (RACK.reordering_seen).
    reordering_seen: bool,
}

impl Rack {
    pub(super) fn new() -> Rack {
        Rack { latest: (Time::ZERO, 0), rtt: 0, advanced: false, reordering: DUP_THRESH, reordering_seen: false }
    }

    /// RFC 8985, section 6.2, steps 1 to 3.
    pub(super) fn update(&mut self, now: Time, summary: &AckSummary, rtt: &Rtt, ack: &Segment, mss: u32) {
        if let Some(from) = summary.reord {
            let by = summary.fack.saturating_sub(from).div_ceil(u64::from(mss)) as u32;
            self.reordering = self.reordering.max(by.min(MAX_REORDERING));
            self.reordering_seen = true;
        }
        for sent in summary.newest_delivered.iter().flatten() {
            self.advance(now, sent, rtt.min_rtt(), ack);
        }
    }

    fn advance(&mut self, now: Time, sent: &Sent, min_rtt: u64, ack: &Segment) {
        let took = now.nanos_since(sent.at);
        // > If the RACK.segment.rtt is less than RACK.min_RTT, the ACK is likely for the original.
        // So is a cumulative ACK whose TSecr is older than the retransmission (`tcp_skb_spurious_retrans`).
        let is_original = took < min_rtt || (!sent.sacked && ack.ts_ecr_before(sent.at));
        if is_original && sent.ever_retransmitted {
            return;
        }
        (self.advanced, self.rtt) = (true, took);
        self.latest = self.latest.max((sent.at, sent.end));
    }

    /// An undone reduction makes the next ACK detect losses again.
    pub(super) fn set_advanced(&mut self) {
        self.advanced = true;
    }

    /// Whether a reordering distance of more than three segments was seen.
    pub(super) fn is_reordering(&self) -> bool {
        self.reordering > DUP_THRESH
    }

    /// The reordering window (RACK.reo_wnd) in nanoseconds (section 6.2, step 4).
    fn reo_wnd(&self, flight: &Flight, recovering: bool, rtt: &Rtt) -> u64 {
        if !self.reordering_seen && (recovering || flight.sacked_out() >= self.reordering) {
            return 0;
        }
        (rtt.min_rtt() / 4).min(rtt.srtt())
    }

    /// Marks lost segments after an ACK (section 6.2, step 5; `tcp_rack_mark_lost`). Returns whether a retransmission
    /// was among them, and the reordering timeout in nanoseconds, if there are segments to wait for.
    pub(super) fn mark_lost(
        &mut self,
        now: Time,
        flight: &mut Flight,
        recovering: bool,
        rtt: &Rtt,
    ) -> (bool, Option<u64>) {
        if !std::mem::take(&mut self.advanced) {
            return (false, None);
        }
        self.detect_loss(now, flight, recovering, rtt)
    }

    /// RACK_detect_loss(), after an ACK or the reordering timeout.
    pub(super) fn detect_loss(
        &mut self,
        now: Time,
        flight: &mut Flight,
        recovering: bool,
        rtt: &Rtt,
    ) -> (bool, Option<u64>) {
        let reo_wnd = self.reo_wnd(flight, recovering, rtt);
        let (mut lost_retrans, mut timeout) = (false, None);
        let mut lost = Vec::new();
        for (index, sent) in flight.iter().enumerate() {
            // Cheapest test first: true for nearly all.
            if sent.sacked || (sent.lost && !sent.retransmitted) {
                continue;
            }
            if (sent.at, sent.end) >= self.latest {
                // Segments after one that was never retransmitted were sent later still.
                if sent.ever_retransmitted { continue } else { break }
            }
            let waited = now.nanos_since(sent.at);
            if waited >= self.rtt + reo_wnd {
                lost.push(index);
            } else {
                timeout = timeout.max(Some(self.rtt + reo_wnd - waited));
            }
        }
        for index in lost {
            lost_retrans |= flight.mark_lost(index);
        }
        (lost_retrans, timeout)
    }

    /// Whether a segment was sent less than RACK.rtt ago, so that an RTO does not mark it lost.
    pub(super) fn is_recent(&self, now: Time, sent: &Sent) -> bool {
        now.nanos_since(sent.at) < self.rtt
    }
}
