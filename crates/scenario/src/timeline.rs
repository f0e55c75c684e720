//! How TCP fared over time on one connection: congestion window, round trip, queueing delay.
//!
//! Round trips and delays follow from the packets alone, so a run over the real kernel has them too; its congestion
//! windows are not known.

use crate::{Capture, Captured};
use loadstone_net::Fate;
use loadstone_units::Time;
use serde::Serialize;
use std::collections::BTreeMap;

/// Packets of fewer bytes are on the link for so much less time that their delay says little about the queue.
const FULL_BYTES: u32 = 1000;

/// A congestion window at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestionWindowAt {
    /// When its sender sent a segment.
    pub at: Time,
    /// The connection, by the order of opening.
    pub connection: u32,
    /// The window in segments.
    pub segments: u32,
}

/// How TCP fared on the connection that brought most: samples of time in ms, and a value.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Timeline {
    /// The connection, by the order of opening.
    pub connection: u32,
    /// The host to which it was opened.
    pub host: String,
    /// The server's congestion window, in segments; nothing over the real kernel.
    pub cwnd: Vec<(f64, f64)>,
    /// Between a segment's leaving the server and its acknowledgement's arrival there, in ms; of segments that were sent
    /// once (Karn's algorithm).
    pub rtt_ms: Vec<(f64, f64)>,
    /// What a packet from the server waited beyond the one that waited least, in ms: the queue.
    pub queue_ms: Vec<(f64, f64)>,
}

impl Capture {
    /// How TCP fared on the connection that brought most; `None` if none brought anything.
    pub fn timeline(&self) -> Option<Timeline> {
        let mut brought: BTreeMap<u32, u64> = BTreeMap::new();
        for packet in self.packets.iter().filter(|packet| packet.link.is_down()) {
            *brought.entry(packet.connection).or_default() += u64::from(packet.len);
        }
        // Of equals the first.
        let (&connection, _) =
            brought.iter().rev().max_by_key(|(_, bytes)| **bytes).filter(|(_, bytes)| **bytes > 0)?;
        let packets: Vec<&Captured> = self.packets.iter().filter(|packet| packet.connection == connection).collect();
        let cwnd = self.windows.iter().filter(|window| window.connection == connection);
        Some(Timeline {
            connection,
            host: self.hosts[packets[0].host as usize].clone(),
            cwnd: cwnd.map(|window| (window.at.as_ms(), f64::from(window.segments))).collect(),
            rtt_ms: round_trips(&packets),
            queue_ms: queueing(&packets),
        })
    }
}

fn is_data(packet: &&&Captured) -> bool {
    packet.link.is_down() && packet.len > 0
}

fn due(packet: &Captured) -> Option<Time> {
    match packet.fate {
        Fate::Delivered(due) => Some(due),
        Fate::Lost | Fate::Dropped | Fate::Underway => None,
    }
}

fn round_trips(packets: &[&Captured]) -> Vec<(f64, f64)> {
    let mut sent: BTreeMap<u64, (Time, u32)> = BTreeMap::new();
    for packet in packets.iter().filter(is_data) {
        let (_, times) = sent.entry(packet.seq + u64::from(packet.len)).or_insert((packet.entered, 0));
        *times += 1;
    }
    let mut acknowledged = 0;
    let mut samples = Vec::new();
    for packet in packets.iter().filter(|packet| !packet.link.is_down() && packet.flags.ack) {
        let Some(arrived) = due(packet) else { continue };
        if packet.ack <= acknowledged {
            continue;
        }
        // The newest segment that it acknowledges, as senders take it.
        if let Some((_, (left, 1))) = sent.range(acknowledged + 1..=packet.ack).next_back() {
            samples.push((arrived.as_ms(), arrived.counted_from(*left).as_ms()));
        }
        acknowledged = packet.ack;
    }
    samples
}

fn queueing(packets: &[&Captured]) -> Vec<(f64, f64)> {
    let full = packets.iter().filter(is_data).filter(|packet| packet.bytes >= FULL_BYTES);
    let delays: Vec<(f64, f64)> = full
        .filter_map(|packet| {
            let delay = due(packet)?.counted_from(packet.entered).as_ms();
            Some((packet.entered.as_ms(), delay))
        })
        .collect();
    let least = delays.iter().map(|(_, delay)| *delay).fold(f64::INFINITY, f64::min);
    delays.into_iter().map(|(at, delay)| (at, delay - least)).collect()
}
