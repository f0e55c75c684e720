//! What is not known exactly varies with the seed, and nothing else does.

use crate::{object, page};
use loadstone_http::Protocol;
use loadstone_load::page::{ComputeSpec, LoadsSpec, Need, Needed, ObjectSpec, On, PageFile, synthetic};
use loadstone_scenario::{Outcome, Plan, Scenario, Spread, Variant};
use loadstone_sim::run;
use loadstone_units::{Bounded, Seed};

fn spread(network: u32, times: u32) -> Spread {
    Spread { network: Bounded::known(network), times: Bounded::known(times) }
}

fn outcomes(scenario: &Scenario, runs: u64) -> Vec<Outcome> {
    let plan = Plan::new(scenario).unwrap();
    (1..=runs).map(|seed| run(&plan, Seed(seed))).collect()
}

fn plts(scenario: &Scenario, runs: u64) -> Vec<f64> {
    outcomes(scenario, runs).iter().map(|outcome| outcome.plt.as_ms()).collect()
}

fn range(values: &[f64]) -> (f64, f64) {
    (values.iter().copied().fold(f64::INFINITY, f64::min), values.iter().copied().fold(0.0, f64::max))
}

/// An object of one packet over a link whose rate hardly matters.
fn one_packet(spread: Spread) -> Scenario {
    let network = "1000mbit,100ms".parse().unwrap();
    Scenario { network, spread, ..Scenario::of(page([object("/", 100)])) }
}

#[test]
fn without_a_spread_every_seed_is_the_same() {
    let plts = plts(&one_packet(Spread::default()), 5);
    assert!(plts.iter().all(|plt| *plt == plts[0]));
    assert!(!Plan::new(&one_packet(Spread::default())).unwrap().is_random());
    assert!(Plan::new(&one_packet(spread(0, 1))).unwrap().is_random());
}

#[test]
fn the_round_trip_is_within_its_share_and_fills_it() {
    let (least, most) = range(&plts(&one_packet(spread(2, 0)), 200));
    // Two round trips of 100 ms, and some tenths of a millisecond for programs to wake up.
    assert!((196.0..197.0).contains(&least) && (203.0..204.8).contains(&most), "{least} to {most}");
}

#[test]
fn the_rate_is_within_its_share() {
    let network = "1mbit,1ms,queue=1000000p".parse().unwrap();
    let scenario = |spread| Scenario { network, spread, ..Scenario::of(page([object("/", 1_000_000)])) };
    let [exact] = plts(&scenario.clone()(Spread::default()), 1)[..] else { panic!() };
    let (least, most) = range(&plts(&scenario(spread(5, 0)), 100));
    assert!((0.949..0.96).contains(&(least / exact)) && (1.04..1.054).contains(&(most / exact)), "{least} to {most}");
}

#[test]
fn servers_and_the_page_take_their_own_times() {
    let waits = ObjectSpec {
        think_ms: Some(1_000.0),
        needs: Some(vec![Need {
            node: "http://a.test/".into(),
            on: On::End,
            bytes: None,
            ms: 1_000.0,
            ..Need::default()
        }]),
        ..object("/late", 100)
    };
    let file = page([object("/", 100), waits]);
    let scenario = |spread| Scenario { network: "1000mbit,1ms".parse().unwrap(), spread, ..Scenario::of(file.clone()) };
    let [exact] = plts(&scenario(Spread::default()), 1)[..] else { panic!() };
    let varied = plts(&scenario(spread(0, 10)), 300);
    let (least, most) = range(&varied);
    assert!((-200.0..-150.0).contains(&(least - exact)) && (150.0..200.0).contains(&(most - exact)), "{least} {most}");
    // Two times that vary together would lie at the ends as often as in the middle.
    let middle = varied.iter().filter(|plt| (*plt - exact).abs() < 100.0).count();
    assert!((200..255).contains(&middle), "{middle} of 300, three quarters where each is by itself");
}

