//! Why a text is no scenario, or a scenario cannot be run.

use loadstone_load::NoName;
use loadstone_load::page::PageError;
use loadstone_net::{Cycle, NetworkError};
use loadstone_units::JsonError;
use loadstone_units::json::Mismatch;

/// Why a text is no scenario, or a scenario cannot be run: the field, and what is wrong with it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("scenario{}{field}: {problem}", if field.is_empty() { "" } else { "." })]
pub struct ScenarioError {
    /// The path of the field, for instance `variant.tcp.iw`; empty for the whole.
    pub field: String,
    /// What is wrong with it.
    pub problem: ScenarioProblem,
}

/// What is wrong with a scenario.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ScenarioProblem {
    /// The text is not JSON.
    #[error(transparent)]
    Json(JsonError),
    /// A field is unknown or missing, or its value is not one of its own.
    #[error(transparent)]
    Value(Mismatch),
    /// The page cannot be loaded.
    #[error(transparent)]
    Page(#[from] PageError),
    /// A page beside another one.
    #[error("the page is known already: leave it out")]
    SecondPage,
    /// A page before this one, or what is prefetched there, and no time between.
    #[error("give visit_after, the seconds since then (--visit-after)")]
    NotVisited,
    /// A page that servers take for the next one, of which they say nothing.
    #[error("give prefetch as well (--prefetch): nothing is brought ahead without it")]
    NothingAhead,
    /// The network is incomplete.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A TCP for a host that no page has.
    #[error("the page has no host '{name}': it has {}", known.join(", "))]
    UnknownServer {
        /// What was given.
        name: String,
        /// The hosts of the pages.
        known: Vec<String>,
    },
    /// Names are looked up, and nothing says where the name server is.
    #[error("only without a topology is it known where names are looked up: leave it out")]
    NamesInTopology,
    /// The name of a host is none.
    #[error(transparent)]
    HostName(#[from] NoName),
    /// Hosts and links do not fit together.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl ScenarioError {
    /// An error at `field`.
    pub(crate) fn new(field: &str, problem: impl Into<ScenarioProblem>) -> ScenarioError {
        ScenarioError { field: field.to_owned(), problem: problem.into() }
    }
}

impl From<JsonError> for ScenarioError {
    fn from(error: JsonError) -> ScenarioError {
        match error {
            JsonError::Mismatch { path, mismatch } => {
                ScenarioError { field: path, problem: ScenarioProblem::Value(mismatch) }
            }
            other => ScenarioError { field: String::new(), problem: ScenarioProblem::Json(other) },
        }
    }
}

/// Why hosts and links do not fit together.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TopologyError {
    /// Two hosts have one name.
    #[error("'{0}' is the name of another host: choose one that is free")]
    HostName(String),
    /// A link has no name, or that of another.
    #[error("'{0}' is empty or the name of another link: choose one that is free")]
    LinkName(String),
    /// A link to a host that is not there.
    #[error("there is no host '{name}': it has {}", known.join(", "))]
    UnknownHost {
        /// What was given.
        name: String,
        /// The hosts of the topology.
        known: Vec<String>,
    },
    /// A link closes a cycle.
    #[error(transparent)]
    Cycle(#[from] Cycle),
    /// Two servers behind a relay have one name.
    #[error("a relay cannot tell two servers apart that are called '{0}': rename one")]
    ServerName(String),
    /// A host serves what no page has.
    #[error("no page has a host '{0}': correct it, or leave it out")]
    UnknownServer(String),
    /// A host of a page that no host of the topology serves.
    #[error("nothing serves the page's host '{0}': add a host that runs origins, or to 'serves'")]
    Unserved(String),
    /// More hosts than there are addresses.
    #[error("there are addresses for {0} hosts: leave some out")]
    TooManyHosts(usize),
    /// No browser at all.
    #[error("no host runs a browser: add one")]
    NoBrowser,
    /// A browser without links.
    #[error("a browser has no link to the hosts of its page: join them")]
    NoAccessLink,
    /// Two hosts that talk to each other and are not joined.
    #[error("no links lead from {from} to {to}: join them")]
    NoRoute {
        /// Who opens connections.
        from: String,
        /// To which host.
        to: String,
    },
    /// A field that hosts with other programs have.
    #[error("only {0} can have it: leave it out")]
    NotForThis(&'static str),
    /// Requests are to go over a host that is no relay.
    #[error("no host '{0}' runs a relay: name one that does")]
    NoRelay(String),
    /// Relays that send requests to each other.
    #[error("by '{0}' requests go in a circle: leave it out there")]
    RelayCycle(String),
}
