//! A scenario made ready to be run, in whichever world.

use crate::habits::Habits;
use crate::hosts::{HostRole, Hosts, PageHosts, PlannedHost};
use crate::name_server::NameServerPlan;
use crate::relaying::Relaying;
use crate::shared_page::LoadablePage;
use crate::{
    Connections, Prefetch, Requests, Scenario, ScenarioError, ScenarioProblem, SharedPage, Spread, Variant, VisitAfter,
};
use loadstone_http::{Multiplexing, Protocol, Push, RequestWrites, SessionFactory};
use loadstone_load::page::{
    ActivityId, HostId, NextPage, PROBED_HOST, Page, PageError, PageFile, Priorities, RequestScheduling, Sharding,
    Visits,
};
use loadstone_load::{
    Browser, BrowserConfig, CacheLimits, Catalogue, Graph, Hints, Joining, Origin, OriginConfig, PoolLimits, Relay,
    RelayConfig, Scope, StatedHits, windows_behind, windows_in_front,
};
use loadstone_net::tls::Tls;
use loadstone_net::{Fabric, LinkId, NodeId};
use loadstone_units::{Bounded, Seed};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A scenario made ready to be run, any number of times: what all runs share, in virtual time and
/// over the kernel alike.
#[derive(Debug)]
pub struct Plan {
    /// The scenario's page, then those of single browsers.
    pages: Vec<PlannedPage>,
    hosts: Hosts,
    name_server: Option<NameServerPlan>,
    variant: Variant,
    spread: Spread,
    seed: Seed,
    /// How long the browser does nothing between two visits, if connections of earlier ones are still open.
    idle: Option<Duration>,
}

/// How long servers keep a connection on which nothing comes: nginx's `keepalive_timeout`.
pub const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// A page and what is made of it once for all runs.
#[derive(Debug)]
struct PlannedPage {
    page: Arc<Page>,
    graph: Arc<Graph>,
    /// One for each host.
    catalogues: Vec<Arc<Catalogue>>,
    sessions: Arc<SessionFactory>,
    /// Those that were visited before, in their order, if connections of those are still open: the hosts of each are the
    /// first of the next one's.
    earlier: Vec<PlannedPage>,
}

impl Plan {
    /// Checks pages and topology and makes everything that all runs share.
    ///
    /// # Errors
    /// If a page cannot be loaded, a trace of a network is missing, a page has no such host, or hosts and links do
    /// not fit together.
    pub fn new(scenario: &Scenario) -> Result<Plan, ScenarioError> {
        let variant = &scenario.variant.browser.stated(scenario.variant.clone());
        let mut files = vec![(&scenario.page, "page".to_owned())];
        let own = scenario.topology.iter().flat_map(|topology| topology.hosts.iter().enumerate());
        let mut loaded = Vec::new();
        for (at, page) in own.map(|(at, host)| (at, host.page.as_ref().unwrap_or(&scenario.page))) {
            // Who loads the same has the same servers.
            let known = files.iter().position(|(file, _)| *file == page);
            loaded.push(known.unwrap_or(files.len()));
            if known.is_none() {
                files.push((page, format!("topology.hosts[{at}].page")));
            }
        }
        let earlier = &scenario.before;
        if !earlier.is_empty() && variant.visit_after.is_none() {
            return Err(ScenarioError::new("before", ScenarioProblem::NotVisited));
        }
        if variant.prefetch != Prefetch::Nothing && variant.visit_after.is_none() {
            return Err(ScenarioError::new("variant.prefetch", ScenarioProblem::NotVisited));
        }
        if scenario.likely_next.is_some() && variant.prefetch == Prefetch::Nothing {
            return Err(ScenarioError::new("likely_next", ScenarioProblem::NothingAhead));
        }
        let likely = scenario.likely_next.as_ref();
        let pages = files.iter().map(|(file, field)| planned(file, earlier, likely, variant, field));
        let pages = pages.collect::<Result<Vec<PlannedPage>, ScenarioError>>()?;
        check_hosts("variant.tcp_of", variant.tcp_of.keys(), &pages)?;
        check_hosts("variant.protocol_of", variant.protocol_of.keys(), &pages)?;
        let of_pages: Vec<PageHosts> = pages.iter().map(|page| hosts_of(variant, &page.page)).collect();
        let hosts = Hosts::new(scenario, &of_pages, &loaded)?;
        let name_server = NameServerPlan::new(scenario, &hosts, &pages[0].page)?;
        Ok(Plan {
            hosts,
            name_server,
            variant: variant.clone(),
            spread: scenario.spread,
            seed: Seed(scenario.seed),
            idle: variant.visit_after.map(VisitAfter::duration).filter(|idle| *idle < KEEP_ALIVE),
            pages,
        })
    }

