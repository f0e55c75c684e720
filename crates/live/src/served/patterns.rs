//! What a server makes up itself: bodies of any length, echoes, pushes.

use super::body_store::{BodyStore, PATTERN, StoredBody};
use super::reply;
use crate::pattern;
use bytes::Bytes;
use loadstone_http::{Chunk, Fields, Priority, RequestHead};
use loadstone_load::{Answer, Pushed};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// The longest body of `/bytes/N`: 1 TB.
const MAX_BYTES: u64 = 1_000_000_000_000;
/// The most pushes of `/push/N`.
const MAX_PUSHES: u64 = 100;
/// The length of the answer to `/push/N` itself.
const PUSHING_RESPONSE: u64 = 500;
/// The length of `/pushed/0`; each further one is longer by a byte.
const FIRST_PUSHED: u64 = 1000;
/// The longest body that is sent back.
const MAX_ECHO: usize = 16 * 1024 * 1024;
/// The most that is kept at a time of all bodies that are to be sent back.
const MAX_ECHO_TOTAL: usize = 256 * 1024 * 1024;

const KIND: &str = "application/octet-stream";

/// Answers `/bytes/N`, `/echo`, `/push/N` and `/pushed/I`.
#[derive(Debug)]
pub(super) struct Patterns {
    bodies: BodyStore,
    /// Bytes that are kept of all echoes.
    kept: Rc<Cell<usize>>,
}

/// The body of a request that is going to be sent back.
#[derive(Debug)]
pub(super) struct Echo {
    content: Vec<u8>,
    /// It has become more than is kept.
    is_too_large: bool,
    kept: Rc<Cell<usize>>,
}

impl Patterns {
    pub(super) fn new(bodies: BodyStore) -> Patterns {
        Patterns { bodies, kept: Rc::default() }
    }

    /// Where to keep the body of a request that is to be sent back.
    pub(super) fn echo(&self, request: &RequestHead) -> Option<Echo> {
        let is_echo = reply::path(request) == b"/echo";
        is_echo.then(|| Echo { content: Vec::new(), is_too_large: false, kept: self.kept.clone() })
    }

    /// The answer to a request whose body was kept.
    pub(super) fn answer_echo(&self, request: &RequestHead, echo: Echo) -> Answer {
        if echo.is_too_large {
            return reply::bare(413, &[]);
        }
        let kind = request.fields.get(b"content-type").and_then(|kind| std::str::from_utf8(kind).ok());
        let len = echo.content.len() as u64;
        if len == 0 || reply::is_head(request) {
            return reply::content(request, kind.unwrap_or(KIND), PATTERN, len);
        }
        let id = self.bodies.put(StoredBody::Memory(Box::new(echo)));
        reply::content(request, kind.unwrap_or(KIND), id, len)
    }

    /// The answer to any other request, if it is for a pattern.
    pub(super) fn answer(&self, request: &RequestHead) -> Option<Answer> {
        let (what, number) = named(reply::path(request))?;
        let answer = |len| Some(reply::content(request, KIND, PATTERN, len));
        match what {
            _ if !reply::is_to_get(request) => Some(reply::not_allowed()),
            b"bytes" if number <= MAX_BYTES => answer(number),
            b"pushed" if number < MAX_PUSHES => answer(FIRST_PUSHED + number),
            b"push" if number <= MAX_PUSHES => {
                let pushes = (0..number).map(|at| pushed(request, at)).collect();
                answer(PUSHING_RESPONSE).map(|answer| Answer { pushes, ..answer })
            }
            _ => Some(reply::bare(404, &[])),
        }
    }
}

/// `/NAME/NUMBER`, if it is one of those.
fn named(path: &[u8]) -> Option<(&[u8], u64)> {
    let mut parts = path.strip_prefix(b"/")?.split(|byte| *byte == b'/');
    let (what, number) = (parts.next()?, parts.next()?);
    let is_ours = matches!(what, b"bytes" | b"push" | b"pushed") && parts.next().is_none();
    let is_number = is_ours && !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    // A number that is too large for this one is too large for anything.
    is_number.then(|| (what, std::str::from_utf8(number).ok().and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)))
}

fn pushed(parent: &RequestHead, at: u64) -> Pushed {
    let path = Bytes::from(format!("/pushed/{at}"));
    let request = RequestHead::new(Bytes::from_static(b"GET"), parent.authority.clone(), path, Fields::default());
    Pushed { request: Arc::new(request.over(parent.scheme)), priority: Priority::default() }
}

impl Echo {
    /// More of the body has come. What is more than is kept is not kept at all.
    pub(super) fn take(&mut self, content: &Chunk) {
        let len = usize::try_from(content.len()).unwrap_or(usize::MAX);
        let total = self.kept.get().saturating_add(len);
        if self.is_too_large || self.content.len().saturating_add(len) > MAX_ECHO || total > MAX_ECHO_TOTAL {
            self.is_too_large = true;
            return self.let_go();
        }
        self.kept.set(total);
        match content {
            Chunk::Bytes(bytes) => self.content.extend_from_slice(bytes),
            Chunk::Run { offset, len, .. } => pattern::append(*offset, *len, &mut self.content),
        }
    }

