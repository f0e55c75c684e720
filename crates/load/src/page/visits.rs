//! A page at the second visit: what the browser has kept of the first one needs no request, or is only asked about.
//!
//! A browser has a private cache (RFC 9111) for all pages. What is fresh comes from there; what is stale and has a
//! validator is asked about, and the answer is taken to be 304; everything else is fetched as before. Preflights have a
//! cache of their own (Fetch, section 4.9). A link is followed to the page: it is not reloaded.

use super::file::{Field, Need, Needed, ObjectSpec, On, PageError, PageFile};
use super::heads::REQUEST_HEADER_BYTES;
use super::prefetch::{Ahead, BroughtAhead, NextPage};
use super::private_cache::{Again, CacheKey, again, is_kept_ahead, kept_as};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What an answer 304 does not repeat (RFC 9110, section 15.4.5).
const OF_CONTENT: [&str; 6] =
    ["accept-ranges", "content-encoding", "content-language", "content-length", "content-type", "transfer-encoding"];

/// Pages as one browser visits them, one after the other.
#[derive(Clone, PartialEq, Debug)]
pub struct Visits {
    /// As they are loaded, in this order.
    pub pages: Vec<PageFile>,
    /// What those before the last brought for the one after, and what became of it.
    pub ahead: BroughtAhead,
}

impl PageFile {
    /// Pages as one browser visits them in this order, so long from each to the next, with a cache that is empty at first;
    /// where `next` says so, each brings what the next one has.
    ///
    /// # Errors
    /// If nothing on those before the last has a head.
    pub fn visited_in_turn(
        pages: &[&PageFile],
        gap: Duration,
        next: Option<NextPage<'_>>,
    ) -> Result<Visits, PageError> {
        let own: Vec<Cow<'_, PageFile>> =
            (0..pages.len()).map(|at| pages[at].with_installed_workers(&pages[..at])).collect();
        let pages: Vec<&PageFile> = own.iter().map(Cow::as_ref).collect();
        let with_next = |(at, page): (usize, &&PageFile)| match next.zip(pages.get(at + 1)) {
            Some((NextPage { taken_for, is_pushed, .. }, follows)) => {
                page.prefetching(taken_for.filter(|_| at + 2 == pages.len()).unwrap_or(follows), is_pushed)
            }
            None => PageFile::clone(page),
        };
        let loaded: Vec<PageFile> = pages.iter().enumerate().map(with_next).collect();
        let (mut cache, mut visited) = (BrowserCache::default(), Vec::new());
        for ((page, own), visit) in loaded.iter().zip(&pages).zip(0_u32..) {
            if visit > 0 && visit as usize + 1 == pages.len() && cache.kept.is_empty() {
                return Err(PageError::NoHeads);
            }
            visited.push(cache.visit(page, own.objects.len(), gap * visit));
            if next.is_some_and(|next| !next.stays_open) {
                cache.ahead.lose_pushed();
            }
        }
        Ok(Visits { pages: visited, ahead: cache.ahead.brought() })
    }

    /// This page at a visit that begins so long after one to `before`, which may be the same page, by the heads of what
    /// the browser has asked for there. What has no head is fetched.
    ///
    /// # Errors
    /// If nothing on that page has a head.
    pub fn visited_after(&self, before: &PageFile, after: Duration) -> Result<PageFile, PageError> {
        let visits = PageFile::visited_in_turn(&[before, self], after, None)?;
        let [_, page] = visits.pages.try_into().expect("one for each");
        Ok(page)
    }

    /// What the browser has is there as a whole: who waited for some bytes of it waits for its end.
    pub(super) fn await_whole(&mut self, nodes: &BTreeSet<String>) {
        self.each_need(|needs| {
            for need in needs.iter_mut().filter(|need| need.on == On::Bytes && nodes.contains(&need.node)) {
                (need.on, need.bytes) = (On::End, None);
            }
        });
    }
}

/// The answers that a browser has, each with when it came or was last found right.
#[derive(Default)]
struct BrowserCache<'p> {
    kept: BTreeMap<CacheKey<'p>, (&'p ObjectSpec, Duration)>,
    ahead: Ahead<'p>,
}

