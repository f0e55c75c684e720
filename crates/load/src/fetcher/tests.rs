//! What a fetcher does when servers do not simply answer.

use super::*;
use crate::Opener;
use loadstone_http::{Body, Multiplexing, Priority, Push, TransportStream};

const NOW: Time = Time::ZERO;
const ONE: NonZeroU32 = NonZeroU32::MIN;

/// A fetcher, and what it has done.
struct World {
    fetcher: Fetcher,
    opened: Vec<ConnId>,
    closed: Vec<ConnId>,
    /// What it has sent on each connection, in bytes.
    sent: Vec<Vec<u8>>,
    contents: Vec<BodyPiece>,
}

fn config(protocol: Protocol) -> Config {
    let multiplexing = Multiplexing { push: Push::Accept, ..Multiplexing::default() };
    let sessions = Arc::new(SessionFactory::new(multiplexing));
    Config { protocol: Some(protocol), connections: ONE, concurrency: None, repeat: ONE, ping: Ping::Never, sessions }
}

fn errand(method: &str, count: usize) -> FetchList {
    let mut errand = FetchList::new(RequestTemplate::new(method, &[], None).unwrap());
    (0..count).for_each(|at| errand.add(&format!("http://a.test/{at}"), Priority::default()).unwrap());
    errand
}

impl World {
    fn new(errand: FetchList, config: Config) -> World {
        let (opened, closed, sent, contents) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut world = World { fetcher: Fetcher::new(errand, config), opened, closed, sent, contents };
        world.fetcher.start(&[1]);
        world.drain();
        world
    }

    fn drain(&mut self) {
        while let Some(action) = self.fetcher.poll_action() {
            match action {
                Action::Open { tag, .. } => {
                    let conn = ConnId(self.opened.len() as u32);
                    self.fetcher.handle_opening(NOW, conn, tag);
                    self.opened.push(conn);
                    self.sent.push(Vec::new());
                }
                Action::Close { conn } => self.closed.push(conn),
                Action::Receive { .. } | Action::Abort { .. } | Action::Resolve { .. } => {
                    panic!("a fetcher does nothing of the kind")
                }
                Action::Transmit { conn } => {
                    let mut wire = Wire::default();
                    self.fetcher.poll_transmit(NOW, conn, TransportStream::TCP, usize::MAX, &mut wire);
                    for chunk in wire.take_all() {
                        let Chunk::Bytes(bytes) = chunk else { continue };
                        self.sent[conn.0 as usize].extend_from_slice(&bytes);
                    }
                }
            }
        }
        while let Some(content) = self.fetcher.poll_content() {
            self.contents.push(content);
        }
    }

    /// The latest connection is established.
    fn accept(&mut self, protocol: Protocol) -> ConnId {
        let conn = *self.opened.last().unwrap();
        self.fetcher.handle_open(NOW, conn, Opened::by(Opener::Us, protocol));
        self.drain();
        conn
    }

    fn answer(&mut self, conn: ConnId, bytes: &[u8]) {
        self.fetcher.handle_input(NOW, conn, TransportStream::TCP, &[Chunk::Bytes(bytes.to_vec().into())]);
        self.drain();
    }

    fn close(&mut self, conn: ConnId, how: Closed) {
        self.fetcher.handle_close(NOW, conn, how);
        self.drain();
    }

    /// How many requests of HTTP/1.1 were sent on a connection.
    fn asked(&self, conn: ConnId) -> usize {
        String::from_utf8_lossy(&self.sent[conn.0 as usize]).matches(" HTTP/1.1\r\n").count()
    }

    fn failures(self) -> Vec<Option<Unanswered>> {
        let (transfers, _) = self.fetcher.finish(Unanswered::TimedOut);
        transfers.iter().map(|transfer| transfer.failure).collect()
    }
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx";

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u32).to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn settings() -> Vec<u8> {
    frame(4, 0, 0, &[])
}