    /// The page as it is loaded: dealt over servers where the scenario says so.
    pub fn page(&self) -> &Arc<Page> {
        &self.pages[0].page
    }

    /// The page that a browser loads, or of whose hosts an origin is one.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn page_at(&self, at: usize) -> &Arc<Page> {
        &self.pages[at].page
    }

    /// The hosts of a run: browsers, then relays, then origins.
    pub fn hosts(&self) -> &[PlannedHost] {
        &self.hosts.all
    }

    /// How many of the hosts are browsers; they come first.
    pub fn browsers(&self) -> usize {
        self.hosts.access.len()
    }

    /// The links and delays between hosts, as they are stated.
    pub fn fabric(&self) -> &Arc<Fabric> {
        &self.hosts.fabric
    }

    /// The links and delays between hosts in the run of this seed.
    pub fn fabric_of(&self, seed: Seed) -> Arc<Fabric> {
        self.spread.fabric(&self.hosts.fabric, seed)
    }

    /// How much of what is not known exactly varies with the seed.
    pub fn spread(&self) -> Spread {
        self.spread
    }

    /// Whether the seed makes a difference.
    pub fn is_random(&self) -> bool {
        let draws = |host: &PlannedHost| host.relaying.hit_rate.is_some_and(|rate| (1..100).contains(&rate.get()));
        let links = self.fabric().links();
        !self.spread.is_none() || links.iter().any(|link| link.network.is_random()) || self.hosts().iter().any(draws)
    }

    /// The node at the other end of the access link, from which all servers are reached; none in a topology.
    pub fn hub(&self) -> Option<NodeId> {
        self.hosts.hub
    }

    /// The name server at the hub, if names are looked up.
    pub fn name_server(&self) -> Option<&NameServerPlan> {
        self.name_server.as_ref()
    }

    /// The link nearest to a browser, in the direction towards it.
    ///
    /// # Panics
    /// If there is no such browser.
    pub fn access_link(&self, browser: usize) -> LinkId {
        self.hosts.access[browser]
    }

    /// Protocol and settings.
    pub fn variant(&self) -> &Variant {
        &self.variant
    }

    /// The seed that the scenario names.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// How long the browsers do nothing between two visits, if they make earlier ones whose connections are still open.
    pub fn idle(&self) -> Option<Duration> {
        self.idle
    }

    /// A browser of the run of this seed, which loads the page of this place.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn browser(&self, page: usize, seed: Seed) -> Browser {
        self.browser_of(&self.pages[page], seed)
    }

    /// How many pages each browser visits, the last of which counts.
    pub fn visits(&self) -> usize {
        self.pages[0].earlier.len() + 1
    }

    /// The browser that makes a visit, of which the first is 0.
    ///
    /// # Panics
    /// If there is no such page or visit.
    pub fn browser_at(&self, page: usize, visit: usize, seed: Seed) -> Browser {
        self.browser_of(self.pages[page].at(visit), seed)
    }

    fn browser_of(&self, planned: &PlannedPage, seed: Seed) -> Browser {
        let PlannedPage { page, graph, sessions, .. } = planned;
        let usual = match page.scheduling {
            RequestScheduling::Chromium => Joining::Racing,
            RequestScheduling::PageOrder => Joining::Together,
        };
        let config = BrowserConfig {
            connections: self.variant.connections.get(),
            connections_in_all: self.variant.connections_in_all.map(Connections::get),
            protocol: self.variant.protocol,
            joining: self.variant.joining.unwrap_or(usual),
            sessions: sessions.clone(),
            names: self.variant.names,
            hints: if self.variant.foresight.is_told() { Hints::Follow } else { Hints::Ignore },
        };
        let browser = Browser::new(page.clone(), graph.clone(), config).with_own_times(self.spread.own_times(seed));
        let browser = browser.with_computing(self.variant.compute.get());
        let pipelined = self.variant.pipelined_requests.map_or(u32::MAX, Requests::get);
        let browser = if self.variant.protocol_of.is_empty() {
            browser
        } else {
            let protocols = page.hosts.iter().map(|host| self.variant.protocol_to(&host.name));
            browser.with_protocols(&protocols.collect::<Vec<Protocol>>())
        };
        let browser = browser.with_pipelined(pipelined);
        match page.hosts.iter().position(|host| host.name == PROBED_HOST).filter(|_| self.variant.probes()) {
            Some(probed) => browser.with_pipelining_probe(HostId(probed as u32)),
            None => browser,
        }
    }

    /// The server of a page's host in the run of this seed, at the first visit.
    ///
    /// # Panics
    /// If there is no such page or host.
    pub fn origin(&self, page: usize, host: HostId, seed: Seed) -> Origin {
        let sessions = &self.pages[page].sessions;
        let Variant { closing, work, requests_per_connection, .. } = self.variant;
        let config = OriginConfig {
            requests_per_connection: requests_per_connection.map_or(u32::MAX, Requests::get),
            closing,
            work,
            thinking: self.spread.thinking(seed),
            ..OriginConfig::new(sessions.clone())
        };
        Origin::new(self.catalogue_at(page, host, 0).clone(), config)
    }

    /// What the server of a page's host has at a visit, of which the first is 0.
    ///
    /// # Panics
    /// If there is no such page, host or visit.
    pub fn catalogue_at(&self, page: usize, host: HostId, visit: usize) -> &Arc<Catalogue> {
        // A host that only later pages have is asked for nothing until then.
        let own = self.pages[page].at(visit).catalogues.get(host.0 as usize);
        own.unwrap_or_else(|| self.catalogue(page, host))
    }

    /// What the server of a page's host has.
    ///
    /// # Panics
    /// If there is no such page or host.
    pub fn catalogue(&self, page: usize, host: HostId) -> &Arc<Catalogue> {
        &self.pages[page].catalogues[host.0 as usize]
    }

    /// A relay of the run of this seed, to all servers.
    pub fn relay(&self, host: &PlannedHost, seed: Seed) -> Relay {
        let servers = self.origin_names().zip(0..).map(|(name, at)| (name.to_owned(), HostId(at)));
        let multiplexing = self.variant.multiplexing;
        // Ages count from when a response comes: its Date is that of the recorded load.
        let Relaying {
            cache,
            hit_rate,
            server_protocol,
            server_connections,
            client_share,
            request_time,
            pipelined,
            ..
        } = host.relaying;
        let growth = host.relaying.server_growth;
        let drawn = Seed(seed.stream(&format!("{}.hits", host.name)).next_u64());
        let hits = hit_rate.map(|percent| StatedHits { percent, seed: drawn });
        let cache =
            cache.map(|bytes| CacheLimits { bytes, object: bytes, disk: 0, zero: SystemTime::UNIX_EPOCH, hits });
        let client_share = client_share.map_or(100, Bounded::get);
        let pool = PoolLimits { connections: server_connections, client_share, growth, ..PoolLimits::UNLIMITED };
        let config = RelayConfig::new(servers.collect(), Arc::new(SessionFactory::new(windows_in_front(multiplexing))));
        let server_sessions = Arc::new(SessionFactory::new(windows_behind(multiplexing)));
        Relay::new(RelayConfig { server_sessions, server_protocol, cache, pool, request_time, pipelined, ..config })
    }

    /// The names of all servers, in their order.
    pub fn origin_names(&self) -> impl Iterator<Item = &str> {
        let origins = self.hosts.all.iter().filter(|host| matches!(host.role, HostRole::Origin { .. }));
        origins.map(|host| host.name.as_str())
    }
}

