//! The hosts of a run as both worlds set them up: a star, or what a topology says.

use crate::Scenario;
use crate::error::{ScenarioError, TopologyError};
use crate::relaying::Relaying;
use crate::topology::{ProgramKind, Topology, TopologyHost};
use core::net::{IpAddr, Ipv4Addr};
use loadstone_http::Protocol;
use loadstone_load::Names;
use loadstone_load::page::{HostId, Page};
use loadstone_net::tls::Tls;
use loadstone_net::{Fabric, LinkId, NamedLink, Network, NodeId, Route, tcp};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The first address of the hosts of a run: the range that RFC 2544 sets aside for measuring.
const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// The number of hosts for which there are addresses.
pub const MAX_HOSTS: usize = 131_070;

/// A host of a run. Browsers come first, then those that load earlier, then relays, then origins in the order of their pages.
#[derive(Clone, Debug)]
pub struct PlannedHost {
    /// Its name: the topology's, or that of the page's host.
    pub name: String,
    /// What it does.
    pub role: HostRole,
    /// Its place in the fabric.
    pub node: NodeId,
    /// How its TCP behaves.
    pub tcp: tcp::Config,
    /// For each host of its page, or of all pages if it is a relay: where a connection to it goes.
    pub ways: Vec<Way>,
    /// How it relays, if it does.
    pub relaying: Relaying,
}

/// What a host of a run does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostRole {
    /// It loads the page of this place.
    Browser {
        /// Which of the plan's pages.
        page: usize,
    },
    /// It loads the page of this place before the others do.
    EarlierBrowser {
        /// Which of the plan's pages.
        page: usize,
    },
    /// It passes requests on.
    Relay,
    /// It is the server of one host of a page.
    Origin {
        /// Which of the plan's pages.
        page: usize,
        /// Which of its hosts.
        host: HostId,
    },
}

/// Where a connection goes, and by which routes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// The place of the host that accepts it.
    pub to: usize,
    /// The route of what its opener sends.
    pub there: Route,
    /// The route of what comes back.
    pub back: Route,
    /// What it goes through.
    pub tls: Tls,
    /// What it speaks.
    pub protocol: Protocol,
}

/// The address of the host of this place, alike in both worlds.
///
/// # Panics
/// If there are no addresses left, which no plan lets happen.
pub fn address(host: usize) -> IpAddr {
    assert!(host < MAX_HOSTS, "there is no address for host {host}");
    Ipv4Addr::from(u32::from(FIRST_ADDRESS) + host as u32).into()
}

/// The hosts of a run, and what joins them.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    pub(crate) fabric: Arc<Fabric>,
    pub(crate) all: Vec<PlannedHost>,
    /// For each browser its access link: the one nearest to it on its way to the first host of its page.
    pub(crate) access: Vec<LinkId>,
    /// The node at the other end of a star's access link; none in a topology.
    pub(crate) hub: Option<NodeId>,
    /// The routes from a star's browser to its hub and back.
    pub(crate) to_hub: Option<[Route; 2]>,
}

/// The pages of a run: for each its hosts, with the TCP, the TLS and the protocol of each.
pub(crate) struct PageHosts<'a> {
    pub(crate) page: &'a Page,
    pub(crate) tcps: Vec<tcp::Config>,
    pub(crate) tls: Vec<Tls>,
    pub(crate) protocols: Vec<Protocol>,
}

/// Where each thing stands while hosts are being laid out.
struct Builder<'a> {
    scenario: &'a Scenario,
    pages: &'a [PageHosts<'a>],
    /// For each host of the topology the place of the page that it would load.
    loaded: &'a [usize],
    fabric: Fabric,
    all: Vec<PlannedHost>,
}

fn refuse(field: &str, error: impl Into<TopologyError>) -> ScenarioError {
    ScenarioError::new(&format!("topology{field}"), error.into())
}

