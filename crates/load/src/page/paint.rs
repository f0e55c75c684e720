//! What has to be in before a browser can paint: for its first contentful paint, and for its largest.
//!
//! A recording may say it (`har`); these are the rules where it does not. Painting takes time of its own, which is no
//! part of it.

use super::file::{Needed, ObjectSpec, PageFile};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What a paint needs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Paint {
    /// The objects, in page order, by what needs call them.
    pub objects: Vec<String>,
    /// Which of them is the image that is painted; `None` if that is text.
    pub image: Option<String>,
    /// How that is known.
    pub source: PaintSource,
    /// Of the largest paint: other images with at least half as many bytes, each of which may be the one that is meant.
    pub rivals: usize,
}

/// How it is known what a paint needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PaintSource {
    /// The recording names it.
    Named,
    /// The recording has the moment of the paint: it is the likeliest of what was in by then.
    Moment,
    /// A rule about kinds and sizes.
    Rule,
}

/// The most urgent classes of Chromium: style sheets, and scripts that the parser waits for.
const BLOCKING_URGENCY: u32 = 1;

impl PageFile {
    /// This page, loaded as soon as these objects and the root are in.
    #[must_use]
    pub fn until(&self, names: &BTreeSet<String>) -> PageFile {
        let mut page = self.clone();
        for object in &mut page.objects {
            object.needed = (!names.contains(object.node())).then_some(Needed::Never);
        }
        if let Some(root) = page.objects.first_mut() {
            root.needed = None;
        }
        page.compute.iter_mut().for_each(|compute| compute.needed = None);
        page
    }

    /// What the first contentful paint needs, by rule: the document, and the style sheets and scripts that it asks for
    /// itself and that are urgent, or of which nobody says how urgent they are.
    pub fn first_paint(&self) -> Paint {
        let document = self.document();
        let found = self.found_by(document);
        let blocks = |at: &usize| {
            let object = &self.objects[*at];
            let is_urgent = object.urgency.is_none_or(|urgency| urgency.get() <= BLOCKING_URGENCY);
            *at == document || found.contains(at) && is_urgent && matches!(kind(object), "css" | "js")
        };
        self.paint((0..self.objects.len()).filter(blocks), PaintSource::Rule, 0)
    }

    /// What the largest contentful paint needs, by rule: what the first one needs, and the image with the most bytes of
    /// those that the document or a style sheet asks for; of all images, if there is none.
    pub fn largest_paint(&self) -> Paint {
        let found = self.found_by(self.document());
        let images = || (0..self.objects.len()).filter(|at| kind(&self.objects[*at]) == "image");
        let own: Vec<usize> = images().filter(|at| found.contains(at)).collect();
        let candidates = if own.is_empty() { images().collect() } else { own };
        self.painted_with(&self.first_paint(), &candidates, PaintSource::Rule)
    }

    /// The first paint's objects and the largest of these images.
    pub(super) fn painted_with(&self, first: &Paint, images: &[usize], source: PaintSource) -> Paint {
        // Of equals the first.
        let bytes = |at: usize| self.objects[at].bytes;
        let Some(largest) = images.iter().copied().rev().max_by_key(|at| bytes(*at)) else {
            return Paint { source, ..first.clone() };
        };
        let rivals = images.iter().filter(|at| **at != largest && 2 * bytes(**at) >= bytes(largest)).count();
        let of_first: BTreeSet<&str> = first.objects.iter().map(String::as_str).collect();
        let places = 0..self.objects.len();
        let needed = places.filter(|at| *at == largest || of_first.contains(self.objects[*at].node()));
        Paint { image: Some(self.objects[largest].node().to_owned()), ..self.paint(needed, source, rivals) }
    }

    pub(super) fn paint(&self, places: impl Iterator<Item = usize>, source: PaintSource, rivals: usize) -> Paint {
        Paint { objects: places.map(|at| self.objects[at].node().to_owned()).collect(), image: None, source, rivals }
    }

