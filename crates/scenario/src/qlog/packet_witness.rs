//! One end of a connection: what it knows of its packets in flight, from those that it sends and receives.

use super::events::{
    EventData, PacketHeader, QlogFrame, RawInfo, RecoveryMetrics, TraceEvent, lost_trigger, sent_trigger,
};
use crate::{Captured, CongestionWindowAt, Repetition};
use loadstone_net::tcp::Repair;
use loadstone_units::Time;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// A packet as it leaves this end or arrives there.
#[derive(Clone)]
pub(super) struct SeenPacket<'a> {
    /// Nanoseconds since the first SYN.
    pub(super) at: i64,
    /// Its place among those of its sender.
    pub(super) number: u64,
    pub(super) packet: &'a Captured,
    pub(super) repetition: Repetition,
}

/// A packet of this end that is in flight by its account.
struct UnackedPacket {
    sent: i64,
    numbers: Range<u64>,
    len: u32,
    /// It repeats others, so it gives no round trip (Karn's algorithm).
    is_again: bool,
}

pub(super) struct PacketWitness {
    host: u32,
    mss: u64,
    windows: VecDeque<(Time, u64)>,
    in_flight: BTreeMap<u64, UnackedPacket>,
    bytes_in_flight: u64,
    told: RecoveryMetrics,
    smoothed: Option<f64>,
}

