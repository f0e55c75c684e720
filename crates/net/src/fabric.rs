//! The topology: hosts and junctions as the nodes of a tree, links and delays as its edges.

use crate::Network;
use loadstone_units::{Factors, Seed};
use std::time::Duration;

/// A node of a fabric: a host, or a junction where links meet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NodeId(pub u32);

/// One direction of a link, by its index in the fabric: the first link towards its first end, then towards its
/// second end, the next link, and so on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LinkId(pub u32);

impl LinkId {
    /// The index of the link among all links.
    pub fn link(self) -> usize {
        self.0 as usize / 2
    }

    /// The other direction of the same link.
    #[must_use]
    pub fn reversed(self) -> LinkId {
        LinkId(self.0 ^ 1)
    }

    /// Whether packets go towards the link's first end here.
    pub fn is_down(self) -> bool {
        self.0.is_multiple_of(2)
    }
}

/// The links at both ends of a route, in the direction of the route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteEnds {
    /// The first link.
    pub first: LinkId,
    /// How long a packet takes from its sender to that.
    pub before_first: Duration,
    /// The last link.
    pub last: LinkId,
}

/// A way from one node to another: where its hops begin in the fabric's list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route(pub(crate) u32);

/// The next thing that a packet meets on its route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hop {
    /// A direction of a link.
    Link(LinkId),
    /// A delay in nanoseconds.
    Delay(u64),
    /// The host that it goes to.
    Host,
}

/// Nodes, what joins them, and the routes that packets take. Its nodes form a tree, so there is one way between
/// any two.
#[derive(Clone, Debug, Default)]
pub struct Fabric {
    /// For each node its edges.
    nodes: Vec<Vec<usize>>,
    edges: Vec<FabricEdge>,
    links: Vec<NamedLink>,
    /// The hops of all routes, one route after the other; each ends with [`Hop::Host`].
    hops: Vec<Hop>,
    /// For each hop the edge that it is, if it is one.
    edges_of_hops: Vec<Option<usize>>,
    /// For each hop the minimum time from there on, in nanoseconds: delays and propagation.
    rests: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct FabricEdge {
    ends: [NodeId; 2],
    by: By,
}

#[derive(Clone, Copy, Debug)]
enum By {
    /// The link with this index.
    Link(u32),
    /// Nanoseconds in each direction.
    Delay(u64),
}

/// A link between two nodes.
#[derive(Clone, Debug)]
pub struct NamedLink {
    /// Its name, which its random streams and its packets in a log have; empty for the only one of a star.
    pub name: String,
    /// What it does to packets: down is towards its first end.
    pub network: Network,
}

/// Two nodes that are joined already, by others or directly: a second way between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the two ends are joined already: leave one of the links out")]
pub struct Cycle;

impl Fabric {
    /// No nodes.
    pub fn new() -> Fabric {
        Fabric::default()
    }

