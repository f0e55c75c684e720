//! The names of a page's hosts on a bed, and where they are.

use crate::{Bed, BedHost, BedServers};
use loadstone_http::Protocol;
use loadstone_load::{NoName, Record, Zone};
use loadstone_scenario::{HostRole, Plan};
use std::net::IpAddr;

/// A host that has a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedHost {
    /// Without a port.
    pub name: String,
    /// Where its server is.
    pub address: IpAddr,
    /// Where clients find it: there, or at the edge that is met under its name.
    pub met_at: IpAddr,
    /// What its server speaks by TLS, the best first; nothing is known of a program.
    pub protocols: Vec<Protocol>,
    /// Which host of the bed its server is.
    pub(crate) at: BedHost,
}

/// The names of the page's hosts that exist, each once, with the first host that has it.
pub(crate) fn named_hosts(plan: &Plan, bed: &Bed, servers: &BedServers) -> Vec<NamedHost> {
    let mut hosts: Vec<NamedHost> = Vec::new();
    for (at, host) in plan.hosts().iter().enumerate() {
        let HostRole::Origin { page, host: id } = host.role else { continue };
        let of_page = &plan.page_at(page).hosts[id.0 as usize];
        let Some(name) = of_page.dns_name().filter(|_| of_page.name_error.is_none()) else { continue };
        if hosts.iter().any(|known| known.name == name) {
            continue;
        }
        let protocols = match (servers, plan.variant().protocol_to(&host.name)) {
            (BedServers::Programs, _) => Vec::new(),
            (_, Protocol::Http1) => vec![Protocol::Http1],
            (_, protocol) => vec![protocol, Protocol::Http1],
        };
        let (at, met) = (BedHost(at), BedHost(plan.hosts()[BedHost::CLIENT.0].ways[id.0 as usize].to));
        let (address, met_at) = (bed.address(at), bed.address(met));
        hosts.push(NamedHost { name: name.to_owned(), address, met_at, protocols, at });
    }
    hosts
}

/// Moves names to the first of those that one server serves, so that browsers may use a connection to one for the others
/// (RFC 9113, section 9.1.1).
pub(crate) fn share_servers(plan: &Plan, hosts: &mut [NamedHost]) {
    for host in plan.hosts() {
        let HostRole::Origin { page, host: id } = host.role else { continue };
        let of_page = &plan.page_at(page).hosts;
        let own = &of_page[id.0 as usize];
        let place = |name: Option<&str>| hosts.iter().position(|named| Some(&named.name[..]) == name);
        let server = &of_page[own.server.0 as usize];
        let (Some(at), Some(first)) = (place(own.dns_name()), place(server.dns_name())) else { continue };
        if hosts[at].protocols == hosts[first].protocols {
            let (from, NamedHost { address, met_at, at: to, .. }) = (hosts[at].at, hosts[first].clone());
            // With all that are there already: with and without credentials a name may have different neighbours.
            for named in hosts.iter_mut().filter(|named| named.at == from) {
                (named.address, named.met_at, named.at) = (address, met_at, to);
            }
        }
    }
}

/// What a name server knows of them.
///
/// # Errors
/// If it cannot have one of them.
pub(crate) fn zone(hosts: &[NamedHost]) -> Result<Zone, NoName> {
    let mut zone = Zone::new();
    for NamedHost { name, met_at, protocols, .. } in hosts {
        if let IpAddr::V4(address) = *met_at {
            zone.insert(name, Record { address, alpn: protocols.clone() })?;
        }
    }
    Ok(zone)
}
