//! A small page as each exporter writes it: a document of 1,000 bytes, a style sheet, a script that
//! asks for data, and an image from the style sheet.

use super::*;
use crate::page::file::RequestScheduling;

/// Which object waits for which, by the ends of the URLs.
fn graph(har: &Har) -> Vec<(String, String)> {
    let end = |url: &str| url.trim_start_matches("https://example.test").to_owned();
    let objects = har.file.objects.iter().enumerate().skip(1);
    let edges = objects.map(|(at, object)| (end(&object.url), end(need(har, at).0))).collect();
    har.file.build().unwrap();
    edges
}

fn expected() -> Vec<(String, String)> {
    let edges = [("/a.css", "/"), ("/b.js", "/"), ("/c.png", "/a.css"), ("/d", "/b.js")];
    edges.map(|(object, cause)| (object.to_owned(), cause.to_owned())).into()
}

/// Path, start, end of waiting, end, mime type.
const LOADS: [(&str, u32, u32, u32, &str); 5] = [
    ("/", 0, 100, 110, "text/html"),
    ("/a.css", 105, 150, 160, "text/css"),
    ("/b.js", 106, 150, 170, "text/javascript"),
    ("/c.png", 163, 190, 200, "image/png"),
    ("/d", 180, 220, 230, "application/json"),
];

fn har(page: &str, entry: impl Fn((&str, u32, u32, u32, &str)) -> String) -> Har {
    let entries: Vec<String> = LOADS.into_iter().map(entry).collect();
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    read(document(page, &entries).as_bytes(), None).unwrap()
}

#[test]
fn chrome_devtools() {
    let har = har(
        r#"{"id": "page_1", "startedDateTime": "2024-05-01T10:00:00.000Z", "pageTimings": {"onLoad": 175.5}}"#,
        |load| {
            let (path, start, waited, end, mime) = load;
            let initiator = match path {
                "/" => r#"{"type": "other"}"#,
                "/c.png" => r#"{"type": "parser", "url": "https://example.test/a.css"}"#,
                "/d" => {
                    r#"{"type": "script", "stack": {"callFrames": [{"url": ""}, {"url": "webpack://x"}],
                    "parent": {"callFrames": [{"url": "https://example.test/b.js"}]}}}"#
                }
                _ => r#"{"type": "parser", "url": "https://example.test/", "lineNumber": 4}"#,
            };
            format!(
                r#"{{"_initiator": {initiator}, "_priority": "High", "_resourceType": "x", "cache": {{}}, "connection": "7",
            "pageref": "page_1", "startedDateTime": "2024-05-01T12:00:00.{start:03}+02:00", "time": {}.25,
            "request": {{"method": "GET", "url": "https://example.test{path}", "httpVersion": "http/2.0",
              "headers": [{{"name": ":authority", "value": "example.test"}}, {{"name": "accept", "value": "*/*"}}],
              "queryString": [], "cookies": [], "headersSize": -1, "bodySize": 0}},
            "response": {{"status": 200, "headers": [{{"name": "content-length", "value": "1000"}}],
              "content": {{"size": 4000, "mimeType": "{mime}", "text": "\ud83d\ude00"}}, "redirectURL": "", "headersSize": -1,
              "bodySize": -1, "_transferSize": 1100, "_error": null}},
            "timings": {{"blocked": 2, "dns": -1, "ssl": -1, "connect": -1, "send": 0, "wait": {}, "receive": {}.25,
              "_blocked_queueing": 1}}}}"#,
                end - start,
                waited - start - 2,
                end - waited
            )
        },
    );
    assert_eq!(graph(&har), expected());
    assert_eq!(har.file.objects[1].bytes, 1000);
    assert_eq!((need(&har, 1).1, need(&har, 3).3), (On::Bytes, 2.75));
    let late = &har.file.objects[4];
    assert_eq!(late.needs.as_ref().unwrap()[0].timer_ms, 9.75, "the load event came before it was found");
    let needed: Vec<_> = har.file.objects.iter().map(|object| object.needed).collect();
    let found = Some(Needed::WhenFound);
    assert_eq!(needed, [None, found, found, found, Some(Needed::Never)], "the last is of no sort that is waited for");
    assert_eq!(har.file.scheduling, RequestScheduling::Chromium);
}

#[test]
fn chrome_har_and_browsertime() {
    let har = har(r#"{"id": "page_1", "pageTimings": {"onLoad": null}}"#, |load| {
        let (path, start, waited, end, mime) = load;
        let initiator = match path {
            "/" => String::new(),
            "/c.png" => r#""_initiator": "https://example.test/a.css", "_initiator_type": "parser","#.to_owned(),
            "/d" => {
                let detail =
                    r#"{\"type\":\"script\",\"stack\":{\"callFrames\":[{\"url\":\"https://example.test/b.js\"}]}}"#;
                format!(r#""_initiator_detail": "{detail}","#)
            }
            _ => r#""_initiator": "https://example.test/", "_initiator_line": 4,"#.to_owned(),
        };
        format!(
            r#"{{"cache": {{}}, "startedDateTime": "2024-05-01T10:00:00.{start:03}Z", {initiator} "pageref": "page_1",
            "request": {{"method": "GET", "url": "https://example.test{path}", "headersSize": -1, "bodySize": 0}},
            "time": {}, "connection": "63", "response": {{"httpVersion": "h2", "status": 200, "headersSize": -1,
              "bodySize": 1100, "_transferSize": 1100, "content": {{"mimeType": "{mime}", "size": 1000}},
              "headers": [{{"name": "date", "value": "x"}}]}},
            "timings": {{"blocked": 0.5, "dns": -1, "connect": -1, "send": 1, "wait": {}, "receive": {}, "ssl": -1}}}}"#,
            end - start,
            waited - start,
            end - waited
        )
    });
    assert_eq!(graph(&har), expected());
    assert_eq!(har.file.objects[1].bytes, 1000);
}

