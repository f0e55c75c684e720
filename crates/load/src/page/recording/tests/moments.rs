//! The moments that a visitor sees.

use super::load::{Load, end_of, place};
use super::{PageFile, Value, slice, url};
use crate::page::Moment;
use serde_json::json;

/// What a moment waits for, and how long after that it is.
fn waits(file: &PageFile, moment: Moment) -> Option<Vec<(String, f64)>> {
    let node = file.compute.iter().find(|node| node.name == moment.name())?;
    assert_eq!((node.ms, node.needed, node.main_thread), (0.0, None, false), "it keeps nothing waiting");
    Some(node.needs.iter().flatten().map(|need| (need.node.clone(), need.ms)).collect())
}

/// The page is drawn at 30 and at 50 ms of the trace, for 2 ms each; its root was asked for at 13.5 ms.
fn drawn(timings: Value) -> PageFile {
    drawn_with(Vec::new(), timings)
}

/// The same, and more happens.
fn drawn_with(more: Vec<Value>, timings: Value) -> PageFile {
    let drawn = |at: u64| vec![slice("RunTask", at, 2_000, Value::Null), slice("Layout", at, 2_000, Value::Null)];
    let document = "<body><img src=a>";
    let image = "<img src=a>";
    assert_eq!(place(document, image)["columnNumber"], end_of(document, image));
    let load = Load::of(document).scanned("a", "Image", "", image).parse(20_000).happens(drawn(30_000));
    let mut load = load.fetch("a", "image", 40_000).happens(drawn(50_000));
    load = load.happens(more);
    load.timings = timings;
    let file = load.graph();
    assert!(file.build().is_ok());
    file
}

#[test]
fn a_paint_is_so_long_after_the_last_frame_before_it() {
    let file = drawn(json!({"_firstContentfulPaint": 24.5, "_largestContentfulPaint": 60.0, "largest": "a"}));
    let layouts: Vec<&str> =
        file.compute.iter().map(|node| &*node.name).filter(|name| name.starts_with("render")).collect();
    assert_eq!(waits(&file, Moment::FirstPaint), Some(vec![(layouts[0].to_owned(), 6.0)]));
    let largest = vec![(url("a"), 0.0), (layouts[1].to_owned(), 17.5)];
    assert_eq!(waits(&file, Moment::LargestPaint), Some(largest));
    let page = file.build().unwrap();
    let names = page.moments.map(|moment| page.activities[moment.unwrap().0 as usize].name.clone());
    assert_eq!(names, Moment::ALL.map(|moment| moment.name().to_owned()));
}

#[test]
fn what_the_recording_does_not_say_is_no_moment_of_the_page() {
    let file = drawn(json!({}));
    assert!(waits(&file, Moment::ContentLoaded).is_some(), "the trace says it");
    assert_eq!((waits(&file, Moment::FirstPaint), waits(&file, Moment::LargestPaint)), (None, None));
    // Before the first layout that is long enough for a node there is the body.
    let early = drawn(json!({"_firstContentfulPaint": 15.0}));
    let [(node, ms)] = &waits(&early, Moment::FirstPaint).unwrap()[..] else { panic!() };
    assert!(node.starts_with("parse") && *ms == 0.0, "{node}");
}

#[test]
fn a_step_of_the_view_waits_for_the_frame_before_it_and_for_what_is_seen_there_if_that_had_come() {
    let step = |ms: f64, share: f64, of: String| json!({"ms": ms, "share": share, "of": of});
    let image = url("a");
    let steps = [
        step(24.5, 0.5, String::new()),
        step(25.0, 0.2, image.clone()),
        step(60.0, 0.25, image.clone()),
        step(62.0, 0.05, image.clone()),
    ];
    let damaged = [json!({"ms": -1, "share": 0.5}), json!({"ms": 60, "share": 7}), json!("step")];
    let said = [&steps[..], &damaged[..]].concat();
    let file = drawn(json!({"steps": said}));
    let layouts: Vec<&str> =
        file.compute.iter().map(|node| &*node.name).filter(|name| name.starts_with("render")).collect();
    let steps: Vec<_> = file.compute.iter().filter(|node| node.view_share.is_some()).collect();
    let needs = steps.iter().map(|node| node.needs.iter().flatten().map(|need| (&*need.node, need.ms)).collect());
    let needs: Vec<Vec<(&str, f64)>> = needs.collect();
    let late = vec![(&*image, 23.5), (layouts[1], 23.5)];
    // The image comes at 27 ms, after the first layout; what is seen in its place later is another one.
    let seen = vec![(&*image, 33.0), (layouts[0], 33.0)];
    assert_eq!(needs, [vec![(layouts[0], 6.0)], vec![(layouts[0], 6.5)], seen, late]);
    assert_eq!(steps.iter().map(|node| node.view_share).collect::<Vec<_>>(), [0.5, 0.2, 0.25, 0.05].map(Some));
    assert_eq!(file.build().unwrap().view.len(), 4);
}

#[test]
fn a_paint_is_of_the_frame_that_was_on_the_screen_then() {
    let part = |name: &str, phase: &str, at: u64, frame: &str| json!({"name": format!("AnimationFrame{name}"), "ph": phase, "pid": 1, "tid": 1, "ts": at, "args": {"id": frame}});
    // The first frame is on the screen at 60 ms, when the second is rendered already, and that one at 70 ms.
    let frames = vec![
        part("", "b", 29_000, "1"),
        part("::Render", "e", 32_500, ""),
        part("", "b", 49_000, "2"),
        part("::Render", "e", 52_500, ""),
        part("::Presentation", "n", 60_000, "1"),
        part("::Presentation", "n", 70_000, "2"),
    ];
    let timings = json!({"_firstContentfulPaint": 46.5, "_largestContentfulPaint": 60.0, "largest": "a"});
    let file = drawn_with(frames, timings);
    let layouts: Vec<String> =
        file.compute.iter().map(|node| node.name.clone()).filter(|name| name.starts_with("render")).collect();
    assert_eq!(waits(&file, Moment::FirstPaint), Some(vec![(layouts[0].clone(), 28.0)]));
    assert_eq!(waits(&file, Moment::LargestPaint), Some(vec![(url("a"), 0.0), (layouts[1].clone(), 17.5)]));
}
