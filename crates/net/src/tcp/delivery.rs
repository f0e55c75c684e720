//! Samples of the rate at which the network delivers (draft-cheng-iccrg-delivery-rate-estimation,
//! `tcp_rate.c` of Linux).
//!
//! Every segment remembers how much had been delivered when it was sent. When it is delivered itself, what
//! came in between and how long that took is a sample: at least the time it took to send, so that
//! acknowledgements that were held up and come all at once do not look like a fast network.

use super::flight::{AckSummary, Sent, Stamp};
use loadstone_units::Time;

/// What has been delivered.
#[derive(Debug)]
pub(super) struct Delivery {
    /// Segments delivered so far.
    delivered: u64,
    /// When the last of them was.
    at: Time,
    /// When the segment was sent whose delivery was last heard of.
    first_sent: Time,
    /// There was less to send than was allowed. Until more segments than these are delivered, samples tell
    /// of the program and not of the network.
    limited: Option<u64>,
}

/// The rate of delivery over the flight of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RateSample {
    /// Segments delivered from when it was sent to when that was heard of.
    pub(super) delivered: u64,
    /// Segments that had been delivered when it was sent.
    pub(super) prior: u64,
    /// How long that took, in µs; 0 if it was too short to be believed.
    pub(super) micros: u64,
    /// There was less to send than was allowed.
    pub(super) app_limited: bool,
}

impl Delivery {
    /// That of a connection which has been opened: its SYN, or the answer to one, is delivered. Until more
    /// is, there was nothing to send.
    pub(super) fn new() -> Delivery {
        Delivery { delivered: 1, at: Time::ZERO, first_sent: Time::ZERO, limited: Some(1) }
    }

    /// Segments delivered so far.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// When the last of them was.
    pub(super) fn at(&self) -> Time {
        self.at
    }

    /// Whether there was less to send than was allowed.
    pub(super) fn is_limited(&self) -> bool {
        self.limited.is_some()
    }

    /// There is less to send than is allowed, with `in_flight` segments on their way
    /// (`tcp_rate_check_app_limited`).
    pub(super) fn note_limit(&mut self, in_flight: u32) {
        self.limited = Some(self.delivered + u64::from(in_flight));
    }

    /// What a segment remembers that is sent now (`tcp_rate_skb_sent`); `alone` if nothing else is
    /// outstanding.
    pub(super) fn stamp(&mut self, now: Time, alone: bool) -> Stamp {
        if alone {
            // The network was idle until now, so that is when the measurement begins.
            (self.first_sent, self.at) = (now, now);
        }
        Stamp {
            delivered: self.delivered,
            delivered_at: self.at,
            first_sent: self.first_sent,
            app_limited: self.is_limited(),
        }
    }

    /// An acknowledgement (`tcp_rate_skb_delivered`, `tcp_rate_gen`); `least` is the smallest round trip in
    /// ns. Gives the sample of the segment last sent among those newly delivered.
    pub(super) fn sample(&mut self, now: Time, news: &AckSummary, least: u64) -> Option<RateSample> {
        self.delivered += u64::from(news.delivered);
        if self.limited.is_some_and(|until| self.delivered > until) {
            self.limited = None;
        }
        if news.delivered > 0 {
            self.at = now;
        }
        let Sent { at, stamp, .. } = *news.latest.iter().flatten().max_by_key(|sent| (sent.at, sent.end))?;
        self.first_sent = at;
        let (sending, hearing) = (between(stamp.first_sent, at), between(stamp.delivered_at, now));
        let micros = sending.max(hearing);
        // What seems to have been delivered in less than a round trip was delivered before it was sent again.
        let micros = if micros < least / 1000 { 0 } else { micros };
        let delivered = self.delivered - stamp.delivered;
        Some(RateSample { delivered, prior: stamp.delivered, micros, app_limited: stamp.app_limited })
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

    fn sent(stamp: Stamp, ms: u64, number: u64) -> Sent {
        let (start, end) = (number, number + 1);
        let (fin, sacked, lost, again, repeated) = (false, false, false, false, false);
        Sent { start, end, fin, at: at(ms), sacked, lost, again, repeated, stamp }
    }

    fn news(delivered: u32, latest: Sent) -> AckSummary {
        AckSummary { delivered, latest: [Some(latest), None], ..AckSummary::default() }
    }

    /// Ten segments sent at 100 ms with nothing before, the last of them as `Sent`.
    fn ten(delivery: &mut Delivery) -> Sent {
        let stamps: Vec<Stamp> = (0..10).map(|n| delivery.stamp(at(100), n == 0)).collect();
        sent(stamps[9], 100, 9)
    }

    #[test]
    fn a_flight_that_is_acknowledged_in_a_round_trip_is_its_segments_in_that_time() {
        let mut delivery = Delivery::new();
        let last = ten(&mut delivery);
        let sample = delivery.sample(at(200), &news(10, last), 100_000_000).unwrap();
        assert_eq!(sample, RateSample { delivered: 10, prior: 1, micros: 100_000, app_limited: true });
        assert_eq!((delivery.delivered(), delivery.is_limited()), (11, false));
    }

    #[test]
    fn acknowledgements_that_come_all_at_once_do_not_make_the_network_faster() {
        let mut delivery = Delivery::new();
        let first = ten(&mut delivery);
        delivery.sample(at(200), &news(10, first), 100_000_000);
        // One every 20 ms; all are heard of at 350 ms.
        let stamps: Vec<Stamp> = (0..10).map(|n| delivery.stamp(at(200 + 20 * n), n == 0)).collect();
        let last = sent(stamps[9], 380, 19);
        let sample = delivery.sample(at(480), &news(10, last), 100_000_000).unwrap();
        assert_eq!((sample.delivered, sample.micros), (10, 280_000));
        // By the time of sending alone: sent from 480 to 900, the first of the next is sent at once.
        let next = sent(delivery.stamp(at(900), false), 900, 20);
        let sample = delivery.sample(at(910), &news(1, next), 1_000_000).unwrap();
        assert_eq!((sample.delivered, sample.micros), (1, 520_000), "from 380, when the last was sent, to 900");
    }

    #[test]
    fn what_is_delivered_in_less_than_a_round_trip_says_nothing() {
        let mut delivery = Delivery::new();
        let last = ten(&mut delivery);
        let sample = delivery.sample(at(150), &news(1, last), 50_000_000).unwrap();
        assert_eq!(sample.micros, 50_000);
        let next = sent(delivery.stamp(at(151), false), 151, 10);
        let sample = delivery.sample(at(199), &news(1, next), 50_000_000).unwrap();
        assert_eq!(sample.micros, 51_000, "the time of sending counts");
        let next = sent(delivery.stamp(at(199), true), 199, 11);
        assert_eq!(delivery.sample(at(248), &news(1, next), 50_000_000).unwrap().micros, 0);
    }

    #[test]
    fn a_shortage_of_data_lasts_until_all_that_was_on_its_way_is_delivered_and_one_more() {
        let mut delivery = Delivery::new();
        let last = ten(&mut delivery);
        delivery.note_limit(10);
        delivery.sample(at(200), &news(10, last), 0);
        assert!(delivery.stamp(at(201), true).app_limited, "eleven are delivered, eleven was the limit");
        let next = sent(delivery.stamp(at(201), true), 201, 10);
        assert!(delivery.sample(at(301), &news(1, next), 0).unwrap().app_limited);
        assert!(!delivery.stamp(at(302), true).app_limited);
    }
}
