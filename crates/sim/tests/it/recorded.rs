//! Pages as recordings have them: one main thread, Chromium's order of requests, a load event.

use crate::laws::{pages, variants};
use crate::{load, run_once, variant};
use loadstone_load::FoundBy;
use loadstone_load::page::{
    ComputeSpec, DocumentSpec, Need, Needed, ObjectSpec, On, PageFile, RaiseSpec, RequestScheduling,
};
use loadstone_scenario::{Outcome, Part, Plan, Scenario};
use loadstone_units::{Bounded, Time};
use proptest::prelude::*;

fn object(path: &str, needs: Vec<Need>) -> ObjectSpec {
    ObjectSpec { url: format!("http://a.test/{path}"), bytes: 1000, needs: Some(needs), ..ObjectSpec::default() }
}

fn after(node: &str) -> Need {
    Need { node: node.to_owned(), ..Need::default() }
}

fn main_thread(name: &str, ms: f64, needs: Vec<Need>) -> ComputeSpec {
    let (name, needs) = (name.to_owned(), Some(needs));
    ComputeSpec { name, ms, needs, main_thread: true, needed: Some(Needed::WhenFound), ..ComputeSpec::default() }
}

/// A link so fast that only round trips of 100 ms and computing count.
fn loaded(page: PageFile, settings: &str) -> Outcome {
    load(page, "10gbit,100ms,queue=100000p", variant(settings))
}

const TEXTBOOK: &str = r#"{"tcp": {"profile": "textbook", "iw": 100}, "client_tcp": {"profile": "textbook"}"#;

fn whole_ms(outcome: &Outcome) -> u64 {
    outcome.plt.as_ms().round() as u64
}

#[test]
fn the_main_thread_does_one_thing_at_a_time() {
    let root = "http://a.test/";
    let compute = |main| {
        ["one", "two", "three"]
            .map(|name| ComputeSpec { main_thread: main, ..main_thread(name, 30.0, vec![after(root)]) })
    };
    let page =
        |main| PageFile { objects: vec![object("", vec![])], compute: compute(main).to_vec(), ..PageFile::default() };
    let settings = format!("{TEXTBOOK}}}");
    // Handshake and response take a round trip each.
    assert_eq!(whole_ms(&loaded(page(true), &settings)), 290);
    assert_eq!(whole_ms(&loaded(page(false), &settings)), 230, "on processors of their own");
    assert_eq!(whole_ms(&loaded(page(true), &format!("{TEXTBOOK}, \"compute\": 0.5}}"))), 245);
}

#[test]
fn what_is_found_before_the_load_event_holds_it_up_and_what_is_found_later_does_not() {
    let root = "http://a.test/";
    let timer = |ms| vec![Need { timer_ms: ms, ..after(root) }];
    let page = |ms| {
        let found = ObjectSpec { needed: Some(Needed::WhenFound), ..object("late", timer(ms)) };
        // Takes another round trip.
        let chain = object("next", vec![after(root)]);
        PageFile { objects: vec![object("", vec![]), chain, found], ..PageFile::default() }
    };
    let settings = format!("{TEXTBOOK}}}");
    // Found at 290, before the load would have ended at 300, when the connection is free for it.
    assert_eq!(whole_ms(&loaded(page(90.0), &settings)), 400);
    assert_eq!(whole_ms(&loaded(page(110.0), &settings)), 300);
    // Computing is not a timer: it is scaled, a timer is not.
    assert_eq!(whole_ms(&loaded(page(90.0), &format!("{TEXTBOOK}, \"compute\": 10}}"))), 400);
}

#[test]
fn what_waits_for_a_timer_holds_nothing_up_whatever_else_it_waited_for() {
    let root = "http://a.test/";
    let page = |timer: bool| {
        // By the time that the second need has come true there is only the delay of the first.
        let delay = if timer { Need { timer_ms: 250.0, ..after(root) } } else { Need { ms: 250.0, ..after(root) } };
        let late =
            ObjectSpec { needed: Some(Needed::WhenFound), ..object("late", vec![delay, after("http://a.test/next")]) };
        PageFile { objects: vec![object("", vec![]), object("next", vec![after(root)]), late], ..PageFile::default() }
    };
    let settings = format!("{TEXTBOOK}}}");
    assert_eq!(whole_ms(&loaded(page(true), &settings)), 300, "with the second object");
    assert_eq!(whole_ms(&loaded(page(false), &settings)), 550, "computing keeps the load event");
    let mut both = page(true);
    let needs = both.objects[2].needs.as_mut().unwrap();
    (needs[0].timer_ms, needs[1].ms) = (50.0, 30.0);
    assert_eq!(whole_ms(&loaded(both, &settings)), 430, "the timer is over when computing begins");
}

