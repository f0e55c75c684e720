//! An edge near the browser, as other users have left it: its cache, its connections, its processor. Times are added up on paper.

use crate::{FAST, object, page};
use loadstone_load::page::{Need, ObjectSpec, PageFile};
use loadstone_net::LinkId;
use loadstone_scenario::{Outcome, Plan, Scenario};
use loadstone_sim::run_all;
use loadstone_units::Seed;

/// What programs need to be woken up, once or twice for each way through the edge.
const WAKING_MS: f64 = 3.0;
const EARLIER: &str = r#"{"name": "other", "runs": "earlier-browser", "via": "edge"},"#;
const CACHE: &str = r#", "cache": 100000000"#;

/// 100 ms to the edge and 80 ms behind it, at a rate that does not matter. `edge` has fields of the relay, `before` hosts that
/// stand before the browser in the list.
fn plan(page: &PageFile, variant: &str, edge: &str, before: &str) -> Plan {
    let page = serde_json::to_string(page).unwrap();
    let text = format!(
        r#"{{"page": {page}, "network": "{FAST}", "variant": {variant}, "topology": {{"hosts": [{before}
            {{"name": "me", "runs": "browser", "via": "edge"}}, {{"name": "edge", "runs": "relay"{edge}}},
            {{"name": "servers", "runs": "origins"}}],
        "links": [{{"name": "access", "between": ["me", "edge"]}}, {{"name": "other access", "between": ["{other}", "edge"]}},
            {{"name": "backhaul", "between": ["edge", "servers"], "network": "1000gbit,80ms,queue=1000000p"}}]}}}}"#,
        other = if before.is_empty() { "nowhere" } else { "other" },
    );
    let text = if before.is_empty() {
        text.replace(r#"{"name": "other access", "between": ["nowhere", "edge"]},"#, "")
    } else {
        text
    };
    Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap()
}

fn load(plan: &Plan) -> Outcome {
    let mut outcomes = run_all(plan, Seed(1), Some(100_000));
    assert_eq!(outcomes.len(), 1, "of earlier browsers nothing is said");
    outcomes.remove(0)
}

fn is_about(found: f64, expected: f64) -> bool {
    (expected..expected + WAKING_MS).contains(&found)
}

const HTTP: &str = r#"{"protocol": "http/1.1", "tls": "none"}"#;

