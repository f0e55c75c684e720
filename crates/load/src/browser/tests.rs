//! A browser whose connections are in a test's hands: what it does when a server leaves.

mod scenes;

use super::*;
use crate::page::PageFile;
use crate::{FoundBy, Opener};
use bytes::Bytes;
use loadstone_http::{Multiplexing, Protocol, RequestId, ResponseHead, ServerSession, SessionFactory, TransportStream};

const NOW: Time = Time::ZERO;

/// A browser that has the root of a page and has asked on connection 0 for everything else: seven objects.
struct Load {
    browser: Browser,
    protocol: Protocol,
    sessions: Arc<SessionFactory>,
    server: Box<dyn ServerSession>,
}

impl Load {
    fn new(protocol: Protocol) -> Load {
        let more = (1..8).map(|at| format!(r#", {{"url": "https://a.test/{at}", "bytes": 10}}"#));
        let json = format!(r#"{{"objects": [{{"url": "https://a.test/", "bytes": 10}}{}]}}"#, more.collect::<String>());
        let page = Arc::new(PageFile::from_json(json.as_bytes()).unwrap().build().unwrap());
        let sessions = Arc::new(SessionFactory::new(Multiplexing::default()));
        let (joining, hints) = (Joining::Together, Hints::Ignore);
        let config = Config {
            connections: 6,
            connections_in_all: None,
            protocol,
            joining,
            sessions: sessions.clone(),
            hints,
            names: Names::Cached,
        };
        let mut browser = Browser::new(page.clone(), Arc::new(Graph::new(&page)), config);
        browser.start(NOW);
        assert_eq!(browser.poll_action(), Some(Action::Open { to: HostId(0), tag: Tag(0) }));
        browser.handle_open(NOW, ConnId(0), Opened::by(Opener::Us, protocol));
        let server = sessions.server(protocol);
        let mut load = Load { browser, protocol, sessions, server };
        assert_eq!(load.requests(ConnId(0)), ["/"]);
        load.respond(RequestId(0));
        load.answer(ConnId(0));
        load
    }

    fn actions(&mut self) -> Vec<Action> {
        std::iter::from_fn(|| self.browser.poll_action()).collect()
    }

    /// The paths that are asked for on a connection now.
    fn requests(&mut self, conn: ConnId) -> Vec<String> {
        let mut wire = Wire::default();
        self.browser.poll_transmit(NOW, conn, TransportStream::TCP, usize::MAX, &mut wire);
        self.server.handle_input(NOW, TransportStream::TCP, &wire.take_all()).unwrap();
        let events = std::iter::from_fn(|| self.server.poll_event());
        let paths = events.filter_map(|event| match event {
            Event::Request { head, .. } => Some(String::from_utf8(head.path.to_vec()).unwrap()),
            _ => None,
        });
        paths.collect()
    }

    fn respond(&mut self, id: RequestId) {
        let head = ResponseHead::new(200, loadstone_http::Fields::from_pairs([("content-length", "10")]));
        self.server.respond(id, head.into(), loadstone_http::Body { id: loadstone_http::BodyId(0), len: 10 }.into());
    }

    /// What the server has to say reaches the browser.
    fn answer(&mut self, conn: ConnId) {
        let mut wire = Wire::default();
        while self.server.has_output() {
            self.server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
        }
        self.browser.handle_input(NOW, conn, TransportStream::TCP, &wire.take_all());
    }

    /// Opens a connection to a new server.
    fn open(&mut self, conn: ConnId) {
        self.server = self.sessions.server(self.protocol);
        self.browser.handle_open(NOW, conn, Opened::by(Opener::Us, self.protocol));
    }
}

#[test]
fn when_a_server_leaves_the_rest_is_asked_for_at_once_on_another_connection() {
    for protocol in [Protocol::Spdy3, Protocol::Spdy31, Protocol::H2] {
        let mut load = Load::new(protocol);
        load.actions();
        // It has heard of the first request alone, and leaves while the others are on their way.
        let mut wire = Wire::default();
        load.browser.poll_transmit(NOW, ConnId(0), TransportStream::TCP, usize::MAX, &mut wire);
        let goaway: &'static [u8] = match protocol {
            Protocol::H2 => b"\0\0\x08\x07\0\0\0\0\0\0\0\0\x03\0\0\0\0",
            _ => b"\x80\x03\0\x07\0\0\0\x08\0\0\0\x03\0\0\0\0",
        };
        load.browser.handle_input(NOW, ConnId(0), TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(goaway))]);
        let actions = load.actions();
        assert!(actions.contains(&Action::Open { to: HostId(0), tag: Tag(1) }), "{protocol}: {actions:?}");
        assert!(!actions.contains(&Action::Close { conn: ConnId(0) }), "one answer is still to come");
        load.open(ConnId(1));
        let asked = load.requests(ConnId(1));
        assert_eq!(asked, ["/2", "/3", "/4", "/5", "/6", "/7"], "{protocol}");
    }
}

