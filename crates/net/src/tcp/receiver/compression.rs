//! Acknowledgements that only tell of more beyond a hole: Linux holds most of them back for a moment
//! (`__tcp_ack_snd_check`, since 4.18).

/// So many tell of a hole at once: what the sender needs to believe in a loss (`TCP_FASTRETRANS_THRESH`).
const AT_ONCE: u32 = 3;
/// So many are held back at most (`tcp_comp_sack_nr`).
const MOST: u32 = 44;
/// For so long at most, in ns (`tcp_comp_sack_delay_ns`), and for a twentieth of a round trip.
const MOST_DELAY: u64 = 1_000_000;
const PART: u64 = 20;
/// The timer is set with this much leave to come late, in ns, and takes it (`tcp_comp_sack_slack_ns`).
const SLACK: u64 = 100_000;

/// Which of them are held back.
#[derive(Debug)]
pub(super) struct SackCompression {
    is_on: bool,
    /// The hole that was told of last, and how often.
    hole: u64,
    told: u32,
    /// Held back since an acknowledgement was sent.
    held: u32,
}

impl SackCompression {
    pub(super) fn new(is_on: bool) -> SackCompression {
        SackCompression { is_on, hole: 0, told: 0, held: 0 }
    }

    /// Something has come beyond the hole at `hole`: whether its acknowledgement is held back.
    pub(super) fn holds_back(&mut self, hole: u64) -> bool {
        if !self.is_on || self.held >= MOST {
            return false;
        }
        if self.hole != hole {
            (self.hole, self.told) = (hole, 0);
        }
        if self.told < AT_ONCE {
            self.told += 1;
            return false;
        }
        self.held += 1;
        true
    }

    /// Whether any is held back.
    pub(super) fn is_holding(&self) -> bool {
        self.held > 0
    }

    /// An acknowledgement goes out, and tells of all.
    pub(super) fn handle_answer(&mut self) {
        self.held = 0;
    }

    /// For how long they are held back, in ns, where the round trip is `rtt` ns.
    pub(super) fn delay(rtt: u64) -> u64 {
        MOST_DELAY.min(rtt / PART) + SLACK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_tell_of_a_hole_and_44_wait() {
        let mut compression = SackCompression::new(true);
        let held: Vec<bool> = (0..50).map(|_| compression.holds_back(1)).collect();
        let expected: Vec<bool> = (0..50).map(|n| (3..47).contains(&n)).collect();
        assert_eq!(held, expected);
        compression.handle_answer();
        assert!(compression.holds_back(1), "of that hole enough has been told");
        assert!(!compression.holds_back(2), "another");
    }

    #[test]
    fn they_wait_for_a_twentieth_of_a_round_trip_or_a_millisecond() {
        let ms = 1_000_000;
        assert_eq!([0, 10 * ms, 100 * ms].map(SackCompression::delay), [100_000, 600_000, 1_100_000]);
    }
}
