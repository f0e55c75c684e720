//! Which activities begin when, and when the load event comes.

use super::*;
use crate::page::PageFile;

const ROOT: ActivityId = ActivityId(0);

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn progress(objects: &str, compute: &str) -> Progress {
    let json =
        format!(r#"{{"objects": [{{"url": "https://a.test/", "bytes": 1000}}{objects}], "compute": [{compute}]}}"#);
    let page = PageFile::from_json(json.as_bytes()).unwrap().build().unwrap();
    let mut progress = Progress::new(Arc::new(Graph::new(&page)));
    progress.start(Time::ZERO);
    assert_eq!(ready(&mut progress, Time::ZERO), [0]);
    progress
}

fn ready(progress: &mut Progress, now: Time) -> Vec<u32> {
    std::iter::from_fn(|| progress.poll_ready(now)).map(|activity| activity.0).collect()
}

#[test]
fn the_end_of_the_root_frees_the_rest_in_page_order() {
    let mut progress =
        progress(r#", {"url": "https://a.test/1", "bytes": 1}, {"url": "https://a.test/2", "bytes": 1}"#, "");
    progress.handle_end(ms(5), ROOT);
    assert_eq!(ready(&mut progress, ms(5)), [1, 2]);
}

#[test]
fn bytes_and_computing_delay_what_waits_for_them() {
    let mut progress = progress(
        r#", {"url": "https://a.test/1", "bytes": 1,
             "needs": [{"node": "https://a.test/", "on": "bytes", "bytes": 500, "ms": 10}]}"#,
        "",
    );
    progress.handle_bytes(ms(1), ROOT, 499);
    assert_eq!((ready(&mut progress, ms(1)), progress.next_timer()), (vec![], Time::NEVER));
    progress.handle_bytes(ms(2), ROOT, 1);
    assert_eq!((ready(&mut progress, ms(2)), progress.next_timer()), (vec![], ms(12)));
    assert!(ready(&mut progress, ms(11)).is_empty());
    assert_eq!(ready(&mut progress, ms(12)), [1]);
}

#[test]
fn more_bytes_than_there_are_means_all_of_them() {
    let mut progress = progress(
        r#", {"url": "https://a.test/1", "bytes": 1,
             "needs": [{"node": "https://a.test/", "on": "bytes", "bytes": 5000}]}"#,
        "",
    );
    progress.handle_bytes(ms(1), ROOT, 1000);
    assert!(ready(&mut progress, ms(1)).is_empty());
    progress.handle_end(ms(1), ROOT);
    assert_eq!(ready(&mut progress, ms(1)), [1]);
}

#[test]
fn the_cause_is_the_need_that_sets_the_beginning_and_of_equals_the_one_that_came_true_last() {
    let needs = |first: u64, second: u64| {
        format!(
            r#", {{"url": "https://a.test/1", "bytes": 1, "needs": [
                 {{"node": "https://a.test/", "on": "bytes", "bytes": 500, "ms": {first}}},
                 {{"node": "https://a.test/", "on": "end", "ms": {second}}}]}}"#
        )
    };
    let cause = |first, second| {
        let mut progress = progress(&needs(first, second), "");
        assert_eq!(progress.causes().collect::<Vec<_>>(), [None, None]);
        progress.handle_bytes(ms(10), ROOT, 500);
        progress.handle_end(ms(30), ROOT);
        progress.causes().nth(1).flatten().unwrap()
    };
    assert_eq!(cause(25, 0), Cause { on: ROOT, at: ms(10) }, "10 + 25 is more than 30 + 0");
    assert_eq!(cause(15, 0), Cause { on: ROOT, at: ms(30) });
    assert_eq!(cause(25, 5), Cause { on: ROOT, at: ms(30) }, "both allow 35");
}

#[test]
fn the_beginning_and_the_end_of_activities_are_causes_too() {
    let mut progress = progress(
        r#", {"url": "https://a.test/1", "bytes": 1, "needs": [{"node": "layout"}]},
             {"url": "https://a.test/2", "bytes": 1, "needs": [{"node": "layout", "on": "start", "ms": 4}]}"#,
        r#"{"name": "layout", "ms": 20}"#,
    );
    progress.handle_end(ms(5), ROOT);
    assert_eq!([5, 9, 25].map(|at| ready(&mut progress, ms(at))), [[3], [2], [1]]);
    let cause = |on, at| Some(Cause { on: ActivityId(on), at: ms(at) });
    assert!(progress.causes().eq([None, cause(3, 25), cause(3, 5), cause(0, 5)]));
}

/// Parsing of 10 ms, and callbacks that the document's arrival lets begin as well, of 20 ms each, on one thread.
fn parsed(objects: &str) -> Progress {
    let mut progress = progress(
        objects,
        r#"{"name": "parse", "ms": 10, "main_thread": true, "needed": true},
           {"name": "callback", "ms": 20, "main_thread": true},
           {"name": "handler", "ms": 20, "main_thread": true, "needs": [{"node": "parse"}]}"#,
    );
    progress.handle_end(ms(5), ROOT);
    ready(&mut progress, ms(5));
    progress
}

#[test]
fn the_load_event_belongs_to_the_task_that_ends_what_the_load_waits_for() {
    let mut progress = parsed("");
    assert_eq!(progress.poll_load_event(ms(14)), None);
    ready(&mut progress, ms(15));
    assert_eq!(progress.next_timer(), Time::NEVER, "other tasks wait");
    assert!(progress.close_task(ms(15), true));
    assert_eq!(progress.poll_load_event(ms(15)).unwrap().at, ms(15));
    assert_eq!(progress.next_timer(), ms(35), "and go on");
    assert!(!progress.close_task(ms(15), true), "it has been closed");
}

