//! The send buffer: how much a program may have written and not acknowledged.

use super::Sender;
use crate::tcp::memory;
use crate::tcp::segment::Segment;

/// Bytes of memory that a segment is rounded up to (`tcp_sndbuf_expand`).
const SEGMENT: u64 = 2304;
/// The least window that it is made for, in segments.
const LEAST: u64 = 10;
/// The last value of `tcp_wmem`.
const MOST: u64 = 4 * 1024 * 1024;

/// The send buffer of Linux, which follows the window while the program waits for room: so it is too small
/// for what a window has become after the program had no more to write.
#[derive(Debug)]
pub(super) struct Space {
    /// Bytes of memory for each segment of the window.
    for_a_segment: u64,
    /// Bytes of memory (`sk_sndbuf`).
    size: u64,
    /// Something came from the other end since it was last looked at.
    heard: bool,
}

impl Space {
    /// Room for `times` windows, of which the first has `window` segments.
    pub(super) fn new(window: u32, times: u64) -> Space {
        let for_a_segment = times * SEGMENT;
        Space { for_a_segment, size: for_a_segment * LEAST.max(window.into()), heard: false }
    }

    pub(super) fn note_segment(&mut self) {
        self.heard = true;
    }
}

impl Sender {
    /// Whether the program is told that it may write: a third of the send buffer is empty
    /// (`sk_stream_is_writeable`).
    pub(in crate::tcp) fn has_space(&self) -> bool {
        self.space.as_ref().is_none_or(|space| 3 * self.queued() <= 2 * space.size)
    }

    /// Bytes of memory that what is not acknowledged takes.
    fn queued(&self) -> u64 {
        let kept = self.flight.len() - self.flight.merged();
        let segments = u64::from(kept) + self.unsent().div_ceil(self.rules.constants.mss.into());
        memory::sent(self.written.saturating_sub(self.una), segments)
    }

    /// Takes what the program has written, as far as the send buffer has room: in full segments, of which
    /// the last may go beyond it (`sk_stream_memory_free`). The program keeps the rest until it is told of
    /// room again.
    pub(super) fn take(&mut self) {
        let room = self.space.as_ref().map_or(u64::MAX, |space| {
            let mss = u64::from(self.rules.constants.mss);
            space.size.saturating_sub(self.queued()).div_ceil(memory::sent(mss, 1)) * mss
        });
        self.written += (self.write_seq - self.written).min(room);
    }

    /// Whether a segment is one that the kernel foresaw, and takes no further notice of: data, and nothing
    /// new besides (header prediction in `tcp_rcv_established`); unless memory has to be found for it.
    pub(super) fn is_foreseen(&self, segment: &Segment) -> bool {
        let is_old = segment.ack == self.una && segment.ack + u64::from(segment.window) == self.snd_wnd_end;
        let is_plain = segment.sacks.is_empty() && segment.duplicate == 0 && !segment.flags.fin;
        // What is seldom asked for last.
        is_old && segment.len > 0 && is_plain && memory::received(segment.len) <= memory::at_hand(self.queued())
    }

    /// Nothing more can be sent at this moment: makes the buffer fit the window if the program waits for
    /// room (`tcp_check_space`).
    pub(super) fn look_after_space(&mut self) {
        // Asked first: an end that only receives hears nothing new, and is spared the rest.
        if !self.space.as_mut().is_some_and(|space| std::mem::take(&mut space.heard)) {
            return;
        }
        let is_waited_for = self.unsent() >= self.rules.constants.notsent_lowat / 2 || !self.has_space();
        if let Some(space) = self.space.as_mut().filter(|_| is_waited_for) {
            let wanted = space.for_a_segment * LEAST.max(self.window.cwnd.into());
            space.size = space.size.max(wanted.min(MOST));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::{Config, Congestion};

    #[test]
    fn the_buffer_has_two_segments_for_each_of_the_window_and_three_with_bbr() {
        for (cc, window, segments) in [
            (Congestion::Reno, 100_i64, 200),
            (Congestion::Cubic, 100, 200),
            (Congestion::Bbr, 100, 300),
            (Congestion::Bbr, 3, 30),
        ] {
            let iw = Some(window.try_into().unwrap());
            let config = Config { cc: Some(cc), iw, ..Config::default() };
            let sender = Sender::new(&config, config.rules());
            assert_eq!(sender.space.unwrap().size, segments * 2304, "{cc:?}");
        }
    }
}
