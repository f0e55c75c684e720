//! The receive buffer, its auto-tuning, and the receive window.

use crate::tcp::memory;
use crate::tcp::rules::Rules;
use crate::tcp::segment::Segment;
use loadstone_units::Time;

/// `rcvq_space.space` before the first measurement: ten segments of 1460 bytes.
const INITIAL_RCVQ_SPACE: u64 = 14_600;
/// The advertised MSS: without timestamps.
const ADVMSS: u64 = 1460;
const NANOS_PER_MS: u64 = 1_000_000;

/// The receive window: fixed, or auto-tuned as in Linux. The program reads received data at once, but after it has
/// been acknowledged.
#[derive(Debug)]
pub(super) struct ReceiveBuffer {
    /// The maximum of the advertised window, in bytes.
    rcv_ssthresh: u64,
    /// The right edge of the advertised window (`rcv_wup + rcv_wnd`), which never moves back.
    rcv_wnd_end: u64,
    /// The window advertised last.
    rcv_wnd: u64,
    /// The program reads more slowly than data comes: it left data unread.
    is_reader_slow: bool,
    tuning: Option<Tuning>,
}

/// Receive buffer auto-tuning (`tcp_moderate_rcvbuf`).
#[derive(Debug)]
struct Tuning {
    mss: u64,
    /// The window per buffer, in 1/1024 (Linux counts it in 1/256).
    scaling_ratio: u64,
    /// The same once a full segment has come.
    full_scaling_ratio: u64,
    /// The size of the buffer (`sk_rcvbuf`).
    rcvbuf: u64,
    /// Its maximum (`tcp_rmem[2]`).
    rmem_max: u64,
    /// The window of the whole buffer.
    window_clamp: u64,
    /// Bytes of memory of the out-of-order queue.
    ofo_memory: u64,
    /// Bytes read in the last round trip (`rcvq_space.space`).
    rcvq_space: u64,
    /// Bytes read in this round trip (`rcvq_space.copied`).
    rcvq_copied: u64,
    /// When this round trip began (`rcvq_space.time`).
    rcvq_time: Time,
    /// Bytes that a slow program has read since the last segment came.
    read: u64,
    /// The receiver's RTT estimate by timestamps, in ns (`rcv_rtt_est`).
    rcv_rtt: u64,
    /// The last TSecr, in ms.
    rcv_rtt_last_tsecr: u64,
}

impl ReceiveBuffer {
    pub(super) fn new(rules: &Rules) -> ReceiveBuffer {
        let constants = &rules.constants;
        if !rules.mechanisms.window_tuning {
            return ReceiveBuffer {
                rcv_ssthresh: constants.receive_window,
                rcv_wnd_end: 0,
                rcv_wnd: 0,
                is_reader_slow: false,
                tuning: None,
            };
        }
        let (mss, buffer, [scaling_ratio, full_scaling_ratio]) =
            (u64::from(constants.mss), constants.rmem_default, constants.scaling_ratio);
        let tuning = Tuning {
            mss,
            scaling_ratio,
            full_scaling_ratio,
            rcvbuf: buffer,
            rmem_max: constants.rmem_max,
            window_clamp: (buffer * scaling_ratio / 1024).saturating_sub(mss).max(2 * mss),
            ofo_memory: 0,
            rcvq_space: INITIAL_RCVQ_SPACE,
            rcvq_copied: 0,
            rcvq_time: Time::ZERO,
            read: 0,
            rcv_rtt: 0,
            rcv_rtt_last_tsecr: u64::MAX,
        };
        // The initial window is a multiple of the advertised MSS.
        let offered = buffer * scaling_ratio / 1024 / ADVMSS * ADVMSS;
        ReceiveBuffer {
            rcv_ssthresh: offered.min(constants.initial_rcv_wnd),
            rcv_wnd_end: 0,
            rcv_wnd: 0,
            is_reader_slow: false,
            tuning: Some(tuning),
        }
    }

    /// The window to advertise in bytes, with RCV.NXT = `next` and `unread` bytes before it (`__tcp_select_window`).
    pub(super) fn select_window(&mut self, next: u64, unread: u64) -> u32 {
        if self.is_reader_slow {
            return self.select_window_slow(next, unread);
        }
        let free = self.tuning.as_ref().map_or(u64::MAX, |tuning| {
            let free = tuning.space(tuning.memory_of(unread));
            // If the window would shrink, Linux delays the ACK until the program has read; so count all as read
            // (`__tcp_ack_snd_check`).
            if free < self.rcv_wnd { tuning.space(0) } else { free }
        });
        let window = self.rcv_ssthresh.min(free).max(self.rcv_wnd_end.saturating_sub(next));
        (self.rcv_wnd_end, self.rcv_wnd) = (next + window, window);
        u32::try_from(window).unwrap_or(u32::MAX)
    }