#[test]
fn a_lazy_image_holds_the_load_event_up_once_it_has_begun_to_arrive() {
    let root = "http://a.test/";
    let page = |late: f64| {
        let needs = vec![Need { timer_ms: late, ..after(root) }];
        // 16 KB at a time; 40 KB take 32 ms at 10 Mbit/s.
        let lazy = ObjectSpec { needed: Some(Needed::WhenArriving), bytes: 40_000, ..object("lazy", needs) };
        let chain = ObjectSpec { url: "http://b.test/next".to_owned(), ..object("", vec![after(root)]) };
        PageFile { objects: vec![object("", vec![]), chain, lazy], ..PageFile::default() }
    };
    let outcome = |late| load(page(late), "10mbit,100ms,queue=1000p", variant(&format!("{TEXTBOOK}}}")));
    // The document is there at 200; what is on the other host takes two round trips, the image one.
    let (early, late) = (outcome(0.0), outcome(150.0));
    assert!(early.waterfall[2].last_byte.is_some_and(|end| end < early.plt), "it comes before the other object");
    assert_eq!(late.waterfall[2].last_byte, None, "nothing of it has come when the other object is there");
    let held = outcome(80.0);
    let end = held.waterfall[2].last_byte.expect("it had begun to arrive");
    assert!(held.plt >= end && held.plt > late.plt, "{held:?}");
    // The main thread has to hear of it before the other object is there.
    let told = |arrival_ms| {
        let mut page = PageFile { arrival_ms, ..page(80.0) };
        page.objects[2].bytes = 400_000;
        let outcome = load(page, "10mbit,100ms,queue=1000p", variant(&format!("{TEXTBOOK}}}")));
        outcome.waterfall[2].last_byte.is_some()
    };
    // Its first byte comes at 383, the other object at 503.
    assert_eq!([told(0.0), told(110.0), told(125.0)], [true, true, false]);
    // It is all there before the main thread hears of it, and the load goes on.
    let mut small = PageFile { arrival_ms: 30.0, ..page(0.0) };
    small.objects[2].bytes = 100;
    let small = load(small, "10mbit,100ms,queue=1000p", variant(&format!("{TEXTBOOK}}}")));
    assert!(small.completed && small.waterfall[2].last_byte < Some(small.plt), "{small:?}");
}

#[test]
fn a_busy_main_thread_delays_the_load_event() {
    let root = "http://a.test/";
    let page = |span: f64| {
        let parse = main_thread("parse", 10.0, vec![after(root)]);
        let busy = ComputeSpec { needed: Some(Needed::Never), ..main_thread("busy", span, vec![after(root)]) };
        let image = object("image", vec![after(root)]);
        PageFile { objects: vec![object("", vec![]), image], compute: vec![parse, busy], ..PageFile::default() }
    };
    let outcome = |span| loaded(page(span), &format!("{TEXTBOOK}}}"));
    assert_eq!([70.0, 150.0].map(|span| whole_ms(&outcome(span))), [300, 360], "the image is there at 300");
    let itself: u64 = outcome(150.0).account().nanos(Part::PageItself);
    assert_eq!((itself + 500_000) / 1_000_000, 60, "what else was done the image has hidden");

    let mut parsed = page(70.0);
    parsed.objects.pop();
    assert_eq!(whole_ms(&loaded(parsed, &format!("{TEXTBOOK}}}"))), 210, "the end of parsing is in the same task");
}

