//! A page that is loaded, written by hand: its HAR and its trace.

use super::{PageFile, Value, instant, slice, url};
use crate::page::recording::read;
use crate::page::{Needed, Secrets};
use serde_json::json;
use std::collections::BTreeMap;

/// A host whose name does not exist.
pub(super) const GONE: &str = "https://gone.test/";

/// A page that is loaded: its document, what is fetched (path, type, number of the request), and what happens.
pub(super) struct Load {
    pub(super) document: &'static str,
    pub(super) fetched: Vec<(&'static str, &'static str, &'static str)>,
    pub(super) texts: Vec<(&'static str, &'static str)>,
    pub(super) events: Vec<Value>,
    /// What the HAR says of the page's moments.
    pub(super) timings: Value,
}

impl Load {
    pub(super) fn of(document: &'static str) -> Load {
        let events = vec![
            slice("RunTask", 10_000, 8_000, Value::Null),
            sent_by("", 10_000, "Document", "", Value::Null),
            slice("CommitLoad", 12_000, 1, json!({"frame": "F", "url": url(""), "isOutermostMainFrame": true})),
            slice("HTMLDocumentParser::MaybeFetchQueuedPreloads", 14_000, 2_000, Value::Null),
        ];
        let (fetched, texts) = (vec![("", "document", "0")], vec![("0", document)]);
        Load { document, fetched, texts, events, timings: json!({}) }
    }

    /// Something is fetched, and comes.
    pub(super) fn fetch(mut self, path: &'static str, kind: &'static str, at: u64) -> Load {
        self.fetched.push((path, kind, path));
        self.happens(vec![
            slice("RunTask", at, 1_000, Value::Null),
            instant("ResourceFinish", at + 500, json!({"requestId": path})),
        ])
    }

    /// The scanner finds it at the tag.
    pub(super) fn scanned(self, path: &str, kind: &str, blocking: &str, tag: &str) -> Load {
        let initiator = place(self.document, tag);
        self.happens(vec![sent_by(path, 14_500, kind, blocking, initiator)])
    }

    pub(super) fn happens(mut self, events: Vec<Value>) -> Load {
        self.events.extend(events);
        self
    }

    /// The parser works, and the document ends.
    pub(super) fn parse(self, at: u64) -> Load {
        self.happens(vec![
            slice("RunTask", at, 6_000, Value::Null),
            slice("ParseHTML", at, 6_000, json!({"frame": "F"})),
            instant("domInteractive", at + 5_900, json!({"frame": "F"})),
        ])
    }

    pub(super) fn runs(self, path: &str, at: u64) -> Load {
        self.happens(vec![slice("RunTask", at, 2_000, Value::Null), evaluated(path, 1, 1, at, 2_000)])
    }

    pub(super) fn graph(self) -> PageFile {
        let entry = |(at, (path, kind, request)): (usize, &(&str, &str, &str))| {
            let is_gone = path.starts_with(GONE);
            json!({
                "startedDateTime": format!("2026-01-01T00:00:00.{at:03}Z"), "time": 1.0, "_requestId": request,
                "pageref": "p", "_isLCP": self.timings["largest"] == **path,
                "_resourceType": kind, "_priority": "Medium", "_initiator": {"type": "other"},
                "request": {"method": "GET", "url": url(path), "headers": []},
                "response": {"status": if is_gone { 0 } else { 200 }, "headers": [], "content": {"size": 1},
                    "_error": is_gone.then_some("net::ERR_NAME_NOT_RESOLVED"), "bodySize": self.document.len()},
                "timings": if self.timings["connects"] == **path { json!({"wait": 1.0, "connect": 60.0, "ssl": 30.0}) } else { json!({"wait": 1.0}) },
            })
        };
        let entries: Vec<Value> = self.fetched.iter().enumerate().map(entry).collect();
        let started = "2026-01-01T00:00:00.000Z";
        let page = json!({"id": "p", "startedDateTime": started, "pageTimings": self.timings,
            "_viewSteps": self.timings["steps"]});
        let har = serde_json::to_vec(&json!({"log": {"pages": [page], "entries": entries}})).unwrap();
        let trace = serde_json::to_vec(&json!({"traceEvents": self.events})).unwrap();
        let texts = self.texts.iter().map(|(request, text)| ((*request).to_owned(), text.as_bytes().to_vec()));
        read(&har, None, &trace, &texts.collect::<BTreeMap<_, _>>(), Secrets::Kept).unwrap().file
    }
}

pub(super) fn end_of(document: &str, tag: &str) -> usize {
    document.find(tag).unwrap() + tag.len()
}

pub(super) fn place(document: &str, tag: &str) -> Value {
    json!({"type": "parser", "url": url(""), "lineNumber": 0, "columnNumber": end_of(document, tag)})
}

pub(super) fn sent_by(path: &str, at: u64, kind: &str, blocking: &str, initiator: Value) -> Value {
    let request = if path.is_empty() { "0" } else { path };
    instant(
        "ResourceSendRequest",
        at,
        json!({"requestId": request, "url": url(path), "frame": "F", "resourceType": kind, "renderBlocking": blocking,
            "isLinkPreload": initiator["isLinkPreload"], "initiator": initiator}),
    )
}

pub(super) fn evaluated(path: &str, line: u32, column: usize, at: u64, dur: u64) -> Value {
    slice("EvaluateScript", at, dur, json!({"url": url(path), "lineNumber": line, "columnNumber": column}))
}

pub(super) fn script() -> Value {
    json!({"type": "script", "fetchType": "script"})
}

pub(super) fn run(path: &str) -> String {
    format!("run {}", url(path))
}

/// All that a node waits for, through others, too.
pub(super) fn before(file: &PageFile, name: &str) -> Vec<String> {
    let mut all = vec![name.to_owned()];
    let mut next = 0;
    while next < all.len() {
        let of_node = file.compute.iter().find(|node| node.name == all[next]).and_then(|node| node.needs.clone());
        let of_object = || file.objects.iter().find(|object| object.url == all[next])?.needs.clone();
        for need in of_node.or_else(of_object).unwrap_or_default() {
            if !all.contains(&need.node) {
                all.push(need.node);
            }
        }
        next += 1;
    }
    all.split_off(1)
}

pub(super) fn last_piece(file: &PageFile) -> &str {
    &file.compute.iter().rfind(|node| node.name.starts_with("parse")).unwrap().name
}

pub(super) fn needed(file: &PageFile, path: &str) -> Option<Needed> {
    file.objects.iter().find(|object| object.url == url(path)).unwrap().needed
}
