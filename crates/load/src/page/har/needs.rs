//! What an entry waited for: redirects, initiators, and where the file names none, a guess by
//! times and kinds.

use super::fetched::{EntryKind, HarFetch};
use super::model::Cause;
use super::{sizes, url};
use crate::page::file::On;
use crate::page::loose::Maybe;
use std::collections::BTreeMap;

/// A computing longer than one hour is a mistake of the file.
pub(super) const MAX_MS: f64 = 3_600_000.0;

/// How long after an answer a script may ask for something because of it.
const ANSWER_MS: f64 = 20.0;

/// The entries of each URL, in order.
type Places<'e> = BTreeMap<&'e str, Vec<usize>>;

/// Where an object hangs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Hold {
    /// The entry that it waits for.
    pub(super) on: usize,
    pub(super) moment: On,
    pub(super) bytes: Option<u64>,
    pub(super) ms: f64,
}

/// How the entries of a page hang together. All entries are in order of their beginning, and each
/// waits for an earlier one, so there is no cycle.
pub(super) struct Graph<'e, 'a> {
    entries: &'e [HarFetch<'a>],
    root: usize,
    /// Which entry each waits for, before those that are no objects are passed over.
    parents: Vec<Option<usize>>,
}

impl<'e, 'a> Graph<'e, 'a> {
    /// Finds what each entry of a page waited for.
    pub(super) fn new(entries: &'e [HarFetch<'a>], root: usize) -> Graph<'e, 'a> {
        let mut places = Places::new();
        for (at, fetched) in entries.iter().enumerate() {
            places.entry(url::key(&fetched.url)).or_default().push(at);
        }
        let redirects = redirects(entries, &places);
        let documents = documents(&redirects, root);
        let guesses = Guesses::new(entries, &places, documents);
        let parent = |at: usize| match redirects[at] {
            Some(redirect) => Some(redirect),
            None if at == root => None,
            None => {
                let cause = initiator(entries, &places, at).or_else(|| guesses.parent(at));
                cause.map(|cause| answer_before(entries, cause, at).unwrap_or(cause))
            }
        };
        let parents = (0..entries.len()).map(parent).collect();
        Graph { entries, root, parents }
    }

    /// For each entry the document that has led to it, of those that are one.
    pub(super) fn documents(&self, is_one: impl Fn(usize) -> bool) -> Vec<Option<usize>> {
        let mut documents: Vec<Option<usize>> = vec![None; self.entries.len()];
        for at in 0..self.entries.len() {
            let on = self.hold(at).map(|hold| hold.on);
            documents[at] = on.and_then(|on| match self.entries[on].kind {
                EntryKind::Html => Some(on).filter(|on| is_one(*on)),
                _ => documents[on],
            });
        }
        documents
    }

    /// What the object `at` waits for; `None` for the root.
    pub(super) fn hold(&self, at: usize) -> Option<Hold> {
        if at == self.root {
            return None;
        }
        let mut parent = self.parents[at];
        while let Some(skipped) = parent.filter(|parent| self.entries[*parent].skip.is_some()) {
            parent = self.parents[skipped];
        }
        let at_once = Hold { on: self.root, moment: On::Start, bytes: None, ms: 0.0 };
        // What began before the root, such as the check of a certificate, begins with it.
        let on = parent.or((self.root < at).then_some(self.root));
        Some(on.map_or(at_once, |on| hold(&self.entries[on], &self.entries[at], on)))
    }
}

/// By which moment of `parent` the `child` was found: while it was still arriving by that share of
/// its bytes, after its end by the time since.
fn hold(parent: &HarFetch<'_>, child: &HarFetch<'_>, on: usize) -> Hold {
    let redirected = (300..400).contains(&parent.response.status_code());
    if child.began >= parent.ended || parent.bytes == 0 || redirected {
        let gap = child.began - parent.ended;
        return Hold { on, moment: On::End, bytes: None, ms: microseconds(gap.clamp(0.0, MAX_MS)) };
    }
    let receive = parent.timings.receive.positive().unwrap_or(0.0).max(f64::MIN_POSITIVE);
    let share = ((child.began - (parent.ended - receive)) / receive).clamp(0.0, 1.0);
    let bytes = ((share * parent.bytes as f64) as u64).clamp(1, parent.bytes);
    Hold { on, moment: On::Bytes, bytes: Some(bytes), ms: 0.0 }
}

/// Without the noise of a difference of dates.
pub(super) fn microseconds(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}

