//! Small pages whose loads differ in a known way, and laws over pages of any form.

use super::*;
use crate::page::{ComputeSpec, Page, Task};
use proptest::prelude::*;
use serde_json::{Value, json};

fn page(value: &Value) -> PageFile {
    PageFile::from_json(&serde_json::to_vec(value).unwrap()).unwrap()
}

/// A document with a script of so many ms, which asks after half of that for a picture; its URL has the time.
fn load(script_ms: f64, time: u64, by: &str) -> PageFile {
    let picture = format!("https://b.test/seen?place=top&t={time}");
    page(&json!({"objects": [
        {"url": "https://a.test/", "bytes": 5000},
        {"url": "https://a.test/s.js", "bytes": 3000, "needs": [{"node": "https://a.test/", "on": "bytes", "bytes": 90,
            "why": "markup"}]},
        {"url": picture, "bytes": 43, "think_ms": script_ms / 10.0,
            "needs": [{"node": by, "on": "start", "ms": script_ms / 2.0, "why": "script"}]}],
      "compute": [
        {"name": "run https://a.test/s.js", "ms": script_ms, "needs": [{"node": "https://a.test/s.js", "why": "fetched"}]},
        {"name": format!("receive {time} of {picture}"), "ms": 1.0, "needs": [{"node": picture, "why": "fetched"}]}],
      "handshake_ms": script_ms / 5.0, "arrival_ms": script_ms / 10.0}))
}

const RUN: &str = "run https://a.test/s.js";

fn merged(loads: &[PageFile]) -> PageFile {
    let merged = loads[0].merged(&loads[1..].iter().collect::<Vec<_>>());
    merged.build().expect("several loads of a page are a page");
    merged
}

fn node<'p>(page: &'p PageFile, name: &str) -> &'p ComputeSpec {
    page.compute.iter().find(|node| node.name == name).unwrap()
}

/// As it is read from a file: numbers as `Value`s.
fn needs(page: &PageFile, at: usize) -> Value {
    serde_json::to_value(&page.objects[at].needs).unwrap()
}

#[test]
fn times_are_the_median_of_the_loads_but_servers_and_handshakes_are_as_brief_as_in_any() {
    let merged = merged(&[load(20.0, 1, RUN), load(10.0, 2, RUN), load(50.0, 3, RUN)]);
    assert_eq!(node(&merged, RUN).ms, 20.0);
    assert_eq!(merged.objects[2].think_ms, Some(1.0));
    assert_eq!(merged.objects[2].needs.as_ref().unwrap()[0].ms, 10.0);
    assert_eq!((merged.handshake_ms, merged.arrival_ms), (2.0, 2.0));
    let of_two = load(20.0, 1, RUN).merged(&[&load(10.0, 2, RUN)]);
    assert_eq!((node(&of_two, RUN).ms, of_two.handshake_ms, of_two.arrival_ms), (15.0, 2.0, 1.5));
}

#[test]
fn an_object_whose_url_has_the_time_is_one_that_changes() {
    let merged = merged(&[load(20.0, 1, RUN), load(20.0, 22, RUN), load(20.0, 333, RUN)]);
    let changes: Vec<bool> = merged.objects.iter().map(|object| object.changes).collect();
    assert_eq!(changes, [false, false, true]);
    assert_eq!(merged.objects[2].url, "https://b.test/seen?place=top&t=1");
    assert!(merged.objects.iter().all(|object| object.seen.is_none()));
    assert!(merged.compute.iter().all(|node| node.seen.is_none()), "its node is one, too");
    assert_eq!(merged.loads, Some(LoadsSpec { count: 3, deviation_percent: 0.0, left_out: 0 }));
}

#[test]
fn an_edge_of_few_loads_stays_and_is_marked() {
    let loads = [load(20.0, 1, RUN), load(10.0, 2, "https://a.test/s.js"), load(10.0, 3, "https://a.test/s.js")];
    let unstable = merged(&loads);
    let edge = json!({"node": RUN, "on": "start", "ms": 10.0, "why": "script", "seen": 1});
    assert_eq!(needs(&unstable, 2), json!([edge]), "its time is of the one load that has it");
    assert_eq!(needs(&unstable, 1), needs(&loads[0], 1));
    let two_of_three = merged(&[load(20.0, 1, RUN), load(10.0, 2, RUN), load(50.0, 3, "https://a.test/s.js")]);
    assert_eq!(two_of_three.objects[2].needs.as_ref().unwrap()[0].seen, Some(2));
    assert_eq!(two_of_three.objects[2].needs.as_ref().unwrap()[0].ms, 7.5, "the median of the two");
}

