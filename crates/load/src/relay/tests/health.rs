//! Servers that fail again and again: they are left out, tried after a while, and used as before when they respond.

use super::several_servers::{OTHER, two};
use super::*;

/// A relay whose name has two servers. One that fails twice is left out for 60 s; one that is silent for 5 s has failed.
fn strict(config: RelayConfig) -> RelayConfig {
    let span = Duration::from_secs;
    let health = HealthRules { failures: 2, pause: span(60), check: None };
    let server_timeouts = ServerTimeouts { silence: span(5), ..ServerTimeouts::ENDLESS };
    RelayConfig { health, server_timeouts, ..two(config) }
}

impl World {
    /// Which server each of so many requests comes to, one after the other.
    fn answered_by(&mut self, count: usize) -> Vec<HostId> {
        let ask = |number| {
            self.get(&format!("/{number}"));
            self.answer_all()
        };
        (0..count).flat_map(ask).collect()
    }

    fn is_healthy(&self, server: HostId) -> bool {
        self.relay.gauges().servers[&server].is_healthy
    }

    /// Asks for something, and gives the connection on which that comes to a server.
    fn asked_on(&mut self) -> (ConnId, HostId) {
        self.get("/");
        self.settle();
        let (conn, ..) = self.requests().remove(0);
        (conn, self.behind[&conn].server)
    }

    /// A server closes a connection.
    fn close(&mut self, conn: ConnId) {
        self.relay.handle_close(self.now, conn, Closed::Finished);
        self.settle();
    }
}

#[test]
fn a_server_that_cannot_be_reached_is_left_out_and_after_the_pause_one_request_tries_it() {
    let mut world = World::with(Protocol::H2, strict);
    world.down.insert(SERVER);
    assert_eq!(world.answered_by(1), [OTHER]);
    assert!(world.is_healthy(SERVER), "once is not again and again");
    assert_eq!(world.answered_by(3), [OTHER; 3]);
    assert!(!world.is_healthy(SERVER) && world.is_healthy(OTHER));
    world.down.clear();
    world.now = at(59);
    assert_eq!(world.answered_by(3), [OTHER; 3], "it is left out");
    world.now = at(60);
    let (conn, server) = world.asked_on();
    assert_eq!(server, SERVER);
    assert_eq!(world.answered_by(2), [OTHER; 2], "one tries it, and no more");
    world.close(conn);
    assert!(!world.is_healthy(SERVER));
    world.now = at(119);
    assert_eq!(world.answered_by(1), [OTHER]);
    world.now = at(120);
    assert_eq!(world.answered_by(1), [SERVER]);
    assert!(world.is_healthy(SERVER), "it has responded");
    assert_eq!(world.answered_by(2), [OTHER, SERVER]);
}

#[test]
fn a_server_that_closes_without_a_response_has_failed_but_not_if_the_request_may_have_come_too_late() {
    let mut world = World::with(Protocol::H2, strict);
    let fail = |world: &mut World| {
        let (conn, server) = world.asked_on();
        world.close(conn);
        server
    };
    assert_eq!([fail(&mut world), fail(&mut world)], [SERVER, OTHER]);
    assert_eq!(world.answered_by(2), [SERVER, OTHER], "what has responded begins anew");
    // Connections that were used before: their requests are repeated.
    for _ in 0..4 {
        fail(&mut world);
        world.answer_all();
    }
    assert!(world.is_healthy(SERVER) && world.is_healthy(OTHER));
    // Nothing is left to be closed by chance.
    let open: Vec<ConnId> = world.behind.keys().copied().collect();
    open.into_iter().for_each(|conn| world.close(conn));
    let failed: BTreeSet<HostId> = (0..3).map(|_| fail(&mut world)).collect();
    assert_eq!(failed.len(), 2);
    assert_ne!(world.is_healthy(SERVER), world.is_healthy(OTHER), "one of them has failed twice");
}

