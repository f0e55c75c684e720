//! Objects that stand as text in the document that names them.

use crate::page::{Need, ObjectSpec, On, PageFile};
use std::collections::BTreeSet;

/// Where an object would stand.
struct InlinePlace {
    object: String,
    document: String,
    /// After how many bytes of the document it is found.
    at: u64,
    len: u64,
}

impl PageFile {
    /// This page with the objects at these places inlined where the document names them: it is longer by their bytes,
    /// and who waited for one of them waits for that much of the document. What is not found in a text stays as it is.
    #[must_use]
    pub fn inlined(&self, places: &BTreeSet<usize>) -> PageFile {
        let mut page = self.clone();
        let names: Vec<&str> = places.iter().filter_map(|at| self.objects.get(*at)).map(ObjectSpec::node).collect();
        for name in names {
            if let Some(place) = page.inline_place(name) {
                page.inline(&place);
            }
        }
        page
    }

    fn inline_place(&self, name: &str) -> Option<InlinePlace> {
        let object = self.objects.iter().skip(1).find(|object| object.node() == name)?;
        let in_texts = object.needs.iter().flatten().filter(|need| need.on == On::Bytes);
        // A style sheet has others in it by their URLs alone: only documents take them in.
        let mut found = in_texts.filter_map(|need| Some((need, self.document_called(&need.node)?)));
        let (Some((need, document)), None) = (found.next(), found.next()) else { return None };
        let at = need.bytes.unwrap_or(0).min(document.bytes);
        Some(InlinePlace { object: name.to_owned(), document: need.node.clone(), at, len: object.bytes })
    }

    fn document_called(&self, name: &str) -> Option<&ObjectSpec> {
        let is_root = |object: &ObjectSpec| self.objects.first().is_some_and(|root| root.node() == object.node());
        let object = self.objects.iter().find(|object| object.node() == name)?;
        (is_root(object) || object.kind.as_deref() == Some("html")).then_some(object)
    }

    fn inline(&mut self, place: &InlinePlace) {
        let InlinePlace { object, document, len, .. } = place;
        self.objects.retain(|other| other.node() != object);
        for other in self.objects.iter_mut().filter(|other| other.node() == document) {
            other.bytes += len;
        }
        self.each_need(|needs| needs.iter_mut().for_each(|need| place.shift(need)));
        for other in &mut self.objects {
            other.pushed_with =
                other.pushed_with.take().map(|with| if with == *object { document.clone() } else { with });
            other.raised = other.raised.take().map(|mut raised| {
                if raised.with == *object {
                    raised.with.clone_from(document);
                }
                raised
            });
        }
    }
}

impl InlinePlace {
    fn shift(&self, need: &mut Need) {
        let end = self.at + self.len;
        if need.node == self.object {
            let bytes = match need.on {
                On::Start => self.at,
                On::Bytes => self.at + need.bytes.unwrap_or(self.len).min(self.len),
                On::End => end,
            };
            (need.on, need.bytes) = (On::Bytes, Some(bytes.max(1)));
            need.node.clone_from(&self.document);
        } else if need.node == self.document && need.on == On::Bytes && need.bytes.is_some_and(|bytes| bytes > self.at)
        {
            need.bytes = need.bytes.map(|bytes| bytes + self.len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn page() -> PageFile {
        serde_json::from_value(json!({
            "objects": [
                {"url": "https://a.test/", "bytes": 1000},
                {"url": "https://a.test/a.css", "bytes": 300,
                 "needs": [{"node": "https://a.test/", "on": "bytes", "bytes": 100, "ms": 2.0}]},
                {"url": "https://a.test/b.css", "bytes": 50, "pushed_with": "https://a.test/a.css",
                 "needs": [{"node": "https://a.test/a.css", "on": "bytes", "bytes": 40}]},
                {"url": "https://a.test/c.png", "bytes": 7, "raised": {"urgency": 1, "with": "https://a.test/a.css"},
                 "needs": [{"node": "https://a.test/", "on": "bytes", "bytes": 101}]},
                {"url": "https://a.test/d.png", "bytes": 7,
                 "needs": [{"node": "https://a.test/", "on": "bytes", "bytes": 100}]}],
            "compute": [{"name": "style", "ms": 1.0, "needs": [{"node": "https://a.test/a.css", "ms": 3.0}]},
                        {"name": "look", "ms": 1.0, "needs": [{"node": "https://a.test/a.css", "on": "start"}]}]}))
        .unwrap()
    }

    fn needs(page: &PageFile, name: &str) -> (String, On, Option<u64>, f64) {
        let objects = page.objects.iter().map(|object| (object.node(), &object.needs));
        let mut all = objects.chain(page.compute.iter().map(|compute| (compute.name.as_str(), &compute.needs)));
        let (_, needs) = all.find(|(node, _)| *node == name).unwrap();
        let Need { node, on, bytes, ms, .. } = needs.as_ref().unwrap()[0].clone();
        (node, on, bytes, ms)
    }

    #[test]
    fn who_waited_for_what_is_inlined_waits_for_as_much_of_the_document() {
        let page = page().inlined(&BTreeSet::from([1]));
        assert!(page.build().is_ok());
        assert_eq!((page.objects.len(), page.objects[0].bytes), (4, 1300));
        let of = |name, bytes, ms| {
            assert_eq!(needs(&page, name), ("https://a.test/".to_owned(), On::Bytes, Some(bytes), ms))
        };
        of("style", 400, 3.0);
        of("look", 100, 0.0);
        of("https://a.test/b.css", 140, 0.0);
        of("https://a.test/c.png", 401, 0.0);
        of("https://a.test/d.png", 100, 0.0);
        assert_eq!(page.objects[1].pushed_with.as_deref(), Some("https://a.test/"));
        assert_eq!(page.objects[2].raised.as_ref().map(|raised| raised.with.as_str()), Some("https://a.test/"));
    }

    #[test]
    fn what_no_document_names_stays() {
        assert_eq!(page().inlined(&BTreeSet::from([0, 2, 9])), page(), "a style sheet is no document");
        let both = page().inlined(&BTreeSet::from([1, 3]));
        assert_eq!((both.objects.len(), both.objects[0].bytes), (3, 1307));
        assert!(both.build().is_ok());
    }
}
