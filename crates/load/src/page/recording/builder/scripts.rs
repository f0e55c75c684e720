//! When scripts run (HTML, section 4.12.1).

use super::{Builder, after};
use crate::page::file::{Need, Needed, Why};
use crate::page::recording::frame::ScriptKind;
use crate::page::recording::trace::Unit;

impl Builder<'_> {
    pub(super) fn evaluate(&mut self, unit: &Unit, url: &str, line: u32, column: u32) {
        let inline =
            self.frames.iter().find(|(_, frame)| self.objects[frame.document].url == url && frame.parsed.is_none());
        if let Some((frame, of)) = inline {
            let begins = of.markup.as_ref().and_then(|markup| markup.offset(line - 1, column - 1));
            let ends = begins.and_then(|begins| of.markup.as_ref().map(|markup| markup.script_end(begins)));
            let frame = frame.clone();
            return self.blocking(unit, &frame, None, ends);
        }
        let run =
            (0..self.objects.len()).find(|at| !self.has_run[*at] && self.is_sent[*at] && self.objects[*at].url == url);
        let Some(script) = run else { return self.callback(unit) };
        self.has_run[script] = true;
        match self.script_kind(script) {
            (ScriptKind::Blocking(at), Some(frame)) => self.blocking(unit, &frame, Some(script), Some(at)),
            (ScriptKind::InOrder, Some(frame)) => self.in_order(unit, &frame, Some(script)),
            _ => {
                let needs = self.with_imports(script, Why::Fetched);
                self.run(unit, &self.name(script), needs, Needed::WhenFound);
            }
        }
    }

    /// When a script runs, and the frame in whose document it stands.
    pub(super) fn script_kind(&self, script: usize) -> (ScriptKind, Option<String>) {
        let kind = self.scripts.get(&script).copied();
        let document = self.file.objects[script].document.as_deref();
        let of = |frame: &&String| document.is_some_and(|name| name == self.name(self.frames[*frame].document));
        let frame = self.frames.keys().find(of).cloned();
        (kind.unwrap_or(ScriptKind::AsSoonAsPossible), frame)
    }

    /// A script for which the parser stops: external, or inline.
    pub(super) fn blocking(&mut self, unit: &Unit, frame: &str, script: Option<usize>, offset: Option<usize>) {
        if self.frame(frame).parsed.is_some() {
            let needs = script.map_or_else(Vec::new, |script| vec![self.fetched(script)]);
            return self.run(unit, "late script", needs, Needed::WhenFound);
        }
        self.parse_to(frame, offset);
        let of = self.frame(frame);
        let (chain, needed) = (of.chain.clone(), if of.is_root { Needed::Always } else { Needed::WhenFound });
        let sheets: Vec<usize> = of.sheets_before(offset.unwrap_or(usize::MAX)).collect();
        let (document, number) = (of.document, of.pieces);
        let mut needs = vec![Need { why: Some(Why::Parser), ..after(&chain) }];
        needs.extend(script.map(|script| self.fetched(script)));
        needs.extend(self.sheets(&sheets));
        let what = match script {
            Some(script) => self.name(script),
            None => format!("inline {number} of {}", self.name(document)),
        };
        self.run(unit, &what, needs, needed);
        if let Some(name) = self.last.clone() {
            self.frame(frame).chain = name;
        }
    }

    /// A script that runs after parsing, after those before it.
    pub(super) fn in_order(&mut self, unit: &Unit, frame: &str, script: Option<usize>) {
        self.finish_parsing(frame);
        let of = self.frame(frame);
        let before = of.in_order.clone().or(of.parsed.clone());
        let needed = if of.is_root { Needed::Always } else { Needed::WhenFound };
        let sheets: Vec<usize> = of.sheets_before(usize::MAX).collect();
        let document = of.document;
        let mut needs: Vec<Need> =
            before.map(|before| Need { why: Some(Why::Order), ..after(&before) }).into_iter().collect();
        needs.extend(script.into_iter().flat_map(|script| self.with_imports(script, Why::Fetched)));
        needs.extend(self.sheets(&sheets));
        let what = script.map_or_else(|| format!("module of {}", self.name(document)), |script| self.name(script));
        self.run(unit, &what, needs, needed);
        self.frame(frame).in_order = self.last.clone();
    }

    /// A module is run of which the trace does not say which: the next in order that is there, else one that runs as soon
    /// as possible, else one that stands in a document.
    pub(super) fn module(&mut self, unit: &Unit) {
        let is_module = |at: &usize| {
            !self.has_run[*at] && self.is_sent[*at] && self.kinds[*at] == "Script" && self.objects[*at].ended <= unit.at
        };
        let of_kind =
            |kind: ScriptKind| (0..self.objects.len()).filter(is_module).find(|at| self.scripts.get(at) == Some(&kind));
        let next = of_kind(ScriptKind::InOrder).or_else(|| of_kind(ScriptKind::AsSoonAsPossible));
        if let Some(script) = next {
            self.has_run[script] = true;
            return match self.script_kind(script) {
                (ScriptKind::InOrder, Some(frame)) => self.in_order(unit, &frame, Some(script)),
                _ => {
                    let needs = self.with_imports(script, Why::Fetched);
                    self.run(unit, &self.name(script), needs, Needed::WhenFound);
                }
            };
        }
        let frame = self.frames.iter().find(|(_, frame)| frame.is_root).map(|(name, _)| name.clone());
        match frame {
            Some(frame) => self.in_order(unit, &frame, None),
            None => self.callback(unit),
        }
    }

    /// A script runs when all this has happened.
    pub(super) fn run(&mut self, unit: &Unit, what: &str, needs: Vec<Need>, needed: Needed) {
        let (name, lead) = self.node("run", what, "script", unit.cpu, needs, needed);
        self.note_run(unit, &name);
        self.notes(unit, &name, lead);
    }

    /// A script and all that it imports are there.
    pub(super) fn with_imports(&self, script: usize, why: Why) -> Vec<Need> {
        let need = |object: usize| Need {
            why: Some(if object == script { why } else { Why::Import }),
            ..self.fetched(object)
        };
        self.closure(&[script]).into_iter().map(need).collect()
    }

    pub(super) fn sheets(&self, sheets: &[usize]) -> Vec<Need> {
        let need = |object: usize| Need { why: Some(Why::StyleSheet), ..self.fetched(object) };
        self.closure(sheets).into_iter().map(need).collect()
    }

    /// Objects with all that they import.
    pub(super) fn closure(&self, of: &[usize]) -> Vec<usize> {
        let mut all: Vec<usize> = of.to_vec();
        let mut next = 0;
        while next < all.len() {
            for import in self.imports.get(&all[next]).into_iter().flatten() {
                if !all.contains(import) {
                    all.push(*import);
                }
            }
            next += 1;
        }
        all
    }
}