#[test]
fn what_only_a_film_says_is_in_all_loads() {
    let mut filmed = load(20.0, 1, RUN);
    filmed.compute.push(ComputeSpec { name: "view 1".into(), view_share: Some(1.0), ..ComputeSpec::default() });
    assert_eq!(node(&merged(&[filmed, load(10.0, 2, RUN), load(50.0, 3, RUN)]), "view 1").seen, None);
}

#[test]
fn the_moment_and_the_reason_are_of_the_edge() {
    let with = |field: &str, value: Value| {
        let mut other = serde_json::to_value(load(20.0, 1, RUN)).unwrap();
        other["objects"][2]["needs"][0][field] = value;
        merged(&[load(20.0, 1, RUN), page(&other)]).objects[2].needs.as_ref().unwrap()[0].seen
    };
    assert_eq!(with("on", json!("start")), None);
    assert_eq!(with("on", json!("end")), Some(1));
    assert_eq!(with("why", json!("event")), Some(1));
}

#[test]
fn an_object_of_few_loads_stays_with_its_edges_and_one_of_others_is_left_out() {
    let mut more = serde_json::to_value(load(20.0, 1, RUN)).unwrap();
    more["objects"].as_array_mut().unwrap().push(json!({"url": "https://a.test/lazy.png", "bytes": 10}));
    more["compute"].as_array_mut().unwrap().push(
        json!({"name": "receive 7 of https://a.test/lazy.png", "ms": 4, "needs": [{"node": "https://a.test/lazy.png"}]}),
    );
    let (more, less) = (page(&more), load(20.0, 2, RUN));
    let kept = merged(&[more.clone(), less.clone(), less.clone()]);
    assert_eq!((kept.objects[3].seen, kept.compute[2].seen), (Some(1), Some(1)));
    assert_eq!(kept.compute[2].needs.as_ref().unwrap()[0].seen, None, "all that had it had this edge");
    assert_eq!(kept.compute[2].ms, 4.0, "other loads say nothing of it");
    let left_out = merged(&[less.clone(), more.clone(), more]);
    assert_eq!(left_out.objects.len(), 3);
    assert_eq!(left_out.loads.unwrap().left_out, 1, "the same one in both");
}

/// A script, and after it layout so many times.
fn layouts(script_ms: f64, layouts_ms: &[f64]) -> PageFile {
    let run = json!({"name": "run https://a.test/", "ms": script_ms, "needs": [{"node": "https://a.test/"}]});
    let layout = |(at, ms): (usize, &f64)| json!({"name": format!("render {}", at + 7), "ms": ms, "needs": [{"node": "run https://a.test/"}]});
    let compute: Vec<Value> = std::iter::once(run).chain(layouts_ms.iter().enumerate().map(layout)).collect();
    page(&json!({"objects": [{"url": "https://a.test/", "bytes": 5000}], "compute": compute}))
}

#[test]
fn where_it_is_not_certain_which_node_is_which_their_sum_is_compared() {
    let merged = merged(&[layouts(8.0, &[10.0, 30.0]), layouts(8.0, &[60.0]), layouts(8.0, &[20.0, 20.0, 40.0])]);
    // 40, 60 and 80 ms: the two of the base are half as long again.
    assert_eq!([merged.compute[1].ms, merged.compute[2].ms], [15.0, 45.0]);
    assert_eq!([merged.compute[0].seen, merged.compute[1].seen, merged.compute[2].seen], [None, None, Some(2)]);
    // 40, 60 and 80 deviate by a third. Two that are 1/4 and 3/4 of it, and deviate by themselves, deviate each by
    // 1/3 / sqrt(1/16 + 9/16) = 42.2 %, to have that together.
    let [one, other] = [&merged.compute[1], &merged.compute[2]].map(|node| node.deviation_percent);
    assert_eq!([one, other], [42.2, 42.2]);
    assert_eq!(merged.compute[0].deviation_percent, 0.0);
}

