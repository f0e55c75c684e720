//! Recordings that are written by hand: what the graph has to be follows from the HTML standard.

mod load;
mod moments;
mod preconnects;
mod requests;
mod rules;

use super::*;
use crate::page::{Need, On, PageFile, Why};
use proptest::prelude::*;
use serde_json::{Value, json};

const DOCUMENT: &str = "<html><head>\n<link rel=stylesheet href=a.css>\n<script src=b.js></script>\n\
    <script>1</script><script defer src=c.js></script></head>\n<body><img src=d.png><iframe src=e.html></iframe>";

/// A HAR of these paths: a request each, found one millisecond after the other.
fn har(paths: &[(&str, &str)]) -> Vec<u8> {
    let entry = |(at, (path, kind)): (usize, &(&str, &str))| {
        json!({
            "startedDateTime": format!("2026-01-01T00:00:00.{at:03}Z"), "time": 1.0, "_requestId": path,
            "_resourceType": kind,
            "_initiator": if *path == "e.html" { initiator("<iframe src=e.html>") } else { json!({"type": "other"}) },
            "request": {"method": "GET", "url": url(path), "headers": []},
            "response": {"status": 200, "headers": [], "content": {"size": 1000}, "bodySize": 1000},
            "timings": {"wait": 1.0},
        })
    };
    let entries: Vec<Value> = paths.iter().enumerate().map(entry).collect();
    serde_json::to_vec(&json!({"log": {"entries": entries}})).unwrap()
}

fn url(path: &str) -> String {
    if path.starts_with("https:") { path.to_owned() } else { format!("https://a.test/{path}") }
}

/// Where a tag of the document ends, as Chromium says it.
fn initiator(tag: &str) -> Value {
    let end = DOCUMENT.find(tag).unwrap() + tag.len();
    let line = DOCUMENT[..end].matches('\n').count();
    let column = end - DOCUMENT[..end].rfind('\n').map_or(0, |at| at + 1);
    json!({"type": "parser", "url": url(""), "lineNumber": line, "columnNumber": column})
}

fn byte(tag: &str) -> u64 {
    let end = (DOCUMENT.find(tag).unwrap() + tag.len()) as f64;
    (end * 1000.0 / DOCUMENT.len() as f64).ceil() as u64
}

/// A slice of the main thread.
fn slice(name: &str, at: u64, dur: u64, data: Value) -> Value {
    json!({"name": name, "ph": "X", "pid": 1, "tid": 1, "ts": at, "dur": dur,
        "args": {"data": data.clone(), "beginData": data}})
}

fn instant(name: &str, at: u64, data: Value) -> Value {
    json!({"name": name, "ph": "I", "pid": 1, "tid": 1, "ts": at, "args": {"data": data}})
}

fn sent(path: &str, at: u64, kind: &str, blocking: &str, initiator: Value) -> Value {
    instant(
        "ResourceSendRequest",
        at,
        json!({"requestId": path, "url": url(path), "frame": "F", "resourceType": kind, "renderBlocking": blocking,
            "initiator": initiator}),
    )
}

fn finished(path: &str, at: u64) -> Vec<Value> {
    vec![slice("RunTask", at, 1000, Value::Null), instant("ResourceFinish", at + 500, json!({"requestId": path}))]
}

