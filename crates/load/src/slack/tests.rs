use super::*;
use crate::page::{ActivityId, PageFile};
use crate::{LoadEvent, critical_path};
use proptest::prelude::*;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn page(objects: &str, compute: &str) -> Page {
    let json =
        format!(r#"{{"objects": [{{"url": "http://a.test/", "bytes": 100}}{objects}], "compute": [{compute}]}}"#);
    PageFile::from_json(json.as_bytes()).unwrap().build().unwrap()
}

/// Found, first byte, last byte.
fn row(marks: [u64; 3]) -> Row {
    let [found, first_byte, last_byte] = marks.map(|mark| Some(at(mark)));
    Row { found, first_byte, last_byte, ..Row::default() }
}

fn cause(on: u32, moment: u64) -> Option<Cause> {
    Some(Cause { on: ActivityId(on), at: at(moment) })
}

fn slacks(page: &Page, marks: &Marks, finish: u64) -> Vec<Option<u64>> {
    let spans = activity_spans(page, marks, at(finish));
    spans.iter().map(|span| span.slack.map(|slack| slack.as_nanos() as u64)).collect()
}

#[test]
fn the_last_object_has_none_and_another_what_it_is_earlier() {
    let page = page(r#", {"url": "http://a.test/1", "bytes": 1}, {"url": "http://a.test/2", "bytes": 1}"#, "");
    let rows = vec![row([0, 40, 50]), row([50, 70, 80]), row([50, 80, 95])];
    let marks = Marks { rows, causes: vec![None, cause(0, 50), cause(0, 50)], ..Marks::default() };
    assert_eq!(slacks(&page, &marks, 95), [Some(0), Some(15), Some(0)]);
}

#[test]
fn what_waited_for_two_gives_the_earlier_one_the_difference_and_its_own() {
    // 3 waits for 1 and for 2, 2 came last; the page ends 7 after 3, with 4.
    let page = page(
        r#", {"url": "http://a.test/1", "bytes": 1}, {"url": "http://a.test/2", "bytes": 1},
           {"url": "http://a.test/3", "bytes": 1, "needs": [{"node": "http://a.test/1", "ms": 0.000003}, {"node": "http://a.test/2"}]},
           {"url": "http://a.test/4", "bytes": 1}"#,
        "",
    );
    let rows = vec![row([0, 5, 10]), row([10, 15, 20]), row([10, 30, 35]), row([35, 50, 60]), row([10, 60, 67])];
    let causes = vec![None, cause(0, 10), cause(0, 10), cause(2, 35), cause(0, 10)];
    let marks = Marks { rows, causes, ..Marks::default() };
    // 1: 35 - (20 + 3) + 7; 2: 0 + 7.
    assert_eq!(slacks(&page, &marks, 67), [Some(0), Some(19), Some(7), Some(7), Some(0)]);
}

#[test]
fn where_the_first_of_several_is_enough_the_others_may_come_whenever_they_will() {
    // The gate opens with 1; 3 waits for the gate. 2 comes in between.
    let page = page(
        r#", {"url": "http://a.test/1", "bytes": 1}, {"url": "http://a.test/2", "bytes": 1, "needed": false},
           {"url": "http://a.test/3", "bytes": 1, "needs": [{"node": "gate"}]}"#,
        r#"{"name": "gate", "ms": 0, "any_need": true, "needs": [{"node": "http://a.test/1"}, {"node": "http://a.test/2"},
            {"node": "http://a.test/", "on": "start", "timer_ms": 0.000040}]}"#,
    );
    let rows = vec![row([0, 5, 10]), row([10, 15, 20]), row([10, 15, 25]), row([20, 50, 60])];
    let causes = vec![None, cause(0, 10), cause(0, 10), cause(4, 20), cause(1, 20)];
    let marks = Marks { rows, causes, ..Marks::default() };
    assert_eq!(slacks(&page, &marks, 60), [Some(0), Some(0), None, Some(0), Some(0)]);
}

#[test]
fn what_the_page_waits_for_in_no_way_may_come_whenever_it_will() {
    let page = page(
        r#", {"url": "http://a.test/1", "bytes": 1, "needed": false},
           {"url": "http://a.test/2", "bytes": 1, "needed": false},
           {"url": "http://a.test/3", "bytes": 1, "needs": [{"node": "http://a.test/2"}]},
           {"url": "http://a.test/4", "bytes": 1, "needed": false}"#,
        "",
    );
    let rows = vec![row([0, 5, 10]), row([10, 15, 20]), row([10, 15, 25]), row([25, 35, 45]), Row::default()];
    let marks = Marks { rows, causes: vec![None, cause(0, 10), cause(0, 10), cause(2, 25), None], ..Marks::default() };
    assert_eq!(slacks(&page, &marks, 45), [Some(0), None, Some(0), Some(0), None]);
}

