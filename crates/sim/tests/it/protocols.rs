//! What each host speaks.

use crate::{object, page};
use loadstone_http::Protocol;
use loadstone_load::page::ObjectSpec;
use loadstone_scenario::{Outcome, Plan, Scenario, Variant};
use loadstone_sim::run;
use loadstone_units::Seed;
use std::collections::BTreeMap;

/// A page of two hosts with six images each.
fn outcome(protocol: Protocol, of_the_second: Option<Protocol>) -> Outcome {
    let images = (0..6).flat_map(|at| {
        let second = ObjectSpec { url: format!("http://b.test/{at}"), bytes: 30_000, ..ObjectSpec::default() };
        [object(&format!("/{at}"), 30_000), second]
    });
    let protocol_of: BTreeMap<_, _> = of_the_second.map(|spoken| ("b.test".to_owned(), spoken)).into_iter().collect();
    let variant = Variant { protocol, protocol_of, ..Variant::default() };
    let scenario = Scenario { variant, ..Scenario::of(page(std::iter::once(object("/", 10_000)).chain(images))) };
    run(&Plan::new(&scenario).unwrap(), Seed(1))
}

fn connections(outcome: &Outcome) -> [usize; 2] {
    [0, 1].map(|host| outcome.per_connection.iter().filter(|connection| connection.host.0 == host).count())
}

#[test]
fn each_host_gets_the_connections_of_what_it_speaks() {
    assert_eq!(connections(&outcome(Protocol::H2, None)), [1, 1]);
    assert_eq!(connections(&outcome(Protocol::H2, Some(Protocol::Http1))), [1, 6]);
    assert_eq!(connections(&outcome(Protocol::Http1, Some(Protocol::H2))), [6, 1]);
}

#[test]
fn to_name_what_is_spoken_anyway_changes_nothing() {
    let (named, plain) = (outcome(Protocol::H2, Some(Protocol::H2)), outcome(Protocol::H2, None));
    assert_eq!((named.plt, named.waterfall), (plain.plt, plain.waterfall));
}
