//! Packets per second of the reader of captures, in memory: `cargo bench -p loadstone-capture`.
#![allow(missing_docs, reason = "criterion's macro makes a public function")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use loadstone_capture::{Analyzer, AnalyzerLimits, CaptureTotals, PacketReader};

const CONNECTIONS: u32 = 20_000;
/// Connections that are open at a time.
const OPEN: u32 = 2_000;
/// Segments of a response.
const SEGMENTS: u32 = 20;
const MSS: u32 = 1_400;
const KEPT: usize = 96;

/// A file of connections to one server, as many open at a time: a request of each, and a response of which every 50th
/// segment is lost and sent again.
fn made() -> Vec<u8> {
    let mut file = Vec::new();
    file.extend([0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, KEPT as u8, 0, 0, 0, 101, 0, 0, 0]);
    let steps = 2 * SEGMENTS + 4;
    for step in 0..(CONNECTIONS / OPEN) * steps {
        for n in 0..OPEN {
            let (connection, step) = ((step / steps) * OPEN + n, step % steps);
            let us = u64::from(connection / OPEN) * 10_000_000 + u64::from(step) * 2_000 * 100 + u64::from(n) * 100;
            push(&mut file, us, connection, packet_of(step, connection));
        }
    }
    file
}

/// Whether it goes down, flags, number, bytes, acknowledged number, and where a block of SACK ends.
type Packet = (bool, u8, u32, u32, u32, u32);

fn packet_of(step: u32, connection: u32) -> Packet {
    let lost = connection % SEGMENTS;
    let is_lossy = connection.is_multiple_of(50);
    match step {
        0 => (false, 0x02, 0, 0, 0, 0),
        1 => (true, 0x12, 0, 0, 1, 0),
        2 => (false, 0x10, 1, 0, 1, 0),
        3 => (false, 0x18, 1, 400, 1, 0),
        step if step < 4 + SEGMENTS => (true, 0x10, 1 + (step - 4) * MSS, MSS, 401, 0),
        step => {
            let acked = step - 4 - SEGMENTS + 1;
            if is_lossy && acked == lost + 4 {
                return (true, 0x10, 1 + lost * MSS, MSS, 401, 0);
            }
            if is_lossy && (lost + 1..lost + 4).contains(&acked) {
                return (false, 0x10, 401, 0, 1 + lost * MSS, 1 + (acked + 1) * MSS);
            }
            (false, 0x10, 401, 0, 1 + acked * MSS, 0)
        }
    }
}

fn push(file: &mut Vec<u8>, us: u64, connection: u32, (is_down, flags, seq, len, ack, sacked): Packet) {
    let mut ends = [[10, (connection >> 16) as u8, (connection >> 8) as u8, connection as u8], [192, 0, 2, 1]];
    let mut ports = [40_000, 443_u16];
    if is_down {
        ends.reverse();
        ports.reverse();
    }
    let mut options = vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 1];
    if sacked > 0 {
        options.extend([1, 1, 5, 10]);
        options.extend((ack + MSS).to_be_bytes());
        options.extend(sacked.to_be_bytes());
    }
    let header_len = 40 + options.len();
    let total = header_len as u32 + len;
    let kept = (total as usize).min(KEPT);
    for word in [(us / 1_000_000) as u32, (us % 1_000_000) as u32, kept as u32, total] {
        file.extend(word.to_le_bytes());
    }
    let at = file.len();
    file.extend([0x45, 0, (total >> 8) as u8, total as u8]);
    file.extend((us as u16).to_be_bytes());
    file.extend([0, 0, 64, 6, 0, 0]);
    file.extend(ends.concat());
    file.extend(ports[0].to_be_bytes());
    file.extend(ports[1].to_be_bytes());
    file.extend(seq.to_be_bytes());
    file.extend(ack.to_be_bytes());
    file.extend([((20 + options.len()) as u8 / 4) << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
    file.extend(options);
    file.resize(at + kept, 0);
}

fn read(file: &[u8]) -> CaptureTotals {
    let mut analyzer = Analyzer::new(AnalyzerLimits::default());
    let mut reader = PacketReader::new(file).expect("it is a capture");
    while reader.next_packet(|packet| analyzer.handle_packet(&packet)).expect("it is whole").is_some() {}
    analyzer.finish();
    analyzer.totals()
}

fn packets(criterion: &mut Criterion) {
    let file = made();
    let totals = read(&file);
    assert_eq!(totals.connections, u64::from(CONNECTIONS));
    let mut group = criterion.benchmark_group("captures");
    group.sample_size(20);
    group.throughput(Throughput::Elements(totals.packets));
    group.bench_function("packets", |bencher| bencher.iter(|| read(&file)));
    group.finish();
}

criterion_group!(benches, packets);
criterion_main!(benches);
