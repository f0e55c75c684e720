//! What a page's servers give or name of the page that they take to be the next one: by `Link: <...>; rel=prefetch` (HTML,
//! section 4.6.7.14), or by pushes.
//!
//! The browser asks for what is named when the page is loaded, and nothing is less urgent. Of frames nothing is fetched
//! ahead: a hint has the network partition of the page it stands on.

use super::build::Url;
use super::file::{ComputeSpec, Need, Needed, ObjectSpec, PageFile};
use super::private_cache::CacheKey;
use loadstone_units::Bounded;
use std::collections::{BTreeMap, BTreeSet};

/// The node with which prefetches begin.
const LOADED: &str = "loaded, before prefetches";

/// What the servers of each page give or name ahead.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NextPage<'p> {
    /// What the last page before takes for the next one, if that is another than the one that follows.
    pub taken_for: Option<&'p PageFile>,
    /// Whether the document's server pushes with it what is its own; all else is only named.
    pub is_pushed: bool,
    /// Whether connections stay open from page to page: with one that is closed its pushes are gone.
    pub stays_open: bool,
}

/// Bytes of the bodies that came for a page before it was visited.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct BroughtAhead {
    /// All of them.
    pub bytes: u64,
    /// Those of which no page has made use.
    pub wasted: u64,
}

/// What a browser has that no page has asked for yet.
#[derive(Clone, Default)]
pub(super) struct Ahead<'p> {
    waiting: BTreeMap<CacheKey<'p>, &'p ObjectSpec>,
    brought: BroughtAhead,
}

impl<'p> Ahead<'p> {
    /// Something has come for a page to come.
    pub(super) fn bring(&mut self, key: CacheKey<'p>, object: &'p ObjectSpec) {
        self.waiting.insert(key, object);
        self.brought.bytes += object.bytes;
        self.brought.wasted += object.bytes;
    }

    /// A page has something of its own, which it may have from here.
    pub(super) fn meet(&mut self, key: &CacheKey<'p>, is_used: bool) {
        if let Some(object) = self.waiting.remove(key).filter(|_| is_used) {
            self.brought.wasted -= object.bytes;
        }
    }

    pub(super) fn has(&self, key: &CacheKey<'p>) -> bool {
        self.waiting.contains_key(key)
    }

