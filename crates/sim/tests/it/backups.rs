//! Second connections to hosts that answer late, as Chromium opens them.

use crate::{load, page, run_once, variant};
use loadstone_load::page::{ObjectSpec, PageFile, RequestScheduling};
use loadstone_scenario::{Outcome, Plan, Scenario};

/// A document, and two objects that it names.
fn three() -> PageFile {
    let at = |path: &str| ObjectSpec { url: format!("https://a.test/{path}"), bytes: 1000, ..ObjectSpec::default() };
    page(["", "1", "2"].map(at))
}

/// As Chromium loads it, at a round trip of so many ms.
fn chromium(page: PageFile, rtt_ms: u32, more: &str) -> Outcome {
    let page = PageFile { scheduling: RequestScheduling::Chromium, ..page };
    let outcome = load(page, &format!("100mbit,{rtt_ms}ms"), variant(&format!(r#"{{"tls": "1.3"{more}}}"#)));
    assert!(outcome.completed);
    outcome
}

/// When each connection was begun, in ms, and on which each object came.
fn course(outcome: &Outcome) -> (Vec<u64>, Vec<u32>) {
    let opened = outcome.per_connection.iter().map(|connection| connection.opened.as_nanos() / 1_000_000);
    (opened.collect(), outcome.waterfall.iter().filter_map(|row| row.connection).collect())
}

#[test]
fn a_second_connection_is_opened_to_a_host_that_has_not_answered_for_250_ms() {
    let early = course(&chromium(three(), 240, ""));
    assert_eq!(early.1, [0, 0, 0], "the second object is over before its own connection is there");
    assert!(early.0.iter().all(|opened| *opened == 0 || *opened > 700), "{early:?}");
    assert_eq!(course(&chromium(three(), 300, "")), (vec![0, 250], vec![0, 0, 1]));
    let after_the_name = course(&chromium(three(), 300, r#", "names": "looked-up""#));
    assert_eq!(after_the_name, (vec![300, 550], vec![0, 0, 1]));
}

#[test]
fn one_that_carries_all_has_no_use_for_it() {
    for joining in ["together", "one-by-one", "racing"] {
        let late = chromium(three(), 300, &format!(r#", "protocol": "h2", "joining": "{joining}""#));
        assert_eq!(course(&late), (vec![0, 250], vec![0, 0, 0]), "{joining}");
        // TLS is agreed on all the same, and then it is left.
        let backup = &late.per_connection[1];
        assert!(backup.established.is_some() && backup.closed.is_some() && backup.content_up == 0, "{backup:?}");
    }
}

#[test]
fn there_is_none_where_no_more_are_allowed() {
    for more in [r#", "connections": 1"#, r#", "connections_in_all": 1"#] {
        assert_eq!(chromium(three(), 300, more).per_connection.len(), 1, "{more}");
    }
}

#[test]
fn other_browsers_wait() {
    let outcome = load(three(), "100mbit,300ms", variant(r#"{"tls": "1.3"}"#));
    let (opened, _) = course(&outcome);
    assert!(!opened.contains(&250), "{opened:?}");
}

#[test]
fn where_a_syn_is_lost_the_second_connection_carries_the_page() {
    let lossy = |seed: u64| {
        let page = PageFile { scheduling: RequestScheduling::Chromium, ..three() };
        let network = "100mbit,20ms,loss=0%/20%".parse().unwrap();
        run_once(&Plan::new(&Scenario { network, seed, ..Scenario::of(page) }).unwrap())
    };
    let is_first_late = |outcome: &Outcome| {
        let connections = &outcome.per_connection;
        connections.len() > 1 && connections[0].established.is_none_or(|first| first > connections[1].opened)
    };
    let late: Vec<Outcome> = (0..60).map(lossy).filter(is_first_late).collect();
    assert!(late.len() > 5, "one SYN in five is lost: {}", late.len());
    let first = |outcome: &Outcome| outcome.waterfall[0].last_byte.unwrap().as_nanos() / 1_000_000;
    let by_the_second = late.iter().filter(|outcome| outcome.waterfall[0].connection == Some(1));
    let times: Vec<u64> = by_the_second.map(first).collect();
    assert!(times.len() > 3 && times.iter().any(|time| *time < 350), "a SYN is repeated after a second: {times:?}");
}
