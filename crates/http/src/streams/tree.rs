//! The dependency tree (RFC 7540, section 5.3) and the order of sending by it: a stream before those that depend
//! on it; siblings share in proportion to their weights.
//!
//! A closed stream may still be named in a dependency (section 5.3.4), and an idle one may group others (section
//! 5.3.3): the newest 100 closed or idle streams are retained.

use super::weight::cost;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The root of the tree: stream 0.
const ROOT: u32 = 0;
/// The default weight (section 5.3.5).
const DEFAULT_WEIGHT: u16 = 16;
/// The most closed or idle streams that are retained: as many as may be open by default.
const MAX_RETAINED: usize = 100;

/// A stream's dependency, as in PRIORITY (RFC 7540, section 6.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StreamDependency {
    /// The stream on which it depends.
    pub(crate) parent: u32,
    /// Whether it becomes the only child of its parent, and the parent's other children become its own.
    pub(crate) exclusive: bool,
    /// 1 to 256.
    pub(crate) weight: u16,
}

impl StreamDependency {
    /// The default dependency (section 5.3.5): on the root, and of a push on its associated stream.
    pub(crate) const fn default_on(on: u32) -> StreamDependency {
        StreamDependency { parent: on, exclusive: false, weight: DEFAULT_WEIGHT }
    }
}

/// The streams that are open, and those that are retained.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: BTreeMap<u32, TreeNode>,
    /// The closed or idle ones, the oldest first.
    retained: VecDeque<u32>,
}

#[derive(Debug)]
struct TreeNode {
    parent: u32,
    children: BTreeSet<u32>,
    weight: u16,
    is_ready: bool,
    /// How many streams of its subtree are ready to send, itself included.
    ready_streams: usize,
    /// The start tag of its subtree's next frame, in the virtual time of its parent (`weight::cost`).
    start_tag: u64,
    /// The virtual time v(t) of its children: the start tag of the one that sent last.
    virtual_time: u64,
}

impl TreeNode {
    fn new(parent: u32, weight: u16) -> TreeNode {
        TreeNode {
            parent,
            children: BTreeSet::new(),
            weight,
            is_ready: false,
            ready_streams: 0,
            start_tag: 0,
            virtual_time: 0,
        }
    }
}

impl Tree {
    /// The root alone.
    pub(super) fn new() -> Tree {
        Tree { nodes: BTreeMap::from([(ROOT, TreeNode::new(ROOT, DEFAULT_WEIGHT))]), retained: VecDeque::new() }
    }

    /// Opens a stream; a dependency that was set before stays.
    pub(super) fn open(&mut self, stream: u32) {
        if self.nodes.contains_key(&stream) {
            self.retained.retain(|retained| *retained != stream);
        } else {
            self.insert(stream);
        }
    }

    /// The stream is closed; it is retained for a while.
    pub(super) fn close(&mut self, stream: u32) {
        self.block(stream);
        if self.nodes.contains_key(&stream) && !self.retained.contains(&stream) {
            self.retain(stream);
        }
    }

    /// Sets the dependency of a stream: an open, a closed or an idle one. An unknown parent means the default
    /// dependency (section 5.3.1).
    pub(super) fn depend(&mut self, stream: u32, dependency: StreamDependency) {
        if stream == ROOT || stream == dependency.parent {
            return;
        }
        if !self.nodes.contains_key(&stream) {
            self.insert(stream);
            self.retain(stream);
        }
        // Retaining this node may have evicted the parent.
        let is_known = self.nodes.contains_key(&dependency.parent);
        let StreamDependency { parent: on, exclusive, weight } =
            if is_known { dependency } else { StreamDependency::default_on(ROOT) };
        // Section 5.3.3: a new parent that is a descendant of the stream is first moved to the stream's old parent.
        if self.depends(on, stream) {
            self.reparent(on, self.nodes[&stream].parent);
        }
        self.reparent(stream, on);
        self.node(stream).weight = weight;
        if exclusive {
            let others: Vec<u32> = self.nodes[&on].children.iter().copied().filter(|other| *other != stream).collect();
            others.into_iter().for_each(|other| self.reparent(other, stream));
        }
    }

