//! Second visits: what the browser's cache has is asked of no server, and all the rest comes as before.

use crate::laws::{pages, variants};
use crate::{FAST, load, run_once, variant};
use loadstone_load::page::PageFile;
use loadstone_load::{Foresight, FoundBy, Scope};
use loadstone_scenario::columns::{RUN, Value};
use loadstone_scenario::{Outcome, Part, Plan, Prefetch, Scenario, Variant};
use loadstone_units::{Seed, Time};
use proptest::prelude::*;
use std::time::Duration;

/// A document that is asked about each time, a style sheet that keeps for a minute, and an image that nobody may keep,
/// each a round trip of 100 ms after the one before.
fn chain() -> PageFile {
    let json = r#"{"objects": [
        {"url": "http://a.test/", "bytes": 1000, "kind": "html",
         "response_fields": [["cache-control", "no-cache"], ["etag", "\"1\""]]},
        {"url": "http://a.test/a.css", "bytes": 10000, "kind": "css", "response_fields": [["cache-control", "max-age=100"]],
         "needs": [{"node": "http://a.test/", "on": "bytes", "bytes": 100}]},
        {"url": "http://a.test/b.png", "bytes": 1000, "response_fields": [["cache-control", "no-store"]],
         "needs": [{"node": "http://a.test/a.css", "on": "bytes", "bytes": 900, "ms": 10}]}]}"#;
    PageFile::from_json(json.as_bytes()).unwrap()
}

