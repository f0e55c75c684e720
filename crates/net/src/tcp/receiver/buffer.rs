//! The receive buffer, and the window that it is worth.

use crate::tcp::memory;
use crate::tcp::rules::Rules;
use crate::tcp::segment::Segment;
use loadstone_units::Time;

/// What is copied in a round trip before the first measurement: ten segments of 1460 bytes.
const FIRST_ROUND: u64 = 14_600;
/// Bytes of a segment as the handshake counts them, without timestamps.
const OFFERED: u64 = 1460;
const NANOS_PER_MS: u64 = 1_000_000;

/// The receive window: fixed, or growing as Linux lets it. The program reads what comes at once, but after
/// it has been acknowledged.
#[derive(Debug)]
pub(super) struct Buffer {
    /// What is announced at most, in bytes (`rcv_ssthresh`).
    window: u64,
    /// The number up to which the other end was told that it may send: that is not taken back.
    edge: u64,
    /// The window that was announced last (`rcv_wnd`).
    last: u64,
    /// Something was left unread by a program that reads slowly.
    lagging: bool,
    tuning: Option<Tuning>,
}

#[derive(Debug)]
struct Tuning {
    mss: u64,
    /// What 1,024 bytes of the buffer are worth as a window (`scaling_ratio`), and once a full segment has
    /// come.
    worth: u64,
    worth_of_full: u64,
    /// The buffer, and its greatest size (`sk_rcvbuf`, the last value of `tcp_rmem`).
    buffer: u64,
    most: u64,
    /// The window that the buffer is worth (`window_clamp`).
    clamp: u64,
    /// Bytes of memory that lie beyond a hole.
    held: u64,
    /// Bytes read in the last round trip, and since this one began (`rcvq_space`).
    round: u64,
    copied: u64,
    began: Time,
    /// Bytes that a program which reads slowly has read since the last segment came.
    read: u64,
    /// The round trip that timestamps tell, in ns (`rcv_rtt_est`), and the last of them, in ms.
    rtt: u64,
    echo: u64,
}

impl Buffer {
    pub(super) fn new(rules: &Rules) -> Buffer {
        let constants = &rules.constants;
        if !rules.mechanisms.window_tuning {
            return Buffer { window: constants.receive_window, edge: 0, last: 0, lagging: false, tuning: None };
        }
        let (mss, buffer, [worth, worth_of_full]) =
            (u64::from(constants.mss), constants.rmem_default, constants.scaling_ratio);
        let tuning = Tuning {
            mss,
            worth,
            worth_of_full,
            buffer,
            most: constants.rmem_max,
            clamp: (buffer * worth / 1024).saturating_sub(mss).max(2 * mss),
            held: 0,
            round: FIRST_ROUND,
            copied: 0,
            began: Time::ZERO,
            read: 0,
            rtt: 0,
            echo: u64::MAX,
        };
        // It is offered in segments of 1,460 bytes.
        let offered = buffer * worth / 1024 / OFFERED * OFFERED;
        Buffer {
            window: offered.min(constants.initial_rcv_wnd),
            edge: 0,
            last: 0,
            lagging: false,
            tuning: Some(tuning),
        }
    }

    /// What is announced in bytes, where `next` is expected and `unread` bytes before that have not been
    /// read (`__tcp_select_window`).
    pub(super) fn announce(&mut self, next: u64, unread: u64) -> u32 {
        if self.lagging {
            return self.announce_slow(next, unread);
        }
        let free = self.tuning.as_ref().map_or(u64::MAX, |tuning| {
            let free = tuning.free(tuning.memory_of(unread));
            // Where the window would be less than before, it is acknowledged when the program has read
            // (`__tcp_ack_snd_check`).
            if free < self.last { tuning.free(0) } else { free }
        });
        let window = self.window.min(free).max(self.edge.saturating_sub(next));
        (self.edge, self.last) = (next + window, window);
        u32::try_from(window).unwrap_or(u32::MAX)
    }

    /// What is announced by an end whose program reads slowly: what is free, in whole segments, or nothing (RFC 9293,
    /// section 3.8.6.2.2).
    #[cold]
    fn announce_slow(&mut self, next: u64, unread: u64) -> u32 {
        let window = self.free_window(unread).max(self.edge.saturating_sub(next));
        (self.edge, self.last) = (next + window, window);
        u32::try_from(window).unwrap_or(u32::MAX)
    }

    /// The window that is free behind `unread` bytes, in whole segments.
    fn free_window(&self, unread: u64) -> u64 {
        let (free, mss) = match &self.tuning {
            // A segment keeps its memory until its last byte is read.
            Some(tuning) => {
                (tuning.free(tuning.memory_of(unread.next_multiple_of(tuning.mss))).min(self.window), tuning.mss)
            }
            None => (self.window.saturating_sub(unread), OFFERED),
        };
        free / mss * mss
    }

