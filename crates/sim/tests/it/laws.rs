//! What holds for every page, network and seed.

use crate::{load, run_once, variant};
use loadstone_load::page::{ComputeSpec, Need, Needed, ObjectSpec, On, PageFile, Preconnect};
use loadstone_load::{FoundBy, Names};
use loadstone_scenario::{Outcome, Plan, Scenario};
use proptest::prelude::*;

/// A page of up to 25 objects on three hosts, each waiting for one before it.
pub(crate) fn pages() -> impl Strategy<Value = PageFile> {
    let object = (0_u64..60_000, 0_usize..3, any::<prop::sample::Index>(), 0_u8..3, 0_u32..50, 0_u32..30);
    prop::collection::vec(object, 1..25).prop_map(|drawn| {
        let url = |at: usize, host: usize| format!("{}://h{host}.test/{at}", if host == 2 { "https" } else { "http" });
        let hosts: Vec<usize> = drawn.iter().map(|object| object.1).collect();
        let objects = drawn.iter().enumerate().map(|(at, (bytes, host, before, on, ms, think))| {
            let before = before.index(at.max(1));
            let need = Need {
                node: url(before, hosts[before]),
                on: [On::Start, On::Bytes, On::End][usize::from(*on)],
                bytes: Some(u64::from(*ms) * 500),
                ms: f64::from(*ms),
                ..Need::default()
            };
            ObjectSpec {
                url: url(at, *host),
                bytes: *bytes,
                think_ms: Some(f64::from(*think)),
                needs: (at > 0).then(|| vec![need]),
                needed: (at % 7 == 6).then_some(Needed::Never),
                pushed_with: (at % 3 == 2).then(|| url(before, hosts[before])),
                ..ObjectSpec::default()
            }
        });
        let ahead = |at: usize| {
            let before = drawn[at].2.index(at);
            ComputeSpec {
                name: format!("preconnect {at}"),
                needs: Some(vec![Need { node: url(before, hosts[before]), ..Need::default() }]),
                preconnect: Some(Preconnect { url: url(at, hosts[at]), anonymous: false }),
                ..ComputeSpec::default()
            }
        };
        let compute = (1..drawn.len()).filter(|at| at % 5 == 3).map(ahead).collect();
        PageFile { objects: objects.collect(), compute, ..PageFile::default() }
    })
}

pub(crate) fn variants() -> impl Strategy<Value = String> {
    let protocol = prop::sample::select(vec!["http/1.1", "http/1.1+pipelining", "spdy/3.1", "h2"]);
    let tls = prop::sample::select(vec!["null", "\"none\"", "\"1.2\"", "\"1.3\""]);
    let cc = prop::sample::select(vec!["reno", "cubic", "bbr"]);
    let profiles =
        (prop::sample::select(vec!["textbook", "linux-6"]), prop::sample::select(vec!["textbook", "linux-6"]));
    let in_all = prop::sample::select(vec!["null", "1", "2", "5"]);
    let counts = (1_u32..40, 1_u32..8, in_all, 1_u32..4);
    let names = prop::sample::select(vec!["cached", "looked-up"]);
    (protocol, tls, cc, profiles, counts, names, policies()).prop_map(
        |(protocol, tls, cc, (server, client), (iw, connections, in_all, servers), names, policies)| {
            format!(
                r#"{{"protocol": "{protocol}", "tls": {tls}, "connections": {connections},
                "connections_in_all": {in_all}, "servers": {servers}, "names": "{names}", {policies},
                "tcp": {{"profile": "{server}", "iw": {iw}, "cc": "{cc}"}}, "client_tcp": {{"profile": "{client}"}}}}"#
            )
        },
    )
}

/// What those decide who own the page and its servers.
fn policies() -> impl Strategy<Value = String> {
    let sharding = prop::sample::select(vec!["recorded", "hosts", "domains", "one"]);
    let priorities = prop::sample::select(vec!["recorded", "none", "kind", "dependencies"]);
    let scopes = vec!["nothing", "embedded", "dependencies", "all", "listed"];
    let preconnect = prop::sample::select(vec!["nothing", "hosts"]);
    let told = (prop::sample::select(scopes.clone()), prop::sample::select(scopes), 1_u32..4, preconnect);
    let probe = prop::sample::select(vec!["nothing", "at-start"]);
    (sharding, priorities, told, probe).prop_map(|(sharding, priorities, (push, hint, levels, preconnect), probe)| {
        format!(
            r#""sharding": "{sharding}", "priorities": "{priorities}", "pipelining_probe": "{probe}",
            "foresight": {{"push": "{push}", "push_levels": {levels}, "hint": "{hint}", "preconnect": "{preconnect}"}}"#
        )
    })
}

