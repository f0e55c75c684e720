//! A relay that asks servers itself whether they are well.

use super::several_servers::{OTHER, two};
use super::*;

/// A relay that asks both servers every 5 s; two failures in a row are enough, and 3 s of silence are one.
fn asking(config: RelayConfig) -> RelayConfig {
    let span = Duration::from_secs;
    let check = HealthCheck::new("/healthz".into(), span(5));
    let health = HealthRules { failures: 2, pause: span(1), check };
    let server_timeouts = ServerTimeouts { silence: span(3), ..ServerTimeouts::ENDLESS };
    RelayConfig { health, server_timeouts, ..two(config) }
}

/// Servers answer with this status, if they do at all.
type Answers = [(HostId, Option<u16>); 2];

impl World {
    /// Lets the checks of a second be made. Which servers were asked.
    fn checked_at(&mut self, second: u64, answers: Answers) -> Vec<HostId> {
        self.now = at(second);
        self.relay.handle_timeout(self.now);
        self.settle();
        let asked = self.requests();
        for (conn, id, head) in &asked {
            assert_eq!(
                (&head.method[..], &head.path[..], &head.authority[..]),
                (&b"GET"[..], &b"/healthz"[..], &b"a.test"[..])
            );
            let server = self.behind[conn].server;
            if let Some((_, Some(status))) = answers.iter().find(|(known, _)| *known == server) {
                let head = ResponseHead::new(*status, Fields::from_pairs([("content-length", "5")]));
                let session = &mut self.behind.get_mut(conn).unwrap().session;
                session.respond(*id, head.into(), Body { id: BodyId(1), len: 5 }.into());
            }
        }
        self.settle();
        asked.iter().map(|(conn, ..)| self.behind[conn].server).collect()
    }

    fn health(&self) -> [bool; 2] {
        let servers = self.relay.gauges().servers;
        [SERVER, OTHER].map(|server| servers.get(&server).is_none_or(|pool| pool.is_healthy))
    }
}

#[test]
fn two_checks_that_fail_leave_a_server_out_and_two_that_pass_bring_it_back() {
    for spoken in [ServerProtocol::Http1, ServerProtocol::H2] {
        let mut world = World::with(Protocol::H2, |config| RelayConfig { server_protocol: spoken, ..asking(config) });
        assert_eq!(world.relay.poll_timeout(), Some(NOW), "they are asked at once");
        let answers = |status| [(SERVER, Some(status)), (OTHER, Some(204))];
        assert_eq!(world.checked_at(0, answers(503)), [SERVER, OTHER]);
        assert_eq!(world.closed.len(), 2, "{spoken:?}: each has a connection of its own");
        assert_eq!(world.checked_at(4, answers(503)), []);
        assert_eq!(world.health(), [true, true]);
        world.checked_at(5, answers(404));
        assert_eq!(world.health(), [false, true], "{spoken:?}");
        world.now = at(9);
        for number in 0..3 {
            world.get(&format!("/{number}"));
            assert_eq!(world.answer_all(), [OTHER], "the pause brings nobody back");
        }
        world.checked_at(10, answers(200));
        world.checked_at(15, answers(500));
        world.checked_at(20, answers(302));
        assert_eq!(world.health(), [false, true], "{spoken:?}");
        world.checked_at(25, answers(200));
        assert_eq!(world.health(), [true, true], "{spoken:?}");
    }
}

#[test]
fn a_server_that_is_silent_or_cannot_be_reached_fails_its_checks() {
    let mut world = World::with(Protocol::H2, asking);
    world.down.insert(OTHER);
    let silent = [(SERVER, None), (OTHER, None)];
    assert_eq!(world.checked_at(0, silent), [SERVER]);
    world.wait(1, 2);
    assert!(world.behind.values().all(|behind| !behind.is_aborted));
    world.wait(3, 4);
    assert!(world.behind.values().all(|behind| behind.is_aborted));
    assert_eq!(world.health(), [true, true], "once");
    world.checked_at(5, silent);
    assert_eq!(world.health(), [true, false]);
    world.wait(6, 8);
    assert_eq!(world.health(), [false, false]);
}

#[test]
fn a_response_to_a_client_is_no_answer_to_a_check() {
    let mut world = World::with(Protocol::H2, asking);
    let answers = [(SERVER, Some(503)), (OTHER, Some(204))];
    world.checked_at(0, answers);
    world.now = at(4);
    world.get("/");
    world.settle();
    let (conn, id, _) = world.requests().remove(0);
    assert_eq!(world.behind[&conn].server, SERVER);
    world.checked_at(5, answers);
    assert_eq!(world.health(), [false, true]);
    world.respond(conn, id, Body { id: BodyId(1), len: 5 });
    world.settle();
    assert_eq!(world.health(), [false, true]);
    // Where nobody is asked any more, nobody is left out for what was said.
    let config = RelayConfig::new(BTreeMap::new(), world.sessions.clone());
    let health = HealthRules { check: None, ..asking(config.clone()).health };
    world.relay.reconfigure(world.now, RelayConfig { health, ..two(config) });
    assert_eq!(world.health(), [true, true]);
}

