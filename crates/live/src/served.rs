//! What `loadstone serve` serves: files or a recorded page, patterns, and pushes or hints along with them; and what the operator of an edge
//! may ask.

mod body_store;
mod edge_admin;
mod files;
mod manifest;
mod open_files;
mod patterns;
mod recorded_site;
mod recording;
mod reply;

pub(crate) use body_store::BodyStore;
pub(crate) use edge_admin::EdgeAdmin;
pub(crate) use files::Dotfiles;
pub use manifest::{Manifest, ManifestError};
pub(crate) use recorded_site::Ports;
pub use recorded_site::{
    Likeness, LongerResponse, MatchReport, NoWebUrl, Queries, RecordedResponse, RecordedSite, SentAs,
};

use crate::access_log::Entries;
use crate::descriptors::DescriptorShares;
use files::Files;
use loadstone_http::{Chunk, Fields, RequestHead, ResponseHead, Scheme};
use loadstone_load::page::Page;
use loadstone_load::{Answer, CONDITIONS, Exchange, Site, Ticket};
use open_files::OpenFiles;
use patterns::{Echo, Patterns};
use recorded_site::RecordedServer;
use recording::ReplayStore;
use schemars::JsonSchema;
use serde::Deserialize;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use time::OffsetDateTime;

/// The fields of requests that are read here.
const FIELDS_READ: [&[u8]; 2] = [b"content-type", b"x-subresource"];

/// How clients are told what a manifest lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PushOrHint {
    /// It is pushed, where the protocol can.
    #[default]
    Push,
    /// They are told where it is: by 103 (RFC 8297); by `X-Subresource` if they ask for that, as clients
    /// of SPDY did.
    Hint,
}

/// What a server offers, looked up in this order: patterns, then files or a recording.
#[derive(Debug)]
pub(crate) struct ServedContent {
    patterns: Option<Patterns>,
    source: Source,
    manifest: Manifest,
    announce: PushOrHint,
    bodies: BodyStore,
    log: Option<Entries>,
}

#[derive(Debug)]
enum Source {
    Nothing,
    Files(Files),
    Recording(ReplayStore),
    Site(RecordedServer),
}

/// A request that is arriving.
#[derive(Debug)]
pub(crate) struct AskedFor {
    request: Arc<RequestHead>,
    /// Its body, if it is going to be sent back.
    echo: Option<Echo>,
}

impl ServedContent {
    /// Nothing: every answer is 404.
    pub(crate) fn new() -> ServedContent {
        ServedContent {
            patterns: None,
            source: Source::Nothing,
            manifest: Manifest::default(),
            announce: PushOrHint::Push,
            bodies: BodyStore::default(),
            log: None,
        }
    }

    /// The same with patterns.
    pub(crate) fn with_patterns(self) -> ServedContent {
        ServedContent { patterns: Some(Patterns::new(self.bodies.clone())), ..self }
    }

    /// The same with the files of a directory.
    ///
    /// # Errors
    /// If there is no such directory, or it cannot be read.
    pub(crate) fn with_files(self, root: &Path, dotfiles: Dotfiles) -> io::Result<ServedContent> {
        let open = OpenFiles::new(DescriptorShares::of_process());
        Ok(ServedContent { source: Source::Files(Files::new(root, dotfiles, self.bodies.clone(), open)?), ..self })
    }

    /// The same with the objects of a page.
    pub(crate) fn with_recording(self, page: Arc<Page>) -> ServedContent {
        ServedContent { source: Source::Recording(ReplayStore::new(page)), ..self }
    }

    /// The same with a recording that has bodies, at a port with this scheme of hosts that have these ports.
    pub(crate) fn with_site(self, site: Arc<RecordedSite>, scheme: Scheme, ports: Ports) -> ServedContent {
        let server = RecordedServer::new(site, scheme, ports, self.bodies.clone());
        ServedContent { source: Source::Site(server), ..self }
    }

    /// The same, announcing what a manifest lists.
    pub(crate) fn with_manifest(self, manifest: Manifest, announce: PushOrHint) -> ServedContent {
        ServedContent { manifest, announce, ..self }
    }

