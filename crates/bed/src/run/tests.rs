//! What the links have seen of a load against what the kernel itself says.

use super::*;
use crate::{BedHost, ConnectionReport, access};
use loadstone_live::join;
use loadstone_scenario::Scenario;
use std::io::Write;

/// Whether a bed can be made here; if not it is said, and fails where no test may be left out.
fn is_allowed() -> bool {
    let Err(refusal) = access() else { return true };
    assert!(std::env::var_os("LOADSTONE_NO_SKIP").is_none(), "{refusal}");
    // Not by a macro: those are shown only if a test fails.
    let _ = writeln!(io::stderr(), "left out: {refusal}");
    false
}

/// Objects that come down side by side, and one that goes up, through loss both ways.
fn lossy() -> Plan {
    let scenario = Scenario::from_json(
        br#"{"page": {"objects": [
                {"url": "http://a.test/", "bytes": 200000},
                {"url": "http://a.test/1", "bytes": 100000},
                {"url": "http://a.test/2", "bytes": 10, "method": "POST", "upload_bytes": 150000},
                {"url": "http://b.test/3", "bytes": 100000}]},
            "network": "50mbit,20ms,loss=2%", "variant": {"connections": 2}}"#,
    );
    Plan::new(&scenario.unwrap()).unwrap()
}

fn seen(plan: &Plan, seed: Seed) -> RunRecord {
    let (_stopper, stop) = Stopper::new();
    carry_out(plan, seed, BackOff::Own, &stop, None).unwrap()
}

#[test]
fn the_links_see_what_the_kernels_say_they_sent_again() {
    if !is_allowed() {
        return;
    }
    let plan = lossy();
    let mut total = [0, 0];
    for seed in 1..=4 {
        let RunRecord { mut loaded, served, links } = seen(&plan, Seed(seed));
        let loaded = loaded.remove(0);
        assert!(loaded.end.is_some_and(|end| end.completed));
        let (_, joined) = join(loaded, &served);
        assert!(joined.len() >= 3);
        for conn in &joined {
            let report = outcome::on_links(BedHost::CLIENT, &plan.hosts()[0], conn, &links.connections);
            let ConnectionReport { up, down, .. } = report.unwrap();
            let again = [up, down].map(|end| end.retransmissions + end.syn_retransmissions);
            assert_eq!(again, [conn.retransmissions_up, conn.retransmissions_down], "seed {seed}: {conn:?}");
            total = [total[0] + again[0], total[1] + again[1]];
        }
    }
    // 100 segments up and 280 down each time, two of a hundred lost.
    assert!(total.iter().all(|again| *again > 0), "{total:?}");
}

#[test]
fn a_seed_loses_the_packets_that_it_loses_in_the_simulator() {
    if !is_allowed() {
        return;
    }
    let plan = lossy();
    for seed in [Seed(1), Seed(1), Seed(2)] {
        let links = seen(&plan, seed).links;
        for (passage, stream) in [(links.down(), "down.loss"), (links.up(), "up.loss")] {
            let mut draws = seed.stream(stream);
            let expected: Vec<u64> = (0..passage.counts.packets).filter(|_| draws.next_f64() < 0.02).collect();
            assert_eq!(passage.lost.iter().map(|lost| lost.number).collect::<Vec<_>>(), expected);
            assert!(!expected.is_empty(), "no packet of {} was lost: nothing is tested", passage.counts.packets);
        }
    }
}

#[test]
fn a_browser_that_loads_before_the_others_is_refused() {
    let page = r#"{"objects": [{"url": "http://a.test/", "bytes": 1}]}"#;
    let link = |at: usize, from: &str| format!(r#"{{"name": "{at}", "between": ["{from}", "far"]}}"#);
    let topology = format!(
        r#"{{"hosts": [{{"name": "me", "runs": "browser"}}, {{"name": "other", "runs": "earlier-browser"}},
            {{"name": "far", "runs": "origins"}}], "links": [{}, {}]}}"#,
        link(0, "me"),
        link(1, "other")
    );
    let text = format!(r#"{{"page": {page}, "topology": {topology}}}"#);
    let plan = Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap();
    let error = programs::check(&plan).unwrap_err();
    assert!(error.to_string().contains("leave 'other' out, or simulate"), "{error}");
}

#[test]
fn what_a_kernel_cannot_be_told_is_refused_by_name() {
    for (variant, field) in [
        (r#"{"tcp": {"profile": "textbook"}}"#, "variant.tcp.profile"),
        (r#"{"client_tcp": {"profile": "windows-7"}}"#, "variant.client_tcp.profile"),
        (r#"{"tcp_of": {"a.test": {"profile": "textbook"}}}"#, "variant.tcp_of.a.test.profile"),
        (r#"{"tcp": {"mechanisms": {"rack": false}}}"#, "variant.tcp.mechanisms"),
        (r#"{"tcp": {"mechanisms": {"idle_restart": "initial"}}}"#, "variant.tcp.mechanisms"),
    ] {
        let page = r#"{"objects": [{"url": "http://a.test/", "bytes": 1}]}"#;
        let text = format!(r#"{{"page": {page}, "variant": {variant}}}"#);
        let plan = Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap();
        let error = kernels::tcps(&plan, BackOff::Own).unwrap_err();
        assert!(matches!(&error, RunError::Unsupported { field: found, .. } if found == field), "{error}");
    }
}