impl PacketWitness {
    /// One whose full segments have so many bytes of data, and whose congestion windows are these.
    pub(super) fn new<'a>(host: u32, mss: u32, windows: impl Iterator<Item = &'a CongestionWindowAt>) -> PacketWitness {
        let windows = windows.map(|window| (window.at, u64::from(window.segments))).collect();
        let (in_flight, told, smoothed) = (BTreeMap::new(), RecoveryMetrics::default(), None);
        PacketWitness { host, mss: mss.into(), windows, in_flight, bytes_in_flight: 0, told, smoothed }
    }

    /// The events of a packet, in their order.
    pub(super) fn see(&mut self, seen: &SeenPacket<'_>) -> Vec<TraceEvent> {
        if seen.packet.sender == self.host { self.send(seen) } else { self.receive(seen) }
    }

    fn send(&mut self, seen: &SeenPacket<'_>) -> Vec<TraceEvent> {
        let packet = seen.packet;
        let mut events: Vec<_> = self.give_up(seen).into_iter().map(|number| lost(seen, number)).collect();
        let numbers = packet.numbers();
        let frames: Vec<_> = stream(packet).into_iter().collect();
        events.push(event(seen, "transport:packet_sent", of_packet(seen, frames, sent_trigger(packet.repair))));
        if !numbers.is_empty() {
            let is_again = seen.repetition != Repetition::New;
            let (sent, len) = (seen.at, packet.len);
            self.bytes_in_flight += u64::from(len);
            self.in_flight.insert(seen.number, UnackedPacket { sent, numbers, len, is_again });
        }
        events.extend(self.metrics(seen, None));
        events
    }

    /// The packets that a retransmission shows were taken for lost: those in flight whose numbers it has. A tail loss probe
    /// takes none for lost.
    fn give_up(&mut self, seen: &SeenPacket<'_>) -> Vec<u64> {
        let is_probe = matches!(seen.packet.repair, Some(Repair::LossProbe | Repair::NewDataProbe));
        if seen.repetition == Repetition::New || is_probe {
            return Vec::new();
        }
        let numbers = seen.packet.numbers();
        let has = |held: &Range<u64>| numbers.start <= held.start && held.end <= numbers.end;
        let given_up = self.in_flight.iter().filter(|(_, held)| has(&held.numbers)).map(|(number, _)| *number);
        let given_up: Vec<u64> = given_up.collect();
        for number in &given_up {
            self.take(*number);
        }
        given_up
    }

    fn receive(&mut self, seen: &SeenPacket<'_>) -> Vec<TraceEvent> {
        let packet = seen.packet;
        let acked = self.acknowledge(packet);
        let round_trip = acked.last().filter(|(_, held)| !held.is_again).map(|(_, held)| ms(seen.at - held.sent));
        let mut frames: Vec<_> = stream(packet).into_iter().collect();
        if !acked.is_empty() {
            frames.push(QlogFrame::Ack { acked_ranges: ranges(acked.iter().map(|(number, _)| *number)) });
        }
        let mut events = vec![event(seen, "transport:packet_received", of_packet(seen, frames, None))];
        events.extend(self.metrics(seen, round_trip));
        events
    }

    /// Takes out of flight what a packet acknowledges.
    fn acknowledge(&mut self, packet: &Captured) -> Vec<(u64, UnackedPacket)> {
        if !packet.flags.ack {
            return Vec::new();
        }
        let is_covered = |numbers: &Range<u64>| {
            let in_block = |block: &Range<u64>| block.start <= numbers.start && numbers.end <= block.end;
            numbers.end <= packet.ack || packet.sacks.iter().any(in_block)
        };
        let acked = self.in_flight.iter().filter(|(_, held)| is_covered(&held.numbers)).map(|(number, _)| *number);
        let acked: Vec<u64> = acked.collect();
        acked.into_iter().filter_map(|number| Some((number, self.take(number)?))).collect()
    }

    fn take(&mut self, number: u64) -> Option<UnackedPacket> {
        let taken = self.in_flight.remove(&number)?;
        self.bytes_in_flight -= u64::from(taken.len);
        Some(taken)
    }

    /// The metrics, if one of them has changed; with the round trip that was measured, in ms.
    fn metrics(&mut self, seen: &SeenPacket<'_>, round_trip: Option<f64>) -> Option<TraceEvent> {
        let mut now = RecoveryMetrics { bytes_in_flight: Some(self.bytes_in_flight), ..self.told };
        while self.windows.front().is_some_and(|(at, _)| at.as_nanos() as i64 <= seen.at.max(0)) {
            let (_, segments) = self.windows.pop_front()?;
            now.congestion_window = Some(segments * self.mss);
        }
        if let Some(latest) = round_trip {
            // RFC 6298, section 2.
            let smoothed = self.smoothed.map_or(latest, |smoothed| smoothed * 7.0 / 8.0 + latest / 8.0);
            self.smoothed = Some(smoothed);
            now.latest_rtt = Some(latest);
            now.smoothed_rtt = Some(smoothed);
            now.min_rtt = Some(now.min_rtt.map_or(latest, |least| least.min(latest)));
        }
        let has_changed = now != self.told;
        self.told = now;
        has_changed.then(|| event(seen, "recovery:metrics_updated", EventData::Metrics(now)))
    }
}

fn of_packet(seen: &SeenPacket<'_>, frames: Vec<QlogFrame>, trigger: Option<&'static str>) -> EventData {
    let Captured { bytes, len, flags, .. } = seen.packet;
    let raw = RawInfo { length: *bytes, payload_length: *len };
    EventData::Packet { header: PacketHeader::new(seen.number), raw, frames, tcp_flags: flags.to_string(), trigger }
}

fn lost(seen: &SeenPacket<'_>, number: u64) -> TraceEvent {
    let trigger = lost_trigger(seen.packet.repair);
    event(seen, "recovery:packet_lost", EventData::Lost { header: PacketHeader::new(number), trigger })
}

/// The data of a packet, as those of stream 0.
fn stream(packet: &Captured) -> Option<QlogFrame> {
    let (offset, fin) = (packet.seq.saturating_sub(1), packet.flags.fin);
    (packet.len > 0 || fin).then_some(QlogFrame::Stream { stream_id: 0, offset, length: packet.len, fin })
}

/// Numbers in their order as ranges, ends included.
fn ranges(numbers: impl Iterator<Item = u64>) -> Vec<[u64; 2]> {
    let mut ranges: Vec<[u64; 2]> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some([_, end]) if *end + 1 == number => *end = number,
            _ => ranges.push([number; 2]),
        }
    }
    ranges
}

