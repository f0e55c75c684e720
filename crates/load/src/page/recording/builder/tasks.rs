//! What a thread does besides parsing and running scripts: callbacks, events, style and layout.

use super::moments::DrawnFrame;
use super::{FRAME_MS, GraphBuilder, REACTION, SMALL, after};
use crate::page::file::{Need, Needed, On, Why};
use crate::page::moment::LOAD_EVENT;
use crate::page::recording::trace::{Code, Note, NoteKind, Task, ThreadKind, Unit, UnitKind};

/// What nodes of work are called of which nothing is said.
const WORK: &str = "work";

impl GraphBuilder<'_> {
    pub(super) fn callback(&mut self, unit: &Unit) {
        if unit.notes.iter().any(|note| self.is_load_event(note)) {
            return self.load_event(unit);
        }
        let causes = self.causes_of(unit);
        self.count += 1;
        let (what, number) = (callback_name(&unit.kind), self.count.to_string());
        let (name, lead) = self.node(what, &number, what, unit.took(), causes, self.needed_of(&unit.kind));
        if let UnitKind::Timer { id } = &unit.kind
            && let Some((need, at)) = self.timers.get_mut(id)
        {
            // If it fires again, then so long after this.
            (*need, *at) = (Need { on: On::Start, timer_ms: need.timer_ms, why: need.why, ..after(&name) }, unit.at);
        }
        self.note_run(unit, &name);
        self.notes(unit, &name, lead);
    }

    /// The load event comes after what listens to the end of parsing.
    fn needed_of(&self, kind: &UnitKind) -> Needed {
        match kind {
            UnitKind::Event { kind, frame } if kind == "DOMContentLoaded" && self.is_root(frame) => Needed::Always,
            _ => Needed::Never,
        }
    }

    /// What a callback waited for.
    fn causes_of(&self, unit: &Unit) -> Vec<Need> {
        let event = |object: usize| Need { why: Some(Why::Event), ..self.fetched(object) };
        let (work, before): (Option<&String>, Option<&String>) = match self.last_of_task.as_ref() {
            Some(before) if before.starts_with(WORK) => (Some(before), None),
            before => (None, before),
        };
        let set = match &unit.kind {
            UnitKind::Timer { id } => self.timers.get(id).map(|(need, _)| need.clone()),
            UnitKind::AnimationFrame { id } | UnitKind::Idle { id } => self
                .callbacks
                .get(id)
                .map(|(need, at)| Need { timer_ms: ((unit.at - at) / 1e3).clamp(0.0, FRAME_MS), ..need.clone() }),
            UnitKind::Xhr { url } => self.find("", url, false).map(event),
            UnitKind::Event { kind, frame } if kind == "DOMContentLoaded" => self.content_loaded(Some(frame)),
            // What has led to other work in the task has led to this as well.
            _ if before.is_some() => None,
            UnitKind::Event { kind, .. } if matches!(kind.as_str(), "load" | "error") => {
                let by_attribute = unit.code.as_ref().and_then(|code| self.named_around(code));
                by_attribute.or(self.complete).map(event)
            }
            UnitKind::Event { .. } => None,
            _ => self.answer.clone().filter(|(at, _)| unit.at - at < REACTION).map(|(_, need)| need),
        };
        if let Some(need) = set.or_else(|| before.map(|before| after(before))) {
            return vec![need];
        }
        // An observer: a script has made it, and a layout has called it. Of several it is not known which: the first.
        let code = unit.code.as_ref().filter(|_| unit.kind == UnitKind::Callback);
        if let Some(defined) = code.and_then(|code| self.defined_by(code)) {
            let render = self.first_render.as_ref().map(|render| after(render));
            return std::iter::once(Need { why: Some(Why::Script), ..after(&defined) }).chain(render).collect();
        }
        work.or(self.last_cause.as_ref()).map(|cause| after(cause)).into_iter().collect()
    }

    /// The object that is named by the tag in which code stands.
    fn named_around(&self, code: &Code) -> Option<usize> {
        let frame = self.frame_of(code)?;
        let markup = self.frames[&frame].markup.as_ref()?;
        let at = markup.offset(code.line - 1, code.column - 1)?;
        let named = |object: &usize| {
            let mut naming = markup.naming(&self.objects[*object].url);
            naming.any(|(end, tag)| (end.saturating_sub(tag.len())..end).contains(&at))
        };
        (0..self.objects.len()).find(named)
    }

    /// The event after parsing and the scripts that run in order then, of a frame's document or of the page's own.
    pub(super) fn content_loaded(&self, frame: Option<&str>) -> Option<Need> {
        let root = || self.frames.values().find(|frame| frame.is_root);
        let of = frame.and_then(|frame| self.frames.get(frame)).or_else(root)?;
        let before = of.in_order.as_ref().or(of.parsed.as_ref())?;
        Some(Need { why: Some(Why::Event), ..after(before) })
    }

    pub(super) fn is_load_event(&self, note: &Note) -> bool {
        matches!(&note.what, NoteKind::Loaded { frame } if self.is_root(frame))
    }

    /// Whether a frame has the page's own document.
    fn is_root(&self, frame: &str) -> bool {
        self.frames.get(frame).is_some_and(|frame| frame.is_root)
    }

    /// Which unit of a task is the load event of the page: the last one of its kind before that is over.
    pub(super) fn load_event_in(&self, task: &Task) -> Option<usize> {
        let has = |unit: &Unit, is_it: &dyn Fn(&Note) -> bool| unit.notes.iter().any(is_it);
        let over = task.units.iter().position(|unit| has(unit, &|note| self.is_load_event(note)))?;
        let begins = |note: &Note| matches!(&note.what, NoteKind::Loading { frame } if self.is_root(frame));
        let begun = task.units.iter().position(|unit| has(unit, &begins)).unwrap_or(0);
        let is_load = |unit: &Unit| matches!(&unit.kind, UnitKind::Event { kind, .. } if kind == "load");
        (begun..=over).rfind(|at| is_load(&task.units[*at]))
    }

    /// What listens to the load event.
    pub(super) fn load_event(&mut self, unit: &Unit) {
        let needs = self.content_loaded(None).into_iter().collect();
        let (name, lead) = self.node(LOAD_EVENT, "", "event", unit.took(), needs, Needed::Never);
        self.load_event = Some((unit.at, name.clone()));
        self.note_run(unit, &name);
        self.notes(unit, &name, lead);
    }

    /// The load event comes when all that holds it up is there.
    pub(super) fn hold_load_event(&mut self) {
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
    pub(super) fn work(&mut self, unit: &Unit) {
        let finished: Vec<usize> = unit
            .notes
            .iter()
            .filter_map(|note| match &note.what {
                NoteKind::Finished { request, .. } => self.find(request, "", true),
                _ => None,
            })
            .collect();
        let matters = |note: &Note| matches!(note.what, NoteKind::Sent(_) | NoteKind::Reprioritized { .. });
        let matters = unit.notes.iter().any(matters);
        if !finished.is_empty() {
            return self.receive(unit, &finished);
        }
        if unit.took() < SMALL && !matters {
            self.loose += unit.took();
            return unit.notes.iter().for_each(|note| self.note_quietly(note));
        }
        let (what, cause) = match unit.kind {
            UnitKind::Rendering => ("render", self.rendered()),
            _ => (WORK, self.last.clone().map(|last| after(&last)).into_iter().collect()),
        };
        self.count += 1;
        let (number, kind) = (self.count.to_string(), if what == "render" { "layout" } else { "other" });
        let (name, lead) = self.node(what, &number, kind, unit.took(), cause, Needed::Never);
        // Before there is a body, nothing is laid out that anything waits for.
        let has_body = || self.frames.values().any(|frame| frame.is_root && frame.body.is_some());
        let is_own = self.thread == ThreadKind::Main && has_body() && self.lays_out_page(unit);
        if kind == "layout" {
            self.frames_drawn.push(DrawnFrame { from: unit.at, until: unit.until, node: name.clone(), is_own });
        }
        if kind == "layout" && is_own {
            self.new_fonts.clear();
            self.first_render.get_or_insert_with(|| name.clone());
            self.last_render = Some(name.clone());
            self.first_change = None;
        }
        self.notes(unit, &name, lead);
    }

    /// Whether style or layout is that of the page's own document, and not only of frames or of images with documents
    /// of their own (SVG). Old traces do not say.
    fn lays_out_page(&self, unit: &Unit) -> bool {
        let frame = |note: &Note| match &note.what {
            NoteKind::LaidOut { frame } if !frame.is_empty() => Some(self.is_root(frame)),
            _ => None,
        };
        let mut known = unit.notes.iter().filter_map(frame).peekable();
        known.peek().is_none() || known.any(|is_root| is_root)
    }

    /// What style and layout wait for: the style sheets before the body, and the body; later, for the first change since.
    pub(super) fn rendered(&self) -> Vec<Need> {
        if let Some(before) = &self.last_render {
            let changed = self.first_change.as_ref().or(self.last_cause.as_ref());
            let changed = changed.map(|cause| after(cause)).into_iter().chain([after(before)]);
            let fonts = self.new_fonts.iter().map(|font| Need { why: Some(Why::Style), ..self.fetched(*font) });
            return changed.chain(fonts).collect();
        }
        let Some(root) = self.frames.values().find(|frame| frame.is_root) else { return Vec::new() };
        let sheets: Vec<usize> = root.sheets.iter().map(|(_, object)| *object).collect();
        let body = root.body.as_ref().or(self.last_cause.as_ref());
        let mut needs = self.sheets(&sheets);
        needs.extend(body.map(|body| Need { why: Some(Why::Parser), ..after(body) }));
        needs
    }

    /// The renderer takes what has arrived.
    pub(super) fn receive(&mut self, unit: &Unit, finished: &[usize]) {
        let share = unit.took() / finished.len() as f64;
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
