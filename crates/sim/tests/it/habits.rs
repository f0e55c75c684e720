//! Habits of servers and browsers of earlier times, which a scenario chooses: connections that carry one request,
//! TLS with False Start, Nagle's algorithm, one processor for all responses, what a kernel remembers.

use crate::{FAST, MSS, load, object, page, variant};
use loadstone_load::page::{ObjectSpec, PageFile, RequestScheduling};
use loadstone_net::LinkId;
use loadstone_scenario::{Outcome, Plan, Scenario, Variant};
use loadstone_sim::run_captured;
use loadstone_units::{Seed, Time};

/// The access link towards the client.
const DOWN: LinkId = LinkId(0);
/// The same towards the servers.
const UP: LinkId = LinkId(1);

fn root_and(count: u64) -> PageFile {
    page((0..=count).map(|at| object(&format!("/{at:03}"), 1000)))
}

fn fast(objects: u64, fields: &str) -> Outcome {
    load(root_and(objects), FAST, variant(fields))
}

#[track_caller]
fn assert_ms(outcome: &Outcome, expected: f64) {
    let ms = outcome.plt.as_ms();
    assert!(outcome.completed && (expected..expected + 0.1).contains(&ms), "{ms} is not {expected}");
}

#[test]
fn a_server_that_keeps_no_connection_alive_makes_the_browser_open_one_for_each_object() {
    let outcome = fast(12, r#"{"requests_per_connection": 1}"#);
    assert_eq!(outcome.connections, 13);
    // The root, then twice six: each time a handshake and a request.
    assert_ms(&outcome, 200.0 + 2.0 * 200.0);
}

#[test]
fn a_server_of_two_requests_a_connection_needs_half_as_many() {
    let outcome = fast(23, r#"{"requests_per_connection": 2}"#);
    // The last one has an object left for itself.
    assert_eq!(outcome.connections, 13);
}

#[test]
fn a_last_response_keeps_its_place_among_the_connections_until_it_is_over_rfc9112_9_6() {
    // A hundred segments come in four round trips: 10, 20, 40, 80.
    let large = |at: usize| object(&format!("/{at}"), 100 * MSS - 250);
    let objects = (0..8).map(|at| if at == 0 { object("/", 1000) } else { large(at) });
    let outcome = load(page(objects), FAST, variant(r#"{"requests_per_connection": 1}"#));
    assert_ms(&outcome, 200.0 + 2.0 * 500.0);
}

#[test]
fn every_protocol_survives_a_server_that_leaves_after_some_requests() {
    for protocol in ["http/1.1", "http/1.1+pipelining", "spdy/2", "spdy/3", "spdy/3.1", "h2"] {
        // One fits into what a socket takes at a time, the other does not.
        for (requests, bytes) in [(1, 1000), (3, 1000), (1, 40_000), (3, 40_000)] {
            for closing in ["server", "client"] {
                let fields = format!(
                    r#"{{"protocol": "{protocol}", "requests_per_connection": {requests}, "closing": "{closing}"}}"#
                );
                let objects = page((0..=20).map(|at| object(&format!("/{at:03}"), bytes)));
                let outcome = load(objects, FAST, variant(&fields));
                let ms = outcome.plt.as_ms();
                // Four round trips for each object, one after the other.
                assert!(outcome.completed && ms < 21.0 * 400.0, "{fields}, {bytes} bytes: {ms} ms");
                // A session of many streams answers what it has taken before it says that it leaves.
                let least = if protocol.starts_with("http") { 21_u32.div_ceil(requests) } else { 1 };
                assert!(outcome.connections >= least, "{fields}: {}", outcome.connections);
            }
        }
    }
}

/// Where the first FIN of a load comes from, of a page whose first object has this many bytes.
fn first_to_close(closing: &str, bytes: u64) -> LinkId {
    let fields = format!(r#"{{"requests_per_connection": 1, "closing": "{closing}"}}"#);
    let objects = page([object("/", bytes), object("/1", 1000)]);
    let scenario = Scenario { network: FAST.parse().unwrap(), variant: variant(&fields), ..Scenario::of(objects) };
    let plan = Plan::new(&scenario).unwrap();
    let capture = run_captured(&plan, plan.seed(), 10_000).capture.unwrap();
    capture.packets.iter().find(|packet| packet.flags.fin).unwrap().link
}

#[test]
fn the_chosen_end_closes_even_after_a_response_that_fills_the_socket_many_times() {
    for bytes in [1000, 400_000] {
        assert_eq!((first_to_close("server", bytes), first_to_close("client", bytes)), (DOWN, UP), "{bytes}");
    }
}

#[test]
fn false_start_saves_a_round_trip_of_the_handshake_rfc7918() {
    assert_ms(&fast(0, r#"{"tls": "1.0"}"#), 300.0);
    assert_ms(&fast(0, r#"{"tls": "1.2"}"#), 400.0);
}

#[test]
fn nagles_algorithm_holds_a_short_response_back_behind_the_last_flight_of_a_handshake_rfc896() {
    let nagle = r#""tls": "1.0", "requests_per_connection": 1, "tcp": {"mechanisms": {"nagle": true}}"#;
    // The flight comes at 300, is acknowledged 40 ms later, and only then does the response leave.
    assert_ms(&fast(0, &format!(r#"{{{nagle}, "closing": "client"}}"#)), 300.0 + 40.0 + 100.0);
    // A FIN takes along what waits before it.
    assert_ms(&fast(0, &format!("{{{nagle}}}")), 300.0);
}

#[test]
fn a_servers_processor_does_one_thing_after_the_other() {
    let outcome = fast(3, r#"{"work": {"response_us": 10000}}"#);
    // The last two requests arrive together, on new connections.
    assert_ms(&outcome, 210.0 + 200.0 + 20.0);
    let outcome = fast(0, r#"{"work": {"megabyte_us": 60000000}}"#);
    assert_ms(&outcome, 200.0 + 60.0);
}

#[test]
fn requests_join_a_session_one_by_one_where_the_browser_does_not_know_what_a_host_speaks() {
    let two = |joining| fast(20, &format!(r#"{{"protocol": "h2", "servers": 2, "joining": "{joining}"}}"#));
    assert_eq!(two("together").connections, 2);
    assert_ms(&two("together"), 200.0 + 200.0);
    // The second host has ten objects: six connections of which one stays, then four that are closed at once.
    // On the first host there is a session when the objects are found.
    assert_eq!(two("one-by-one").connections, 1 + 10);
    assert_ms(&two("one-by-one"), 200.0 + 200.0 + 100.0);
}

#[test]
fn connections_race_to_a_host_that_is_not_known_and_the_first_carries_all() {
    let racing = fast(20, r#"{"protocol": "h2", "servers": 2, "joining": "racing"}"#);
    // As many as HTTP/1.1 may have are begun to the second host; five are given up.
    assert_eq!(racing.connections, 1 + 6);
    assert_ms(&racing, 200.0 + 200.0);
    let narrow = |joining| {
        let settings = variant(&format!(r#"{{"protocol": "h2", "tls": "1.3", "servers": 2, "joining": "{joining}"}}"#));
        load(root_and(20), "10/0.1mbit,100ms,queue=1000p", settings).plt.as_ms()
    };
    let (together, racing) = (narrow("together"), narrow("racing"));
    assert!(racing > together + 100.0, "the hellos that lose fill the way up: {racing} against {together} ms");
}

#[test]
fn a_race_ends_with_one_connection_to_a_host_with_servers_that_leave_and_under_heavy_loss() {
    for protocol in ["spdy/3.1", "h2"] {
        for habit in [r#""connections": 1"#, r#""requests_per_connection": 1"#, r#""requests_per_connection": 3"#] {
            let fields = format!(r#"{{"protocol": "{protocol}", "servers": 2, "joining": "racing", {habit}}}"#);
            assert!(fast(40, &fields).completed, "{fields}");
        }
    }
    for seed in 1..=20 {
        let network = "2mbit,100ms,10%".parse().unwrap();
        let variant = variant(r#"{"protocol": "h2", "servers": 2, "joining": "racing"}"#);
        let scenario = Scenario { network, variant, seed, ..Scenario::of(root_and(40)) };
        assert!(loadstone_sim::run(&Plan::new(&scenario).unwrap(), Seed(seed)).completed, "seed {seed}");
    }
}

#[test]
fn one_by_one_ends_with_one_connection_to_a_host_and_with_servers_that_leave() {
    for protocol in ["spdy/2", "spdy/3.1", "h2"] {
        for habit in [r#""connections": 1"#, r#""requests_per_connection": 1"#, r#""requests_per_connection": 3"#] {
            let fields = format!(r#"{{"protocol": "{protocol}", "servers": 2, "joining": "one-by-one", {habit}}}"#);
            let outcome = fast(40, &fields);
            assert!(outcome.completed && outcome.plt.as_ms() < 41.0 * 300.0, "{fields}: {} ms", outcome.plt.as_ms());
        }
    }
}

#[test]
fn one_by_one_ends_under_heavy_loss() {
    let fields = r#"{"protocol": "h2", "servers": 2, "joining": "one-by-one"}"#;
    for seed in 1..=20 {
        let network = "2mbit,100ms,10%".parse().unwrap();
        let scenario = Scenario { network, variant: variant(fields), seed, ..Scenario::of(root_and(40)) };
        let outcome = loadstone_sim::run(&Plan::new(&scenario).unwrap(), Seed(seed));
        assert!(outcome.completed, "seed {seed}");
    }
}

#[test]
fn what_a_kernel_remembers_of_an_earlier_load_spares_losses() {
    let after = |loads: u32| {
        let tcp = r#"{"profile": "linux-2.6", "mechanisms": {"metrics": true, "hystart": false}}"#;
        let fields: Variant = variant(&format!(r#"{{"tcp": {tcp}, "earlier_loads": {loads}}}"#));
        load(page([object("/", 3_000_000)]), "10/1mbit,100ms,queue=20p", fields)
    };
    let (first, second) = (after(0), after(1));
    assert!(first.retransmissions > 10, "the first one fills the queue: {}", first.retransmissions);
    assert!(second.retransmissions < first.retransmissions / 2, "{}", second.retransmissions);
}

#[test]
fn without_a_metrics_cache_earlier_loads_change_nothing() {
    let after = |loads: u32| {
        let fields = variant(&format!(r#"{{"earlier_loads": {loads}}}"#));
        load(page([object("/", 3_000_000)]), "10/1mbit,100ms,1%,queue=20p", fields).plt
    };
    assert_eq!(after(0), after(3));
}

/// A page of four hosts with four objects each.
fn four_hosts() -> PageFile {
    let url = |at: u64| format!("http://h{}.test/{at}", at % 4);
    page((0..16).map(|at| ObjectSpec { url: url(at), bytes: 20_000, ..ObjectSpec::default() }))
}

/// The most connections that were open at a time.
fn at_once(outcome: &Outcome) -> usize {
    let is_open = |at: Time| {
        outcome.per_connection.iter().filter(move |one| one.opened <= at && one.closed.is_none_or(|closed| closed > at))
    };
    outcome.per_connection.iter().map(|one| is_open(one.opened).count()).max().unwrap()
}

#[test]
fn a_browser_has_no_more_connections_to_all_hosts_than_it_may() {
    for protocol in ["http/1.1", "http/1.1+pipelining", "spdy/3.1", "h2"] {
        let [free, bound] = ["null", "3"].map(|most| {
            load(four_hosts(), FAST, variant(&format!(r#"{{"protocol": "{protocol}", "connections_in_all": {most}}}"#)))
        });
        assert!(free.completed && bound.completed, "{protocol}");
        assert!(at_once(&free) >= 4, "{protocol}");
        assert_eq!(at_once(&bound), 3, "{protocol}");
        assert!(bound.plt > free.plt, "{protocol}: one host waits until another's connection has nothing to carry");
    }
}

#[test]
fn one_connection_in_all_goes_from_host_to_host() {
    let outcome = load(four_hosts(), FAST, variant(r#"{"protocol": "h2", "connections_in_all": 1}"#));
    assert!(outcome.completed);
    assert_eq!((outcome.connections, at_once(&outcome)), (4, 1), "each host's objects at once, one host after another");
}

#[test]
fn a_pipeline_has_as_many_requests_as_the_browser_allows() {
    let in_pairs = |fields: &str| {
        fast(5, &format!(r#"{{"protocol": "http/1.1+pipelining", "tls": "none", "connections": 1{fields}}}"#))
    };
    // The root is there after two round trips; then all come in one, or two in each.
    assert_ms(&in_pairs(""), 300.0);
    assert_ms(&in_pairs(r#", "pipelined_requests": 2"#), 500.0);
    assert_ms(&in_pairs(r#", "pipelined_requests": 5"#), 300.0);
}

#[test]
fn a_browser_of_2012_is_a_setting_of_several() {
    let url = |at: u64| format!("http://h{}.test/{at}", at % 12);
    let object = |at| ObjectSpec { bytes: 20_000, url: url(at), ..ObjectSpec::default() };
    let urgencies = [3, 0].map(|urgency| Some(urgency.try_into().unwrap()));
    let objects = (0..60).map(|at| ObjectSpec { urgency: urgencies[at as usize % 2], ..object(at) });
    let today = PageFile { scheduling: RequestScheduling::Chromium, ..page(objects) };
    let in_order = PageFile { scheduling: RequestScheduling::PageOrder, ..today.clone() };
    for protocol in ["http/1.1", "http/1.1+pipelining", "spdy/3"] {
        let with = |page: &PageFile, fields: &str| {
            load(page.clone(), "10mbit,100ms", variant(&format!(r#"{{"protocol": "{protocol}"{fields}}}"#)))
        };
        let stated = r#", "connections_in_all": 30, "pipelined_requests": 2"#;
        let of_2012 = with(&today, r#", "browser": "2012""#);
        assert_eq!(of_2012, with(&in_order, stated), "{protocol}");
        assert_ne!(of_2012.waterfall, with(&today, "").waterfall, "{protocol}");
        let phone = with(&today, r#", "browser": "phone-2012", "pipelined_requests": 4"#);
        let four = r#", "connections_in_all": 30, "pipelined_requests": 4, "connections": 4"#;
        assert_eq!(phone, with(&in_order, four), "what is set stays: {protocol}");
    }
}
