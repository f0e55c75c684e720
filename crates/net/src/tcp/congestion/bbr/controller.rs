//! BBR as a [`Controller`]: measures the delivery rate, sets the pacer, and replaces the loss-based methods.

use super::{Bandwidth, Bbr, BbrSample};
use crate::tcp::congestion::{AckSample, CongestionState, CongestionWindow, Controller, RttSample, SentPacket};
use crate::tcp::flight::TxDelivery;
use crate::tcp::rtt::Rtt;
use loadstone_units::Time;

impl Controller for Bbr {
    fn on_established(&mut self, window: &mut CongestionWindow, now: Time, rtt: &Rtt) {
        self.init(now, window, rtt.srtt(), rtt.min_rtt());
    }

    fn is_model_based(&self) -> bool {
        true
    }

    fn on_app_limited(&mut self, in_flight: u32) {
        self.delivery.set_app_limited(in_flight);
    }

    fn on_sent(&mut self, window: &mut CongestionWindow, packet: &SentPacket) -> TxDelivery {
        let &SentPacket { now, bytes, outstanding, in_flight } = packet;
        if in_flight == 0 && bytes > 0 && self.delivery.is_app_limited() {
            self.handle_tx_start(now, window, self.delivery.delivered_time());
        }
        window.pacer.note_sent(now, bytes, self.pacing_rate);
        self.delivery.tx_delivery(now, outstanding == 0)
    }

    fn on_ack(&mut self, window: &mut CongestionWindow, ack: &AckSample) {
        let rate = self.delivery.rate_sample(ack.now, ack.summary, ack.rtt.min_rtt());
        let sample = BbrSample {
            now: ack.now,
            rate_sample: rate,
            rtt: ack.rtt_sample.map(|nanos| nanos / 1000),
            // One segment that is not full, and nothing else delivered: the ACK may have been delayed.
            delayed: self.is_small(ack) && rate.is_some_and(|rate| rate.delivered == 1),
            acked: ack.summary.delivered,
            losses: ack.losses,
            delivered: self.delivery.delivered(),
            lost: ack.lost,
            delivered_time: self.delivery.delivered_time(),
            prior_in_flight: ack.prior_in_flight,
            in_flight: ack.in_flight,
            next_send: window.pacer.next_send(),
            ca_state: ack.ca_state,
        };
        let was_probing = self.is_probing_rtt();
        self.bbr_main(window, &sample);
        if was_probing || self.is_probing_rtt() {
            // The small cwnd must not look like a slow network.
            self.delivery.set_app_limited(ack.in_flight);
        }
    }

    /// `set_cwnd_to_recover_or_restore` handles losses (section 4.2.3.4).
    fn cwnd_reduction(&mut self, _: &mut CongestionWindow, _: u32, _: u32, _: bool) {}

    /// Leaves ssthresh, and saves cwnd (`bbr_ssthresh`).
    fn ssthresh(&mut self, window: &CongestionWindow, _: u32) -> u32 {
        self.save_cwnd(window);
        window.ssthresh
    }

    fn end_cwnd_reduction(&mut self, _: &mut CongestionWindow) {}

    /// Leaves cwnd, which recovers by itself; the pipe may not have been full (`bbr_undo_cwnd`).
    fn on_undo(&mut self, _: &mut CongestionWindow, _: u32) {
        (self.full_bw.bandwidth, self.full_bw.count) = (Bandwidth::default(), 0);
        self.lt_bw.reset();
    }

    /// Also ends the round (`bbr_set_state`).
    fn on_timeout(&mut self, _: RttSample) {
        self.prev_ca_state = CongestionState::Loss;
        self.full_bw.bandwidth = Bandwidth::default();
        self.round.round_start = true;
    }

    /// cwnd may be full for one more round trip during recovery (`bbr_sndbuf_expand`).
    fn sndbuf_expand(&self) -> u64 {
        3
    }
}

impl Bbr {
    fn is_small(&self, ack: &AckSample) -> bool {
        ack.summary.acked_times.is_some() && ack.summary.delivered == 1 && ack.summary.bytes < u64::from(self.mss)
    }
}
