//! Replays a plan's page against servers that are there already: the browser of the simulator on this machine's own
//! network, without links and servers of ours.

use loadstone_http::{Protocol, Scheme};
use loadstone_live::{
    ClientTls, Clock, Destinations, Failure, Limits, Loaded, NOTSENT_LOWAT, PathNotes, PathRecord, Probes,
    SocketRecord, Stop, Target, Tls, Trust, Unprobed, busiest_of_paths, find, first_reachable, join, load, probe,
};
use loadstone_load::page::Page;
use loadstone_load::{ConnectionRecord, Placement, PlacementError, ServerAddress, critical_path};
use loadstone_net::{BUSIEST_MOMENT, Busiest};
use loadstone_scenario::{ConnectionOutcome, Outcome, Plan};
use loadstone_units::{Seed, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// How long a connection may take until it can be used, a probe until it is answered.
const PATIENCE: Duration = Duration::from_secs(10);

/// How servers are reached.
#[derive(Clone, Debug)]
pub struct ReplaySettings {
    /// Which certificates are believed.
    pub trust: Trust,
    /// The only version of TLS; any, if it is left out.
    pub tls: Option<Tls>,
    /// How long a load may take.
    pub timeout: Duration,
}

/// The server of a page's host, and where it was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlacedServer {
    /// The host.
    pub host: String,
    /// Its server.
    pub server: ServerAddress,
    /// Where that is.
    pub address: SocketAddr,
}

/// Why servers cannot be loaded from.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It is not known where they are.
    #[error("--origin: {0}")]
    Placement(#[from] PlacementError),
    /// A name that nobody knows.
    #[error("{0} has no address: see to the name, or give its server with --origin NAME=URL")]
    UnknownName(String),
    /// Names take too long.
    #[error("the look-up of names has taken {} s: see to the name server, or give --origin NAME=URL with an address", .0.as_secs_f64())]
    SlowNames(Duration),
    /// A server cannot be reached.
    #[error("{host} at {address}: {why}")]
    Unreachable {
        /// Whose server.
        host: String,
        /// Where it was tried.
        address: SocketAddr,
        /// Why not.
        why: Unprobed,
    },
    /// A program cannot be hosted.
    #[error(transparent)]
    Live(#[from] loadstone_live::Error),
    /// It was told to stop before the load was over.
    #[error("the load was stopped before it was over: run it again")]
    Stopped,
}

/// Replays a page against its servers.
#[derive(Debug)]
pub struct Replayer {
    clock: Clock,
    servers: Vec<PlacedServer>,
    /// The place of the host that the page begins with.
    root: usize,
    settings: ReplaySettings,
}

/// What a load gave.
#[derive(Clone, PartialEq, Debug)]
pub struct Replay {
    /// As of any load. Packets are those that TCP has counted, without those of look-ups.
    pub outcome: Outcome,
    /// The browser's ends of its connections, in the order of opening.
    pub connections: Vec<SocketRecord>,
    /// The busiest moment; none if too little came.
    pub busiest: Option<Busiest>,
    /// What came of the page's requests.
    pub answers: Answers,
    /// Why the load was not completed, or what else went wrong: each with the host and its address.
    pub failures: Vec<String>,
}

/// What came of a page's requests.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Answers {
    /// How many were answered as in the page.
    pub alike: usize,
    /// Those that were answered otherwise.
    pub unlike: Vec<Unlike>,
    /// URLs that were asked for and not answered in full.
    pub unanswered: Vec<String>,
}

/// An answer with another status, or with another length of its body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unlike {
    /// What was asked for.
    pub url: String,
    /// The page's status and bytes.
    pub recorded: (u16, u64),
    /// The server's.
    pub answered: (u16, u64),
}

impl Replayer {
    /// Finds the servers of the first browser's page.
    ///
    /// # Errors
    /// If it is not known where one is.
    pub fn new(
        plan: &Plan,
        placement: &Placement,
        settings: ReplaySettings,
        stop: &Stop,
    ) -> Result<Replayer, ReplayError> {
        let (clock, page) = (Clock::start(), plan.page());
        let servers = placement.servers(&page.hosts)?;
        let different: Vec<ServerAddress> = servers.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
        let found = find(&clock, &different, &[], PATIENCE, stop)?;
        let found =
            found.ok_or(if stop.is_stopped() { ReplayError::Stopped } else { ReplayError::SlowNames(PATIENCE) })?;
        let mut addresses = BTreeMap::new();
        for (server, found) in different.into_iter().zip(found) {
            let last = *found.last().ok_or_else(|| ReplayError::UnknownName(server.host.clone()))?;
            let unreachable = |why| ReplayError::Unreachable { host: server.host.clone(), address: last, why };
            let address = first_reachable(&found, PATIENCE, stop).map_err(unreachable)?;
            addresses.insert(server, address);
        }
        let placed = page.hosts.iter().zip(servers);
        let placed =
            placed.map(|(host, server)| PlacedServer { host: host.name.clone(), address: addresses[&server], server });
        let root = page.fetches().next().map_or(0, |(_, fetch)| fetch.host.0 as usize);
        Ok(Replayer { clock, servers: placed.collect(), root, settings })
    }

