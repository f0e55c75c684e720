//! From what happened on a page's threads to its graph.

mod first_frame;
mod moments;
mod parser;
mod preconnects;
mod requests;
mod scripts;
mod strays;
mod tasks;

use super::Delays;
use super::frame::{FrameDocument, ScriptKind};
use super::trace::{Note, NoteKind, PageThread, ShownFrame, ThreadKind, Unit, UnitKind, Via};
use crate::page::file::{ComputeSpec, DocumentSpec, Need, Needed, On, PageFile, RequestScheduling, Why};
use crate::page::markup::Markup;
use crate::page::recorded_object::RecordedObject;
use moments::DrawnFrame;
use std::collections::{BTreeMap, BTreeSet};

/// Work that takes less is added to what comes next, in microseconds.
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
pub(super) struct GraphBuilder<'r> {
    pub(super) file: PageFile,
    objects: &'r [RecordedObject],
    /// Of documents, style sheets and scripts, by the numbers of their requests.
    texts: &'r BTreeMap<String, Vec<u8>>,
    delays: Delays,
    /// By the names of frames.
    frames: BTreeMap<String, FrameDocument>,
    /// The object of the document that is to come into each frame.
    coming: BTreeMap<String, usize>,
    /// When each frame began to load a document, and what did that.
    navigations: BTreeMap<String, Vec<(f64, Need)>>,
    /// The frames for which documents were asked.
    asking: BTreeMap<usize, String>,
    scripts: BTreeMap<usize, ScriptKind>,
    /// Scripts that scripts have inserted, in order.
    inserted: Vec<usize>,
    /// The URLs of lazy images.
    lazy: BTreeSet<String>,
    /// What was asked for ahead of time.
    preloaded: BTreeSet<usize>,
    /// Scripts that are modules.
    modules: BTreeSet<usize>,
    /// In which node each script ran.
    runs: BTreeMap<usize, String>,
    /// What style sheets and modules import.
    imports: BTreeMap<usize, Vec<usize>>,
    /// Where the redirects from each object have led.
    hops: Vec<usize>,
    is_sent: Vec<bool>,
    /// Whether it is known what they waited for.
    is_placed: Vec<bool>,
    ran: Vec<ScriptRun>,
    has_run: Vec<bool>,
    kinds: Vec<String>,
    /// Timers and callbacks that were set: by which node, and how long after its beginning.
    timers: BTreeMap<String, (Need, f64)>,
    callbacks: BTreeMap<String, (Need, f64)>,
    /// The last answer to a script: when, and which moment of it; and the last other object that was complete.
    answer: Option<(f64, Need)>,
    complete: Option<usize>,
    load_event: Option<(f64, String)>,
    thread: ThreadKind,
    /// Whether there is something of the page on the thread.
    has_begun: bool,
    /// How long work took that no node has yet, in microseconds.
    loose: f64,
    /// The last node, and the last one of the task.
    last: Option<String>,
    last_of_task: Option<String>,
    /// The last node of parsing or of a script, and the last one of style and layout.
    last_cause: Option<String>,
    last_render: Option<String>,
    /// What ran first since then.
    first_change: Option<String>,
    /// Fonts that have come since.
    new_fonts: Vec<usize>,
    /// The first one, and the fonts that keep it waiting.
    first_render: Option<String>,
    fonts: Vec<usize>,
    /// All layouts, each thread's in order.
    frames_drawn: Vec<DrawnFrame>,
    /// The frames of the page's own thread that were shown.
    shown: Vec<ShownFrame>,
    count: usize,
}

/// A node in which scripts ran.
struct ScriptRun {
    from: f64,
    until: f64,
    node: String,
    scripts: BTreeSet<String>,
}

