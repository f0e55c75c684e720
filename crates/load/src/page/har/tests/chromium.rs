//! Loads by Chromium: what the load event waits for, and what documents say whose texts the HAR has.

use super::*;
use crate::page::file::{HostSpec, Why};
use serde_json::{Value, json};

/// The text of the document. All of it is 1,000 bytes on the wire.
const TEXT: &str = "<head><link rel=stylesheet href=a.css>\n<script src=b.js></script>\n<script>go()</script>\
    <script defer src=c.js></script><script defer src=z.js></script></head>\n<body><img src=d.png><iframe src=e.html></iframe><img loading=lazy src=f.png>";

/// Entries of Chromium's: path, type, from and until when, and who asked.
fn chromium(text: Option<Value>, loaded: f64, entries: &[(&str, &str, u32, u32, Value)]) -> Har {
    let entry = |(at, (path, kind, from, until, initiator)): (usize, &(&str, &str, u32, u32, Value))| {
        let mut content = json!({"size": 1000});
        if at == 0
            && let Some(text) = &text
        {
            content["text"] = text.clone();
        }
        json!({
            "pageref": "1", "startedDateTime": format!("2024-05-01T10:00:00.{from:03}Z"), "time": until - from,
            "_resourceType": kind, "_priority": "High", "_initiator": initiator,
            "request": {"method": "GET", "url": format!("{ROOT}{path}"), "headers": []},
            "response": {"status": 200, "bodySize": 1000, "headers": [], "content": content},
            "timings": {"send": 0, "wait": until - from, "receive": 0}
        })
    };
    let entries: Vec<Value> = entries.iter().enumerate().map(entry).collect();
    let pages = json!([{"id": "1", "startedDateTime": "2024-05-01T10:00:00.000Z", "pageTimings": {"onLoad": loaded}}]);
    let file = json!({"log": {"pages": pages, "entries": entries}});
    let har = read(&serde_json::to_vec(&file).unwrap(), None).unwrap();
    har.file.build().expect("it is a page");
    har
}

fn parser() -> Value {
    json!({"type": "parser", "url": ROOT, "lineNumber": 0})
}

fn script(path: &str, line: u32, column: u32) -> Value {
    let frame = json!({"url": format!("{ROOT}{path}"), "lineNumber": line, "columnNumber": column});
    json!({"type": "script", "stack": {"callFrames": [frame]}})
}

/// What an object waits for: the path, the byte, why, and after how many ms.
fn waits<'h>(har: &'h Har, path: &str) -> Vec<(&'h str, Option<u64>, Option<Why>, f64)> {
    let object = har.file.objects.iter().find(|object| object.url == format!("{ROOT}{path}")).unwrap();
    let needs = object.needs.as_ref().unwrap().iter();
    needs.map(|need| (need.node.trim_start_matches(ROOT), need.bytes, need.why, need.ms + need.timer_ms)).collect()
}

fn byte_of(tag: &str) -> u64 {
    let end = TEXT.find(tag).unwrap() + tag.len();
    (end as f64 * 1000.0 / TEXT.len() as f64).ceil() as u64
}

/// The document comes at 50, the style sheet at 100, the scripts at 80 and 90; the load event at 400.
fn page(text: Option<Value>, more: &[(&str, &str, u32, u32, Value)]) -> Har {
    let mut entries = vec![
        ("", "document", 0, 50, json!({"type": "other"})),
        ("a.css", "stylesheet", 52, 100, parser()),
        ("b.js", "script", 52, 80, parser()),
        ("c.js", "script", 53, 90, parser()),
    ];
    entries.extend_from_slice(more);
    chromium(text, 400.0, &entries)
}

#[test]
fn what_a_text_shows_is_found_at_its_byte_and_without_the_text_at_the_end() {
    let images = [("d.png", "image", 53, 200, parser())];
    let har = page(Some(TEXT.into()), &images);
    assert_eq!(waits(&har, "a.css"), [("", Some(byte_of("href=a.css>")), Some(Why::Markup), 2.0)]);
    assert_eq!(waits(&har, "d.png"), [("", Some(byte_of("src=d.png>")), Some(Why::Markup), 3.0)]);
    for no_text in [None, Some(Value::Null), Some(json!(7))] {
        assert_eq!(waits(&page(no_text, &images), "d.png"), [("", None, None, 3.0)]);
    }
}

