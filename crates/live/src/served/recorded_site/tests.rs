use super::*;
use crate::Bodies;
use loadstone_load::page::path_shape;
use proptest::prelude::*;

const NOW: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

fn recorded(method: &str, url: &str, body: &str) -> RecordedResponse {
    let body = Bytes::copy_from_slice(body.as_bytes());
    RecordedResponse::new(method, url, 200, body).unwrap()
}

fn with_fields(response: RecordedResponse, fields: &[(&str, &str)]) -> RecordedResponse {
    let pairs = fields.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    RecordedResponse { fields: pairs.collect(), ..response }
}

/// A server of these responses by TLS, and where their bytes are.
fn server(recorded: Vec<RecordedResponse>) -> (RecordedServer, BodyStore) {
    let (site, bodies) = (Arc::new(RecordedSite::new(recorded)), BodyStore::default());
    (RecordedServer::new(site, Scheme::Https, Ports::Both, bodies.clone()), bodies)
}

fn request(method: &str, url: &str, fields: &[(&str, &str)]) -> RequestHead {
    let RequestHead { method, scheme, authority, path, .. } = request_of(method, url).unwrap();
    RequestHead::new(method, authority, path, Fields::from_pairs(fields.iter().copied())).over(scheme)
}

/// Status and body of the answer.
fn said(server: &(RecordedServer, BodyStore), request: &RequestHead) -> (u16, String) {
    let answer = server.0.answer(request, NOW);
    let mut body = Vec::new();
    server.1.append(answer.body.id, 0, answer.body.len, &mut body);
    (answer.head.status, String::from_utf8(body).unwrap())
}

fn got(server: &(RecordedServer, BodyStore), url: &str) -> String {
    let (status, body) = said(server, &request("GET", url, &[]));
    if status == 200 { body } else { status.to_string() }
}

fn field(server: &(RecordedServer, BodyStore), request: &RequestHead, name: &str) -> Option<String> {
    let answer = server.0.answer(request, NOW);
    answer.head.fields.get(name.as_bytes()).map(|value| String::from_utf8_lossy(value).into_owned())
}

#[test]
fn the_same_url_comes_first_then_the_likest_query_then_the_shape() {
    let server = server(vec![
        recorded("GET", "https://a.test/x?a=1&t=5", "first"),
        recorded("GET", "https://a.test/x?a=2&t=6", "second"),
        recorded("GET", "https://a.test/img/10.png", "ten"),
        recorded("GET", "https://a.test/img/11.png?v=2", "eleven"),
        recorded("POST", "https://a.test/x?a=3", "posted"),
        recorded("GET", "https://b.test/x?a=3", "elsewhere"),
    ]);
    for (url, expected) in [
        ("https://a.test/x?a=2&t=6", "second"),
        ("https://a.test/x?t=9&a=2", "second"),
        ("https://a.test/x?a=1", "first"),
        // Nothing is equal: of those the first that is left.
        ("https://a.test/img/12.png", "ten"),
        ("https://a.test/img/12.png?v=2", "eleven"),
        ("https://a.test/img/12.jpg", "404"),
        ("https://c.test/x?a=1", "404"),
        ("https://b.test/img/10.png", "404"),
    ] {
        assert_eq!(got(&server, url), expected, "{url}");
    }
    assert_eq!(said(&server, &request("POST", "https://a.test/x", &[])), (200, "posted".to_owned()));
    assert_eq!(said(&server, &request("DELETE", "https://a.test/x", &[])).0, 404);
    let report = server.0.site.report();
    assert_eq!((report.exact, report.by_query, report.by_shape, report.unmatched), (1, 3, 2, 4));
    assert_eq!(report.not_recorded.keys().next().unwrap(), "DELETE https://a.test/x");
    assert_eq!(report.unused.into_iter().collect::<Vec<_>>(), ["GET https://b.test/x?a=3"]);
}

#[test]
fn the_nth_request_of_a_url_gets_its_nth_response_and_then_the_last_one() {
    let url = "https://a.test/poll";
    let start = recorded("GET", "https://a.test/", "page");
    let polls = ["one", "two"].map(|body| recorded("GET", url, body));
    let server = server([start].into_iter().chain(polls).collect());
    let polled = |times: usize| (0..times).map(|_| got(&server, url)).collect::<Vec<_>>();
    assert_eq!(got(&server, "https://a.test/"), "page");
    assert_eq!(polled(3), ["one", "two", "two"]);
    // The page is opened again: a new load.
    assert_eq!(got(&server, "https://a.test/"), "page");
    assert_eq!(polled(2), ["one", "two"]);
    // A frame or a script that asks for it opens nothing.
    let frame = request("GET", "https://a.test/", &[("sec-fetch-dest", "iframe")]);
    assert_eq!((said(&server, &frame).0, polled(1)), (200, vec!["two".to_owned()]));
    let document = request("GET", "https://a.test/", &[("sec-fetch-dest", "document")]);
    assert_eq!((said(&server, &document).0, polled(1)), (200, vec!["one".to_owned()]));
}

