//! What the texts of documents say, where a HAR has them: at which byte something was found, and which style sheets and
//! scripts stand before a script. What had all come when it was recorded still counts: elsewhere it may come late.

use super::fetched::{EntryKind, HarFetch};
use super::needs::{Hold, MAX_MS, microseconds};
use super::url;
use crate::page::file::{On, Why};
use crate::page::markup::{Markup, Tag};
use crate::page::recording::frame::ScriptKind;
use std::collections::BTreeMap;

/// The longest that a parser or scanner takes for what there is of a document, in ms.
const SCAN_MS: f64 = 50.0;

/// How many tags are compared with how many entries, of all documents together: what is more takes long, and is no page.
/// Further documents are not read.
pub(super) const MOST_COMPARED: usize = 50_000_000;

/// The documents whose texts a HAR has, by their entries.
pub(super) struct Documents(BTreeMap<usize, DocumentText>);

struct DocumentText {
    markup: Markup,
    /// Style sheets that block scripts, by where their tags end.
    sheets: Vec<(usize, usize)>,
    scripts: Vec<(ScriptKind, usize)>,
}

/// When the body of a document is inserted.
pub(super) struct InsertedBody {
    /// The document's entry.
    pub(super) document: usize,
    /// So many bytes of it have to be there.
    pub(super) bytes: u64,
    /// What the parser has stopped for before.
    pub(super) before: Vec<(usize, Why)>,
}

/// All that an entry waited for.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Waited {
    pub(super) hold: Hold,
    pub(super) why: Option<Why>,
    /// Entries that had to be complete besides.
    pub(super) also: Vec<(usize, Why)>,
}

