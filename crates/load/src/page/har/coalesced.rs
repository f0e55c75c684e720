//! Hosts that came on one connection: they have one address, and a certificate for all of them (RFC 9113, section 9.1.1).

use super::fetched::HarFetch;
use super::spoken::{self, RecordedProtocol};
use crate::page::HostSpec;
use crate::page::build::Url;
use std::collections::BTreeMap;

/// For each host that came on a connection with others, the first of these.
///
/// Chromium keeps apart what it sends with cookies, without credentials, and without the cookies of other sites (its
/// `PrivacyMode`). So requests without credentials count for hosts alone that have no others: else the connection
/// of these would join what is apart otherwise.
pub(super) fn hosts(
    entries: &[HarFetch<'_>],
    is_anonymous: impl Fn(&HarFetch<'_>) -> bool,
) -> BTreeMap<String, HostSpec> {
    let mut servers: BTreeMap<String, String> = BTreeMap::new();
    let came = entries.iter().filter(|fetched| fetched.skip.is_none());
    let (anonymous, others): (Vec<_>, Vec<_>) = came.partition(|fetched| is_anonymous(fetched));
    join(&mut servers, &others, |_| true);
    let known = servers.clone();
    join(&mut servers, &anonymous, |host| !known.contains_key(host));
    let served = servers.into_iter().filter(|(host, server)| host != server);
    served.map(|(host, server)| (host, HostSpec { served_by: Some(server), ..HostSpec::default() })).collect()
}

/// Joins the hosts of each connection, of those that count.
fn join(servers: &mut BTreeMap<String, String>, entries: &[&HarFetch<'_>], counts: impl Fn(&str) -> bool) {
    let mut first_of: BTreeMap<_, String> = BTreeMap::new();
    for fetched in entries {
        let is_shared = spoken::protocol(fetched) == Some(RecordedProtocol::H2);
        let connection = fetched.entry.connection.key().filter(|key| is_shared && key != "0");
        let url = Url::split(&fetched.url).filter(|url| url.secure);
        let (Some(connection), Some(url)) = (connection, url) else { continue };
        let host = url.authority.to_ascii_lowercase();
        if !counts(&host) {
            continue;
        }
        let server = servers.entry(host.clone()).or_insert_with(|| host.clone()).clone();
        // Several loads in one file may number their connections alike.
        let address = fetched.entry.server_address.text().unwrap_or_default();
        let first = first_of.entry((connection, address)).or_insert(host);
        let joined = servers[first].clone();
        if joined != server {
            servers.values_mut().filter(|known| **known == server).for_each(|known| known.clone_from(&joined));
        }
    }
}