#[test]
fn of_equally_alike_ones_each_is_given_once_in_the_order_of_recording() {
    let beacons = [1, 2, 3].map(|time| recorded("GET", &format!("https://a.test/b?t={time}"), &time.to_string()));
    let server = server(beacons.to_vec());
    let asked = [7, 8, 2, 9].map(|time| got(&server, &format!("https://a.test/b?t={time}")));
    assert_eq!(asked, ["1", "2", "2", "3"]);
    assert_eq!(got(&server, "https://a.test/b?t=10"), "1");
}

#[test]
fn scheme_and_port_count_only_between_those_that_were_recorded() {
    let server = server(vec![
        recorded("GET", "http://a.test/", "plain"),
        recorded("GET", "https://a.test/", "secure"),
        recorded("GET", "http://a.test/old", "old"),
        recorded("GET", "https://a.test:8443/", "other port"),
    ]);
    for (url, expected) in [
        ("https://a.test/", "secure"),
        ("https://a.test:8443/", "other port"),
        ("https://a.test/old", "old"),
        ("https://A.test:4433/", "secure"),
        ("https://127.0.0.1:4433/", "secure"),
        ("https://localhost/old", "old"),
    ] {
        assert_eq!(got(&server, url), expected, "{url}");
    }
}

#[test]
fn what_answers_any_query_does() {
    let any = RecordedResponse { queries: Queries::Any, ..recorded("GET", "https://a.test/any", "any") };
    let server = server(vec![any, recorded("GET", "https://a.test/any?own=1", "own")]);
    let asked = ["", "?x=1", "?own=1"].map(|query| got(&server, &format!("https://a.test/any{query}")));
    assert_eq!(asked, ["any", "any", "own"]);
    assert_eq!(server.0.site.report().exact, 3);
}

#[test]
fn a_coding_is_sent_to_those_who_accept_it_in_as_many_bytes_as_were_recorded() {
    let body = "text ".repeat(1000);
    let fields = [("Content-Encoding", "gzip"), ("content-length", "999"), ("content-type", "text/css")];
    let coded = RecordedResponse {
        sent_as: SentAs::Len(500),
        ..with_fields(recorded("GET", "https://a.test/a.css", &body), &fields)
    };
    let raw = RecordedResponse {
        sent_as: SentAs::Raw(Bytes::from_static(b"raw")),
        ..with_fields(recorded("GET", "https://a.test/raw", &body), &[("content-encoding", "zstd")])
    };
    let server = server(vec![coded, raw]);
    let asking = |url: &str, accepted: &str| request("GET", url, &[("accept-encoding", accepted)]);
    let css = asking("https://a.test/a.css", "gzip, br");
    assert_eq!(field(&server, &css, "content-length").as_deref(), Some("500"));
    assert_eq!(field(&server, &css, "content-encoding").as_deref(), Some("gzip"));
    let plain = asking("https://a.test/a.css", "br");
    assert_eq!((said(&server, &plain).1, field(&server, &plain, "content-encoding")), (body.clone(), None));
    assert_eq!(said(&server, &asking("https://a.test/raw", "zstd")).1, "raw");
    assert_eq!(said(&server, &asking("https://a.test/raw", "gzip")).1, body);
    assert_eq!(server.0.site.report().longer, []);
}

#[test]
fn what_cannot_be_made_so_short_is_told() {
    let body = "text ".repeat(1000);
    let coded = RecordedResponse {
        sent_as: SentAs::Len(5),
        ..with_fields(recorded("GET", "https://a.test/a", &body), &[("content-encoding", "br")])
    };
    let [longer] = &RecordedSite::new(vec![coded]).report().longer[..] else { panic!("one is longer") };
    assert_eq!((&longer.name[..], longer.recorded), ("GET https://a.test/a", 5));
    assert!(longer.sent > 5);
}

