//! Writes the inputs that fuzzing begins with into `corpus/TARGET/`: what our own engines say to one another, and
//! edges that a random walk finds late.
//!
//! `cargo run --manifest-path fuzz/Cargo.toml --example seeds`. Each file's name says what it is; what has become
//! of a session's bytes since shows as a change in git. Inputs that fuzzing finds go elsewhere (`fuzz/found`).

use bytes::Bytes;
use loadstone_http::{
    Body, BodyId, Chunk, ClientSession, Content, Event, Fields, Multiplexing, Priority, Protocol, Push, TransportStream,
};
use loadstone_http::{RequestHead, RequestId, ResponseHead, ServerSession, Session, SessionFactory, Wire};
use loadstone_scenario::{CapturePoint, Plan, Scenario};
use loadstone_units::Time;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

const NOW: Time = Time::ZERO;
/// In the order of the first byte of `decode` and `joined`.
const FRAMED: [Protocol; 4] = [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2];
/// In the order of the first byte of `streams`.
const STREAMS: [Protocol; 4] = [Protocol::Spdy31, Protocol::H2, Protocol::Spdy2, Protocol::Spdy3];

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut count = 0;
    for (target, seeds) in [
        ("decode", decode()),
        ("streams", streams()),
        ("joined", joined()),
        ("h1_client", h1(&H1_RESPONSES)),
        ("h1_server", h1(&H1_REQUESTS)),
        ("har", texts(&HARS)),
        ("page_file", texts(&PAGES)),
        ("recording", texts(&RECORDINGS)),
        ("scenario", scenarios()),
        ("packet", packets()),
        ("capture_file", captures()),
        ("bounds", bombs()),
        ("recorded_site", texts(&RECORDED_SITES)),
    ] {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder)?;
        for (name, bytes) in seeds {
            fs::write(folder.join(name), bytes)?;
            count += 1;
        }
    }
    println!("{count} inputs in {}", corpus.display());
    Ok(())
}

/// Requests with heads of 60 KB that compress to next to nothing, and small ones of HTTP/1.1. The response is not read,
/// or 8 KB at a time. The first byte is that of `bounds`.
fn bombs() -> Vec<Seed> {
    let fields = Fields::from_pairs(vec![("x", "v".repeat(3_900)); 15]);
    let head = Arc::new(RequestHead::get("a.test", "/", fields));
    let sessions = SessionFactory::new(Multiplexing::default());
    let bomb = |protocol: Protocol, at: u8, room: u8| {
        let mut client = sessions.client(protocol);
        (0..20).for_each(|_| {
            client.request(head.clone(), Body::EMPTY.into(), Priority::default());
        });
        let name = protocol.name().replace('/', "-");
        (format!("{name}-{room}"), [vec![at, room, 255], said(client.as_mut())].concat())
    };
    let small = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(300);
    let pipelined = |room: u8| (format!("http-1.1-{room}"), [&[2, room, 255], &small[..]].concat());
    let served = [(Protocol::H2, 0), (Protocol::Spdy31, 1), (Protocol::Spdy3, 3), (Protocol::Spdy2, 4)];
    let of_room = |room| served.map(|(protocol, at)| bomb(protocol, at, room)).into_iter().chain([pipelined(room)]);
    [0, 128].into_iter().flat_map(of_room).collect()
}

/// A file's name and content.
type Seed = (String, Vec<u8>);

/// What an end of a session has to say, bodies as zeros.
fn said(session: &mut (impl Session + ?Sized)) -> Vec<u8> {
    let mut wire = Wire::default();
    session.poll_transmit(NOW, TransportStream::TCP, 1 << 20, &mut wire);
    let real = |chunk| match chunk {
        Chunk::Bytes(bytes) => bytes.to_vec(),
        Chunk::Run { len, .. } => vec![0; len as usize],
    };
    wire.take_all().into_iter().flat_map(real).collect()
}

/// What a server's program does with a request.
type Program = fn(&mut dyn ServerSession, RequestId);

