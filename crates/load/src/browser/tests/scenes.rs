//! A browser among servers that say what a test says: where it asks for what, and what it does when nothing comes.

use super::*;
use crate::Cause;
use loadstone_http::{Body, BodyId, Fields, Priority, RequestHead, SessionFactory};
use std::collections::BTreeMap;

/// An object of 10 bytes for each name; what stands behind a name is its page file's other fields.
fn page(objects: &[(&str, &str)]) -> Arc<Page> {
    let object = |(path, rest): &(&str, &str)| {
        let rest = if rest.is_empty() { String::new() } else { format!(", {rest}") };
        format!(r#"{{"url": "https://a.test/{path}", "bytes": 10{rest}}}"#)
    };
    let objects: Vec<String> = objects.iter().map(object).collect();
    let json = format!(r#"{{"objects": [{}]}}"#, objects.join(", "));
    Arc::new(PageFile::from_json(json.as_bytes()).unwrap().build().unwrap())
}

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// A request that has come to a server.
#[derive(Clone, PartialEq, Debug)]
struct Asked {
    conn: ConnId,
    id: RequestId,
    path: String,
}

struct Scene {
    browser: Browser,
    protocol: Protocol,
    sessions: Arc<SessionFactory>,
    servers: BTreeMap<ConnId, Box<dyn ServerSession>>,
    /// Connections that are to be opened.
    opening: Vec<ConnId>,
    /// Hosts whose addresses are asked for.
    resolving: Vec<NameQuery>,
    /// Connections that the browser has closed.
    closed: Vec<ConnId>,
    /// All requests, in the order in which they came.
    asked: Vec<Asked>,
}

impl Scene {
    /// The browser has begun, and waits for its first connection.
    fn new(page: &Arc<Page>, protocol: Protocol, change: impl FnOnce(&mut Config)) -> Scene {
        let multiplexing = Multiplexing { push: loadstone_http::Push::Accept, ..Multiplexing::default() };
        let sessions = Arc::new(SessionFactory::new(multiplexing));
        let (joining, hints) = (Joining::Together, Hints::Ignore);
        let mut config = Config {
            connections: 6,
            connections_in_all: None,
            protocol,
            joining,
            sessions: sessions.clone(),
            hints,
            names: Names::Cached,
        };
        change(&mut config);
        let mut browser = Browser::new(page.clone(), Arc::new(Graph::new(page)), config);
        browser.start(NOW);
        let (servers, opening, resolving) = (BTreeMap::new(), Vec::new(), Vec::new());
        let (closed, asked) = (Vec::new(), Vec::new());
        let mut scene = Scene { browser, protocol, sessions, servers, opening, resolving, closed, asked };
        scene.settle(NOW);
        scene
    }

    /// Carries out what the browser wants, until it wants no more.
    fn settle(&mut self, now: Time) {
        while let Some(action) = self.browser.poll_action() {
            match action {
                Action::Open { tag, .. } => self.opening.push(ConnId(tag.0)),
                Action::Close { conn } => {
                    self.closed.push(conn);
                    self.servers.remove(&conn);
                }
                Action::Transmit { conn } => self.carry(now, conn),
                Action::Resolve { query } => self.resolving.push(query),
                Action::Receive { .. } | Action::Abort { .. } => panic!("{action:?}"),
            }
        }
    }

    /// What the browser has to say reaches the server, and the other way round.
    fn carry(&mut self, now: Time, conn: ConnId) {
        let mut wire = Wire::default();
        self.browser.poll_transmit(now, conn, TransportStream::TCP, usize::MAX, &mut wire);
        let Some(server) = self.servers.get_mut(&conn) else { return };
        server.handle_input(now, TransportStream::TCP, &wire.take_all()).unwrap();
        while let Some(event) = server.poll_event() {
            if let Event::Request { id, head } = event {
                self.asked.push(Asked { conn, id, path: String::from_utf8(head.path[1..].to_vec()).unwrap() });
            }
        }
        self.deliver(now, conn);
    }

    /// What the server has to say reaches the browser.
    fn deliver(&mut self, now: Time, conn: ConnId) {
        let mut wire = Wire::default();
        let server = self.servers.get_mut(&conn).unwrap();
        while server.has_output() {
            server.poll_transmit(now, TransportStream::TCP, usize::MAX, &mut wire);
        }
        if !wire.is_empty() {
            self.browser.handle_input(now, conn, TransportStream::TCP, &wire.take_all());
        }
    }

    /// Connections that were asked for are established.
    fn establish(&mut self, now: Time) {
        for conn in std::mem::take(&mut self.opening) {
            self.servers.insert(conn, self.sessions.server(self.protocol));
            self.browser.handle_open(now, conn, Opened::by(Opener::Us, self.protocol));
            self.settle(now);
        }
    }

    /// Connections that were asked for cannot be had.
    fn refuse(&mut self, now: Time) {
        for conn in std::mem::take(&mut self.opening) {
            self.browser.handle_close(now, conn, Closed::Failed);
            self.settle(now);
        }
    }

    fn timeout(&mut self, now: Time) {
        self.browser.handle_timeout(now);
        self.settle(now);
    }

    /// The last request for this.
    fn request(&self, path: &str) -> Asked {
        self.asked.iter().rfind(|asked| asked.path == path).unwrap_or_else(|| panic!("no request for '{path}'")).clone()
    }

    /// The server of the last request for this does something, and the browser hears of it.
    fn server(&mut self, now: Time, path: &str, what: impl FnOnce(&mut dyn ServerSession, RequestId)) {
        let Asked { conn, id, .. } = self.request(path);
        what(self.servers.get_mut(&conn).unwrap().as_mut(), id);
        self.deliver(now, conn);
        self.settle(now);
    }

    fn respond(&mut self, now: Time, path: &str) {
        self.server(now, path, |server, id| respond(server, id, &[]));
    }

    /// The paths that have been asked for, with their connections, since the last time.
    fn news(&mut self) -> Vec<(u32, String)> {
        std::mem::take(&mut self.asked).into_iter().map(|asked| (asked.conn.0, asked.path)).collect()
    }

    fn end(&self) -> Option<(Time, bool)> {
        self.browser.end().map(|end| (end.at, end.completed))
    }
}

fn respond(server: &mut dyn ServerSession, id: RequestId, fields: &[(&'static str, &'static str)]) {
    let fields = fields.iter().copied().chain([("content-length", "10")]);
    let head = ResponseHead::new(200, Fields::from_pairs(fields));
    server.respond(id, head.into(), Body { id: BodyId(0), len: 10 }.into());
}

fn asked(list: &[(u32, &str)]) -> Vec<(u32, String)> {
    list.iter().map(|(conn, path)| (*conn, (*path).to_owned())).collect()
}

const MULTIPLEXED: [Protocol; 3] = [Protocol::Spdy3, Protocol::Spdy31, Protocol::H2];

#[test]
fn each_connection_of_http_1_carries_one_object_and_takes_the_next_in_page_order() {
    let objects = page(&[("", ""), ("1", ""), ("2", ""), ("3", ""), ("4", "")]);
    let mut scene = Scene::new(&objects, Protocol::Http1, |config| config.connections = 2);
    scene.establish(at(1));
    assert_eq!(scene.news(), asked(&[(0, "")]));
    scene.asked = vec![Asked { conn: ConnId(0), id: RequestId(0), path: String::new() }];
    scene.respond(at(2), "");
    assert_eq!(scene.opening, [ConnId(1)], "two may be open, and one is");
    scene.establish(at(3));
    assert_eq!(scene.browser.connections.len(), 2);
    assert_eq!(
        scene.asked[1..].iter().map(|asked| (asked.conn.0, &*asked.path)).collect::<Vec<_>>(),
        [(0, "1"), (1, "2")]
    );
    scene.respond(at(4), "2");
    assert_eq!(scene.request("3").conn, ConnId(1), "the one that is free first");
    scene.respond(at(5), "1");
    assert_eq!(scene.request("4").conn, ConnId(0));
    scene.respond(at(6), "4");
    assert_eq!(scene.end(), None, "the third is still to come");
    scene.respond(at(7), "3");
    assert_eq!(scene.end(), Some((at(7), true)));
    assert_eq!(scene.asked.len(), 5, "each was asked for once");
    let marks = scene.browser.into_marks();
    assert!(marks.failed.is_empty());
    let third = marks.rows[3];
    assert_eq!((third.connection, third.found, third.sent), (Some(1), Some(at(2)), Some(at(4))));
    assert_eq!((third.first_byte, third.last_byte, third.retried), (Some(at(7)), Some(at(7)), None));
    assert_eq!(marks.causes[3], Some(Cause { on: ActivityId(0), at: at(2) }));
}

#[test]
fn a_connection_that_is_silent_for_five_minutes_is_given_up_and_its_object_asked_for_elsewhere() {
    for protocol in [Protocol::Http1, Protocol::Spdy31, Protocol::H2] {
        let mut scene = Scene::new(&page(&[("", "")]), protocol, |_| {});
        scene.establish(at(1_000));
        assert_eq!(scene.browser.poll_timeout(), Some(at(301_000)), "{protocol}");
        scene.timeout(at(300_999));
        assert_eq!(scene.closed, [], "{protocol}");
        assert_eq!(scene.browser.poll_timeout(), Some(at(301_000)), "{protocol}");
        scene.timeout(at(301_000));
        assert_eq!((&*scene.closed, &*scene.opening), (&[ConnId(0)][..], &[ConnId(1)][..]), "{protocol}");
        assert_eq!(scene.browser.poll_timeout(), None, "a connection that is being opened is the transport's");
        scene.establish(at(301_100));
        assert_eq!(scene.request("").conn, ConnId(1));
        assert_eq!(scene.browser.poll_timeout(), Some(at(601_100)));
        scene.respond(at(302_000), "");
        assert_eq!(scene.end(), Some((at(302_000), true)));
        scene.timeout(at(601_100));
        assert_eq!(scene.browser.poll_timeout(), None, "nothing is missing");
        let marks = scene.browser.into_marks();
        assert_eq!(
            marks.failed.iter().map(|failed| (failed.object, failed.row.connection)).collect::<Vec<_>>(),
            [(ActivityId(0), Some(0))]
        );
        assert_eq!((marks.rows[0].retried, marks.rows[0].found), (Some(at(301_000)), Some(NOW)));
    }
}

#[test]
fn what_comes_on_a_connection_lets_it_live_for_five_more_minutes() {
    let mut scene = Scene::new(&page(&[("", "")]), Protocol::Http1, |_| {});
    scene.establish(at(0));
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345";
    scene.browser.handle_input(at(200_000), ConnId(0), TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(half))]);
    scene.timeout(at(300_000));
    assert_eq!((scene.closed.len(), scene.browser.poll_timeout()), (0, Some(at(500_000))));
    scene.timeout(at(500_000));
    assert_eq!(scene.closed, [ConnId(0)]);
}