/// What every outcome of a page obeys.
fn check(page: &PageFile, outcome: &Outcome, rate_down: u64, rtt_ms: u64) -> Result<(), TestCaseError> {
    prop_assert!(outcome.completed);
    // A probe of pipelining comes behind the page's own objects.
    let needed = |at: usize| page.objects.get(at).is_some_and(|object| object.needed != Some(Needed::Never));
    let mut last = None;
    for (at, row) in outcome.waterfall.iter().enumerate() {
        // Nobody asks for what is pushed.
        let sent = if row.found_by == FoundBy::Push { row.found } else { row.sent };
        let marks = [row.found, sent, row.first_byte, row.last_byte];
        let seen: Vec<_> = marks.iter().map_while(|mark| *mark).collect();
        prop_assert!(seen.is_sorted(), "{:?}", row);
        prop_assert_eq!(seen.len(), marks.iter().flatten().count(), "no mark without those before it");
        if needed(at) {
            prop_assert!(row.last_byte.is_some());
            last = last.max(row.last_byte);
        }
    }
    prop_assert_eq!(Some(outcome.plt), last);
    // All needed bytes, with a head of at least 100 bytes each, came over the link at its rate.
    let bytes: u64 = (0..page.objects.len()).filter(|at| needed(*at)).map(|at| page.objects[at].bytes + 100).sum();
    prop_assert!(outcome.bytes_down >= bytes);
    let least = (bytes * 8) as f64 / rate_down as f64 * 1e3 + 2.0 * rtt_ms as f64;
    prop_assert!(outcome.plt.as_ms() >= least, "{} of at least {least}", outcome.plt.as_ms());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_load_is_complete_and_in_order(
        page in pages(),
        variant_json in variants(),
        (rate, rtt) in (100_u64..100_000, 1_u64..400),
        loss in 0_u32..10,
        aqm in prop_oneof!["", ",aqm=codel", ",aqm=fq_codel"],
        seed in 1_u64..1_000_000,
    ) {
        let network = format!("{rate}kbit,{rtt}ms,{loss}%{aqm}");
        let scenario = Scenario {
            network: network.parse().unwrap(), variant: variant(&variant_json), seed, ..Scenario::of(page.clone()) };
        let plan = Plan::new(&scenario).unwrap();
        let outcome = run_once(&plan);
        if !outcome.completed && loss > 0 && plan.variant().names == Names::LookedUp {
            // All five queries for a name may be lost: with 10 % either way one time in 4,000.
            prop_assert!(outcome.waterfall.iter().any(|row| row.found.is_some() && row.connection.is_none()));
            return Ok(());
        }
        check(&page, &outcome, rate * 1000, rtt)?;
    }
}

#[test]
fn little_more_is_sent_again_than_is_lost() {
    // BBR has twice the product of rate and round trip on its way, some 180 segments, which a timeout sends again.
    for (cc, most) in [("reno", 210), ("cubic", 210), ("bbr", 95 + 2 * 180)] {
        let page = loadstone_load::page::synthetic::page("objects=1,size=10MB,scheme=http").unwrap();
        let scenario = Scenario {
            network: "10/1mbit,100ms,1%,queue=1000p".parse().unwrap(),
            variant: variant(&format!(r#"{{"tcp": {{"cc": "{cc}"}}}}"#)),
            ..Scenario::of(page)
        };
        let plan = Plan::new(&scenario).unwrap();
        for seed in 0..20 {
            let again = loadstone_sim::run(&plan, loadstone_units::Seed(seed)).retransmissions;
            // 6,900 segments, 69 of them lost on average with a deviation of 8; the queue drops none.
            // What a timeout sends again needlessly is part of the rest.
            assert!((35..most).contains(&again), "{cc}, seed {seed}: {again}");
        }
    }
}

#[test]
fn a_page_is_complete_at_30_percent_loss_with_a_queue_of_one_packet() {
    let page = loadstone_load::page::synthetic::page("objects=12,size=20KB").unwrap();
    let network = "2mbit,50ms,30%,queue=1p".parse().unwrap();
    let scenario = Scenario { network, variant: variant("{}"), seed: 1, ..Scenario::of(page.clone()) };
    let plan = Plan::new(&scenario).unwrap();
    for seed in 0..100 {
        check(&page, &loadstone_sim::run(&plan, loadstone_units::Seed(seed)), 2_000_000, 50).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_load_ends_also_at_30_percent_loss_with_a_queue_of_one_packet(page in pages(), variant_json in variants()) {
        let outcome = load(page.clone(), "2mbit,50ms,30%,queue=1p", variant(&variant_json));
        // A connection may be given up, and its objects are then requested again. Enough may
        // fail that the browser gives up, too; in 3,000 pages that did not happen.
        if outcome.completed {
            check(&page, &outcome, 2_000_000, 50)?;
        }
        prop_assert!(outcome.plt > loadstone_units::Time::ZERO && outcome.plt < loadstone_units::Time::NEVER);
    }

    #[test]
    fn without_loss_chance_has_no_part(page in pages(), variant_json in variants(), seeds in (any::<u32>(), any::<u32>())) {
        let scenario = Scenario {
            network: "5mbit,40ms".parse().unwrap(), variant: variant(&variant_json), seed: 1, ..Scenario::of(page) };
        let plan = Plan::new(&scenario).unwrap();
        let run = |seed: u32| loadstone_scenario::Outcome {
            seed: 0,
            ..loadstone_sim::run(&plan, loadstone_units::Seed(seed.into()))
        };
        prop_assert_eq!(run(seeds.0), run(seeds.1));
    }
}
