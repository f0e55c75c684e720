//! HAR files to page files.
//!
//! HAR files are written by many programs, each with its own idea of the format, so everything in
//! them is read leniently (`loose`, `model`), and rules decide what is meant; `docs/pages.md`
//! states them. `fetched` judges each entry by itself, `sizes` its bytes, `waits` its server, `name_errors` hosts without
//! an address, and `needs` what it waited for; `documents` adds what the texts of documents say, and `chromium`
//! what is known of that browser's loads.

mod chromium;
mod coalesced;
mod documents;
pub(super) mod fetched;
mod model;
mod moment;
mod name_errors;
mod needs;
mod paints;
mod rate;
mod sizes;
mod spoken;
pub(super) mod url;
mod views;
mod waits;

pub use paints::{Paints, ViewStep};
pub use spoken::RecordedProtocol;

use super::file::{ComputeSpec, DocumentSpec, Need, Needed, ObjectSpec, On, PageFile, RequestScheduling, Why};
use super::heads;
use super::loose::{MAX_LIST, Maybe, Scalar};
use super::preflights;
use super::recorded_object::RecordedObject;
use super::redact::{Redactor, Secrets};
use chromium::ChromiumLoad;
use documents::{Documents, InsertedBody, Waited};
use fetched::{EntryKind, HarFetch};

use needs::Graph;
use serde::Serialize;
use std::collections::BTreeMap;
use waits::Waits;

/// The most entries of a file, as many as a page file may have objects.
const MAX_ENTRIES: usize = MAX_LIST - 1;
/// More computing than this for a handshake is a mistake, or a busy machine.
const MAX_HANDSHAKE_MS: f64 = 100.0;

/// A page read from a HAR file.
#[derive(Clone, PartialEq, Debug)]
pub struct Har {
    /// The page.
    pub file: PageFile,
    /// What was left out or changed on the way.
    pub notes: Notes,
}

/// What a reader of a HAR file should know about the page that was made from it.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Notes {
    /// Which page of the file was taken, from 1.
    pub page: usize,
    /// How many pages the file has: several runs, or first and repeat views.
    pub pages: usize,
    /// How many entries that page has.
    pub entries: usize,
    /// How many of them are no objects, and why.
    pub skipped: BTreeMap<Skip, usize>,
    /// How many URLs were too long and have been cut.
    pub cut_urls: usize,
    /// How many methods were no words and have become GET.
    pub odd_methods: usize,
    /// Of how many the body is less than half of its content, though nothing says that it was compressed.
    pub contradicted_sizes: usize,
    /// How long the page took until its load event, in ms, if the file says so.
    pub load_ms: Option<f64>,
    /// The shortest TCP handshake with each host that has one, in ms: a round trip.
    pub handshakes_ms: BTreeMap<String, f64>,
    /// What each host spoke, where the file says so.
    pub protocols: BTreeMap<String, RecordedProtocol>,
    /// How many entries failed since their hosts have no address: the page waits for that.
    pub name_errors: usize,
    /// The rate of the fastest half second, in short loads of less, in kbit/s.
    pub down_kbit: Option<u64>,
    /// What the first and the largest contentful paint needed.
    pub paints: Option<Paints>,
}

/// Why an entry is no object of the page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Skip {
    /// A `data:`, `blob:`, `about:` or other URL that names no web server.
    NotHttp,
    /// A WebSocket.
    WebSocket,
    /// It came from the browser's cache or a service worker.
    FromCache,
    /// The browser answered by itself, such as with HSTS's redirect to `https`.
    AnsweredByBrowser,
    /// Blocked, aborted or otherwise without a final response.
    Failed,
}

/// Why no page can be made from a HAR file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HarError {
    /// Not JSON.
    #[error("not a HAR file: no JSON from line {line}, column {column} on; export the page as HAR again")]
    NotJson {
        /// Where, from 1.
        line: usize,
        /// Where in the line, from 1.
        column: usize,
    },
    /// The text ends in the middle.
    #[error("the HAR file is cut off at line {line}, column {column}: copy or export it again, completely")]
    Truncated {
        /// Where it ends, from 1.
        line: usize,
        /// Where in the line, from 1.
        column: usize,
    },
    /// JSON, but of another kind.
    #[error("not a HAR file: it has no \"log\" object; export the page with \"Save all as HAR\"")]
    NoLog,
    /// Nothing was recorded.
    #[error("the HAR file has no entries: record again with the network panel open before the page loads")]
    NoEntries,
    /// A page that the file does not have.
    #[error("there is no page {asked} in the HAR file: it has {pages}; choose one from 1 to {pages}")]
    NoSuchPage {
        /// Which page was asked for.
        asked: usize,
        /// How many there are.
        pages: usize,
    },
    /// A page to which no entry belongs.
    #[error("page {0} of the HAR file has no entries: choose another page")]
    EmptyPage(usize),
    /// No entry of the page was fetched over the network.
    #[error(
        "nothing of page {page} came over the network ({skipped} entries were cached, failed or no http): \
         record it again with an empty cache"
    )]
    NothingLeft {
        /// Which page.
        page: usize,
        /// How many entries it has.
        skipped: usize,
    },
    /// More than the program is made for.
    #[error("the HAR file has more than {MAX_ENTRIES} entries: record a shorter span, or export a single page")]
    TooMany,
}