impl<'p> BrowserCache<'p> {
    /// The page at a visit now, whose objects after its `own` are brought for the next one; afterwards the cache has what
    /// that has brought.
    fn visit(&mut self, visited: &'p PageFile, own: usize, now: Duration) -> PageFile {
        let mut page = visited.clone();
        let (mut valid, mut behind) = (BTreeSet::new(), Vec::new());
        // What the page itself brings is of use to the next one.
        let (earlier, ahead) = (self.kept.clone(), self.ahead.clone());
        for (at, (object, asked)) in page.objects.iter_mut().zip(&visited.objects).enumerate() {
            let key = kept_as(asked);
            let found = earlier.get(&key);
            let becomes = found.map_or(Again::Fetched, |(kept, since)| match now - *since {
                after if ahead.has(&key) && is_kept_ahead(object, kept, after) => Again::Kept,
                after => again(object, kept, after),
            });
            let claimed = ahead.pushed(&key).filter(|_| at < own && becomes != Again::Kept);
            let becomes = if claimed.is_some() { Again::Kept } else { becomes };
            if at < own {
                self.ahead.meet(&key, becomes != Again::Fetched);
            } else if becomes == Again::Fetched {
                self.ahead.bring(key, asked);
            }
            match becomes {
                // A push is in no cache before a page asks for it.
                Again::Fetched if asked.is_ahead && asked.pushed_with.is_some() => {}
                Again::Fetched => self.fetched(asked, now),
                Again::Kept => {
                    object.cached = true;
                    if let Some(pushed) = claimed {
                        self.fetched(pushed, now);
                    }
                }
                Again::KeptAndAsked(conditions) => {
                    behind.push(for_next_time(object, conditions));
                    object.cached = true;
                    self.found_right(asked, now);
                }
                Again::AskedAbout(conditions) => {
                    valid.insert(object.node().to_owned());
                    ask_about(object, conditions);
                    self.found_right(asked, now);
                }
            }
        }
        page.objects.extend(behind);
        page.await_whole(&valid);
        page
    }

    /// A new answer takes the place of an older one, even if nobody knows how long it is fresh.
    fn fetched(&mut self, object: &'p ObjectSpec, now: Duration) {
        if !matches!(object.method.as_deref(), None | Some("GET" | "OPTIONS")) {
            return;
        }
        if object.response_fields.is_some() {
            self.kept.insert(kept_as(object), (object, now));
        } else {
            self.kept.remove(&kept_as(object));
        }
    }

    /// An answer 304 has the fields of the newest response (RFC 9111, section 3.2), and with it the age begins anew.
    fn found_right(&mut self, object: &'p ObjectSpec, now: Duration) {
        if let Some((kept, since)) = self.kept.get_mut(&kept_as(object)) {
            *kept = if object.response_fields.is_some() { object } else { *kept };
            *since = now;
        }
    }
}

/// The request about an object that the page takes from the cache as it is: nothing waits for it.
fn for_next_time(object: &ObjectSpec, conditions: Vec<Field>) -> ObjectSpec {
    let mut asked = ObjectSpec {
        name: Some(format!("{} for the next time", object.node())),
        needs: Some(vec![Need { node: object.node().to_owned(), ..Need::default() }]),
        needed: Some(Needed::Never),
        raised: None,
        ..object.clone()
    };
    if !conditions.is_empty() {
        ask_about(&mut asked, conditions);
    }
    asked
}

