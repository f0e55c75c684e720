//! What a server of one's own has to offer: files or a recorded page, patterns, and what it tells of
//! beside them.

mod files;
mod manifest;
mod patterns;
mod recording;
mod reply;
mod shelf;

pub use manifest::{Manifest, ManifestError};
pub(crate) use shelf::Shelf;

use crate::access_log::Entries;
use files::Files;
use loadstone_http::{Chunk, Fields, RequestHead, ResponseHead};
use loadstone_load::page::Page;
use loadstone_load::{Answer, Exchange, Site};
use patterns::{Echo, Patterns};
use recording::Recording;
use serde::Deserialize;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// How clients are told what a manifest lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Telling {
    /// It is pushed, where the protocol can.
    #[default]
    Push,
    /// They are told where it is: by 103 (RFC 8297); by `X-Subresource` if they ask for that, as clients
    /// of SPDY did.
    Hint,
}

/// What a server offers, looked up in this order: patterns, then files or a recording.
#[derive(Debug)]
pub(crate) struct Offer {
    patterns: Option<Patterns>,
    source: Source,
    manifest: Manifest,
    telling: Telling,
    shelf: Shelf,
    log: Option<Entries>,
}

#[derive(Debug)]
enum Source {
    Nothing,
    Files(Files),
    Recording(Recording),
}

/// A request that is arriving.
#[derive(Debug)]
pub(crate) struct Asked {
    request: Arc<RequestHead>,
    /// Its body, if it is going to be sent back.
    echo: Option<Echo>,
}

impl Offer {
    /// Nothing: every answer is 404.
    pub(crate) fn new() -> Offer {
        Offer {
            patterns: None,
            source: Source::Nothing,
            manifest: Manifest::default(),
            telling: Telling::Push,
            shelf: Shelf::default(),
            log: None,
        }
    }

    /// The same with patterns.
    pub(crate) fn with_patterns(self) -> Offer {
        Offer { patterns: Some(Patterns::new(self.shelf.clone())), ..self }
    }

    /// The same with the files of a directory.
    ///
    /// # Errors
    /// If there is no such directory, or it cannot be read.
    pub(crate) fn with_files(self, root: &Path) -> io::Result<Offer> {
        Ok(Offer { source: Source::Files(Files::new(root, self.shelf.clone())?), ..self })
    }

    /// The same with the objects of a page.
    pub(crate) fn with_recording(self, page: Page) -> Offer {
        Offer { source: Source::Recording(Recording::new(page)), ..self }
    }

    /// The same, telling of more than is asked for.
    pub(crate) fn with_manifest(self, manifest: Manifest, telling: Telling) -> Offer {
        Offer { manifest, telling, ..self }
    }

    /// The first that the manifest lists and that is not there.
    pub(crate) fn missing(&self) -> Option<String> {
        let is_missing = |request: &RequestHead| self.look_up(request, None).head.status != 200;
        let missing = self.manifest.listed().find(is_missing)?;
        Some(String::from_utf8_lossy(&missing.path).into_owned())
    }

    /// The same, noting what has been answered.
    pub(crate) fn with_log(self, log: Option<Entries>) -> Offer {
        Offer { log, ..self }
    }

    /// Where the bytes of its bodies are.
    pub(crate) fn shelf(&self) -> Shelf {
        self.shelf.clone()
    }

    fn look_up(&self, request: &RequestHead, echo: Option<Echo>) -> Answer {
        if let Some(patterns) = &self.patterns {
            let pattern = match echo {
                Some(echo) => Some(patterns.answer_echo(request, echo)),
                None => patterns.answer(request),
            };
            if let Some(answer) = pattern {
                return answer;
            }
        }
        match &self.source {
            Source::Nothing => reply::bare(404, &[]),
            Source::Files(files) => files.answer(request),
            Source::Recording(recording) => recording.answer(request),
        }
    }

    /// Adds what the manifest has beside an answer.
    fn tell(&self, request: &RequestHead, answer: Answer) -> Answer {
        if answer.head.status != 200 || request.method != b"GET"[..] {
            return answer;
        }
        match self.telling {
            Telling::Push => {
                let pushes = self.manifest.pushes(request);
                if pushes.is_empty() { answer } else { Answer { pushes, ..answer } }
            }
            Telling::Hint if asks_for_subresources(request) => match self.manifest.subresources(request) {
                Some(subresources) => with_field(answer, "x-subresource", &subresources),
                None => answer,
            },
            Telling::Hint => Answer { hint: self.manifest.hint(request), ..answer },
        }
    }
}

impl Site for Offer {
    type Asked = Asked;

    fn ask(&mut self, head: &Arc<RequestHead>) -> Asked {
        Asked { request: head.clone(), echo: self.patterns.as_ref().and_then(|patterns| patterns.echo(head)) }
    }

    fn take(&mut self, asked: &mut Asked, content: Chunk) {
        if let Some(echo) = &mut asked.echo {
            echo.take(&content);
        }
    }

    fn answer(&mut self, asked: Asked) -> Answer {
        let Asked { request, echo } = asked;
        let answer = self.look_up(&request, echo);
        self.tell(&request, answer)
    }

    fn done(&mut self, exchange: &Exchange) {
        if let Some((_, body)) = exchange.response {
            self.shelf.finish(body.id);
        }
        if let Some(log) = &self.log {
            log.note_exchange(exchange);
        }
    }
}

/// What clients of SPDY said who wanted to be told.
fn asks_for_subresources(request: &RequestHead) -> bool {
    request.fields.get(b"x-subresource").is_some_and(|value| value.eq_ignore_ascii_case(b"enabled"))
}

fn with_field(answer: Answer, name: &str, value: &str) -> Answer {
    let head = &answer.head;
    let fields = head.fields.iter().chain([(name.as_bytes(), value.as_bytes())]);
    let head = ResponseHead::new(head.status, Fields::from_pairs(fields));
    Answer { head: Arc::new(head), ..answer }
}
