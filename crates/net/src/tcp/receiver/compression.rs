//! SACK compression: ACKs for more out-of-order data above the same gap, most of which Linux delays for a moment
//! (`__tcp_ack_snd_check`, since 4.18).

/// The first 3 duplicate ACKs of a gap go at once: DupThresh (`TCP_FASTRETRANS_THRESH`).
const FASTRETRANS_THRESH: u32 = 3;
/// The maximum of compressed ACKs (`tcp_comp_sack_nr`).
const COMP_SACK_NR: u32 = 44;
/// The maximum delay in ns (`tcp_comp_sack_delay_ns`).
const COMP_SACK_DELAY: u64 = 1_000_000;
/// The delay is 5 % of the RTT.
const RTT_FRACTION: u64 = 20;
/// hrtimer slack in ns, always used up here (`tcp_comp_sack_slack_ns`).
const COMP_SACK_SLACK: u64 = 100_000;

/// Which ACKs are compressed.
#[derive(Debug)]
pub(super) struct SackCompression {
    is_on: bool,
    /// RCV.NXT of the gap that was acknowledged last.
    compressed_ack_rcv_nxt: u64,
    /// Duplicate ACKs of this gap sent at once.
    dup_ack_counter: u32,
    /// ACKs compressed since one was sent.
    compressed_ack: u32,
}

impl SackCompression {
    pub(super) fn new(is_on: bool) -> SackCompression {
        SackCompression { is_on, compressed_ack_rcv_nxt: 0, dup_ack_counter: 0, compressed_ack: 0 }
    }

    /// A segment has come above the gap at `rcv_nxt`: returns whether its ACK is compressed.
    pub(super) fn compress(&mut self, rcv_nxt: u64) -> bool {
        if !self.is_on || self.compressed_ack >= COMP_SACK_NR {
            return false;
        }
        if self.compressed_ack_rcv_nxt != rcv_nxt {
            (self.compressed_ack_rcv_nxt, self.dup_ack_counter) = (rcv_nxt, 0);
        }
        if self.dup_ack_counter < FASTRETRANS_THRESH {
            self.dup_ack_counter += 1;
            return false;
        }
        self.compressed_ack += 1;
        true
    }

    /// Whether any ACK is compressed.
    pub(super) fn is_compressing(&self) -> bool {
        self.compressed_ack > 0
    }

    /// An ACK is sent, with all SACK blocks.
    pub(super) fn handle_ack_sent(&mut self) {
        self.compressed_ack = 0;
    }

    /// The delay in ns, with a round trip of `rtt` ns.
    pub(super) fn delay(rtt: u64) -> u64 {
        COMP_SACK_DELAY.min(rtt / RTT_FRACTION) + COMP_SACK_SLACK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_duplicate_acks_of_a_gap_go_at_once_and_44_are_compressed() {
        let mut compression = SackCompression::new(true);
        let compressed: Vec<bool> = (0..50).map(|_| compression.compress(1)).collect();
        let expected: Vec<bool> = (0..50).map(|n| (3..47).contains(&n)).collect();
        assert_eq!(compressed, expected);
        compression.handle_ack_sent();
        assert!(compression.compress(1), "this gap has had its duplicate ACKs");
        assert!(!compression.compress(2), "another");
    }

    #[test]
    fn they_wait_for_a_twentieth_of_a_round_trip_or_a_millisecond() {
        let ms = 1_000_000;
        assert_eq!([0, 10 * ms, 100 * ms].map(SackCompression::delay), [100_000, 600_000, 1_100_000]);
    }
}
