//! A relay between a client's session and servers' sessions whose bytes a test carries, cut as it likes.

use super::link::WINDOW;
use super::*;
use crate::{MaxKept, Timeouts};
use loadstone_http::{
    Body, BodyId, ClientSession, Content, Fields, Multiplexing, Priority, RequestHead, ResponseHead, ServerSession,
    SessionFactory,
};
use std::time::Duration;

const NOW: Time = Time::ZERO;
const FRONT: ConnId = ConnId(0);
pub(super) const SERVER: HostId = HostId(7);
const EVERY: [Protocol; 5] = [Protocol::Http1, Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2];

/// A connection behind, from the server's side.
pub(super) struct Behind {
    pub(super) server: HostId,
    pub(super) session: Box<dyn ServerSession>,
    /// What the server has sent and the relay has not read, how much it has read, and may.
    sent: Wire,
    pub(super) read: u64,
    limit: u64,
    requests: Vec<(RequestId, Arc<RequestHead>)>,
    events: Vec<Event>,
    pub(super) is_aborted: bool,
}

/// A client besides the one whose connection is [`FRONT`].
struct OtherClient {
    session: Box<dyn ClientSession>,
    events: Vec<Event>,
}

pub(super) struct World {
    pub(super) relay: Relay,
    pub(super) client: Box<dyn ClientSession>,
    pub(super) events: Vec<Event>,
    pub(super) now: Time,
    /// What servers speak, and where their sessions come from.
    spoken: Protocol,
    pub(super) sessions: Arc<SessionFactory>,
    pub(super) behind: BTreeMap<ConnId, Behind>,
    /// Those that read all that comes.
    others: BTreeMap<ConnId, OtherClient>,
    /// The servers that take no connections, and those of which nothing is heard.
    down: BTreeSet<HostId>,
    hanging: BTreeSet<HostId>,
    /// How many bytes the client reads at a time, and all in all.
    pub(super) pace: usize,
    read: u64,
    next: u32,
    /// The relay has reset the connection of the client.
    is_reset: bool,
    /// The connections that it has closed.
    closed: Vec<ConnId>,
}

impl World {
    fn new(protocol: Protocol) -> World {
        World::with(protocol, |config| config)
    }

    /// One whose relay behaves otherwise.
    pub(super) fn with(protocol: Protocol, change: impl FnOnce(RelayConfig) -> RelayConfig) -> World {
        let sessions = Arc::new(SessionFactory::new(Multiplexing::default()));
        let config = RelayConfig::new([("a.test".to_owned(), SERVER)].into(), sessions.clone());
        let config = change(config);
        let spoken = config.server_protocol.protocol();
        let relay = Relay::new(config);
        let client = sessions.client(protocol);
        let (events, behind) = (Vec::new(), BTreeMap::new());
        let mut world = World {
            relay,
            client,
            events,
            now: NOW,
            spoken,
            sessions,
            behind,
            others: BTreeMap::new(),
            down: BTreeSet::new(),
            hanging: BTreeSet::new(),
            pace: 5_000,
            read: 0,
            next: 1,
            is_reset: false,
            closed: Vec::new(),
        };
        world.relay.handle_open(NOW, FRONT, Opened::by(Opener::Peer, protocol));
        world
    }

    fn get(&mut self, path: &str) -> RequestId {
        let head = RequestHead::get("a.test", path, Fields::default());
        self.client.request(head.into(), Body::EMPTY.into(), Priority::default())
    }

    /// Lets everything move until nothing does.
    pub(super) fn settle(&mut self) {
        while self.turn() {}
    }

