//! Connections that documents ask for ahead.

use super::load::{Load, end_of};
use super::url;
use crate::page::{On, Preconnect};
use serde_json::json;

#[test]
fn a_connection_is_asked_for_with_its_tag_and_once() {
    let document = "<link rel='dns-prefetch preconnect' href=https://B.test/x><link rel=preconnect crossorigin \
                    href=//b.test:444><link rel=preconnect href=https://b.test crossorigin=use-credentials>\
                    <link rel=preload href=https://c.test><link rel=preconnect href=mailto:x><body><p>";
    let file = Load::of(document).parse(20_000).graph();
    let nodes: Vec<_> = file.compute.iter().filter(|node| node.preconnect.is_some()).collect();
    let asked: Vec<&Preconnect> = nodes.iter().filter_map(|node| node.preconnect.as_ref()).collect();
    let to = |url: &str, anonymous| Preconnect { url: url.to_owned(), anonymous };
    assert_eq!(asked, [&to("https://b.test", false), &to("https://b.test:444", true)]);
    let needs = nodes[0].needs.as_ref().unwrap();
    let tag = end_of(document, "https://B.test/x>") as u64;
    assert_eq!((&*needs[0].node, needs[0].on, needs[0].bytes), (&*url(""), On::Bytes, Some(tag)));
    assert!(needs[1].node.starts_with("commit") && needs.len() == 2, "{needs:?}");
    assert!(file.build().unwrap().preconnects.is_empty(), "the page has nothing there");
}

/// Chromium does not in contexts that DevTools has made.
#[test]
fn a_browser_that_did_not_follow_the_link_does_not_in_the_graph() {
    let document = "<link rel=preconnect href=https://a.test><body><img src=a>";
    for (connects, nodes) in [("none", 1), ("a", 0)] {
        let mut load = Load::of(document).scanned("a", "Image", "", "<img src=a>").fetch("a", "image", 16_000);
        load.timings = json!({"connects": connects});
        let file = load.parse(20_000).graph();
        assert_eq!(file.compute.iter().filter(|node| node.preconnect.is_some()).count(), nodes, "{connects}");
        assert_eq!(file.build().unwrap().preconnects.len(), nodes);
    }
}
