//! Page loads in virtual time, seen from outside: calculations on paper, laws, whole worlds.

mod account;
mod arithmetic;
mod backups;

mod capture;
mod coalescing;
mod determinism;
mod edges;
mod foresight;
mod gates;
mod habits;
mod laws;
mod names;
mod pipelining;
mod preconnects;
mod protocols;
mod queues;
mod recorded;
mod relays;
mod seen;
mod spread;
mod streams;
mod topologies;
mod visits;
mod worlds;

use loadstone_load::page::{ObjectSpec, PageFile};
use loadstone_scenario::{Outcome, Plan, Scenario, Variant};
use loadstone_sim::run;

/// Bytes of data in a full segment.
const MSS: u64 = 1448;
/// A network whose rate does not matter: a packet takes 12 ns.
const FAST: &str = "1000gbit,100ms,queue=1000000p";

fn object(path: &str, bytes: u64) -> ObjectSpec {
    ObjectSpec { url: format!("http://a.test{path}"), bytes, ..ObjectSpec::default() }
}

fn page(objects: impl IntoIterator<Item = ObjectSpec>) -> PageFile {
    PageFile { objects: objects.into_iter().collect(), ..PageFile::default() }
}

fn load(page: PageFile, network: &str, variant: Variant) -> Outcome {
    let scenario = Scenario { network: network.parse().unwrap(), variant, seed: 1, ..Scenario::of(page) };
    run_once(&Plan::new(&scenario).unwrap())
}

fn run_once(plan: &Plan) -> Outcome {
    run(plan, plan.seed())
}

/// A variant from its JSON, TCP as in textbooks where it says nothing else.
fn variant(json: &str) -> Variant {
    let mut fields: serde_json::Value = serde_json::from_str(json).unwrap();
    for side in ["tcp", "client_tcp"] {
        let tcp = fields.as_object_mut().unwrap().entry(side).or_insert_with(|| serde_json::json!({}));
        tcp.as_object_mut().unwrap().entry("profile").or_insert_with(|| "textbook".into());
    }
    serde_json::from_value(fields).unwrap()
}

/// TCP as in textbooks, so that times can be calculated on paper.
fn textbook() -> Variant {
    variant("{}")
}
