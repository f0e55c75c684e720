//! A scenario made ready to be run, in whichever world.

use crate::{Scenario, ScenarioError, Variant};
use loadstone_http::Sessions;
use loadstone_load::page::{HostId, Page};
use loadstone_load::{Browser, BrowserConfig, Catalogue, Graph, Origin};
use loadstone_net::Network;
use loadstone_net::tls::Tls;
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
    sessions: Arc<Sessions>,
    seed: Seed,
}

impl Plan {
    /// Checks the page and makes everything that all runs share.
    ///
    /// # Errors
    /// If the page cannot be loaded, or a trace of the network is missing.
    pub fn new(scenario: &Scenario) -> Result<Plan, ScenarioError> {
        let page = match scenario.variant.servers {
            Some(servers) => scenario.page.dealt(servers.get()).build(),
            None => scenario.page.build(),
        };
        let page = Arc::new(page.map_err(|error| ScenarioError::new("page", error))?);
        let network = scenario.network.clone().with_traces(&scenario.traces);
        Ok(Plan {
            graph: Arc::new(Graph::new(&page)),
            catalogues: Catalogue::all(&page).into_iter().map(Arc::new).collect(),
            network: network.map_err(|error| ScenarioError::new("network", error))?,
            variant: scenario.variant.clone(),
            sessions: Arc::new(Sessions::new(scenario.variant.multiplexing)),
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
            sessions: self.sessions.clone(),
        };
        Browser::new(self.page.clone(), self.graph.clone(), config)
    }

    /// The servers of a run, one for each host of the page.
    pub fn origins(&self) -> impl Iterator<Item = Origin> + '_ {
        self.catalogues.iter().map(|catalogue| Origin::new(catalogue.clone(), self.sessions.clone()))
    }

    /// The TLS of the connections to `host`.
    pub fn tls(&self, host: HostId) -> Tls {
        let by_scheme = if self.page.hosts[host.0 as usize].secure { Tls::V1_3 } else { Tls::None };
        self.variant.tls.unwrap_or(by_scheme)
    }
}
