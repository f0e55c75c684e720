//! One rule each.

use super::*;

fn fails(text: &str, page: Option<usize>) -> String {
    let error = read(text.as_bytes(), page).unwrap_err();
    let message = error.to_string();
    assert!(!message.contains('\n'), "{message}");
    format!("{error:?} {message}")
}

#[test]
fn what_is_no_page_is_refused_in_one_line() {
    assert!(fails("", None).contains("Truncated"));
    assert!(fails(r#"{"log": {"entries": ["#, None).contains("Truncated"));
    let bad = fails("{\n \"log\": nope}", None);
    assert!(bad.contains("NotJson") && bad.contains("line 2, column 10"), "{bad}");
    for no_log in ["{}", "[]", "7", "\"log\"", r#"{"log": 5}"#, "null"] {
        assert!(fails(no_log, None).contains("NoLog"), "{no_log}");
    }
    for empty in [r#"{"log": {}}"#, r#"{"log": {"entries": {"a": 1}}}"#, r#"{"log": {"entries": [null, 5, "x"]}}"#] {
        assert!(fails(empty, None).contains("NoEntries"), "{empty}");
    }
    let root = entry(ROOT, 0, 5, "text/html", "");
    let one = document(r#"{"id": "p1"}"#, &[&root]);
    assert!(fails(&one, Some(2)).contains("NoSuchPage") && fails(&one, Some(0)).contains("choose one from 1 to 1"));
    let two = document(r#"{"id": "p1"}, {"id": "p2"}"#, &[&root]);
    assert!(fails(&two, Some(2)).contains("EmptyPage(2)"));
    let data = entry("data:text/html,x", 0, 5, "text/html", "");
    assert!(fails(&document("", &[&data]), None).contains("NothingLeft"));
    let many = vec![root.as_str(); 20_001];
    assert!(fails(&document("", &many), None).contains("TooMany"));
    assert_eq!(read(document("", &many[1..]).as_bytes(), None).unwrap().file.build().unwrap().objects, 20_000);
}

#[test]
fn a_byte_order_mark_and_bytes_that_are_no_text_are_tolerated() {
    let mut text = b"\xef\xbb\xbf".to_vec();
    text.extend(document("", &[&entry("https://example.test/@", 0, 5, "text/html", "")]).into_bytes());
    let at = text.iter().position(|byte| *byte == b'@').unwrap();
    text[at] = 0xff;
    let har = read(&text, None).unwrap();
    assert_eq!(har.file.objects[0].url, "https://example.test/%EF%BF%BD");
}

#[test]
fn one_page_of_several_is_taken() {
    let of = |url: &str, page: &str| entry(url, 0, 5, "text/html", &format!(r#""pageref": {page}"#));
    let entries = [
        of("https://b.test/", "\"p2\""),
        of("https://c.test/", "\"unknown\""),
        of("https://d.test/", "3"),
        entry("https://a.test/", 0, 5, "text/html", ""),
    ];
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    let text = document(r#"{"id": "p1"}, {"id": "p2"}, {"id": "p2"}"#, &entries);
    let root = |page| {
        let har = read(text.as_bytes(), page).unwrap();
        assert_eq!((har.file.objects.len(), har.notes.pages, har.notes.entries), (1, 5, 1));
        (har.notes.page, har.file.objects[0].url.clone())
    };
    assert_eq!(root(None), (1, "https://a.test/".to_owned()));
    assert_eq!(root(Some(2)), (2, "https://b.test/".to_owned()));
    assert_eq!(root(Some(4)), (4, "https://c.test/".to_owned()));
    assert_eq!(root(Some(5)), (5, "https://d.test/".to_owned()));
    // Without the entry of no page, the first page has none, and the second is the first with any.
    let text = document(r#"{"id": "p1"}, {"id": "p2"}"#, &entries[..2]);
    assert_eq!(read(text.as_bytes(), None).unwrap().notes.page, 2);
}

#[test]
fn entries_are_ordered_by_date_and_bad_dates_keep_their_place() {
    let late = entry("https://example.test/late", 900, 5, "text/html", "");
    let undated = entry("https://example.test/undated", 0, 5, "text/html", "").replace("2024-05-01T", "yesterday");
    let har = log(&[&late, &undated, &entry(ROOT, 0, 5, "text/html", "")]);
    let urls: Vec<&str> = har.file.objects.iter().map(|object| object.url.as_str()).collect();
    assert_eq!(urls, [ROOT, "https://example.test/late", "https://example.test/undated"]);
}

#[test]
fn what_did_not_come_over_the_network_is_counted_with_its_reason() {
    let status = |status: &str| entry("https://x.test/", 20, 5, "", "").replace("\"status\": 200", status);
    let entries = [
        entry("data:image/png;base64,AAAA", 0, 5, "image/png", ""),
        entry("chrome-extension://abc/x.js", 0, 5, "", ""),
        entry(ROOT, 5, 5, "text/html", ""),
        entry("wss://example.test/socket", 20, 5, "", ""),
        status("\"status\": 101"),
        entry("https://x.test/1", 20, 5, "", r#""_fromCache": "disk""#),
        entry("https://x.test/2", 20, 5, "", r#""_fromDiskCache": true"#),
        entry("https://x.test/3", 20, 5, "", "")
            .replace("\"bodySize\"", "\"_fetchedViaServiceWorker\": true, \"bodySize\""),
        status("\"status\": 0, \"_error\": \"net::ERR_BLOCKED_BY_CLIENT\""),
        status("\"status\": -1"),
        status("\"status\": null"),
        status("\"statusText\": \"\""),
        status("\"status\": \"304\""),
        status("\"status\": 307, \"_transferSize\": 0"),
        entry("https://x.test/4", 20, 5, "", r#""_fromDiskCache": false, "_fromCache": null"#),
        entry("https://x.test/4", 30, 5, "", "").replace("\"bodySize\"", "\"_transferSize\": 0, \"bodySize\""),
    ];
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    let har = log(&entries);
    let urls: Vec<&str> = har.file.objects.iter().map(|object| object.url.as_str()).collect();
    assert_eq!(urls, [ROOT, "https://x.test/", "https://x.test/4"]);
    let skipped: Vec<_> = har.notes.skipped.into_iter().collect();
    let expected = [
        (Skip::NotHttp, 2),
        (Skip::WebSocket, 2),
        (Skip::FromCache, 4),
        (Skip::AnsweredByBrowser, 1),
        (Skip::Failed, 4),
    ];
    assert_eq!(skipped, expected);
}

#[test]
fn a_request_to_a_name_that_does_not_exist_is_an_object_that_fails() {
    let failed = |url: &str, from, took, error: &str| {
        let failed = format!(r#""status": 0, "_error": "net::ERR_{error}""#);
        entry(url, from, took, "", r#""_resourceType": "image", "_priority": "Low""#)
            .replace("\"status\": 200", &failed)
    };
    let connected = r#""_resourceType": "document", "_priority": "VeryHigh", "timings": {"connect": 25, "wait": 20}"#;
    let page = |took| {
        log(&[
            &failed("https://gone.test/0.png", 0, 300, "NAME_NOT_RESOLVED"),
            &entry(ROOT, 1, 50, "text/html", connected),
            &failed("https://gone.test/1.png", 60, took, "NAME_NOT_RESOLVED"),
            &failed("https://closed.test/2.png", 61, took, "CONNECTION_REFUSED"),
            &failed("https://example.test/3.png", 62, took, "NAME_NOT_RESOLVED"),
        ])
    };
    let har = page(104);
    let objects: Vec<_> = har.file.objects.iter().map(|object| (object.url.as_str(), object.bytes)).collect();
    assert_eq!(objects[0].0, ROOT, "a page is no request that fails");
    assert_eq!(objects[1..], [("https://gone.test/0.png", 0), ("https://gone.test/1.png", 0)]);
    assert_eq!((har.file.objects[1].needed, har.file.objects[1].think_ms), (Some(Needed::WhenFound), None));
    assert_eq!((har.notes.name_errors, har.notes.skipped[&Skip::Failed]), (2, 2));
    let queries = |har: Har| har.file.hosts["gone.test"].name_error.unwrap().get();
    // As many queries of 25 ms as the shortest failure has time for, and not more than Chromium's.
    assert_eq!([2, 45, 104, 290].map(|took| queries(page(took))), [1, 2, 4, 4]);
    assert!(page(104).file.build().is_ok());
}

#[test]
fn what_fails_and_was_asked_for_after_the_load_event_holds_none_up() {
    let of = r#""pageref": "p", "_resourceType": "image", "_priority": "Low""#;
    let failed = entry("https://gone.test/1.png", 60, 80, "", of)
        .replace("\"status\": 200", r#""status": 0, "_error": "net::ERR_NAME_NOT_RESOLVED""#);
    let root = entry(ROOT, 0, 50, "text/html", r#""pageref": "p""#);
    let needed = |loaded: u32| {
        let page = format!(r#"{{"id": "p", "pageTimings": {{"onLoad": {loaded}}}}}"#);
        read(document(&page, &[&root, &failed]).as_bytes(), None).unwrap().file.objects[1].needed
    };
    assert_eq!([150, 55].map(needed), [Some(Needed::WhenFound), Some(Needed::Never)]);
}

#[test]
fn a_dependency_on_what_is_no_object_passes_to_what_that_one_waited_for() {
    let by = |url: &str| format!(r#""_initiator": "{url}""#);
    let har = log(&[
        &entry(ROOT, 0, 5, "text/html", ""),
        &entry("https://a.test/1.js", 100, 5, "text/javascript", &by(ROOT)),
        &entry(
            "https://a.test/2.js",
            200,
            5,
            "text/javascript",
            &format!(r#"{}, "_fromCache": "memory""#, by("https://a.test/1.js")),
        ),
        &entry("https://a.test/3.js", 300, 5, "text/javascript", &by("https://a.test/2.js")),
    ]);
    assert_eq!(need(&har, 2), ("https://a.test/1.js", On::End, None, 185.0));
}

#[test]
fn a_redirected_root_is_followed_by_its_document() {
    let moved = |from: &str, at: u32, to: &str| {
        entry(from, at, 0, "", "").replace("\"status\": 200", &format!("\"status\": 302, \"redirectURL\": \"{to}\""))
    };
    let har = log(&[
        &moved("http://example.test/", 0, "https://example.test/"),
        &moved("https://example.test/", 15, "/en#top"),
        &entry("https://example.test/en", 30, 70, "text/html", ""),
        &entry("https://example.test/1.png", 75, 5, "image/png", ""),
    ]);
    assert_eq!(har.file.objects[0].needs, None);
    assert_eq!(need(&har, 1), ("http://example.test/", On::End, None, 5.0));
    assert_eq!(need(&har, 2), ("https://example.test/", On::End, None, 5.0));
    // The document's body arrived from 40 to 110; half of it was there at 75.
    assert_eq!(need(&har, 3), ("https://example.test/en", On::Bytes, Some(500), 0.0));
}

#[test]
fn an_initiator_is_the_last_earlier_entry_of_its_url() {
    let by =
        |url: &str| format!(r#""_initiator": {{"type": "script", "stack": {{"callFrames": [{{"url": "{url}"}}]}}}}"#);
    let script = |at| entry("https://a.test/x.js", at, 5, "text/javascript", "");
    let har = log(&[
        &entry(ROOT, 0, 5, "text/html", ""),
        &script(20),
        &script(60),
        &entry("https://a.test/1", 100, 5, "", &by("https://a.test/x.js")),
        &script(200),
        &entry("https://a.test/self", 300, 5, "", &by("https://a.test/self")),
        &entry("https://a.test/late", 310, 5, "", &by("https://a.test/later")),
        &entry("https://a.test/later", 320, 5, "", ""),
    ]);
    assert_eq!(need(&har, 3), ("https://a.test/x.js #2", On::End, None, 25.0));
    // Neither itself nor a later entry is a cause: the guess is the last script.
    assert_eq!(need(&har, 5).0, "https://a.test/x.js #3");
    assert_eq!(need(&har, 6).0, "https://a.test/x.js #3");
}

#[test]
fn the_times_of_queueing_are_not_kept_but_computing_is() {
    // Found at 50, 35 ms after the root's end; that it then waited 500 ms for a connection does
    // not matter.
    let queued = entry("https://a.test/1.png", 50, 5, "image/png", "").replace("\"blocked\": 0", "\"blocked\": 500");
    let har = log(&[&entry(ROOT, 0, 5, "text/html", ""), &queued]);
    assert_eq!(need(&har, 1), (ROOT, On::End, None, 35.0));
}

#[test]
fn without_an_initiator_kinds_and_times_decide() {
    let har = log(&[
        &entry(ROOT, 0, 100, "text/html", ""),
        &entry("https://a.test/1.css", 20, 5, "text/css", ""),
        &entry("https://a.test/1.woff2", 40, 5, "font/woff2", ""),
        &entry("https://a.test/1.png", 45, 5, "image/png", ""),
        &entry("https://a.test/1.js", 120, 5, "text/javascript", ""),
        &entry("https://a.test/2.css", 121, 10, "text/css", ""),
        &entry("https://a.test/2.png", 150, 5, "image/png", ""),
        &entry("https://a.test/api", 151, 5, "application/json", ""),
        &entry("https://a.test/2.woff2", 152, 5, "font/woff2", ""),
    ]);
    let parents: Vec<_> = (1..9).map(|at| need(&har, at).0.rsplit('/').next().unwrap()).collect();
    assert_eq!(parents, ["", "1.css", "", "", "", "2.css", "1.js", "2.css"]);
    assert_eq!(need(&har, 3).2, Some(350));
}

#[test]
fn what_began_before_the_root_begins_with_it() {
    let check = entry("http://ocsp.test/", 0, 5, "application/ocsp-response", "");
    let har = log(&[&check, &entry(ROOT, 1, 5, "text/html", "")]);
    assert_eq!(har.file.objects[0].url, ROOT);
    assert_eq!(need(&har, 1), (ROOT, On::Start, None, 0.0));
}

#[test]
fn think_time_is_the_wait_less_the_smallest_handshake() {
    let timed = |url: &str, timings: &str| {
        entry(url, 20, 5, "", "").replace("\"connect\": -1, \"send\": 0, \"wait\": 10", timings)
    };
    let har = log(&[
        &timed("https://a.test/", r#""connect": 90, "ssl": 50, "send": 0, "wait": 100"#),
        &timed("https://a.test/1", r#""connect": 30, "ssl": -1, "send": 0, "wait": 45.5"#),
        &timed("https://a.test/2", r#""connect": -1, "send": 0, "wait": 20"#),
        &timed("https://b.test/", r#""connect": 60, "ssl": 60, "send": 0, "wait": "80""#),
    ]);
    let thinks: Vec<_> = har.file.objects.iter().map(|object| object.think_ms).collect();
    assert_eq!(thinks, [Some(70.0), Some(15.5), None, Some(50.0)]);
    let har = log(&[
        &timed("https://a.test/", r#""connect": 0, "send": 0, "wait": 100"#),
        &timed("https://a.test/1", r#""connect": -1, "send": 0, "wait": 30"#),
    ]);
    let thinks: Vec<_> = har.file.objects.iter().map(|object| object.think_ms).collect();
    assert_eq!(thinks, [Some(70.0), None]);
}

/// An entry of an HTTP/2 connection, with its `rest` of timings.
fn over_h2(path: &str, bytes: u32, at: u32, receive: u32, priority: &str, timings: &str) -> String {
    let rest = format!(r#""connection": "7", "_priority": "{priority}""#);
    let entry = entry(&format!("https://a.test/{path}"), at, receive, "", &rest);
    let entry = entry.replace("\"connect\": -1, \"send\": 0, \"wait\": 10", timings);
    let entry = entry.replace("ize\": 1000", &format!("ize\": {bytes}"));
    entry.replace("\"status\": 200", "\"status\": 200, \"httpVersion\": \"h2\"")
}

/// Timings of a request on a connection that was there.
fn wait(ms: u32) -> String {
    format!(r#""connect": -1, "send": 0, "wait": {ms}"#)
}

/// How long the server thought about each object.
fn thinks(har: &Har) -> Vec<f64> {
    har.file.objects.iter().map(|object| object.think_ms.unwrap_or(0.0)).collect()
}

#[test]
fn what_waits_for_others_of_its_connection_is_not_thinking() {
    let entries = [
        // A round trip of 20 ms, and 30 ms of thinking.
        over_h2("", 1000, 0, 70, "VeryHigh", r#""connect": 20, "send": 0, "wait": 50"#),
        // Comes from 125 to 165.
        over_h2("1", 50_000, 100, 55, "Low", &wait(25)),
        // Comes from 171 to 181. The third flight since 100 comes at 160: 59 of its 70 ms are the way, and 5 the former's.
        over_h2("2", 20_000, 101, 70, "Low", &wait(70)),
        // Comes at 182, right behind: the usual thinking of the host, 30 ms, as far as that may be.
        over_h2("3", 1000, 102, 80, "Low", &wait(80)),
        // More urgent than what came from 320 to 355, but that may have been written before it was ready.
        over_h2("4", 50_000, 290, 55, "Low", &wait(30)),
        over_h2("5", 1000, 300, 60, "High", &wait(60)),
        // Right behind what is too short to have kept it waiting.
        over_h2("6", 1000, 400, 60, "Low", &wait(60)),
        over_h2("7", 1000, 401, 61, "Low", &wait(61)),
    ];
    for protocol in ["h2", "SPDY/3.1"] {
        let spoken = entries.clone().map(|entry| entry.replace("\"h2\"", &format!("\"{protocol}\"")));
        let thought = thinks(&log(&spoken.each_ref().map(String::as_str)));
        assert_eq!(thought, [30.0, 5.0, 6.0, 7.0, 10.0, 30.0, 40.0, 39.0], "{protocol}");
    }
}

#[test]
fn flights_of_slow_start_are_not_thinking() {
    let last = |at: u32| {
        let har = log(&[
            &over_h2("", 1000, 0, 70, "VeryHigh", r#""connect": 20, "send": 0, "wait": 65"#),
            &over_h2("1", 14_000, 100, 65, "Low", &wait(65)),
            &over_h2("2", 14_000, 100, 70, "Low", &wait(70)),
            &over_h2("3", 14_000, at, 75, "Low", &wait(75)),
        ]);
        har.file.objects[3].think_ms
    };
    // Eleven segments are in the first flight, 22 in the second, and 30 are those of the three.
    assert_eq!(last(100), Some(35.0));
    // When the others are there, all ten are in the first flight.
    assert_eq!(last(300), Some(55.0));
}

#[test]
fn what_is_asked_for_while_a_connection_still_waits_for_its_first_response_waits_for_slow_start_too() {
    let last = |from: u32| {
        let first = format!(r#""connect": -1, "send": 0, "wait": {from}"#);
        let har = log(&[
            &over_h2("", 1000, 0, 70, "VeryHigh", r#""connect": 20, "send": 0, "wait": 65"#),
            &over_h2("1", 60_000, 100, from - 10, "High", &first),
            &over_h2("2", 1000, 125, 75, "Low", &wait(75)),
        ]);
        har.file.objects[2].think_ms
    };
    // 42 segments come in three flights since 100, the last one at 160.
    assert_eq!(last(70), Some(40.0));
    // What has come by then has opened the window.
    assert_eq!(last(24), Some(55.0));
}

#[test]
fn a_server_writes_64_kb_ahead_and_no_more() {
    let har = log(&[
        &over_h2("", 1000, 0, 30, "VeryHigh", r#""connect": 20, "send": 0, "wait": 30"#),
        // Comes from 130 to 1130, 65,536 bytes in 100 ms.
        &over_h2("1", 655_360, 100, 1020, "Low", &wait(30)),
        // Comes at 600, in the middle: of its 399 ms 20 are the way, and for 100 it may have been ready.
        &over_h2("2", 1000, 201, 400, "High", &wait(399)),
    ]);
    assert_eq!(thinks(&har), [10.0, 10.0, 279.0]);
}

#[test]
fn many_small_responses_fill_a_flight_too() {
    let last = |small: u32| {
        let first = over_h2("", 1000, 0, 30, "VeryHigh", r#""connect": 20, "send": 0, "wait": 25"#);
        let others = (0..small).map(|at| over_h2(&format!("small{at}"), 1000, 100, 15, "VeryHigh", &wait(25)));
        let own = over_h2("last", 1000, 100, 40, "High", &wait(45));
        let entries: Vec<String> = [first].into_iter().chain(others).chain([own]).collect();
        let har = log(&entries.iter().map(String::as_str).collect::<Vec<_>>());
        har.file.objects.last().unwrap().think_ms
    };
    // Each is in a segment of its own. All come at 125, and the last one a round trip later.
    assert_eq!((last(9), last(10)), (Some(25.0), Some(5.0)));
}

#[test]
fn what_was_asked_for_later_and_came_before_was_ready_before() {
    let har = log(&[
        &over_h2("", 1000, 0, 30, "VeryHigh", r#""connect": 20, "send": 0, "wait": 25"#),
        &over_h2("late", 1000, 100, 100, "High", &wait(90)),
        // Asked for at 150, it comes from 175 to 185, and would have gone behind the former.
        &over_h2("overtaking", 30_000, 150, 25, "High", &wait(25)),
    ]);
    assert_eq!(har.file.objects[1].think_ms, Some(50.0), "not ready before 150, at the server");
}

#[test]
fn what_a_new_connection_holds_back_for_a_round_trip_is_not_thinking() {
    let second = |bytes: u32| {
        let har = log(&[
            &over_h2("", 1000, 0, 55, "VeryHigh", r#""connect": 20, "send": 0, "wait": 25"#),
            &over_h2("1", bytes, 100, 50, "Low", &wait(50)),
            // Asked for together with it, more urgent, and ready later: it comes a round trip after it.
            &over_h2("2", 1000, 100, 70, "High", &wait(70)),
        ]);
        har.file.objects[2].think_ms
    };
    assert_eq!(second(20_000), Some(10.0), "ready after the other one, which has filled the first flight");
    assert_eq!(second(10_000), Some(50.0));
}

#[test]
fn a_first_record_longer_than_the_initial_window_takes_a_round_trip_more() {
    let think = |bytes: u32, timings: &str| {
        let entry =
            entry("https://a.test/", 0, 5, "", "").replace("\"connect\": -1, \"send\": 0, \"wait\": 10", timings);
        let har = log(&[&entry.replace("\"bodySize\": 1000", &format!("\"bodySize\": {bytes}"))]);
        har.file.objects[0].think_ms
    };
    let over_tls = r#""connect": 60, "ssl": 40, "send": 0, "wait": 90"#;
    assert_eq!([14_480, 14_481].map(|bytes| think(bytes, over_tls)), [Some(70.0), Some(50.0)]);
    assert_eq!(think(14_481, r#""connect": 20, "ssl": -1, "send": 0, "wait": 90"#), Some(70.0), "no records");
    assert_eq!(think(14_481, r#""connect": 60, "ssl": 40, "send": 0, "wait": 30"#), Some(10.0), "it came before that");
}

#[test]
fn what_takes_no_time_is_no_handshake() {
    let timed = |url: &str, timings: &str| {
        entry(url, 20, 5, "", "").replace("\"connect\": -1, \"send\": 0, \"wait\": 10", timings)
    };
    let har = log(&[
        &timed("https://a.test/", r#""connect": 40, "ssl": 10, "send": 0, "wait": 100"#),
        &timed("https://a.test/1", r#""connect": 20.3, "ssl": 20, "send": 0, "wait": 100"#),
        &timed("https://b.test/1", r#""connect": 20, "ssl": 20, "send": 0, "wait": 100"#),
    ]);
    let thinks: Vec<_> = har.file.objects.iter().map(|object| object.think_ms).collect();
    assert_eq!(thinks, [Some(70.0); 3]);
    assert_eq!(har.notes.handshakes_ms, BTreeMap::from([("a.test".to_owned(), 30.0)]));
}

#[test]
fn the_load_event_is_noted_of_the_page_that_is_taken() {
    let pages = r#"{"id": "p", "pageTimings": {"onLoad": 1500}}, {"id": "q", "pageTimings": {"onLoad": 1e9}}"#;
    let [of_p, of_q] = ["p", "q"].map(|id| entry(ROOT, 0, 5, "", &format!(r#""pageref": "{id}""#)));
    let text = document(pages, &[&of_p, &of_q]);
    let load_ms = |page| read(text.as_bytes(), Some(page)).unwrap().notes.load_ms;
    assert_eq!((load_ms(1), load_ms(2)), (Some(1500.0), None));
}

#[test]
fn quics_handshake_is_no_tcp_handshake() {
    let timings = r#""connect": 24.7, "ssl": 24.4, "send": 0, "wait": 60"#;
    let timed = |url: &str, timings: &str| {
        entry(url, 20, 5, "", "").replace("\"connect\": -1, \"send\": 0, \"wait\": 10", timings)
    };
    let other = timed("https://b.test/", r#""connect": 40, "ssl": -1, "send": 0, "wait": 50"#);
    for version in ["h3", "h3-Q050", "HTTP/3.0", "http/2+quic/46"] {
        let over_quic = timed("https://a.test/", timings)
            .replace("\"status\": 200", &format!("\"status\": 200, \"httpVersion\": \"{version}\""));
        assert!(over_quic.contains(version));
        let har = log(&[&over_quic, &other]);
        assert_eq!(har.file.objects[0].think_ms, Some(20.0), "{version}");
    }
}

#[test]
fn bodies_are_counted_as_they_were_on_the_wire() {
    let body = |method: &str, response: &str| {
        let entry = format!(
            r#"{{"request": {{"url": "https://a.test/", "method": "{method}"}}, "response": {{"status": 200, {response}}}}}"#
        );
        log(&[&entry]).file.objects[0].bytes
    };
    let length = |n: u32| format!(r#""headers": [{{"name": "Content-Length", "value": "{n}"}}]"#);
    let get = |response: &str| body("GET", response);
    assert_eq!(get(r#""_transferSize": 1500, "headersSize": 500, "bodySize": 7"#), 1000);
    assert_eq!(get(&format!(r#""_transferSize": 1500, "headersSize": -1, {}"#, length(1200))), 1200);
    assert_eq!(
        get(r#""_transferSize": 1500, "headers": [{"name": "x", "value": "y"}], "content": {"size": 1400}"#),
        1400
    );
    let gzip = r#""headers": [{"name": "content-encoding", "value": "gzip"}], "content": {"size": 9000}"#;
    assert_eq!(get(&format!(r#""_transferSize": 1500, {gzip}"#)), 1500 - 17);
    assert_eq!(get(r#""bodySize": 800, "headersSize": 300"#), 800);
    assert_eq!(get(&format!(r#""bodySize": 800, "headersSize": -1, {}"#, length(700))), 700);
    assert_eq!(get(r#""bodySize": -1, "content": {"size": 5000, "compression": 4000}"#), 1000);
    assert_eq!(get(r#""bodySize": 0, "content": {"size": "5000"}"#), 5000);
    assert_eq!(get(&format!(r#""bodySize": -1, "content": {{"size": 5000}}, {}"#, length(900))), 900);
    assert_eq!(get(r#""bodySize": 2e15, "content": {"size": 100}"#), 100);
    assert_eq!(get(r#""bodySize": 900000, "content": {"size": 100}"#), 100);
    assert_eq!(get(&length(77)), 77);
    assert_eq!(get(r#""bodySize": null"#), 0);
    assert_eq!(body("head", r#""bodySize": 800"#), 0);
    assert_eq!(get(r#""status": 204, "bodySize": 800"#), 0);
}

/// As Playwright writes pictures that a server of HTTP/1.0 sent: what it counted is one packet.
#[test]
fn a_body_whose_length_and_content_agree_is_not_smaller() {
    let read = |fields: &str, content: u32| {
        let response = format!(
            r#""status": 200, "bodySize": 3718, "headersSize": 189, "_transferSize": 3907, "headers": [{fields}],
            "content": {{"size": {content}, "mimeType": "image/png"}}"#
        );
        let har = log(&[&format!(r#"{{"request": {{"url": "https://a.test/"}}, "response": {{{response}}}}}"#)]);
        (har.file.objects[0].bytes, har.notes.contradicted_sizes)
    };
    let length = r#"{"name": "Content-Length", "value": "35949"}"#;
    let gzip = r#"{"name": "Content-Encoding", "value": "gzip"}"#;
    let server = r#"{"name": "Server", "value": "x"}"#;
    assert_eq!(read(length, 35_949), (35_949, 0));
    assert_eq!(read(&format!("{length}, {gzip}"), 35_949), (3718, 0), "it was compressed");
    assert_eq!(read(server, 35_949), (3718, 1), "nothing says which of the two is right");
    assert_eq!(read(length, 9_000), (3718, 1));
    assert_eq!(read(server, 7_000), (3718, 0));
    assert_eq!(read("", 35_949), (3718, 0), "without fields nobody knows whether it was compressed");
}

#[test]
fn heads_are_the_listed_fields_or_the_stated_size_or_neither() {
    let listed = entry(ROOT, 0, 5, "text/html", "").replace(
        "\"method\"",
        r#""headersSize": 900, "headers": [{"name": ":path", "value": "/"}, {"name": "accept", "value": "*/*"},
           {"name": "dnt", "value": 1}, {"name": "x", "value": "a\nb"}, {"value": "nameless"}, null], "method""#,
    );
    let sized =
        |size: &str| entry(ROOT, 1, 5, "", "").replace("\"method\"", &format!("\"headersSize\": {size}, \"method\""));
    let har = log(&[&listed, &sized("500"), &sized("3"), &sized("-1"), &sized("1e9")]);
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let fields = vec![field("accept", "*/*"), field("dnt", "1"), field("x", "a, b")];
    assert_eq!(har.file.objects[0].request_fields, Some(fields));
    let sizes: Vec<_> = har.file.objects.iter().map(|object| object.request_header_bytes).collect();
    assert_eq!((sizes[0], sizes[1], sizes[3], sizes[4]), (None, Some(500), None, Some(32_768)));
    assert!(sizes[2].is_some_and(|least| (100..300).contains(&least)));
    har.file.build().unwrap();
}

#[test]
fn odd_methods_bodies_and_statuses_do_not_stop_a_page() {
    let of = |method: &str| entry(ROOT, 0, 5, "", "").replace("\"GET\"", method);
    let har = log(&[
        &of("\"post\", \"bodySize\": 40"),
        &of("\"POST\", \"bodySize\": -1, \"postData\": {\"text\": \"12345\"}"),
        &of("\"m-search\""),
        &of("null"),
        &of("\"\""),
        &of("\"GET\"").replace("\"status\": 200", "\"status\": 777"),
    ]);
    let methods: Vec<_> = har.file.objects.iter().map(|object| object.method.as_deref()).collect();
    assert_eq!(methods, [Some("POST"), Some("POST"), None, None, None, None]);
    assert_eq!((har.file.objects[0].upload_bytes, har.file.objects[1].upload_bytes), (Some(40), Some(5)));
    assert_eq!(har.notes.odd_methods, 2);
    har.file.build().unwrap();
}

#[test]
fn what_began_after_on_load_is_not_needed() {
    let entries = [
        entry(ROOT, 10, 5, "text/html", ""),
        entry("https://a.test/1", 500, 5, "", ""),
        entry("https://a.test/2", 501, 5, "", ""),
    ];
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    let needed = |on_load: &str| {
        let page = format!(
            r#"{{"id": 1, "startedDateTime": "2024-05-01T10:00:00Z", "pageTimings": {{"onLoad": {on_load}}}}}"#
        );
        let har = read(document(&page, &entries).as_bytes(), None).unwrap();
        har.file.objects.iter().map(|object| object.needed).collect::<Vec<_>>()
    };
    assert_eq!(needed("500"), [None, None, Some(Needed::Never)]);
    assert_eq!(needed("1"), [None, Some(Needed::Never), Some(Needed::Never)]);
    for unknown in ["null", "-1", "0", "\"\"", "{}"] {
        assert_eq!(needed(unknown), [None; 3], "{unknown}");
    }
}

#[test]
fn long_and_odd_urls_are_mended_and_repeated_ones_named() {
    let long = format!("https://a.test/{}", "x".repeat(50_000));
    let har = log(&[
        &entry("https://a.test/x y", 0, 5, "", ""),
        &entry("https://a.test/x%20y#z", 1, 5, "", ""),
        &entry(&long, 2, 5, "", ""),
        &entry(&long, 3, 5, "", ""),
    ]);
    assert_eq!(har.file.objects[1].name.as_deref(), Some("https://a.test/x%20y #2"));
    assert_eq!(har.notes.cut_urls, 2);
    assert_eq!(har.file.build().unwrap().objects, 4);
}
