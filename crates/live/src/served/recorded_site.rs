//! A recording with its bodies: which response answers a request, and what is sent of it.

mod coding;
mod conditions;
mod heads;
mod matcher;
mod shape;

pub(crate) use conditions::FIELDS_READ;
pub(crate) use heads::Ports;
pub use matcher::{Likeness, Queries};

use super::body_store::{BodyStore, StoredBody};
use super::reply;
use bytes::Bytes;
use coding::{Coded, Coding};
use heads::SentFields;
use loadstone_http::{Body, Fields, RequestHead, ResponseHead, Scheme};
use loadstone_load::Answer;
use matcher::{Matcher, UrlId};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use time::OffsetDateTime;

/// How many requests that nothing answers are listed.
const MAX_LISTED: usize = 1000;

/// A response that was recorded, or that somebody wrote.
#[derive(Clone, Debug)]
pub struct RecordedResponse {
    /// What it answered; of its fields nothing counts.
    pub request: RequestHead,
    /// Which queries it answers.
    pub queries: Queries,
    /// Its status.
    pub status: u16,
    /// Its fields, in order.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// Its content, decoded.
    pub body: Bytes,
    /// How its content is sent to clients that accept a coding.
    pub sent_as: SentAs,
    /// How long the server thinks before it has it.
    pub think: Duration,
}

/// How content is sent to clients that accept a coding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SentAs {
    /// As it came, with the coding that the fields name.
    Raw(Bytes),
    /// With that coding, in so many bytes.
    Len(u64),
    /// With the coding that the fields name or, if they name none and it is text, with one that the client accepts: as
    /// servers compress it as a rule.
    Usual,
    /// As it is.
    Identity,
}

/// A URL that no recording can have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{0}' names no web server: give a URL that begins with https:// or http://")]
pub struct NoWebUrl(String);

/// All responses of a recording, for the servers of all its hosts.
#[derive(Debug)]
pub struct RecordedSite {
    matcher: Matcher,
    /// Method and URL of each response.
    names: Vec<String>,
    responses: Vec<ReadyResponse>,
    hosts: Vec<String>,
    asked: Mutex<AskedSoFar>,
}

/// A response, ready to be sent.
#[derive(Debug)]
struct ReadyResponse {
    status: u16,
    fields: SentFields,
    body: Bytes,
    /// The same with content codings, the best first.
    coded: Vec<Coded>,
    think: Duration,
}

/// What was asked for so far.
#[derive(Debug, Default)]
struct AskedSoFar {
    /// How often each URL has been, since a load began.
    given: Vec<usize>,
    /// Whether each response was ever given.
    used: Vec<bool>,
    report: MatchReport,
}

/// How requests were matched with what was recorded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MatchReport {
    /// How many had a URL that was recorded.
    pub exact: u64,
    /// How many had a path that was recorded, with another query.
    pub by_query: u64,
    /// How many had a path of a shape that was recorded.
    pub by_shape: u64,
    /// How many had no answer.
    pub unmatched: u64,
    /// Methods and URLs of those, with how often they were asked for; not all if there are very many.
    pub not_recorded: BTreeMap<String, u64>,
    /// Methods and URLs of what was recorded and never asked for.
    pub unused: BTreeSet<String>,
    /// Responses that are sent in over 1 % more bytes than were recorded.
    pub longer: Vec<LongerResponse>,
}

/// A response that is longer than it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LongerResponse {
    /// Method and URL of what it answers.
    pub name: String,
    /// Bytes of its body on the wire, as recorded.
    pub recorded: u64,
    /// Bytes that are sent.
    pub sent: u64,
}

/// What answers a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FoundResponse {
    Response(usize),
    /// A browser asks for leave to send a request that has this response.
    Leave(usize),
}

impl RecordedResponse {
    /// A response to a request without fields: the decoded content, as it is, to clients of its own URL.
    ///
    /// # Errors
    /// If the URL names no web server.
    pub fn new(method: &str, url: &str, status: u16, body: Bytes) -> Result<RecordedResponse, NoWebUrl> {
        let request = request_of(method, url).ok_or_else(|| NoWebUrl(url.to_owned()))?;
        let (queries, fields, sent_as, think) = (Queries::Own, Vec::new(), SentAs::Identity, Duration::ZERO);
        Ok(RecordedResponse { request, queries, status, fields, body, sent_as, think })
    }