    /// Everybody has a say, once; whether anything moved.
    pub(super) fn turn(&mut self) -> bool {
        let mut moved = false;
        let mut wire = Wire::default();
        self.client.poll_transmit(self.now, TransportStream::TCP, 700, &mut wire);
        if !wire.is_empty() {
            self.relay.handle_input(self.now, FRONT, TransportStream::TCP, &wire.take_all());
            moved = true;
        }
        while let Some(action) = self.relay.poll_action() {
            moved |= self.perform(action);
        }
        let conns: Vec<ConnId> = self.behind.keys().copied().collect();
        for conn in conns {
            moved |= self.serve(conn);
        }
        let conns: Vec<ConnId> = self.others.keys().copied().collect();
        for conn in conns {
            moved |= self.visit(conn);
        }
        // Whether or not it was asked to: the client reads at its own pace.
        moved | self.listen()
    }

    /// Another client has its say.
    fn visit(&mut self, conn: ConnId) -> bool {
        let (mut sent, mut came) = (Wire::default(), Wire::default());
        let OtherClient { session, events } = self.others.get_mut(&conn).unwrap();
        session.poll_transmit(self.now, TransportStream::TCP, 700, &mut sent);
        let moved = !sent.is_empty();
        if moved {
            self.relay.handle_input(self.now, conn, TransportStream::TCP, &sent.take_all());
        }
        self.relay.poll_transmit(self.now, conn, TransportStream::TCP, 5_000, &mut came);
        let came = came.take_all();
        if !came.is_empty() {
            session.handle_input(self.now, TransportStream::TCP, &came).unwrap();
        }
        events.extend(std::iter::from_fn(|| session.poll_event()));
        moved || !came.is_empty() || session.has_output()
    }

    fn listen(&mut self) -> bool {
        let mut wire = Wire::default();
        self.relay.poll_transmit(self.now, FRONT, TransportStream::TCP, self.pace, &mut wire);
        let came = wire.take_all();
        self.read += came.iter().map(Chunk::len).sum::<u64>();
        if !came.is_empty() {
            self.client.handle_input(self.now, TransportStream::TCP, &came).unwrap();
        }
        self.events.extend(std::iter::from_fn(|| self.client.poll_event()));
        !came.is_empty() || self.client.has_output()
    }

    fn perform(&mut self, action: Action) -> bool {
        match action {
            Action::Open { to, tag } => {
                let conn = ConnId(self.next);
                self.next += 1;
                self.relay.handle_opening(self.now, conn, tag);
                if self.hanging.contains(&to) {
                    return true;
                }
                if self.down.contains(&to) {
                    self.relay.handle_close(self.now, conn, Closed::Failed);
                    return true;
                }
                self.connect(conn, to);
            }
            Action::Receive { conn, limit, .. } => {
                self.behind.entry(conn).and_modify(|behind| {
                    assert!(limit > behind.limit, "a limit only grows");
                    behind.limit = limit;
                });
            }
            Action::Abort { conn: FRONT } => self.is_reset = true,
            // Or it was being opened.
            Action::Abort { conn } => _ = self.behind.get_mut(&conn).map(|behind| behind.is_aborted = true),
            Action::Transmit { conn } if self.behind.contains_key(&conn) => return self.hear(conn),
            Action::Transmit { .. } => return false,
            Action::Close { conn } => {
                self.closed.push(conn);
                return false;
            }
            Action::Resolve { .. } => panic!("a relay knows the addresses of its servers"),
        }
        true
    }

    /// A server takes a connection.
    fn connect(&mut self, conn: ConnId, to: HostId) {
        let session = self.sessions.server(self.spoken);
        let (sent, requests, events) = (Wire::default(), Vec::new(), Vec::new());
        let behind = Behind { server: to, session, sent, read: 0, limit: 0, requests, events, is_aborted: false };
        self.behind.insert(conn, behind);
        self.relay.handle_open(self.now, conn, Opened::by(Opener::Us, self.spoken));
    }

