//! An edge with a cache in front of an origin that the test is.

use crate::edges::{Front, plain, read_head, with_edge};
use crate::{accept, port};
use loadstone_http::Protocol;
use serde_json::{Value, json};
use socket2::SockRef;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

const EVERY: [Protocol; 5] = [Protocol::Http1, Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2];

fn caching(protocol: Protocol, origin: SocketAddr) -> Value {
    let mut setting = plain(protocol, origin);
    setting["cache"] = json!({"bytes": 10_000_000, "object": 1_000_000});
    setting
}

/// An edge with a cache that speaks HTTP/1.1.
fn with_cache<T>(test: impl FnOnce(&Front, &TcpListener) -> T) -> T {
    let (origin, address) = port();
    with_edge(&caching(Protocol::Http1, address), |front, _leave| test(front, &origin)).0
}

/// The origin answers the next request on a new connection with this, which has its length in it.
fn answer(origin: &TcpListener, fields: &str, content: &[u8]) -> String {
    let mut behind = accept(origin);
    let head = read_head(&mut behind);
    let length = content.len();
    let answer = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n{fields}\r\n");
    behind.write_all(&[answer.as_bytes(), content].concat()).unwrap();
    head
}

fn content(client: &mut TcpStream, head: &str) -> Vec<u8> {
    let length = head.to_ascii_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut content = vec![0; length.unwrap_or_else(|| panic!("{head}"))];
    client.read_exact(&mut content).unwrap();
    content
}

/// Whether nothing has come to the origin.
fn is_left_alone(origin: &TcpListener) -> bool {
    origin.set_nonblocking(true).unwrap();
    let is_alone = origin.accept().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    origin.set_nonblocking(false).unwrap();
    is_alone
}

#[test]
fn every_protocol_gets_what_is_stored_byte_by_byte_and_the_origin_is_asked_once() {
    let whole: Vec<u8> = (0..700_000_u32).map(|at| (at % 251) as u8).collect();
    for protocol in EVERY {
        let (origin, address) = port();
        with_edge(&caching(protocol, address), |front, _leave| {
            let mut talk = front.talk(protocol);
            let first = talk.ask("GET", "/a", &[], b"");
            talk.send();
            answer(&origin, "Cache-Control: max-age=60\r\nETag: \"1\"\r\n", &whole);
            talk.finish();
            assert!(talk.got[&first].content == whole, "{protocol}");
            let hit = talk.get("/a");
            assert!((hit.status(), hit.content.len()) == (200, 700_000) && hit.content == whole, "{protocol}");
            assert!(hit.field("cache-status").starts_with("loadstone; hit; ttl="), "{protocol}");
            let mut ask = |method: &str, fields: &[(&str, &str)]| {
                let stream = talk.ask(method, "/a", fields, b"");
                talk.finish();
                talk.got.remove(&stream).unwrap()
            };
            let part = ask("GET", &[("range", "bytes=100000-100999")]);
            assert!(part.status() == 206 && part.content == whole[100_000..101_000], "{protocol}");
            let known = ask("GET", &[("if-none-match", "\"1\"")]);
            assert_eq!((known.status(), known.content.len()), (304, 0), "{protocol}");
            let head = ask("HEAD", &[]);
            assert_eq!((head.field("content-length"), head.content.len()), ("700000".into(), 0), "{protocol}");
            assert!(is_left_alone(&origin), "{protocol}");
        });
    }
}

#[test]
fn the_host_that_counts_is_the_one_that_the_origin_is_asked_for() {
    with_cache(|front, origin| {
        let mut client = front.send("GET http://a.test/x HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let head = answer(origin, "Cache-Control: max-age=60\r\n", b"a.test");
        assert!(head.contains("\r\nhost: a.test\r\n"), "{head}");
        let head = read_head(&mut client);
        assert_eq!(content(&mut client, &head), b"a.test");
        for request in
            ["GET /x HTTP/1.1\r\nHost: A.Test\r\n\r\n", "GET http://A.test/x HTTP/1.1\r\nHost: b.test\r\n\r\n"]
        {
            let mut client = front.send(request);
            let head = read_head(&mut client);
            assert!(head.contains("cache-status: loadstone; hit"), "{head}");
            assert_eq!(content(&mut client, &head), b"a.test");
        }
        let mut client = front.send("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
        answer(origin, "Cache-Control: max-age=60\r\n", b"other");
        let head = read_head(&mut client);
        assert_eq!(content(&mut client, &head), b"other");
    });
}

#[test]
fn what_breaks_off_or_ends_with_its_connection_is_not_stored() {
    for (framing, is_reset) in [
        ("Content-Length: 9\r\n", true),
        ("Transfer-Encoding: chunked\r\n", false),
        ("", false),
        ("Content-Length: 9\r\n", false),
    ] {
        with_cache(|front, origin| {
            let request = "GET /x HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";
            let mut client = front.send(request);
            let mut behind = accept(origin);
            read_head(&mut behind);
            let piece = if framing.contains("chunked") { "3\r\nabc\r\n" } else { "abc" };
            behind
                .write_all(format!("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n{framing}\r\n{piece}").as_bytes())
                .unwrap();
            read_head(&mut client);
            if is_reset {
                SockRef::from(&behind).set_linger(Some(Duration::ZERO)).unwrap();
            }
            drop(behind);
            let _how = client.read_to_end(&mut Vec::new());
            let mut client = front.send(request);
            answer(origin, "", b"whole");
            let head = read_head(&mut client);
            assert_eq!(content(&mut client, &head), b"whole", "{framing:?}");
        });
    }
}

#[test]
fn requests_of_many_clients_for_one_thing_are_one_for_the_origin() {
    with_cache(|front, origin| {
        let mut clients: Vec<TcpStream> =
            (0..30).map(|_| front.send("GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n")).collect();
        answer(origin, "Cache-Control: max-age=60\r\n", b"for all");
        for client in &mut clients {
            let head = read_head(client);
            assert_eq!(content(client, &head), b"for all");
        }
        assert!(is_left_alone(origin));
    });
}