    fn field(&self, wanted: &str) -> Option<String> {
        let is_it = |(name, _): &&(Vec<u8>, Vec<u8>)| name.eq_ignore_ascii_case(wanted.as_bytes());
        let (_, value) = self.fields.iter().find(is_it)?;
        Some(String::from_utf8_lossy(value.trim_ascii()).to_ascii_lowercase())
    }

    /// What is sent to clients that accept codings, the best first.
    fn coded(&self) -> Vec<Coded> {
        let coding = self.field("content-encoding").filter(|name| !name.is_empty() && name != "identity");
        match (&self.sent_as, coding) {
            _ if self.body.is_empty() => Vec::new(),
            (SentAs::Raw(raw), Some(name)) => vec![Coded { name, bytes: raw.clone() }],
            (SentAs::Len(len), Some(name)) => {
                let len = usize::try_from(*len).unwrap_or(usize::MAX).min(2 * self.body.len() + 1024);
                vec![Coding::instead_of(&name).of_len(&self.body, len)]
            }
            (SentAs::Usual, Some(name)) => vec![Coding::instead_of(&name).usual(&self.body)],
            (SentAs::Usual, None) if is_text(&self.field("content-type").unwrap_or_default()) => {
                let coded = [Coding::Brotli, Coding::Gzip].map(|coding| coding.usual(&self.body));
                coded.into_iter().filter(|coded| coded.bytes.len() < self.body.len()).collect()
            }
            _ => Vec::new(),
        }
    }

    fn ready(self) -> (ReadyResponse, Option<LongerResponse>) {
        let coded = self.coded();
        let longer = match (&self.sent_as, coded.first()) {
            (SentAs::Len(len), Some(coded)) if coded.bytes.len() as u64 > len + len / 100 => {
                Some(LongerResponse { name: name(&self.request), recorded: *len, sent: coded.bytes.len() as u64 })
            }
            _ => None,
        };
        let RecordedResponse { status, body, think, .. } = self;
        (ReadyResponse { status, fields: SentFields::of(&self.fields), body, coded, think }, longer)
    }
}

