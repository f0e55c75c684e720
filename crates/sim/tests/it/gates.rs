//! Nodes that begin with the first of their needs.

use crate::{FAST, load, page, textbook};
use loadstone_load::page::{ComputeSpec, Need, ObjectSpec, On, PageFile};

fn after(node: &str) -> Need {
    Need { node: node.to_owned(), ..Need::default() }
}

/// A page whose object `next` waits for a gate, which opens when `slow` is there, so many ms after the document, or so
/// many ms after the load has begun: when `next` is found, in ms. The document is there at 200 ms, `slow` 100 ms and its
/// thinking later.
fn found(thinks_ms: f64, after_document_ms: f64, after_start_ms: f64) -> u64 {
    let object = |path: &str| ObjectSpec { url: format!("http://a.test/{path}"), bytes: 1, ..ObjectSpec::default() };
    let slow = ObjectSpec { think_ms: Some(thinks_ms), ..object("slow") };
    let next = ObjectSpec { needs: Some(vec![after("gate")]), ..object("next") };
    let needs = vec![
        after("http://a.test/slow"),
        Need { timer_ms: after_document_ms, ..after("http://a.test/") },
        Need { on: On::Start, timer_ms: after_start_ms, ..after("http://a.test/") },
    ];
    let gate = ComputeSpec { name: "gate".to_owned(), any_need: true, needs: Some(needs), ..ComputeSpec::default() };
    let page = PageFile { compute: vec![gate], ..page([object(""), slow, next]) };
    let outcome = load(page, FAST, textbook());
    assert!(outcome.completed);
    outcome.waterfall[2].found.unwrap().as_nanos() / 1_000_000
}

#[test]
fn a_gate_opens_with_the_first_of_its_needs_and_once() {
    assert_eq!(found(20.0, 1000.0, 1000.0), 320, "with what is fetched");
    assert_eq!(found(500.0, 50.0, 1000.0), 250, "with a timer, though another one was set earlier");
    assert_eq!(found(500.0, 150.0, 320.0), 320);
    assert_eq!(found(500.0, 150.0, 1000.0), 350);
    assert_eq!(found(20.0, 150.0, 310.0), 310, "the others come later, and do nothing");
}

#[test]
fn what_has_begun_with_one_need_does_not_begin_again_with_another() {
    // The first begins at 250, for a timer of 50 ms, and not at 300 as well, as the first need would have it.
    let timer = |on, timer_ms| Need { on, timer_ms, ..after("http://a.test/") };
    let busy = |name: &str, any_need, needs| ComputeSpec {
        name: name.to_owned(),
        ms: 100.0,
        main_thread: true,
        any_need,
        needs: Some(needs),
        ..ComputeSpec::default()
    };
    let once = busy("once", true, vec![timer(On::Start, 300.0), timer(On::End, 50.0)]);
    let next = busy("next", false, vec![timer(On::End, 120.0)]);
    let object = |path: &str, needs| ObjectSpec {
        url: format!("http://a.test/{path}"),
        bytes: 1,
        needs,
        ..ObjectSpec::default()
    };
    let objects = vec![object("", None), object("last", Some(vec![after("next")]))];
    let outcome = load(PageFile { compute: vec![once, next], ..page(objects) }, FAST, textbook());
    assert_eq!(outcome.waterfall[1].found.unwrap().as_nanos() / 1_000_000, 450);
}

#[test]
fn a_gate_without_needs_is_open() {
    let json = r#"{"objects": [{"url": "http://a.test/", "bytes": 1}, {"url": "http://a.test/1", "bytes": 1, "needs": [{"node": "gate"}]}],
        "compute": [{"name": "gate", "ms": 0, "any_need": true, "needs": []}]}"#;
    let outcome = load(PageFile::from_json(json.as_bytes()).unwrap(), FAST, textbook());
    assert_eq!(outcome.waterfall[1].found.unwrap().as_nanos(), 0);
}