    /// The stream has something to send.
    pub(super) fn unblock(&mut self, stream: u32) {
        if let Some(node) = self.nodes.get_mut(&stream).filter(|node| !node.is_ready) {
            node.is_ready = true;
            self.add_ready(stream, 1);
        }
    }

    /// The stream has nothing to send, or no window for it.
    pub(super) fn block(&mut self, stream: u32) {
        if let Some(node) = self.nodes.get_mut(&stream).filter(|node| node.is_ready) {
            node.is_ready = false;
            self.remove_ready(stream, 1);
        }
    }

    /// The stream that sends next.
    pub(super) fn next(&self) -> Option<u32> {
        let mut at = ROOT;
        while !self.nodes[&at].is_ready {
            let active = self.nodes[&at].children.iter().filter(|child| self.nodes[child].ready_streams > 0);
            at = *active.min_by_key(|child| self.nodes[child].start_tag)?;
        }
        Some(at)
    }

    /// The ready streams, by id.
    pub(super) fn streams(&self) -> impl Iterator<Item = u32> {
        self.nodes.iter().filter(|(_, node)| node.is_ready).map(|(stream, _)| *stream)
    }

    /// The stream has sent `len` bytes: they raise its start tag and those of its ancestors.
    pub(super) fn sent(&mut self, stream: u32, len: u64) {
        let mut at = stream;
        while at != ROOT
            && let Some(node) = self.nodes.get_mut(&at)
        {
            let (began, parent) = (node.start_tag, node.parent);
            node.start_tag = node.start_tag.saturating_add(cost(len, node.weight));
            self.node(parent).virtual_time = began;
            at = parent;
        }
    }

    fn node(&mut self, stream: u32) -> &mut TreeNode {
        self.nodes.get_mut(&stream).expect("it is in the tree")
    }

    /// Adds a stream with the default dependency.
    fn insert(&mut self, stream: u32) {
        self.nodes.insert(stream, TreeNode::new(ROOT, DEFAULT_WEIGHT));
        self.node(ROOT).children.insert(stream);
    }

    /// Whether a stream is `above` or a descendant of it.
    fn depends(&self, stream: u32, above: u32) -> bool {
        let mut at = stream;
        while at != ROOT && at != above {
            at = self.nodes[&at].parent;
        }
        at == above
    }

    /// Moves a stream and its subtree to another parent.
    fn reparent(&mut self, stream: u32, parent: u32) {
        let (old, active) = (self.nodes[&stream].parent, self.nodes[&stream].ready_streams);
        if old == parent {
            return;
        }
        self.remove_ready(old, active);
        self.node(old).children.remove(&stream);
        self.node(parent).children.insert(stream);
        let now = self.nodes[&parent].virtual_time;
        let node = self.node(stream);
        (node.parent, node.start_tag) = (parent, now);
        self.add_ready(parent, active);
    }

    /// `count` more streams are ready in the subtrees of this stream and its ancestors.
    fn add_ready(&mut self, stream: u32, count: usize) {
        if count == 0 {
            return;
        }
        let mut at = stream;
        while at != ROOT {
            let parent = self.nodes[&at].parent;
            let now = self.nodes[&parent].virtual_time;
            let node = self.node(at);
            // An idle subtree earns no credit: its start tag is at least v(t).
            if node.ready_streams == 0 {
                node.start_tag = node.start_tag.max(now);
            }
            node.ready_streams += count;
            at = parent;
        }
        self.node(ROOT).ready_streams += count;
    }

    /// `count` fewer streams are ready in the subtrees of this stream and its ancestors.
    fn remove_ready(&mut self, stream: u32, count: usize) {
        let mut at = stream;
        while at != ROOT {
            let node = self.node(at);
            node.ready_streams -= count;
            at = node.parent;
        }
        self.node(ROOT).ready_streams -= count;
    }

    /// Retains a closed or idle stream, and removes the oldest if there are too many.
    fn retain(&mut self, stream: u32) {
        self.retained.push_back(stream);
        if self.retained.len() > MAX_RETAINED
            && let Some(oldest) = self.retained.pop_front()
        {
            self.forget(oldest);
        }
    }

