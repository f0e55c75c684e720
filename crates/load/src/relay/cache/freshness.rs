//! Whether a response may be stored, and for how long it is fresh (RFC 9111, sections 3 and 4.2).
//!
//! What may be stored and how long it is fresh is `http-cache-semantics`'. What stands here is what that library leaves to others:
//! the age of a response by its Date, directives for shared caches alone, staleness that an origin allows (RFC 5861), and where
//! this cache is more careful.

use super::date::parse_date;
use super::directives::Directives;
use super::of_name;
use http::header::{AGE, CACHE_CONTROL, DATE, EXPIRES, LAST_MODIFIED};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_cache_semantics::{CacheOptions, CachePolicy};
use loadstone_http::{Fields, RequestHead, ResponseHead};
use loadstone_units::Time;
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime};

/// The longest time that counts: a time that is longer says no more (RFC 9111, section 1.2.2).
const LONGEST: u64 = 1 << 31;

/// For how long a stored response may be used.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Freshness {
    /// When the response came, and how old it was then.
    #[serde(with = "nanos")]
    came: Time,
    initial_age: Duration,
    lifetime: Duration,
    /// For how long after that it may be used while the origin is asked (RFC 5861, section 3), and if the origin fails (section 4).
    while_revalidate: Duration,
    if_error: Duration,
    /// It may never be used when it is stale, whatever a client allows (RFC 9111, section 5.2.2.2).
    must_revalidate: bool,
    /// It is for clients that show who they are, too (RFC 9111, section 3.5).
    pub(super) for_authorized: bool,
}

/// When a request went out and its response came, and what the clock of day showed at zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moments {
    pub(super) asked: Time,
    pub(super) came: Time,
    pub(super) zero: SystemTime,
}

impl Moments {
    /// The time of day when the response came.
    pub(super) fn day(self) -> SystemTime {
        self.zero + Duration::from_nanos(self.came.as_nanos())
    }
}

impl Freshness {
    /// For how long a response may be used that came for a request with these fields; `None` if it may not be stored.
    pub(super) fn of(request: &RequestHead, response: &ResponseHead, moments: Moments) -> Option<Freshness> {
        let has = |name: &[u8]| response.fields.get(name).is_some();
        let targeted = Directives::targeted(&response.fields);
        let is_targeted = targeted.is_some();
        let directives = targeted.unwrap_or_else(|| Directives::of(&response.fields));
        let says_how_long = ["s-maxage", "max-age", "public"].iter().any(|name| directives.has(name))
            || (has(b"expires") && !is_targeted);
        // Programs may answer by Cookie without a word of it, so what is only not forbidden is not enough.
        let is_careful = says_how_long || request.fields.get(b"cookie").is_none();
        let varies_by_all = of_name(&response.fields, b"vary")
            .any(|value| value.split(|it| *it == b',').any(|it| it.trim_ascii() == b"*"));
        if has(b"set-cookie") || has(b"set-cookie2") || has(b"content-range") || varies_by_all || !is_careful {
            return None;
        }
        let day = moments.day();
        let lifetime = lifetime(request, response, &directives, is_targeted, day)?;
        let seconds = |name: &str| Duration::from_secs(directives.seconds(name).unwrap_or(0).min(LONGEST));
        let must_revalidate =
            ["must-revalidate", "proxy-revalidate", "no-cache"].iter().any(|name| directives.has(name));
        Some(Freshness {
            came: moments.came,
            initial_age: initial_age(response, moments, day),
            lifetime,
            while_revalidate: seconds("stale-while-revalidate"),
            if_error: seconds("stale-if-error"),
            must_revalidate,
            for_authorized: ["public", "s-maxage", "must-revalidate"].iter().any(|name| directives.has(name)),
        })
    }

    /// For as long as there is, for whom it may be, of a response whose fields are not asked.
    pub(super) fn endless(moments: Moments) -> Freshness {
        Freshness {
            came: moments.came,
            initial_age: Duration::ZERO,
            lifetime: Duration::from_secs(LONGEST),
            while_revalidate: Duration::ZERO,
            if_error: Duration::ZERO,
            must_revalidate: false,
            for_authorized: true,
        }
    }

    /// The same on another clock: one that shows `now`, and whose zero is then and not at `zero`. What came before that is older
    /// by so much when it begins; what has yet to come there, since the clock of day was set back, comes now.
    pub(super) fn on_clock(self, zero: SystemTime, other: SystemTime, now: Time) -> Freshness {
        let day = zero + Duration::from_nanos(self.came.as_nanos());
        let (came, before) = match day.duration_since(other) {
            Ok(since) => ((Time::ZERO + since).min(now), Duration::ZERO),
            Err(earlier) => (Time::ZERO, earlier.duration()),
        };
        let initial_age = self.initial_age.saturating_add(before).min(Duration::from_secs(2 * LONGEST));
        Freshness { came, initial_age, ..self }
    }

