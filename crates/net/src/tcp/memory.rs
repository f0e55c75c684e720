//! What Linux counts for a segment in its buffers, in bytes of memory.

/// What a page holds, by which a socket's memory is accounted.
const PAGE_SIZE: u64 = 4096;
/// What describes a segment's data (`sk_buff`), and what stands behind them (`skb_shared_info`).
const SK_BUFF: u64 = 256;
const SKB_SHARED_INFO: u32 = 320;
/// IP and TCP with timestamps, and what a TUN device leaves free in front.
const HEADERS: u32 = 52;
const HEADROOM: u32 = 64;
/// Short ones come from a store of their own (`skbuff_small_head`).
const SKB_SMALL_HEAD: u32 = 704;
/// What a sent segment takes besides its data, as `ss -m` shows it.
const SENT_OVERHEAD: u64 = 832;

/// A received segment with `len` bytes of data, as a TUN device hands it over.
pub(super) fn received_truesize(len: u32) -> u64 {
    let all = len + HEADERS + HEADROOM + SKB_SHARED_INFO;
    SK_BUFF + u64::from(if all <= SKB_SMALL_HEAD { SKB_SMALL_HEAD } else { all.next_power_of_two() })
}

/// Sent segments, `data` bytes in `segments` of them.
pub(super) fn sent_truesize(data: u64, segments: u64) -> u64 {
    data + SENT_OVERHEAD * segments
}

/// What may be taken more before another page is asked for, where `taken` is (`sk_forward_alloc`).
pub(super) fn forward_alloc(taken: u64) -> u64 {
    taken.next_multiple_of(PAGE_SIZE) - taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn received_segments_come_in_few_sizes() {
        assert_eq!([0, 1, 268, 269, 588, 589, 1448].map(received_truesize), [960, 960, 960, 1280, 1280, 2304, 2304]);
    }

    #[test]
    fn what_is_at_hand_fills_the_page() {
        assert_eq!([0, 1, 4095, 4096, 5000].map(forward_alloc), [0, 4095, 1, 0, 3192]);
    }
}
