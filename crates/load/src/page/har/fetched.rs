//! What became of each entry: an object with its times, or the reason why it is none.

use super::Skip;
use super::model::{Entry, Request, Response, Timings};
use super::{moment, sizes, url};
use loadstone_units::Bounded;

/// One hour, the longest span of a page file, in ms.
pub(super) const MAX_MS: f64 = 3_600_000.0;

/// An entry with its own rules applied; how entries hang together comes later.
#[derive(Debug)]
pub(super) struct HarFetch<'a> {
    pub(super) entry: Entry<'a>,
    pub(super) request: Request<'a>,
    pub(super) response: Response<'a>,
    pub(super) timings: Timings<'a>,
    /// The URL as the page file has it; empty where it names no web server.
    pub(super) url: String,
    /// Whether the URL was too long.
    pub(super) cut: bool,
    /// Why it is no object.
    pub(super) skip: Option<Skip>,
    /// Whether it failed since its host has no address.
    pub(super) is_name_error: bool,
    pub(super) kind: EntryKind,
    /// When the browser had found it, in ms since 1970.
    pub(super) began: f64,
    /// When its last byte was in.
    pub(super) ended: f64,
    /// Bytes of its body on the wire.
    pub(super) bytes: u64,
}

/// What sort of thing an entry is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EntryKind {
    Html,
    Css,
    Js,
    Image,
    Font,
    Json,
    Xhr,
    Media,
    Other,
}

