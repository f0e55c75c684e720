//! Where a browser looks names up, and how large what it asks and hears is.

use crate::hosts::Hosts;
use crate::{Scenario, ScenarioError, ScenarioProblem};
use core::net::Ipv4Addr;
use loadstone_load::page::{Host, HostId, Page};
use loadstone_load::{Names, NoName, Record, Zone, address_query};
use loadstone_net::Route;

/// The headers of IPv4 and of UDP (RFC 791, RFC 768), in bytes.
const IP_UDP: u32 = 20 + 8;

/// A name server at the far end of the access link, which knows the names of a page's hosts, but for those that do not
/// exist. It answers at once.
#[derive(Clone, Debug)]
pub struct NameServerPlan {
    /// The route of queries.
    pub there: Route,
    /// The route of answers.
    pub back: Route,
    /// For each host of the page what the packets of its query and of its answer have; 0 if its name is an address.
    messages: Vec<[u32; 2]>,
}

impl NameServerPlan {
    /// The one of a scenario, if names are looked up in it.
    pub(crate) fn new(
        scenario: &Scenario,
        hosts: &Hosts,
        page: &Page,
    ) -> Result<Option<NameServerPlan>, ScenarioError> {
        if scenario.variant.names == Names::Cached {
            return Ok(None);
        }
        let Some([there, back]) = hosts.to_hub else {
            return Err(ScenarioError::new("variant.names", ScenarioProblem::NamesInTopology));
        };
        let messages = page.hosts.iter().map(message_lens_of);
        let messages = messages.collect::<Result<_, _>>().map_err(|error| ScenarioError::new("page", error))?;
        Ok(Some(NameServerPlan { there, back, messages }))
    }

    /// Bytes of the IP packet with the query for a host's name.
    ///
    /// # Panics
    /// If the page has no such host.
    pub fn query_len(&self, host: HostId) -> u32 {
        self.messages[host.0 as usize][0]
    }

    /// Bytes of the IP packet with the answer.
    ///
    /// # Panics
    /// If the page has no such host.
    pub fn answer_len(&self, host: HostId) -> u32 {
        self.messages[host.0 as usize][1]
    }
}

/// Bytes of the packets of a query for a host's name and of its answer, as a real name server has them.
fn message_lens_of(host: &Host) -> Result<[u32; 2], NoName> {
    let Some(name) = host.dns_name() else { return Ok([0, 0]) };
    let mut zone = Zone::new();
    if host.name_error.is_none() {
        zone.insert(name, Record { address: Ipv4Addr::UNSPECIFIED, alpn: Vec::new() })?;
    }
    let query = address_query(0, name)?;
    let answer = zone.answer(&query).unwrap_or_default();
    Ok([query, answer].map(|message| IP_UDP + message.len() as u32))
}
