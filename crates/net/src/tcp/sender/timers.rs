//! The sender's timer: tail loss probe, RACK's reordering timeout or retransmission timeout, one at a time
//! (`icsk_pending` of Linux).

use super::{ForcedSend, Sender, Transmission};
use crate::tcp::congestion::{CongestionState, RttSample};
use crate::tcp::repair::Repair;
use crate::tcp::rules::LossDetection;
use loadstone_units::Time;

/// What the PTO adds to two SRTT, and the reordering timeout to what is left of the reordering window, in ns
/// (`TCP_TIMEOUT_MIN_US`; two ticks before 6.6).
pub(super) const TIMEOUT_MIN: u64 = 2_000_000;

/// What the timer is set for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SenderTimer {
    /// The retransmission timeout (RFC 6298).
    Rto,
    /// A tail loss probe (RFC 8985, section 7.2).
    LossProbe,
    /// RACK's reordering timeout (RFC 8985, section 6.3).
    ReoTimeout,
}

/// A tail loss probe that has been sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tlp {
    /// SND.NXT when it was sent (TLP.end_seq).
    end_seq: u64,
    /// It was a retransmission (TLP.is_retrans).
    is_retrans: bool,
}

impl Sender {
    /// When [`Sender::handle_timeout`] is due.
    #[inline]
    pub(in crate::tcp) fn deadline(&self) -> Time {
        self.timer.1
    }

    /// The deadline has come.
    pub(in crate::tcp) fn handle_timeout(&mut self, now: Time) {
        self.timer.1 = Time::NEVER;
        if self.flight.is_empty() {
            return;
        }
        match self.timer.0 {
            SenderTimer::LossProbe if self.tlp.is_none() => self.forced = Some(ForcedSend::LossProbe),
            SenderTimer::LossProbe => self.set_timer(SenderTimer::Rto, now, self.time_left(now)),
            SenderTimer::ReoTimeout => self.handle_reordering_timeout(now),
            SenderTimer::Rto => self.handle_retransmission_timeout(now),
        }
    }

    pub(super) fn set_timer(&mut self, alarm: SenderTimer, now: Time, wait: u64) {
        self.timer = (alarm, now.plus_nanos(self.rules.timer(wait)));
    }

    /// How long it is until the RTO of the head of the queue, in ns.
    fn time_left(&self, now: Time) -> u64 {
        let sent = self.flight.first().map_or(now, |sent| sent.at);
        sent.plus_nanos(self.rto()).nanos_since(now).max(1)
    }

    /// Re-arms the RTO: SND.UNA has advanced, or data was sent with nothing outstanding (`tcp_rearm_rto`).
    pub(super) fn rearm(&mut self, now: Time) {
        if self.flight.is_empty() {
            self.timer.1 = Time::NEVER;
            return;
        }
        let wait = match self.timer.0 {
            SenderTimer::LossProbe | SenderTimer::ReoTimeout if self.timer.1 < Time::NEVER => self.time_left(now),
            _ => self.rto(),
        };
        self.set_timer(SenderTimer::Rto, now, wait);
    }

    /// Whether a tail loss probe may be scheduled (`tcp_schedule_loss_probe`).
    pub(super) fn may_schedule_pto(&self) -> bool {
        self.rules.mechanisms.tail_loss_probes && !self.flight.is_empty() && self.ca_state == CongestionState::Open
    }

    /// RFC 8985, section 7.2: the probe timeout (PTO) is two SRTT after the last transmission, more where only one
    /// segment is outstanding, whose ACK may be delayed. It is at most the RTO, counted from now if `restart`.
    pub(super) fn set_pto(&mut self, now: Time, restart: bool) {
        let smoothed = self.rtt.srtt();
        let wait = match smoothed {
            0 => self.rto(),
            _ if self.flight.len() == 1 => 2 * smoothed + self.rules.constants.rto_min.as_nanos() as u64,
            _ => 2 * smoothed + TIMEOUT_MIN,
        };
        let left = if restart { self.rto() } else { self.time_left(now) };
        self.set_timer(SenderTimer::LossProbe, now, wait.min(left));
    }

