//! What a relay has at the moment, for those who watch it.

use super::Relay;
use super::pool::ServerPool;
use crate::page::HostId;
use loadstone_http::Protocol;
use std::collections::BTreeMap;

/// What a relay has at the moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RelayGauges {
    /// How many connections with clients, by what they speak.
    pub clients: BTreeMap<Protocol, u64>,
    /// What leads to each server that has been asked for something.
    pub servers: BTreeMap<HostId, PoolGauges>,
    /// The cache, if there is one.
    pub cache: Option<CacheGauges>,
}

/// What leads to a server at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolGauges {
    /// Connections that are open.
    pub open: u64,
    /// Those of them that carry nothing.
    pub idle: u64,
    /// Connections that are being opened.
    pub opening: u64,
    /// Requests for which there is no room.
    pub waiting: u64,
    /// Whether the server is not left out.
    pub is_healthy: bool,
}

/// What a cache has at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CacheGauges {
    /// Bytes that it holds, with what is being received and sent.
    pub bytes: u64,
    /// How many responses it has, with notes of what may not be stored.
    pub entries: u64,
    /// How many it has forgotten since it began, to make room.
    pub evictions: u64,
    /// What it keeps on a disk, if it has one.
    pub disk: Option<DiskGauges>,
}

/// What a cache keeps on a disk at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DiskGauges {
    /// Bytes of its files, in whole blocks.
    pub bytes: u64,
    /// How many files.
    pub files: u64,
    /// How many it has removed since it began, to make room.
    pub evictions: u64,
    /// How many could not be written or read since then.
    pub failures: u64,
}

impl Relay {
    /// What it has at the moment.
    pub fn gauges(&self) -> RelayGauges {
        let mut clients = BTreeMap::new();
        for protocol in self.links.values().filter_map(|link| link.protocol_in_front()) {
            *clients.entry(protocol).or_default() += 1;
        }
        let mut idle: BTreeMap<HostId, u64> = BTreeMap::new();
        for link in self.links.values().filter(|link| link.is_unused() && !link.is_closed) {
            link.server().into_iter().for_each(|server| *idle.entry(server).or_default() += 1);
        }
        let gauges = |(server, pool): (&HostId, &ServerPool)| {
            (*server, pool.gauges(idle.get(server).copied().unwrap_or_default()))
        };
        let servers = self.pools.iter().map(gauges).collect();
        RelayGauges { clients, servers, cache: self.cache.as_ref().map(|cache| cache.gauges()) }
    }
}