    /// The server of each host of the page, in its order.
    pub fn servers(&self) -> &[PlacedServer] {
        &self.servers
    }

    /// Measures the path to the server with which the page begins, by so many handshakes of TCP.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub fn probe(&self, count: u32, stop: &Stop) -> Result<Probes, ReplayError> {
        let PlacedServer { host, address, .. } = &self.servers[self.root];
        let unreachable = |why| ReplayError::Unreachable { host: host.clone(), address: *address, why };
        probe(*address, count, PATIENCE.min(self.settings.timeout), stop).map_err(unreachable)
    }

    /// Loads the page once.
    ///
    /// # Errors
    /// If there is no trust, or it is told to stop.
    pub fn load(&self, plan: &Plan, seed: Seed, stop: &Stop) -> Result<Replay, ReplayError> {
        let destinations = self.destinations(plan)?;
        let places: Vec<SocketAddr> = self.servers.iter().map(|server| server.address).collect();
        let browser = plan.browser(0, seed).with_places(&places);
        let loaded = load(&self.clock, browser, &destinations, stop, || {})?;
        if loaded.end.is_none() && stop.is_stopped() {
            return Err(ReplayError::Stopped);
        }
        let connections = loaded.connections.clone();
        let paths: Vec<&PathRecord> = connections.iter().filter_map(|end| end.path.as_deref()).collect();
        let busiest = busiest_of_paths(paths.iter().copied(), BUSIEST_MOMENT.0, BUSIEST_MOMENT.1);
        let is_late = loaded.end.is_none();
        let outcome = self.outcome(plan.page(), seed, loaded);
        let answers = answers(plan.page(), &outcome);
        let failures = self.failures(plan.page(), &connections, &outcome, is_late);
        Ok(Replay { outcome, connections, busiest, answers, failures })
    }

    fn destinations(&self, plan: &Plan) -> Result<Destinations, ReplayError> {
        let mut configs = BTreeMap::new();
        let mut targets = Vec::new();
        for (PlacedServer { host, server, address }, way) in self.servers.iter().zip(&plan.hosts()[0].ways) {
            let tls = match server.scheme {
                Scheme::Http => None,
                Scheme::Https => {
                    let config = match configs.get(way.protocol.name()) {
                        Some(config) => config,
                        None => {
                            let config = self.settings.trust.config(self.settings.tls, &[way.protocol])?;
                            configs.entry(way.protocol.name()).or_insert(config)
                        }
                    };
                    Some(ClientTls::named(config.clone(), name_of(host))?)
                }
            };
            targets.push(Target { address: *address, tls, protocol: way.protocol });
        }
        let limits = Limits { handshake_timeout: PATIENCE, ..Limits::UNLIMITED };
        let (timeout, path_notes) = (self.settings.timeout, PathNotes::Kept);
        // Their addresses are known before a load begins, so none is asked for.
        Ok(Destinations { targets, names: None, notsent_lowat: NOTSENT_LOWAT, timeout, limits, path_notes })
    }

    fn outcome(&self, page: &Page, seed: Seed, loaded: Loaded) -> Outcome {
        let completed = loaded.end.is_some_and(|end| end.completed);
        let ended = loaded.end.map_or(loaded.over, |end| end.at);
        let (began, ends) = (loaded.began, loaded.connections.clone());
        let origin = ends.iter().map(|end| end.opened).min().unwrap_or(began);
        let (marks, joined) = join(loaded, &[]);
        let mut marks = marks.counted_from(origin);
        let plt = ended.counted_from(origin);
        let counts = |count: fn(&PathRecord) -> u64| ends.iter().filter_map(|end| end.path.as_deref()).map(count).sum();
        let records: Vec<ConnectionRecord> = ends.iter().map(|end| record(end, origin)).collect();
        let heads = self.servers.first().map_or(0, |server| head_bytes(server.address.ip()));
        let (packets_down, packets_up): (u64, u64) =
            (counts(|path| path.counts.segments_in.into()), counts(|path| path.counts.segments_out.into()));
        Outcome {
            seed: seed.0,
            completed,
            plt,
            first_request: marks.first_request(),
            packets_down,
            packets_up,
            bytes_down: counts(|path| path.counts.bytes_in) + heads * packets_down,
            bytes_up: counts(|path| path.counts.bytes_out) + heads * packets_up,
            discarded: marks.discarded,
            moments: marks.moments,
            view: std::mem::take(&mut marks.view),
            retransmissions: counts(|path| path.counts.retransmissions.into()),
            loss_recovery: None,
            connections: joined.len() as u32,
            path: if completed { critical_path(page, &marks, &records) } else { Vec::new() },
            waterfall: marks.rows,
            per_connection: ends.iter().map(|end| connection(end, origin, plt)).collect(),
            conditions: None,
            capture: None,
        }
    }

    /// What went wrong, each once. A connection that failed is told of where its load was not completed, or something
    /// was not answered.
    fn failures(&self, page: &Page, ends: &[SocketRecord], outcome: &Outcome, is_late: bool) -> Vec<String> {
        let is_missing = |row: &loadstone_load::Row| row.found.is_some() && row.last_byte.is_none();
        let missing: Vec<usize> = (0..page.objects).filter(|at| is_missing(&outcome.waterfall[*at])).collect();
        if outcome.completed && missing.is_empty() {
            return Vec::new();
        }
        let at = |host: usize| format!("{} at {}", self.servers[host].host, self.servers[host].address);
        let failed = |end: &SocketRecord| {
            let failure = end.failure.as_ref()?;
            Some(format!("{}: {}", at(end.host.0 as usize), in_words(failure)))
        };
        let mut failures: BTreeSet<String> = ends.iter().filter_map(failed).collect();
        if outcome.completed && failures.is_empty() {
            // The load did not wait for what is missing.
            return Vec::new();
        }
        if is_late {
            for (activity, fetch) in missing.iter().map(|at| page.fetches().nth(*at).expect("it is an object")) {
                let host = at(fetch.host.0 as usize);
                let waited = self.settings.timeout.as_secs_f64();
                failures.insert(format!(
                    "{host}: no answer within {waited} s to {}: see to the server, or wait longer with --timeout",
                    activity.name
                ));
            }
        } else if failures.is_empty() {
            let (host, closed) =
                (at(self.root), "the server closed its connections, or reset streams, before it had answered");
            failures.insert(format!("{host}: {closed}: see whether it speaks this --protocol"));
        }
        failures.into_iter().collect()
    }
}

