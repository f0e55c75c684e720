//! A page at the second visit: what the browser has kept of the first one needs no request, or is only asked about.
//!
//! A browser has a private cache (RFC 9111) for all pages. What is fresh comes from there; what is stale and has a
//! validator is asked about, and the answer is taken to be 304; everything else is fetched as before. Preflights have a
//! cache of their own (Fetch, section 4.9). A link is followed to the page: it is not reloaded.

use super::file::{Field, ObjectSpec, On, PageError, PageFile};
use super::heads::REQUEST_HEADER_BYTES;
use http::header::{ACCESS_CONTROL_MAX_AGE, DATE, EXPIRES, IF_MODIFIED_SINCE, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_cache_semantics::{BeforeRequest, CacheOptions, CachePolicy};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

/// How long a preflight holds where it does not say so, and at most, in Chromium (Fetch, section 4.9).
const PREFLIGHT_AGE: Duration = Duration::from_secs(5);
const LONGEST_PREFLIGHT_AGE: Duration = Duration::from_secs(7200);
/// What Chromium keeps without end where nothing limits it.
const PERMANENT: [u16; 4] = [300, 301, 308, 410];
const LIMITS: [&str; 3] = ["cache-control", "expires", "pragma"];
/// What an answer 304 does not repeat (RFC 9110, section 15.4.5).
const OF_CONTENT: [&str; 6] =
    ["accept-ranges", "content-encoding", "content-language", "content-length", "content-type", "transfer-encoding"];

/// What becomes of a request at the second visit.
#[derive(Clone, PartialEq, Debug)]
enum Again {
    /// It is sent as at the first.
    Fetched,
    /// The browser has the answer.
    Kept,
    /// The server is asked whether what the browser has is still right, with these fields.
    AskedAbout(Vec<Field>),
}

impl PageFile {
    /// This page at a visit that begins so long after one to `before`, which may be the same page, by the heads of what
    /// the browser has asked for there. What has no head is fetched.
    ///
    /// # Errors
    /// If nothing on that page has a head.
    pub fn visited_after(&self, before: &PageFile, after: Duration) -> Result<PageFile, PageError> {
        let may_be_kept = |method| matches!(method, None | Some("GET" | "OPTIONS"));
        let with_head = before.objects.iter().filter(|object| object.response_fields.is_some());
        let with_head = with_head.filter(|object| may_be_kept(object.method.as_deref()));
        let known: BTreeMap<(&str, Option<&str>, bool), &ObjectSpec> =
            with_head.map(|object| (kept_as(object), object)).collect();
        if known.is_empty() {
            return Err(PageError::NoHeads);
        }
        let mut page = self.clone();
        let mut valid = BTreeSet::new();
        for object in &mut page.objects {
            match known.get(&kept_as(object)).map_or(Again::Fetched, |kept| again(object, kept, after)) {
                Again::Fetched => {}
                Again::Kept => object.cached = true,
                Again::AskedAbout(conditions) => {
                    valid.insert(object.node().to_owned());
                    ask_about(object, conditions);
                }
            }
        }
        // What the browser has is there as a whole: who waited for some bytes of it waits for its end.
        page.each_need(|needs| {
            for need in needs.iter_mut().filter(|need| need.on == On::Bytes && valid.contains(&need.node)) {
                (need.on, need.bytes) = (On::End, None);
            }
        });
        Ok(page)
    }
}

/// By what the cache knows an object: its URL, its partition, and whether it is a preflight.
fn kept_as(object: &ObjectSpec) -> (&str, Option<&str>, bool) {
    (&object.url, object.partition.as_deref(), object.method.as_deref() == Some("OPTIONS"))
}

/// What becomes of a request where the browser has had `kept`.
fn again(object: &ObjectSpec, kept: &ObjectSpec, after: Duration) -> Again {
    let (Some(fields), false) = (&kept.response_fields, object.changes) else { return Again::Fetched };
    match object.method.as_deref() {
        None | Some("GET") => {}
        Some("OPTIONS") if after < preflight_age(fields) => return Again::Kept,
        Some(_) => return Again::Fetched,
    }
    let (Some(first), Some(request), Some(response)) = (request(kept), request(object), response(kept, fields)) else {
        return Again::Fetched;
    };
    let options = CacheOptions { shared: false, immutable_min_time_to_live: Duration::ZERO, ..CacheOptions::default() };
    // Ages count from the response, whose own Date says which day that was.
    let then = SystemTime::UNIX_EPOCH;
    let policy = CachePolicy::new_options(&first, &response, then, options);
    let conditional = match policy.before_request(&request, then + after) {
        _ if !policy.is_storable() => return Again::Fetched,
        BeforeRequest::Fresh(_) => return Again::Kept,
        BeforeRequest::Stale { .. } if is_permanent(kept, fields) => return Again::Kept,
        BeforeRequest::Stale { request, .. } => request.headers,
    };
    let is_condition = |name: &HeaderName| [IF_NONE_MATCH, IF_MODIFIED_SINCE].contains(name);
    let asked = conditional.iter().filter(|(name, _)| is_condition(name));
    let conditions: Vec<Field> =
        asked.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())).collect();
    if conditions.is_empty() { Again::Fetched } else { Again::AskedAbout(conditions) }
}