fn event(seen: &SeenPacket<'_>, name: &'static str, data: EventData) -> TraceEvent {
    TraceEvent { time: ms(seen.at), name, data }
}

fn ms(nanos: i64) -> f64 {
    nanos as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CapturedFlags;
    use loadstone_net::tcp::LossDetection;
    use loadstone_net::{Fate, LinkId};

    const MS: i64 = 1_000_000;

    /// The server sends segments of 100 bytes; the client is host 1.
    fn packet(sender: u32, seq: u64, len: u32, ack: u64) -> Captured {
        Captured {
            entered: Time::ZERO,
            link: LinkId(0),
            connection: 0,
            host: 0,
            sender,
            flags: CapturedFlags { ack: true, ..CapturedFlags::default() },
            seq,
            len,
            ack,
            sacks: Vec::new(),
            dsack_end: 0,
            window: 65_535,
            timestamps: None,
            bytes: 52 + len,
            repair: None,
            fate: Fate::Delivered(Time::ZERO),
        }
    }

    fn names(events: &[TraceEvent]) -> Vec<&'static str> {
        events.iter().map(|event| event.name).collect()
    }

    #[test]
    fn what_is_sent_is_in_flight_until_it_is_acknowledged_or_given_up() {
        let window = CongestionWindowAt { at: Time::ZERO, connection: 0, segments: 10 };
        let mut server = PacketWitness::new(0, 100, [window].iter());
        let mut see = |ms: i64, number: u64, repetition: Repetition, packet: &Captured| {
            server.see(&SeenPacket { at: ms * MS, number, packet, repetition })
        };
        for number in 0..4 {
            let sent = see(0, number, Repetition::New, &packet(0, 1 + 100 * number, 100, 1));
            assert_eq!(names(&sent), ["transport:packet_sent", "recovery:metrics_updated"]);
        }
        // 0 is acknowledged, 2 and 3 by SACK: 1 is missing.
        let sack = Captured { sacks: std::iter::once(201..401).collect(), ..packet(1, 1, 0, 101) };
        let told = see(50, 0, Repetition::New, &sack);
        let EventData::Packet { frames, .. } = &told[0].data else { panic!("{told:?}") };
        assert_eq!(frames, &[QlogFrame::Ack { acked_ranges: vec![[0, 0], [2, 3]] }]);
        let EventData::Metrics(metrics) = told[1].data else { panic!("{told:?}") };
        assert_eq!((metrics.latest_rtt, metrics.bytes_in_flight), (Some(50.0), Some(100)));
        assert_eq!(metrics.congestion_window, Some(1000));
        // A probe gives up nothing; a retransmission does.
        let probe = Captured { repair: Some(Repair::LossProbe), ..packet(0, 101, 100, 1) };
        assert_eq!(names(&see(60, 4, Repetition::Needed, &probe))[0], "transport:packet_sent");
        let again = Captured { repair: Some(Repair::Fast(LossDetection::Rack)), ..probe };
        let lost = see(70, 5, Repetition::Needed, &again);
        assert_eq!(names(&lost)[..3], ["recovery:packet_lost", "recovery:packet_lost", "transport:packet_sent"]);
        let EventData::Lost { header, trigger } = &lost[0].data else { panic!("{lost:?}") };
        assert_eq!((header.packet_number, *trigger), (1, Some("time_threshold")));
        // What was sent again gives no round trip.
        let EventData::Metrics(metrics) = see(130, 1, Repetition::New, &packet(1, 1, 0, 401))[1].data else { panic!() };
        assert_eq!((metrics.latest_rtt, metrics.bytes_in_flight), (Some(50.0), Some(0)));
    }

    #[test]
    fn numbers_next_to_each_other_are_one_range() {
        assert_eq!(ranges([1, 2, 3, 7, 9, 10].into_iter()), [[1, 3], [7, 7], [9, 10]]);
        assert_eq!(ranges([].into_iter()), [[0; 2]; 0]);
    }
}