    /// What was pushed under this name.
    pub(super) fn pushed(&self, key: &CacheKey<'p>) -> Option<&'p ObjectSpec> {
        self.waiting.get(key).copied().filter(|object| object.pushed_with.is_some())
    }

    /// The connections on which pushes have come are closed.
    pub(super) fn lose_pushed(&mut self) {
        self.waiting.retain(|_, object| object.pushed_with.is_none());
    }

    pub(super) fn brought(&self) -> BroughtAhead {
        self.brought
    }
}

impl PageFile {
    /// This page with the next one's objects behind its own, to be prefetched or pushed: those that it has not itself, each
    /// once, with GET and without a frame's partition.
    pub(super) fn prefetching(&self, next: &PageFile, is_pushed: bool) -> PageFile {
        let mut page = self.clone();
        let mut known: BTreeSet<&str> = self.objects.iter().map(|object| &*object.url).collect();
        let ahead = next.objects.iter().filter(|object| may_be_prefetched(object) && known.insert(&object.url));
        page.objects.extend(ahead.map(prefetch_of));
        if let Some(document) = self.objects.first().filter(|_| is_pushed) {
            let own = |object: &&mut ObjectSpec| origin(&object.url) == origin(&document.url);
            for object in page.objects[self.objects.len()..].iter_mut().filter(own) {
                object.pushed_with = Some(document.node().to_owned());
            }
        }
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
        is_ahead: true,
        raised: None,
        pushed_with: None,
        cached: false,
        document: None,
        seen: None,
        view_pixels: None,
        ..object.clone()
    }
}

/// Scheme and authority.
fn origin(url: &str) -> Option<(bool, String)> {
    let url = Url::split(url)?;
    Some((url.secure, url.authority.to_ascii_lowercase()))
}

fn host(url: &str) -> Option<String> {
    let url = Url::split(url)?;
    Some(url.authority.split(':').next()?.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;

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
        let both = page.prefetching(&next, false);
        let ahead: Vec<&str> = both.objects[2..].iter().map(|object| &*object.url).collect();
        assert_eq!(ahead, ["https://a.test/next", "https://B.test/b.css"]);
        let style = &both.objects[3];
        assert_eq!((style.urgency.map(Bounded::get), style.needed), (Some(7), Some(Needed::Never)));
        assert_eq!(style.needs.as_ref().unwrap()[0].node, LOADED);
        let loaded: Vec<&str> = both.compute[0].needs.iter().flatten().map(|need| &*need.node).collect();
        assert_eq!(loaded, ["https://a.test/"], "what nothing waits for may never end");
        assert_eq!(both.hosts.keys().collect::<Vec<_>>(), ["b.test"]);
        assert!(both.build().is_ok());
        assert_eq!(page.prefetching(&page, false), page, "a page that has it all asks for nothing ahead");
    }

    const STAYS: NextPage<'static> = NextPage { taken_for: None, is_pushed: false, stays_open: true };

    fn of(objects: serde_json::Value) -> PageFile {
        serde_json::from_value(json!({"objects": objects})).unwrap()
    }

    /// Which objects of the last page come from the cache, and what was brought ahead.
    fn last_of(pages: &[&PageFile], seconds: u64, next: Option<NextPage<'_>>) -> (Vec<bool>, [u64; 2]) {
        let visits = PageFile::visited_in_turn(pages, Duration::from_secs(seconds), next).unwrap();
        let last = visits.pages.last().unwrap().objects.iter().map(|object| object.cached).collect();
        (last, [visits.ahead.bytes, visits.ahead.wasted])
    }

    fn visited_pages() -> [PageFile; 2] {
        let stale = json!([["cache-control", "max-age=0"]]);
        let before = of(json!([{"url": "https://a.test/", "bytes": 10, "response_fields": []}]));
        let next = of(json!([
            {"url": "https://a.test/next", "bytes": 10, "response_fields": stale},
            {"url": "https://a.test/secret", "bytes": 200, "response_fields": [["cache-control", "no-store"]]},
            {"url": "https://b.test/bare", "bytes": 3000}]));
        [before, next]
    }

    #[test]
    fn what_was_prefetched_is_of_use_for_five_minutes_and_once() {
        let [before, next] = visited_pages();
        assert_eq!(last_of(&[&before, &next], 299, Some(STAYS)), (vec![true, false, false], [3210, 3200]));
        assert_eq!(last_of(&[&before, &next], 300, Some(STAYS)), (vec![false; 3], [3210, 3210]));
        assert_eq!(last_of(&[&before, &next], 1, None), (vec![false; 3], [0, 0]));
        let (kept, _) = last_of(&[&before, &next, &next], 1, Some(STAYS));
        assert_eq!(kept, [false; 3], "the second page has used it");
        let aged = of(json!([{"url": "https://a.test/next", "bytes": 10,
            "response_fields": [["cache-control", "max-age=0"], ["age", "290"]]}]));
        let kept = |seconds| last_of(&[&before, &aged], seconds, Some(STAYS)).0;
        assert_eq!((kept(9), kept(10)), (vec![true], vec![false]), "a shared cache had it before");
    }

    #[test]
    fn what_was_prefetched_for_another_page_is_wasted_unless_a_later_one_has_it() {
        let [before, next] = visited_pages();
        let keep = json!([["cache-control", "max-age=60"]]);
        let guess = of(json!([
            {"url": "https://a.test/guess", "bytes": 50000, "response_fields": keep},
            {"url": "https://a.test/next", "bytes": 10, "response_fields": keep}]));
        let wrong = NextPage { taken_for: Some(&guess), ..STAYS };
        assert_eq!(last_of(&[&before, &next], 1, Some(wrong)), (vec![true, false, false], [50010, 50000]));
        // The page before the last one guesses rightly.
        let (kept, brought) = last_of(&[&next, &before, &guess], 1, Some(NextPage { taken_for: Some(&next), ..STAYS }));
        assert_eq!((kept, brought), (vec![false, true], [3220, 3200]));
    }

    #[test]
    fn what_was_pushed_for_the_next_page_is_of_use_while_the_connection_is_open() {
        let [before, next] = visited_pages();
        let pushed = NextPage { is_pushed: true, ..STAYS };
        let visits = PageFile::visited_in_turn(&[&before, &next], Duration::ZERO, Some(pushed)).unwrap();
        let with: Vec<_> = visits.pages[0].objects.iter().map(|object| object.pushed_with.as_deref()).collect();
        assert_eq!(with, [None, Some("https://a.test/"), Some("https://a.test/"), None], "not what another server has");
        assert!(visits.pages.iter().all(|page| page.build().is_ok()));
        // No cache is between: what may not be stored is of use, too.
        assert_eq!(last_of(&[&before, &next], 10, Some(pushed)), (vec![true, true, false], [3210, 3000]));
        let closed = NextPage { stays_open: false, ..pushed };
        assert_eq!(last_of(&[&before, &next], 80, Some(closed)), (vec![false; 3], [3210, 3210]));
        // Once a page has asked for it, it is in the cache as its head allows.
        let (kept, _) = last_of(&[&before, &next, &next], 10, Some(pushed));
        assert_eq!(kept, [false; 3]);
    }
}
