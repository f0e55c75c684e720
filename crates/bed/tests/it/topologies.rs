//! Runs over several links and with several browsers, compared with the simulator and arithmetic.

use crate::{PATIENCE, median, patient, turn};
use loadstone_bed::{BackOff, Bed, BedHost, Stopper, run_all, run_captured};
use loadstone_load::page::synthetic;
use loadstone_net::{Fabric, LinkId, NamedLink};
use loadstone_scenario::{Fate, Outcome, Plan, Scenario};
use loadstone_units::Seed;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// A browser far from the origins, over two links behind one another.
const CHAIN: &str = r#"{
    "hosts": [{"name": "browser", "runs": "browser"}, {"name": "edge", "runs": "junction"},
              {"name": "origins", "runs": "origins"}],
    "links": [{"name": "access", "between": ["browser", "edge"], "network": "10/1mbit,100ms"},
              {"name": "backhaul", "between": ["edge", "origins"], "network": "20mbit,20ms"}]}"#;

/// Two browsers with a link each, and one that they share.
const SHARED: &str = r#"{
    "hosts": [{"name": "one", "runs": "browser"}, {"name": "other", "runs": "browser"},
              {"name": "home", "runs": "junction"}, {"name": "origins", "runs": "origins"}],
    "links": [{"name": "one", "between": ["one", "home"], "network": "100mbit,2ms"},
              {"name": "other", "between": ["other", "home"], "network": "100mbit,4ms"},
              {"name": "access", "between": ["home", "origins"], "network": "10/1mbit,80ms"}]}"#;