fn answer(server: &mut dyn ServerSession, id: RequestId) {
    let head = ResponseHead::new(200, Fields::from_pairs([("content-length", "300"), ("server", "x")]));
    server.respond(id, head.into(), Body { id: BodyId(0), len: 300 }.into());
}

fn open_answer(server: &mut dyn ServerSession, id: RequestId) {
    let head = ResponseHead::new(200, Fields::from_pairs([("server", "x")]));
    server.respond(id, head.into(), Content::Streamed);
    for offset in [0, 100] {
        server.append(id, Chunk::Run { body: BodyId(0), offset, len: 100 });
    }
    server.finish(id, Fields::from_pairs([("server-timing", "db;dur=5")]));
}

fn push(server: &mut dyn ServerSession, id: RequestId) {
    let head = RequestHead::get("a.test", "/pushed.css", Fields::default());
    let pushed = server.push(id, head.into(), Priority::at(1));
    server.send_interim(id, ResponseHead::new(103, Fields::from_pairs([("link", "</a>; rel=preload")])).into());
    pushed.into_iter().chain([id]).for_each(|id| answer(server, id));
}

fn leave(server: &mut dyn ServerSession, id: RequestId) {
    server.ping();
    server.shut_down();
    answer(server, id);
}

/// Both directions of a connection: what the client says, and what the server does.
fn talk(protocol: Protocol, ask: fn(&mut dyn ClientSession), program: Program) -> [Vec<u8>; 2] {
    let sessions = SessionFactory::new(Multiplexing { push: Push::Accept, ..Multiplexing::default() });
    let (mut client, mut server) = (sessions.client(protocol), sessions.server(protocol));
    ask(client.as_mut());
    let [mut up, mut down] = [Vec::new(), Vec::new()];
    for _ in 0..8 {
        let bytes = said(client.as_mut());
        up.extend_from_slice(&bytes);
        server
            .handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from(bytes))])
            .expect("our own bytes are fine");
        while let Some(event) = server.poll_event() {
            if let Event::Request { id, .. } = event {
                program(server.as_mut(), id);
            }
        }
        let bytes = said(server.as_mut());
        down.extend_from_slice(&bytes);
        client
            .handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from(bytes))])
            .expect("our own bytes are fine");
        while client.poll_event().is_some() {}
    }
    [up, down]
}

fn gets(client: &mut dyn ClientSession) {
    let fields = Fields::from_pairs([("cookie", "a=1; b=2"), ("accept", "*/*"), ("accept", "text/html")]);
    for (path, urgency) in [("/", 0), ("/1", 7)] {
        client.request(
            RequestHead::get("a.test", path, fields.clone()).into(),
            Body::EMPTY.into(),
            Priority::at(urgency),
        );
    }
}

fn upload(client: &mut dyn ClientSession) {
    let [method, host, path] = ["POST", "a.test", "/up"].map(|text| Bytes::from_static(text.as_bytes()));
    let head = RequestHead::new(method, host, path, Fields::from_pairs([("content-length", "100")]));
    client.request(head.into(), Body { id: BodyId(1), len: 100 }.into(), Priority::incremental_at(3));
}

fn open_upload(client: &mut dyn ClientSession) {
    let [method, host, path] = ["POST", "a.test", "/up"].map(|text| Bytes::from_static(text.as_bytes()));
    let head = RequestHead::new(method, host, path, Fields::default());
    let id = client.request(head.into(), Content::Streamed, Priority::default());
    client.append(id, Chunk::Run { body: BodyId(1), offset: 0, len: 100 });
    client.finish(id, Fields::from_pairs([("x-end", "yes")]));
}

fn cancelled(client: &mut dyn ClientSession) {
    gets(client);
    said(client);
    client.ping();
    client.cancel(RequestId(1));
    client.shut_down();
}

const TALKS: [(&str, fn(&mut dyn ClientSession), Program); 5] = [
    ("gets", gets, answer),
    ("upload", upload, answer),
    ("push", gets, push),
    ("leave", upload, leave),
    ("open", open_upload, open_answer),
];

