//! What a page keeps of a user's secrets, and what it costs to replace them.

use super::*;
use crate::page::Summary;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const SHORT: &str = "s3cr3t";

/// Names with values.
type Pairs<'a> = &'a [(&'a str, &'a str)];
/// A URL with the fields of its request and of its response.
type Exchanged<'a> = (&'a str, Pairs<'a>, Pairs<'a>);

/// The page of these entries, with its secrets kept and with them replaced.
fn pages(entries: &[Exchanged<'_>]) -> [Har; 2] {
    let list = |fields: Pairs<'_>| -> Vec<Value> {
        fields.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
    };
    let entries: Vec<Value> = entries
        .iter()
        .map(|(url, request, response)| {
            json!({
                "startedDateTime": "2024-05-01T10:00:00.000Z", "time": 20,
                "request": {"method": "GET", "url": url, "headers": list(request)},
                "response": {"status": 200, "headers": list(response), "content": {"size": 10, "mimeType": "text/html"}},
                "timings": {"send": 0, "wait": 10, "receive": 10}
            })
        })
        .collect();
    let text = json!({"log": {"entries": entries}}).to_string();
    [Secrets::Kept, Secrets::Replaced].map(|secrets| super::super::read(text.as_bytes(), None, secrets).unwrap())
}

/// What becomes of a request's field and of a response's.
fn field(name: &str, value: &str) -> String {
    let [_, replaced] = pages(&[(ROOT, &[(name, value)], &[(name, value)])]);
    let [object] = &replaced.file.objects[..] else { panic!() };
    assert_eq!(object.request_fields, object.response_fields);
    object.request_fields.as_ref().unwrap()[0].1.clone()
}

/// What becomes of an object's URL.
fn url(url: &str) -> String {
    let [_, replaced] = pages(&[(url, &[], &[])]);
    replaced.file.objects[0].url.clone()
}

/// Text with every letter and digit replaced by its kind.
fn shape(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii_digit() {
                '0'
            } else if c.is_ascii_alphabetic() {
                'a'
            } else {
                c
            }
        })
        .collect()
}

#[test]
fn secret_fields_keep_their_form_and_nothing_else() {
    for name in [
        "cookie",
        "Set-Cookie",
        "AUTHORIZATION",
        "proxy-authorization",
        "X-Api-Key",
        "x-csrf-token",
        "X-CSRFToken",
        "x-auth-token",
        "X-Amz-Security-Token",
        "cookie2",
        "x-xsrf-token",
        "dpop",
        "from",
        "session",
        "x-forwarded-for",
    ] {
        let value = "s3cr3t-TOKEN.77";
        let replaced = field(name, value);
        assert_eq!(shape(&replaced), shape(value), "{name}");
        let same = replaced.chars().zip(value.chars()).filter(|(new, old)| new == old && new.is_ascii_alphanumeric());
        assert_eq!(same.count(), 0, "{name}: {replaced}");
    }
}

#[test]
fn names_schemes_and_attributes_stay() {
    for (name, value, stays) in [
        ("cookie", "sid=s3cr3t; theme=dark", &["sid=", "; theme="][..]),
        ("authorization", "Bearer s3cr3t.s3cr3t", &["Bearer "]),
        ("proxy-authorization", "basic czNjcjN0Og==", &["basic ", "=="]),
        (
            "set-cookie",
            "sid=s3cr3t; Path=/a; Domain=a.test; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Max-Age=60; Secure; SameSite=Lax",
            &[
                "sid=",
                "; Path=/a; Domain=a.test; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Max-Age=60; Secure; SameSite=Lax",
            ],
        ),
        ("set-cookie", "a=s3cr3t; Path=/\nb=s3cr3t; HttpOnly", &["a=", "; Path=/, b=", "; HttpOnly"]),
        ("set-cookie", "a=1; Path=/, b=s3cr3t; Expires=s3cr3t; secure=s3cr3t", &["; Path=/, b="]),
        (
            "location",
            "/next;sid=s3cr3t/x?to=s3cr3t&a=1#access_token=s3cr3t",
            &["/next;sid=", "/x?to=", "&a=", "#access_token="],
        ),
        ("referer", "https://s3cr3t:s3cr3t@a.test/x?s3cr3t", &["https://", ":", "@a.test/x?"]),
        ("link", "</a.css?v=s3cr3t>; rel=preload; as=style", &["</a.css?v=", ">; rel=preload; as=style"]),
        (
            "content-security-policy",
            "img-src 'self'; report-uri /r?k=s3cr3t;",
            &["img-src 'self'; report-uri /r?k=", ";"],
        ),
        ("report-to", "{\"url\":\"https://r.test/?k=s3cr3t\"}", &["{\"url\":\"https://r.test/?k=", "\"}"]),
    ] {
        let replaced = field(name, value);
        assert!(!replaced.contains(SHORT), "{name}: {replaced}");
        let mut rest = &replaced[..];
        for part in stays {
            let at = rest.find(part).unwrap_or_else(|| panic!("{name}: no {part} in {replaced}"));
            rest = &rest[at + part.len()..];
        }
    }
}

#[test]
fn public_fields_stay_as_they_are() {
    for (name, value) in [
        ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64)"),
        ("sec-ch-ua", "\"Not?A_Brand\";v=\"8\""),
        ("sec-fetch-user", "?1"),
        ("accept", "text/html;q=0.9,*/*;q=0.8"),
        ("ETag", "\"33a64df5\""),
        ("location", "https://a.test:8443/b/c.html"),
    ] {
        assert_eq!(field(name, value), value);
    }
}