/// An image that arrives while the thread is idle and one that has only begun to, what takes the former, and
/// something that follows on that.
#[test]
fn the_load_event_belongs_to_the_task_that_takes_the_last_image_as_well() {
    let mut progress = progress(
        r#", {"url": "https://a.test/1", "bytes": 1, "needed": "when-found", "needs": [{"node": "parse"}]},
             {"url": "https://a.test/2", "bytes": 9, "needed": "when-arriving", "needs": [{"node": "parse"}]}"#,
        r#"{"name": "parse", "ms": 10, "main_thread": true, "needed": true},
           {"name": "receive", "ms": 5, "main_thread": true, "needed": "when-found",
            "needs": [{"node": "https://a.test/1"}]},
           {"name": "work", "ms": 20, "main_thread": true, "needs": [{"node": "receive"}]}"#,
    );
    progress.handle_end(ms(5), ROOT);
    ready(&mut progress, ms(5));
    ready(&mut progress, ms(15));
    progress.close_task(ms(15), true);
    progress.handle_end(ms(30), ActivityId(1));
    ready(&mut progress, ms(30));
    progress.handle_bytes(ms(31), ActivityId(2), 3);
    ready(&mut progress, ms(31));
    assert_eq!(progress.poll_load_event(ms(31)), None, "the image is being taken");
    ready(&mut progress, ms(35));
    assert!(progress.close_task(ms(35), true), "neither what follows nor the other image keeps it");
    assert_eq!(progress.poll_load_event(ms(35)).unwrap().at, ms(35));
}

#[test]
fn what_the_last_task_asks_for_holds_the_load_event_up() {
    let mut progress = progress(
        r#", {"url": "https://a.test/1", "bytes": 1, "needed": "when-found", "needs": [{"node": "parse"}]}"#,
        r#"{"name": "parse", "ms": 10, "main_thread": true, "needed": true}"#,
    );
    progress.handle_end(ms(5), ROOT);
    ready(&mut progress, ms(5));
    while progress.poll_ready(ms(15)).is_none() {}
    assert!(!progress.close_task(ms(15), true), "the image has been found");
    assert_eq!(progress.poll_load_event(ms(15)), None);
}

#[test]
fn a_load_event_that_is_held_up_by_then_waits_for_its_turn() {
    let image = r#", {"url": "https://a.test/1", "bytes": 1, "needed": "when-found", "needs": [{"node": "parse"}]}"#;
    let mut progress = parsed(image);
    assert!(ready(&mut progress, ms(15)).contains(&1), "the image");
    progress.close_task(ms(15), true);
    assert_eq!(progress.poll_load_event(ms(15)), None);
    progress.handle_end(ms(16), ActivityId(1));
    assert_eq!(progress.poll_load_event(ms(16)), None, "the thread is busy");
    ready(&mut progress, ms(35));
    ready(&mut progress, ms(55));
    assert_eq!(progress.poll_load_event(ms(55)).unwrap().at, ms(55));

    let mut progress = parsed("");
    ready(&mut progress, ms(15));
    progress.close_task(ms(15), false);
    assert_eq!(progress.poll_load_event(ms(15)), None, "an object that it waits for in any case is missing");
}

#[test]
fn what_is_fetched_ahead_frees_others_only_when_the_page_wants_it() {
    let mut progress = progress(
        r#", {"url": "https://a.test/1", "bytes": 10, "needs": [{"node": "https://a.test/", "ms": 10}]},
             {"url": "https://a.test/2", "bytes": 1, "needs": [{"node": "https://a.test/1"}]},
             {"url": "https://a.test/3", "bytes": 1,
              "needs": [{"node": "https://a.test/1", "on": "bytes", "bytes": 5}]}"#,
        "",
    );
    let object = ActivityId(1);
    assert_eq!((progress.anticipate(ms(1), object, ROOT), progress.anticipate(ms(1), object, ROOT)), (true, false));
    progress.handle_bytes(ms(2), object, 10);
    progress.handle_end(ms(2), object);
    assert!(ready(&mut progress, ms(2)).is_empty());
    progress.handle_end(ms(5), ROOT);
    assert!(ready(&mut progress, ms(14)).is_empty());
    assert_eq!(ready(&mut progress, ms(15)), [3, 2], "not the object itself, which has been fetched");
    let wanted = Some(Some(Cause { on: ROOT, at: ms(5) }));
    assert_eq!(progress.causes().nth(1), wanted, "the page waited for its need, not for it");
    assert!(!progress.anticipate(ms(16), ActivityId(2), ROOT), "it has begun");
}

#[test]
fn what_is_still_being_fetched_when_the_page_wants_it_began_with_what_told_of_it() {
    let mut progress =
        progress(r#", {"url": "https://a.test/1", "bytes": 10, "needs": [{"node": "https://a.test/", "ms": 10}]}"#, "");
    assert!(progress.anticipate(ms(1), ActivityId(1), ROOT));
    progress.handle_end(ms(5), ROOT);
    assert!(ready(&mut progress, ms(15)).is_empty(), "it is on its way");
    assert_eq!(progress.causes().nth(1), Some(Some(Cause { on: ROOT, at: ms(1) })));
}

#[test]
fn an_activity_waits_for_all_its_needs_and_a_compute_node_takes_its_time() {
    let mut progress = progress(
        r#", {"url": "https://a.test/1", "bytes": 1,
             "needs": [{"node": "layout"}, {"node": "https://a.test/", "on": "start", "ms": 3}]}"#,
        r#"{"name": "layout", "ms": 20}"#,
    );
    progress.handle_end(ms(5), ROOT);
    assert_eq!(ready(&mut progress, ms(5)), [2]);
    assert_eq!(progress.next_timer(), ms(25));
    assert_eq!(ready(&mut progress, ms(25)), [1]);
}