/// A page, at the first visit or at one after visits to `earlier` pages, which is the page itself if none is named.
fn planned(
    page: &SharedPage,
    earlier: &[SharedPage],
    likely: Option<&SharedPage>,
    variant: &Variant,
    field: &str,
) -> Result<PlannedPage, ScenarioError> {
    let made = || {
        let Some(after) = variant.visit_after.map(VisitAfter::duration) else {
            return Ok(PlannedPage::of(loadable(page, variant)?, variant));
        };
        let earlier = if earlier.is_empty() { std::slice::from_ref(page) } else { earlier };
        let in_turn: Vec<&PageFile> = earlier.iter().chain([page]).map(|page| &**page).collect();
        let Visits { pages: visited, ahead } = PageFile::visited_in_turn(&in_turn, after, next_page(variant, likely))?;
        let counted = if after >= KEEP_ALIVE { &visited[earlier.len()..] } else { &visited };
        let files = counted.iter().map(|file| with_policies(file.clone(), variant));
        let mut files = files.collect::<Result<Vec<PageFile>, PageError>>()?;
        if variant.probes() {
            files[0] = std::mem::take(&mut files[0]).probing_pipelining();
        }
        let visit = |at: usize| {
            let mut page = files[at].build_after(&files[..at])?;
            page.ahead = ahead;
            Ok::<_, PageError>(PlannedPage::of(LoadablePage::of(page), variant))
        };
        let last = files.len() - 1;
        Ok(PlannedPage { earlier: (0..last).map(visit).collect::<Result<_, _>>()?, ..visit(last)? })
    };
    made().map_err(|error: PageError| ScenarioError::new(field, error))
}

