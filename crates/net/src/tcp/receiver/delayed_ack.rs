//! How long an ACK is delayed.

use crate::tcp::rules::Rules;
use loadstone_units::Time;

/// The maximum of quick ACKs (`TCP_MAX_QUICKACKS`).
const MAX_QUICKACKS: u32 = 16;
/// The maximum delay in ns (`TCP_DELACK_MAX`).
const DELACK_MAX: u64 = 200_000_000;
/// rcv_mss before the first segment (`TCP_MSS_DEFAULT`).
const MSS_DEFAULT: u32 = 536;

/// When to acknowledge: every second segment (RFC 9293, section 3.8.6.3), and with `quick_acks` more
/// often at the beginning and while the receive window grows, as Linux does (`__tcp_ack_snd_check`).
#[derive(Debug)]
pub(super) struct DelayedAck {
    /// The mechanism `quick_acks` is on: quickack and pingpong mode, adaptive delay.
    quick_acks: bool,
    /// Segments with PSH are acknowledged at once.
    acks_push: bool,
    /// Bytes in order not yet acknowledged (RCV.NXT - `rcv_wup`).
    unacked: u64,
    /// Segments in order not yet acknowledged.
    unacked_segments: u32,
    /// Quick ACKs left (`icsk_ack.quick`).
    quick: u32,
    /// Sub-MSS segments among them, which end a write (`ICSK_ACK_PUSHED`).
    pushed: u32,
    /// Interactive session: ACKs wait for data to piggyback on (`pingpong`).
    pingpong: bool,
    /// The estimated MSS of received segments (`icsk_ack.rcv_mss`).
    rcv_mss: u32,
    /// When data last came (`icsk_ack.lrcvtime`).
    lrcvtime: Option<Time>,
    /// The delay in ns (`icsk_ack.ato`).
    ato: u64,
    /// Its minimum (`TCP_ATO_MIN`).
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

    /// The estimated MSS of received segments.
    pub(super) fn rcv_mss(&self) -> u32 {
        self.rcv_mss
    }

    /// A segment of `len` bytes has come in order, and with it `content` bytes can be read; `grew` if that made the
    /// receive window, `window` bytes, grow. Returns whether to acknowledge at once.
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

    /// A segment has come out of order; `grew` if that made the receive window grow. Returns whether to acknowledge at
    /// once.
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

