use super::*;
use crate::NodeId;
use proptest::prelude::*;
use std::time::Duration;

/// A packet of a test: its number and its bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Numbered(u32, u32);

impl Packet for Numbered {
    fn len(&self) -> u32 {
        self.1
    }

    fn flow(&self) -> u32 {
        self.0 % 3
    }
}

impl Carried for Numbered {
    type Head = u32;

    fn head(&self) -> u32 {
        self.0
    }
}

fn ms(ms: f64) -> Time {
    Time::from_nanos((ms * 1e6) as u64)
}

fn link(name: &str, network: &str) -> NamedLink {
    NamedLink { name: name.to_owned(), network: network.parse().unwrap() }
}

/// Everything that arrives, with its time.
fn drain(path: &mut Path<Numbered>) -> Vec<(Time, u32)> {
    let mut arrived = Vec::new();
    while path.next().at != Time::NEVER {
        let due = path.next();
        arrived.extend(path.advance(due).map(|arrived| (due.at, arrived.packet.0)));
    }
    arrived
}

/// A client, an edge and an origin behind one another, with the routes there and back.
fn chain(networks: [&str; 2]) -> (Arc<Fabric>, Route, Route) {
    let mut fabric = Fabric::new();
    let [client, edge, origin] = [(); 3].map(|()| fabric.add_node());
    fabric.add_link([client, edge], link("access", networks[0])).unwrap();
    fabric.add_link([edge, origin], link("backhaul", networks[1])).unwrap();
    let routes = (fabric.add_route(client, origin).unwrap(), fabric.add_route(origin, client).unwrap());
    (Arc::new(fabric), routes.0, routes.1)
}

#[test]
fn a_packet_takes_each_link_in_turn() {
    let (fabric, there, back) = chain(["10/1mbit,100ms", "100mbit,20ms"]);
    let mut path = Path::new(&fabric, Seed(1), None);
    path.handle_packet(ms(0.0), Transit::new(there, Numbered(1, 1500)));
    // 12 ms at 1 Mbit/s, 50 ms, 0.12 ms at 100 Mbit/s, 10 ms.
    assert_eq!(drain(&mut path), [(ms(72.12), 1)]);
    let start = ms(100.0);
    [2, 3].into_iter().for_each(|number| path.handle_packet(start, Transit::new(back, Numbered(number, 1500))));
    // The slower link comes second: there they wait for one another.
    assert_eq!(
        drain(&mut path),
        [(ms(100.0 + 0.12 + 10.0 + 1.2 + 50.0), 2), (ms(100.0 + 0.12 + 10.0 + 2.4 + 50.0), 3)]
    );
    let counts = |id| path.counts(LinkId(id)).packets;
    assert_eq!([0, 1, 2, 3].map(counts), [2, 1, 2, 1], "down and up of the access link, then of the backhaul");
}

#[test]
fn things_of_one_time_go_by_link_and_direction_and_what_was_delayed_comes_last() {
    let mut fabric = Fabric::new();
    let [one, hub, other, third] = [(); 4].map(|()| fabric.add_node());
    fabric.add_link([one, hub], link("", "1000mbit,20ms")).unwrap();
    fabric.add_link([other, hub], link("other", "1000mbit,20ms")).unwrap();
    fabric.add_delay([hub, third], Duration::from_micros(10_012)).unwrap();
    let [down, up] = [fabric.add_route(hub, one).unwrap(), fabric.add_route(one, hub).unwrap()];
    let [second, delayed] = [fabric.add_route(hub, other).unwrap(), fabric.add_route(hub, third).unwrap()];
    let mut path = Path::new(&Arc::new(fabric), Seed(1), None);
    for (number, route) in [(0, delayed), (1, second), (2, up), (3, down)] {
        path.handle_packet(ms(0.0), Transit::new(route, Numbered(number, 1500)));
    }
    let at = ms(10.012);
    assert_eq!(drain(&mut path), [(at, 3), (at, 2), (at, 1), (at, 0)]);
}

