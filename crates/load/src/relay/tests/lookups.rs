//! Names that clients choose: the relay asks the test where they lead, and goes there and nowhere else.

use super::*;
use crate::{CacheLimits, NoWay, ServerAddress};
use core::net::{IpAddr, Ipv4Addr};
use loadstone_http::Scheme;

/// Where a name leads, for most of these.
const FOUND: HostId = HostId(20);
const ELSEWHERE: HostId = HostId(21);
/// A client that speaks HTTP/1.1, whose bytes a test writes.
const PLAIN: ConnId = ConnId(1_000);
/// Those whose requests say which scheme they are of, whatever their form.
const FRAMED: [Protocol; 4] = [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2];

/// A relay that goes anywhere, and waits for a second less than a minute.
fn anywhere(config: RelayConfig) -> RelayConfig {
    let server_timeouts = ServerTimeouts { silence: Duration::from_secs(50), ..ServerTimeouts::ENDLESS };
    RelayConfig { goes_anywhere: true, server_timeouts, notes: ExchangeNotes::Kept, ..config }
}

impl World {
    /// Asks for something of a name, as of a proxy.
    fn get_from(&mut self, name: &str, path: &str) -> RequestId {
        let head = RequestHead::get(name, path, Fields::default()).over(Scheme::Http);
        let stream = self.client.request(head.into(), Body::EMPTY.into(), Priority::default());
        self.settle();
        stream
    }

    /// The names that the relay wants to have looked up.
    fn wanted(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.relay.poll_lookup()).map(|name| name.to_string()).collect()
    }

    fn say(&mut self, name: &str, servers: Result<Vec<HostId>, NoWay>) {
        let name: ServerAddress = name.parse().unwrap();
        self.relay.handle_looked_up(self.now, &name, servers);
        self.settle();
    }

    /// What the client gets by HTTP/1.1 for this.
    fn write_plain(&mut self, text: &str) -> String {
        self.ask_plain(PLAIN, Ipv4Addr::LOCALHOST.into(), text);
        self.read_plain()
    }

    fn ask_plain(&mut self, conn: ConnId, peer: IpAddr, text: &str) {
        self.relay.handle_open(self.now, conn, Opened { peer, ..Opened::by(Opener::Peer, Protocol::Http1) });
        let input = [Chunk::Bytes(text.to_owned().into())];
        self.relay.handle_input(self.now, conn, TransportStream::TCP, &input);
        self.settle();
    }

    fn read_plain(&mut self) -> String {
        let mut wire = Wire::default();
        self.relay.poll_transmit(self.now, PLAIN, TransportStream::TCP, 5_000, &mut wire);
        let pieces = wire.take_all();
        let text = |piece: &Chunk| if let Chunk::Bytes(text) = piece { text.to_vec() } else { Vec::new() };
        String::from_utf8(pieces.iter().flat_map(text).collect()).unwrap()
    }
}

#[test]
fn a_name_is_looked_up_once_and_all_who_wait_for_it_go_where_it_leads() {
    for protocol in FRAMED {
        let mut world = World::with(protocol, anywhere);
        let [one, other] = ["/1", "/2"].map(|path| world.get_from("B.test:81", path));
        assert_eq!(world.wanted(), ["http://b.test:81"], "{protocol}");
        assert_eq!((world.behind.len(), world.status(one)), (0, None), "{protocol}");
        world.say("http://b.test:81", Ok(vec![FOUND]));
        assert_eq!(world.answer_all(), [FOUND, FOUND], "{protocol}");
        assert_eq!([one, other].map(|stream| world.status(stream)), [Some(200); 2], "{protocol}");
        // A name that the relay was given needs no look-up.
        let own = world.get_from("a.test", "/");
        assert_eq!((world.answer_all(), world.status(own)), (vec![SERVER], Some(200)), "{protocol}");
        assert_eq!(world.wanted(), [""; 0], "{protocol}");
    }
}

