//! What the sender does for a congestion control that goes by a model of the path: it measures the rate of
//! delivery, and paces.

use super::{Phase, Sender};
use crate::tcp::congestion::bbr::{Ack, Repair};
use crate::tcp::flight::{News, Stamp};
use loadstone_units::Time;

/// What there was before an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    in_flight: u32,
    losses: u64,
}

impl Sender {
    /// When something may be sent that only the pacer holds back; [`Time::NEVER`] if it holds nothing.
    #[inline]
    pub(in crate::tcp) fn release(&self) -> Time {
        self.controller.release()
    }

    /// The connection is established.
    pub(super) fn begin_pacing(&mut self, now: Time) {
        if let Some(paced) = self.controller.paced() {
            let delivered = paced.delivery.delivered();
            paced.bbr.begin(now, &self.window, self.rtt.smoothed(), self.rtt.least(), delivered);
        }
    }

    pub(super) fn stop_pacing(&mut self) {
        if let Some(paced) = self.controller.paced() {
            paced.pacer.stop();
        }
    }

    /// The program is about to write: had it nothing for too long? (`tcp_rate_check_app_limited`)
    pub(super) fn note_shortage(&mut self) {
        let (unsent, in_flight) = (self.unsent(), self.flight.on_their_way());
        let Some(paced) = self.controller.paced() else { return };
        let is_all_repaired = self.flight.lost() <= self.flight.again();
        if unsent < u64::from(self.rules.constants.mss) && in_flight < self.window.cwnd && is_all_repaired {
            paced.delivery.note_limit(in_flight);
        }
    }

    /// Whether the pacer lets nothing go yet.
    #[inline]
    pub(super) fn is_held(&mut self, now: Time) -> bool {
        self.controller.is_by_model() && self.pacer_holds(now)
    }

    fn pacer_holds(&mut self, now: Time) -> bool {
        let pending = self.flight.lost() > 0 || self.nxt < self.written + u64::from(self.is_ending());
        self.controller.paced().is_some_and(|paced| paced.pacer.holds(now, pending))
    }

    /// A segment with `bytes` of data is about to be sent: what it shall remember.
    #[inline]
    pub(super) fn stamp(&mut self, now: Time, bytes: u64) -> Stamp {
        if self.controller.is_by_model() { self.pace(now, bytes) } else { Stamp::default() }
    }

    fn pace(&mut self, now: Time, bytes: u64) -> Stamp {
        let (in_flight, outstanding) = (self.flight.on_their_way(), self.flight.len());
        let Some(paced) = self.controller.paced() else { return Stamp::default() };
        if in_flight == 0 && bytes > 0 && paced.delivery.is_limited() {
            paced.bbr.on_start(now, &mut self.window, paced.delivery.at());
        }
        paced.pacer.note_sent(now, bytes, paced.bbr.rate());
        paced.delivery.stamp(now, outstanding == 0)
    }

    /// A segment without data leaves.
    #[inline]
    pub(in crate::tcp) fn note_bare(&mut self, now: Time) {
        if let Some(paced) = self.controller.paced() {
            paced.pacer.note_bare(now);
        }
    }

    pub(super) fn before(&self) -> Before {
        Before { in_flight: self.flight.on_their_way(), losses: self.flight.losses() }
    }

    /// An acknowledgement that brought `news`, and a round trip of `rtt` ns.
    pub(super) fn follow_the_model(&mut self, now: Time, news: &News, rtt: Option<u64>, before: Before) {
        let Some(paced) = self.controller.paced() else { return };
        let rate = paced.delivery.sample(now, news, self.rtt.least());
        let delivered = paced.delivery.delivered();
        let in_flight = self.flight.on_their_way();
        // A lone segment that is not full, with nothing delivered meanwhile: the receiver may have waited.
        let is_small = news.acked.is_some() && news.delivered == 1 && news.bytes < u64::from(self.rules.constants.mss);
        let ack = Ack {
            now,
            rate,
            rtt: rtt.map(|nanos| nanos / 1000),
            delayed: is_small && rate.is_some_and(|rate| rate.delivered == 1),
            acked: news.delivered,
            losses: (self.flight.losses() - before.losses) as u32,
            delivered,
            lost: self.flight.losses(),
            delivered_at: paced.delivery.at(),
            prior_in_flight: before.in_flight,
            in_flight,
            next_send: paced.pacer.next(),
            repair: match self.phase {
                Phase::Open | Phase::Disorder => Repair::None,
                Phase::Recovery => Repair::Recovery,
                Phase::Loss => Repair::Loss,
            },
        };
        let was_probing = paced.bbr.is_probing_rtt();
        paced.bbr.on_ack(&mut self.window, &ack);
        if was_probing || paced.bbr.is_probing_rtt() {
            // That next to nothing is sent must not look like a slow network.
            paced.delivery.note_limit(in_flight);
        }
    }
}
