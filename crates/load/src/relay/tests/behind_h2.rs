//! Servers that speak HTTP/2: many requests share a connection, and each is its own.

use super::*;

/// A relay that speaks HTTP/2 to servers.
pub(super) fn shared(config: RelayConfig) -> RelayConfig {
    let server_sessions = Arc::new(SessionFactory::new(windows_behind(Multiplexing::default())));
    RelayConfig { server_sessions, server_protocol: ServerProtocol::H2, ..config }
}

/// Servers that take so many requests at a time on a connection.
fn taking(world: &mut World, streams: u32) {
    let streams = loadstone_units::Bounded::known(streams);
    world.sessions = Arc::new(SessionFactory::new(Multiplexing { streams, ..Multiplexing::default() }));
}

impl World {
    /// Requests of the client that reach servers, each with the stream in front, by the paths `/0`, `/1` and so on.
    fn ask(&mut self, count: usize) -> Vec<(RequestId, ConnId, RequestId)> {
        let fronts: Vec<RequestId> = (0..count).map(|number| self.get(&format!("/{number}"))).collect();
        self.settle();
        let mut asked = self.requests();
        asked.sort_by_key(|(.., head)| head.path.clone());
        fronts.into_iter().zip(asked).map(|(front, (conn, id, _))| (front, conn, id)).collect()
    }

    fn resets(&self, conn: ConnId) -> Vec<RequestId> {
        let reset = |event: &Event| if let Event::Reset { id } = event { Some(*id) } else { None };
        self.behind[&conn].events.iter().filter_map(reset).collect()
    }
}

#[test]
fn a_thousand_objects_come_whole_over_one_connection_whatever_is_spoken_in_front() {
    for protocol in EVERY {
        let mut world = World::with(protocol, shared);
        let (mut asked, mut streams) = (0, Vec::new());
        while world.events.iter().filter(|event| matches!(event, Event::End { .. })).count() < 1_000 {
            while asked < 1_000 && world.client.capacity() > 0 {
                streams.push(world.get(&format!("/{asked}")));
                asked += 1;
            }
            assert!(world.turn(), "{protocol}: it stands still");
            for (conn, id, head) in world.requests() {
                assert!(head.fields.get(b"via").is_some() && &head.authority[..] == b"a.test");
                let number: u32 = std::str::from_utf8(&head.path[1..]).unwrap().parse().unwrap();
                world.respond(conn, id, Body { id: BodyId(number), len: u64::from(number * 7919 % 12_000) });
            }
        }
        for (number, stream) in (0..).zip(streams) {
            let len = u64::from(number * 7919 % 12_000);
            assert_eq!(world.content(stream), ((len > 0).then_some(BodyId(number)), len, true), "{protocol} {number}");
        }
        assert_eq!(world.behind.len(), 1, "{protocol}");
        assert_eq!(
            world.relay.gauges().servers[&SERVER],
            PoolGauges { open: 1, idle: 1, opening: 0, waiting: 0, is_healthy: true }
        );
    }
}

#[test]
fn another_connection_is_opened_when_one_takes_no_more_and_requests_wait_when_there_may_be_no_other() {
    let pool = PoolLimits { connections: 2, waiting: 1, client_share: 100, growth: PoolGrowth::AtOnce };
    let mut world = World::with(Protocol::H2, |config| RelayConfig { pool, ..shared(config) });
    taking(&mut world, 2);
    let asked: Vec<_> = (0..4).flat_map(|_| world.ask(1)).collect();
    world.ask(2);
    let conns: Vec<ConnId> = asked.iter().map(|(_, conn, _)| *conn).collect();
    assert_eq!(conns, [1, 1, 2, 2].map(ConnId), "two on each, of which the server takes no more");
    assert_eq!(
        world.relay.gauges().servers[&SERVER],
        PoolGauges { open: 2, idle: 0, opening: 0, waiting: 1, is_healthy: true }
    );
    let refused =
        world.events.iter().filter(|event| matches!(event, Event::Response { head, .. } if head.status == 503));
    assert_eq!(refused.count(), 1, "one waits, and no more");
    let (_, conn, id) = asked[0];
    world.respond(conn, id, Body { id: BodyId(1), len: 5 });
    world.settle();
    assert_eq!(world.requests().len(), 1, "who has waited is next");
}