/// The server answers 304: what the browser has is right.
pub(super) fn ask_about(object: &mut ObjectSpec, conditions: Vec<Field>) {
    let len: usize = conditions.iter().map(|(name, value)| name.len() + value.len() + ": \r\n".len()).sum();
    match &mut object.request_fields {
        Some(fields) => fields.extend(conditions),
        None => {
            let stated = object.request_header_bytes.unwrap_or(REQUEST_HEADER_BYTES);
            object.request_header_bytes = Some(stated + len as u32);
        }
    }
    if let Some(fields) = &mut object.response_fields {
        fields.retain(|(name, _)| !OF_CONTENT.iter().any(|of_content| name.eq_ignore_ascii_case(of_content)));
    }
    (object.status, object.bytes) = (Some(304), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn another_page_finds_what_the_first_one_has_brought() {
        let of =
            |objects: serde_json::Value| -> PageFile { serde_json::from_value(json!({"objects": objects})).unwrap() };
        let keep = json!([["cache-control", "max-age=60"]]);
        let before = of(json!([
            {"url": "https://a.test/", "bytes": 10, "response_fields": keep},
            {"url": "https://a.test/a.css", "bytes": 10, "response_fields": keep},
            {"url": "https://a.test/form", "bytes": 10, "response_fields": keep, "method": "POST"},
            {"url": "https://a.test/f.js", "bytes": 10, "response_fields": keep, "partition": "https://f.test"}]));
        let next = of(json!([
            {"url": "https://a.test/next", "bytes": 10, "response_fields": keep},
            {"url": "https://a.test/a.css", "bytes": 10},
            {"url": "https://a.test/form", "bytes": 10},
            {"url": "https://a.test/f.js", "bytes": 10}]));
        let visited = next.visited_after(&before, Duration::from_secs(1)).unwrap();
        assert_eq!(visited.objects.iter().map(|object| object.cached).collect::<Vec<_>>(), [false, true, false, false]);
    }

    #[test]
    fn the_cache_of_a_sequence_has_what_all_earlier_pages_have_left() {
        let of = |urls: &[(&str, &str)]| -> PageFile {
            let object = |&(url, keep): &(&str, &str)| match keep {
                "" => json!({"url": url, "bytes": 10}),
                keep => {
                    json!({"url": url, "bytes": 10, "response_fields": [["cache-control", keep], ["etag", "\"1\""]]})
                }
            };
            serde_json::from_value(json!({"objects": urls.iter().map(object).collect::<Vec<_>>()})).unwrap()
        };
        let (style, picture, root) = ("https://a.test/a.css", "https://a.test/a.png", "https://a.test/");
        let [first, second] =
            [of(&[(root, "no-store"), (style, "max-age=10")]), of(&[(root, ""), (picture, "max-age=100")])];
        let last = of(&[(root, ""), (style, ""), (picture, "")]);
        let states = |pages: &[&PageFile], seconds| -> Vec<(bool, Option<u16>)> {
            let visited = PageFile::visited_in_turn(pages, Duration::from_secs(seconds), None).unwrap().pages;
            visited.last().unwrap().objects.iter().map(|object| (object.cached, object.status)).collect()
        };
        let (fetched, kept, asked) = ((false, None), (true, None), (false, Some(304)));
        assert_eq!(states(&[&first, &second, &last], 4), [fetched, kept, kept]);
        assert_eq!(states(&[&first, &second, &last], 5), [fetched, asked, kept], "10 s since the first");
        // At the second visit it is from the cache, and stays as old as it is.
        assert_eq!(states(&[&first, &first, &last], 5), [fetched, asked, fetched]);
        // At the second visit the server says that it is right: for 10 s from then it is fresh.
        assert_eq!(states(&[&first, &first, &last], 15), [fetched, asked, fetched]);
        assert_eq!(states(&[&first, &first, &first, &last], 6), [fetched, kept, fetched], "asked about at 12 s");
        // A new answer of which nothing is known takes the place of an old one.
        let unknown = PageFile { objects: second.objects.clone(), ..of(&[]) };
        let replaced = of(&[(style, "no-store")]);
        assert_eq!(states(&[&first, &unknown, &replaced, &last], 5)[1], fetched);
        assert_eq!(PageFile::visited_in_turn(&[&last, &last, &last], Duration::ZERO, None), Err(PageError::NoHeads));
        assert!(PageFile::visited_in_turn(&[&last, &first, &last], Duration::ZERO, None).is_ok());
    }

    #[test]
    fn what_is_kept_while_it_is_asked_about_is_asked_about_behind() {
        let page: PageFile = serde_json::from_value(json!({"objects": [
            {"url": "https://a.test/", "bytes": 10},
            {"url": "https://a.test/a.css", "bytes": 1000, "response_fields": [
                ["cache-control", "max-age=60, stale-while-revalidate=600"], ["etag", "\"1\""]]},
            {"url": "https://a.test/a.png", "bytes": 1000, "needs": [{"node": "https://a.test/a.css"}]}]}))
        .unwrap();
        let visited = page.visited_after(&page, Duration::from_secs(70)).unwrap();
        let [_, style, picture, asked] = visited.objects.as_slice() else { panic!("{visited:?}") };
        assert_eq!((style.cached, picture), (true, &page.objects[2]));
        assert_eq!((asked.status, asked.bytes, asked.needed, asked.cached), (Some(304), 0, Some(Needed::Never), false));
        assert_eq!(asked.needs.as_ref().unwrap()[0].node, "https://a.test/a.css");
        assert!(visited.build().is_ok());
    }

    #[test]
    fn an_answer_304_has_no_body_and_what_waited_for_bytes_waits_for_it() {
        let page: PageFile = serde_json::from_value(json!({"objects": [
            {"url": "https://a.test/", "bytes": 5000, "request_header_bytes": 300,
             "response_fields": [["etag", "\"1\""], ["Content-Type", "text/html"], ["cache-control", "no-cache"]]},
            {"url": "https://a.test/a.css", "bytes": 1000, "response_fields": [["cache-control", "max-age=60"]],
             "needs": [{"node": "https://a.test/", "on": "bytes", "bytes": 700}]},
            {"url": "https://a.test/a.png", "bytes": 1000,
             "needs": [{"node": "https://a.test/a.css", "on": "bytes", "bytes": 7}]}]}))
        .unwrap();
        let again = page.visited_after(&page, Duration::from_secs(10)).unwrap();
        let [root, style, picture] = again.objects.as_slice() else { panic!("{again:?}") };
        assert_eq!((root.status, root.bytes, root.request_header_bytes), (Some(304), 0, Some(300 + 20)));
        let names: Vec<&str> = root.response_fields.iter().flatten().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["etag", "cache-control"]);
        let need = &style.needs.as_ref().unwrap()[0];
        assert_eq!((style.cached, need.on, need.bytes), (true, On::End, None));
        assert_eq!(*picture, page.objects[2], "what has no head is fetched as before");
        assert!(again.build().is_ok());

        let bare: PageFile =
            serde_json::from_value(json!({"objects": [{"url": "https://a.test/", "bytes": 1}]})).unwrap();
        assert_eq!(bare.visited_after(&bare, Duration::ZERO), Err(PageError::NoHeads));
    }
}