#[test]
fn values_in_urls_are_replaced_and_paths_stay() {
    for (given, stays) in [
        ("https://a.test/b/c.js?token=s3cr3t", "https://a.test/b/c.js?token="),
        ("https://a.test/b?s3cr3t", "https://a.test/b?"),
        ("https://s3cr3t:s3cr3t@a.test/b", "https://"),
        ("https://a.test/b;jsessionid=s3cr3t", "https://a.test/b;jsessionid="),
        ("https://a.test/b?to=https%3A%2F%2Fb.test%2F%3Fk%3Ds3cr3t", "https://a.test/b?to="),
        ("https://a.test/b?k=%73%33%63%72%33%74", "https://a.test/b?k=%"),
        ("https://a.test/b?q=J\u{fc}rgen", "https://a.test/b?q="),
        ("https://a.test/b?czNjcjN0==", "https://a.test/b?"),
    ] {
        let replaced = url(given);
        assert!(replaced.starts_with(stays), "{given}: {replaced}");
        for secret in [SHORT, "%73%33", "rgen", "czNjcjN0"] {
            assert!(!replaced.contains(secret), "{given}: {replaced}");
        }
    }
}

#[test]
fn what_is_equal_stays_equal_and_what_begins_alike_does() {
    let value = |secret: &str| {
        let entries = [("https://a.test/?k=12345678abcdefgh", &[("cookie", secret)][..], &[][..])];
        let [_, replaced] = pages(&entries);
        let object = &replaced.file.objects[0];
        (object.url.rsplit('=').next().unwrap().to_owned(), object.request_fields.as_ref().unwrap()[0].1.clone())
    };
    let (in_url, in_cookie) = value("k=12345678abcdefgh");
    assert_eq!(in_cookie, format!("k={in_url}"));
    // In one recording; another one has another key.
    let entries = [
        ("https://a.test/?k=12345678abcd", &[][..], &[][..]),
        ("https://a.test/?k=12345678abzz", &[][..], &[][..]),
        ("https://a.test/?k=12345678abcd&x=1", &[][..], &[][..]),
    ];
    let [_, replaced] = pages(&entries);
    let [one, other, again] = &replaced.file.objects[..] else { panic!() };
    assert_eq!(one.url[..28], other.url[..28]);
    assert_ne!(one.url[28..29], other.url[28..29]);
    assert!(again.url.starts_with(&one.url));
    assert_ne!(value("k=1").0, value("k=2").0);
}

#[test]
fn objects_stay_distinct_and_find_what_they_wait_for() {
    let urls: Vec<String> = ('0'..='9').chain('a'..='z').map(|value| format!("https://a.test/x?v={value}")).collect();
    let entries: Vec<Exchanged<'_>> = urls.iter().map(|url| (&url[..], &[][..], &[][..])).collect();
    let [_, replaced] = pages(&entries);
    let distinct: BTreeSet<&str> = replaced.file.objects.iter().map(|object| &object.url[..]).collect();
    assert_eq!(distinct.len(), urls.len());
    replaced.file.build().unwrap();

    let moved = json!({"log": {"entries": [
        {"startedDateTime": "2024-05-01T10:00:00.000Z", "time": 20, "request": {"url": "https://a.test/?t=s3cr3t"},
         "response": {"status": 302, "headers": [{"name": "Location", "value": "/in?code=s3cr3t#s3cr3t"}]}},
        {"startedDateTime": "2024-05-01T10:00:00.030Z", "time": 20, "request": {"url": "https://a.test/in?code=s3cr3t"},
         "response": {"status": 200}},
        {"startedDateTime": "2024-05-01T10:00:00.030Z", "time": 20, "request": {"url": "https://a.test/in?code=s3cr3t"},
         "response": {"status": 200}}
    ]}});
    let har = super::super::read(moved.to_string().as_bytes(), None, Secrets::Replaced).unwrap();
    let [root, next, twin] = &har.file.objects[..] else { panic!() };
    assert_eq!(next.needs.as_ref().unwrap()[0].node, root.url);
    assert_eq!(twin.name.as_deref(), Some(&format!("{} #2", next.url)[..]));
    har.file.build().unwrap();
}

proptest! {
    /// Heads are as long as they were, in HTTP/1.1 and, by the lengths of the codes, in HPACK.
    #[test]
    fn heads_are_as_large_as_they_were(secrets in prop::collection::vec("[a-z0-9._%-]{1,40}", 1..6), odd in "\\PC{0,30}") {
        let urls: Vec<String> = secrets.iter().map(|secret| format!("https://a.test/?k={secret}&o={odd}")).collect();
        let cookies: Vec<String> = secrets.iter().map(|secret| format!("sid={secret}; b={odd}")).collect();
        let fields: Vec<[(&str, &str); 1]> = cookies.iter().map(|cookie| [("cookie", &cookie[..])]).collect();
        let entries: Vec<Exchanged<'_>> =
            urls.iter().zip(&fields).map(|(url, fields)| (&url[..], &fields[..], &[][..])).collect();
        let [kept, replaced] = pages(&entries).map(|har| Summary::of(&har.file.build().unwrap()));
        prop_assert_eq!(kept.request_header_bytes, replaced.request_header_bytes);
        if odd.is_ascii() && !secrets.concat().contains('%') && !odd.contains(|c: char| c == '%' || c.is_ascii_uppercase()) {
            prop_assert_eq!(&kept.compressed_header_bytes["h2"], &replaced.compressed_header_bytes["h2"]);
        }
    }
}