/// Page A in a topology.
fn plan(topology: &str, variant: &str) -> Plan {
    let page = serde_json::to_string(&synthetic::page("A").unwrap()).unwrap();
    let text = format!(r#"{{"page": {page}, "topology": {topology}, "variant": {variant}}}"#);
    Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap()
}

fn live(plan: &Plan, seed: u64) -> Vec<Outcome> {
    let (_stopper, stop) = Stopper::new();
    run_all(plan, Seed(seed), BackOff::Own, &stop, None).unwrap()
}

/// What a load over the kernel takes against what it takes in the simulator, in the middle of five, of each browser.
fn against_simulated(plan: &Plan) -> Vec<f64> {
    let simulated = loadstone_sim::run_all(plan, Seed(1), None);
    let runs: Vec<_> = (0..5).map(|_| live(plan, 1)).collect();
    assert!(runs.iter().flatten().chain(&simulated).all(|outcome| outcome.completed));
    let each = simulated.iter().enumerate();
    let ratio = |(at, there): (usize, &Outcome)| {
        let here: Vec<f64> = runs.iter().map(|run| run[at].plt.as_ms()).collect();
        let _ = writeln!(std::io::stderr(), "browser {at}: {here:.1?} ms, simulated {:.1}", there.plt.as_ms());
        median(here) / there.plt.as_ms()
    };
    each.map(ratio).collect()
}

#[test]
fn over_two_links_a_load_takes_what_it_takes_in_the_simulator() {
    let Some(_turn) = turn() else { return };
    for protocol in ["http/1.1", "h2"] {
        let plan = plan(CHAIN, &format!(r#"{{"protocol": "{protocol}"}}"#));
        let ratios = against_simulated(&plan);
        assert!((ratios[0] - 1.0).abs() <= 0.02, "{protocol}: {ratios:?}");
    }
}

#[test]
fn two_browsers_that_share_a_link_take_what_they_take_in_the_simulator() {
    let Some(_turn) = turn() else { return };
    let plan = plan(SHARED, r#"{"protocol": "h2"}"#);
    let ratios = against_simulated(&plan);
    assert!(ratios.len() == 2 && ratios.iter().all(|ratio| (ratio - 1.0).abs() <= 0.05), "{ratios:?}");
}

#[test]
fn each_browser_has_an_outcome_of_its_own() {
    let Some(_turn) = turn() else { return };
    let plan = plan(SHARED, r#"{"protocol": "http/1.1", "tls": "none"}"#);
    let outcomes = live(&plan, 1);
    assert_eq!(outcomes.len(), 2);
    for outcome in &outcomes {
        assert_eq!(outcome.account().total(), outcome.plt.as_nanos());
        assert_eq!((outcome.connections, outcome.per_connection.len()), (6, 6));
        assert!(outcome.waterfall.iter().all(|row| row.arrived.is_some() && row.answered.is_some()));
        let content: u64 = outcome.per_connection.iter().map(|one| one.content_down).sum();
        // All that it loads comes over its own link, with 40 bytes of headers in each packet and more.
        assert!(content > 350_000 && outcome.bytes_down > content + 40 * outcome.packets_down, "{outcome:?}");
        assert!(outcome.bytes_down < content + content / 10, "nothing that the other one loads");
    }
}

#[test]
fn a_capture_of_two_links_has_each_packet_at_both() {
    let Some(_turn) = turn() else { return };
    let plan = plan(CHAIN, r#"{"protocol": "h2"}"#);
    let (_stopper, stop) = Stopper::new();
    let capture = run_captured(&plan, Seed(1), BackOff::Own, &stop, 100_000).unwrap().capture.unwrap();
    assert_eq!((&capture.links[..], capture.left_out), (&["access", "backhaul"].map(str::to_owned)[..], 0));
    let at = |link| capture.packets.iter().filter(move |packet| packet.link == LinkId(link));
    let handed_on = at(1).filter_map(|packet| match packet.fate {
        Fate::Delivered(due) => Some(due),
        _ => None,
    });
    let (handed_on, came): (Vec<_>, Vec<_>) = (handed_on.collect(), at(3).map(|packet| packet.entered).collect());
    assert!(came.len() > 10 && handed_on == came, "{handed_on:?} {came:?}");
    let first = at(1).next().unwrap();
    assert!(first.flags.syn && first.entered.as_nanos() == 0);
    // 60 bytes at 1 Mbit/s, and 50 ms.
    assert_eq!(at(3).next().unwrap().entered.as_nanos(), 60 * 8 * 1000 + 50_000_000);
}

#[test]
fn any_host_may_connect_to_any_other() {
    let Some(_turn) = turn() else { return };
    // Three hosts behind one another: the middle one talks to both.
    let mut fabric = Fabric::new();
    let nodes = [(); 3].map(|()| fabric.add_node());
    for (at, name) in ["near", "far"].into_iter().enumerate() {
        let link = NamedLink { name: name.to_owned(), network: "100mbit,20ms".parse().unwrap() };
        fabric.add_link([nodes[at], nodes[at + 1]], link).unwrap();
    }
    let bed = Bed::new(3).unwrap();
    let run = bed.begin(&Arc::new(fabric), &nodes, Seed(1)).unwrap();
    for (from, to) in [(0, 1), (1, 0), (1, 2), (2, 0)] {
        talk(&bed, BedHost(from), BedHost(to));
    }
    let report = run.finish().unwrap();
    let ends = report.connections.iter().map(|one| (one.connection.client.0, one.connection.server.0));
    assert_eq!(ends.collect::<Vec<_>>(), [(0, 1), (1, 0), (1, 2), (2, 0)]);
    let packets = |link| report.passage(LinkId(link)).counts.packets;
    // Three connections go by the first link, two by the second.
    assert!(packets(1) > packets(3) && packets(3) > 6 && report.unmatched == 0, "{:?}", report.passages);
}

/// A byte there and back on a connection of its own.
fn talk(bed: &Bed, from: BedHost, to: BedHost) {
    let address = (bed.address(to), 80);
    let listener = bed.on(to, || TcpListener::bind(address)).unwrap();
    let answering = bed.spawn(to, move || {
        let mut stream = patient(listener.accept().unwrap().0);
        stream.read_exact(&mut [0]).unwrap();
        stream.write_all(&[2]).unwrap();
    });
    bed.on(from, || {
        let mut stream = patient(TcpStream::connect_timeout(&address.into(), PATIENCE).unwrap());
        stream.write_all(&[1]).unwrap();
        stream.read_exact(&mut [0]).unwrap();
    });
    answering.join();
}
