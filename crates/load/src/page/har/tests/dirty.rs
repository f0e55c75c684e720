//! Files that no program should have written.

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Values of every type, the sensible ones among them.
fn odd() -> BoxedStrategy<Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        (-2..600_i64).prop_map(Value::from),
        "[-0-9.eNaN]{0,6}".prop_map(Value::from),
        "\\PC{0,10}".prop_map(Value::from),
        Just(json!([1, {"a": []}])),
        Just(json!({"url": 5, "x": [null]})),
    ]
    .boxed()
}

fn mostly(sane: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    prop_oneof![4 => sane.boxed(), 1 => odd()].boxed()
}

fn url() -> BoxedStrategy<Value> {
    let sane = prop_oneof![
        (0..3_u8, 0..4_u8).prop_map(|(host, path)| format!("https://h{host}.test/{path}")),
        (0..4_u8).prop_map(|path| format!("http://H0.test:8080/{path}?q=ä b")),
        Just("http://h0.test".to_owned()),
        Just("data:text/css,x".to_owned()),
        "https?://\\PC{0,12}",
    ];
    mostly(sane.prop_map(Value::from))
}

fn initiator() -> BoxedStrategy<Value> {
    let stack = url().prop_map(|url| json!({"type": "script", "stack": {"callFrames": [{"url": url}], "parent": {}}}));
    prop_oneof![url(), url().prop_map(|url| json!({"type": "parser", "url": url})), stack, odd()].boxed()
}

fn number() -> BoxedStrategy<Value> {
    mostly((-1..3_000_i64).prop_map(Value::from)).boxed()
}

fn headers() -> BoxedStrategy<Value> {
    let names = prop::sample::select(vec!["content-length", "Location", "referer", ":path", "x y", "cookie"]);
    let field = (names, prop_oneof![url(), number()]).prop_map(|(name, value)| json!({"name": name, "value": value}));
    mostly(prop::collection::vec(field, 0..4).prop_map(Value::from)).boxed()
}

fn request() -> BoxedStrategy<Value> {
    let method = mostly(prop::sample::select(vec!["GET", "post", "HEAD", "OPTIONS", "x-y"]).prop_map(Value::from));
    (url(), method, headers(), number(), number()).prop_map(|(url, method, headers, head, body)| {
        json!({"url": url, "method": method, "headers": headers, "headersSize": head, "bodySize": body, "postData": {"text": body}})
    }).boxed()
}

fn response() -> BoxedStrategy<Value> {
    let status =
        mostly(prop::sample::select(vec![200, 204, 301, 302, 304, 307, 404, 0, -1, 101, 600]).prop_map(Value::from));
    let mime = prop::sample::select(vec![
        "text/html",
        "text/css",
        "image/png",
        "application/json",
        "text/javascript",
        "font/x",
    ]);
    let sizes = (number(), number(), number(), number(), number());
    (status, mostly(mime.prop_map(Value::from)), headers(), url(), sizes)
        .prop_map(|(status, mime, headers, to, (head, body, transfer, content, compression))| {
            json!({"status": status, "headers": headers, "redirectURL": to, "headersSize": head, "bodySize": body,
                "_transferSize": transfer, "content": {"size": content, "compression": compression, "mimeType": mime}})
        })
        .boxed()
}

fn dirty_entry() -> BoxedStrategy<Value> {
    let started =
        mostly((0..4_000_u32).prop_map(|ms| json!(format!("2024-05-01T10:00:{:02}.{:03}Z", ms / 1000, ms % 1000))));
    let timings = prop::collection::vec(number(), 7).prop_map(|n| {
        json!({"blocked": n[0], "dns": n[1], "connect": n[2], "ssl": n[3], "send": n[4], "wait": n[5], "receive": n[6]})
    });
    let page = mostly(prop::sample::select(vec!["p1", "p2", "p3"]).prop_map(Value::from));
    let wpt = prop_oneof![Just(Value::Null), number()];
    let parts = (mostly(request()), mostly(response()), mostly(timings));
    (started, number(), parts, initiator(), page, (wpt, number(), odd())).prop_map(
        |(started, time, (request, response, timings), initiator, page, (load_start, created, cached))| {
            json!({"startedDateTime": started, "time": time, "request": request, "response": response, "timings": timings,
                "_initiator": initiator, "pageref": page, "_load_start": load_start, "_created": created,
                "_load_ms": time, "_socket": 1, "_fromCache": cached})
        },
    ).boxed()
}

