//! The receive buffer, and the window that it is worth.

use crate::tcp::memory;
use crate::tcp::rules::Rules;
use crate::tcp::segment::Segment;
use loadstone_units::Time;

/// What is copied in a round trip before the first measurement: ten segments of 1460 bytes.
const INITIAL_RCVQ_SPACE: u64 = 14_600;
/// Bytes of a segment as the handshake counts them, without timestamps.
const ADVMSS: u64 = 1460;
const NANOS_PER_MS: u64 = 1_000_000;

/// The receive window: fixed, or growing as Linux lets it. The program reads what comes at once, but after
/// it has been acknowledged.
#[derive(Debug)]
pub(super) struct ReceiveBuffer {
    /// What is announced at most, in bytes (`rcv_ssthresh`).
    rcv_ssthresh: u64,
    /// The number up to which the other end was told that it may send: that is not taken back.
    rcv_wnd_end: u64,
    /// The window that was announced last (`rcv_wnd`).
    rcv_wnd: u64,
    /// Something was left unread by a program that reads slowly.
    is_reader_slow: bool,
    tuning: Option<Tuning>,
}

#[derive(Debug)]
struct Tuning {
    mss: u64,
    /// What 1,024 bytes of the buffer are worth as a window (`scaling_ratio`), and once a full segment has
    /// come.
    scaling_ratio: u64,
    full_scaling_ratio: u64,
    /// The buffer, and its greatest size (`sk_rcvbuf`, the last value of `tcp_rmem`).
    rcvbuf: u64,
    rmem_max: u64,
    /// The window that the buffer is worth (`window_clamp`).
    window_clamp: u64,
    /// Bytes of memory that lie beyond a hole.
    ofo_memory: u64,
    /// Bytes read in the last round trip, and since this one began (`rcvq_space`).
    rcvq_space: u64,
    rcvq_copied: u64,
    rcvq_time: Time,
    /// Bytes that a program which reads slowly has read since the last segment came.
    read: u64,
    /// The round trip that timestamps tell, in ns (`rcv_rtt_est`), and the last of them, in ms.
    rcv_rtt: u64,
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
        // It is offered in segments of 1,460 bytes.
        let offered = buffer * scaling_ratio / 1024 / ADVMSS * ADVMSS;
        ReceiveBuffer {
            rcv_ssthresh: offered.min(constants.initial_rcv_wnd),
            rcv_wnd_end: 0,
            rcv_wnd: 0,
            is_reader_slow: false,
            tuning: Some(tuning),
        }
    }

    /// What is announced in bytes, where `next` is expected and `unread` bytes before that have not been
    /// read (`__tcp_select_window`).
    pub(super) fn select_window(&mut self, next: u64, unread: u64) -> u32 {
        if self.is_reader_slow {
            return self.select_window_slow(next, unread);
        }
        let free = self.tuning.as_ref().map_or(u64::MAX, |tuning| {
            let free = tuning.space(tuning.memory_of(unread));
            // Where the window would be less than before, it is acknowledged when the program has read
            // (`__tcp_ack_snd_check`).
            if free < self.rcv_wnd { tuning.space(0) } else { free }
        });
        let window = self.rcv_ssthresh.min(free).max(self.rcv_wnd_end.saturating_sub(next));
        (self.rcv_wnd_end, self.rcv_wnd) = (next + window, window);
        u32::try_from(window).unwrap_or(u32::MAX)
    }

    /// What is announced by an end whose program reads slowly: what is free, in whole segments, or nothing (RFC 9293,
    /// section 3.8.6.2.2).
    #[cold]
    fn select_window_slow(&mut self, next: u64, unread: u64) -> u32 {
        let window = self.free_window(unread).max(self.rcv_wnd_end.saturating_sub(next));
        (self.rcv_wnd_end, self.rcv_wnd) = (next + window, window);
        u32::try_from(window).unwrap_or(u32::MAX)
    }

    /// The window that is free behind `unread` bytes, in whole segments.
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

    /// Whether something was left unread.
    #[inline]
    pub(super) fn is_reader_slow(&self) -> bool {
        self.is_reader_slow
    }

    /// The program has read `taken` bytes and left `unread` before `next`. Gives whether the window has opened so far
    /// that the other end is to hear of it (`tcp_cleanup_rbuf`).
    pub(super) fn handle_slow_read(&mut self, next: u64, taken: u64, unread: u64) -> bool {
        if let Some(tuning) = self.tuning.as_mut().filter(|_| self.is_reader_slow) {
            tuning.read += taken;
        }
        let rcv_wnd = self.rcv_wnd_end.saturating_sub(next);
        let window = self.free_window(unread);
        // All is read and the other end knows: it is as fast as ever.
        self.is_reader_slow = unread > 0 || rcv_wnd < self.rcv_ssthresh / 2;
        window >= (2 * rcv_wnd).max(1)
    }

    /// The window that was announced last, with the number `next`.
    pub(super) fn receive_window(&self, next: u64) -> u32 {
        u32::try_from(self.rcv_wnd_end.saturating_sub(next)).unwrap_or(u32::MAX)
    }

    /// A segment has come, with data or without; a full one has had `full` bytes so far.
    pub(super) fn handle_segment(&mut self, now: Time, segment: &Segment, full: u32) {
        if let Some(tuning) = &mut self.tuning {
            tuning.rcv_rtt_measure(now, segment.ts_ecr, segment.len >= full);
        }
    }

    /// A segment has come in order, and `content` bytes are read with it; what has come reaches `reach` bytes
    /// beyond that. Gives whether the window grew.
    pub(super) fn handle_data(&mut self, now: Time, segment: &Segment, content: u64, reach: u64) -> bool {
        let Some(tuning) = &mut self.tuning else { return false };
        if u64::from(segment.len) >= tuning.mss {
            tuning.scaling_ratio = tuning.full_scaling_ratio;
            tuning.window_clamp = tuning.rcvbuf * tuning.scaling_ratio / 1024;
        }
        // The segment itself is in the buffer still.
        let grew = self.grow_window(segment.len, memory::received_truesize(segment.len));
        // The program reads it after that.
        if let Some(tuning) = &mut self.tuning {
            let released = content.saturating_sub(segment.len.into());
            tuning.ofo_memory =
                if reach == 0 { 0 } else { tuning.ofo_memory.saturating_sub(tuning.memory_of(released)) };
            // Only what is read makes the buffer grow.
            let read = if self.is_reader_slow { std::mem::take(&mut tuning.read) } else { content };
            tuning.rcv_space_adjust(now, read, reach);
        }
        grew
    }

    /// A segment of `len` bytes has come beyond a hole, and what has come reaches `reach` bytes beyond what
    /// is in order (`tcp_data_queue_ofo`). Gives whether the window grew.
    pub(super) fn handle_out_of_order(&mut self, len: u32, reach: u64) -> bool {
        let grew = self.grow_window(len, 0);
        if let Some(tuning) = &mut self.tuning {
            tuning.ofo_memory += memory::received_truesize(len);
            tuning.rcvbuf_grow(2 * tuning.rcvq_space + reach);
        }
        grew
    }

    /// The round trip that timestamps tell, in ns, where they are looked at.
    pub(super) fn rcv_rtt(&self) -> Option<u64> {
        self.tuning.as_ref().map(|tuning| tuning.rcv_rtt)
    }

    /// `tcp_grow_window`: only what is not mostly overhead makes it grow; `taken` bytes of memory are not
    /// free. Gives whether it did.
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
    /// The window that what is free of the buffer is worth, where `taken` bytes of memory are not, and what
    /// lies beyond a hole is not (`tcp_space`).
    fn space(&self, taken: u64) -> u64 {
        self.rcvbuf.saturating_sub(self.ofo_memory + taken) * self.scaling_ratio / 1024
    }

    /// Bytes of memory of so many bytes of data in full segments, and one of what is left.
    fn memory_of(&self, bytes: u64) -> u64 {
        // Most often the program has read all.
        if bytes == 0 {
            return 0;
        }
        let (full, rest) = (bytes / self.mss, (bytes % self.mss) as u32);
        full * memory::received_truesize(self.mss as u32) + if rest > 0 { memory::received_truesize(rest) } else { 0 }
    }

    /// A segment echoes the timestamp `echo`; the first that does tells the round trip, if it is full
    /// (`tcp_rcv_rtt_measure_ts`). So none of a response's first window does that follows a bare
    /// acknowledgement of the request.
    fn rcv_rtt_measure(&mut self, now: Time, echo: Time, is_full: bool) {
        let ms = |time: Time| time.as_nanos() / NANOS_PER_MS;
        if ms(echo) == self.rcv_rtt_last_tsecr || echo > now {
            return;
        }
        self.rcv_rtt_last_tsecr = ms(echo);
        if !is_full {
            return;
        }
        let sample = (ms(now) - self.rcv_rtt_last_tsecr).max(1) * NANOS_PER_MS;
        self.rcv_rtt =
            if self.rcv_rtt == 0 { sample } else { sample.min(self.rcv_rtt - self.rcv_rtt / 8 + sample / 8) };
    }

    /// The buffer follows what is read in a round trip (`tcp_rcv_space_adjust`).
    fn rcv_space_adjust(&mut self, now: Time, content: u64, reach: u64) {
        if self.rcv_rtt == 0 || now.nanos_since(self.rcvq_time) < self.rcv_rtt {
            self.rcvq_copied += content;
            return;
        }
        // It is read segment by segment, and looked at after the first: the others count against it and then
        // to the next round trip.
        let first = content.min(self.mss);
        let rest = content - first;
        let copied = (self.rcvq_copied + first).saturating_sub(rest);
        if copied > self.rcvq_space {
            // It is one round trip late, and the other end may double its rate once more.
            let twice = 2 * copied;
            let window = twice + 2 * (twice * (copied - self.rcvq_space) / self.rcvq_space);
            self.rcvq_space = copied;
            self.rcvbuf_grow(window + reach);
        }
        (self.rcvq_copied, self.rcvq_time) = (rest, now);
    }

    /// The buffer grows if it is not worth a window of so many bytes (`tcp_rcvbuf_grow`).
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
    fn what_lies_beyond_a_hole_takes_of_what_the_buffer_is_worth() {
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
            let segment = Segment { seq: next, ack: 1, len, window, flags, ts_val, ts_ecr, sacks, dsack_end: 0 };
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
    fn the_buffer_grows_by_as_much_as_what_lies_beyond_a_hole_reaches() {
        let mut buffer = ReceiveBuffer::new(&Config::default().rules());
        for come in 1..=100 {
            buffer.handle_out_of_order(1448, come * MSS);
        }
        // Twice what is taken for a round trip's, and what lies beyond, at 512 of 1,024.
        assert_eq!(buffer.tuning.unwrap().rcvbuf, 2 * (2 * INITIAL_RCVQ_SPACE + 100 * MSS));
    }

    #[test]
    fn what_a_hole_had_held_back_counts_to_the_round_trip_after_it() {
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
    fn a_round_trip_is_told_by_the_first_segment_with_its_timestamp_if_it_is_full() {
        let mut tuning = ReceiveBuffer::new(&Config::default().rules()).tuning.unwrap();
        let at = |ms: u64| Time::from_nanos(ms * NANOS_PER_MS);
        tuning.rcv_rtt_measure(at(60), at(0), false);
        tuning.rcv_rtt_measure(at(61), at(0), true);
        assert_eq!(tuning.rcv_rtt, 0);
        tuning.rcv_rtt_measure(at(120), at(60), true);
        assert_eq!(tuning.rcv_rtt, 60 * NANOS_PER_MS);
    }
}