#[test]
fn webpagetest_starts_when_the_request_is_sent() {
    let har = har(r#"{"id": "page_1_0", "startedDateTime": "2024-05-01T10:00:00.000+00:00"}"#, |load| {
        let (path, start, waited, end, mime) = load;
        let initiator = match path {
            "/" => "",
            "/c.png" => "https://example.test/a.css",
            "/d" => "https://example.test/b.js",
            _ => "https://example.test/",
        };
        // The script's connection was made first; newer files say when a request was found.
        let (sent, connect, created) = match path {
            "/b.js" => (start + 30, "30", ""),
            "/d" => (start + 15, "-1", r#""_created": 180,"#),
            _ => (start, "-1", ""),
        };
        format!(
            r#"{{"pageref": "page_1_0", "startedDateTime": "2024-05-01T10:00:00.{sent:03}+00:00", "time": {},
            "request": {{"method": "GET", "url": "https://example.test{path}", "headersSize": 400, "bodySize": -1}},
            "response": {{"status": 200, "headersSize": 300, "bodySize": 0, "content": {{"size": 0, "mimeType": "{mime}"}}}},
            "timings": {{"blocked": -1, "dns": -1, "connect": {connect}, "ssl": -1, "send": 0, "wait": {}, "receive": {}}},
            "_load_start": "{sent}", {created} "_load_ms": "{}", "_objectSize": "0", "_bytesIn": "1300", "_initiator": "{initiator}",
            "_initiator_line": "12", "_http2_stream_id": 3, "_socket": 9}}"#,
            end - start,
            waited - sent,
            end - waited,
            end - sent
        )
    });
    assert_eq!(graph(&har), expected());
    assert_eq!((need(&har, 2).1, need(&har, 3).3, need(&har, 4).3), (On::Bytes, 3.0, 10.0));
    assert_eq!(har.file.objects[1].request_header_bytes, Some(400));
}

#[test]
fn webpagetest_does_not_say_how_long_a_request_waited_for_a_connection() {
    let on_socket = |url: &str, sent: u32, ms: u32, socket: u32| {
        let wpt = format!(r#""_load_start": {sent}, "_load_ms": {ms}, "_socket": {socket}"#);
        entry(url, sent, 5, "image/png", &wpt)
    };
    let root = entry(ROOT, 0, 5, "text/html", r#""_load_start": 0, "_load_ms": 20, "_socket": 1"#);
    let har = log(&[
        &root,
        &on_socket("https://example.test/1", 25, 100, 1),
        &on_socket("https://example.test/2", 126, 50, 1),
        &on_socket("https://example.test/3", 300, 50, 2),
    ]);
    let gaps: Vec<f64> = (1..4).map(|at| need(&har, at).3).collect();
    assert_eq!(gaps, [5.0, 5.0, 280.0]);
}

#[test]
fn firefox() {
    let har = har(
        r#"{"id": "page_1", "startedDateTime": "2024-05-01T19:00:00.000+09:00", "pageTimings": {"onLoad": -1}}"#,
        |load| {
            let (path, start, waited, end, mime) = load;
            let referer = match path {
                "/" => "",
                "/c.png" => r#"{"name": "Referer", "value": "https://example.test/a.css"}"#,
                _ => r#"{"name": "Referer", "value": "https://example.test/"}"#,
            };
            format!(
                r#"{{"pageref": "page_1", "startedDateTime": "2024-05-01T19:00:00.{start:03}+09:00", "time": null,
            "request": {{"bodySize": 0, "method": "GET", "url": "https://example.test{path}", "headers": [{referer}],
              "headersSize": 319, "postData": {{"mimeType": "", "params": [], "text": ""}}}},
            "response": {{"status": 200, "headers": [], "content": {{"mimeType": "{mime}", "size": 1000}}, "redirectURL": "",
              "headersSize": 380, "bodySize": 1000}}, "cache": {{}}, "connection": "443",
            "timings": {{"blocked": 0, "dns": 0, "connect": 0, "send": 0, "wait": {}, "receive": {}}}}}"#,
                waited - start,
                end - waited
            )
        },
    );
    assert_eq!(graph(&har), expected());
    assert_eq!((har.file.objects[1].bytes, har.file.objects[1].response_header_bytes), (1000, Some(380)));
}