#[test]
fn a_sum_of_medians_is_as_long_as_all_computing_in_the_middle() {
    let merged = merged(&[layouts(10.0, &[10.0, 40.0]), layouts(40.0, &[10.0, 10.0]), layouts(10.0, &[40.0, 10.0])]);
    // Each load took 60 ms, though the medians are 10 ms each.
    assert_eq!(merged.compute.iter().map(|node| node.ms).collect::<Vec<_>>(), [20.0, 20.0, 20.0]);
}

#[test]
fn what_only_the_base_has_is_no_part_of_that_sum() {
    let mut base = layouts(10.0, &[10.0, 40.0]);
    let only = ComputeSpec { name: "load event".to_owned(), ms: 7.0, ..ComputeSpec::default() };
    base.compute.push(only);
    let merged = merged(&[base, layouts(40.0, &[10.0, 10.0]), layouts(10.0, &[40.0, 10.0])]);
    assert_eq!(merged.compute.iter().map(|node| node.ms).collect::<Vec<_>>(), [20.0, 20.0, 20.0, 7.0]);
}

/// Work after each of these objects, so many times that it takes.
fn work(after: &[(&str, &[f64])]) -> PageFile {
    let mut file = page(&json!({"objects": [{"url": "https://a.test/", "bytes": 9}]}));
    for (path, times) in after {
        let url = format!("https://a.test/{path}");
        for ms in *times {
            let name = format!("work {}", file.compute.len() + 3);
            let needs = Some(vec![Need { node: url.clone(), ..Need::default() }]);
            file.compute.push(ComputeSpec { name, ms: *ms, needs, ..ComputeSpec::default() });
        }
        file.objects.push(ObjectSpec { url, bytes: 9, ..ObjectSpec::default() });
    }
    file
}

#[test]
fn work_is_told_apart_by_the_object_after_which_it_comes() {
    let merged = merged(&[work(&[("a", &[10.0]), ("b", &[20.0])]), work(&[("b", &[20.0, 20.0]), ("a", &[10.0])])]);
    // After a the same in both, after b 20 ms and 40.
    assert_eq!(merged.compute.iter().map(|node| node.ms).collect::<Vec<_>>(), [10.0, 30.0]);
    assert_eq!(merged.compute[0].deviation_percent, 0.0);
}

#[test]
fn pieces_of_a_document_are_told_apart_by_their_bytes() {
    let parsed = |pieces: [(u64, f64); 2]| {
        let piece = |(at, (bytes, ms)): (usize, &(u64, f64))| {
            json!({"name": format!("parse {} of https://a.test/", at + 1), "ms": ms,
                "needs": [{"node": "https://a.test/", "on": "bytes", "bytes": bytes}]})
        };
        let compute: Vec<Value> = pieces.iter().enumerate().map(piece).collect();
        page(&json!({"objects": [{"url": "https://a.test/", "bytes": 900}], "compute": compute}))
    };
    let merged = merged(&[parsed([(300, 30.0), (100, 10.0)]), parsed([(100, 10.0), (300, 30.0)])]);
    assert_eq!([merged.compute[0].ms, merged.compute[1].ms], [30.0, 10.0]);
    assert_eq!([merged.compute[0].deviation_percent, merged.compute[1].deviation_percent], [0.0, 0.0]);
}

#[test]
fn an_edge_from_one_of_several_nodes_of_a_kind_is_in_a_load_where_any_of_them_has_it() {
    // A picture that the last callback asks for; in the other load there is a callback more.
    let of = |callbacks: usize, kind: &str| {
        let mut file = work(&[("a", &vec![1.0; callbacks]), ("b.png", &[])]);
        file.compute.iter_mut().for_each(|node| node.name = node.name.replace("work", kind));
        let node = file.compute.last().unwrap().name.clone();
        file.objects[2].needs = Some(vec![Need { node, ..Need::default() }]);
        file
    };
    let seen = |other: PageFile| merged(&[of(2, "callback"), other]).objects[2].needs.as_ref().unwrap()[0].seen;
    assert_eq!(seen(of(3, "callback")), None);
    assert_eq!(seen(of(3, "timer")), Some(1));
}

#[test]
fn equal_edges_are_compared_in_their_order_and_timers_have_their_median() {
    let of = |ms: [f64; 2], timer_ms: f64| {
        let mut file = work(&[("a", &[])]);
        let need = |ms| Need { node: "https://a.test/".to_owned(), ms, timer_ms, ..Need::default() };
        file.objects[1].needs = Some(ms.map(need).to_vec());
        file
    };
    let merged = merged(&[of([1.0, 5.0], 40.0), of([3.0, 11.0], 50.0)]);
    let needs = merged.objects[1].needs.as_ref().unwrap();
    assert_eq!([needs[0].ms, needs[1].ms, needs[0].timer_ms], [2.0, 8.0, 45.0]);
}

