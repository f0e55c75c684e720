//! Names that the browser looks up: a round trip to the name server at the far end of the access link.

use crate::{FAST, load, object, page, variant};
use loadstone_load::page::{HostSpec, Needed, ObjectSpec, PageFile};
use loadstone_scenario::{Outcome, Part, Plan, Scenario};
use loadstone_units::Bounded;

const LOOKED_UP: &str = r#"{"names": "looked-up"}"#;

fn at(url: &str) -> ObjectSpec {
    ObjectSpec { url: url.to_owned(), bytes: 1000, ..ObjectSpec::default() }
}

#[track_caller]
fn assert_ms(outcome: &Outcome, expected: f64) {
    let ms = outcome.plt.as_ms();
    assert!(outcome.completed && (expected..expected + 0.1).contains(&ms), "{ms} is not {expected}");
}

fn ms_in(outcome: &Outcome, part: Part) -> u64 {
    outcome.account().nanos(part) / 1_000_000
}

#[test]
fn a_name_costs_a_round_trip_before_the_handshake() {
    let root = || page([object("/", 1000)]);
    let (cached, looked_up) = (load(root(), FAST, variant("{}")), load(root(), FAST, variant(LOOKED_UP)));
    assert_ms(&cached, 200.0);
    assert_ms(&looked_up, 300.0);
    assert_eq!((ms_in(&cached, Part::Handshakes), ms_in(&looked_up, Part::Handshakes)), (100, 200));
    // What RFC 1035 makes of `a.test` (8 bytes), behind 28 bytes of IPv4 and UDP: a header of 12, the name, type and
    // class; in the answer a record of 16 bytes more.
    assert_eq!((looked_up.bytes_up - cached.bytes_up, looked_up.packets_up - cached.packets_up), (28 + 12 + 8 + 4, 1));
    assert_eq!(looked_up.bytes_down - cached.bytes_down, 28 + 12 + 8 + 4 + 16);
    assert_eq!(looked_up.packets_down - cached.packets_down, 1);
}

#[test]
fn the_name_server_is_as_near_as_the_access_link_is_however_far_the_host() {
    let far = || HostSpec { rtt_ms: 200.0, ..HostSpec::default() };
    let far_page = || PageFile { hosts: [("a.test".to_owned(), far())].into(), ..page([object("/", 1000)]) };
    assert_ms(&load(far_page(), FAST, variant("{}")), 600.0);
    assert_ms(&load(far_page(), FAST, variant(LOOKED_UP)), 700.0);
}

#[test]
fn each_name_is_looked_up_once_and_addresses_never() {
    let (known, new) = (["http://a.test:81/", "http://192.0.2.7/", "http://[2001:db8::7]:82/"], "http://b.test:81/");
    for (second, expected) in known.map(|url| (url, 500.0)).into_iter().chain([(new, 600.0)]) {
        assert_ms(&load(page([at("http://a.test/"), at(second)]), FAST, variant(LOOKED_UP)), expected);
    }
}

#[test]
fn the_page_waits_until_a_request_to_a_name_that_does_not_exist_has_failed() {
    let gone = HostSpec { name_error: Some(Bounded::known(4)), ..HostSpec::default() };
    let image = ObjectSpec { bytes: 0, needed: Some(Needed::WhenFound), ..at("http://gone.test/") };
    let with = || {
        let page = page([object("/", 1000), image.clone()]);
        PageFile { hosts: [("gone.test".to_owned(), gone.clone())].into(), ..page }
    };
    let (cached, looked_up) = (load(with(), FAST, variant("{}")), load(with(), FAST, variant(LOOKED_UP)));
    assert_ms(&cached, 200.0);
    assert_ms(&looked_up, 300.0 + 400.0);
    assert_eq!((ms_in(&looked_up, Part::Handshakes), looked_up.connections), (200 + 400, 1));
    let alone = load(page([object("/", 1000)]), FAST, variant(LOOKED_UP));
    // Four queries for `gone.test` (11 bytes), and answers without a record.
    let len = 4 * (28 + 12 + 11 + 4);
    // Meanwhile the response is acknowledged, by a packet of 52 bytes.
    assert_eq!([looked_up.bytes_up - alone.bytes_up, looked_up.bytes_down - alone.bytes_down], [len + 52, len]);
}

#[test]
fn a_query_that_is_answered_late_and_sent_again_was_not_lost() {
    // The answer waits behind 60 KB, which take two seconds: longer than the browser waits before it asks again.
    let objects = [ObjectSpec { bytes: 60_000, ..at("http://a.test/1") }, at("http://b.test/2")];
    let plan = |names: &str| {
        let network = "240kbit,20ms,queue=1000p".parse().unwrap();
        let page = page([at("http://a.test/"), objects[0].clone(), objects[1].clone()]);
        let variant = variant(&format!(r#"{{"names": "{names}", "tcp": {{"iw": 100}}}}"#));
        Plan::new(&Scenario { network, variant, ..Scenario::of(page) }).unwrap()
    };
    let outcomes = ["cached", "looked-up"].map(|names| crate::run_once(&plan(names)));
    assert!(
        outcomes.iter().all(|outcome| outcome.completed && ms_in(outcome, Part::LossRecovery) == 0),
        "{outcomes:?}"
    );
}

#[test]
fn a_query_that_is_lost_costs_a_second_of_loss_recovery() {
    let lossy = |seed| {
        let network = "1000gbit,100ms,20%,queue=1000000p".parse().unwrap();
        let page = page([object("/", 1000)]);
        Plan::new(&Scenario { network, variant: variant(LOOKED_UP), seed, ..Scenario::of(page) }).unwrap()
    };
    let outcomes: Vec<Outcome> = (1..200).map(|seed| crate::run_once(&lossy(seed))).collect();
    // A lost SYN costs a second too, but its connection has begun by then.
    let begins_late =
        |outcome: &&Outcome| outcome.per_connection.first().is_some_and(|conn| conn.opened.as_ms() > 1000.0);
    let alone = outcomes.iter().filter(begins_late).min_by_key(|outcome| outcome.plt);
    let alone = alone.expect("of 199 loads some lose their first query");
    assert_ms(alone, 1300.0);
    assert_eq!((ms_in(alone, Part::LossRecovery), ms_in(alone, Part::Handshakes)), (1000, 200));
}

#[test]
fn where_the_name_server_is_not_known_or_cannot_know_a_name_is_an_error() {
    let scenario = |page: PageFile| Scenario { variant: variant(LOOKED_UP), ..Scenario::of(page) };
    let label = "a".repeat(64);
    let error = Plan::new(&scenario(page([at(&format!("http://{label}.test/"))]))).unwrap_err();
    assert_eq!(error.field, "page");
    assert!(error.to_string().contains("is no name that a name server can have"), "{error}");

    let topology = r#"{"hosts": [{"name": "client", "runs": "browser"}, {"name": "server", "runs": "origins"}],
        "links": [{"name": "access", "between": ["client", "server"]}]}"#;
    let topology = Some(serde_json::from_str(topology).unwrap());
    let error = Plan::new(&Scenario { topology, ..scenario(page([object("/", 1000)])) }).unwrap_err();
    assert_eq!(error.field, "variant.names");
    assert!(error.to_string().contains("leave it out"), "{error}");
}
