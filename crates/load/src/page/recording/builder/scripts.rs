//! When scripts run (HTML, section 4.12.1).

use super::{GraphBuilder, after};
use crate::page::file::{Need, Needed, Why};
use crate::page::markup::refers;
use crate::page::recording::frame::{FrameDocument, ScriptKind};
use crate::page::recording::imports;
use crate::page::recording::trace::{Code, ThreadKind, Unit};

impl GraphBuilder<'_> {
    pub(super) fn evaluate(&mut self, unit: &Unit, code: &Code) {
        let is_open = |frame: &str| self.frames[frame].parsed.is_none();
        if let Some(frame) = self.frame_of(code).filter(|frame| is_open(frame)) {
            let of = &self.frames[&frame];
            let begins = of.markup.as_ref().and_then(|markup| markup.offset(code.line - 1, code.column - 1));
            let ends = begins.and_then(|begins| of.markup.as_ref().map(|markup| markup.script_end(begins)));
            self.blocking(unit, &frame, None, ends);
            if let (Some(begins), Some(ends), Some(node)) = (begins, ends, self.last.clone()) {
                self.frame(&frame).inline.push((begins, ends, node));
            }
            return;
        }
        let is_here = |at: &usize| self.is_sent[*at] || self.thread == ThreadKind::Worker;
        let is_it = |at: &usize| !self.has_run[*at] && is_here(at) && self.objects[*at].url == code.url;
        let Some(script) = (0..self.objects.len()).find(is_it) else { return self.callback(unit) };
        self.has_run[script] = true;
        let script = self.last_hop(script);
        self.has_run[script] = true;
        if self.thread == ThreadKind::Worker {
            return self.run_in_worker(unit, script);
        }
        self.use_preloaded(script);
        match self.script_kind(script) {
            (ScriptKind::Blocking(at), Some(frame)) => self.blocking(unit, &frame, Some(script), Some(at)),
            (ScriptKind::InOrder(at), Some(frame)) => self.in_order(unit, &frame, Some(script), at, &[]),
            (kind, frame) => self.unordered(unit, script, kind, frame.as_deref()),
        }
    }

    /// The frame in whose document code stands.
    pub(super) fn frame_of(&self, code: &Code) -> Option<String> {
        let is_it = |frame: &usize| self.objects[*frame].url == code.url;
        let of = |open: bool| {
            self.frames.iter().find(|(_, frame)| is_it(&frame.document) && (!open || frame.parsed.is_none()))
        };
        of(true).or_else(|| of(false)).map(|(name, _)| name.clone())
    }

    /// The node in which code ran that has defined a function.
    pub(super) fn defined_by(&self, code: &Code) -> Option<String> {
        let Some(frame) = self.frame_of(code) else {
            let of = (0..self.objects.len()).rfind(|at| self.objects[*at].url == code.url)?;
            return self.runs.get(&self.last_hop(of)).cloned();
        };
        let of = &self.frames[&frame];
        let at = of.markup.as_ref()?.offset(code.line - 1, code.column - 1)?;
        let inline = of.inline.iter().find(|(begins, ends, _)| (*begins..=*ends).contains(&at));
        inline.map(|(_, _, node)| node.clone())
    }

    /// When a script runs, and the frame in whose document it stands.
    fn script_kind(&self, script: usize) -> (ScriptKind, Option<String>) {
        let document = self.file.objects[script].document.as_deref();
        let of = |frame: &&String| document.is_some_and(|name| name == self.name(self.frames[*frame].document));
        let frame = self.frames.keys().find(of).cloned();
        let by_markup = || {
            let (end, tag) = self.frames[frame.as_ref()?].used(&self.objects[script].url)?;
            ScriptKind::of(tag, end).filter(|_| self.preloaded.contains(&script))
        };
        let kind = self.scripts.get(&script).copied().or_else(by_markup);
        (kind.unwrap_or(ScriptKind::AsSoonAsPossible), frame)
    }

    /// What was preloaded and is used now holds up the load event.
    fn use_preloaded(&mut self, script: usize) {
        for one in self.closure(&[script]) {
            if self.preloaded.contains(&one) {
                self.file.objects[one].needed = Some(Needed::WhenFound);
            }
        }
    }

    /// A script for which the parser stops: external, or inline.
    fn blocking(&mut self, unit: &Unit, frame: &str, script: Option<usize>, offset: Option<usize>) {
        if self.frame(frame).parsed.is_some() {
            let needs = script.map_or_else(Vec::new, |script| vec![self.fetched(script)]);
            let what = script.map_or_else(|| "late script".to_owned(), |script| self.name(script));
            return self.run(unit, script, &what, needs, Needed::WhenFound);
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
        self.run(unit, script, &what, needs, needed);
        if let Some(name) = self.last.clone() {
            self.frame(frame).chain = name;
        }
    }

    /// A script that runs after parsing, after those before it: what is fetched and stands before a byte, or an inline
    /// module, with what it imports.
    fn in_order(&mut self, unit: &Unit, frame: &str, script: Option<usize>, at: usize, imports: &[usize]) {
        self.finish_parsing(frame);
        let of = self.frame(frame);
        let before = of.in_order.clone().or(of.parsed.clone());
        let needed = if of.is_root { Needed::Always } else { Needed::WhenFound };
        let sheets: Vec<usize> = of.sheets_before(usize::MAX).collect();
        let document = of.document;
        let mut needs: Vec<Need> =
            before.map(|before| Need { why: Some(Why::Order), ..after(&before) }).into_iter().collect();
        needs.extend(script.into_iter().flat_map(|script| self.with_imports(script, Why::Fetched)));
        let imported = |object| Need { why: Some(Why::Import), ..self.fetched(object) };
        needs.extend(self.closure(imports).into_iter().map(imported));
        needs.extend(self.missing_before(document, at, unit.at));
        needs.extend(self.sheets(&sheets));
        let what = script.map_or_else(|| format!("module of {}", self.name(document)), |script| self.name(script));
        self.run(unit, script, &what, needs, needed);
        self.frame(frame).in_order = self.last.clone();
    }

    /// Scripts that were to run in order before a byte of a document, and never do: they had to come all the same.
    fn missing_before(&self, document: usize, at: usize, now: f64) -> Vec<Need> {
        let document = self.name(document);
        let is_missing = |(script, kind): (&usize, &ScriptKind)| {
            let is_before = matches!(kind, ScriptKind::InOrder(place) if *place < at);
            let is_here = self.file.objects[*script].document.as_ref() == Some(&document);
            (is_before && is_here && !self.has_run[*script] && self.objects[*script].ended <= now).then_some(*script)
        };
        let missing = self.scripts.iter().filter_map(is_missing);
        missing.map(|script| Need { why: Some(Why::Order), ..self.fetched(script) }).collect()
    }

    /// A script that runs when it is there: one with `async` once the parser has come to it, too; one that a script has
    /// inserted, after those of before that it was told to follow.
    fn unordered(&mut self, unit: &Unit, script: usize, kind: ScriptKind, frame: Option<&str>) {
        let mut needs = self.with_imports(script, Why::Fetched);
        match (kind, frame) {
            (ScriptKind::Async(at), Some(frame)) => {
                let parsed = self.parsed_to(frame, at);
                needs.push(Need { why: Some(Why::Parser), ..after(&parsed) });
            }
            (ScriptKind::AsSoonAsPossible, _) => {
                let earlier = self.inserted_before(script);
                needs.extend(earlier.map(|run| Need { why: Some(Why::Order), ..after(&run) }));
                if self.preloaded.contains(&script) {
                    // What was there already runs right after the script that wants it.
                    let latest = self.ran.iter().rfind(|run| run.until <= unit.at);
                    let latest = latest.filter(|run| self.objects[script].ended <= run.until);
                    needs.extend(latest.map(|run| Need { why: Some(Why::Script), ..after(&run.node) }));
                }
            }
            _ => {}
        }
        let needed = if self.is_free(script) { Needed::Never } else { Needed::WhenFound };
        self.run(unit, Some(script), &self.name(script), needs, needed);
    }

    /// The run of the script for which one that was inserted later has waited, since it was there before it: those whose
    /// `async` is false run in the order in which they were inserted.
    fn inserted_before(&self, script: usize) -> Option<String> {
        let place = self.inserted.iter().position(|one| *one == script)?;
        let document = &self.file.objects[script].document;
        let has_waited = |one: &&usize| {
            self.file.objects[**one].document == *document
                && self.has_run[**one]
                && self.objects[**one].ended > self.objects[script].ended
        };
        let before = self.inserted[..place].iter().rfind(has_waited)?;
        self.runs.get(before).cloned()
    }

    /// A worker's script, or one that it imports, for which it waits.
    fn run_in_worker(&mut self, unit: &Unit, script: usize) {
        self.is_sent[script] = true;
        self.file.objects[script].needed = Some(Needed::Never);
        let mut needs = vec![self.fetched(script)];
        needs.extend(self.last_of_task.as_ref().map(|before| Need { why: Some(Why::Script), ..after(before) }));
        self.run(unit, Some(script), &self.name(script), needs, Needed::Never);
    }

    /// A script runs when all this has happened.
    pub(super) fn run(&mut self, unit: &Unit, script: Option<usize>, what: &str, needs: Vec<Need>, needed: Needed) {
        let (name, lead) = self.node("run", what, "script", unit.took(), needs, needed);
        if let Some(script) = script {
            self.runs.insert(script, name.clone());
        }
        self.note_run(unit, &name);
        self.notes(unit, &name, lead);
    }

    // --- modules ---

    /// A module is run, with what it imports; the trace does not say which: the next in order that is there, else one
    /// that does not wait for others.
    pub(super) fn module(&mut self, unit: &Unit) {
        let next = self.next_in_order(unit.at).or_else(|| self.next_unordered(unit.at));
        match next {
            Some(Next::Fetched(script)) => {
                self.has_run[script] = true;
                self.use_preloaded(script);
                match self.script_kind(script) {
                    (ScriptKind::InOrder(at), Some(frame)) => self.in_order(unit, &frame, Some(script), at, &[]),
                    (kind, frame) => self.unordered(unit, script, kind, frame.as_deref()),
                }
            }
            Some(Next::Inline(frame, number)) => self.inline_module(unit, &frame, number),
            None => self.callback(unit),
        }
    }

    fn inline_module(&mut self, unit: &Unit, frame: &str, number: usize) {
        let module = &mut self.frame(frame).modules[number];
        module.has_run = true;
        let (begins, ends, is_async, imports) = (module.begins, module.ends, module.is_async, module.imports.clone());
        if is_async {
            let parsed = self.parsed_to(frame, ends);
            let imported = |object| Need { why: Some(Why::Import), ..self.fetched(object) };
            let mut needs: Vec<Need> = self.closure(&imports).into_iter().map(imported).collect();
            needs.push(Need { why: Some(Why::Parser), ..after(&parsed) });
            let what = format!("module of {}", self.name(self.frames[frame].document));
            self.run(unit, None, &what, needs, Needed::WhenFound);
        } else {
            self.in_order(unit, frame, None, begins, &imports);
        }
        imports.iter().for_each(|import| self.use_preloaded(*import));
        if let Some(node) = self.last.clone() {
            self.frame(frame).inline.push((begins, ends, node));
        }
    }

    /// The first module of a document, by its place, that has not run and whose imports are there.
    fn next_in_order(&self, now: f64) -> Option<Next> {
        let of_frame = |(name, frame): (&String, &FrameDocument)| {
            frame.parsed.as_ref()?;
            let document = self.name(frame.document);
            let fetched = self.waiting_modules().filter_map(|script| {
                let is_here = self.file.objects[script].document.as_ref() == Some(&document);
                match self.script_kind(script).0 {
                    ScriptKind::InOrder(at) if is_here => Some((at, Next::Fetched(script))),
                    _ => None,
                }
            });
            let inline = frame.modules.iter().enumerate().filter(|(_, module)| !module.is_async && !module.has_run);
            let inline = inline.map(|(number, module)| (module.begins, Next::Inline(name.clone(), number)));
            fetched.chain(inline).min_by_key(|(at, _)| *at).map(|(_, next)| next)
        };
        self.frames.iter().filter_map(of_frame).find(|next| self.is_there(next, now))
    }

    fn next_unordered(&self, now: f64) -> Option<Next> {
        let is_wanted = |script: &usize| match self.script_kind(*script).0 {
            ScriptKind::Async(_) => true,
            ScriptKind::AsSoonAsPossible => !self.preloaded.contains(script),
            _ => false,
        };
        let fetched = self.waiting_modules().filter(is_wanted).map(Next::Fetched);
        let inline = self.frames.iter().flat_map(|(name, frame)| {
            let waiting = frame.modules.iter().enumerate().filter(|(_, module)| module.is_async && !module.has_run);
            waiting.map(|(number, _)| Next::Inline(name.clone(), number))
        });
        fetched.chain(inline).find(|next| self.is_there(next, now))
    }

    fn waiting_modules(&self) -> impl Iterator<Item = usize> {
        self.modules.iter().copied().filter(|script| !self.has_run[*script])
    }

    fn is_there(&self, next: &Next, now: f64) -> bool {
        let all = match next {
            Next::Fetched(script) => self.closure(&[*script]),
            Next::Inline(frame, number) => self.closure(&self.frames[frame].modules[*number].imports),
        };
        all.into_iter().all(|script| self.objects[script].ended <= now)
    }

    /// A module is there: what it names and was asked for already, it imports.
    pub(super) fn note_module(&mut self, code: &Code) {
        let sent = |at: &usize| self.is_sent[*at] && self.objects[*at].url == code.url && self.kinds[*at] == "Script";
        let Some(module) = (0..self.objects.len()).rfind(sent).map(|at| self.last_hop(at)) else { return };
        self.modules.insert(module);
        let Some(text) = self.texts.get(&self.objects[module].request) else { return };
        let text = String::from_utf8_lossy(text).into_owned();
        for name in imports::names(&text).filter(|name| name.contains('/')) {
            let is_it = |at: &usize| {
                *at != module
                    && self.is_sent[*at]
                    && self.kinds[*at] == "Script"
                    && refers(name, &self.objects[*at].url)
            };
            if let Some(import) = (0..self.objects.len()).find(is_it) {
                self.import(module, import);
                self.scripts.entry(self.last_hop(import)).or_insert(ScriptKind::Imported);
            }
        }
    }

    /// Notes that one style sheet or module imports another.
    pub(super) fn import(&mut self, parent: usize, object: usize) {
        let (parent, object) = (self.last_hop(parent), self.last_hop(object));
        let all = self.imports.entry(parent).or_default();
        if !all.contains(&object) {
            all.push(object);
        }
    }

    /// A script and all that it imports are there.
    fn with_imports(&self, script: usize, why: Why) -> Vec<Need> {
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
    fn closure(&self, of: &[usize]) -> Vec<usize> {
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

/// A module that may be the next to run.
enum Next {
    Fetched(usize),
    /// In which frame's document, and which of its modules.
    Inline(String, usize),
}
