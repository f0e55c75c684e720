//! A page whose document's server tells of objects by a response 103 (RFC 8297), as Chromium takes it.
//!
//! It fetches them into its HTTP cache, and the page looks for them there. What may not be kept is fetched again, and
//! what may be used only if its server agrees is asked about: not before the head of the first answer is there, since the
//! cache lets one request at a time begin with an entry.

use super::Field;
use super::change::{arrival, host_of};
use super::file::{Needed, ObjectSpec, PageFile};
use super::private_cache::{Again, again};
use super::visits::ask_about;
use std::collections::BTreeSet;
use std::time::Duration;

impl PageFile {
    /// This page where a response 103 tells of the objects at these places: those that the page can take from the cache
    /// as they are stay one object; of every other one there is first what the hint brings, and then what the page asks
    /// for itself.
    #[must_use]
    pub fn hinted_early(&self, places: &BTreeSet<usize>) -> PageFile {
        let mut page = self.clone();
        // Who takes the document from the cache is told of nothing.
        if self.objects.first().is_none_or(|root| root.cached) {
            return page;
        }
        page.objects.clear();
        let mut asked_about = BTreeSet::new();
        for (place, object) in self.objects.iter().enumerate() {
            let mut object = object.clone();
            if places.contains(&place)
                && let Some(conditions) = self.asked_again(&object)
            {
                let hinted = fetched_for_hint(&object, &self.objects[0]);
                object.needs.get_or_insert_default().push(arrival(&hinted));
                if !conditions.is_empty() {
                    asked_about.insert(object.node().to_owned());
                    ask_about(&mut object, conditions);
                }
                page.objects.push(hinted);
            }
            page.objects.push(object);
        }
        page.await_whole(&asked_about);
        page
    }

    /// What the page asks for itself although a hint has brought it: with which conditions; none if it asks for nothing.
    fn asked_again(&self, object: &ObjectSpec) -> Option<Vec<Field>> {
        if object.cached {
            return None;
        }
        let fails =
            host_of(&object.url).and_then(|host| self.hosts.get(&host)).is_some_and(|host| host.name_error.is_some());
        // Failures are not kept, and the frame of another site has a cache of its own.
        if fails || object.partition.is_some() {
            return Some(Vec::new());
        }
        object.response_fields.as_ref()?;
        match again(object, object, Duration::ZERO) {
            Again::Kept | Again::KeptAndAsked(_) => None,
            Again::AskedAbout(conditions) => Some(conditions),
            Again::Fetched => Some(Vec::new()),
        }
    }
}

/// What a hint brings into the cache, for which nothing waits.
fn fetched_for_hint(object: &ObjectSpec, root: &ObjectSpec) -> ObjectSpec {
    ObjectSpec {
        name: Some(format!("early hint of {}", object.node())),
        needs: Some(vec![arrival(root)]),
        needed: Some(Needed::Never),
        partition: None,
        raised: None,
        ..object.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::On;
    use serde_json::json;

    fn page(more: serde_json::Value) -> PageFile {
        let mut told = json!({"url": "https://a.test/a.js", "bytes": 10, "kind": "js"});
        told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let waits = json!({"url": "https://a.test/b.js", "bytes": 10, "needs": [
            {"node": "https://a.test/a.js", "on": "bytes", "bytes": 5}]});
        let page = json!({"objects": [{"url": "https://a.test/", "bytes": 10, "kind": "html"}, told, waits]});
        PageFile::from_json(page.to_string().as_bytes()).unwrap()
    }

    /// By name, status and bytes.
    fn hinted(page: &PageFile) -> Vec<(String, Option<u16>, u64)> {
        let hinted = page.hinted_early(&BTreeSet::from([1]));
        assert!(hinted.build().is_ok());
        hinted.objects[1..].iter().map(|one| (one.node().to_owned(), one.status, one.bytes)).collect()
    }

    #[test]
    fn what_the_page_may_use_as_it_is_stays_one_object() {
        for more in [
            json!({}),
            json!({"response_fields": [["cache-control", "max-age=60"]]}),
            json!({"response_fields": [["cache-control", "no-store"]], "cached": true}),
        ] {
            let page = page(more);
            assert_eq!(page.hinted_early(&BTreeSet::from([1])), page);
        }
    }

    #[test]
    fn what_it_may_not_use_is_asked_about_or_fetched_again() {
        let names =
            ["early hint of https://a.test/a.js", "https://a.test/a.js", "https://a.test/b.js"].map(str::to_owned);
        let said = |status, bytes| -> Vec<(String, Option<u16>, u64)> {
            names
                .clone()
                .into_iter()
                .zip([(None, 10), (status, bytes), (None, 10)])
                .map(|(n, (s, b))| (n, s, b))
                .collect()
        };
        let asked = page(json!({"response_fields": [["cache-control", "no-cache"], ["etag", "\"1\""]]}));
        assert_eq!(hinted(&asked), said(Some(304), 0));
        let waits = asked.hinted_early(&BTreeSet::from([1])).objects[3].needs.clone().unwrap();
        assert_eq!(waits[0].on, On::End, "what the cache has is there as a whole");
        for more in [
            json!({"response_fields": [["cache-control", "no-store"]]}),
            json!({"response_fields": [["cache-control", "max-age=60"]], "partition": "https://b.test"}),
        ] {
            assert_eq!(hinted(&page(more)), said(None, 10));
        }
    }
}