/// The load of [`DOCUMENT`], in microseconds.
fn events() -> Vec<Value> {
    let frame = json!({"frame": "F"});
    let scan = "HTMLDocumentParser::MaybeFetchQueuedPreloads";
    let mut events = vec![
        slice("RunTask", 10_000, 8_000, Value::Null),
        sent("", 10_000, "Document", "", Value::Null),
        slice("CommitLoad", 12_000, 1, json!({"frame": "F", "url": url(""), "isOutermostMainFrame": true})),
        slice(scan, 14_000, 2_000, Value::Null),
        sent("a.css", 14_500, "Stylesheet", "blocking", initiator("<link rel=stylesheet href=a.css>")),
        sent("b.js", 15_000, "Script", "blocking", initiator("<script src=b.js>")),
        sent("c.js", 15_200, "Script", "non_blocking", initiator("<script defer src=c.js>")),
        sent("d.png", 15_500, "Image", "", initiator("<img src=d.png>")),
        slice("RunTask", 20_000, 1_000, Value::Null),
        slice("ParseHTML", 20_000, 1_000, frame.clone()),
    ];
    events.extend(
        ["a.css", "b.js", "c.js", "d.png", ""].into_iter().zip(3..).flat_map(|(p, at)| finished(p, at * 10_000)),
    );
    events.extend([
        slice("RunTask", 80_000, 10_000, Value::Null),
        slice("EvaluateScript", 80_000, 9_000, json!({"url": url("b.js"), "lineNumber": 1, "columnNumber": 1})),
        instant("TimerInstall", 84_000, json!({"timerId": 7, "timeout": 50.0})),
        slice("RunTask", 90_000, 6_000, Value::Null),
        slice("ParseHTML", 90_000, 6_000, frame.clone()),
        slice("EvaluateScript", 91_000, 2_000, json!({"url": url(""), "lineNumber": 4, "columnNumber": 9})),
        instant("domInteractive", 95_900, frame),
        slice("RunTask", 100_000, 3_000, Value::Null),
        slice("EvaluateScript", 100_000, 3_000, json!({"url": url("c.js"), "lineNumber": 1, "columnNumber": 1})),
        slice("RunTask", 140_000, 2_000, Value::Null),
        slice("TimerFire", 140_000, 2_000, json!({"timerId": 7})),
        slice("FunctionCall", 140_500, 1_000, Value::Null),
        sent("f.json", 141_000, "Other", "", json!({"type": "script", "fetchType": "fetch"})),
    ]);
    events
}

const PATHS: [(&str, &str); 7] = [
    ("", "document"),
    ("a.css", "stylesheet"),
    ("b.js", "script"),
    ("c.js", "script"),
    ("d.png", "image"),
    ("e.html", "document"),
    ("f.json", "fetch"),
];

fn recorded(events: &[Value]) -> PageFile {
    let trace = serde_json::to_vec(&json!({"traceEvents": events})).unwrap();
    let documents = BTreeMap::from([(String::new(), DOCUMENT.as_bytes().to_vec())]);
    read(&har(&PATHS), None, &trace, &documents, Secrets::Kept).unwrap().file
}

/// What a node waits for: the short name, the byte if it is one of a document, and why.
fn needs(file: &PageFile, node: &str) -> Vec<(String, Option<u64>, Option<Why>)> {
    let of_object = file.objects.iter().find(|object| object.url == url(node)).and_then(|object| object.needs.clone());
    let of_node = || file.compute.iter().find(|compute| compute.name == node).and_then(|compute| compute.needs.clone());
    let needs: Vec<Need> = of_object.or_else(of_node).unwrap_or_else(|| panic!("no node '{node}': {file:#?}"));
    let said = |need: Need| {
        let bytes = need.bytes.filter(|_| need.on == On::Bytes);
        (need.node.replace("https://a.test/", "/"), bytes, need.why)
    };
    needs.into_iter().map(said).collect()
}

fn node(name: &str, bytes: Option<u64>, why: Why) -> (String, Option<u64>, Option<Why>) {
    (name.to_owned(), bytes, Some(why))
}

#[test]
fn the_scanner_finds_what_stands_in_the_document_by_its_byte() {
    let file = recorded(&events());
    for (path, tag) in [
        ("a.css", "<link rel=stylesheet href=a.css>"),
        ("b.js", "<script src=b.js>"),
        ("c.js", "<script defer src=c.js>"),
        ("d.png", "<img src=d.png>"),
    ] {
        let expected = [node("/", Some(byte(tag)), Why::Markup), node("commit /", None, Why::Markup)];
        assert_eq!(needs(&file, path), expected, "{path}");
    }
}

#[test]
fn a_frame_is_found_by_the_parser_alone_behind_the_scripts_before_it() {
    let file = recorded(&events());
    let [(piece, ..), document] = &needs(&file, "e.html")[..] else { panic!("{file:#?}") };
    assert_eq!(*document, node("/", Some(byte("<iframe src=e.html>")), Why::Markup));
    // Back along the parser: its pieces, the inline script, the script before.
    let before = |name: &str| {
        let name = name.replace(" /", " https://a.test/").replace("of /", "of https://a.test/");
        let parser = needs(&file, &name).into_iter().find(|(_, _, why)| *why == Some(Why::Parser));
        parser.map(|(name, ..)| name)
    };
    let chain: Vec<String> = std::iter::successors(Some(piece.clone()), |name| before(name)).collect();
    let kinds: Vec<&str> = chain.iter().map(|name| name.split(' ').next().unwrap()).collect();
    assert_eq!(kinds, ["parse", "parse", "run", "parse", "run", "parse", "commit"], "{chain:?}");
    assert!(chain[2].starts_with("run inline") && chain[4] == "run /b.js", "{chain:?}");
}