#[test]
fn a_frame_waits_for_the_scripts_before_it_and_what_came_much_later_for_something_else() {
    let har =
        page(Some(TEXT.into()), &[("e.html", "document", 110, 150, parser()), ("f.png", "image", 300, 350, parser())]);
    let frame = [("", Some(byte_of("src=e.html>")), Some(Why::Markup), 30.0), ("b.js", None, Some(Why::Parser), 30.0)];
    assert_eq!(waits(&har, "e.html"), frame, "30 ms after the script");
    assert_eq!(waits(&har, "f.png"), [("", None, None, 250.0)], "a layout, for instance");
}

#[test]
fn an_inline_script_has_run_after_the_style_sheets_and_scripts_before_it() {
    // In the third line, behind its tag.
    let har = page(Some(TEXT.into()), &[("g.json", "fetch", 104, 150, script("", 2, 9))]);
    let end = byte_of("go()</script>");
    let expected = [
        ("", Some(end), Some(Why::Script), 4.0),
        ("a.css", None, Some(Why::StyleSheet), 4.0),
        ("b.js", None, Some(Why::Parser), 4.0),
    ];
    assert_eq!(waits(&har, "g.json"), expected);
    let early = page(Some(TEXT.into()), &[("g.json", "fetch", 70, 150, script("", 2, 9))]);
    assert_eq!(waits(&early, "g.json").len(), 1, "the recorded load denies the rest: nothing of it was there");
}

#[test]
fn a_script_with_defer_has_run_after_what_stands_before_it() {
    let more = [
        ("z.js", "script", 53, 85, parser()),
        ("h.png", "image", 106, 200, script("c.js", 0, 0)),
        ("i.png", "image", 107, 200, script("z.js", 0, 0)),
    ];
    let har = page(Some(TEXT.into()), &more);
    let nodes: Vec<&str> = waits(&har, "h.png").iter().map(|(node, ..)| *node).collect();
    assert_eq!(nodes, ["c.js", "a.css", "b.js", ""], "not the one behind it");
    assert!(waits(&har, "h.png").iter().all(|(.., ms)| *ms == 6.0), "after the style sheet, the last of them");
    let nodes: Vec<&str> = waits(&har, "i.png").iter().map(|(node, ..)| *node).collect();
    assert_eq!(nodes, ["z.js", "a.css", "b.js", "c.js", ""]);
}

#[test]
fn the_body_comes_after_what_the_parser_has_stopped_for_and_until_then_requests_are_held_back() {
    let har = page(
        Some(TEXT.into()),
        &[("d.png", "image", 53, 200, parser()), ("g.json", "fetch", 104, 150, script("c.js", 0, 0))],
    );
    let [body] = &har.file.compute.iter().filter(|node| node.name.starts_with("body")).collect::<Vec<_>>()[..] else {
        panic!("{:?}", har.file.compute)
    };
    assert_eq!(har.file.documents[ROOT].body, body.name);
    let needs: Vec<_> =
        body.needs.iter().flatten().map(|need| (need.node.trim_start_matches(ROOT), need.bytes)).collect();
    assert_eq!(
        needs,
        [("", Some(byte_of("<body>"))), ("b.js", None), ("a.css", None)],
        "the inline script waits for it"
    );
    let of = |path: &str| har.file.objects.iter().find(|object| object.url == format!("{ROOT}{path}")).unwrap();
    assert_eq!(of("").document, None);
    for path in ["a.css", "d.png", "g.json"] {
        assert_eq!(of(path).document.as_deref(), Some(ROOT), "{path}, directly or through a script");
    }
    // Without a script that waits, style sheets hold nobody up: data is no script.
    let data = TEXT.replace("<script src=b.js></script>\n<script>", "\n<script type=application/ld+json>");
    let har = page(Some(data.into()), &[]);
    let body = har.file.compute.iter().find(|node| node.name.starts_with("body")).unwrap();
    assert_eq!(body.needs.iter().flatten().count(), 1);
    assert!(page(None, &[]).file.documents.is_empty(), "without its text nothing is known");
}

#[test]
fn of_scripts_that_called_one_another_the_one_that_was_there_last_has_asked() {
    let frame = |path: &str| json!({"url": format!("{ROOT}{path}"), "lineNumber": 1, "columnNumber": 1});
    let stack = json!({"callFrames": [frame("b.js")], "parent": {"callFrames": [frame("c.js"), frame("z.js")]}});
    let by = json!({"type": "script", "stack": stack});
    let more = [
        ("z.js", "script", 53, 85, parser()),
        ("h.js", "script", 120, 200, by.clone()),
        ("i.js", "script", 70, 75, by),
    ];
    let har = page(None, &more);
    assert_eq!(waits(&har, "h.js")[0].0, "c.js");
    assert_eq!(waits(&har, "i.js")[0].0, "b.js", "the innermost, where none was there");
}

