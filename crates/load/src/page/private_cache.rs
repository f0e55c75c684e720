//! What a browser's own cache does with a request whose answer it may have: RFC 9111, as Chromium reads it.
//!
//! Freshness and validation are `http-cache-semantics`'. What stands here is where Chromium reads heads otherwise
//! (measured on the cases of http-cache-tests: studies/browser/README.md), and the cache of preflights.

use super::file::{Field, ObjectSpec};
use http::header::{
    ACCESS_CONTROL_MAX_AGE, AGE, CACHE_CONTROL, DATE, EXPIRES, IF_MODIFIED_SINCE, IF_NONE_MATCH, PRAGMA,
};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_cache_semantics::{BeforeRequest, CacheOptions, CachePolicy};
use std::time::{Duration, SystemTime};

/// How long a preflight holds where it does not say so, and at most, in Chromium (Fetch, section 4.9).
const PREFLIGHT_AGE: Duration = Duration::from_secs(5);
const LONGEST_PREFLIGHT_AGE: Duration = Duration::from_secs(7200);
/// Up to which age Chromium takes what it has prefetched without asking whether it is still right, once (`HttpCache`,
/// `kPrefetchReuseMins`). What shared caches had it for counts, by `Age`.
const PREFETCH_AGE: Duration = Duration::from_secs(5 * 60);
/// What Chromium keeps without end where nothing limits it.
const PERMANENT: [u16; 4] = [300, 301, 308, 410];
/// What it takes to be fresh for a tenth of its age where nothing says how long it is.
const AGING: [u16; 2] = [200, 203];
const LIMITS: [&str; 3] = ["cache-control", "expires", "pragma"];
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// By what the cache knows an object: its URL, its partition, and whether it is a preflight.
pub(super) type CacheKey<'p> = (&'p str, Option<&'p str>, bool);

pub(super) fn kept_as(object: &ObjectSpec) -> CacheKey<'_> {
    (&object.url, object.partition.as_deref(), object.method.as_deref() == Some("OPTIONS"))
}

/// What becomes of a request.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Again {
    /// It is sent as if there was no cache.
    Fetched,
    /// The browser has the answer.
    Kept,
    /// The server is asked whether what the browser has is still right, with these fields.
    AskedAbout(Vec<Field>),
    /// The browser takes what it has, and asks the server for the next time (RFC 5861, stale-while-revalidate); without
    /// fields it fetches it again.
    KeptAndAsked(Vec<Field>),
}

/// What becomes of a request where the browser has had `kept` so long ago.
pub(super) fn again(object: &ObjectSpec, kept: &ObjectSpec, after: Duration) -> Again {
    let (Some(fields), false) = (&kept.response_fields, object.changes) else { return Again::Fetched };
    match object.method.as_deref() {
        None | Some("GET") => {}
        Some("OPTIONS") if after < preflight_age(fields) => return Again::Kept,
        Some(_) => return Again::Fetched,
    }
    let status = kept.status.unwrap_or(200);
    let (Some(first), Some(request), false) = (request(kept), request(object), status == 206) else {
        return Again::Fetched;
    };
    // Ages count from the response, whose own Date says which day that was.
    let then = SystemTime::UNIX_EPOCH;
    let response = response(fields);
    let is_stated = says_how_long(response.headers());
    let policy = CachePolicy::new_options(&first, &response, then, a_browsers());
    let conditional = match policy.before_request(&request, then + after) {
        _ if !policy.is_storable() => return Again::Fetched,
        BeforeRequest::Fresh(_) if is_stated || AGING.contains(&status) => return Again::Kept,
        _ if is_permanent(status, fields) => return Again::Kept,
        BeforeRequest::Stale { request: asking, .. } if status == 200 => asking.headers,
        _ => return Again::Fetched,
    };
    let is_condition = |name: &HeaderName| [IF_NONE_MATCH, IF_MODIFIED_SINCE].contains(name);
    let asked = conditional.iter().filter(|(name, _)| is_condition(name));
    let conditions: Vec<Field> =
        asked.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())).collect();
    let was_fresh =
        |ago| matches!(policy.before_request(&request, then + after.saturating_sub(ago)), BeforeRequest::Fresh(_));
    match stale_while_revalidate(response.headers()) {
        Some(ago) if was_fresh(ago) => Again::KeptAndAsked(conditions),
        _ if conditions.is_empty() => Again::Fetched,
        _ => Again::AskedAbout(conditions),
    }
}