/// Status 200 without a body, which ends the stream.
fn answer_on(stream: u32) -> Vec<u8> {
    frame(1, 5, stream, &[0x88])
}

fn go_away(last: u32) -> Vec<u8> {
    frame(7, 0, 0, &[last.to_be_bytes(), [0; 4]].concat())
}

#[test]
fn what_a_pipeline_leaves_unanswered_is_asked_for_again_one_by_one_rfc9112_9_3_2() {
    let mut world = World::new(errand("GET", 4), config(Protocol::Http1Pipelining));
    let first = world.accept(Protocol::Http1Pipelining);
    assert_eq!(world.asked(first), 4);
    world.answer(first, OK);
    world.close(first, Closed::Finished);
    let second = world.accept(Protocol::Http1Pipelining);
    for left in 1..=3 {
        assert_eq!(world.asked(second), left);
        world.answer(second, OK);
    }
    assert!(world.fetcher.is_over());
    assert_eq!((world.opened.len(), world.failures()), (2, vec![None; 4]));
}

#[test]
fn what_may_not_be_done_twice_is_not_asked_for_again_rfc9110_9_2_2() {
    let mut world = World::new(errand("POST", 2), config(Protocol::Http1));
    let first = world.accept(Protocol::Http1);
    world.close(first, Closed::Failed);
    // The second one was never sent.
    let second = world.accept(Protocol::Http1);
    world.answer(second, OK);
    assert_eq!(world.failures(), [Some(Unanswered::Closed), None]);
}

