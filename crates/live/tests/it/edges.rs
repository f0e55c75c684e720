//! An edge in front of origins: what it passes on and adds, how it uses connections again, and what clients hear when
//! an origin fails. The origins here are the test itself, which reads and writes as it likes.

use crate::talk::{Talk, connect};
use crate::{LIMIT, accept, dial, joined, port, read_to_close};
use loadstone_http::Protocol;
use loadstone_live::{EdgeProxy, EdgeSettings, Finished, Server, ServerSettings, Stopper};
use serde_json::{Value, json};
use socket2::SockRef;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

const EVERY: [Protocol; 5] = [Protocol::Http1, Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2];

/// Where an edge is, and how clients trust it.
pub(crate) struct Front {
    pub(crate) address: SocketAddr,
    pub(crate) root: Option<Vec<u8>>,
}

impl Front {
    pub(crate) fn talk(&self, protocol: Protocol) -> Talk {
        Talk::new(connect(self.address, self.root.as_deref(), &[protocol.name()]).unwrap(), protocol)
    }

    /// Sends this over TCP.
    pub(crate) fn send(&self, text: &str) -> TcpStream {
        let mut client = dial(self.address);
        client.write_all(text.as_bytes()).unwrap();
        client
    }
}

/// Runs an edge while `test` does what it does, and lets it leave then.
pub(crate) fn with_edge<T>(setting: &Value, test: impl FnOnce(&Front, Stopper) -> T) -> (T, Finished) {
    let edge = EdgeProxy::open(EdgeSettings::from_json(setting.to_string().as_bytes()).unwrap()).unwrap();
    let front = Front { address: edge.address(), root: edge.root().map(<[u8]>::to_vec) };
    let ((leaver, leave), (_ender, end)) = (Stopper::new(), Stopper::new());
    thread::scope(|scope| {
        let run = scope.spawn(move || edge.run(&leave, &end).unwrap());
        let result = test(&front, leaver);
        (result, joined(run))
    })
}

/// The settings of an edge without TLS in front of an origin.
pub(crate) fn plain(protocol: Protocol, origin: SocketAddr) -> Value {
    let origin = format!("http://{origin}");
    json!({"front": {"listen": "127.0.0.1:0", "transport": "plaintext", "protocol": protocol.name()},
           "origins": {"a.test": origin, "localhost": origin}})
}

/// An edge that speaks HTTP/1.1 without TLS, and an origin that the test is.
fn with_plain<T>(test: impl FnOnce(&Front, &TcpListener) -> T) -> T {
    let (origin, address) = port();
    with_edge(&plain(Protocol::Http1, address), |front, _leave| test(front, &origin)).0
}

/// Reads up to the end of a head, and returns it.
pub(crate) fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&head)));
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// All that comes until the end, and how it ends.
fn read_all(stream: &mut TcpStream) -> (String, Option<ErrorKind>) {
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    let end = loop {
        match stream.read(&mut buffer) {
            Ok(0) => break None,
            Ok(count) => all.extend_from_slice(&buffer[..count]),
            Err(error) => break Some(error.kind()),
        }
    };
    (String::from_utf8(all).unwrap(), end)
}

/// A connection of the edge that has sent this request so far.
fn heard(origin: &TcpListener, beginning: &str) -> TcpStream {
    let mut behind = accept(origin);
    let head = read_head(&mut behind);
    assert!(head.starts_with(beginning), "{head}");
    behind
}

