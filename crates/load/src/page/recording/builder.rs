//! From what happened on a page's threads to its graph.

use super::frame::{Frame, ScriptKind};
use super::markup::Markup;
use super::trace::{Note, NoteKind, PageThread, SentRequest, Task, Unit, UnitKind, Via};
use super::{Delays, RecordedObject};
use crate::page::change::registrable_domain;
use crate::page::file::{ComputeSpec, DocumentSpec, Need, Needed, On, PageFile, Scheduling, Why};
use crate::page::har;
use std::collections::{BTreeMap, BTreeSet};

/// Work of less processor time is added to what comes next, in microseconds.
const SMALL: f64 = 500.0;
/// How long after a script what it asked for may be seen, in microseconds.
const NEAR: f64 = 20_000.0;
/// How long after an answer to a script a promise's reaction is still taken to be its, in microseconds.
const REACTION: f64 = 50_000.0;
/// The partition of frames from other sites than the page's own (Chromium's `NetworkAnonymizationKey`).
const FOREIGN: &str = "cross-site";
/// The longest that a callback waits for a frame to be drawn, in ms.
const FRAME_MS: f64 = 1000.0 / 60.0;

/// A graph that is being made.
pub(super) struct Builder<'r> {
    pub(super) file: PageFile,
    objects: &'r [RecordedObject],
    documents: &'r BTreeMap<String, Vec<u8>>,
    delays: Delays,
    /// By the names of frames.
    frames: BTreeMap<String, Frame>,
    /// The object of the document that is to come into each frame.
    coming: BTreeMap<String, usize>,
    scripts: BTreeMap<usize, ScriptKind>,
    /// What style sheets and modules import.
    imports: BTreeMap<usize, Vec<usize>>,
    is_sent: Vec<bool>,
    /// Whether it is known what they waited for.
    is_placed: Vec<bool>,
    ran: Vec<ScriptRun>,
    has_run: Vec<bool>,
    kinds: Vec<String>,
    /// Timers and callbacks that were set: by which node, and how long after its beginning.
    timers: BTreeMap<String, (Need, f64)>,
    callbacks: BTreeMap<String, (Need, f64)>,
    /// The last answers to scripts, and the last objects that were complete: when, and which moment of them.
    answer: Option<(f64, Need)>,
    complete: Option<(usize, f64)>,
    load_event: Option<(f64, String)>,
    is_main: bool,
    /// Processor time that no node has yet, in microseconds.
    loose: f64,
    /// The last node, and the last one of the task.
    last: Option<String>,
    last_of_task: Option<String>,
    /// The last node of parsing or of a script, and the last one of style and layout.
    last_cause: Option<String>,
    last_render: Option<String>,
    count: usize,
}

/// A node in which scripts ran.
struct ScriptRun {
    from: f64,
    until: f64,
    node: String,
    scripts: BTreeSet<String>,
}