/// Whether Chromium keeps it without end: what has moved for good, unless the response says otherwise.
fn is_permanent(object: &ObjectSpec, fields: &[Field]) -> bool {
    let is_limit = |(name, _): &Field| LIMITS.iter().any(|limit| name.eq_ignore_ascii_case(limit));
    object.status.is_some_and(|status| PERMANENT.contains(&status)) && !fields.iter().any(is_limit)
}

fn preflight_age(fields: &[Field]) -> Duration {
    let said = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(ACCESS_CONTROL_MAX_AGE.as_str()));
    let age = said.and_then(|(_, value)| value.trim().parse().ok()).map_or(PREFLIGHT_AGE, Duration::from_secs);
    age.min(LONGEST_PREFLIGHT_AGE)
}

/// The request as the cache sees it; none where it is none of HTTP's.
fn request(object: &ObjectSpec) -> Option<Request<()>> {
    let mut request = Request::builder().uri(&object.url).body(()).ok()?;
    *request.headers_mut() = headers(object.request_fields.iter().flatten());
    Some(request)
}

fn response(object: &ObjectSpec, fields: &[Field]) -> Option<Response<()>> {
    let mut response = Response::builder().status(object.status.unwrap_or(200)).body(()).ok()?;
    *response.headers_mut() = headers(fields.iter());
    if !response.headers().contains_key(DATE) {
        // Nobody knows what Expires is later than.
        response.headers_mut().remove(EXPIRES);
    }
    Some(response)
}

fn headers<'f>(fields: impl Iterator<Item = &'f Field>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
            headers.append(name, value);
        }
    }
    headers
}