#[test]
fn a_response_that_is_cut_short_has_failed_with_what_has_come_of_it() {
    let mut world = World::new(errand("GET", 1), config(Protocol::Http1));
    let conn = world.accept(Protocol::Http1);
    world.answer(conn, b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc");
    world.close(conn, Closed::Finished);
    assert!(world.fetcher.is_over());
    let piece = BodyPiece::Piece { transfer: TransferId(0), chunk: Chunk::Bytes(b"abc".as_slice().into()) };
    assert_eq!(world.contents, [piece, BodyPiece::Cut { transfer: TransferId(0) }]);
    let (transfers, _) = world.fetcher.finish(Unanswered::TimedOut);
    assert_eq!((transfers[0].failure, transfers[0].bytes), (Some(Unanswered::Closed), 3));
}

#[test]
fn a_server_that_only_ever_closes_is_given_up_after_four_connections() {
    let mut world = World::new(errand("GET", 3), config(Protocol::Http1));
    while !world.fetcher.is_over() {
        assert!(world.opened.len() <= 4);
        let conn = world.accept(Protocol::Http1);
        world.close(conn, Closed::Finished);
    }
    assert_eq!((world.opened.len(), world.failures()), (4, vec![Some(Unanswered::Closed); 3]));
}

#[test]
fn a_server_that_lets_nothing_be_asked_is_given_up_too() {
    let mut world = World::new(errand("GET", 3), config(Protocol::H2));
    while !world.fetcher.is_over() {
        assert!(world.opened.len() <= 4);
        let conn = world.accept(Protocol::H2);
        world.answer(conn, &settings());
        world.answer(conn, &go_away(0));
    }
    assert_eq!((world.opened.len(), world.failures()), (4, vec![Some(Unanswered::Refused); 3]));
}

#[test]
fn a_server_that_closes_after_each_answer_is_asked_to_the_end() {
    let mut world = World::new(errand("GET", 20), config(Protocol::Http1));
    while !world.fetcher.is_over() {
        let conn = world.accept(Protocol::Http1);
        world.answer(conn, b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        world.close(conn, Closed::Finished);
    }
    assert_eq!((world.opened.len(), world.failures()), (20, vec![None; 20]));
}

#[test]
fn what_goaway_leaves_untouched_is_asked_for_on_another_connection_rfc9113_6_8() {
    let mut world = World::new(errand("GET", 3), config(Protocol::H2));
    let first = world.accept(Protocol::H2);
    world.answer(first, &[settings(), go_away(1)].concat());
    let second = world.accept(Protocol::H2);
    assert_ne!(first, second);
    // What it has taken, it still answers.
    world.answer(first, &answer_on(1));
    assert_eq!(world.closed, [first]);
    world.answer(second, &[settings(), answer_on(1), answer_on(3)].concat());
    assert!(world.fetcher.is_over());
    assert_eq!(world.failures(), [None; 3]);
}

/// REFUSED_STREAM.
fn refusal_of(stream: u32) -> Vec<u8> {
    frame(3, 0, stream, &7_u32.to_be_bytes())
}

#[test]
fn a_refused_stream_is_asked_for_again_when_another_has_been_answered_rfc9113_8_7() {
    let mut world = World::new(errand("POST", 2), config(Protocol::H2));
    let conn = world.accept(Protocol::H2);
    world.answer(conn, &[settings(), refusal_of(1)].concat());
    let asked = world.sent[0].len();
    world.answer(conn, &frame(6, 0, 0, &[0; 8]));
    assert_eq!(world.sent[0].len(), asked + 17, "nothing but what answers the PING");
    world.answer(conn, &answer_on(3));
    world.answer(conn, &answer_on(5));
    assert!(world.fetcher.is_over());
    assert_eq!(world.opened, [conn]);
    let (transfers, _) = world.fetcher.finish(Unanswered::TimedOut);
    assert_eq!(transfers.iter().map(|transfer| transfer.attempts).collect::<Vec<_>>(), [2, 1]);
    assert!(transfers.iter().all(|transfer| transfer.last_byte.is_some()));
}

#[test]
fn a_server_that_allows_few_streams_is_asked_on_one_connection_rfc9113_5_1_2() {
    const LIMIT: u32 = 2;
    let mut world = World::new(errand("GET", 20), config(Protocol::H2));
    let conn = world.accept(Protocol::H2);
    // Its settings arrive when all has been asked for already.
    let limit = frame(4, 0, 0, &[&[0, 3][..], &LIMIT.to_be_bytes()].concat());
    let refused: Vec<u8> = (LIMIT..20).flat_map(|at| refusal_of(2 * at + 1)).collect();
    world.answer(conn, &[limit, refused].concat());
    (0..LIMIT).for_each(|at| world.answer(conn, &answer_on(2 * at + 1)));
    (20..38).for_each(|at| world.answer(conn, &answer_on(2 * at + 1)));
    assert!(world.fetcher.is_over());
    assert_eq!((world.opened.len(), world.failures()), (1, vec![None; 20]));
}

#[test]
fn what_was_refused_with_all_the_rest_is_asked_for_on_another_connection_rfc9113_8_7() {
    let mut world = World::new(errand("POST", 2), config(Protocol::H2));
    let first = world.accept(Protocol::H2);
    world.answer(first, &[settings(), refusal_of(1), refusal_of(3)].concat());
    assert_eq!(world.closed, [first]);
    let second = world.accept(Protocol::H2);
    world.answer(second, &[settings(), answer_on(1), answer_on(3)].concat());
    assert!(world.fetcher.is_over());
    assert_eq!((world.opened.len(), world.failures()), (2, vec![None; 2]));
}

#[test]
fn a_server_that_refuses_everything_is_given_up_after_four_connections() {
    let mut world = World::new(errand("GET", 2), config(Protocol::H2));
    while !world.fetcher.is_over() {
        let conn = world.accept(Protocol::H2);
        world.answer(conn, &[settings(), refusal_of(1), refusal_of(3)].concat());
    }
    assert_eq!((world.opened.len(), world.failures()), (4, vec![Some(Unanswered::Refused); 2]));
}

#[test]
fn a_server_that_breaks_the_protocol_fails_what_it_had_begun_and_is_told() {
    let mut world = World::new(errand("GET", 1), config(Protocol::H2));
    let conn = world.accept(Protocol::H2);
    let asked = world.sent[0].len();
    world.answer(conn, &[settings(), frame(0, 0, 0, b"data on stream 0")].concat());
    assert!(world.fetcher.is_over());
    assert!(world.sent[0].len() > asked, "it is told why");
    let (transfers, uses) = world.fetcher.finish(Unanswered::TimedOut);
    assert!(matches!(transfers[0].failure, Some(Unanswered::ProtocolError(_))), "{:?}", transfers[0].failure);
    assert!(uses[0].fault.is_some());
}

#[test]
fn a_stream_that_is_reset_has_failed_and_the_others_go_on() {
    let mut world = World::new(errand("GET", 2), config(Protocol::H2));
    let conn = world.accept(Protocol::H2);
    world.answer(conn, &[settings(), frame(3, 0, 1, &2_u32.to_be_bytes()), answer_on(3)].concat());
    assert_eq!((world.opened.len(), world.failures()), (1, vec![Some(Unanswered::Reset), None]));
}

#[test]
fn what_is_pushed_follows_with_its_parent() {
    for protocol in [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2] {
        let config = config(protocol);
        let mut server = config.sessions.server(protocol);
        let mut world = World::new(errand("GET", 1), config);
        let conn = world.accept(protocol);
        server.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(world.sent[0].clone().into())]).unwrap();
        let Some(Event::Request { id, head }) = server.poll_event() else { panic!("{protocol}") };
        let fields = loadstone_http::Fields::default;
        let pushed = RequestHead::new(head.method.clone(), head.authority.clone(), "/pushed".into(), fields());
        let promised = server.push(id, pushed.over(head.scheme).into(), Priority::default()).unwrap();
        for (stream, status) in [(promised, 200), (id, 404)] {
            server.respond(stream, ResponseHead::new(status, fields()).into(), Body::EMPTY.into());
        }
        let mut wire = Wire::default();
        server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
        world.fetcher.handle_input(NOW, conn, TransportStream::TCP, &wire.take_all());
        world.drain();
        assert!(world.fetcher.is_over(), "{protocol}");
        let (transfers, _) = world.fetcher.finish(Unanswered::TimedOut);
        let told = |transfer: &Transfer| (transfer.parent, transfer.response.as_ref().map(|head| head.status));
        assert_eq!(
            transfers.iter().map(told).collect::<Vec<_>>(),
            [(None, Some(404)), (Some(TransferId(0)), Some(200))]
        );
        assert_eq!(&transfers[1].request.path[..], b"/pushed");
    }
}

#[test]
fn no_more_is_asked_at_a_time_than_was_allowed() {
    let concurrency = NonZeroU32::new(2);
    let repeat = NonZeroU32::new(3).unwrap();
    let mut world = World::new(errand("GET", 2), Config { concurrency, repeat, ..config(Protocol::H2) });
    let conn = world.accept(Protocol::H2);
    let asked = |world: &World| world.fetcher.transfers.iter().filter(|transfer| transfer.sent.is_some()).count();
    world.answer(conn, &settings());
    for (stream, expected) in [(1, 3), (3, 4), (5, 5), (7, 6), (9, 6), (11, 6)] {
        world.answer(conn, &answer_on(stream));
        assert_eq!(asked(&world), expected);
    }
    assert!(world.fetcher.is_over());
    assert_eq!(world.failures(), [None; 6]);
}

#[test]
fn connections_of_http1_are_as_many_as_were_allowed_and_no_more_than_are_needed() {
    let connections = NonZeroU32::new(3).unwrap();
    let opened =
        |count| World::new(errand("GET", count), Config { connections, ..config(Protocol::Http1) }).opened.len();
    assert_eq!([1, 2, 9].map(opened), [1, 2, 3]);
}