    /// How old it is (RFC 9111, section 4.2.3).
    pub(super) fn age(&self, now: Time) -> Duration {
        self.initial_age + Duration::from_nanos(now.nanos_since(self.came))
    }

    /// For how many seconds more it is fresh; negative once it is stale.
    pub(super) fn ttl(&self, now: Time) -> i64 {
        self.lifetime.as_secs() as i64 - self.age(now).as_secs() as i64
    }

    pub(super) fn is_fresh(&self, now: Time) -> bool {
        self.age(now) < self.lifetime
    }

    /// Whether it was fresh for any time at all.
    pub(super) fn was_fresh(&self) -> bool {
        self.initial_age < self.lifetime
    }

    /// Whether it is fresh for so much longer.
    pub(super) fn is_fresh_for(&self, now: Time, more: Duration) -> bool {
        self.age(now).saturating_add(more) < self.lifetime
    }

    /// Whether it may be used although it is stale, because a client takes what has been stale for so long.
    pub(super) fn may_be_stale_for(&self, now: Time, allowed: Duration) -> bool {
        !self.must_revalidate && self.age(now) <= self.lifetime.saturating_add(allowed)
    }

    /// Whether it may be used while the origin is asked about it.
    pub(super) fn may_be_used_meanwhile(&self, now: Time) -> bool {
        self.may_be_stale_for(now, self.while_revalidate) && !self.while_revalidate.is_zero()
    }

    /// Whether it may be used since the origin fails.
    pub(super) fn may_be_used_if_error(&self, now: Time) -> bool {
        self.may_be_stale_for(now, self.if_error) && !self.if_error.is_zero()
    }
}

/// A time as it is written in files: nanoseconds.
mod nanos {
    use loadstone_units::Time;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(time.as_nanos())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        u64::deserialize(deserializer).map(Time::from_nanos)
    }
}

/// How old a response is when it comes (RFC 9111, section 4.2.3).
fn initial_age(response: &ResponseHead, moments: Moments, day: SystemTime) -> Duration {
    let date = response.fields.get(b"date").and_then(parse_date);
    let apparent = date.and_then(|date| day.duration_since(date).ok()).unwrap_or_default();
    // Of a list the first counts, and what is no number does not (RFC 9111, section 5.1).
    let age = response.fields.get(b"age").and_then(|age| std::str::from_utf8(age).ok());
    let stated = age.and_then(|age| age.split(',').next()?.trim().parse::<u64>().ok()).unwrap_or(0);
    let delay = Duration::from_nanos(moments.came.nanos_since(moments.asked));
    apparent.max(Duration::from_secs(stated.min(LONGEST)) + delay)
}

/// How long it is fresh from when it was made; `None` if it may not be stored.
fn lifetime(
    request: &RequestHead,
    response: &ResponseHead,
    directives: &Directives,
    is_targeted: bool,
    day: SystemTime,
) -> Option<Duration> {
    let mut asked = Request::new(());
    *asked.headers_mut() = headers(&request.fields);
    let mut answered = Response::new(());
    *answered.status_mut() = StatusCode::from_u16(response.status).ok()?;
    let fields = answered.headers_mut();
    *fields = headers(&response.fields);
    // It is asked for a lifetime, not for what is left of it.
    fields.remove(AGE);
    fields.remove(CACHE_CONTROL);
    // What may be done with it when it is stale is no matter of how long it is fresh, as that library has it.
    replace(
        fields,
        CACHE_CONTROL,
        Some(directives.to_value_without("proxy-revalidate")).filter(|value| !value.is_empty()),
    );
    if is_targeted {
        fields.remove(EXPIRES);
    }
    // That library takes dates that are none (RFC 9110, section 5.6.7). Of those, Expires has passed (RFC 9111, section 5.3).
    for name in [EXPIRES, DATE, LAST_MODIFIED] {
        let Some(value) = fields.remove(&name) else { continue };
        let read = parse_date(value.as_bytes()).map(httpdate::fmt_http_date);
        let passed = (name == EXPIRES).then(|| "0".to_owned());
        replace(fields, name, read.or(passed));
    }
    let options = CacheOptions { shared: true, immutable_min_time_to_live: Duration::ZERO, ..CacheOptions::default() };
    let policy = CachePolicy::new_options(&asked, &answered, day, options);
    policy.is_storable().then(|| policy.time_to_live(day).min(Duration::from_secs(LONGEST)))
}

fn headers(fields: &Fields) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields.iter() {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    headers
}

fn replace(headers: &mut HeaderMap, name: HeaderName, value: Option<String>) {
    if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
        headers.insert(name, value);
    }
}