    /// RFC 8985, section 7.3: new data if there is any, else the last segment is retransmitted.
    pub(super) fn send_loss_probe(&mut self, now: Time) -> Option<Transmission> {
        let last = (self.flight.len() as usize).checked_sub(1)?;
        self.loss_recovery.tail_loss_probes += 1;
        let new = self.send_new(now).map(|new| Transmission { repair: Some(Repair::NewDataProbe), ..new });
        let is_retrans = new.is_none();
        let sent = new.unwrap_or_else(|| self.retransmit_for_tlp(now, last));
        self.tlp = Some(Tlp { end_seq: self.nxt, is_retrans });
        // The RTO is armed in place of the PTO.
        self.set_timer(SenderTimer::Rto, now, self.rto());
        self.cwv.sent = false;
        Some(sent)
    }

    /// Retransmits the segment at `index` as a tail loss probe: counted neither in `retrans_out` nor in
    /// `undo_retrans` (`__tcp_retransmit_skb`).
    fn retransmit_for_tlp(&mut self, now: Time, index: usize) -> Transmission {
        self.retransmissions += 1;
        let sent = self.flight.get(index);
        let tx = self.tx_delivery(now, sent.end - sent.start - u64::from(sent.fin));
        let sent = self.flight.retransmit_for_tlp(index, now, tx);
        self.last_sent = now;
        Transmission { range: sent.start..sent.end, fin: sent.fin, repair: Some(Repair::LossProbe) }
    }

    /// The initial `undo_retrans`: retransmissions in flight when a reduction begins, a TLP included
    /// (`tcp_init_undo`).
    pub(super) fn initial_undo_retrans(&self) -> u32 {
        self.flight.retrans_out() + u32::from(self.tlp.is_some_and(|tlp| tlp.is_retrans))
    }

    /// RFC 8985, section 7.4.2 (`tcp_process_tlp_ack`): ends the episode of a tail loss probe. Returns whether cwnd
    /// is to be reduced, since the probe repaired a loss that was not detected otherwise.
    pub(super) fn process_tlp_ack(&mut self, ack: u64, dsack_end: u64, is_pure: bool) -> bool {
        let Some(tlp) = self.tlp.filter(|tlp| ack >= tlp.end_seq) else { return false };
        let spurious = !tlp.is_retrans || dsack_end == tlp.end_seq;
        if spurious || ack > tlp.end_seq {
            self.tlp = None;
            return !spurious;
        }
        if is_pure {
            self.tlp = None;
        }
        false
    }

    fn handle_reordering_timeout(&mut self, now: Time) {
        let before = self.flight.in_flight();
        self.rack.detect_loss(now, &mut self.flight, self.ca_state >= CongestionState::Recovery, &self.rtt);
        if self.flight.in_flight() < before && self.ca_state != CongestionState::Recovery {
            self.enter_recovery();
            self.controller.cwnd_reduction(&mut self.window, 1, self.flight.in_flight(), false);
        }
        // Segments that are not marked lost yet wait for an ACK (`tcp_rack_reo_timeout`).
        self.set_timer(SenderTimer::Rto, now, self.time_left(now));
    }

