//! What the recorded paints needed, as far as a HAR file tells.
//!
//! browsertime and Chrome mark entries (`_renderBlocking`, `_isLCP`) and write the moments among the page's timings;
//! WebPageTest writes the moments and the largest image's URL with the page. What is not there follows from the rules
//! of `paint`, and from what was in by the moment of the paint.

use super::fetched::{EntryKind, HarFetch, MAX_MS};
use super::model::{PageRecord, ViewStepRecord};
use super::url;
use crate::page::PageFile;
use crate::page::paint::{Paint, PaintSource};
use serde::Serialize;

/// What both paints needed, and when they were.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Paints {
    /// The first contentful paint.
    pub fcp: Paint,
    /// The largest contentful paint.
    pub lcp: Paint,
    /// When the first one was, in ms from the page's start, if the file says so.
    pub fcp_ms: Option<f64>,
    /// The same of the largest.
    pub lcp_ms: Option<f64>,
    /// How the first view became complete, if the load was filmed.
    #[serde(skip)]
    pub steps: Vec<ViewStep>,
}

/// A step in which the first view became complete.
#[derive(Clone, PartialEq, Debug)]
pub struct ViewStep {
    /// When it was seen, in ms from the page's start.
    pub ms: f64,
    /// The share of the whole view's completeness, as the Speed Index counts it.
    pub share: f64,
    /// The URL of the image or of the frame's document in whose place it was seen, if it was in one's.
    pub of: Option<String>,
}

/// What a file says of the paints themselves.
#[derive(Debug, Default)]
pub(super) struct Painted {
    /// When the page started, in ms since 1970.
    started: f64,
    /// The moment of the first contentful paint, in ms from there.
    first_ms: Option<f64>,
    /// The moment of the largest.
    largest_ms: Option<f64>,
    /// The URL of the largest one's image, as the page file has URLs.
    image: Option<String>,
    /// How many pixels the first view has.
    pub(super) view_pixels: Option<u32>,
    /// How it became complete.
    steps: Vec<ViewStep>,
}

impl Painted {
    /// Reads them from a page that started at `started`, in ms since 1970.
    pub(super) fn of(record: Option<&PageRecord<'_>>, started: f64) -> Painted {
        let Some(record) = record else { return Painted::default() };
        let timings = record.timings.0.as_ref();
        let first = timings.and_then(|timings| timings.first_paint.positive());
        let largest = timings.and_then(|timings| timings.largest_paint.positive());
        let within = |ms: &f64| *ms <= MAX_MS;
        Painted {
            started,
            first_ms: first.or_else(|| record.first_paint.positive()).filter(within),
            largest_ms: largest.or_else(|| record.largest_paint.positive()).filter(within),
            view_pixels: record.view_pixels.positive().map(|pixels| pixels as u32),
            image: record.largest_image.filled().and_then(url::cleaned).map(|(url, _)| url),
            steps: record.view_steps.iter().filter_map(step).collect(),
        }
    }
}

fn step(record: &ViewStepRecord<'_>) -> Option<ViewStep> {
    let ms = record.ms.positive().filter(|ms| *ms <= MAX_MS)?;
    let share = record.share.positive().filter(|share| *share <= 1.0)?;
    Some(ViewStep { ms, share, of: record.of.filled().map(str::to_owned) })
}

/// What the paints of a page needed; `fetched` has the entry of each of its objects.
pub(super) fn paints(file: &PageFile, fetched: &[&HarFetch<'_>], painted: &Painted) -> Paints {
    let places = |is_one: &dyn Fn(&HarFetch<'_>) -> bool| -> Vec<usize> {
        (0..fetched.len()).filter(|at| is_one(fetched[*at])).collect()
    };
    let fcp = first(file, fetched, painted);
    let is_image = |one: &HarFetch<'_>| one.kind == EntryKind::Image;
    let marked = places(&|one| is_image(one) && one.entry.is_largest_paint.is_set());
    let named = places(&|one| is_image(one) && painted.image.as_deref() == Some(&one.url));
    let lcp = if let Some(image) = marked.first().or(named.first()) {
        file.painted_with(&fcp, &[*image], PaintSource::Named)
    } else if let Some(largest) = painted.largest_ms {
        if painted.first_ms.is_some_and(|first| first >= largest) {
            // Text, which was there with the first paint.
            Paint { source: PaintSource::Moment, ..fcp.clone() }
        } else {
            file.painted_with(
                &fcp,
                &places(&|one| is_image(one) && one.ended <= painted.started + largest),
                PaintSource::Moment,
            )
        }
    } else {
        let rule = file.largest_paint();
        let image = rule.image.as_deref();
        let needed = |at: &usize| {
            let name = file.objects[*at].node();
            image == Some(name) || fcp.objects.iter().any(|one| one == name)
        };
        let objects = file.paint((0..fetched.len()).filter(needed), PaintSource::Rule, rule.rivals).objects;
        Paint { objects, ..rule }
    };
    let steps = painted.steps.clone();
    Paints { fcp, lcp, fcp_ms: painted.first_ms, lcp_ms: painted.largest_ms, steps }
}

/// What the first paint needed: what is marked as blocking, or else what is so by rule and was in by then.
fn first(file: &PageFile, fetched: &[&HarFetch<'_>], painted: &Painted) -> Paint {
    let rule = file.first_paint();
    let is_of_rule = |at: &usize| rule.objects.iter().any(|name| name == file.objects[*at].node());
    let says = |at: usize| fetched[at].entry.render_blocking.text();
    let all = 0..fetched.len();
    if all.clone().any(|at| says(at).is_some()) {
        let document = rule.objects.first().map(String::as_str);
        let blocks =
            |at: &usize| says(*at) == Some("blocking") || document.is_some_and(|name| name == file.objects[*at].node());
        return file.paint(all.filter(blocks), PaintSource::Named, 0);
    }
    match painted.first_ms {
        Some(first) => {
            let was_in = |at: &usize| fetched[*at].ended <= painted.started + first;
            file.paint(all.filter(|at| is_of_rule(at) && (*at == 0 || was_in(at))), PaintSource::Moment, 0)
        }
        None => rule,
    }
}
