//! Loads of `synthetic:B` per second and core, each seed in full: `cargo bench -p loadstone-sim`.
//!
//! Criterion's "thrpt" line gives loads per second for `load/...` and packets per second for
//! `packets/...`. `heads/...` is a session's worth of heads through real header compression, which
//! the loads remember from one another.

#![allow(missing_docs, reason = "criterion's macro makes a public function")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use loadstone_http::Protocol;
use loadstone_load::page::{HeaderBytes, synthetic};
use loadstone_scenario::{Plan, Scenario, Variant};
use loadstone_sim::run;
use loadstone_units::Seed;

/// The allocator of the Python extension.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn plan(page: &str, network: &str, variant: Variant) -> Plan {
    let page = synthetic::page(page).expect("a synthetic page");
    let network = network.parse().expect("a network");
    Plan::new(&Scenario { network, variant, seed: 1, ..Scenario::of(page) }).expect("a plan")
}

/// One load after another, each with a seed of its own.
fn loads(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("load");
    let (lossy, lossless) = ("10/1mbit,100ms,1%", "10/1mbit,100ms");
    for (page, protocol, network) in [
        ("B", Protocol::Http1, lossy),
        ("B", Protocol::Spdy31, lossy),
        ("B", Protocol::H2, lossy),
        ("B", Protocol::Http1, lossless),
        ("A", Protocol::Http1, lossy),
    ] {
        let variant = Variant { protocol, tls: Some(loadstone_net::tls::Tls::None), ..Variant::default() };
        let plan = plan(page, network, variant);
        group.throughput(Throughput::Elements(1));
        let mut seed = 0;
        group.bench_function(BenchmarkId::new(format!("synthetic:{page}/{protocol}"), network), |bencher| {
            bencher.iter(|| {
                seed += 1;
                run(&plan, Seed(seed))
            });
        });
    }
}

/// The same load counted in packets, of both directions.
fn packets(criterion: &mut Criterion) {
    let variant = Variant { tls: Some(loadstone_net::tls::Tls::None), ..Variant::default() };
    let plan = plan("B", "10/1mbit,100ms", variant);
    let outcome = run(&plan, Seed(1));
    let mut group = criterion.benchmark_group("packets");
    group.throughput(Throughput::Elements(outcome.packets_down + outcome.packets_up));
    group.bench_function("synthetic:B/10/1mbit,100ms", |bencher| bencher.iter(|| run(&plan, Seed(1))));
}

/// All heads of a page through both ends' compression, from its beginning.
fn heads(criterion: &mut Criterion) {
    let page = synthetic::page("B").expect("a synthetic page").build().expect("a page");
    let mut group = criterion.benchmark_group("heads");
    group.throughput(Throughput::Elements(2 * page.objects as u64));
    for protocol in [Protocol::Spdy31, Protocol::H2] {
        group.bench_function(BenchmarkId::new("synthetic:B", protocol), |bencher| {
            bencher.iter(|| HeaderBytes::of(&page, protocol));
        });
    }
}

criterion_group!(benches, loads, packets, heads);
criterion_main!(benches);
