//! From a recording of a real browser to the graph of its page: a HAR, the trace beside it, and the texts of documents.
//!
//! The HAR says what was fetched; the trace what the browser did with it, and why. `trace` cuts the threads into units,
//! `markup` knows where in a document something stands, `selector` which element a style sheet means, `imports` what a
//! module names, `frame` what each document has found, and `builder` makes the graph, by the rules of the HTML standard. docs/recording.md states them.

mod builder;
pub(super) mod frame;
mod imports;
mod selector;
mod trace;

use super::file::PageError;
use super::har::{self, Har, HarError};
use super::recorded_object::RecordedObject;
use super::redact::Secrets;
use builder::GraphBuilder;
use std::collections::{BTreeMap, BTreeSet};
use trace::{NoteKind, PageThread};

/// Why no graph can be made of a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// Its HAR cannot be used.
    #[error(transparent)]
    Har(#[from] HarError),
    /// Its trace is no JSON.
    #[error("the trace is no JSON from line {line}, column {column} on: record the page again")]
    Trace {
        /// Where, from 1.
        line: usize,
        /// Where in the line, from 1.
        column: usize,
    },
    /// What the trace says cannot be.
    #[error("the trace contradicts itself: {0}; record the page again")]
    Graph(#[from] PageError),
    /// The trace is of another load.
    #[error("the trace has no load of {url}: give the trace that was recorded with the HAR")]
    OtherTrace {
        /// The page of the HAR.
        url: String,
    },
}

/// What passes between processes of the browser.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Delays {
    /// From the last byte in the network service until the renderer has it.
    pub(super) response_ms: f64,
    /// From the head of a document until it is committed.
    pub(super) commit_ms: f64,
}

/// Makes a page file with its graph of a HAR, of its page number `page`, and of the trace of the same load. `texts` are
/// those of documents, style sheets and scripts, by the numbers of their requests. Without one, what stands in it is not
/// known: at which byte something was found, which element a picture is for, or what a module imports that was there.
///
/// # Errors
/// If the HAR cannot be used, or the trace is no JSON or of another load.
pub fn read(
    har: &[u8],
    page: Option<usize>,
    trace: &[u8],
    texts: &BTreeMap<String, Vec<u8>>,
    secrets: Secrets,
) -> Result<Har, RecordingError> {
    let (Har { file, notes }, mut objects) = har::read_recorded(har, page, secrets)?;
    let urls = |is_it: fn(&RecordedObject) -> bool| -> BTreeSet<&str> {
        objects.iter().filter(|object| is_it(object)).map(|object| object.url.as_str()).collect()
    };
    let root = urls(|object| object.is_root);
    let threads = trace::threads(trace, &root, &urls(|object| object.is_document)).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        RecordingError::Trace { line, column }
    })?;
    if threads.is_empty() {
        let url = root.first().map_or_else(String::new, |url| (*url).to_owned());
        return Err(RecordingError::OtherTrace { url });
    }
    set_clock(&threads, &mut objects);
    set_request_times(&threads, &mut objects);
    let delays = delays(&threads, &objects);
    let mut builder = GraphBuilder::new(file, &objects, texts, delays);
    threads.iter().for_each(|thread| builder.follow(thread));
    builder.place_strays();
    builder.note_moments(notes.paints.as_ref());
    let mut file = builder.into_file();
    let handshakes = objects.iter().filter_map(|object| object.handshake_ms).collect();
    file.handshake_ms = (quantile(handshakes, 0.25) * 1e3).round() / 1e3;
    file.arrival_ms = delays.response_ms;
    // A damaged trace may say that something waits for itself.
    file.build()?;
    Ok(Har { file, notes })
}

/// Every note of all threads, with when it happened.
fn notes(threads: &[PageThread]) -> impl Iterator<Item = &trace::Note> {
    threads.iter().flat_map(|thread| &thread.tasks).flat_map(|task| &task.units).flat_map(|unit| &unit.notes)
}

