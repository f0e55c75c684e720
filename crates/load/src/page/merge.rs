//! From several loads of a page to one page: what they have in common, and what differs from load to load.
//!
//! One load is the base: objects, nodes and needs are its. A graph with some needs of one load and some of another might
//! be that of no load at all: something could begin before what causes it, or wait for itself. The other loads say how
//! sure each part of the base is (`seen`), whose URLs change, and how long computing takes.

mod nodes;
mod partners;
mod shape;
mod times;

use super::file::{LoadsSpec, Need, ObjectSpec, PageFile, Why};
use nodes::Label;
use partners::Partners;
use shape::{Sameness, shape};
use std::collections::BTreeMap;
pub(super) use times::MOST_DEVIATION;
use times::median;

/// Another load than the base, and what of it is what of the base.
struct OtherLoad<'l> {
    page: &'l PageFile,
    places: BTreeMap<&'l str, PageItem>,
    objects: Partners,
    nodes: Partners,
    labels: Vec<Label>,
}

/// What can be waited for: an object or a node of the base, by its place there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PageItem {
    Object(usize),
    Node(usize),
}

/// What is waited for, as far as two loads can be compared: which object or node, or of what kind where several nodes
/// might be meant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Awaited<'l> {
    Known(PageItem),
    OneOf(&'l str),
}

/// The moment that is waited for, and why.
type Edge<'l> = (Awaited<'l>, u8, Option<Why>);

impl PageFile {
    /// This load of a page put together with other loads of it, in any order: its objects, nodes and needs, the times
    /// that are the median of all loads (of thinking and handshakes the least), how much computing differs between them,
    /// and which objects, nodes and needs not all of them have. Without other loads it is the page itself.
    ///
    /// What other loads have besides is left out, and what few of them have stays: causes and effects of one load fit
    /// together.
    #[must_use]
    pub fn merged(&self, others: &[&PageFile]) -> PageFile {
        if others.is_empty() {
            return self.clone();
        }
        let tokens: Vec<String> = (0..self.objects.len()).map(|at| format!("o{at}")).collect();
        let labels = nodes::labels(self, &tokens);
        let others: Vec<OtherLoad<'_>> = others.iter().map(|other| OtherLoad::new(self, &labels, other)).collect();
        let mut merged = self.clone();
        merged.mark_objects(&others);
        merged.mark_needs(self, &labels, &others);
        let deviation_percent = times::set(&mut merged, &labels, &others);
        let all = |of: fn(&PageFile) -> f64| -> Vec<f64> {
            others.iter().map(|other| of(other.page)).chain([of(self)]).collect()
        };
        merged.handshake_ms = all(|page| page.handshake_ms).into_iter().fold(f64::INFINITY, f64::min);
        merged.arrival_ms = median(all(|page| page.arrival_ms));
        merged.loads =
            Some(LoadsSpec { count: others.len() as u32 + 1, deviation_percent, left_out: left_out(&others) });
        merged
    }

