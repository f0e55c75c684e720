//! What a trace of Chromium says of a page's threads: their tasks, cut into units, and what happened in each.
//!
//! A trace is a list of slices and instants ("Trace Event Format"). Slices nest. A task is an outermost slice; what it is
//! made of are units: a stretch of parsing, a script, a timer's callback, a layout. Whatever happens inside a unit, such
//! as a request, is a note of it, at the processor time since the unit began.

mod cutter;

use crate::page::loose::{List, Maybe, Scalar, record};
use cutter::Cutter;
use serde::de::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};

/// The most events of a trace that are read.
const MAX_EVENTS: usize = 4_000_000;
/// How deep slices may nest; what is deeper belongs to what it is in.
const MAX_DEPTH: usize = 200;

record! {
    /// The file.
    TraceFile {
        events: List<TraceEvent<'a>, MAX_EVENTS> = "traceEvents",
    }
}

record! {
    /// An event.
    TraceEvent {
        name: Scalar<'a> = "name",
        phase: Scalar<'a> = "ph",
        pid: Scalar<'a> = "pid",
        tid: Scalar<'a> = "tid",
        ts: Scalar<'a> = "ts",
        dur: Scalar<'a> = "dur",
        args: Arguments<'a> = "args",
    }
}

record! {
    /// What an event says besides, in one of several places.
    EventArguments {
        data: Maybe<EventData<'a>> = "data",
        begin: Maybe<EventData<'a>> = "beginData",
        frame: Scalar<'a> = "frame",
        name: Scalar<'a> = "name",
        id: Scalar<'a> = "id",
    }
}

record! {
    /// What an event says besides.
    EventData {
        frame: Scalar<'a> = "frame",
        url: Scalar<'a> = "url",
        request: Scalar<'a> = "requestId",
        line: Scalar<'a> = "lineNumber",
        column: Scalar<'a> = "columnNumber",
        timer: Scalar<'a> = "timerId",
        timeout: Scalar<'a> = "timeout",
        id: Scalar<'a> = "id",
        sheet: Scalar<'a> = "styleSheetUrl",
        ready_state: Scalar<'a> = "readyState",
        kind: Scalar<'a> = "type",
        resource_type: Scalar<'a> = "resourceType",
        is_preload: Scalar<'a> = "isLinkPreload",
        render_blocking: Scalar<'a> = "renderBlocking",
        priority: Scalar<'a> = "priority",
        loading: Scalar<'a> = "loadingAttribute",
        is_main_frame: Scalar<'a> = "isOutermostMainFrame",
        is_top_frame: Scalar<'a> = "isMainFrame",
        initiator: Maybe<InitiatorData<'a>> = "initiator",
        timing: Maybe<TimingData<'a>> = "timing",
        finished: Scalar<'a> = "finishTime",
    }
}

record! {
    /// Who asked for a request.
    InitiatorData {
        kind: Scalar<'a> = "type",
        fetch_type: Scalar<'a> = "fetchType",
        url: Scalar<'a> = "url",
        line: Scalar<'a> = "lineNumber",
        column: Scalar<'a> = "columnNumber",
    }
}

record! {
    /// When the network service did what for a request: in s, and in ms since then.
    TimingData {
        requested: Scalar<'a> = "requestTime",
        dns_start: Scalar<'a> = "dnsStart",
        connect_start: Scalar<'a> = "connectStart",
        send_start: Scalar<'a> = "sendStart",
        headers_end: Scalar<'a> = "receiveHeadersEnd",
    }
}

/// The arguments of an event, which are read when they are of interest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arguments<'a>(Option<&'a RawValue>);

impl<'de> Deserialize<'de> for Arguments<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Arguments<'de>, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| Arguments(Some(raw)))
    }
}

impl<'a> Arguments<'a> {
    /// What an event that names a thread says.
    fn thread_name(self) -> String {
        self.parsed().name.key().unwrap_or_default().into_owned()
    }

    /// The number of the frame that an event is of.
    fn id(self) -> String {
        self.parsed().id.key().unwrap_or_default().into_owned()
    }

