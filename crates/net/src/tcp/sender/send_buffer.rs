//! The send buffer: how much may be written and not acknowledged.

use super::Sender;
use crate::tcp::memory;
use crate::tcp::segment::Segment;

/// Bytes of memory that a segment is rounded up to (`tcp_sndbuf_expand`).
const SEGMENT_TRUESIZE: u64 = 2304;
/// The smallest window that it is sized for, in segments.
const MIN_WINDOW: u64 = 10;
/// The last value of `tcp_wmem`.
const WMEM_MAX: u64 = 4 * 1024 * 1024;

/// Linux's send buffer. It grows with cwnd only while the program waits for space, so after an application-limited
/// phase it can be too small for cwnd.
#[derive(Debug)]
pub(super) struct SendBuffer {
    /// Bytes of memory per segment of cwnd (`per_mss` times the factor of the congestion control).
    per_mss: u64,
    /// Bytes of memory (`sk_sndbuf`).
    sndbuf: u64,
    /// An ACK has come since the last `check_space`.
    ack_seen: bool,
}

impl SendBuffer {
    /// Space for `times` windows, the first of `window` segments.
    pub(super) fn new(window: u32, times: u64) -> SendBuffer {
        let for_a_segment = times * SEGMENT_TRUESIZE;
        SendBuffer { per_mss: for_a_segment, sndbuf: for_a_segment * MIN_WINDOW.max(window.into()), ack_seen: false }
    }

    pub(super) fn note_ack(&mut self) {
        self.ack_seen = true;
    }
}

impl Sender {
    /// Whether the program is told that it may write: a third of the send buffer is empty
    /// (`sk_stream_is_writeable`).
    pub(in crate::tcp) fn has_space(&self) -> bool {
        self.send_buffer.as_ref().is_none_or(|space| 3 * self.wmem_queued() <= 2 * space.sndbuf)
    }

    /// Bytes of memory of unacknowledged data (`sk_wmem_queued`).
    fn wmem_queued(&self) -> u64 {
        let kept = self.flight.len() - self.flight.shifted();
        let segments = u64::from(kept) + self.notsent().div_ceil(self.rules.constants.mss.into());
        memory::sent_truesize(self.write_seq.saturating_sub(self.una), segments)
    }

    /// Fills the send buffer from what the program has handed over (`tcp_sendmsg`): in full segments, of which the
    /// last may exceed it (`sk_stream_memory_free`). The rest waits until there is space again.
    pub(super) fn fill_send_buffer(&mut self) {
        let room = self.send_buffer.as_ref().map_or(u64::MAX, |space| {
            let mss = u64::from(self.rules.constants.mss);
            space.sndbuf.saturating_sub(self.wmem_queued()).div_ceil(memory::sent_truesize(mss, 1)) * mss
        });
        self.write_seq += (self.app_end - self.write_seq).min(room);
    }

    /// Whether Linux takes the header-prediction fast path (`tcp_rcv_established`): data, same ACK and window, no SACK
    /// or FIN, and it fits `sk_forward_alloc`. Such a segment does not wake the writer.
    pub(super) fn takes_fast_path(&self, segment: &Segment) -> bool {
        let is_old = segment.ack == self.una && segment.ack + u64::from(segment.window) == self.snd_wnd_end;
        let is_plain = segment.sacks.is_empty() && segment.dsack_end == 0 && !segment.flags.fin;
        // Most expensive test last.
        is_old
            && segment.len > 0
            && is_plain
            && memory::received_truesize(segment.len) <= memory::forward_alloc(self.wmem_queued())
    }

    /// Nothing more can be sent now: expands the buffer to fit cwnd if the program waits for space
    /// (`tcp_check_space`).
    pub(super) fn check_space(&mut self) {
        // Cheapest test first: an end that only receives sees no new ACKs.
        if !self.send_buffer.as_mut().is_some_and(|space| std::mem::take(&mut space.ack_seen)) {
            return;
        }
        let is_waited_for = self.notsent() >= self.rules.constants.notsent_lowat / 2 || !self.has_space();
        if let Some(space) = self.send_buffer.as_mut().filter(|_| is_waited_for) {
            let wanted = space.per_mss * MIN_WINDOW.max(self.window.cwnd.into());
            space.sndbuf = space.sndbuf.max(wanted.min(WMEM_MAX));
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
            assert_eq!(sender.send_buffer.unwrap().sndbuf, segments * 2304, "{cc:?}");
        }
    }
}