#[test]
fn a_silent_server_has_failed_and_if_all_are_left_out_all_are_used() {
    let mut world = World::with(Protocol::H2, strict);
    assert_eq!([world.asked_on().1, world.asked_on().1, world.asked_on().1], [SERVER, OTHER, SERVER]);
    world.wait(1, 6);
    assert!(!world.is_healthy(SERVER) && world.is_healthy(OTHER));
    assert_eq!(world.asked_on().1, OTHER);
    world.wait(7, 12);
    assert!(!world.is_healthy(SERVER) && !world.is_healthy(OTHER));
    assert_eq!(world.answered_by(1), [SERVER]);
    assert!(world.is_healthy(SERVER), "it has responded");
}

#[test]
fn a_server_of_which_nothing_is_heard_has_failed() {
    let mut world = World::with(Protocol::H2, strict);
    world.hanging.insert(SERVER);
    let streams: Vec<RequestId> = (0..4).map(|number| world.get(&format!("/{number}"))).collect();
    assert_eq!(world.answer_all(), [OTHER; 2]);
    world.wait(1, 5);
    let late = streams.iter().filter(|stream| world.status(**stream) == Some(503));
    assert_eq!((late.count(), world.is_healthy(SERVER)), (2, false));
}

#[test]
fn a_server_that_is_silent_on_one_of_several_streams_has_failed() {
    let server_sessions = Arc::new(SessionFactory::new(windows_behind(Multiplexing::default())));
    let mut world = World::with(Protocol::H2, |config| {
        let health = HealthRules { failures: 1, pause: Duration::from_secs(60), check: None };
        RelayConfig { health, server_sessions, server_protocol: ServerProtocol::H2, ..strict(config) }
    });
    (0..4).for_each(|number| _ = world.get(&format!("/{number}")));
    world.settle();
    let asked = world.requests();
    for (conn, id, _) in &asked[..3] {
        let session = &mut world.behind.get_mut(conn).unwrap().session;
        session.respond(*id, Arc::new(ResponseHead::new(200, Fields::default())), Content::Streamed);
    }
    for second in 1..=5 {
        for (number, (conn, id, _)) in asked[..3].iter().enumerate() {
            let chunk = Chunk::Run { body: BodyId(number as u32), offset: second - 1, len: 1 };
            world.behind.get_mut(conn).unwrap().session.append(*id, chunk);
        }
        world.wait(second, second);
    }
    let silent = world.behind[&asked[3].0].server;
    assert!([SERVER, OTHER].iter().all(|server| world.is_healthy(*server) != (*server == silent)));
    assert!(world.behind.values().all(|behind| !behind.is_aborted));
}

#[test]
fn a_response_that_breaks_off_is_no_failure_of_this_kind() {
    let mut world = World::with(Protocol::H2, |config| {
        let health = HealthRules { failures: 1, pause: Duration::from_secs(60), check: None };
        RelayConfig { health, ..strict(config) }
    });
    for _ in 0..4 {
        world.get("/");
        world.settle();
        let (conn, id, _) = world.requests().remove(0);
        let session = &mut world.behind.get_mut(&conn).unwrap().session;
        session.respond(id, Arc::new(ResponseHead::new(200, Fields::default())), Content::Streamed);
        session.append(id, Chunk::Run { body: BodyId(1), offset: 0, len: 10 });
        world.settle();
        world.relay.handle_close(NOW, conn, Closed::Failed);
        world.settle();
    }
    assert!(world.is_healthy(SERVER) && world.is_healthy(OTHER));
}

#[test]
fn a_request_that_was_lost_at_a_server_is_not_the_one_that_tries_it() {
    let mut world = World::with(Protocol::H2, strict);
    assert_eq!(world.answered_by(2), [SERVER, OTHER]);
    let (lost, server) = world.asked_on();
    assert_eq!((server, world.asked_on().1), (SERVER, OTHER));
    world.down.insert(SERVER);
    assert_eq!([world.asked_on().1, world.asked_on().1], [OTHER, OTHER], "neither has found it");
    assert!(!world.is_healthy(SERVER));
    world.down.clear();
    world.now = at(60);
    world.relay.handle_close(world.now, lost, Closed::Finished);
    assert_eq!(world.answer_all(), [OTHER]);
}

