//! Hosts that one server answers for: they came on one connection, or have one address and a certificate for all of them
//! (RFC 9113, section 9.1.1).

use super::fetched::HarFetch;
use super::spoken::{self, RecordedProtocol};
use crate::page::HostSpec;
use crate::page::build::{Url, split_authority};
use std::collections::BTreeMap;

/// For each host that came on a connection with others, or whose address and name are those of an earlier one's
/// certificate, the first of these.
///
/// Chromium keeps apart what it sends with cookies, without credentials, and without the cookies of other sites (its
/// `PrivacyMode`). So requests without credentials count for hosts alone that have no others: else the connection
/// of these would join what is apart otherwise.
pub(super) fn hosts(
    entries: &[HarFetch<'_>],
    is_anonymous: impl Fn(&HarFetch<'_>) -> bool,
) -> BTreeMap<String, HostSpec> {
    let came = entries.iter().filter(|fetched| fetched.skip.is_none());
    let (anonymous, others): (Vec<_>, Vec<_>) = came.partition(|fetched| is_anonymous(fetched));
    let mut servers = Servers::default();
    servers.join(&others, 0);
    servers.join(&anonymous, servers.names.len());
    servers.join_certified(entries);
    let hosts = 0..servers.names.len();
    let served: Vec<(usize, usize)> = hosts.map(|host| (host, servers.first(host))).collect();
    let names = |(host, first): (usize, usize)| (servers.names[host].clone(), servers.names[first].clone());
    let served = served.into_iter().filter(|(host, first)| host != first).map(names);
    served.map(|(host, first)| (host, HostSpec { served_by: Some(first), ..HostSpec::default() })).collect()
}

/// Which hosts belong together: disjoint sets, each known by its first member.
#[derive(Default)]
struct Servers {
    /// In the order in which they are first seen.
    names: Vec<String>,
    places: BTreeMap<String, usize>,
    /// For each host one before it in its set, or itself if it is the first.
    before: Vec<usize>,
}

impl Servers {
    /// Joins the hosts of each connection, of those that are not among the first `known`.
    fn join(&mut self, entries: &[&HarFetch<'_>], known: usize) {
        let mut first_of: BTreeMap<_, usize> = BTreeMap::new();
        for fetched in entries {
            let is_shared = spoken::protocol(fetched) == Some(RecordedProtocol::H2);
            let connection = fetched.entry.connection.key().filter(|key| is_shared && key != "0");
            let url = Url::split(&fetched.url).filter(|url| url.secure);
            let (Some(connection), Some(url)) = (connection, url) else { continue };
            let host = self.place(url.authority.to_ascii_lowercase());
            if host < known {
                continue;
            }
            // Several loads in one file may number their connections alike.
            let address = fetched.entry.server_address.text().unwrap_or_default();
            let other = *first_of.entry((connection, address)).or_insert(host);
            self.unite(host, other);
        }
    }

    /// Joins each host to the first one at its address and port whose certificate names it. A recording over HTTP/1.1
    /// knows that, too.
    fn join_certified(&mut self, entries: &[HarFetch<'_>]) {
        let mut named_by: BTreeMap<(&str, &str, String), usize> = BTreeMap::new();
        for fetched in entries.iter().filter(|fetched| fetched.skip.is_none()) {
            let url = Url::split(&fetched.url).filter(|url| url.secure);
            let (Some(address), Some(url)) = (fetched.entry.server_address.filled(), url) else { continue };
            let (name, port) = split_authority(url.authority);
            let (name, port) = (name.to_ascii_lowercase(), port.unwrap_or("443"));
            let host = self.place(url.authority.to_ascii_lowercase());
            let wildcard = name.split_once('.').map(|(_, domain)| format!("*.{domain}"));
            let names = [Some(name), wildcard].into_iter().flatten();
            let certified = names.filter_map(|name| named_by.get(&(address, port, name)).copied()).min();
            if let Some(other) = certified {
                self.unite(host, other);
            }
            let certificate = fetched.entry.security.0.iter().flat_map(|security| &security.alternative_names.0);
            for name in certificate.map(|name| name.to_ascii_lowercase()) {
                named_by.entry((address, port, name)).or_insert(host);
            }
        }
    }

    fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first(one), self.first(other));
        self.before[one.max(other)] = one.min(other);
    }

    fn place(&mut self, name: String) -> usize {
        let next = self.names.len();
        *self.places.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            self.before.push(next);
            next
        })
    }

    /// The first host of a host's set.
    fn first(&mut self, mut host: usize) -> usize {
        while self.before[host] != host {
            self.before[host] = self.before[self.before[host]];
            host = self.before[host];
        }
        host
    }
}