/// Whether what was prefetched so long ago is used as it is: if it was stored at all and is not too old, however long its
/// heads keep it fresh.
pub(super) fn is_kept_ahead(object: &ObjectSpec, kept: &ObjectSpec, after: Duration) -> bool {
    let (Some(first), Some(request), Some(fields)) = (request(kept), request(object), &kept.response_fields) else {
        return false;
    };
    let then = SystemTime::UNIX_EPOCH;
    let mut response = response(fields);
    if !CachePolicy::new_options(&first, &response, then, a_browsers()).is_storable() {
        return false;
    }
    replace(response.headers_mut(), CACHE_CONTROL, Some(format!("max-age={}", PREFETCH_AGE.as_secs())));
    let policy = CachePolicy::new_options(&first, &response, then, a_browsers());
    matches!(policy.before_request(&request, then + after), BeforeRequest::Fresh(_))
}

/// A private cache, for which nothing is fresh for longer because it is `immutable`.
fn a_browsers() -> CacheOptions {
    CacheOptions { shared: false, immutable_min_time_to_live: Duration::ZERO, ..CacheOptions::default() }
}

/// For how long after it is stale a response may be used while the server is asked about it.
fn stale_while_revalidate(headers: &HeaderMap) -> Option<Duration> {
    let directives = headers.get(CACHE_CONTROL)?.to_str().ok()?;
    let stated = directives.split(',').find_map(|one| one.trim().strip_prefix("stale-while-revalidate="))?;
    stated.parse().ok().map(Duration::from_secs)
}

/// Whether Chromium keeps it without end: what has moved for good, unless the response says otherwise.
fn is_permanent(status: u16, fields: &[Field]) -> bool {
    let is_limit = |(name, _): &Field| LIMITS.iter().any(|limit| name.eq_ignore_ascii_case(limit));
    PERMANENT.contains(&status) && !fields.iter().any(is_limit)
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

/// The response as Chromium reads it. Of what status it is matters to what is done with it, not to how long it is fresh.
fn response(fields: &[Field]) -> Response<()> {
    let mut response = Response::new(());
    let headers = response.headers_mut();
    *headers = self::headers(fields.iter());
    let mut directives = directives(headers);
    if headers.get(PRAGMA).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"no-cache")) {
        directives.push("no-cache".to_owned());
    }
    headers.remove(CACHE_CONTROL);
    replace(headers, CACHE_CONTROL, Some(directives.join(", ")).filter(|all| !all.is_empty()));
    // Of several the first counts.
    let first = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (age, expires) = (first(AGE), first(EXPIRES));
    headers.remove(AGE);
    let age = age.and_then(|age| age.split(',').next()?.trim().parse::<u64>().ok());
    replace(headers, AGE, age.map(|age| age.to_string()));
    // Without a Date nobody knows what it is later than.
    let expires = expires.filter(|_| headers.contains_key(DATE));
    headers.remove(EXPIRES);
    replace(headers, EXPIRES, expires.map(|expires| date(&expires).unwrap_or(expires)));
    response
}

fn replace(headers: &mut HeaderMap, name: HeaderName, value: Option<String>) {
    if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
        headers.insert(name, value);
    }
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

/// The directives of Cache-Control that Chromium understands: in any case, and with values that are not quoted. What is
/// to be left out of what is kept (`no-cache="set-cookie"`) it does not look at.
fn directives(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    let mut directives = Vec::new();
    for value in values {
        let mut is_quoted = false;
        let parts = value.split(|mark| {
            is_quoted ^= mark == '"';
            mark == ',' && !is_quoted
        });
        let parts = parts.map(|part| part.trim().to_ascii_lowercase());
        directives.extend(parts.filter(|part| !part.contains("=\"") && !part.contains(" =")));
    }
    directives
}

/// Whether a response says itself how long it is fresh.
fn says_how_long(headers: &HeaderMap) -> bool {
    let ages = headers.get(CACHE_CONTROL).and_then(|value| value.to_str().ok());
    headers.contains_key(EXPIRES) || ages.is_some_and(|ages| ages.contains("max-age"))
}