#[test]
fn what_is_lost_is_told_with_when_it_would_have_been_at_its_host() {
    let (fabric, there, _) = chain(["10/1mbit,100ms,queue=1p", "100mbit,20ms"]);
    let mut path = Path::new(&fabric, Seed(1), Some(3));
    (0..4).for_each(|number| path.handle_packet(ms(0.0), Transit::new(there, Numbered(number, 1500))));
    let lost: Vec<_> = std::iter::from_fn(|| path.poll_lost()).collect();
    // One is sent, one waits; the third would have waited 24 ms, and the backhaul takes 10 ms at least.
    let told: Vec<_> = lost.iter().map(|lost| (lost.packet.0, lost.link, lost.number, lost.due, lost.fate)).collect();
    let due = ms(36.0 + 50.0 + 10.0);
    assert_eq!(told, [2, 3].map(|number| (number, LinkId(1), u64::from(number), due, Fate::Dropped)));
    while path.next().at <= ms(70.0) {
        path.advance(path.next());
    }
    let log = path.into_log(ms(70.0)).unwrap();
    let kept: Vec<_> = log.packets.iter().map(|packet| (packet.head, packet.link.0, packet.fate)).collect();
    let out = |at| Fate::Delivered(ms(at));
    // The second leaves the access link at 74 ms, so it has not come to the backhaul.
    assert_eq!((kept, log.left_out), (vec![(0, 1, out(62.0)), (1, 1, Fate::Underway), (2, 1, Fate::Dropped)], 2));
}

#[test]
fn what_an_aqm_decides_later_is_told_and_logged_then() {
    // On 1 Mbit/s a packet takes 12 ms: one is dropped at 120 ms, when packets have waited for too long
    // for an interval. When the run ends some are on their way and one waits.
    let (fabric, there, _) = chain(["10/1mbit,100ms,aqm=codel", "100mbit,20ms"]);
    let mut path = Path::new(&fabric, Seed(1), Some(13));
    (0..13).for_each(|number| path.handle_packet(ms(0.0), Transit::new(there, Numbered(number, 1500))));
    assert!(!path.has_lost());
    let mut dropped_at = None;
    while path.next().at <= ms(150.0) {
        let due = path.next();
        path.advance(due);
        if let Some(lost) = path.poll_lost() {
            dropped_at = Some((due.at, lost.packet.0, lost.number, lost.due, lost.fate));
        }
    }
    assert_eq!(dropped_at, Some((ms(120.0), 10, 10, ms(120.0 + 12.0 + 50.0 + 10.0), Fate::Dropped)));
    let log = path.into_log(ms(150.0)).unwrap();
    let fates: Vec<_> =
        log.packets.iter().filter(|packet| packet.link == LinkId(1)).map(|packet| packet.fate).collect();
    let delivered = (1..=8).map(|number| Fate::Delivered(ms(f64::from(number) * 12.0 + 50.0)));
    assert!(fates.into_iter().eq(delivered.chain([
        Fate::Underway,
        Fate::Underway,
        Fate::Dropped,
        Fate::Underway,
        Fate::Underway
    ])));
}

#[test]
fn each_direction_of_each_link_draws_from_a_stream_of_its_name() {
    let lost = |name: &str, seed| {
        let mut fabric = Fabric::new();
        let ends = [fabric.add_node(), fabric.add_node()];
        fabric.add_link(ends, link(name, "10mbit,100ms,50%")).unwrap();
        let route = fabric.add_route(ends[0], ends[1]).unwrap();
        let mut path = Path::new(&Arc::new(fabric), seed, None);
        (0..64).for_each(|number| path.handle_packet(ms(0.0), Transit::new(route, Numbered(number, 40))));
        std::iter::from_fn(move || path.poll_lost()).map(|lost| lost.packet.0).collect::<Vec<_>>()
    };
    let drawn = |name: &str| {
        let mut stream = Seed(5).stream(name);
        (0..64).filter(|_| stream.next_f64() < 0.5).collect::<Vec<u32>>()
    };
    assert_eq!(lost("", Seed(5)), drawn("up.loss"));
    assert_eq!(lost("access", Seed(5)), drawn("access.up.loss"));
    assert_ne!(lost("access", Seed(5)), lost("access", Seed(6)));
}