impl Documents {
    /// Reads the documents among the entries.
    pub(super) fn of(entries: &[HarFetch<'_>]) -> Documents {
        let mut compared = 0_usize;
        let text = |at: usize| {
            let fetched = &entries[at];
            let content = fetched.response.content.0.as_ref().filter(|content| content.encoding.filled().is_none())?;
            let is_document = fetched.kind == EntryKind::Html && fetched.skip.is_none() && fetched.bytes > 0;
            let text = is_document.then(|| content.text.read()).flatten().filter(|text| !text.is_empty())?;
            let markup = Markup::new(text.as_bytes());
            compared = compared.saturating_add(markup.elements().count().saturating_mul(entries.len()));
            (compared <= MOST_COMPARED).then(|| (at, DocumentText::new(markup, entries, at)))
        };
        Documents((0..entries.len()).filter_map(text).collect())
    }

    /// When the body of each document is inserted that has one.
    pub(super) fn bodies(&self, entries: &[HarFetch<'_>]) -> Vec<InsertedBody> {
        let body = |(at, of): (&usize, &DocumentText)| {
            let end = of.markup.body()?;
            let before = [of.blocking_before(end), of.sheets_before(of.last_stop(end))].concat();
            Some(InsertedBody { document: *at, bytes: of.markup.wire(end, entries[*at].bytes), before })
        };
        self.0.iter().filter_map(body).collect()
    }

    /// What the entry `at` waited for, of which is known that it hangs on another one.
    pub(super) fn waited(&self, entries: &[HarFetch<'_>], at: usize, hold: Hold) -> Waited {
        let own = self.0.get(&hold.on);
        let found =
            own.and_then(|document| document.found(entries, at, hold).or_else(|| document.called(entries, at, hold)));
        let run = || self.0.iter().find_map(|(document, text)| text.behind_script(entries, at, hold, *document));
        found.or_else(run).unwrap_or(Waited { hold, why: None, also: Vec::new() })
    }
}

impl DocumentText {
    fn new(markup: Markup, entries: &[HarFetch<'_>], document: usize) -> DocumentText {
        let mut of = DocumentText { markup, sheets: Vec::new(), scripts: Vec::new() };
        for (at, fetched) in entries.iter().enumerate().skip(document + 1).filter(|(_, other)| other.skip.is_none()) {
            let Some((end, tag)) = of.markup.used(&fetched.url) else { continue };
            match fetched.kind {
                EntryKind::Css if tag.is("link") && tag.attribute("media").is_none() => of.sheets.push((end, at)),
                EntryKind::Js => of.scripts.extend(ScriptKind::of(tag, end).map(|kind| (kind, at))),
                _ => {}
            }
        }
        of
    }

    /// The parser, or the scanner ahead of it, has found it by its tag.
    fn found(&self, entries: &[HarFetch<'_>], at: usize, hold: Hold) -> Option<Waited> {
        let (end, tag) = self.markup.naming(&entries[at].url).next()?;
        let bytes = Some(self.markup.wire(end, entries[hold.on].bytes));
        // Frames and lazy images are found by the parser alone, which stops for scripts.
        let is_by_parser = tag.is("iframe") || tag.is_lazy();
        let stops = if is_by_parser { self.blocking_before(end) } else { Vec::new() };
        let also = complete(entries, at, hold.on, stops);
        let ms = if also.is_empty() { hold.ms } else { since(entries, at, &also) };
        // What comes later has waited for something else: a layout, or a script.
        let by_tag = Waited { hold: Hold { moment: On::Bytes, bytes, ms, ..hold }, why: Some(Why::Markup), also };
        (ms <= SCAN_MS).then_some(by_tag)
    }

    /// An inline script has asked for it, which ran after the style sheets and scripts before it.
    fn called(&self, entries: &[HarFetch<'_>], at: usize, hold: Hold) -> Option<Waited> {
        let (by, line, column) = entries[at].entry.initiator.object.innermost()?;
        let offset = self.markup.offset(line, column).filter(|_| is_of(by, &entries[hold.on].url))?;
        let bytes = Some(self.markup.wire(self.markup.script_end(offset), entries[hold.on].bytes));
        let mut before = self.sheets_before(offset);
        before.extend(self.blocking_before(offset));
        let also = complete(entries, at, hold.on, before);
        let ms = if also.is_empty() { hold.ms } else { since(entries, at, &also) };
        Some(Waited { hold: Hold { moment: On::Bytes, bytes, ms, ..hold }, why: Some(Why::Script), also })
    }

    /// A script of the document has asked for it, which ran after what stands before it.
    fn behind_script(&self, entries: &[HarFetch<'_>], at: usize, hold: Hold, document: usize) -> Option<Waited> {
        let (kind, script) = *self.scripts.iter().find(|(_, script)| *script == hold.on)?;
        let before = match kind {
            ScriptKind::Blocking(end) => [self.sheets_before(end), self.blocking_before(end)].concat(),
            ScriptKind::InOrder(end) => {
                let in_order = |(kind, at): &(ScriptKind, usize)| {
                    matches!(kind, ScriptKind::InOrder(place) if *place < end).then_some((*at, Why::Order))
                };
                let all = [self.sheets_before(usize::MAX), self.blocking_before(usize::MAX)].concat();
                all.into_iter()
                    .chain(self.scripts.iter().filter_map(in_order))
                    .chain([(document, Why::Order)])
                    .collect()
            }
            _ => return None,
        };
        let also = complete(entries, at, script, before);
        let ms = since(entries, at, &also).min(hold.ms);
        (!also.is_empty() && hold.moment == On::End).then_some(Waited {
            hold: Hold { ms, ..hold },
            why: Some(Why::Script),
            also,
        })
    }

    /// Where the last script before a byte begins for which the parser stops.
    fn last_stop(&self, offset: usize) -> usize {
        let stops = |(end, tag): &(usize, Tag<'_>)| {
            *end < offset && matches!(ScriptKind::of(*tag, *end), Some(ScriptKind::Blocking(_))) && tag.is_code()
        };
        self.markup.elements().filter(stops).map(|(end, _)| end).last().unwrap_or(0)
    }

    fn sheets_before(&self, offset: usize) -> Vec<(usize, Why)> {
        self.sheets.iter().filter(|(end, _)| *end <= offset).map(|(_, at)| (*at, Why::StyleSheet)).collect()
    }

    fn blocking_before(&self, offset: usize) -> Vec<(usize, Why)> {
        let blocks = |(kind, at): &(ScriptKind, usize)| {
            matches!(kind, ScriptKind::Blocking(end) if *end < offset).then_some((*at, Why::Parser))
        };
        self.scripts.iter().filter_map(blocks).collect()
    }
}

/// Of what should have been complete before the entry `at`, what was: the rest the recorded load denies.
fn complete(entries: &[HarFetch<'_>], at: usize, on: usize, before: Vec<(usize, Why)>) -> Vec<(usize, Why)> {
    let was = |other: usize| other < at && other != on && entries[other].ended <= entries[at].began;
    before.into_iter().filter(|(other, _)| was(*other)).collect()
}

/// How long before the entry `at` the last of others was complete, in ms.
fn since(entries: &[HarFetch<'_>], at: usize, others: &[(usize, Why)]) -> f64 {
    let ended = others.iter().map(|(other, _)| entries[*other].ended).fold(f64::NEG_INFINITY, f64::max);
    microseconds((entries[at].began - ended).clamp(0.0, MAX_MS))
}

/// Whether a call was in a document, and not in a script of its own URL.
fn is_of(called: &str, document: &str) -> bool {
    url::key(called) == url::key(document)
}
