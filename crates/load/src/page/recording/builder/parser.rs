//! How the parser goes through documents, in pieces.

use super::{GraphBuilder, after, delayed, round};
use crate::page::file::{Need, Needed, On, Why};
use crate::page::markup::Markup;
use crate::page::recording::frame::{InlineModule, Mark, ScriptKind};
use crate::page::recording::trace::{Code, NoteKind, Unit, Via};

impl GraphBuilder<'_> {
    pub(super) fn parse(&mut self, unit: &Unit, frame: &str) {
        if !self.frames.contains_key(frame) {
            return self.work(unit);
        }
        let mut done = 0.0;
        for note in &unit.notes {
            match &note.what {
                NoteKind::Sent(sent) if sent.via == Via::Parser && self.frames.contains_key(&sent.frame) => {
                    self.frame(frame).parsing += note.since - done;
                    done = note.since;
                    let offset = self.frame(frame).found(sent.place, &sent.url);
                    self.parse_to(frame, offset);
                    let chain = self.frame(frame).chain.clone();
                    self.sent(sent, Need { why: Some(Why::Markup), ..after(&chain) });
                }
                NoteKind::Interactive { frame: of } if of == frame => {
                    self.frame(frame).parsing += note.since - done;
                    done = note.since;
                    self.finish_parsing(frame);
                }
                NoteKind::Compiled(code) if code.url == self.objects[self.frames[frame].document].url => {
                    self.frame(frame).parsing += note.since - done;
                    done = note.since;
                    self.insert_module(frame, code);
                }
                _ => {
                    let commit = self.frame(frame).commit.clone();
                    self.note(note, &commit, unit.took(), 0.0);
                }
            }
        }
        let rest = (unit.took() - done).max(0.0);
        match self.frame(frame) {
            of if of.parsed.is_none() => of.parsing += rest,
            _ => self.loose += rest,
        }
    }

    /// The parser has come to a byte of a document, or to one that is not known. On the way it has inserted the body and
    /// elements of frames, each a piece with its share of the work.
    pub(super) fn parse_to(&mut self, frame: &str, offset: Option<usize>) {
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
    pub(super) fn insert_frame(&mut self, frame: &str, object: usize) {
        let of = self.frame(frame);
        of.inner.retain(|(_, inner)| *inner != object);
        let (chain, document, place) = (of.chain.clone(), of.document, self.objects[object].place);
        let mut needs = vec![Need { why: Some(Why::Markup), ..after(&chain) }];
        if let Some(offset) = self.frames[frame].found(place, &self.objects[object].url) {
            needs.push(self.found(frame, document, offset));
        }
        (self.is_sent[object], self.is_placed[object]) = (true, true);
        self.kinds[object] = "Document".to_owned();
        self.file.objects[object].needed = Some(Needed::WhenFound);
        self.file.objects[object].needs = Some(delayed(needs, self.objects[object].request_ms));
    }

    /// Makes a node of what has been parsed.
    pub(super) fn piece(&mut self, frame: &str, offset: Option<usize>) {
        let of = self.frame(frame);
        let (document, chain, took, from) = (of.document, of.chain.clone(), of.parsing, of.reached);
        (of.parsing, of.pieces) = (0.0, of.pieces + 1);
        let number = of.pieces;
        of.reached = offset.unwrap_or(of.reached).max(of.reached);
        let needed = if of.is_root { Needed::Always } else { Needed::WhenFound };
        let mut needs = vec![Need { why: Some(Why::Parser), ..after(&chain) }];
        if let Some(offset) = offset {
            needs.push(self.found(frame, document, offset));
        }
        let what = format!("{number} of {}", self.name(document));
        let (name, _) = self.node("parse", &what, "parse", took, needs, needed);
        let of = self.frame(frame);
        of.marks.push(Mark { from, to: of.reached, node: name.clone() });
        of.chain = name;
    }

    /// That a byte of a document is there.
    pub(super) fn found(&mut self, frame: &str, document: usize, offset: usize) -> Need {
        let bytes = self.file.objects[document].bytes;
        let bytes = Some(self.frame(frame).wire(offset, bytes));
        Need { on: On::Bytes, bytes, why: Some(Why::Markup), ..self.fetched(document) }
    }

    /// All of a document is parsed.
    pub(super) fn finish_parsing(&mut self, frame: &str) {
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
        self.hold_parser(frame);
    }

    /// The node with which the parser has come to a byte, exactly: what has been parsed is cut there, if it was not.
    pub(super) fn parsed_to(&mut self, frame: &str, end: usize) -> String {
        let of = self.frame(frame);
        if of.parsed.is_none() && end > of.reached {
            self.parse_to(frame, Some(end));
            return self.frame(frame).chain.clone();
        }
        let Some(at) = of.marks.iter().position(|mark| mark.to >= end) else { return of.chain.clone() };
        let Mark { from, to, node } = of.marks[at].clone();
        let place = self.file.compute.iter().position(|compute| compute.name == node);
        let Some(place) = place.filter(|_| (from + 1..to).contains(&end)) else { return node };
        let of = self.frame(frame);
        of.pieces += 1;
        let (number, document) = (of.pieces, of.document);
        let document_name = self.name(document);
        let name = format!("parse {number} of {document_name}");
        let here = self.found(frame, document, end);
        let mut first = self.file.compute[place].clone();
        let second = &mut self.file.compute[place];
        let (of_document, mut others): (Vec<Need>, Vec<Need>) =
            second.needs.take().unwrap_or_default().into_iter().partition(|need| need.node == document_name);
        second.needs =
            Some(std::iter::once(Need { why: Some(Why::Parser), ..after(&name) }).chain(of_document).collect());
        others.push(here);
        first.ms = round(first.ms * (end - from) as f64 / (to - from) as f64);
        second.ms = round(second.ms - first.ms);
        (first.name, first.needs) = (name.clone(), Some(others));
        self.file.compute.insert(place, first);
        let of = self.frame(frame);
        of.marks[at].from = end;
        of.marks.insert(at, Mark { from, to: end, node: name.clone() });
        name
    }

    /// Scripts for which the parser has stopped and that did not run, since they were missing, had to come all the same.
    fn hold_parser(&mut self, frame: &str) {
        let document = self.name(self.frames[frame].document);
        let is_missing = |(script, kind): (&usize, &ScriptKind)| {
            let is_here = self.file.objects[*script].document.as_ref() == Some(&document);
            let at = if let ScriptKind::Blocking(at) = kind { Some(*at) } else { None };
            at.filter(|_| is_here && !self.has_run[*script] && self.objects[*script].ended.is_finite())
                .zip(Some(*script))
        };
        let missing: Vec<(usize, usize)> = self.scripts.iter().filter_map(is_missing).collect();
        for (at, script) in missing {
            let before = self.parsed_to(frame, at);
            let need = self.fetched(script);
            let follows = |need: &Need| need.node == before && need.why == Some(Why::Parser);
            let next = self.file.compute.iter_mut().filter_map(|node| node.needs.as_mut());
            next.filter(|needs| needs.iter().any(follows)).for_each(|needs| needs.push(need.clone()));
        }
    }

    /// The parser has inserted an inline module, which is fetched what it imports for.
    fn insert_module(&mut self, frame: &str, code: &Code) {
        let of = self.frame(frame);
        let Some(markup) = &of.markup else { return };
        let Some(begins) = markup.offset(code.line - 1, code.column - 1) else { return };
        let ends = markup.script_end(begins);
        let is_async = markup.tag(begins).is_some_and(|tag| tag.attribute("async").is_some());
        of.modules.push(InlineModule { begins, ends, is_async, has_run: false, imports: Vec::new() });
        self.parse_to(frame, Some(ends));
    }
}