    /// The first that the manifest lists and that is not there.
    pub(crate) fn missing(&self) -> Option<String> {
        let is_missing =
            |request: &RequestHead| self.look_up(request, None, Ipv4Addr::LOCALHOST.into()).head.status != 200;
        let missing = self.manifest.listed().find(is_missing);
        if let Source::Site(site) = &self.source {
            site.restart();
        }
        let missing = missing?;
        Some(String::from_utf8_lossy(&missing.path).into_owned())
    }

    /// The same, noting what has been answered.
    pub(crate) fn with_log(self, log: Option<Entries>) -> ServedContent {
        ServedContent { log, ..self }
    }

    /// Where the bytes of its bodies are.
    pub(crate) fn bodies(&self) -> BodyStore {
        self.bodies.clone()
    }

    fn look_up(&self, request: &RequestHead, echo: Option<Echo>, client: IpAddr) -> Answer {
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
            Source::Files(files) => files.answer(request, client),
            Source::Recording(recording) => recording.answer(request),
            Source::Site(site) => site.answer(request, OffsetDateTime::now_utc()),
        }
    }

    /// Adds to an answer the pushes or hints that the manifest lists for it.
    fn announce(&self, request: &RequestHead, answer: Answer) -> Answer {
        if answer.head.status != 200 || request.method != b"GET"[..] {
            return answer;
        }
        match self.announce {
            PushOrHint::Push => {
                let pushes = self.manifest.pushes(request);
                if pushes.is_empty() { answer } else { Answer { pushes, ..answer } }
            }
            PushOrHint::Hint if asks_for_subresources(request) => match self.manifest.subresources(request) {
                Some(subresources) => with_field(answer, "x-subresource", &subresources),
                None => answer,
            },
            PushOrHint::Hint => Answer { hint: self.manifest.hint(request), ..answer },
        }
    }
}

impl Site for ServedContent {
    type Asked = AskedFor;

    fn keep(&self, head: Arc<RequestHead>) -> Arc<RequestHead> {
        match self.source {
            Source::Site(_) => Arc::new(head.excerpt(&[&FIELDS_READ[..], &recorded_site::FIELDS_READ].concat())),
            Source::Recording(_) => Arc::new(head.excerpt(&[&FIELDS_READ[..], &CONDITIONS].concat())),
            _ => Arc::new(head.excerpt(&FIELDS_READ)),
        }
    }

    fn ask(&mut self, head: &Arc<RequestHead>) -> AskedFor {
        AskedFor { request: head.clone(), echo: self.patterns.as_ref().and_then(|patterns| patterns.echo(head)) }
    }

    fn take(&mut self, asked: &mut AskedFor, content: Chunk) {
        if let Some(echo) = &mut asked.echo {
            echo.take(&content);
        }
    }

    fn answer(&mut self, asked: AskedFor, ticket: Ticket) -> Option<Answer> {
        let AskedFor { request, echo } = asked;
        let answer = self.look_up(&request, echo, ticket.client);
        Some(self.announce(&request, answer))
    }

    fn done(&mut self, exchange: &Exchange) {
        if let Some((_, body)) = exchange.response {
            self.bodies.finish(body.id);
        }
        if let Some(log) = &self.log {
            log.note_exchange(exchange);
        }
    }
}

/// The field by which clients of SPDY asked for hints.
fn asks_for_subresources(request: &RequestHead) -> bool {
    request.fields.get(b"x-subresource").is_some_and(|value| value.eq_ignore_ascii_case(b"enabled"))
}

fn with_field(answer: Answer, name: &str, value: &str) -> Answer {
    let head = &answer.head;
    let fields = head.fields.iter().chain([(name.as_bytes(), value.as_bytes())]);
    let head = ResponseHead::new(head.status, Fields::from_pairs(fields));
    Answer { head: Arc::new(head), ..answer }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_request_only_its_line_and_the_fields_that_are_read_are_kept() {
        let long = "v".repeat(60_000);
        let fields = [("x", &long[..]), ("Content-Type", "text/plain"), ("cookie", &long)];
        let head = Arc::new(RequestHead::get("a.test", "/echo", Fields::from_pairs(fields)));
        let kept = ServedContent::new().keep(head.clone());
        let expected = RequestHead::get("a.test", "/echo", Fields::from_pairs([("Content-Type", "text/plain")]));
        assert_eq!(*kept, expected);
        assert!(kept.memory_len() < 100 && head.memory_len() > 120_000, "{}", kept.memory_len());
    }
}
