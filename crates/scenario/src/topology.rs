//! Who takes part in a run and over which links, where that is not one browser behind one access link.

use crate::SharedPage;
use loadstone_load::{Pipelined, PoolGrowth, ServerProtocol};
use loadstone_net::{Network, tcp};
use loadstone_units::Bounded;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The hosts of a run, each with its program, and the links between them. They form a tree.
///
/// Without one a scenario is a star: one browser, one access link, and behind it each host of the page.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Hosts, and junctions where links meet.
    pub hosts: Vec<TopologyHost>,
    /// What joins them.
    pub links: Vec<TopologyLink>,
}

/// A host of a topology.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopologyHost {
    /// Its name, which links and other hosts know it by.
    pub name: String,
    /// What it does.
    pub runs: ProgramKind,
    /// A browser or a relay: the relay to which its connections go, instead of the page's hosts that this one serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// A browser: what it loads, if it is not the scenario's page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<SharedPage>,
    /// Origins: the names of the pages' hosts that stand here; all that stand nowhere else if it is left out. A relay: those to
    /// which connections go over it; all if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serves: Option<Vec<String>>,
    /// Its TCP; that of the variant's client for a browser and of the variant's servers for others if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<tcp::Config>,
    /// A relay: the most bytes that it remembers of responses, which it then answers without asking servers (RFC 9111); it has no
    /// cache if it is left out. What may be stored is said by `response_fields` of objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Bounded<1, 4_000_000_000>>,
    /// A relay with a cache: how many percent of what may be asked for with GET it stores, drawn for each URL, whatever fields
    /// say; if it is left out, they say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit_rate: Option<Bounded<0, 100>>,
    /// A relay: how long its processor is busy with each request, in microseconds, one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_us: Option<Bounded<0, 1_000_000>>,
    /// A relay: what it speaks to servers; HTTP/1.1 if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_protocol: Option<ServerProtocol>,
    /// A relay: the most connections that it has to a server at a time; any number if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_connections: Option<Bounded<1, 10_000>>,
    /// A relay: when it opens one more; `at-once` if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_growth: Option<PoolGrowth>,
    /// A relay: how many percent of the connections to a server that others leave one client may have; all if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_share: Option<Bounded<1, 100>>,
    /// A relay: what becomes of a request of HTTP/1.1 that comes while another one of its connection is unanswered; it is
    /// answered after that one if this is left out, as it has to be (RFC 9112, section 9.3.2).
    #[serde(default, skip_serializing_if = "Pipelined::is_default")]
    pub pipelined: Pipelined,
    /// A relay: the names of the pages' hosts to whose servers it speaks without TLS; with the others as browsers do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plaintext: Vec<String>,
}

/// What a host of a topology does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramKind {
    /// It loads a page.
    Browser,
    /// It loads a page before the browsers do, and nothing is said of that: it leaves relays as other users have left them,
    /// with a cache that has something and connections that are open.
    EarlierBrowser,
    /// It passes requests on, and responses back.
    Relay,
    /// The servers of pages' hosts, each a host of its own, which stand at this place.
    Origins,
    /// Nothing: links meet here.
    Junction,
}

/// A link of a topology.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopologyLink {
    /// Its name, which its random streams have.
    pub name: String,
    /// The names of the hosts that it joins: down is towards the first.
    pub between: [String; 2],
    /// Rates, round trip, loss, queue and traces; the scenario's network if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
}

impl Topology {
    /// The host of this name.
    pub(crate) fn find(&self, name: &str) -> Option<&TopologyHost> {
        self.hosts.iter().find(|host| host.name == name)
    }
}
