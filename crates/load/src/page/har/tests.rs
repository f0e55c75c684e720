use super::*;
use crate::page::file::{Needed, On};

mod chromium;
mod dirty;
mod exporters;
mod paints;
mod real;
mod rules;
mod secrets;

/// What a HAR file says, word for word.
fn read(text: &[u8], page: Option<usize>) -> Result<Har, HarError> {
    super::read(text, page, Secrets::Kept)
}

/// The page of a HAR file with these entries.
fn log(entries: &[&str]) -> Har {
    read(document("", entries).as_bytes(), None).unwrap()
}

/// A HAR file; `pages` is the inside of its list.
fn document(pages: &str, entries: &[&str]) -> String {
    format!(r#"{{"log": {{"version": "1.2", "pages": [{pages}], "entries": [{}]}}}}"#, entries.join(",\n"))
}

/// An entry that began `at` ms (below 10,000) after the minute and took 10 ms to wait and `receive`
/// ms to arrive; `rest` goes into the entry.
fn entry(url: &str, at: u32, receive: u32, mime: &str, rest: &str) -> String {
    let rest = if rest.is_empty() { String::new() } else { format!(", {rest}") };
    format!(
        r#"{{"startedDateTime": "2024-05-01T10:00:{:02}.{:03}Z", "time": {},
        "request": {{"method": "GET", "url": "{url}"}},
        "response": {{"status": 200, "bodySize": 1000, "content": {{"size": 1000, "mimeType": "{mime}"}}}},
        "timings": {{"blocked": 0, "dns": -1, "connect": -1, "send": 0, "wait": 10, "receive": {receive}}}{rest}}}"#,
        at / 1000,
        at % 1000,
        10 + receive
    )
}

/// Node, moment, bytes and ms of what the object `at` needs.
fn need(har: &Har, at: usize) -> (&str, On, Option<u64>, f64) {
    let [need] = &har.file.objects[at].needs.as_ref().expect("it needs something")[..] else { panic!() };
    (&need.node, need.on, need.bytes, need.ms)
}

const ROOT: &str = "https://example.test/";
