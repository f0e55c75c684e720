//! Hosts whose names do not exist: requests to them fail, and the page waits until they have.

use super::Skip;
use super::fetched::HarFetch;
use crate::page::HostSpec;
use crate::page::build::Url;
use loadstone_units::Bounded;
use std::collections::{BTreeMap, BTreeSet};

/// What Chromium calls the error (`net/base/net_error_list.h`).
const NAME_NOT_RESOLVED: &str = "net::ERR_NAME_NOT_RESOLVED";
/// How many round trips Chromium 156 takes until such a request fails, on beds with 20 and 200 ms.
const QUERIES: f64 = 4.0;

/// Makes objects of requests that failed since the name of their host does not exist. Where something else came from it,
/// it does exist.
pub(super) fn keep(entries: &mut [HarFetch<'_>]) {
    let answered: BTreeSet<String> =
        entries.iter().filter(|fetched| fetched.skip.is_none()).filter_map(authority).collect();
    for fetched in entries {
        let is_failed = fetched.skip == Some(Skip::Failed) && fetched.response.error.text() == Some(NAME_NOT_RESOLVED);
        if is_failed && authority(fetched).is_some_and(|host| !answered.contains(&host)) {
            (fetched.skip, fetched.is_name_error, fetched.bytes) = (None, true, 0);
        }
    }
}

/// The hosts that have no address, with how many queries it took to know that: as many as fit into the shortest failure,
/// since a busy browser hears of it late.
pub(super) fn hosts(entries: &[HarFetch<'_>], round_trip_ms: Option<f64>) -> BTreeMap<String, HostSpec> {
    let failed = || entries.iter().filter(|fetched| fetched.is_name_error);
    let shortest = failed().map(|fetched| fetched.ended - fetched.began).fold(f64::INFINITY, f64::min);
    let fitting = round_trip_ms.filter(|ms| *ms > 0.0).map_or(QUERIES, |ms| (shortest / ms).round());
    let name_error = Some(Bounded::known(fitting.clamp(1.0, QUERIES) as u32));
    let spec = HostSpec { name_error, ..HostSpec::default() };
    failed().filter_map(authority).map(|host| (host, spec.clone())).collect()
}

fn authority(fetched: &HarFetch<'_>) -> Option<String> {
    Url::split(&fetched.url).map(|url| url.authority.to_ascii_lowercase())
}
