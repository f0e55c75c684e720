//! Hosts that came on one connection: they have one address, and a certificate for all of them (RFC 9113, section 9.1.1).

use super::fetched::HarFetch;
use super::spoken::{self, RecordedProtocol};
use crate::page::HostSpec;
use crate::page::build::Url;
use std::collections::BTreeMap;

/// For each host that came on a connection with others, the first of these.
pub(super) fn hosts(entries: &[HarFetch<'_>]) -> BTreeMap<String, HostSpec> {
    let mut first_of: BTreeMap<_, String> = BTreeMap::new();
    let mut servers: BTreeMap<String, String> = BTreeMap::new();
    for fetched in entries.iter().filter(|fetched| fetched.skip.is_none()) {
        let is_shared = spoken::protocol(fetched) == Some(RecordedProtocol::H2);
        let connection = fetched.entry.connection.key().filter(|key| is_shared && key != "0");
        let (Some(connection), Some(url)) = (connection, Url::split(&fetched.url).filter(|url| url.secure)) else {
            continue;
        };
        let host = url.authority.to_ascii_lowercase();
        let server = servers.entry(host.clone()).or_insert_with(|| host.clone()).clone();
        // Several loads in one file may number their connections alike.
        let address = fetched.entry.server_address.text().unwrap_or_default();
        let first = first_of.entry((connection, address)).or_insert(host);
        let joined = servers[first].clone();
        if joined != server {
            servers.values_mut().filter(|known| **known == server).for_each(|known| known.clone_from(&joined));
        }
    }
    let others = servers.into_iter().filter(|(host, server)| host != server);
    others.map(|(host, server)| (host, HostSpec { served_by: Some(server), ..HostSpec::default() })).collect()
}
