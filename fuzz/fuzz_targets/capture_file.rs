//! Whatever stands in a capture file, its reader neither fails nor holds much more than the file is long.

#![no_main]

use cap::Cap;
use libfuzzer_sys::fuzz_target;
use loadstone_capture::{Analyzer, AnalyzerLimits, KeyLog, PacketReader, ToldPackets, decompressed};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// What the reader holds whatever it reads: its buffers, and a decompressor's window.
const HELD: usize = 24 << 20;
/// Bytes that it may hold for each byte of the file: of each packet of 36 bytes, a connection of its own.
const HELD_PER_BYTE: usize = 200;

fuzz_target!(|data: &[u8]| {
    let before = ALLOCATOR.allocated();
    let packets = ToldPackets::All;
    let mut analyzer = Analyzer::new(AnalyzerLimits { idle: 60, open: 1_000, periods: true, packets, heads: true });
    if let Ok(mut reader) = decompressed(data).map_err(drop).and_then(|file| PacketReader::new(file).map_err(drop)) {
        let mut keys = KeyLog::default();
        // What stands before a line that is none is known.
        _ = keys.add(&reader.secrets());
        analyzer.set_keys(keys);
        let mut packets = 0;
        while let Ok(Some(())) = reader.next_packet(|packet| analyzer.handle_packet(&packet)) {
            packets += 1;
            if packets == 100_000 {
                break;
            }
        }
    }
    let held = ALLOCATOR.allocated().saturating_sub(before);
    assert!(held <= HELD + HELD_PER_BYTE * data.len(), "{held} bytes held for {}", data.len());
    let packets = analyzer.totals().packets;
    analyzer.finish();
    assert!(analyzer.totals().connections <= packets);
    let rows: usize = analyzer.parts().1.iter_mut().map(|shard| shard.connections().rows()).sum();
    assert_eq!(rows as u64, analyzer.totals().connections);
});