#[test]
fn every_protocol_in_front_gets_what_the_origin_has_over_tls_and_without() {
    let setting = json!({"front": {"listen": "127.0.0.1:0", "transport": "plaintext"}, "patterns": true});
    let server = Server::open(ServerSettings::from_json(setting.to_string().as_bytes()).unwrap(), None).unwrap();
    let origin = server.address();
    let ((leaver, leave), (_ender, end)) = (Stopper::new(), Stopper::new());
    thread::scope(|scope| {
        let run = scope.spawn(move || server.run(&leave, &end).unwrap());
        let secure = json!({"front": {"listen": "127.0.0.1:0"}, "origins": {"localhost": format!("http://{origin}")}});
        let every = EVERY.into_iter().map(|protocol| (protocol, plain(protocol, origin)));
        for (protocol, setting) in every.chain(EVERY.map(|protocol| (protocol, secure.clone()))) {
            let ((), finished) = with_edge(&setting, |front, leave| {
                look_around(&mut front.talk(protocol));
                leave.stop();
            });
            assert_eq!(finished.still_open, 0, "{protocol}");
        }
        leaver.stop();
        joined(run);
    });
}

fn look_around(talk: &mut Talk) {
    let bytes = talk.get("/bytes/300000");
    let is_pattern = |(i, byte): (usize, &u8)| *byte == ((131 * i + 7 * (i / 256) + 13) % 256) as u8;
    assert!(bytes.content.len() == 300_000 && bytes.content.iter().enumerate().all(is_pattern));
    assert_eq!((bytes.status(), bytes.field("via")), (200, "1.1 loadstone".into()));
    let head = talk.ask("HEAD", "/bytes/5", &[], b"");
    talk.finish();
    assert_eq!((talk.got[&head].content.len(), talk.got[&head].field("content-length")), (0, "5".into()));
    let sent: Vec<u8> = (0..200_000_u32).map(|i| (i % 251) as u8).collect();
    let echo = talk.ask("POST", "/echo", &[("content-type", "text/x-story")], &sent);
    let got = talk.finish();
    assert_eq!((got[&echo].status(), got[&echo].field("content-type")), (200, "text/x-story".into()));
    assert!(got[&echo].content == sent);
}

#[test]
fn a_request_is_written_anew_with_via_and_forwarded_and_without_what_was_for_the_edge() {
    with_plain(|front, origin| {
        let mut client = front.send(
            "GET http://a.test:81/x?y HTTP/1.1\r\nHost: b.test\r\nConnection: x-own, keep-alive\r\nX-Own: 1\r\n\
             TE: trailers\r\nProxy-Authorization: Basic eA==\r\nForwarded: for=6.6.6.6\r\nX-Forwarded-For: 6.6.6.6\r\n\
             Range: bytes=0-1\r\nAccept:  */*  \r\n\r\n",
        );
        let mut behind = accept(origin);
        let head = read_head(&mut behind);
        assert_eq!(
            head,
            "GET /x?y HTTP/1.1\r\nhost: a.test:81\r\nRange: bytes=0-1\r\nAccept: */*\r\nvia: 1.1 loadstone\r\n\
             forwarded: for=127.0.0.1;host=\"a.test:81\";proto=http\r\n\r\n"
        );
        behind
            .write_all(
                b"HTTP/1.1 206 Partial\r\nContent-Range: bytes 0-1/9\r\nConnection: x-hop\r\nX-Hop: 1\r\n\
                 Keep-Alive: timeout=5\r\nContent-Length: 2\r\n\r\nab",
            )
            .unwrap();
        let head = read_head(&mut client);
        assert_eq!(
            head,
            "HTTP/1.1 206 \r\nContent-Range: bytes 0-1/9\r\nContent-Length: 2\r\nvia: 1.1 loadstone\r\n\r\n"
        );
    });
}

#[test]
fn connections_behind_are_used_again_by_whoever_comes_next() {
    with_plain(|front, origin| {
        let mut first = front.send("GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\n");
        let mut behind = heard(origin, "GET /1 ");
        behind.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        read_head(&mut first);
        first.read_exact(&mut [0; 2]).unwrap();
        for path in ["/2", "/3"] {
            let mut other = front.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
            assert!(read_head(&mut behind).starts_with(&format!("GET {path} ")), "on the same connection");
            behind.write_all(b"HTTP/1.1 204 No\r\n\r\n").unwrap();
            assert!(read_head(&mut other).starts_with("HTTP/1.1 204 "));
        }
    });
}