    /// The window to advertise while the program reads slowly: free space in full segments, or 0 (RFC 9293,
    /// section 3.8.6.2.2).
    #[cold]
    fn select_window_slow(&mut self, next: u64, unread: u64) -> u32 {
        let window = self.free_window(unread).max(self.rcv_wnd_end.saturating_sub(next));
        (self.rcv_wnd_end, self.rcv_wnd) = (next + window, window);
        u32::try_from(window).unwrap_or(u32::MAX)
    }

    /// The free window with `unread` bytes in the buffer, in full segments.
    fn free_window(&self, unread: u64) -> u64 {
        let (free, mss) = match &self.tuning {
            // A segment keeps its memory until its last byte is read.
            Some(tuning) => {
                (tuning.space(tuning.memory_of(unread.next_multiple_of(tuning.mss))).min(self.rcv_ssthresh), tuning.mss)
            }
            None => (self.rcv_ssthresh.saturating_sub(unread), ADVMSS),
        };
        free / mss * mss
    }

    /// Whether the program reads more slowly than data comes.
    #[inline]
    pub(super) fn is_reader_slow(&self) -> bool {
        self.is_reader_slow
    }

    /// The program has read `taken` bytes and left `unread`, with RCV.NXT = `next`. Returns whether the window has
    /// opened enough for a window update (`tcp_cleanup_rbuf`).
    pub(super) fn handle_slow_read(&mut self, next: u64, taken: u64, unread: u64) -> bool {
        if let Some(tuning) = self.tuning.as_mut().filter(|_| self.is_reader_slow) {
            tuning.read += taken;
        }
        let rcv_wnd = self.rcv_wnd_end.saturating_sub(next);
        let window = self.free_window(unread);
        // No longer slow once all is read and half of the window is advertised.
        self.is_reader_slow = unread > 0 || rcv_wnd < self.rcv_ssthresh / 2;
        window >= (2 * rcv_wnd).max(1)
    }

    /// What is left of the advertised window from `next` on (`tcp_receive_window`).
    pub(super) fn receive_window(&self, next: u64) -> u32 {
        u32::try_from(self.rcv_wnd_end.saturating_sub(next)).unwrap_or(u32::MAX)
    }

    /// A segment has come, with data or without; `full` is rcv_mss.
    pub(super) fn handle_segment(&mut self, now: Time, segment: &Segment, full: u32) {
        if let Some(tuning) = &mut self.tuning {
            tuning.rcv_rtt_measure(now, segment.ts_ecr, segment.len >= full);
        }
    }

    /// A segment has come in order; `content` bytes are read with it. The highest number received is `reach` bytes
    /// beyond RCV.NXT. Returns whether the window grew.
    pub(super) fn handle_data(&mut self, now: Time, segment: &Segment, content: u64, reach: u64) -> bool {
        let Some(tuning) = &mut self.tuning else { return false };
        if u64::from(segment.len) >= tuning.mss {
            tuning.scaling_ratio = tuning.full_scaling_ratio;
            tuning.window_clamp = tuning.rcvbuf * tuning.scaling_ratio / 1024;
        }
        // The segment itself is still in the buffer.
        let grew = self.grow_window(segment.len, memory::received_truesize(segment.len));
        // The program reads it after that.
        if let Some(tuning) = &mut self.tuning {
            let released = content.saturating_sub(segment.len.into());
            tuning.ofo_memory =
                if reach == 0 { 0 } else { tuning.ofo_memory.saturating_sub(tuning.memory_of(released)) };
            // Only data that is read makes the buffer grow.
            let read = if self.is_reader_slow { std::mem::take(&mut tuning.read) } else { content };
            tuning.rcv_space_adjust(now, read, reach);
        }
        grew
    }

    /// A segment of `len` bytes has come out of order; the highest number received is `reach` bytes beyond RCV.NXT
    /// (`tcp_data_queue_ofo`). Returns whether the window grew.
    pub(super) fn handle_out_of_order(&mut self, len: u32, reach: u64) -> bool {
        let grew = self.grow_window(len, 0);
        if let Some(tuning) = &mut self.tuning {
            tuning.ofo_memory += memory::received_truesize(len);
            tuning.rcvbuf_grow(2 * tuning.rcvq_space + reach);
        }
        grew
    }

