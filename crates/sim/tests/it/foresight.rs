//! Pushes and hints: what servers tell ahead saves the round trips on which it would be asked for.

use crate::{FAST, load, variant};
use loadstone_load::Row;
use loadstone_load::page::PageFile;
use loadstone_scenario::Outcome;
use serde_json::json;

const PUSHING: [&str; 4] = ["spdy/2", "spdy/3", "spdy/3.1", "h2"];

/// A document, a style sheet that it names, and a font that the style sheet names: each a round trip of 100 ms
/// later than the one before. The server thinks 50 ms about the document.
fn chain(protocol: &str, foresight: &str) -> Outcome {
    let json = r#"{"objects": [
        {"url": "http://a.test/", "bytes": 1000, "kind": "html", "think_ms": 50},
        {"url": "http://a.test/a.css", "bytes": 1000, "kind": "css"},
        {"url": "http://a.test/b.woff", "bytes": 1000, "kind": "font", "needs": [{"node": "http://a.test/a.css"}]}]}"#;
    let page = PageFile::from_json(json.as_bytes()).unwrap();
    let json = format!(r#"{{"protocol": "{protocol}", "tls": "none", "foresight": {foresight}}}"#);
    let outcome = load(page, FAST, variant(&json));
    assert!(outcome.completed);
    let account = outcome.account();
    assert_eq!(account.total(), outcome.plt.as_nanos(), "every nanosecond is accounted for");
    outcome
}

/// When each object was complete, in whole ms.
fn complete(outcome: &Outcome) -> Vec<u64> {
    outcome.waterfall.iter().map(|row| row.last_byte.unwrap().as_ms() as u64).collect()
}

fn found_by(outcome: &Outcome) -> Vec<&'static str> {
    outcome.waterfall.iter().map(|row| row.found_by.name()).collect()
}

#[test]
fn without_foresight_each_object_is_asked_for_when_it_is_found() {
    for protocol in PUSHING.into_iter().chain(["http/1.1"]) {
        let outcome = chain(protocol, "{}");
        assert_eq!(complete(&outcome), [250, 350, 450], "{protocol}");
        assert_eq!(found_by(&outcome), ["page"; 3]);
    }
}

