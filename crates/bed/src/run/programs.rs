//! The programs of a run, each on its host: browsers, and the servers that they find.

use super::curtain::CurtainEnding;
use super::{RunError, Unsupported};
use crate::named_hosts::{named_hosts, zone};
use crate::{Announcements, Bed, BedHost, BedServers, name_server};
use loadstone_http::Protocol;
use loadstone_live::{
    Authority, Chain, Clock, Destinations, Error, Limits, Listener, Loaded, NOTSENT_LOWAT, NameServer, PathNotes,
    RecordKeeping, Relayed, Served, Stop, Target, Tls, listen, load, relay, serve,
};
use loadstone_load::Zone;
use loadstone_load::page::HostId;
use loadstone_scenario::{HostRole, Plan, PlannedHost, Way};
use loadstone_units::Seed;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

/// For how long a load may go on, by the clock of its links: longer than any browser waits.
const LIMIT: Duration = Duration::from_secs(3600);

/// The programs of a run, ready to begin.
pub(super) struct Programs {
    /// In the order of the plan.
    pub(super) browsers: Vec<LiveBrowser>,
    /// In the order of the plan; they listen already.
    pub(super) relays: Vec<LiveRelay>,
    /// The same.
    pub(super) servers: Vec<LiveServer>,
    /// What the name server knows, if names are looked up.
    pub(super) zone: Option<Zone>,
}

/// A browser, and how it gets to the servers of its page.
pub(super) struct LiveBrowser {
    at: BedHost,
    page: usize,
    seed: Seed,
    route: Destinations,
}

/// The server of a page's host, and where it is found.
pub(super) struct LiveServer {
    at: BedHost,
    page: usize,
    seed: Seed,
    site: Listener,
}

/// A relay, where it is found, and how it gets to the servers.
pub(super) struct LiveRelay {
    at: BedHost,
    sites: Vec<Listener>,
    route: Destinations,
    /// Of the run.
    seed: Seed,
}

/// Refuses what no program here can do: to load before others begin, and to tell by a plain connection which of two protocols
/// it speaks.
pub(super) fn check(plan: &Plan) -> Result<(), RunError> {
    for (at, host) in plan.hosts().iter().enumerate() {
        if matches!(host.role, HostRole::EarlierBrowser { .. }) {
            return Err(RunError::unsupported("topology.hosts", Unsupported::EarlierBrowser(host.name.clone())));
        }
        if spoken_with(plan, BedHost(at), Tls::None).len() > 1 {
            return Err(RunError::unsupported("topology.hosts", Unsupported::TwoProtocols(host.name.clone())));
        }
    }
    Ok(())
}

/// The programs of a plan on the hosts of a bed.
pub(super) fn programs(plan: &Plan, bed: &Bed, seed: Seed) -> Result<Programs, RunError> {
    let uses_tls = plan.hosts().iter().flat_map(|host| &host.ways).any(|way| way.tls != Tls::None);
    let authority = uses_tls.then(|| Authority::new(Chain::Usual));
    let hosts = plan.name_server().map(|_| named_hosts(plan, bed, &BedServers::Recorded(Announcements::default())));
    let zone = hosts.map(|hosts| zone(&hosts)).transpose()?;
    let mut programs = Programs { browsers: Vec::new(), relays: Vec::new(), servers: Vec::new(), zone };
    for (at, host) in plan.hosts().iter().enumerate() {
        let at = BedHost(at);
        match host.role {
            HostRole::Browser { page } => {
                let hosts = &plan.page_at(page).hosts;
                let names = hosts.iter().map(|host| host.name.as_str());
                let mut route = route(bed, host, names, authority.as_ref())?;
                if plan.name_server().is_some() {
                    let address = name_server::address(bed, name_server_host(plan));
                    route.names = Some(NameServer::new(address, hosts)?);
                }
                programs.browsers.push(LiveBrowser { at, page, seed, route });
            }
            HostRole::Origin { page, host: id } => {
                let tls = visits(plan, at).next().map_or(Tls::None, |way| way.tls);
                let site = site(plan, bed, (at, host), (id, tls, &[&host.name]), authority.as_ref())?;
                programs.servers.push(LiveServer { at, page, seed, site });
            }
            // It has been refused.
            HostRole::EarlierBrowser { .. } => {}
            HostRole::Relay => {
                let route = route(bed, host, plan.origin_names(), authority.as_ref())?;
                let names: Vec<&str> = plan.origin_names().collect();
                // By their ports: one of each is enough.
                let spoken: BTreeMap<u16, Tls> = visits(plan, at).map(|way| (port(way.tls), way.tls)).collect();
                let site = |tls| site(plan, bed, (at, host), (HostId(0), tls, &names), authority.as_ref());
                let sites = spoken.into_values().map(site).collect::<Result<Vec<_>, _>>()?;
                programs.relays.push(LiveRelay { at, sites, route, seed });
            }
        }
    }
    Ok(programs)
}