    /// The server hears what the relay sends behind.
    fn hear(&mut self, conn: ConnId) -> bool {
        let mut wire = Wire::default();
        self.relay.poll_transmit(self.now, conn, TransportStream::TCP, 3_000, &mut wire);
        let (Some(behind), false) = (self.behind.get_mut(&conn), wire.is_empty()) else { return false };
        behind.session.handle_input(self.now, TransportStream::TCP, &wire.take_all()).unwrap();
        while let Some(event) = behind.session.poll_event() {
            match event {
                Event::Request { id, head } => behind.requests.push((id, head)),
                event => behind.events.push(event),
            }
        }
        true
    }

    /// The server sends, and the relay reads as far as it may.
    fn serve(&mut self, conn: ConnId) -> bool {
        self.hear(conn);
        let behind = self.behind.get_mut(&conn).unwrap();
        if behind.is_aborted {
            return false;
        }
        // As much as a socket's buffers would take.
        if behind.sent.len() < 100_000 {
            behind.session.poll_transmit(self.now, TransportStream::TCP, 20_000, &mut behind.sent);
        }
        let count = behind.sent.len().min(behind.limit - behind.read).min(1 + u64::from(conn.0) * 997 % 4_000);
        let mut input = Vec::new();
        behind.sent.take(count, &mut input);
        behind.read += count;
        if count > 0 {
            self.relay.handle_input(self.now, conn, TransportStream::TCP, &input);
        }
        count > 0
    }

    /// The requests that came, with the connection of each.
    pub(super) fn requests(&mut self) -> Vec<(ConnId, RequestId, Arc<RequestHead>)> {
        let all = self.behind.iter_mut();
        all.flat_map(|(conn, behind)| behind.requests.drain(..).map(|(id, head)| (*conn, id, head))).collect()
    }

    fn respond(&mut self, conn: ConnId, id: RequestId, body: Body) {
        let head = ResponseHead::new(200, Fields::from_pairs([("content-length", body.len.to_string())]));
        self.behind.get_mut(&conn).unwrap().session.respond(id, head.into(), body.into());
    }

    /// What has come of a stream's content, and whether it is all: the pieces of one body, in order.
    pub(super) fn content(&self, stream: RequestId) -> (Option<BodyId>, u64, bool) {
        let (mut name, mut len, mut ended) = (None, 0, false);
        for event in self.events.iter().filter(|event| event.request() == Some(stream)) {
            match event {
                Event::Data { content: Chunk::Run { body, offset, len: more }, .. } => {
                    assert!(*name.get_or_insert(*body) == *body && *offset == len, "a piece is out of order");
                    len += more;
                }
                Event::End { .. } => ended = true,
                _ => {}
            }
        }
        (name, len, ended)
    }

    /// Lets the relay look at the clock, every second until this one.
    fn wait(&mut self, from: u64, until: u64) {
        for second in from..=until {
            self.now = at(second);
            self.relay.handle_timeout(self.now);
            self.settle();
        }
    }

    pub(super) fn status(&self, stream: RequestId) -> Option<u16> {
        let heads = self.events.iter().filter_map(|event| match event {
            Event::Response { id, head } if *id == stream => Some(head.status),
            _ => None,
        });
        heads.last()
    }
}

mod behind_h2;
mod checks;
mod clients;
mod ended;
mod health;
mod lookups;
mod several_servers;
mod uploads_again;

#[test]
fn a_thousand_objects_come_whole_and_in_order_whatever_is_spoken_in_front() {
    for protocol in EVERY {
        let mut world = World::new(protocol);
        let len = |number: u32| u64::from(number * 7919 % 12_000);
        let (mut asked, mut streams) = (0, Vec::new());
        while world.events.iter().filter(|event| matches!(event, Event::End { .. })).count() < 1_000 {
            while asked < 1_000 && world.client.capacity() > 0 {
                streams.push(world.get(&format!("/{asked}")));
                asked += 1;
            }
            assert!(world.turn(), "{protocol}: it stands still");
            for (conn, id, head) in world.requests() {
                let number: u32 = std::str::from_utf8(&head.path[1..]).unwrap().parse().unwrap();
                world.respond(conn, id, Body { id: BodyId(number), len: len(number) });
            }
        }
        for (number, stream) in (0..).zip(streams) {
            let body = (len(number) > 0).then_some(BodyId(number));
            assert_eq!(world.content(stream), (body, len(number), true), "{protocol} {number}");
        }
        assert!(world.behind.len() <= 101, "{protocol}: connections behind are used again");
    }
}

