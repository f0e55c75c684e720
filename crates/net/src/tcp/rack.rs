//! Which segments count as lost, judged by time (RFC 8985).
//!
//! A segment is lost when one that was sent sufficiently later has been delivered. "Sufficiently" is
//! nothing at all as long as the network has not been seen to change the order of packets and three
//! segments are SACKed or a recovery is under way; else a quarter of the smallest round trip.

use super::flight::{AckSummary, Flight, Sent};
use super::rtt::Rtt;
use super::segment::Segment;
use loadstone_units::Time;

/// RFC 8985, section 4: as many SACKed segments as three duplicate acknowledgements.
pub(super) const DUP_THRESH: u32 = 3;
/// Linux's `tcp_max_reordering`, in segments.
const MAX_REORDERING: u32 = 300;

/// What is known of the order in which segments arrive.
#[derive(Debug)]
pub(super) struct Rack {
    /// When the latest segment was sent that has been delivered, and its end.
    latest: (Time, u64),
    /// The round trip of that segment, in nanoseconds.
    rtt: u64,
    /// Something has been delivered since losses were last looked for.
    advanced: bool,
    /// By how many segments packets are known to be out of order.
    reordering: u32,
    /// Whether they have ever been out of order.
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
        // What is acknowledged in order tells by its timestamp, too (`tcp_skb_spurious_retrans`).
        let is_original = took < min_rtt || (!sent.sacked && ack.ts_ecr_before(sent.at));
        if is_original && sent.ever_retransmitted {
            return;
        }
        (self.advanced, self.rtt) = (true, took);
        self.latest = self.latest.max((sent.at, sent.end));
    }

    /// An undone reduction makes it look again.
    pub(super) fn set_advanced(&mut self) {
        self.advanced = true;
    }

    /// Whether packets are out of order by more than three.
    pub(super) fn is_reordering(&self) -> bool {
        self.reordering > DUP_THRESH
    }

    /// How long a segment may be late, in nanoseconds (section 6.2, step 4).
    fn reo_wnd(&self, flight: &Flight, recovering: bool, rtt: &Rtt) -> u64 {
        if !self.reordering_seen && (recovering || flight.sacked_out() >= self.reordering) {
            return 0;
        }
        (rtt.min_rtt() / 4).min(rtt.srtt())
    }

    /// Marks what counts as lost (section 6.2, step 5). Gives whether a retransmission was among it,
    /// and how long to wait until more may count as lost, in nanoseconds, if there is any.
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

    /// The time to wait has passed.
    pub(super) fn detect_loss(
        &mut self,
        now: Time,
        flight: &mut Flight,
        recovering: bool,
        rtt: &Rtt,
    ) -> (bool, Option<u64>) {
        let reo_wnd = self.reo_wnd(flight, recovering, rtt);
        let (mut again, mut timeout) = (false, None);
        let mut lost = Vec::new();
        for (index, sent) in flight.iter().enumerate() {
            // Asked first, since it holds for nearly all that are looked at.
            if sent.sacked || (sent.lost && !sent.retransmitted) {
                continue;
            }
            if (sent.at, sent.end) >= self.latest {
                // What comes after one that was sent once was sent later still.
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
            again |= flight.mark_lost(index);
        }
        (again, timeout)
    }

    /// Whether a segment was sent so recently that a retransmission timeout says nothing of it.
    pub(super) fn is_recent(&self, now: Time, sent: &Sent) -> bool {
        now.nanos_since(sent.at) < self.rtt
    }
}
