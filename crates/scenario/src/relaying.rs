//! How a relay of a topology relays.

use crate::topology::TopologyHost;
use loadstone_load::{Pipelined, PoolGrowth, ServerProtocol};
use loadstone_units::Bounded;
use std::time::Duration;

/// How a relay relays.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Relaying {
    /// How many bytes it remembers of responses, if it does.
    pub cache: Option<u64>,
    /// How many percent of what it is asked for it stores, if fields of responses do not say that.
    pub hit_rate: Option<Bounded<0, 100>>,
    /// What it speaks to servers.
    pub server_protocol: ServerProtocol,
    /// The most connections that it has to a server.
    pub server_connections: usize,
    /// When it opens one more.
    pub server_growth: PoolGrowth,
    /// How many percent of those that others leave one client may have; all if it is left out.
    pub client_share: Option<Bounded<1, 100>>,
    /// How long its processor is busy with a request.
    pub request_time: Duration,
    /// What becomes of pipelined requests.
    pub pipelined: Pipelined,
}

impl Relaying {
    /// What a topology says of a host.
    pub(crate) fn of(host: &TopologyHost) -> Relaying {
        Relaying {
            cache: host.cache.map(|bytes| bytes.get().into()),
            hit_rate: host.hit_rate,
            server_protocol: host.server_protocol.unwrap_or_default(),
            server_connections: host.server_connections.map_or(usize::MAX, |most| most.get() as usize),
            server_growth: host.server_growth.unwrap_or_default(),
            client_share: host.client_share,
            pipelined: host.pipelined,
            request_time: Duration::from_micros(host.request_us.map_or(0, |span| span.get().into())),
        }
    }
}
