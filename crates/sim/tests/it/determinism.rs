//! The same scenario and seed give the same outcome, whatever else is different.

use loadstone_load::page::synthetic;
use loadstone_scenario::{Outcome, Part, Plan, Scenario};
use loadstone_sim::run;
use loadstone_units::{Seed, Time};
use std::path::Path;

fn lossy() -> Scenario {
    let page = synthetic::page("B").unwrap();
    Scenario { network: "10/1mbit,100ms,1%".parse().unwrap(), ..Scenario::of(page) }
}

#[test]
fn repeats_and_new_plans_give_the_same_outcome() {
    let plan = Plan::new(&lossy()).unwrap();
    let first: Vec<Outcome> = (1..6).map(|seed| run(&plan, Seed(seed))).collect();
    let reversed: Vec<Outcome> = (1..6).rev().map(|seed| run(&Plan::new(&lossy()).unwrap(), Seed(seed))).collect();
    assert!(first.iter().eq(reversed.iter().rev()));
    assert!(first.windows(2).all(|pair| pair[0].plt != pair[1].plt), "seeds differ");
}

#[test]
fn threads_do_not_matter() {
    let plan = Plan::new(&lossy()).unwrap();
    let here = run(&plan, Seed(3));
    let there = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..4).map(|_| scope.spawn(|| run(&plan, Seed(3)))).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(there.iter().all(|outcome| *outcome == here));
}

/// The pinned results were written by the command line of a release build; this is a debug build.
/// The Python tests hold the command line to the same file, byte by byte.
#[test]
fn debug_and_release_builds_agree_to_the_last_bit() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let scenario = Scenario::from_json(&std::fs::read(folder.join("first.json")).unwrap()).unwrap();
    let plan = Plan::new(&scenario).unwrap();
    let pinned = std::fs::read(folder.join("pinned/first.json")).unwrap();
    let pinned: serde_json::Value = serde_json::from_slice(&pinned).unwrap();
    let runs = pinned["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 5);
    for pinned in runs {
        let seed = pinned["seed"].as_u64().unwrap();
        // The command line adds what follows from these.
        for (name, value) in json(&run(&plan, Seed(seed))) {
            assert_eq!(value, pinned[&name], "{name}");
        }
    }
}

fn json(run: &Outcome) -> serde_json::Map<String, serde_json::Value> {
    assert!(run.completed, "what is not completed has no account");
    let ms = |part: Part| serde_json::json!(Time::from_nanos(run.account().nanos(part)).as_ms());
    let account: serde_json::Map<_, _> = Part::ALL.map(|part| (part.name().to_owned(), ms(part))).into_iter().collect();
    let json = serde_json::json!({
        "seed": run.seed,
        "plt_ms": run.plt.as_ms(),
        "first_request_ms": run.first_request.map(Time::as_ms),
        "bytes_down": run.bytes_down,
        "bytes_up": run.bytes_up,
        "bytes_pushed": 0,
        "bytes_wasted": 0,
        "packets_down": run.packets_down,
        "packets_up": run.packets_up,
        "retransmissions": run.retransmissions,
        "fast_retransmissions": run.loss_recovery.map(|by| by.fast_retransmissions),
        "tail_loss_probes": run.loss_recovery.map(|by| by.tail_loss_probes),
        "timeouts": run.loss_recovery.map(|by| by.timeouts),
        "connections": run.connections,
        "completed": run.completed,
        "account": account,
    });
    json.as_object().unwrap().clone()
}
