//! What BBR makes of what it is told: it measures the rate of delivery and paces, and what goes by losses it
//! leaves alone.

use super::{Bandwidth, Bbr, Reading};
use crate::tcp::congestion::{Acked, CongestionState, CongestionWindow, Controller, Departure, Sample};
use crate::tcp::flight::Stamp;
use crate::tcp::rtt::Rtt;
use loadstone_units::Time;

impl Controller for Bbr {
    fn on_established(&mut self, window: &mut CongestionWindow, now: Time, rtt: &Rtt) {
        self.begin(now, window, rtt.smoothed(), rtt.least());
    }

    fn is_model_based(&self) -> bool {
        true
    }

    fn on_shortage(&mut self, in_flight: u32) {
        self.delivery.note_limit(in_flight);
    }

    fn on_sent(&mut self, window: &mut CongestionWindow, departure: &Departure) -> Stamp {
        let &Departure { now, bytes, outstanding, in_flight } = departure;
        if in_flight == 0 && bytes > 0 && self.delivery.is_limited() {
            self.restart(now, window, self.delivery.at());
        }
        window.pacer.note_sent(now, bytes, self.rate);
        self.delivery.stamp(now, outstanding == 0)
    }

    fn on_ack(&mut self, window: &mut CongestionWindow, ack: &Acked) {
        let rate = self.delivery.sample(ack.now, ack.news, ack.rtt.least());
        let reading = Reading {
            now: ack.now,
            rate,
            rtt: ack.sample.map(|nanos| nanos / 1000),
            // A lone segment that is not full, with nothing delivered meanwhile: the receiver may have waited.
            delayed: self.is_small(ack) && rate.is_some_and(|rate| rate.delivered == 1),
            acked: ack.news.delivered,
            losses: ack.losses,
            delivered: self.delivery.delivered(),
            lost: ack.lost,
            delivered_at: self.delivery.at(),
            prior_in_flight: ack.prior_in_flight,
            in_flight: ack.in_flight,
            next_send: window.pacer.next(),
            repair: ack.phase,
        };
        let was_probing = self.is_probing_rtt();
        self.follow(window, &reading);
        if was_probing || self.is_probing_rtt() {
            // That next to nothing is sent must not look like a slow network.
            self.delivery.note_limit(ack.in_flight);
        }
    }

    /// The window has its own rule for losses (section 4.2.3.4).
    fn shrink(&mut self, _: &mut CongestionWindow, _: u32, _: u32, _: bool) {}

    /// A loss says nothing of the threshold, but what the window was is worth remembering (`bbr_ssthresh`).
    fn ssthresh(&mut self, window: &CongestionWindow, _: u32) -> u32 {
        self.save(window);
        window.ssthresh
    }

    fn on_repaired(&mut self, _: &mut CongestionWindow) {}

    /// The window comes back by itself; what seemed full may not have been (`bbr_undo_cwnd`).
    fn on_undo(&mut self, _: &mut CongestionWindow, _: u32) {
        (self.pipe.bandwidth, self.pipe.rounds) = (Bandwidth::default(), 0);
        self.policer.reset();
    }

    /// That is the end of a round (`bbr_set_state`).
    fn on_timeout(&mut self, _: Sample) {
        self.repair = CongestionState::Loss;
        self.pipe.bandwidth = Bandwidth::default();
        self.round.begun = true;
    }

    /// The window may be full for a round trip longer, until losses are repaired (`bbr_sndbuf_expand`).
    fn windows_in_buffer(&self) -> u64 {
        3
    }
}

impl Bbr {
    fn is_small(&self, ack: &Acked) -> bool {
        ack.news.acked.is_some() && ack.news.delivered == 1 && ack.news.bytes < u64::from(self.mss)
    }
}