    /// RFC 6298, section 5; segments are marked lost as in RFC 6675, section 5.1, or RFC 8985, section 6.3.
    fn handle_retransmission_timeout(&mut self, now: Time) {
        self.loss_recovery.timeouts += 1;
        let was_repairing = self.ca_state >= CongestionState::Recovery;
        for index in 0..self.flight.len() as usize {
            let recent =
                self.rules.detection() == LossDetection::Rack && self.rack.is_recent(now, self.flight.get(index));
            if index == 0 || !recent {
                self.flight.mark_lost(index);
            }
        }
        // RFC 5681, section 3.1: once for each loss of data.
        if self.ca_state <= CongestionState::Disorder
            || self.una >= self.high_seq
            || (self.ca_state == CongestionState::Loss && self.retransmits == 0)
        {
            self.undo.begin(self.una, self.initial_undo_retrans(), &self.window);
            self.window.ssthresh = self.ssthresh_after_loss(self.flight_size().min(self.window.cwnd));
        }
        let (una, nxt) = (self.una, self.nxt);
        self.controller.on_timeout(RttSample { now, rtt: 0, una, nxt });
        self.window.cwnd = self.flight.in_flight() + 1;
        self.window.cwnd_cnt = 0;
        self.cwv.snd_cwnd_stamp = now;
        self.ca_state = CongestionState::Loss;
        (self.high_seq, self.high_rxt) = (self.nxt, self.una);
        self.frto = self.rules.mechanisms.frto && (!was_repairing || self.retransmits > 0);
        self.rexmit_new = false;
        self.tlp = None;
        self.retransmits += 1;
        self.rtt.back_off();
        self.forced = Some(ForcedSend::Head);
        self.set_timer(SenderTimer::Rto, now, self.rto());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::Config;
    use crate::tcp::flight::AckSummary;
    use crate::tcp::mechanisms::Mechanisms;
    use crate::tcp::segment::{Flags, Sacks, Segment};

    const MSS: u64 = 1448;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// An ACK of `ack` with one SACK block `sacked` and the TSecr `ts_ecr`.
    fn acknowledgement(now: Time, ack: u64, sacked: std::ops::Range<u64>, ts_ecr: Time) -> Segment {
        let mut sacks = Sacks::default();
        if !sacked.is_empty() {
            sacks.push(ack, sacked);
        }
        let flags = Flags { ack: true, ..Flags::default() };
        let (seq, len, window, dsack_end, repair) = (1, 0, 1_000_000, 0, None);
        Segment { seq, ack, len, window, flags, ts_val: now, ts_ecr, sacks, dsack_end, repair }
    }

    fn acknowledge(sender: &mut Sender, now: Time, ack: u64, sacked: std::ops::Range<u64>, ts_ecr: Time) {
        sender.handle_ack(now, &acknowledgement(now, ack, sacked, ts_ecr));
        while sender.poll(now, 0).is_some() {}
    }

    #[test]
    fn after_the_reordering_timer_the_rto_counts_from_the_head_of_the_queue() {
        // After the reordering timer has expired and nothing was lost, and after an acknowledgement that does without
        // it.
        for expires in [true, false] {
            let config = Config::default();
            let mut sender = Sender::new(&config, config.rules());
            sender.snd_wnd_end = 1_000_000;
            sender.write(10 * MSS);
            while sender.poll(at(100), 0).is_some() {}
            sender.ca_state = CongestionState::Recovery;
            sender.high_seq = sender.nxt;
            sender.set_timer(SenderTimer::ReoTimeout, at(140), 10_000_000);
            if expires {
                let deadline = sender.deadline();
                sender.handle_timeout(deadline);
            } else {
                acknowledge(&mut sender, at(140), 1 + MSS, 0..0, at(100));
            }
            // A second before the first round trip is known, 40 + 200 ms after it; and what the timer's ticks take.
            let due = 100 + if expires { 1000 } else { 240 };
            let late = sender.deadline().nanos_since(at(due)) / 1_000_000;
            assert_eq!((sender.timer.0, late < 32), (SenderTimer::Rto, true), "{:?}", sender.deadline());
        }
    }

    #[test]
    fn a_timeout_does_not_count_as_lost_what_was_sent_within_the_last_round_trip_rfc8985_6_3() {
        let config = Config::default();
        let mut sender = Sender::new(&config, config.rules());
        sender.snd_wnd_end = 1_000_000;
        sender.write(100 * MSS);
        while sender.poll(at(100), 0).is_some() {}
        // The round trip is 40 ms; what this acknowledgement lets out is 20 ms old at the timeout.
        acknowledge(&mut sender, at(140), 1 + MSS, 0..0, at(100));
        let recent = sender.flight.iter().filter(|sent| sent.at == at(140)).count() as u32;
        sender.set_timer(SenderTimer::Rto, at(140), 20_000_000);
        sender.handle_timeout(at(160));
        assert!(recent > 0 && sender.ca_state == CongestionState::Loss);
        assert_eq!((sender.flight.lost_out(), sender.flight.in_flight()), (9, recent));
        // A round trip later it counts.
        sender.set_timer(SenderTimer::Rto, at(160), 20_000_000);
        sender.handle_timeout(at(180));
        assert_eq!(sender.flight.in_flight(), 0);
    }

    #[test]
    fn a_retransmission_lost_after_a_timeout_leads_to_recovery_even_when_a_timer_tells() {
        let mechanisms = Mechanisms { tail_loss_probes: Some(false), ..Mechanisms::default() };
        let config = Config { mechanisms, ..Config::default() };
        let mut sender = Sender::new(&config, config.rules());
        sender.snd_wnd_end = 1_000_000;
        sender.write(10 * MSS);
        while sender.poll(at(100), 0).is_some() {}
        while sender.ca_state != CongestionState::Loss {
            let deadline = sender.deadline();
            sender.handle_timeout(deadline);
            while sender.poll(deadline, 0).is_some() {}
        }
        // The first retransmission arrives; of the next two only the second does, on a path that is known
        // to change the order of packets.
        let first = sender.last_sent;
        let next = first.plus_nanos(100_000_000);
        acknowledge(&mut sender, next, 1 + MSS, 0..0, first);
        assert_eq!((sender.ca_state, sender.last_sent), (CongestionState::Loss, next));
        let summary = AckSummary { reord: Some(1), fack: 1 + 4 * MSS, ..AckSummary::default() };
        sender.rack.update(next, &summary, &sender.rtt, &acknowledgement(next, 1, 0..0, first), MSS as u32);
        let then = next.plus_nanos(100_000_000);
        acknowledge(&mut sender, then, 1 + MSS, 1 + 2 * MSS..1 + 3 * MSS, next);
        assert_eq!((sender.ca_state, sender.timer.0), (CongestionState::Loss, SenderTimer::ReoTimeout));
        let deadline = sender.deadline();
        sender.handle_timeout(deadline);
        assert_eq!(sender.ca_state, CongestionState::Recovery);
    }

    /// A probe up to 50: what an ACK does to it, and whether cwnd shrinks.
    #[test]
    fn a_tail_loss_probe_ends_by_what_an_ack_says_of_it_rfc8985_7_4_2() {
        for (is_retrans, ack, dsack_end, is_pure, (reduces, goes_on)) in [
            // Below its end.
            (true, 49, 0, true, (false, true)),
            (true, 49, 50, true, (false, true)),
            // Beyond its end: it has repaired a loss.
            (true, 51, 0, false, (true, false)),
            (true, 51, 49, false, (true, false)),
            // Reported as a duplicate, so the original had arrived.
            (true, 50, 50, false, (false, false)),
            (true, 51, 50, false, (false, false)),
            // A pure duplicate of the ACK for the original.
            (true, 50, 0, true, (false, false)),
            // The ACK for the original or for the probe: not known yet.
            (true, 50, 0, false, (false, true)),
            (true, 50, 49, false, (false, true)),
            // New data was no retransmission.
            (false, 50, 0, false, (false, false)),
            (false, 51, 0, false, (false, false)),
            (false, 49, 0, false, (false, true)),
        ] {
            let config = Config::default();
            let mut sender = Sender::new(&config, config.rules());
            sender.tlp = Some(Tlp { end_seq: 50, is_retrans });
            let found = (sender.process_tlp_ack(ack, dsack_end, is_pure), sender.tlp.is_some());
            assert_eq!(
                found,
                (reduces, goes_on),
                "retransmission {is_retrans}, ACK {ack}, D-SACK {dsack_end}, pure {is_pure}"
            );
        }
    }

    #[test]
    fn a_probe_that_is_a_retransmission_counts_for_undo_from_the_beginning() {
        let config = Config::default();
        let mut sender = Sender::new(&config, config.rules());
        for (tlp, expected) in [(None, 0), (Some(false), 0), (Some(true), 1)] {
            sender.tlp = tlp.map(|is_retrans| Tlp { end_seq: 50, is_retrans });
            assert_eq!(sender.initial_undo_retrans(), expected);
        }
    }
}