/// Frames of HTTP/2 that our engines do not send, or not so: names, and what they are.
const H2: [(&str, &[u8]); 14] = [
    ("priority", b"\0\0\x05\x02\0\0\0\0\x03\x80\0\0\x01\x10"),
    ("priority-of-itself", b"\0\0\x05\x02\0\0\0\0\x03\0\0\0\x03\x10"),
    ("priority-update", b"\0\0\x0a\x10\0\0\0\0\0\0\0\0\x01u=1, i"),
    ("priority-in-headers", b"\0\0\x0b\x01\x25\0\0\0\x01\0\0\0\0\xff\x82\x87\x84\x41\x01a"),
    (
        "continuation",
        b"\0\0\x02\x01\x01\0\0\0\x01\x82\x87\0\0\0\x09\0\0\0\0\x01\0\0\x04\x09\x04\0\0\0\x01\x84\x41\x01a",
    ),
    ("padded", b"\0\0\x06\x01\x04\0\0\0\x01\x83\x87\x84\x41\x01a\0\0\x06\0\x09\0\0\0\x01\x03ab\0\0\0"),
    ("trailers", b"\0\0\x06\x01\x04\0\0\0\x01\x83\x87\x84\x41\x01a\0\0\x05\x01\x05\0\0\0\x01\x40\x01x\x01y"),
    ("table-size", b"\0\0\x07\x01\x05\0\0\0\x01\x20\x82\x87\x84\x41\x01a"),
    ("huffman", b"\0\0\x12\x01\x05\0\0\0\x01\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"),
    ("settings", b"\0\0\x0c\x04\0\0\0\0\0\0\x01\0\0\0\0\0\x04\0\x10\0\0\0\0\0\x04\x01\0\0\0\0"),
    ("window-overflow", b"\0\0\x04\x08\0\0\0\0\0\x7f\xff\xff\xff"),
    ("reset", b"\0\0\x06\x01\x05\0\0\0\x01\x82\x87\x84\x41\x01a\0\0\x04\x03\0\0\0\0\x01\0\0\0\x08"),
    ("goaway", b"\0\0\x09\x07\0\0\0\0\0\0\0\0\x03\0\0\0\x0b!"),
    ("unknown", b"\0\0\x01\x77\x02\0\0\0\x05x\0\x40\x01\x0b\0\0\0\0\0"),
];

/// Frames of SPDY, with the version left to fill in.
const SPDY: [(&str, &[u8]); 10] = [
    ("reset", b"\x80\x03\0\x03\0\0\0\x08\0\0\0\x01\0\0\0\x05"),
    ("settings", b"\x80\x03\0\x04\x01\0\0\x14\0\0\0\x02\x01\0\0\x04\0\0\0\x64\x02\0\0\x07\0\0\x10\0"),
    ("noop", b"\x80\x03\0\x05\0\0\0\0"),
    ("ping", b"\x80\x03\0\x06\0\0\0\x04\xff\xff\xff\xff"),
    ("goaway-short", b"\x80\x03\0\x07\0\0\0\x04\0\0\0\x09"),
    ("goaway", b"\x80\x03\0\x07\0\0\0\x08\0\0\0\x09\0\0\0\x02"),
    ("window", b"\x80\x03\0\x09\0\0\0\x08\0\0\0\x01\x7f\xff\xff\xff"),
    ("credential", b"\x80\x03\0\x0a\0\0\0\x01x"),
    ("too-large", b"\x80\x03\0\x01\0\x01\0\x01\0\0\0\x01"),
    ("no-zlib", b"\x80\x03\0\x01\0\0\0\x0c\0\0\0\x01\0\0\0\0\0\0xy"),
];

/// The frames by hand of a protocol.
fn by_hand(protocol: Protocol) -> Vec<(&'static str, Vec<u8>)> {
    let version = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes[1] = if protocol == Protocol::Spdy2 { 2 } else { 3 };
        bytes
    };
    match protocol {
        Protocol::H2 => H2.map(|(name, bytes)| (name, bytes.to_vec())).to_vec(),
        _ => SPDY.map(|(name, bytes)| (name, version(bytes))).to_vec(),
    }
}

fn name(protocol: Protocol) -> String {
    protocol.name().replace('/', "")
}