    fn parsed(self) -> EventArguments<'a> {
        let raw = self.0.map_or("{}", RawValue::get);
        serde_json::from_str::<Maybe<EventArguments<'a>>>(raw).unwrap_or_default().unwrap_or_default()
    }

    fn read(self) -> EventData<'a> {
        let EventArguments { data, begin, frame, .. } = self.parsed();
        let mut data = data.0.or(begin.0).unwrap_or_default();
        if data.frame == Scalar::Nothing {
            data.frame = frame;
        }
        data
    }
}

/// Who lives on a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum ThreadKind {
    /// The page's own document.
    Main,
    /// Documents of frames in another process.
    #[default]
    Frames,
    /// A worker.
    Worker,
}

/// A thread of the browser on which documents or workers of the page live.
#[derive(Debug, Default)]
pub(super) struct PageThread {
    pub(super) kind: ThreadKind,
    /// In the order of time.
    pub(super) tasks: Vec<Task>,
    /// The frames that it rendered and that were shown, in that order.
    pub(super) shown: Vec<ShownFrame>,
}

impl PageThread {
    fn of(events: &[&TraceEvent<'_>], kind: ThreadKind) -> PageThread {
        PageThread { kind, tasks: tasks(events, kind), shown: shown(events) }
    }
}

/// A frame that was shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShownFrame {
    /// When its style and layout were done, in microseconds of the trace.
    pub(super) rendered: f64,
    /// When it was on the screen.
    pub(super) shown: f64,
}

/// What the thread did at one go.
#[derive(Debug, Default)]
pub(super) struct Task {
    pub(super) units: Vec<Unit>,
}

/// A part of a task.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Unit {
    pub(super) kind: UnitKind,
    /// When it began, in microseconds of the trace.
    pub(super) at: f64,
    /// When it ended.
    pub(super) until: f64,
    /// What happened meanwhile, in the order of time.
    pub(super) notes: Vec<Note>,
    /// The scripts of which something ran.
    pub(super) scripts: BTreeSet<String>,
    /// The function that was called first.
    pub(super) code: Option<Code>,
}

impl Unit {
    /// How long it took, in microseconds.
    pub(super) fn took(&self) -> f64 {
        // Slices that overlap may end before they begin.
        (self.until - self.at).max(0.0)
    }
}

/// Where code stands: in which script or document, and its line and column there, from 1.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Code {
    pub(super) url: String,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// What a unit is.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum UnitKind {
    /// The parser works on a frame's document.
    Parse { frame: String },
    /// A script is run; its place where it stands in a document, both from 1.
    Evaluate(Code),
    /// A module script is run, with what it imports.
    Module,
    /// The callback of a timer.
    Timer { id: String },
    /// A callback before a frame is drawn.
    AnimationFrame { id: String },
    /// A callback while there is nothing else to do.
    Idle { id: String },
    /// An event of an XMLHttpRequest.
    Xhr { url: String },
    /// Listeners of an event, and the frame in which the first is.
    Event { kind: String, frame: String },
    /// A function is called, and nothing says why.
    Callback,
    /// Reactions of promises, and what else waits for the end of a task.
    Microtasks,
    /// A style sheet is parsed.
    StyleSheet,
    /// Style, layout, paint.
    Rendering,
    /// Anything else.
    Other,
}

impl UnitKind {
    /// Whether a script runs.
    pub(super) fn is_script(&self) -> bool {
        !matches!(self, UnitKind::Parse { .. } | UnitKind::StyleSheet | UnitKind::Rendering | UnitKind::Other)
    }

    /// Whether it is interrupted by units of its own of another kind.
    fn yields_to(&self, other: &UnitKind, on: ThreadKind) -> bool {
        if on == ThreadKind::Worker && matches!((self, other), (UnitKind::Evaluate(_), UnitKind::Evaluate(_))) {
            // What a worker imports: it waits for it.
            return true;
        }
        let same = std::mem::discriminant(self) == std::mem::discriminant(other);
        !self.is_script() && *self != UnitKind::StyleSheet && !(same && *other == UnitKind::Rendering)
    }
}

/// Something that happened in a unit.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Note {
    /// How long after its unit began, in microseconds.
    pub(super) since: f64,
    /// When, in microseconds of the trace.
    pub(super) at: f64,
    pub(super) what: NoteKind,
}