#[test]
fn who_waits_for_a_server_that_fails_its_checks_goes_to_another_one() {
    let pool = PoolLimits { connections: 1, ..PoolLimits::UNLIMITED };
    let server_timeouts = ServerTimeouts { silence: Duration::from_secs(20), ..ServerTimeouts::ENDLESS };
    let mut world = World::with(Protocol::H2, |config| RelayConfig { pool, server_timeouts, ..asking(config) });
    let answers = [(SERVER, Some(503)), (OTHER, Some(200))];
    world.checked_at(0, answers);
    (0..3).for_each(|number| _ = world.get(&format!("/{number}")));
    world.settle();
    let [_, (conn, id, _)] = &world.requests()[..] else { panic!("each server has one, and one waits") };
    let (conn, id) = (*conn, *id);
    world.checked_at(5, answers);
    assert_eq!(world.health(), [false, true]);
    world.respond(conn, id, Body { id: BodyId(1), len: 5 });
    assert_eq!(world.answer_all(), [OTHER]);
}

#[test]
fn an_answer_that_cannot_be_read_is_a_no() {
    let mut world = World::with(Protocol::H2, asking);
    for second in [0, 5] {
        world.now = at(second);
        world.relay.handle_timeout(world.now);
        world.settle();
        for (conn, ..) in world.requests() {
            let nonsense = [Chunk::Bytes("nonsense\r\n\r\n".into())];
            world.relay.handle_input(world.now, conn, TransportStream::TCP, &nonsense);
            world.settle();
            assert!(world.closed.contains(&conn));
        }
    }
    assert_eq!(world.health(), [false, false]);
}

#[test]
fn a_server_that_has_yet_to_answer_is_not_asked_again() {
    let server_timeouts = ServerTimeouts { silence: Duration::from_secs(12), ..ServerTimeouts::ENDLESS };
    let mut world = World::with(Protocol::H2, |config| RelayConfig { server_timeouts, ..asking(config) });
    let silent = [(SERVER, None), (OTHER, Some(200))];
    assert_eq!(world.checked_at(0, silent), [SERVER, OTHER]);
    assert_eq!([world.checked_at(5, silent), world.checked_at(10, silent)], [[OTHER], [OTHER]]);
    assert_eq!(world.checked_at(15, silent), [SERVER, OTHER]);
}

#[test]
fn who_leaves_asks_no_more_and_new_settings_say_who_is_asked() {
    let mut world = World::with(Protocol::H2, asking);
    assert_eq!(world.checked_at(0, [(SERVER, None), (OTHER, Some(200))]), [SERVER, OTHER]);
    let config = RelayConfig::new([("a.test".to_owned(), OTHER)].into(), world.sessions.clone());
    let health = asking(config.clone()).health;
    world.relay.reconfigure(world.now, RelayConfig { health, ..config });
    world.settle();
    assert!(world.behind[&ConnId(1)].is_aborted, "its server has gone");
    assert_eq!(world.checked_at(5, [(SERVER, None), (OTHER, Some(200))]), [OTHER]);
    world.relay.shut_down(world.now);
    assert_eq!(world.checked_at(10, [(SERVER, None), (OTHER, Some(200))]), []);
}

#[test]
fn an_answer_that_does_not_end_keeps_no_later_check_away() {
    let patient = ServerTimeouts { silence: Duration::from_secs(60), ..ServerTimeouts::ENDLESS };
    let mut world = World::with(Protocol::H2, |config| RelayConfig { server_timeouts: patient, ..asking(config) });
    for second in [0, 5, 10] {
        assert_eq!(world.checked_at(second, [(SERVER, None), (OTHER, Some(204))])[0], SERVER, "{second}");
        let unanswered =
            world.behind.iter().filter(|(conn, behind)| behind.server == SERVER && !world.closed.contains(conn));
        let conn = *unanswered.map(|(conn, _)| conn).next().unwrap();
        let head = Arc::new(ResponseHead::new(200, Fields::from_pairs([("content-length", "1000000")])));
        let session = &mut world.behind.get_mut(&conn).unwrap().session;
        session.respond(RequestId(0), head, Content::Streamed);
        session.append(RequestId(0), Chunk::Run { body: BodyId(1), offset: 0, len: 100 });
        world.settle();
        assert!(world.closed.contains(&conn), "{second}: its head is enough");
    }
    assert_eq!(world.health(), [true, true]);
}
