//! A server of one's own and its clients: every protocol, with TLS and without.

use crate::talk::{Talk, connect, tls};
use crate::{dial, joined};
use loadstone_http::Protocol;
use loadstone_live::{Finished, Server, ServerError, ServerSettings, Stopper};
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;

const PROTOCOLS: [Protocol; 5] = [Protocol::Http1, Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2];

/// A directory of its own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("loadstone-serving-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("index.html"), "<p>index</p>").unwrap();
        fs::write(path.join("a.css"), "p {}").unwrap();
        Folder(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// What of a setting is about the front.
const FRONT: [&str; 9] =
    ["listen", "transport", "identity", "protocol", "multiplexing", "notsent_lowat", "access_log", "idle", "grace"];

/// A setting whose fields are in their places.
fn placed(mut setting: Value) -> Value {
    let mut front = json!({});
    for name in FRONT {
        if let Some(value) = setting.as_object_mut().unwrap().remove(name) {
            front[name] = value;
        }
    }
    setting["front"] = front;
    setting
}

fn open(mut setting: Value) -> Result<Server, ServerError> {
    setting["listen"] = json!("127.0.0.1:0");
    let setting = placed(setting);
    Server::open(ServerSettings::from_json(setting.to_string().as_bytes())?, None)
}

/// How clients get to a server.
struct Way {
    address: SocketAddr,
    root: Option<Vec<u8>>,
}

impl Way {
    fn talk(&self, protocol: Protocol) -> Talk {
        let stream = connect(self.address, self.root.as_deref(), &[protocol.name()]).unwrap();
        Talk::new(stream, protocol)
    }
}

/// Serves while `client` does what it does, and leaves then.
fn with_server<T>(setting: Value, client: impl FnOnce(&Way, Stopper) -> T) -> (T, Finished) {
    let server = open(setting).unwrap();
    let way = Way { address: server.address(), root: server.root().map(<[u8]>::to_vec) };
    let ((leaver, leave), (_ender, end)) = (Stopper::new(), Stopper::new());
    thread::scope(|scope| {
        let run = scope.spawn(move || server.run(&leave, &end).unwrap());
        let result = client(&way, leaver);
        (result, joined(run))
    })
}

fn plaintext(protocol: Protocol, mut setting: Value) -> Value {
    setting["transport"] = json!("plaintext");
    setting["protocol"] = json!(protocol.name());
    setting
}

fn is_pattern(content: &[u8]) -> bool {
    content.iter().enumerate().all(|(i, byte)| *byte == ((131 * i + 7 * (i / 256) + 13) % 256) as u8)
}

/// What a client of any protocol finds at a server of files and patterns.
fn look_around(talk: &mut Talk) {
    let index = talk.get("/");
    assert_eq!((index.status(), &index.content[..]), (200, &b"<p>index</p>"[..]));
    assert_eq!(index.field("content-type"), "text/html; charset=utf-8");
    assert_eq!(talk.get("/none").status(), 404);
    assert_eq!(talk.get("/../a.css").status(), 404);
    let bytes = talk.get("/bytes/300000");
    assert!(bytes.content.len() == 300_000 && is_pattern(&bytes.content));
    let head = talk.ask("HEAD", "/a.css", &[], b"");
    let sent: Vec<u8> = (0..200_000_u32).map(|i| (i % 251) as u8).collect();
    talk.finish();
    let echo = talk.ask("POST", "/echo", &[("content-type", "text/x-story")], &sent);
    let got = talk.finish();
    assert_eq!(
        (got[&head].status(), got[&head].content.len(), got[&head].field("content-length")),
        (200, 0, "4".into())
    );
    assert_eq!((got[&echo].status(), got[&echo].field("content-type")), (200, "text/x-story".into()));
    assert!(got[&echo].content == sent);
}

#[test]
fn every_protocol_is_spoken_on_one_port_by_alpn() {
    let folder = Folder::new("alpn");
    let setting = json!({"directory": folder.path(), "patterns": true});
    let ((), finished) = with_server(setting, |way, leave| {
        for protocol in PROTOCOLS {
            look_around(&mut way.talk(protocol));
        }
        leave.stop();
    });
    assert_eq!(finished.still_open, 0);
}

#[test]
fn every_protocol_is_spoken_without_tls_by_prior_knowledge() {
    let folder = Folder::new("plaintext");
    for protocol in PROTOCOLS {
        let setting = plaintext(protocol, json!({"directory": folder.path(), "patterns": true}));
        with_server(setting, |way, leave| {
            assert_eq!(way.root, None);
            look_around(&mut way.talk(protocol));
            leave.stop();
        });
    }
}

#[test]
fn a_client_that_offers_nothing_known_is_turned_away_and_one_that_offers_nothing_speaks_http1_rfc7301_3_2() {
    with_server(json!({"patterns": true}), |way, leave| {
        let root = way.root.as_deref().unwrap();
        let error = connect(way.address, Some(root), &["h3", "spdy/1"]).err().unwrap();
        assert!(error.to_string().contains("NoApplicationProtocol"), "{error}");
        assert_eq!(
            Talk::new(connect(way.address, Some(root), &[]).unwrap(), Protocol::Http1).get("/bytes/5").status(),
            200
        );
        // The server has an opinion of its own of what is best.
        let mut stream = rustls::StreamOwned::new(tls(root, &["http/1.1", "spdy/2", "spdy/3.1"]), dial(way.address));
        stream.flush().unwrap();
        stream.conn.complete_io(&mut stream.sock).unwrap();
        assert_eq!(stream.conn.alpn_protocol(), Some(&b"spdy/3.1"[..]));
        leave.stop();
    });
    with_server(json!({"patterns": true, "protocol": "spdy/3"}), |way, leave| {
        assert!(connect(way.address, way.root.as_deref(), &["h2", "http/1.1"]).is_err());
        assert_eq!(way.talk(Protocol::Spdy3).get("/bytes/5").status(), 200);
        leave.stop();
    });
}

#[test]
fn pushes_come_whole_where_the_protocol_has_them() {
    for protocol in PROTOCOLS {
        with_server(json!({"patterns": true}), |way, leave| {
            let mut talk = way.talk(protocol);
            let answer = talk.get("/push/7");
            assert!(answer.content.len() == 500 && is_pattern(&answer.content), "{protocol}");
            let mut pushed: Vec<_> = talk.got.values().filter(|got| got.path != "/push/7").collect();
            pushed.sort_by_key(|got| got.content.len());
            let count = if protocol == Protocol::Http1 { 0 } else { 7 };
            assert_eq!(pushed.len(), count, "{protocol}");
            for (at, got) in pushed.iter().enumerate() {
                assert_eq!((got.status(), got.path.clone()), (200, format!("/pushed/{at}")), "{protocol}");
                assert!(got.content.len() == 1000 + at && is_pattern(&got.content), "{protocol}");
            }
            leave.stop();
        });
    }
}

#[test]
fn what_a_manifest_lists_is_pushed_or_told_of() {
    let folder = Folder::new("manifest");
    let setting = json!({"directory": folder.path(), "manifest": {"/": [{"path": "/a.css", "urgency": 0}]}});
    let mut telling = setting.clone();
    telling["telling"] = json!("hint");
    for protocol in PROTOCOLS {
        with_server(setting.clone(), |way, leave| {
            let mut talk = way.talk(protocol);
            talk.get("/");
            let pushed: Vec<_> = talk.got.values().filter(|got| got.path == "/a.css").collect();
            assert_eq!(pushed.len(), usize::from(protocol.is_multiplexed()), "{protocol}");
            assert!(pushed.iter().all(|got| got.content == b"p {}"), "{protocol}");
            leave.stop();
        });
        with_server(telling.clone(), |way, leave| {
            let mut talk = way.talk(protocol);
            let links: Vec<_> =
                talk.get("/").interim.iter().map(|head| head.fields.get(b"link").unwrap().to_vec()).collect();
            let is_spdy = protocol.is_spdy();
            let expected = [b"</a.css>; rel=preload; as=style".to_vec()];
            assert_eq!(links, if is_spdy { &[][..] } else { &expected[..] }, "{protocol}");
            let wanted = talk.ask("GET", "/", &[("x-subresource", "enabled")], b"");
            assert_eq!(talk.finish()[&wanted].field("x-subresource"), "text/css; /a.css", "{protocol}");
            assert_eq!(talk.got.len(), 2, "{protocol}: nothing is pushed");
            leave.stop();
        });
    }
}

#[test]
fn a_recording_is_served_as_it_was_recorded() {
    let page = json!({"objects": [
        {"url": "https://www.a.test/", "bytes": 70_000, "response_fields": [["content-type", "text/html"], ["x-recorded", "1"]]},
        {"url": "https://localhost:444/only-here", "bytes": 10},
    ]});
    for protocol in PROTOCOLS {
        with_server(json!({"page": page}), |way, leave| {
            let mut talk = way.talk(protocol);
            // The name under which it is asked is one of the recording's.
            assert_eq!(talk.get("/").status(), 404);
            assert_eq!(talk.get("/only-here").content.len(), 10);
            leave.stop();
        });
        let mut page = page.clone();
        page["objects"].as_array_mut().unwrap().pop();
        with_server(json!({"page": page}), |way, leave| {
            let mut talk = way.talk(protocol);
            let root = talk.get("/");
            assert!(root.content.len() == 70_000 && is_pattern(&root.content), "{protocol}");
            assert_eq!((root.field("x-recorded"), root.field("content-length")), ("1".into(), "70000".into()));
            leave.stop();
        });
    }
}

#[test]
fn a_server_that_leaves_finishes_what_is_under_way_and_takes_nothing_new() {
    for protocol in PROTOCOLS {
        let (content, finished) = with_server(json!({"patterns": true}), |way, leave| {
            let mut talk = way.talk(protocol);
            let id = talk.ask("GET", "/bytes/30000000", &[], b"");
            while talk.got[&id].content.is_empty() {
                talk.turn();
            }
            leave.stop();
            talk.finish();
            // The end comes without having been asked for.
            while !talk.is_over {
                talk.turn();
            }
            talk.got.remove(&id).unwrap().content
        });
        assert_eq!((content.len(), finished.still_open), (30_000_000, 0), "{protocol}");
    }
}

#[test]
fn a_second_stop_ends_a_server_at_once() {
    let server = open(json!({"patterns": true, "transport": "plaintext", "grace": 86_400})).unwrap();
    let address = server.address();
    let ((leaver, leave), (ender, end)) = (Stopper::new(), Stopper::new());
    thread::scope(|scope| {
        let run = scope.spawn(move || server.run(&leave, &end).unwrap());
        let mut stream = dial(address);
        stream.write_all(b"GET /bytes/1000000000 HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
        stream.read_exact(&mut [0; 10]).unwrap();
        leaver.stop();
        ender.stop();
        assert_eq!(joined(run).still_open, 1);
    });
}

#[test]
fn a_file_that_becomes_shorter_is_cut_and_not_padded() {
    let folder = Folder::new("shrinks");
    let file = fs::File::create(folder.0.join("large")).unwrap();
    file.set_len(200_000_000).unwrap();
    for protocol in PROTOCOLS {
        file.set_len(200_000_000).unwrap();
        with_server(json!({"directory": folder.path()}), |way, leave| {
            let mut talk = way.talk(protocol);
            let id = talk.ask("GET", "/large", &[], b"");
            while talk.got[&id].content.is_empty() {
                talk.turn();
            }
            file.set_len(1000).unwrap();
            talk.finish();
            assert!(!talk.got[&id].is_complete, "{protocol}");
            assert!(talk.is_over && talk.got[&id].content.len() < 200_000_000, "{protocol}");
            // The server goes on.
            assert_eq!(way.talk(protocol).get("/a.css").content, b"p {}", "{protocol}");
            leave.stop();
        });
    }
}

#[test]
fn the_access_log_has_every_request_and_connection() {
    let folder = Folder::new("log");
    let path = folder.0.join("access.log");
    // What a terminal would obey: CSI, DEL, and a turn of the direction of writing.
    let obeyed = "/\u{9b}2J\u{7f}\u{202e}";
    let setting = json!({"patterns": true, "access_log": path, "manifest": {"/bytes/3": ["/bytes/4"]}});
    with_server(setting, |way, leave| {
        way.talk(Protocol::H2).get("/bytes/3");
        way.talk(Protocol::Spdy2).get("/bytes/\u{e9}\"");
        way.talk(Protocol::H2).get(obeyed);
        let mut cut = way.talk(Protocol::Http1);
        let id = cut.ask("GET", "/bytes/1000000000", &[], b"");
        while cut.got[&id].content.is_empty() {
            cut.turn();
        }
        drop(cut);
        leave.stop();
    });
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (connections, exchanges): (Vec<&Value>, Vec<&Value>) =
        lines.iter().partition(|line| line.get("peer").is_some());
    let begun = connections.iter().filter(|line| line.get("failure").is_none());
    assert_eq!(begun.count(), 4, "{text}");
    assert!(text.contains(r"/\u009b2J\u007f\u202e") && !text.contains(['\u{9b}', '\u{7f}', '\u{202e}']), "{text}");
    assert!(connections.iter().all(|line| line["peer"].as_str().unwrap().starts_with("127.0.0.1:")), "{text}");
    let said = |line: &Value| {
        let [protocol, path, status, bytes, end] =
            ["protocol", "path", "status", "bytes", "end"].map(|name| &line[name]);
        json!([protocol, path, status, bytes, end])
    };
    let mut said: Vec<Value> = exchanges.iter().map(|line| said(line)).collect();
    said.sort_by_key(Value::to_string);
    let expected = [
        json!(["h2", "/bytes/3", 200, 3, "complete"]),
        json!(["h2", "/bytes/4", 200, 4, "complete"]),
        json!(["h2", obeyed, 404, 0, "complete"]),
        json!(["http/1.1", "/bytes/1000000000", 200, null, "cut short"]),
        json!(["spdy/2", "/bytes/\u{e9}\"", 404, 0, "complete"]),
    ];
    assert_eq!(said, expected, "{text}");
    for line in exchanges {
        assert!(line["time"].as_str().unwrap().ends_with('Z') && line["ms"].as_f64().unwrap() >= 0.0, "{text}");
        assert_eq!((&line["method"], &line["host"]), (&json!("GET"), &json!("localhost")), "{text}");
    }
}

#[test]
fn what_is_wrong_with_a_request_is_said_to_the_client_and_to_the_log_rfc9112_3() {
    let folder = Folder::new("malformed");
    let path = folder.0.join("access.log");
    let long = format!("GET /long HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "y".repeat(70_000));
    let requests = [
        ("GET /none HTTP/1.1\r\n\r\n", 400),
        ("GET /two HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400),
        ("GET /space HTTP/1.1\r\nhost : a\r\n\r\n", 400),
        ("GET /length HTTP/1.1\r\nhost: a\r\ncontent-length: +3\r\n\r\n", 400),
        ("GET /both HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n", 400),
        ("GET /coding HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n", 501),
        (&long, 431),
        ("GET /version HTTP/2.0\r\nhost: a\r\n\r\n", 505),
        ("GET http://other/bytes/5 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", 200),
    ];
    let setting = plaintext(Protocol::Http1, json!({"patterns": true, "access_log": path}));
    with_server(setting, |way, leave| {
        for (text, status) in requests {
            let mut stream = dial(way.address);
            stream.write_all(text.as_bytes()).unwrap();
            let mut said = Vec::new();
            stream.read_to_end(&mut said).unwrap();
            let said = String::from_utf8_lossy(&said);
            assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{text:.40}: {said}");
            assert!(said.contains("connection: close\r\n"), "{text:.40}: {said}");
        }
        leave.stop();
    });
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let logged = lines.iter().filter(|line| line.get("path").is_some());
    let logged: Vec<Value> = logged.map(|line| json!([line["path"], line["host"], line["status"]])).collect();
    let malformed = ["/none", "/two", "/space", "/length", "/both", "/coding", "/long", "/version"];
    let mut expected: Vec<Value> =
        malformed.iter().zip(requests).map(|(path, (_, status))| json!([path, "", status])).collect();
    expected.push(json!(["/bytes/5", "other", 200]));
    assert_eq!(logged, expected, "{text}");
}

#[test]
fn a_client_that_holds_its_content_back_is_told_to_go_on_rfc9110_10_1_1() {
    with_server(plaintext(Protocol::Http1, json!({"patterns": true})), |way, leave| {
        let mut stream = dial(way.address);
        write!(stream, "POST /echo HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n").unwrap();
        let mut interim = [0; 17];
        stream.read_exact(&mut interim).unwrap();
        assert_eq!(&interim, b"HTTP/1.1 100 \r\n\r\n");
        stream.write_all(b"body").unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
        leave.stop();
    });
}

#[test]
fn an_echo_of_more_than_is_kept_is_refused_rfc9110_15_5_14() {
    with_server(plaintext(Protocol::Http1, json!({"patterns": true})), |way, leave| {
        let mut stream = dial(way.address);
        let length = (16 << 20) + 1;
        write!(stream, "POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n").unwrap();
        io::copy(&mut io::repeat(b'x').take(length), &mut stream).unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 413");
        leave.stop();
    });
}

#[test]
fn a_setting_that_cannot_be_is_refused_with_the_remedy() {
    let folder = Folder::new("refused");
    for (setting, expected) in [
        (json!({"directory": folder.0.join("a.css")}), "give a directory"),
        (
            json!({"directory": folder.path(), "manifest": {"/": ["/missing.css"]}}),
            "'/missing.css', which is not there",
        ),
        (json!({"protocol": "spdy/4"}), "use h2, spdy/3.1"),
        (json!({"protocol": "http/1.1+pipelining"}), "use h2, spdy/3.1"),
        (json!({"notsent_lowat": 7}), "2048"),
        (json!({"multiplexing": {"streams": 0}}), "1 to 10000"),
        (json!({"identity": {"chain": "", "key": ""}}), "no certificates in PEM"),
        (json!({"access_log": folder.path()}), "cannot be written"),
        (json!({"page": {"objects": []}}), "no objects"),
        (
            json!({"page": {"objects": [{"url": "http://a.test/", "bytes": 1}]}, "directory": folder.path()}),
            "leave one out",
        ),
        (json!({"colour": "red"}), "there is no field 'colour'"),
    ] {
        let error = open(setting.clone()).unwrap_err().to_string();
        assert!(error.contains(expected), "{setting}: {error}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let setting = placed(json!({"listen": taken.local_addr().unwrap().to_string()}));
    let error = Server::open(ServerSettings::from_json(setting.to_string().as_bytes()).unwrap(), None).unwrap_err();
    assert!(error.to_string().contains("give HOST:PORT"), "{error}");
}
