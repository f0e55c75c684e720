//! Cuts the tasks of a thread into units, and says what happened in them.

use super::{Code, EventData, MAX_DEPTH, Note, NoteKind, SentRequest, Slice, ThreadKind, Unit, UnitKind, Via};
use crate::page::loose::Scalar;
use std::collections::BTreeSet;

/// Cuts a task into its units.
pub(super) struct Cutter<'s, 't, 'a> {
    pub(super) slices: &'s [Slice<'t, 'a>],
    pub(super) thread: ThreadKind,
    pub(super) units: Vec<Unit>,
}

impl Cutter<'_, '_, '_> {
    pub(super) fn task(&mut self, root: usize) {
        let slice = &self.slices[root];
        let kind = self.kind(root).unwrap_or(UnitKind::Other);
        self.open(kind.clone(), slice.at);
        let via = within(Via::Other, slice.name, &kind);
        self.note(root, via);
        self.cut(root, &kind, via);
        self.close(slice.until);
        self.units.retain(|unit| unit.took() >= 1.0 || !unit.notes.is_empty());
    }

    fn cut(&mut self, of: usize, current: &UnitKind, via_of: Via) {
        for child in &self.slices[of].children {
            let slice = &self.slices[*child];
            match self.kind(*child).filter(|kind| current.yields_to(kind, self.thread)) {
                Some(kind) => {
                    let own = within(via_of, slice.name, &kind);
                    self.close(slice.at);
                    self.open(kind.clone(), slice.at);
                    self.note(*child, own);
                    self.cut(*child, &kind, own);
                    self.close(slice.until);
                    self.open(current.clone(), slice.until);
                }
                None => {
                    let own = within(via_of, slice.name, &UnitKind::Other);
                    self.note(*child, own);
                    self.cut(*child, current, own);
                }
            }
        }
    }

    fn open(&mut self, kind: UnitKind, at: f64) {
        let (notes, scripts) = (Vec::new(), BTreeSet::new());
        self.units.push(Unit { kind, at, until: at, notes, scripts, code: None });
    }

    fn close(&mut self, at: f64) {
        if let Some(unit) = self.units.last_mut() {
            unit.until = at;
        }
    }

    fn note(&mut self, of: usize, via: Via) {
        let slice = &self.slices[of];
        if matches!(slice.name, "FunctionCall" | "EvaluateScript")
            && let data = slice.args.read()
            && let (Some(url), Some(unit)) = (data.url.filled(), self.units.last_mut())
        {
            unit.scripts.insert(url.to_owned());
            if slice.name == "FunctionCall" {
                unit.code.get_or_insert_with(|| code(&data));
            }
        }
        if let Some(what) = note(slice, via)
            && let Some(unit) = self.units.last_mut()
        {
            unit.notes.push(Note { since: (slice.at - unit.at).max(0.0), at: slice.at, what });
        }
    }

    fn kind(&self, of: usize) -> Option<UnitKind> {
        let slice = &self.slices[of];
        if slice.until <= slice.at {
            return None;
        }
        let data = || slice.args.read();
        let text = |scalar: &Scalar<'_>| scalar.key().unwrap_or_default().into_owned();
        Some(match slice.name {
            "ParseHTML" => UnitKind::Parse { frame: text(&data().frame) },
            "EvaluateScript" => UnitKind::Evaluate(code(&data())),
            "v8.evaluateModule" => UnitKind::Module,
            "TimerFire" => UnitKind::Timer { id: id(&data()) },
            "FireAnimationFrame" => UnitKind::AnimationFrame { id: id(&data()) },
            "FireIdleCallback" => UnitKind::Idle { id: id(&data()) },
            "XHRReadyStateChange" | "XHRLoad" => UnitKind::Xhr { url: text(&data().url) },
            "EventDispatch" => UnitKind::Event { frame: self.called(of, MAX_DEPTH)?, kind: text(&data().kind) },
            "FunctionCall" | "v8.callFunction" => UnitKind::Callback,
            "RunMicrotasks" => UnitKind::Microtasks,
            "ParseAuthorStyleSheet" => UnitKind::StyleSheet,
            "UpdateLayoutTree" | "Layout" | "PrePaint" | "Paint" | "Layerize" | "Commit" | "UpdateLayer" => {
                UnitKind::Rendering
            }
            _ => return None,
        })
    }

    /// The frame in which the first function is called in a slice.
    fn called(&self, of: usize, depth: usize) -> Option<String> {
        let children = self.slices[of].children.iter().filter(|_| depth > 0);
        let mut calls = children.filter_map(|at| match self.slices[*at].name {
            "FunctionCall" => Some(self.slices[*at].args.read().frame.key().unwrap_or_default().into_owned()),
            _ => self.called(*at, depth - 1),
        });
        calls.next()
    }
}

/// In the course of what requests are made in a slice that is in another one.
fn within(around: Via, name: &str, kind: &UnitKind) -> Via {
    match around {
        Via::Script | Via::Written if name == "ParseHTML" => Via::Written,
        Via::Written if is_run(name) => Via::Script,
        Via::Script | Via::Written => around,
        _ if kind.is_script() && *kind != UnitKind::Microtasks => Via::Script,
        _ => via(name).unwrap_or(around),
    }
}

fn is_run(name: &str) -> bool {
    matches!(name, "FunctionCall" | "v8.callFunction" | "EvaluateScript" | "v8.run" | "v8.evaluateModule")
}

