//! Requests with content that a server has not handled: they are made again with the content that has gone already.

use super::behind_h2::shared;
use super::*;
use bytes::Bytes;
use proptest::prelude::*;

/// The window of a stream in front.
const STREAM_WINDOW: u32 = 65_536;

/// How a server says that it has not handled its first stream (RFC 9113, section 8.7).
#[derive(Clone, Copy, Debug)]
enum Refusal {
    GoAway,
    RefusedStream,
}

const REFUSALS: [Refusal; 2] = [Refusal::GoAway, Refusal::RefusedStream];

/// Content of so many bytes from there on, no two places of it alike.
fn bytes(from: usize, len: usize) -> Bytes {
    (from..from + len).map(|at| ((at * 7919) >> 5) as u8).collect()
}

impl World {
    /// A world whose servers speak HTTP/2.
    fn behind_h2(protocol: Protocol) -> World {
        World::with(protocol, |config| RelayConfig { notes: ExchangeNotes::Kept, ..shared(config) })
    }

    /// Begins a request with content.
    fn upload(&mut self, method: &'static str, fields: &[(&str, &str)]) -> RequestId {
        let fields = Fields::from_pairs(fields.iter().copied());
        let head = RequestHead::new(method.into(), "a.test".into(), "/order".into(), fields);
        self.client.request(head.into(), Content::Streamed, Priority::default())
    }

    /// Sends content from one place to another, and lets it go as far as it does.
    fn send(&mut self, stream: RequestId, from: usize, len: usize) {
        self.client.append(stream, Chunk::Bytes(bytes(from, len)));
        self.settle();
    }

    /// The only request that has come since.
    fn reached(&mut self) -> (ConnId, RequestId) {
        let requests = self.requests();
        let [(conn, id, head)] = &requests[..] else { panic!("{requests:?}") };
        assert_eq!(&head.path[..], b"/order");
        (*conn, *id)
    }

