//! A relay between a browser and the servers.

use crate::{object, page};
use loadstone_net::LinkId;
use loadstone_scenario::{Captured, Fate, Outcome, Plan, Scenario};
use loadstone_sim::run_all;
use loadstone_units::{Seed, Time};
use std::collections::BTreeMap;

const BACKHAUL: &str = "100mbit,20ms";
const PROTOCOLS: [&str; 5] = ["http/1.1", "spdy/2", "spdy/3", "spdy/3.1", "h2"];

/// A page of objects of these sizes on one host, the first being the root.
fn page_of(sizes: &[u64]) -> String {
    let objects = sizes.iter().enumerate().map(|(at, bytes)| object(&format!("/{at}"), *bytes));
    serde_json::to_string(&page(objects)).unwrap()
}

/// A browser behind an access link, an edge with a relay, and the servers behind a backhaul.
fn edge(page: &str, protocol: &str, access: &str, backhaul: &str) -> Plan {
    narrow_edge(page, protocol, [access, backhaul], "{}")
}

/// The same, the relay's host having a TCP of its own.
fn narrow_edge(page: &str, protocol: &str, [access, backhaul]: [&str; 2], tcp: &str) -> Plan {
    let text = format!(
        r#"{{"page": {page}, "network": "{access}", "variant": {{"protocol": "{protocol}"}},
            "topology": {{"hosts": [
                {{"name": "browser", "runs": "browser", "via": "edge"}},
                {{"name": "edge", "runs": "relay", "tcp": {tcp}}},
                {{"name": "servers", "runs": "origins"}}],
            "links": [
                {{"name": "access", "between": ["browser", "edge"]}},
                {{"name": "backhaul", "between": ["edge", "servers"], "network": "{backhaul}"}}]}}}}"#
    );
    Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap()
}

fn load(plan: &Plan, seed: u64) -> Outcome {
    run_all(plan, Seed(seed), None).remove(0)
}

#[test]
fn a_page_comes_whole_through_a_relay_whatever_is_spoken_in_front() {
    let page = page_of(&[20_000; 40]);
    for protocol in PROTOCOLS {
        let outcome = load(&edge(&page, protocol, "10/1mbit,100ms", BACKHAUL), 1);
        assert!(outcome.completed, "{protocol}");
        assert!(outcome.bytes_down > 41 * 20_000, "{protocol}");
    }
}

#[test]
fn a_thousand_objects_complete_through_a_relay_whatever_is_spoken_in_front() {
    let sizes: Vec<u64> = (0..1_000).map(|at| at * 7919 % 12_000).collect();
    let page = page_of(&sizes);
    let bytes: u64 = sizes.iter().sum();
    for protocol in PROTOCOLS {
        let outcome = load(&edge(&page, protocol, "50/10mbit,40ms", BACKHAUL), 1);
        assert!(outcome.completed, "{protocol}");
        assert!(outcome.waterfall.iter().all(|row| row.last_byte.is_some()), "{protocol}");
        let content: u64 = outcome.per_connection.iter().map(|connection| connection.content_down).sum();
        // A head has less than 400 bytes, and what else sessions say less than as much again.
        assert!((bytes..bytes + 800 * 1_000).contains(&content), "{protocol}: {content} of {bytes}");
    }
}

/// A relay's TCP that does not offer much: Linux takes it for half of a buffer, which holds 56 full segments of 2,304
/// bytes of memory.
const NARROW: &str = r#"{"receive_window": 65536}"#;
const BUFFER: u64 = 56 * 1448;
/// What a relay takes from a connection and has not passed on, and what it writes beyond what is sent.
const WINDOW: u64 = 64 * 1024;
const LOWAT: u64 = 16 * 1024;

const ACCESS: LinkId = LinkId(0);
const BEHIND: LinkId = LinkId(2);

/// Bytes of data in these packets that did not come before, by the time that `when` says.
fn fresh(outcome: &Outcome, when: impl Fn(&Captured) -> Option<Time>) -> Vec<(Time, u64)> {
    let packets = outcome.capture.as_ref().unwrap().packets.iter().filter(|packet| packet.len > 0);
    let mut events: Vec<_> = packets.filter_map(|packet| when(packet).map(|at| (at, packet))).collect();
    events.sort_by_key(|(at, _)| *at);
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    let mut fresh = |packet: &Captured| {
        let end = ends.entry(packet.connection).or_insert(1);
        let more = (packet.seq + u64::from(packet.len)).saturating_sub(*end);
        *end += more;
        more
    };
    events.into_iter().map(|(at, packet)| (at, fresh(packet))).collect()
}

/// The most that the relay has been brought and has not sent on, at any time.
fn most_kept(outcome: &Outcome) -> u64 {
    let delivered = |packet: &Captured| match packet.fate {
        Fate::Delivered(at) if packet.link == BEHIND => Some(at),
        _ => None,
    };
    let brought = fresh(outcome, delivered).into_iter().map(|(at, bytes)| (at, 1, bytes as i64));
    let sent = fresh(outcome, |packet| (packet.link == ACCESS).then_some(packet.entered)).into_iter();
    let mut all: Vec<(Time, u8, i64)> = brought.chain(sent.map(|(at, bytes)| (at, 0, -(bytes as i64)))).collect();
    all.sort();
    let (mut kept, mut most) = (0, 0);
    for (_, _, bytes) in all {
        kept += bytes;
        most = most.max(kept);
    }
    most as u64
}