    fn let_go(&mut self) {
        self.kept.set(self.kept.get() - self.content.len());
        self.content = Vec::new();
    }
}

impl AsRef<[u8]> for Echo {
    fn as_ref(&self) -> &[u8] {
        &self.content
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.let_go();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bodies;

    fn patterns() -> Patterns {
        Patterns::new(BodyStore::default())
    }

    fn ask(path: &str) -> Option<(u16, u64)> {
        let answer = patterns().answer(&RequestHead::get("a.test", path, Fields::default()))?;
        Some((answer.head.status, answer.body.len))
    }

    fn post(path: &'static [u8]) -> RequestHead {
        let fields = Fields::from_pairs([("content-type", "text/x-story")]);
        RequestHead::new(Bytes::from_static(b"POST"), Bytes::from_static(b"a.test"), Bytes::from_static(path), fields)
    }

    #[test]
    fn bodies_have_the_length_that_the_path_says() {
        for (path, expected) in [
            ("/bytes/0", Some((200, 0))),
            ("/bytes/10240", Some((200, 10_240))),
            ("/bytes/1000000000000?x=1", Some((200, 1_000_000_000_000))),
            ("/bytes/1000000000001", Some((404, 0))),
            ("/bytes/99999999999999999999999999", Some((404, 0))),
            ("/pushed/7", Some((200, 1007))),
            ("/pushed/100", Some((404, 0))),
            ("/bytes/", None),
            ("/bytes/-1", None),
            ("/bytes/1/2", None),
            ("/other/1", None),
            ("*", None),
        ] {
            assert_eq!(ask(path), expected, "{path}");
        }
    }

    #[test]
    fn the_answer_to_head_has_the_length_and_no_content_rfc9110_9_3_2() {
        let head = reply::request("HEAD", "a.test", "/bytes/77");
        let answer = patterns().answer(&head).unwrap();
        assert_eq!(answer.head.fields.get(b"content-length"), Some(&b"77"[..]));
        assert_eq!(answer.body.len, 0);
        assert_eq!(patterns().answer(&post(b"/bytes/77")).unwrap().head.status, 405);
    }

    #[test]
    fn as_many_pushes_come_as_are_asked_for() {
        let ask = |path| patterns().answer(&RequestHead::get("a.test", path, Fields::default())).unwrap();
        let answer = ask("/push/3");
        assert_eq!(answer.body.len, 500);
        let pushes: Vec<_> = answer.pushes.iter().map(|pushed| &pushed.request.path[..]).collect();
        assert_eq!(pushes, [b"/pushed/0", b"/pushed/1", b"/pushed/2"]);
        assert_eq!(ask("/push/100").pushes.len(), 100);
        assert_eq!((ask("/push/101").head.status, ask("/push/101").pushes.len()), (404, 0));
    }

    #[test]
    fn an_echo_is_what_came_with_the_type_that_it_had() {
        let (patterns, request) = (patterns(), post(b"/echo"));
        assert!(patterns.echo(&post(b"/echoes")).is_none());
        let mut echo = patterns.echo(&request).unwrap();
        echo.take(&Chunk::Bytes(Bytes::from_static(b"once ")));
        echo.take(&Chunk::Bytes(Bytes::from_static(b"more")));
        let answer = patterns.answer_echo(&request, echo);
        assert_eq!(answer.head.fields.get(b"content-type"), Some(&b"text/x-story"[..]));
        let mut out = Vec::new();
        patterns.bodies.append(answer.body.id, 0, answer.body.len, &mut out);
        assert_eq!(out, b"once more");
        assert_eq!(patterns.kept.get(), 9);
        patterns.bodies.finish(answer.body.id);
        patterns.bodies.clear();
        assert_eq!(patterns.kept.get(), 0);
    }

    #[test]
    fn what_is_too_large_to_be_kept_is_refused_and_not_kept() {
        let (patterns, request) = (patterns(), post(b"/echo"));
        let piece = |len| Chunk::Run { body: PATTERN, offset: 0, len };
        let mut echo = patterns.echo(&request).unwrap();
        echo.take(&piece(16 << 20));
        assert_eq!(patterns.kept.get(), 16 << 20);
        echo.take(&piece(1));
        assert_eq!(patterns.kept.get(), 0);
        assert_eq!(patterns.answer_echo(&request, echo).head.status, 413);
        // Others have taken all the room there is.
        patterns.kept.set(256 << 20);
        let mut echo = patterns.echo(&request).unwrap();
        echo.take(&piece(1));
        assert_eq!(patterns.answer_echo(&request, echo).head.status, 413);
        patterns.kept.set(0);
        let mut given_up = patterns.echo(&request).unwrap();
        given_up.take(&piece(1000));
        drop(given_up);
        assert_eq!(patterns.kept.get(), 0);
    }
}