#[test]
fn a_connection_whose_server_leaves_is_closed_when_nothing_is_under_way() {
    for protocol in [Protocol::Http1, Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2] {
        let mut load = Load::new(protocol);
        let asked = load.requests(ConnId(0));
        load.actions();
        load.server.shut_down();
        for turn in 0..3 {
            load.answer(ConnId(0));
            // The answer to a PING, where the server waits for one.
            assert_eq!(load.requests(ConnId(0)), [] as [&str; 0], "{turn}");
        }
        assert!(!load.actions().contains(&Action::Close { conn: ConnId(0) }));
        (1..=asked.len() as u32).for_each(|id| load.respond(RequestId(id)));
        load.answer(ConnId(0));
        assert!(load.actions().contains(&Action::Close { conn: ConnId(0) }), "{protocol}");
        let is_done = load.browser.end().is_some();
        assert_eq!(is_done, protocol != Protocol::Http1, "HTTP/1.1 has asked for one object alone");
    }
}

#[test]
fn after_a_pipeline_that_was_cut_the_browser_asks_for_one_object_at_a_time_rfc9112_9_3_2() {
    let mut load = Load::new(Protocol::Http1Pipelining);
    assert_eq!(load.requests(ConnId(0)).len(), 7);
    load.respond(RequestId(1));
    load.answer(ConnId(0));
    load.actions();
    load.browser.handle_close(NOW, ConnId(0), Closed::Finished);
    let opened = load.actions().into_iter().filter(|action| matches!(action, Action::Open { .. })).count();
    assert_eq!(opened, 6, "as many connections as without pipelining");
    for conn in 1..=6 {
        load.open(ConnId(conn));
        assert_eq!(load.requests(ConnId(conn)), [format!("/{}", conn + 1)]);
    }
}

/// Lets the server answer `count` of the seven requests that are in a pipeline, and cuts that.
fn cut_after(count: u32) -> Load {
    let mut load = Load::new(Protocol::Http1Pipelining);
    assert_eq!(load.requests(ConnId(0)).len(), 7);
    for request in 1..=count {
        load.respond(RequestId(request));
        load.answer(ConnId(0));
    }
    load.actions();
    load.browser.handle_close(NOW, ConnId(0), Closed::Finished);
    load
}

#[test]
fn a_server_that_leaves_two_requests_unanswered_is_not_asked_in_pipelines_again_rfc9112_9_3_2() {
    // With one, it may have closed as it may after any response.
    for (answered, may_pipeline) in [(7, true), (6, true), (5, false)] {
        assert_eq!(cut_after(answered).browser.pools[0].may_pipeline, may_pipeline, "{answered} of 7");
    }
}

#[test]
fn of_a_pipeline_that_was_cut_only_the_first_request_counts_as_tried() {
    let load = cut_after(4);
    assert_eq!(load.browser.attempts[..8], [0, 0, 0, 0, 0, 1, 0, 0]);
}

#[test]
fn hosts_of_one_server_are_apart_where_their_places_differ() {
    let page = br#"{"objects": [{"url": "https://a.test/", "bytes": 10}, {"url": "https://b.test/", "bytes": 10},
        {"url": "https://c.test/", "bytes": 10}, {"url": "https://d.test/", "bytes": 10}],
        "hosts": {"b.test": {"served_by": "a.test"}, "c.test": {"served_by": "A.test"}}}"#;
    let page = Arc::new(PageFile::from_json(page).unwrap().build().unwrap());
    let servers = |places: &[u16]| {
        let Load { browser, .. } = Load::new(Protocol::H2);
        let browser = Browser::new(page.clone(), Arc::new(Graph::new(&page)), browser.config).with_places(places);
        browser.servers.iter().map(|server| server.0).collect::<Vec<_>>()
    };
    assert_eq!(servers(&[1, 1, 1, 1]), [0, 0, 0, 3], "the page's word counts, too");
    assert_eq!(servers(&[1, 2, 2, 2]), [0, 1, 1, 3]);
    assert_eq!(servers(&[1, 2, 1, 2]), [0, 1, 0, 3]);
}
