//! The moments of the recorded load that its visitor saw: after which frame each was.

use super::{GraphBuilder, after, round};
use crate::page::file::{ComputeSpec, Need};
use crate::page::har::Paints;
use crate::page::moment::Moment;

/// How much later than its frame a paint can be said to be, in ms: what is drawn takes time of its own.
const DRAWING_MS: f64 = 100.0;

/// A frame that was drawn: when it was, in microseconds of the trace, and its node.
pub(super) struct DrawnFrame {
    pub(super) until: f64,
    pub(super) node: String,
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
        let largest = self.painted(paints.lcp_ms);
        self.moment(Moment::LargestPaint, largest.map(|frame| image.into_iter().chain([frame]).collect()));
    }

    /// After which frame something was painted, and how long after it; if that was too short for a node, after the
    /// beginning of the body.
    fn painted(&self, ms: Option<f64>) -> Option<Need> {
        let at = self.objects.first()?.began + ms? * 1e3;
        let Some(frame) = self.frames_drawn.iter().rfind(|frame| frame.until <= at) else {
            let body = self.frames.values().find(|frame| frame.is_root)?.body.as_ref()?;
            return Some(after(body));
        };
        let drawn = (at - frame.until) / 1e3;
        Some(Need { ms: if drawn <= DRAWING_MS { round(drawn) } else { 0.0 }, ..after(&frame.node) })
    }

    fn moment(&mut self, moment: Moment, needs: Option<Vec<Need>>) {
        let node = |needs| ComputeSpec { name: moment.name().to_owned(), needs: Some(needs), ..ComputeSpec::default() };
        self.file.compute.extend(needs.map(node));
    }
}