#[test]
fn a_slow_client_makes_the_server_wait_and_the_relay_hold_no_more_than_a_window() {
    for protocol in EVERY {
        let mut world = World::new(protocol);
        world.pace = 100;
        let stream = world.get("/");
        let len = 2_000_000;
        while !world.content(stream).2 {
            assert!(world.turn(), "{protocol}: it stands still");
            for (conn, id, _) in world.requests() {
                world.respond(conn, id, Body { id: BodyId(1), len });
            }
            let brought: u64 = world.behind.values().map(|behind| behind.read).sum();
            assert!(brought <= world.read + WINDOW + 1_000, "{protocol}: {brought} {}", world.read);
        }
        assert_eq!(world.content(stream), (Some(BodyId(1)), len, true));
        assert!((WINDOW / 2..=WINDOW).contains(&world.relay.peak_held()), "{protocol}: {}", world.relay.peak_held());
    }
}

#[test]
fn what_is_cancelled_in_front_is_cancelled_behind() {
    for protocol in EVERY {
        let mut world = World::new(protocol);
        let stream = world.get("/");
        world.settle();
        let (conn, id, _) = world.requests().remove(0);
        world.respond(conn, id, Body { id: BodyId(1), len: 10_000_000 });
        (0..50).for_each(|_| _ = world.turn());
        if protocol == Protocol::Http1 {
            world.relay.handle_close(NOW, FRONT, Closed::Failed);
        } else {
            world.client.cancel(stream);
        }
        world.settle();
        assert!(world.behind[&conn].is_aborted, "{protocol}");
        assert!(world.behind[&conn].read < 1_000_000, "{protocol}");
        if protocol.is_multiplexed() {
            // The others go on.
            let other = world.get("/other");
            world.settle();
            let (conn, id, _) = world.requests().remove(0);
            world.respond(conn, id, Body { id: BodyId(2), len: 5 });
            world.settle();
            assert_eq!(world.content(other), (Some(BodyId(2)), 5, true), "{protocol}");
        }
    }
}

#[test]
fn a_server_that_fails_is_a_bad_gateway_before_its_response_and_a_reset_within_rfc9110_15_6_3() {
    for protocol in EVERY {
        let mut world = World::with(protocol, |config| RelayConfig { notes: ExchangeNotes::Kept, ..config });
        let stream = world.get("/");
        world.settle();
        let (conn, ..) = world.requests().remove(0);
        world.relay.handle_close(NOW, conn, Closed::Failed);
        world.settle();
        assert_eq!((world.status(stream), world.content(stream)), (Some(502), (None, 0, true)), "{protocol}");
        assert_eq!(world.relay.poll_exchange().unwrap().rejected, Some(Rejection::Closed), "{protocol}");

        let stream = world.get("/again");
        world.settle();
        let (conn, id, _) = world.requests().remove(0);
        world.respond(conn, id, Body { id: BodyId(1), len: 1_000_000 });
        (0..100).for_each(|_| _ = world.turn());
        world.relay.handle_close(NOW, conn, Closed::Finished);
        while world.turn() && world.content(stream).1 < 1_000_000 {}
        assert_eq!(world.status(stream), Some(200), "{protocol}");
        assert!(!world.content(stream).2, "{protocol}: it must not look complete");
        let over = world.relay.poll_exchange().unwrap();
        assert_eq!((over.end, over.rejected), (Ending::CutShort, Some(Rejection::Closed)), "{protocol}");
    }
}

