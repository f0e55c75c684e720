//! How far the servers were, and how long they thought: what was waited for a response, less the
//! way there and back.

use super::fetched::{HarFetch, MAX_MS};
use super::spoken::{self, RecordedProtocol};
use super::url;
use crate::page::build::MAX_THINK_MS;
use std::collections::BTreeMap;

/// Less is no round trip to a server, but what the browser needs to take a connection that it has, in ms.
const SHORTEST_MS: f64 = 1.0;

/// What is known of the way to the servers and their speed.
pub(super) struct Waits {
    hosts: BTreeMap<String, Least>,
    connect: Option<f64>,
}

#[derive(Clone, Copy, Default)]
struct Least {
    connect: Option<f64>,
    wait: Option<f64>,
}

impl Waits {
    /// The smallest times of each host.
    pub(super) fn of(entries: &[HarFetch<'_>]) -> Waits {
        let mut hosts: BTreeMap<String, Least> = BTreeMap::new();
        for fetched in entries.iter().filter(|fetched| fetched.skip.is_none()) {
            let min = hosts.entry(host(fetched)).or_default();
            min.connect = smaller(min.connect, connect(fetched));
            min.wait = smaller(min.wait, wait(fetched));
        }
        let connect = hosts.values().fold(None, |min, host| smaller(min, host.connect));
        Waits { hosts, connect }
    }

    /// The shortest handshake with each host that has one, in ms.
    pub(super) fn handshakes_ms(&self) -> BTreeMap<String, f64> {
        self.hosts.iter().filter_map(|(host, least)| Some((host.clone(), least.connect?))).collect()
    }

    /// How long the server thought about a response, in ms: the wait less a round trip.
    pub(super) fn think(&self, fetched: &HarFetch<'_>) -> f64 {
        let min = self.hosts.get(&host(fetched)).copied().unwrap_or_default();
        let round_trip = min.connect.or(self.connect).or(min.wait).unwrap_or(0.0);
        (wait(fetched).unwrap_or(0.0) - round_trip).clamp(0.0, MAX_THINK_MS)
    }
}

fn host(fetched: &HarFetch<'_>) -> String {
    url::parts(&fetched.url).0
}

fn wait(fetched: &HarFetch<'_>) -> Option<f64> {
    fetched.timings.wait.number().filter(|wait| *wait >= 0.0)
}

/// The TCP handshake alone: `ssl` lies inside `connect`. Where both are equal the exporter did not
/// see the former. QUIC has none: its handshake is TLS's too, and what is left of it is nothing.
fn connect(fetched: &HarFetch<'_>) -> Option<f64> {
    if spoken::protocol(fetched) == Some(RecordedProtocol::H3) {
        return None;
    }
    let tls = fetched.timings.ssl.positive().unwrap_or(0.0);
    fetched.timings.connect.positive().map(|connect| connect - tls).filter(|tcp| (SHORTEST_MS..=MAX_MS).contains(tcp))
}

fn smaller(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