impl RecordedSite {
    /// A site of these responses, in the order of recording.
    pub fn new(recorded: Vec<RecordedResponse>) -> RecordedSite {
        // That nothing was new was said to a client that had it.
        let recorded = recorded.into_iter().filter(|response| response.status != 304 && response.status >= 200);
        let recorded = recorded.collect::<Vec<_>>();
        let (mut matcher, mut hosts) = (Matcher::default(), Vec::new());
        for (at, RecordedResponse { request, queries, .. }) in recorded.iter().enumerate() {
            matcher.add(request, *queries, at);
            let host = String::from_utf8_lossy(&request.authority).into_owned();
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        let names = recorded.iter().map(|response| name(&response.request)).collect();
        let (responses, longer) = on_all_processors(recorded).into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        let report = MatchReport { longer: longer.into_iter().flatten().collect(), ..MatchReport::default() };
        let asked = AskedSoFar { given: vec![0; matcher.len()], used: vec![false; responses.len()], report };
        RecordedSite { matcher, names, responses, hosts, asked: Mutex::new(asked) }
    }

    /// Its hosts, with their ports if those are not the scheme's own, in the order of recording.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// How requests were matched so far.
    pub fn report(&self) -> MatchReport {
        let asked = self.asked();
        let names = |is_used: bool| {
            let those = self.names.iter().zip(&asked.used).filter(move |(_, used)| **used == is_used);
            those.map(|(name, _)| name.clone())
        };
        let (used, unused) = (names(true).collect::<BTreeSet<_>>(), names(false));
        MatchReport { unused: unused.filter(|name| !used.contains(name)).collect(), ..asked.report.clone() }
    }

    /// Counts from here on as if nothing had been asked for.
    pub fn restart(&self) {
        self.asked().given.fill(0);
    }

    /// The place of the response to a request, and how they were matched; it counts as given.
    pub fn take(&self, request: &RequestHead) -> Option<(usize, Likeness)> {
        let asked = &mut *self.asked();
        let (id, likeness) = self.find(request, &asked.given)?;
        Some((self.give(asked, id, request), likeness))
    }

    fn asked(&self) -> MutexGuard<'_, AskedSoFar> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// HEAD asks for what GET gets (RFC 9110, section 9.3.2).
    fn find(&self, request: &RequestHead, given: &[usize]) -> Option<(UrlId, Likeness)> {
        let find = |method: &[u8]| self.matcher.find(method, request, given);
        find(&request.method).or_else(|| reply::is_head(request).then(|| find(b"GET")).flatten())
    }

    /// The next response of a URL. If a page is opened whose responses were all given, a new load begins.
    fn give(&self, asked: &mut AskedSoFar, id: UrlId, request: &RequestHead) -> usize {
        let opens = match request.fields.get(b"sec-fetch-dest") {
            Some(destination) => destination == b"document",
            None => id == UrlId(0),
        };
        if opens && asked.given[id.0] >= self.matcher.responses(id) {
            asked.given.fill(0);
        }
        let response = self.matcher.response(id, asked.given[id.0]);
        asked.given[id.0] += 1;
        asked.used[response] = true;
        response
    }

    /// What answers a request, which is counted.
    fn look_up(&self, request: &RequestHead) -> Option<FoundResponse> {
        let asked = &mut *self.asked();
        let found = match self.find(request, &asked.given) {
            Some((id, likeness)) => Some((FoundResponse::Response(self.give(asked, id, request)), likeness)),
            None => self.leave(request, &asked.given).map(|(at, likeness)| (FoundResponse::Leave(at), likeness)),
        };
        asked.report.note(request, found.map(|(_, likeness)| likeness));
        found.map(|(found, _)| found)
    }

    /// The response to the request for which a browser asks for leave (Fetch, section 4.8).
    fn leave(&self, request: &RequestHead, given: &[usize]) -> Option<(usize, Likeness)> {
        let method = request.fields.get(b"access-control-request-method")?;
        let (id, likeness) = self.matcher.find(method, request, given).filter(|_| request.method == b"OPTIONS"[..])?;
        Some((self.matcher.response(id, given[id.0]), likeness))
    }
}

impl MatchReport {
    fn note(&mut self, request: &RequestHead, likeness: Option<Likeness>) {
        let count = match likeness {
            Some(Likeness::Exact) => &mut self.exact,
            Some(Likeness::Query) => &mut self.by_query,
            Some(Likeness::Shape) => &mut self.by_shape,
            None => {
                let line = name(request);
                if self.not_recorded.len() < MAX_LISTED || self.not_recorded.contains_key(&line) {
                    *self.not_recorded.entry(line).or_default() += 1;
                }
                &mut self.unmatched
            }
        };
        *count += 1;
    }
}

/// The server of a recorded site's hosts at one port.
#[derive(Debug)]
pub(super) struct RecordedServer {
    site: Arc<RecordedSite>,
    scheme: Scheme,
    ports: Ports,
    bodies: BodyStore,
}

impl RecordedServer {
    pub(super) fn new(site: Arc<RecordedSite>, scheme: Scheme, ports: Ports, bodies: BodyStore) -> RecordedServer {
        RecordedServer { site, scheme, ports, bodies }
    }

    /// Counts from here on as if nothing had been asked for.
    pub(super) fn restart(&self) {
        self.site.restart();
    }

    /// The answer to a request at this time.
    pub(super) fn answer(&self, request: &RequestHead, now: OffsetDateTime) -> Answer {
        // HTTP/1.1 does not say the scheme.
        let request = &request.clone().over(self.scheme);
        match self.site.look_up(request) {
            Some(FoundResponse::Response(at)) => self.give(request, &self.site.responses[at], now),
            Some(FoundResponse::Leave(at)) => {
                let response = &self.site.responses[at];
                let leave = conditions::leave(request, &response.fields.sent(request, now, self.ports));
                Answer::new(Arc::new(ResponseHead::new(204, Fields::from_pairs(leave))), Body::EMPTY)
            }
            None => reply::bare(404, &[]),
        }
    }