#[test]
fn bytes_after_a_response_end_its_connection_and_harm_no_request_that_waits_for_it() {
    let alone = PoolLimits { connections: 1, waiting: 9, client_share: 100, growth: PoolGrowth::AtOnce };
    let mut world = World::with(Protocol::H2, |config| RelayConfig { pool: alone, ..config });
    let streams = ["/1", "/2"].map(|path| world.get(path));
    world.settle();
    let (conn, ..) = world.requests().remove(0);
    let more = Chunk::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n01234 and more"[..].into());
    world.relay.handle_input(NOW, conn, TransportStream::TCP, &[more]);
    world.settle();
    let (other, id, _) = world.requests().remove(0);
    world.respond(other, id, Body { id: BodyId(1), len: 5 });
    world.settle();
    assert_ne!(other, conn);
    assert_eq!(streams.map(|stream| world.status(stream)), [Some(200); 2]);
}

#[test]
fn content_of_unknown_length_passes_both_ways_with_its_trailers() {
    for protocol in EVERY {
        let mut world = World::new(protocol);
        let fields = Fields::from_pairs([("te", "trailers")]);
        let head = RequestHead::new("POST".into(), "a.test".into(), "/".into(), fields);
        let stream = world.client.request(head.into(), Content::Streamed, Priority::default());
        let run = |offset, len| Chunk::Run { body: BodyId(5), offset, len };
        world.client.append(stream, run(0, 30_000));
        world.settle();
        let (conn, id, head) = world.requests().remove(0);
        assert!(head.fields.get(b"te").is_none() && head.fields.get(b"via").is_some(), "{protocol}");
        world.client.append(stream, run(30_000, 200_000));
        world.client.finish(stream, Fields::from_pairs([("checked", "yes")]));
        world.settle();
        let heard = &world.behind[&conn].events;
        let sum = |event: &Event| if let Event::Data { content, .. } = event { content.len() } else { 0 };
        assert_eq!(heard.iter().map(sum).sum::<u64>(), 230_000, "{protocol}");
        let [.., Event::Trailers { fields, .. }, Event::End { .. }] = &heard[..] else {
            panic!("{protocol}: {heard:?}")
        };
        assert_eq!(fields.get(b"checked"), Some(&b"yes"[..]), "{protocol}");

        let server = &mut world.behind.get_mut(&conn).unwrap().session;
        server.respond(id, Arc::new(ResponseHead::new(200, Fields::default())), Content::Streamed);
        server.append(id, run(0, 100_000));
        server.finish(id, Fields::from_pairs([("sum", "1")]));
        world.settle();
        assert_eq!(world.content(stream), (Some(BodyId(5)), 100_000, true), "{protocol}");
        let trailers = world.events.iter().any(|event| matches!(event, Event::Trailers { .. }));
        assert!(trailers, "{protocol}");
    }
}

#[test]
fn a_request_for_another_server_is_misdirected_rfc9110_15_5_20() {
    let mut world = World::new(Protocol::H2);
    let head = RequestHead::get("b.test", "/", Fields::default());
    let stream = world.client.request(head.into(), Body::EMPTY.into(), Priority::default());
    world.settle();
    assert_eq!((world.status(stream), world.behind.len()), (Some(421), 0));
}

pub(super) fn at(second: u64) -> Time {
    NOW + Duration::from_secs(second)
}

/// A relay that waits for so many seconds: each another number, so that it shows which one rules.
fn patient(config: RelayConfig) -> RelayConfig {
    let span = Duration::from_secs;
    let timeouts = Timeouts { idle: span(20), request: span(30), response: span(40) };
    let server_timeouts = ServerTimeouts { silence: span(50), idle: span(10), ..ServerTimeouts::ENDLESS };
    let pool = PoolLimits { connections: 1, waiting: 1, client_share: 100, growth: PoolGrowth::AtOnce };
    RelayConfig { timeouts, server_timeouts, pool, notes: ExchangeNotes::Kept, ..config }
}