    /// The server says that it has not handled the first request of a connection.
    fn refuse(&mut self, conn: ConnId, how: Refusal) {
        let frame = match how {
            Refusal::GoAway => vec![0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            Refusal::RefusedStream => vec![0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 7],
        };
        self.relay.handle_input(self.now, conn, TransportStream::TCP, &[Chunk::Bytes(frame.into())]);
    }

    /// The content that came with a request, and whether it has come to its end.
    fn received(&self, (conn, id): (ConnId, RequestId)) -> (Vec<u8>, bool) {
        let (mut content, mut is_whole) = (Vec::new(), false);
        for event in self.behind[&conn].events.iter().filter(|event| event.request() == Some(id)) {
            match event {
                Event::Data { content: Chunk::Bytes(more), .. } if !is_whole => content.extend_from_slice(more),
                Event::Trailers { .. } => {}
                Event::End { .. } if !is_whole => is_whole = true,
                other => panic!("{other:?}"),
            }
        }
        (content, is_whole)
    }

    /// The server answers, and the client gets that; then nothing is kept any more.
    fn complete(&mut self, stream: RequestId, (conn, id): (ConnId, RequestId)) {
        self.respond(conn, id, Body { id: BodyId(1), len: 5 });
        self.settle();
        assert_eq!((self.status(stream), self.content(stream)), (Some(200), (Some(BodyId(1)), 5, true)));
        self.assert_one_exchange(Some(200));
    }

    fn assert_one_exchange(&mut self, status: Option<u16>) {
        let over: Vec<Exchange> = std::iter::from_fn(|| self.relay.poll_exchange()).collect();
        let statuses: Vec<Option<u16>> = over.iter().map(|it| it.response.map(|(status, _)| status)).collect();
        assert_eq!((statuses, self.relay.kept, self.relay.early.len()), (vec![status], 0, 0));
    }
}

#[test]
fn a_request_that_was_not_handled_is_made_again_with_its_content_and_trailers_rfc9113_8_7() {
    for (protocol, refusal) in EVERY.into_iter().flat_map(|protocol| REFUSALS.map(|refusal| (protocol, refusal))) {
        let mut world = World::behind_h2(protocol);
        let stream = world.upload("POST", &[]);
        world.client.append(stream, Chunk::Bytes(bytes(0, 10_000)));
        world.client.finish(stream, Fields::from_pairs([("checked", "yes")]));
        world.settle();
        let first = world.reached();
        assert_eq!(world.received(first), (bytes(0, 10_000).to_vec(), true), "{protocol}");
        world.refuse(first.0, refusal);
        world.settle();
        let again = world.reached();
        assert_ne!(again, first, "{protocol} {refusal:?}");
        assert_eq!(world.received(again), (bytes(0, 10_000).to_vec(), true), "{protocol} {refusal:?}");
        let is_checked = |event: &Event| matches!(event, Event::Trailers { id, fields } if *id == again.1 && fields.get(b"checked") == Some(b"yes"));
        assert_eq!(world.behind[&again.0].events.iter().filter(|event| is_checked(event)).count(), 1);
        world.complete(stream, again);
    }
}

#[test]
fn what_the_client_still_sends_follows_what_is_kept_once() {
    for (protocol, refusal) in EVERY.into_iter().flat_map(|protocol| REFUSALS.map(|refusal| (protocol, refusal))) {
        let mut world = World::behind_h2(protocol);
        let stream = world.upload("POST", &[("content-length", "30000")]);
        world.send(stream, 0, 10_000);
        let first = world.reached();
        world.refuse(first.0, refusal);
        world.send(stream, 10_000, 15_000);
        let again = world.reached();
        world.send(stream, 25_000, 5_000);
        world.client.finish(stream, Fields::default());
        world.settle();
        assert_eq!(world.received(again), (bytes(0, 30_000).to_vec(), true), "{protocol} {refusal:?}");
        world.complete(stream, again);
    }
}

#[test]
fn of_a_request_that_has_sent_more_than_is_kept_nothing_is_kept_and_it_is_a_bad_gateway() {
    for (len, is_repeated) in [(55_000, true), (64_000, false)] {
        let mut world = World::behind_h2(Protocol::H2);
        let stream = world.upload("PUT", &[]);
        world.send(stream, 0, len);
        assert_eq!(world.relay.kept > 55_000, is_repeated);
        let first = world.reached();
        world.refuse(first.0, Refusal::RefusedStream);
        world.settle();
        assert_eq!((world.requests().len() == 1, world.status(stream) == Some(502)), (is_repeated, !is_repeated));
    }
    // Small pieces cost more than their bytes.
    let mut world = World::behind_h2(Protocol::H2);
    let stream = world.upload("PUT", &[]);
    (0..2_000).for_each(|at| world.send(stream, at, 1));
    world.refuse(ConnId(1), Refusal::RefusedStream);
    world.settle();
    assert_eq!(world.status(stream), Some(502));
}

#[test]
fn content_takes_half_of_what_is_kept_of_requests_and_is_dropped_with_the_answers_head() {
    let of_connection = MaxKept { connection: 40_000, ..MaxKept::UNLIMITED };
    let of_all = MaxKept { all: 40_000, ..MaxKept::UNLIMITED };
    for max_kept in [of_connection, of_all] {
        let mut world = World::with(Protocol::H2, |config| RelayConfig { max_kept, ..shared(config) });
        let (small, large) = (world.upload("POST", &[("number", "1")]), world.upload("POST", &[("number", "2")]));
        world.send(small, 0, 12_000);
        world.send(large, 0, 12_000);
        let heads = world.relay.kept - 12_000;
        assert!(heads < 2_000, "the second has no room: {heads}");
        world.refuse(ConnId(1), Refusal::GoAway);
        world.settle();
        assert_eq!((world.status(small), world.status(large)), (None, Some(502)));
        let [.., (conn, id, _)] = &world.requests()[..] else { panic!("nothing has come") };
        assert!(world.relay.kept > 12_000);
        let head = Arc::new(ResponseHead::new(200, Fields::default()));
        world.behind.get_mut(conn).unwrap().session.respond(*id, head, Content::Streamed);
        world.settle();
        assert!((1..1_000).contains(&world.relay.kept), "its head: {}", world.relay.kept);
    }
}

#[test]
fn windows_open_once_for_what_goes_out_twice_and_a_large_upload_arrives_whole() {
    for protocol in EVERY {
        let window = loadstone_units::Bounded::known(STREAM_WINDOW);
        let multiplexing = Multiplexing { stream_window: window, session_window: window, ..Multiplexing::default() };
        let sessions = Arc::new(SessionFactory::new(multiplexing));
        let mut world = World::with(protocol, |config| RelayConfig { sessions, ..shared(config) });
        let stream = world.upload("POST", &[]);
        world.send(stream, 0, 30_000);
        let first = world.reached();
        world.hanging.insert(SERVER);
        world.refuse(first.0, Refusal::GoAway);
        world.send(stream, 30_000, 1_000_000);
        world.client.finish(stream, Fields::default());
        world.settle();
        let has_window = !matches!(protocol, Protocol::Http1 | Protocol::Spdy2);
        let waiting = world.client.buffered(stream);
        assert!(!has_window || waiting >= 1_000_000 - u64::from(STREAM_WINDOW), "{protocol}: {waiting}");
        let again = (ConnId(2), RequestId(0));
        world.connect(again.0, SERVER);
        let (mut resent, mut windows) = (Wire::default(), Wire::default());
        world.relay.poll_transmit(NOW, again.0, TransportStream::TCP, 29_000, &mut resent);
        world.relay.poll_transmit(NOW, FRONT, TransportStream::TCP, 10_000, &mut windows);
        assert!(windows.is_empty(), "{protocol}: what goes out again was used before");
        while let Some(action) = world.relay.poll_action() {
            assert!(!matches!(action, Action::Receive { conn: FRONT, .. }), "{protocol}: the same");
        }
        let server = &mut world.behind.get_mut(&again.0).unwrap().session;
        server.handle_input(NOW, TransportStream::TCP, &resent.take_all()).unwrap();
        world.behind.get_mut(&again.0).unwrap().limit = WINDOW;
        world.settle();
        assert!(world.received(again) == (bytes(0, 1_030_000).to_vec(), true), "{protocol}");
        world.respond(again.0, again.1, Body { id: BodyId(1), len: 5 });
        world.settle();
        assert_eq!((world.status(stream), world.relay.kept), (Some(200), 0), "{protocol}");
        let held = world.relay.peak_held();
        assert!(!has_window || held <= 30_000 + u64::from(STREAM_WINDOW), "{protocol}: {held}");
    }
}

#[test]
fn of_what_clients_upload_no_more_is_held_than_a_window_has() {
    for protocol in [Protocol::Spdy3, Protocol::Spdy31, Protocol::H2] {
        let mut world = World::with(protocol, |config| RelayConfig {
            sessions: Arc::new(SessionFactory::new(windows_in_front(Multiplexing::default()))),
            ..shared(config)
        });
        world.hanging.insert(SERVER);
        let streams: Vec<RequestId> = (0..6).map(|_| world.upload("POST", &[])).collect();
        streams.iter().for_each(|stream| world.send(*stream, 0, 1_000_000));
        let held: Vec<u64> = streams.iter().map(|stream| 1_000_000 - world.client.buffered(*stream)).collect();
        // SPDY/3 has no window of the session.
        let most = if protocol == Protocol::Spdy3 { 6 } else { 4 };
        assert_eq!((held[0], held.iter().sum()), (262_144, most * 262_144), "{protocol}");
    }
}

#[test]
fn smaller_windows_in_front_stay_as_they_are() {
    let window = loadstone_units::Bounded::known(STREAM_WINDOW);
    let small = Multiplexing { stream_window: window, session_window: window, ..Multiplexing::default() };
    let granted = windows_in_front(small);
    assert_eq!((granted.stream_window, granted.session_window), (window, window));
}

#[test]
fn a_client_that_waits_for_100_gets_it_from_the_server_that_handles_its_request_rfc9110_10_1_1() {
    let mut world = World::behind_h2(Protocol::H2);
    let stream = world.upload("POST", &[("expect", "100-continue"), ("content-length", "5")]);
    world.settle();
    let first = world.reached();
    world.refuse(first.0, Refusal::GoAway);
    world.settle();
    let again = world.reached();
    let go_on = Arc::new(ResponseHead::new(100, Fields::default()));
    world.behind.get_mut(&again.0).unwrap().session.send_interim(again.1, go_on);
    world.settle();
    assert!(matches!(&world.events[..], [.., Event::Interim { head, .. }] if head.status == 100));
    world.send(stream, 0, 5);
    world.client.finish(stream, Fields::default());
    world.settle();
    assert_eq!(world.received(again), (bytes(0, 5).to_vec(), true));
    world.complete(stream, again);
}

#[test]
fn who_has_said_100_has_begun_with_the_request_and_it_is_not_made_again() {
    let mut world = World::behind_h2(Protocol::H2);
    let stream = world.upload("POST", &[("content-length", "5")]);
    world.send(stream, 0, 3);
    let first = world.reached();
    let go_on = Arc::new(ResponseHead::new(100, Fields::default()));
    world.behind.get_mut(&first.0).unwrap().session.send_interim(first.1, go_on);
    world.settle();
    world.refuse(first.0, Refusal::RefusedStream);
    world.settle();
    assert_eq!((world.requests().len(), world.status(stream)), (0, Some(502)));
}

#[test]
fn a_request_is_not_made_a_third_time_and_one_that_the_client_cancels_meanwhile_not_at_all() {
    let mut world = World::behind_h2(Protocol::H2);
    let stream = world.upload("POST", &[]);
    world.send(stream, 0, 1_000);
    world.refuse(ConnId(1), Refusal::GoAway);
    world.settle();
    assert_eq!(world.requests().len(), 2);
    world.refuse(ConnId(2), Refusal::GoAway);
    world.settle();
    assert_eq!((world.requests().len(), world.status(stream)), (0, Some(502)));
    world.client.cancel(stream);
    world.settle();
    world.assert_one_exchange(Some(502));

    for hangs in [true, false] {
        let mut world = World::behind_h2(Protocol::H2);
        let stream = world.upload("POST", &[]);
        world.send(stream, 0, 1_000);
        world.hanging.extend(hangs.then_some(SERVER));
        world.refuse(ConnId(1), Refusal::GoAway);
        world.settle();
        world.client.cancel(stream);
        world.settle();
        world.assert_one_exchange(None);
        assert_eq!(world.behind.len(), if hangs { 1 } else { 2 });
        if !hangs {
            let is_reset = |event: &Event| matches!(event, Event::Reset { .. });
            assert!(world.behind[&ConnId(2)].events.iter().any(is_reset));
        }
    }
}

#[test]
fn over_http1_only_an_idempotent_request_on_a_used_connection_is_made_again_rfc9110_9_2_2() {
    for (method, was_used, is_repeated) in
        [("PUT", true, true), ("POST", true, false), ("PUT", false, false), ("POST", false, false)]
    {
        let mut world = World::new(Protocol::H2);
        if was_used {
            let before = world.get("/");
            world.settle();
            let (conn, id, _) = world.requests().remove(0);
            world.respond(conn, id, Body { id: BodyId(2), len: 5 });
            world.settle();
            assert!(world.content(before).2);
        }
        let stream = world.upload(method, &[]);
        world.send(stream, 0, 10_000);
        let first = world.reached();
        world.relay.handle_close(NOW, first.0, Closed::Finished);
        world.send(stream, 10_000, 1_000);
        world.client.finish(stream, Fields::default());
        world.settle();
        if is_repeated {
            let again = world.reached();
            assert_eq!((again.0, world.received(again)), (ConnId(2), (bytes(0, 11_000).to_vec(), true)));
            world.respond(again.0, again.1, Body { id: BodyId(1), len: 5 });
            world.settle();
        }
        let status = if is_repeated { 200 } else { 502 };
        assert_eq!((world.status(stream), world.requests().len()), (Some(status), 0), "{method} {was_used}");
    }
}

proptest! {
    #[test]
    fn the_server_that_handles_a_request_gets_exactly_what_its_client_sent(
        pieces in prop::collection::vec(1_usize..9_000, 0..12),
        refused_after in 0_usize..13,
        turns in 0_usize..20,
        refusal in prop::sample::select(&REFUSALS[..]),
        protocol in prop::sample::select(&EVERY[..]),
    ) {
        let mut world = World::behind_h2(protocol);
        let stream = world.upload("POST", &[]);
        let (mut sent, mut is_refused) = (0, false);
        for number in 0..=pieces.len() {
            if let Some(len) = pieces.get(number) {
                world.client.append(stream, Chunk::Bytes(bytes(sent, *len)));
                sent += len;
            } else {
                world.client.finish(stream, Fields::default());
            }
            (0..turns).for_each(|_| _ = world.turn());
            if number >= refused_after && !is_refused && !world.behind.values().all(|it| it.requests.is_empty()) {
                world.refuse(ConnId(1), refusal);
                is_refused = true;
            }
        }
        world.settle();
        let requests = world.requests();
        let (conn, id, _) = requests.last().unwrap();
        if world.status(stream) == Some(502) {
            prop_assert!(sent > 55_000 && is_refused);
        } else {
            prop_assert_eq!(requests.len(), 1 + usize::from(is_refused));
            prop_assert!(world.received((*conn, *id)) == (bytes(0, sent).to_vec(), true));
            world.complete(stream, (*conn, *id));
        }
    }
}