#[test]
fn over_http1_an_absolute_target_goes_there_and_a_host_alone_does_not_rfc9112_3_2_2() {
    let mut world = World::with(Protocol::H2, anywhere);
    let got = world.write_plain("GET http://b.test/x?y HTTP/1.1\r\nHost: c.test\r\nForwarded: for=x\r\n\r\n");
    assert_eq!((got.as_str(), world.wanted()), ("", vec!["http://b.test:80".to_owned()]));
    world.say("http://b.test", Ok(vec![FOUND]));
    let (conn, id, head) = world.requests().remove(0);
    assert_eq!((&head.authority[..], &head.path[..]), (&b"b.test"[..], &b"/x?y"[..]));
    // It is told what its client says, not who that is.
    assert_eq!(head.fields, Fields::from_pairs([("Forwarded", "for=x"), ("via", "1.1 loadstone")]));
    world.respond(conn, id, Body { id: BodyId(1), len: 5 });
    world.settle();
    assert!(world.read_plain().starts_with("HTTP/1.1 200"));

    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n", "421"),
        ("GET https://b.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n", "421"),
        ("CONNECT b.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n", "405"),
        ("GET http://b.test/ HTTP/1.1\r\nHost: b.test\r\nVia: 1.1 loadstone\r\n\r\n", "508"),
    ] {
        let mut world = World::with(Protocol::H2, anywhere);
        let got = world.write_plain(request);
        assert_eq!((&got[9..12], world.wanted()), (status, Vec::new()), "{request}");
    }
}

#[test]
fn a_name_that_leads_nowhere_or_out_of_bounds_gets_no_connection() {
    for (why, status) in [(NoWay::Unknown, 502), (NoWay::Forbidden, 403)] {
        let mut world = World::with(Protocol::H2, anywhere);
        let stream = world.get_from("b.test", "/");
        world.say("http://b.test", Err(why));
        assert_eq!((world.status(stream), world.behind.len()), (Some(status), 0));
        // That is remembered, too.
        let again = world.get_from("b.test", "/");
        assert_eq!((world.status(again), world.wanted().len()), (Some(status), 1));
        let over = world.relay.poll_exchange().unwrap();
        assert_eq!(over.response.map(|(status, _)| status), Some(status));
    }
}

#[test]
fn what_was_checked_is_used_until_it_is_looked_up_and_checked_again() {
    let mut world = World::with(Protocol::H2, anywhere);
    world.get_from("b.test", "/1");
    assert_eq!(world.wanted().len(), 1);
    world.say("http://b.test", Ok(vec![FOUND]));
    assert_eq!(world.answer_all(), [FOUND]);
    // A name server that says something else now is not asked, and what it says is not heard.
    world.say("http://b.test", Ok(vec![ELSEWHERE]));
    world.now = at(9);
    world.get_from("b.test", "/2");
    assert_eq!((world.answer_all(), world.wanted().len()), (vec![FOUND], 0));
    world.now = at(10);
    let stream = world.get_from("b.test", "/3");
    assert_eq!(world.wanted().len(), 1);
    world.say("http://b.test", Err(NoWay::Forbidden));
    assert_eq!((world.status(stream), world.answer_all()), (Some(403), vec![]), "not even by the open connection");
}

#[test]
fn a_name_with_several_servers_leads_to_one_that_takes_connections() {
    let mut world = World::with(Protocol::H2, anywhere);
    world.down.insert(FOUND);
    let stream = world.get_from("b.test", "/");
    world.say("http://b.test", Ok(vec![FOUND, ELSEWHERE]));
    assert_eq!((world.answer_all(), world.status(stream)), (vec![ELSEWHERE], Some(200)));
    world.down.insert(ELSEWHERE);
    world.behind.clear();
    let stream = world.get_from("c.test", "/");
    world.say("http://c.test", Ok(vec![FOUND]));
    assert_eq!(world.status(stream), Some(502), "it goes nowhere else");
}

