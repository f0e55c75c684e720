//! Many clients on links of their own and links that they share, and trees drawn at random.

use loadstone_load::page::{PageFile, synthetic};
use loadstone_net::LinkId;
use loadstone_net::tcp::Repair;
use loadstone_scenario::{Capture, Captured, Fate, Outcome, Plan, Repetition, Scenario};
use loadstone_sim::run_all;
use loadstone_units::Seed;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// One object on a host of its own.
const BIG: u64 = 3_000_000;
/// A response has a head of less than that.
const HEAD: u64 = 400;
/// More packets than a run here has.
const ALL: usize = 1_000_000;

fn plan(page: &PageFile, variant: &str, hosts: &[String], links: &[String]) -> Plan {
    let (page, hosts, links) = (serde_json::to_string(page).unwrap(), hosts.join(","), links.join(","));
    let topology = format!(r#"{{"hosts": [{hosts}], "links": [{links}]}}"#);
    let text = format!(r#"{{"page": {page}, "variant": {variant}, "topology": {topology}}}"#);
    Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap()
}

/// Ten clients that load page A and ten that load the big object, each on a link of its own, behind one of 20 Mbit/s.
/// What stands between is a junction or a relay.
fn crowd(home: &str, loss: &str) -> Plan {
    let via = if home == "relay" { r#", "via": "home""# } else { "" };
    let host = |at: usize| {
        let page = format!(r#", "page": {{"objects": [{{"url": "http://big.test/", "bytes": {BIG}}}]}}"#);
        let own = if at < 10 { "" } else { &page };
        format!(r#"{{"name": "c{at}", "runs": "browser"{via}{own}}}"#)
    };
    let link = |at: usize| {
        format!(r#"{{"name": "l{at}", "between": ["c{at}", "home"], "network": "100mbit,{}ms"}}"#, 2 * at + 1)
    };
    let mut hosts: Vec<String> = (0..20).map(host).collect();
    hosts.push(format!(r#"{{"name": "home", "runs": "{home}"}}"#));
    hosts.push(r#"{"name": "servers", "runs": "origins"}"#.to_owned());
    let mut links: Vec<String> = (0..20).map(link).collect();
    links.push(format!(r#"{{"name": "shared", "between": ["home", "servers"], "network": "20mbit,30ms{loss}"}}"#));
    plan(&synthetic::page("A").unwrap(), r#"{"tls": "none"}"#, &hosts, &links)
}

/// Content that came to a browser, heads among it.
fn content(outcome: &Outcome) -> u64 {
    outcome.per_connection.iter().map(|connection| connection.content_down).sum()
}

/// What came to each of twenty is what its page has, and the heads.
fn check_content(outcomes: &[Outcome]) {
    let page = synthetic::page("A").unwrap();
    let (small, objects) = (page.objects.iter().map(|object| object.bytes).sum::<u64>(), page.objects.len() as u64);
    for (at, outcome) in outcomes.iter().enumerate() {
        assert!(outcome.completed, "client {at}");
        let (bytes, objects) = if at < 10 { (small, objects) } else { (BIG, 1) };
        let content = content(outcome);
        assert!((bytes + 50 * objects..bytes + HEAD * objects).contains(&content), "client {at}: {content}");
    }
}

/// Bytes of those of a run's packets for which this holds.
fn sum(outcomes: &[Outcome], holds: impl Fn(&Captured) -> bool) -> u64 {
    let packets = &outcomes[0].capture.as_ref().unwrap().packets;
    packets.iter().filter(|packet| holds(packet)).map(|packet| u64::from(packet.bytes)).sum()
}

fn is_delivered(packet: &Captured) -> bool {
    matches!(packet.fate, Fate::Delivered(_))
}

/// What is offered to a link comes through, is lost, is dropped, or is on its way when all is over, and what is
/// counted is what is logged.
fn check_links(outcomes: &[Outcome]) {
    assert_eq!(outcomes[0].capture.as_ref().unwrap().left_out, 0);
    for (at, outcome) in (0..).zip(outcomes) {
        let link = LinkId(2 * at);
        let counted = [link, link.reversed()].map(|link| sum(outcomes, |packet| packet.link == link));
        assert_eq!(counted, [outcome.bytes_down, outcome.bytes_up], "client {at}");
    }
}

/// What comes through a client's link enters the shared one, once, and the other way round.
fn check_junction(outcomes: &[Outcome]) {
    let is_shared = |packet: &Captured| packet.link.link() == 20;
    let through = sum(outcomes, |packet| !is_shared(packet) && !packet.link.is_down() && is_delivered(packet));
    assert_eq!(through, sum(outcomes, |packet| is_shared(packet) && !packet.link.is_down()));
    let through = sum(outcomes, |packet| is_shared(packet) && packet.link.is_down() && is_delivered(packet));
    assert_eq!(through, sum(outcomes, |packet| !is_shared(packet) && packet.link.is_down()));
}

/// What the shared link has delivered of each connection's data, without what came twice, is what the connections
/// carried.
fn check_data(outcomes: &[Outcome]) {
    let mut reached: BTreeMap<u32, u64> = BTreeMap::new();
    for packet in &outcomes[0].capture.as_ref().unwrap().packets {
        if packet.link == LinkId(40) && is_delivered(packet) && packet.len > 0 {
            let end = reached.entry(packet.connection).or_default();
            *end = (*end).max(packet.seq + u64::from(packet.len) - 1);
        }
    }
    assert_eq!(reached.values().sum::<u64>(), outcomes.iter().map(content).sum::<u64>());
}

/// On each link a packet is told to be a retransmission that is one, and what comes twice over the last link of a
/// route is what was sent for nothing.
fn check_repetitions(capture: &Capture) {
    let mut arrived: BTreeMap<(u32, u32, u64), u64> = BTreeMap::new();
    let mut spurious = 0;
    for (packet, repetition) in capture.packets.iter().zip(capture.repetitions()) {
        let is_retransmission = packet.repair.is_some_and(Repair::is_retransmission);
        assert_eq!(is_retransmission, repetition != Repetition::New, "{packet:?}");
        let connection = capture.connections[packet.connection as usize];
        let ends = if packet.sender == connection.client { connection.there } else { connection.back };
        if ends.is_some_and(|ends| ends.last == packet.link) && is_delivered(packet) && !packet.numbers().is_empty() {
            *arrived.entry((packet.connection, packet.sender, packet.seq)).or_default() += 1;
            spurious += u64::from(repetition == Repetition::Spurious);
        }
    }
    assert_eq!(arrived.values().map(|times| times - 1).sum::<u64>(), spurious);
    assert!(spurious > 0);
}

#[test]
fn twenty_clients_behind_one_link_all_get_their_pages_and_no_byte_is_counted_twice() {
    for home in ["junction", "relay"] {
        let outcomes = run_all(&crowd(home, ",1%"), Seed(1), Some(ALL));
        assert_eq!(outcomes.len(), 20);
        check_content(&outcomes);
        check_repetitions(outcomes[0].capture.as_ref().unwrap());
        check_links(&outcomes);
        let lost = sum(&outcomes, |packet| packet.fate == Fate::Lost);
        let shared = sum(&outcomes, |packet| packet.link.link() == 20);
        // One in a hundred, give or take a half: of some 35,000 packets.
        assert!((shared / 200..shared / 50).contains(&lost), "{lost} of {shared}");
        if home == "junction" {
            check_junction(&outcomes);
            check_data(&outcomes);
        }
        // 33 MB at 20 Mbit/s are 13 s at least.
        let last = outcomes.iter().map(|outcome| outcome.plt).max().unwrap().as_ms();
        assert!((13_000.0..60_000.0).contains(&last), "{home}: {last}");
    }
}

#[test]
fn twenty_clients_give_the_same_bits_again_and_other_ones_with_another_seed() {
    for home in ["junction", "relay"] {
        let run = |seed| run_all(&crowd(home, ",1%"), Seed(seed), None);
        let first = run(1);
        assert!(first == run(1), "{home}");
        let other = run(2);
        assert!(first.iter().zip(&other).all(|(one, other)| one.plt != other.plt), "{home}");
        check_content(&other);
    }
}

#[test]
fn twenty_clients_without_loss_leave_nothing_to_chance() {
    for home in ["junction", "relay"] {
        let plan = crowd(home, ",queue=100p");
        let run = |seed| run_all(&plan, Seed(seed), None).into_iter().map(|outcome| Outcome { seed: 0, ..outcome });
        assert!(run(1).eq(run(2)), "{home}");
    }
}

/// A tree: where each junction beyond the first hangs, each browser, the relay if there is one, and the origins;
/// which browsers go by the relay; the links in the same order, as rate in Mbit/s, round trip in ms and loss in percent.
#[derive(Clone, Debug)]
struct Tree {
    junctions: Vec<prop::sample::Index>,
    browsers: Vec<(prop::sample::Index, bool)>,
    relay: Option<prop::sample::Index>,
    origins: prop::sample::Index,
    links: Vec<(u32, u32, u32)>,
    protocol: &'static str,
}

impl Tree {
    fn plan(&self) -> Plan {
        let (mut hosts, mut links) = (vec![r#"{"name": "j0", "runs": "junction"}"#.to_owned()], Vec::new());
        let count = self.junctions.len() + 1;
        let mut networks = self.links.iter().cycle();
        let mut join = |name: &str, to: usize| {
            let (rate, rtt, loss) = networks.next().unwrap();
            let network = format!("{rate}mbit,{rtt}ms,{loss}%");
            links.push(format!(r#"{{"name": "{name}", "between": ["{name}", "j{to}"], "network": "{network}"}}"#));
        };
        for (at, parent) in (1..).zip(&self.junctions) {
            hosts.push(format!(r#"{{"name": "j{at}", "runs": "junction"}}"#));
            join(&format!("j{at}"), parent.index(at));
        }
        for (at, (place, by_relay)) in self.browsers.iter().enumerate() {
            let via = if *by_relay && self.relay.is_some() { r#", "via": "relay""# } else { "" };
            hosts.push(format!(r#"{{"name": "b{at}", "runs": "browser"{via}}}"#));
            join(&format!("b{at}"), place.index(count));
        }
        if let Some(place) = self.relay {
            hosts.push(r#"{"name": "relay", "runs": "relay"}"#.to_owned());
            join("relay", place.index(count));
        }
        hosts.push(r#"{"name": "servers", "runs": "origins"}"#.to_owned());
        join("servers", self.origins.index(count));
        let page = synthetic::page("objects=12,size=15KB,scheme=http").unwrap();
        plan(&page, &format!(r#"{{"protocol": "{}"}}"#, self.protocol), &hosts, &links)
    }

    /// Whether no link loses more than one packet in twenty.
    fn is_fair(&self) -> bool {
        self.links.iter().all(|(_, _, loss)| *loss <= 5)
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    let place = any::<prop::sample::Index>;
    let loss = prop_oneof![4 => Just(0), 2 => 1_u32..=5, 1 => 6_u32..20];
    (
        prop::collection::vec(place(), 0..4),
        prop::collection::vec((place(), any::<bool>()), 1..=4),
        prop::option::of(place()),
        place(),
        prop::collection::vec((1_u32..50, 1_u32..80, loss), 10),
        prop::sample::select(vec!["http/1.1", "spdy/3.1", "h2"]),
    )
        .prop_map(|(junctions, browsers, relay, origins, links, protocol)| Tree {
            junctions,
            browsers,
            relay,
            origins,
            links,
            protocol,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn in_every_tree_every_run_ends_and_is_repeated_to_the_last_bit(tree in trees(), seed in any::<u64>()) {
        let plan = tree.plan();
        let outcomes = run_all(&plan, Seed(seed), None);
        prop_assert_eq!(outcomes.len(), tree.browsers.len());
        for outcome in &outcomes {
            prop_assert!(outcome.completed || !tree.is_fair());
            prop_assert!(!outcome.completed || content(outcome) > 12 * 15_000);
        }
        prop_assert!(outcomes == run_all(&tree.plan(), Seed(seed), None));
    }
}