#[test]
fn what_is_pushed_comes_while_the_server_thinks_about_what_was_asked_for() {
    for protocol in PUSHING {
        let outcome = chain(protocol, r#"{"push": "all"}"#);
        assert_eq!(complete(&outcome), [250, 200, 200], "{protocol}");
        assert_eq!(found_by(&outcome), ["page", "push", "push"], "{protocol}");
        assert_eq!(outcome.connections, 1);
    }
}

#[test]
fn of_one_level_what_is_pushed_is_what_stands_in_the_document() {
    for protocol in PUSHING {
        for scope in ["embedded", "dependencies"] {
            let outcome = chain(protocol, &format!(r#"{{"push": "{scope}"}}"#));
            // The font is known when the page wants the style sheet, which has come already.
            assert_eq!(complete(&outcome), [250, 200, 350], "{protocol}, {scope}");
            assert_eq!(found_by(&outcome), ["page", "push", "page"]);
        }
    }
}

#[test]
fn nothing_is_pushed_over_http1() {
    assert_eq!(complete(&chain("http/1.1", r#"{"push": "all"}"#)), [250, 350, 450]);
}

#[test]
fn early_hints_save_the_time_that_the_server_thinks_rfc8297() {
    for protocol in ["http/1.1", "h2"] {
        let outcome = chain(protocol, r#"{"hint": "all"}"#);
        // With HTTP/1.1 the first goes on the connection that is free at 250 ms, the second on a new one.
        let expected = if protocol == "h2" { [250, 300, 300] } else { [250, 350, 400] };
        assert_eq!(complete(&outcome), expected, "{protocol}");
        assert_eq!(found_by(&outcome), ["page", "hint", "hint"]);
    }
    // SPDY has no interim responses.
    assert_eq!(complete(&chain("spdy/3.1", r#"{"hint": "all"}"#)), [250, 350, 450]);
}

#[test]
fn what_early_hints_bring_is_asked_for_again_unless_the_cache_may_give_it_rfc9111() {
    let date = r#"["date", "Tue, 24 Nov 2026 12:00:00 GMT"]"#;
    let json = format!(
        r#"{{"objects": [
        {{"url": "http://a.test/", "bytes": 1000, "kind": "html", "think_ms": 50}},
        {{"url": "http://a.test/fresh.js", "bytes": 1000, "response_fields": [{date}, ["cache-control", "max-age=60"]]}},
        {{"url": "http://a.test/asked.js", "bytes": 1000,
          "response_fields": [{date}, ["cache-control", "no-cache"], ["etag", "\"1\""]]}},
        {{"url": "http://a.test/never.js", "bytes": 1000, "response_fields": [{date}, ["cache-control", "no-store"]]}}]}}"#
    );
    let hinted = |hint_by: &str| {
        let page = PageFile::from_json(json.as_bytes()).unwrap();
        let foresight = format!(r#"{{"hint": "all", "hint_by": "{hint_by}"}}"#);
        load(page, FAST, variant(&format!(r#"{{"protocol": "h2", "tls": "none", "foresight": {foresight}}}"#)))
    };
    let said = |outcome: &Outcome| -> Vec<(&str, u16, u64)> {
        let ms = |row: &Row| row.last_byte.unwrap().as_ms() as u64;
        outcome.waterfall.iter().map(|row| (row.found_by.name(), row.status.unwrap(), ms(row))).collect()
    };
    let early = hinted("early-hints");
    let expected = [
        ("page", 200, 250),
        ("hint", 200, 300),
        ("hint", 200, 300),
        ("page", 304, 400),
        ("hint", 200, 300),
        ("page", 200, 400),
    ];
    assert_eq!(said(&early), expected);
    // A preload of the page itself is used as it is.
    assert_eq!(said(&hinted("link")), [("page", 200, 250), ("hint", 200, 350), ("hint", 200, 350), ("hint", 200, 350)]);
}

#[test]
fn hints_in_the_head_save_what_comes_after_the_document() {
    for protocol in PUSHING {
        for hint_by in ["link", "subresource"] {
            let outcome = chain(protocol, &format!(r#"{{"hint": "all", "hint_by": "{hint_by}"}}"#));
            assert_eq!(complete(&outcome), [250, 350, 350], "{protocol}, {hint_by}");
        }
    }
}

#[test]
fn what_early_hints_tell_of_is_held_back_by_no_document_and_as_urgent_as_its_type() {
    let (root, urgency) = ("http://a.test/", 4);
    let image = |at: u32| json!({"url": format!("{root}{at}.png"), "bytes": 20_000, "kind": "image", "urgency": 3, "document": root});
    let style =
        json!({"url": "http://a.test/a.css", "bytes": 20_000, "kind": "css", "urgency": urgency, "document": root});
    let objects: Vec<_> = std::iter::once(json!({"url": root, "bytes": 1000, "kind": "html", "think_ms": 50}))
        .chain((0..6).map(image))
        .chain([style])
        .collect();
    let body = json!([{"name": "body", "ms": 0, "needs": [{"node": root, "ms": 300}]}]);
    let page =
        json!({"scheduling": "chromium", "objects": objects, "compute": body, "documents": {root: {"body": "body"}}});
    let hinted = |hint_by: &str| {
        let page = PageFile::from_json(page.to_string().as_bytes()).unwrap();
        let foresight = format!(r#"{{"hint": "all", "hint_by": "{hint_by}"}}"#);
        let fields = format!(r#"{{"protocol": "h2", "tls": "none", "foresight": {foresight}}}"#);
        load(page, "2mbit,100ms", variant(&fields)).waterfall
    };
    let early = hinted("early-hints");
    assert!(early[1..].iter().all(|row| row.sent == early[1].sent), "{early:?}");
    assert!(early[1..7].iter().all(|row| row.last_byte > early[7].last_byte), "the style sheet comes first");
    let by_page = hinted("link");
    assert!(by_page[1..7].iter().any(|row| row.sent > by_page[1].sent), "the page holds images back");
}
