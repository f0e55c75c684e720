//! What requests wait for.

use super::{GraphBuilder, after, delayed, without_fragment};
use crate::page::file::{ComputeSpec, Need, Needed, RaiseSpec, Why};
use crate::page::har::fetched::urgency;
use crate::page::recording::frame::ScriptKind;
use crate::page::recording::selector::{self, Element};
use crate::page::recording::trace::{SentRequest, ThreadKind, Via};

impl GraphBuilder<'_> {
    /// A request was made, with a cause as the trace has it.
    pub(super) fn sent(&mut self, sent: &SentRequest, cause: Need) {
        let Some(object) = self.find(&sent.request, &sent.url, false) else { return };
        if sent.resource_type == "Document" {
            self.coming.insert(sent.frame.clone(), object);
            self.asking.insert(object, sent.frame.clone());
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
        self.file.objects[object].needed = Some(match self.thread {
            ThreadKind::Worker => Needed::Never,
            _ => needed(sent),
        });
        if self.objects[object].is_redirected {
            return;
        }
        if sent.resource_type == "Document" {
            // The trace says when it came, not when it was asked for.
            return;
        }
        if sent.resource_type == "Image"
            && let Some(frame) = self.frames.get(&sent.frame)
            && frame.used(&sent.url).is_some_and(|(_, tag)| tag.is_lazy())
        {
            self.lazy.insert(self.objects[object].url.clone());
        }
        if sent.resource_type == "Font" && sent.via != Via::Rendering && self.has_no_body(&sent.frame) {
            self.fonts.push(self.last_hop(object));
        }
        self.is_placed[object] = true;
        let needs = self.causes(sent, object, cause);
        self.file.objects[object].needs = Some(needs);
    }

    /// Whether the body of the page's own document is still to come.
    fn has_no_body(&self, frame: &str) -> bool {
        self.frames.get(frame).is_some_and(|frame| frame.is_root && frame.body.is_none())
    }

    /// A request becomes more urgent: what it loads has turned out to be in the view.
    pub(super) fn raise(&mut self, request: &str, class: &str, since: Need) {
        // Of redirects, the one that was sent last by then.
        let is_under_way = |at: &usize| self.objects[*at].request == request && self.is_sent[*at];
        let under_way = (0..self.objects.len()).rfind(is_under_way);
        let (Some(object), Some(urgency)) = (under_way, urgency(class)) else { return };
        let spec = &mut self.file.objects[object];
        if spec.raised.is_some() || spec.urgency.is_none_or(|before| before <= urgency) {
            return;
        }
        let name = format!("priority of {}", spec.node());
        spec.raised = Some(RaiseSpec { urgency, with: name.clone() });
        let needs = Some(vec![Need { why: Some(Why::Style), ..since }]);
        self.file.compute.push(ComputeSpec {
            name,
            needs,
            kind: Some("priority".to_owned()),
            ..ComputeSpec::default()
        });
    }

    /// What a request waited for.
    fn causes(&mut self, sent: &SentRequest, object: usize, cause: Need) -> Vec<Need> {
        let delay = self.objects[object].request_ms;
        let by = self.asker(sent).filter(|by| *by != object);
        let frame = Some(sent.frame.as_str()).filter(|frame| self.frames.contains_key(*frame));
        let needs = match (sent.via, frame) {
            (Via::Parser | Via::Scanner, Some(frame)) if sent.place.is_some() => {
                self.found_in_markup(sent, object, frame, cause)
            }
            (Via::Microtask, Some(frame)) if !sent.is_by_script => self.found_by_element(sent, frame, cause),
            (Via::StyleSheet, _) => match by.filter(|by| self.kinds[*by] != "Document") {
                Some(parent) => {
                    self.import(parent, object);
                    vec![Need { why: Some(Why::Style), ..self.fetched(parent) }]
                }
                None => vec![cause],
            },
            (Via::Rendering, _) => self.found_by_style(sent, by, frame, cause),
            (Via::Other, _) if sent.resource_type == "Script" => self.found_by_module(sent, object, by, frame, cause),
            (Via::Written | Via::Script, _) if sent.resource_type == "Script" => {
                self.inserted_kind(sent, object, frame);
                self.free_import(sent, object);
                vec![cause]
            }
            _ => vec![cause],
        };
        delayed(needs, delay)
    }

    /// The document, style sheet or script that is said to have asked: of several with its URL the one of the same
    /// document, and none that something else than the page has fetched.
    fn asker(&self, sent: &SentRequest) -> Option<usize> {
        let url = without_fragment(&sent.initiator);
        let document = self.frames.get(&sent.frame).map(|frame| self.name(frame.document));
        let all = || (0..self.objects.len()).filter(|at| self.objects[*at].url == url);
        let is_of = |at: &usize| self.is_sent[*at] && document.is_some() && self.file.objects[*at].document == document;
        let found = all().find(is_of).or_else(|| all().rfind(|at| self.is_sent[*at]));
        found.or_else(|| all().next())
    }

    /// The parser has found it, or the scanner ahead of the parser.
    fn found_in_markup(&mut self, sent: &SentRequest, object: usize, frame: &str, cause: Need) -> Vec<Need> {
        let of = self.frame(frame);
        let (offset, document) = (of.found(sent.place, &sent.url), of.document);
        self.markup_kind(sent, object, frame, offset);
        let Some(offset) = offset else { return vec![cause] };
        let cause = match sent.via {
            Via::Parser => Need { node: self.parsed_to(frame, offset), ..cause },
            _ => cause,
        };
        vec![self.found(frame, document, offset), cause]
    }

    /// An element has asked for it when scripts had ended: by the parser, or once it is near the view.
    fn found_by_element(&mut self, sent: &SentRequest, frame: &str, cause: Need) -> Vec<Need> {
        let of = self.frame(frame);
        let document = of.document;
        let Some((offset, tag)) = of.used(&sent.url) else { return vec![cause] };
        let is_lazy = tag.is_lazy();
        let parsed = self.parsed_to(frame, offset);
        let mut needs = vec![self.found(frame, document, offset), Need { why: Some(Why::Markup), ..after(&parsed) }];
        if is_lazy {
            needs.extend(self.first_render.as_ref().map(|render| Need { why: Some(Why::Style), ..after(render) }));
        }
        needs
    }

    /// Style or layout needs it: for an element, as far as that can be said, and for a font there has to be text.
    fn found_by_style(
        &mut self,
        sent: &SentRequest,
        sheet: Option<usize>,
        frame: Option<&str>,
        cause: Need,
    ) -> Vec<Need> {
        let sheet = sheet.filter(|by| self.kinds[*by] != "Document").map(|sheet| self.last_hop(sheet));
        let mut needs: Vec<Need> =
            sheet.map(|sheet| Need { why: Some(Why::Style), ..self.fetched(sheet) }).into_iter().collect();
        match frame.map_or(Element::Unknown, |frame| self.styled(sent, sheet, frame)) {
            Element::Written(end) => {
                let parsed = self.parsed_to(&sent.frame, end);
                needs.push(Need { why: Some(Why::Markup), ..after(&parsed) });
            }
            Element::Made => {
                needs.extend(self.ran.last().map(|run| Need { why: Some(Why::Script), ..after(&run.node) }));
            }
            Element::Unknown => {}
        }
        needs.push(cause);
        needs
    }

    /// The element of a document for which a style needs something.
    fn styled(&self, sent: &SentRequest, sheet: Option<usize>, frame: &str) -> Element {
        let Some(markup) = &self.frames[frame].markup else { return Element::Unknown };
        let written = |end: Option<usize>| end.map_or(Element::Unknown, Element::Written);
        if sent.resource_type == "Font" {
            return written(markup.first_text());
        }
        let Some(sheet) = sheet else {
            let own = markup.naming(&sent.url).next().map(|(end, _)| end);
            return own.map_or_else(|| selector::first_element(markup.text(), &sent.url, markup), Element::Written);
        };
        let text = self.texts.get(&self.objects[sheet].request);
        let first = |text: &Vec<u8>| selector::first_element(&String::from_utf8_lossy(text), &sent.url, markup);
        text.map_or(Element::Unknown, first)
    }

    /// A module imports it, that was fetched or stands in a document.
    fn found_by_module(
        &mut self,
        sent: &SentRequest,
        object: usize,
        by: Option<usize>,
        frame: Option<&str>,
        cause: Need,
    ) -> Vec<Need> {
        if let Some(parent) = by.filter(|by| self.kinds[*by] == "Script") {
            self.import(parent, object);
            self.scripts.insert(self.last_hop(object), ScriptKind::Imported);
            if self.is_free(parent) {
                self.file.objects[object].needed = Some(Needed::Never);
            }
            return vec![Need { why: Some(Why::Import), ..self.fetched(parent) }];
        }
        let Some(frame) = frame else { return vec![cause] };
        let last = self.last_hop(object);
        let of = self.frame(frame);
        let document = of.document;
        let Some(number) = of.offset(sent.caller).and_then(|at| of.module_at(at)) else {
            self.free_import(sent, object);
            return vec![cause];
        };
        of.modules[number].imports.push(last);
        let ends = of.modules[number].ends;
        self.scripts.insert(last, ScriptKind::Imported);
        let parsed = self.parsed_to(frame, ends);
        vec![self.found(frame, document, ends), Need { why: Some(Why::Import), ..after(&parsed) }]
    }

    /// What `import()` asks for holds up no load event: inserted scripts do, and are not urgent.
    fn free_import(&mut self, sent: &SentRequest, object: usize) {
        if sent.is_by_script && sent.is_urgent && sent.render_blocking == "non_blocking" && !sent.is_preload {
            self.file.objects[object].needed = Some(Needed::Never);
        }
    }

    /// Whether no load event waits for a script.
    pub(super) fn is_free(&self, script: usize) -> bool {
        self.file.objects[script].needed == Some(Needed::Never) && !self.preloaded.contains(&self.last_hop(script))
    }

    /// When a script runs that a script has inserted, or written into the document.
    fn inserted_kind(&mut self, sent: &SentRequest, object: usize, frame: Option<&str>) {
        let last = self.last_hop(object);
        if sent.is_preload {
            self.preloaded.insert(last);
        } else if let (Via::Written, true, Some(frame)) = (sent.via, blocks(sent), frame) {
            let at = self.frame(frame).reached;
            self.scripts.insert(last, ScriptKind::Blocking(at));
        } else {
            self.inserted.push(last);
        }
    }

    /// What the markup says of a script or style sheet that was found in it.
    fn markup_kind(&mut self, sent: &SentRequest, object: usize, frame: &str, offset: Option<usize>) {
        let object = self.last_hop(object);
        if sent.is_preload {
            self.preloaded.insert(object);
            return self.use_in_markup(sent, object, frame);
        }
        match sent.resource_type.as_str() {
            "Stylesheet" if blocks(sent) => {
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
                    _ => ScriptKind::InOrder(offset.unwrap_or(0)),
                };
                self.scripts.insert(object, by_tag.unwrap_or(by_blocking));
            }
            _ => {}
        }
    }

    /// What is preloaded, and used by an element of the document as well, is as if that had asked for it.
    fn use_in_markup(&mut self, sent: &SentRequest, object: usize, frame: &str) {
        let Some((end, tag)) = self.frames[frame].used(&sent.url) else { return };
        let blocks_scripts = tag.is("link") && tag.attribute("media").is_none();
        if sent.resource_type != "Script" {
            self.file.objects[object].needed = Some(Needed::WhenFound);
        }
        if sent.resource_type == "Stylesheet" && blocks_scripts {
            self.frame(frame).sheets.push((end, object));
        }
    }
}

/// Whether the parser, or what is shown, waits for it.
fn blocks(sent: &SentRequest) -> bool {
    matches!(sent.render_blocking.as_str(), "blocking" | "in_body_parser_blocking")
}

/// Whether a request holds up the load event (HTML, "delay the load event"; Chromium's
/// `Resource::ShouldBlockLoadEvent`).
fn needed(sent: &SentRequest) -> Needed {
    match sent.resource_type.as_str() {
        "Document" | "Stylesheet" | "Script" | "Image" | "Font" if !sent.is_preload => Needed::WhenFound,
        _ => Needed::Never,
    }
}