    fn give(&self, request: &RequestHead, response: &ReadyResponse, now: OffsetDateTime) -> Answer {
        let ReadyResponse { status, fields, body, coded, think } = response;
        let mut sent = fields.sent(request, now, self.ports);
        let mut set = |name: &str, value: String| sent.push((name.to_owned(), value.into_bytes()));
        let is_whole = *status == 200 && reply::is_to_get(request);
        if is_whole && conditions::is_unchanged(request, fields) {
            sent.retain(|(name, _)| conditions::is_of_unchanged(name));
            return Answer { think: *think, ..self.answer_with(request, 304, &sent, None) };
        }
        let chosen = coded.iter().find(|coded| conditions::accepts(request, &coded.name));
        let (mut status, mut content) = (*status, body.clone());
        if let Some(chosen) = chosen {
            set("content-encoding", chosen.name.clone());
            content = chosen.bytes.clone();
        } else if is_whole && let Some(part) = conditions::part(request, fields, body.len() as u64) {
            set("content-range", format!("bytes {}-{}/{}", part.start, part.end - 1, body.len()));
            (status, content) = (206, body.slice(part.start as usize..part.end as usize));
        }
        if coded.len() > 1 {
            set("vary", "accept-encoding".to_owned());
        }
        if !matches!(status, 204 | 304) {
            set("content-length", content.len().to_string());
        }
        let content = (!matches!(status, 204 | 304)).then_some(content);
        Answer { think: *think, ..self.answer_with(request, status, &sent, content) }
    }

    fn answer_with(
        &self,
        request: &RequestHead,
        status: u16,
        fields: &[(String, Vec<u8>)],
        content: Option<Bytes>,
    ) -> Answer {
        let head =
            Arc::new(ResponseHead::new(status, Fields::from_pairs(fields.iter().map(|(name, value)| (name, value)))));
        let content = content.filter(|content| !content.is_empty() && !reply::is_head(request));
        let body = content.map_or(Body::EMPTY, |content| {
            let len = content.len() as u64;
            Body { id: self.bodies.put(StoredBody::Memory(Box::new(content))), len }
        });
        Answer::new(head, body)
    }
}

/// Method and URL of a request.
fn name(RequestHead { method, scheme, authority, path, .. }: &RequestHead) -> String {
    let [method, authority, path] = [method, authority, path].map(|part| String::from_utf8_lossy(part));
    format!("{method} {}://{authority}{path}", scheme.name())
}

/// The request of a URL; none if it names no web server.
fn request_of(method: &str, url: &str) -> Option<RequestHead> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = [Scheme::Https, Scheme::Http].into_iter().find(|known| scheme.eq_ignore_ascii_case(known.name()))?;
    let rest = rest.split('#').next().unwrap_or_default();
    let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let authority = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    let own_port = if scheme == Scheme::Https { ":443" } else { ":80" };
    let authority = authority.strip_suffix(own_port).unwrap_or(&authority);
    let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
    let [method, authority, target] = [method, authority, &target].map(|part| Bytes::copy_from_slice(part.as_bytes()));
    (!authority.is_empty()).then(|| RequestHead::new(method, authority, target, Fields::default()).over(scheme))
}

/// Whether content of this type is text, which servers compress.
fn is_text(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let is_known = ["javascript", "json", "xml", "svg", "wasm", "manifest"].iter().any(|word| kind.contains(word));
    kind.starts_with("text/") || is_known
}

/// Makes all responses ready, which takes its time where they are compressed.
fn on_all_processors(recorded: Vec<RecordedResponse>) -> Vec<(ReadyResponse, Option<LongerResponse>)> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let mut shares = (0..workers).map(|_| Vec::new()).collect::<Vec<_>>();
    for (at, response) in recorded.into_iter().enumerate() {
        shares[at % workers].push((at, response));
    }
    let mut ready = thread::scope(|scope| {
        let make = |share: Vec<(usize, RecordedResponse)>| {
            scope.spawn(|| share.into_iter().map(|(at, response)| (at, response.ready())).collect::<Vec<_>>())
        };
        let makers = shares.into_iter().map(make).collect::<Vec<_>>();
        let made = makers.into_iter().flat_map(|maker| maker.join().expect("compressing does not fail"));
        made.collect::<Vec<_>>()
    });
    ready.sort_by_key(|(at, _)| *at);
    ready.into_iter().map(|(_, ready)| ready).collect()
}

#[cfg(test)]
mod tests;
