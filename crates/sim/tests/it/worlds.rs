//! Small worlds whose load time can be told in advance.

use crate::{FAST, MSS, load, object, page, run_once, textbook, variant};
use loadstone_load::page::{ComputeSpec, HostSpec, Need, Needed, ObjectSpec, On, PageFile};
use loadstone_scenario::{Outcome, Plan, Scenario};
use std::sync::Arc;

fn root_and(count: u64) -> PageFile {
    page((0..=count).map(|at| object(&format!("/{at:03}"), 1000)))
}

#[track_caller]
fn assert_ms(outcome: &Outcome, expected: f64) {
    let ms = outcome.plt.as_ms();
    assert!(outcome.completed && (expected..expected + 0.1).contains(&ms), "{ms} is not {expected}");
}

#[test]
fn six_connections_share_the_objects_and_five_of_them_have_to_be_opened() {
    let outcome = load(root_and(100), FAST, textbook());
    assert_eq!(outcome.connections, 6);
    // Handshake and root: 200 ms. In k more round trips the root's connection brings k objects and
    // each of the five others, a handshake later, k - 1: k + 5 (k - 1) >= 100 needs k = 18.
    assert_ms(&outcome, 200.0 + 1800.0);
}

#[test]
fn no_more_connections_are_opened_than_there_are_objects() {
    for (objects, connections) in [(0, 1), (1, 1), (2, 2), (3, 3), (6, 6), (7, 6)] {
        assert_eq!(load(root_and(objects), FAST, textbook()).connections, connections, "{objects} objects");
    }
    let two = load(root_and(50), FAST, variant(r#"{"connections": 2}"#));
    assert_eq!(two.connections, 2);
}

#[test]
fn a_pipelining_connection_takes_all_that_wait_in_one_round_trip() {
    // Ten responses of 1,250 bytes are nine segments: less than the initial window.
    let outcome = load(root_and(10), FAST, variant(r#"{"protocol": "http/1.1+pipelining"}"#));
    assert_eq!(outcome.connections, 1);
    assert_ms(&outcome, 300.0);
}

#[test]
fn tls_adds_one_round_trip_or_two() {
    for (tls, expected) in [("none", 200.0), ("1.3", 300.0), ("1.2", 400.0)] {
        assert_ms(&load(root_and(0), FAST, variant(&format!(r#"{{"tls": "{tls}"}}"#))), expected);
    }
    let mut secure = root_and(0);
    secure.objects[0].url = "https://a.test/".to_owned();
    assert_ms(&load(secure, FAST, textbook()), 300.0);
}

#[test]
fn a_page_dealt_over_servers_opens_connections_to_each() {
    let outcome = load(root_and(40), FAST, variant(r#"{"servers": 4}"#));
    assert_eq!(outcome.connections, 24);
    // Root's host has 10 of the 40, the others 10 each: on 6 fresh connections two rounds after a
    // handshake; the root's host needs k + 5 (k - 1) >= 10, so k = 3, the same.
    assert_ms(&outcome, 200.0 + 300.0);
}

#[test]
fn a_distant_host_adds_its_round_trip_and_its_thinking() {
    let mut distant = root_and(0);
    distant.hosts.insert("a.test".to_owned(), HostSpec { rtt_ms: 40.0, think_ms: 20.0, ..HostSpec::default() });
    assert_ms(&load(distant, FAST, textbook()), 2.0 * 140.0 + 20.0);
}

#[test]
fn single_servers_have_a_tcp_of_their_own() {
    // The response of 20 segments takes one round trip with a window of 20; with one of 10 the other half comes
    // in the next.
    let mut page = page([object("/", 1), object("/2", 28_700)]);
    page.objects[1].url = "http://b.test/".to_owned();
    for (iw, ms) in [(20, 400.0), (10, 500.0)] {
        let tcp = format!(r#"{{"profile": "textbook", "iw": {iw}}}"#);
        assert_ms(&load(page.clone(), FAST, variant(&format!(r#"{{"tcp_of": {{"b.test": {tcp}}}}}"#))), ms);
    }
}

#[test]
fn dependencies_and_computing_are_waited_for() {
    let need = |node: &str, on, ms| Need { node: node.to_owned(), on, bytes: None, ms, ..Need::default() };
    let mut objects = vec![object("/", 1000), object("/app.js", 1000), object("/data", 1000)];
    objects[2].needs = Some(vec![need("run", On::End, 5.0)]);
    let compute = ComputeSpec {
        name: "run".to_owned(),
        ms: 30.0,
        needs: Some(vec![need("http://a.test/app.js", On::End, 0.0)]),
        ..ComputeSpec::default()
    };
    let page = PageFile { objects, compute: vec![compute], ..PageFile::default() };
    assert_ms(&load(page, FAST, textbook()), 200.0 + 100.0 + 30.0 + 5.0 + 100.0);
}

#[test]
fn objects_that_are_not_needed_are_not_waited_for() {
    let late = ObjectSpec { needed: Some(Needed::Never), ..object("/late", 1_000_000) };
    let outcome = load(page([object("/", 1000), late]), "10mbit,100ms", textbook());
    assert!(outcome.plt.as_ms() < 210.0);
    assert!(outcome.waterfall[1].found.is_some() && outcome.waterfall[1].last_byte.is_none());
}

#[test]
fn an_unreachable_host_is_given_up_after_the_same_time_however_many_objects_wait() {
    let gave_up = |count: u64| {
        let at_once = (0..count).map(|at| ObjectSpec { needs: Some(Vec::new()), ..object(&format!("/{at}"), 1000) });
        let outcome = load(page(at_once), "1gbit,3600s", textbook());
        // What has failed is tried again while others of the last round are still to fail.
        let connections = u64::from(outcome.connections);
        assert!(!outcome.completed && (4 * count..5 * count).contains(&connections), "{connections}");
        outcome.plt.as_ms()
    };
    // A SYN and six repetitions, after 1, 2, 4, 8, 16 and 32 s and then a minute, four times.
    let expected = 4.0 * 123_000.0;
    for count in [1, 2, 6] {
        let ms = gave_up(count);
        assert!((expected..expected + 1.0).contains(&ms), "{count}: {ms}");
    }
}

#[test]
fn an_unread_status_or_an_upload_is_carried_too() {
    let mut objects = vec![object("/", 1000), object("/gone", 0), object("/send", 10)];
    objects[1].status = Some(404);
    objects[2].method = Some("POST".to_owned());
    objects[2].upload_bytes = Some(125_000);
    let outcome = load(page(objects), "10/1mbit,100ms", textbook());
    // 125 KB at 1 Mbit/s is a second.
    assert!(outcome.completed && (1300.0..1500.0).contains(&outcome.plt.as_ms()), "{:?}", outcome.plt);
}

#[test]
fn hosts_are_turned_to_in_the_order_in_which_the_page_names_them() {
    let on = |host: &str| ObjectSpec { url: format!("http://{host}.test/"), bytes: 1000, ..ObjectSpec::default() };
    let outcome = load(page(["a", "b", "c", "d"].map(on)), "10/1mbit,100ms", textbook());
    let connections: Vec<_> = outcome.waterfall.iter().map(|row| row.connection.unwrap()).collect();
    assert_eq!(connections, [0, 1, 2, 3]);
}

#[test]
fn a_long_upload_is_no_reason_to_lose_patience() {
    let mut objects = vec![object("/", 1000), object("/send", 10)];
    objects[1].method = Some("POST".to_owned());
    objects[1].upload_bytes = Some(45_000_000);
    let outcome = load(page(objects), "10/1mbit,100ms", textbook());
    // 45 MB at 1 Mbit/s are 360 s, more than the browser waits in silence.
    assert!(outcome.completed && outcome.plt.as_ms() < 400_000.0, "{:?}", outcome.plt);
}

#[test]
fn a_head_request_and_a_get_of_one_url_get_their_own_answers() {
    let mut objects = vec![object("/", 1000), object("/x", 5_000_000), object("/x", 5_000_000)];
    objects[1].method = Some("HEAD".to_owned());
    objects[2].name = Some("get".to_owned());
    let outcome = load(page(objects), "10mbit,20ms", textbook());
    let [head, get] = [1, 2].map(|at: usize| outcome.waterfall[at].last_byte.unwrap().as_ms());
    assert!(outcome.completed && head < 100.0 && get > 4000.0, "{head} {get}");
}

#[test]
fn two_objects_of_one_url_are_two_requests() {
    let mut objects = vec![object("/", 1000), object("/poll", 1000), object("/poll", 20_000)];
    objects[2].name = Some("again".to_owned());
    let outcome = load(page(objects), FAST, textbook());
    assert!(outcome.waterfall.iter().all(|row| row.last_byte.is_some()));
}

#[test]
fn bbr_keeps_the_queue_small_that_cubic_fills() {
    let big = object("/big", 30_000_000);
    // On a connection of its own, so what it meets is the queue.
    let small = ObjectSpec {
        url: "http://b.test/".to_owned(),
        needs: Some(vec![Need {
            node: "http://a.test/big".to_owned(),
            on: On::Start,
            bytes: None,
            ms: 15_000.0,
            ..Need::default()
        }]),
        ..object("/", 1000)
    };
    let takes = |cc: &str| {
        let variant = variant(&format!(r#"{{"tcp": {{"cc": "{cc}"}}}}"#));
        let outcome = load(page([big.clone(), small.clone()]), "10mbit,100ms,queue=1000p", variant);
        let [big, small] = [0, 1].map(|at: usize| outcome.waterfall[at]);
        (big.last_byte.unwrap().as_ms(), small.last_byte.unwrap().as_ms() - small.found.unwrap().as_ms())
    };
    let ((cubic, through_cubic), (bbr, through_bbr)) = (takes("cubic"), takes("bbr"));
    // 20,719 packets take 24.9 s. BBR sends 1 % less than it could, and next to nothing twice for 300 ms.
    for plt in [cubic, bbr] {
        assert!((24_900.0..26_500.0).contains(&plt), "{plt}");
    }
    // A connection and an answer take 200 ms without a queue; twice the product on its way makes a queue of
    // 100 ms at most, which both wait in; a thousand packets are 1200 ms.
    assert!((200.0..400.0).contains(&through_bbr), "{through_bbr}");
    assert!(through_cubic > 1200.0, "{through_cubic}");
}

#[test]
fn over_a_trace_a_load_goes_by_its_opportunities() {
    let object = page([object("/", 14_480 - 250)]);
    // Ten segments can leave in each millisecond, but only in the last hundred of them.
    let burst: String = (900..=1001).flat_map(|ms| [ms; 10]).map(|ms| format!("{ms}\n")).collect();
    let scenario = Scenario {
        network: "10gbit,100ms,trace=burst".parse().unwrap(),
        variant: textbook(),
        traces: [("burst".to_owned(), Arc::new(burst.parse().unwrap()))].into(),
        ..Scenario::of(object.clone())
    };
    let ms = run_once(&Plan::new(&scenario).unwrap()).plt.as_ms();
    // The answer to the SYN leaves at 900 ms; the request comes just after 1000, so all ten leave at 1001.
    assert_eq!(ms, 1051.0);

    let unknown = Scenario { network: "10gbit,100ms,trace=other".parse().unwrap(), ..scenario };
    assert_eq!(Plan::new(&unknown).unwrap_err().field, "network");
}

#[test]
fn programs_come_to_their_part_a_moment_after_the_kernel() {
    let took = |server: &str, client: &str| {
        let profiles = format!(r#"{{"tcp": {{"profile": "{server}"}}, "client_tcp": {{"profile": "{client}"}}}}"#);
        load(page([object("/", 1000)]), FAST, variant(&profiles)).plt.as_ms()
    };
    let at = |expected: f64, ms: f64| assert!((expected..expected + 0.01).contains(&ms), "{ms}");
    at(200.0, took("textbook", "textbook"));
    at(200.2, took("linux-6", "textbook"));
    // The browser asks 0.2 ms after the handshake, the server answers 0.2 ms after the request.
    at(200.4, took("linux-6", "linux-6"));
}

#[test]
fn a_server_turns_to_another_connection_when_a_socket_has_taken_what_it_takes_at_a_time() {
    // Over two open connections, 100 KB and 1 KB are asked for at one moment. Of the first response a socket of
    // 16 KiB takes twelve segments, then it is the second's turn.
    let needs = |nodes: &[&str]| {
        let need = |node: &&str| Need { node: format!("http://a.test{node}"), ..Need::default() };
        Some(nodes.iter().map(need).collect())
    };
    let (first, second) = (["/1", "/2"], [("/3", 100_000), ("/4", 1000)]);
    let opening = first.map(|path| ObjectSpec { needs: needs(&["/"]), ..object(path, 1000) });
    let asked = second.map(|(path, bytes)| ObjectSpec { needs: needs(&first), ..object(path, bytes) });
    let variant = serde_json::from_str(r#"{"tcp": {"iw": 100}}"#).unwrap();
    let network = FAST.parse().unwrap();
    let page = page([object("/", 1000)].into_iter().chain(opening).chain(asked));
    let plan = Plan::new(&Scenario { network, variant, ..Scenario::of(page) }).unwrap();
    let capture = loadstone_sim::run_captured(&plan, plan.seed(), 10_000).capture.unwrap();
    let data: Vec<_> = capture.packets.iter().filter(|packet| packet.link.is_down() && packet.len > 0).collect();
    // The first full segment begins the long response.
    let begin = data.iter().position(|packet| u64::from(packet.len) == MSS).unwrap();
    let other = data[begin..].iter().position(|packet| packet.connection != data[begin].connection);
    assert_eq!((other, data[begin].entered), (Some(12), data[begin + 12].entered));
    assert_eq!(data[begin + 13].connection, data[begin].connection);
}
