//! What the first frame of a page waits for: fonts, but not for long.

use super::strays::followers;
use super::{GraphBuilder, after};
use crate::page::file::{ComputeSpec, Need, On, Why};

/// How long a frame that could be drawn waits for fonts, in ms (Chromium's `kMaxFCPDelayMsForRenderBlockingFonts`).
const WAIT_MS: f64 = 100.0;
/// How long after the load has begun none does any more, in ms (`kMaxBlockingTimeMsForRenderBlockingFonts`).
const UNTIL_MS: f64 = 1500.0;

/// Moments, which take no time: all fonts are there; a frame could be drawn; nothing waits for fonts any more.
const FONTS: &str = "fonts";
const DRAWABLE: &str = "frame without fonts";
const FONTS_OR_LATE: &str = "fonts, or late";

impl GraphBuilder<'_> {
    /// Fonts that were preloaded, or asked for by scripts, before there was a body keep the first frame waiting
    /// (Chromium's `RenderBlockingResourceManager`). When the document is parsed and its scripts have run, styles are
    /// brought up to date in any case (`Document::FinishedParsing`).
    pub(super) fn hold_first_frame(&mut self) {
        let Some(render) = self.first_render.take().filter(|_| !self.fonts.is_empty()) else { return };
        let fonts: Vec<Need> = self.fonts.iter().map(|font| self.fetched(*font)).collect();
        let by_need = self.by_need();
        let later = followers(&by_need, &render);
        // A script may have waited for this very frame.
        let content_loaded = self.content_loaded(None).filter(|need| !later.contains(need.node.as_str()));
        let node = self.file.compute.iter_mut().find(|node| node.name == render);
        let Some(needs) = node.and_then(|node| node.needs.as_mut()) else { return };
        let timer = |need: Need, ms: f64| Need { timer_ms: ms, why: Some(Why::Timer), ..need };
        let drawable = std::mem::replace(needs, vec![after(DRAWABLE), after(FONTS_OR_LATE)]);
        let late = timer(Need { on: On::Start, ..after(self.file.objects[0].node()) }, UNTIL_MS);
        let first = [after(FONTS), timer(after(DRAWABLE), WAIT_MS), late].into_iter().chain(content_loaded);
        let gate = |name: &str, needs, any_need| ComputeSpec {
            name: name.to_owned(),
            needs: Some(needs),
            any_need,
            ..ComputeSpec::default()
        };
        let gates =
            [gate(FONTS, fonts, false), gate(DRAWABLE, drawable, false), gate(FONTS_OR_LATE, first.collect(), true)];
        self.file.compute.extend(gates);
    }
}