#[test]
fn what_another_user_has_left_saves_a_handshake_and_what_is_stored_the_way_to_the_origin() {
    let one = page([object("/", 1_000)]);
    let took = |edge: &str, before: &str| load(&plan(&one, HTTP, edge, before)).plt.as_ms();
    // Two round trips to the edge, two behind it.
    assert!(is_about(took("", ""), 360.0));
    assert!(is_about(took("", EARLIER), 280.0), "a connection is open behind");
    // Nothing says that it may be stored.
    assert!(is_about(took(CACHE, EARLIER), 280.0));
    let all = format!(r#"{CACHE}, "hit_rate": 100"#);
    assert!(is_about(took(&all, ""), 360.0), "nobody has asked for it before");
    assert!(is_about(took(&all, EARLIER), 200.0));
    let none = format!(r#"{CACHE}, "hit_rate": 0"#);
    assert!(is_about(took(&none, EARLIER), 280.0));
}

#[test]
fn fields_say_what_is_stored_unless_a_hit_rate_does() {
    let with = |directives: &str| {
        let fields = vec![("cache-control".to_owned(), directives.to_owned())];
        page([ObjectSpec { response_fields: Some(fields), ..object("/", 1_000) }])
    };
    let took = |directives: &str, edge: &str| load(&plan(&with(directives), HTTP, edge, EARLIER)).plt.as_ms();
    let rate = |percent: u32| format!(r#"{CACHE}, "hit_rate": {percent}"#);
    assert!(is_about(took("max-age=60", CACHE), 200.0));
    assert!(is_about(took("private, max-age=60", CACHE), 280.0));
    assert!(is_about(took("private, max-age=60", &rate(100)), 200.0));
    assert!(is_about(took("max-age=60", &rate(0)), 280.0));
    // Whatever it varies by, and only what there is.
    let varying = vec![("vary".to_owned(), "*".to_owned())];
    let any = page([ObjectSpec { response_fields: Some(varying), ..object("/", 1_000) }]);
    assert!(is_about(load(&plan(&any, HTTP, &rate(100), EARLIER)).plt.as_ms(), 200.0));
    let missing = page([ObjectSpec { status: Some(404), ..object("/", 1_000) }]);
    assert!(is_about(load(&plan(&missing, HTTP, &rate(100), EARLIER)).plt.as_ms(), 280.0));
}

#[test]
fn what_is_stale_costs_a_round_trip_behind_the_edge_and_not_its_content_rfc9111_4_3() {
    let with = |fields: &[(&str, &str)]| {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        page([ObjectSpec { response_fields: Some(fields), ..object("/", 10_000) }])
    };
    // The time, and the bytes that came from the servers to the edge: over the third link, towards its first end.
    let loaded = |fields: &[(&str, &str)]| {
        let outcome = load(&plan(&with(fields), HTTP, CACHE, EARLIER));
        let packets = outcome.capture.as_ref().unwrap().packets.iter().filter(|packet| packet.link == LinkId(4));
        (outcome.plt.as_ms(), packets.map(|packet| packet.bytes).sum::<u32>())
    };
    let (took, bytes) = loaded(&[("cache-control", "max-age=60")]);
    assert!(is_about(took, 200.0) && bytes == 0, "{took} {bytes}");
    let (took, bytes) = loaded(&[("cache-control", "max-age=0"), ("etag", "\"1\"")]);
    assert!(is_about(took, 280.0) && (100..600).contains(&bytes), "{took} {bytes}");
    // Without a validator there is nothing to ask about: it comes again.
    let (took, bytes) = loaded(&[("cache-control", "max-age=0")]);
    assert!(is_about(took, 280.0) && bytes > 10_000, "{took} {bytes}");
}

#[test]
fn so_many_percent_of_urls_are_hits_in_each_run_others() {
    // One after the other: each costs a round trip to the edge, and one more behind it if it is no hit.
    let chain: Vec<_> = (0..40)
        .map(|at: u32| ObjectSpec {
            needs: at
                .checked_sub(1)
                .map(|before| vec![Need { node: format!("http://a.test/{before}"), ..Need::default() }]),
            ..object(&format!("/{at}"), 1_000)
        })
        .collect();
    let plan = plan(&page(chain), HTTP, &format!(r#"{CACHE}, "hit_rate": 75"#), EARLIER);
    assert!(plan.is_random(), "it is drawn which");
    let misses = |seed: u64| {
        let took = run_all(&plan, Seed(seed), None)[0].plt.as_ms() - 41.0 * 100.0;
        (took / 80.0).round() as u32
    };
    let drawn: Vec<u32> = (1..=20).map(misses).collect();
    assert!(drawn.iter().any(|misses| *misses != drawn[0]), "{drawn:?}");
    let all: u32 = drawn.iter().sum();
    // 800 draws with a quarter of misses: four standard deviations are 49.
    assert!((151..=249).contains(&all), "{drawn:?}");
}

#[test]
fn tls_is_in_front_alone_where_servers_behind_have_none() {
    let one = page([object("/", 1_000)]);
    let tls = r#"{"protocol": "http/1.1", "tls": "1.3"}"#;
    let both = load(&plan(&one, tls, "", "")).plt.as_ms();
    let front = load(&plan(&one, tls, r#", "plaintext": ["a.test"]"#, "")).plt.as_ms();
    assert!(is_about(both, 540.0) && is_about(front, 460.0), "{both} {front}");
}

#[test]
fn requests_wait_for_one_another_where_the_edge_has_to_look_at_each() {
    let nine = (1..10).map(|at| object(&format!("/{at}"), 1_000));
    let page = page([object("/", 1_000)].into_iter().chain(nine));
    let h2 = r#"{"protocol": "h2", "tls": "none"}"#;
    // Connections are open behind, so that each request finds one.
    let took = |edge: &str| load(&plan(&page, h2, edge, EARLIER)).plt.as_ms();
    let (at_once, busy) = (took(""), took(r#", "request_us": 100000"#));
    assert!((busy - at_once - 1_000.0).abs() < WAKING_MS, "{at_once} {busy}");
}

#[test]
fn requests_wait_for_a_connection_behind_where_there_may_be_no_more() {
    let page = page((0..5).map(|at| object(&format!("/{at}"), 1_000)));
    let h2 = r#"{"protocol": "h2", "tls": "none"}"#;
    let took = |edge: &str| load(&plan(&page, h2, edge, EARLIER)).plt.as_ms();
    let (any, one) = (took(""), took(r#", "server_connections": 1"#));
    // Four come at once. One after the other, the last waits for three round trips behind the edge.
    assert!((one - any - 240.0).abs() < WAKING_MS, "{any} {one}");
}

#[test]
fn requests_share_a_connection_behind_where_servers_speak_http2() {
    let page = page((0..5).map(|at| object(&format!("/{at}"), 1_000)));
    let took = |edge: &str| {
        let outcome = load(&plan(&page, r#"{"protocol": "h2", "tls": "none"}"#, edge, EARLIER));
        assert!(outcome.completed);
        outcome.plt.as_ms()
    };
    let (many, one) = (took(""), took(r#", "server_protocol": "h2", "server_connections": 1"#));
    assert!((one - many).abs() < WAKING_MS, "{many} {one}");
}

#[test]
fn of_earlier_loads_nothing_is_counted() {
    let page = page((0..5).map(|at| object(&format!("/{at}"), 30_000)));
    let [alone, after] = ["", EARLIER].map(|before| load(&plan(&page, HTTP, "", before)));
    assert!(alone.completed && after.completed);
    assert_eq!(alone.connections, after.connections);
    assert_eq!(alone.per_connection.len(), after.per_connection.len());
    let content = |outcome: &Outcome| outcome.per_connection.iter().map(|it| it.content_down).sum::<u64>();
    assert_eq!(content(&alone), content(&after));
    assert_eq!(alone.first_request, after.first_request, "times count from its own beginning");
    let first = |outcome: &Outcome| outcome.capture.as_ref().unwrap().packets[0].entered;
    assert_eq!(first(&alone), first(&after));
}

#[test]
fn a_pool_that_grows_as_it_saves_has_half_the_connections_for_a_burst_whose_last_comes_one_turn_later() {
    // A document, and 40 small images that all are asked for at once by HTTP/2.
    let images = page((0..=40).map(|at| object(&format!("/{at}"), 50)));
    let loaded = |growth: &str| {
        let edge = format!(r#", "server_growth": "{growth}""#);
        let outcome = load(&plan(&images, r#"{"protocol": "h2", "tls": "1.3"}"#, &edge, ""));
        let connections = &outcome.capture.as_ref().unwrap().connections;
        (outcome.plt.as_ms(), connections.iter().filter(|connection| connection.client > 0).count())
    };
    // Three round trips for the document before the edge and as many behind it; then as many behind it again.
    let (took, connections) = loaded("at-once");
    assert!(is_about(took, 300.0 + 240.0 + 100.0 + 240.0) && connections == 40, "{took} {connections}");
    // Opening takes 160 ms and a turn 80. Until a new connection is of use, at 320, the document's has three turns, and each new
    // one has one more after its own.
    let (took, connections) = loaded("as-it-saves");
    let later = took - (300.0 + 240.0 + 100.0 + 320.0);
    assert!((0.0..2.0 * WAKING_MS).contains(&later) && (19..=20).contains(&connections), "{took} {connections}");
}

#[test]
fn who_waits_behind_a_long_response_gets_a_connection_of_its_own_in_time() {
    // What comes first is small, so nobody expects that the second takes a second.
    let slow = ObjectSpec { think_ms: Some(1000.0), ..object("/slow", 50) };
    let objects = [object("/", 50), slow, object("/late", 50)];
    let outcome =
        load(&plan(&page(objects), r#"{"protocol": "h2", "tls": "none"}"#, r#", "server_growth": "as-it-saves""#, ""));
    let late = outcome.waterfall[2].last_byte.unwrap().as_ms();
    // It waits twice as long as opening took, and then opens.
    assert!(is_about(late, 200.0 + 160.0 + 100.0 + 160.0 + 160.0), "{late}");
}
