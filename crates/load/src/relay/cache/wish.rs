//! What a request wants of a cache (RFC 9111, section 5.2.1; RFC 9110, sections 13 and 14).

use super::directives::Directives;
use super::freshness::Freshness;
use crate::relay::fields::is_alike;
use loadstone_http::{RequestHead, content_length};
use loadstone_units::Time;
use std::time::Duration;

/// Fields that programs read in place of the method, the target or the host, though no response names them in Vary: what comes
/// of them must not become another client's.
const OVERRIDES: [&[u8]; 9] = [
    b"x-forwarded",
    b"x-original",
    b"x-rewrite",
    b"x-http-",
    b"x-method",
    b"x-host",
    b"x-proxy",
    b"x-url",
    b"front-end-https",
];

/// What a request wants of a cache.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) is_head: bool,
    /// It has a condition that a stored response may meet.
    pub(super) is_conditional: bool,
    pub(super) wants_range: bool,
    /// What is stored is of use only if it is fresh for so long, or stale for no longer, or no older.
    min_fresh: Duration,
    max_stale: Option<Duration>,
    max_age: Option<Duration>,
    /// The origin is to be asked, whatever is stored.
    no_cache: bool,
    /// The origin is not to be asked.
    pub(super) only_if_cached: bool,
    /// It shows who asks (RFC 9111, section 3.5).
    pub(super) is_authorized: bool,
}

impl Wish {
    /// What a request without content wants; `None` if it has to go to the origin, and its response is for it alone.
    pub(super) fn of(request: &RequestHead) -> Option<Wish> {
        let is_head = &request.method[..] == b"HEAD";
        let has_content = !matches!(content_length(&request.fields), Ok(None));
        if (&request.method[..] != b"GET" && !is_head) || has_content {
            return None;
        }
        let mut wish = Wish {
            is_head,
            is_conditional: false,
            wants_range: false,
            min_fresh: Duration::ZERO,
            max_stale: None,
            max_age: None,
            no_cache: false,
            only_if_cached: false,
            is_authorized: false,
        };
        let (mut has_directives, mut has_pragma) = (false, false);
        for (name, value) in request.fields.iter() {
            let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
            match name.first().map_or(0, u8::to_ascii_lowercase) {
                b'a' => wish.is_authorized |= is(b"authorization"),
                b'c' => has_directives |= is(b"cache-control"),
                b'e' | b't' if is(b"expect") || is(b"transfer-encoding") => return None,
                b'i' if is(b"if-match") || is(b"if-unmodified-since") || is(b"if-range") => return None,
                b'i' => wish.is_conditional |= is(b"if-none-match") || is(b"if-modified-since"),
                b'p' => has_pragma |= is(b"pragma") && value.to_ascii_lowercase().starts_with(b"no-cache"),
                b'r' => wish.wants_range |= is(b"range"),
                b'x' | b'f' if is_override(name) => return None,
                _ => {}
            }
        }
        if has_directives {
            wish.directed(&Directives::of(&request.fields))
        } else {
            wish.no_cache = has_pragma;
            Some(wish)
        }
    }

    fn directed(self, directives: &Directives) -> Option<Wish> {
        if directives.has("no-store") {
            return None;
        }
        let seconds = |name: &str| directives.seconds(name).map(Duration::from_secs);
        // Without a number any staleness will do (RFC 9111, section 5.2.1.2).
        let any = directives.has("max-stale").then_some(Duration::MAX);
        Some(Wish {
            min_fresh: seconds("min-fresh").unwrap_or_default(),
            max_stale: seconds("max-stale").or(any),
            max_age: seconds("max-age"),
            no_cache: directives.has("no-cache"),
            only_if_cached: directives.has("only-if-cached"),
            ..self
        })
    }

    /// Whether it takes any response that is fresh: others wait for the same one.
    pub(super) fn takes_what_is_fresh(&self) -> bool {
        !self.no_cache && self.max_age.is_none() && self.min_fresh.is_zero()
    }

    /// Whether a stored response may answer it although nobody asks the origin.
    pub(super) fn takes(&self, freshness: &Freshness, now: Time) -> bool {
        if self.no_cache || self.max_age.is_some_and(|limit| freshness.age(now) > limit) {
            return false;
        }
        freshness.is_fresh_for(now, self.min_fresh)
            || self.max_stale.is_some_and(|allowed| freshness.may_be_stale_for(now, allowed))
    }

    /// Whether it takes one that is stale while the origin is asked: it has to want nothing special.
    pub(super) fn takes_meanwhile(&self, freshness: &Freshness, now: Time) -> bool {
        self.takes_what_is_fresh() && freshness.may_be_used_meanwhile(now)
    }
}

/// Whether programs may read it in place of the request's own words.
fn is_override(name: &[u8]) -> bool {
    OVERRIDES.iter().any(|known| name.get(..known.len()).is_some_and(|start| is_alike(start, known)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_http::Fields;

    fn wish(method: &str, fields: &[(&str, &str)]) -> Option<Wish> {
        let fields = Fields::from_pairs(fields.iter().copied());
        Wish::of(&RequestHead::new(method.to_owned().into(), "a.test".into(), "/".into(), fields))
    }

    #[test]
    fn what_could_be_read_otherwise_or_has_content_goes_to_the_origin_alone() {
        assert!(wish("GET", &[("accept", "*/*"), ("x-own", "1")]).is_some());
        assert!(wish("POST", &[]).is_none());
        for field in [
            ("X-Original-URL", "/admin"),
            ("x_rewrite_url", "/admin"),
            ("X-HTTP-Method-Override", "POST"),
            ("x-forwarded-scheme", "http"),
            ("X-Host", "evil.test"),
            ("content-length", "5"),
            ("content-length", "0"),
            ("Transfer-Encoding", "chunked"),
            ("if-range", "\"1\""),
            ("If-Match", "\"1\""),
            ("cache-control", "No-Store"),
        ] {
            assert!(wish("GET", &[field]).is_none(), "{field:?}");
        }
    }

    #[test]
    fn what_a_request_says_of_caches_is_heard_rfc9111_5_2_1() {
        assert!(wish("GET", &[("pragma", "no-cache")]).unwrap().no_cache);
        let both =
            wish("GET", &[("pragma", "no-cache"), ("cache-control", "max-age=5, max-stale, only-if-cached")]).unwrap();
        assert!(!both.no_cache && both.only_if_cached && !both.takes_what_is_fresh());
        assert_eq!((both.max_age, both.max_stale), (Some(Duration::from_secs(5)), Some(Duration::MAX)));
    }
}
