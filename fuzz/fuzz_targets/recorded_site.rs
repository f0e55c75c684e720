//! Whatever is recorded and asked for, the same requests get the same responses, and what was recorded is found as it
//! was. Each line is a method and a URL; what comes after an empty line is asked for.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use loadstone_http::{Fields, RequestHead};
use loadstone_live::{Likeness, RecordedResponse, RecordedSite};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().map(|line| line.split_once(' ').unwrap_or(("GET", line)));
    let response = |(method, url): (&str, &str)| RecordedResponse::new(method, url, 200, Bytes::new()).ok();
    let recorded: Vec<_> = lines.by_ref().take_while(|line| *line != ("GET", "")).filter_map(response).collect();
    let [one, other] = [recorded.clone(), recorded.clone()].map(RecordedSite::new);
    for (method, target) in lines {
        let asked = response((method, target)).map(|response| response.request);
        let request = asked.unwrap_or_else(|| {
            let (authority, path) = target.split_at(target.find('/').unwrap_or(target.len()));
            let [method, authority, path] =
                [method, authority, path].map(|part| Bytes::copy_from_slice(part.as_bytes()));
            RequestHead::new(method, authority, path, Fields::default())
        });
        let taken = one.take(&request);
        assert_eq!(taken, other.take(&request), "the same twice");
        let is_it = |own: &RecordedResponse| own.request == request;
        match taken {
            Some((at, likeness)) => {
                assert!(recorded[at].request.method == request.method || request.method == "HEAD");
                let is_exact = recorded.iter().any(is_it);
                assert!(!is_exact || likeness == Likeness::Exact && is_it(&recorded[at]));
            }
            None => assert!(!recorded.iter().any(is_it)),
        }
    }
});