    /// Says in how many loads objects and nodes were, and whether URLs change. Servers think as briefly as in any load:
    /// what queues and busy machines add cannot be told from thinking.
    fn mark_objects(&mut self, others: &[OtherLoad<'_>]) {
        for (at, object) in self.objects.iter_mut().enumerate() {
            let partners: Vec<&ObjectSpec> = others.iter().filter_map(|other| other.object(at)).collect();
            object.seen = count_unless_all(partners.len(), others.len());
            object.changes = partners.iter().any(|partner| partner.url != object.url);
            if let Some(ms) = object.think_ms {
                let others = partners.iter().map(|partner| partner.think_ms.unwrap_or(0.0));
                object.think_ms = Some(others.fold(ms, f64::min)).filter(|ms| *ms > 0.0);
            }
        }
        for (at, node) in self.compute.iter_mut().enumerate() {
            let partners = others.iter().filter(|other| other.nodes.of_base[at].is_some()).count();
            // Only one load is filmed.
            node.seen = count_unless_all(partners, others.len()).filter(|_| node.view_share.is_none());
        }
    }

    /// Says of each need in how many loads it was, and takes its times from their median.
    fn mark_needs(&mut self, base: &PageFile, labels: &[Label], others: &[OtherLoad<'_>]) {
        let places = base.places();
        let objects = self.objects.iter_mut().enumerate().map(|(at, object)| (PageItem::Object(at), &mut object.needs));
        let nodes = self.compute.iter_mut().enumerate().map(|(at, node)| (PageItem::Node(at), &mut node.needs));
        for (waits, needs) in objects.chain(nodes) {
            let Some(needs) = needs else { continue };
            // What it needs in each load that has it.
            let mut partners: Vec<_> = others.iter().filter_map(|other| Some((other, other.needs(waits)?))).collect();
            for need in needs.iter_mut() {
                let Some(place) = places.get(need.node.as_str()) else { continue };
                let same = partners.iter_mut().filter_map(|(other, needs)| {
                    let edge = (other.awaited(*place, labels), need.on as u8, need.why);
                    needs.get_mut(&edge)?.pop()
                });
                let same: Vec<&Need> = same.collect();
                need.seen = count_unless_all(same.len(), partners.len());
                need.ms = median(same.iter().map(|same| same.ms).chain([need.ms]).collect());
                need.timer_ms = median(same.iter().map(|same| same.timer_ms).chain([need.timer_ms]).collect());
            }
        }
    }

    fn places(&self) -> BTreeMap<&str, PageItem> {
        let objects = self.objects.iter().enumerate().map(|(at, object)| (object.node(), PageItem::Object(at)));
        let nodes = self.compute.iter().enumerate().map(|(at, node)| (node.name.as_str(), PageItem::Node(at)));
        objects.chain(nodes).collect()
    }
}

impl<'l> OtherLoad<'l> {
    fn new(base: &PageFile, of_base: &[Label], page: &'l PageFile) -> OtherLoad<'l> {
        let mut objects = Partners::new(base.objects.len(), page.objects.len());
        for sameness in Sameness::ALL {
            let shapes =
                |page: &PageFile| page.objects.iter().map(|object| shape(object, sameness)).collect::<Vec<_>>();
            objects.pair(&shapes(base), &shapes(page));
        }
        let token =
            |(at, partner): (usize, &Option<usize>)| partner.map_or(format!("x{at}"), |base| format!("o{base}"));
        let tokens: Vec<String> = objects.of_other.iter().enumerate().map(token).collect();
        let labels = nodes::labels(page, &tokens);
        let mut nodes = Partners::new(base.compute.len(), page.compute.len());
        for text in [|label: &Label| label.at_byte.clone(), |label: &Label| label.text.clone()] {
            let texts = |labels: &[Label]| labels.iter().map(text).collect::<Vec<_>>();
            nodes.pair(&texts(of_base), &texts(&labels));
        }
        OtherLoad { page, places: page.places(), objects, nodes, labels }
    }

    fn object(&self, of_base: usize) -> Option<&'l ObjectSpec> {
        self.objects.of_base[of_base].map(|at| &self.page.objects[at])
    }

    /// What an object or a node waits for in this load, if it is there; the first of equal ones last.
    fn needs(&self, waits: PageItem) -> Option<BTreeMap<Edge<'_>, Vec<&'l Need>>> {
        let needs = match waits {
            PageItem::Object(at) => &self.object(at)?.needs,
            PageItem::Node(at) => &self.page.compute[self.nodes.of_base[at]?].needs,
        };
        let mut edges: BTreeMap<Edge<'_>, Vec<&Need>> = BTreeMap::new();
        for need in needs.iter().flatten().rev() {
            let awaited = match self.places.get(need.node.as_str()) {
                Some(PageItem::Object(at)) => self.objects.of_other[*at].map(|at| Awaited::Known(PageItem::Object(at))),
                Some(PageItem::Node(at)) => Some(match self.nodes.of_other[*at] {
                    Some(node) if self.nodes.is_sure[node] => Awaited::Known(PageItem::Node(node)),
                    _ => Awaited::OneOf(&self.labels[*at].pool),
                }),
                None => None,
            };
            if let Some(awaited) = awaited {
                edges.entry((awaited, need.on as u8, need.why)).or_default().push(need);
            }
        }
        Some(edges)
    }

    /// What of the base is meant, as far as it can be found in this load.
    fn awaited<'s>(&self, place: PageItem, labels: &'s [Label]) -> Awaited<'s> {
        match place {
            PageItem::Node(at) if !self.nodes.is_sure[at] => Awaited::OneOf(&labels[at].pool),
            known => Awaited::Known(known),
        }
    }
}

/// In how many loads something was, with the base, unless it was in all.
fn count_unless_all(others: usize, all_others: usize) -> Option<u32> {
    (others < all_others).then_some(others as u32 + 1)
}

/// How many objects other loads had besides. What several of them had counts once.
fn left_out(others: &[OtherLoad<'_>]) -> u32 {
    let mut most: BTreeMap<String, u32> = BTreeMap::new();
    for other in others {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        let own = other.page.objects.iter().enumerate().filter(|(at, _)| other.objects.of_other[*at].is_none());
        own.for_each(|(_, object)| *counts.entry(shape(object, Sameness::Names)).or_default() += 1);
        for (shape, count) in counts {
            let most = most.entry(shape).or_default();
            *most = (*most).max(count);
        }
    }
    most.values().sum()
}

#[cfg(test)]
mod tests;
