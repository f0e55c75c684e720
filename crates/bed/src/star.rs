//! The usual layout of a bed: a client behind an access link, and servers beyond it.

use loadstone_net::{Fabric, NamedLink, Network, NodeId};
use std::sync::Arc;
use std::time::Duration;

/// A star, and the places of its hosts: the client's first, behind an access link, then that of each server, with
/// an extra round trip of its own beyond the link.
pub fn star(network: &Network, extra_rtts: &[Duration]) -> (Arc<Fabric>, Vec<NodeId>) {
    let mut fabric = Fabric::new();
    let (client, hub) = (fabric.add_node(), fabric.add_node());
    let access = NamedLink { name: String::new(), network: network.clone() };
    let mut joined = fabric.add_link([client, hub], access);
    let mut nodes = vec![client];
    for rtt in extra_rtts {
        let server = fabric.add_node();
        joined = joined.and_then(|()| fabric.add_delay([hub, server], *rtt / 2));
        nodes.push(server);
    }
    joined.expect("each node is joined to one that was there before");
    (Arc::new(fabric), nodes)
}
