//! A scenario made ready to be run.

use crate::world::World;
use loadstone_http::Sessions;
use loadstone_load::page::{HostId, Page, PageError};
use loadstone_load::{BrowserConfig, Catalogue, Graph};
use loadstone_net::Network;
use loadstone_net::tls::Tls;
use loadstone_scenario::{Outcome, Scenario, Variant};
use loadstone_units::Seed;
use std::sync::Arc;

/// A scenario made ready to be run, any number of times: what all runs share.
#[derive(Debug)]
pub struct Plan {
    pub(crate) page: Arc<Page>,
    pub(crate) graph: Arc<Graph>,
    /// One for each host.
    pub(crate) catalogues: Vec<Arc<Catalogue>>,
    pub(crate) network: Network,
    pub(crate) variant: Variant,
    pub(crate) sessions: Arc<Sessions>,
    seed: Seed,
}

/// Why a scenario cannot be run.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RunError {
    /// Its page is none.
    #[error("scenario.page: {0}")]
    Page(#[from] PageError),
}

impl Plan {
    /// Checks the page and makes everything that all runs share.
    ///
    /// # Errors
    /// If the page cannot be loaded.
    pub fn new(scenario: &Scenario) -> Result<Plan, RunError> {
        let page = match scenario.variant.servers {
            Some(servers) => scenario.page.dealt(servers.get()).build()?,
            None => scenario.page.build()?,
        };
        let page = Arc::new(page);
        Ok(Plan {
            graph: Arc::new(Graph::new(&page)),
            catalogues: Catalogue::all(&page).into_iter().map(Arc::new).collect(),
            network: scenario.network.clone(),
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

    /// Carries out the scenario, with the seed that it names.
    pub fn run_once(&self) -> Outcome {
        self.run(self.seed)
    }

    /// Carries out the scenario with another seed.
    pub fn run(&self, seed: Seed) -> Outcome {
        World::new(self, seed).run(seed)
    }

    pub(crate) fn browser(&self) -> BrowserConfig {
        BrowserConfig {
            connections: self.variant.connections.get(),
            protocol: self.variant.protocol,
            sessions: self.sessions.clone(),
        }
    }

    /// The TLS of the connections to `host`.
    pub(crate) fn tls(&self, host: HostId) -> Tls {
        let by_scheme = if self.page.hosts[host.0 as usize].secure { Tls::V1_3 } else { Tls::None };
        self.variant.tls.unwrap_or(by_scheme)
    }
}