    /// Whether something was left unread.
    #[inline]
    pub(super) fn is_lagging(&self) -> bool {
        self.lagging
    }

    /// The program has read `taken` bytes and left `unread` before `next`. Gives whether the window has opened so far
    /// that the other end is to hear of it (`tcp_cleanup_rbuf`).
    pub(super) fn handle_slow_read(&mut self, next: u64, taken: u64, unread: u64) -> bool {
        if let Some(tuning) = self.tuning.as_mut().filter(|_| self.lagging) {
            tuning.read += taken;
        }
        let announced = self.edge.saturating_sub(next);
        let window = self.free_window(unread);
        // All is read and the other end knows: it is as fast as ever.
        self.lagging = unread > 0 || announced < self.window / 2;
        window >= (2 * announced).max(1)
    }

    /// The window that was announced last, with the number `next`.
    pub(super) fn announced(&self, next: u64) -> u32 {
        u32::try_from(self.edge.saturating_sub(next)).unwrap_or(u32::MAX)
    }

    /// A segment has come, with data or without; a full one has had `full` bytes so far.
    pub(super) fn handle_segment(&mut self, now: Time, segment: &Segment, full: u32) {
        if let Some(tuning) = &mut self.tuning {
            tuning.sample(now, segment.echo, segment.len >= full);
        }
    }

    /// A segment has come in order, and `content` bytes are read with it; what has come reaches `reach` bytes
    /// beyond that. Gives whether the window grew.
    pub(super) fn handle_data(&mut self, now: Time, segment: &Segment, content: u64, reach: u64) -> bool {
        let Some(tuning) = &mut self.tuning else { return false };
        if u64::from(segment.len) >= tuning.mss {
            tuning.worth = tuning.worth_of_full;
            tuning.clamp = tuning.buffer * tuning.worth / 1024;
        }
        // The segment itself is in the buffer still.
        let grew = self.grow(segment.len, memory::received(segment.len));
        // The program reads it after that.
        if let Some(tuning) = &mut self.tuning {
            let released = content.saturating_sub(segment.len.into());
            tuning.held = if reach == 0 { 0 } else { tuning.held.saturating_sub(tuning.memory_of(released)) };
            // Only what is read makes the buffer grow.
            let read = if self.lagging { std::mem::take(&mut tuning.read) } else { content };
            tuning.measure(now, read, reach);
        }
        grew
    }

    /// A segment of `len` bytes has come beyond a hole, and what has come reaches `reach` bytes beyond what
    /// is in order (`tcp_data_queue_ofo`). Gives whether the window grew.
    pub(super) fn handle_beyond(&mut self, len: u32, reach: u64) -> bool {
        let grew = self.grow(len, 0);
        if let Some(tuning) = &mut self.tuning {
            tuning.held += memory::received(len);
            tuning.make_room(2 * tuning.round + reach);
        }
        grew
    }

    /// The round trip that timestamps tell, in ns, where they are looked at.
    pub(super) fn round_trip(&self) -> Option<u64> {
        self.tuning.as_ref().map(|tuning| tuning.rtt)
    }

    /// `tcp_grow_window`: only what is not mostly overhead makes it grow; `taken` bytes of memory are not
    /// free. Gives whether it did.
    fn grow(&mut self, len: u32, taken: u64) -> bool {
        let Some(tuning) = &self.tuning else { return false };
        let most = tuning.clamp.min(tuning.free(taken));
        if len < 128 || self.window >= most {
            return false;
        }
        let step = if u64::from(len) >= tuning.mss { 2 * tuning.mss } else { 2 * u64::from(len) };
        self.window = (self.window + step).min(most);
        true
    }
}

impl Tuning {
    /// The window that what is free of the buffer is worth, where `taken` bytes of memory are not, and what
    /// lies beyond a hole is not (`tcp_space`).
    fn free(&self, taken: u64) -> u64 {
        self.buffer.saturating_sub(self.held + taken) * self.worth / 1024
    }

    /// Bytes of memory of so many bytes of data in full segments, and one of what is left.
    fn memory_of(&self, bytes: u64) -> u64 {
        // Most often the program has read all.
        if bytes == 0 {
            return 0;
        }
        let (full, rest) = (bytes / self.mss, (bytes % self.mss) as u32);
        full * memory::received(self.mss as u32) + if rest > 0 { memory::received(rest) } else { 0 }
    }

    /// A segment echoes the timestamp `echo`; the first that does tells the round trip, if it is full
    /// (`tcp_rcv_rtt_measure_ts`). So none of a response's first window does that follows a bare
    /// acknowledgement of the request.
    fn sample(&mut self, now: Time, echo: Time, is_full: bool) {
        let ms = |time: Time| time.as_nanos() / NANOS_PER_MS;
        if ms(echo) == self.echo || echo > now {
            return;
        }
        self.echo = ms(echo);
        if !is_full {
            return;
        }
        let sample = (ms(now) - self.echo).max(1) * NANOS_PER_MS;
        self.rtt = if self.rtt == 0 { sample } else { sample.min(self.rtt - self.rtt / 8 + sample / 8) };
    }