impl Notes {
    /// How many entries of the page are no objects.
    pub fn skipped_total(&self) -> usize {
        self.skipped.values().sum()
    }
}

/// Makes a page file from a HAR file, uncompressed: of its page number `page`, from 1, or of the
/// first one that has entries.
///
/// # Errors
/// If `text` is no HAR file, or holds no such page, or nothing that was fetched over the network.
pub fn read(text: &[u8], page: Option<usize>, secrets: Secrets) -> Result<Har, HarError> {
    read_recorded(text, page, secrets).map(|(har, _)| har)
}

/// The same with what a trace beside the file is matched by: of each object of the page.
pub(super) fn read_recorded(
    text: &[u8],
    page: Option<usize>,
    secrets: Secrets,
) -> Result<(Har, Vec<RecordedObject>), HarError> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let page_of = |view| page_of(view, Redactor::new(secrets, text));
    match parse(text) {
        Ok(log) => views::chosen(log, page).and_then(page_of),
        // Only what cannot be read as it is is worth a copy and a second reading.
        Err(why) => match mended(text) {
            Some(mended) => views::chosen(parse(&mended)?, page).and_then(page_of),
            None => Err(why),
        },
    }
}

/// The text with U+FFFD in the place of what is no character: bytes that are not UTF-8, and halves of surrogate pairs,
/// which browsers write as they find them. `None` if there is nothing of it.
fn mended(text: &[u8]) -> Option<Vec<u8>> {
    const ESCAPE: usize = "\\ud800".len();
    let unit = |text: &[u8]| {
        let digits = text.get(..ESCAPE)?.strip_prefix(b"\\u")?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let is_half = |unit: Option<u32>, of: std::ops::Range<u32>| unit.is_some_and(|unit| of.contains(&unit));
    let mut whole = String::from_utf8_lossy(text).into_owned().into_bytes();
    let mut at = 0;
    while let Some(next) = whole[at..].iter().position(|byte| *byte == b'\\') {
        at += next;
        let (here, after) = (unit(&whole[at..]), whole.get(at + ESCAPE..).and_then(unit));
        let is_pair = is_half(here, 0xd800..0xdc00) && is_half(after, 0xdc00..0xe000);
        if !is_pair && is_half(here, 0xd800..0xe000) {
            whole[at..at + ESCAPE].copy_from_slice(b"\\ufffd");
        }
        at = (at + if is_pair { 2 * ESCAPE } else { 2 }).min(whole.len());
    }
    (whole != text).then_some(whole)
}

fn parse(text: &[u8]) -> Result<model::Log<'_>, HarError> {
    let file: Maybe<model::File<'_>> = serde_json::from_slice(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        if error.is_eof() {
            return HarError::Truncated { line, column };
        }
        HarError::NotJson { line, column }
    })?;
    file.unwrap_or_default().log.0.ok_or(HarError::NoLog)
}

