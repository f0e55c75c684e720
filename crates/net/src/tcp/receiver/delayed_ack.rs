//! How long an acknowledgement waits for company.

use crate::tcp::rules::Rules;
use loadstone_units::Time;

/// Acknowledgements that go out at once at the beginning (`TCP_MAX_QUICKACKS`).
const MOST_QUICK: u32 = 16;
/// How long an acknowledgement waits at most, in ns (`TCP_DELACK_MAX`).
const MOST_DELAY: u64 = 200_000_000;
/// What a full segment is taken for before one has come (`TCP_MSS_DEFAULT`).
const FIRST_MSS: u32 = 536;

/// When to acknowledge: every second segment (RFC 9293, section 3.8.6.3), and with `quick_acks` more
/// often at the beginning and while the receive window grows, as Linux does (`__tcp_ack_snd_check`).
#[derive(Debug)]
pub(super) struct DelayedAck {
    quickack: bool,
    answers_push: bool,
    /// Bytes in order that no acknowledgement has answered, and segments.
    unanswered: u64,
    segments: u32,
    /// Acknowledgements that still go out at once (`icsk_ack.quick`).
    quick: u32,
    /// Segments among them that are not full, so that their sender has no more for now (`ICSK_ACK_PUSHED`).
    short: u32,
    /// Both ends talk in turn: an acknowledgement waits for the reply (`pingpong`).
    pingpong: bool,
    /// The size of the segments that come (`icsk_ack.rcv_mss`).
    mss: u32,
    /// When data last came.
    last: Option<Time>,
    /// How long an acknowledgement waits, in ns (`icsk_ack.ato`), and at least.
    delay: u64,
    least: u64,
}

impl DelayedAck {
    pub(super) fn new(rules: &Rules) -> DelayedAck {
        let least = rules.constants.delayed_ack.as_nanos() as u64;
        DelayedAck {
            quickack: rules.mechanisms.quick_acks,
            answers_push: rules.answers_push,
            unanswered: 0,
            segments: 0,
            quick: 0,
            short: 0,
            pingpong: false,
            mss: if rules.mechanisms.quick_acks { FIRST_MSS } else { rules.constants.mss },
            last: None,
            delay: least,
            least,
        }
    }

    /// Bytes of a full segment, as far as is known.
    pub(super) fn full(&self) -> u32 {
        self.mss
    }

    /// A segment of `len` bytes has come in order, and with it `content` bytes can be read; `grew` if
    /// that made the receive window, `window` bytes, grow. Gives whether to acknowledge at once.
    pub(super) fn handle_data(&mut self, now: Time, len: u32, content: u64, grew: bool, window: u32, rtt: u64) -> bool {
        self.segments += 1;
        self.unanswered += content;
        if !self.quickack {
            return self.segments >= 2 || (self.answers_push && len < self.mss);
        }
        self.short += u32::from(len < self.mss);
        self.mss = self.mss.max(len.min(1448));
        self.estimate(now, window, rtt);
        if grew {
            self.quick |= 1;
        }
        self.is_at_once()
    }

    /// A segment has come beyond a hole; `grew` if that made the receive window grow. Gives whether to
    /// acknowledge at once.
    pub(super) fn handle_beyond(&mut self, grew: bool) -> bool {
        if !self.quickack {
            return true;
        }
        if grew {
            self.quick |= 1;
        }
        self.is_at_once()
    }

    fn is_at_once(&self) -> bool {
        self.unanswered > u64::from(self.mss) || (self.quick > 0 && !self.pingpong)
    }

    /// How far apart segments come (`tcp_event_data_recv`).
    fn estimate(&mut self, now: Time, window: u32, rtt: u64) {
        match self.last.replace(now) {
            None => self.quicken(window),
            Some(last) => {
                let apart = now.nanos_since(last);
                if apart <= self.least / 2 {
                    self.delay = self.delay / 2 + self.least / 2;
                } else if apart < self.delay {
                    self.delay = self.delay / 2 + apart;
                } else if apart > rtt + 200_000_000 {
                    // Too long a gap: the other end begins with a small window again.
                    self.quicken(window);
                }
            }
        }
    }

    fn quicken(&mut self, window: u32) {
        let quick = (window / (2 * self.mss)).clamp(2, MOST_QUICK);
        self.quick = self.quick.max(quick);
    }

    /// Something came again: an acknowledgement may have been lost.
    pub(super) fn handle_duplicate(&mut self) {
        if self.quickack {
            self.quick = MOST_QUICK;
            self.pingpong = false;
            self.delay = self.least;
        }
    }

    /// The program has taken all that has come. Gives whether to acknowledge at once what an acknowledgement
    /// waits for (`tcp_cleanup_rbuf`).
    pub(super) fn handle_read(&self) -> bool {
        self.short > u32::from(self.pingpong)
    }

    /// How long an acknowledgement may wait, in ns, where the smoothed round trip is `rtt` ns (0: not
    /// known): no longer than that, nor than 200 ms (`tcp_send_delayed_ack`).
    pub(super) fn delay(&self, rtt: u64) -> u64 {
        let most = self.least.max(if rtt == 0 { MOST_DELAY } else { rtt.min(MOST_DELAY) });
        self.delay.min(most)
    }

    /// It has waited that long for nothing.
    pub(super) fn handle_delay(&mut self) {
        if self.quickack {
            self.delay = if self.pingpong { self.least } else { self.delay * 2 };
            self.pingpong = false;
        }
    }

    /// Data goes out: a reply if it follows what came closely.
    pub(super) fn handle_reply(&mut self, now: Time) {
        if self.quickack && self.last.is_some_and(|last| now.nanos_since(last) < self.delay) {
            self.pingpong = true;
        }
    }

    /// An acknowledgement goes out; `owed` if one was owed.
    pub(super) fn handle_answer(&mut self, owed: bool) {
        (self.unanswered, self.segments, self.short) = (0, 0, 0);
        if self.quick > 0 && owed {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = self.least;
            }
        }
    }
}