#[test]
fn however_late_something_is_the_page_can_be_built() {
    let text = document("", &[]).replace("\"entries\": []", "\"entries\": ENTRIES");
    let entry = |path: &str, year: u32, rest: Value| {
        let mut entry = json!({"startedDateTime": format!("{year}-05-01T10:00:00.000Z"), "_resourceType": "script",
            "_priority": "High", "request": {"url": format!("{ROOT}{path}")},
            "response": {"status": 200, "bodySize": 100}, "timings": {"wait": 1}});
        entry.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        entry
    };
    let root =
        json!({"_resourceType": "document", "response": {"status": 200, "bodySize": 100, "content": {"text": TEXT}}});
    let entries = json!([
        entry("", 2024, root),
        entry("b.js", 2024, json!({"_initiator": parser()})),
        entry("late", 8545, json!({"_initiator": script("", 2, 9)})),
        entry("later", 9000, json!({"_initiator": script("b.js", 0, 0)})),
    ]);
    let har = read(text.replace("ENTRIES", &entries.to_string()).as_bytes(), None).unwrap();
    har.file.build().expect("no wait is longer than a page file may have");
}

#[test]
fn a_text_of_more_tags_than_can_be_compared_with_the_entries_is_not_read() {
    let tags = "<b>".repeat(super::documents::MOST_COMPARED / 5);
    let images = [("d.png", "image", 53, 200, parser())];
    let har = page(Some(format!("{TEXT}{tags}").into()), &images);
    assert_eq!(waits(&har, "d.png"), [("", None, None, 3.0)], "five entries and that many tags");
}

#[test]
fn what_comes_right_after_an_answer_to_a_script_waits_for_the_answer() {
    let har = page(
        None,
        &[
            ("g.json", "fetch", 95, 250, script("c.js", 0, 0)),
            ("h.png", "image", 255, 300, script("c.js", 0, 0)),
            ("i.png", "image", 290, 300, script("c.js", 0, 0)),
        ],
    );
    assert_eq!(waits(&har, "h.png"), [("g.json", None, None, 5.0)]);
    assert_eq!(waits(&har, "i.png"), [("c.js", None, None, 200.0)], "too late for that");
}

#[test]
fn the_load_event_waits_for_what_is_of_its_sorts_and_for_computing_since_the_last_of_them() {
    let har = page(
        None,
        &[
            ("d.png", "image", 53, 200, parser()),
            ("g.json", "fetch", 95, 380, script("c.js", 0, 0)),
            ("late.png", "image", 450, 500, script("c.js", 0, 0)),
        ],
    );
    let needed: Vec<_> = har.file.objects.iter().map(|object| object.needed).collect();
    let found = Some(Needed::WhenFound);
    assert_eq!(needed, [None, found, found, found, found, Some(Needed::Never), found]);
    let [until] = &har.file.compute[..] else { panic!("{:?}", har.file.compute) };
    assert_eq!((until.ms, until.needs.as_ref().unwrap()[0].node.as_str()), (200.0, "https://example.test/d.png"));
    let late = har.file.objects.last().unwrap().needs.as_ref().unwrap();
    assert_eq!((late[0].ms, late[0].timer_ms), (0.0, 360.0), "computing would have kept the load event");
}