/// The page of the entries that were chosen.
fn page_of(view: views::View<'_>, mut redactor: Redactor) -> Result<(Har, Vec<RecordedObject>), HarError> {
    let views::View { entries, mut notes, loaded, painted } = view;
    for skip in entries.iter().filter_map(|fetched| fetched.skip) {
        *notes.skipped.entry(skip).or_default() += 1;
    }
    let nothing = HarError::NothingLeft { page: notes.page, skipped: entries.len() };
    let root = root(&entries).ok_or(nothing)?;
    // Here, not when it was read: what refers to a URL is found by the URL itself.
    let urls: Vec<String> = entries.iter().map(|fetched| redactor.url(&fetched.url)).collect();
    let names = names(&entries, &urls);
    let graph = Graph::new(&entries, root);
    let waits = Waits::of(&entries);
    let chromium = ChromiumLoad::new(&entries, loaded);
    let documents = Documents::of(&entries);
    notes.handshakes_ms = waits.handshakes_ms();
    notes.protocols = spoken::protocols(&entries);
    notes.name_errors = entries.iter().filter(|fetched| fetched.is_name_error).count();
    notes.down_kbit = rate::down_kbit(&entries);
    let node = |entry: usize| names[entry].clone().unwrap_or_else(|| urls[entry].clone());
    // Without priorities nothing is held back.
    let holds_back = chromium.scheduling() == RequestScheduling::Chromium;
    let bodies = if holds_back { documents.bodies(&entries) } else { Vec::new() };
    let asked_by = graph.documents(|at| bodies.iter().any(|body| body.document == at));
    let others = (0..entries.len()).filter(|at| *at != root && entries[*at].skip.is_none());
    let object = |at: usize| {
        let fetched = &entries[at];
        let needs = |Waited { hold, why, also }: Waited| {
            let is_timer = chromium.is_by_timer(fetched, &entries[hold.on], &hold);
            let (ms, timer_ms) = if is_timer { (0.0, hold.ms) } else { (hold.ms, 0.0) };
            let also = also.into_iter().map(|(entry, why)| Need { ms, ..after(node(entry), why) });
            let first =
                Need { node: node(hold.on), on: hold.moment, bytes: hold.bytes, ms, timer_ms, why, ..Need::default() };
            std::iter::once(first).chain(also).collect()
        };
        ObjectSpec {
            name: names[at].clone(),
            think_ms: Some(waits.think(fetched)).filter(|ms| *ms > 0.0 && !fetched.is_name_error),
            needs: graph.hold(at).map(|hold| needs(documents.waited(&entries, at, hold))),
            needed: if at == root { None } else { chromium.needed(fetched) },
            document: asked_by[at].map(node),
            anonymous: chromium.is_anonymous(fetched),
            url: urls[at].clone(),
            ..described(fetched, &mut redactor, &mut notes)
        }
    };
    let places: Vec<usize> = std::iter::once(root).chain(others).collect();
    let objects = places.iter().copied().map(object).collect();
    let last = chromium.last_before_load_event(&entries, root);
    let compute = last.map(|(last, ms)| ComputeSpec {
        name: "until the load event".to_owned(),
        ms,
        needs: Some(vec![after(node(last), Why::Event)]),
        needed: Some(Needed::Always),
        ..ComputeSpec::default()
    });
    let (documents, inserted): (BTreeMap<_, _>, Vec<_>) =
        bodies.iter().map(|body| inserted(body, &node)).map(|(name, spec, compute)| ((name, spec), compute)).unzip();
    let compute = compute.into_iter().chain(inserted).collect();
    let scheduling = chromium.scheduling();
    let mut hosts = coalesced::hosts(&entries, |fetched| chromium.is_anonymous(fetched));
    hosts.extend(name_errors::hosts(&entries, waits.round_trip_ms()));
    let view_pixels = painted.view_pixels;
    let mut file = PageFile { objects, compute, documents, hosts, scheduling, view_pixels, ..PageFile::default() };
    preflights::go_first(&mut file);
    let fetched: Vec<_> = places.iter().map(|at| &entries[*at]).collect();
    notes.paints = Some(paints::paints(&file, &fetched, &painted));
    Ok((Har { file, notes }, recorded(&fetched)))
}

/// When the body of a document is inserted: the document's name, and the node with which it is.
fn inserted(body: &InsertedBody, node: &impl Fn(usize) -> String) -> (String, DocumentSpec, ComputeSpec) {
    let document = node(body.document);
    let tag = Need { on: On::Bytes, bytes: Some(body.bytes), ..after(document.clone(), Why::Markup) };
    let stops = body.before.iter().map(|(entry, why)| after(node(*entry), *why));
    let (name, needs) = (format!("body of {document}"), Some(std::iter::once(tag).chain(stops).collect()));
    (document, DocumentSpec { body: name.clone() }, ComputeSpec { name, needs, ..ComputeSpec::default() })
}

/// The end of a node.
fn after(node: String, why: Why) -> Need {
    Need { node, why: Some(why), ..Need::default() }
}