    /// Another node, which nothing joins to the others yet.
    pub fn add_node(&mut self) -> NodeId {
        self.nodes.push(Vec::new());
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Joins two nodes by a link.
    ///
    /// # Errors
    /// If there is a way between them already.
    pub fn add_link(&mut self, ends: [NodeId; 2], link: NamedLink) -> Result<(), Cycle> {
        self.join(ends, By::Link(self.links.len() as u32))?;
        self.links.push(link);
        Ok(())
    }

    /// Joins two nodes by a delay in each direction, without rate and queue.
    ///
    /// # Errors
    /// If there is a way between them already.
    pub fn add_delay(&mut self, ends: [NodeId; 2], delay: Duration) -> Result<(), Cycle> {
        self.join(ends, By::Delay(delay.as_nanos() as u64))
    }

    fn join(&mut self, ends: [NodeId; 2], by: By) -> Result<(), Cycle> {
        if ends[0] == ends[1] || self.edges_between(ends[0], ends[1]).is_some() {
            return Err(Cycle);
        }
        for end in ends {
            self.nodes[end.0 as usize].push(self.edges.len());
        }
        self.edges.push(FabricEdge { ends, by });
        Ok(())
    }

    /// The way from one node to another; `None` if nothing joins them. Each call makes another route.
    pub fn add_route(&mut self, from: NodeId, to: NodeId) -> Option<Route> {
        let way = self.edges_between(from, to)?;
        let route = Route(self.hops.len() as u32);
        for (edge, towards) in way {
            if let Some(hop) = self.hop(edge, towards) {
                self.hops.push(hop);
                self.edges_of_hops.push(Some(edge));
            }
        }
        if self.hops.len() == route.0 as usize {
            // A packet is never there at the moment at which it is sent.
            self.hops.push(Hop::Delay(0));
            self.edges_of_hops.push(None);
        }
        self.hops.push(Hop::Host);
        self.edges_of_hops.push(None);
        self.rests.resize(self.hops.len(), 0);
        self.sum_rests(route.0 as usize);
        Some(route)
    }

    /// Sums what is left of each route from this hop on.
    fn sum_rests(&mut self, from: usize) {
        let mut rest = 0;
        for at in (from..self.hops.len()).rev() {
            // A route ends with its host.
            rest = if self.hops[at] == Hop::Host { 0 } else { rest + self.min_hop_delay(self.hops[at]) };
            self.rests[at] = rest;
        }
    }

    /// The same with each rate and each delay up to `share` more or less, and traces begun anywhere, as `seed` has it.
    #[must_use]
    pub fn varied(&self, share: f64, seed: Seed) -> Fabric {
        let (rates, delays) = (Factors::new(seed, "spread.rate", share), Factors::new(seed, "spread.delay", share));
        let start = seed.stream("spread.trace").next_f64();
        let mut varied = self.clone();
        for (key, edge) in (0..).zip(&mut varied.edges) {
            match &mut edge.by {
                By::Delay(nanos) => *nanos = (*nanos as f64 * delays.of(key)) as u64,
                By::Link(index) => {
                    let link = &mut varied.links[*index as usize].network;
                    let of_rates = [0, 1].map(|direction| rates.of(2 * u64::from(*index) + direction));
                    *link = link.clone().varied(of_rates, delays.of(key), start);
                }
            }
        }
        for (hop, edge) in varied.hops.iter_mut().zip(&varied.edges_of_hops) {
            if let (Hop::Delay(nanos), Some(edge)) = (hop, edge)
                && let By::Delay(of_edge) = varied.edges[*edge].by
            {
                *nanos = of_edge;
            }
        }
        varied.sum_rests(0);
        varied
    }

    /// All links, in the order in which they were added.
    pub fn links(&self) -> &[NamedLink] {
        &self.links
    }

    /// The first link that a route goes through, and in which direction.
    pub fn first_link(&self, route: Route) -> Option<LinkId> {
        self.route_ends(route).map(|ends| ends.first)
    }

    /// The links at both ends of a route; `None` if it goes through no link.
    pub fn route_ends(&self, route: Route) -> Option<RouteEnds> {
        let hops = self.hops[route.0 as usize..].iter().take_while(|hop| **hop != Hop::Host);
        let mut links = hops.filter_map(|hop| if let Hop::Link(link) = hop { Some(*link) } else { None });
        let first = links.next()?;
        let before_first = Duration::from_nanos(self.delay_at(route.0));
        Some(RouteEnds { first, before_first, last: links.last().unwrap_or(first) })
    }

    /// The minimum time on a route: delays and propagation.
    pub fn min_delay(&self, route: Route) -> Duration {
        Duration::from_nanos(self.rests[route.0 as usize])
    }

    #[inline]
    pub(crate) fn hop_at(&self, at: u32) -> Hop {
        self.hops[at as usize]
    }

    /// The minimum time from a hop on, in nanoseconds.
    pub(crate) fn min_delay_from(&self, at: u32) -> u64 {
        self.rests[at as usize]
    }

    /// The minimum time from a hop to the next link or to the host, in nanoseconds.
    pub(crate) fn delay_at(&self, at: u32) -> u64 {
        let hops = self.hops[at as usize..].iter();
        hops.map_while(|hop| if let Hop::Delay(nanos) = hop { Some(*nanos) } else { None }).sum()
    }

    /// The minimum time at a hop, in nanoseconds.
    fn min_hop_delay(&self, hop: Hop) -> u64 {
        match hop {
            Hop::Link(id) => self.links[id.link()].network.propagation().as_nanos() as u64,
            Hop::Delay(nanos) => nanos,
            Hop::Host => 0,
        }
    }

    /// What an edge is to a packet that goes to the end `towards`; nothing if it takes no time.
    fn hop(&self, edge: usize, towards: NodeId) -> Option<Hop> {
        let FabricEdge { ends, by } = self.edges[edge];
        match by {
            By::Link(index) => Some(Hop::Link(LinkId(2 * index + u32::from(ends[0] != towards)))),
            By::Delay(0) => None,
            By::Delay(nanos) => Some(Hop::Delay(nanos)),
        }
    }

    /// The edges from one node to another, each with the end that it is passed towards.
    fn edges_between(&self, from: NodeId, to: NodeId) -> Option<Vec<(usize, NodeId)>> {
        // For each node that was reached: from which one, by which edge.
        let mut before: Vec<Option<(NodeId, usize)>> = vec![None; self.nodes.len()];
        let mut reached = vec![from];
        while let Some(node) = reached.pop() {
            if node == to {
                return Some(walk(&before, from, to));
            }
            for at in self.nodes[node.0 as usize].iter().copied() {
                let [one, other] = self.edges[at].ends;
                let next = if one == node { other } else { one };
                if next != from && before[next.0 as usize].is_none() {
                    before[next.0 as usize] = Some((node, at));
                    reached.push(next);
                }
            }
        }
        None
    }
}

/// The way to `to`, by what comes before each node on the way from `from`.
fn walk(before: &[Option<(NodeId, usize)>], from: NodeId, to: NodeId) -> Vec<(usize, NodeId)> {
    let (mut way, mut node) = (Vec::new(), to);
    while node != from {
        let (last, edge) = before[node.0 as usize].expect("it was reached from another");
        way.push((edge, node));
        node = last;
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(name: &str, network: &str) -> NamedLink {
        NamedLink { name: name.to_owned(), network: network.parse().unwrap() }
    }

    fn hops(fabric: &Fabric, route: Route) -> Vec<Hop> {
        let from = &fabric.hops[route.0 as usize..];
        from.iter().copied().take_while(|hop| *hop != Hop::Host).collect()
    }

    #[test]
    fn a_route_meets_the_links_and_delays_between_its_ends_in_their_order() {
        let mut fabric = Fabric::new();
        let [client, edge, hub, near, far] = [(); 5].map(|()| fabric.add_node());
        fabric.add_link([client, edge], link("access", "10/1mbit,100ms")).unwrap();
        fabric.add_link([edge, hub], link("backhaul", "1gbit,20ms")).unwrap();
        fabric.add_delay([hub, near], Duration::ZERO).unwrap();
        fabric.add_delay([hub, far], Duration::from_millis(7)).unwrap();
        let up = fabric.add_route(client, far).unwrap();
        assert_eq!(hops(&fabric, up), [Hop::Link(LinkId(1)), Hop::Link(LinkId(3)), Hop::Delay(7_000_000)]);
        assert_eq!(fabric.min_delay(up), Duration::from_millis(50 + 10 + 7));
        let down = fabric.add_route(near, client).unwrap();
        assert_eq!(hops(&fabric, down), [Hop::Link(LinkId(2)), Hop::Link(LinkId(0))]);
        assert_eq!((fabric.first_link(up), fabric.first_link(down)), (Some(LinkId(1)), Some(LinkId(2))));
        assert!(LinkId(2).is_down() && !LinkId(3).is_down() && LinkId(3).link() == 1);
        let ends = |first, before, last| {
            Some(RouteEnds { first: LinkId(first), before_first: Duration::from_millis(before), last: LinkId(last) })
        };
        assert_eq!((fabric.route_ends(up), fabric.route_ends(down)), (ends(1, 0, 3), ends(2, 0, 0)));
        let from_far = fabric.add_route(far, client).unwrap();
        assert_eq!(fabric.route_ends(from_far), ends(2, 7, 0));
        let direct = fabric.add_route(near, far).unwrap();
        assert_eq!((hops(&fabric, direct), fabric.first_link(direct)), (vec![Hop::Delay(7_000_000)], None));
    }

    #[test]
    fn a_varied_fabric_has_the_same_routes_with_other_times() {
        let mut fabric = Fabric::new();
        let [client, hub, near, far] = [(); 4].map(|()| fabric.add_node());
        fabric.add_link([client, hub], link("", "10/1mbit,100ms")).unwrap();
        fabric.add_delay([hub, near], Duration::from_millis(10)).unwrap();
        fabric.add_delay([hub, far], Duration::from_millis(40)).unwrap();
        let [up, down, across] =
            [(client, far), (far, client), (near, far)].map(|(from, to)| fabric.add_route(from, to).unwrap());
        let varied = fabric.varied(0.1, Seed(3));
        let shares = [up, down, across]
            .map(|route| varied.min_delay(route).as_secs_f64() / fabric.min_delay(route).as_secs_f64());
        assert!(shares.iter().all(|share| (0.9..1.1).contains(share) && *share != 1.0), "{shares:?}");
        assert_eq!(varied.min_delay(up), varied.min_delay(down), "there and back are one link");
        assert_ne!(shares[0], shares[2], "each link and delay by itself");
        let rates = |fabric: &Fabric| {
            let network = &fabric.links()[0].network;
            [network.down().rate, network.up().rate].map(|rate| rate.bits_per_second() as f64)
        };
        let [stated, other] = [rates(&fabric), rates(&varied)];
        let [of_down, of_up] = [other[0] / stated[0], other[1] / stated[1]];
        assert!((0.9..1.1).contains(&of_down) && (0.9..1.1).contains(&of_up) && of_down != of_up);
        assert_eq!(varied.min_delay(up), fabric.varied(0.1, Seed(3)).min_delay(up));
        assert_ne!(varied.min_delay(up), fabric.varied(0.1, Seed(4)).min_delay(up));
    }

    #[test]
    fn what_nothing_joins_has_no_route_and_what_is_joined_is_not_joined_again() {
        let mut fabric = Fabric::new();
        let [one, other, third] = [(); 3].map(|()| fabric.add_node());
        fabric.add_delay([one, other], Duration::ZERO).unwrap();
        assert!(fabric.add_route(one, third).is_none());
        assert_eq!(fabric.add_link([other, one], link("", "dsl")), Err(Cycle));
        assert_eq!(fabric.add_delay([third, third], Duration::ZERO), Err(Cycle));
        let nowhere = fabric.add_route(one, other).unwrap();
        assert_eq!(hops(&fabric, nowhere), [Hop::Delay(0)], "a packet takes a turn at least");
    }
}