    /// Adapts the delay to the gap between segments (`tcp_event_data_recv`).
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
                    // A gap longer than an RTO: the other end restarts with a small cwnd.
                    self.incr_quickack(window);
                }
            }
        }
    }

    /// `tcp_incr_quickack`.
    fn incr_quickack(&mut self, window: u32) {
        let quick = (window / (2 * self.rcv_mss)).clamp(2, MAX_QUICKACKS);
        self.quick = self.quick.max(quick);
    }

    /// A duplicate segment came: an ACK may have been lost (`tcp_enter_quickack_mode`).
    pub(super) fn enter_quickack_mode(&mut self) {
        if self.quick_acks {
            self.quick = MAX_QUICKACKS;
            self.pingpong = false;
            self.ato = self.ato_min;
        }
    }

    /// The program has read all data. Returns whether to send a delayed ACK at once (`tcp_cleanup_rbuf`).
    pub(super) fn handle_read(&self) -> bool {
        self.pushed > u32::from(self.pingpong)
    }

    /// The delay in ns, with an SRTT of `rtt` ns (0: not known): at most SRTT and 200 ms, but at least the minimum
    /// (`tcp_send_delayed_ack`).
    pub(super) fn delay(&self, rtt: u64) -> u64 {
        let most = self.ato_min.max(if rtt == 0 { DELACK_MAX } else { rtt.min(DELACK_MAX) });
        self.ato.min(most)
    }

    /// The timer has expired (`tcp_delack_timer_handler`).
    pub(super) fn handle_delay(&mut self) {
        if self.quick_acks {
            self.ato = if self.pingpong { self.ato_min } else { self.ato * 2 };
            self.pingpong = false;
        }
    }

    /// Data is sent: a reply if within `ato` of the last data received (`tcp_event_data_sent`).
    pub(super) fn event_data_sent(&mut self, now: Time) {
        if self.quick_acks && self.lrcvtime.is_some_and(|last| now.nanos_since(last) < self.ato) {
            self.pingpong = true;
        }
    }

    /// An ACK is sent; `was_pending` if one was pending (`tcp_event_ack_sent`).
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::Config;

    const MS: u64 = 1_000_000;

    fn delayed() -> DelayedAck {
        DelayedAck::new(&Config::default().rules())
    }

    #[test]
    fn the_delay_is_the_round_trip_at_most_but_not_below_its_minimum() {
        for (ato, rtt, expected) in
            [(40, 0, 40), (100, 0, 100), (300, 0, 200), (100, 60, 60), (100, 10, 40), (300, 1_000, 200)]
        {
            let delayed = DelayedAck { ato: ato * MS, ..delayed() };
            assert_eq!(delayed.delay(rtt * MS), expected * MS, "ato {ato} ms, round trip {rtt} ms");
        }
    }

    #[test]
    fn the_delay_follows_the_gaps_between_segments() {
        for (gap, expected) in [
            // Up to half of the minimum, 20 ms: half of the old delay and 20 ms.
            (0, 60),
            (20, 60),
            // Below the delay: half of it and the gap.
            (21, 61),
            (79, 119),
            // Else it stays.
            (80, 80),
            (5_000, 80),
        ] {
            let mut delayed = DelayedAck { ato: 80 * MS, lrcvtime: Some(Time::from_nanos(MS)), ..delayed() };
            delayed.event_data_recv(Time::from_nanos((1 + gap) * MS), 100_000, 10_000 * MS);
            assert_eq!(delayed.ato, expected * MS, "a gap of {gap} ms");
        }
    }

    #[test]
    fn quick_acks_are_as_many_as_half_of_the_window_has_segments_two_to_sixteen() {
        for (window, quick) in [(0, 2), (4_000, 2), (6_000, 3), (32_000, 16), (1_000_000, 16)] {
            let mut delayed = DelayedAck { rcv_mss: 1_000, ..delayed() };
            delayed.incr_quickack(window);
            assert_eq!(delayed.quick, quick, "{window} bytes");
        }
    }

    #[test]
    fn a_gap_longer_than_a_timeout_brings_quick_acks_back() {
        for (gap, quick) in [(300, 0), (301, 2)] {
            let mut delayed = DelayedAck { lrcvtime: Some(Time::ZERO), ..delayed() };
            delayed.event_data_recv(Time::from_nanos(gap * MS), 0, 100 * MS);
            assert_eq!(delayed.quick, quick, "a gap of {gap} ms, with a round trip of 100 ms");
        }
    }

    #[test]
    fn each_ack_that_was_pending_takes_a_quick_one() {
        let mut delayed = DelayedAck { quick: 2, ato: 80 * MS, ..delayed() };
        for (was_pending, quick, ato) in [(false, 2, 80), (true, 1, 80), (true, 0, 40), (true, 0, 40)] {
            delayed.event_ack_sent(was_pending);
            assert_eq!((delayed.quick, delayed.ato), (quick, ato * MS));
        }
    }

    #[test]
    fn data_within_the_delay_of_data_is_a_reply() {
        for (gap, is_reply) in [(39, true), (40, false)] {
            let mut delayed = DelayedAck { lrcvtime: Some(Time::ZERO), ..delayed() };
            delayed.event_data_sent(Time::from_nanos(gap * MS));
            assert_eq!(delayed.pingpong, is_reply, "after {gap} ms");
        }
        let mut silent = delayed();
        silent.event_data_sent(Time::ZERO);
        assert!(!silent.pingpong, "nothing has come that it could be a reply to");
    }

    #[test]
    fn when_the_program_has_read_a_short_segment_is_acknowledged_two_of_them_in_a_session_of_replies() {
        for (pushed, pingpong, is_at_once) in [(0, false, false), (1, false, true), (1, true, false), (2, true, true)] {
            assert_eq!(DelayedAck { pushed, pingpong, ..delayed() }.handle_read(), is_at_once, "{pushed}, {pingpong}");
        }
    }
}
