//! Whole loads: what a run of a scenario over the kernel gives, compared with arithmetic and the simulator.

use crate::{PATIENCE, median, turn};
use loadstone_bed::{BackOff, BedError, BedHost, RunError, Stopper, run};
use loadstone_http::Protocol;
use loadstone_load::page::{HostSpec, ObjectSpec, PageFile};
use loadstone_scenario::{Outcome, Part, Plan, Row, Scenario, Variant};
use loadstone_units::{Seed, Time};
use std::sync::{Arc, mpsc};
use std::{fs, thread};

fn object(url: &str, bytes: u64) -> ObjectSpec {
    ObjectSpec { url: url.to_owned(), bytes, ..ObjectSpec::default() }
}

fn page(objects: impl IntoIterator<Item = ObjectSpec>) -> PageFile {
    PageFile { objects: objects.into_iter().collect(), ..PageFile::default() }
}

/// A scenario; the variant is JSON.
fn scenario(page: PageFile, network: &str, variant: &str) -> Scenario {
    let text = r#"{"page": {"objects": [{"url": "http://a.test/", "bytes": 1}]}, "variant": VARIANT}"#;
    let variant: Variant = Scenario::from_json(text.replace("VARIANT", variant).as_bytes()).unwrap().variant;
    Scenario { network: network.parse().unwrap(), variant, ..Scenario::of(page) }
}

/// Loads it over the kernel.
fn live(scenario: &Scenario, seed: u64) -> Outcome {
    let (_stopper, stop) = Stopper::new();
    run(&Plan::new(scenario).unwrap(), Seed(seed), BackOff::Own, &stop).unwrap()
}

/// Loads it in virtual time.
fn simulated(scenario: &Scenario) -> Outcome {
    loadstone_sim::run(&Plan::new(scenario).unwrap(), Seed(1))
}

/// That the parts of a completed outcome agree with one another.
#[track_caller]
fn assert_sound(outcome: &Outcome) {
    assert!(outcome.completed, "{outcome:?}");
    assert_eq!(outcome.account().total(), outcome.plt.as_nanos(), "{:?}", outcome.path);
    let touches = outcome.path.windows(2).all(|pair| pair[0].to == pair[1].from);
    assert!(touches && outcome.path[0].from == Time::ZERO, "{:?}", outcome.path);
    for row in &outcome.waterfall {
        let Row { found, sent, arrived, answered, first_byte, last_byte, .. } = *row;
        let marks: Vec<_> = [found, sent, arrived, answered, first_byte, last_byte].into_iter().flatten().collect();
        assert!(marks.len() == 6 && marks.is_sorted() && marks[5] <= outcome.plt, "{row:?}");
    }
    let opened: Vec<_> = outcome.per_connection.iter().map(|one| one.opened).collect();
    assert!(opened[0] == Time::ZERO && opened.iter().all(|at| *at <= outcome.plt), "{opened:?}");
    assert_eq!(opened.len(), outcome.connections as usize);
    let conditions = outcome.conditions.as_ref().expect("a run over the kernel says under which conditions");
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(conditions.kernel, release.trim());
    assert!(conditions.late_median <= conditions.late_p90 && conditions.late_p90 <= conditions.late_worst);
    assert!(!conditions.late_worst.is_zero());
    assert_eq!(conditions.paused.is_zero(), conditions.pauses == 0);
}

/// Bytes of content that went up and down between the browser and a host.
fn content(outcome: &Outcome, host: u32) -> [u64; 2] {
    let of_host = || outcome.per_connection.iter().filter(|one| one.host.0 == host);
    [of_host().map(|one| one.content_up).sum(), of_host().map(|one| one.content_down).sum()]
}