/// The first byte is the protocol, the second how it is cut.
fn decode() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (choice, protocol) in FRAMED.into_iter().enumerate() {
        let with = |bytes: &[u8]| [&[choice as u8, 30], bytes].concat();
        for (what, ask, program) in TALKS {
            let [up, down] = talk(protocol, ask, program);
            seeds.push((format!("{}-{what}-up", name(protocol)), with(&up)));
            seeds.push((format!("{}-{what}-down", name(protocol)), with(&down)));
        }
        let frames = by_hand(protocol).into_iter();
        seeds.extend(frames.map(|(what, bytes)| (format!("{}-{what}", name(protocol)), with(&bytes))));
    }
    seeds
}

/// The first byte is the protocol and the end, the second how it is cut. HTTP/2's preface and SETTINGS are there.
fn streams() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (choice, protocol) in STREAMS.into_iter().enumerate() {
        let preface = if protocol == Protocol::H2 { 24 } else { 0 };
        let to = |end: u8, bytes: &[u8]| [&[(choice as u8) << 2 | end, 7], bytes].concat();
        for (what, ask, program) in TALKS {
            let [up, down] = talk(protocol, ask, program);
            seeds.push((format!("{}-{what}-to-server", name(protocol)), to(2, &up[preface..])));
            seeds.push((format!("{}-{what}-to-client", name(protocol)), to(0, &down)));
        }
        let mut client = SessionFactory::new(Multiplexing::default()).client(protocol);
        cancelled(client.as_mut());
        seeds.push((format!("{}-cancelled-to-server", name(protocol)), to(2, &said(client.as_mut()))));
        for (what, bytes) in by_hand(protocol) {
            seeds.push((format!("{}-{what}-to-server", name(protocol)), to(2, &bytes)));
        }
    }
    seeds
}

/// The first byte is the protocol, each three that follow a damage: how far from the last one, and which bits.
fn joined() -> Vec<Seed> {
    let damages: [(&str, &[u8]); 7] = [
        ("none", b""),
        ("first-byte", b"\0\0\x80"),
        ("flags", b"\0\x1c\x01"),
        ("length", b"\0\x1f\x01"),
        ("header-block", b"\0\x60\x04"),
        ("answer", b"\x02\0\xff"),
        ("many", &[0, 90, 1, 0, 200, 2, 1, 0, 4, 1, 100, 8, 2, 0, 16, 0, 1, 32]),
    ];
    let mut seeds = Vec::new();
    for (choice, protocol) in FRAMED.into_iter().enumerate() {
        let with = |damage: &[u8]| [&[choice as u8], damage].concat();
        seeds.extend(damages.map(|(what, damage)| (format!("{}-{what}", name(protocol)), with(damage))));
    }
    seeds
}

