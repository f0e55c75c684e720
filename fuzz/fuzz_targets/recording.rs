//! Whatever the trace beside a HAR holds, making a graph of it gives an error or a page that can be built. The input is a
//! trace, a line feed, and the text of the document.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadstone_load::page::{Secrets, recording};
use std::collections::BTreeMap;

const HAR: &str = r#"{"log": {"entries": [
    {"startedDateTime": "2026-01-01T00:00:00.000Z", "time": 9, "_requestId": "1", "_resourceType": "document",
     "request": {"method": "GET", "url": "https://a.test/"}, "response": {"status": 200, "bodySize": 900}},
    {"startedDateTime": "2026-01-01T00:00:00.010Z", "time": 9, "_requestId": "2", "_resourceType": "script",
     "_initiator": {"type": "parser", "url": "https://a.test/", "lineNumber": 0, "columnNumber": 20},
     "request": {"method": "GET", "url": "https://a.test/a.js"}, "response": {"status": 200, "bodySize": 900}},
    {"startedDateTime": "2026-01-01T00:00:00.020Z", "time": 9, "_requestId": "3", "_resourceType": "document",
     "_initiator": {"type": "parser", "url": "https://a.test/", "lineNumber": 1, "columnNumber": 5},
     "request": {"method": "GET", "url": "https://b.test/"}, "response": {"status": 200, "bodySize": 900}}]}}"#;

fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (trace, text) = input.split_at(end);
    let documents = BTreeMap::from([("1".to_owned(), text.to_vec())]);
    if let Ok(recorded) = recording::read(HAR.as_bytes(), None, trace, &documents, Secrets::Replaced) {
        let page = recorded.file.build().expect("a page from a recording can be built");
        assert_eq!(page.objects, 3);
    }
});
