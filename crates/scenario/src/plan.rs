//! A scenario made ready to be run, in whichever world.

use crate::{Requests, Scenario, ScenarioError, Variant};
use loadstone_http::{Multiplexing, Push, Sessions};
use loadstone_load::page::{HostId, Page};
use loadstone_load::{Browser, BrowserConfig, Catalogue, Graph, Hints, Origin, Scope};
use loadstone_net::tls::Tls;
use loadstone_net::{Network, tcp};
use loadstone_units::Seed;
use std::sync::Arc;

/// A scenario made ready to be run, any number of times: what all runs share, in virtual time and
/// over the kernel alike.
#[derive(Debug)]
pub struct Plan {
    page: Arc<Page>,
    graph: Arc<Graph>,
    /// One for each host.
    catalogues: Vec<Arc<Catalogue>>,
    network: Network,
    variant: Variant,
    /// The servers' TCP, one for each host.
    tcps: Vec<tcp::Config>,
    sessions: Arc<Sessions>,
    seed: Seed,
}

impl Plan {
    /// Checks the page and makes everything that all runs share.
    ///
    /// # Errors
    /// If the page cannot be loaded, a trace of the network is missing, or the page has no such host.
    pub fn new(scenario: &Scenario) -> Result<Plan, ScenarioError> {
        let page = match scenario.variant.servers {
            Some(servers) => scenario.page.dealt(servers.get()).build(),
            None => scenario.page.build(),
        };
        let page = Arc::new(page.map_err(|error| ScenarioError::new("page", error))?);
        let network = scenario.network.clone().with_traces(&scenario.traces);
        Ok(Plan {
            graph: Arc::new(Graph::new(&page)),
            catalogues: Catalogue::all(&page, scenario.variant.foresight).into_iter().map(Arc::new).collect(),
            network: network.map_err(|error| ScenarioError::new("network", error))?,
            variant: scenario.variant.clone(),
            tcps: tcps(&scenario.variant, &page)?,
            sessions: Arc::new(Sessions::new(multiplexing(&scenario.variant))),
            seed: Seed(scenario.seed),
            page,
        })
    }

    /// The page as it is loaded: dealt over servers where the scenario says so.
    pub fn page(&self) -> &Arc<Page> {
        &self.page
    }

    /// The access link.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Protocol and settings.
    pub fn variant(&self) -> &Variant {
        &self.variant
    }

    /// The seed that the scenario names.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// The browser of a run.
    pub fn browser(&self) -> Browser {
        let config = BrowserConfig {
            connections: self.variant.connections.get(),
            protocol: self.variant.protocol,
            joining: self.variant.joining,
            sessions: self.sessions.clone(),
            hints: if self.variant.foresight.hint == Scope::Nothing { Hints::Ignore } else { Hints::Follow },
        };
        Browser::new(self.page.clone(), self.graph.clone(), config)
    }

    /// The servers of a run, one for each host of the page.
    pub fn origins(&self) -> impl Iterator<Item = Origin> + '_ {
        let requests = self.variant.requests_per_connection.map_or(u32::MAX, Requests::get);
        self.catalogues.iter().map(move |catalogue| {
            Origin::new(catalogue.clone(), self.sessions.clone())
                .with_requests_per_connection(requests)
                .with_closing(self.variant.closing)
                .with_work(self.variant.work)
        })
    }

    /// The TCP of the server `host`.
    pub fn tcp(&self, host: HostId) -> &tcp::Config {
        &self.tcps[host.0 as usize]
    }

    /// The TLS of the connections to `host`.
    pub fn tls(&self, host: HostId) -> Tls {
        let by_scheme = if self.page.hosts[host.0 as usize].secure { Tls::V1_3 } else { Tls::None };
        self.variant.tls.unwrap_or(by_scheme)
    }
}

/// How sessions behave: a browser takes pushes where servers push.
fn multiplexing(variant: &Variant) -> Multiplexing {
    let push = if variant.foresight.push == Scope::Nothing { Push::Forbid } else { Push::Accept };
    Multiplexing { push, ..variant.multiplexing }
}

/// The servers' TCP, one for each host of the page.
fn tcps(variant: &Variant, page: &Page) -> Result<Vec<tcp::Config>, ScenarioError> {
    let names = || page.hosts.iter().map(|host| host.name.as_str());
    if let Some(unknown) = variant.tcp_of.keys().find(|known| !names().any(|name| name == known.as_str())) {
        let mut known: Vec<&str> = names().collect();
        known.dedup();
        let why = format!("the page has no host '{unknown}': it has {}", known.join(", "));
        return Err(ScenarioError::new("variant.tcp_of", why));
    }
    Ok(names().map(|name| *variant.tcp_of.get(name).unwrap_or(&variant.tcp)).collect())
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
        use tcp::Congestion::{Bbr, Cubic, Reno};
        let controls = |variant| {
            let plan = plan(variant).unwrap();
            (0..plan.page().hosts.len()).map(|at| plan.tcp(HostId(at as u32)).congestion()).collect::<Vec<_>>()
        };
        assert_eq!(controls(r#"{"tcp": {"cc": "reno"}}"#), [Reno, Reno]);
        assert_eq!(controls(r#"{"tcp": {"cc": "reno"}, "tcp_of": {"b.test": {"cc": "bbr"}}}"#), [Reno, Bbr]);
        // All of it, not only what differs: the congestion control is the default one again.
        assert_eq!(controls(r#"{"tcp": {"cc": "reno"}, "tcp_of": {"b.test": {"iw": 3}}}"#), [Reno, Cubic]);
        assert_eq!(controls(r#"{"servers": 2, "tcp_of": {"s1.a.test": {"cc": "bbr"}}}"#), [Cubic, Bbr]);
    }

    #[test]
    fn a_tcp_of_a_host_that_is_not_there_is_refused() {
        for (variant, why) in [
            (r#"{"tcp_of": {"c.test": {}}}"#, "no host 'c.test': it has a.test, b.test"),
            (r#"{"servers": 2, "tcp_of": {"b.test": {}}}"#, "no host 'b.test': it has a.test, s1.a.test"),
        ] {
            let error = plan(variant).unwrap_err();
            assert_eq!(error.field, "variant.tcp_of");
            assert!(error.why.contains(why), "{error}");
        }
    }
}
