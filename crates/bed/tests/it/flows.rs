//! Connections of the kernel that behave like several (TCP+).

use crate::processes::{await_that, half_done_like};
use crate::{leave_out, median, turn};
use loadstone_bed::{BackOff, Bed, BedError, RunError, Settings, Stopper, Tcp, run};
use loadstone_net::tcp::Congestion;
use loadstone_scenario::{Plan, Scenario};
use loadstone_units::{Bounded, Seed};
use std::fs;

const BETA: &str = "/sys/module/tcp_cubic/parameters/beta";

fn like(flows: u32, cc: Congestion) -> Tcp {
    Tcp { flows: Some(Bounded::known(flows)), cc, ..Tcp::default() }
}

/// Whether this kernel takes congestion controls by BPF; if not it is said.
fn takes_bpf() -> bool {
    let settings = Settings { server: like(2, Congestion::Cubic), ..Settings::default() };
    match Bed::new(2).unwrap().configure(&settings) {
        Err(why @ BedError::TcpPlus { .. }) => {
            leave_out(&why.to_string());
            false
        }
        result => result.is_ok(),
    }
}

/// The congestion controls by BPF that this kernel has now.
fn made_here() -> Vec<String> {
    let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    known.split_whitespace().filter(|name| name.starts_with("ls")).map(str::to_owned).collect()
}

fn beta() -> u32 {
    fs::read_to_string(BETA).unwrap().trim().parse().unwrap()
}

#[test]
fn what_is_made_for_several_flows_goes_with_the_bed() {
    let Some(_turn) = turn() else { return };
    if !takes_bpf() {
        return;
    }
    let before = made_here();
    let bed = Bed::new(2).unwrap();
    let settings =
        Settings { client: like(3, Congestion::Reno), server: like(4, Congestion::Cubic), ..Settings::default() };
    bed.configure(&settings).unwrap();
    bed.configure(&settings).unwrap();
    assert_eq!(made_here().len(), before.len() + 2, "one for each end, and once");
    // BBR does not go by losses, and one flow is the kernel's own.
    bed.configure(&Settings { client: like(3, Congestion::Bbr), server: like(1, Congestion::Reno), ..settings })
        .unwrap();
    assert_eq!(made_here().len(), before.len() + 2);
    drop(bed);
    assert_eq!(made_here(), before);
}

#[test]
fn several_flows_in_one_lose_as_much_less_as_they_do_in_the_simulator() {
    let Some(_turn) = turn() else { return };
    if !takes_bpf() {
        return;
    }
    for cc in ["reno", "cubic"] {
        let mut took = Vec::new();
        for flows in [1, 4] {
            let text = format!(
                r#"{{"page": {{"objects": [{{"url": "http://a.test/", "bytes": 1000000}}]}}, "network": "20/2mbit,60ms,1%/0%",
                    "variant": {{"tcp": {{"cc": "{cc}", "iw": 10, "flows": {flows}}}}}}}"#
            );
            let plan = Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap();
            let (_stopper, stop) = Stopper::new();
            // A machine that is busy with other things is late now and then.
            let live = median((0..3).map(|_| run(&plan, Seed(2), BackOff::Own, &stop).unwrap().plt.as_ms()).collect());
            let simulated = loadstone_sim::run(&plan, Seed(2)).plt.as_ms();
            assert!((live / simulated - 1.0).abs() < 0.05, "{cc}, {flows}: {live} ms, simulated {simulated}");
            took.push(live);
        }
        assert!(took[0] > 1.5 * took[1], "{cc}: {took:?}");
    }
}

#[test]
fn the_machine_s_beta_is_put_back_by_the_last_one() {
    let Some(_turn) = turn() else { return };
    let before = beta();
    let bed = Bed::new(2).unwrap();
    let settings =
        Settings { server: like(4, Congestion::Cubic), back_off: BackOff::MachineWide, ..Settings::default() };
    match bed.configure(&settings) {
        Err(why @ BedError::Beta(_)) => return leave_out(&why.to_string()),
        result => result.unwrap(),
    }
    assert_eq!(beta(), 1024 - (1024 - before) / 4);
    bed.configure(&Settings::default()).unwrap();
    assert_eq!(beta(), before, "without asking for it a bed does not have it");
    bed.configure(&settings).unwrap();
    drop(bed);
    assert_eq!(beta(), before);
    let (mut child, _output) = half_done_like(&["4", "machine-wide"]);
    assert_eq!(beta(), 1024 - (1024 - before) / 4);
    child.kill().unwrap();
    child.wait().unwrap();
    await_that(|| beta() == before);
}

#[test]
fn a_congestion_control_does_not_outlive_a_process_that_is_killed() {
    let Some(_turn) = turn() else { return };
    if !takes_bpf() {
        return;
    }
    let before = made_here();
    let (mut child, _output) = half_done_like(&["4"]);
    assert_eq!(made_here().len(), before.len() + 1);
    child.kill().unwrap();
    child.wait().unwrap();
    await_that(|| made_here() == before);
}

#[test]
fn different_back_offs_by_one_beta_are_refused() {
    let Some(_turn) = turn() else { return };
    let plan = |client: &str, server: &str| {
        let page = r#"{"objects": [{"url": "http://a.test/", "bytes": 1}]}"#;
        let text = format!(r#"{{"page": {page}, "variant": {{"tcp": {server}, "client_tcp": {client}}}}}"#);
        Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap()
    };
    for (client, server) in [(r#"{"flows": 2}"#, r#"{"flows": 3}"#), ("{}", r#"{"flows": 3, "cc": "reno"}"#)] {
        let (_stopper, stop) = Stopper::new();
        let refused = run(&plan(client, server), Seed(1), BackOff::MachineWide, &stop);
        assert!(matches!(refused, Err(RunError::Bed(BedError::Betas))), "{refused:?}");
    }
}