fn visit(settings: &str) -> Outcome {
    load(chain(), FAST, variant(&format!(r#"{{"tls": "none"{settings}}}"#)))
}

fn whole_ms(outcome: &Outcome) -> Vec<u64> {
    outcome.waterfall.iter().map(|row| row.last_byte.unwrap().as_ms() as u64).collect()
}

#[test]
fn at_the_second_visit_what_is_fresh_needs_no_round_trip() {
    assert_eq!(whole_ms(&visit("")), [200, 300, 410]);
    let soon = visit(r#", "visit_after": 99"#);
    assert_eq!(whole_ms(&soon), [200, 201, 311], "a moment to read the style sheet");
    assert_eq!((soon.waterfall[1].connection, soon.waterfall[1].status), (None, Some(200)));
    assert_eq!(soon.waterfall[0].status, Some(304));
    assert_eq!(soon.account().nanos(Part::PageItself), 11_000_000, "reading, and computing");
    assert_eq!(soon.account().total(), soon.plt.as_nanos());
    // By then it is stale, and there is nothing to ask about it.
    assert_eq!(whole_ms(&visit(r#", "visit_after": 100"#)), [200, 300, 410]);
}

#[test]
fn a_push_of_what_the_browser_has_is_refused_and_what_came_is_wasted() {
    let first = visit(r#", "protocol": "h2", "foresight": {"push": "all"}"#);
    assert_eq!((first.waterfall[1].body_bytes, first.discarded), (10_000, 0));
    let second = visit(r#", "protocol": "h2", "foresight": {"push": "all"}, "visit_after": 5"#);
    assert!(second.completed && second.waterfall[1].connection.is_none());
    assert!((8_000..=10_000).contains(&second.discarded), "the refusal comes late: {}", second.discarded);
    let hinted =
        visit(r#", "protocol": "h2", "foresight": {"hint": "all", "hint_by": "early-hints"}, "visit_after": 5"#);
    assert_eq!(hinted.waterfall[1].connection, None, "a hint of it brings no request");
}

#[test]
fn a_page_that_is_all_there_needs_no_network() {
    let mut page = chain();
    page.objects.iter_mut().for_each(|object| object.cached = true);
    let outcome = load(page, FAST, variant("{}"));
    assert_eq!((whole_ms(&outcome), outcome.connections), (vec![1, 2, 13], 0));
    assert_eq!((outcome.bytes_down, outcome.bytes_up), (0, 0));
}

#[test]
fn soon_after_the_first_visit_its_connections_are_still_open() {
    for protocol in ["http/1.1", "h2"] {
        let of = |seconds: u32| visit(&format!(r#", "protocol": "{protocol}", "visit_after": {seconds}"#));
        let (soon, late) = (of(74), of(75));
        assert_eq!((whole_ms(&soon), soon.connections), (vec![100, 101, 211], 0), "no handshake");
        assert_eq!((whole_ms(&late), late.connections), (vec![200, 201, 311], 1), "servers keep them for 75 s");
        assert_eq!(soon.account().nanos(Part::Handshakes), 0);
        assert_eq!(soon.per_connection[0].established, Some(Time::ZERO));
        assert!(soon.bytes_down < late.bytes_down && soon.per_connection[0].content_down < 2000);
    }
}

#[test]
fn a_window_that_has_grown_is_of_use_until_the_connection_was_idle() {
    let page = |fields: &str| {
        let objects = format!(r#"[{{"url": "http://a.test/", "bytes": 200000, "response_fields": [{fields}]}}]"#);
        PageFile::from_json(format!(r#"{{"objects": {objects}}}"#).as_bytes()).unwrap()
    };
    let trips = |seconds: u32| {
        let outcome = load(page(""), FAST, variant(&format!(r#"{{"tls": "none", "visit_after": {seconds}}}"#)));
        (outcome.plt.as_ms() / 100.0).round() as u32
    };
    // 138 segments: 10, 20, 40 and 68 after the handshake. By then the window has 148; when idle it begins anew.
    assert_eq!([100, 0, 10].map(trips), [5, 1, 4]);
}

#[test]
fn the_next_page_has_what_the_one_before_has_brought() {
    let next = r#"{"objects": [
        {"url": "http://a.test/next", "bytes": 1000},
        {"url": "http://a.test/a.css", "bytes": 10000, "needs": [{"node": "http://a.test/next"}]},
        {"url": "http://b.test/new", "bytes": 1000, "needs": [{"node": "http://a.test/next"}]}]}"#;
    let next = PageFile::from_json(next.as_bytes()).unwrap();
    let scenario = Scenario {
        network: FAST.parse().unwrap(),
        variant: variant(r#"{"tls": "none", "visit_after": 5}"#),
        before: vec![chain().into()],
        ..Scenario::of(next)
    };
    let outcome = run_once(&Plan::new(&scenario).unwrap());
    assert_eq!((whole_ms(&outcome), outcome.connections), (vec![100, 101, 300], 1), "a connection to the new host");
    let bare = Scenario { before: vec![PageFile::clone(&scenario.page).into()], ..scenario };
    let error = Plan::new(&bare).unwrap_err().to_string();
    assert!(error.contains("response_fields"), "{error}");
}

#[test]
fn several_pages_before_leave_their_caches_and_connections() {
    let page = |json: &str| PageFile::from_json(json.as_bytes()).unwrap();
    let other = page(r#"{"objects": [{"url": "http://b.test/", "bytes": 1000, "response_fields": []}]}"#);
    let next = page(
        r#"{"objects": [{"url": "http://a.test/next", "bytes": 1000},
        {"url": "http://a.test/a.css", "bytes": 10000, "needs": [{"node": "http://a.test/next"}]},
        {"url": "http://b.test/b", "bytes": 1000, "needs": [{"node": "http://a.test/next"}]},
        {"url": "http://c.test/c", "bytes": 1000, "needs": [{"node": "http://a.test/next"}]}]}"#,
    );
    let of = |before: &[&PageFile], seconds: u32| {
        let scenario = Scenario {
            network: FAST.parse().unwrap(),
            variant: variant(&format!(r#"{{"tls": "none", "visit_after": {seconds}}}"#)),
            before: before.iter().map(|page| (*page).clone().into()).collect(),
            ..Scenario::of(next.clone())
        };
        let outcome = run_once(&Plan::new(&scenario).unwrap());
        (whole_ms(&outcome), outcome.connections)
    };
    // Both hosts are connected; only the third one is new.
    assert_eq!(of(&[&chain(), &other], 5), (vec![100, 101, 200, 300], 1));
    assert_eq!(of(&[&other, &chain()], 5), (vec![100, 101, 200, 300], 1), "in any order");
    assert_eq!(of(&[&chain()], 5), (vec![100, 101, 300, 300], 2));
    // The style sheet is fresh for 100 s, and a.test closes what nobody has used for 75 s.
    assert_eq!(of(&[&chain(), &other], 37), (vec![100, 101, 200, 300], 1), "74 s since the first page");
    assert_eq!(of(&[&chain(), &other], 38), (vec![200, 201, 300, 400], 2), "76 s");
    assert_eq!(of(&[&chain(), &other], 50), (vec![200, 300, 300, 400], 2), "stale after 100 s");
    assert_eq!(of(&[&chain(), &chain()], 50), (vec![100, 200, 300, 300], 2), "as old as at first, connection in use");
    // After 75 s there are no connections, but there is what the caches have.
    assert_eq!(of(&[&chain(), &other], 75).1, 3);
}

#[test]
fn what_the_page_before_has_prefetched_needs_no_request() {
    let next = r#"{"objects": [
        {"url": "http://a.test/next", "bytes": 1000, "response_fields": [["cache-control", "no-cache"]]},
        {"url": "http://b.test/b.png", "bytes": 10000, "response_fields": [["cache-control", "no-store"]],
         "needs": [{"node": "http://a.test/next"}]}]}"#;
    let of = |protocol: &str, seconds: u32, prefetch: &str| {
        let settings = format!(r#""protocol": "{protocol}", "visit_after": {seconds}, "prefetch": "{prefetch}""#);
        let scenario = Scenario {
            network: FAST.parse().unwrap(),
            variant: variant(&format!(r#"{{"tls": "none", {settings}}}"#)),
            before: vec![chain().into()],
            ..Scenario::of(PageFile::from_json(next.as_bytes()).unwrap())
        };
        let outcome = run_once(&Plan::new(&scenario).unwrap());
        (whole_ms(&outcome), outcome.connections)
    };
    for protocol in ["http/1.1", "h2"] {
        assert_eq!(of(protocol, 5, "nothing"), (vec![100, 300], 1));
        // What may not be stored was fetched for nothing, but its connection is there.
        assert_eq!(of(protocol, 5, "next"), (vec![1, 101], 0));
        assert_eq!(of(protocol, 299, "next"), (vec![1, 201], 1), "without connections");
        assert_eq!(of(protocol, 300, "next"), (vec![200, 400], 2), "five minutes after");
    }
    let alone = Scenario { variant: variant(r#"{"prefetch": "next"}"#), ..Scenario::of(chain()) };
    let guessed = Scenario { likely_next: Some(chain().into()), ..Scenario::of(chain()) };
    let error = Plan::new(&guessed).unwrap_err();
    assert!(error.field == "likely_next" && error.to_string().contains("--prefetch"), "{error}");
    let error = Plan::new(&alone).unwrap_err();
    assert!(error.field == "variant.prefetch" && error.to_string().contains("--visit-after"), "{error}");
}

#[test]
fn what_is_brought_for_the_next_page_is_counted_with_what_nobody_used() {
    let of = |json: &str| PageFile::from_json(json.as_bytes()).unwrap();
    let (before, next) = (
        of(r#"{"objects": [{"url": "http://a.test/", "bytes": 1000, "response_fields": []}]}"#),
        of(r#"{"objects": [
            {"url": "http://a.test/next", "bytes": 2000, "response_fields": [["cache-control", "no-cache"]]},
            {"url": "http://b.test/b.png", "bytes": 3000, "response_fields": []}]}"#),
    );
    let guess = of(r#"{"objects": [{"url": "http://a.test/guess", "bytes": 400000, "response_fields": []}]}"#);
    let of = |protocol: &str, seconds: u32, prefetch: &str, guess: Option<&PageFile>| {
        let settings = format!(r#""protocol": "{protocol}", "visit_after": {seconds}, "prefetch": "{prefetch}""#);
        let scenario = Scenario {
            network: FAST.parse().unwrap(),
            variant: variant(&format!(r#"{{"tls": "none", {settings}}}"#)),
            before: vec![before.clone().into()],
            likely_next: guess.map(|guess| guess.clone().into()),
            ..Scenario::of(next.clone())
        };
        let plan = Plan::new(&scenario).unwrap();
        let outcome = run_once(&plan);
        let value = |name: &str| {
            let column = RUN.iter().find(|column| column.name == name).unwrap();
            (column.values)(plan.page(), &outcome)[0]
        };
        let counted = [value("bytes_prefetched"), value("bytes_wasted")].map(|value| format!("{value:?}"));
        (outcome.plt.as_ms().round() as u32, counted)
    };
    let counted =
        |ms: u32, brought: u64, wasted: u64| (ms, [brought, wasted].map(|bytes| format!("{:?}", Value::from(bytes))));
    for protocol in ["http/1.1", "spdy/3.1", "h2"] {
        assert_eq!(of(protocol, 5, "next", None), counted(2, 5000, 0), "{protocol}");
        assert_eq!(of(protocol, 5, "next", Some(&guess)), counted(300, 400_000, 400_000), "{protocol}");
        assert_eq!(of(protocol, 5, "pushed", None), counted(2, 5000, 0), "{protocol}");
    }
    // What was pushed is gone with its connection; what was prefetched is in the cache.
    assert_eq!(of("h2", 80, "next", None), counted(2, 5000, 0));
    assert_eq!(of("h2", 80, "pushed", None), counted(201, 5000, 2000));
}

#[test]
fn what_the_page_still_waited_for_is_given_up() {
    let page = r#"{"objects": [
        {"url": "http://a.test/", "bytes": 1000, "response_fields": []},
        {"url": "http://a.test/film", "bytes": 50000000, "needed": false},
        {"url": "http://a.test/late", "bytes": 100, "needed": false,
         "needs": [{"node": "http://a.test/", "timer_ms": 2000}]}]}"#;
    let page = PageFile::from_json(page.as_bytes()).unwrap();
    let of = |protocol: &str, seconds: u32| {
        let json = format!(r#"{{"tls": "none", "protocol": "{protocol}", "visit_after": {seconds}}}"#);
        load(page.clone(), "10mbit,100ms", variant(&json))
    };
    for (protocol, connections) in [("http/1.1", 1), ("h2", 0)] {
        let outcome = of(protocol, 1);
        assert!(outcome.completed);
        assert_eq!(outcome.connections, connections, "{protocol}: without streams the connection goes with the film");
        assert!(
            outcome.bytes_down < 200_000,
            "{protocol}: only what was on its way: {} {:?}",
            outcome.bytes_down,
            outcome.plt
        );
        assert_eq!(outcome.waterfall[2].last_byte, None, "{protocol}: the timer is the page's");
    }
}

#[test]
fn packets_and_marks_are_those_of_the_visit_that_counts() {
    let scenario = Scenario {
        network: FAST.parse().unwrap(),
        variant: variant(r#"{"tls": "none", "visit_after": 5}"#),
        ..Scenario::of(chain())
    };
    let outcome = loadstone_sim::run_captured(&Plan::new(&scenario).unwrap(), Seed(1), 1000);
    let capture = outcome.capture.as_ref().unwrap();
    assert_eq!(capture.packets.len() as u64, outcome.packets_down + outcome.packets_up);
    assert_eq!(capture.packets[0].entered, Time::ZERO);
    assert!(capture.packets.iter().all(|packet| packet.entered <= outcome.plt && !packet.flags.syn));
    assert!(capture.windows.iter().all(|window| window.at <= outcome.plt));
}

/// The pages of `laws` with heads that say how long objects keep; some are in the cache already.
fn pages_with_heads() -> impl Strategy<Value = PageFile> {
    let stated = vec!["", "no-store", "no-cache", "max-age=60", "max-age=30, stale-while-revalidate=60"];
    let kept = prop::collection::vec(prop::sample::select(stated), 25);
    (pages(), kept, any::<[bool; 25]>()).prop_map(|(mut page, kept, cached)| {
        for (at, object) in page.objects.iter_mut().enumerate() {
            let fields = [("cache-control", kept[at]), ("etag", if cached[at] { "" } else { "\"1\"" })];
            let said = fields.iter().filter(|(_, value)| !value.is_empty());
            object.response_fields =
                Some(said.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect());
            object.cached = at % 5 == 4 && cached[at];
        }
        page
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn at_the_second_visit_everything_comes_once_from_the_cache_or_from_a_server(
        page in pages_with_heads(),
        variant_json in variants(),
        (rate, rtt, loss) in (100_u64..100_000, 1_u64..400, 0_u32..5),
        (seconds, seed) in (0_u32..150, 1_u64..1_000_000),
    ) {
        let again = page.visited_after(&page, Duration::from_secs(seconds.into())).unwrap();
        prop_assert!(again.objects.len() >= page.objects.len());
        let mut variant = variant(&variant_json);
        variant.visit_after = Some(i64::from(seconds).try_into().unwrap());
        // What hints bring ahead has rows of its own.
        variant.foresight.hint = Scope::Nothing;
        let network = format!("{rate}kbit,{rtt}ms,{loss}%").parse().unwrap();
        let plan = Plan::new(&Scenario { network, variant, seed, ..Scenario::of(page) }).unwrap();
        let outcome = run_once(&plan);
        prop_assert!(outcome.completed);
        for (object, row) in again.objects.iter().zip(&outcome.waterfall) {
            if object.cached {
                let read = row.found.map(|found| found + Duration::from_millis(1)).filter(|read| *read <= outcome.plt);
                prop_assert_eq!((row.connection, row.last_byte, row.body_bytes), (None, read, 0));
            } else if let Some(end) = row.last_byte {
                prop_assert!(row.connection.is_some() && end > Time::ZERO);
                prop_assert_eq!((row.status, row.body_bytes), (object.status.or(Some(200)), object.bytes));
            }
        }
        prop_assert_eq!(outcome.account().total(), outcome.plt.as_nanos());
        prop_assert_eq!(&run_once(&plan), &outcome);
    }

    #[test]
    fn whatever_early_hints_bring_the_page_has_all_it_asks_for(
        page in pages_with_heads(),
        (variant_json, scope) in (variants(), prop::sample::select(vec![Scope::Embedded, Scope::All, Scope::Listed])),
        (rate, rtt, loss) in (100_u64..100_000, 1_u64..400, 0_u32..5),
        (seconds, seed) in (prop::option::of(0_u32..150), 1_u64..1_000_000),
    ) {
        let mut variant = variant(&variant_json);
        variant.visit_after = seconds.map(|seconds| i64::from(seconds).try_into().unwrap());
        variant.foresight = Foresight { hint: scope, ..Foresight::default() };
        let network = format!("{rate}kbit,{rtt}ms,{loss}%").parse().unwrap();
        let plan = Plan::new(&Scenario { network, variant, seed, ..Scenario::of(page.clone()) }).unwrap();
        let outcome = run_once(&plan);
        prop_assert!(outcome.completed);
        // A probe of pipelining is not the page's.
        let own = plan.page().fetches().zip(&outcome.waterfall).filter(|((_, fetch), _)| fetch.kind != "probe");
        let found: Vec<FoundBy> = own.map(|(_, row)| row.found_by).collect();
        let asked = found.iter().filter(|by| **by == FoundBy::Page).count();
        let hinted = found.len() - asked;
        let again = |seconds: u32| page.visited_after(&page, Duration::from_secs(seconds.into())).unwrap();
        let wanted = seconds.map_or(page.objects.len(), |seconds| again(seconds).objects.len());
        prop_assert!(asked <= wanted && (wanted..=wanted + hinted).contains(&found.len()));
        prop_assert_eq!(outcome.account().total(), outcome.plt.as_nanos());
        prop_assert_eq!(&run_once(&plan), &outcome);
    }

    #[test]
    fn whatever_is_brought_ahead_every_page_has_all_it_needs(
        (before, next, guess) in (pages_with_heads(), pages_with_heads(), prop::option::of(pages_with_heads())),
        (variant_json, prefetch) in (variants(), prop::sample::select(vec![Prefetch::Next, Prefetch::Pushed])),
        (rate, rtt, loss) in (100_u64..100_000, 1_u64..400, 0_u32..5),
        (seconds, seed) in (0_i64..150, 1_u64..1_000_000),
    ) {
        let variant = Variant { prefetch, visit_after: Some(seconds.try_into().unwrap()), ..variant(&variant_json) };
        let network = format!("{rate}kbit,{rtt}ms,{loss}%").parse().unwrap();
        let (before, likely_next) = (vec![before.into()], guess.map(Into::into));
        let plan = Plan::new(&Scenario { network, variant, seed, before, likely_next, ..Scenario::of(next) }).unwrap();
        let outcome = run_once(&plan);
        prop_assert!(outcome.completed);
        let ahead = plan.page().ahead;
        prop_assert!(ahead.wasted <= ahead.bytes);
        prop_assert_eq!(outcome.account().total(), outcome.plt.as_nanos());
        prop_assert_eq!(&run_once(&plan), &outcome);
    }
}