/// The server answers 304: what the browser has is right.
fn ask_about(object: &mut ObjectSpec, conditions: Vec<Field>) {
    let len: usize = conditions.iter().map(|(name, value)| name.len() + value.len() + ": \r\n".len()).sum();
    match &mut object.request_fields {
        Some(fields) => fields.extend(conditions),
        None => {
            let stated = object.request_header_bytes.unwrap_or(REQUEST_HEADER_BYTES);
            object.request_header_bytes = Some(stated + len as u32);
        }
    }
    if let Some(fields) = &mut object.response_fields {
        fields.retain(|(name, _)| !OF_CONTENT.iter().any(|of_content| name.eq_ignore_ascii_case(of_content)));
    }
    (object.status, object.bytes) = (Some(304), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const DATE: &str = "Tue, 24 Nov 2026 12:00:00 GMT";
    const DAYS_AGO: &str = "Sat, 14 Nov 2026 12:00:00 GMT";

    fn object(fields: &[(&str, &str)], more: serde_json::Value) -> ObjectSpec {
        let mut object = json!({"url": "https://a.test/a.css", "bytes": 1000, "response_fields": fields});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(object).unwrap()
    }

    fn visited(object: &ObjectSpec, seconds: u64) -> Again {
        again(object, object, Duration::from_secs(seconds))
    }

    fn at_once(object: &ObjectSpec) -> Again {
        visited(object, 0)
    }

    fn after(fields: &[(&str, &str)], seconds: u64) -> Again {
        visited(&object(fields, json!({})), seconds)
    }

    fn asked(conditions: &[(&str, &str)]) -> Again {
        let owned = conditions.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Again::AskedAbout(owned.collect())
    }

    #[test]
    fn what_is_fresh_is_kept_and_what_is_stale_is_asked_about() {
        let fields = [("cache-control", "max-age=60"), ("etag", "\"1\""), ("date", DATE)];
        assert_eq!(after(&fields, 59), Again::Kept);
        assert_eq!(after(&fields, 60), asked(&[("if-none-match", "\"1\"")]));
        let aged = [fields.as_slice(), &[("age", "50")]].concat();
        assert_eq!(
            [9, 10].map(|seconds| after(&aged, seconds) == Again::Kept),
            [true, false],
            "it was old when it came"
        );
        let both = [("cache-control", "no-cache"), ("etag", "\"1\""), ("last-modified", DAYS_AGO)];
        assert_eq!(after(&both, 0), asked(&[("if-none-match", "\"1\""), ("if-modified-since", DAYS_AGO)]));
    }

    #[test]
    fn what_may_not_be_kept_or_cannot_be_asked_about_is_fetched() {
        for fields in [
            &[("cache-control", "no-store"), ("etag", "\"1\"")],
            &[("cache-control", "no-cache"), ("date", DATE)],
            &[("cache-control", "max-age=60"), ("vary", "*")],
            // It was true before the response came.
            &[("expires", "0"), ("date", DATE)],
        ] {
            assert_eq!(after(fields, 1), Again::Fetched, "{fields:?}");
        }
        let fresh = [("cache-control", "max-age=60")];
        for more in [json!({"method": "POST"}), json!({"changes": true}), json!({"status": 500})] {
            assert_eq!(at_once(&object(&fresh, more.clone())), Again::Fetched, "{more}");
        }
        assert_eq!(at_once(&ObjectSpec::default()), Again::Fetched, "nothing is known of it");
    }

    #[test]
    fn where_nothing_is_said_a_tenth_of_the_age_is_fresh() {
        let fields = [("last-modified", DAYS_AGO), ("date", DATE)];
        assert_eq!(after(&fields, 86_399), Again::Kept, "a day of ten");
        assert_eq!(after(&fields, 86_400), asked(&[("if-modified-since", DAYS_AGO)]));
        assert_eq!(after(&fields[..1], 0), asked(&[("if-modified-since", DAYS_AGO)]), "nobody knows its age");
        assert_eq!(after(&[("expires", "Tue, 24 Nov 2026 12:01:00 GMT"), ("date", DATE)], 59), Again::Kept);
        assert_eq!(after(&[("expires", "Tue, 24 Nov 2026 12:01:00 GMT")], 0), Again::Fetched, "later than what?");
        let moved = |fields: &[(&str, &str)]| visited(&object(fields, json!({"status": 301})), 1 << 30);
        assert_eq!([moved(&[]), moved(&[("expires", "0")])], [Again::Kept, Again::Fetched]);
    }

    #[test]
    fn preflights_hold_as_long_as_they_say() {
        let age = |fields: &[(&str, &str)], seconds| {
            visited(&object(fields, json!({"method": "OPTIONS"})), seconds) == Again::Kept
        };
        assert_eq!([4, 5].map(|seconds| age(&[], seconds)), [true, false]);
        let said = [("Access-Control-Max-Age", "86400")];
        assert_eq!([7199, 7200].map(|seconds| age(&said, seconds)), [true, false], "no longer than two hours");
    }

    #[test]
    fn another_page_finds_what_the_first_one_has_brought() {
        let of =
            |objects: serde_json::Value| -> PageFile { serde_json::from_value(json!({"objects": objects})).unwrap() };
        let keep = json!([["cache-control", "max-age=60"]]);
        let before = of(json!([
            {"url": "https://a.test/", "bytes": 10, "response_fields": keep},
            {"url": "https://a.test/a.css", "bytes": 10, "response_fields": keep},
            {"url": "https://a.test/form", "bytes": 10, "response_fields": keep, "method": "POST"},
            {"url": "https://a.test/f.js", "bytes": 10, "response_fields": keep, "partition": "https://f.test"}]));
        let next = of(json!([
            {"url": "https://a.test/next", "bytes": 10, "response_fields": keep},
            {"url": "https://a.test/a.css", "bytes": 10},
            {"url": "https://a.test/form", "bytes": 10},
            {"url": "https://a.test/f.js", "bytes": 10}]));
        let visited = next.visited_after(&before, Duration::from_secs(1)).unwrap();
        assert_eq!(visited.objects.iter().map(|object| object.cached).collect::<Vec<_>>(), [false, true, false, false]);
    }

    #[test]
    fn an_answer_304_has_no_body_and_what_waited_for_bytes_waits_for_it() {
        let page: PageFile = serde_json::from_value(json!({"objects": [
            {"url": "https://a.test/", "bytes": 5000, "request_header_bytes": 300,
             "response_fields": [["etag", "\"1\""], ["Content-Type", "text/html"], ["cache-control", "no-cache"]]},
            {"url": "https://a.test/a.css", "bytes": 1000, "response_fields": [["cache-control", "max-age=60"]],
             "needs": [{"node": "https://a.test/", "on": "bytes", "bytes": 700}]},
            {"url": "https://a.test/a.png", "bytes": 1000,
             "needs": [{"node": "https://a.test/a.css", "on": "bytes", "bytes": 7}]}]}))
        .unwrap();
        let again = page.visited_after(&page, Duration::from_secs(10)).unwrap();
        let [root, style, picture] = again.objects.as_slice() else { panic!("{again:?}") };
        assert_eq!((root.status, root.bytes, root.request_header_bytes), (Some(304), 0, Some(300 + 20)));
        let names: Vec<&str> = root.response_fields.iter().flatten().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["etag", "cache-control"]);
        let need = &style.needs.as_ref().unwrap()[0];
        assert_eq!((style.cached, need.on, need.bytes), (true, On::End, None));
        assert_eq!(*picture, page.objects[2], "what has no head is fetched as before");
        assert!(again.build().is_ok());

        let bare: PageFile =
            serde_json::from_value(json!({"objects": [{"url": "https://a.test/", "bytes": 1}]})).unwrap();
        assert_eq!(bare.visited_after(&bare, Duration::ZERO), Err(PageError::NoHeads));
    }
}
