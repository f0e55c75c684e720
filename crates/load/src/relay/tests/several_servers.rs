//! Names with several servers: which one a request goes to, and what becomes of it when that fails.

use super::*;

pub(super) const OTHER: HostId = HostId(8);

/// A relay whose name has two servers.
pub(super) fn two(config: RelayConfig) -> RelayConfig {
    let servers = [("a.test".to_owned(), [SERVER, OTHER].into())].into();
    RelayConfig { servers, ..config }
}

impl World {
    /// The server that each of the requests has come to.
    fn asked(&mut self) -> Vec<HostId> {
        self.settle();
        self.requests().iter().map(|(conn, ..)| self.behind[conn].server).collect()
    }

    /// Answers all requests that have come. Where from.
    pub(super) fn answer_all(&mut self) -> Vec<HostId> {
        self.settle();
        let asked = self.requests();
        asked.iter().for_each(|(conn, id, _)| self.respond(*conn, *id, Body { id: BodyId(1), len: 5 }));
        self.settle();
        asked.iter().map(|(conn, ..)| self.behind[conn].server).collect()
    }
}

#[test]
fn requests_go_to_the_server_with_the_fewest_and_of_equals_in_turn() {
    let mut world = World::with(Protocol::H2, two);
    let mut turns = Vec::new();
    for number in 0..4 {
        world.get(&format!("/{number}"));
        turns.extend(world.answer_all());
    }
    assert_eq!(turns, [SERVER, OTHER, SERVER, OTHER], "both have nothing to do");
    assert_eq!(world.behind.len(), 2, "connections are used again");
    // One of them keeps a request, so the other one gets those that come, until it has as many.
    world.get("/slow");
    assert_eq!(world.asked(), [SERVER]);
    for _ in 0..3 {
        world.get("/quick");
        assert_eq!(world.answer_all(), [OTHER]);
    }
    ["/1", "/2", "/3"].iter().for_each(|path| _ = world.get(path));
    let mut asked = world.asked();
    asked.sort();
    assert_eq!(asked, [SERVER, OTHER, OTHER]);
}

#[test]
fn a_request_whose_connection_cannot_be_opened_goes_to_another_server_whatever_it_is() {
    for protocol in EVERY {
        let mut world = World::with(protocol, two);
        world.down.insert(SERVER);
        let fields = Fields::from_pairs([("content-length", "9")]);
        let head = RequestHead::new("POST".into(), "a.test".into(), "/".into(), fields);
        let stream = world.client.request(head.into(), Body { id: BodyId(2), len: 9 }.into(), Priority::default());
        assert_eq!(world.answer_all(), [OTHER], "{protocol}");
        assert_eq!(world.status(stream), Some(200), "{protocol}");
        world.relay.handle_close(NOW, ConnId(2), Closed::Finished);
        world.down.insert(OTHER);
        let stream = world.get("/");
        world.settle();
        assert_eq!(world.status(stream), Some(502), "{protocol}: it has been nowhere");
    }
}

#[test]
fn a_request_that_may_be_repeated_goes_to_another_server() {
    let mut world = World::with(Protocol::H2, two);
    ["/1", "/2"].iter().for_each(|path| _ = world.get(path));
    assert_eq!(world.answer_all().len(), 2);
    let stream = world.get("/again");
    assert_eq!(world.asked(), [SERVER]);
    world.get("/slow");
    assert_eq!(world.asked(), [OTHER], "it has more to do than the one that is lost");
    let conn = *world.behind.iter().find(|(_, behind)| behind.server == SERVER).unwrap().0;
    world.relay.handle_close(NOW, conn, Closed::Failed);
    assert_eq!(world.answer_all(), [OTHER]);
    assert_eq!(world.status(stream), Some(200));
}

#[test]
fn a_request_that_has_been_nowhere_tries_each_server_once() {
    let third = HostId(9);
    let servers = || [("a.test".to_owned(), [SERVER, OTHER, third].into())].into();
    let mut world = World::with(Protocol::H2, |config| RelayConfig { servers: servers(), ..config });
    world.down.extend([SERVER, OTHER]);
    let stream = world.get("/");
    assert_eq!(world.answer_all(), [third]);
    assert_eq!(world.status(stream), Some(200));
    let opened = world.next;
    world.down.insert(third);
    world.relay.handle_close(NOW, ConnId(3), Closed::Finished);
    let stream = world.get("/");
    world.settle();
    assert_eq!((world.status(stream), world.next - opened), (Some(502), 3));
}

#[test]
fn a_server_that_has_gone_keeps_its_number_as_long_as_a_request_may_still_go_to_it() {
    let mut world = World::with(Protocol::H2, two);
    world.get("/");
    let (conn, id, _) = {
        world.settle();
        world.requests().remove(0)
    };
    let config = RelayConfig::new([("b.test".to_owned(), HostId(9))].into(), world.sessions.clone());
    world.relay.reconfigure(NOW, config);
    assert!(world.relay.has_server(SERVER) && world.relay.has_server(OTHER), "it may be repeated there");
    world.respond(conn, id, Body { id: BodyId(1), len: 5 });
    world.settle();
    assert!(!world.relay.has_server(OTHER) && world.relay.has_server(HostId(9)));
}