#[test]
fn written_text_is_compressed_as_servers_do_and_pictures_are_not() {
    let written = |url: &str, kind: &str| RecordedResponse {
        sent_as: SentAs::Usual,
        ..with_fields(recorded("GET", url, &"text ".repeat(1000)), &[("content-type", kind)])
    };
    let server = server(vec![
        written("https://a.test/a", "application/json; charset=utf-8"),
        written("https://a.test/b", "image/png"),
    ]);
    let coding = |path: &str, accepted: &str| {
        let url = format!("https://a.test/{path}");
        field(&server, &request("GET", &url, &[("accept-encoding", accepted)]), "content-encoding")
    };
    assert_eq!(coding("a", "gzip, br").as_deref(), Some("br"));
    assert_eq!(coding("a", "gzip").as_deref(), Some("gzip"));
    assert_eq!((coding("a", ""), coding("b", "gzip, br")), (None, None));
}

#[test]
fn what_is_unchanged_a_part_and_a_head_are_answered_so() {
    let fields = [("etag", "\"1\""), ("content-type", "text/css"), ("cache-control", "max-age=1")];
    let server = server(vec![with_fields(recorded("GET", "https://a.test/a", "0123456789"), &fields)]);
    let ask = |method: &str, fields: &[(&str, &str)]| request(method, "https://a.test/a", fields);
    let unchanged = ask("GET", &[("if-none-match", "\"1\"")]);
    assert_eq!(said(&server, &unchanged), (304, String::new()));
    assert_eq!(field(&server, &unchanged, "content-type"), None);
    assert_eq!(field(&server, &unchanged, "cache-control").as_deref(), Some("max-age=1"));
    let part = ask("GET", &[("range", "bytes=2-4")]);
    assert_eq!(said(&server, &part), (206, "234".to_owned()));
    assert_eq!(field(&server, &part, "content-range").as_deref(), Some("bytes 2-4/10"));
    let head = ask("HEAD", &[]);
    assert_eq!(said(&server, &head), (200, String::new()));
    assert_eq!(field(&server, &head, "content-length").as_deref(), Some("10"));
}

#[test]
fn leave_to_ask_is_as_recorded_or_follows_from_the_recorded_answer() {
    let api = "https://api.test/v1";
    let credentials =
        [("access-control-allow-origin", "https://www.a.test"), ("access-control-allow-credentials", "true")];
    let preflight = with_fields(
        RecordedResponse::new("OPTIONS", "https://api.test/own", 204, Bytes::new()).unwrap(),
        &[("access-control-allow-headers", "x-own")],
    );
    let server = server(vec![
        with_fields(recorded("PUT", api, ""), &credentials),
        preflight,
        recorded("PUT", "https://api.test/closed", ""),
    ]);
    let ask = |url: &str| {
        let fields = [
            ("origin", "https://www.a.test:8443"),
            ("access-control-request-method", "PUT"),
            ("access-control-request-headers", "x-id"),
        ];
        request("OPTIONS", url, &fields)
    };
    let leave = server.0.answer(&ask(api), NOW);
    assert_eq!(leave.head.status, 204);
    for (name, value) in [
        ("access-control-allow-origin", "https://www.a.test:8443"),
        ("access-control-allow-credentials", "true"),
        ("access-control-allow-methods", "PUT"),
        ("access-control-allow-headers", "x-id"),
    ] {
        assert_eq!(leave.head.fields.get(name.as_bytes()), Some(value.as_bytes()), "{name}");
    }
    let own = ask("https://api.test/own");
    assert_eq!(field(&server, &own, "access-control-allow-headers").as_deref(), Some("x-own"));
    assert_eq!(field(&server, &ask("https://api.test/closed"), "access-control-allow-origin"), None);
    assert_eq!(said(&server, &ask("https://api.test/none")).0, 404);
    // What is asked for after that is still the first of its kind.
    assert_eq!(server.0.site.report().exact, 3);
}

#[test]
fn that_nothing_was_new_is_not_said_to_whom_it_is_new() {
    let unchanged = RecordedResponse { status: 304, ..recorded("GET", "https://a.test/", "") };
    let server = server(vec![unchanged, recorded("GET", "https://a.test/", "page")]);
    assert_eq!(got(&server, "https://a.test/"), "page");
}

#[test]
fn a_url_that_names_no_web_server_is_refused() {
    for url in ["data:text/css,p", "/a", "ftp://a.test/", "https:///a"] {
        let error = RecordedResponse::new("GET", url, 200, Bytes::new()).unwrap_err();
        assert!(error.to_string().contains(url), "{error}");
    }
    let parts = |url: &str| {
        let request = request_of("GET", url).unwrap();
        [request.authority, request.path].map(|part| String::from_utf8_lossy(&part).into_owned())
    };
    assert_eq!(parts("HTTPS://me@A.test:443?q#f"), ["a.test", "/?q"]);
    assert_eq!(parts("http://a.test:443/x#f"), ["a.test:443", "/x"]);
}

