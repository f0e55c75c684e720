//! Many clients of one cache: who waits for whom, who gets whose response, and what memory that takes.

use super::*;

#[test]
fn one_request_goes_to_the_origin_for_all_that_want_the_same_and_who_wants_another_kind_asks_for_it() {
    let mut cached = Cached::new();
    let same: Vec<RequestId> = (0..20).map(|_| cached.ask("GET", "/", &[("accept", "a")])).collect();
    let others: Vec<RequestId> = (0..20).map(|_| cached.ask("GET", "/", &[("accept", "b")])).collect();
    assert_eq!(cached.waiting(), 1);
    let fields: FieldPairs = &[("cache-control", "max-age=60"), ("vary", "accept")];
    cached.reply(200, fields, 1, 50_000);
    assert_eq!(cached.waiting(), 1, "one of those whose kind is another");
    assert!(same.iter().all(|stream| cached.got(*stream) == (200, Some(1), 50_000)));
    cached.reply(200, fields, 2, 40_000);
    assert!(others.iter().all(|stream| cached.got(*stream) == (200, Some(2), 40_000)));
    let outcomes = cached.outcomes();
    assert_eq!(outcomes.iter().filter(|it| **it == CacheOutcome::Miss).count(), 2);
    assert_eq!(outcomes.iter().filter(|it| **it == CacheOutcome::Collapsed).count(), 38);
}

#[test]
fn a_response_that_may_not_be_shared_is_its_own_clients_and_all_others_go_on_at_once() {
    for fields in [&[("cache-control", "private")][..], &[("set-cookie", "a=b"), ("cache-control", "max-age=9")], &[]] {
        let mut cached = Cached::new();
        let streams: Vec<RequestId> = (0..10).map(|_| cached.get("/")).collect();
        assert_eq!(cached.waiting(), 1);
        cached.reply(200, fields, 1, 300_000);
        assert_eq!(cached.waiting(), 9, "{fields:?}: none waits for another");
        (2..=10).for_each(|body| _ = cached.reply(200, fields, body, 1000));
        let mut bodies: Vec<_> = streams.iter().map(|stream| cached.got(*stream).1.unwrap()).collect();
        bodies.sort_unstable();
        assert_eq!(bodies, (1..=10).collect::<Vec<_>>(), "each has its own");
        let more: Vec<RequestId> = (0..5).map(|_| cached.get("/")).collect();
        assert_eq!((more.len(), cached.waiting()), (5, 5), "it is known for a while");
    }
}

#[test]
fn a_body_that_breaks_off_or_is_too_large_is_not_stored() {
    let mut cached = Cached::new();
    let [stream, other] = [cached.get("/"), cached.get("/")];
    let (conn, id, _) = cached.asked.pop_front().unwrap();
    let head =
        ResponseHead::new(200, Fields::from_pairs([("cache-control", "max-age=60"), ("content-length", "90000")]));
    cached.world.behind.get_mut(&conn).unwrap().session.respond(
        id,
        head.into(),
        Body { id: BodyId(1), len: 90_000 }.into(),
    );
    while cached.world.content(other).1 == 0 {
        assert!(cached.world.turn());
    }
    cached.world.relay.handle_close(at(0), conn, Closed::Failed);
    cached.settle();
    for stream in [stream, other] {
        assert!(!cached.world.content(stream).2, "it must not look complete");
    }
    let stream = cached.get("/");
    assert_eq!(cached.waiting(), 1);
    cached.reply(200, &[("cache-control", "max-age=60")], 2, 100_001);
    assert_eq!(cached.got(stream), (200, Some(2), 100_001));
    cached.get("/");
    assert_eq!(cached.waiting(), 1);
    assert!(cached.world.relay.cached_bytes() < 2_000, "{}", cached.world.relay.cached_bytes());
}

#[test]
fn a_response_of_unknown_length_is_stored_when_it_is_complete_and_those_who_wait_get_it_then() {
    for (len, is_stored) in [(50_000, true), (150_000, false)] {
        let mut cached = Cached::new();
        let [first, second] = [cached.get("/"), cached.get("/")];
        let (conn, id, _) = cached.asked.pop_front().unwrap();
        let head = ResponseHead::new(200, Fields::from_pairs([("cache-control", "max-age=60")]));
        let run = |offset, len| Chunk::Run { body: BodyId(1), offset, len };
        let server = |cached: &mut Cached, act: &dyn Fn(&mut dyn ServerSession)| {
            act(cached.world.behind.get_mut(&conn).unwrap().session.as_mut());
            cached.settle();
        };
        server(&mut cached, &|session| session.respond(id, head.clone().into(), Content::Streamed));
        server(&mut cached, &|session| session.append(id, run(0, 40_000)));
        assert_eq!((cached.world.content(first).1, cached.world.content(second).1), (40_000, 0));
        server(&mut cached, &|session| session.append(id, run(40_000, len - 40_000)));
        assert_eq!(cached.waiting(), usize::from(!is_stored), "who waits goes on once it is too large");
        server(&mut cached, &|session| session.finish(id, Fields::default()));
        assert_eq!(cached.got(first), (200, Some(1), len));
        if is_stored {
            let hit = cached.ask("HEAD", "/", &[]);
            assert_eq!(
                (cached.got(second), cached.field(hit, "content-length").as_deref()),
                ((200, Some(1), len), Some("50000"))
            );
        } else {
            cached.reply(200, &[], 2, 10);
            assert_eq!(cached.got(second), (200, Some(2), 10));
            assert!(cached.world.relay.cached_bytes() < 2_000, "{}", cached.world.relay.cached_bytes());
        }
    }
}