const H1_REQUESTS: [(&str, &str); 14] = [
    ("get", "GET / HTTP/1.1\r\nhost: a.test\r\n\r\n"),
    ("pipelined", "GET /1 HTTP/1.1\r\nhost: a\r\n\r\nHEAD /2 HTTP/1.1\r\nhost: a\r\n\r\n"),
    ("absolute", "GET http://a.test/x HTTP/1.1\r\nhost: a.test\r\n\r\n"),
    ("options", "OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n"),
    ("post", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello"),
    ("chunked", "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nt: u\r\n\r\n"),
    ("two-lengths", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello"),
    (
        "length-and-chunks",
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    ("close", "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"),
    ("http10", "GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n"),
    ("folded", "GET / HTTP/1.1\r\nhost: a\r\nx: 1\r\n 2\r\n\r\n"),
    ("no-host", "GET / HTTP/1.1\r\n\r\n"),
    ("bare-newlines", "GET / HTTP/1.1\nhost: a\n\n"),
    ("huge-length", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 18446744073709551616\r\n\r\n"),
];

const H1_RESPONSES: [(&str, &str); 13] = [
    ("empty", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
    ("content", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"),
    (
        "three",
        "HTTP/1.1 200 \r\ncontent-length: 1\r\n\r\naHTTP/1.1 404 \r\ncontent-length: 0\r\n\r\nHTTP/1.1 204 \r\n\r\n",
    ),
    ("until-close", "HTTP/1.1 200 OK\r\n\r\nhello"),
    ("interim", "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
    ("chunked", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
    ("chunked-empty", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("huge-chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n"),
    ("not-modified", "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n"),
    ("close", "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"),
    ("gzip-coding", "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    ("odd-status", "HTTP/1.1 99 x\r\n\r\n"),
    ("no-http", "SSH-2.0-OpenSSH\r\n"),
];

/// The first byte is how it is cut: whole pieces of 16 bytes, and single bytes.
fn h1(texts: &[(&str, &str)]) -> Vec<Seed> {
    let cut = |(name, text): &(&str, &str)| {
        [("pieces", 15), ("bytes", 0)].map(|(how, step)| (format!("{name}-{how}"), [&[step], text.as_bytes()].concat()))
    };
    texts.iter().flat_map(cut).collect()
}

const HARS: [(&str, &str); 9] = [
    (
        "chromium-document",
        r##"{"log":{"pages":[{"id":"1","startedDateTime":"2024-01-01T00:00:00Z","pageTimings":{"onLoad":60}}],"entries":[{"startedDateTime":"2024-01-01T00:00:00.000Z","_initiator":{"type":"other"},"_priority":"High","_resourceType":"document","pageref":"1","request":{"method":"GET","url":"https://a.test/","headers":[]},"response":{"status":200,"bodySize":100,"content":{"text":"<link rel=stylesheet href=a.css>\n<script>go()</script><script defer src=b.js></script><img loading=lazy src=c.png>"}},"timings":{"wait":5,"receive":1}},{"startedDateTime":"2024-01-01T00:00:00.007Z","_initiator":{"type":"parser","url":"https://a.test/","lineNumber":0},"_priority":"High","_resourceType":"stylesheet","pageref":"1","request":{"method":"GET","url":"https://a.test/a.css","headers":[]},"response":{"status":200,"bodySize":100},"timings":{"wait":5,"receive":1}},{"startedDateTime":"2024-01-01T00:00:00.007Z","_initiator":{"type":"parser","url":"https://a.test/","lineNumber":0},"_priority":"High","_resourceType":"script","pageref":"1","request":{"method":"GET","url":"https://a.test/b.js","headers":[]},"response":{"status":200,"bodySize":100},"timings":{"wait":5,"receive":1}},{"startedDateTime":"2024-01-01T00:00:00.020Z","_initiator":{"type":"script","stack":{"callFrames":[{"url":"https://a.test/","lineNumber":1,"columnNumber":8}]}},"_priority":"High","_resourceType":"fetch","pageref":"1","request":{"method":"POST","url":"https://a.test/d","headers":[]},"response":{"status":200,"bodySize":100},"timings":{"wait":5,"receive":1}},{"startedDateTime":"2024-01-01T00:00:00.021Z","_initiator":{"type":"preflight"},"_priority":"High","_resourceType":"preflight","pageref":"1","request":{"method":"OPTIONS","url":"https://a.test/d","headers":[{"name":"access-control-request-method","value":"POST"}]},"response":{"status":200,"bodySize":100},"timings":{"wait":5,"receive":1}},{"startedDateTime":"2024-01-01T00:00:00.028Z","_initiator":{"type":"script","stack":{"callFrames":[{"url":"https://a.test/b.js","lineNumber":0,"columnNumber":0}]}},"_priority":"High","_resourceType":"image","pageref":"1","request":{"method":"GET","url":"https://a.test/c.png","headers":[]},"response":{"status":200,"bodySize":100},"timings":{"wait":5,"receive":1}},{"startedDateTime":"2024-01-01T00:00:00.090Z","_initiator":{"type":"parser","url":"https://a.test/","lineNumber":0},"_priority":"High","_resourceType":"image","pageref":"1","request":{"method":"GET","url":"https://a.test/e.png","headers":[]},"response":{"status":200,"bodySize":100},"timings":{"wait":5,"receive":1}}]}}"##,
    ),
    ("empty", r#"{"log":{"version":"1.2","entries":[]}}"#),
    (
        "one",
        r#"{"log":{"version":"1.2","pages":[{"id":"p","startedDateTime":"2024-01-01T00:00:00.000Z","title":"t","pageTimings":{"onLoad":100}}],"entries":[{"pageref":"p","startedDateTime":"2024-01-01T00:00:00.000Z","time":50,"request":{"method":"GET","url":"https://a.test/","httpVersion":"h2","headers":[{"name":"accept","value":"*/*"}],"headersSize":100,"bodySize":0},"response":{"status":200,"httpVersion":"h2","headers":[],"content":{"size":1000,"mimeType":"text/html"},"headersSize":90,"bodySize":900},"timings":{"blocked":1,"dns":-1,"connect":10,"ssl":5,"send":1,"wait":20,"receive":18}}]}}"#,
    ),
    (
        "initiator",
        r#"{"log":{"entries":[{"startedDateTime":"2024-01-01T00:00:00Z","request":{"url":"https://a.test/"},"response":{"status":200,"bodySize":10},"timings":{"wait":1,"receive":1}},{"startedDateTime":"2024-01-01T00:00:00.020Z","_initiator":{"type":"parser","url":"https://a.test/"},"_priority":"High","_resourceType":"script","request":{"url":"https://a.test/a.js"},"response":{"status":200,"_transferSize":20},"timings":{"wait":1,"receive":1}}]}}"#,
    ),
    (
        "failed",
        r#"{"log":{"entries":[{"startedDateTime":"2024-01-01T00:00:00Z","request":{"url":"data:,x"},"response":{"status":0}}]}}"#,
    ),
    (
        "redirect",
        r#"{"log":{"entries":[{"startedDateTime":"2024-01-01T00:00:00Z","request":{"url":"http://a.test/"},"response":{"status":301,"redirectURL":"https://a.test/"}},{"startedDateTime":"2024-01-01T00:00:01+01:00","request":{"url":"https://a.test/"},"response":{"status":200,"content":{"size":-1}}}]}}"#,
    ),
    (
        "negative",
        r#"{"log":{"entries":[{"startedDateTime":"x","time":-1e308,"request":{"url":"https://[::1]:1/"},"response":{"status":200,"bodySize":-1,"headersSize":-1}}]}}"#,
    ),
    ("cut-off", r#"{"log":{"entries":[{"request":"#),
    ("mark", "\u{feff}{\"log\":{\"entries\":[]}}"),
];

/// A trace, and after the line feed the text of its document.
const RECORDINGS: [(&str, &str); 1] = [(
    "parsed-script-timer",
    concat!(
        r#"[{"name":"RunTask","ph":"X","pid":1,"tid":1,"ts":10,"dur":90,"tts":10,"tdur":80},{"name":"CommitLoad","ph":"X","pid":1,"tid":1,"ts":12,"dur":1,"args":{"data":{"frame":"F","url":"https://a.test/","isOutermostMainFrame":true}}},{"name":"ResourceSendRequest","ph":"I","pid":1,"tid":1,"ts":20,"tts":20,"args":{"data":{"requestId":"2","url":"https://a.test/a.js","frame":"F","resourceType":"Script","renderBlocking":"blocking","initiator":{"type":"parser","url":"https://a.test/","lineNumber":0,"columnNumber":20}}}},{"name":"ParseHTML","ph":"X","pid":1,"tid":1,"ts":50,"dur":40,"tts":50,"tdur":40,"args":{"beginData":{"frame":"F"}}},{"name":"EvaluateScript","ph":"X","pid":1,"tid":1,"ts":60,"dur":9,"tts":60,"tdur":9,"args":{"data":{"url":"https://a.test/a.js"}}},{"name":"TimerInstall","ph":"I","pid":1,"tid":1,"ts":62,"tts":62,"args":{"data":{"timerId":1,"timeout":5}}},{"name":"domInteractive","ph":"R","pid":1,"tid":1,"ts":80,"tts":80,"args":{"frame":"F"}},{"name":"TimerFire","ph":"X","pid":1,"tid":1,"ts":200,"dur":9,"tts":200,"tdur":9,"args":{"data":{"timerId":1}}}]"#,
        "\n<script src=a.js ></script>\n<iframe src=//b.test>"
    ),
)];

/// What was recorded, and what is asked for.
const RECORDED_SITES: [(&str, &str); 3] = [
    (
        "likest-query",
        "GET https://a.test/x?a=1&t=5\nGET https://a.test/x?a=2&t=6\n\nGET https://a.test/x?t=9&a=2\nGET https://a.test/x",
    ),
    (
        "shape",
        "GET https://a.test/b/11111111-1111-4111-8111-111111111111/7.js\n\nGET https://a.test/b/kq7x0Zb93mT5w2Lp/12.js\nHEAD https://a.test/b/3f9ab01c/1.js",
    ),
    (
        "nth",
        "GET http://a.test/\nGET https://a.test/\nGET https://a.test/\nPOST https://a.test:8443/\n\nGET localhost/\nGET [::1]:8443/\nPOST A.test/",
    ),
];

const PAGES: [(&str, &str); 13] = [
    ("one", r#"{"objects":[{"url":"https://a.test/","bytes":1}]}"#),
    ("two-hosts", r#"{"objects":[{"url":"https://a.test/","bytes":100},{"url":"http://b.test:8080/x","bytes":0}]}"#),
    (
        "needs",
        r#"{"objects":[{"url":"https://a.test/","bytes":9},{"url":"https://a.test/1","bytes":9,"needs":[{"node":"https://a.test/","on":"bytes","bytes":4,"ms":1.5}]}]}"#,
    ),
    (
        "compute",
        r#"{"objects":[{"url":"https://a.test/","bytes":9}],"compute":[{"name":"run","ms":3,"needs":[{"node":"https://a.test/"}]}]}"#,
    ),
    (
        "circle",
        r#"{"objects":[{"url":"https://a.test/","bytes":9},{"url":"https://a.test/1","bytes":9,"needs":[{"node":"https://a.test/1"}]}]}"#,
    ),
    (
        "details",
        r#"{"objects":[{"url":"https://a.test/","bytes":9,"kind":"html","method":"POST","upload_bytes":7,"request_header_bytes":300,"response_header_bytes":90,"think_ms":2,"urgency":7,"needed":false}]}"#,
    ),
    (
        "several-loads",
        r#"{"objects":[{"url":"https://a.test/","bytes":9},{"url":"https://a.test/seen?t=1","bytes":9,"changes":true,"seen":2,"needs":[{"node":"work 1","on":"start","ms":2,"seen":1}]}],"compute":[{"name":"work 1","ms":3,"seen":1,"deviation_percent":12.5}],"loads":{"count":3,"deviation_percent":4.1,"left_out":1}}"#,
    ),
    ("unknown-field", r#"{"objects":[],"colour":1}"#),
    ("huge", r#"{"objects":[{"url":"https://a.test/","bytes":18446744073709551615}]}"#),
    ("synthetic", "synthetic:B"),
    ("synthetic-own", "synthetic:objects=64,size=10KB"),
    ("synthetic-bare", "objects=64,size=10KB"),
    ("synthetic-odd", "synthetic:objects=0,size=-1"),
];

fn texts(texts: &[(&str, &str)]) -> Vec<Seed> {
    texts.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
}

/// Scenarios that differ in their network and in their variant.
fn scenarios() -> Vec<Seed> {
    let page = r#"{"objects":[{"url":"https://a.test/","bytes":100}]}"#;
    let networks = [
        "cable",
        "10/1mbit,100ms,loss=1%",
        "1gbit,1ms,queue=64KB",
        "10mbit,5ms,queue=20p,loss=0.1%/2%",
        "1/0mbit",
        "10mbit,40ms,queue=1000ms,aqm=fq_codel",
    ];
    let variants = [
        r#"{}"#,
        r#"{"protocol":"h2","tls":"1.2","servers":3,"connections":2}"#,
        r#"{"protocol":"spdy/3.1","multiplexing":{"policy":"weighted","frame_bytes":1000,"stream_window":65536}}"#,
        r#"{"protocol":"h2","multiplexing":{"policy":"dependencies"}}"#,
        r#"{"tcp":{"profile":"linux-2.6","iw":3,"cc":"reno","flows":6}}"#,
        r#"{"tcp":{"mechanisms":{"rack":false}},"client_tcp":{"notsent_lowat":16384}}"#,
        r#"{"tcp":{"iw":0}}"#,
    ];
    let scenario = |network: &str, variant: &str| {
        format!(r#"{{"page":{page},"network":"{network}","variant":{variant},"seed":7}}"#)
    };
    let by_network =
        networks.iter().enumerate().map(|(at, it)| (format!("network-{at}"), scenario(it, "{}").into_bytes()));
    let by_variant =
        variants.iter().enumerate().map(|(at, it)| (format!("variant-{at}"), scenario("dsl", it).into_bytes()));
    by_network.chain(by_variant).collect()
}

/// Loads that lose packets, as they are captured at the server.
fn captures() -> Vec<Seed> {
    let objects: Vec<_> = (0..4).map(|n| format!(r#"{{"url":"https://a.test/{n}","bytes":9000}}"#)).collect();
    let of = |protocol: &str, tls: &str| {
        let variant = format!(r#"{{"protocol":"{protocol}","tls":"{tls}"}}"#);
        let page = format!(r#"{{"objects":[{}]}}"#, objects.join(","));
        let scenario = format!(r#"{{"page":{page},"network":"10/1mbit,40ms,loss=4%","variant":{variant}}}"#);
        let scenario = Scenario::from_json(scenario.as_bytes()).expect("it is a scenario");
        let plan = Plan::new(&scenario).expect("it can be loaded");
        let outcome = loadstone_sim::run_captured(&plan, loadstone_units::Seed(7), 1_000);
        let mut file = Vec::new();
        let capture = outcome.capture.expect("it is asked for");
        capture.write_pcapng(CapturePoint::Server, 128, &mut file).expect("memory takes what is written");
        (format!("{}-tls-{tls}", protocol.replace('/', "-")), file)
    };
    vec![of("http/1.1", "none"), of("h2", "none"), of("spdy/3.1", "none"), of("h2", "1.3")]
}

/// IPv4 and TCP as a TUN device hands them over.
fn packets() -> Vec<Seed> {
    let packet = |flags: u8, options: &[u8], payload: usize| {
        let header = 20 + options.len();
        let len = (20 + header + payload) as u16;
        let mut bytes =
            vec![0x45, 0, (len >> 8) as u8, len as u8, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        bytes.extend([
            0x9c,
            0x40,
            1,
            0xbb,
            0,
            0,
            0,
            1,
            0,
            0,
            0,
            2,
            ((header / 4) as u8) << 4,
            flags,
            0xff,
            0xff,
            0,
            0,
            0,
            0,
        ]);
        bytes.extend_from_slice(options);
        bytes.resize(20 + header + payload, 0);
        bytes
    };
    let syn = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];
    let sack = [1, 1, 5, 18, 0, 0, 0, 10, 0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0, 40];
    let mut short = packet(0x10, &[], 10);
    short.truncate(30);
    let mut udp = packet(0x10, &[], 0);
    udp[9] = 17;
    let mut six = packet(0x10, &[], 40);
    six[0] = 0x60;
    let mut long = packet(0x10, &[], 4);
    long[2] = 0xff;
    let mut no_header = packet(0x10, &[], 0);
    no_header[32] = 0;
    let all = [
        ("syn", packet(0x02, &syn, 0)),
        ("syn-ack", packet(0x12, &syn, 0)),
        ("ack", packet(0x10, &[], 0)),
        ("data", packet(0x18, &[], 100)),
        ("sack", packet(0x10, &sack, 0)),
        ("option-of-no-length", packet(0x10, &[5, 0, 0, 0], 0)),
        ("option-too-long", packet(0x10, &[5, 40, 0, 0], 0)),
        ("fin", packet(0x11, &[], 0)),
        ("reset", packet(0x04, &[], 0)),
        ("short", short),
        ("udp", udp),
        ("ipv6", six),
        ("longer-than-it-is", long),
        ("no-tcp-header", no_header),
    ];
    all.map(|(name, bytes)| (name.to_owned(), bytes)).to_vec()
}
