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
    let drawn = |at: u64| vec![slice("RunTask", at, 2_000, Value::Null), slice("Layout", at, 2_000, Value::Null)];
    let document = "<body><img src=a>";
    let image = "<img src=a>";
    assert_eq!(place(document, image)["columnNumber"], end_of(document, image));
    let load = Load::of(document).scanned("a", "Image", "", image).parse(20_000).happens(drawn(30_000));
    let mut load = load.fetch("a", "image", 40_000).happens(drawn(50_000));
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
    let largest = vec![(url("a"), 0.0), (layouts[1].to_owned(), 21.5)];
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