impl<'r> GraphBuilder<'r> {
    /// Nothing is known yet of how the objects of `file` hang together.
    pub(super) fn new(
        file: PageFile,
        objects: &'r [RecordedObject],
        texts: &'r BTreeMap<String, Vec<u8>>,
        delays: Delays,
    ) -> GraphBuilder<'r> {
        let count = objects.len();
        GraphBuilder {
            // What a HAR alone says of computing is a guess.
            file: PageFile { scheduling: RequestScheduling::Chromium, compute: Vec::new(), ..file },
            objects,
            texts,
            delays,
            frames: BTreeMap::new(),
            coming: BTreeMap::new(),
            navigations: BTreeMap::new(),
            asking: BTreeMap::new(),
            scripts: BTreeMap::new(),
            inserted: Vec::new(),
            lazy: BTreeSet::new(),
            preloaded: BTreeSet::new(),
            modules: BTreeSet::new(),
            runs: BTreeMap::new(),
            imports: BTreeMap::new(),
            hops: last_hops(objects),
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
            thread: ThreadKind::Main,
            has_begun: false,
            loose: 0.0,
            last: None,
            last_of_task: None,
            last_cause: None,
            last_render: None,
            first_change: None,
            new_fonts: Vec::new(),
            first_render: None,
            fonts: Vec::new(),
            frames_drawn: Vec::new(),
            shown: Vec::new(),
            count: 0,
        }
    }

    /// Follows what happened on a thread.
    pub(super) fn follow(&mut self, thread: &PageThread) {
        self.thread = thread.kind;
        self.has_begun = thread.kind == ThreadKind::Worker;
        if thread.kind == ThreadKind::Main {
            self.shown.clone_from(&thread.shown);
        }
        (self.loose, self.last, self.last_cause, self.last_render) = (0.0, None, None, None);
        self.first_change = None;
        (self.answer, self.complete) = (None, None);
        // Their numbers are the thread's.
        self.timers.clear();
        self.callbacks.clear();
        for task in &thread.tasks {
            self.last_of_task = None;
            let load_event = self.load_event_in(task);
            for (at, unit) in task.units.iter().enumerate() {
                if load_event == Some(at) { self.load_event(unit) } else { self.unit(unit) }
            }
        }
        let open: Vec<String> =
            self.frames.iter().filter(|(_, f)| f.parsed.is_none()).map(|(k, _)| k.clone()).collect();
        open.iter().for_each(|frame| self.finish_parsing(frame));
        // What was left at the end.
        let loose = std::mem::take(&mut self.loose);
        if let Some(last) = self.file.compute.last_mut().filter(|_| self.last.is_some()) {
            last.ms = round(last.ms + loose / 1e3);
        }
    }

    fn unit(&mut self, unit: &Unit) {
        self.has_begun |= is_commit(unit);
        if !self.has_begun {
            // Of the page there is nothing yet.
            return unit.notes.iter().for_each(|note| self.note_coming(note));
        }
        match &unit.kind {
            UnitKind::Other if is_commit(unit) => self.commit(unit),
            UnitKind::Parse { frame } => self.parse(unit, frame),
            UnitKind::Evaluate(code) => self.evaluate(unit, code),
            UnitKind::Module => self.module(unit),
            kind if kind.is_script() => self.callback(unit),
            _ => self.work(unit),
        }
    }

    /// A document is about to come into a frame.
    fn note_coming(&mut self, note: &Note) {
        if let NoteKind::Sent(sent) = &note.what
            && sent.resource_type == "Document"
            && let Some(object) = self.find(&sent.request, &sent.url, true)
        {
            self.is_sent[object] = true;
            self.kinds[object].clone_from(&sent.resource_type);
            self.coming.insert(sent.frame.clone(), object);
            self.asking.insert(object, sent.frame.clone());
        }
    }

    fn commit(&mut self, unit: &Unit) {
        let committed = unit.notes.iter().find_map(|note| match &note.what {
            NoteKind::Committed { frame, url } if url.starts_with("http") => Some((frame.clone(), url)),
            _ => None,
        });
        let Some((frame, url)) = committed else { return self.loose += unit.took() };
        let coming = self.coming.get(&frame).copied().or_else(|| self.find("", url, true));
        let Some(document) = coming else { return self.loose += unit.took() };
        let is_root = document == self.root();
        let came = Need { on: On::Bytes, bytes: Some(1), ms: self.delays.commit_ms, ..self.fetched(document) };
        let needed = if is_root { Needed::Always } else { Needed::WhenFound };
        let (name, lead) = self.node("commit", &self.name(document), "parse", unit.took(), vec![came], needed);
        let markup = self.texts.get(&self.objects[document].request).map(|bytes| Markup::new(bytes));
        let mut of = FrameDocument::new(document, markup, name.clone(), is_root);
        let is_inner = |object: &RecordedObject| object.is_document && object.initiator == self.objects[document].url;
        let inner = self.objects.iter().enumerate().filter(|(at, object)| *at != document && is_inner(object));
        of.inner = inner.filter_map(|(at, object)| Some((of.found(object.place, &object.url)?, at))).collect();
        self.frames.insert(frame.clone(), of);
        self.notes(unit, &name, lead);
        self.preconnect(&frame);
    }

    /// The place of the document that is shown.
    fn root(&self) -> usize {
        self.objects.iter().position(|object| object.is_root).unwrap_or(0)
    }

    fn frame(&mut self, name: &str) -> &mut FrameDocument {
        self.frames.get_mut(name).expect("only frames that are known are asked for")
    }

    fn note_run(&mut self, unit: &Unit, name: &str) {
        let (from, until, node, scripts) = (unit.at, unit.until, name.to_owned(), unit.scripts.clone());
        self.ran.push(ScriptRun { from, until, node, scripts });
    }

    fn notes(&mut self, unit: &Unit, name: &str, lead: f64) {
        for note in &unit.notes {
            // The process into which a document comes says once more that its frame loads one.
            if unit.kind.is_script() || !matches!(note.what, NoteKind::Navigated { .. }) {
                self.note(note, name, unit.took(), lead);
            }
        }
    }

    /// What happened in a node, that is `lead` longer than its unit.
    fn note(&mut self, note: &Note, name: &str, took: f64, lead: f64) {
        let since = Need { on: On::Start, ms: (lead + note.since.min(took)) / 1e3, ..after(name) };
        match &note.what {
            NoteKind::Sent(sent) => {
                let why = match sent.via {
                    Via::Script | Via::Written | Via::Microtask => Why::Script,
                    Via::Rendering | Via::StyleSheet => Why::Style,
                    Via::Parser | Via::Scanner => Why::Markup,
                    Via::Other => Why::Event,
                };
                self.sent(sent, Need { why: Some(why), ..since });
            }
            NoteKind::Reprioritized { request, class } => self.raise(request, class, since),
            NoteKind::TimerSet { id, timeout } => {
                let need = Need { timer_ms: *timeout, why: Some(Why::Timer), ..since };
                self.timers.insert(id.clone(), (need, note.at));
            }
            NoteKind::CallbackSet { id } => {
                self.callbacks.insert(id.clone(), (Need { why: Some(Why::Timer), ..since }, note.at));
            }
            NoteKind::Navigated { frame } => {
                let need = Need { why: Some(Why::Script), ..since };
                self.navigations.entry(frame.clone()).or_default().push((note.at, need));
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
                if is_asked_by_scripts(&self.kinds[object]) {
                    self.answer = Some((note.at, Need { why: Some(Why::Event), ..self.fetched(object) }));
                } else if object != self.root() {
                    self.complete = Some(object);
                    if self.kinds[object] == "Font" {
                        self.new_fonts.push(object);
                    }
                }
            }
            NoteKind::Compiled(code) => self.note_module(code),
            NoteKind::PaintedLazily { url } => drop(self.lazy.insert(without_fragment(url).to_owned())),
            NoteKind::Interactive { frame } if self.frames.contains_key(frame) => self.finish_parsing(frame),
            _ => {}
        }
    }

    /// Adds a node; its name, and by how many microseconds it begins before its unit.
    fn node(&mut self, what: &str, of: &str, kind: &str, took: f64, needs: Vec<Need>, needed: Needed) -> (String, f64) {
        let lead = std::mem::take(&mut self.loose);
        let base = if of.is_empty() { what.to_owned() } else { format!("{what} {of}") };
        let taken = |name: &String| self.file.compute.iter().any(|node| node.name == *name);
        let mut names = std::iter::once(base.clone()).chain((2..).map(|number| format!("{base} #{number}")));
        let name = names.find(|name| !taken(name)).expect("there is no end of numbers");
        self.file.compute.push(ComputeSpec {
            name: name.clone(),
            ms: round((lead + took) / 1e3),
            needs: Some(needs),
            kind: Some(kind.to_owned()),
            main_thread: self.thread == ThreadKind::Main,
            needed: (needed != Needed::Never).then_some(needed),
            ..ComputeSpec::default()
        });
        (self.last, self.last_of_task) = (Some(name.clone()), Some(name.clone()));
        match kind {
            "layout" | "other" => {}
            _ => {
                self.last_cause = Some(name.clone());
                self.first_change.get_or_insert_with(|| name.clone());
            }
        }
        (name, lead)
    }

    /// That an object is complete, wherever its redirects have led, and the renderer knows.
    fn fetched(&self, object: usize) -> Need {
        Need { ms: self.delays.response_ms, why: Some(Why::Fetched), ..after(&self.name(self.last_hop(object))) }
    }

    /// Where the redirects from an object have led.
    fn last_hop(&self, object: usize) -> usize {
        self.hops[object]
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
        if sent { all().next_back() } else { all().find(|at| !self.is_sent[*at]).or_else(|| all().next_back()) }
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

/// Where the redirects from each object have led: they keep the number of the request.
fn last_hops(objects: &[RecordedObject]) -> Vec<usize> {
    let last: BTreeMap<&str, usize> =
        objects.iter().enumerate().map(|(at, object)| (object.request.as_str(), at)).collect();
    let of = |(at, object): (usize, &RecordedObject)| {
        last.get(object.request.as_str()).copied().filter(|_| !object.request.is_empty()).unwrap_or(at)
    };
    objects.iter().enumerate().map(of).collect()
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

fn is_asked_by_scripts(kind: &str) -> bool {
    kind == "Fetch"
}
