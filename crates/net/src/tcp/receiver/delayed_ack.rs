//! How long an acknowledgement waits for company.

use crate::tcp::rules::Rules;
use loadstone_units::Time;

/// Acknowledgements that go out at once at the beginning (`TCP_MAX_QUICKACKS`).
const MAX_QUICKACKS: u32 = 16;
/// How long an acknowledgement waits at most, in ns (`TCP_DELACK_MAX`).
const DELACK_MAX: u64 = 200_000_000;
/// What a full segment is taken for before one has come (`TCP_MSS_DEFAULT`).
const MSS_DEFAULT: u32 = 536;

/// When to acknowledge: every second segment (RFC 9293, section 3.8.6.3), and with `quick_acks` more
/// often at the beginning and while the receive window grows, as Linux does (`__tcp_ack_snd_check`).
#[derive(Debug)]
pub(super) struct DelayedAck {
    quick_acks: bool,
    acks_push: bool,
    /// Bytes in order that no acknowledgement has answered, and segments.
    unacked: u64,
    unacked_segments: u32,
    /// Acknowledgements that still go out at once (`icsk_ack.quick`).
    quick: u32,
    /// Segments among them that are not full, so that their sender has no more for now (`ICSK_ACK_PUSHED`).
    pushed: u32,
    /// Both ends talk in turn: an acknowledgement waits for the reply (`pingpong`).
    pingpong: bool,
    /// The size of the segments that come (`icsk_ack.rcv_mss`).
    rcv_mss: u32,
    /// When data last came.
    lrcvtime: Option<Time>,
    /// How long an acknowledgement waits, in ns (`icsk_ack.ato`), and at least.
    ato: u64,
    ato_min: u64,
}

impl DelayedAck {
    pub(super) fn new(rules: &Rules) -> DelayedAck {
        let ato_min = rules.constants.delayed_ack.as_nanos() as u64;
        DelayedAck {
            quick_acks: rules.mechanisms.quick_acks,
            acks_push: rules.acks_push,
            unacked: 0,
            unacked_segments: 0,
            quick: 0,
            pushed: 0,
            pingpong: false,
            rcv_mss: if rules.mechanisms.quick_acks { MSS_DEFAULT } else { rules.constants.mss },
            lrcvtime: None,
            ato: ato_min,
            ato_min,
        }
    }

    /// Bytes of a full segment, as far as is known.
    pub(super) fn rcv_mss(&self) -> u32 {
        self.rcv_mss
    }

    /// A segment of `len` bytes has come in order, and with it `content` bytes can be read; `grew` if
    /// that made the receive window, `window` bytes, grow. Gives whether to acknowledge at once.
    pub(super) fn handle_data(&mut self, now: Time, len: u32, content: u64, grew: bool, window: u32, rtt: u64) -> bool {
        self.unacked_segments += 1;
        self.unacked += content;
        if !self.quick_acks {
            return self.unacked_segments >= 2 || (self.acks_push && len < self.rcv_mss);
        }
        self.pushed += u32::from(len < self.rcv_mss);
        self.rcv_mss = self.rcv_mss.max(len.min(1448));
        self.event_data_recv(now, window, rtt);
        if grew {
            self.quick |= 1;
        }
        self.is_at_once()
    }

    /// A segment has come beyond a hole; `grew` if that made the receive window grow. Gives whether to
    /// acknowledge at once.
    pub(super) fn handle_out_of_order(&mut self, grew: bool) -> bool {
        if !self.quick_acks {
            return true;
        }
        if grew {
            self.quick |= 1;
        }
        self.is_at_once()
    }

    fn is_at_once(&self) -> bool {
        self.unacked > u64::from(self.rcv_mss) || (self.quick > 0 && !self.pingpong)
    }

    /// How far apart segments come (`tcp_event_data_recv`).
    fn event_data_recv(&mut self, now: Time, window: u32, rtt: u64) {
        match self.lrcvtime.replace(now) {
            None => self.incr_quickack(window),
            Some(last) => {
                let gap = now.nanos_since(last);
                if gap <= self.ato_min / 2 {
                    self.ato = self.ato / 2 + self.ato_min / 2;
                } else if gap < self.ato {
                    self.ato = self.ato / 2 + gap;
                } else if gap > rtt + 200_000_000 {
                    // Too long a gap: the other end begins with a small window again.
                    self.incr_quickack(window);
                }
            }
        }
    }

    fn incr_quickack(&mut self, window: u32) {
        let quick = (window / (2 * self.rcv_mss)).clamp(2, MAX_QUICKACKS);
        self.quick = self.quick.max(quick);
    }

    /// Something came again: an acknowledgement may have been lost.
    pub(super) fn enter_quickack_mode(&mut self) {
        if self.quick_acks {
            self.quick = MAX_QUICKACKS;
            self.pingpong = false;
            self.ato = self.ato_min;
        }
    }

    /// The program has taken all that has come. Gives whether to acknowledge at once what an acknowledgement
    /// waits for (`tcp_cleanup_rbuf`).
    pub(super) fn handle_read(&self) -> bool {
        self.pushed > u32::from(self.pingpong)
    }

    /// How long an acknowledgement may wait, in ns, where the smoothed round trip is `rtt` ns (0: not
    /// known): no longer than that, nor than 200 ms (`tcp_send_delayed_ack`).
    pub(super) fn delay(&self, rtt: u64) -> u64 {
        let most = self.ato_min.max(if rtt == 0 { DELACK_MAX } else { rtt.min(DELACK_MAX) });
        self.ato.min(most)
    }

    /// It has waited that long for nothing.
    pub(super) fn handle_delay(&mut self) {
        if self.quick_acks {
            self.ato = if self.pingpong { self.ato_min } else { self.ato * 2 };
            self.pingpong = false;
        }
    }

    /// Data goes out: a reply if it follows what came closely.
    pub(super) fn event_data_sent(&mut self, now: Time) {
        if self.quick_acks && self.lrcvtime.is_some_and(|last| now.nanos_since(last) < self.ato) {
            self.pingpong = true;
        }
    }

    /// An acknowledgement goes out; `owed` if one was owed.
    pub(super) fn event_ack_sent(&mut self, was_pending: bool) {
        (self.unacked, self.unacked_segments, self.pushed) = (0, 0, 0);
        if self.quick > 0 && was_pending {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.ato_min;
            }
        }
    }
}