#[test]
fn who_leaves_or_waits_too_long_gets_nothing_of_a_late_answer() {
    let mut world = World::with(Protocol::H2, anywhere);
    let [gone, late] = ["/1", "/2"].map(|path| world.get_from("b.test", path));
    world.client.cancel(gone);
    world.settle();
    world.wait(1, 50);
    assert_eq!(world.status(late), Some(503));
    world.say("http://b.test", Ok(vec![FOUND]));
    assert_eq!((world.requests().len(), world.behind.len()), (0, 0));
    assert!(world.relay.has_server(FOUND), "who comes next may have it");
    world.get_from("b.test", "/3");
    assert_eq!(world.answer_all(), [FOUND]);
}

#[test]
fn so_many_names_are_looked_up_at_a_time_whether_or_not_anybody_waits_for_them() {
    let mut world = World::with(Protocol::H2, anywhere);
    let streams: Vec<_> = (0..65).map(|number| world.get_from(&format!("{number}.test"), "/")).collect();
    assert_eq!((world.wanted().len(), world.status(streams[63]), world.status(streams[64])), (64, None, Some(503)));
    // Who waits for one of these takes no place.
    let same = world.get_from("0.test", "/");
    assert_eq!(world.status(same), None);
    // A place is free when the driver has answered, not when nobody waits any more.
    world.client.cancel(streams[0]);
    world.client.cancel(same);
    let early = world.get_from("x.test", "/");
    assert_eq!(world.status(early), Some(503));
    world.say("http://0.test", Ok(vec![FOUND]));
    let next = world.get_from("x.test", "/");
    assert_eq!((world.status(next), world.wanted().len()), (None, 1));
}

#[test]
fn a_client_has_its_share_of_names_that_are_looked_up() {
    let pool = PoolLimits { client_share: 50, ..PoolLimits::UNLIMITED };
    let mut world = World::with(Protocol::H2, |config| RelayConfig { pool, ..anywhere(config) });
    let streams: Vec<_> = (0..33).map(|number| world.get_from(&format!("{number}.test"), "/")).collect();
    assert_eq!((world.wanted().len(), world.status(streams[31]), world.status(streams[32])), (32, None, Some(503)));
    let request = "GET http://x.test/ HTTP/1.1\r\nHost: x.test\r\n\r\n";
    world.ask_plain(PLAIN, Ipv4Addr::LOCALHOST.into(), request);
    assert!(world.wanted().is_empty(), "it has another connection");
    world.ask_plain(ConnId(1_001), [127, 0, 0, 2].into(), request);
    assert_eq!(world.wanted(), ["http://x.test:80"], "another one has its own");
}

#[test]
fn no_more_requests_wait_for_names_than_for_connections() {
    let pool = PoolLimits { waiting: 2, ..PoolLimits::UNLIMITED };
    let mut world = World::with(Protocol::H2, |config| RelayConfig { pool, ..anywhere(config) });
    let [one, two, three] = ["/1", "/2", "/3"].map(|path| world.get_from("b.test", path));
    assert_eq!([one, two, three].map(|stream| world.status(stream)), [None, None, Some(503)]);
    world.client.cancel(one);
    let four = world.get_from("c.test", "/4");
    world.say("http://b.test", Ok(vec![FOUND]));
    world.say("http://c.test", Ok(vec![FOUND]));
    world.answer_all();
    assert_eq!([two, four].map(|stream| world.status(stream)), [Some(200); 2]);
}

#[test]
fn a_request_under_way_may_be_repeated_where_its_name_led_and_nobody_else_gets_that_number_before() {
    let mut world = World::with(Protocol::H2, anywhere);
    world.get_from("b.test", "/");
    world.say("http://b.test", Ok(vec![FOUND, ELSEWHERE]));
    let asked = world.requests();
    world.now = at(20);
    world.get_from("c.test", "/");
    assert_eq!([FOUND, ELSEWHERE].map(|server| world.relay.has_server(server)), [true; 2]);
    asked.iter().for_each(|(conn, id, _)| world.respond(*conn, *id, Body { id: BodyId(1), len: 5 }));
    world.settle();
    assert_eq!([FOUND, ELSEWHERE].map(|server| world.relay.has_server(server)), [true, false], "one has a connection");
}

