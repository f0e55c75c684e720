//! What Linux counts for a segment in its buffers, in bytes of memory.

/// What a page holds, by which a socket's memory is accounted.
const PAGE: u64 = 4096;
/// What describes a segment's data (`sk_buff`), and what stands behind them (`skb_shared_info`).
const DESCRIPTION: u64 = 256;
const BEHIND: u32 = 320;
/// IP and TCP with timestamps, and what a TUN device leaves free in front.
const HEADERS: u32 = 52;
const IN_FRONT: u32 = 64;
/// Short ones come from a store of their own (`skbuff_small_head`).
const SMALL: u32 = 704;
/// What a sent segment takes besides its data, as `ss -m` shows it.
const AROUND_SENT: u64 = 832;

/// A received segment with `len` bytes of data, as a TUN device hands it over.
pub(super) fn received(len: u32) -> u64 {
    let all = len + HEADERS + IN_FRONT + BEHIND;
    DESCRIPTION + u64::from(if all <= SMALL { SMALL } else { all.next_power_of_two() })
}

/// Sent segments, `data` bytes in `segments` of them.
pub(super) fn sent(data: u64, segments: u64) -> u64 {
    data + AROUND_SENT * segments
}

/// What may be taken more before another page is asked for, where `taken` is (`sk_forward_alloc`).
pub(super) fn at_hand(taken: u64) -> u64 {
    taken.next_multiple_of(PAGE) - taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn received_segments_come_in_few_sizes() {
        assert_eq!([0, 1, 268, 269, 588, 589, 1448].map(received), [960, 960, 960, 1280, 1280, 2304, 2304]);
    }

    #[test]
    fn what_is_at_hand_fills_the_page() {
        assert_eq!([0, 1, 4095, 4096, 5000].map(at_hand), [0, 4095, 1, 0, 3192]);
    }
}