#[test]
fn an_urgent_object_found_late_overtakes_those_that_wait_for_a_connection() {
    let root = "http://a.test/";
    let mut objects = vec![object("", vec![])];
    objects.extend((0..8).map(|at| object(&format!("{at}.png"), vec![after(root)])));
    objects.push(object("late.css", vec![Need { timer_ms: 10.0, ..after(root) }]));
    let page = |scheduling| PageFile { objects: objects.clone(), scheduling, ..PageFile::default() };
    let settings = format!("{TEXTBOOK}, \"connections\": 1}}");
    let place = |scheduling| {
        let outcome = loaded(page(scheduling), &settings);
        let sent = outcome.waterfall[9].sent;
        outcome.waterfall.iter().filter(|row| row.sent < sent).count()
    };
    assert_eq!(place(RequestScheduling::PageOrder), 9);
    assert_eq!(place(RequestScheduling::Chromium), 2, "the document, and the image that was under way");
}

/// A document and images of low urgency at these URLs; one of them becomes urgent so many ms after the document.
fn raised(urls: &[String], raised: Option<(usize, f64)>) -> PageFile {
    let root = "http://a.test/";
    let image = |url: &String| ObjectSpec {
        url: url.clone(),
        urgency: Some(Bounded::known(3)),
        bytes: 20_000,
        ..object("", vec![after(root)])
    };
    let mut page = PageFile {
        objects: std::iter::once(object("", vec![])).chain(urls.iter().map(image)).collect(),
        scheduling: RequestScheduling::Chromium,
        ..PageFile::default()
    };
    if let Some((at, ms)) = raised {
        page.objects[at].raised = Some(RaiseSpec { urgency: Bounded::known(1), with: "layout".to_owned() });
        let needs = Some(vec![Need { timer_ms: ms, ..after(root) }]);
        page.compute.push(ComputeSpec { name: "layout".to_owned(), needs, ..ComputeSpec::default() });
    }
    page
}

#[test]
fn what_becomes_more_urgent_overtakes_what_waits_and_is_served_first() {
    let urls: Vec<String> = (0..8).map(|at| format!("http://a.test/{at}.png")).collect();
    let order = |at: usize, ms: Option<f64>, settings: &str| {
        let outcome = loaded(raised(&urls, ms.map(|ms| (at, ms))), &format!("{TEXTBOOK}, {settings}}}"));
        let end = outcome.waterfall[at].last_byte;
        outcome.waterfall.iter().filter(|row| row.last_byte < end).count()
    };
    // The fifth waits for a connection, and the eighth is held back until fewer than six are under way.
    let one_by_one = r#""connections": 1"#;
    assert_eq!([5, 8].map(|at| order(at, None, one_by_one)), [5, 8]);
    assert_eq!([5, 8].map(|at| order(at, Some(10.0), one_by_one)), [2, 2], "the document, and what was under way");
    // The server knows when it is asked, and not later.
    let together = r#""protocol": "h2""#;
    assert_eq!([None, Some(0.0), Some(10.0)].map(|ms| order(8, ms, together)), [8, 1, 8]);
}

#[test]
fn what_is_under_way_and_becomes_urgent_leaves_its_place_to_another() {
    let urls: Vec<String> =
        (0..12).map(|at| format!("http://{}.test/{at}.png", if at < 6 { "a" } else { "b" })).collect();
    // Ten may be under way: six of the one host, and four of the other.
    let sent = |ms: Option<f64>| {
        let outcome = loaded(raised(&urls, ms.map(|ms| (1, ms))), &format!("{TEXTBOOK}}}"));
        outcome.waterfall[11].sent.unwrap().as_ms().round() as u64
    };
    let (none, early) = (sent(None), sent(Some(10.0)));
    assert_eq!(early, 310, "a connection later than that, at 210");
    assert!(none > 350, "{none}");
}

#[test]
fn low_requests_wait_for_the_body_of_their_document() {
    let root = "http://a.test/";
    let of = |spec: ObjectSpec| ObjectSpec { document: Some(root.to_owned()), ..spec };
    let css = ["1.css", "2.css"].map(|path| of(object(path, vec![after(root)])));
    let image = of(object("1.png", vec![after(root)]));
    let page = |ms| PageFile {
        objects: [vec![object("", vec![])], css.to_vec(), vec![image.clone()]].concat(),
        compute: vec![main_thread("body", 0.0, vec![Need { timer_ms: ms, ..after(root) }])],
        scheduling: RequestScheduling::Chromium,
        documents: [(root.to_owned(), DocumentSpec { body: "body".to_owned() })].into(),
        ..PageFile::default()
    };
    let sent = |ms| {
        let outcome = loaded(page(ms), &format!("{TEXTBOOK}, \"protocol\": \"h2\"}}"));
        outcome.waterfall[3].sent.unwrap().as_ms().round() as u64
    };
    assert_eq!(sent(0.0), 200);
    assert_eq!(sent(40.0), 240, "the body is there");
    assert_eq!(sent(500.0), 300, "the style sheets are there");
}