#[test]
fn a_client_that_asks_for_nothing_is_left_and_a_connection_behind_that_is_not_used_is_closed() {
    for protocol in EVERY {
        let mut world = World::with(protocol, patient);
        let stream = world.get("/");
        world.settle();
        let (conn, id, _) = world.requests().remove(0);
        world.respond(conn, id, Body { id: BodyId(1), len: 5 });
        world.settle();
        assert!(world.content(stream).2, "{protocol}");
        world.wait(1, 9);
        assert_eq!(world.closed, [], "{protocol}");
        world.wait(10, 19);
        assert_eq!(world.closed, [conn], "{protocol}");
        world.wait(20, 20);
        assert!(world.closed.contains(&FRONT), "{protocol}: {:?}", world.closed);
        let over = world.relay.poll_exchange().unwrap();
        assert_eq!(
            (over.response.map(|(status, body)| (status, body.len)), over.end, over.rejected),
            (Some((200, 5)), Ending::Complete, None)
        );
        assert!(world.relay.poll_exchange().is_none(), "{protocol}");
    }
}

#[test]
fn a_silent_server_is_a_timeout_and_a_request_that_waits_for_its_connection_is_refused() {
    let mut world = World::with(Protocol::H2, patient);
    let [first, second, third] = ["/1", "/2", "/3"].map(|path| world.get(path));
    world.settle();
    assert_eq!((world.behind.len(), world.status(third)), (1, Some(503)), "one waits, and no more");
    world.wait(1, 49);
    assert_eq!((world.status(first), world.status(second)), (None, None));
    world.wait(50, 50);
    assert_eq!((world.status(first), world.status(second)), (Some(504), Some(503)));
    assert!(world.behind.values().all(|behind| behind.is_aborted));
}

#[test]
fn a_request_whose_content_does_not_come_is_given_up_and_one_that_the_server_does_not_take_is_not() {
    for protocol in EVERY {
        let mut world = World::with(protocol, patient);
        let head = RequestHead::new("POST".into(), "a.test".into(), "/".into(), Fields::default());
        let stream = world.client.request(head.into(), Content::Streamed, Priority::default());
        world.client.append(stream, Chunk::Run { body: BodyId(5), offset: 0, len: 1_000 });
        world.settle();
        world.wait(1, 29);
        assert!(world.behind.values().all(|behind| !behind.is_aborted), "{protocol}");
        world.wait(30, 31);
        assert!(world.behind.values().all(|behind| behind.is_aborted), "{protocol}");
        if protocol.is_multiplexed() {
            assert_eq!(world.status(stream), Some(408), "{protocol}");
        } else {
            assert!(world.closed.contains(&FRONT), "{protocol}");
        }
    }
}

#[test]
fn a_server_that_answers_early_is_gone_while_the_rest_of_the_request_still_comes() {
    for protocol in EVERY {
        let mut world = World::new(protocol);
        let head = RequestHead::new("POST".into(), "a.test".into(), "/".into(), Fields::default());
        let stream = world.client.request(head.into(), Content::Streamed, Priority::default());
        let run = |offset| Chunk::Run { body: BodyId(5), offset, len: 1_000 };
        world.client.append(stream, run(0));
        world.settle();
        let (conn, id, _) = world.requests().remove(0);
        // The client reads nothing for a while, so its response stays here.
        let pace = std::mem::take(&mut world.pace);
        world.respond(conn, id, Body { id: BodyId(1), len: 5 });
        world.settle();
        assert!(world.behind[&conn].is_aborted, "{protocol}: the rest would be taken for another request");
        world.client.append(stream, run(1_000));
        world.client.finish(stream, Fields::from_pairs([("checked", "yes")]));
        world.settle();
        world.pace = pace;
        world.settle();
        assert_eq!((world.status(stream), world.content(stream).1), (Some(200), 5), "{protocol}");
    }
}