#[test]
fn the_origin_says_how_old_a_response_is_to_the_first_client_and_the_cache_to_all_others_rfc9111_4() {
    for (stated, late) in [(Some("30"), "37"), (None, "7")] {
        let mut cached = Cached::new();
        let first = cached.get("/");
        let (conn, id, _) = cached.asked.pop_front().unwrap();
        let said = [("cache-control", "max-age=600"), ("content-length", "5")];
        let age = stated.map(|age| ("age", age));
        let head = ResponseHead::new(200, Fields::from_pairs(said.into_iter().chain(age)));
        cached.world.behind.get_mut(&conn).unwrap().session.respond(id, head.into(), Content::Streamed);
        cached.settle();
        cached.pass(7);
        let second = cached.get("/");
        assert_eq!(cached.field(first, "age").as_deref(), stated);
        assert_eq!(cached.field(second, "age").as_deref(), Some(late));
        let session = cached.world.behind.get_mut(&conn).unwrap().session.as_mut();
        session.append(id, Chunk::Run { body: BodyId(1), offset: 0, len: 5 });
        session.finish(id, Fields::default());
        cached.settle();
        let hit = cached.get("/");
        assert_eq!((cached.got(hit), cached.field(hit, "age").as_deref()), ((200, Some(1), 5), Some(late)));
    }
}

#[test]
fn who_waits_for_a_response_that_does_not_end_goes_on_after_five_seconds() {
    let mut cached = Cached::new();
    let [_first, second] = [cached.get("/"), cached.get("/")];
    let (conn, id, _) = cached.asked.pop_front().unwrap();
    let head = ResponseHead::new(200, Fields::from_pairs([("cache-control", "max-age=60")]));
    cached.world.behind.get_mut(&conn).unwrap().session.respond(id, head.into(), Content::Streamed);
    cached.settle();
    (1..5).for_each(|second| cached.pass(second));
    assert_eq!(cached.waiting(), 0);
    (5..7).for_each(|second| cached.pass(second));
    assert_eq!(cached.waiting(), 1);
    cached.reply(200, &[], 2, 10);
    assert_eq!(cached.got(second), (200, Some(2), 10));
}

#[test]
fn a_client_that_reads_slowly_or_leaves_stops_nobody_else() {
    let mut cached = Cached::new();
    let [first, second] = [cached.get("/"), cached.get("/")];
    cached.world.client.cancel(first);
    cached.settle();
    cached.reply(200, &[("cache-control", "max-age=60")], 1, 90_000);
    assert_eq!((cached.got(second), cached.waiting()), ((200, Some(1), 90_000), 0), "it was asked for by another");
    let only = cached.get("/only");
    cached.world.client.cancel(only);
    cached.settle();
    let (conn, ..) = cached.asked.pop_front().unwrap();
    assert!(cached.world.behind[&conn].is_aborted, "nobody wants it");

    let mut cached = Cached::new();
    let stream = cached.get("/");
    cached.world.pace = 0;
    cached.reply(200, &[("cache-control", "max-age=60")], 1, 90_000);
    let read: u64 = cached.world.behind.values().map(|behind| behind.read).sum();
    assert!(read > 90_000, "the origin has sent it all: {read}");
    cached.world.pace = 5_000;
    cached.settle();
    assert_eq!(cached.got(stream), (200, Some(1), 90_000));
}

