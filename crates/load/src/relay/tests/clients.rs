//! Several clients that want the connections of one server.

use super::*;
use core::net::{IpAddr, Ipv4Addr};

const OTHER: ConnId = ConnId(1_000);
/// How many connections to the server there may be.
const CONNECTIONS: usize = 4;

/// A relay that gives one client this share of connections, in percent.
fn sharing(client_share: u32) -> impl FnOnce(RelayConfig) -> RelayConfig {
    let pool = PoolLimits { connections: CONNECTIONS, waiting: 100, client_share, growth: PoolGrowth::AtOnce };
    move |config| RelayConfig { pool, ..config }
}

impl World {
    /// Another client comes.
    fn join(&mut self, conn: ConnId, protocol: Protocol) {
        self.join_from([192, 0, 2, 1].into(), conn, protocol);
    }

    fn join_from(&mut self, peer: IpAddr, conn: ConnId, protocol: Protocol) {
        let (session, events) = (self.sessions.client(protocol), Vec::new());
        self.others.insert(conn, OtherClient { session, events });
        self.relay.handle_open(self.now, conn, Opened { peer, ..Opened::by(Opener::Peer, protocol) });
    }

    fn get_for(&mut self, conn: ConnId, path: &str) {
        let head = RequestHead::get("a.test", path, Fields::default());
        self.others.get_mut(&conn).unwrap().session.request(head.into(), Body::EMPTY.into(), Priority::default());
    }

    /// How many responses another client has got whole.
    fn got(&self, conn: ConnId) -> usize {
        self.others[&conn].events.iter().filter(|event| matches!(event, Event::End { .. })).count()
    }

    /// The paths of the requests that come to the server next, each of which it answers with so many bytes.
    fn served(&mut self, len: u64) -> Vec<String> {
        self.settle();
        let asked = self.requests();
        asked.iter().for_each(|(conn, id, _)| self.respond(*conn, *id, Body { id: BodyId(1), len }));
        self.settle();
        asked.iter().map(|(.., head)| String::from_utf8(head.path.to_vec()).unwrap()).collect()
    }
}

/// How many of ten requests of a client another one gets answered, while a first one with ten requests reads nothing.
fn got_beside_one_that_reads_nothing(client_share: u32, protocol: Protocol) -> usize {
    let mut world = World::with(Protocol::H2, sharing(client_share));
    world.pace = 0;
    (0..10).for_each(|number| _ = world.get(&format!("/slow/{number}")));
    world.served(10_000_000);
    world.join(OTHER, protocol);
    for number in 0..10 {
        // Over HTTP/1.1 it cannot ask again before it has an answer.
        if world.others[&OTHER].session.capacity() > 0 {
            world.get_for(OTHER, &format!("/{number}"));
        }
        world.served(5);
    }
    assert!(world.behind.len() <= CONNECTIONS);
    world.got(OTHER)
}

#[test]
fn a_client_that_reads_nothing_on_many_streams_keeps_no_other_one_waiting() {
    for protocol in EVERY {
        assert_eq!(got_beside_one_that_reads_nothing(50, protocol), 10, "{protocol}");
        assert_eq!(got_beside_one_that_reads_nothing(75, protocol), 10, "{protocol}: one is enough");
        assert_eq!(got_beside_one_that_reads_nothing(100, protocol), 0, "{protocol}: all of them are gone");
    }
}

#[test]
fn clients_whose_requests_wait_take_turns() {
    let mut world = World::with(Protocol::H2, sharing(100));
    world.settle();
    (0..10).for_each(|number| _ = world.get(&format!("/a/{number}")));
    world.settle();
    let first = world.requests();
    assert_eq!(first.len(), CONNECTIONS);
    world.join(OTHER, Protocol::H2);
    (0..3).for_each(|number| world.get_for(OTHER, &format!("/b/{number}")));
    world.settle();
    first.iter().for_each(|(conn, id, _)| world.respond(*conn, *id, Body { id: BodyId(1), len: 5 }));
    let mut served = Vec::new();
    while served.len() < 9 {
        let more = world.served(5);
        assert!(!more.is_empty(), "it stands still");
        served.extend(more);
    }
    served.truncate(6);
    let of_other = served.iter().filter(|path| path.starts_with("/b/")).count();
    assert_eq!(of_other, 3, "they are not behind all of the first client: {served:?}");
    assert_eq!(world.got(OTHER), 3);
}

#[test]
fn a_client_that_opens_many_connections_is_one() {
    let mut world = World::with(Protocol::H2, sharing(50));
    (0..10).for_each(|number| _ = world.get(&format!("/a/{number}")));
    world.settle();
    assert_eq!(world.behind.len(), CONNECTIONS / 2);
    // The first one's address (Opened::by).
    world.join_from(Ipv4Addr::LOCALHOST.into(), OTHER, Protocol::H2);
    world.get_for(OTHER, "/b");
    world.settle();
    assert_eq!(world.behind.len(), CONNECTIONS / 2, "its share is taken");
    world.join(ConnId(OTHER.0 + 1), Protocol::H2);
    world.get_for(ConnId(OTHER.0 + 1), "/c");
    world.settle();
    assert_eq!(world.behind.len(), CONNECTIONS / 2 + 1);
}

#[test]
fn a_client_that_asks_for_what_a_cache_may_store_has_its_turn_and_share_too() {
    let cache =
        CacheLimits { bytes: 1_000_000, object: 100_000, disk: 0, zero: std::time::SystemTime::UNIX_EPOCH, hits: None };
    let mut world = World::with(Protocol::H2, |config| RelayConfig { cache: Some(cache), ..sharing(50)(config) });
    (0..10).for_each(|number| _ = world.get(&format!("/a/{number}")));
    world.settle();
    assert_eq!(world.behind.len(), CONNECTIONS / 2);
    world.join(OTHER, Protocol::H2);
    world.get_for(OTHER, "/b");
    world.settle();
    assert_eq!(world.behind.len(), CONNECTIONS / 2 + 1);
}
