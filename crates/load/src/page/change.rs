//! A page as it would be: with some of its objects left out, smaller, elsewhere or found earlier.

use super::build::Url;
use super::paint::kind;
use super::{ComputeSpec, Need, ObjectSpec, On, PageFile, Preconnect};
use loadstone_units::Bounded;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// What is done to objects of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// They are not there, and neither is what only they bring.
    LeftOut,
    /// Their bodies have half the bytes.
    HalfTheBytes,
    /// The browser has them in its cache.
    Cached,
    /// The browser finds them with the first bytes of the root (`rel=preload`).
    Preloaded,
    /// The browser opens connections to their hosts with the first bytes of the root (`rel=preconnect`).
    Preconnected,
    /// They come from the root's host.
    OnTheMainHost,
    /// They stand in the document that names them.
    Inlined,
    /// The parser does not stop for them (`async`).
    Async,
    /// The server of the root tells of them with its response: it is said to push or to hint at what the page lists.
    Listed,
}

impl Change {
    /// All, in the order in which they are shown.
    pub const ALL: [Change; 9] = [
        Change::LeftOut,
        Change::HalfTheBytes,
        Change::Cached,
        Change::Preloaded,
        Change::Preconnected,
        Change::OnTheMainHost,
        Change::Inlined,
        Change::Async,
        Change::Listed,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Change::LeftOut => "left out",
            Change::HalfTheBytes => "half the bytes",
            Change::Cached => "cached",
            Change::Preloaded => "preloaded",
            Change::Preconnected => "preconnected",
            Change::OnTheMainHost => "on the main host",
            Change::Inlined => "inlined",
            Change::Async => "async",
            Change::Listed => "listed",
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no [`Change`] has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown change '{0}': use {names}", names = Change::ALL.map(Change::name).join(", "))]
pub struct UnknownChange(String);

impl FromStr for Change {
    type Err = UnknownChange;

    fn from_str(name: &str) -> Result<Change, UnknownChange> {
        let found = Change::ALL.into_iter().find(|change| change.name() == name);
        found.ok_or_else(|| UnknownChange(name.to_owned()))
    }
}

impl PageFile {
    /// This page with the objects at these places changed. The root can have half its bytes; otherwise it stays as it is.
    #[must_use]
    pub fn changed(&self, change: Change, places: &BTreeSet<usize>) -> PageFile {
        let mut page = self.clone();
        let others: BTreeSet<usize> =
            places.iter().copied().filter(|at| (1..self.objects.len()).contains(at)).collect();
        match change {
            Change::LeftOut => page.leave_out(&others),
            Change::HalfTheBytes => page.halve(places),
            Change::Cached => others.iter().for_each(|at| page.objects[*at].cached = true),
            Change::Preloaded => page.preload(&others),
            Change::Preconnected => page.preconnect(&others),
            Change::OnTheMainHost => page.join_main_host(&others),
            Change::Inlined => return self.inlined(&others),
            Change::Async => return self.with_async_scripts(&others),
            Change::Listed => page.list(&others),
        }
        page
    }

    /// This page on a network whose round trip is shorter by `ms`, which is of use to these hosts alone.
    #[must_use]
    pub fn nearer(&self, hosts: &BTreeSet<String>, ms: f64) -> PageFile {
        let mut page = self.clone();
        let all: BTreeSet<String> = self.objects.iter().filter_map(|object| host_of(&object.url)).collect();
        for host in all.difference(hosts) {
            page.hosts.entry(host.clone()).or_default().rtt_ms += ms;
        }
        page
    }

    /// What needs call each object, and its host.
    pub fn names_and_hosts(&self) -> impl Iterator<Item = (&str, String)> {
        self.objects.iter().map(|object| (object.node(), host_of(&object.url).unwrap_or_default()))
    }

    fn leave_out(&mut self, places: &BTreeSet<usize>) {
        let mut gone: BTreeSet<String> = places.iter().map(|at| self.objects[*at].node().to_owned()).collect();
        // Everything of which all causes are gone goes too, and with it perhaps something else.
        loop {
            let is_brought_by = |needs: &Option<Vec<Need>>| {
                needs
                    .as_ref()
                    .is_some_and(|needs| !needs.is_empty() && needs.iter().all(|need| gone.contains(&need.node)))
            };
            let objects =
                self.objects.iter().skip(1).filter(|object| is_brought_by(&object.needs)).map(ObjectSpec::node);
            let computed = self.compute.iter().filter(|compute| is_brought_by(&compute.needs));
            let more: BTreeSet<String> =
                objects.chain(computed.map(|compute| compute.name.as_str())).map(str::to_owned).collect();
            let before = gone.len();
            gone.extend(more);
            if gone.len() == before {
                break;
            }
        }
        let mut is_root = true;
        self.objects.retain(|object| std::mem::take(&mut is_root) || !gone.contains(object.node()));
        self.compute.retain(|compute| !gone.contains(&compute.name));
        self.each_need(|needs| needs.retain(|need| !gone.contains(&need.node)));
        self.forget(&gone);
    }

    /// Leaves out what refers to nodes that are gone and is no need.
    fn forget(&mut self, gone: &BTreeSet<String>) {
        self.documents.retain(|_, document| !gone.contains(&document.body));
        for object in &mut self.objects {
            object.document = object.document.take().filter(|document| self.documents.contains_key(document));
            object.raised = object.raised.take().filter(|raised| !gone.contains(&raised.with));
            object.pushed_with = object.pushed_with.take().filter(|with| !gone.contains(with));
        }
    }

    fn halve(&mut self, places: &BTreeSet<usize>) {
        let mut halved = BTreeSet::new();
        for at in places {
            if let Some(object) = self.objects.get_mut(*at) {
                object.bytes /= 2;
                halved.insert(object.node().to_owned());
            }
        }
        self.each_need(|needs| {
            for need in needs.iter_mut().filter(|need| halved.contains(&need.node)) {
                need.bytes = need.bytes.map(|bytes| bytes / 2);
            }
        });
    }

    fn preload(&mut self, places: &BTreeSet<usize>) {
        let Some(found) = self.objects.first().map(arrival) else { return };
        for at in places {
            let object = &mut self.objects[*at];
            object.needs = Some(vec![found.clone()]);
            // Chromium does not know yet what of these the page will wait for.
            match kind(object) {
                "css" => object.urgency = Some(Bounded::known(0)),
                "js" | "font" => object.urgency = Some(Bounded::known(1)),
                _ => {}
            }
        }
    }

    /// Frames of other sites have connections of their own, which no hint of the root opens; and to the root's host there is
    /// one already.
    fn preconnect(&mut self, places: &BTreeSet<usize>) {
        let Some(root) = self.objects.first() else { return };
        let (found, own) = (arrival(root), connection_of(root));
        let asked = places.iter().map(|at| &self.objects[*at]).filter(|object| object.partition.is_none());
        let mut connections: Vec<Preconnect> = Vec::new();
        for connection in asked.filter_map(connection_of) {
            if Some(&connection) != own.as_ref() && !connections.contains(&connection) {
                connections.push(connection);
            }
        }
        for connection in connections {
            let whose = if connection.anonymous { " without credentials" } else { "" };
            let name = format!("hinted connection to {}{whose}", connection.url);
            let (needs, preconnect) = (Some(vec![found.clone()]), Some(connection));
            self.compute.push(ComputeSpec { name, needs, preconnect, ..ComputeSpec::default() });
        }
    }

    fn list(&mut self, places: &BTreeSet<usize>) {
        let root = self.objects.first().map(|root| root.node().to_owned());
        places.iter().for_each(|at| self.objects[*at].pushed_with.clone_from(&root));
    }

    fn join_main_host(&mut self, places: &BTreeSet<usize>) {
        let Some(root) = self.objects.first().map(|root| root.url.clone()) else { return };
        // A root without a usable URL is for `build` to refuse.
        let Some(main) = Url::split(&root) else { return };
        for at in places {
            self.objects[*at].move_to_host(main.secure, main.authority);
        }
    }

    pub(super) fn each_need(&mut self, mut alter: impl FnMut(&mut Vec<Need>)) {
        let objects = self.objects.iter_mut().map(|object| &mut object.needs);
        objects.chain(self.compute.iter_mut().map(|compute| &mut compute.needs)).flatten().for_each(&mut alter);
    }
}

/// The connection over which an object is asked for.
fn connection_of(object: &ObjectSpec) -> Option<Preconnect> {
    Some(Preconnect { url: Url::split(&object.url)?.origin(), anonymous: object.anonymous })
}

/// That a response begins to arrive.
pub(super) fn arrival(object: &ObjectSpec) -> Need {
    let on = if object.bytes > 0 { On::Bytes } else { On::End };
    Need { node: object.node().to_owned(), on, bytes: (on == On::Bytes).then_some(1), ..Need::default() }
}

pub(super) fn host_of(url: &str) -> Option<String> {
    Url::split(url).map(|url| url.authority.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> PageFile {
        PageFile::from_json(
            br#"{"objects": [
                {"url": "https://a.test/", "bytes": 100},
                {"url": "https://tags.test/t.js", "bytes": 1000, "needs": [{"node": "https://a.test/", "on": "bytes", "bytes": 60}]},
                {"url": "https://ads.test/ad.js", "bytes": 500, "needs": [{"node": "https://tags.test/t.js", "on": "bytes", "bytes": 900, "ms": 5}]},
                {"url": "https://ads.test/ad.png", "bytes": 9000, "needs": [{"node": "https://ads.test/ad.js"}, {"node": "run"}]},
                {"url": "https://a.test/a.png", "bytes": 10, "request_header_bytes": 300,
                 "needs": [{"node": "https://a.test/"}, {"node": "https://tags.test/t.js"}]}],
              "compute": [{"name": "run", "ms": 20, "needs": [{"node": "https://tags.test/t.js"}]}]}"#,
        )
        .unwrap()
    }

    fn urls(page: &PageFile) -> Vec<&str> {
        page.objects.iter().map(|object| object.url.as_str()).collect()
    }

    fn changed(change: Change, places: impl IntoIterator<Item = usize>) -> PageFile {
        let changed = page().changed(change, &places.into_iter().collect());
        changed.build().expect("a changed page is a page");
        changed
    }

    #[test]
    fn what_only_a_left_out_object_brings_goes_with_it() {
        let without = changed(Change::LeftOut, [1]);
        assert_eq!(urls(&without), ["https://a.test/", "https://a.test/a.png"]);
        assert!(without.compute.is_empty());
        assert_eq!(without.objects[1].needs.as_ref().map(Vec::len), Some(1), "its other cause is still there");
        assert_eq!(urls(&changed(Change::LeftOut, [2])).len(), 4, "the picture has another cause");
        assert_eq!(changed(Change::LeftOut, [0]), page(), "without its root there is no page");
    }

    #[test]
    fn with_a_frame_goes_what_only_its_document_has() {
        let page = PageFile::from_json(
            br#"{"objects": [
                {"url": "https://a.test/", "bytes": 100, "document": "main"},
                {"url": "https://b.test/frame", "bytes": 10, "document": "frame"},
                {"url": "https://a.test/a.png", "bytes": 10, "document": "frame", "pushed_with": "https://b.test/frame",
                 "raised": {"urgency": 1, "with": "https://b.test/frame"}}],
              "compute": [{"name": "parse", "ms": 1}, {"name": "parse frame", "ms": 1, "needs": [{"node": "https://b.test/frame"}]}],
              "documents": {"main": {"body": "parse"}, "frame": {"body": "parse frame"}}}"#,
        )
        .unwrap();
        let changed = page.changed(Change::LeftOut, &BTreeSet::from([1]));
        let build = changed.build();
        assert!(build.is_ok(), "{build:?}");
        let picture = &changed.objects[1];
        assert_eq!((&picture.pushed_with, &picture.document, &picture.raised), (&None, &None, &None));
    }

    #[test]
    fn half_the_bytes_are_waited_for_where_all_were() {
        let half = changed(Change::HalfTheBytes, [0, 1]);
        assert_eq!((half.objects[0].bytes, half.objects[1].bytes), (50, 500));
        let bytes = |at: usize| half.objects[at].needs.as_ref().unwrap()[0].bytes;
        assert_eq!((bytes(1), bytes(2)), (Some(30), Some(450)));
    }

    #[test]
    fn a_cached_object_is_asked_of_no_server() {
        let cached = changed(Change::Cached, [0, 1]);
        assert_eq!(
            cached.objects.iter().map(|object| object.cached).collect::<Vec<_>>(),
            [false, true, false, false, false]
        );
        assert_eq!(cached.objects[1].needs, page().objects[1].needs);
    }

    #[test]
    fn a_preloaded_object_is_found_with_the_first_byte_of_the_root() {
        let preloaded = changed(Change::Preloaded, [3]);
        let need = Need { node: "https://a.test/".to_owned(), on: On::Bytes, bytes: Some(1), ..Need::default() };
        assert_eq!(preloaded.objects[3].needs, Some(vec![need]));
    }

    #[test]
    fn connections_are_opened_with_the_first_byte_of_the_root_once_for_each_host() {
        let mut page = page();
        page.objects[2].anonymous = true;
        page.objects[3].url = "https://TAGS.test/ad.png".to_owned();
        page.objects[4].url = "https://framed.test/a.png".to_owned();
        page.objects[4].partition = Some("https://b.test".to_owned());
        let before = page.compute.len();
        let hinted = page.changed(Change::Preconnected, &(0..5).collect());
        let asked: Vec<Preconnect> =
            hinted.compute[before..].iter().filter_map(|node| node.preconnect.clone()).collect();
        let to = |url: &str, anonymous| Preconnect { url: url.to_owned(), anonymous };
        assert_eq!(asked, [to("https://tags.test", false), to("https://ads.test", true)]);
        let need = Need { node: "https://a.test/".to_owned(), on: On::Bytes, bytes: Some(1), ..Need::default() };
        assert_eq!(hinted.compute[before].needs, Some(vec![need]));
        let built = hinted.build().unwrap();
        assert_eq!(built.preconnects.len(), 2);
        assert_eq!(page.changed(Change::Preconnected, &BTreeSet::from([0])), page, "there is a connection already");
    }

    #[test]
    fn on_the_main_host_objects_keep_their_names() {
        let joined = changed(Change::OnTheMainHost, [1, 2, 3]);
        assert!(urls(&joined).iter().all(|url| url.starts_with("https://a.test/")));
        assert_eq!(joined.objects[1].name.as_deref(), Some("https://tags.test/t.js"));
        assert_eq!(joined.build().unwrap().hosts.len(), 1);
    }

    #[test]
    fn to_bring_hosts_nearer_leaves_the_others_where_they_are() {
        let near = page().nearer(&BTreeSet::from(["tags.test".to_owned()]), 54.0);
        let far: Vec<(&str, f64)> = near.hosts.iter().map(|(host, spec)| (host.as_str(), spec.rtt_ms)).collect();
        assert_eq!(far, [("a.test", 54.0), ("ads.test", 54.0)]);
    }

    #[test]
    fn changes_are_known_by_their_names() {
        assert!(Change::ALL.iter().all(|change| change.name().parse() == Ok(*change)));
        assert!("gone".parse::<Change>().unwrap_err().to_string().contains("half the bytes"));
    }
}
