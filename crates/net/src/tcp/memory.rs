//! The memory that Linux charges for a segment (`truesize`), in bytes.

/// A socket's memory is charged in pages.
const PAGE_SIZE: u64 = 4096;
/// `sizeof(struct sk_buff)`, rounded up.
const SK_BUFF: u64 = 256;
/// `sizeof(struct skb_shared_info)`, which follows the data.
const SKB_SHARED_INFO: u32 = 320;
/// IP and TCP headers with timestamps.
const HEADERS: u32 = 52;
/// The headroom that a TUN device reserves.
const HEADROOM: u32 = 64;
/// Small heads come from their own cache (`skbuff_small_head`).
const SKB_SMALL_HEAD: u32 = 704;
/// Overhead of a sent segment, as `ss -m` shows it.
const SENT_OVERHEAD: u64 = 832;

/// truesize of a received segment with `len` bytes of data from a TUN device.
pub(super) fn received_truesize(len: u32) -> u64 {
    let all = len + HEADERS + HEADROOM + SKB_SHARED_INFO;
    SK_BUFF + u64::from(if all <= SKB_SMALL_HEAD { SKB_SMALL_HEAD } else { all.next_power_of_two() })
}

/// truesize of `segments` sent segments with `data` bytes in all.
pub(super) fn sent_truesize(data: u64, segments: u64) -> u64 {
    data + SENT_OVERHEAD * segments
}

/// Bytes left in the page already charged, with `taken` bytes in use (`sk_forward_alloc`).
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
