//! What holds of requests once all threads are read.

use super::{FOREIGN, GraphBuilder, NEAR, ScriptRun, after, delayed, round};
use crate::page::file::{Need, Needed, On, Why};
use crate::page::har;
use crate::page::policy::registrable_domain;
use crate::page::preflights;
use crate::page::recorded_object::RecordedObject;
use std::collections::{BTreeMap, BTreeSet};

/// The activities that wait for each.
pub(super) type ByNeed = BTreeMap<String, Vec<String>>;

/// All that waits for something, directly or through others.
pub(super) fn followers<'n>(by_need: &'n ByNeed, name: &'n str) -> BTreeSet<&'n str> {
    let mut followers = BTreeSet::new();
    let mut open = vec![name];
    while let Some(next) = open.pop() {
        let more = by_need.get(next).into_iter().flatten().map(String::as_str);
        open.extend(more.filter(|name| followers.insert(*name)));
    }
    followers
}

impl GraphBuilder<'_> {
    /// Places what no thread of the page asked for, as far as is known: after the script that ran then.
    pub(in crate::page::recording) fn place_strays(&mut self) {
        let root = self.root();
        let mut by_need = self.by_need();
        for object in (1..self.objects.len()).filter(|object| *object != root) {
            if !self.is_sent[object] {
                let may_delay = self.objects[object].delays_load_event;
                let needed = if may_delay { Needed::WhenFound } else { Needed::Never };
                self.file.objects[object].needed = Some(needed);
            }
            if self.is_placed[object] || self.objects[object].is_redirected {
                continue;
            }
            if let Some(need) = self.navigation(object) {
                let needs = delayed(vec![need], self.objects[object].request_ms);
                by_need.entry(needs[0].node.clone()).or_default().push(self.file.objects[object].node().to_owned());
                self.file.objects[object].needs = Some(needs);
                continue;
            }
            let at = self.objects[object].began;
            if let Some(ScriptRun { from, until, node, .. }) = self.run_for(object, &by_need) {
                let ms = (at.min(*until) - from) / 1e3 + self.objects[object].request_ms;
                let need = Need { on: On::Start, ms: round(ms), why: Some(Why::Script), ..after(node) };
                by_need.entry(node.clone()).or_default().push(self.file.objects[object].node().to_owned());
                self.file.objects[object].needs = Some(vec![need]);
            }
        }
        self.hold_lazily();
        self.name_redirects();
        self.place_in_partitions();
        preflights::go_first(&mut self.file);
        self.queue_in_cache();
        self.free_what_the_load_event_brings();
        self.hold_load_event();
        self.hold_first_frame();
    }

    /// The last time before a document was asked for that its frame began to load one; else the first time.
    fn navigation(&self, object: usize) -> Option<Need> {
        let began = self.objects[object].began + NEAR;
        let of_frame = self.navigations.get(self.asking.get(&object)?)?;
        let before = of_frame.iter().rfind(|(at, _)| *at <= began).or(of_frame.first());
        before.map(|(_, need)| need.clone())
    }

    /// The load event waits for a lazy image once it has begun to arrive (Chromium's `ImageLoader::ImageChanged`).
    fn hold_lazily(&mut self) {
        for (object, spec) in self.objects.iter().zip(&mut self.file.objects) {
            if self.lazy.contains(&object.url) && spec.needed == Some(Needed::WhenFound) {
                spec.needed = Some(Needed::WhenArriving);
            }
        }
    }

    fn name_redirects(&mut self) {
        let redirected = self.objects.iter().zip(&mut self.file.objects).filter(|(object, _)| object.is_redirected);
        for need in redirected.flat_map(|(_, spec)| spec.needs.iter_mut().flatten()) {
            need.why = Some(Why::Redirect);
        }
    }

    /// The last run before an object was found of the script that called for it; else what ran just then.
    fn run_for(&self, object: usize, by_need: &ByNeed) -> Option<&ScriptRun> {
        let RecordedObject { began, callers, .. } = &self.objects[object];
        let latest = |a: &&ScriptRun, b: &&ScriptRun| a.from.total_cmp(&b.from);
        let calls = |run: &&ScriptRun| callers.first().is_some_and(|caller| run.scripts.contains(caller));
        // Clocks differ a little: what waits for the object itself has not asked for it.
        let followers = followers(by_need, self.file.objects[object].node());
        let before = || self.ran.iter().filter(|run| run.from <= *began && !followers.contains(run.node.as_str()));
        let by_caller = before().filter(calls).max_by(latest);
        by_caller.or_else(|| before().filter(|run| *began <= run.until + NEAR).max_by(latest))
    }

    pub(super) fn by_need(&self) -> ByNeed {
        let mut by_need = ByNeed::new();
        let objects = self.file.objects.iter().map(|spec| (spec.node(), &spec.needs));
        for (name, needs) in objects.chain(self.file.compute.iter().map(|node| (node.name.as_str(), &node.needs))) {
            for need in needs.iter().flatten() {
                by_need.entry(need.node.clone()).or_default().push(name.to_owned());
            }
        }
        by_need
    }

    /// Requests of frames from other sites are in a partition of their own, and those without credentials apart.
    pub(super) fn place_in_partitions(&mut self) {
        let site = |url: &str| registrable_domain(&har::url::parts(url).0).to_owned();
        let own = site(&self.objects[self.root()].url);
        let places: BTreeMap<String, usize> =
            (0..self.objects.len()).map(|object| (self.name(object), object)).collect();
        for object in 1..self.objects.len() {
            let by = self.file.objects[object].document.as_ref().and_then(|document| places.get(document));
            let frame = if self.kinds[object] == "Document" { Some(&object) } else { by };
            let is_foreign = frame.is_some_and(|frame| site(&self.objects[*frame].url) != own);
            let spec = &mut self.file.objects[object];
            spec.partition = is_foreign.then(|| FOREIGN.to_owned());
            spec.anonymous = self.objects[object].is_anonymous;
        }
    }

    /// What waits for the load event cannot hold it up; nor does what has failed and was asked for after it: by what is
    /// often a guess, and several round trips are much for one.
    fn free_what_the_load_event_brings(&mut self) {
        let Some((at, event)) = &self.load_event else { return };
        for (object, spec) in self.objects.iter().zip(&mut self.file.objects) {
            if object.is_name_error && object.began > *at {
                spec.needed = Some(Needed::Never);
            }
        }
        let by_need = self.by_need();
        let mut later = followers(&by_need, event);
        later.insert(event);
        for object in self.file.objects.iter_mut().skip(1).filter(|object| later.contains(object.node())) {
            object.needed = Some(Needed::Never);
        }
        for node in self.file.compute.iter_mut().filter(|node| later.contains(node.name.as_str())) {
            node.needed = None;
        }
    }

    /// Chromium's cache lets one request for a URL go at a time.
    pub(super) fn queue_in_cache(&mut self) {
        let mut last: BTreeMap<(&str, Option<String>), usize> = BTreeMap::new();
        for object in 1..self.objects.len() {
            let spec = &self.file.objects[object];
            if spec.method.is_some() || self.objects[object].is_redirected {
                continue;
            }
            let key = (self.objects[object].url.as_str(), spec.partition.clone());
            if let Some(before) = last.insert(key, object) {
                let need = Need { why: Some(Why::Cache), ..after(&self.name(before)) };
                self.file.objects[object].needs.get_or_insert_default().push(need);
            }
        }
    }
}
