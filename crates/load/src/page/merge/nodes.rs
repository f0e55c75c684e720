//! By what nodes of computing are known in another load: their names have numbers that no other load has.

use crate::page::{Need, PageFile};
use std::collections::BTreeMap;

/// By what a node is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Label {
    /// What it is, and of which object; without one, after which.
    pub(super) text: String,
    /// The same, and at which byte of a document.
    pub(super) at_byte: String,
    /// Among what its time is where it has no certain partner: what it is, and of which object if it is one's.
    pub(super) pool: String,
}

/// The labels of a page's nodes. `objects` is what its objects are called in all loads.
pub(super) fn labels(page: &PageFile, objects: &[String]) -> Vec<Label> {
    let places = page.objects.iter().enumerate().map(|(at, object)| (object.node(), at)).collect();
    let nodes = page.compute.iter().enumerate().map(|(at, node)| (node.name.as_str(), at)).collect();
    let of = Labelling { page, objects, places, nodes };
    let names: Vec<NodeName> = page.compute.iter().map(|node| of.name(&node.name)).collect();
    let anchors = of.anchors(&names);
    let label = |(at, name): (usize, &NodeName)| {
        let text = if name.is_known { name.text.clone() } else { format!("{} after {}", name.text, anchors[at]) };
        let byte = page.compute[at].needs.iter().flatten().find_map(|need| need.bytes);
        Label { at_byte: format!("{text} at {byte:?}"), text, pool: name.text.clone() }
    };
    names.iter().enumerate().map(label).collect()
}

struct Labelling<'p> {
    page: &'p PageFile,
    objects: &'p [String],
    /// The places of objects and of nodes, by what needs call them.
    places: BTreeMap<&'p str, usize>,
    nodes: BTreeMap<&'p str, usize>,
}

/// The name of a node without its numbers.
struct NodeName {
    text: String,
    /// Whether that says which node it is: it names an object, or had no number.
    is_known: bool,
}

impl Labelling<'_> {
    /// Of `receive 12 of URL #2` it is `receive of` and what the object is called in all loads.
    fn name(&self, name: &str) -> NodeName {
        let bare = without_number(name);
        for (end, _) in name.match_indices(' ') {
            let object = [&name[end + 1..], bare.get(end + 1..).unwrap_or_default()].map(|rest| self.places.get(rest));
            if let Some(at) = object.into_iter().flatten().next() {
                let text = format!("{} {}", without_numbers(&name[..end]), self.objects[*at]);
                return NodeName { text, is_known: true };
            }
        }
        let text = without_numbers(name);
        NodeName { is_known: text == name, text }
    }

    /// After what each node comes: the last object or known node before it, along the first thing that each waits for.
    fn anchors(&self, names: &[NodeName]) -> Vec<String> {
        let mut anchors: Vec<Option<String>> =
            names.iter().map(|name| name.is_known.then(|| name.text.clone())).collect();
        for start in 0..names.len() {
            let mut way = Vec::new();
            let mut at = start;
            let found = loop {
                if let Some(anchor) = &anchors[at] {
                    break anchor.clone();
                }
                way.push(at);
                match self.first_before(at) {
                    // A page that is not checked yet may go round in circles.
                    Before::Node(next) if way.len() <= names.len() => at = next,
                    Before::Object(object) => break object,
                    _ => break String::new(),
                }
            };
            way.into_iter().for_each(|at| anchors[at] = Some(found.clone()));
        }
        anchors.into_iter().map(Option::unwrap_or_default).collect()
    }

    fn first_before(&self, node: usize) -> Before {
        let Some(Need { node, .. }) = self.page.compute[node].needs.iter().flatten().next() else {
            return Before::Nothing;
        };
        match (self.places.get(node.as_str()), self.nodes.get(node.as_str())) {
            (Some(object), _) => Before::Object(self.objects[*object].clone()),
            (None, Some(node)) => Before::Node(*node),
            (None, None) => Before::Nothing,
        }
    }
}

/// What something waits for.
enum Before {
    Nothing,
    Object(String),
    Node(usize),
}

/// A name without the mark that makes it unique (`#2`).
fn without_number(name: &str) -> &str {
    let marked = name.rsplit_once(" #").filter(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()));
    marked.map_or(name, |(name, _)| name)
}

fn without_numbers(name: &str) -> String {
    let is_number = |word: &&str| !word.trim_start_matches('#').bytes().all(|byte| byte.is_ascii_digit());
    name.split(' ').filter(is_number).collect::<Vec<_>>().join(" ")
}