impl<'a> HarFetch<'a> {
    /// Applies the rules to an entry that follows one which began at `previous`.
    pub(super) fn new(mut entry: Entry<'a>, previous: f64) -> HarFetch<'a> {
        let request = std::mem::take(&mut entry.request).unwrap_or_default();
        let response = std::mem::take(&mut entry.response).unwrap_or_default();
        let timings = std::mem::take(&mut entry.timings).unwrap_or_default();
        let found = request.url.text().unwrap_or_default();
        let (url, cut) = url::cleaned(found).unwrap_or_default();
        let started = moment_of(&entry).unwrap_or(previous);
        let began = began(&entry, &timings, started);
        let mut fetched = HarFetch {
            kind: kind(&entry, &response, &url),
            skip: None,
            is_name_error: false,
            ended: started + span(&entry, &timings),
            bytes: sizes::body(&entry, &request, &response),
            entry,
            request,
            response,
            timings,
            url,
            cut,
            began,
        };
        fetched.skip = fetched.why_no_object();
        fetched
    }

    /// How urgent Chromium took it to be, where it says so: its five classes, the most urgent first.
    pub(super) fn urgency(&self) -> Option<Bounded<0, 7>> {
        urgency(self.entry.priority.text()?)
    }

    /// Whether Chromium, where it says how urgent it is, lets it come in turn with others (RFC 9218, `i`): all but style
    /// sheets, scripts and fonts.
    pub(super) fn is_incremental(&self) -> bool {
        self.urgency().is_some() && !matches!(self.kind, EntryKind::Css | EntryKind::Js | EntryKind::Font)
    }

    /// Whether the response sends the browser elsewhere, and where to.
    pub(super) fn redirect(&self) -> Option<String> {
        if !(300..400).contains(&self.response.status_code()) {
            return None;
        }
        let stated = self.response.redirect_url.filled().or_else(|| sizes::field(&self.response.headers, "location"));
        url::resolved(self.request.url.text()?, stated?)
    }

    fn why_no_object(&self) -> Option<Skip> {
        let scheme = self.request.url.text().unwrap_or_default().trim().split(':').next().unwrap_or_default();
        let is = |name: &str| scheme.eq_ignore_ascii_case(name);
        if is("ws") || is("wss") || self.response.status_code() == 101 {
            return Some(Skip::WebSocket);
        }
        if self.url.is_empty() {
            return Some(Skip::NotHttp);
        }
        if self.is_cached() {
            return Some(Skip::FromCache);
        }
        if self.response.status_code() < 200 {
            return Some(Skip::Failed);
        }
        // Chrome writes the upgrades of HSTS and the verdicts of its extensions as redirects.
        if self.response.status_code() == 307 && self.is_without_transfer() {
            return Some(Skip::AnsweredByBrowser);
        }
        None
    }

    fn is_cached(&self) -> bool {
        let entry = &self.entry;
        let marked = [&entry.from_cache, &entry.from_disk_cache, &entry.from_memory_cache, &entry.served_from_cache];
        marked.iter().any(|mark| mark.is_set()) || self.response.fetched_via_service_worker.is_set()
    }

    /// Whether Chrome says that nothing was transferred, on no connection.
    pub(super) fn is_without_transfer(&self) -> bool {
        let connection = self.entry.connection.key();
        self.response.transfer_size.number() == Some(0.0) && connection.is_none_or(|connection| connection == "0")
    }
}

/// When an entry says that it started.
pub(super) fn moment_of(entry: &Entry<'_>) -> Option<f64> {
    match entry.started.text() {
        Some(text) => moment::parse(text),
        // Some tools write ms since 1970; anything less is no date of a HAR.
        None => entry.started.number().filter(|ms| (1e11..1e14).contains(ms)),
    }
}

/// When the browser had found an entry that started at `started`.
///
/// In Chrome's and Firefox's files that is the start itself: queueing, look-up and connecting come
/// after it. WebPageTest's start is the moment when the request was sent (`_load_start`), on a
/// connection that may be much older; newer files say when it was made (`_created`).
fn began(entry: &Entry<'_>, timings: &Timings<'_>, started: f64) -> f64 {
    let Some(load_start) = entry.load_start.number() else { return started };
    if let Some(created) = entry.created.number().filter(|created| (0.0..=load_start).contains(created)) {
        return started - (load_start - created).min(MAX_MS);
    }
    let setup = timings.dns.positive().unwrap_or(0.0) + timings.connect.positive().unwrap_or(0.0);
    started - setup.min(MAX_MS)
}

/// From the start of an entry to its last byte.
fn span(entry: &Entry<'_>, timings: &Timings<'_>) -> f64 {
    let sum = |parts: &[&crate::page::loose::Scalar<'_>]| parts.iter().filter_map(|part| part.positive()).sum::<f64>();
    let answered = [&timings.send, &timings.wait, &timings.receive];
    let span = if entry.load_start.number().is_some() {
        // WebPageTest's `time` includes what came before the start.
        entry.load_ms.positive().unwrap_or_else(|| sum(&answered))
    } else {
        let all = sum(&[&timings.blocked, &timings.dns, &timings.connect]) + sum(&answered);
        entry.time.positive().unwrap_or(all)
    };
    span.min(MAX_MS)
}

/// The sort of an entry: what the browser fetched it as, else the type of the answer, else the
/// ending of its path.
fn kind(entry: &Entry<'_>, response: &Response<'_>, url: &str) -> EntryKind {
    let stated = entry.resource_type.filled().or_else(|| entry.request_type.filled()).unwrap_or_default();
    let mime = response.content.0.as_ref().and_then(|content| content.mime_type.text()).unwrap_or_default();
    let path = url.split('?').next().unwrap_or_default();
    let file = path.rsplit('/').next().unwrap_or_default();
    let ending = file.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default();
    by_use(stated)
        .or_else(|| by_mime(&mime.to_ascii_lowercase()))
        .or_else(|| by_ending(ending))
        .unwrap_or(EntryKind::Other)
}

fn by_use(stated: &str) -> Option<EntryKind> {
    Some(match stated.to_ascii_lowercase().as_str() {
        "document" => EntryKind::Html,
        "stylesheet" => EntryKind::Css,
        "script" => EntryKind::Js,
        "image" => EntryKind::Image,
        "font" => EntryKind::Font,
        "xhr" | "fetch" => EntryKind::Xhr,
        "media" => EntryKind::Media,
        _ => return None,
    })
}

fn by_mime(mime: &str) -> Option<EntryKind> {
    let has = |part: &str| mime.contains(part);
    Some(match () {
        () if has("html") => EntryKind::Html,
        () if has("text/css") => EntryKind::Css,
        () if has("javascript") || has("ecmascript") => EntryKind::Js,
        () if mime.starts_with("image/") => EntryKind::Image,
        () if has("font") => EntryKind::Font,
        () if has("json") => EntryKind::Json,
        () if mime.starts_with("video/") || mime.starts_with("audio/") => EntryKind::Media,
        () => return None,
    })
}

fn by_ending(ending: &str) -> Option<EntryKind> {
    Some(match ending.to_ascii_lowercase().as_str() {
        "html" | "htm" => EntryKind::Html,
        "css" => EntryKind::Css,
        "js" | "mjs" => EntryKind::Js,
        "png" | "jpg" | "jpeg" | "gif" | "webp" | "avif" | "svg" | "ico" => EntryKind::Image,
        "woff" | "woff2" | "ttf" | "otf" => EntryKind::Font,
        "json" => EntryKind::Json,
        "mp4" | "webm" | "mp3" | "m4a" | "ts" => EntryKind::Media,
        _ => return None,
    })
}

impl EntryKind {
    /// The name in page files.
    pub(super) fn name(self) -> &'static str {
        match self {
            EntryKind::Html => "html",
            EntryKind::Css => "css",
            EntryKind::Js => "js",
            EntryKind::Image => "image",
            EntryKind::Font => "font",
            EntryKind::Json => "json",
            EntryKind::Xhr => "xhr",
            EntryKind::Media => "media",
            EntryKind::Other => "other",
        }
    }
}

/// How urgent a request is of one of Chromium's classes.
pub(in crate::page) fn urgency(class: &str) -> Option<Bounded<0, 7>> {
    const CLASSES: [&str; 5] = ["VeryHigh", "High", "Medium", "Low", "VeryLow"];
    CLASSES.iter().position(|known| *known == class).map(|place| Bounded::known(place as u32))
}
