//! The objects of a recorded page, each found by its host and path.

use super::body_store::PATTERN;
use super::reply;
use loadstone_http::{Body, RequestHead};
use loadstone_load::page::{ActivityId, HostId, Page};
use loadstone_load::{Answer, is_unchanged, not_modified};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Serves a page's objects: heads as they were recorded, as many bytes of content, which are the
/// pattern, after the thinking that the page has them think.
#[derive(Debug)]
pub(super) struct ReplayStore {
    page: Arc<Page>,
    /// The page's hosts by name, without their ports: one name may stand for several.
    hosts: BTreeMap<String, Vec<HostId>>,
}

impl ReplayStore {
    pub(super) fn new(page: Arc<Page>) -> ReplayStore {
        let mut hosts: BTreeMap<String, Vec<HostId>> = BTreeMap::new();
        for (at, host) in page.hosts.iter().enumerate() {
            hosts.entry(name_of(&host.name).to_owned()).or_default().push(HostId(at as u32));
        }
        ReplayStore { page, hosts }
    }

    /// The answer to a request: an object, that the client has it already, or 404.
    pub(super) fn answer(&self, request: &RequestHead) -> Answer {
        let Some(object) = self.find(request) else { return reply::bare(404, &[]) };
        let fetch = self.page.fetch(object);
        let think = self.page.hosts[fetch.host.0 as usize].think + fetch.think;
        if is_unchanged(request, &fetch.response) {
            return Answer { think, ..Answer::new(Arc::new(not_modified(&fetch.response)), Body::EMPTY) };
        }
        let body = Body { id: PATTERN, len: if reply::is_head(request) { 0 } else { fetch.body.len } };
        Answer { think, ..Answer::new(fetch.response.clone(), body) }
    }

    /// The object that is meant. The port is another than the recorded one, as a rule; and a client
    /// that has only the server's address means the page's first host.
    fn find(&self, request: &RequestHead) -> Option<ActivityId> {
        let authority = String::from_utf8_lossy(&request.authority).to_ascii_lowercase();
        let first = [HostId(0)];
        let hosts = self.hosts.get(name_of(&authority)).map_or(&first[..], Vec::as_slice);
        let find = |host: &HostId| self.page.find(*host, &request.path);
        let is_exact = |host: &&HostId| self.page.hosts[host.0 as usize].name == authority;
        hosts.iter().filter(is_exact).find_map(find).or_else(|| hosts.iter().find_map(find))
    }
}

/// A host's name without its port.
pub(super) fn name_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if !name.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_http::Fields;
    use loadstone_load::page::PageFile;
    use std::time::Duration;

    fn recording() -> ReplayStore {
        let page = PageFile::from_json(
            br#"{"objects": [
                {"url": "https://www.a.test/", "bytes": 1000, "think_ms": 20,
                 "response_fields": [["content-type", "text/html"], ["x-as-recorded", "yes"], ["etag", "\"1\""]]},
                {"url": "https://cdn.test/1.png", "bytes": 11},
                {"url": "http://cdn.test/2.png", "bytes": 12},
                {"url": "https://cdn.test:8443/1.png", "bytes": 13},
                {"url": "https://www.a.test/gone", "bytes": 14, "status": 410}
            ], "hosts": {"www.a.test": {"think_ms": 3}}}"#,
        );
        ReplayStore::new(Arc::new(page.unwrap().build().unwrap()))
    }

    fn ask(authority: &str, path: &str) -> (u16, u64) {
        let answer = recording().answer(&RequestHead::get(authority, path, Fields::default()));
        (answer.head.status, answer.body.len)
    }

    #[test]
    fn objects_are_found_by_host_and_path_whatever_port_the_server_has() {
        for (authority, path, expected) in [
            ("www.a.test", "/", (200, 1000)),
            ("WWW.A.test:4433", "/", (200, 1000)),
            ("www.a.test:4433", "/gone", (410, 14)),
            ("cdn.test", "/1.png", (200, 11)),
            ("cdn.test:8443", "/1.png", (200, 13)),
            ("cdn.test:4433", "/2.png", (200, 12)),
            ("cdn.test", "/", (404, 0)),
            ("localhost:4433", "/", (200, 1000)),
            ("[::1]:4433", "/gone", (410, 14)),
            ("[::1]", "/gone", (410, 14)),
            ("127.0.0.1", "/1.png", (404, 0)),
            ("", "/", (200, 1000)),
        ] {
            assert_eq!(ask(authority, path), expected, "{authority} {path}");
        }
    }

    #[test]
    fn heads_are_as_recorded_and_come_after_the_recorded_thinking() {
        let request = RequestHead::get("www.a.test", "/", Fields::default());
        let answer = recording().answer(&request);
        assert_eq!(answer.head.fields.get(b"x-as-recorded"), Some(&b"yes"[..]));
        assert_eq!(answer.think, Duration::from_millis(23));
        // What is measured of a simulated server's answers would grow without end here.
        assert_eq!(answer.object, None);
        let head = recording().answer(&reply::request("HEAD", "www.a.test", "/"));
        assert_eq!((head.body.len, head.head.fields.get(b"content-length")), (0, Some(&b"1000"[..])));
    }

    #[test]
    fn who_has_the_object_already_is_told_so_after_the_same_thinking() {
        let fields = Fields::from_pairs([("if-none-match", "\"1\"")]);
        let answer = recording().answer(&RequestHead::get("www.a.test", "/", fields));
        assert_eq!((answer.head.status, answer.body.len, answer.think), (304, 0, Duration::from_millis(23)));
        let fields = Fields::from_pairs([("if-none-match", "\"2\"")]);
        assert_eq!(recording().answer(&RequestHead::get("www.a.test", "/", fields)).head.status, 200);
    }
}