#[test]
fn a_request_is_repeated_if_it_may_be_and_its_kept_connection_was_closed_before_any_byte_of_a_response() {
    // The method, the content, what the origin says before it closes, whether it is asked again, and what the client hears.
    for (method, content, said, is_repeated, status) in [
        ("GET", "", &b""[..], true, "200"),
        ("PUT", "four", b"", true, "200"),
        ("POST", "", b"", false, "502"),
        ("POST", "four", b"", false, "502"),
        ("GET", "", b"HTTP/1.1 2", false, "502"),
        ("GET", "", b"HTTP/1.1 100 Continue\r\n\r\n", false, "502"),
    ] {
        with_plain(|front, origin| {
            let mut client = front.send("GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\n");
            let mut behind = heard(origin, "GET /1 ");
            behind.write_all(b"HTTP/1.1 204 No\r\n\r\n").unwrap();
            read_head(&mut client);
            let length = content.len();
            let request = format!("{method} /2 HTTP/1.1\r\nHost: a.test\r\nContent-Length: {length}\r\n\r\n{content}");
            client.write_all(request.as_bytes()).unwrap();
            read_head(&mut behind);
            behind.read_exact(&mut vec![0; length]).unwrap();
            behind.write_all(said).unwrap();
            drop(behind);
            if is_repeated {
                let mut again = heard(origin, &format!("{method} /2 "));
                let mut came = vec![0; length];
                again.read_exact(&mut came).unwrap();
                assert_eq!(came, content.as_bytes());
                again.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
            }
            let mut head = read_head(&mut client);
            if head.starts_with("HTTP/1.1 100") {
                head = read_head(&mut client);
            }
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{method} {said:?}: {head}");
        });
    }
}