#[test]
fn every_protocol_over_every_tls_carries_what_it_carries_in_the_simulator() {
    let Some(_turn) = turn() else { return };
    let image = |at: u64| object(&format!("http://{}.test/{at}.png", ["a", "b"][at as usize % 2]), 2_000 + 1_500 * at);
    let page = page(std::iter::once(object("http://a.test/", 9_000)).chain((1..12).map(image)));
    for protocol in Protocol::ALL {
        for tls in ["none", "1.2", "1.3"] {
            // All of a page fits into a socket, so that no frame is cut by the room there is.
            let variant = format!(
                r#"{{"protocol": "{protocol}", "tls": "{tls}", "client_tcp": {{"profile": "linux-6"}},
                    "tcp": {{"profile": "linux-6", "notsent_lowat": 4000000}}}}"#
            );
            let scenario = scenario(page.clone(), "20/10mbit,20ms", &variant);
            let (here, there) = (live(&scenario, 1), simulated(&scenario));
            assert_sound(&here);
            for host in [0, 1] {
                let ([up, down], [up_there, down_there]) = (content(&here, host), content(&there, host));
                // Records cut frames, at the cost of another head each, by what happens to be ready.
                let cuts = if tls == "none" || !protocol.is_multiplexed() { 0 } else { down / 16_000 };
                assert_eq!(up, up_there, "{protocol} {tls}");
                assert!(down.abs_diff(down_there) <= cuts * 9, "{protocol} {tls}: {down} {down_there}");
            }
            for (here, there) in [(here.packets_down, there.packets_down), (here.packets_up, there.packets_up)] {
                // Of 60 to 190: a tail loss probe or an acknowledgement more or less, six connections.
                assert!(here.abs_diff(there) <= 12, "{protocol} {tls}: {here} packets, {there} simulated");
            }
            assert!(here.bytes_down.abs_diff(there.bytes_down) <= there.bytes_down / 20, "{protocol} {tls}");
        }
    }
}