    /// Removes a stream: its children move to its parent and share its weight in proportion (section 5.3.4).
    fn forget(&mut self, stream: u32) {
        let TreeNode { parent, weight, ref children, .. } = self.nodes[&stream];
        let children: Vec<u32> = children.iter().copied().collect();
        let sum: u32 = children.iter().map(|child| u32::from(self.nodes[child].weight)).sum();
        for child in children {
            self.reparent(child, parent);
            let share = u32::from(self.nodes[&child].weight) * u32::from(weight) / sum;
            self.node(child).weight = share.max(1) as u16;
        }
        self.node(parent).children.remove(&stream);
        self.nodes.remove(&stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn on(on: u32, weight: u16) -> StreamDependency {
        StreamDependency { parent: on, exclusive: false, weight }
    }

    const fn exclusively_on(on: u32) -> StreamDependency {
        StreamDependency { parent: on, exclusive: true, weight: 16 }
    }

    /// The tree with its streams' numbers as letters, 1 as A: children stand in brackets.
    fn picture(tree: &Tree) -> String {
        fn draw(tree: &Tree, stream: u32, out: &mut String) {
            let children = &tree.nodes[&stream].children;
            if children.is_empty() {
                return;
            }
            out.push('(');
            for child in children {
                out.push(char::from(b'A' + *child as u8 - 1));
                draw(tree, *child, out);
            }
            out.push(')');
        }
        let mut out = String::new();
        draw(tree, ROOT, &mut out);
        out
    }

    const A: u32 = 1;
    const B: u32 = 2;
    const C: u32 = 3;
    const D: u32 = 4;
    const E: u32 = 5;
    const F: u32 = 6;

    fn tree(dependencies: &[(u32, StreamDependency)]) -> Tree {
        let mut tree = Tree::new();
        for (stream, dependency) in dependencies {
            tree.open(*stream);
            tree.depend(*stream, *dependency);
        }
        tree
    }

    #[test]
    fn a_new_dependency_is_one_more_or_takes_all_the_others_rfc7540_5_3_1() {
        let begun = [(A, on(ROOT, 16)), (B, on(A, 16)), (C, on(A, 16))];
        let mut figure_3 = tree(&begun);
        figure_3.depend(D, on(A, 16));
        assert_eq!(picture(&figure_3), "(A(BCD))");
        let mut figure_4 = tree(&begun);
        figure_4.depend(D, exclusively_on(A));
        assert_eq!(picture(&figure_4), "(A(D(BC)))");
        // An unknown parent: the default dependency.
        let mut unknown = tree(&begun);
        unknown.depend(D, on(99, 7));
        assert_eq!((picture(&unknown), unknown.nodes[&D].weight), ("(A(BC)D)".to_owned(), 16));
    }

    #[test]
    fn a_subtree_moves_with_its_stream_rfc7540_5_3_3() {
        let figure_5 = || {
            tree(&[(A, on(ROOT, 16)), (B, on(A, 16)), (C, on(A, 16)), (D, on(C, 16)), (E, on(C, 16)), (F, on(D, 16))])
        };
        assert_eq!(picture(&figure_5()), "(A(BC(D(F)E)))");
        // A is to depend on D, which depends on it.
        let mut shared = figure_5();
        shared.depend(A, on(D, 16));
        assert_eq!(picture(&shared), "(D(A(BC(E))F))");
        let mut exclusive = figure_5();
        exclusive.depend(A, exclusively_on(D));
        assert_eq!(picture(&exclusive), "(D(A(BC(E)F)))");
    }

    #[test]
    fn what_depends_on_a_forgotten_stream_shares_its_weight_rfc7540_5_3_4() {
        let mut tree = tree(&[(A, on(ROOT, 200)), (B, on(A, 10)), (C, on(A, 30)), (D, on(ROOT, 16))]);
        tree.close(A);
        assert_eq!(picture(&tree), "(A(BC)D)", "it stays for a while");
        tree.forget(A);
        assert_eq!(picture(&tree), "(BCD)");
        assert_eq!([B, C, D].map(|stream| tree.nodes[&stream].weight), [50, 150, 16]);
    }

    #[test]
    fn no_more_streams_are_kept_than_may_be_open() {
        let mut tree = Tree::new();
        (1..=1000).for_each(|stream| tree.depend(stream, on(stream - 1, 16)));
        assert_eq!((tree.nodes.len(), tree.retained.len()), (MAX_RETAINED + 1, MAX_RETAINED));
        // One that is opened after all is kept for that.
        tree.open(950);
        (1001..=2000).for_each(|stream| tree.depend(stream, on(ROOT, 16)));
        assert!(tree.nodes.contains_key(&950) && tree.nodes.len() == MAX_RETAINED + 2);
    }

    /// The streams that send the next frames of 1,000 bytes.
    fn turns(tree: &mut Tree, count: usize) -> Vec<u32> {
        let turn = |_| {
            let stream = tree.next().unwrap();
            tree.sent(stream, 1000);
            stream
        };
        (0..count).map(turn).collect()
    }

    #[test]
    fn a_stream_goes_before_those_that_depend_on_it_and_they_when_it_cannot_rfc7540_5_3_1() {
        let mut tree = tree(&[(A, on(ROOT, 16)), (B, on(A, 16))]);
        [A, B].into_iter().for_each(|stream| tree.unblock(stream));
        assert_eq!(turns(&mut tree, 3), [A, A, A]);
        tree.block(A);
        assert_eq!(turns(&mut tree, 2), [B, B]);
        tree.unblock(A);
        assert_eq!(turns(&mut tree, 1), [A]);
        [A, B].into_iter().for_each(|stream| tree.close(stream));
        assert_eq!(tree.next(), None);
    }

    #[test]
    fn siblings_share_by_their_weights_and_a_subtree_by_that_of_its_stream_rfc7540_5_3_2() {
        // The RFC's example: weights 4 and 12 make a third; C and D share what A has.
        let mut tree = tree(&[(A, on(ROOT, 12)), (B, on(ROOT, 4)), (C, on(A, 1)), (D, on(A, 2))]);
        [B, C, D].into_iter().for_each(|stream| tree.unblock(stream));
        let sent = turns(&mut tree, 160);
        let count = |stream| sent.iter().filter(|sent| **sent == stream).count();
        assert_eq!([B, C, D].map(count), [40, 40, 80]);
    }

    proptest! {
        #[test]
        fn whatever_a_client_says_it_stays_a_tree_and_nobody_is_left_out(
            steps in prop::collection::vec((0_u8..6, 1_u32..40, 0_u32..40, any::<bool>(), 1_u16..257), 0..300),
        ) {
            let mut tree = Tree::new();
            let mut ready = BTreeSet::new();
            let mut open = BTreeSet::new();
            for (step, stream, other, exclusive, weight) in steps {
                match step {
                    0 | 1 => tree.depend(stream, StreamDependency { parent: other, exclusive, weight }),
                    2 => {
                        tree.open(stream);
                        open.insert(stream);
                    }
                    3 if open.contains(&stream) => {
                        tree.unblock(stream);
                        ready.insert(stream);
                    }
                    4 => {
                        tree.block(stream);
                        ready.remove(&stream);
                    }
                    _ => {
                        tree.close(stream);
                        open.remove(&stream);
                        ready.remove(&stream);
                    }
                }
                let mut reached = Vec::from([ROOT]);
                let mut at = 0;
                while at < reached.len() {
                    let node = &tree.nodes[&reached[at]];
                    prop_assert!(node.children.iter().all(|child| tree.nodes[child].parent == reached[at]));
                    let below: usize = node.children.iter().map(|child| tree.nodes[child].ready_streams).sum();
                    prop_assert_eq!(node.ready_streams, below + usize::from(node.is_ready));
                    reached.extend(node.children.iter().copied());
                    at += 1;
                }
                prop_assert_eq!(reached.len(), tree.nodes.len(), "each hangs on the root, once");
                prop_assert!(tree.nodes.len() <= open.len() + MAX_RETAINED + 1);
            }
            // Each that is ready has its turn, if the others rest.
            while let Some(next) = tree.next() {
                prop_assert!(ready.remove(&next));
                tree.sent(next, 1000);
                tree.block(next);
            }
            prop_assert!(ready.is_empty());
        }
    }
}
