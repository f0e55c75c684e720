//! The moments of the recorded load that its visitor saw: after which frame each was.

use super::{GraphBuilder, after, round};
use crate::page::file::{ComputeSpec, Need};
use crate::page::har::{Paints, ViewStep};
use crate::page::moment::Moment;
use crate::page::recording::trace::ShownFrame;
use std::collections::BTreeSet;

/// How much later than its frame a paint can be said to be, in ms: what is drawn takes time of its own.
const DRAWING_MS: f64 = 100.0;

/// What pages are told of the largest paint is rounded up to this, in ms (Chromium 156).
const ROUNDED_MS: f64 = 4.0;
/// By how much the clocks of the HAR and of the trace may be apart, in microseconds.
const CLOCKS_APART: f64 = 1_000.0;

/// A frame that was drawn: when it was, in microseconds of the trace, and its node.
pub(super) struct DrawnFrame {
    pub(super) from: f64,
    pub(super) until: f64,
    pub(super) node: String,
    /// Whether it is of the page's own document.
    pub(super) is_own: bool,
}

/// How long it took to draw what was there, in ms.
fn drawing(there: f64, seen: f64) -> f64 {
    let ms = (seen - there) / 1e3;
    if ms <= DRAWING_MS { round(ms) } else { 0.0 }
}

impl GraphBuilder<'_> {
    /// Adds nodes for what the recording has the moments of.
    pub(in crate::page::recording) fn note_moments(&mut self, paints: Option<&Paints>) {
        let content_loaded = self.content_loaded(None).map(|need| vec![need]);
        self.moment(Moment::ContentLoaded, content_loaded);
        let Some(paints) = paints else { return };
        let first = self.painted(paints.fcp_ms);
        self.moment(Moment::FirstPaint, first.map(|frame| vec![frame]));
        let image = paints.lcp.image.as_deref().map(after);
        let largest = self.painted(paints.lcp_ms.map(|ms| ms - ROUNDED_MS));
        self.moment(Moment::LargestPaint, largest.map(|frame| image.into_iter().chain([frame]).collect()));
        let mut seen = BTreeSet::new();
        for (number, step) in (1..).zip(&paints.steps) {
            let needs = self.shown(step, &mut seen);
            self.file.compute.extend(needs.map(|needs| ComputeSpec {
                name: format!("view {number}"),
                needs: Some(needs),
                view_share: Some(step.share),
                ..ComputeSpec::default()
            }));
        }
    }

    /// After which frame something was painted, and how long after it; if that was too short for a node, after the
    /// beginning of the body.
    fn painted(&self, ms: Option<f64>) -> Option<Need> {
        let at = self.when(ms?)?;
        let frame = self.frame_before(at);
        let drawn = frame.map_or(0.0, |frame| drawing(frame.until, at));
        Some(Need { ms: drawn, ..self.drawn(frame)? })
    }

    /// After what the first view became more complete: a frame, and the image or document in whose place it did, if that
    /// was there. `seen` are those that have been seen before.
    fn shown(&self, step: &ViewStep, seen: &mut BTreeSet<usize>) -> Option<Vec<Need>> {
        let at = self.when(step.ms)?;
        let of = step.of.as_deref().and_then(|url| self.find("", url, true));
        let of = of.filter(|object| (f64::MIN_POSITIVE..=at).contains(&self.objects[*object].ended));
        let frame = match of {
            // In a document's place its own frames are seen.
            Some(object) if self.objects[object].is_document => self.frame_until(at, |_| true),
            // An image that comes late is seen without another layout.
            Some(object) if seen.insert(object) => {
                self.frame_until(self.objects[object].ended, |frame| frame.is_own).or_else(|| self.frame_before(at))
            }
            _ => self.frame_before(at),
        };
        let there = of.map(|object| self.objects[object].ended).into_iter().chain(frame.map(|frame| frame.until));
        let drawn = there.reduce(f64::max).map_or(0.0, |last| drawing(last, at));
        let fetched = of.map(|object| self.fetched(object));
        let needs = fetched.into_iter().chain(self.drawn(frame));
        Some(needs.map(|need| Need { ms: round(need.ms + drawn), ..need }).collect())
    }

    /// The moment of the trace that is so many ms after the navigation began.
    fn when(&self, ms: f64) -> Option<f64> {
        Some(self.objects.first()?.began + ms * 1e3)
    }

    /// The frame of the page's own document that is seen at a moment: the first that is on the screen from then on and was
    /// rendered before, else the last that was. Layouts that scripts have asked for are part of the next frame.
    fn frame_before(&self, at: f64) -> Option<&DrawnFrame> {
        let mut rendered = self.shown.iter().filter(|frame| frame.rendered <= at);
        let is_seen = |frame: &&ShownFrame| frame.shown >= at - CLOCKS_APART;
        let frame = rendered.clone().find(is_seen).or_else(|| rendered.next_back());
        match frame {
            Some(frame) => self.frames_drawn.iter().rfind(|drawn| drawn.is_own && drawn.from <= frame.rendered),
            None => self.frame_until(at, |frame| frame.is_own),
        }
    }

    /// The last of some frames that were drawn until a moment.
    fn frame_until(&self, at: f64, is_one: impl Fn(&DrawnFrame) -> bool) -> Option<&DrawnFrame> {
        let before = self.frames_drawn.iter().filter(|frame| frame.until <= at && is_one(frame));
        before.max_by(|a, b| a.until.total_cmp(&b.until))
    }

    /// That a frame is drawn; where there is none, that the body begins.
    fn drawn(&self, frame: Option<&DrawnFrame>) -> Option<Need> {
        let body = || self.frames.values().find(|frame| frame.is_root)?.body.as_ref();
        frame.map(|frame| &frame.node).or_else(body).map(|node| after(node))
    }

    fn moment(&mut self, moment: Moment, needs: Option<Vec<Need>>) {
        let node = |needs| ComputeSpec { name: moment.name().to_owned(), needs: Some(needs), ..ComputeSpec::default() };
        self.file.compute.extend(needs.map(node));
    }
}