#[test]
fn a_client_that_does_not_read_holds_a_window_of_its_stream_and_stops_no_other() {
    let mut world = World::with(Protocol::H2, shared);
    let sessions = SessionFactory::new(Multiplexing {
        stream_window: loadstone_units::Bounded::known(65_536),
        ..Multiplexing::default()
    });
    world.client = sessions.client(Protocol::H2);
    let asked = world.ask(2);
    world.client.hold();
    let [(slow, conn, first), (quick, _, second)] = asked[..] else { panic!("{asked:?}") };
    world.respond(conn, first, Body { id: BodyId(1), len: 10_000_000 });
    world.settle();
    assert_eq!(world.content(slow), (Some(BodyId(1)), 65_536, false), "what its window takes");
    let held = world.relay.peak_held();
    assert_eq!(held, 256 * 1024 - 65_536, "the rest of what the server may send");
    world.respond(conn, second, Body { id: BodyId(2), len: 50_000 });
    world.settle();
    assert_eq!(world.content(quick), (Some(BodyId(2)), 50_000, true));
    for _ in 0..200 {
        world.client.release(slow, 65_536);
        world.settle();
    }
    assert_eq!(world.content(slow), (Some(BodyId(1)), 10_000_000, true));
}

#[test]
fn what_is_cancelled_in_front_resets_its_stream_behind_and_no_other() {
    let mut world = World::with(Protocol::H2, shared);
    let asked = world.ask(2);
    let [(cancelled, conn, first), (other, _, second)] = asked[..] else { panic!("{asked:?}") };
    world.respond(conn, first, Body { id: BodyId(1), len: 10_000_000 });
    (0..50).for_each(|_| _ = world.turn());
    world.client.cancel(cancelled);
    world.settle();
    assert_eq!((world.resets(conn), world.behind[&conn].is_aborted), (vec![first], false));
    assert!(world.behind[&conn].read < 1_000_000);
    world.respond(conn, second, Body { id: BodyId(2), len: 5 });
    world.settle();
    assert_eq!(world.content(other), (Some(BodyId(2)), 5, true));
}

#[test]
fn what_a_server_has_not_handled_is_made_again_whatever_its_method_rfc9113_8_7() {
    // The second stream is number 3: GOAWAY after number 1, and RST_STREAM with REFUSED_STREAM.
    let goaway = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    let refused = [0, 0, 4, 3, 0, 0, 0, 0, 3, 0, 0, 0, 7];
    for (frame, other) in [(&goaway[..], ConnId(2)), (&refused, ConnId(1))] {
        let mut world = World::with(Protocol::H2, shared);
        let kept = world.ask(1)[0];
        let fields = Fields::from_pairs([("content-length", "0")]);
        let head = RequestHead::new("POST".into(), "a.test".into(), "/order".into(), fields);
        let order = world.client.request(head.into(), Body::EMPTY.into(), Priority::default());
        world.settle();
        assert_eq!(world.requests().len(), 1);
        let frame = Chunk::Bytes(bytes::Bytes::copy_from_slice(frame));
        world.relay.handle_input(NOW, kept.1, TransportStream::TCP, &[frame]);
        world.settle();
        let again = world.requests();
        let [(conn, id, _)] = &again[..] else { panic!("{again:?}") };
        assert_eq!(*conn, other);
        world.respond(*conn, *id, Body { id: BodyId(2), len: 5 });
        world.respond(kept.1, kept.2, Body { id: BodyId(1), len: 7 });
        world.settle();
        assert_eq!(world.content(order), (Some(BodyId(2)), 5, true));
        assert_eq!(world.content(kept.0), (Some(BodyId(1)), 7, true));
        let left = if other == kept.1 { vec![] } else { vec![kept.1] };
        assert_eq!(world.closed, left, "its last response has come");
    }
}

#[test]
fn a_server_that_refuses_a_request_twice_is_a_bad_gateway() {
    let mut world = World::with(Protocol::H2, shared);
    let asked = world.ask(1)[0];
    for stream in [1, 3] {
        let frame = Chunk::Bytes(vec![0, 0, 4, 3, 0, 0, 0, 0, stream, 0, 0, 0, 7].into());
        world.relay.handle_input(NOW, asked.1, TransportStream::TCP, &[frame]);
        world.settle();
    }
    assert_eq!((world.requests().len(), world.status(asked.0)), (1, Some(502)));
}

#[test]
fn of_a_lost_connection_what_is_idempotent_is_made_again_and_the_rest_is_a_bad_gateway_rfc9110_9_2_2() {
    let mut world = World::with(Protocol::H2, shared);
    let first = world.ask(1)[0];
    let [get, post] = [&b"GET"[..], b"POST"].map(|method| {
        let fields = Fields::from_pairs([("content-length", "0")]);
        let head = RequestHead::new(method.into(), "a.test".into(), "/more".into(), fields);
        world.client.request(head.into(), Body::EMPTY.into(), Priority::default())
    });
    let begun = world.ask(1)[0];
    world.respond(first.1, begun.2, Body { id: BodyId(1), len: 10_000_000 });
    (0..50).for_each(|_| _ = world.turn());
    world.requests();
    world.relay.handle_close(NOW, first.1, Closed::Failed);
    world.settle();
    let again = world.requests();
    let [(conn, id, head)] = &again[..] else { panic!("{again:?}") };
    assert_eq!((*conn, &head.method[..]), (ConnId(2), &b"GET"[..]));
    world.respond(*conn, *id, Body { id: BodyId(2), len: 5 });
    world.settle();
    assert_eq!(world.content(get), (Some(BodyId(2)), 5, true));
    assert_eq!(
        [world.status(first.0), world.status(post)],
        [Some(502); 2],
        "one may have been the cause, the other's effect"
    );
    assert!(!world.content(begun.0).2, "it must not look complete");
}