#[test]
fn a_slow_access_link_makes_the_server_wait_and_the_load_ends_nevertheless() {
    let page = page_of(&[100_000_000]);
    for protocol in PROTOCOLS {
        let plan = narrow_edge(&page, protocol, ["80kbit,40ms", BACKHAUL], NARROW);
        let outcome = run_all(&plan, Seed(1), Some(1_000_000)).remove(0);
        assert_eq!(outcome.capture.as_ref().unwrap().left_out, 0);
        // 100 MB at 80 kbit/s are 10,000 s, and headers take a twentieth.
        let seconds = outcome.plt.as_ms() / 1e3;
        assert!(outcome.completed && (10_000.0..11_250.0).contains(&seconds), "{protocol}: {seconds}");
        let kept = most_kept(&outcome);
        assert!((WINDOW..WINDOW + BUFFER + LOWAT + 2 * 1448).contains(&kept), "{protocol}: {kept}");
    }
}

/// How often the servers' side asked whether a window is open again: without data, and with a number before the next.
fn probes(outcome: &Outcome) -> usize {
    let mut next: BTreeMap<u32, u64> = BTreeMap::new();
    let mut probes = 0;
    for packet in outcome.capture.as_ref().unwrap().packets.iter().filter(|packet| packet.link == BEHIND) {
        let next = next.entry(packet.connection).or_default();
        probes += usize::from(packet.len == 0 && !packet.flags.syn && !packet.flags.fin && packet.seq < *next);
        *next = (*next).max(packet.seq + u64::from(packet.len));
    }
    probes
}

#[test]
fn windows_that_closed_open_again_also_when_packets_are_lost() {
    let page = page_of(&[600_000]);
    let mut asked = 0;
    for (seed, protocol) in (1..=15).zip(PROTOCOLS.into_iter().cycle()) {
        let plan = narrow_edge(&page, protocol, ["400kbit,40ms", "100mbit,20ms,5%"], NARROW);
        let outcome = run_all(&plan, Seed(seed), Some(100_000)).remove(0);
        // 600 KB at 400 kbit/s are 12 s; the relay's buffers outlast most repairs.
        let seconds = outcome.plt.as_ms() / 1e3;
        assert!(outcome.completed && (12.0..30.0).contains(&seconds), "{protocol}, seed {seed}: {seconds}");
        asked += probes(&outcome);
    }
    assert!(asked > 0, "no window has ever closed");
}

#[test]
fn a_window_of_one_segment_carries_everything_one_by_one() {
    let page = page_of(&[100_000]);
    // In 2,048 bytes there is room for one segment: 70 of them, each a round trip of 20 ms and a delayed
    // acknowledgement of 40, for which there is never a second one.
    let plan = narrow_edge(&page, "http/1.1", ["100mbit,2ms", BACKHAUL], r#"{"receive_window": 2048}"#);
    let seconds = load(&plan, 1).plt.as_ms() / 1e3;
    assert!((4.2..4.6).contains(&seconds), "{seconds}");
}

/// Two browsers behind an edge, the second on a slower link; what it loads may be kept for so long.
fn two_browsers(directives: &str, cache: &str) -> Vec<Outcome> {
    let field = format!(r#""response_fields": [["cache-control", "{directives}"]]"#);
    let object = |at: usize| format!(r#"{{"url": "http://a.test/{at}", "bytes": 20000, {field}}}"#);
    let objects: Vec<String> = (0..20).map(object).collect();
    let text = format!(
        r#"{{"page": {{"objects": [{}]}}, "variant": {{"protocol": "h2"}},
            "topology": {{"hosts": [
                {{"name": "near", "runs": "browser", "via": "edge"}},
                {{"name": "far", "runs": "browser", "via": "edge"}},
                {{"name": "edge", "runs": "relay"{cache}}},
                {{"name": "servers", "runs": "origins"}}],
            "links": [
                {{"name": "short", "between": ["near", "edge"], "network": "100mbit,2ms"}},
                {{"name": "long", "between": ["far", "edge"], "network": "100mbit,400ms"}},
                {{"name": "backhaul", "between": ["edge", "servers"], "network": "1mbit,20ms"}}]}}}}"#,
        objects.join(",")
    );
    run_all(&Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap(), Seed(1), None)
}

#[test]
fn what_one_browser_has_loaded_the_edge_has_for_the_other() {
    let last = |directives: &str, cache: &str| {
        let outcomes = two_browsers(directives, cache);
        assert!(outcomes.iter().all(|outcome| outcome.completed));
        outcomes.iter().map(|outcome| outcome.plt.as_ms()).fold(0.0, f64::max)
    };
    let cache = r#", "cache": 10000000"#;
    // 20 objects of 20 KB at 1 Mbit/s are 3.2 s for each browser; with a cache the second one needs none of that.
    assert!(last("max-age=60", "") > 6_400.0);
    assert!(last("private, max-age=60", cache) > 6_400.0, "it is asked for again");
    let with = last("max-age=60", cache);
    assert!((3_200.0..4_800.0).contains(&with), "{with}");
}