#[test]
fn an_object_is_tried_four_times_and_then_the_load_is_over() {
    for (needed, objects) in
        [(true, page(&[("", ""), ("1", "")])), (false, page(&[("", ""), ("1", r#""needed": false"#)]))]
    {
        let mut scene = Scene::new(&objects, Protocol::H2, |_| {});
        scene.establish(at(1));
        scene.respond(at(2), "");
        assert_eq!(scene.end(), if needed { None } else { Some((at(2), true)) });
        for attempt in 1..=4 {
            assert_eq!(scene.asked.iter().filter(|asked| asked.path == "1").count(), attempt);
            scene.server(at(10 + attempt as u64), "1", |server, id| server.cancel(id));
        }
        assert_eq!(scene.asked.iter().filter(|asked| asked.path == "1").count(), 4, "no fifth time");
        assert_eq!(scene.end(), Some(if needed { (at(14), false) } else { (at(2), true) }));
        assert_eq!(scene.closed, [], "the connection is sound");
        assert_eq!(scene.browser.into_marks().failed.len(), 3, "the last attempt is the object's row");
    }
}

#[test]
fn connections_that_cannot_be_had_end_the_load_after_four_rounds() {
    for protocol in [Protocol::Http1, Protocol::H2] {
        let mut scene = Scene::new(&page(&[("", "")]), protocol, |_| {});
        for round in 1..=4 {
            assert_eq!((scene.opening.len(), scene.end()), (1, None), "{protocol}, round {round}");
            scene.refuse(at(round));
        }
        assert_eq!((scene.opening.len(), scene.end()), (0, Some((at(4), false))), "{protocol}");
    }
}

#[test]
fn what_comes_after_the_end_of_a_connection_is_ignored() {
    let mut scene = Scene::new(&page(&[("", ""), ("1", "")]), Protocol::Http1, |_| {});
    scene.establish(at(1));
    scene.browser.handle_close(at(2), ConnId(0), Closed::Failed);
    scene.settle(at(2));
    let late = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    scene.browser.handle_input(at(3), ConnId(0), TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(late))]);
    scene.browser.handle_close(at(3), ConnId(0), Closed::Failed);
    scene.establish(at(4));
    assert_eq!(scene.browser.into_marks().failed.len(), 1);
}

#[test]
fn a_session_that_breaks_the_rules_is_told_so_and_its_objects_asked_for_elsewhere() {
    for protocol in MULTIPLEXED {
        let mut scene = Scene::new(&page(&[("", "")]), protocol, |_| {});
        scene.establish(at(1));
        let nonsense: &'static [u8] =
            if protocol == Protocol::H2 { b"\0\0\0\0\0\0\0\0\0" } else { b"\0\0\0\0\0\0\0\0" };
        scene.browser.handle_input(
            at(2),
            ConnId(0),
            TransportStream::TCP,
            &[Chunk::Bytes(Bytes::from_static(nonsense))],
        );
        let actions: Vec<Action> = std::iter::from_fn(|| scene.browser.poll_action()).collect();
        let place = |wanted: Action| actions.iter().position(|action| *action == wanted);
        let (told, closed) = (place(Action::Transmit { conn: ConnId(0) }), place(Action::Close { conn: ConnId(0) }));
        assert!(told.is_some() && told < closed, "{protocol}: {actions:?}");
        assert!(actions.contains(&Action::Open { to: HostId(0), tag: Tag(1) }), "{protocol}: {actions:?}");
        let mut wire = Wire::default();
        scene.browser.poll_transmit(at(2), ConnId(0), TransportStream::TCP, 3, &mut wire);
        assert_eq!(wire.len(), 3, "there was room for 3 bytes");
        scene.browser.poll_transmit(at(2), ConnId(0), TransportStream::TCP, usize::MAX, &mut wire);
        assert!(wire.len() > 8, "a GOAWAY");
        let len = wire.len();
        scene.browser.poll_transmit(at(2), ConnId(0), TransportStream::TCP, usize::MAX, &mut wire);
        assert_eq!(wire.len(), len, "and no more");
    }
}

/// Lets the server push an object before it answers.
fn push(scene: &mut Scene, now: Time, path: &'static str) {
    scene.server(now, "", |server, id| {
        let pushed = server.push(id, request_of(path), Priority::default()).expect("pushes are taken");
        respond(server, pushed, &[]);
    });
}

/// The request for this.
fn request_of(path: &str) -> Arc<RequestHead> {
    page(&[(path, "")]).fetches().next().unwrap().1.request.clone()
}

#[test]
fn what_is_pushed_is_not_asked_for() {
    for protocol in MULTIPLEXED {
        let mut scene = Scene::new(&page(&[("", ""), ("1", ""), ("2", "")]), protocol, |_| {});
        scene.establish(at(1));
        push(&mut scene, at(2), "1");
        assert_eq!(scene.end(), None, "{protocol}: the page does not know yet that it wants it");
        scene.respond(at(3), "");
        assert_eq!(scene.asked.iter().map(|asked| &*asked.path).collect::<Vec<_>>(), ["", "2"], "{protocol}");
        scene.respond(at(4), "2");
        assert_eq!(scene.end(), Some((at(4), true)), "{protocol}");
        let row = scene.browser.into_marks().rows[1];
        assert_eq!((row.found_by, row.found, row.connection), (FoundBy::Push, Some(at(2)), Some(0)), "{protocol}");
        assert_eq!((row.sent, row.last_byte), (None, Some(at(2))), "{protocol}");
    }
}

#[test]
fn a_push_of_what_has_come_or_of_nothing_is_refused() {
    for protocol in MULTIPLEXED {
        for path in ["1", "nowhere", ""] {
            let mut scene = Scene::new(&page(&[("", ""), ("1", r#""needs": []"#)]), protocol, |_| {});
            scene.establish(at(1));
            assert_eq!(scene.asked.len(), 2, "both are wanted from the beginning");
            scene.respond(at(2), "1");
            push(&mut scene, at(3), path);
            assert_eq!(scene.browser.connections[0].pushes.len(), 0, "{protocol}: {path}");
            scene.respond(at(4), "");
            assert_eq!((scene.end(), scene.asked.len()), (Some((at(4), true)), 2), "{protocol}: {path}");
            assert!(scene.browser.into_marks().rows.iter().all(|row| row.found_by == FoundBy::Page));
        }
    }
}

#[test]
fn a_push_that_breaks_off_is_asked_for() {
    let mut scene = Scene::new(&page(&[("", ""), ("1", "")]), Protocol::H2, |_| {});
    scene.establish(at(1));
    scene.server(at(2), "", |server, id| {
        let pushed = server.push(id, request_of("1"), Priority::default()).unwrap();
        server.cancel(pushed);
    });
    scene.respond(at(3), "");
    assert_eq!(scene.request("1").conn, ConnId(0));
    scene.respond(at(4), "1");
    assert_eq!(scene.end(), Some((at(4), true)));
}

#[test]
fn a_hint_is_followed_where_hints_are() {
    for (hints, found, found_by) in [(Hints::Ignore, at(3), FoundBy::Page), (Hints::Follow, at(2), FoundBy::Hint)] {
        let mut scene =
            Scene::new(&page(&[("", ""), ("1", ""), ("2", "")]), Protocol::H2, |config| config.hints = hints);
        scene.establish(at(1));
        scene.server(at(2), "", |server, id| {
            let fields = Fields::from_pairs([("link", "</1>; rel=preload, </nowhere>; rel=preload")]);
            server.send_interim(id, ResponseHead::new(103, fields).into());
        });
        assert_eq!(scene.asked.len(), if hints == Hints::Follow { 2 } else { 1 });
        scene.respond(at(3), "");
        assert_eq!(scene.asked.len(), 3, "each is asked for once");
        let rows = scene.browser.into_marks().rows;
        assert_eq!((rows[1].found, rows[1].found_by), (Some(found), found_by));
        assert_eq!((rows[2].found, rows[2].found_by), (Some(at(3)), FoundBy::Page));
    }
}

#[test]
fn requests_that_race_join_the_first_connection_that_is_established() {
    let objects = page(&[("", ""), ("1", r#""needs": []"#), ("2", r#""needs": []"#)]);
    let mut scene = Scene::new(&objects, Protocol::H2, |config| config.joining = Joining::OneByOne);
    assert_eq!(scene.opening, [ConnId(0), ConnId(1), ConnId(2)], "one for each");
    scene.opening = vec![ConnId(1)];
    scene.establish(at(1));
    assert_eq!(scene.news(), asked(&[(1, "")]), "the others wait for their own connections");
    scene.opening = vec![ConnId(0)];
    scene.establish(at(2));
    assert_eq!((scene.news(), &*scene.closed), (asked(&[(1, "1")]), &[ConnId(0)][..]));
    scene.opening = vec![ConnId(2)];
    scene.establish(at(3));
    assert_eq!((scene.news(), &*scene.closed), (asked(&[(1, "2")]), &[ConnId(0), ConnId(2)][..]));
    assert_eq!(scene.opening, []);
}

#[test]
fn with_one_connection_allowed_nothing_races() {
    for (connections, opened) in [(1, 1), (2, 2)] {
        let objects = page(&[("", ""), ("1", r#""needs": []"#), ("2", r#""needs": []"#)]);
        let scene = Scene::new(&objects, Protocol::H2, |config| {
            (config.joining, config.connections) = (Joining::OneByOne, connections);
        });
        assert_eq!(scene.opening.len(), opened);
    }
}

/// Of two requests the server refuses the second: when it leaves after the first, or stays.
#[test]
fn a_refused_request_counts_as_tried_unless_the_server_leaves_with_work() {
    for (leaves, tried) in [(false, 1), (true, 0)] {
        let objects = page(&[("", ""), ("1", r#""needs": []"#)]);
        let mut scene = Scene::new(&objects, Protocol::H2, |_| {});
        scene.establish(at(1));
        let mut wire: Vec<u8> = Vec::new();
        if leaves {
            // GOAWAY, the last stream is 1.
            wire.extend_from_slice(b"\0\0\x08\x07\0\0\0\0\0\0\0\0\x01\0\0\0\0");
        } else {
            // RST_STREAM of stream 3, REFUSED_STREAM.
            wire.extend_from_slice(b"\0\0\x04\x03\0\0\0\0\x03\0\0\0\x07");
        }
        // The server's SETTINGS have come with its first output.
        scene.browser.handle_input(at(2), ConnId(0), TransportStream::TCP, &[Chunk::Bytes(Bytes::from(wire))]);
        scene.settle(at(2));
        assert_eq!(scene.browser.attempts, [0, tried], "leaves: {leaves}");
        assert_eq!(scene.opening.len(), usize::from(leaves));
    }
}

/// A query for the name of the first host.
fn query(number: u16) -> NameQuery {
    NameQuery { host: HostId(0), number }
}

/// A page of three hosts: two of them have one name, and one is an address.
fn three_hosts() -> Arc<Page> {
    let urls = ["https://a.test/", "https://a.test/1", "https://a.test:8443/2", "https://192.0.2.1/3"];
    let objects: Vec<String> =
        urls.iter().map(|url| format!(r#"{{"url": "{url}", "bytes": 10, "needs": []}}"#)).collect();
    let json = format!(r#"{{"objects": [{}]}}"#, objects.join(", "));
    Arc::new(PageFile::from_json(json.as_bytes()).unwrap().build().unwrap())
}

#[test]
fn a_name_is_looked_up_once_before_the_first_connection_to_its_hosts() {
    let mut scene = Scene::new(&three_hosts(), Protocol::H2, |config| config.names = Names::LookedUp);
    assert_eq!(scene.resolving, [query(0)], "once for two hosts, and not for an address");
    assert_eq!(scene.opening, [ConnId(0)], "to the address");
    scene.browser.handle_resolved(at(30), query(0));
    scene.settle(at(30));
    assert_eq!(scene.opening, [ConnId(0), ConnId(1), ConnId(2)]);
    let hosts: Vec<HostId> = scene.browser.connections.iter().map(|connection| connection.host).collect();
    assert_eq!(hosts, [HostId(2), HostId(0), HostId(1)]);
    scene.browser.handle_resolved(at(40), query(0));
    scene.settle(at(40));
    assert_eq!((scene.resolving.len(), scene.opening.len()), (1, 3), "a second answer changes nothing");
    let look_up = LookUp { asked: NOW, answered_query: NOW, answered: at(30) };
    assert_eq!(scene.browser.into_marks().look_ups, [Some(look_up), Some(look_up), None]);
}

#[test]
fn a_query_without_an_answer_is_sent_again_after_1_2_4_and_8_seconds() {
    let mut scene = Scene::new(&three_hosts(), Protocol::H2, |config| config.names = Names::LookedUp);
    for (second, queries) in [(0, 1), (1, 2), (2, 2), (3, 3), (6, 3), (7, 4), (15, 5), (30, 5)] {
        assert!(scene.browser.poll_timeout().unwrap() <= at(1000 * (2 * second + 1).min(31)), "at {second} s");
        scene.timeout(at(1000 * second));
        assert_eq!((scene.resolving.len(), scene.browser.end()), (queries, None), "at {second} s");
    }
    scene.timeout(at(31_000));
    let end = scene.browser.end().expect("no page without its root");
    assert_eq!((scene.resolving.len(), end), (5, LoadEnd { at: at(31_000), completed: false }));
}

/// A page whose second host's name does not exist, as the browser believes after three answers.
fn with_a_name_error() -> Arc<Page> {
    let json = r#"{"objects": [{"url": "https://a.test/", "bytes": 10},
            {"url": "https://gone.test/1", "bytes": 0, "needed": "when-found"},
            {"url": "https://gone.test/2", "bytes": 0, "needed": false},
            {"url": "https://gone.test/3", "bytes": 0, "needed": "when-found", "needs": [{"node": "https://gone.test/1", "ms": 7}]}],
         "hosts": {"gone.test": {"name_error": 3}}}"#;
    Arc::new(PageFile::from_json(json.as_bytes()).unwrap().build().unwrap())
}

#[test]
fn requests_to_a_name_that_does_not_exist_fail_when_the_browser_believes_it_and_each_asks_anew() {
    let mut scene = Scene::new(&with_a_name_error(), Protocol::H2, |_| {});
    scene.establish(at(5));
    scene.respond(at(10), "");
    let gone = |number| NameQuery { host: HostId(1), number };
    assert_eq!(scene.resolving, [gone(0)], "once for two requests, though other names are known");
    scene.browser.handle_resolved(at(20), gone(0));
    scene.settle(at(20));
    scene.browser.handle_resolved(at(21), gone(0));
    scene.settle(at(21));
    assert_eq!(scene.resolving, [gone(0), gone(5)], "a second answer to the first query says nothing");
    scene.timeout(at(1020));
    assert_eq!(scene.resolving[2..], [gone(6)], "nothing came");
    for (ms, number) in [(1030, 6), (1040, 10)] {
        scene.browser.handle_resolved(at(ms), gone(number));
        scene.settle(at(ms));
    }
    assert_eq!(scene.browser.end(), None, "what waits for the failure has not been asked for");
    scene.timeout(at(1047));
    assert_eq!(scene.resolving[3..], [gone(10), gone(0)]);
    for (ms, number) in [(1050, 0), (1060, 5), (1070, 10)] {
        scene.browser.handle_resolved(at(ms), gone(number));
        scene.settle(at(ms));
    }
    assert_eq!(scene.browser.end(), Some(LoadEnd { at: at(1070), completed: true }));
    assert!(scene.opening.is_empty(), "there is nothing to connect to");
    let marks = scene.browser.into_marks();
    let ends: Vec<_> = marks.rows[1..].iter().map(|row| row.last_byte).collect();
    assert_eq!(ends, [1040, 1040, 1070].map(|ms| Some(at(ms))));
}

#[test]
fn a_page_that_is_not_loaded_without_what_a_missing_name_has_fails_with_it() {
    let json =
        r#"{"objects": [{"url": "https://gone.test/", "bytes": 10}], "hosts": {"gone.test": {"name_error": 1}}}"#;
    let page = Arc::new(PageFile::from_json(json.as_bytes()).unwrap().build().unwrap());
    let mut scene = Scene::new(&page, Protocol::H2, |_| {});
    scene.browser.handle_resolved(at(20), query(0));
    scene.settle(at(20));
    assert_eq!(scene.browser.end(), Some(LoadEnd { at: at(20), completed: false }));
}

#[test]
fn an_answer_says_how_long_the_queries_before_its_own_were_waited_for() {
    for (number, sent) in [(0, NOW), (1, at(1000)), (2, at(3000))] {
        let mut scene = Scene::new(&three_hosts(), Protocol::H2, |config| config.names = Names::LookedUp);
        for ms in [1000, 3000] {
            scene.timeout(at(ms));
        }
        assert_eq!(scene.resolving, [query(0), query(1), query(2)]);
        scene.browser.handle_resolved(at(3030), query(number));
        scene.settle(at(3030));
        assert_eq!(scene.opening.len(), 3);
        let look_up = LookUp { asked: NOW, answered_query: sent, answered: at(3030) };
        assert_eq!(scene.browser.into_marks().look_ups[0], Some(look_up));
    }
}