    /// The receiver's RTT estimate in ns, with auto-tuning.
    pub(super) fn rcv_rtt(&self) -> Option<u64> {
        self.tuning.as_ref().map(|tuning| tuning.rcv_rtt)
    }

    /// `tcp_grow_window`: grows rcv_ssthresh unless the segment is mostly overhead; `taken` bytes of memory are in use.
    /// Returns whether it grew.
    fn grow_window(&mut self, len: u32, taken: u64) -> bool {
        let Some(tuning) = &self.tuning else { return false };
        let most = tuning.window_clamp.min(tuning.space(taken));
        if len < 128 || self.rcv_ssthresh >= most {
            return false;
        }
        let step = if u64::from(len) >= tuning.mss { 2 * tuning.mss } else { 2 * u64::from(len) };
        self.rcv_ssthresh = (self.rcv_ssthresh + step).min(most);
        true
    }
}

impl Tuning {
    /// The window of the free part of the buffer: without `taken` bytes of memory and the out-of-order queue
    /// (`tcp_space`).
    fn space(&self, taken: u64) -> u64 {
        self.rcvbuf.saturating_sub(self.ofo_memory + taken) * self.scaling_ratio / 1024
    }

    /// Bytes of memory of `bytes` of data in full segments and one with the rest.
    fn memory_of(&self, bytes: u64) -> u64 {
        // Most often the program has read all.
        if bytes == 0 {
            return 0;
        }
        let (full, rest) = (bytes / self.mss, (bytes % self.mss) as u32);
        full * memory::received_truesize(self.mss as u32) + if rest > 0 { memory::received_truesize(rest) } else { 0 }
    }

    /// RTT is sampled from the first segment with a new TSecr, and only if full-sized (`tcp_rcv_rtt_measure_ts`). If
    /// the request was acknowledged by a pure ACK, the response's first flight gives no sample.
    fn rcv_rtt_measure(&mut self, now: Time, ts_ecr: Time, is_full: bool) {
        let ms = |time: Time| time.as_nanos() / NANOS_PER_MS;
        if ms(ts_ecr) == self.rcv_rtt_last_tsecr || ts_ecr > now {
            return;
        }
        self.rcv_rtt_last_tsecr = ms(ts_ecr);
        if !is_full {
            return;
        }
        let sample = (ms(now) - self.rcv_rtt_last_tsecr).max(1) * NANOS_PER_MS;
        self.rcv_rtt =
            if self.rcv_rtt == 0 { sample } else { sample.min(self.rcv_rtt - self.rcv_rtt / 8 + sample / 8) };
    }

    /// The buffer follows the bytes read in a round trip (`tcp_rcv_space_adjust`).
    fn rcv_space_adjust(&mut self, now: Time, content: u64, reach: u64) {
        if self.rcv_rtt == 0 || now.nanos_since(self.rcvq_time) < self.rcv_rtt {
            self.rcvq_copied += content;
            return;
        }
        // `tcp_rcv_space_adjust` runs after the first segment is copied; the rest of this read is subtracted now and
        // counted in the next round.
        let first = content.min(self.mss);
        let rest = content - first;
        let copied = (self.rcvq_copied + first).saturating_sub(rest);
        if copied > self.rcvq_space {
            // The measurement is one round trip old, and the other end may double its rate again.
            let twice = 2 * copied;
            let window = twice + 2 * (twice * (copied - self.rcvq_space) / self.rcvq_space);
            self.rcvq_space = copied;
            self.rcvbuf_grow(window + reach);
        }
        (self.rcvq_copied, self.rcvq_time) = (rest, now);
    }

