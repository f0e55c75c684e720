//! Delivery rate estimation (draft-cheng-iccrg-delivery-rate-estimation,
//! `tcp_rate.c` of Linux).
//!
//! Every segment bears how much had been delivered when it was sent. When it is delivered, the difference over
//! the interval is a rate sample. The interval is the longer of send and ACK interval, so that compressed ACKs
//! do not look like a fast network.

use super::flight::{AckSummary, Sent, TxDelivery};
use loadstone_units::Time;

/// The connection's delivery state.
#[derive(Debug)]
pub(super) struct Delivery {
    /// Segments delivered so far (C.delivered).
    delivered: u64,
    /// When the last of them was delivered (C.delivered_time).
    delivered_time: Time,
    /// When the newest delivered segment was sent (C.first_sent_time).
    first_sent_time: Time,
    /// The connection is application-limited until more segments than these are delivered (C.app_limited).
    app_limited: Option<u64>,
}

/// The delivery rate over the flight of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RateSample {
    /// Segments delivered between its transmission and its ACK (RS.delivered).
    pub(super) delivered: u64,
    /// Segments that had been delivered when it was sent (RS.prior_delivered).
    pub(super) prior_delivered: u64,
    /// The interval in µs (RS.interval); 0 if it was shorter than min_RTT, so that the sample is not valid.
    pub(super) interval_us: u64,
    /// The connection was application-limited (RS.is_app_limited).
    pub(super) app_limited: bool,
}

impl Delivery {
    /// Initial state: the SYN counts as delivered, and the connection is app-limited.
    pub(super) fn new() -> Delivery {
        Delivery { delivered: 1, delivered_time: Time::ZERO, first_sent_time: Time::ZERO, app_limited: Some(1) }
    }

    /// Segments delivered so far.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// When the last of them was delivered.
    pub(super) fn delivered_time(&self) -> Time {
        self.delivered_time
    }

    /// Whether the connection is application-limited.
    pub(super) fn is_app_limited(&self) -> bool {
        self.app_limited.is_some()
    }

    /// The connection is application-limited, with `in_flight` segments in flight
    /// (`tcp_rate_check_app_limited`).
    pub(super) fn set_app_limited(&mut self, in_flight: u32) {
        self.app_limited = Some(self.delivered + u64::from(in_flight));
    }

    /// The delivery state of a segment that is sent now (`tcp_rate_skb_sent`); `alone` if nothing else is
    /// outstanding.
    pub(super) fn tx_delivery(&mut self, now: Time, alone: bool) -> TxDelivery {
        if alone {
            // The network was idle until now, so the intervals start now.
            (self.first_sent_time, self.delivered_time) = (now, now);
        }
        TxDelivery {
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent_time: self.first_sent_time,
            app_limited: self.is_app_limited(),
        }
    }

    /// An ACK (`tcp_rate_skb_delivered`, `tcp_rate_gen`); `min_rtt` in ns. Returns the sample of the most recently
    /// sent segment among those newly delivered.
    pub(super) fn rate_sample(&mut self, now: Time, summary: &AckSummary, min_rtt: u64) -> Option<RateSample> {
        self.delivered += u64::from(summary.delivered);
        if self.app_limited.is_some_and(|until| self.delivered > until) {
            self.app_limited = None;
        }
        if summary.delivered > 0 {
            self.delivered_time = now;
        }
        let Sent { at, tx, .. } = *summary.newest_delivered.iter().flatten().max_by_key(|sent| (sent.at, sent.end))?;
        self.first_sent_time = at;
        let (send_interval, ack_interval) = (between(tx.first_sent_time, at), between(tx.delivered_time, now));
        let interval_us = send_interval.max(ack_interval);
        // Shorter than min_RTT: the ACK is for the original, not for the retransmission.
        let interval_us = if interval_us < min_rtt / 1000 { 0 } else { interval_us };
        let delivered = self.delivered - tx.delivered;
        Some(RateSample { delivered, prior_delivered: tx.delivered, interval_us, app_limited: tx.app_limited })
    }
}