impl Hosts {
    /// The hosts of a scenario's star, or of its topology. `pages` has the scenario's page first, then others that
    /// browsers load; `loaded` says for each host of the topology which it is.
    pub(crate) fn new(scenario: &Scenario, pages: &[PageHosts], loaded: &[usize]) -> Result<Hosts, ScenarioError> {
        let builder = Builder { scenario, pages, loaded, fabric: Fabric::new(), all: Vec::new() };
        match &scenario.topology {
            None => builder.star(),
            Some(topology) => builder.laid_out(topology),
        }
    }
}

impl Builder<'_> {
    fn network(&self, network: &Network) -> Result<Network, ScenarioError> {
        network.clone().with_traces(&self.scenario.traces).map_err(|error| ScenarioError::new("network", error))
    }

    fn add(&mut self, name: &str, role: HostRole, tcp: tcp::Config, node: NodeId) {
        self.all.push(PlannedHost {
            name: name.to_owned(),
            role,
            node,
            tcp,
            ways: Vec::new(),
            relaying: Relaying::default(),
        });
    }

    /// One browser, one access link, and behind it each host of the page with its own delay.
    fn star(mut self) -> Result<Hosts, ScenarioError> {
        let (client, hub) = (self.fabric.add_node(), self.fabric.add_node());
        let network = self.network(&self.scenario.network)?;
        let access = NamedLink { name: String::new(), network };
        self.fabric.add_link([client, hub], access).map_err(|cycle| refuse("", cycle))?;
        self.add("client", HostRole::Browser { page: 0 }, self.scenario.variant.client_tcp, client);
        self.add_origins(0, |_| Ok(hub))?;
        let to_hub = match self.scenario.variant.names {
            Names::Cached => None,
            Names::LookedUp => {
                let routes = self.fabric.add_route(client, hub).zip(self.fabric.add_route(hub, client));
                routes.map(|(there, back)| [there, back])
            }
        };
        Ok(Hosts { hub: Some(hub), to_hub, ..self.finish()? })
    }

    /// The servers of a page's hosts: `place` says behind which node each stands.
    fn add_origins(
        &mut self,
        page: usize,
        place: impl Fn(&str) -> Result<NodeId, ScenarioError>,
    ) -> Result<(), ScenarioError> {
        let PageHosts { page: hosts, tcps, .. } = &self.pages[page];
        for (at, host) in hosts.hosts.iter().enumerate() {
            let node = self.fabric.add_node();
            // A host without an address stands nowhere: by the page's first one it is in nobody's way.
            let name = if host.name_error.is_some() { &hosts.hosts[0].name } else { &host.name };
            let joined = self.fabric.add_delay([place(name)?, node], host.extra_rtt / 2);
            joined.map_err(|cycle| refuse("", cycle))?;
            self.add(&host.name, HostRole::Origin { page, host: HostId(at as u32) }, tcps[at], node);
        }
        Ok(())
    }

    fn laid_out(mut self, topology: &Topology) -> Result<Hosts, ScenarioError> {
        check_names(topology)?;
        self.check_servers(topology)?;
        let nodes: Vec<NodeId> = topology.hosts.iter().map(|_| self.fabric.add_node()).collect();
        let node_of = |name: &str| topology.hosts.iter().position(|host| host.name == name).map(|at| nodes[at]);
        for (at, link) in topology.links.iter().enumerate() {
            let field = format!(".links[{at}]");
            let end = |name: &String| node_of(name).ok_or_else(|| unknown(&format!("{field}.between"), name, topology));
            let ends = [end(&link.between[0])?, end(&link.between[1])?];
            let network = self.network(link.network.as_ref().unwrap_or(&self.scenario.network))?;
            let link = NamedLink { name: link.name.clone(), network };
            self.fabric.add_link(ends, link).map_err(|cycle| refuse(&format!("{field}.between"), cycle))?;
        }
        for kind in [ProgramKind::Browser, ProgramKind::EarlierBrowser] {
            let browsers =
                topology.hosts.iter().zip(self.loaded).zip(&nodes).filter(|((host, _), _)| host.runs == kind);
            for ((host, &page), node) in browsers {
                let tcp = host.tcp.unwrap_or(self.scenario.variant.client_tcp);
                let role = match kind {
                    ProgramKind::Browser => HostRole::Browser { page },
                    _ => HostRole::EarlierBrowser { page },
                };
                self.add(&host.name, role, tcp, *node);
            }
        }
        for (host, node) in topology.hosts.iter().zip(&nodes).filter(|(host, _)| host.runs == ProgramKind::Relay) {
            self.add(&host.name, HostRole::Relay, host.tcp.unwrap_or(self.scenario.variant.tcp), *node);
            if let Some(relay) = self.all.last_mut() {
                relay.relaying = Relaying::of(host);
            }
        }
        for page in 0..self.pages.len() {
            self.add_origins(page, |name| place_of(topology, name).map(|at| nodes[at]))?;
        }
        self.finish()
    }

    /// Refuses servers that no page has, and such as a relay could not tell apart.
    fn check_servers(&self, topology: &Topology) -> Result<(), ScenarioError> {
        let mut names = BTreeSet::new();
        let hosts = self.pages.iter().flat_map(|page| &page.page.hosts);
        let doubled: Vec<&str> = hosts.filter(|host| !names.insert(&host.name)).map(|host| &*host.name).collect();
        let has_relay = topology.hosts.iter().any(|host| host.runs == ProgramKind::Relay);
        if let Some(name) = doubled.first().filter(|_| has_relay) {
            return Err(refuse(".hosts", TopologyError::ServerName((*name).to_owned())));
        }
        for (at, host) in topology.hosts.iter().enumerate() {
            let named = host.serves.iter().flatten().map(|name| ("serves", name));
            let mut named = named.chain(host.plaintext.iter().map(|name| ("plaintext", name)));
            if let Some((field, unknown)) = named.find(|(_, name)| !names.contains(name)) {
                return Err(refuse(&format!(".hosts[{at}].{field}"), TopologyError::UnknownServer(unknown.clone())));
            }
        }
        Ok(())
    }

    /// Lays out where connections go.
    fn finish(mut self) -> Result<Hosts, ScenarioError> {
        if self.all.len() > MAX_HOSTS {
            return Err(refuse("", TopologyError::TooManyHosts(MAX_HOSTS)));
        }
        for from in 0..self.all.len() {
            let (targets, own) = match self.all[from].role {
                HostRole::Origin { .. } => continue,
                HostRole::Browser { page } | HostRole::EarlierBrowser { page } => {
                    (self.origins_of(Some(page)), Some(page))
                }
                HostRole::Relay => (self.origins_of(None), None),
            };
            for (place, origin) in targets.into_iter().enumerate() {
                let to = self.relay_between(from, origin).unwrap_or(origin);
                let (tls, protocol) = self.spoken(from, own, place);
                let tls = if self.is_plaintext(from, origin) { Tls::None } else { tls };
                let way = self.way(from, to, (tls, protocol))?;
                self.all[from].ways.push(way);
            }
        }
        let browsers = self.all.iter().filter(|host| matches!(host.role, HostRole::Browser { .. }));
        let access: Option<Vec<LinkId>> = browsers.map(|host| self.access_of(host)).collect();
        let access = access.ok_or_else(|| refuse(".links", TopologyError::NoAccessLink))?;
        Ok(Hosts { fabric: Arc::new(self.fabric), all: self.all, access, hub: None, to_hub: None })
    }

    /// What the topology says of a host.
    fn stated(&self, at: usize) -> Option<&TopologyHost> {
        self.scenario.topology.as_ref()?.find(&self.all[at].name)
    }

    /// The relay to which a host connects for an origin, if it does not connect to the origin itself.
    fn relay_between(&self, from: usize, origin: usize) -> Option<usize> {
        let relay = self.scenario.topology.as_ref()?.find(self.stated(from)?.via.as_deref()?)?;
        let is_served = relay.serves.as_ref().is_none_or(|names| names.contains(&self.all[origin].name));
        let is_it = |host: &PlannedHost| host.role == HostRole::Relay && host.name == relay.name;
        self.all.iter().position(is_it).filter(|_| is_served)
    }

    /// Whether a relay speaks to an origin without TLS, however browsers would.
    fn is_plaintext(&self, relay: usize, origin: usize) -> bool {
        self.stated(relay).is_some_and(|host| host.plaintext.contains(&self.all[origin].name))
    }

    /// The places of the origins of a page, or of all.
    fn origins_of(&self, page: Option<usize>) -> Vec<usize> {
        let is_one = |host: &PlannedHost| match host.role {
            HostRole::Origin { page: own, .. } => page.is_none_or(|page| page == own),
            _ => false,
        };
        (0..self.all.len()).filter(|at| is_one(&self.all[*at])).collect()
    }

    /// What a host speaks with the host of this place, among those of a page if it is its browser, or of all if it is a relay.
    fn spoken(&self, from: usize, page: Option<usize>, place: usize) -> (Tls, Protocol) {
        match page {
            Some(page) => (self.pages[page].tls[place], self.pages[page].protocols[place]),
            None => {
                let tls = self.pages.iter().flat_map(|page| &page.tls).copied().nth(place);
                (tls.unwrap_or(Tls::None), self.all[from].relaying.server_protocol.protocol())
            }
        }
    }

    fn way(&mut self, from: usize, to: usize, (tls, protocol): (Tls, Protocol)) -> Result<Way, ScenarioError> {
        let ends = (self.all[from].node, self.all[to].node);
        let routes = self.fabric.add_route(ends.0, ends.1).zip(self.fabric.add_route(ends.1, ends.0));
        let Some((there, back)) = routes else {
            let [from, to] = [from, to].map(|at| self.all[at].name.clone());
            return Err(refuse(".links", TopologyError::NoRoute { from, to }));
        };
        Ok(Way { to, there, back, tls, protocol })
    }

    /// The link nearest to a browser, by which its packets are counted: of it the direction towards the browser.
    fn access_of(&self, host: &PlannedHost) -> Option<LinkId> {
        host.ways.first().and_then(|way| self.fabric.first_link(way.there)).map(LinkId::reversed)
    }
}

