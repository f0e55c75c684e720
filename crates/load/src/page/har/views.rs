//! The pages of a HAR file: runs, first and repeat views; and the one that is taken.

use super::fetched::{EntryKind, HarFetch, MAX_MS, moment_of};
use super::model::{Entry, Log, PageRecord};
use super::paints::Painted;
use super::{HarError, MAX_ENTRIES, Notes, Skip, moment, name_errors, url};
use crate::page::loose::Scalar;
use std::collections::{BTreeMap, BTreeSet};

/// A connection is taken to be busy until this long after its last byte, in ms: WebPageTest's times are
/// whole ms.
const HANDOVER_MS: f64 = 5.0;

/// The entries of one page, in the order in which they began.
pub(super) struct View<'a> {
    pub(super) entries: Vec<HarFetch<'a>>,
    pub(super) notes: Notes,
    /// When the page was loaded, in ms since 1970.
    pub(super) loaded: Option<f64>,
    pub(super) painted: Painted,
}

/// Takes the page number `asked`, from 1, or the first one that has entries.
pub(super) fn chosen(log: Log<'_>, asked: Option<usize>) -> Result<View<'_>, HarError> {
    if log.entries.0.len() > MAX_ENTRIES {
        return Err(HarError::TooMany);
    }
    let entries: Vec<Entry<'_>> = log.entries.0.into_iter().flatten().collect();
    if entries.is_empty() {
        return Err(HarError::NoEntries);
    }
    let (pages, count) = pages(&log.pages.0, &entries);
    let page = match asked {
        None => *pages.iter().min().expect("there are entries"),
        Some(asked) => {
            asked.checked_sub(1).filter(|page| *page < count).ok_or(HarError::NoSuchPage { asked, pages: count })?
        }
    };
    let record = log.pages.0.get(page).and_then(Option::as_ref);
    let entries = entries.into_iter().zip(pages).filter(|(_, of)| *of == page).map(|(entry, _)| entry).collect();
    let entries = ordered(entries, record);
    let Some(first) = entries.first() else { return Err(HarError::EmptyPage(page + 1)) };
    let on_load = record.and_then(|record| record.timings.0.as_ref()?.on_load.positive());
    let started = record.and_then(|record| date(&record.started)).unwrap_or(first.began);
    let load_ms = on_load.filter(|ms| *ms <= MAX_MS);
    let notes = Notes { page: page + 1, pages: count, entries: entries.len(), load_ms, ..Notes::default() };
    // `onLoad` counts from the page's start.
    let painted = Painted::of(record, started);
    Ok(View { entries, notes, loaded: on_load.map(|on_load| started + on_load), painted })
}

/// The page of each entry, from 0, and how many there are. An entry without a page is of the first;
/// pages that the file does not list follow in order of appearance.
fn pages(listed: &[Option<PageRecord<'_>>], entries: &[Entry<'_>]) -> (Vec<usize>, usize) {
    let mut places = BTreeMap::new();
    for (place, record) in listed.iter().enumerate() {
        if let Some(id) = record.as_ref().and_then(|record| record.id.key()) {
            places.entry(id).or_insert(place);
        }
    }
    let mut count = listed.len();
    let mut page = |entry: &Entry<'_>| {
        let Some(id) = entry.pageref.key() else { return 0 };
        *places.entry(id.into_owned().into()).or_insert_with(|| {
            count += 1;
            count - 1
        })
    };
    let pages: Vec<usize> = entries.iter().map(&mut page).collect();
    (pages, count.max(1))
}

/// Judges each entry and puts them in the order in which they began. An entry without a date takes
/// the one before it in the file.
fn ordered<'a>(entries: Vec<Entry<'a>>, record: Option<&PageRecord<'a>>) -> Vec<HarFetch<'a>> {
    let page_start = record.and_then(|record| date(&record.started));
    let mut previous = page_start.or_else(|| entries.iter().find_map(moment_of)).unwrap_or(0.0);
    let judge = |entry| {
        let fetched = HarFetch::new(entry, previous);
        previous = fetched.began;
        fetched
    };
    let mut entries: Vec<HarFetch<'a>> = entries.into_iter().map(judge).collect();
    entries.sort_by(|a, b| a.began.total_cmp(&b.began));
    undo_queueing(&mut entries);
    mark_memory_cache(&mut entries);
    name_errors::keep(&mut entries);
    entries
}

fn date(text: &Scalar<'_>) -> Option<f64> {
    text.text().and_then(moment::parse)
}

/// Old WebPageTest files do not say how long a request waited for a connection: one that begins on
/// a connection of HTTP/1 just when the connection's previous response has ended did wait. When it
/// was found is not known; browsers find things in the order in which they request them, so it
/// takes the moment of the last one before it that did not wait.
fn undo_queueing(entries: &mut [HarFetch<'_>]) {
    let mut busy_until: BTreeMap<String, f64> = BTreeMap::new();
    let mut found = None;
    for fetched in entries {
        let entry = &fetched.entry;
        let old = entry.load_start.number().is_some() && entry.created.number().is_none();
        let multiplexed = entry.http2_stream.positive().is_some();
        let socket = entry.socket.key().filter(|_| old && !multiplexed);
        // After a document the connection was free for what the document asks for.
        let until = if fetched.kind == EntryKind::Html { f64::NEG_INFINITY } else { fetched.ended };
        let before = socket.and_then(|socket| busy_until.insert(socket.into_owned(), until));
        let waited = before.is_some_and(|before| (0.0..=HANDOVER_MS).contains(&(fetched.began - before)));
        match found.filter(|_| waited) {
            Some(found) => fetched.began = found,
            None => found = Some(fetched.began),
        }
    }
}

/// Old DevTools files do not mark what came from the memory cache: no transfer, no connection, and
/// the same URL fetched before.
fn mark_memory_cache(entries: &mut [HarFetch<'_>]) {
    let mut fetched_before = BTreeSet::new();
    for fetched in entries.iter_mut().filter(|fetched| fetched.skip.is_none()) {
        if fetched.is_without_transfer() && fetched_before.contains(url::key(&fetched.url)) {
            fetched.skip = Some(Skip::FromCache);
        } else {
            fetched_before.insert(url::key(&fetched.url).to_owned());
        }
    }
}