/// A random tree: each node but the first is joined to one before it, by a link or by a delay.
fn tree() -> impl Strategy<Value = Vec<(usize, bool, u64)>> {
    prop::collection::vec((0_usize..100, any::<bool>(), 0_u64..40), 1..9)
}

fn plant(tree: &[(usize, bool, u64)], more: &str) -> (Fabric, Vec<NodeId>) {
    let mut fabric = Fabric::new();
    let mut nodes = vec![fabric.add_node()];
    for (at, (before, is_link, delay)) in tree.iter().enumerate() {
        let ends = [nodes[before % nodes.len()], fabric.add_node()];
        if *is_link {
            let network = format!("{}/3mbit,{delay}ms{more},queue=20p", 1 + at);
            fabric.add_link(ends, link(&at.to_string(), &network)).unwrap();
        } else {
            fabric.add_delay(ends, Duration::from_millis(*delay)).unwrap();
        }
        nodes.push(ends[1]);
    }
    (fabric, nodes)
}

proptest! {
    #[test]
    fn in_any_tree_every_packet_arrives_or_is_lost_once_and_none_before_its_time(
        tree in tree(),
        loss in prop_oneof!["", ",loss=10%"],
        aqm in prop_oneof!["", ",aqm=codel", ",aqm=fq_codel"],
        packets in prop::collection::vec((0_usize..100, 0_usize..100, 40_u32..1500, 0_u64..50), 1..80),
        seed in any::<u64>(),
    ) {
        let (mut fabric, nodes) = plant(&tree, &format!("{loss}{aqm}"));
        let route = |fabric: &mut Fabric, (from, to): (usize, usize)| {
            fabric.add_route(nodes[from % nodes.len()], nodes[to % nodes.len()]).unwrap()
        };
        let routes: Vec<Route> = packets.iter().map(|(from, to, ..)| route(&mut fabric, (*from, *to))).collect();
        let fabric = Arc::new(fabric);
        let run = || {
            let mut path = Path::new(&fabric, Seed(seed), Some(30));
            let mut order: Vec<usize> = (0..packets.len()).collect();
            order.sort_by_key(|at| packets[*at].3);
            let mut arrived = Vec::new();
            for at in order {
                let now = ms(packets[at].3 as f64);
                while path.next().at <= now {
                    let due = path.next();
                    arrived.extend(path.advance(due).map(|arrived| (due.at, arrived.packet)));
                }
                path.handle_packet(now, Transit::new(routes[at], Numbered(at as u32, packets[at].2)));
            }
            while path.next().at != Time::NEVER {
                let due = path.next();
                arrived.extend(path.advance(due).map(|arrived| (due.at, arrived.packet)));
            }
            let lost: Vec<Numbered> = std::iter::from_fn(|| path.poll_lost()).map(|lost| lost.packet).collect();
            (arrived, lost, path.into_log(Time::NEVER))
        };
        let (arrived, lost, log) = run();
        let mut all: Vec<Numbered> = arrived.iter().map(|(_, packet)| *packet).chain(lost.iter().copied()).collect();
        all.sort_unstable();
        let sent: Vec<Numbered> = packets.iter().enumerate().map(|(at, p)| Numbered(at as u32, p.2)).collect();
        prop_assert_eq!(all, sent, "every packet once, with all its bytes");
        for (at, Numbered(number, _)) in &arrived {
            let least = ms(packets[*number as usize].3 as f64) + fabric.min_delay(routes[*number as usize]);
            prop_assert!(*at >= least);
        }
        prop_assert!(arrived.windows(2).all(|pair| pair[0].0 <= pair[1].0), "time goes forward");
        prop_assert_eq!(run(), (arrived, lost, log), "the same seed, the same course");
    }
}