#[test]
fn what_all_nodes_share_is_told_from_what_each_has_of_its_own() {
    let shared = merged(&[layouts(10.0, &[20.0, 30.0]), layouts(9.0, &[18.0, 27.0]), layouts(11.0, &[22.0, 33.0])]);
    assert_eq!(shared.loads.unwrap().deviation_percent, 10.0);
    assert!(shared.compute.iter().all(|node| node.deviation_percent == 0.0), "{:?}", shared.compute);
    // The sum is always the same: nothing is shared. The deviation of 20, 18 and 22 is 2, that of 30, 32 and 28 as well.
    let own = merged(&[layouts(10.0, &[20.0, 30.0]), layouts(10.0, &[18.0, 32.0]), layouts(10.0, &[22.0, 28.0])]);
    assert_eq!(own.loads.unwrap().deviation_percent, 0.0);
    assert_eq!(own.compute.iter().map(|node| node.deviation_percent).collect::<Vec<_>>(), [0.0, 10.0, 6.7]);
}

#[test]
fn a_node_of_one_load_deviates_as_nodes_do_on_average() {
    // Nodes of other things than the script, in the same way in all loads but for the last.
    let of = |ms: f64, more: bool| {
        let mut file = layouts(10.0, &[ms]);
        let timer = ComputeSpec { name: "timer 3".to_owned(), ms: 5.0, ..ComputeSpec::default() };
        file.compute.extend(more.then_some(timer));
        file
    };
    let merged = merged(&[of(30.0, true), of(27.0, false), of(33.0, false)]);
    // 10 % of 30 ms, nothing of 10 ms: in the variance three quarters of the square.
    assert_eq!(node(&merged, "timer 3").deviation_percent, ((0.75_f64 * 0.01).sqrt() * 1000.0).round() / 10.0);
}

#[test]
fn a_deviation_is_an_even_range_around_the_time() {
    let built = |file: &PageFile| -> Page { file.build().unwrap() };
    let measured = merged(&[layouts(10.0, &[20.0, 30.0]), layouts(10.0, &[18.0, 32.0]), layouts(10.0, &[22.0, 28.0])]);
    let page = built(&measured);
    assert_eq!((page.varies, page.activities[0].varies, page.activities[1].varies), (Some(0.0), None, Some(0.0)));
    // The deviation of an even distribution is its half width by the root of 3.
    assert!((page.activities[2].varies.unwrap() - 0.1 * 3_f64.sqrt()).abs() < 1e-9);
    let alone = built(&layouts(10.0, &[20.0]));
    assert!(alone.varies.is_none() && alone.activities.iter().all(|activity| activity.varies.is_none()));
    for (percent, fits) in [(57.0, true), (57.1, false), (-0.1, false), (f64::NAN, false)] {
        let mut file = layouts(10.0, &[20.0]);
        file.compute[0].deviation_percent = percent;
        assert_eq!(file.build().is_ok(), fits, "{percent}");
        let loads = Some(LoadsSpec { count: 2, deviation_percent: percent, left_out: 0 });
        assert_eq!(PageFile { loads, ..layouts(10.0, &[20.0]) }.build().is_ok(), fits, "{percent}");
    }
}

#[test]
fn a_huge_deviation_is_cut_so_that_no_time_is_below_none() {
    let merged = merged(&[layouts(10.0, &[1.0]), layouts(10.0, &[1.0]), layouts(10.0, &[30.0])]);
    assert_eq!(merged.compute[1].deviation_percent, MOST_DEVIATION);
}

#[test]
fn a_page_that_goes_round_in_circles_is_merged_and_then_refused() {
    let around = page(&json!({"objects": [{"url": "https://a.test/", "bytes": 1}], "compute": [
        {"name": "work 1", "ms": 1, "needs": [{"node": "work 2"}]},
        {"name": "work 2", "ms": 1, "needs": [{"node": "work 1"}]}]}));
    assert!(around.merged(&[&around]).build().is_err());
}

// --- laws ---