#[test]
fn what_a_hint_told_of_counts_once_the_page_finds_it() {
    let root = "http://a.test/";
    let found_after = |timer_ms: f64| {
        let mut image = object("image", vec![Need { timer_ms, ..after(root) }]);
        (image.needed, image.bytes) = (Some(Needed::WhenFound), 500_000);
        let page = PageFile { objects: vec![object("", vec![]), image], ..PageFile::default() };
        loaded(page, &format!("{TEXTBOOK}, \"protocol\": \"h2\", \"foresight\": {{\"hint\": \"all\"}}}}"))
    };
    // Without the timer the page finds the image with the document, and waits for its bytes.
    let [at_once, much_later] = [0.0, 5000.0].map(found_after);
    assert_eq!((at_once.waterfall[1].found_by, much_later.waterfall[1].found_by), (FoundBy::Hint, FoundBy::Hint));
    assert_eq!(Some(at_once.plt), at_once.waterfall[1].last_byte);
    assert_eq!((whole_ms(&much_later), much_later.waterfall[1].last_byte), (200, None), "the load ended before");
}

/// The pages of `laws` with computing on the main thread that some objects wait for, and with what counts when found.
fn recorded_pages() -> impl Strategy<Value = PageFile> {
    let node = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_u32..40);
    (pages(), prop::collection::vec(node, 0..6), any::<bool>()).prop_map(|(mut page, nodes, is_chromium)| {
        for (name, (before, waits, ms)) in nodes.into_iter().enumerate() {
            let name = format!("node {name}");
            let before = before.index(page.objects.len());
            let on = [On::Start, On::Bytes, On::End][(ms % 3) as usize];
            let need = Need { on, bytes: Some(1), ..after(&page.objects[before].url) };
            // Only what comes later on the page may wait for it: no circles.
            let later = before + 1 + waits.index(page.objects.len());
            if let Some(Some(needs)) = page.objects.get_mut(later).map(|object| &mut object.needs) {
                needs.push(after(&name));
            }
            page.compute.push(main_thread(&name, f64::from(ms), vec![need]));
        }
        for object in page.objects.iter_mut().skip(1).step_by(2) {
            object.needed = Some(Needed::WhenFound);
        }
        if is_chromium {
            page.scheduling = RequestScheduling::Chromium;
            let root = page.objects[0].url.clone();
            let body = page.compute.first().map_or(root.clone(), |compute| compute.name.clone());
            page.objects.iter_mut().for_each(|object| object.document = Some(root.clone()));
            page.documents.insert(root, DocumentSpec { body });
        }
        page
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_load_event_waits_for_all_that_was_found_and_its_account_is_exact(
        page in recorded_pages(),
        variant_json in variants(),
        (rate, rtt, loss) in (100_u64..100_000, 1_u64..400, 0_u32..5),
        seed in 1_u64..1_000_000,
    ) {
        let network = format!("{rate}kbit,{rtt}ms,{loss}%");
        let scenario = Scenario {
            network: network.parse().unwrap(), variant: variant(&variant_json), seed, ..Scenario::of(page.clone()) };
        let plan = Plan::new(&scenario).unwrap();
        let outcome = run_once(&plan);
        prop_assert!(outcome.completed);
        for (spec, row) in page.objects.iter().zip(&outcome.waterfall) {
            let waited_for = match spec.needed {
                None => true,
                // What a hint or a push told of ahead counts only when the page itself finds it, as in Chromium.
                Some(Needed::WhenFound) => {
                    row.found_by == FoundBy::Page && row.found.is_some_and(|found| found < outcome.plt)
                }
                _ => false,
            };
            prop_assert!(!waited_for || row.last_byte.is_some_and(|end| end <= outcome.plt), "{spec:?} {row:?}");
        }
        let sum: u64 = outcome.path.iter().map(|span| span.to.nanos_since(span.from)).sum();
        prop_assert_eq!(Time::from_nanos(sum), outcome.plt);
        prop_assert_eq!(&run_once(&plan), &outcome);
    }
}
