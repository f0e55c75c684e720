//! Packets in, tables out: one pass, and memory for the connections that are open.

use crate::exchange::KeyLog;
use crate::file::RawPacket;
use crate::intake::{CaptureTotals, Intake};
use crate::shard::{AnalyzerLimits, Shard};
use std::sync::Arc;

/// Parts that connections are dealt to by their ends. They do not depend on how many threads there are, so the order of
/// rows does not either.
const SHARDS: usize = 8;

/// Makes tables of packets.
#[derive(Debug)]
pub struct Analyzer {
    intake: Intake,
    shards: Vec<Shard>,
}

impl Analyzer {
    /// Nothing seen yet.
    pub fn new(limits: AnalyzerLimits) -> Analyzer {
        let of_shard = AnalyzerLimits { open: limits.open.div_ceil(SHARDS), ..limits };
        Analyzer { intake: Intake::new(limits), shards: (0..SHARDS).map(|_| Shard::new(of_shard)).collect() }
    }

    /// Decrypts TLS with these secrets from now on.
    pub fn set_keys(&mut self, keys: KeyLog) {
        let keys = Arc::new(keys);
        self.shards.iter_mut().for_each(|shard| shard.set_keys(keys.clone()));
    }

    /// What was in it until now.
    pub fn totals(&self) -> CaptureTotals {
        let (connections, evicted) =
            self.shards.iter().map(Shard::counts).fold((0, 0), |(all, out), (more, gone)| (all + more, out + gone));
        CaptureTotals { connections, evicted, ..self.intake.totals() }
    }

    /// Looks at the next packet.
    #[inline]
    pub fn handle_packet(&mut self, packet: &RawPacket<'_>) {
        if let Some(segment) = self.intake.segment_of(packet) {
            let part = segment.part(SHARDS);
            self.shards[part].handle_segment(&segment);
        }
    }

    /// For several threads: what takes segments out of packets, and what follows the connections of each part.
    /// A segment goes to the shard of its [`part`](crate::CapturedSegment::part), in the order of the capture.
    pub fn parts(&mut self) -> (&mut Intake, &mut [Shard]) {
        (&mut self.intake, &mut self.shards)
    }

    /// There are no more packets: all connections end.
    pub fn finish(&mut self) {
        while self.intake.finish(usize::MAX) {}
        self.shards.iter_mut().for_each(|shard| while shard.finish(usize::MAX) {});
    }
}