/// A failure in the words of a client that cannot change limits of the driver.
fn in_words(failure: &Failure) -> String {
    match failure {
        Failure::HandshakeTimeout => {
            let seconds = PATIENCE.as_secs();
            format!(
                "no handshake within {seconds} s: see that it speaks TLS where the URL says https, and is not too busy"
            )
        }
        other => other.to_string(),
    }
}

/// The name for TLS: a host without its port, an address without brackets.
fn name_of(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or(address),
        None => host.split(':').next().unwrap_or(host),
    }
}

/// The heads of IP and TCP in a packet, with timestamps.
fn head_bytes(address: IpAddr) -> u64 {
    if address.is_ipv4() { 52 } else { 72 }
}

fn record(end: &SocketRecord, origin: Time) -> ConnectionRecord {
    let least = end.path.as_ref().and_then(|path| path.counts.least_round_trip);
    ConnectionRecord {
        opened: end.opened.counted_from(origin),
        established: end.established.map(|at| at.counted_from(origin)),
        min_owd: least.unwrap_or_default() / 2,
        stalls: BTreeMap::new(),
    }
}

fn connection(end: &SocketRecord, origin: Time, plt: Time) -> ConnectionOutcome {
    ConnectionOutcome {
        host: end.host,
        opened: end.opened.counted_from(origin),
        established: end.established.map(|at| at.counted_from(origin)),
        closed: end.close_requested_at.map(|at| at.counted_from(origin)).filter(|at| *at < plt),
        content_up: end.content,
        content_down: end.path.as_ref().map_or(0, |path| path.counts.bytes_in),
        retransmissions: end.retransmissions,
    }
}

/// What came of the requests, beside what the page says of their answers.
fn answers(page: &Page, outcome: &Outcome) -> Answers {
    let mut answers = Answers::default();
    for ((activity, fetch), row) in page.fetches().zip(&outcome.waterfall).filter(|(_, row)| row.sent.is_some()) {
        let url = activity.name.clone();
        let recorded = (fetch.response.status, fetch.body.len);
        match row.status.filter(|_| row.last_byte.is_some()) {
            None => answers.unanswered.push(url),
            Some(status) if (status, row.body_bytes) == recorded => answers.alike += 1,
            Some(status) => answers.unlike.push(Unlike { url, recorded, answered: (status, row.body_bytes) }),
        }
    }
    answers
}

impl Replay {
    /// The rate of the link that the busiest moment shows, at least: with the heads of packets.
    pub fn link_rate(&self) -> Option<loadstone_units::Rate> {
        let end = self.connections.iter().filter(|end| end.path.is_some()).max_by_key(|end| bytes_in(end))?;
        let segment = f64::from(end.path.as_ref()?.counts.segment_bytes.max(1));
        let heads = head_bytes(end.peer.ip()) as f64;
        self.busiest.map(|busiest| busiest.rate.scaled((segment + heads) / segment))
    }

    /// What the connections spoke, in the order of their opening.
    pub fn spoken(&self) -> impl Iterator<Item = (Option<Protocol>, Option<Tls>)> + '_ {
        self.connections.iter().map(|end| (end.protocol, end.tls))
    }
}

fn bytes_in(end: &SocketRecord) -> u64 {
    end.path.as_ref().map_or(0, |path| path.counts.bytes_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_for_tls_has_no_port_and_no_brackets() {
        let names = ["a.test", "a.test:8443", "127.0.0.1:80", "[::1]:8443", "[::1]"].map(name_of);
        assert_eq!(names, ["a.test", "a.test", "127.0.0.1", "::1", "::1"]);
    }
}