/// What a trace is matched by.
fn recorded(objects: &[&HarFetch<'_>]) -> Vec<RecordedObject> {
    let id = |fetched: &HarFetch<'_>| fetched.entry.request_id.key().unwrap_or_default().into_owned();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut all: Vec<RecordedObject> = Vec::new();
    for fetched in objects {
        let (request, url) = (id(fetched), fetched.url.clone());
        let before = seen.insert(request.clone(), all.len()).filter(|_| !request.is_empty());
        // A request that is sent elsewhere keeps its number.
        let is_root = all.is_empty() || before.is_some_and(|before| std::mem::take(&mut all[before].is_root));
        let initiator = &fetched.entry.initiator.object;
        let number = |scalar: &Scalar<'_>| scalar.number().filter(|n| (0.0..4e9).contains(n)).map(|n| n as u32);
        let place = number(&initiator.line).zip(number(&initiator.column));
        all.push(RecordedObject {
            is_redirected: before.is_some(),
            is_document: fetched.kind == EntryKind::Html,
            initiator: initiator.url.text().unwrap_or_default().to_owned(),
            callers: initiator.urls().into_iter().map(str::to_owned).collect(),
            place,
            is_anonymous: chromium::is_anonymous(fetched),
            delays_load_event: chromium::delays_load_event(fetched),
            has_connected: fetched.timings.connect.positive().is_some(),
            handshake_ms: handshake_ms(fetched),
            is_name_error: fetched.is_name_error,
            began: fetched.began,
            ended: f64::INFINITY,
            request_ms: 0.0,
            request,
            url,
            is_root,
        });
    }
    all
}

/// How much longer the handshake of TLS took than that of TCP, of which one takes a round trip as the other does, in ms.
fn handshake_ms(fetched: &HarFetch<'_>) -> Option<f64> {
    let (all, tls) = (fetched.timings.connect.positive()?, fetched.timings.ssl.positive()?);
    Some(2.0 * tls - all).filter(|ms| (0.0..MAX_HANDSHAKE_MS).contains(ms))
}

/// The document that was navigated to: the first object, unless it checks a certificate.
fn root(entries: &[HarFetch<'_>]) -> Option<usize> {
    let objects = || (0..entries.len()).filter(|at| entries[*at].skip.is_none() && !entries[*at].is_name_error);
    let checks = |at: &usize| {
        let content = entries[*at].response.content.0.as_ref();
        content.and_then(|content| content.mime_type.text()).is_some_and(|mime| mime.contains("ocsp"))
    };
    objects().find(|at| !checks(at)).or_else(|| objects().next())
}

/// Names for the second and later objects of one URL, of all `urls` in the order of the entries.
fn names<'u>(entries: &[HarFetch<'_>], urls: &'u [String]) -> Vec<Option<String>> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut name = |(fetched, url): (&HarFetch<'_>, &'u String)| {
        if fetched.skip.is_some() {
            return None;
        }
        let count = counts.entry(url).or_default();
        *count += 1;
        // A cleaned URL has no space in it, so this is no other object's URL.
        (*count > 1).then(|| format!("{url} #{count}"))
    };
    entries.iter().zip(urls).map(&mut name).collect()
}

/// What a page file says of an entry apart from the others and from its URL.
fn described(fetched: &HarFetch<'_>, redactor: &mut Redactor, notes: &mut Notes) -> ObjectSpec {
    let method = fetched.request.method_name();
    let usable = (1..=32).contains(&method.len()) && method.bytes().all(|byte| byte.is_ascii_uppercase());
    notes.odd_methods += usize::from(!usable);
    notes.cut_urls += usize::from(fetched.cut);
    notes.contradicted_sizes += usize::from(sizes::is_contradicted(&fetched.request, &fetched.response, fetched.bytes));
    let method = if usable { method } else { "GET".to_owned() };
    let status = Some(fetched.response.status_code()).filter(|status| (200..600).contains(status)).unwrap_or(200);
    let upload = sizes::upload(&fetched.request);
    let request_fields = sizes::fields(&fetched.request.headers, redactor);
    let response_fields = sizes::fields(&fetched.response.headers, redactor);
    let (authority, target) = url::parts(&fetched.url);
    // A head cannot be smaller than what the URL makes it, with the mark that may yet tell it from
    // others of its path.
    let longest = format!("{target}?1234567");
    let request_size = sizes::head(&fetched.request.headers_size).map(|size| {
        let smallest =
            heads::sized_request(&method, &authority, &longest, upload, Some(0)).map_err(|too_small| too_small.min);
        size.max(smallest.err().unwrap_or_default() as u32)
    });
    let response_size = sizes::head(&fetched.response.headers_size).map(|size| {
        let sized = heads::sized_response(status, &authority, fetched.bytes, Some(size));
        sized.map_or_else(|too_small| too_small.min as u32, |_| size)
    });
    ObjectSpec {
        bytes: fetched.bytes,
        kind: (fetched.kind != EntryKind::Other).then(|| fetched.kind.name().to_owned()),
        method: (method != "GET").then_some(method),
        status: (status != 200).then_some(status),
        upload_bytes: (upload > 0).then_some(upload),
        urgency: fetched.urgency(),
        view_pixels: fetched.entry.view_pixels.positive().map(|pixels| pixels as u32),
        incremental: fetched.is_incremental(),
        request_header_bytes: request_size.filter(|_| request_fields.is_none()),
        response_header_bytes: response_size.filter(|_| response_fields.is_none()),
        request_fields,
        response_fields,
        ..ObjectSpec::default()
    }
}

#[cfg(test)]
mod tests;