/// Names as recordings have them, and what each needs: something before it.
fn any_page() -> impl Strategy<Value = PageFile> {
    let paths = ["a.js", "b.css", "p?t=1", "p?t=22", "main.12ab34cd.js", "p/7.png"];
    let object = (0..paths.len(), any::<bool>(), 0_u32..3, any::<prop::sample::Index>());
    let kinds = ["run", "receive", "work", "render", "timer", "load event"];
    let node = (0..kinds.len(), 0_u32..500, any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_u32..3);
    (prop::collection::vec(object, 0..7), prop::collection::vec(node, 0..9)).prop_map(move |(objects, nodes)| {
        let mut names = vec!["https://a.test/".to_owned()];
        let mut file = page(&json!({"objects": [{"url": names[0], "bytes": 4000}]}));
        for (number, (path, free, on, before)) in objects.into_iter().enumerate() {
            let url = format!("https://a.test/{}", paths[path]);
            let name = format!("{url} #{number}");
            let need = need(&names[before.index(names.len())], on);
            let needs = (!free).then(|| vec![need]);
            file.objects.push(ObjectSpec { url, name: Some(name.clone()), bytes: 9, needs, ..ObjectSpec::default() });
            names.push(name);
        }
        for (number, (kind, tenths, of, before, on)) in nodes.into_iter().enumerate() {
            let object = file.objects[of.index(file.objects.len())].node();
            let name = match kinds[kind] {
                kind @ ("run" | "receive") => format!("{kind} {number} of {object}"),
                kind => format!("{kind} {number}"),
            };
            let needs = Some(vec![need(&names[before.index(names.len())], on)]);
            let ms = f64::from(tenths) / 10.0;
            file.compute.push(ComputeSpec { name: name.clone(), ms, needs, ..ComputeSpec::default() });
            names.push(name);
        }
        file
    })
}

fn need(node: &str, on: u32) -> Need {
    let (on, bytes) =
        [(super::super::On::Start, None), (super::super::On::Bytes, Some(7)), (super::super::On::End, None)]
            [on as usize];
    Need { node: node.to_owned(), on, bytes, ms: f64::from(on as u8), ..Need::default() }
}

proptest! {
    #[test]
    fn a_page_merged_with_itself_is_itself(page in any_page(), times in 1_usize..4) {
        let again = page.merged(&vec![&page; times]);
        let loads = Some(LoadsSpec { count: times as u32 + 1, deviation_percent: 0.0, left_out: 0 });
        prop_assert_eq!(again, PageFile { loads, ..page.clone() });
        prop_assert_eq!(page.merged(&[]), page);
    }

    #[test]
    fn the_order_of_other_loads_changes_nothing(base in any_page(), mut others in prop::collection::vec(any_page(), 2..5)) {
        let merged = base.merged(&others.iter().collect::<Vec<_>>());
        others.rotate_left(1);
        prop_assert_eq!(&merged, &base.merged(&others.iter().collect::<Vec<_>>()));
        others.reverse();
        prop_assert_eq!(&merged, &base.merged(&others.iter().collect::<Vec<_>>()));
    }

    #[test]
    fn any_loads_make_a_page_of_the_objects_and_edges_of_the_base(base in any_page(), others in prop::collection::vec(any_page(), 1..4)) {
        let merged = base.merged(&others.iter().collect::<Vec<_>>());
        let page = merged.build().expect("the base can be built");
        let loads = others.len() as u32 + 1;
        let of_base = base.build().unwrap();
        for (merged, base) in page.activities.iter().zip(&of_base.activities) {
            prop_assert_eq!((&merged.name, merged.needed), (&base.name, base.needed));
            let edges = |activity: &crate::page::Activity| activity.needs.iter().map(|need| (need.on, need.trigger)).collect::<Vec<_>>();
            prop_assert_eq!(edges(merged), edges(base));
            prop_assert_eq!(matches!(merged.task, Task::Fetch(_)), matches!(base.task, Task::Fetch(_)));
        }
        let needs = merged.objects.iter().map(|object| &object.needs).chain(merged.compute.iter().map(|node| &node.needs));
        let seen = needs.flatten().flatten().map(|need| need.seen);
        let seen = seen.chain(merged.objects.iter().map(|object| object.seen)).chain(merged.compute.iter().map(|node| node.seen));
        for seen in seen.flatten() {
            prop_assert!((1..loads).contains(&seen), "{}", seen);
        }
    }
}
