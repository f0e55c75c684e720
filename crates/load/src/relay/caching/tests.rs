//! A relay with a cache, between clients of one HTTP/2 connection and servers that the test is.

mod on_disk;
mod sharing;

use super::super::tests::{SERVER, World, at};
use super::super::{CacheLimits, CacheOutcome, ExchangeNotes, RelayConfig};
use crate::{Closed, ConnId, Program};
use loadstone_http::{
    Body, BodyId, Chunk, Content, Event, Fields, Priority, Protocol, RequestHead, RequestId, ResponseHead,
    ServerSession,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

const LIMITS: CacheLimits =
    CacheLimits { bytes: 1_000_000, object: 100_000, disk: 0, zero: SystemTime::UNIX_EPOCH, hits: None };

type FieldPairs<'a> = &'a [(&'a str, &'a str)];

/// Clients, a relay with a cache, and its server.
struct Cached {
    world: World,
    /// What the server was asked for and has not answered.
    asked: VecDeque<(ConnId, RequestId, Arc<RequestHead>)>,
}

impl Cached {
    fn new() -> Cached {
        Cached::with(LIMITS)
    }

    fn with(limits: CacheLimits) -> Cached {
        let change = |config| RelayConfig { cache: Some(limits), notes: ExchangeNotes::Kept, ..config };
        Cached { world: World::with(Protocol::H2, change), asked: VecDeque::new() }
    }

    fn ask_host(&mut self, method: &str, host: &str, path: &str, fields: FieldPairs) -> RequestId {
        let [method, host, path] = [method, host, path].map(|text| text.to_owned().into());
        let head = RequestHead::new(method, host, path, Fields::from_pairs(fields.iter().copied()));
        let id = self.world.client.request(head.into(), Body::EMPTY.into(), Priority::default());
        self.settle();
        id
    }

    fn ask(&mut self, method: &str, path: &str, fields: FieldPairs) -> RequestId {
        self.ask_host(method, "a.test", path, fields)
    }

    fn get(&mut self, path: &str) -> RequestId {
        self.ask("GET", path, &[])
    }

    fn settle(&mut self) {
        self.world.settle();
        self.asked.extend(self.world.requests());
    }

    /// How many requests wait at the server.
    fn waiting(&self) -> usize {
        self.asked.len()
    }

    /// The server answers what it was asked first with a body of this name and length, and says how long it is.
    fn reply(&mut self, status: u16, fields: FieldPairs, body: u32, len: u64) -> Arc<RequestHead> {
        let length = len.to_string();
        let own = (!matches!(status, 204 | 304)).then_some(("content-length", &length[..]));
        let fields = Fields::from_pairs(fields.iter().copied().chain(own));
        let (conn, id, head) = self.asked.pop_front().expect("the server was asked");
        let response = Arc::new(ResponseHead::new(status, fields));
        let session = &mut self.world.behind.get_mut(&conn).unwrap().session;
        session.respond(id, response, Body { id: BodyId(body), len }.into());
        self.settle();
        head
    }

    /// Stores a response of body 1 with 1,000 bytes.
    fn store(&mut self, path: &str, fields: FieldPairs) {
        let stream = self.get(path);
        self.reply(200, fields, 1, 1000);
        assert_eq!(self.got(stream), (200, Some(1), 1000), "{path}");
    }

    /// What a stream got: status, name of the body, bytes; 0 where it is not complete.
    fn got(&self, stream: RequestId) -> (u16, Option<u32>, u64) {
        let (body, len, is_ended) = self.world.content(stream);
        let status = self.world.status(stream).filter(|_| is_ended).unwrap_or(0);
        (status, body.map(|BodyId(body)| body), len)
    }

    fn field(&self, stream: RequestId, name: &str) -> Option<String> {
        let heads = self.world.events.iter().filter_map(|event| match event {
            Event::Response { id, head } if *id == stream => head.fields.get(name.as_bytes()),
            _ => None,
        });
        heads.last().map(|value| String::from_utf8_lossy(value).into_owned())
    }

    fn pass(&mut self, second: u64) {
        self.world.now = at(second);
        self.world.relay.handle_timeout(at(second));
        self.settle();
    }

    /// What the cache had to do with exchanges that are over.
    fn outcomes(&mut self) -> Vec<CacheOutcome> {
        std::iter::from_fn(|| self.world.relay.poll_exchange()).map(|over| over.cache.unwrap()).collect()
    }
}

#[test]
fn what_is_fresh_is_answered_with_its_age_and_what_is_stale_is_asked_for_again_rfc9111_4_2() {
    let mut cached = Cached::new();
    cached.store("/", &[("cache-control", "max-age=60"), ("x-own", "1")]);
    cached.pass(59);
    let hit = cached.get("/");
    assert_eq!((cached.got(hit), cached.waiting()), ((200, Some(1), 1000), 0));
    assert_eq!(cached.field(hit, "age").as_deref(), Some("59"));
    assert_eq!(cached.field(hit, "cache-status").as_deref(), Some("loadstone; hit; ttl=1"));
    assert_eq!(cached.field(hit, "x-own").as_deref(), Some("1"));
    cached.pass(60);
    let stale = cached.get("/");
    cached.reply(200, &[("cache-control", "max-age=60")], 2, 500);
    assert_eq!(cached.got(stale), (200, Some(2), 500));
    assert_eq!(cached.outcomes(), [CacheOutcome::Miss, CacheOutcome::Hit, CacheOutcome::Replaced]);
    let hit = cached.get("/");
    assert_eq!((cached.got(hit), cached.waiting()), ((200, Some(2), 500), 0));
}

#[test]
fn what_is_private_authorised_sets_cookies_or_may_not_be_stored_is_passed_on_and_asked_for_again_rfc9111_3() {
    let fresh = ("cache-control", "max-age=60");
    // Fields of the request, the status, and those of the response.
    let cases: &[(FieldPairs, u16, FieldPairs)] = &[
        (&[], 200, &[("cache-control", "private, max-age=60")]),
        (&[], 200, &[("cache-control", "Private=\"x\", max-age=60")]),
        (&[], 200, &[("cache-control", "no-store, max-age=60")]),
        (&[], 200, &[fresh, ("set-cookie", "a=b")]),
        (&[], 200, &[("cache-control", "public, max-age=60"), ("set-cookie", "a=b")]),
        (&[], 200, &[fresh, ("vary", "*")]),
        (&[], 200, &[fresh, ("vary", "accept, *")]),
        (&[], 200, &[fresh, ("cdn-cache-control", "private")]),
        (&[], 200, &[]),
        (&[], 500, &[fresh]),
        (&[], 206, &[fresh, ("content-range", "bytes 0-999/2000")]),
        (&[("authorization", "Basic eA==")], 200, &[fresh]),
        (&[("cookie", "a=b")], 200, &[("last-modified", "Thu, 01 Jan 1970 00:00:00 GMT"), ("etag", "\"1\"")]),
        (&[("cache-control", "no-store")], 200, &[fresh]),
        (&[("range", "bytes=0-")], 200, &[fresh]),
        (&[("x-original-url", "/admin")], 200, &[fresh]),
        (&[("x_forwarded_scheme", "http")], 200, &[fresh]),
    ];
    for (request, status, response) in cases {
        let mut cached = Cached::new();
        let stream = cached.ask("GET", "/", request);
        let behind = cached.reply(*status, response, 1, 1000);
        assert_eq!(cached.got(stream), (*status, Some(1), 1000), "{request:?} {response:?}");
        for (name, value) in request.iter().filter(|(name, _)| *name != "x_forwarded_scheme") {
            assert_eq!(behind.fields.get(name.as_bytes()), Some(value.as_bytes()), "it is passed on");
        }
        cached.get("/");
        assert_eq!(cached.waiting(), 1, "{request:?} {response:?}");
        assert!(cached.asked[0].2.fields.get(b"if-none-match").is_none(), "nothing is stored: {request:?}");
    }
}

#[test]
fn what_an_origin_allows_for_those_who_show_who_they_are_is_stored_for_them_rfc9111_3_5() {
    let authorized: FieldPairs = &[("authorization", "Basic eA==")];
    let mut cached = Cached::new();
    cached.ask("GET", "/", authorized);
    cached.reply(200, &[("cache-control", "s-maxage=60")], 1, 5);
    let hit = cached.ask("GET", "/", authorized);
    assert_eq!(cached.got(hit), (200, Some(1), 5));
    cached.store("/public", &[("cache-control", "max-age=60")]);
    cached.ask("GET", "/public", authorized);
    assert_eq!(cached.waiting(), 1, "what is for all may be another thing for this one");
}

#[test]
fn errors_are_stored_only_as_the_origin_says_or_as_their_status_allows() {
    let mut cached = Cached::new();
    for (path, status, fields, is_stored) in [
        ("/1", 404, &[("cache-control", "max-age=5")][..], true),
        ("/2", 404, &[], false),
        ("/3", 302, &[("location", "/")], false),
        ("/4", 302, &[("cache-control", "max-age=5")], true),
        ("/5", 503, &[("cache-control", "max-age=5")], false),
        ("/6", 301, &[("cache-control", "s-maxage=5")], true),
    ] {
        cached.get(path);
        cached.reply(status, fields, 1, 10);
        let again = cached.get(path);
        assert_eq!(cached.waiting(), usize::from(!is_stored), "{path}");
        if !is_stored {
            cached.reply(status, fields, 1, 10);
        }
        assert_eq!(cached.got(again), (status, Some(1), 10), "{path}");
    }
}

#[test]
fn what_is_stale_is_confirmed_by_a_304_and_fresh_again_rfc9111_4_3() {
    let date = "Thu, 01 Jan 1970 00:00:00 GMT";
    let mut cached = Cached::new();
    cached.store("/", &[("cache-control", "max-age=10"), ("etag", "\"1\""), ("last-modified", date), ("x-old", "1")]);
    cached.pass(10);
    let stream = cached.ask("GET", "/", &[("if-none-match", "\"0\"")]);
    let other = cached.get("/");
    assert_eq!(cached.waiting(), 1, "both wait for one");
    let behind = cached.reply(304, &[("cache-control", "max-age=20"), ("etag", "\"1\""), ("x-new", "2")], 0, 0);
    assert_eq!(behind.fields.get(b"if-none-match"), Some(&b"\"1\""[..]), "the cache asks for what it has");
    assert_eq!(behind.fields.get(b"if-modified-since"), Some(date.as_bytes()));
    for stream in [stream, other] {
        assert_eq!(cached.got(stream), (200, Some(1), 1000));
        assert_eq!(cached.field(stream, "x-new").as_deref(), Some("2"));
        assert_eq!(cached.field(stream, "x-old").as_deref(), Some("1"));
    }
    assert_eq!(cached.outcomes()[1..], [CacheOutcome::Revalidated, CacheOutcome::Collapsed]);
    cached.pass(29);
    let hit = cached.get("/");
    assert_eq!((cached.got(hit), cached.waiting()), ((200, Some(1), 1000), 0));
    cached.pass(30);
    let stream = cached.get("/");
    cached.reply(304, &[("etag", "\"2\"")], 0, 0);
    assert_eq!(
        cached.waiting(),
        1,
        "a 304 about another response confirms nothing: it is asked for without conditions"
    );
    let behind = cached.reply(200, &[], 3, 5);
    assert_eq!((cached.got(stream), behind.fields.get(b"if-none-match")), ((200, Some(3), 5), None));
}

#[test]
fn a_304_changes_what_is_said_of_a_response_but_not_what_is_said_of_its_bytes_rfc9111_3_2() {
    let mut cached = Cached::new();
    let fresh = [("cache-control", "max-age=100"), ("etag", "\"1\"")];
    let before = [("content-type", "a/b"), ("content-encoding", "gzip"), ("content-md5", "1"), ("age", "90")];
    cached.store("/", &[&fresh[..], &before].concat());
    cached.pass(10);
    let confirmed = cached.get("/");
    let after = [("content-type", "a/c"), ("content-encoding", "br"), ("content-md5", "2")];
    cached.reply(304, &[&fresh[..], &after].concat(), 0, 0);
    let hit = cached.get("/");
    for stream in [confirmed, hit] {
        for (name, expected) in [
            ("content-type", "a/c"),
            ("content-encoding", "gzip"),
            ("content-md5", "1"),
            ("content-length", "1000"),
            ("age", "0"),
        ] {
            assert_eq!(cached.field(stream, name).as_deref(), Some(expected), "{name}");
        }
    }
}

#[test]
fn a_304_that_sets_a_cookie_is_for_its_client_alone() {
    let mut cached = Cached::new();
    cached.store("/", &[("cache-control", "max-age=10"), ("etag", "\"1\"")]);
    cached.pass(10);
    let [first, second] = [cached.get("/"), cached.get("/")];
    cached.reply(304, &[("etag", "\"1\""), ("set-cookie", "a=b")], 0, 0);
    assert_eq!((cached.got(first), cached.field(first, "set-cookie").as_deref()), ((200, Some(1), 1000), Some("a=b")));
    assert_eq!((cached.got(second).0, cached.waiting()), (0, 1));
}

#[test]
fn conditions_and_ranges_of_clients_are_met_from_what_is_stored_rfc9110_13() {
    let (date, later) = ("Thu, 01 Jan 1970 00:00:10 GMT", "Thu, 01 Jan 1970 00:00:11 GMT");
    let mut cached = Cached::new();
    cached.store(
        "/",
        &[("cache-control", "max-age=60"), ("etag", "W/\"1\""), ("last-modified", date), ("content-type", "a/b")],
    );
    for (fields, expected) in [
        (&[("if-none-match", "\"0\", \"1\"")][..], (304, None, 0)),
        (&[("if-none-match", "*")], (304, None, 0)),
        (&[("if-none-match", "\"0\""), ("if-modified-since", date)], (200, Some(1), 1000)),
        (&[("if-modified-since", date)], (304, None, 0)),
        (&[("if-modified-since", later)], (304, None, 0)),
        (&[("if-modified-since", "Thu, 01 Jan 1970 00:00:09 GMT")], (200, Some(1), 1000)),
        (&[("if-modified-since", "never")], (200, Some(1), 1000)),
    ] {
        let stream = cached.ask("GET", "/", fields);
        assert_eq!((cached.got(stream), cached.waiting()), (expected, 0), "{fields:?}");
        let is_whole = expected.0 == 200;
        assert_eq!(cached.field(stream, "content-type").is_some(), is_whole, "{fields:?}");
        assert!(cached.field(stream, "etag").is_some() && cached.field(stream, "age").is_some());
    }
    let stream = cached.ask("HEAD", "/", &[]);
    assert_eq!((cached.got(stream), cached.field(stream, "content-length").as_deref()), ((200, None, 0), Some("1000")));
    let stream = cached.ask("GET", "/", &[("range", "bytes=0-99")]);
    assert_eq!((cached.got(stream), cached.waiting()), ((206, Some(1), 100), 0));
    assert_eq!(cached.field(stream, "content-range").as_deref(), Some("bytes 0-99/1000"));
    assert_eq!(cached.field(stream, "content-length").as_deref(), Some("100"));
    cached.ask("GET", "/", &[("range", "bytes=0-1,3-4")]);
    assert_eq!(cached.waiting(), 1, "several are the origin's");
}

#[test]
fn what_does_not_say_when_it_changed_has_not_changed_since_it_was_made_rfc9111_4_3_2() {
    let mut cached = Cached::new();
    cached.store("/", &[("cache-control", "max-age=60"), ("date", "Thu, 01 Jan 1970 00:00:10 GMT")]);
    for (since, status) in [("Thu, 01 Jan 1970 00:00:10 GMT", 304), ("Thu, 01 Jan 1970 00:00:09 GMT", 200)] {
        let stream = cached.ask("GET", "/", &[("if-modified-since", since)]);
        assert_eq!(cached.got(stream).0, status, "{since}");
    }
}

#[test]
fn what_varies_is_stored_for_each_kind_of_request_rfc9111_4_1() {
    let fields: FieldPairs = &[("cache-control", "max-age=60"), ("vary", "Accept-Language")];
    let mut cached = Cached::new();
    for (body, language) in [(1, "de"), (2, "en")] {
        cached.ask("GET", "/", &[("accept-language", language)]);
        cached.reply(200, fields, body, 10);
    }
    for (body, language) in [(1, "de"), (2, "en")] {
        let hit = cached.ask("GET", "/", &[("accept-language", language), ("accept", "*/*")]);
        assert_eq!((cached.got(hit), cached.waiting()), ((200, Some(body), 10), 0), "{language}");
    }
    let other = cached.get("/");
    assert_eq!(cached.waiting(), 1, "no language is another kind");
    cached.reply(200, fields, 3, 10);
    assert_eq!(cached.got(other), (200, Some(3), 10));
    cached.ask("POST", "/", &[]);
    cached.reply(200, &[], 0, 0);
    for language in ["de", "en"] {
        let stream = cached.ask("GET", "/", &[("accept-language", language)]);
        assert_eq!(cached.waiting(), 1, "{language}: what was stored before the change is not found again");
        cached.reply(200, fields, 4, 10);
        assert_eq!(cached.got(stream), (200, Some(4), 10));
    }
}

#[test]
fn what_may_be_stale_while_it_is_asked_for_is_used_meanwhile_and_if_the_origin_fails_rfc5861() {
    let mut cached = Cached::new();
    cached.store("/", &[("cache-control", "max-age=10, stale-while-revalidate=20"), ("etag", "\"1\"")]);
    cached.pass(12);
    let streams = [cached.get("/"), cached.get("/")];
    assert!(streams.iter().all(|stream| cached.got(*stream) == (200, Some(1), 1000)));
    assert_eq!(cached.field(streams[0], "cache-status").as_deref(), Some("loadstone; hit; ttl=-2"));
    assert_eq!(cached.waiting(), 1, "it is asked once");
    cached.reply(304, &[("cache-control", "max-age=10"), ("etag", "\"1\"")], 0, 0);
    cached.pass(21);
    let hit = cached.get("/");
    assert_eq!((cached.got(hit), cached.waiting()), ((200, Some(1), 1000), 0), "without stale-while-revalidate now");
    cached.pass(60);
    cached.get("/");
    assert_eq!(cached.waiting(), 1);

    for (directives, is_used) in
        [("stale-if-error=20", true), ("stale-if-error=20, must-revalidate", false), ("", false)]
    {
        for status in [Some(503), None] {
            let mut cached = Cached::new();
            cached.store("/", &[("cache-control", &format!("max-age=10, {directives}"))]);
            cached.pass(29);
            let stream = cached.get("/");
            match status {
                Some(status) => _ = cached.reply(status, &[], 2, 5),
                None => {
                    // It was used before, so it is asked once more on another one.
                    for _ in 0..2 {
                        let (conn, ..) = cached.asked.pop_front().unwrap();
                        cached.world.relay.handle_close(at(29), conn, Closed::Failed);
                        cached.settle();
                    }
                }
            }
            let expected = if is_used {
                (200, Some(1), 1000)
            } else {
                (status.unwrap_or(502), status.map(|_| 2), if status.is_some() { 5 } else { 0 })
            };
            let got = cached.got(stream);
            let got = if got.0 == 502 { (502, None, 0) } else { got };
            assert_eq!(got, expected, "{directives} {status:?}");
            cached.pass(31);
            let late = cached.get("/");
            cached.reply(503, &[], 3, 5);
            assert_eq!(cached.got(late).0, 503, "it has been stale for too long");
        }
    }
}

#[test]
fn what_a_request_says_of_caches_is_heard_rfc9111_5_2_1() {
    let mut cached = Cached::new();
    let unknown = cached.ask("GET", "/none", &[("cache-control", "only-if-cached")]);
    assert_eq!((cached.world.status(unknown), cached.waiting()), (Some(504), 0));
    cached.store("/", &[("cache-control", "max-age=60"), ("etag", "\"1\"")]);
    cached.pass(30);
    for (directives, is_asked) in [
        ("max-age=30", false),
        ("max-age=29", true),
        ("min-fresh=29", false),
        ("min-fresh=30", true),
        ("no-cache", true),
        ("only-if-cached", false),
        ("no-cache, only-if-cached", false),
    ] {
        let stream = cached.ask("GET", "/", &[("cache-control", directives)]);
        assert_eq!(cached.waiting(), usize::from(is_asked), "{directives}");
        if is_asked {
            // It says its age, so that what is stored stays as old as it was.
            cached.reply(304, &[("etag", "\"1\""), ("age", "30")], 0, 0);
            assert_eq!(cached.got(stream), (200, Some(1), 1000), "{directives}");
        }
    }
    cached.pass(70);
    for (directives, is_asked) in [("max-stale=10", false), ("max-stale", false), ("max-stale=9", true)] {
        cached.ask("GET", "/", &[("cache-control", directives)]);
        assert_eq!(cached.waiting(), usize::from(is_asked), "{directives}");
    }
}

#[test]
fn a_change_makes_what_is_stored_and_what_is_on_its_way_a_thing_of_the_past_rfc9111_4_4() {
    let fresh: FieldPairs = &[("cache-control", "max-age=60")];
    for (method, status, fields, is_gone) in [
        ("POST", 200, &[][..], [true, false, false]),
        ("DELETE", 204, &[], [true, false, false]),
        ("PUT", 303, &[("location", "/1"), ("content-location", "https://a.test/2")], [true, true, true]),
        ("PUT", 201, &[("location", "https://b.test/1")], [true, false, false]),
        ("POST", 404, &[], [false, false, false]),
        ("OPTIONS", 200, &[], [false, false, false]),
    ] {
        let mut cached = Cached::new();
        ["/", "/1", "/2"].iter().for_each(|path| cached.store(path, fresh));
        cached.ask_host(method, "A.test", "/", &[]);
        cached.reply(status, fields, 0, 0);
        for (path, is_gone) in ["/", "/1", "/2"].into_iter().zip(is_gone) {
            cached.get(path);
            assert_eq!(cached.waiting(), usize::from(is_gone), "{method} {status} {path}");
            cached.asked.clear();
        }
    }
    let mut cached = Cached::new();
    let before = cached.get("/");
    cached.ask("POST", "/", &[]);
    let asked = cached.asked.pop_front().unwrap();
    cached.reply(204, &[], 0, 0);
    let after = cached.get("/");
    assert_eq!(cached.waiting(), 1, "who comes after the change does not wait for what was asked before");
    cached.reply(200, fresh, 2, 10);
    cached.asked.push_front(asked);
    cached.reply(200, fresh, 1, 10);
    assert_eq!((cached.got(before).1, cached.got(after).1), (Some(1), Some(2)));
    let hit = cached.get("/");
    assert_eq!(cached.got(hit), (200, Some(2), 10), "though the other one has come later");

    let mut cached = Cached::new();
    let stream = cached.get("/");
    let (conn, id, _) = cached.asked.pop_front().unwrap();
    let head = ResponseHead::new(200, Fields::from_pairs([("cache-control", "max-age=60")]));
    cached.world.behind.get_mut(&conn).unwrap().session.respond(id, head.into(), Content::Streamed);
    cached.settle();
    cached.ask("POST", "/", &[]);
    cached.reply(204, &[], 0, 0);
    cached.world.behind.get_mut(&conn).unwrap().session.finish(id, Fields::default());
    cached.settle();
    assert_eq!(cached.got(stream), (200, None, 0), "its own client gets it");
    cached.get("/");
    assert_eq!(cached.waiting(), 1, "it began before the change");
}

#[test]
fn an_expires_that_is_no_date_has_passed_rfc9111_5_3() {
    for (expires, is_fresh) in [
        ("Thu, 01 Jan 1970 01:00:00 GMT", true),
        ("Thursday, 01-Jan-70 01:00:00 GMT", true),
        ("Thu Jan  1 01:00:00 1970", true),
        ("Thu,  01  Jan 1970 01:00:00 GMT", false),
        ("Thu, 01 Jan 1970 01:00:00 +0000", false),
        ("0", false),
    ] {
        let mut cached = Cached::new();
        // Without a word of Expires it were fresh for a tenth of ten minutes (section 4.2.2).
        let made = ("date", "Thu, 01 Jan 1970 00:10:00 GMT");
        cached.store("/", &[("expires", expires), made, ("last-modified", "Thu, 01 Jan 1970 00:00:00 GMT")]);
        cached.get("/");
        assert_eq!(cached.waiting(), usize::from(!is_fresh), "{expires}");
    }
}

#[test]
fn responses_for_caches_near_clients_have_their_own_directives_rfc9213() {
    for (targeted, is_stored) in
        [("max-age=60", true), ("max-age=\"60\"", false), ("MAX-AGE=60", false), ("no-store", false)]
    {
        let mut cached = Cached::new();
        cached.get("/");
        cached.reply(200, &[("cache-control", "no-store"), ("cdn-cache-control", targeted)], 1, 10);
        cached.get("/");
        assert_eq!(cached.waiting(), usize::from(!is_stored), "{targeted}");
    }
}

#[test]
fn age_counts_from_the_date_and_the_age_of_a_response_rfc9111_4_2_3() {
    for (fields, is_stale_at) in [
        (&[("date", "Thu, 01 Jan 1970 00:00:00 GMT")][..], 100),
        (&[("age", "50")], 110),
        (&[("age", "50"), ("date", "Thu, 01 Jan 1970 00:00:45 GMT")], 105),
        (&[("age", "10"), ("date", "Thu, 01 Jan 1970 00:01:45 GMT")], 150),
        (&[("date", "Thu, 01 Jan 1970 00:01:45 GMT")], 160),
    ] {
        let mut cached = Cached::new();
        // It is answered at 100 s.
        cached.pass(100);
        cached.get("/");
        cached.reply(200, &[&[("cache-control", "max-age=60"), ("etag", "\"1\"")], fields].concat(), 1, 10);
        for (second, is_fresh) in [(is_stale_at - 1, true), (is_stale_at, false)] {
            if second < 100 {
                continue;
            }
            cached.pass(second);
            cached.ask("GET", "/", &[("cache-control", "only-if-cached")]);
            let statuses: Vec<_> = cached
                .world
                .events
                .iter()
                .filter_map(|event| match event {
                    Event::Response { head, .. } => Some(head.status),
                    _ => None,
                })
                .collect();
            assert_eq!(statuses.last(), Some(&if is_fresh { 200 } else { 504 }), "{fields:?} at {second}");
        }
    }
}