#[test]
fn scripts_wait_for_the_style_sheets_before_them_and_the_parser_for_scripts() {
    let file = recorded(&events());
    let script = needs(&file, "run https://a.test/b.js");
    let expected = [
        node("parse 1 of /", None, Why::Parser),
        node("/b.js", None, Why::Fetched),
        node("/a.css", None, Why::StyleSheet),
    ];
    assert_eq!(script, expected);
    let inline = file.compute.iter().find(|node| node.name.starts_with("run inline")).unwrap().name.clone();
    let waits: Vec<_> = needs(&file, &inline).into_iter().filter(|(_, _, why)| *why != Some(Why::Parser)).collect();
    assert_eq!(waits, [node("/a.css", None, Why::StyleSheet)], "it is in the document");
}

#[test]
fn a_deferred_script_runs_when_the_document_is_parsed() {
    let file = recorded(&events());
    let needs_of = needs(&file, "run https://a.test/c.js");
    let last = file.compute.iter().rfind(|node| node.kind.as_deref() == Some("parse")).unwrap();
    assert_eq!(needs_of[0], node(&last.name.replace("https://a.test/", "/"), None, Why::Order));
    let whole = last.needs.as_ref().unwrap().iter().find(|need| need.why == Some(Why::Markup)).unwrap();
    assert_eq!((whole.node.as_str(), whole.on), (url("").as_str(), On::End));
    assert_eq!(needs_of[1], node("/c.js", None, Why::Fetched));
}

#[test]
fn a_timer_runs_from_where_in_its_script_it_was_set() {
    let file = recorded(&events());
    let timer = file.compute.iter().find(|node| node.kind.as_deref() == Some("timer")).unwrap();
    let [need] = &timer.needs.as_ref().unwrap()[..] else { panic!("{timer:?}") };
    assert_eq!((need.node.as_str(), need.on), ("run https://a.test/b.js", On::Start));
    assert_eq!((need.timer_ms, need.ms, need.why), (50.0, 4.0, Some(Why::Timer)));
    let fetch = file.objects.iter().find(|object| object.url == url("f.json")).unwrap();
    assert_eq!(fetch.needed, Some(crate::page::Needed::Never), "what scripts fetch does not delay the load event");
    assert_eq!(
        (fetch.needs.as_ref().unwrap()[0].node.as_str(), fetch.needs.as_ref().unwrap()[0].ms),
        (&*timer.name, 1.0)
    );
}

#[test]
fn no_processor_time_is_lost() {
    let file = recorded(&events());
    let sum: f64 = file.compute.iter().map(|node| node.ms).sum();
    // All tasks, the first of them the commit's.
    let all = 8_000.0 + 1_000.0 + 5.0 * 1_000.0 + 10_000.0 + 6_000.0 + 3_000.0 + 2_000.0;
    assert!((sum * 1e3 - all).abs() < 1.0, "{sum} of {all}");
}

#[test]
fn errors_say_what_is_wrong_and_what_to_do() {
    let read = |trace: &[u8]| read(&har(&PATHS), None, trace, &BTreeMap::new(), Secrets::Kept).unwrap_err().to_string();
    assert_eq!(read(b"{\"traceEvents\": ["), "the trace is no JSON from line 1, column 17 on: record the page again");
    let other = read(b"[]");
    assert_eq!(other, "the trace has no load of https://a.test/: give the trace that was recorded with the HAR");
}

proptest! {
    #[test]
    fn whatever_a_trace_says_there_is_a_page_or_an_error(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..6, 0_u64..200_000), 0..12),
    ) {
        let mut events = events();
        for (at, change, number) in changes {
            let at = at.index(events.len());
            match change {
                0 => events[at]["ts"] = number.into(),
                1 => events[at]["dur"] = number.into(),
                2 => events[at]["args"] = Value::Null,
                3 => drop(events.remove(at)),
                4 => events[at]["name"] = ["ParseHTML", "CommitLoad", "RunTask", "ResourceFinish"][number as usize % 4].into(),
                _ => { let copy = events[at].clone(); events.push(copy); }
            }
        }
        let trace = serde_json::to_vec(&events).unwrap();
        let documents = BTreeMap::from([(String::new(), DOCUMENT.as_bytes().to_vec())]);
        if let Ok(recorded) = read(&har(&PATHS), None, &trace, &documents, Secrets::Replaced) {
            prop_assert!(recorded.file.build().is_ok());
        }
    }
}
