//! How urgent the objects of a page are said to be.

use crate::page::{ObjectDepth, Page, PageFile, depths};
use loadstone_units::Bounded;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How urgent a browser says that objects are: in SPDY by the priority of a stream, in HTTP/2 by RFC 9218.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Priorities {
    /// As the page has it.
    #[default]
    Recorded,
    /// All alike. None is so low that Chromium holds it back.
    None,
    /// Documents before style sheets and scripts, and these before the rest (`nsdi` 5.3.1, Chrome's of 2013).
    Kind,
    /// The more objects wait for it one after the other, the more urgent it is, in even steps over all eight levels;
    /// computing is left out (`nsdi` 5.3.1).
    Dependencies,
}

/// The least urgent level (SPDY/3, section 2.3.3; RFC 9218, section 4.1).
const LOWEST: usize = 7;
/// Chromium's class High: below it requests are held back.
const HIGH: usize = 1;

impl Priorities {
    /// Whether it is what is taken where nothing else is said.
    pub fn is_default(&self) -> bool {
        *self == Priorities::default()
    }
}

impl PageFile {
    /// This page with its objects as urgent as `priorities` has it, from `page`, which is what [`PageFile::build`] makes
    /// of it. Each object then has one urgency for the whole load, and none comes in turn with others.
    #[must_use]
    pub fn prioritised(&self, priorities: Priorities, page: &Page) -> PageFile {
        let urgencies: Vec<usize> = match priorities {
            Priorities::Recorded => return self.clone(),
            Priorities::None => vec![HIGH; self.objects.len()],
            Priorities::Kind => page.fetches().map(|(_, fetch)| of_kind(&fetch.kind)).collect(),
            Priorities::Dependencies => of_depths(&depths(page)),
        };
        let mut prioritised = self.clone();
        for (object, urgency) in prioritised.objects.iter_mut().zip(urgencies) {
            object.urgency = Some(Bounded::known(urgency as u32));
            (object.incremental, object.raised) = (false, None);
        }
        prioritised
    }
}

fn of_kind(kind: &str) -> usize {
    match kind {
        "html" => 0,
        "css" | "js" => 1,
        _ => 3,
    }
}

fn of_depths(depths: &[ObjectDepth]) -> Vec<usize> {
    let longest = depths.iter().map(|object| object.depth).max().unwrap_or(1);
    let steps = (longest - 1).max(1);
    // To the nearest level; of two that are equally near, the more urgent one.
    let level = |object: &ObjectDepth| (2 * (longest - object.depth) * LOWEST + steps - 1) / (2 * steps);
    depths.iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> PageFile {
        PageFile::from_json(
            br#"{"objects": [
                {"url": "https://a.test/", "bytes": 10},
                {"url": "https://a.test/a.css", "bytes": 10, "incremental": true},
                {"url": "https://a.test/b.js", "bytes": 10, "needs": [{"node": "style"}]},
                {"url": "https://a.test/c.png", "bytes": 10, "urgency": 5, "needs": [{"node": "https://a.test/b.js"}],
                 "raised": {"urgency": 1, "with": "style"}}],
              "compute": [{"name": "style", "ms": 5, "needs": [{"node": "https://a.test/a.css"}]}]}"#,
        )
        .unwrap()
    }

    fn urgencies(priorities: Priorities) -> Vec<u32> {
        let page = page();
        let prioritised = page.prioritised(priorities, &page.build().unwrap());
        let alone = |object: &crate::page::ObjectSpec| !object.incremental && object.raised.is_none();
        assert!(prioritised.objects.iter().all(alone));
        prioritised.build().unwrap();
        prioritised.objects.iter().map(|object| object.urgency.unwrap().get()).collect()
    }

    #[test]
    fn each_way_says_how_urgent_every_object_is() {
        assert_eq!(urgencies(Priorities::None), [1, 1, 1, 1]);
        assert_eq!(urgencies(Priorities::Kind), [0, 1, 1, 3]);
        // Four objects one after the other, over eight levels: 0, 2 1/3, 4 2/3, 7.
        assert_eq!(urgencies(Priorities::Dependencies), [0, 2, 5, 7]);
        let recorded = page().prioritised(Priorities::Recorded, &page().build().unwrap());
        assert_eq!(recorded, page());
    }

    #[test]
    fn where_nothing_waits_for_another_all_are_the_most_urgent() {
        let alone = PageFile::from_json(br#"{"objects": [{"url": "https://a.test/", "bytes": 1}]}"#).unwrap();
        let prioritised = alone.prioritised(Priorities::Dependencies, &alone.build().unwrap());
        assert_eq!(prioritised.objects[0].urgency, Some(Bounded::known(0)));
    }
}