#[test]
fn a_trace_begins_anywhere() {
    // A minute in which the link delivers in the second half only.
    let trace: String = (30_000..60_000).map(|ms| format!("{ms}\n")).collect();
    let scenario = |spread| Scenario {
        network: "10mbit,10ms,trace=half".parse().unwrap(),
        traces: [("half".to_owned(), std::sync::Arc::new(trace.parse().unwrap()))].into(),
        spread,
        ..Scenario::of(page([object("/", 100)]))
    };
    assert!(plts(&scenario(Spread::default()), 3).iter().all(|plt| *plt > 30_000.0));
    let at_once = plts(&scenario(spread(1, 0)), 200).iter().filter(|plt| **plt < 100.0).count();
    assert!((75..125).contains(&at_once), "{at_once} of 200");
}

#[test]
fn variants_meet_the_same_conditions() {
    let scenario = |protocol, seed_spread| Scenario {
        variant: Variant { protocol, ..Variant::default() },
        ..one_packet(seed_spread)
    };
    let [one, other] = [Protocol::Http1, Protocol::H2].map(|protocol| plts(&scenario(protocol, spread(5, 0)), 50));
    // One object takes the same round trips in both.
    assert!(one.iter().zip(&other).all(|(one, other)| (one - other).abs() < 0.5), "{one:?} {other:?}");
}

#[test]
fn a_seed_gives_the_same_run_whenever_it_is_asked() {
    let page = synthetic::page("B").unwrap();
    let scenario = Scenario { spread: spread(1, 10), ..Scenario::of(page) };
    let plan = Plan::new(&scenario).unwrap();
    let alone = run(&plan, Seed(7));
    assert!(outcomes(&scenario, 7).last() == Some(&alone) && outcomes(&scenario, 6).last() != Some(&alone));
}

#[test]
fn exact_runs_are_the_middle_of_varied_ones() {
    let file: PageFile = synthetic::page("A").unwrap();
    for network in ["20/2mbit,20ms,queue=1000p", "10/1mbit,100ms,queue=1000p"] {
        let of = |spread| Scenario { network: network.parse().unwrap(), spread, ..Scenario::of(file.clone()) };
        let [exact] = plts(&of(Spread::default()), 1)[..] else { panic!() };
        let varied = plts(&of(spread(1, 10)), 101);
        let mean = varied.iter().sum::<f64>() / varied.len() as f64;
        assert!((mean / exact - 1.0).abs() < 0.01, "{network}: {mean} of {exact}");
    }
}

#[test]
fn what_is_left_of_a_page_takes_the_same_times_as_before() {
    let late = |name: &str| ObjectSpec {
        think_ms: Some(1_000.0),
        needs: Some(vec![Need {
            node: "http://a.test/".into(),
            on: On::End,
            bytes: None,
            ms: 1_000.0,
            ..Need::default()
        }]),
        ..object(name, 100)
    };
    let scenario = |objects: Vec<ObjectSpec>| Scenario {
        network: "1000mbit,1ms".parse().unwrap(),
        spread: spread(0, 10),
        ..Scenario::of(PageFile { objects, ..PageFile::default() })
    };
    // What is left out is small and over early, but stood before the others.
    let whole = plts(&scenario(vec![object("/", 100), object("/banner", 100), late("/a"), late("/b")]), 30);
    let rest = plts(&scenario(vec![object("/", 100), late("/a"), late("/b")]), 30);
    assert!(whole.iter().zip(&rest).all(|(whole, rest)| (whole - rest).abs() < 1.0), "{whole:?} {rest:?}");
}

/// A page of several loads that computes twice for a second, one after the other.
fn of_loads(common: f64, own: f64) -> PageFile {
    let after = |node: &str| Some(vec![Need { node: node.to_owned(), ..Need::default() }]);
    let node = |name: &str, before: &str| ComputeSpec {
        name: name.to_owned(),
        ms: 1_000.0,
        needs: after(before),
        needed: Some(Needed::Always),
        deviation_percent: own,
        ..ComputeSpec::default()
    };
    let compute = vec![node("one", "http://a.test/"), node("two", "one")];
    let loads = Some(LoadsSpec { count: 3, deviation_percent: common, left_out: 0 });
    PageFile { compute, loads, ..page([object("/", 100)]) }
}

fn computing(file: PageFile, times: u32) -> Scenario {
    Scenario { network: "1000mbit,1ms".parse().unwrap(), spread: spread(0, times), ..Scenario::of(file) }
}

