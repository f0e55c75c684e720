//! Connections that a page asks for ahead (`rel=preconnect`).

use crate::{FAST, load, variant};
use loadstone_load::page::PageFile;
use loadstone_scenario::Outcome;
use serde_json::json;

/// A document at 200 ms, and so much later an object of another host, to which a connection may be opened ahead.
fn loaded(protocol: &str, later_ms: u32, names: &str, preconnect: Option<&str>) -> Outcome {
    let found = json!([{"node": "http://a.test/", "ms": later_ms}]);
    let ahead = preconnect.map(|url| {
        json!({"name": "ahead", "ms": 0, "preconnect": {"url": url},
        "needs": [{"node": "http://a.test/", "on": "bytes", "bytes": 1}]})
    });
    let page = json!({
        "objects": [
            {"url": "http://a.test/", "bytes": 100}, {"url": "http://b.test/b.css", "bytes": 100, "needs": found}],
        "compute": ahead.into_iter().collect::<Vec<_>>()});
    let page = PageFile::from_json(page.to_string().as_bytes()).unwrap();
    let fields = format!(r#"{{"protocol": "{protocol}", "tls": "none", "names": "{names}"}}"#);
    let outcome = load(page, FAST, variant(&fields));
    assert!(outcome.completed);
    assert_eq!(outcome.account().total(), outcome.plt.as_nanos(), "every nanosecond is accounted for");
    outcome
}

#[test]
fn a_connection_that_is_opened_ahead_saves_its_round_trips() {
    let other = Some("http://b.test");
    for protocol in ["http/1.1", "http/1.1+pipelining", "spdy/3.1", "h2"] {
        let ms = |later, names: &str, ahead| {
            let outcome = loaded(protocol, later, names, ahead);
            assert_eq!(outcome.connections, 2, "{protocol}: it is the one that is used");
            outcome.plt.as_ms().round() as u32
        };
        assert_eq!(ms(150, "cached", None), 200 + 150 + 200, "{protocol}");
        assert_eq!(ms(150, "cached", other), 200 + 150 + 100, "{protocol}");
        // It is asked for while the connection is being opened.
        assert_eq!(ms(50, "cached", other), 200 + 100 + 100, "{protocol}");
        // And while the name is being looked up; the document's own took 100 ms.
        assert_eq!(ms(50, "looked-up", None), 300 + 50 + 300, "{protocol}");
        assert_eq!(ms(50, "looked-up", other), 300 + 300, "{protocol}");
        assert_eq!(ms(250, "looked-up", other), 300 + 250 + 100, "{protocol}");
    }
}

#[test]
fn nothing_is_opened_to_where_the_page_has_nothing_or_a_connection() {
    for ahead in [None, Some("http://elsewhere.test"), Some("https://b.test"), Some("http://a.test")] {
        let outcome = loaded("http/1.1", 150, "cached", ahead);
        assert_eq!((outcome.connections, outcome.plt.as_ms().round() as u32), (2, 550), "{ahead:?}");
    }
}

#[test]
fn a_first_response_may_tell_to_open_connections_to_all_hosts() {
    // The server thinks 300 ms about the document, and a response 103 comes before that. Of two hosts one is asked without
    // credentials, and nothing of either is found before the document has ended and 50 ms have passed.
    let needs = r#"[{"node": "https://a.test/", "ms": 50}]"#;
    let page = format!(
        r#"{{"objects": [
            {{"url": "https://a.test/", "bytes": 100, "think_ms": 300}},
            {{"url": "https://b.test/b.css", "bytes": 100, "needs": {needs}}},
            {{"url": "https://b.test/b.woff", "bytes": 100, "anonymous": true, "needs": {needs}}}]}}"#
    );
    let page = PageFile::from_json(page.as_bytes()).unwrap();
    let loaded = |protocol: &str, foresight: &str| {
        let fields = format!(r#"{{"protocol": "{protocol}", "tls": "1.3", "foresight": {foresight}}}"#);
        let outcome = load(page.clone(), FAST, variant(&fields));
        assert!(outcome.completed);
        (outcome.plt.as_ms().round() as u32, outcome.connections)
    };
    // Two round trips for a connection, one for a request.
    for protocol in ["http/1.1", "h2"] {
        assert_eq!(loaded(protocol, "{}"), (600 + 50 + 300, 3), "{protocol}");
        assert_eq!(loaded(protocol, r#"{"preconnect": "hosts"}"#), (600 + 50 + 100, 3), "{protocol}");
        let by_link = r#"{"preconnect": "hosts", "hint_by": "link"}"#;
        assert_eq!(loaded(protocol, by_link), (600 + 200 + 100, 3), "{protocol}: they come with the document");
    }
    assert_eq!(loaded("spdy/3.1", r#"{"preconnect": "hosts"}"#).0, 950, "SPDY has no responses 103");
    assert_eq!(loaded("spdy/3.1", r#"{"preconnect": "hosts", "hint_by": "subresource"}"#).0, 900);
}
