//! Requests that two readers could read in two ways (RFC 9112, section 11.2), through an edge: an origin that records
//! every byte gets each request in a form that can be read in one way only, or does not get it.

use crate::edges::{plain, with_edge};
use crate::{dial, limited, port};
use loadstone_http::Protocol;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// What a client heard, and the requests that the origin got, each as its line, its fields and its content.
struct Through {
    heard: String,
    requests: Vec<Request>,
}

#[derive(Clone, Debug)]
struct Request {
    line: String,
    fields: BTreeMap<String, String>,
    content: Vec<u8>,
}

/// Sends `bytes` through an edge that speaks `protocol` in front of an origin that answers every request by 200.
fn through(protocol: Protocol, bytes: &[u8]) -> Through {
    let (listener, address) = port();
    let (is_over, requests) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let heard = thread::scope(|scope| {
        scope.spawn(|| record(&listener, &is_over, &requests));
        let (heard, _) = with_edge(&plain(protocol, address), |front, leave| {
            let mut client = dial(front.address);
            client.write_all(bytes).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            let mut heard = Vec::new();
            let _reset = client.read_to_end(&mut heard);
            leave.stop();
            String::from_utf8_lossy(&heard).into_owned()
        });
        is_over.store(true, Ordering::Relaxed);
        heard
    });
    Through { heard, requests: requests.into_inner().unwrap() }
}

#[expect(clippy::disallowed_methods, reason = "it looks for connections until the test is over")]
fn record(listener: &TcpListener, is_over: &AtomicBool, requests: &Mutex<Vec<Request>>) {
    listener.set_nonblocking(true).unwrap();
    thread::scope(|scope| {
        while !is_over.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((stream, _)) => _ = scope.spawn(|| answer(stream, requests)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(1)),
                Err(error) => panic!("{error}"),
            }
        }
    });
}

/// Answers each request on a connection once it is complete.
fn answer(stream: TcpStream, requests: &Mutex<Vec<Request>>) {
    stream.set_nonblocking(false).unwrap();
    let (mut stream, mut text, mut buffer) = (limited(stream), Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        text.extend_from_slice(&buffer[..count]);
        while let Some((request, len)) = strictly(&text) {
            text.drain(..len);
            requests.lock().unwrap().push(request);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
    }
}

/// The first request in `text` and its length; `None` if it is not all there. What any reader could take for something
/// else is a failure.
fn strictly(text: &[u8]) -> Option<(Request, usize)> {
    let end = text.windows(4).position(|it| it == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&text[..end]).expect("a head is ASCII");
    assert!(head.replace("\r\n", "").bytes().all(|byte| matches!(byte, b' '..=b'~')), "{head:?}");
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap().to_owned();
    assert_eq!(line.split(' ').count(), 3, "{line}");
    let mut fields = BTreeMap::new();
    for field in lines {
        let (name, value) = field.split_once(": ").unwrap_or_else(|| panic!("{field:?} is no field"));
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{field:?}");
        let before = fields.insert(name.to_ascii_lowercase(), value.to_owned());
        assert!(before.is_none(), "there are two of {name}: {head}");
    }
    assert!(fields.contains_key("host"), "{head}");
    let body = &text[end + 4..];
    let (content, len) = match (fields.get("content-length"), fields.get("transfer-encoding")) {
        (Some(_), Some(_)) => panic!("two lengths: {head}"),
        (Some(length), None) => {
            let length: usize = length.parse().unwrap();
            (body.get(..length)?.to_vec(), length)
        }
        (None, Some(coding)) => {
            assert_eq!(coding, "chunked");
            chunks(body)?
        }
        (None, None) => (Vec::new(), 0),
    };
    Some((Request { line, fields, content }, end + 4 + len))
}

/// The content of chunks without extensions and trailers, and how long they are.
fn chunks(body: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut content, mut at) = (Vec::new(), 0);
    loop {
        let line = body[at..].windows(2).position(|it| it == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&body[at..at + line]).unwrap(), 16).unwrap();
        at += line + 2;
        content.extend_from_slice(body.get(at..at + size)?);
        assert_eq!(body.get(at + size..at + size + 2)?, b"\r\n");
        at += size + 2;
        if size == 0 {
            return Some((content, at));
        }
    }
}

const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n";

