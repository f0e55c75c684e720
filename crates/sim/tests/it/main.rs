//! Page loads in virtual time, seen from outside: calculations on paper, laws, whole worlds.

mod account;
mod arithmetic;
mod determinism;
mod laws;
mod streams;
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
    run(plan, plan.seed()).unwrap()
}

/// A variant from its JSON.
fn variant(json: &str) -> Variant {
    let page = r#"{"objects": [{"url": "http://a.test/", "bytes": 1}]}"#;
    Scenario::from_json(format!(r#"{{"page": {page}, "variant": {json}}}"#).as_bytes()).unwrap().variant
}