#[test]
fn a_server_that_gets_anothers_number_has_not_failed() {
    let health = HealthRules { failures: 1, pause: Duration::from_secs(1_000), check: None };
    let mut world = World::with(Protocol::H2, |config| RelayConfig { health, ..anywhere(config) });
    world.down.insert(FOUND);
    world.get_from("b.test", "/");
    world.say("http://b.test", Ok(vec![FOUND, ELSEWHERE]));
    assert_eq!(world.answer_all(), [ELSEWHERE]);
    world.get_from("b.test", "/");
    assert_eq!(world.answer_all(), [ELSEWHERE], "the other one is left out");
    world.down.clear();
    world.now = at(10);
    world.get_from("c.test", "/");
    assert!(!world.relay.has_server(FOUND));
    world.say("http://c.test", Ok(vec![FOUND, HostId(22)]));
    assert_eq!(world.answer_all(), [FOUND]);
}

#[test]
fn a_thousand_answers_are_remembered_and_the_servers_of_no_more() {
    let mut world = World::with(Protocol::H2, anywhere);
    for number in 0..1_001 {
        let name = format!("{number}.test");
        world.get_from(&name, "/");
        world.say(&format!("http://{name}"), Ok(vec![HostId(100 + number)]));
        world.answer_all();
    }
    assert_eq!(world.wanted().len(), 1_001);
    world.get_from("1000.test", "/");
    world.get_from("1.test", "/");
    assert_eq!(world.wanted(), [""; 0]);
    world.get_from("0.test", "/");
    assert_eq!(world.wanted(), ["http://0.test:80"], "the oldest has gone");
    world.answer_all();
    let known = |world: &World| (0..1_001).filter(|at| world.relay.has_server(HostId(100 + at))).count();
    assert_eq!(known(&world), 1_001, "a connection to it is open");
    let conns: Vec<ConnId> = world.behind.keys().copied().collect();
    world.now = at(10);
    conns.into_iter().for_each(|conn| world.relay.handle_close(world.now, conn, Closed::Finished));
    world.settle();
    world.get_from("x.test", "/");
    assert_eq!(known(&world), 0);
    world.wait(11, 11);
    assert_eq!(world.relay.gauges().servers.len(), 0, "nobody watches them any more");
}

#[test]
fn what_a_client_has_chosen_is_never_stored_nor_shared() {
    let cache =
        CacheLimits { bytes: 1_000_000, object: 100_000, disk: 0, zero: std::time::SystemTime::UNIX_EPOCH, hits: None };
    let mut world = World::with(Protocol::H2, |config| RelayConfig { cache: Some(cache), ..anywhere(config) });
    let streams = [(); 2].map(|()| world.get_from("b.test", "/"));
    world.say("http://b.test", Ok(vec![FOUND]));
    for _ in 0..2 {
        let asked = world.requests();
        assert_eq!(asked.len(), 2, "none waits for the other's");
        for (conn, id, _) in asked {
            let fields = [("content-length", "5"), ("cache-control", "public, max-age=60")];
            let head = ResponseHead::new(200, Fields::from_pairs(fields));
            world.behind.get_mut(&conn).unwrap().session.respond(
                id,
                head.into(),
                Body { id: BodyId(1), len: 5 }.into(),
            );
        }
        world.settle();
        (0..2).for_each(|_| _ = world.get_from("b.test", "/"));
    }
    assert_eq!(streams.map(|stream| world.status(stream)), [Some(200); 2]);
    assert_eq!(world.relay.cached_bytes(), 0);
}