/// Microseconds from one moment to another, on a clock of microseconds.
pub(super) fn between(earlier: Time, later: Time) -> u64 {
    (later.as_nanos() / 1000).saturating_sub(earlier.as_nanos() / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn sent(tx: TxDelivery, ms: u64, number: u64) -> Sent {
        let (start, end) = (number, number + 1);
        let (fin, sacked, lost, retransmitted, ever_retransmitted) = (false, false, false, false, false);
        Sent { start, end, fin, at: at(ms), sacked, lost, retransmitted, ever_retransmitted, tx }
    }

    fn summary(delivered: u32, latest: Sent) -> AckSummary {
        AckSummary { delivered, newest_delivered: [Some(latest), None], ..AckSummary::default() }
    }

    /// Ten segments sent at 100 ms with nothing before, the last of them as `Sent`.
    fn ten(delivery: &mut Delivery) -> Sent {
        let txs: Vec<TxDelivery> = (0..10).map(|n| delivery.tx_delivery(at(100), n == 0)).collect();
        sent(txs[9], 100, 9)
    }

    #[test]
    fn a_flight_that_is_acknowledged_in_a_round_trip_is_its_segments_in_that_time() {
        let mut delivery = Delivery::new();
        let last = ten(&mut delivery);
        let sample = delivery.rate_sample(at(200), &summary(10, last), 100_000_000).unwrap();
        assert_eq!(sample, RateSample { delivered: 10, prior_delivered: 1, interval_us: 100_000, app_limited: true });
        assert_eq!((delivery.delivered(), delivery.is_app_limited()), (11, false));
    }

    #[test]
    fn acknowledgements_that_come_all_at_once_do_not_make_the_network_faster() {
        let mut delivery = Delivery::new();
        let first = ten(&mut delivery);
        delivery.rate_sample(at(200), &summary(10, first), 100_000_000);
        // One every 20 ms; all are heard of at 350 ms.
        let txs: Vec<TxDelivery> = (0..10).map(|n| delivery.tx_delivery(at(200 + 20 * n), n == 0)).collect();
        let last = sent(txs[9], 380, 19);
        let sample = delivery.rate_sample(at(480), &summary(10, last), 100_000_000).unwrap();
        assert_eq!((sample.delivered, sample.interval_us), (10, 280_000));
        // By the time of sending alone: sent from 480 to 900, the first of the next is sent at once.
        let next = sent(delivery.tx_delivery(at(900), false), 900, 20);
        let sample = delivery.rate_sample(at(910), &summary(1, next), 1_000_000).unwrap();
        assert_eq!((sample.delivered, sample.interval_us), (1, 520_000), "from 380, when the last was sent, to 900");
    }

    #[test]
    fn what_is_delivered_in_less_than_a_round_trip_says_nothing() {
        let mut delivery = Delivery::new();
        let last = ten(&mut delivery);
        let sample = delivery.rate_sample(at(150), &summary(1, last), 50_000_000).unwrap();
        assert_eq!(sample.interval_us, 50_000);
        let next = sent(delivery.tx_delivery(at(151), false), 151, 10);
        let sample = delivery.rate_sample(at(199), &summary(1, next), 50_000_000).unwrap();
        assert_eq!(sample.interval_us, 51_000, "the time of sending counts");
        let next = sent(delivery.tx_delivery(at(199), true), 199, 11);
        assert_eq!(delivery.rate_sample(at(248), &summary(1, next), 50_000_000).unwrap().interval_us, 0);
    }

    #[test]
    fn app_limited_lasts_until_all_in_flight_is_delivered_and_one_more() {
        let mut delivery = Delivery::new();
        let last = ten(&mut delivery);
        delivery.set_app_limited(10);
        delivery.rate_sample(at(200), &summary(10, last), 0);
        assert!(delivery.tx_delivery(at(201), true).app_limited, "eleven are delivered, eleven was the limit");
        let next = sent(delivery.tx_delivery(at(201), true), 201, 10);
        assert!(delivery.rate_sample(at(301), &summary(1, next), 0).unwrap().app_limited);
        assert!(!delivery.tx_delivery(at(302), true).app_limited);
    }
}