    /// Grows the buffer if its window is smaller than `window` bytes (`tcp_rcvbuf_grow`).
    fn rcvbuf_grow(&mut self, window: u64) {
        let buffer = (window * 1024 / self.scaling_ratio).min(self.rmem_max);
        if buffer > self.rcvbuf {
            self.rcvbuf = buffer;
            self.window_clamp = buffer * self.scaling_ratio / 1024;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Config;

    const MSS: u64 = 1448;

    #[test]
    fn out_of_order_data_reduces_the_window_of_the_buffer() {
        let mut buffer = ReceiveBuffer::new(&Config::default().rules());
        let window = buffer.select_window(1, 0);
        assert_eq!(window, 64_240, "44 segments of 1,460 bytes");
        for come in 1..=10 {
            assert!(!buffer.handle_out_of_order(1448, come * MSS), "what is free is less");
        }
        let tuning = buffer.tuning.as_ref().unwrap();
        assert_eq!((tuning.ofo_memory, tuning.rcvbuf), (10 * 2304, 131_072));
        // It has been offered, so it stays.
        assert_eq!(buffer.select_window(1, 0), window);
        // Later on only what is free is offered: half of what the ten have left, which no full segment has come to
        // judge by.
        assert_eq!(buffer.select_window(1 + 20 * MSS, 0), (131_072 - 23_040) / 2);
    }

    #[test]
    fn a_short_segment_leaves_room_for_more_which_is_not_taken_back() {
        // A full segment takes 2,304 bytes of memory, one with 456 bytes 1,280; 640 of 1,024 are worth a window.
        let (full, short) = ((131_072 - 2304) * 640 / 1024, (131_072 - 1280) * 640 / 1024);
        let mut buffer = ReceiveBuffer::new(&Config::default().rules());
        let flags = crate::tcp::segment::Flags { ack: true, ..Default::default() };
        let (sacks, window, ts_ecr, ts_val) = (Default::default(), 0, Time::NEVER, Time::ZERO);
        let mut next = 1;
        let mut announced = |len: u32| {
            let (seq, ack, dsack_end, repair) = (next, 1, 0, None);
            let segment = Segment { seq, ack, len, window, flags, ts_val, ts_ecr, sacks, dsack_end, repair };
            next += u64::from(len);
            buffer.handle_data(Time::ZERO, &segment, len.into(), 0);
            buffer.select_window(next, len.into())
        };
        for _ in 0..10 {
            announced(1448);
        }
        assert_eq!([1448, 456, 1448, 1448].map(&mut announced), [full, short, short, short]);
    }

    #[test]
    fn the_buffer_grows_by_the_span_of_out_of_order_data() {
        let mut buffer = ReceiveBuffer::new(&Config::default().rules());
        for come in 1..=100 {
            buffer.handle_out_of_order(1448, come * MSS);
        }
        // Twice what is taken for a round trip's, and what lies beyond, at 512 of 1,024.
        assert_eq!(buffer.tuning.unwrap().rcvbuf, 2 * (2 * INITIAL_RCVQ_SPACE + 100 * MSS));
    }

    #[test]
    fn the_buffer_grows_by_twice_what_was_read_and_by_how_much_faster_that_was_than_before() {
        let mut tuning = ReceiveBuffer::new(&Config::default().rules()).tuning.unwrap();
        (tuning.rcv_rtt, tuning.rcvq_space, tuning.rcvq_copied) = (50 * NANOS_PER_MS, 10 * MSS, 19 * MSS);
        tuning.rcv_space_adjust(Time::from_nanos(60 * NANOS_PER_MS), MSS, 0);
        // 20 segments in a round trip, after 10: 40, and the same share more twice over, at 512 of 1,024.
        assert_eq!((tuning.rcvq_space, tuning.rcvbuf), (20 * MSS, 2 * (40 + 2 * 40) * MSS));
    }

    #[test]
    fn data_that_a_gap_held_back_counts_to_the_next_round_trip() {
        let mut tuning = ReceiveBuffer::new(&Config::default().rules()).tuning.unwrap();
        let at = |ms: u64| Time::from_nanos(ms * NANOS_PER_MS);
        tuning.rcv_rtt = 50 * NANOS_PER_MS;
        tuning.rcv_space_adjust(at(60), 31 * MSS, 0);
        assert_eq!(
            (tuning.rcvq_space, tuning.rcvq_copied),
            (INITIAL_RCVQ_SPACE, 30 * MSS),
            "less was read than was waiting"
        );
        tuning.rcv_space_adjust(at(120), MSS, 0);
        assert_eq!((tuning.rcvq_space, tuning.rcvq_copied), (31 * MSS, 0));
    }

    #[test]
    fn rcv_rtt_is_sampled_from_the_first_segment_with_a_tsecr_if_it_is_full() {
        let mut tuning = ReceiveBuffer::new(&Config::default().rules()).tuning.unwrap();
        let at = |ms: u64| Time::from_nanos(ms * NANOS_PER_MS);
        tuning.rcv_rtt_measure(at(60), at(0), false);
        tuning.rcv_rtt_measure(at(61), at(0), true);
        assert_eq!(tuning.rcv_rtt, 0);
        tuning.rcv_rtt_measure(at(120), at(60), true);
        assert_eq!(tuning.rcv_rtt, 60 * NANOS_PER_MS);
    }
}