#[test]
fn names_that_are_looked_up_cost_what_they_cost_in_the_simulator() {
    let Some(_turn) = turn() else { return };
    // The name of the second host is the first's; that of the third is asked for when the page is there.
    let urls = ["http://a.test/", "http://a.test:81/1", "http://b.test/2"];
    let scenario = scenario(page(urls.map(|url| object(url, 1_000))), "100mbit,50ms", r#"{"names": "looked-up"}"#);
    let (here, there) = (live(&scenario, 1), simulated(&scenario));
    assert!(here.completed && here.waterfall.iter().all(|row| row.sent >= row.found), "{here:?}");
    for outcome in [&here, &there] {
        let Outcome { plt, path, .. } = outcome;
        assert_eq!(outcome.account().total(), plt.as_nanos(), "{path:?}");
        let waits = |part: Part| outcome.account().nanos(part) / 50_000_000;
        assert_eq!((waits(Part::Handshakes), waits(Part::LossRecovery)), (4, 0), "{path:?}");
    }
    for (here, there) in [(here.packets_down, there.packets_down), (here.packets_up, there.packets_up)] {
        assert!(here.abs_diff(there) <= 3, "{here} packets, {there} simulated");
    }
}

#[test]
fn a_lost_end_waits_for_a_timeout_where_tail_loss_probes_are_off() {
    let Some(_turn) = turn() else { return };
    let tcp = |probes| format!(r#"{{"tcp": {{"mechanisms": {{"tail_loss_probes": {probes}}}}}}}"#);
    let [with, without] =
        [true, false].map(|probes| scenario(page([object("http://a.test/", 20_000)]), "100mbit,50ms,5%", &tcp(probes)));
    let simulated_ms = |scenario: &Scenario, seed| {
        let outcome = loadstone_sim::run(&Plan::new(scenario).unwrap(), Seed(seed));
        outcome.plt.as_ms()
    };
    let is_slower = |seed: &u64| simulated_ms(&without, *seed) > simulated_ms(&with, *seed) + 90.0;
    let seed = (1..500).find(is_slower).expect("the last segment of some loads is lost");
    let [with, without] = [with, without].map(|scenario| live(&scenario, seed).plt.as_ms());
    assert!(without > with + 80.0, "seed {seed}: {with} {without}");
}

#[test]
fn a_load_ends_with_its_load_event_that_waits_for_computing_and_for_requests_that_fail() {
    let Some(_turn) = turn() else { return };
    let json = r#"{"objects": [{"url": "https://a.test/", "bytes": 1000},
            {"url": "https://gone.test/1", "bytes": 0, "needed": "when-found"}],
        "compute": [{"name": "layout", "ms": 30, "needed": true, "needs": [{"node": "https://gone.test/1"}]}],
        "hosts": {"gone.test": {"name_error": 4}}}"#;
    let page = PageFile::from_json(json.as_bytes()).unwrap();
    let scenario = scenario(page, "100mbit,20ms", r#"{"names": "looked-up"}"#);
    let outcomes: Vec<_> = (0..3).map(|_| live(&scenario, 1)).collect();
    assert!(outcomes.iter().all(|outcome| outcome.completed));
    let ms = median(outcomes.iter().map(|outcome| outcome.plt.as_ms()).collect());
    let expected = simulated(&scenario).plt.as_ms();
    // Four more look-ups of 20 ms, and the computing.
    assert!(expected > 170.0 && (expected - 1.0..expected + 15.0).contains(&ms), "{ms} instead of {expected}");
}

#[test]
fn the_waterfall_shows_a_host_s_own_round_trip_and_its_thinking() {
    let Some(_turn) = turn() else { return };
    let distant = HostSpec { rtt_ms: 40.0, think_ms: 60.0, ..HostSpec::default() };
    let page = PageFile {
        hosts: [("b.test".to_owned(), distant)].into(),
        ..page([object("http://a.test/", 1_000), object("http://b.test/1", 1_000)])
    };
    let scenario = scenario(page, "100mbit,20ms", "{}");
    let outcomes: Vec<_> = (0..3).map(|_| live(&scenario, 1)).collect();
    let spans = |of: fn(&Outcome) -> [Option<Time>; 2]| {
        let span = |outcome| {
            let [from, to] = of(outcome);
            to.unwrap().nanos_since(from.unwrap()) as f64 / 1e6
        };
        outcomes.iter().inspect(|outcome| assert_sound(outcome)).map(span).collect::<Vec<_>>()
    };
    // Nothing may be early; late is what the machine makes it.
    for (spans, expected) in [
        (spans(|of| [Some(of.per_connection[0].opened), of.per_connection[0].established]), 20.0),
        (spans(|of| [Some(of.per_connection[1].opened), of.per_connection[1].established]), 60.0),
        (spans(|of| [of.waterfall[0].sent, of.waterfall[0].arrived]), 10.0),
        (spans(|of| [of.waterfall[1].sent, of.waterfall[1].arrived]), 30.0),
        (spans(|of| [of.waterfall[0].arrived, of.waterfall[0].answered]), 0.0),
        (spans(|of| [of.waterfall[1].arrived, of.waterfall[1].answered]), 60.0),
    ] {
        assert!(spans.iter().all(|span| *span >= expected), "{spans:?} instead of {expected}");
        assert!(median(spans.clone()) < expected + 5.0, "{spans:?} instead of {expected}");
    }
}

#[test]
fn without_loss_nothing_is_lost_and_with_it_the_load_completes_and_accounts_for_it() {
    let Some(_turn) = turn() else { return };
    let page = page((0..8).map(|at| object(&format!("http://a.test/{at}"), 15_000)));
    for protocol in [Protocol::Http1, Protocol::H2] {
        let variant = format!(r#"{{"protocol": "{protocol}", "connections": 2}}"#);
        let lossy = |loss: &str| scenario(page.clone(), &format!("20mbit,20ms,loss={loss}"), &variant);
        let recovery = |outcome: &Outcome| outcome.account().nanos(Part::LossRecovery);
        let without = live(&lossy("0%"), 1);
        assert_sound(&without);
        assert_eq!(recovery(&without), 0);
        let with: Vec<_> = (1..=3).map(|seed| live(&lossy("5%"), seed)).collect();
        with.iter().for_each(assert_sound);
        // Of 300 packets down, without a loss once in five million times.
        assert!(with.iter().map(recovery).sum::<u64>() > 0, "{protocol}");
        assert!(with.iter().map(|outcome| outcome.retransmissions).sum::<u64>() > 0, "{protocol}");
    }
}

#[test]
fn a_link_that_follows_a_recording_delivers_at_its_times() {
    let Some(_turn) = turn() else { return };
    // A packet every 10 ms.
    let trace = Arc::new("10".parse().unwrap());
    let scenario = scenario(page([object("http://a.test/", 30_000)]), "12mbit,40ms,trace=slow", "{}");
    let outcome = live(&Scenario { traces: [("slow".to_owned(), trace)].into(), ..scenario }, 1);
    assert_sound(&outcome);
    // A round trip for the handshake and one for the request, and 21 segments, of which the first waits for
    // an opportunity. The handshake waits for one, heads and acknowledgements may take another.
    let ms = outcome.plt.as_ms();
    assert!((80.0 + 200.0..80.0 + 210.0 + 30.0).contains(&ms), "{ms}");
}

#[test]
fn a_congestion_control_that_this_kernel_lacks_is_named_with_the_end_that_wants_it() {
    let Some(_turn) = turn() else { return };
    let page = page([object("http://a.test/", 1_000)]);
    for (end, is_it) in [("client_tcp", BedHost::CLIENT), ("tcp", BedHost::server(0))] {
        let variant = format!(r#"{{"{end}": {{"cc": "bbr"}}}}"#);
        let plan = Plan::new(&scenario(page.clone(), "100mbit,10ms", &variant)).unwrap();
        let (_stopper, stop) = Stopper::new();
        match run(&plan, Seed(1), BackOff::Own, &stop) {
            Ok(outcome) => assert_sound(&outcome),
            Err(error) => {
                assert!(error.to_string().ends_with("no congestion control 'bbr': load it with 'modprobe tcp_bbr'"));
                assert!(matches!(error, RunError::Bed(BedError::Congestion { host, .. }) if host == is_it));
            }
        }
    }
}

#[test]
fn a_run_that_is_told_to_stop_ends_long_before_its_load() {
    let Some(_turn) = turn() else { return };
    // It would take nine minutes: until the browser gives up connecting.
    let plan = Plan::new(&scenario(page([object("https://a.test/", 1_000)]), "1mbit,3600s", "{}")).unwrap();
    let (stopper, stop) = Stopper::new();
    let (tell, told) = mpsc::channel();
    // If the receiver is gone, the test has failed.
    thread::spawn(move || drop(tell.send(run(&plan, Seed(1), BackOff::Own, &stop))));
    let names = || fs::read_dir("/proc/self/task").unwrap().flatten().map(|task| task.path().join("comm"));
    while !names().any(|name| fs::read_to_string(name).is_ok_and(|name| name == "pump\n")) {
        assert!(told.try_recv().is_err(), "it has ended before it was told to");
        thread::yield_now();
    }
    stopper.stop();
    assert!(matches!(told.recv_timeout(PATIENCE), Ok(Err(RunError::Stopped))));
}

#[test]
fn single_servers_have_a_tcp_of_their_own() {
    let Some(_turn) = turn() else { return };
    // With one segment at first 20 take five round trips after the handshake's, 1, 2, 4, 8 and 5 of them; with 20
    // they take one, or two where a write ends in a short segment.
    let page = page([object("http://slow.test/", 28_000), object("http://quick.test/", 28_000)]);
    let variant = r#"{"tcp_of": {"slow.test": {"iw": 1}, "quick.test": {"iw": 20, "cc": "reno"}}}"#;
    let scenario = scenario(page, "100mbit,50ms", variant);
    let outcome = live(&scenario, 1);
    assert_sound(&outcome);
    let took = |at: usize| {
        let row = &outcome.waterfall[at];
        row.last_byte.unwrap().as_ms() - row.sent.unwrap().as_ms()
    };
    assert!(took(0) > 5.0 * 50.0 && took(1) < 3.0 * 50.0, "{:?}", (took(0), took(1)));
}
