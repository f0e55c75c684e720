//! What the visitor of a page sees of a load.

use crate::{FAST, load, variant};
use loadstone_load::page::{ComputeSpec, Moment, Need, Needed, PageFile};
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

#[test]
fn the_view_is_complete_by_its_steps_and_what_does_not_come_counts_at_the_end_of_the_load() {
    let mut filmed = page();
    let (first, second) = (filmed.compute[1].clone(), filmed.objects[2].url.clone());
    let mut step = |name: &str, node: &str, ms: f64, share: f64| {
        let needs = vec![Need { node: node.to_owned(), ms, ..Need::default() }];
        let (name, needs) = (name.to_owned(), Some(needs));
        filmed.compute.push(ComputeSpec { name, needs, view_share: Some(share), ..ComputeSpec::default() });
    };
    step("view 1", &first.name, 0.0, 0.4);
    step("view 2", &second, 0.0, 0.2);
    step("view 3", &second, 5_000.0, 0.2);
    let outcome = load(filmed.clone(), FAST, variant(r#"{"protocol": "h2", "tls": "none"}"#));
    assert_eq!(outcome.view[2], None, "the load was over");
    // The shares are of 0.8 together: half of it is there at 210 ms, the rest with the last image at 400.
    assert_eq!(outcome.speed_index(&filmed.build().unwrap()).unwrap().as_ms().round(), 305.0);
    filmed.compute.last_mut().unwrap().view_share = Some(1.5);
    assert!(filmed.build().unwrap_err().to_string().contains("view_share"));
}

#[test]
fn images_of_the_view_that_come_after_the_load_count_at_its_end() {
    let mut late = page();
    late.objects[2].needed = Some(Needed::Never);
    let outcome = load(late.clone(), FAST, variant(r#"{"protocol": "h2", "tls": "none"}"#));
    assert_eq!(outcome.plt.as_ms().round(), 300.0);
    assert_eq!(outcome.speed_index(&late.build().unwrap()).unwrap().as_ms().round(), 105.0 + 90.0 + 60.0);
}