    /// The buffer follows what is read in a round trip (`tcp_rcv_space_adjust`).
    fn measure(&mut self, now: Time, content: u64, reach: u64) {
        if self.rtt == 0 || now.nanos_since(self.began) < self.rtt {
            self.copied += content;
            return;
        }
        // It is read segment by segment, and looked at after the first: the others count against it and then
        // to the next round trip.
        let first = content.min(self.mss);
        let rest = content - first;
        let copied = (self.copied + first).saturating_sub(rest);
        if copied > self.round {
            // It is one round trip late, and the other end may double its rate once more.
            let twice = 2 * copied;
            let window = twice + 2 * (twice * (copied - self.round) / self.round);
            self.round = copied;
            self.make_room(window + reach);
        }
        (self.copied, self.began) = (rest, now);
    }

    /// The buffer grows if it is not worth a window of so many bytes (`tcp_rcvbuf_grow`).
    fn make_room(&mut self, window: u64) {
        let buffer = (window * 1024 / self.worth).min(self.most);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = buffer * self.worth / 1024;
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
        let mut buffer = Buffer::new(&Config::default().rules());
        let window = buffer.announce(1, 0);
        assert_eq!(window, 64_240, "44 segments of 1,460 bytes");
        for come in 1..=10 {
            assert!(!buffer.handle_beyond(1448, come * MSS), "what is free is less");
        }
        let tuning = buffer.tuning.as_ref().unwrap();
        assert_eq!((tuning.held, tuning.buffer), (10 * 2304, 131_072));
        // It has been offered, so it stays.
        assert_eq!(buffer.announce(1, 0), window);
        // Later on only what is free is offered: half of what the ten have left, which no full segment has come to
        // judge by.
        assert_eq!(buffer.announce(1 + 20 * MSS, 0), (131_072 - 23_040) / 2);
    }

    #[test]
    fn a_short_segment_leaves_room_for_more_which_is_not_taken_back() {
        // A full segment takes 2,304 bytes of memory, one with 456 bytes 1,280; 640 of 1,024 are worth a window.
        let (full, short) = ((131_072 - 2304) * 640 / 1024, (131_072 - 1280) * 640 / 1024);
        let mut buffer = Buffer::new(&Config::default().rules());
        let flags = crate::tcp::segment::Flags { ack: true, ..Default::default() };
        let (sacks, window, echo, timestamp) = (Default::default(), 0, Time::NEVER, Time::ZERO);
        let mut next = 1;
        let mut announced = |len: u32| {
            let segment = Segment { seq: next, ack: 1, len, window, flags, timestamp, echo, sacks, duplicate: 0 };
            next += u64::from(len);
            buffer.handle_data(Time::ZERO, &segment, len.into(), 0);
            buffer.announce(next, len.into())
        };
        for _ in 0..10 {
            announced(1448);
        }
        assert_eq!([1448, 456, 1448, 1448].map(&mut announced), [full, short, short, short]);
    }

    #[test]
    fn the_buffer_grows_by_as_much_as_what_lies_beyond_a_hole_reaches() {
        let mut buffer = Buffer::new(&Config::default().rules());
        for come in 1..=100 {
            buffer.handle_beyond(1448, come * MSS);
        }
        // Twice what is taken for a round trip's, and what lies beyond, at 512 of 1,024.
        assert_eq!(buffer.tuning.unwrap().buffer, 2 * (2 * FIRST_ROUND + 100 * MSS));
    }

    #[test]
    fn what_a_hole_had_held_back_counts_to_the_round_trip_after_it() {
        let mut tuning = Buffer::new(&Config::default().rules()).tuning.unwrap();
        let at = |ms: u64| Time::from_nanos(ms * NANOS_PER_MS);
        tuning.rtt = 50 * NANOS_PER_MS;
        tuning.measure(at(60), 31 * MSS, 0);
        assert_eq!((tuning.round, tuning.copied), (FIRST_ROUND, 30 * MSS), "less was read than was waiting");
        tuning.measure(at(120), MSS, 0);
        assert_eq!((tuning.round, tuning.copied), (31 * MSS, 0));
    }

    #[test]
    fn a_round_trip_is_told_by_the_first_segment_with_its_timestamp_if_it_is_full() {
        let mut tuning = Buffer::new(&Config::default().rules()).tuning.unwrap();
        let at = |ms: u64| Time::from_nanos(ms * NANOS_PER_MS);
        tuning.sample(at(60), at(0), false);
        tuning.sample(at(61), at(0), true);
        assert_eq!(tuning.rtt, 0);
        tuning.sample(at(120), at(60), true);
        assert_eq!(tuning.rtt, 60 * NANOS_PER_MS);
    }
}
