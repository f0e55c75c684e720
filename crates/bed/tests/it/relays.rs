//! A relay over the kernel: browser, edge and servers in a namespace each, with two links.

use crate::{median, turn};
use loadstone_bed::{BackOff, RunError, Stopper, run, run_captured};
use loadstone_load::page::synthetic;
use loadstone_scenario::{Captured, Outcome, Plan, Scenario};
use loadstone_units::Seed;
use std::collections::BTreeSet;
use std::io::Write;

const PROTOCOLS: [&str; 5] = ["http/1.1", "spdy/2", "spdy/3", "spdy/3.1", "h2"];

/// A page by way of an edge. No queue overflows, and no connection waits for about as long as its retransmission timeout,
/// after which it would begin again: where such a thing hangs by a fraction of a millisecond, a load has two results.
fn plan(page: &str, variant: &str) -> Plan {
    let page = serde_json::to_string(&synthetic::page(page).unwrap()).unwrap();
    let text = format!(
        r#"{{"page": {page}, "variant": {variant}, "topology": {{
            "hosts": [{{"name": "browser", "runs": "browser", "via": "edge"}}, {{"name": "edge", "runs": "relay"}},
                      {{"name": "servers", "runs": "origins"}}],
            "links": [{{"name": "access", "between": ["browser", "edge"], "network": "10/1mbit,60ms,queue=1000p"}},
                      {{"name": "backhaul", "between": ["edge", "servers"], "network": "100mbit,20ms,queue=1000p"}}]}}}}"#
    );
    Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap()
}

fn live(plan: &Plan) -> Result<Outcome, RunError> {
    let (_stopper, stop) = Stopper::new();
    run(plan, Seed(1), BackOff::Own, &stop)
}

/// What a load takes over the kernel, in the middle of three, against what it takes in the simulator.
fn ratio(protocol: &str, tls: &str) -> f64 {
    let plan = plan("A", &format!(r#"{{"protocol": "{protocol}", "tls": "{tls}"}}"#));
    let there = loadstone_sim::run(&plan, Seed(1));
    let runs: Vec<Outcome> = (0..3).map(|_| live(&plan).unwrap()).collect();
    assert!(there.completed && runs.iter().all(|run| run.completed), "{protocol} {tls}");
    let here: Vec<f64> = runs.iter().map(|run| run.plt.as_ms()).collect();
    let simulated = there.plt.as_ms();
    let _ = writeln!(std::io::stderr(), "{protocol}, TLS {tls}: {here:.1?} ms, simulated {simulated:.1}");
    median(here) / simulated
}

#[test]
fn through_a_relay_pages_take_what_they_take_in_the_simulator() {
    let Some(_turn) = turn() else { return };
    let cells = PROTOCOLS.into_iter().flat_map(|protocol| ["none", "1.3"].map(|tls| (protocol, tls)));
    let ratios: Vec<f64> = cells.map(|(protocol, tls)| ratio(protocol, tls)).collect();
    // A relay that is woken late passes on more at a time, which makes a load one round shorter or longer: on a busy
    // machine that shifts single cells, and not the middle of all.
    let middle = median(ratios.clone());
    assert!((middle - 1.0).abs() <= 0.02 && ratios.iter().all(|it| (it - 1.0).abs() <= 0.1), "{ratios:.4?}");
}

#[test]
fn a_capture_says_of_each_packet_to_which_host_its_connection_goes() {
    let Some(_turn) = turn() else { return };
    let plan = plan("objects=3,size=1KB", r#"{"protocol": "h2"}"#);
    let (_stopper, stop) = Stopper::new();
    let captured = run_captured(&plan, Seed(1), BackOff::Own, &stop, 10_000).unwrap();
    let captures =
        [captured, loadstone_sim::run_captured(&plan, Seed(1), 10_000)].map(|outcome| outcome.capture.unwrap());
    assert_eq!(captures[0].connections, captures[1].connections);
    for capture in captures {
        let named = |packet: &Captured| (packet.link.link(), capture.hosts[packet.host as usize].as_str());
        let hosts: BTreeSet<_> = capture.packets.iter().map(named).collect();
        assert_eq!(hosts, BTreeSet::from([(0, "edge"), (1, "synthetic.test")]));
        assert_eq!(capture.left_out, 0);
        for packet in &capture.packets {
            let connection = &capture.connections[packet.connection as usize];
            let ends = if packet.sender == connection.client { connection.there } else { connection.back };
            assert_eq!((packet.host, ends.map(|ends| ends.first)), (connection.server, Some(packet.link)));
            let echoes = packet.timestamps.is_some_and(|times| times.ecr > 0);
            assert!(echoes != (packet.flags.syn && !packet.flags.ack) || packet.flags.rst, "{packet:?}");
            // As scaled: no field of a header has so much.
            let most = if packet.flags.syn { u16::MAX.into() } else { 10_000_000 };
            assert!((14_600..=most).contains(&packet.window) || packet.flags.rst, "{packet:?}");
        }
    }
}