impl<'r> Builder<'r> {
    /// Nothing is known yet of how the objects of `file` hang together.
    pub(super) fn new(
        file: PageFile,
        objects: &'r [RecordedObject],
        documents: &'r BTreeMap<String, Vec<u8>>,
        delays: Delays,
    ) -> Builder<'r> {
        let count = objects.len();
        Builder {
            file: PageFile { scheduling: Scheduling::Chromium, ..file },
            objects,
            documents,
            delays,
            frames: BTreeMap::new(),
            coming: BTreeMap::new(),
            scripts: BTreeMap::new(),
            imports: BTreeMap::new(),
            is_sent: vec![false; count],
            is_placed: vec![false; count],
            ran: Vec::new(),
            has_run: vec![false; count],
            kinds: vec![String::new(); count],
            timers: BTreeMap::new(),
            callbacks: BTreeMap::new(),
            answer: None,
            complete: None,
            load_event: None,
            is_main: true,
            loose: 0.0,
            last: None,
            last_of_task: None,
            last_cause: None,
            last_render: None,
            count: 0,
        }
    }

    /// Follows what happened on a thread.
    pub(super) fn follow(&mut self, thread: &PageThread) {
        self.is_main = thread.is_main;
        (self.loose, self.last, self.last_cause, self.last_render) = (0.0, None, None, None);
        (self.answer, self.complete) = (None, None);
        for Task { units } in &thread.tasks {
            self.last_of_task = None;
            for unit in units {
                self.unit(unit);
            }
        }
        let open: Vec<String> =
            self.frames.iter().filter(|(_, f)| f.parsed.is_none()).map(|(k, _)| k.clone()).collect();
        open.iter().for_each(|frame| self.finish_parsing(frame));
    }

    fn unit(&mut self, unit: &Unit) {
        if self.frames.is_empty() && !is_commit(unit) {
            // Of the page there is nothing yet.
            return unit.notes.iter().for_each(|note| self.note_coming(note));
        }
        match &unit.kind {
            UnitKind::Commit | UnitKind::Other if is_commit(unit) => self.commit(unit),
            UnitKind::Parse { frame } => self.parse(unit, frame),
            UnitKind::Evaluate { url, line, column } => self.evaluate(unit, url, *line, *column),
            UnitKind::Module => self.module(unit),
            kind if kind.is_script() => self.callback(unit),
            _ => self.work(unit),
        }
    }

    /// A document is about to come into a frame.
    fn note_coming(&mut self, note: &Note) {
        if let NoteKind::Sent(sent) = &note.what
            && let Some(object) = self.find(&sent.request, &sent.url, true)
        {
            self.is_sent[object] = true;
            self.kinds[object].clone_from(&sent.resource_type);
            self.coming.insert(sent.frame.clone(), object);
        }
    }

    // --- documents ---

    fn commit(&mut self, unit: &Unit) {
        let committed = unit.notes.iter().find_map(|note| match &note.what {
            NoteKind::Committed { frame, url } if url.starts_with("http") => Some((frame.clone(), url)),
            _ => None,
        });
        let Some((frame, url)) = committed else { return };
        let coming = self.coming.get(&frame).copied().or_else(|| self.find("", url, true));
        let Some(document) = coming else { return };
        let is_root = document == self.root();
        let came = Need { on: On::Bytes, bytes: Some(1), ms: self.delays.commit_ms, ..self.fetched(document) };
        let needed = if is_root { Needed::Always } else { Needed::WhenFound };
        let (name, lead) = self.node("commit", &self.name(document), "parse", unit.cpu, vec![came], needed);
        let markup = self.documents.get(&self.objects[document].request).map(|bytes| Markup::new(bytes));
        let mut of = Frame::new(document, markup, name.clone(), is_root);
        let is_inner = |object: &RecordedObject| object.is_document && object.initiator == self.objects[document].url;
        let inner = self.objects.iter().enumerate().filter(|(at, object)| *at != document && is_inner(object));
        of.inner = inner.filter_map(|(at, object)| Some((of.offset(object.place)?, at))).collect();
        self.frames.insert(frame, of);
        self.notes(unit, &name, lead);
    }

    /// The place of the document that is shown.
    fn root(&self) -> usize {
        self.objects.iter().position(|object| object.is_root).unwrap_or(0)
    }

    fn parse(&mut self, unit: &Unit, frame: &str) {
        if !self.frames.contains_key(frame) {
            return self.work(unit);
        }
        let mut done = 0.0;
        for note in &unit.notes {
            match &note.what {
                NoteKind::Sent(sent) if sent.via == Via::Parser && self.frames.contains_key(&sent.frame) => {
                    self.frame(frame).parsing += note.cpu - done;
                    done = note.cpu;
                    let offset = self.frame(frame).offset(sent.place);
                    self.parse_to(frame, offset);
                    let chain = self.frame(frame).chain.clone();
                    self.sent(sent, note.at, Need { why: Some(Why::Markup), ..after(&chain) });
                }
                NoteKind::Interactive { frame: of } if of == frame => {
                    self.frame(frame).parsing += note.cpu - done;
                    done = note.cpu;
                    self.finish_parsing(frame);
                }
                _ => {
                    let commit = self.frame(frame).commit.clone();
                    self.note(note, &commit, unit.cpu, 0.0);
                }
            }
        }
        let rest = (unit.cpu - done).max(0.0);
        match self.frame(frame) {
            of if of.parsed.is_none() => of.parsing += rest,
            _ => self.loose += rest,
        }
    }

    fn frame(&mut self, name: &str) -> &mut Frame {
        self.frames.get_mut(name).expect("only frames that are known are asked for")
    }

    /// The parser has come to a byte of a document, or to one that is not known. On the way it has inserted the body and
    /// elements of frames, each a piece with its share of the work.
    fn parse_to(&mut self, frame: &str, offset: Option<usize>) {
        let of = self.frame(frame);
        let (reached, to) = (of.reached, offset.unwrap_or(of.reached));
        let body = of.markup.as_ref().and_then(Markup::body).filter(|_| of.body.is_none());
        let mut stops: Vec<(usize, Option<usize>)> = of.inner.iter().map(|(at, object)| (*at, Some(*object))).collect();
        stops.extend(body.map(|body| (body, None)));
        stops.retain(|(at, _)| (reached + 1..=to).contains(at));
        stops.sort_unstable();
        for (at, inner) in stops {
            let of = self.frame(frame);
            let rest = (to - of.reached).max(1) as f64;
            let share = of.parsing * (at.saturating_sub(of.reached)) as f64 / rest;
            let left = of.parsing - share;
            of.parsing = share;
            if at > of.reached {
                self.piece(frame, Some(at));
            }
            self.frame(frame).parsing += left;
            match inner {
                Some(object) => self.insert_frame(frame, object),
                None => self.frame(frame).body = Some(self.frame(frame).chain.clone()),
            }
        }
        if offset.is_none_or(|offset| offset > self.frame(frame).reached) || self.frame(frame).pieces == 0 {
            self.piece(frame, offset);
        }
    }

    /// The parser has inserted the element of a frame, whose document is asked for then.
    fn insert_frame(&mut self, frame: &str, object: usize) {
        let of = self.frame(frame);
        of.inner.retain(|(_, inner)| *inner != object);
        let (chain, document, place) = (of.chain.clone(), of.document, self.objects[object].place);
        let mut needs = vec![Need { why: Some(Why::Markup), ..after(&chain) }];
        if let Some(offset) = self.frame(frame).offset(place) {
            needs.push(self.found(frame, document, offset));
        }
        (self.is_sent[object], self.is_placed[object]) = (true, true);
        self.kinds[object] = "Document".to_owned();
        self.file.objects[object].needed = Some(Needed::WhenFound);
        self.file.objects[object].needs = Some(delayed(needs, self.delays.request_ms));
    }

    /// Makes a node of what has been parsed.
    fn piece(&mut self, frame: &str, offset: Option<usize>) {
        let of = self.frame(frame);
        let (document, chain, cpu) = (of.document, of.chain.clone(), of.parsing);
        (of.parsing, of.pieces) = (0.0, of.pieces + 1);
        let number = of.pieces;
        of.reached = offset.unwrap_or(of.reached).max(of.reached);
        let needed = if of.is_root { Needed::Always } else { Needed::WhenFound };
        let mut needs = vec![Need { why: Some(Why::Parser), ..after(&chain) }];
        if let Some(offset) = offset {
            needs.push(self.found(frame, document, offset));
        }
        let what = format!("{number} of {}", self.name(document));
        let (name, _) = self.node("parse", &what, "parse", cpu, needs, needed);
        self.frame(frame).chain = name;
    }

    /// That a byte of a document is there.
    fn found(&mut self, frame: &str, document: usize, offset: usize) -> Need {
        let bytes = self.file.objects[document].bytes;
        let bytes = Some(self.frame(frame).wire(offset, bytes));
        Need { on: On::Bytes, bytes, why: Some(Why::Markup), ..self.fetched(document) }
    }

    /// All of a document is parsed.
    fn finish_parsing(&mut self, frame: &str) {
        let of = self.frame(frame);
        if of.parsed.is_some() {
            return;
        }
        let document = of.document;
        let end = of.markup.as_ref().map(Markup::len);
        self.parse_to(frame, end);
        let whole = self.fetched(document);
        let of = self.frames.get_mut(frame).expect("it was looked up");
        of.parsed = Some(of.chain.clone());
        of.body.get_or_insert_with(|| of.chain.clone());
        let name = of.chain.clone();
        let last = self.file.compute.iter_mut().rfind(|node| node.name == name);
        if let Some(needs) = last.and_then(|node| node.needs.as_mut()) {
            needs.retain(|need| need.on != On::Bytes);
            needs.push(Need { why: Some(Why::Markup), ..whole });
        }
    }

    // --- scripts ---

    fn evaluate(&mut self, unit: &Unit, url: &str, line: u32, column: u32) {
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
    fn script_kind(&self, script: usize) -> (ScriptKind, Option<String>) {
        let kind = self.scripts.get(&script).copied();
        let document = self.file.objects[script].document.as_deref();
        let of = |frame: &&String| document.is_some_and(|name| name == self.name(self.frames[*frame].document));
        let frame = self.frames.keys().find(of).cloned();
        (kind.unwrap_or(ScriptKind::AsSoonAsPossible), frame)
    }

    /// A script for which the parser stops: external, or inline.
    fn blocking(&mut self, unit: &Unit, frame: &str, script: Option<usize>, offset: Option<usize>) {
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
    fn in_order(&mut self, unit: &Unit, frame: &str, script: Option<usize>) {
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
    fn module(&mut self, unit: &Unit) {
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
    fn run(&mut self, unit: &Unit, what: &str, needs: Vec<Need>, needed: Needed) {
        let (name, lead) = self.node("run", what, "script", unit.cpu, needs, needed);
        self.note_run(unit, &name);
        self.notes(unit, &name, lead);
    }

    /// A script and all that it imports are there.
    fn with_imports(&self, script: usize, why: Why) -> Vec<Need> {
        let need = |object: usize| Need {
            why: Some(if object == script { why } else { Why::Import }),
            ..self.fetched(object)
        };
        self.closure(&[script]).into_iter().map(need).collect()
    }

    fn sheets(&self, sheets: &[usize]) -> Vec<Need> {
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

    // --- callbacks and other work ---

    fn callback(&mut self, unit: &Unit) {
        if unit.notes.iter().any(|note| self.is_load_event(note)) || self.precedes_load_event(unit) {
            return self.load_event(unit);
        }
        let before = self.last_of_task.clone();
        let set = match &unit.kind {
            UnitKind::Timer { id } => self.timers.get(id).map(|(need, _)| need.clone()),
            UnitKind::AnimationFrame { id } | UnitKind::Idle { id } => self
                .callbacks
                .get(id)
                .map(|(need, at)| Need { timer_ms: ((unit.at - at) / 1e3).clamp(0.0, FRAME_MS), ..need.clone() }),
            UnitKind::Xhr { url } => {
                self.find("", url, false).map(|object| Need { why: Some(Why::Event), ..self.fetched(object) })
            }
            UnitKind::Event { kind, frame } if kind == "DOMContentLoaded" => self.content_loaded(Some(frame)),
            _ if before.is_some() => None,
            UnitKind::Event { .. } => {
                self.complete.map(|(object, _)| Need { why: Some(Why::Event), ..self.fetched(object) })
            }
            _ => self.answer.clone().filter(|(at, _)| unit.at - at < REACTION).map(|(_, need)| need),
        };
        let cause = set.or_else(|| before.or(self.last_cause.clone()).map(|before| after(&before)));
        self.count += 1;
        let (what, number) = (callback_name(&unit.kind), self.count.to_string());
        let (name, lead) = self.node(what, &number, what, unit.cpu, cause.into_iter().collect(), Needed::Never);
        self.note_run(unit, &name);
        self.notes(unit, &name, lead);
    }

    /// The event after parsing and the scripts that run in order then, of a frame's document or of the page's own.
    fn content_loaded(&self, frame: Option<&str>) -> Option<Need> {
        let root = || self.frames.values().find(|frame| frame.is_root);
        let of = frame.and_then(|frame| self.frames.get(frame)).or_else(root)?;
        let before = of.in_order.as_ref().or(of.parsed.as_ref())?;
        Some(Need { why: Some(Why::Event), ..after(before) })
    }

    fn is_load_event(&self, note: &Note) -> bool {
        matches!(&note.what, NoteKind::Loaded { frame } if self.frames.get(frame).is_some_and(|frame| frame.is_root))
    }

    fn precedes_load_event(&self, unit: &Unit) -> bool {
        let is_load = matches!(&unit.kind, UnitKind::Event { kind, .. } if kind == "load");
        is_load && self.delays.load_event.is_some_and(|(from, to)| (from..=to).contains(&unit.at))
    }

    /// What listens to the load event.
    fn load_event(&mut self, unit: &Unit) {
        let needs = self.content_loaded(None).into_iter().collect();
        let (name, lead) = self.node("load event", "", "event", unit.cpu, needs, Needed::Never);
        self.load_event = Some((unit.at, name.clone()));
        self.note_run(unit, &name);
        self.notes(unit, &name, lead);
    }

    /// The load event comes when all that holds it up is there.
    fn hold_load_event(&mut self) {
        let Some((at, name)) = self.load_event.clone() else { return };
        let holds = |(object, spec): (usize, &crate::page::ObjectSpec)| {
            let is_held = object > 0 && spec.needed == Some(Needed::WhenFound) && self.objects[object].ended <= at;
            is_held.then_some(object)
        };
        let held: Vec<usize> = self.file.objects.iter().enumerate().filter_map(holds).collect();
        let needs: Vec<Need> =
            held.into_iter().map(|object| Need { why: Some(Why::Event), ..self.fetched(object) }).collect();
        let node = self.file.compute.iter_mut().find(|node| node.name == name);
        if let Some(of) = node.and_then(|node| node.needs.as_mut()) {
            of.extend(needs);
        }
    }

    /// What is neither parsing nor a script.
    fn work(&mut self, unit: &Unit) {
        let finished: Vec<usize> = unit
            .notes
            .iter()
            .filter_map(|note| match &note.what {
                NoteKind::Finished { request, .. } => self.find(request, "", true),
                _ => None,
            })
            .collect();
        let is_sending = unit.notes.iter().any(|note| matches!(note.what, NoteKind::Sent(_)));
        if !finished.is_empty() {
            return self.receive(unit, &finished);
        }
        if unit.cpu < SMALL && !is_sending {
            self.loose += unit.cpu;
            return unit.notes.iter().for_each(|note| self.note_quietly(note));
        }
        let (what, cause) = match unit.kind {
            UnitKind::Rendering => ("render", self.rendered()),
            _ => ("work", self.last.clone().map(|last| after(&last)).into_iter().collect()),
        };
        self.count += 1;
        let (number, kind) = (self.count.to_string(), if what == "render" { "layout" } else { "other" });
        let (name, lead) = self.node(what, &number, kind, unit.cpu, cause, Needed::Never);
        self.notes(unit, &name, lead);
    }

    /// What style and layout wait for: the style sheets before the body, and the body; later, for what has changed.
    fn rendered(&self) -> Vec<Need> {
        if let Some(before) = &self.last_render {
            let changed = self.last_cause.iter().map(|cause| after(cause));
            return changed.chain([after(before)]).collect();
        }
        let Some(root) = self.frames.values().find(|frame| frame.is_root) else { return Vec::new() };
        let sheets: Vec<usize> = root.sheets.iter().map(|(_, object)| *object).collect();
        let body = root.body.as_ref().or(self.last_cause.as_ref());
        let mut needs = self.sheets(&sheets);
        needs.extend(body.map(|body| Need { why: Some(Why::Parser), ..after(body) }));
        needs
    }

    /// The renderer takes what has arrived.
    fn receive(&mut self, unit: &Unit, finished: &[usize]) {
        let share = unit.cpu / finished.len() as f64;
        for object in finished {
            let needed = self.file.objects[*object].needed.filter(|needed| *needed == Needed::WhenFound);
            let needs = vec![Need { why: Some(Why::Fetched), ..self.fetched(*object) }];
            self.count += 1;
            let what = format!("{} of {}", self.count, self.name(*object));
            self.node("receive", &what, "other", share, needs, needed.unwrap_or(Needed::Never));
        }
        let name = self.last.clone().unwrap_or_default();
        self.notes(unit, &name, 0.0);
    }

    fn note_run(&mut self, unit: &Unit, name: &str) {
        let (from, until, node, scripts) = (unit.at, unit.until, name.to_owned(), unit.scripts.clone());
        self.ran.push(ScriptRun { from, until, node, scripts });
    }

    /// Chromium's cache lets one request for a URL go at a time.
    fn queue_in_cache(&mut self) {
        let mut last: BTreeMap<(&str, Option<String>), usize> = BTreeMap::new();
        for object in 1..self.objects.len() {
            let spec = &self.file.objects[object];
            if spec.method.is_some() || self.objects[object].is_redirected {
                continue;
            }
            let key = (self.objects[object].url.as_str(), spec.partition.clone());
            if let Some(before) = last.insert(key, object) {
                let need = Need { why: Some(Why::Cache), ..after(&self.name(before)) };
                self.file.objects[object].needs.get_or_insert_default().push(need);
            }
        }
    }

    /// The last run before an object was found of the script that called for it; else what ran just then.
    fn run_for(&self, object: usize) -> Option<&ScriptRun> {
        let RecordedObject { began, callers, .. } = &self.objects[object];
        let before = || self.ran.iter().filter(|run| run.from <= *began);
        let latest = |a: &&ScriptRun, b: &&ScriptRun| a.from.total_cmp(&b.from);
        let calls = |run: &&ScriptRun| callers.first().is_some_and(|caller| run.scripts.contains(caller));
        let by_caller = before().filter(calls).max_by(latest);
        by_caller.or_else(|| before().filter(|run| *began <= run.until + NEAR).max_by(latest))
    }

    /// Requests of frames from other sites are in a partition of their own, and those without credentials apart.
    fn place_in_partitions(&mut self) {
        let site = |url: &str| registrable_domain(&har::url::parts(url).0).to_owned();
        let own = site(&self.objects[self.root()].url);
        let places: BTreeMap<String, usize> =
            (0..self.objects.len()).map(|object| (self.name(object), object)).collect();
        for object in 1..self.objects.len() {
            let by = self.file.objects[object].document.as_ref().and_then(|document| places.get(document));
            let frame = if self.kinds[object] == "Document" { Some(&object) } else { by };
            let is_foreign = frame.is_some_and(|frame| site(&self.objects[*frame].url) != own);
            let spec = &mut self.file.objects[object];
            spec.partition = is_foreign.then(|| FOREIGN.to_owned());
            spec.anonymous = self.objects[object].is_anonymous;
        }
    }

    /// Places what no thread of the page asked for, as far as is known: after the script that ran then.
    pub(super) fn place_strays(&mut self) {
        let root = self.root();
        for object in (1..self.objects.len()).filter(|object| *object != root) {
            let is_by_script = matches!(self.file.objects[object].kind.as_deref(), Some("xhr" | "media" | "json"));
            if !self.is_sent[object] {
                let needed = if is_by_script { Needed::Never } else { Needed::WhenFound };
                self.file.objects[object].needed = Some(needed);
            }
            if self.is_placed[object] || self.objects[object].is_redirected {
                continue;
            }
            let at = self.objects[object].began;
            if let Some(ScriptRun { from, until, node, .. }) = self.run_for(object) {
                let ms = (at.min(*until) - from) / 1e3 + self.delays.request_ms;
                let need = Need { on: On::Start, ms: round(ms), why: Some(Why::Script), ..after(node) };
                self.file.objects[object].needs = Some(vec![need]);
            }
            if self.load_event.as_ref().is_some_and(|(event, _)| at > *event) {
                self.file.objects[object].needed = Some(Needed::Never);
            }
        }
        self.place_in_partitions();
        self.queue_in_cache();
        self.hold_load_event();
    }

    // --- what happened in units ---

    fn notes(&mut self, unit: &Unit, name: &str, lead: f64) {
        unit.notes.iter().for_each(|note| self.note(note, name, unit.cpu, lead));
    }

    /// What happened in a node, that is `lead` longer than its unit.
    fn note(&mut self, note: &Note, name: &str, cpu: f64, lead: f64) {
        let since = Need { on: On::Start, ms: (lead + note.cpu.min(cpu)) / 1e3, ..after(name) };
        match &note.what {
            NoteKind::Sent(sent) => {
                let why = match sent.via {
                    Via::Script => Why::Script,
                    Via::Rendering | Via::StyleSheet => Why::Style,
                    Via::Parser | Via::Scanner => Why::Markup,
                    Via::Other => Why::Event,
                };
                self.sent(sent, note.at, Need { why: Some(why), ..since });
            }
            NoteKind::TimerSet { id, timeout } => {
                let need = Need { timer_ms: *timeout, why: Some(Why::Timer), ..since };
                self.timers.insert(id.clone(), (need, note.at));
            }
            NoteKind::CallbackSet { id } => {
                self.callbacks.insert(id.clone(), (Need { why: Some(Why::Timer), ..since }, note.at));
            }
            _ => self.note_quietly(note),
        }
    }

    /// What is of interest also where there is no node.
    fn note_quietly(&mut self, note: &Note) {
        match &note.what {
            NoteKind::Responded { request, .. } => {
                if let Some(object) =
                    self.find(request, "", true).filter(|object| is_asked_by_scripts(&self.kinds[*object]))
                {
                    let need = Need {
                        on: On::Bytes,
                        bytes: Some(1),
                        ms: self.delays.response_ms,
                        why: Some(Why::Event),
                        ..self.fetched(object)
                    };
                    self.answer = Some((note.at, need));
                }
            }
            NoteKind::Finished { request, .. } => {
                let Some(object) = self.find(request, "", true) else { return };
                self.complete = Some((object, note.at));
                if is_asked_by_scripts(&self.kinds[object]) {
                    self.answer = Some((note.at, Need { why: Some(Why::Event), ..self.fetched(object) }));
                }
            }
            NoteKind::Interactive { frame } if self.frames.contains_key(frame) => self.finish_parsing(frame),
            _ => {}
        }
    }

    /// A request was made, with a cause as the trace has it.
    fn sent(&mut self, sent: &SentRequest, at: f64, cause: Need) {
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
    fn causes(&mut self, sent: &SentRequest, object: usize, cause: Need) -> Vec<Need> {
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
    fn markup_kind(&mut self, sent: &SentRequest, object: usize, frame: &str, offset: Option<usize>) {
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

    // --- nodes ---

    /// Adds a node; its name, and by how many microseconds it begins before its unit.
    fn node(&mut self, what: &str, of: &str, kind: &str, cpu: f64, needs: Vec<Need>, needed: Needed) -> (String, f64) {
        let lead = std::mem::take(&mut self.loose);
        let base = if of.is_empty() { what.to_owned() } else { format!("{what} {of}") };
        let taken = |name: &String| self.file.compute.iter().any(|node| node.name == *name);
        let name = std::iter::once(base.clone()).chain((2..).map(|number| format!("{base} #{number}")));
        let name = name.filter(|name| !taken(name)).next().expect("there is no end of numbers");
        self.file.compute.push(ComputeSpec {
            name: name.clone(),
            ms: round((lead + cpu) / 1e3),
            needs: Some(needs),
            kind: Some(kind.to_owned()),
            main_thread: self.is_main,
            needed: (needed != Needed::Never).then_some(needed),
        });
        (self.last, self.last_of_task) = (Some(name.clone()), Some(name.clone()));
        match kind {
            "layout" => self.last_render = Some(name.clone()),
            "other" => {}
            _ => self.last_cause = Some(name.clone()),
        }
        (name, lead)
    }

    /// That an object is complete, and the renderer knows.
    fn fetched(&self, object: usize) -> Need {
        Need { ms: self.delays.response_ms, why: Some(Why::Fetched), ..after(&self.name(object)) }
    }

    fn name(&self, object: usize) -> String {
        self.file.objects[object].node().to_owned()
    }

    /// The object of a request, or of a URL: the first that was not sent yet, or else the last.
    fn find(&self, request: &str, url: &str, sent: bool) -> Option<usize> {
        let is_it = |at: &usize| {
            let object = &self.objects[*at];
            (request.is_empty() || object.request == request) && (url.is_empty() || object.url == without_fragment(url))
        };
        if request.is_empty() && url.is_empty() {
            return None;
        }
        let all = || (0..self.objects.len()).filter(is_it);
        if sent { all().last() } else { all().find(|at| !self.is_sent[*at]).or_else(|| all().last()) }
    }

    /// Ends: the graph.
    pub(super) fn into_file(mut self) -> PageFile {
        for frame in self.frames.values() {
            let body = frame.body.clone().unwrap_or_else(|| frame.chain.clone());
            let document = self.file.objects[frame.document].node().to_owned();
            self.file.documents.insert(document, DocumentSpec { body });
        }
        self.file
    }
}

/// Whether a document comes into a frame.
fn is_commit(unit: &Unit) -> bool {
    unit.notes.iter().any(|note| matches!(&note.what, NoteKind::Committed { url, .. } if url.starts_with("http")))
}

fn after(node: &str) -> Need {
    Need { node: node.to_owned(), ..Need::default() }
}

/// The same, with what passes before the network has the request.
fn delayed(mut needs: Vec<Need>, ms: f64) -> Vec<Need> {
    needs.iter_mut().for_each(|need| need.ms = round(need.ms + ms));
    needs
}

/// To a microsecond: what the recording knows.
fn round(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}

fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or_default()
}

fn callback_name(kind: &UnitKind) -> &'static str {
    match kind {
        UnitKind::Timer { .. } => "timer",
        UnitKind::AnimationFrame { .. } => "frame",
        UnitKind::Idle { .. } => "idle",
        UnitKind::Xhr { .. } | UnitKind::Event { .. } => "event",
        _ => "callback",
    }
}

fn is_asked_by_scripts(kind: &str) -> bool {
    kind == "Fetch"
}

/// Whether a request holds up the load event (HTML, "delay the load event"; Chromium's
/// `Resource::ShouldBlockLoadEvent`).
fn needed(sent: &SentRequest) -> Needed {
    match sent.resource_type.as_str() {
        "Document" | "Stylesheet" | "Script" | "Image" | "Font" if !sent.is_preload => Needed::WhenFound,
        _ => Needed::Never,
    }
}
