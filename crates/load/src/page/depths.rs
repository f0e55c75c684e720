//! What an author sees of a page's shape: in how many texts each object stands, and how much waits for it.
//!
//! Two numbers for each object, both of the page alone. The *embedding level* counts the texts around an object: the
//! root has 0, what stands in it 1. The *dependency depth* counts the objects of the longest path from an object to
//! one for which nothing waits, computing left out: a leaf has 1.

use super::{ActivityId, Page};

/// Where an object stands in the graph of its page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectDepth {
    /// How many texts it is embedded in: 0 is the root, and whatever waits for nothing.
    pub level: usize,
    /// How many objects the longest path from it to a leaf has, itself included.
    pub depth: usize,
}

/// Level and depth of each object, in page order.
pub fn depths(page: &Page) -> Vec<ObjectDepth> {
    let level =
        |at: usize| std::iter::successors(page.text_of(ActivityId(at as u32)), |text| page.text_of(*text)).count();
    let lengths = lengths(page, &page.order()).into_iter().enumerate();
    lengths.map(|(at, depth)| ObjectDepth { level: level(at), depth }).collect()
}

/// How many objects the longest path from each activity to a leaf has.
fn lengths(page: &Page, order: &[usize]) -> Vec<usize> {
    let mut after = vec![0; page.activities.len()];
    let mut lengths = vec![0; page.activities.len()];
    for &at in order.iter().rev() {
        lengths[at] = after[at] + usize::from(at < page.objects);
        for need in &page.activities[at].needs {
            let before = &mut after[need.on.0 as usize];
            *before = lengths[at].max(*before);
        }
    }
    lengths.truncate(page.objects);
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::PageFile;
    use proptest::prelude::*;

    fn of(json: &str) -> Vec<(usize, usize)> {
        let page = PageFile::from_json(json.as_bytes()).unwrap().build().unwrap();
        depths(&page).into_iter().map(|object| (object.level, object.depth)).collect()
    }

    #[test]
    fn a_page_of_one_object_has_level_zero_and_depth_one() {
        assert_eq!(of(r#"{"objects": [{"url": "https://a.test/", "bytes": 1}]}"#), [(0, 1)]);
    }

    #[test]
    fn what_waits_for_the_root_alone_is_a_leaf_in_it() {
        let json = r#"{"objects": [{"url": "https://a.test/", "bytes": 1}, {"url": "https://a.test/1", "bytes": 1},
            {"url": "https://a.test/2", "bytes": 1}, {"url": "https://a.test/3", "bytes": 1, "needs": []}]}"#;
        assert_eq!(of(json), [(0, 2), (1, 1), (1, 1), (0, 1)]);
    }

    #[test]
    fn an_image_of_a_style_sheet_stands_in_it_and_not_in_the_layout_that_asks_for_it() {
        let json = r#"{"objects": [{"url": "https://a.test/", "bytes": 100},
            {"url": "https://a.test/a.css", "bytes": 1,
             "needs": [{"node": "https://a.test/", "on": "bytes", "bytes": 5, "why": "markup"}]},
            {"url": "https://a.test/b.png", "bytes": 1,
             "needs": [{"node": "https://a.test/a.css", "why": "style"},
                       {"node": "render", "on": "start", "why": "style"}]}],
            "compute": [{"name": "render", "ms": 1, "needs": [{"node": "https://a.test/a.css", "why": "style-sheet"}]}]}"#;
        assert_eq!(of(json), [(0, 3), (1, 2), (2, 1)]);
    }

    #[test]
    fn what_a_script_asks_for_stands_in_the_script_also_from_timers_and_replies() {
        // The script waits for a style sheet as well, which is no text of its.
        let json = r#"{"objects": [{"url": "https://a.test/", "bytes": 100},
            {"url": "https://a.test/a.css", "bytes": 1, "needs": [{"node": "https://a.test/", "why": "markup"}]},
            {"url": "https://a.test/a.js", "bytes": 1, "needs": [{"node": "https://a.test/", "why": "markup"}]},
            {"url": "https://a.test/data", "kind": "xhr", "bytes": 1,
             "needs": [{"node": "run", "on": "start", "why": "script"}]},
            {"url": "https://a.test/late.js", "bytes": 1, "needs": [{"node": "timer", "why": "script"}]},
            {"url": "https://a.test/more.js", "bytes": 1, "needs": [{"node": "reply", "why": "script"}]}],
            "compute": [{"name": "run", "ms": 1, "needs": [{"node": "https://a.test/a.css", "why": "style-sheet"},
                                                          {"node": "https://a.test/a.js", "why": "fetched"}]},
                        {"name": "timer", "ms": 1, "needs": [{"node": "run", "timer_ms": 50, "why": "timer"}]},
                        {"name": "reply", "ms": 1, "needs": [{"node": "https://a.test/data", "why": "event"}]}]}"#;
        // The longest way: root, style sheet or script, data, what the reply asks for.
        assert_eq!(of(json), [(0, 4), (1, 3), (1, 3), (2, 2), (2, 1), (2, 1)]);
    }

    #[test]
    fn an_inline_script_and_a_piece_of_parsing_belong_to_their_document() {
        let json = r#"{"objects": [{"url": "https://a.test/", "bytes": 100},
            {"url": "https://a.test/a.css", "bytes": 1, "needs": [{"node": "parse", "why": "markup"}]},
            {"url": "https://a.test/b.js", "bytes": 1, "needs": [{"node": "inline", "on": "start", "why": "script"}]}],
            "compute": [{"name": "parse", "ms": 1, "needs": [{"node": "https://a.test/", "on": "bytes", "why": "fetched"}]},
                        {"name": "inline", "ms": 1, "needs": [{"node": "https://a.test/a.css", "why": "style-sheet"},
                                                              {"node": "parse", "why": "parser"}]}]}"#;
        assert_eq!(of(json), [(0, 3), (1, 2), (1, 1)]);
    }

    proptest! {
        #[test]
        fn the_root_has_level_zero_a_leaf_depth_one_and_each_need_one_more(
            befores in proptest::collection::vec(any::<prop::sample::Index>(), 0..40)
        ) {
            let object = |(at, before): (usize, &prop::sample::Index)| {
                format!(r#", {{"url": "https://a.test/{}", "bytes": 1, "needs": [{{"node": "https://a.test/{}"}}]}}"#,
                    at + 1, before.index(at + 1))
            };
            let objects: String = befores.iter().enumerate().map(object).collect();
            let found = of(&format!(r#"{{"objects": [{{"url": "https://a.test/0", "bytes": 1}}{objects}]}}"#));
            prop_assert_eq!(found[0].0, 0);
            for (at, before) in befores.iter().enumerate() {
                let (before, after) = (found[before.index(at + 1)], found[at + 1]);
                prop_assert_eq!(after.0, before.0 + 1);
                prop_assert!(before.1 > after.1);
            }
            for (at, (_, depth)) in found.iter().enumerate() {
                let is_leaf = befores.iter().enumerate().all(|(after, before)| before.index(after + 1) != at);
                prop_assert_eq!(is_leaf, *depth == 1);
            }
        }
    }
}