#[test]
fn nothing_but_what_the_origin_was_asked_for_finds_a_response() {
    let fresh: FieldPairs = &[("cache-control", "max-age=60")];
    let mut cached = Cached::new();
    cached.ask_host("GET", "A.TEST", "/a?x=1&y=2", &[]);
    let behind = cached.reply(200, fresh, 1, 10);
    assert_eq!(behind.authority, "a.test", "the origin cannot make another page of another case");
    let hit = cached.ask("GET", "/a?x=1&y=2", &[("user-agent", "other"), ("x-whatever", "1")]);
    assert_eq!((cached.got(hit), cached.waiting()), ((200, Some(1), 10), 0));
    for (host, path) in [
        ("a.test", "/a?y=2&x=1"),
        ("a.test", "/a?x=1&y=2&"),
        ("a.test", "/A?x=1&y=2"),
        ("a.test", "/%61?x=1&y=2"),
        ("a.test", "//a?x=1&y=2"),
        ("a.test:443", "/a?x=1&y=2"),
    ] {
        cached.ask_host("GET", host, path, &[]);
        assert_eq!(cached.waiting(), 1, "{host} {path}");
        cached.reply(200, fresh, 2, 10);
    }
    // What an origin may have made of fields that are no part of the key is nobody else's.
    for field in [
        ("x-forwarded-scheme", "http"),
        ("x-http-method-override", "DELETE"),
        ("x-rewrite-url", "/admin"),
        ("x-host", "b"),
    ] {
        cached.ask("GET", "/b", &[field]);
        cached.reply(200, fresh, 3, 10);
        cached.get("/b");
        assert_eq!(cached.waiting(), 1, "{field:?}");
        cached.reply(500, &[], 4, 10);
    }
    // A GET whose content changes what it means.
    let head = RequestHead::new("GET".into(), "a.test".into(), "/c".into(), Fields::default());
    let body = Body { id: BodyId(9), len: 5 };
    cached.world.client.request(head.into(), body.into(), Priority::default());
    cached.settle();
    cached.reply(200, fresh, 5, 10);
    cached.get("/c");
    assert_eq!(cached.waiting(), 1);
}

#[test]
fn memory_is_bounded_whatever_is_asked_for_and_what_was_used_last_stays() {
    let mut cached = Cached::with(CacheLimits { bytes: 50_000, ..LIMITS });
    for number in 0..200 {
        cached.store(&format!("/{number}"), &[("cache-control", "max-age=60")]);
        let hit = cached.get("/0");
        assert_eq!((cached.got(hit).2, cached.waiting()), (1000, 0), "{number}");
        assert!(cached.world.relay.cached_bytes() <= 50_000, "{number}: {}", cached.world.relay.cached_bytes());
    }
    cached.get("/1");
    assert_eq!(cached.waiting(), 1, "it has gone");
}

#[test]
fn what_is_never_fresh_is_stored_to_be_asked_about_and_each_client_asks_for_itself() {
    let fields: FieldPairs = &[("cache-control", "no-cache"), ("etag", "\"1\"")];
    let mut cached = Cached::new();
    let [first, second] = [cached.get("/"), cached.get("/")];
    cached.reply(200, fields, 1, 1000);
    assert_eq!((cached.got(first), cached.waiting()), ((200, Some(1), 1000), 1), "it was right for the first alone");
    cached.reply(200, fields, 2, 1000);
    assert_eq!(cached.got(second), (200, Some(2), 1000));
    let streams = [cached.get("/"), cached.get("/")];
    assert_eq!(cached.waiting(), 2, "nobody waits for another");
    for stream in streams {
        let behind = cached.reply(304, &[("etag", "\"1\"")], 0, 0);
        assert_eq!(behind.fields.get(b"if-none-match"), Some(&b"\"1\""[..]));
        assert_eq!(cached.got(stream).0, 200);
    }
}

#[test]
fn what_is_confirmed_again_and_again_takes_no_more_memory() {
    let mut cached = Cached::new();
    cached.store("/", &[("cache-control", "no-cache"), ("etag", "\"1\"")]);
    let before = cached.world.relay.cached_bytes();
    for _ in 0..100 {
        cached.get("/");
        cached.reply(304, &[("etag", "\"1\"")], 0, 0);
    }
    assert!(cached.world.relay.cached_bytes() < before + 1000, "{before} {}", cached.world.relay.cached_bytes());
}

#[test]
fn what_turns_out_too_large_counts_as_long_as_a_client_has_yet_to_read_it() {
    let mut cached = Cached::new();
    let stream = cached.get("/");
    let (conn, id, _) = cached.asked.pop_front().unwrap();
    cached.world.pace = 0;
    let server = &mut cached.world.behind.get_mut(&conn).unwrap().session;
    server.respond(
        id,
        ResponseHead::new(200, Fields::from_pairs([("cache-control", "max-age=60")])).into(),
        Content::Streamed,
    );
    server.append(id, Chunk::Bytes(vec![7; 150_000].into()));
    server.finish(id, Fields::default());
    cached.settle();
    let bytes = cached.world.relay.cached_bytes();
    assert!((80_000..120_000).contains(&bytes), "{bytes}");
    cached.world.pace = 5_000;
    cached.settle();
    let is_ended = |event: &Event| matches!(event, Event::End { id } if *id == stream);
    assert!(cached.world.events.iter().any(is_ended));
    let mut small = Cached::with(CacheLimits { bytes: 90_000, ..LIMITS });
    (0..100).for_each(|number| small.store(&format!("/{number}"), &[("cache-control", "max-age=60")]));
    assert!(small.world.relay.cached_bytes() <= 90_000);
}