fn dirty_file() -> BoxedStrategy<Value> {
    let pages = mostly(number().prop_map(|on_load| {
        json!([{"id": "p1", "startedDateTime": "2024-05-01T10:00:00Z", "pageTimings": {"onLoad": on_load}}, {"id": "p2"}])
    }));
    let entries = prop::collection::vec(mostly(dirty_entry()), 0..12);
    (pages, entries).prop_map(|(pages, entries)| json!({"log": {"pages": pages, "entries": entries}})).boxed()
}

/// What holds for every page read from a HAR file.
fn holds(har: &Har) {
    let page = har.file.build().unwrap_or_else(|error| panic!("{error}: {har:#?}"));
    assert_eq!(page.objects + har.notes.skipped_total(), har.notes.entries);
    let nodes: BTreeSet<&str> = har.file.objects.iter().map(ObjectSpec::node).collect();
    assert_eq!(nodes.len(), page.objects);
    let needs = |at: usize| har.file.objects[at].needs.as_ref().map_or(0, Vec::len);
    assert!(needs(0) == 0 && (1..page.objects).all(|at| needs(at) == 1));
    assert!(har.file.objects[0].needed.is_none());
}

const SMALL: &str = r#"{"log": {"version": "1.2", "pages": [{"id": "p", "startedDateTime": "2024-05-01T10:00:00Z"}],
    "entries": [{"pageref": "p", "startedDateTime": "2024-05-01T10:00:00.000Z", "time": 50,
      "request": {"method": "GET", "url": "https://example.test/"}, "timings": {"wait": 40, "receive": 10},
      "response": {"status": 302, "headers": [{"name": "location", "value": "/x\u00e9"}], "bodySize": 0}},
     {"pageref": "p", "startedDateTime": "2024-05-01T10:00:00.060Z", "time": 50,
      "request": {"method": "GET", "url": "https://example.test/x\u00e9"}, "_initiator": {"type": "parser",
      "stack": {"callFrames": [{"url": "https://example.test/"}]}},
      "response": {"status": 200, "bodySize": 1e3, "content": {"mimeType": "text/html"}}}]}}"#;

#[test]
fn a_file_cut_off_anywhere_is_refused_as_such() {
    holds(&read(SMALL.as_bytes(), None).unwrap());
    for end in 0..SMALL.len() {
        let error = read(&SMALL.as_bytes()[..end], None).unwrap_err();
        assert!(matches!(error, HarError::Truncated { .. }), "{end}: {error:?}");
    }
}

#[test]
fn halves_of_surrogate_pairs_become_the_character_for_none() {
    let named = |written: &str| {
        let headers = format!(r#"{{"name": "x-a", "value": "{written}"}}"#);
        let entry =
            format!(r#"{{"request": {{"url": "{ROOT}", "headers": [{headers}]}}, "response": {{"status": 200}}}}"#);
        let har = read(document("", &[&entry]).as_bytes(), None).unwrap_or_else(|error| panic!("{written}: {error}"));
        har.file.objects[0].request_fields.as_ref().unwrap()[0].1.clone()
    };
    for (written, expected) in [
        (r"a\ud800b", "a\u{fffd}b"),
        (r"\uDFFF", "\u{fffd}"),
        (r"\ud83d\ude00\ud83d", "\u{1f600}\u{fffd}"),
        (r"\ud83d\ud83d\ude00", "\u{fffd}\u{1f600}"),
        (r"\ud800\u0041", "\u{fffd}A"),
        // What is escaped is the backslash.
        (r"\\ud800\udc00", "\\ud800\u{fffd}"),
    ] {
        assert_eq!(named(written), expected, "{written}");
    }
    assert!(read(br#"{"log": {"entries": [{"request": {"url": "\ud80"}}]}}"#, None).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_dirty_file_is_refused_or_makes_a_page(file in dirty_file(), page in proptest::option::of(0..5_usize)) {
        for secrets in [Secrets::Kept, Secrets::Replaced] {
            if let Ok(har) = super::super::read(file.to_string().as_bytes(), page, secrets) {
                holds(&har);
            }
        }
    }

    #[test]
    fn changed_bytes_never_make_it_panic(changes in prop::collection::vec((0..SMALL.len(), any::<u8>()), 1..6)) {
        let mut text = SMALL.as_bytes().to_vec();
        for (at, byte) in changes {
            text[at] = byte;
        }
        if let Ok(har) = super::super::read(&text, None, Secrets::Replaced) {
            holds(&har);
        }
    }
}