/// In the course of what requests are made in a slice of this name.
fn via(name: &str) -> Option<Via> {
    Some(match name {
        "HTMLDocumentParser::MaybeFetchQueuedPreloads" => Via::Scanner,
        "ParseHTML" => Via::Parser,
        "ParseAuthorStyleSheet" => Via::StyleSheet,
        "UpdateLayoutTree" | "Layout" | "PrePaint" | "Paint" => Via::Rendering,
        "RunMicrotasks" => Via::Microtask,
        name if is_run(name) => Via::Script,
        _ => return None,
    })
}

fn code(data: &EventData<'_>) -> Code {
    let number = |scalar: &Scalar<'_>| scalar.positive().unwrap_or(1.0).max(1.0) as u32;
    let url = data.url.key().unwrap_or_default().into_owned();
    Code { url, line: number(&data.line), column: number(&data.column) }
}

/// The number of a timer or callback, which each frame counts by itself.
fn id(data: &EventData<'_>) -> String {
    let text = |scalar: &Scalar<'_>| scalar.key().unwrap_or_default().into_owned();
    format!("{}{} {}", text(&data.timer), text(&data.id), text(&data.frame))
}

fn note(slice: &Slice<'_, '_>, via: Via) -> Option<NoteKind> {
    let text = |scalar: &Scalar<'_>| scalar.key().unwrap_or_default().into_owned();
    Some(match slice.name {
        "CommitLoad" => {
            let data = slice.args.read();
            NoteKind::Committed { frame: text(&data.frame), url: text(&data.url) }
        }
        "ResourceSendRequest" => NoteKind::Sent(Box::new(sent(&slice.args.read(), via))),
        "ResourceReceiveResponse" => {
            let data = slice.args.read();
            let timing = data.timing.unwrap_or_default();
            let requested = timing.requested.positive().map(|seconds| seconds * 1e6);
            // It looks its host up at once, if at all.
            let connects = timing.connect_start.positive().is_some();
            let first = if connects { &timing.dns_start } else { &timing.send_start }.positive().unwrap_or(0.0);
            let network =
                requested.zip(timing.headers_end.positive()).map(|(at, ms)| (at + first * 1e3, at + ms * 1e3));
            NoteKind::Responded { request: text(&data.request), network }
        }
        "ResourceFinish" => {
            let data = slice.args.read();
            NoteKind::Finished { request: text(&data.request), network: data.finished.positive().map(|at| at * 1e6) }
        }
        "ResourceChangePriority" => {
            let data = slice.args.read();
            NoteKind::Reprioritized { request: text(&data.request), class: text(&data.priority) }
        }
        "TimerInstall" => {
            let data = slice.args.read();
            NoteKind::TimerSet { id: id(&data), timeout: data.timeout.positive().unwrap_or(0.0) }
        }
        "RequestAnimationFrame" | "RequestIdleCallback" => NoteKind::CallbackSet { id: id(&slice.args.read()) },
        "v8.compileModule" => NoteKind::Compiled(code(&slice.args.read())),
        "FrameStartedLoading" => NoteKind::Navigated { frame: text(&slice.args.read().frame) },
        "PaintImage" => {
            let data = slice.args.read();
            let is_lazy = data.loading.text().is_some_and(|value| value.eq_ignore_ascii_case("lazy"));
            return is_lazy.then(|| NoteKind::PaintedLazily { url: text(&data.url) });
        }
        "UpdateLayoutTree" | "Layout" => NoteKind::LaidOut { frame: text(&slice.args.read().frame) },
        "domInteractive" => NoteKind::Interactive { frame: text(&slice.args.read().frame) },
        "loadEventStart" => NoteKind::Loading { frame: text(&slice.args.read().frame) },
        "MarkLoad" => NoteKind::Loaded { frame: text(&slice.args.read().frame) },
        _ => return None,
    })
}

fn sent(data: &EventData<'_>, via: Via) -> SentRequest {
    let text = |scalar: &Scalar<'_>| scalar.key().unwrap_or_default().into_owned();
    let initiator = data.initiator.0.as_ref();
    let number = |scalar: &Scalar<'_>| scalar.number().filter(|number| (0.0..4e9).contains(number)).map(|n| n as u32);
    let fetch_type = initiator.and_then(|initiator| initiator.fetch_type.text());
    let is_script = matches!(fetch_type, Some("fetch" | "xmlhttprequest"));
    let is_of = |kind| initiator.is_some_and(|initiator| initiator.kind.text() == Some(kind));
    let place = initiator.and_then(|from| number(&from.line).zip(number(&from.column)));
    SentRequest {
        request: text(&data.request),
        url: text(&data.url),
        frame: text(&data.frame),
        via,
        // What scripts ask for has no type of its own.
        resource_type: if is_script { "Fetch".to_owned() } else { text(&data.resource_type) },
        is_preload: data.is_preload.is_set(),
        render_blocking: text(&data.render_blocking),
        is_urgent: matches!(data.priority.text(), Some("High" | "VeryHigh")),
        initiator: initiator.map_or_else(String::new, |initiator| text(&initiator.url)),
        place: place.filter(|_| is_of("parser")),
        caller: place.filter(|_| is_of("script")),
        is_by_script: is_of("script"),
    }
}