#[test]
fn a_server_that_is_silent_on_one_stream_loses_that_one_and_on_all_of_them_its_connection() {
    let mut world = World::with(Protocol::H2, |config| shared(patient(config)));
    let asked = world.ask(2);
    let [(silent, conn, first), (answered, _, second)] = asked[..] else { panic!("{asked:?}") };
    world.respond(conn, second, Body { id: BodyId(2), len: 100_000_000 });
    // Its client takes a little every second.
    for second in 1..=50 {
        (0..20).for_each(|_| _ = world.turn());
        world.now = at(second);
        world.relay.handle_timeout(world.now);
    }
    (0..20).for_each(|_| _ = world.turn());
    assert_eq!((world.status(silent), world.status(answered)), (Some(504), Some(200)));
    assert_eq!((world.resets(conn), world.behind[&conn].is_aborted), (vec![first], false));
    world.client.cancel(answered);
    let last = world.ask(1)[0];
    world.wait(51, 99);
    assert_eq!((world.status(last.0), world.behind[&conn].is_aborted), (None, false));
    world.wait(100, 101);
    assert_eq!((world.status(last.0), world.behind[&conn].is_aborted), (Some(504), true), "it may be dead");
}

#[test]
fn a_server_that_answers_early_wants_no_more_of_that_request_and_goes_on_rfc9113_8_1() {
    for protocol in EVERY {
        let mut world = World::with(protocol, shared);
        let head = RequestHead::new("POST".into(), "a.test".into(), "/".into(), Fields::default());
        let stream = world.client.request(head.into(), Content::Streamed, Priority::default());
        let run = |offset| Chunk::Run { body: BodyId(5), offset, len: 1_000 };
        world.client.append(stream, run(0));
        world.settle();
        let (conn, id, _) = world.requests().remove(0);
        let pace = std::mem::take(&mut world.pace);
        world.respond(conn, id, Body { id: BodyId(1), len: 5 });
        world.settle();
        assert_eq!((world.resets(conn), world.behind[&conn].is_aborted), (vec![id], false), "{protocol}");
        world.client.append(stream, run(1_000));
        world.client.finish(stream, Fields::from_pairs([("checked", "yes")]));
        world.settle();
        world.pace = pace;
        world.settle();
        assert_eq!((world.status(stream), world.content(stream).1), (Some(200), 5), "{protocol}");
        let (next, again, id) = world.ask(1)[0];
        world.respond(again, id, Body { id: BodyId(2), len: 9 });
        world.settle();
        assert_eq!((again, world.content(next).1), (conn, 9), "{protocol}");
    }
}

#[test]
fn a_server_that_cannot_be_reached_is_a_bad_gateway_to_all_who_wait_for_it() {
    let mut world = World::with(Protocol::H2, shared);
    let asked: Vec<RequestId> = (0..5).map(|number| world.get(&format!("/{number}"))).collect();
    let mut wire = Wire::default();
    world.client.poll_transmit(NOW, TransportStream::TCP, 5_000, &mut wire);
    world.relay.handle_input(NOW, FRONT, TransportStream::TCP, &wire.take_all());
    let opens: Vec<Tag> = std::iter::from_fn(|| world.relay.poll_action())
        .filter_map(|action| if let Action::Open { tag, .. } = action { Some(tag) } else { None })
        .collect();
    assert_eq!(opens.len(), 1, "one is enough for all");
    world.relay.handle_opening(NOW, ConnId(1), opens[0]);
    world.relay.handle_close(NOW, ConnId(1), Closed::Failed);
    world.settle();
    assert_eq!(asked.iter().map(|stream| world.status(*stream)).collect::<Vec<_>>(), [Some(502); 5]);
}

#[test]
fn a_relay_that_leaves_ends_what_is_under_way_and_then_the_connection_behind() {
    let mut world = World::with(Protocol::H2, shared);
    let asked = world.ask(2);
    world.relay.shut_down(NOW);
    world.settle();
    for (number, (front, conn, id)) in (1..).zip(&asked) {
        assert_eq!(world.closed, [], "something is under way");
        world.respond(*conn, *id, Body { id: BodyId(number), len: 5 });
        world.settle();
        assert!(world.content(*front).2);
    }
    assert!(world.closed.contains(&asked[0].1), "{:?}", world.closed);
}
