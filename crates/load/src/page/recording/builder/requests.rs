//! What requests wait for.

use super::{Builder, delayed};
use crate::page::file::{Need, Needed, Why};
use crate::page::recording::frame::ScriptKind;
use crate::page::recording::trace::{SentRequest, Via};

impl Builder<'_> {
    /// A request was made, with a cause as the trace has it.
    pub(super) fn sent(&mut self, sent: &SentRequest, at: f64, cause: Need) {
        let Some(object) = self.find(&sent.request, &sent.url, false) else { return };
        if sent.resource_type == "Document" {
            self.coming.insert(sent.frame.clone(), object);
            self.kinds[object] = "Document".to_owned();
        }
        if std::mem::replace(&mut self.is_sent[object], true) {
            return;
        }
        self.kinds[object].clone_from(&sent.resource_type);
        let document =
            self.frames.get(&sent.frame).map(|frame| frame.document).filter(|_| sent.resource_type != "Document");
        self.file.objects[object].document = document.map(|document| self.name(document));
        if object == self.root() || object == 0 {
            return;
        }
        self.file.objects[object].needed = Some(needed(sent));
        if self.objects[object].is_redirected {
            return;
        }
        if sent.resource_type == "Document" {
            // The trace says when it came, not when it was asked for.
            return;
        }
        self.is_placed[object] = true;
        let needs = self.causes(sent, object, cause);
        self.file.objects[object].needs = Some(needs);
        if self.load_event.as_ref().is_some_and(|(event, _)| at > *event) {
            self.file.objects[object].needed = Some(Needed::Never);
        }
    }

    /// What a request waited for.
    pub(super) fn causes(&mut self, sent: &SentRequest, object: usize, cause: Need) -> Vec<Need> {
        let delay = self.delays.request_ms;
        let sheet_or_module = self.find("", &sent.initiator, false).filter(|by| *by != object);
        match sent.via {
            Via::Parser | Via::Scanner if sent.place.is_some() && self.frames.contains_key(&sent.frame) => {
                let frame = sent.frame.clone();
                let (offset, document) = (self.frame(&frame).offset(sent.place), self.frame(&frame).document);
                self.markup_kind(sent, object, &frame, offset);
                let mut needs: Vec<Need> =
                    offset.map(|offset| self.found(&frame, document, offset)).into_iter().collect();
                needs.push(cause);
                delayed(needs, delay)
            }
            Via::StyleSheet => {
                let Some(parent) = sheet_or_module else { return delayed(vec![cause], delay) };
                self.imports.entry(parent).or_default().push(object);
                delayed(vec![Need { why: Some(Why::Style), ..self.fetched(parent) }], delay)
            }
            Via::Rendering => {
                let mut needs: Vec<Need> = sheet_or_module
                    .map(|sheet| Need { why: Some(Why::Style), ..self.fetched(sheet) })
                    .into_iter()
                    .collect();
                needs.push(cause);
                delayed(needs, delay)
            }
            Via::Other
                if sent.resource_type == "Script" && sheet_or_module.is_some_and(|by| self.kinds[by] == "Script") =>
            {
                let parent = sheet_or_module.expect("it is a script");
                self.imports.entry(parent).or_default().push(object);
                self.scripts.insert(object, ScriptKind::Imported);
                delayed(vec![Need { why: Some(Why::Import), ..self.fetched(parent) }], delay)
            }
            _ => delayed(vec![cause], delay),
        }
    }

    /// What the markup says of a script or style sheet that was found in it.
    pub(super) fn markup_kind(&mut self, sent: &SentRequest, object: usize, frame: &str, offset: Option<usize>) {
        let blocks = matches!(sent.render_blocking.as_str(), "blocking" | "in_body_parser_blocking");
        match sent.resource_type.as_str() {
            "Stylesheet" if blocks && !sent.is_preload => {
                let at = offset.unwrap_or(0);
                self.frame(frame).sheets.push((at, object));
            }
            "Script" => {
                let by_tag = offset.and_then(|end| {
                    let of = &self.frames[frame];
                    of.tag(end).and_then(|tag| ScriptKind::of(tag, end))
                });
                let by_blocking = match sent.render_blocking.as_str() {
                    "blocking" | "in_body_parser_blocking" => ScriptKind::Blocking(offset.unwrap_or(0)),
                    "potentially_blocking" => ScriptKind::AsSoonAsPossible,
                    _ => ScriptKind::InOrder,
                };
                if !sent.is_preload {
                    self.scripts.insert(object, by_tag.unwrap_or(by_blocking));
                }
            }
            _ => {}
        }
    }
}

/// Whether a request holds up the load event (HTML, "delay the load event"; Chromium's
/// `Resource::ShouldBlockLoadEvent`).
fn needed(sent: &SentRequest) -> Needed {
    match sent.resource_type.as_str() {
        "Document" | "Stylesheet" | "Script" | "Image" | "Font" if !sent.is_preload => Needed::WhenFound,
        _ => Needed::Never,
    }
}