/// What happened.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum NoteKind {
    /// A document was committed in a frame.
    Committed { frame: String, url: String },
    /// A request was made.
    Sent(Box<SentRequest>),
    /// The head of its response came; when the network service began to do something for the request, and when it had
    /// the head, in microseconds of the trace.
    Responded { request: String, network: Option<(f64, f64)> },
    /// It is complete; when the network service had it all.
    Finished { request: String, network: Option<f64> },
    /// It is of another of Chromium's classes of priority now.
    Reprioritized { request: String, class: String },
    /// A timer was set, in ms.
    TimerSet { id: String, timeout: f64 },
    /// A callback was asked for, before a frame is drawn or while there is nothing to do.
    CallbackSet { id: String },
    /// A module was compiled; an inline one where it stands in its document.
    Compiled(Code),
    /// A frame begins to load another document.
    Navigated { frame: String },
    /// A lazy image was painted.
    PaintedLazily { url: String },
    /// Style or layout of a frame's document.
    LaidOut { frame: String },
    /// The parser is done with a frame's document.
    Interactive { frame: String },
    /// The load event of a frame's document begins.
    Loading { frame: String },
    /// It is over.
    Loaded { frame: String },
}

/// A request that was made.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct SentRequest {
    pub(super) request: String,
    pub(super) url: String,
    pub(super) frame: String,
    pub(super) via: Via,
    pub(super) resource_type: String,
    pub(super) is_preload: bool,
    pub(super) render_blocking: String,
    /// Whether its priority is at least High.
    pub(super) is_urgent: bool,
    /// The document or style sheet that is said to have asked for it.
    pub(super) initiator: String,
    /// Where the parser was in it, from 0.
    pub(super) place: Option<(u32, u32)>,
    /// Where a script in it asks for it, from 0.
    pub(super) caller: Option<(u32, u32)>,
    /// Whether a script is said to ask for it.
    pub(super) is_by_script: bool,
}

impl SentRequest {
    /// Whether it is for a font that a style needs.
    pub(super) fn is_styled_font(&self) -> bool {
        self.resource_type == "Font" && self.via == Via::Rendering
    }
}

/// In the course of what a request was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Via {
    /// The parser came to it.
    Parser,
    /// The scanner ahead of the parser found it.
    Scanner,
    /// A script asked for it.
    Script,
    /// A script wrote it into the document.
    Written,
    /// It was asked for at the end of a task.
    Microtask,
    /// A style sheet was parsed that imports it.
    StyleSheet,
    /// Style or layout needed it.
    Rendering,
    #[default]
    Other,
}

/// A slice or instant of a thread.
struct Slice<'t, 'a> {
    name: &'t str,
    at: f64,
    until: f64,
    args: Arguments<'a>,
    children: Vec<usize>,
}

/// What Chromium calls the making of a frame, and how the names of its parts begin.
const FRAME: &str = "AnimationFrame";
/// What Chromium calls the threads of workers that belong to a document.
const WORKER: &str = "DedicatedWorker thread";

/// The threads on which documents and workers of the page live, that of the page's own document first. `root` are the URLs that
/// this may have, `documents` those of all documents.
///
/// # Errors
/// If `text` is no JSON.
pub(super) fn threads(
    text: &[u8],
    root: &BTreeSet<&str>,
    documents: &BTreeSet<&str>,
) -> Result<Vec<PageThread>, serde_json::Error> {
    let bare = text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    let events = if bare {
        serde_json::from_slice::<List<TraceEvent<'_>, MAX_EVENTS>>(text)?
    } else {
        serde_json::from_slice::<Maybe<TraceFile<'_>>>(text)?.unwrap_or_default().events
    };
    let mut of_threads: BTreeMap<(u64, u64), Vec<&TraceEvent<'_>>> = BTreeMap::new();
    for event in events.iter() {
        if let (Some(pid), Some(tid)) = (event.pid.number(), event.tid.number()) {
            of_threads.entry((pid as u64, tid as u64)).or_default().push(event);
        }
    }
    let is_of = |urls: &BTreeSet<&str>, data: &EventData<'_>| {
        urls.contains(data.url.text().unwrap_or_default().split('#').next().unwrap_or_default())
    };
    let is_root = |data: &EventData<'_>| {
        let is_main = if data.is_main_frame == Scalar::Nothing { &data.is_top_frame } else { &data.is_main_frame };
        is_main.is_set() && is_of(root, data)
    };
    let main = of_threads.iter().find(|(_, events)| commits(events).any(|data| is_root(&data)));
    let Some((main, of_main)) = main else { return Ok(Vec::new()) };
    let others = of_threads.iter().filter(|(key, _)| *key != main);
    let of_frames = others.clone().filter(|(_, events)| commits(events).any(|data| is_of(documents, &data)));
    let mut threads = vec![PageThread::of(of_main, ThreadKind::Main)];
    threads.extend(of_frames.map(|(_, events)| PageThread::of(events, ThreadKind::Frames)));
    // Workers live in the process of their document.
    let workers = others.filter(|((pid, _), events)| *pid == main.0 && is_worker(events));
    threads.extend(workers.map(|(_, events)| PageThread::of(events, ThreadKind::Worker)));
    Ok(threads)
}