#[test]
fn hosts_that_came_on_one_connection_are_served_by_the_first() {
    let entry = |url: &str, connection: &str, address: &str, version: &str| {
        json!({"startedDateTime": "2024-05-01T10:00:00.000Z", "time": 1, "connection": connection,
            "serverIPAddress": address, "request": {"method": "GET", "url": url, "headers": []},
            "response": {"status": 200, "httpVersion": version, "bodySize": 1000, "headers": []}})
    };
    let served = |entries: &[Value]| {
        let har = read(&serde_json::to_vec(&json!({"log": {"entries": entries}})).unwrap(), None).unwrap();
        har.file.build().expect("it is a page");
        let of = |(host, spec): (String, HostSpec)| (host, spec.served_by.unwrap());
        har.file.hosts.into_iter().map(of).collect::<Vec<_>>()
    };
    let [a, b, c] = ["https://a.test/", "https://b.test/1", "https://C.test:8443/2"];
    let here = "192.0.2.1";
    assert_eq!(served(&[entry(a, "7", here, "h2"), entry(b, "7", here, "h2")]), [("b.test".into(), "a.test".into())]);
    // One of them had a connection of its own before.
    let both = [entry(a, "7", here, "h2"), entry(b, "8", here, "h2"), entry(c, "8", here, "h2")];
    assert_eq!(served(&both), [("c.test:8443".into(), "b.test".into())]);
    let all = [both.as_slice(), &[entry(b, "7", here, "h2")]].concat();
    assert_eq!(served(&all), [("b.test".into(), "a.test".into()), ("c.test:8443".into(), "a.test".into())]);
    for (url, connection, address, version) in [
        (b, "8", here, "h2"),
        (b, "7", here, "http/1.1"),
        (b, "7", "192.0.2.2", "h2"),
        ("http://b.test/1", "7", here, "h2"),
    ] {
        assert_eq!(served(&[entry(a, "7", here, "h2"), entry(url, connection, address, version)]), [], "{url}");
    }
    // Without credentials two come on one connection that are apart otherwise, and a third one that is never seen there.
    let cors = |url: &str| {
        let mut entry = entry(url, "9", here, "h2");
        let (resource, fields) = (json!("font"), json!([{"name": "Origin", "value": "https://x.test"}]));
        (entry["_resourceType"], entry["_priority"], entry["request"]["headers"]) = (resource, json!("High"), fields);
        entry
    };
    let apart =
        [entry(a, "7", here, "h2"), entry(b, "8", here, "h2"), cors(a), cors(b), cors(c), cors("https://d.test/3")];
    assert_eq!(served(&apart), [("d.test".into(), "c.test:8443".into())]);
    assert_eq!(served(&[entry(a, "0", here, "h2"), entry(b, "0", here, "h2")]), [], "Chrome's word for none");
}

#[test]
fn a_host_at_the_address_of_an_earlier_one_whose_certificate_names_it_is_served_by_that() {
    let here = "192.0.2.1";
    let entry = |url: &str, address: &str, names: &[&str]| {
        json!({"startedDateTime": "2024-05-01T10:00:00.000Z", "time": 1, "serverIPAddress": address,
            "_securityDetails": {"sanList": names},
            "request": {"method": "GET", "url": url, "headers": []},
            "response": {"status": 200, "httpVersion": "http/1.1", "bodySize": 1000, "headers": []}})
    };
    let served = |entries: &[Value]| {
        let har = read(&serde_json::to_vec(&json!({"log": {"entries": entries}})).unwrap(), None).unwrap();
        har.file.build().expect("it is a page");
        har.file.hosts.into_iter().map(|(host, spec)| (host, spec.served_by.unwrap())).collect::<Vec<_>>()
    };
    let after = |names: &[&str], url: &str, address: &str| {
        served(&[entry("https://a.test/", here, names), entry(url, address, &[])])
    };
    let joined = |host: &str| vec![(host.to_owned(), "a.test".to_owned())];
    assert_eq!(after(&["a.test", "B.test"], "https://b.test/1", here), joined("b.test"));
    assert_eq!(after(&["*.b.test"], "https://x.B.test/1", here), joined("x.b.test"));
    for (names, url, address) in [
        (&["a.test"][..], "https://b.test/1", here),
        (&["*.b.test"], "https://b.test/1", here),
        (&["*.b.test"], "https://x.y.b.test/1", here),
        (&["b.test"], "https://b.test/1", "192.0.2.2"),
        (&["b.test"], "https://b.test:8443/1", here),
        (&["b.test"], "http://b.test/1", here),
        (&["b.test"], "https://b.test/1", ""),
    ] {
        assert_eq!(after(names, url, address), [], "{names:?} {url} {address}");
    }
    let late = [entry("https://a.test/", here, &[]), entry("https://b.test/1", here, &["a.test"])];
    assert_eq!(served(&late), [], "the later one's connection is not there yet when the first one needs one");
    let none = ["null", "7", r#""b.test""#, r#"{"0": "b.test"}"#, r#"[7, ["b.test"], null]"#];
    for list in none {
        let text = serde_json::to_string(&entry("https://a.test/", here, &[])).unwrap();
        let odd = text.replace(r#""sanList":[]"#, &format!(r#""sanList":{list}"#));
        let odd = serde_json::from_str(&odd).unwrap();
        assert_eq!(served(&[odd, entry("https://b.test/1", here, &[])]), [], "{list}");
    }
}
