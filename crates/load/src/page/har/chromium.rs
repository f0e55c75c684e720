//! What a HAR says of a load by Chromium besides times: of what sort each request is, and how urgent. By that is known
//! for what the load event waits, and in which order requests go out.

use super::fetched::{EntryKind, HarFetch};
use super::needs::Hold;
use super::sizes;
use crate::page::file::{Needed, On, RequestScheduling};

/// What DevTools calls requests for which no load event waits.
const FREE: [&str; 12] = [
    "xhr",
    "fetch",
    "media",
    "ping",
    "other",
    "preflight",
    "prefetch",
    "manifest",
    "texttrack",
    "eventsource",
    "cspviolationreport",
    "signedexchange",
];
/// The urgency of Chromium's class VeryLow.
const VERY_LOW: u32 = 4;

/// Computing between the last arrival and the load event that is worth a node, and what is no computing any more.
const SHORTEST_MS: f64 = 1.0;
const LONGEST_MS: f64 = 10_000.0;

/// How a page was loaded.
pub(super) struct ChromiumLoad {
    is_chromium: bool,
    /// When the page was loaded, in ms since 1970.
    loaded: Option<f64>,
}

impl ChromiumLoad {
    /// Whether Chromium has loaded the page: its requests have a sort and a priority.
    pub(super) fn new(entries: &[HarFetch<'_>], loaded: Option<f64>) -> ChromiumLoad {
        let says =
            |fetched: &HarFetch<'_>| fetched.entry.resource_type.filled().is_some() && fetched.urgency().is_some();
        ChromiumLoad { is_chromium: entries.iter().any(says), loaded }
    }

    /// In which order requests go out.
    pub(super) fn scheduling(&self) -> RequestScheduling {
        if self.is_chromium { RequestScheduling::Chromium } else { RequestScheduling::PageOrder }
    }

    /// Whether the load waits for an object. In Chromium it does for what is found before the load event of the load
    /// that is simulated, not of the recorded one. Else what began after the recorded load event is not waited for.
    pub(super) fn needed(&self, fetched: &HarFetch<'_>) -> Option<Needed> {
        match (self.is_chromium, delays_load_event(fetched)) {
            // Why it was asked for so late is a guess, and its failure would cost several round trips.
            (true, true) if fetched.is_name_error && self.is_late(fetched) => Some(Needed::Never),
            (true, true) => Some(Needed::WhenFound),
            (true, false) => Some(Needed::Never),
            (false, _) => self.is_late(fetched).then_some(Needed::Never),
        }
    }

    fn is_late(&self, fetched: &HarFetch<'_>) -> bool {
        self.loaded.is_some_and(|loaded| fetched.began > loaded)
    }

    /// Whether the time between what an object waited for and its finding was no computing: the load event came
    /// meanwhile, for which the main thread has to be free.
    pub(super) fn is_by_timer(&self, fetched: &HarFetch<'_>, cause: &HarFetch<'_>, hold: &Hold) -> bool {
        let is_over = self.loaded.is_some_and(|loaded| cause.ended <= loaded);
        self.is_chromium && hold.moment == On::End && is_over && self.is_late(fetched)
    }

    /// Which of what the load event waited for was complete last, and how long before it, in ms: what was computed
    /// meanwhile is computed on other networks, too.
    pub(super) fn last_before_load_event(&self, entries: &[HarFetch<'_>], root: usize) -> Option<(usize, f64)> {
        let loaded = self.loaded.filter(|_| self.is_chromium)?;
        let held = |at: &usize| {
            let fetched = &entries[*at];
            fetched.skip.is_none() && fetched.ended <= loaded && (*at == root || delays_load_event(fetched))
        };
        let last = (root..entries.len()).filter(held).max_by(|a, b| entries[*a].ended.total_cmp(&entries[*b].ended))?;
        let ms = ((loaded - entries[last].ended) * 1e3).round() / 1e3;
        (SHORTEST_MS..LONGEST_MS).contains(&ms).then_some((last, ms))
    }

    /// Whether an object is asked for on connections without credentials.
    pub(super) fn is_anonymous(&self, fetched: &HarFetch<'_>) -> bool {
        self.is_chromium && is_anonymous(fetched)
    }
}

/// Whether it was asked for across origins without credentials (Fetch, section 4.1): with CORS, and without the
/// server's consent to credentials.
pub(super) fn is_anonymous(fetched: &HarFetch<'_>) -> bool {
    let Some(origin) = sizes::field(&fetched.request.headers, "origin") else { return false };
    let consents = sizes::field(&fetched.response.headers, "access-control-allow-credentials");
    let is_own = fetched.url.strip_prefix(origin).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    !is_own && consents != Some("true")
}

/// Whether it is of a sort that holds up the load event (Chromium's `Resource::ShouldBlockLoadEvent`). Scripts of the
/// least urgency are those of service workers.
pub(super) fn delays_load_event(fetched: &HarFetch<'_>) -> bool {
    let stated = fetched.entry.resource_type.filled().unwrap_or_default();
    if FREE.iter().any(|free| stated.eq_ignore_ascii_case(free)) {
        return false;
    }
    let is_least = fetched.urgency().is_some_and(|urgency| urgency.get() == VERY_LOW);
    match fetched.kind {
        EntryKind::Html | EntryKind::Css | EntryKind::Image | EntryKind::Font => true,
        EntryKind::Js => !is_least,
        _ => false,
    }
}
