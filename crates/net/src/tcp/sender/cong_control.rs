//! The sender's calls of its congestion control, and of the pacer.

use super::Sender;
use crate::tcp::congestion::{AckSample, CongestionState, SentPacket};
use crate::tcp::flight::{AckSummary, TxDelivery};
use crate::tcp::mechanisms::AckCounting;
use loadstone_units::Time;

/// State before an ACK (`prior_in_flight`, `prior_lost` of Linux).
#[derive(Clone, Copy, Debug)]
pub(super) struct Prior {
    in_flight: u32,
    /// Segments marked lost.
    lost_out: u32,
    /// Transmissions ever marked lost.
    lost: u64,
}

impl Sender {
    /// When a segment may be sent that only the pacer delays; [`Time::NEVER`] if it delays none.
    #[inline]
    pub(in crate::tcp) fn pacing_deadline(&self) -> Time {
        self.window.pacer.deadline()
    }

    /// Whether the pacer lets no segment go yet.
    #[inline]
    pub(super) fn is_paced(&mut self, now: Time) -> bool {
        if self.window.pacer.next_send() <= now {
            self.window.pacer.stop();
            return false;
        }
        let pending = self.flight.lost_out() > 0 || self.nxt < self.write_seq + u64::from(self.is_fin_pending());
        self.window.pacer.pacing_check(now, pending)
    }

    /// A pure ACK is sent.
    #[inline]
    pub(in crate::tcp) fn note_pure_ack(&mut self, now: Time) {
        self.window.pacer.note_pure_ack(now);
    }

    /// Before a write: was the connection application-limited? (`tcp_rate_check_app_limited`)
    pub(super) fn check_app_limited(&mut self) {
        if !self.is_model_based {
            return;
        }
        let in_flight = self.flight.in_flight();
        let is_app_limited = self.notsent() < u64::from(self.rules.constants.mss) && in_flight < self.window.cwnd;
        if is_app_limited && self.flight.lost_out() <= self.flight.retrans_out() {
            self.controller.on_app_limited(in_flight);
        }
    }

    /// A segment with `bytes` of data is about to be sent: its delivery state.
    #[inline]
    pub(super) fn tx_delivery(&mut self, now: Time, bytes: u64) -> TxDelivery {
        if !self.is_model_based {
            return TxDelivery::default();
        }
        let (outstanding, in_flight) = (self.flight.len(), self.flight.in_flight());
        self.controller.on_sent(&mut self.window, &SentPacket { now, bytes, outstanding, in_flight })
    }

    pub(super) fn prior(&self) -> Prior {
        let flight = &self.flight;
        Prior { in_flight: flight.in_flight(), lost_out: flight.lost_out(), lost: flight.lost() }
    }

    /// Hands the ACK to the congestion control, with an RTT sample in ns if there is one (`tcp_cong_control`).
    pub(super) fn cong_control(&mut self, now: Time, summary: &AckSummary, sample: Option<u64>, prior: Prior) {
        let growth = if self.ca_state == CongestionState::Recovery { 0 } else { self.growth(now, summary) };
        let flight = &self.flight;
        let ack = AckSample {
            now,
            summary,
            ca_state: self.ca_state,
            growth,
            safe_ack: summary.advanced && flight.lost_out() <= prior.lost_out,
            prior_in_flight: prior.in_flight,
            in_flight: flight.in_flight(),
            losses: (flight.lost() - prior.lost) as u32,
            lost: flight.lost(),
            rtt_sample: sample,
            rtt: &self.rtt,
        };
        self.controller.on_ack(&mut self.window, &ack);
    }

    /// Acknowledged segments that count for the growth of the window.
    fn growth(&mut self, now: Time, summary: &AckSummary) -> u32 {
        let counts = summary.advanced || (self.rack.is_reordering() && summary.delivered > 0);
        if !counts {
            return 0;
        }
        // As `tcp_cong_avoid` does: set whether or not the window grows.
        self.cwv.snd_cwnd_stamp = now;
        if !self.is_cwnd_limited() {
            return 0;
        }
        match self.rules.mechanisms.counting {
            AckCounting::Segments => summary.delivered,
            AckCounting::Acks => 1,
            AckCounting::Bytes1 => self.count_bytes(summary.bytes, 1),
            AckCounting::Bytes2 => self.count_bytes(summary.bytes, 2),
        }
    }

    /// Appropriate byte counting (RFC 3465, sections 2.2 and 2.3): in slow start at most `abc_limit` segments (L) per
    /// ACK, and one after a timeout.
    fn count_bytes(&mut self, bytes: u64, abc_limit: u64) -> u32 {
        let mss = u64::from(self.rules.constants.mss);
        let max = match self.ca_state {
            _ if !self.window.in_slow_start() => u64::MAX,
            CongestionState::Loss => mss,
            _ => abc_limit * mss,
        };
        self.bytes_acked += bytes.min(max);
        let segments = self.bytes_acked / mss;
        self.bytes_acked %= mss;
        segments as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::Config;

    const MSS: u64 = 1448;

    #[test]
    fn bytes_that_are_counted_are_limited_in_slow_start_and_to_one_segment_after_a_timeout_rfc3465_2_3() {
        let config = Config::default();
        for (ca_state, ssthresh, segments) in
            [(CongestionState::Open, 100, 2), (CongestionState::Loss, 100, 1), (CongestionState::Open, 5, 4)]
        {
            let mut sender = Sender::new(&config, config.rules());
            (sender.ca_state, sender.window.cwnd, sender.window.ssthresh) = (ca_state, 10, ssthresh);
            assert_eq!(sender.count_bytes(4 * MSS, 2), segments, "{ca_state:?}, threshold {ssthresh}");
        }
    }

    #[test]
    fn bytes_that_are_less_than_a_segment_are_kept_rfc3465_2_1() {
        let config = Config::default();
        let mut sender = Sender::new(&config, config.rules());
        (sender.window.cwnd, sender.window.ssthresh) = (10, 5);
        let counted = [MSS - 1, 1, MSS - 1, MSS + 2].map(|bytes| sender.count_bytes(bytes, 2));
        assert_eq!(counted, [0, 1, 0, 2]);
    }
}