/// The host of the name server, which comes after those of the plan.
pub(super) fn name_server_host(plan: &Plan) -> BedHost {
    BedHost(plan.hosts().len())
}

/// How a browser or a relay gets to the servers of these names.
fn route<'n>(
    bed: &Bed,
    host: &PlannedHost,
    names: impl Iterator<Item = &'n str>,
    authority: Option<&Authority>,
) -> Result<Destinations, RunError> {
    let mut targets = Vec::new();
    for (way, name) in host.ways.iter().zip(names) {
        let address = SocketAddr::new(bed.address(BedHost(way.to)), port(way.tls));
        let tls = authority.map_or(Ok(None), |authority| authority.client(name, way.tls, way.protocol))?;
        targets.push(Target { address, tls, protocol: way.protocol });
    }
    let notsent_lowat = host.tcp.notsent_lowat.unwrap_or(NOTSENT_LOWAT);
    // How long to wait for a server is up to the browser.
    let (limits, path_notes) = (Limits::UNLIMITED, PathNotes::None);
    Ok(Destinations { targets, names: None, notsent_lowat, timeout: LIMIT, limits, path_notes })
}

/// Where the server of a page's host, or a relay in its place, is found, with these names in its certificate.
fn site(
    plan: &Plan,
    bed: &Bed,
    (at, host): (BedHost, &PlannedHost),
    (id, tls, names): (HostId, Tls, &[&str]),
    authority: Option<&Authority>,
) -> Result<Listener, RunError> {
    let protocols: Vec<Protocol> = spoken_with(plan, at, tls).into_iter().collect();
    let protocol = protocols.first().copied().unwrap_or(Protocol::Http1);
    let address = SocketAddr::new(bed.address(at), port(tls));
    let listener = bed.on(at, || listen(address)).map_err(RunError::Listen)?;
    let tls = authority.map_or(Ok(None), |authority| authority.server(names, tls, &protocols))?;
    let notsent_lowat = host.tcp.notsent_lowat.unwrap_or(NOTSENT_LOWAT);
    let (limits, records) = (Limits::UNLIMITED, RecordKeeping::Collect);
    Ok(Listener { host: id, listener, tls, protocol, notsent_lowat, limits, records })
}

/// The ways that lead to a host.
fn visits(plan: &Plan, host: BedHost) -> impl Iterator<Item = &Way> {
    plan.hosts().iter().flat_map(|visitor| &visitor.ways).filter(move |way| way.to == host.0)
}

/// What a host's visitors speak through this TLS: one protocol, or what TLS tells apart.
fn spoken_with(plan: &Plan, host: BedHost, tls: Tls) -> BTreeSet<Protocol> {
    visits(plan, host).filter(|way| port(way.tls) == port(tls)).map(|way| way.protocol).collect()
}

/// Where a server listens.
fn port(tls: Tls) -> u16 {
    if tls == Tls::None { 80 } else { 443 }
}

impl LiveBrowser {
    /// Loads its page; its connections are closed when all browsers have ended.
    pub(super) fn load(
        &self,
        bed: &Bed,
        plan: &Plan,
        clock: &Clock,
        stop: &Stop,
        ending: CurtainEnding,
    ) -> Result<Loaded, Error> {
        bed.on(self.at, || load(clock, plan.browser(self.page, self.seed), &self.route, stop, || ending.wait()))
    }
}

impl LiveRelay {
    /// Relays until it is told to stop.
    pub(super) fn relay(self, bed: &Bed, plan: &Plan, clock: &Clock, stop: &Stop) -> Result<Relayed, Error> {
        let LiveRelay { at, sites, route, seed } = self;
        bed.on(at, || relay(clock, plan.relay(&plan.hosts()[at.0], seed), sites, &route, stop))
    }
}

impl LiveServer {
    /// Serves until it is told to stop.
    pub(super) fn serve(self, bed: &Bed, plan: &Plan, clock: &Clock, stop: &Stop) -> Result<Served, Error> {
        let LiveServer { at, page, seed, site } = self;
        bed.on(at, || serve(clock, plan.origin(page, site.host, seed), site, stop))
    }
}
