//! A page's dependencies, turned around.

use crate::page::{ActivityId, Needed, Page, Task, Thread, Trigger};
use std::time::Duration;

/// A page's dependencies turned around: for each activity, those that wait for it. Made once for all runs
/// of a page.
#[derive(Debug)]
pub struct Graph {
    pub(super) nodes: Vec<GraphNode>,
    /// How many activities that compute a load waits for in any case.
    pub(super) computed: u32,
    /// Whether what a load waits for depends on what it finds, or on computing.
    pub(super) ends_by_event: bool,
    /// How long what arrives takes to the main thread.
    pub(super) arrival: Duration,
    /// By what share all computing together varies, where the page says so.
    pub(super) varies: Option<f64>,
}

#[derive(Debug, Default)]
pub(super) struct GraphNode {
    pub(super) factor: OwnFactor,
    /// How many dependencies have to come true.
    pub(super) needs: u32,
    /// How long it takes and on what, if it is a compute node.
    pub(super) computing: Option<(Duration, Thread)>,
    pub(super) needed: Needed,
    pub(super) on_start: Vec<GraphEdge>,
    /// Ascending by the number of bytes.
    pub(super) on_bytes: Vec<(u64, GraphEdge)>,
    pub(super) on_end: Vec<GraphEdge>,
}

/// Which factor a time has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnFactor {
    /// By which factors know it.
    pub(super) key: u64,
    /// Its range, if that is not the usual one.
    pub(super) share: Option<f64>,
}

/// The key of the factor that all computing has, besides each its own.
pub(super) const COMMON: u64 = 0;

/// The activity that waits, and how long after the moment it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct GraphEdge {
    pub(super) to: ActivityId,
    pub(super) delay: Duration,
    /// What the delay is multiplied by.
    pub(super) factor: OwnFactor,
    pub(super) timer: Duration,
}

impl Graph {
    /// The graph of `page`.
    pub fn new(page: &Page) -> Graph {
        let mut nodes: Vec<GraphNode> = Vec::new();
        nodes.resize_with(page.activities.len(), GraphNode::default);
        for (at, activity) in page.activities.iter().enumerate() {
            nodes[at].factor = OwnFactor { key: activity.key, share: activity.varies };
            let needs = activity.needs.len() as u32;
            nodes[at].needs = if activity.any_need { needs.min(1) } else { needs };
            nodes[at].needed = activity.needed;
            if let Task::Compute(span, thread) = activity.task {
                nodes[at].computing = Some((span, thread));
            }
            for need in &activity.needs {
                let before = &page.activities[need.on.0 as usize];
                let factor = match (need.trigger, &before.task) {
                    // What happens within a node comes earlier or later as the node takes less or more, in its order.
                    (Trigger::Start, Task::Compute(..)) => OwnFactor { key: before.key, share: before.varies },
                    _ => OwnFactor { key: activity.key, share: None },
                };
                let edge = GraphEdge { to: ActivityId(at as u32), delay: need.delay, factor, timer: need.timer };
                let node = &mut nodes[need.on.0 as usize];
                match need.trigger {
                    Trigger::Start => node.on_start.push(edge),
                    Trigger::Bytes(bytes) => node.on_bytes.push((bytes, edge)),
                    Trigger::End => node.on_end.push(edge),
                }
            }
        }
        for node in &mut nodes {
            node.on_bytes.sort_by_key(|(bytes, _)| *bytes);
        }
        let is_computed = |node: &&GraphNode| node.computing.is_some() && node.needed == Needed::Always;
        let computed = nodes.iter().filter(is_computed).count() as u32;
        let depends = nodes.iter().any(|node| matches!(node.needed, Needed::WhenFound | Needed::WhenArriving));
        Graph { ends_by_event: depends || computed > 0, computed, arrival: page.arrival, varies: page.varies, nodes }
    }
}
