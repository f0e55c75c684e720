//! A capture as qlog (draft-ietf-quic-qlog-main-schema-02, version 0.3), for qvis and others that draw it: for each
//! connection a trace as its client sees it, and one as its server does.
//!
//! qlog's events are QUIC's. TCP is written as qvis takes it: a packet's number is its place among those that its sender
//! sent on the connection, all packets are of type `1RTT`, the bytes of the connection are those of stream 0, and
//! acknowledgements name the packets whose last byte they cover, cumulatively or by SACK.

mod events;
mod packet_witness;

use crate::capture_point::Sighting;
use crate::qlog::events::TraceHead;
use crate::qlog::packet_witness::{PacketWitness, SeenPacket};
use crate::{Capture, CapturePoint, Captured};
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

/// What makes the moments before the first SYN came to its link times, too.
const EPOCH: Duration = Duration::from_secs(60);

impl Capture {
    /// Writes the packets as qlog, as both ends of each connection see them: sent, received, acknowledged and taken for
    /// lost, with round trips, bytes in flight and, of simulated servers, the congestion window. Times are in ms since the
    /// first SYN. The same capture gives the same bytes.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn write_qlog(&self, mut to: impl io::Write) -> io::Result<()> {
        write!(to, r#"{{"qlog_version":"0.3","qlog_format":"JSON","title":"Loadstone","traces":["#)?;
        let (numbers, repetitions) = (self.packet_numbers(), self.repetitions());
        let mut between = "";
        for point in [CapturePoint::Client, CapturePoint::Server] {
            let mut seen = vec![Vec::new(); self.connections.len()];
            for Sighting { at, packet: place } in self.sightings(point, EPOCH) {
                let (packet, number, repetition) = (&self.packets[place], numbers[place], repetitions[place]);
                let at = at.as_nanos() as i64 - EPOCH.as_nanos() as i64;
                if let Some(seen) = seen.get_mut(packet.connection as usize) {
                    seen.push(SeenPacket { at, number, packet, repetition });
                }
            }
            for (connection, seen) in seen.iter().enumerate().filter(|(_, seen)| !seen.is_empty()) {
                write!(to, "{between}")?;
                self.write_trace(connection, point, seen, &mut to)?;
                between = ",\n";
            }
        }
        writeln!(to, "]}}")?;
        to.flush()
    }

    /// Writes what one end of a connection sees.
    fn write_trace(
        &self,
        at: usize,
        point: CapturePoint,
        seen: &[SeenPacket<'_>],
        to: &mut impl io::Write,
    ) -> io::Result<()> {
        let connection = &self.connections[at];
        let is_server = point == CapturePoint::Server;
        let host = if is_server { connection.server } else { connection.client };
        let windows = self.windows.iter().filter(|window| is_server && window.connection as usize == at);
        let mut witness = PacketWitness::new(host, self.mss(at, host), windows);
        TraceHead { connection: at, end: point.name(), host: &self.hosts[connection.server as usize] }.write(to)?;
        let mut between = "";
        for event in seen.iter().flat_map(|packet| witness.see(packet)) {
            write!(to, "{between}")?;
            serde_json::to_writer(&mut *to, &event)?;
            between = ",\n";
        }
        write!(to, "]}}")
    }

    /// The place of each packet among those that its sender sent on the connection, from 0; that of its first link for
    /// those that came to several.
    fn packet_numbers(&self) -> Vec<u64> {
        let departures = self.departures();
        let mut counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut numbers = vec![0; self.packets.len()];
        for (at, packet) in self.packets.iter().enumerate() {
            if departures[at] != at {
                numbers[at] = numbers[departures[at]];
                continue;
            }
            let count = counts.entry((packet.connection, packet.sender)).or_default();
            numbers[at] = *count;
            *count += 1;
        }
        numbers
    }

    /// Bytes of data in the longest segment that a host sent on a connection.
    fn mss(&self, connection: usize, sender: u32) -> u32 {
        let is_its = |packet: &&Captured| packet.connection as usize == connection && packet.sender == sender;
        self.packets.iter().filter(is_its).map(|packet| packet.len).max().unwrap_or(0)
    }
}