#[test]
fn a_first_connection_that_is_closed_is_a_bad_gateway_and_nothing_is_repeated() {
    with_plain(|front, origin| {
        let mut client = front.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
        drop(heard(origin, "GET / "));
        assert!(read_head(&mut client).starts_with("HTTP/1.1 502 "));
        origin.set_nonblocking(true).unwrap();
        assert_eq!(origin.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}

#[test]
fn interim_responses_and_trailers_are_passed_on_and_a_client_that_expects_100_hears_it() {
    with_plain(|front, origin| {
        let mut client =
            front.send("POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n");
        let mut behind = accept(origin);
        let head = read_head(&mut behind);
        assert!(head.contains("\r\nExpect: 100-continue\r\n") && head.contains("\r\ntransfer-encoding: chunked\r\n"));
        behind.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
        assert!(read_head(&mut client).starts_with("HTTP/1.1 100 "));
        client.write_all(b"3;x=y\r\nabc\r\n0\r\nX-Sum: 1\r\nContent-Length: 9\r\n\r\n").unwrap();
        let mut content = [0; 23];
        behind.read_exact(&mut content).unwrap();
        assert_eq!(String::from_utf8_lossy(&content), "3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n");
        behind.write_all(b"HTTP/1.1 103 Early\r\nLink: </a>; rel=preload\r\nConnection: x\r\n\r\n").unwrap();
        let early = read_head(&mut client);
        assert!(early.contains("Link: </a>; rel=preload\r\n") && !early.contains("Connection"), "{early}");
        behind
            .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Late: 2\r\n\r\n")
            .unwrap();
        read_head(&mut client);
        let mut content = [0; 23];
        client.read_exact(&mut content).unwrap();
        assert_eq!(String::from_utf8_lossy(&content), "2\r\nok\r\n0\r\nX-Late: 2\r\n\r\n");
    });
}

#[test]
fn what_is_not_for_an_origin_is_answered_here_and_says_why() {
    with_plain(|front, origin| {
        for (request, status, word) in [
            ("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n", 421, "no host of this name"),
            ("GET http://10.0.0.1/ HTTP/1.1\r\nHost: a.test\r\n\r\n", 421, "no host of this name"),
            ("GET / HTTP/1.0\r\n\r\n", 421, "no host of this name"),
            ("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", 405, "no tunnels"),
            ("TRACE / HTTP/1.1\r\nHost: a.test\r\n\r\n", 405, "allow: GET"),
            (
                "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
                501,
                "leave out Upgrade",
            ),
        ] {
            let (response, end) =
                read_all(&mut front.send(&request.replacen("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)));
            assert!(response.starts_with(&format!("HTTP/1.1 {status} ")) && response.contains(word), "{response}");
            assert_eq!(end, None);
        }
        let head = read_head(&mut front.send("HEAD / HTTP/1.1\r\nHost: b.test\r\n\r\n"));
        assert!(head.starts_with("HTTP/1.1 421 "), "and without content where there may be none");
        // A client that only offers h2c is answered by HTTP/1.1 (RFC 9110, section 7.8).
        let mut client = front.send(
            "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n",
        );
        let mut behind = accept(origin);
        let head = read_head(&mut behind).to_ascii_lowercase();
        assert!(!head.contains("upgrade") && !head.contains("settings"), "{head}");
        behind.write_all(b"HTTP/1.1 204 No\r\n\r\n").unwrap();
        assert!(read_head(&mut client).starts_with("HTTP/1.1 204 "));
    });
}

#[test]
fn an_origin_that_is_not_there_is_a_bad_gateway_and_one_that_is_silent_a_timeout() {
    let (origin, address) = port();
    let (gone, nowhere) = port();
    drop(gone);
    let mut setting = plain(Protocol::H2, address);
    setting["origins"]["localhost"] = json!(format!("http://{nowhere}"));
    with_edge(&setting, |front, _leave| {
        let mut talk = front.talk(Protocol::H2);
        let got = talk.get("/");
        assert_eq!(got.status(), 502);
        assert!(String::from_utf8_lossy(&got.content).contains("cannot be reached"));
    });
    let mut setting = plain(Protocol::Http1, address);
    setting["behind"] = json!({"timeout": 1});
    with_edge(&setting, |front, _leave| {
        let mut client = front.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
        let mut behind = heard(&origin, "GET / ");
        assert!(read_head(&mut client).starts_with("HTTP/1.1 504 "));
        read_to_close(&mut behind);
    });
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a client that waits is what is tested")]
fn a_client_that_takes_its_time_is_not_taken_for_an_origin_that_is_silent() {
    let (origin, address) = port();
    let mut setting = plain(Protocol::Http1, address);
    setting["behind"] = json!({"timeout": 1});
    with_edge(&setting, |front, _leave| {
        let mut client = front.send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n\r\nab");
        let mut behind = heard(&origin, "POST / ");
        thread::sleep(Duration::from_millis(2_500));
        client.write_all(b"cd").unwrap();
        let mut content = [0; 4];
        behind.read_exact(&mut content).unwrap();
        behind.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n").unwrap();
        assert_eq!((&content, &read_head(&mut client)[..12]), (b"abcd", "HTTP/1.1 200"));
    });
}

#[test]
fn an_origin_may_answer_before_the_request_is_complete_and_the_rest_of_it_is_dropped() {
    let (origin, address) = port();
    for protocol in EVERY {
        with_edge(&plain(protocol, address), |front, _leave| {
            let mut talk = front.talk(protocol);
            let stream = talk.ask("POST", "/large", &[], &[b'x'; 3_000_000]);
            talk.send_slowly(100_000);
            let mut behind = heard(&origin, "POST /large ");
            behind.write_all(b"HTTP/1.1 413 Large\r\nContent-Length: 3\r\n\r\nbig").unwrap();
            talk.finish();
            let got = &talk.got[&stream];
            assert_eq!((got.status(), &got.content[..]), (413, &b"big"[..]), "{protocol}");
            // It ended in the middle of a request: what comes next goes on another connection.
            let mut other = front.talk(protocol);
            let stream = other.ask("GET", "/next", &[], b"");
            other.send();
            let mut behind = heard(&origin, "GET /next ");
            behind.write_all(b"HTTP/1.1 204 No\r\n\r\n").unwrap();
            other.finish();
            assert_eq!(other.got[&stream].status(), 204, "{protocol}");
        });
    }
}

#[test]
fn requests_that_are_pipelined_go_side_by_side_only_if_all_are_safe_rfc9112_9_3_2() {
    with_plain(|front, origin| {
        let request = |method: &str, path: &str| format!("{method} {path} HTTP/1.1\r\nHost: a.test\r\n\r\n");
        let four = [request("GET", "/1"), request("HEAD", "/2"), request("DELETE", "/3"), request("GET", "/4")];
        let mut client = front.send(&four.concat());
        let (mut first, mut second) = (heard(origin, "GET /1 "), heard(origin, "HEAD /2 "));
        second.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n").unwrap();
        first.write_all(b"HTTP/1.1 200 OK\r\nX-Number: 1\r\nContent-Length: 0\r\n\r\n").unwrap();
        assert!(read_head(&mut client).contains("X-Number: 1"), "in their order");
        assert!(read_head(&mut client).contains("Content-Length: 7"));
        // By now both connections are free, and only one is used.
        for path in ["DELETE /3 ", "GET /4 "] {
            assert!(read_head(&mut first).starts_with(path));
            second.set_nonblocking(true).unwrap();
            assert_eq!(second.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock, "{path}");
            first.write_all(b"HTTP/1.1 204 No\r\n\r\n").unwrap();
            assert!(read_head(&mut client).starts_with("HTTP/1.1 204 "));
        }
    });
}

#[test]
fn a_response_that_breaks_off_behind_breaks_off_in_front_whatever_its_length_was_to_be() {
    for framing in ["Content-Length: 9", "Transfer-Encoding: chunked", "Connection: close"] {
        // Without a length, the end of the connection is the end of the content: only a reset breaks it off.
        let is_reset = framing == "Connection: close";
        let breaks_off = |front: &Front, origin: &TcpListener, begin: &mut dyn FnMut(&Front)| {
            begin(front);
            let mut behind = heard(origin, "GET / ");
            let piece = if framing.contains("chunked") { "3\r\nabc\r\n" } else { "abc" };
            behind.write_all(format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n{piece}").as_bytes()).unwrap();
            behind
        };
        let end = |behind: TcpStream| {
            if is_reset {
                SockRef::from(&behind).set_linger(Some(Duration::ZERO)).unwrap();
            }
            drop(behind);
        };
        with_plain(|front, origin| {
            for version in ["1.1", "1.0"] {
                let mut client = None;
                let mut begin =
                    |front: &Front| client = Some(front.send(&format!("GET / HTTP/{version}\r\nHost: a.test\r\n\r\n")));
                let behind = breaks_off(front, origin, &mut begin);
                let mut client = client.unwrap();
                read_head(&mut client);
                client.read_exact(&mut [0; 3]).unwrap();
                end(behind);
                let (rest, how) = read_all(&mut client);
                let is_ended = rest.ends_with("0\r\n\r\n") || (version == "1.0" && how.is_none());
                assert!(!is_ended, "{framing} {version}: {rest:?} {how:?}");
            }
        });
        let (origin, address) = port();
        with_edge(&plain(Protocol::H2, address), |front, _leave| {
            let mut talk = front.talk(Protocol::H2);
            let stream = talk.ask("GET", "/", &[], b"");
            let behind = breaks_off(front, &origin, &mut |_| talk.send());
            while talk.got[&stream].content.len() < 3 {
                talk.turn();
            }
            end(behind);
            // The answer to another request comes after the reset.
            let other = talk.ask("HEAD", "/none", &[("upgrade", "x")], b"");
            talk.send();
            let mut behind = accept(&origin);
            read_head(&mut behind);
            behind.write_all(b"HTTP/1.1 204 No\r\n\r\n").unwrap();
            while !talk.got[&other].is_complete {
                talk.turn();
            }
            assert!(!talk.got[&stream].is_complete, "{framing}");
        });
    }
}

#[test]
fn an_origin_has_so_many_connections_and_no_more_and_what_cannot_wait_is_refused() {
    let (origin, address) = port();
    let mut setting = plain(Protocol::H2, address);
    setting["behind"] = json!({"connections": 1, "waiting": 1});
    with_edge(&setting, |front, _leave| {
        let mut talk = front.talk(Protocol::H2);
        let streams = ["/1", "/2", "/3"].map(|path| talk.ask("GET", path, &[], b""));
        while !talk.got[&streams[2]].is_complete {
            talk.turn();
        }
        let refused = &talk.got[&streams[2]];
        assert_eq!((refused.status(), refused.field("retry-after")), (503, "1".into()));
        let mut behind = accept(&origin);
        for path in ["/1", "/2"] {
            assert!(read_head(&mut behind).starts_with(&format!("GET {path} ")), "in their order");
            behind.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
        assert!(talk.finish().values().filter(|got| got.status() == 200).count() == 2);
    });
}

#[test]
fn when_it_leaves_what_is_under_way_comes_to_its_end_and_nothing_new_begins() {
    let (origin, address) = port();
    let log = std::env::temp_dir().join(format!("loadstone-edge-{}.log", std::process::id()));
    let mut setting = plain(Protocol::H2, address);
    setting["front"]["access_log"] = json!(log);
    let ((), finished) = with_edge(&setting, |front, leave| {
        let mut talk = front.talk(Protocol::H2);
        let stream = talk.ask("GET", "/late", &[], b"");
        talk.send();
        let mut behind = heard(&origin, "GET /late ");
        leave.stop();
        // The edge says that it leaves before it is asked for more.
        while talk.is_open() {
            talk.turn();
        }
        assert!(TcpStream::connect_timeout(&front.address, LIMIT).is_err());
        behind.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate").unwrap();
        talk.finish();
        assert_eq!(talk.got[&stream].content, b"late");
        read_to_close(&mut behind);
    });
    assert_eq!(finished.still_open, 0);
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let exchange = lines.iter().find(|line| line.get("path").is_some()).unwrap();
    let shown = ["protocol", "method", "host", "path", "status", "bytes", "end"].map(|name| exchange[name].clone());
    assert_eq!(json!(shown), json!(["h2", "GET", "localhost", "/late", 200, 4, "complete"]));
    assert!(lines.iter().any(|line| line["origin"] == json!(address.to_string())), "{text}");
}

#[test]
fn settings_that_cannot_be_used_are_refused_with_a_remedy() {
    let front = json!({"listen": "127.0.0.1:0", "transport": "plaintext"});
    for (setting, remedy) in [
        (json!({"front": front, "origins": {}}), "a.test=http://127.0.0.1:8080"),
        (json!({"front": front, "origins": {"a.test": "127.0.0.1:80"}}), "write http:// or https://"),
        (json!({"front": front, "origins": {"a.test": "http://127.0.0.1/path"}}), "but no path"),
        (json!({"front": front, "origins": {"a/b": "http://127.0.0.1"}}), "'a/b' is no name of a host"),
        (
            json!({"front": front, "origins": {"a.test": "http://none.invalid"}}),
            "no address is known for 'none.invalid'",
        ),
        (json!({"front": front, "origins": {"a.test": "http://127.0.0.1"}, "behind": {"timeout": 0}}), "1 to 86400"),
    ] {
        let opened = EdgeSettings::from_json(setting.to_string().as_bytes()).and_then(EdgeProxy::open);
        let error = opened.err().unwrap().to_string();
        assert!(error.contains(remedy), "{error}");
    }
}
