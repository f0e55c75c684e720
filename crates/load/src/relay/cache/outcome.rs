//! What the cache had to do with a response, for the access log and for Cache-Status (RFC 9211).

/// What the cache had to do with a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheOutcome {
    /// It was stored and fresh.
    Hit,
    /// It was stored and stale, and the origin allows that.
    Stale,
    /// It was not stored.
    Miss,
    /// It was stored and stale, and the origin was asked: it said that it is still right.
    Revalidated,
    /// It was stored and stale, and the origin has given another one.
    Replaced,
    /// Another client's request was on its way to the origin already, and its response answers this one, too.
    Collapsed,
    /// The cache has no part in it: the method, a field or the response do not allow it.
    Passed,
}

impl CacheOutcome {
    /// As it stands in the access log.
    pub const fn name(self) -> &'static str {
        match self {
            CacheOutcome::Hit => "hit",
            CacheOutcome::Stale => "stale",
            CacheOutcome::Miss => "miss",
            CacheOutcome::Revalidated => "revalidated",
            CacheOutcome::Replaced => "replaced",
            CacheOutcome::Collapsed => "collapsed",
            CacheOutcome::Passed => "passed",
        }
    }
}

/// As Cache-Status says it; `ttl` is for how many seconds a stored response is still fresh.
pub(super) fn cache_status(outcome: CacheOutcome, ttl: Option<i64>) -> String {
    let what = match outcome {
        CacheOutcome::Hit | CacheOutcome::Stale => "hit",
        CacheOutcome::Miss => "fwd=uri-miss",
        CacheOutcome::Revalidated => "fwd=stale; fwd-status=304",
        CacheOutcome::Replaced => "fwd=stale",
        CacheOutcome::Collapsed => "fwd=uri-miss; collapsed",
        CacheOutcome::Passed => "fwd=bypass",
    };
    match ttl {
        Some(ttl) => format!("loadstone; {what}; ttl={ttl}"),
        None => format!("loadstone; {what}"),
    }
}