/// The redirect that led to each entry: to the first later entry of the URL it names.
fn redirects(entries: &[HarFetch<'_>], places: &Places<'_>) -> Vec<Option<usize>> {
    let mut redirects = vec![None; entries.len()];
    for (at, fetched) in entries.iter().enumerate() {
        let Some(target) = fetched.redirect().and_then(|target| url::cleaned(&target)) else { continue };
        let Some(found) = places.get(url::key(&target.0)) else { continue };
        let next =
            found[found.partition_point(|place| *place <= at)..].iter().find(|place| redirects[**place].is_none());
        if let Some(next) = next {
            redirects[*next] = Some(at);
        }
    }
    redirects
}

/// The root and the documents that it was redirected to, in order.
fn documents(redirects: &[Option<usize>], root: usize) -> Vec<usize> {
    let mut documents = vec![root];
    for (at, redirect) in redirects.iter().enumerate().skip(root) {
        if *redirect == documents.last().copied() {
            documents.push(at);
        }
    }
    documents
}

/// The last entry of the URL `found` that began before the entry `at`, rather not what a script has fetched for itself:
/// that does not run. An entry's own URL is no cause: that is a preflight request, or one sent again.
fn earlier(places: &Places<'_>, entries: &[HarFetch<'_>], at: usize, found: &str) -> Option<usize> {
    let (clean, _) = url::cleaned(found)?;
    let places = places.get(url::key(&clean)).filter(|_| url::key(&clean) != url::key(&entries[at].url))?;
    let before = &places[..places.partition_point(|place| *place < at)];
    before.iter().rfind(|place| entries[**place].kind != EntryKind::Xhr).or(before.last()).copied()
}

/// The entry that the file names as the cause of the entry `at`.
fn initiator(entries: &[HarFetch<'_>], places: &Places<'_>, at: usize) -> Option<usize> {
    let last = |urls: Vec<&str>| last_there(entries, places, at, urls);
    let entry = &entries[at].entry;
    let stated =
        last(entry.initiator.object.urls()).or_else(|| last(entry.initiator.plain.filled().into_iter().collect()));
    stated.or_else(|| {
        let Maybe(cause) = serde_json::from_str::<Maybe<Cause<'_>>>(entry.initiator_detail.filled()?).ok()?;
        last(cause?.urls())
    })
}

/// Of the scripts that have called one another before the entry `at` the one that was there last: without it nothing was
/// called. If none was there, the innermost.
fn last_there(entries: &[HarFetch<'_>], places: &Places<'_>, at: usize, urls: Vec<&str>) -> Option<usize> {
    let found: Vec<usize> = urls.into_iter().filter_map(|url| earlier(places, entries, at, url)).collect();
    let was_there = found.iter().copied().filter(|cause| entries[*cause].ended <= entries[at].began);
    // Of several that came at once the innermost.
    was_there
        .rev()
        .max_by(|one, other| entries[*one].ended.total_cmp(&entries[*other].ended))
        .or(found.first().copied())
}

/// What scripts have asked for since `cause` was there, and whose answer came right before the entry `at`: the stack that
/// is recorded names the script which waited, not what it has waited for (Fetch, section 5.6).
fn answer_before(entries: &[HarFetch<'_>], cause: usize, at: usize) -> Option<usize> {
    let (since, now) = (entries[cause].ended, entries[at].began);
    let is_answer = |other: &usize| {
        let other = &entries[*other];
        let is_asked = other.kind == EntryKind::Xhr && other.skip.is_none() && other.began >= since;
        is_asked && (now - ANSWER_MS..=now).contains(&other.ended)
    };
    (cause + 1..at).filter(is_answer).max_by(|a, b| entries[*a].ended.total_cmp(&entries[*b].ended))
}

/// What is likely where the file names no initiator.
struct Guesses<'g, 'a> {
    entries: &'g [HarFetch<'a>],
    places: &'g Places<'g>,
    documents: Vec<usize>,
    /// Style sheets and scripts, in order of their ends.
    causes: Vec<usize>,
}

impl<'g, 'a> Guesses<'g, 'a> {
    fn new(entries: &'g [HarFetch<'a>], places: &'g Places<'g>, documents: Vec<usize>) -> Guesses<'g, 'a> {
        let is_cause =
            |at: &usize| entries[*at].skip.is_none() && matches!(entries[*at].kind, EntryKind::Css | EntryKind::Js);
        let mut causes: Vec<usize> = (0..entries.len()).filter(is_cause).collect();
        causes.sort_by(|a, b| entries[*a].ended.total_cmp(&entries[*b].ended));
        Guesses { entries, places, documents, causes }
    }

    fn parent(&self, at: usize) -> Option<usize> {
        let child = &self.entries[at];
        let referer = sizes::field(&child.request.headers, "referer");
        let referer = referer.and_then(|referer| earlier(self.places, self.entries, at, referer));
        let document = match referer.map(|referer| (referer, self.entries[referer].kind)) {
            Some((sheet, EntryKind::Css)) => return Some(sheet),
            Some((frame, EntryKind::Html)) if self.entries[frame].redirect().is_none() => frame,
            _ => self.documents.iter().rev().find(|document| **document < at).copied()?,
        };
        // Only a style sheet asks for fonts, whether or not the document is still arriving.
        if child.began < self.entries[document].ended && child.kind != EntryKind::Font {
            return Some(document);
        }
        let ended = self.causes.partition_point(|cause| self.entries[*cause].ended <= child.began);
        let likely =
            |cause: &&usize| (document..at).contains(*cause) && can_cause(self.entries[**cause].kind, child.kind);
        Some(self.causes[..ended].iter().rev().find(likely).copied().unwrap_or(document))
    }
}

/// Whether a thing of one kind makes a browser ask for a thing of the other.
fn can_cause(parent: EntryKind, child: EntryKind) -> bool {
    match child {
        EntryKind::Font => parent == EntryKind::Css,
        EntryKind::Image => matches!(parent, EntryKind::Css | EntryKind::Js),
        _ => parent == EntryKind::Js,
    }
}