/// Says of each object when it was found and complete, by the clock of the trace.
fn set_clock(threads: &[PageThread], objects: &mut [RecordedObject]) {
    let mut apart = Vec::new();
    for note in notes(threads) {
        match &note.what {
            NoteKind::Finished { request, .. } => {
                objects
                    .iter_mut()
                    .filter(|object| object.request == *request)
                    .for_each(|object| object.ended = note.at);
            }
            // Of documents the trace tells when they came.
            NoteKind::Sent(sent) if sent.resource_type != "Document" => {
                let of = objects.iter().find(|object| object.request == sent.request);
                apart.extend(of.map(|object| note.at - object.began * 1e3));
            }
            _ => {}
        }
    }
    apart.sort_by(f64::total_cmp);
    let apart = apart.get(apart.len() / 2).copied().unwrap_or(0.0);
    objects.iter_mut().for_each(|object| object.began = object.began * 1e3 + apart);
}

/// Says of each object how long its request took until the network service had it: not longer than the lower quartile
/// of all, since some are held back there. Fonts that a style needs are asked for when the task is over that has found
/// them.
fn set_request_times(threads: &[PageThread], objects: &mut [RecordedObject]) {
    let (mut sent, mut held, mut took) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for task in threads.iter().flat_map(|thread| &thread.tasks) {
        let until = task.units.last().map_or(0.0, |unit| unit.until);
        for note in task.units.iter().flat_map(|unit| &unit.notes) {
            match &note.what {
                NoteKind::Sent(request) => {
                    let at = if request.is_styled_font() { until.max(note.at) } else { note.at };
                    sent.insert(request.request.as_str(), at);
                    held.insert(request.request.as_str(), (at - note.at) / 1e3);
                }
                NoteKind::Responded { request, network: Some((at, _)) } => {
                    let sent = sent.get(request.as_str());
                    took.extend(sent.map(|sent| (request.as_str(), (at - sent) / 1e3)));
                }
                _ => {}
            }
        }
    }
    let root = objects.iter().find(|object| object.is_root).map(|object| object.request.as_str());
    let usual = took.iter().filter(|(request, _)| Some(**request) != root).map(|(_, ms)| *ms).collect();
    let usual = bounded(quantile(usual, 0.25));
    for object in objects {
        let request = object.request.as_str();
        let held = held.get(request).copied().unwrap_or(0.0);
        object.request_ms = held + took.get(request).map_or(usual, |ms| bounded(ms.min(usual)));
    }
}

/// To a microsecond; what is longer than any delay is none.
fn bounded(ms: f64) -> f64 {
    if (0.0..100.0).contains(&ms) { (ms * 1e3).round() / 1e3 } else { 0.0 }
}

/// What passes between the processes. Of what arrives the median, less what the page's thread did meanwhile: in another
/// load it may be idle then.
fn delays(threads: &[PageThread], objects: &[RecordedObject]) -> Delays {
    let units = || threads.iter().take(1).flat_map(|thread| &thread.tasks).flat_map(|task| &task.units);
    let busy: Vec<(f64, f64)> = units().map(|unit| (unit.at, unit.until)).collect();
    let was_busy = |from: f64, until: f64| -> f64 {
        let first = busy.partition_point(|(_, end)| *end <= from);
        let within = busy[first..].iter().take_while(|(begin, _)| *begin < until);
        within.map(|(begin, end)| end.min(until) - begin.max(from)).sum()
    };
    let (mut down, mut commit) = (Vec::new(), None);
    let root = objects.iter().find(|object| object.is_root).map(|object| object.request.as_str());
    for note in notes(threads) {
        match &note.what {
            NoteKind::Responded { request, network: Some((_, head)) } if Some(request.as_str()) == root => {
                commit.get_or_insert((note.at - head) / 1e3);
            }
            NoteKind::Finished { network: Some(at), .. } => {
                down.push((note.at - at - was_busy(*at, note.at)) / 1e3);
            }
            _ => {}
        }
    }
    Delays { response_ms: bounded(quantile(down, 0.5)), commit_ms: bounded(commit.unwrap_or(0.0)) }
}

/// The value below which a share of all are; 0 of none.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((values.len() as f64 * share) as usize).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
