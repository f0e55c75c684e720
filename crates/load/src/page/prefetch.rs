//! What a page's servers hint at of the page that they take to be the next one: `Link: <...>; rel=prefetch` (HTML,
//! section 4.6.7.14).
//!
//! The browser asks for it when the page is loaded, and nothing is less urgent. Of frames nothing is fetched ahead:
//! a hint has the network partition of the page it stands on.

use super::build::Url;
use super::file::{ComputeSpec, Need, Needed, ObjectSpec, PageFile};
use loadstone_units::Bounded;
use std::collections::BTreeSet;

/// The node with which prefetches begin.
const LOADED: &str = "loaded, before prefetches";

impl PageFile {
    /// This page with prefetches of the next one's objects behind its own: those that it has not itself, each once, with
    /// GET and without a frame's partition.
    pub(super) fn prefetching(&self, next: &PageFile) -> PageFile {
        let mut page = self.clone();
        let mut known: BTreeSet<&str> = self.objects.iter().map(|object| &*object.url).collect();
        let ahead = next.objects.iter().filter(|object| may_be_prefetched(object) && known.insert(&object.url));
        page.objects.extend(ahead.map(prefetch_of));
        let (own, ahead) = page.objects.split_at(self.objects.len());
        if ahead.is_empty() {
            return page;
        }
        let hosts: BTreeSet<String> = ahead.iter().filter_map(|object| host(&object.url)).collect();
        let ends = own.iter().filter(|object| object.needed != Some(Needed::Never));
        let needs = ends.map(|object| Need { node: object.node().to_owned(), ..Need::default() }).collect();
        page.compute.push(ComputeSpec { name: LOADED.to_owned(), needs: Some(needs), ..ComputeSpec::default() });
        for (name, spec) in next.hosts.iter().filter(|(name, _)| hosts.contains(&name.to_ascii_lowercase())) {
            page.hosts.entry(name.clone()).or_insert_with(|| spec.clone());
        }
        page
    }
}

/// What changes from load to load is no object whose URL a server can name ahead.
fn may_be_prefetched(object: &ObjectSpec) -> bool {
    let is_get = object.method.as_deref().is_none_or(|method| method == "GET");
    is_get && object.status.is_none_or(|status| status == 200) && object.partition.is_none() && !object.changes
}

fn prefetch_of(object: &ObjectSpec) -> ObjectSpec {
    ObjectSpec {
        name: Some(format!("{} for the next page", object.url)),
        needs: Some(vec![Need { node: LOADED.to_owned(), ..Need::default() }]),
        urgency: Bounded::try_from(7).ok(),
        needed: Some(Needed::Never),
        raised: None,
        pushed_with: None,
        cached: false,
        document: None,
        seen: None,
        view_pixels: None,
        ..object.clone()
    }
}

fn host(url: &str) -> Option<String> {
    let url = Url::split(url)?;
    Some(url.authority.split(':').next()?.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_server_can_name_ahead_is_asked_for_when_the_page_is_loaded() {
        let of = |page: serde_json::Value| -> PageFile { serde_json::from_value(page).unwrap() };
        let page = of(json!({"objects": [
            {"url": "https://a.test/", "bytes": 10}, {"url": "https://a.test/late", "bytes": 10, "needed": false}]}));
        let next = of(json!({
            "objects": [
                {"url": "https://a.test/next", "bytes": 10},
                {"url": "https://a.test/late", "bytes": 10},
                {"url": "https://B.test/b.css", "bytes": 10, "urgency": 0, "needs": [{"node": "https://a.test/next"}]},
                {"url": "https://B.test/b.css", "bytes": 10, "name": "again"},
                {"url": "https://a.test/form", "bytes": 10, "method": "POST"},
                {"url": "https://a.test/gone", "bytes": 10, "status": 404},
                {"url": "https://a.test/new", "bytes": 10, "changes": true},
                {"url": "https://a.test/frame", "bytes": 10, "partition": "https://f.test"}],
            "hosts": {"b.test": {"rtt_ms": 5.0, "think_ms": 0.0}, "c.test": {"rtt_ms": 1.0, "think_ms": 0.0}}}));
        let both = page.prefetching(&next);
        let ahead: Vec<&str> = both.objects[2..].iter().map(|object| &*object.url).collect();
        assert_eq!(ahead, ["https://a.test/next", "https://B.test/b.css"]);
        let style = &both.objects[3];
        assert_eq!((style.urgency.map(Bounded::get), style.needed), (Some(7), Some(Needed::Never)));
        assert_eq!(style.needs.as_ref().unwrap()[0].node, LOADED);
        let loaded: Vec<&str> = both.compute[0].needs.iter().flatten().map(|need| &*need.node).collect();
        assert_eq!(loaded, ["https://a.test/"], "what nothing waits for may never end");
        assert_eq!(both.hosts.keys().collect::<Vec<_>>(), ["b.test"]);
        assert!(both.build().is_ok());
        assert_eq!(page.prefetching(&page), page, "a page that has it all asks for nothing ahead");
    }
}
