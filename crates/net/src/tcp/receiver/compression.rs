//! Acknowledgements that only tell of more beyond a hole: Linux holds most of them back for a moment
//! (`__tcp_ack_snd_check`, since 4.18).

/// So many tell of a hole at once: what the sender needs to believe in a loss (`TCP_FASTRETRANS_THRESH`).
const FASTRETRANS_THRESH: u32 = 3;
/// So many are held back at most (`tcp_comp_sack_nr`).
const COMP_SACK_NR: u32 = 44;
/// For so long at most, in ns (`tcp_comp_sack_delay_ns`), and for a twentieth of a round trip.
const COMP_SACK_DELAY: u64 = 1_000_000;
const RTT_FRACTION: u64 = 20;
/// The timer is set with this much leave to come late, in ns, and takes it (`tcp_comp_sack_slack_ns`).
const COMP_SACK_SLACK: u64 = 100_000;

/// Which of them are held back.
#[derive(Debug)]
pub(super) struct SackCompression {
    is_on: bool,
    /// The hole that was told of last, and how often.
    compressed_ack_rcv_nxt: u64,
    dup_ack_counter: u32,
    /// Held back since an acknowledgement was sent.
    compressed_ack: u32,
}

impl SackCompression {
    pub(super) fn new(is_on: bool) -> SackCompression {
        SackCompression { is_on, compressed_ack_rcv_nxt: 0, dup_ack_counter: 0, compressed_ack: 0 }
    }

    /// Something has come beyond the hole at `hole`: whether its acknowledgement is held back.
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

    /// Whether any is held back.
    pub(super) fn is_compressing(&self) -> bool {
        self.compressed_ack > 0
    }

    /// An acknowledgement goes out, and tells of all.
    pub(super) fn handle_ack_sent(&mut self) {
        self.compressed_ack = 0;
    }

    /// For how long they are held back, in ns, where the round trip is `rtt` ns.
    pub(super) fn delay(rtt: u64) -> u64 {
        COMP_SACK_DELAY.min(rtt / RTT_FRACTION) + COMP_SACK_SLACK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_tell_of_a_hole_and_44_wait() {
        let mut compression = SackCompression::new(true);
        let compressed: Vec<bool> = (0..50).map(|_| compression.compress(1)).collect();
        let expected: Vec<bool> = (0..50).map(|n| (3..47).contains(&n)).collect();
        assert_eq!(compressed, expected);
        compression.handle_ack_sent();
        assert!(compression.compress(1), "of that rcv_nxt enough has been told");
        assert!(!compression.compress(2), "another");
    }

    #[test]
    fn they_wait_for_a_twentieth_of_a_round_trip_or_a_millisecond() {
        let ms = 1_000_000;
        assert_eq!([0, 10 * ms, 100 * ms].map(SackCompression::delay), [100_000, 600_000, 1_100_000]);
    }
}
