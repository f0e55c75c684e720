//! Clients that send no more (FIN) and may still read.

use super::*;

/// A client whose windows let out 64 KiB of each response, asks for two of 1,000,000 bytes, and sends FIN between them.
fn after_fin(protocol: Protocol) -> (World, [RequestId; 2]) {
    let mut world = World::new(protocol);
    let small = Multiplexing { stream_window: loadstone_units::Bounded::known(65_536), ..Multiplexing::default() };
    world.client = SessionFactory::new(small).client(protocol);
    world.client.hold();
    let streams = ["/1", "/2"].map(|path| world.get(path));
    world.settle();
    let [(first, id, _), (second, other, _)] = <[_; 2]>::try_from(world.requests()).unwrap();
    world.respond(first, id, Body { id: BodyId(1), len: 1_000_000 });
    world.settle();
    world.relay.handle_close(NOW, FRONT, Closed::Finished);
    world.settle();
    assert!(!world.closed.contains(&FRONT), "{protocol}: the second response may fit");
    world.respond(second, other, Body { id: BodyId(2), len: 1_000_000 });
    world.settle();
    (world, streams)
}

#[test]
fn a_client_whose_windows_stay_closed_is_left_when_nothing_more_can_go_out() {
    for protocol in [Protocol::Spdy3, Protocol::Spdy31, Protocol::H2] {
        let (world, streams) = after_fin(protocol);
        assert_eq!(world.closed, [FRONT], "{protocol}");
        assert_eq!(streams.map(|stream| world.content(stream).1), [65_536; 2], "{protocol}");
        let gone = world.behind.values().filter(|behind| behind.is_aborted).count();
        assert_eq!(gone, 2, "{protocol}: no server sends on");
        assert_eq!((world.relay.links.len(), world.relay.kept), (0, 0), "{protocol}");
    }
}

#[test]
fn a_client_whose_windows_are_wide_gets_all_and_is_left_then() {
    let mut world = World::new(Protocol::H2);
    let stream = world.get("/");
    world.settle();
    let [(conn, id, _)] = <[_; 1]>::try_from(world.requests()).unwrap();
    world.relay.handle_close(NOW, FRONT, Closed::Finished);
    world.settle();
    assert_eq!(world.closed, []);
    world.respond(conn, id, Body { id: BodyId(1), len: 100_000 });
    world.settle();
    assert_eq!((world.content(stream), &world.closed[..]), ((Some(BodyId(1)), 100_000, true), &[FRONT][..]));
}
