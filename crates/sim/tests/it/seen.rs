//! What the visitor of a page sees of a load.

use crate::{FAST, load, variant};
use loadstone_load::page::{Moment, PageFile};
use loadstone_units::Time;
use serde_json::json;

/// A document with its first text 10 ms later, and two images, of which the second comes 100 ms after the first.
fn page() -> PageFile {
    let after = |node: &str, ms: u32| json!([{"node": node, "ms": ms}]);
    let (root, first, second) = ("http://a.test/", "http://a.test/1.png", "http://a.test/2.png");
    let page = json!({
        "view_pixels": 1_000,
        "objects": [
            {"url": root, "bytes": 100}, {"url": first, "bytes": 100, "view_pixels": 300},
            {"url": second, "bytes": 100, "view_pixels": 200, "needs": [{"node": first}]}],
        "compute": [
            {"name": "DOMContentLoaded", "ms": 0}, {"name": "first contentful paint", "ms": 0, "needs": after(root, 10)},
            {"name": "largest contentful paint", "ms": 0, "needs": after(first, 20)}]});
    PageFile::from_json(page.to_string().as_bytes()).unwrap()
}

#[test]
fn moments_of_a_load_are_when_their_nodes_are_reached() {
    let page = page();
    let outcome = load(page.clone(), FAST, variant(r#"{"protocol": "h2", "tls": "none"}"#));
    let ms = |time: Option<Time>| time.unwrap().as_ms().round() as u32;
    assert_eq!(ms(outcome.first_byte()), 200);
    assert_eq!(Moment::ALL.map(|moment| ms(outcome.moment(moment))), [200, 210, 320]);
    // Half of the view is there at 210 ms, three tenths at 300, two tenths at 400.
    assert_eq!(ms(outcome.speed_index(&page.build().unwrap())), 105 + 90 + 80);
}

#[test]
fn what_the_page_does_not_say_or_does_not_come_is_missing() {
    let mut late = page();
    late.compute[2].needs.as_mut().unwrap()[0].ms = 1_000.0;
    let outcome = load(late.clone(), FAST, variant("{}"));
    assert_eq!(outcome.moment(Moment::LargestPaint), None, "the load was over");
    late.view_pixels = None;
    assert_eq!(outcome.speed_index(&late.build().unwrap()), None);
    late.compute.clear();
    let outcome = load(late, FAST, variant("{}"));
    assert_eq!(outcome.moments, [None; 3]);
}
