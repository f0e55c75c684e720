//! Which protocol each host spoke when the page was recorded.

use super::fetched::HarFetch;
use super::url;
use serde::Serialize;
use std::collections::BTreeMap;

/// A protocol as recordings name it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub enum RecordedProtocol {
    /// HTTP/1.1, or HTTP/1.0.
    #[serde(rename = "http/1.1")]
    Http1,
    /// SPDY of any version.
    #[serde(rename = "spdy")]
    Spdy,
    /// HTTP/2.
    #[serde(rename = "h2")]
    H2,
    /// HTTP/3, or HTTP over QUIC before it.
    #[serde(rename = "h3")]
    H3,
}

impl RecordedProtocol {
    /// Reads names such as `h2`, `HTTP/2.0`, `http/1.1`, `h3-29`, `http/2+quic/46`; `None` if it is none.
    fn of(name: &str) -> Option<RecordedProtocol> {
        let name = name.trim().to_ascii_lowercase();
        let begins = |with: &[&str]| with.iter().any(|with| name.starts_with(with));
        match () {
            () if begins(&["h3", "http/3"]) || name.contains("quic") => Some(RecordedProtocol::H3),
            () if begins(&["h2", "http/2"]) => Some(RecordedProtocol::H2),
            () if begins(&["spdy"]) => Some(RecordedProtocol::Spdy),
            () if begins(&["http/1", "http/0.9"]) => Some(RecordedProtocol::Http1),
            () => None,
        }
    }
}

/// What an entry was fetched by; `None` if the file does not say.
pub(super) fn protocol(fetched: &HarFetch<'_>) -> Option<RecordedProtocol> {
    // What was answered is what both spoke; a request may name what was only tried.
    let names = [&fetched.entry.protocol, &fetched.response.http_version, &fetched.request.http_version];
    names.into_iter().filter_map(|name| name.text()).find_map(RecordedProtocol::of)
}

/// What each host of the page spoke for most of its objects, of equals the newer.
pub(super) fn protocols(entries: &[HarFetch<'_>]) -> BTreeMap<String, RecordedProtocol> {
    let mut counts: BTreeMap<String, BTreeMap<RecordedProtocol, usize>> = BTreeMap::new();
    for fetched in entries.iter().filter(|fetched| fetched.skip.is_none()) {
        if let Some(protocol) = protocol(fetched) {
            *counts.entry(url::parts(&fetched.url).0).or_default().entry(protocol).or_default() += 1;
        }
    }
    let most = |counts: BTreeMap<RecordedProtocol, usize>| {
        counts.into_iter().max_by_key(|(protocol, count)| (*count, *protocol)).map(|(protocol, _)| protocol)
    };
    counts.into_iter().filter_map(|(host, counts)| Some((host, most(counts)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::RecordedProtocol::{self, H2, H3, Http1, Spdy};

    #[test]
    fn names_are_read_as_browsers_write_them() {
        for (names, protocol) in [
            (&["http/1.1", "HTTP/1.1", "http/1.0", "HTTP/1.0"][..], Some(Http1)),
            (&["h2", "HTTP/2", "http/2.0", "HTTP/2.0", "h2c"], Some(H2)),
            (&["h3", "HTTP/3", "h3-Q050", "h3-29", "http/2+quic/46", "QUIC"], Some(H3)),
            (&["spdy/3.1", "SPDY/3"], Some(Spdy)),
            (&["", "unknown", "data", "blob", "file"], None),
        ] {
            for name in names {
                assert_eq!(RecordedProtocol::of(name), protocol, "{name}");
            }
        }
    }
}
