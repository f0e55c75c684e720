//! The receive buffer, and the window that it is worth.

use crate::tcp::rules::Rules;
use crate::tcp::segment::Segment;
use loadstone_units::Time;

/// What is copied in a round trip before the first measurement: ten segments of 1460 bytes.
const FIRST_ROUND: u64 = 14_600;
/// Bytes of a segment as the handshake counts them, without timestamps.
const OFFERED: u64 = 1460;
const NANOS_PER_MS: u64 = 1_000_000;

/// The receive window: fixed, or growing as Linux lets it. The program reads what comes at once.
#[derive(Debug)]
pub(super) struct Buffer {
    /// What is announced, in bytes (`rcv_ssthresh`).
    window: u64,
    tuning: Option<Tuning>,
}

#[derive(Debug)]
struct Tuning {
    mss: u64,
    /// What 1,024 bytes of the buffer are worth as a window, once full segments are in it.
    worth: u64,
    /// The buffer, and its greatest size (`sk_rcvbuf`, the last value of `tcp_rmem`).
    buffer: u64,
    most: u64,
    /// The window that the buffer is worth (`window_clamp`).
    clamp: u64,
    /// Bytes read in the last round trip, and since this one began (`rcvq_space`).
    round: u64,
    copied: u64,
    began: Time,
    /// The round trip that timestamps tell, in ns (`rcv_rtt_est`), and the last of them, in ms.
    rtt: u64,
    echo: u64,
}

impl Buffer {
    pub(super) fn new(rules: &Rules) -> Buffer {
        let most = rules.constants.receive_window;
        if !rules.window_tuning {
            return Buffer { window: most, tuning: None };
        }
        let (mss, buffer) = (u64::from(rules.constants.mss), rules.constants.first_buffer);
        let [before, worth] = rules.constants.worth;
        let tuning = Tuning {
            mss,
            worth,
            buffer,
            most: most * 1024 / worth,
            clamp: (buffer * before / 1024).saturating_sub(mss).max(2 * mss),
            round: FIRST_ROUND,
            copied: 0,
            began: Time::ZERO,
            rtt: 0,
            echo: u64::MAX,
        };
        // What the buffer is worth then is offered in segments of 1,460 bytes.
        let offered = (buffer * before / 1024 / OFFERED * OFFERED).min(rules.constants.first_window);
        Buffer { window: offered.min(most), tuning: Some(tuning) }
    }

    /// What is announced, in bytes.
    pub(super) fn window(&self) -> u32 {
        u32::try_from(self.window).unwrap_or(u32::MAX)
    }

    /// A segment has come, with data or without; a full one has had `full` bytes so far.
    pub(super) fn handle_segment(&mut self, now: Time, segment: &Segment, full: u32) {
        if let Some(tuning) = &mut self.tuning {
            tuning.sample(now, segment.echo, segment.len >= full);
        }
    }

    /// A segment has come and `content` bytes are read. Gives whether the window grew.
    pub(super) fn handle_data(&mut self, now: Time, segment: &Segment, content: u64) -> bool {
        let Some(tuning) = &mut self.tuning else { return false };
        if u64::from(segment.len) >= tuning.mss {
            tuning.clamp = tuning.buffer * tuning.worth / 1024;
        }
        let grew = self.grow(segment.len);
        // The program reads it after that.
        if let Some(tuning) = &mut self.tuning {
            tuning.measure(now, content);
        }
        grew
    }

    /// A segment of `len` bytes has come beyond a hole, and what has come reaches `reach` bytes beyond what
    /// is in order (`tcp_data_queue_ofo`). Gives whether the window grew.
    pub(super) fn handle_beyond(&mut self, len: u32, reach: u64) -> bool {
        let grew = self.grow(len);
        if let Some(tuning) = &mut self.tuning {
            tuning.make_room(2 * tuning.round + reach);
        }
        grew
    }

    /// The round trip that timestamps tell, in ns, where they are looked at.
    pub(super) fn round_trip(&self) -> Option<u64> {
        self.tuning.as_ref().map(|tuning| tuning.rtt)
    }

    /// `tcp_grow_window`: only what is not mostly overhead makes it grow. Gives whether it did.
    fn grow(&mut self, len: u32) -> bool {
        let Some(tuning) = &self.tuning else { return false };
        // The segment itself is in the buffer still.
        let free = tuning.buffer.saturating_sub(memory_of(len)) * tuning.worth / 1024;
        let most = tuning.clamp.min(free);
        if len < 128 || self.window >= most {
            return false;
        }
        let step = if u64::from(len) >= tuning.mss { 2 * tuning.mss } else { 2 * u64::from(len) };
        self.window = (self.window + step).min(most);
        true
    }
}

/// Bytes of memory that a segment with `len` bytes of data takes in the buffer: what a TUN device sets aside
/// for it, rounded up to a power of two, and what describes it.
fn memory_of(len: u32) -> u64 {
    const AROUND: u32 = 52 + 64 + 320;
    const DESCRIPTION: u64 = 256;
    u64::from((len + AROUND).next_power_of_two()) + DESCRIPTION
}

impl Tuning {
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
    fn measure(&mut self, now: Time, content: u64) {
        self.copied += content;
        if self.rtt == 0 || now.nanos_since(self.began) < self.rtt {
            return;
        }
        if self.copied > self.round {
            // It is one round trip late, and the other end may double its rate once more.
            let twice = 2 * self.copied;
            let window = twice + 2 * (twice * (self.copied - self.round) / self.round);
            self.round = self.copied;
            self.make_room(window);
        }
        (self.copied, self.began) = (0, now);
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

    #[test]
    fn what_comes_beyond_a_hole_makes_the_window_grow_and_the_buffer_by_as_much_as_it_reaches() {
        let mut buffer = Buffer::new(&Config::default().rules());
        let mss = 1448;
        buffer.handle_beyond(1448, mss);
        assert_eq!(buffer.window, 64_240, "the buffer is worth no more");
        for come in 2..100 {
            buffer.handle_beyond(1448, come * mss);
        }
        // Twice what is taken for a round trip's at first, and what had come before the last one, less what
        // the last one itself takes: 2,304 bytes, of which five eighths are worth a window; rounded down.
        let expected = 2 * FIRST_ROUND + 98 * mss - 1440;
        assert!((expected - 2..=expected).contains(&buffer.window), "{} of {expected}", buffer.window);
    }
}