#[test]
fn bytes_came_evenly_unless_they_were_the_cause() {
    let page = page(
        r#", {"url": "http://a.test/1", "bytes": 1, "needs": [{"node": "http://a.test/", "on": "bytes", "bytes": 50}]},
           {"url": "http://a.test/2", "bytes": 1, "needs": [{"node": "http://a.test/", "on": "bytes", "bytes": 50},
                                                           {"node": "http://a.test/1", "on": "start", "ms": 0.000021}]}"#,
        "",
    );
    // Half of the root was there at 13, its even half would have been at 20.
    let rows = vec![row([0, 10, 30]), row([13, 20, 40]), row([34, 40, 50])];
    let marks = Marks { rows, causes: vec![None, cause(0, 13), cause(1, 13)], ..Marks::default() };
    // The root by 1: 13 - 13 + 0, since 2 began 21 after it; by 2: 34 - 20.
    assert_eq!(slacks(&page, &marks, 50), [Some(0), Some(0), Some(0)]);
    let free = Marks { causes: vec![None, cause(0, 11), cause(1, 13)], ..marks };
    assert_eq!(slacks(&page, &free, 50)[0], Some(2), "1 began 2 after the bytes at which it is said to have");
}

#[test]
fn computing_begins_with_its_cause_or_when_the_thread_is_free() {
    // Both run on the main thread when the root is there: `a` for 20, then `b`, which waited for the thread, for 5.
    // The load event comes at 60, with 1.
    let compute = r#"{"name": "a", "ms": 0.00002, "main_thread": true, "needed": true,
                      "needs": [{"node": "http://a.test/", "ms": 0.000004}]},
                     {"name": "b", "ms": 0.000005, "main_thread": true,
                      "needs": [{"node": "http://a.test/", "ms": 0.000004, "timer_ms": 0.000001}]}"#;
    let page = page(r#", {"url": "http://a.test/1", "bytes": 1, "needs": [{"node": "b"}]}"#, compute);
    let rows = vec![row([0, 5, 10]), row([39, 50, 60])];
    let load_event = Some(LoadEvent { last: ActivityId(1), ended: at(60), at: at(60) });
    let causes = vec![None, cause(3, 39), cause(0, 10), cause(2, 34)];
    let marks = Marks { rows, causes, load_event, ..Marks::default() };
    let spans = activity_spans(&page, &marks, at(60));
    let times: Vec<_> =
        spans.iter().map(|span| (span.began.unwrap().as_nanos(), span.ended.unwrap().as_nanos())).collect();
    assert_eq!(times, [(0, 10), (39, 60), (14, 34), (34, 39)]);
    // `b` might have begun at 15, and waited 19 for the thread.
    assert_eq!(slacks(&page, &marks, 60), [Some(19), Some(0), Some(26), Some(0)]);

    let path = critical_path(&page, &marks, &[]);
    let legs = path_legs(&path, &spans, &page);
    let nanos = |span: Duration| span.as_nanos() as u64;
    let legs: Vec<_> = legs
        .iter()
        .map(|leg| (leg.activity, leg.to.as_nanos(), nanos(leg.network), nanos(leg.computing), nanos(leg.waiting)))
        .collect();
    // Between the root and `a` lie 4.
    assert_eq!(legs, [(0, 10, 10, 0, 0), (2, 34, 0, 20, 4), (3, 39, 0, 5, 0), (1, 60, 21, 0, 0)]);
}

/// A page whose objects each wait for one or two before them, loaded as if each took its own time and nothing else:
/// the slack is then known from the plan alone.
fn planned(befores: &[(prop::sample::Index, prop::sample::Index, u64)]) -> (Page, Marks, u64) {
    let mut rows = vec![row([0, 1, 2])];
    let mut causes = vec![None];
    let mut objects = String::new();
    for (place, (one, other, took)) in befores.iter().enumerate() {
        let (one, other) = (one.index(place + 1), other.index(place + 1));
        let ended = |object: usize| rows[object].last_byte.unwrap();
        let last = if ended(other) >= ended(one) { other } else { one };
        let url =
            |object: usize| if object == 0 { "http://a.test/".to_owned() } else { format!("http://a.test/{object}") };
        objects += &format!(
            r#", {{"url": "{}", "bytes": 1, "needs": [{{"node": "{}"}}, {{"node": "{}"}}]}}"#,
            url(place + 1),
            url(one),
            url(other)
        );
        let found = ended(last).as_nanos();
        causes.push(cause(last as u32, found));
        rows.push(row([found, found + took / 2, found + took]));
    }
    let finish = rows.iter().filter_map(|row| row.last_byte).max().unwrap().as_nanos();
    (page(&objects, ""), Marks { rows, causes, ..Marks::default() }, finish)
}

proptest! {
    #[test]
    fn an_object_that_comes_later_by_its_slack_makes_the_page_no_later_and_by_more_it_does(
        befores in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1..1000u64), 1..20),
        late in any::<prop::sample::Index>(),
    ) {
        let (page, marks, finish) = planned(&befores);
        let slacks = slacks(&page, &marks, finish);
        let late = late.index(befores.len());
        let slack = slacks[late + 1].unwrap();
        let delayed = |by: u64| {
            let mut befores = befores.clone();
            befores[late].2 += by;
            planned(&befores).2
        };
        prop_assert_eq!((delayed(slack), delayed(slack + 1)), (finish, finish + 1));
    }

    #[test]
    fn no_object_on_the_critical_path_has_slack(
        befores in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1..1000u64), 0..20),
    ) {
        let (page, marks, finish) = planned(&befores);
        let slacks = slacks(&page, &marks, finish);
        for span in critical_path(&page, &marks, &[]) {
            prop_assert_eq!(slacks[span.activity.0 as usize], Some(0));
        }
    }
}