/// What the servers of pages before give or name ahead.
fn next_page<'p>(variant: &Variant, likely: Option<&'p SharedPage>) -> Option<NextPage<'p>> {
    let gap = variant.visit_after.map_or(Duration::ZERO, VisitAfter::duration);
    (variant.prefetch != Prefetch::Nothing).then_some(NextPage {
        taken_for: likely.map(|page| &**page),
        is_pushed: variant.pushes_ahead(),
        stays_open: gap < KEEP_ALIVE,
    })
}

impl PlannedPage {
    fn of(LoadablePage { page, graph }: LoadablePage, variant: &Variant) -> PlannedPage {
        let catalogues = Catalogue::all(&page, variant.foresight).into_iter().map(Arc::new).collect();
        let sessions = Arc::new(SessionFactory::new(multiplexing(variant, page.scheduling)));
        PlannedPage { page, graph, catalogues, sessions, earlier: Vec::new() }
    }

    /// The page of a visit, of which this one is the last.
    fn at(&self, visit: usize) -> &PlannedPage {
        if visit == self.earlier.len() { self } else { &self.earlier[visit] }
    }
}

/// The page as the variant's policies make it, at the first visit.
fn loadable(page: &SharedPage, variant: &Variant) -> Result<LoadablePage, PageError> {
    let Variant { sharding, servers, priorities, foresight, browser, .. } = *variant;
    let as_it_is = (Sharding::Recorded, None, Priorities::Recorded, Scope::Nothing, Habits::Recorded, false);
    if (sharding, servers, priorities, foresight.hint, browser, variant.probes()) == as_it_is {
        return page.loadable().cloned();
    }
    let file = with_policies(PageFile::clone(page), variant)?;
    let file = if variant.probes() { file.probing_pipelining() } else { file };
    Ok(LoadablePage::of(file.build()?))
}

fn with_policies(file: PageFile, variant: &Variant) -> Result<PageFile, PageError> {
    let Variant { sharding, servers, priorities, foresight, browser, .. } = *variant;
    let mut file = file.sharded(sharding);
    browser.schedule(&mut file);
    if let Some(servers) = servers {
        file = file.dealt(servers.get());
    }
    if priorities != Priorities::Recorded {
        file = file.prioritised(priorities, &file.build()?);
    }
    if foresight.hint != Scope::Nothing {
        let page = file.build()?;
        // SPDY has no responses 103.
        if !variant.protocol_to(&page.hosts[page.fetch(ActivityId(0)).host.0 as usize].name).is_spdy() {
            file = file.hinted_early(&foresight.hinted_early(&page));
        }
    }
    Ok(file)
}

/// The hosts of a page, with the TCP, the TLS and the protocol of each.
fn hosts_of<'a>(variant: &Variant, page: &'a Page) -> PageHosts<'a> {
    let tcps = page.hosts.iter().map(|host| *variant.tcp_of.get(&host.name).unwrap_or(&variant.tcp)).collect();
    let by_scheme = |secure| if secure { Tls::V1_3 } else { Tls::None };
    let tls = page.hosts.iter().map(|host| variant.tls.unwrap_or(by_scheme(host.secure))).collect();
    let protocols = page.hosts.iter().map(|host| variant.protocol_to(&host.name)).collect();
    PageHosts { page, tcps, tls, protocols }
}