#[test]
fn of_a_request_with_two_readings_the_origin_gets_nothing() {
    let with = |fields: &str, body: &str| format!("POST / HTTP/1.1\r\nHost: a.test\r\n{fields}\r\n\r\n{body}");
    let last = format!("0\r\n\r\n{SMUGGLED}");
    for (name, request) in [
        ("CL.TE", with("Content-Length: 45\r\nTransfer-Encoding: chunked", &last)),
        ("TE.CL", with("Transfer-Encoding: chunked\r\nContent-Length: 3", &last)),
        ("TE.TE", with("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", &last)),
        ("TE twice", with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", &last)),
        ("TE in a list", with("Transfer-Encoding: identity, chunked", &last)),
        ("TE of another name", with("Transfer-Encoding: xchunked", &last)),
        ("TE behind a control", with("Transfer-Encoding: \x0bchunked", &last)),
        ("TE behind a space", with("Transfer-Encoding : chunked", &last)),
        ("TE behind a fold", with("Transfer-Encoding:\r\n chunked", &last)),
        ("a fold first", with(" X: y\r\nContent-Length: 0", SMUGGLED)),
        ("CL of two values", with("Content-Length: 0\r\nContent-Length: 42", SMUGGLED)),
        ("CL of a list", with("Content-Length: 0, 42", SMUGGLED)),
        ("CL with a sign", with("Content-Length: +42", SMUGGLED)),
        ("CL in hexadecimal", with("Content-Length: 0x2a", SMUGGLED)),
        ("CL too large", with("Content-Length: 99999999999999999999", SMUGGLED)),
        ("CL behind a space", with("Content-Length : 42", SMUGGLED)),
        ("a NUL", with("X: a\0b\r\nContent-Length: 0", "")),
        ("a CR alone", with("X: a\rTransfer-Encoding: chunked\r\nContent-Length: 0", "")),
        ("two Hosts", with("Host: b.test\r\nContent-Length: 0", "")),
        ("a chunk too large", with("Transfer-Encoding: chunked", "11111111111111111\r\nabc\r\n0\r\n\r\n")),
        ("a chunk with a sign", with("Transfer-Encoding: chunked", "+3\r\nabc\r\n0\r\n\r\n")),
        ("a chunk in C", with("Transfer-Encoding: chunked", "0x3\r\nabc\r\n0\r\n\r\n")),
        ("a chunk's line ends in LF", with("Transfer-Encoding: chunked", "3\nabc\r\n0\r\n\r\n")),
        ("an extension with LF", with("Transfer-Encoding: chunked", "3;x\nabc\r\n0\r\n\r\n")),
        ("a chunk longer than it says", with("Transfer-Encoding: chunked", "3\r\nabcde\r\n0\r\n\r\n")),
        ("a later chunk", with("Transfer-Encoding: chunked", "3\r\nabc\r\n-1\r\nabc\r\n0\r\n\r\n")),
        ("two spaces", "GET  / HTTP/1.1\r\nHost: a.test\r\n\r\n".to_owned()),
        ("a tab", "GET\t/ HTTP/1.1\r\nHost: a.test\r\n\r\n".to_owned()),
        ("a path of two lines", "GET /\rx HTTP/1.1\r\nHost: a.test\r\n\r\n".to_owned()),
        ("no path", "GET a HTTP/1.1\r\nHost: a.test\r\n\r\n".to_owned()),
        ("no Host", "GET / HTTP/1.1\r\n\r\n".to_owned()),
        ("a Host of two lines", "GET / HTTP/1.1\r\nHost: a.test\x0b\r\n\r\n".to_owned()),
    ] {
        let Through { heard, requests } = through(Protocol::Http1, request.as_bytes());
        assert!(requests.is_empty(), "{name}: {requests:?}");
        let statuses = ["400", "421", "501"].map(|status| format!("HTTP/1.1 {status} "));
        assert!(statuses.iter().any(|status| heard.starts_with(status)), "{name}: {heard}");
        assert_eq!(heard.matches("HTTP/1.1 ").count(), 1, "{name}: {heard}");
    }
}

#[test]
fn what_is_read_leniently_is_written_strictly() {
    let with = |fields: &str, body: &str| {
        format!("POST / HTTP/1.1\r\nHost: a.test\r\n{fields}\r\n\r\n{body}GET /next HTTP/1.1\r\nHost: a.test\r\n\r\n")
    };
    for (name, request, content) in [
        ("lines that end in LF", with("X: x\nTransfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n"), "abc"),
        ("CL twice", with("Content-Length: 3\r\nContent-Length: 03", "abc"), "abc"),
        ("CL that Connection names", with("Connection: content-length\r\nContent-Length: 3", "abc"), "abc"),
        ("a lookalike of CL", with("Content_Length: 9\r\nContent-Length: 3", "abc"), "abc"),
        ("a lookalike of TE", with("Transfer_Encoding: chunked\r\nContent-Length: 3", "abc"), "abc"),
        ("an extension", with("Transfer-Encoding: Chunked", "3;x=\"y\"\r\nabc\r\n000\r\n\r\n"), "abc"),
        ("trailers that are none", with("Transfer-Encoding: chunked", "1\r\na\r\n0\r\nHost: b.test\r\n\r\n"), "a"),
        ("content that is a request", with("Content-Length: 42", SMUGGLED), SMUGGLED),
        ("TE of HTTP/1.0", with("Transfer-Encoding: chunked", "0\r\n\r\n").replacen("/1.1", "/1.0", 1), ""),
    ] {
        let request = request.replacen("Content-Length: 42", &format!("Content-Length: {}", SMUGGLED.len()), 1);
        let Through { heard, requests } = through(Protocol::Http1, request.as_bytes());
        let first = requests.iter().find(|request| request.line == "POST / HTTP/1.1");
        assert_eq!(first.map(|it| &it.content[..]), Some(content.as_bytes()), "{name}: {heard}");
        assert!(requests.iter().all(|request| !request.line.contains("smuggled")), "{name}: {requests:?}");
        let lookalikes = ["content_length", "transfer_encoding"];
        assert!(lookalikes.iter().all(|field| !first.unwrap().fields.contains_key(*field)), "{name}: {first:?}");
    }
}

/// A frame of HTTP/2 (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&len[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

/// A request of HTTP/2 whose fields are whatever they are: literals without indexing (RFC 7541, section 6.2.2).
fn h2_request(fields: &[(&str, &str)], content: Option<&str>) -> Vec<u8> {
    let literal = |text: &str| {
        assert!(text.len() < 127, "one byte says its length");
        [&[text.len() as u8], text.as_bytes()].concat()
    };
    let block: Vec<u8> =
        fields.iter().flat_map(|(name, value)| [vec![0], literal(name), literal(value)].concat()).collect();
    let (headers, data, settings) = (1, 0, 4);
    let end = if content.is_none() { 5 } else { 4 };
    let data = content.map(|content| frame(data, 1, 1, content.as_bytes())).unwrap_or_default();
    [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(settings, 0, 0, &[]), &frame(headers, end, 1, &block), &data]
        .concat()
}

/// A request with these fields in place of or after the usual ones.
fn usual(others: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let usual = [(":method", "POST"), (":scheme", "http"), (":authority", "a.test"), (":path", "/")];
    let value = |name| others.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
    let mut fields: Vec<_> = usual.map(|(name, usual)| (name, value(name).unwrap_or(usual))).into();
    fields.extend(others.iter().filter(|(name, _)| !name.starts_with(':')));
    fields
}

#[test]
fn what_http2_lets_pass_is_not_written_into_http1() {
    for (name, fields, content) in [
        ("H2.CL: less", vec![("content-length", "0")], Some(SMUGGLED)),
        ("H2.CL: more", vec![("content-length", "99")], Some(SMUGGLED)),
        ("H2.CL: of nothing", vec![("content-length", "5")], None),
        ("H2.CL: two", vec![("content-length", "40"), ("content-length", "0")], Some(SMUGGLED)),
        ("H2.TE", vec![("transfer-encoding", "chunked")], Some("0\r\n\r\n")),
        ("H2.TE in Connection", vec![("connection", "transfer-encoding")], None),
        ("a field in a value", vec![("x", "y\r\nTransfer-Encoding: chunked")], Some("0\r\n\r\n")),
        ("a field in a value, LF", vec![("x", "y\nTransfer-Encoding: chunked")], Some("0\r\n\r\n")),
        ("a NUL in a value", vec![("x", "y\0z")], None),
        ("a control in a value", vec![("x", "y\x0bz")], None),
        ("a field in a name", vec![("x: y\r\ntransfer-encoding", "chunked")], None),
        ("a colon in a name", vec![("transfer-encoding:", "chunked")], None),
        ("a space in a name", vec![("transfer-encoding ", "chunked")], None),
        ("a name in upper case", vec![("Transfer-Encoding", "chunked")], None),
        ("a request in the method", vec![(":method", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\nGET")], None),
        ("a tab in the method", vec![(":method", "GET\t/smuggled")], None),
        ("a request in the path", vec![(":path", "/ HTTP/1.1\r\nHost: a.test\r\n\r\nGET /smuggled")], None),
        ("a tab in the path", vec![(":path", "/\tHTTP/1.1")], None),
        ("a path that is none", vec![(":path", "smuggled")], None),
        ("a fragment", vec![(":path", "/#x")], None),
        ("a field in the authority", vec![(":authority", "a.test\r\nx: y")], None),
        ("a path in the authority", vec![(":authority", "a.test/smuggled")], None),
        ("a user in the authority", vec![(":authority", "x@a.test")], None),
        ("two hosts", vec![("host", "b.test")], None),
    ] {
        let Through { requests, .. } = through(Protocol::H2, &h2_request(&usual(&fields), content));
        assert!(requests.is_empty(), "{name}: {requests:?}");
    }
}

#[test]
fn what_is_right_in_http2_is_right_in_http1() {
    let crumbs =
        [("cookie", "a=b"), ("te", "trailers"), ("cookie", "c=d"), ("host", "a.test"), ("content-length", "3")];
    let Through { requests, .. } = through(Protocol::H2, &h2_request(&usual(&crumbs), Some("abc")));
    let [request] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!((&request.line[..], &request.content[..]), ("POST / HTTP/1.1", &b"abc"[..]));
    assert_eq!((&request.fields["cookie"][..], &request.fields["via"][..]), ("a=b; c=d", "2 loadstone"));
    assert!(!request.fields.contains_key("te"));
    // Content of unknown length goes in chunks, and none has the length 0 (RFC 9110, section 8.6).
    for (content, field) in [(Some("abc"), "transfer-encoding"), (None, "content-length")] {
        let Through { requests, .. } = through(Protocol::H2, &h2_request(&usual(&[]), content));
        let [request] = &requests[..] else { panic!("{requests:?}") };
        assert_eq!(request.content, content.unwrap_or_default().as_bytes());
        assert!(request.fields.contains_key(field), "{request:?}");
    }
}

#[test]
fn what_spdy_lets_pass_is_not_written_into_http1() {
    for protocol in [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31] {
        let (listener, address) = port();
        let (connections, _) = with_edge(&plain(protocol, address), |front, _leave| {
            for (method, path, field) in [
                ("GET\t/smuggled", "/", ("x", "y")),
                ("GET", "/\tHTTP/1.1", ("x", "y")),
                ("GET", "smuggled", ("x", "y")),
                ("GET", "/", ("x", "y\r\ntransfer-encoding: chunked")),
                ("GET", "/", ("x", "y\x0bz")),
                ("GET", "/", ("transfer-encoding:", "chunked")),
                ("GET", "/", ("content-length", "5")),
            ] {
                let mut talk = front.talk(protocol);
                let stream = talk.ask(method, path, &[field], b"");
                // Another request is answered behind it, whatever becomes of the first.
                let next = talk.ask("CONNECT", "/", &[], b"");
                while !talk.got[&next].is_complete {
                    talk.turn();
                }
                let status = talk.got[&stream].status();
                assert!(status == 400 || status == 0, "{protocol} {method:?} {path:?} {field:?}: {status}");
            }
            // The origin sends no more, so that the edge need not wait for it.
            listener.set_nonblocking(true).unwrap();
            let connections = std::iter::from_fn(|| listener.accept().ok()).map(|(behind, _)| limited(behind));
            connections.inspect(|behind| behind.shutdown(Shutdown::Write).unwrap()).collect::<Vec<_>>()
        });
        for mut behind in connections {
            behind.set_nonblocking(false).unwrap();
            let mut heard = Vec::new();
            let _end = behind.read_to_end(&mut heard);
            assert!(heard.is_empty(), "{protocol}: {}", String::from_utf8_lossy(&heard));
        }
    }
}