fn unknown(field: &str, name: &str, topology: &Topology) -> ScenarioError {
    let known = topology.hosts.iter().map(|host| host.name.clone()).collect();
    refuse(field, TopologyError::UnknownHost { name: name.to_owned(), known })
}

/// The place of the origins at which a page's host stands.
fn place_of(topology: &Topology, name: &str) -> Result<usize, ScenarioError> {
    let origins = || topology.hosts.iter().enumerate().filter(|(_, host)| host.runs == ProgramKind::Origins);
    let serves = |host: &TopologyHost| host.serves.as_ref().is_some_and(|names| names.iter().any(|own| own == name));
    let named = origins().find(|(_, host)| serves(host));
    let found = named.or_else(|| origins().find(|(_, host)| host.serves.is_none()));
    found.map(|(at, _)| at).ok_or_else(|| refuse(".hosts", TopologyError::Unserved(name.to_owned())))
}

/// Refuses names that are used twice or lead nowhere, and what a host cannot have.
fn check_names(topology: &Topology) -> Result<(), ScenarioError> {
    let mut names = BTreeSet::new();
    for (at, host) in topology.hosts.iter().enumerate() {
        let field = |name: &str| format!(".hosts[{at}].{name}");
        if !names.insert(&host.name) {
            return Err(refuse(&field("name"), TopologyError::HostName(host.name.clone())));
        }
        check_host(topology, host).map_err(|(name, error)| refuse(&field(name), error))?;
    }
    if !topology.hosts.iter().any(|host| host.runs == ProgramKind::Browser) {
        return Err(refuse(".hosts", TopologyError::NoBrowser));
    }
    let mut links = BTreeSet::new();
    for (at, link) in topology.links.iter().enumerate() {
        if link.name.is_empty() || !links.insert(&link.name) {
            return Err(refuse(&format!(".links[{at}].name"), TopologyError::LinkName(link.name.clone())));
        }
    }
    Ok(())
}