fn month_of(token: &str) -> Option<&'static str> {
    let start = token.get(..3)?;
    MONTHS.into_iter().find(|month| start.eq_ignore_ascii_case(month))
}

/// A date in any of HTTP's formats (RFC 9110, section 5.6.7), or in one that is as clear, in the format of today.
fn date(value: &str) -> Option<String> {
    let (mut day, mut month, mut year, mut time) = (None, None, None, None);
    for token in value.split([' ', '\t', ',', '-']).filter(|token| !token.is_empty()) {
        let parts: Option<Vec<u32>> = token.split([':', '.']).map(|part| part.parse().ok()).collect();
        match parts.as_deref() {
            Some([hour, minute, second]) => time = Some(format!("{hour:02}:{minute:02}:{second:02}")),
            Some([number]) if day.is_none() && token.len() <= 2 => day = Some(*number),
            Some([number]) if year.is_none() => year = Some(*number),
            _ => month = month.or(month_of(token)),
        }
    }
    // RFC 6265, section 5.1.1.
    let year = year.map(|year| match year {
        0..70 => 2000 + year,
        70..100 => 1900 + year,
        _ => year,
    });
    Some(format!("{} {} {} {} GMT", day?, month?, year?, time?))
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
        for more in [json!({"method": "POST"}), json!({"changes": true}), json!({"status": 206})] {
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

    /// As Chromium 156 did on cases of http-cache-tests.
    #[test]
    fn heads_are_read_as_chromium_reads_them() {
        let long = ("cache-control", "max-age=3600");
        for fields in [
            [("cache-control", "MaX-aGe=3600"), ("date", DATE)],
            [("cache-control", "no-cache=\"foo, bar\", max-age=3600"), ("date", DATE)],
            [("age", "7200;foo=111"), long],
            [("expires", "Thursday, 18-Aug-50 02:01:18 GMT"), ("date", DATE)],
            [("expires", "Thu Aug  8 02:01:18 2050"), ("date", DATE)],
            [("expires", "Thu, 18 Aug 2050 2.01.18 AEST"), ("date", DATE)],
        ] {
            assert_eq!(after(&fields, 9), Again::Kept, "{fields:?}");
        }
        for fields in [
            [("cache-control", "max-age=\"3600\""), ("date", DATE)],
            [("cache-control", "max-age =3600"), ("date", DATE)],
            [("cache-control", "No-Cache"), long],
            [("pragma", "no-cache"), long],
            [("age", "7200, 0"), long],
        ] {
            assert_eq!(after(&fields, 9), Again::Fetched, "{fields:?}");
        }
        let of_status = |fields: &[(&str, &str)], status: u16| at_once(&object(fields, json!({"status": status})));
        assert_eq!([299, 404, 500].map(|status| of_status(&[long], status)), [Again::Kept, Again::Kept, Again::Kept]);
        let aging = [("last-modified", DAYS_AGO), ("date", DATE)];
        assert_eq!([203, 204, 404].map(|status| of_status(&aging, status) == Again::Kept), [true, false, false]);
        let asked = [("cache-control", "no-cache"), ("etag", "\"1\"")];
        assert_eq!(of_status(&asked, 404), Again::Fetched, "only content is asked about");
    }

    #[test]
    fn what_may_be_stale_while_it_is_asked_about_is_kept_so_long_rfc5861() {
        let fields = [("cache-control", "max-age=60, stale-while-revalidate=30"), ("etag", "\"1\""), ("date", DATE)];
        let condition = vec![("if-none-match".to_owned(), "\"1\"".to_owned())];
        assert_eq!(after(&fields, 59), Again::Kept);
        assert_eq!(
            [60, 89].map(|seconds| after(&fields, seconds)),
            [0; 2].map(|_| Again::KeptAndAsked(condition.clone()))
        );
        assert_eq!(after(&fields, 90), Again::AskedAbout(condition));
        let bare = [fields[0], fields[2]];
        assert_eq!([after(&bare, 70), after(&bare, 90)], [Again::KeptAndAsked(Vec::new()), Again::Fetched]);
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
}