#[test]
fn who_waits_for_a_server_that_is_silent_does_not_try_it_again() {
    let pool = PoolLimits { connections: 1, ..PoolLimits::UNLIMITED };
    let mut world = World::with(Protocol::H2, |config| {
        let health = HealthRules { failures: 1, pause: Duration::from_secs(60), check: None };
        RelayConfig { pool, health, ..strict(config) }
    });
    (0..2).for_each(|number| _ = world.get(&format!("/{number}")));
    world.settle();
    let [_, (conn, id, _)] = &world.requests()[..] else { panic!("each server has one") };
    let (conn, id) = (*conn, *id);
    world.wait(1, 3);
    let waits = world.get("/waits");
    world.settle();
    assert_eq!(world.relay.gauges().servers[&SERVER].waiting, 1);
    world.respond(conn, id, Body { id: BodyId(1), len: 5 });
    world.wait(4, 5);
    assert_eq!(world.answer_all(), [OTHER]);
    assert_eq!(world.status(waits), Some(200));
}

#[test]
fn who_waits_for_a_server_that_is_left_out_goes_to_another_one() {
    let pool = PoolLimits { connections: 1, ..PoolLimits::UNLIMITED };
    let mut world = World::with(Protocol::H2, |config| RelayConfig { pool, ..strict(config) });
    ["/", "/"].iter().for_each(|path| _ = world.get(path));
    world.settle();
    let [(lost, ..), (conn, id, _)] = &world.requests()[..] else { panic!("each has one") };
    let (lost, conn, id) = (*lost, *conn, *id);
    assert_eq!([lost, conn].map(|conn| world.behind[&conn].server), [SERVER, OTHER]);
    let streams: Vec<RequestId> = (0..6).map(|number| world.get(&format!("/{number}"))).collect();
    world.settle();
    assert_eq!(world.relay.gauges().servers[&SERVER].waiting, 3);
    // Whoever is next there cannot reach it, twice.
    world.down.insert(SERVER);
    world.close(lost);
    assert!(!world.is_healthy(SERVER));
    world.respond(conn, id, Body { id: BodyId(1), len: 5 });
    for _ in 0..6 {
        assert_eq!(world.answer_all(), [OTHER]);
    }
    assert!(streams.iter().all(|stream| world.status(*stream) == Some(200)));
}

#[test]
fn what_gets_the_number_of_a_server_that_has_gone_has_not_failed() {
    let mut world = World::with(Protocol::H2, strict);
    world.down.insert(SERVER);
    world.answered_by(3);
    assert!(!world.is_healthy(SERVER));
    let health = HealthRules { failures: 2, pause: Duration::from_secs(60), check: None };
    let with = |world: &mut World, servers: &[HostId]| {
        let config = RelayConfig::new(BTreeMap::new(), world.sessions.clone());
        let servers = [("a.test".to_owned(), servers.into())].into();
        world.relay.reconfigure(world.now, RelayConfig { servers, health: health.clone(), ..config });
    };
    with(&mut world, &[SERVER, OTHER]);
    assert!(!world.is_healthy(SERVER), "it is the same");
    with(&mut world, &[OTHER]);
    assert!(!world.relay.has_server(SERVER));
    world.down.clear();
    with(&mut world, &[SERVER, OTHER]);
    assert_eq!(world.answered_by(1), [SERVER]);
}

#[test]
fn a_connection_that_does_not_open_in_time_is_given_up_and_another_server_tried() {
    let impatient = |config| {
        let server_timeouts = ServerTimeouts { opening: Duration::from_secs(3), ..ServerTimeouts::ENDLESS };
        RelayConfig { server_timeouts, notes: ExchangeNotes::Kept, ..two(config) }
    };
    let mut world = World::with(Protocol::H2, impatient);
    world.hanging.insert(SERVER);
    world.get("/");
    world.settle();
    world.wait(0, 2);
    assert_eq!(world.answer_all(), [], "it may take as long as that");
    world.wait(3, 4);
    assert_eq!(world.answer_all(), [OTHER]);

    let mut world = World::with(Protocol::H2, impatient);
    world.hanging.extend([SERVER, OTHER]);
    let stream = world.get("/");
    world.settle();
    world.wait(0, 8);
    assert_eq!(world.status(stream), Some(502), "each was given its time");
    assert_eq!(world.relay.poll_exchange().unwrap().rejected, Some(Rejection::Unreachable));
    // What opens all the same is too late.
    assert!(world.relay.gauges().servers.values().all(|pool| pool.opening == 0 && pool.open == 0));
}