fn check_host(topology: &Topology, host: &TopologyHost) -> Result<(), (&'static str, TopologyError)> {
    let has = |what: bool, name: &'static str, runs: &'static str| match what {
        true => Err((name, TopologyError::NotForThis(runs))),
        false => Ok(()),
    };
    let is_relay = host.runs == ProgramKind::Relay;
    let is_browser = matches!(host.runs, ProgramKind::Browser | ProgramKind::EarlierBrowser);
    has(host.page.is_some() && !is_browser, "page", "a browser")?;
    has(
        host.serves.is_some() && !is_relay && host.runs != ProgramKind::Origins,
        "serves",
        "a relay or a host that runs origins",
    )?;
    has(host.via.is_some() && !is_browser && !is_relay, "via", "a browser or a relay")?;
    has(
        host.tcp.is_some() && matches!(host.runs, ProgramKind::Junction | ProgramKind::Origins),
        "tcp",
        "a browser or a relay",
    )?;
    has(host.cache.is_some() && !is_relay, "cache", "a relay")?;
    has(host.hit_rate.is_some() && host.cache.is_none(), "hit_rate", "a relay with a cache")?;
    has(host.server_protocol.is_some() && !is_relay, "server_protocol", "a relay")?;
    has(host.server_connections.is_some() && !is_relay, "server_connections", "a relay")?;
    has(
        host.client_share.is_some() && host.server_connections.is_none(),
        "client_share",
        "a relay with server_connections",
    )?;
    has(host.server_growth.is_some() && !is_relay, "server_growth", "a relay")?;
    has(host.request_us.is_some() && !is_relay, "request_us", "a relay")?;
    has(!host.pipelined.is_default() && !is_relay, "pipelined", "a relay")?;
    has(!host.plaintext.is_empty() && !is_relay, "plaintext", "a relay")?;
    let mut seen = vec![host.name.as_str()];
    let mut next = host.via.as_deref();
    while let Some(name) = next {
        let Some(relay) = topology.find(name).filter(|relay| relay.runs == ProgramKind::Relay) else {
            return Err(("via", TopologyError::NoRelay(name.to_owned())));
        };
        if seen.contains(&name) {
            return Err(("via", TopologyError::RelayCycle(name.to_owned())));
        }
        seen.push(name);
        next = relay.via.as_deref();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;
    use loadstone_load::{Pipelined, PoolGrowth, ServerProtocol};
    use loadstone_units::Bounded;
    use std::time::Duration;

    const PAGE: &str =
        r#"{"objects": [{"url": "https://a.test/", "bytes": 1}, {"url": "http://b.test/", "bytes": 1}]}"#;

    fn planned(topology: &str) -> Result<Plan, ScenarioError> {
        let text = format!(r#"{{"page": {PAGE}, "network": "2mbit,10ms", "topology": {topology}}}"#);
        Plan::new(&Scenario::from_json(text.as_bytes())?)
    }

    fn chain(hosts: &str, links: &str) -> Result<Plan, ScenarioError> {
        planned(&format!(r#"{{"hosts": [{hosts}], "links": [{links}]}}"#))
    }

    const BROWSER: &str = r#"{"name": "me", "runs": "browser"}"#;
    const ORIGINS: &str = r#"{"name": "far", "runs": "origins"}"#;
    const LINK: &str = r#"{"name": "access", "between": ["me", "far"]}"#;

    #[test]
    fn without_a_topology_a_scenario_is_a_star() {
        let text = format!(r#"{{"page": {PAGE}}}"#);
        let plan = Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap();
        let names: Vec<_> = plan.hosts().iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["client", "a.test", "b.test"]);
        let ways: Vec<_> = plan.hosts()[0].ways.iter().map(|way| (way.to, way.tls)).collect();
        assert_eq!(ways, [(1, Tls::V1_3), (2, Tls::None)]);
        assert_eq!((plan.browsers(), plan.access_link(0)), (1, LinkId(0)));
        assert_eq!(plan.fabric().links()[0].name, "", "its streams have the names that they always had");
    }

    #[test]
    fn what_goes_by_a_relay_is_opened_to_it_and_by_it_to_the_servers() {
        let hosts = format!(
            r#"{ORIGINS}, {{"name": "edge", "runs": "relay"}}, {{"name": "me", "runs": "browser", "via": "edge"}}"#
        );
        let links =
            r#"{"name": "x", "between": ["me", "edge"]}, {"name": "y", "between": ["edge", "far"], "network": "dsl"}"#;
        let plan = chain(&hosts, links).unwrap();
        let roles: Vec<HostRole> = plan.hosts().iter().map(|host| host.role).collect();
        let origin = |host| HostRole::Origin { page: 0, host: HostId(host) };
        assert_eq!(roles, [HostRole::Browser { page: 0 }, HostRole::Relay, origin(0), origin(1)]);
        let to = |host: usize| plan.hosts()[host].ways.iter().map(|way| way.to).collect::<Vec<_>>();
        assert_eq!((to(0), to(1), to(2)), (vec![1, 1], vec![2, 3], vec![]));
        // A link without a network of its own has the scenario's.
        let networks: Vec<_> = plan.fabric().links().iter().map(|link| link.network.to_string()).collect();
        assert_eq!(networks, ["2mbit,10ms", "10/1mbit,100ms"]);
    }

    #[test]
    fn a_relay_may_serve_some_hosts_of_a_page_and_speak_to_some_without_tls() {
        let edge = r#"{"name": "edge", "runs": "relay", "serves": ["a.test"], "plaintext": ["a.test"], "cache": 9,
            "hit_rate": 50, "server_protocol": "h2", "server_connections": 6, "client_share": 50, "request_us": 40,
            "server_growth": "as-it-saves", "pipelined": "lost"}"#;
        let me = r#"{"name": "me", "runs": "browser", "via": "edge"}"#;
        let first = r#"{"name": "first", "runs": "earlier-browser", "via": "edge"}"#;
        let links = r#"{"name": "x", "between": ["me", "edge"]}, {"name": "y", "between": ["edge", "far"]},
            {"name": "z", "between": ["first", "edge"]}"#;
        let plan = chain(&format!("{first}, {edge}, {me}, {ORIGINS}"), links).unwrap();
        let roles: Vec<HostRole> = plan.hosts().iter().map(|host| host.role).take(3).collect();
        assert_eq!(roles, [HostRole::Browser { page: 0 }, HostRole::EarlierBrowser { page: 0 }, HostRole::Relay]);
        assert_eq!(plan.browsers(), 1, "nothing is said of the earlier one");
        let ways = |host: usize| plan.hosts()[host].ways.iter().map(|way| (way.to, way.tls)).collect::<Vec<_>>();
        assert_eq!(ways(0), [(2, Tls::V1_3), (4, Tls::None)]);
        assert_eq!(ways(1), ways(0));
        assert_eq!(ways(2), [(3, Tls::None), (4, Tls::None)]);
        let spoken = |host: usize| plan.hosts()[host].ways.iter().map(|way| way.protocol).collect::<BTreeSet<_>>();
        assert_eq!((spoken(2), spoken(0).contains(&Protocol::Http1)), ([Protocol::H2].into(), true));
        let relaying = Relaying {
            pipelined: Pipelined::Lost,
            cache: Some(9),
            hit_rate: Some(Bounded::known(50)),
            server_protocol: ServerProtocol::H2,
            server_connections: 6,
            server_growth: PoolGrowth::AsItSaves,
            client_share: Some(Bounded::known(50)),
            request_time: Duration::from_micros(40),
        };
        assert_eq!(plan.hosts()[2].relaying, relaying);
    }

    #[test]
    fn packets_to_a_browser_are_counted_whichever_end_of_its_link_it_is() {
        for (ends, down) in [(r#"["me", "far"]"#, LinkId(0)), (r#"["far", "me"]"#, LinkId(1))] {
            let plan =
                chain(&format!("{BROWSER}, {ORIGINS}"), &format!(r#"{{"name": "x", "between": {ends}}}"#)).unwrap();
            assert_eq!(plan.access_link(0), down);
        }
    }

    #[test]
    fn what_does_not_fit_together_is_named_with_its_place_and_a_remedy() {
        let both = format!("{BROWSER}, {ORIGINS}");
        for (hosts, links, field, why) in [
            (&*both, "", "topology.links", "no links lead from me to a.test"),
            (
                &both,
                r#"{"name": "x", "between": ["me", "fra"]}"#,
                "topology.links[0].between",
                "no host 'fra': it has me, far",
            ),
            (
                &both,
                &format!(r#"{LINK}, {{"name": "y", "between": ["far", "me"]}}"#),
                "topology.links[1].between",
                "leave one of the links out",
            ),
            (&both, &format!("{LINK}, {LINK}"), "topology.links[1].name", "choose one that is free"),
            (&format!("{BROWSER}, {BROWSER}"), "", "topology.hosts[1].name", "the name of another host"),
            (ORIGINS, "", "topology.hosts", "no host runs a browser"),
            (BROWSER, "", "topology.hosts", "nothing serves the page's host 'a.test'"),
            (
                r#"{"name": "me", "runs": "browser", "via": "far"}, {"name": "far", "runs": "origins"}"#,
                LINK,
                "topology.hosts[0].via",
                "no host 'far' runs a relay",
            ),
            (
                r#"{"name": "far", "runs": "origins", "serves": ["c.test"]}, {"name": "me", "runs": "browser"}"#,
                "",
                "topology.hosts[0].serves",
                "no page has a host 'c.test'",
            ),
            (r#"{"name": "me", "runs": "earlier-browser"}"#, "", "topology.hosts", "no host runs a browser"),
            (
                r#"{"name": "a", "runs": "relay", "via": "b"}, {"name": "b", "runs": "relay", "via": "a"}"#,
                "",
                "topology.hosts[0].via",
                "in a circle",
            ),
        ] {
            let error = chain(hosts, links).unwrap_err();
            assert_eq!(error.field, field, "{error}");
            assert!(error.problem.to_string().contains(why), "{error}");
        }
    }

    #[test]
    fn what_only_other_programs_can_have_is_named_with_its_place() {
        for (hosts, links, field, why) in [
            (
                r#"{"name": "me", "runs": "junction", "serves": []}"#,
                "",
                "topology.hosts[0].serves",
                "only a relay or a host that runs origins",
            ),
            (
                r#"{"name": "me", "runs": "relay", "hit_rate": 50}"#,
                "",
                "topology.hosts[0].hit_rate",
                "only a relay with a cache",
            ),
            (
                r#"{"name": "me", "runs": "origins", "server_protocol": "h2"}"#,
                "",
                "topology.hosts[0].server_protocol",
                "only a relay",
            ),
            (
                r#"{"name": "me", "runs": "origins", "request_us": 5}"#,
                "",
                "topology.hosts[0].request_us",
                "only a relay",
            ),
            (
                r#"{"name": "me", "runs": "browser", "plaintext": ["a.test"]}"#,
                "",
                "topology.hosts[0].plaintext",
                "only a relay",
            ),
            (
                r#"{"name": "edge", "runs": "relay", "plaintext": ["c.test"]}, {"name": "me", "runs": "browser"}"#,
                "",
                "topology.hosts[0].plaintext",
                "no page has a host 'c.test'",
            ),
        ] {
            let error = chain(hosts, links).unwrap_err();
            assert_eq!(error.field, field, "{error}");
            assert!(error.problem.to_string().contains(why), "{error}");
        }
    }
}