    /// The document that is shown: the root, or where it was redirected to.
    fn document(&self) -> usize {
        let mut document = 0;
        while self.objects[document].status.is_some_and(|status| (300..400).contains(&status)) {
            let leads_on = |at: &usize| self.causes(*at).any(|cause| cause == self.objects[document].node());
            let Some(next) = (document + 1..self.objects.len()).find(leads_on) else { break };
            document = next;
        }
        document
    }

    /// What a document asks for, itself or by its style sheets.
    fn found_by(&self, document: usize) -> BTreeSet<usize> {
        let places: BTreeMap<&str, usize> =
            self.objects.iter().enumerate().map(|(at, object)| (object.node(), at)).collect();
        let mut found = BTreeSet::new();
        // Causes stand before what they cause, in recordings; in a page file by hand the second round finds the rest.
        for _ in 0..2 {
            for at in 1..self.objects.len() {
                let by_it = self
                    .causes(at)
                    .filter_map(|cause| places.get(cause))
                    .any(|cause| *cause == document || found.contains(cause) && kind(&self.objects[*cause]) == "css");
                if by_it && at != document {
                    found.insert(at);
                }
            }
        }
        found
    }

    /// What an object waits for; the root, if it does not say.
    fn causes(&self, at: usize) -> impl Iterator<Item = &str> {
        let object = &self.objects[at];
        let unsaid = object.needs.is_none().then(|| self.objects[0].node());
        object.needs.iter().flatten().map(|need| need.node.as_str()).chain(unsaid)
    }
}

pub(super) fn kind(object: &ObjectSpec) -> &str {
    object.kind.as_deref().unwrap_or_else(|| super::build::kind_of(&object.url, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"{"objects": [
        {"url": "https://a.test/", "bytes": 10, "status": 301},
        {"url": "https://www.a.test/", "bytes": 900, "kind": "html", "needs": [{"node": "https://a.test/"}]},
        {"url": "https://www.a.test/a.css", "bytes": 90, "needs": [{"node": "https://www.a.test/"}]},
        {"url": "https://www.a.test/late.js", "bytes": 90, "urgency": 3, "needs": [{"node": "https://www.a.test/"}]},
        {"url": "https://www.a.test/sync.js", "bytes": 90, "urgency": 1, "needs": [{"node": "https://www.a.test/"}]},
        {"url": "https://www.a.test/hero.jpg", "bytes": 5000, "needs": [{"node": "https://www.a.test/a.css"}]},
        {"url": "https://www.a.test/logo.png", "bytes": 2500, "needs": [{"node": "https://www.a.test/"}]},
        {"url": "https://ads.test/ad.jpg", "bytes": 9000, "needs": [{"node": "https://www.a.test/late.js"}]}]}"#;

    fn page() -> PageFile {
        PageFile::from_json(PAGE.as_bytes()).unwrap()
    }

    fn files(paint: &Paint) -> Vec<&str> {
        paint.objects.iter().map(|url| url.rsplit('/').next().unwrap()).collect()
    }

    #[test]
    fn style_sheets_and_urgent_scripts_of_the_document_that_is_shown_block_the_first_paint() {
        let paint = page().first_paint();
        assert_eq!((files(&paint), paint.source), (vec!["", "a.css", "sync.js"], PaintSource::Rule));
        assert_eq!(paint.objects[0], "https://www.a.test/");
    }

    #[test]
    fn the_largest_paint_waits_for_the_largest_image_that_no_script_brought() {
        let paint = page().largest_paint();
        assert_eq!((files(&paint), paint.rivals), (vec!["", "a.css", "sync.js", "hero.jpg"], 1));
        assert_eq!(paint.image.as_deref(), Some("https://www.a.test/hero.jpg"));
    }

    #[test]
    fn without_images_the_largest_paint_is_the_first() {
        let mut page = page();
        page.objects.truncate(5);
        assert_eq!(page.largest_paint(), page.first_paint());
    }

    #[test]
    fn a_page_is_loaded_when_what_is_asked_for_and_the_root_are_in() {
        let until = page().until(&BTreeSet::from(["https://www.a.test/a.css".to_owned()]));
        let needed: Vec<bool> = until.objects.iter().map(|object| object.needed != Some(Needed::Never)).collect();
        assert_eq!(needed, [true, false, true, false, false, false, false, false]);
    }
}