/// One of few URLs, so that many are alike.
fn any_url() -> impl Strategy<Value = String> {
    let query = prop::collection::vec((0..3_u8, 0..3_u8), 0..4);
    ("[ab]", 0..2_u8, 0..20_u8, query).prop_map(|(host, folder, file, query)| {
        let pairs = query.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&");
        format!("https://{host}.test/{folder}x/{file}.js?{pairs}")
    })
}

fn any_request() -> impl Strategy<Value = (String, String)> {
    (prop_oneof!["GET", "POST"], any_url())
}

proptest! {
    /// The rules, said once more and slowly.
    #[test]
    fn the_same_requests_get_the_same_responses_and_the_likest_ones(
        recorded in prop::collection::vec(any_request(), 1..20),
        asked in prop::collection::vec(any_request(), 1..40),
    ) {
        let responses = recorded.iter().map(|(method, url)| RecordedResponse::new(method, url, 200, Bytes::new()).unwrap());
        let [one, other] = [(); 2].map(|()| RecordedSite::new(responses.clone().collect()));
        for (method, url) in &asked {
            // What opens no page: no count begins anew.
            let request = request(method, url, &[("sec-fetch-dest", "empty")]);
            let taken = one.take(&request);
            prop_assert_eq!(taken, other.take(&request));
            let host = |url: &str| url.split('/').nth(2).unwrap().to_owned();
            let path = |url: &str| url.split('?').next().unwrap().to_owned();
            let is_alike = |own: &(String, String)| own.0 == *method && host(&own.1) == host(url);
            let shape = |url: &str| path_shape(path(url).as_bytes());
            let expected = if recorded.iter().any(|own| own == &(method.clone(), url.clone())) {
                Some(Likeness::Exact)
            } else if recorded.iter().any(|own| is_alike(own) && path(&own.1) == path(url)) {
                Some(Likeness::Query)
            } else if recorded.iter().any(|own| is_alike(own) && shape(&own.1) == shape(url)) {
                Some(Likeness::Shape)
            } else {
                None
            };
            prop_assert_eq!(taken.map(|(_, likeness)| likeness), expected);
            let Some((at, _)) = taken else { continue };
            prop_assert!(is_alike(&recorded[at]));
            let share = |other: &str| {
                let [own, other] = [url, other].map(|url| {
                    let pairs = url.split('?').nth(1).unwrap().split('&').filter(|pair| !pair.is_empty());
                    pairs.map(str::to_owned).collect::<Vec<_>>()
                });
                let mut left = other.clone();
                let equal = own.iter().filter(|pair| {
                    left.iter().position(|one| one == *pair).map(|at| left.remove(at)).is_some()
                });
                let equal = equal.count();
                if own.is_empty() && other.is_empty() { 1.0 } else { 2.0 * equal as f64 / (own.len() + other.len()) as f64 }
            };
            if expected == Some(Likeness::Query) {
                let same = recorded.iter().filter(|own| is_alike(own) && path(&own.1) == path(url));
                let most = same.map(|own| share(&own.1)).fold(0.0, f64::max);
                prop_assert!((share(&recorded[at].1) - most).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn the_nth_request_gets_the_nth_response(
        recorded in prop::collection::vec(any_request(), 1..20),
        times in 1..6_usize,
    ) {
        let responses = recorded.iter().map(|(method, url)| RecordedResponse::new(method, url, 200, Bytes::new()).unwrap());
        let site = RecordedSite::new(responses.collect());
        for own in &recorded {
            site.restart();
            let places = recorded.iter().enumerate().filter(|(_, other)| *other == own).map(|(at, _)| at);
            let places = places.collect::<Vec<_>>();
            let request = request(&own.0, &own.1, &[("sec-fetch-dest", "empty")]);
            for nth in 0..times {
                let expected = places[nth.min(places.len() - 1)];
                prop_assert_eq!(site.take(&request), Some((expected, Likeness::Exact)));
            }
        }
    }

    #[test]
    fn any_request_gets_an_answer(
        method in "[A-Z]{0,8}", authority in ".{0,20}", path in ".{0,40}",
        names in prop::collection::vec((0..9_usize, ".{0,20}"), 0..6),
    ) {
        let server = server(vec![recorded("GET", "https://a.test/x?y", "0123456789")]);
        let fields = names.iter().map(|(at, value)| (FIELDS_READ[*at], value.as_bytes()));
        let [method, authority, path] = [method, authority, path].map(|text| Bytes::from(text.into_bytes()));
        let request = RequestHead::new(method, authority, path, Fields::from_pairs(fields));
        let answer = server.0.answer(&request, NOW);
        prop_assert!(matches!(answer.head.status, 200 | 204 | 206 | 304 | 404));
        prop_assert!(answer.body.len <= 10);
    }
}
