//! Gains per second: `cargo bench -p loadstone-answer`.
#![allow(missing_docs, reason = "criterion's macro makes a public function")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use loadstone_answer::{CONFIDENCE, Draws, Gain, Pairing};
use loadstone_units::Seed;

fn gains(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("gains");
    group.throughput(Throughput::Elements(1));
    for runs in [21, 101, 1_000] {
        let mut chance = Seed(1).stream("bench");
        let mut times = || (0..runs).map(|_| 1000.0 + 500.0 * chance.next_f64()).collect::<Vec<f64>>();
        let (baseline, variant, pairing) = (times(), times(), Pairing::same_seeds(runs));
        let mut draws = Draws::new(1);
        group.bench_function(format!("{runs} runs"), |bencher| {
            bencher.iter(|| Gain::of(&baseline, &variant, &pairing, &mut draws, CONFIDENCE));
        });
    }
    group.finish();
}

criterion_group!(benches, gains);
criterion_main!(benches);