fn is_worker(events: &[&TraceEvent<'_>]) -> bool {
    let is_name = |event: &&&TraceEvent<'_>| event.name.text() == Some("thread_name");
    events.iter().filter(is_name).any(|event| event.args.thread_name() == WORKER)
}

fn commits<'e, 'a>(events: &'e [&'e TraceEvent<'a>]) -> impl Iterator<Item = EventData<'a>> + 'e {
    events.iter().filter(|event| event.name.text() == Some("CommitLoad")).map(|event| event.args.read())
}

/// The frames of a thread that were shown.
fn shown(events: &[&TraceEvent<'_>]) -> Vec<ShownFrame> {
    let is_of_frame = |event: &&&TraceEvent<'_>| event.name.text().is_some_and(|name| name.starts_with(FRAME));
    let mut events: Vec<_> =
        events.iter().filter(is_of_frame).filter_map(|one| Some((one.ts.number()?, one))).collect();
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut frame, mut rendered, mut frames) = (String::new(), BTreeMap::new(), Vec::new());
    for (at, event) in events {
        let what = event.name.text().unwrap_or_default().strip_prefix(FRAME).unwrap_or_default();
        match (what, event.phase.text().unwrap_or_default()) {
            ("", "b") => frame = event.args.id(),
            ("::Render", "e") => drop(rendered.insert(frame.clone(), at)),
            ("::Presentation", "n") => {
                let rendered = rendered.remove(&event.args.id());
                frames.extend(rendered.map(|rendered| ShownFrame { rendered, shown: at }));
            }
            _ => {}
        }
    }
    frames
}

/// The tasks of a thread.
fn tasks(events: &[&TraceEvent<'_>], thread: ThreadKind) -> Vec<Task> {
    let mut slices: Vec<Slice<'_, '_>> = events.iter().filter_map(|event| slice(event)).collect();
    slices.sort_by(|a, b| a.at.total_cmp(&b.at).then(b.until.total_cmp(&a.until)));
    let mut open: Vec<usize> = Vec::new();
    let mut roots = Vec::new();
    for at in 0..slices.len() {
        while open.last().is_some_and(|last| slices[*last].until <= slices[at].at) {
            open.pop();
        }
        // Instants and slices that are too deep belong to what they are in, but hold nothing.
        match open.last() {
            Some(parent) => slices[*parent].children.push(at),
            None => roots.push(at),
        }
        if open.len() < MAX_DEPTH && slices[at].until > slices[at].at {
            open.push(at);
        }
    }
    let task = |root: &usize| {
        let mut cutter = Cutter { slices: &slices, thread, units: Vec::new() };
        cutter.task(*root);
        Task { units: cutter.units }
    };
    roots.iter().map(task).filter(|task| !task.units.is_empty()).collect()
}

fn slice<'e, 'a>(event: &'e TraceEvent<'a>) -> Option<Slice<'e, 'a>> {
    let name = event.name.text()?;
    let at = event.ts.number()?;
    let is_instant = match event.phase.text()? {
        "X" => false,
        "I" | "i" | "R" => true,
        _ => return None,
    };
    let dur = if is_instant { 0.0 } else { event.dur.positive().unwrap_or(0.0) };
    Some(Slice { name, at, until: at + dur, args: event.args, children: Vec::new() })
}