/// Half of a range that is evenly filled: the standard deviation by the root of 3.
const HALF: f64 = 1.732_050_8;

#[test]
fn computing_varies_by_itself_as_it_did_between_loads() {
    let [exact] = plts(&computing(of_loads(0.0, 20.0), 0), 1)[..] else { panic!() };
    let varied = plts(&computing(of_loads(0.0, 20.0), 10), 300);
    let (least, most) = range(&varied);
    let most_apart = 2_000.0 * 0.2 * HALF;
    assert!((-most_apart..-0.8 * most_apart).contains(&(least - exact)), "{least} of {exact}");
    assert!((0.8 * most_apart..most_apart).contains(&(most - exact)), "{most} of {exact}");
    let middle = varied.iter().filter(|plt| (*plt - exact).abs() < most_apart / 2.0).count();
    assert!((200..255).contains(&middle), "{middle} of 300, three quarters where each is by itself");
}

#[test]
fn computing_varies_together_as_loads_did() {
    let [exact] = plts(&computing(of_loads(20.0, 0.0), 0), 1)[..] else { panic!() };
    let varied = plts(&computing(of_loads(20.0, 0.0), 10), 300);
    let (least, most) = range(&varied);
    let most_apart = 2_000.0 * 0.2 * HALF;
    assert!((-most_apart..-0.95 * most_apart).contains(&(least - exact)), "{least} of {exact}");
    assert!((0.95 * most_apart..most_apart).contains(&(most - exact)), "{most} of {exact}");
    let middle = varied.iter().filter(|plt| (*plt - exact).abs() < most_apart / 2.0).count();
    assert!((125..175).contains(&middle), "{middle} of 300, half where both have one factor");
}

#[test]
fn loads_that_computed_alike_leave_nothing_to_vary_and_other_pages_vary_as_usual() {
    let alike = plts(&computing(of_loads(0.0, 0.0), 10), 20);
    assert!(alike.iter().all(|plt| *plt == alike[0]), "{alike:?}");
    let of_one = PageFile { loads: None, ..of_loads(30.0, 30.0) };
    let (least, most) = range(&plts(&computing(of_one, 10), 300));
    assert!((1_800.0..1_850.0).contains(&least) && (2_150.0..2_205.0).contains(&most), "{least} to {most}");
}

#[test]
fn what_no_load_says_varies_as_usual_also_on_a_page_of_several() {
    let root = || Some(vec![Need { node: "http://a.test/".into(), ms: 1_000.0, ..Need::default() }]);
    let waits = ObjectSpec { needs: root(), ..object("/late", 100) };
    let file = PageFile { loads: of_loads(0.0, 0.0).loads, ..page([object("/", 100), waits]) };
    let (least, most) = range(&plts(&computing(file, 10), 300));
    assert!((900.0..920.0).contains(&least) && (1_080.0..1_110.0).contains(&most), "{least} to {most}");
}

#[test]
fn what_happens_within_a_node_comes_when_the_node_has_got_there() {
    let found = |loads, on, ms| {
        let needs = Some(vec![Need { node: "one".into(), on, ms, ..Need::default() }]);
        let mut file = PageFile { loads, ..of_loads(10.0, 20.0) };
        file.compute.pop();
        file.objects.push(ObjectSpec { needs, ..object("/found", 100) });
        plts(&computing(file, 10), 50)
    };
    for loads in [None, of_loads(10.0, 20.0).loads] {
        let (within, at_its_end) = (found(loads, On::Start, 1_000.0), found(loads, On::End, 0.0));
        let same = |(one, other): (&f64, &f64)| (one - other).abs() < 0.1;
        assert!(within.iter().zip(&at_its_end).all(same), "{within:?} {at_its_end:?}");
    }
}

#[test]
fn variants_of_a_page_of_several_loads_compute_alike() {
    let of = |protocol| Scenario {
        variant: Variant { protocol, ..Variant::default() },
        ..computing(of_loads(10.0, 20.0), 10)
    };
    let [one, other] = [Protocol::Http1, Protocol::H2].map(|protocol| plts(&of(protocol), 50));
    assert!(one.iter().zip(&other).all(|(one, other)| (one - other).abs() < 1.0), "{one:?} {other:?}");
}
