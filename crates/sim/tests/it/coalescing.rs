//! Hosts with one address and one certificate: over HTTP/2, connections to one carry requests to the other.

use crate::{FAST, load, page, variant};
use loadstone_load::page::{HostSpec, Need, ObjectSpec, PageFile};
use loadstone_scenario::Outcome;

fn at(url: &str) -> ObjectSpec {
    ObjectSpec { url: url.to_owned(), bytes: 1000, ..ObjectSpec::default() }
}

/// A page of `a.test` and what else is given, where `b.test` and `c.test` are served by `a.test`.
fn coalesced(objects: impl IntoIterator<Item = ObjectSpec>) -> PageFile {
    let served = || HostSpec { served_by: Some("a.test".to_owned()), ..HostSpec::default() };
    let hosts = ["b.test", "c.test"].map(|host| (host.to_owned(), served())).into();
    PageFile { hosts, ..page([at("https://a.test/")].into_iter().chain(objects)) }
}

fn h2(page: PageFile, more: &str) -> Outcome {
    let outcome = load(page, FAST, variant(&format!(r#"{{"protocol": "h2", "tls": "1.3"{more}}}"#)));
    assert!(outcome.completed);
    outcome
}

/// How long it took, in round trips, and on how many connections.
fn cost(outcome: &Outcome) -> (u64, usize) {
    (outcome.plt.as_nanos() / 100_000_000, outcome.per_connection.len())
}

#[test]
fn another_host_of_the_server_needs_no_connection_but_its_name() {
    // TCP, TLS, and the request.
    assert_eq!(cost(&h2(coalesced([]), "")), (3, 1));
    let apart = page([at("https://a.test/"), at("https://b.test/1")]);
    assert_eq!(cost(&h2(apart, "")), (6, 2));
    let joined = || coalesced([at("https://b.test/1"), at("https://c.test/2"), at("https://a.test/3")]);
    for joining in ["together", "one-by-one", "racing"] {
        assert_eq!(cost(&h2(joined(), &format!(r#", "joining": "{joining}""#))), (4, 1), "{joining}");
    }
    let looked_up = h2(joined(), r#", "names": "looked-up""#);
    assert_eq!(cost(&looked_up), (6, 1));
    assert!(looked_up.waterfall.iter().all(|row| row.connection == Some(0) && row.status == Some(200)));
}

#[test]
fn a_connection_that_is_still_being_opened_is_not_waited_for() {
    let at_once = ObjectSpec { needs: Some(Vec::new()), ..at("https://b.test/1") };
    assert_eq!(cost(&h2(coalesced([at_once]), "")), (3, 2));
}

#[test]
fn what_may_not_share_has_a_connection_of_its_own() {
    let anonymous = ObjectSpec { anonymous: true, ..at("https://b.test/1") };
    let foreign = ObjectSpec { partition: Some("frame".to_owned()), ..at("https://b.test/1") };
    for object in [anonymous, foreign, at("http://b.test/1"), at("https://b.test:8443/1")] {
        let url = object.url.clone();
        assert_eq!(h2(coalesced([object]), "").per_connection.len(), 2, "{url}");
    }
    let mut plain = coalesced([at("http://b.test/1")]);
    plain.objects[0].url = "http://a.test/".to_owned();
    let plain = load(plain, FAST, variant(r#"{"protocol": "h2"}"#));
    assert_eq!(cost(&plain), (4, 2), "without TLS there is no certificate");
    let http1 = |page| load(page, FAST, variant(r#"{"tls": "1.3"}"#));
    assert_eq!(cost(&http1(coalesced([at("https://b.test/1")]))), (6, 2), "one request after the other");
}

#[test]
fn servers_tell_of_what_the_other_host_has() {
    let needs = || Some(vec![Need { node: "https://b.test/1".to_owned(), ..Need::default() }]);
    let chain = || coalesced([at("https://b.test/1"), ObjectSpec { needs: needs(), ..at("https://b.test/2") }]);
    assert_eq!(cost(&h2(chain(), "")), (5, 1));
    for foresight in [r#"{"push": "embedded"}"#, r#"{"hint": "embedded", "hint_by": "link"}"#] {
        let outcome = h2(chain(), &format!(r#", "foresight": {foresight}"#));
        let expected = if foresight.contains("push") { 4 } else { 5 };
        assert_eq!(cost(&outcome), (expected, 1), "{foresight}");
    }
}

#[test]
fn when_the_connection_takes_no_more_another_one_does() {
    let objects = || (0..12).map(|number| at(&format!("https://{}.test/{number}", ["a", "b", "c"][number % 3])));
    for requests in 1..8 {
        let outcome = h2(coalesced(objects()), &format!(r#", "requests_per_connection": {requests}"#));
        assert!(outcome.waterfall.iter().all(|row| row.body_bytes == 1000), "{requests}");
        // After the first response nothing is left of its connection, and each host opens one.
        assert!(requests > 1 || outcome.per_connection.len() == 4, "{:?}", cost(&outcome));
    }
    let few = h2(coalesced(objects()), r#", "connections_in_all": 1"#);
    assert_eq!(cost(&few), (4, 1));
}

#[test]
fn nothing_is_lost_where_packets_are() {
    for seed in 0..20 {
        let objects = (0..20).map(|number| at(&format!("https://{}.test/{number}", ["a", "b", "c"][number % 3])));
        let scenario = loadstone_scenario::Scenario {
            network: "5mbit,60ms,loss=5%".parse().unwrap(),
            variant: variant(r#"{"protocol": "h2", "tls": "1.3", "names": "looked-up"}"#),
            seed,
            ..loadstone_scenario::Scenario::of(coalesced(objects))
        };
        let outcome = crate::run_once(&loadstone_scenario::Plan::new(&scenario).unwrap());
        assert!(outcome.completed && outcome.waterfall.iter().all(|row| row.body_bytes == 1000), "{seed}");
    }
}

#[test]
fn a_server_that_refuses_to_answer_for_another_host_is_not_asked_again() {
    let refused = ObjectSpec { status: Some(421), ..at("https://b.test/1") };
    let later = Some(vec![Need { node: "https://b.test/1".to_owned(), ..Need::default() }]);
    let both = ObjectSpec { status: Some(421), ..at("https://b.test/0") };
    let outcome = h2(coalesced([both, refused, ObjectSpec { needs: later, ..at("https://b.test/2") }]), "");
    // The root, the refusal, TCP, TLS and the request again, the later one.
    assert_eq!(cost(&outcome), (3 + 1 + 3 + 1, 2));
    assert!(outcome.waterfall[1..].iter().all(|row| row.connection == Some(1) && row.body_bytes == 1000));
}
