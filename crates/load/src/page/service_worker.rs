//! Service workers at later visits: one that is installed is not installed again.
//!
//! Its script, and what only that fetched, is then in a cache of its own: `register()` finds the same worker and requests
//! nothing (Service Workers, "Register"). The browser looks for a new version later, after the load.

use super::change::Change;
use super::file::{ObjectSpec, PageFile};
use std::borrow::Cow;
use std::collections::BTreeSet;

impl PageFile {
    /// This page without what the service workers of pages `before` had to fetch to be installed.
    pub(super) fn with_installed_workers(&self, before: &[&PageFile]) -> Cow<'_, PageFile> {
        let installed: BTreeSet<&str> = before.iter().flat_map(|page| workers(page)).map(|(_, url)| url).collect();
        let places: BTreeSet<usize> =
            workers(self).filter(|(_, url)| installed.contains(url)).map(|(at, _)| at).collect();
        if places.is_empty() { Cow::Borrowed(self) } else { Cow::Owned(self.changed(Change::LeftOut, &places)) }
    }
}

/// The places and URLs of scripts of service workers, which are requested with `Service-Worker: script`. The value is the
/// only one that is defined, and pages made by earlier versions have it redacted.
fn workers(page: &PageFile) -> impl Iterator<Item = (usize, &str)> {
    let is_script = |object: &ObjectSpec| {
        let fields = object.request_fields.iter().flatten();
        fields.into_iter().any(|(name, _)| name.eq_ignore_ascii_case("service-worker"))
    };
    page.objects
        .iter()
        .enumerate()
        .filter(move |(_, object)| is_script(object))
        .map(|(at, object)| (at, &object.url[..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;

    fn page(worker: &str) -> PageFile {
        let keep = json!([["cache-control", "max-age=60"]]);
        serde_json::from_value(json!({"objects": [
            {"url": "https://a.test/", "bytes": 10, "response_fields": keep},
            {"url": worker, "bytes": 10, "request_fields": [["Service-Worker", "script"]], "needed": false},
            {"url": "https://a.test/offline.html", "bytes": 10, "needs": [{"node": worker}], "needed": false},
            {"url": "https://a.test/a.json", "bytes": 10, "needs": [{"node": worker}, {"node": "https://a.test/"}]}]}))
        .unwrap()
    }

    fn asked_by(next: &PageFile, before: &PageFile) -> Vec<String> {
        let visited = next.visited_after(before, Duration::from_secs(1)).unwrap();
        visited.objects.into_iter().filter(|object| !object.cached).map(|object| object.url).collect()
    }

    #[test]
    fn an_installed_worker_and_what_only_it_fetched_are_not_fetched_again() {
        let worker = page("https://a.test/sw.js");
        assert_eq!(asked_by(&worker, &worker), ["https://a.test/a.json"], "the page asks for that, too");
    }

    #[test]
    fn another_worker_is_installed() {
        let asked = asked_by(&page("https://a.test/new.js"), &page("https://a.test/sw.js"));
        assert_eq!(asked, ["https://a.test/new.js", "https://a.test/offline.html", "https://a.test/a.json"]);
    }
}