/// How sessions behave: a browser takes pushes where servers push, and hands over requests as its kind does.
fn multiplexing(variant: &Variant, scheduling: RequestScheduling) -> Multiplexing {
    let is_pushed = variant.foresight.push != Scope::Nothing || variant.pushes_ahead();
    let push = if is_pushed { Push::Accept } else { Push::Forbid };
    let request_writes = match scheduling {
        RequestScheduling::Chromium => RequestWrites::Apart,
        RequestScheduling::PageOrder => RequestWrites::Together,
    };
    Multiplexing { push, request_writes, ..variant.multiplexing }
}

/// Refuses settings of a host that no page has.
fn check_hosts<'n>(
    field: &str,
    mut named: impl Iterator<Item = &'n String>,
    pages: &[PlannedPage],
) -> Result<(), ScenarioError> {
    let names = || pages.iter().flat_map(|page| &page.page.hosts).map(|host| host.name.as_str());
    let Some(unknown) = named.find(|named| !names().any(|name| name == named.as_str())) else {
        return Ok(());
    };
    let mut known: Vec<String> = names().map(str::to_owned).collect();
    known.dedup();
    Err(ScenarioError::new(field, ScenarioProblem::UnknownServer { name: unknown.clone(), known }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(variant: &str) -> Result<Plan, ScenarioError> {
        let page = r#"{"objects": [{"url": "http://a.test/", "bytes": 1}, {"url": "http://b.test/", "bytes": 1}]}"#;
        Plan::new(&Scenario::from_json(format!(r#"{{"page": {page}, "variant": {variant}}}"#).as_bytes())?)
    }

    #[test]
    fn single_servers_have_a_tcp_of_their_own() {
        use loadstone_net::tcp::Congestion::{Bbr, Cubic, Reno};
        let controls = |variant| {
            let plan = plan(variant).unwrap();
            plan.hosts()[1..].iter().map(|host| host.tcp.congestion()).collect::<Vec<_>>()
        };
        assert_eq!(controls(r#"{"tcp": {"cc": "reno"}}"#), [Reno, Reno]);
        assert_eq!(controls(r#"{"tcp": {"cc": "reno"}, "tcp_of": {"b.test": {"cc": "bbr"}}}"#), [Reno, Bbr]);
        // All of it, not only what differs: the congestion control is the default one again.
        assert_eq!(controls(r#"{"tcp": {"cc": "reno"}, "tcp_of": {"b.test": {"iw": 3}}}"#), [Reno, Cubic]);
        assert_eq!(controls(r#"{"servers": 2, "tcp_of": {"s1.a.test": {"cc": "bbr"}}}"#), [Cubic, Bbr]);
    }

    #[test]
    fn single_servers_speak_a_protocol_of_their_own() {
        let plan = plan(r#"{"protocol": "h2", "protocol_of": {"b.test": "http/1.1"}}"#).unwrap();
        let spoken: Vec<Protocol> = plan.hosts()[0].ways.iter().map(|way| way.protocol).collect();
        assert_eq!(spoken, [Protocol::H2, Protocol::Http1]);
    }

    #[test]
    fn a_page_before_needs_a_time_that_has_passed() {
        let page = r#"{"objects": [{"url": "http://a.test/", "bytes": 1}]}"#;
        let text = format!(r#"{{"page": {page}, "before": {page}}}"#);
        let error = Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap_err();
        assert!(error.field == "before" && error.problem.to_string().contains("visit_after"), "{error}");
    }

    #[test]
    fn settings_of_a_host_that_is_not_there_are_refused() {
        for (field, variant, why) in [
            ("tcp_of", r#"{"tcp_of": {"c.test": {}}}"#, "no host 'c.test': it has a.test, b.test"),
            ("protocol_of", r#"{"protocol_of": {"c.test": "h2"}}"#, "no host 'c.test'"),
            ("tcp_of", r#"{"servers": 2, "tcp_of": {"b.test": {}}}"#, "no host 'b.test': it has a.test, s1.a.test"),
        ] {
            let error = plan(variant).unwrap_err();
            assert_eq!(error.field, format!("variant.{field}"));
            assert!(error.problem.to_string().contains(why), "{error}");
        }
    }
}
