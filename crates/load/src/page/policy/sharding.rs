//! Over how many hosts a page is spread.

use crate::page::build::{Url, split_authority};
use crate::page::{ObjectSpec, PageFile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Over which hosts the objects of a page are spread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sharding {
    /// As they are. Hosts with one address and certificate share connections over HTTP/2.
    #[default]
    Recorded,
    /// Each host has a server of its own (`nsdi` 6: by full domain).
    Hosts,
    /// All hosts of a registered domain are one: the first that the page names (`nsdi` 6: by top-level domain).
    Domains,
    /// All are the root's host.
    One,
}

impl Sharding {
    /// Whether it is what is taken where nothing else is said.
    pub fn is_default(&self) -> bool {
        *self == Sharding::default()
    }
}

impl PageFile {
    /// This page with its objects on hosts as `sharding` has it. What comes to another host takes that one's round trip
    /// and time to think. Where a name does not exist, its objects stay.
    #[must_use]
    pub fn sharded(&self, sharding: Sharding) -> PageFile {
        let mut page = self.clone();
        let root = self.objects.first().and_then(|root| Url::split(&root.url));
        // A root without a usable URL is for `build` to refuse.
        let Some(root) = root.filter(|_| sharding != Sharding::Recorded) else { return page };
        page.hosts.values_mut().for_each(|host| host.served_by = None);
        let mut firsts: BTreeMap<(String, bool), String> = BTreeMap::new();
        for object in &mut page.objects {
            let Some(url) = Url::split(&object.url) else { continue };
            let (host, secure) = (url.authority.to_ascii_lowercase(), url.secure);
            if self.hosts.get(&host).is_some_and(|spec| spec.name_error.is_some()) {
                continue;
            }
            match sharding {
                Sharding::Recorded | Sharding::Hosts => {}
                Sharding::One => object.move_to_host(root.secure, root.authority),
                Sharding::Domains => {
                    let domain = (registrable_domain(&host).to_owned(), secure);
                    let first = firsts.entry(domain).or_insert_with(|| url.authority.to_owned());
                    object.move_to_host(secure, first);
                }
            }
        }
        page
    }
}

impl ObjectSpec {
    /// Puts the object on a host, where it keeps its path. On a URL that is none it does nothing: `build` refuses it.
    pub(in crate::page) fn move_to_host(&mut self, secure: bool, authority: &str) {
        let Some(url) = Url::split(&self.url).filter(|url| (url.secure, url.authority) != (secure, authority)) else {
            return;
        };
        // A head that is stated in bytes names its host.
        let longer = authority.len().saturating_sub(url.authority.len()) as u32;
        let scheme = if secure { "https" } else { "http" };
        let moved = format!("{scheme}://{authority}{}", url.path);
        self.request_header_bytes = self.request_header_bytes.map(|bytes| bytes + longer);
        self.move_to(moved);
    }
}

/// Whose a host is: the domain that was registered, by the Public Suffix List, as in `example.co.uk`. The host itself
/// where there is none.
pub fn registrable_domain(host: &str) -> &str {
    let (name, _) = split_authority(host);
    if name.trim_matches(['[', ']']).parse::<core::net::IpAddr>().is_ok() {
        name
    } else {
        psl::domain_str(name).unwrap_or(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> PageFile {
        PageFile::from_json(
            br#"{"objects": [
                {"url": "https://www.a.test/", "bytes": 10},
                {"url": "https://img.a.test/1.png", "bytes": 20},
                {"url": "http://img.a.test/2.png", "bytes": 30, "request_header_bytes": 300},
                {"url": "https://x.b.test/3.js", "bytes": 40, "needs": [{"node": "https://img.a.test/1.png"}]},
                {"url": "https://y.b.test/4.js?q", "bytes": 50, "name": "four"},
                {"url": "https://gone.b.test/5", "bytes": 0}],
              "hosts": {"img.a.test": {"served_by": "www.a.test"}, "x.b.test": {"rtt_ms": 40},
                        "gone.b.test": {"name_error": 4}}}"#,
        )
        .unwrap()
    }

    /// The page, and the hosts of its objects.
    fn sharded(sharding: Sharding) -> (PageFile, Vec<String>) {
        let sharded = page().sharded(sharding);
        let hosts = sharded.names_and_hosts().map(|(_, host)| host).collect();
        (sharded, hosts)
    }

    #[test]
    fn hosts_of_their_own_share_no_connection() {
        assert_eq!(sharded(Sharding::Recorded).0, page());
        let (apart, hosts) = sharded(Sharding::Hosts);
        assert_eq!(hosts, sharded(Sharding::Recorded).1);
        let servers =
            |page: &PageFile| page.build().unwrap().hosts.iter().map(|host| host.server.0).collect::<Vec<_>>();
        assert_eq!(servers(&apart), [0, 1, 2, 3, 4, 5]);
        assert_eq!(servers(&page())[1], 0);
    }

    #[test]
    fn hosts_of_a_domain_are_its_first_by_scheme() {
        let (page, hosts) = sharded(Sharding::Domains);
        assert_eq!(hosts, ["www.a.test", "www.a.test", "img.a.test", "x.b.test", "x.b.test", "gone.b.test"]);
        assert_eq!(page.objects[4].url, "https://x.b.test/4.js?q");
        assert_eq!(page.hosts["x.b.test"].rtt_ms, 40.0);
    }

    #[test]
    fn all_are_on_the_root_s_host_but_what_nobody_serves() {
        let (page, hosts) = sharded(Sharding::One);
        assert_eq!(hosts[..5], ["www.a.test"; 5]);
        assert_eq!(hosts[5], "gone.b.test");
        assert_eq!(page.objects[2].url, "https://www.a.test/2.png");
        assert_eq!(page.objects[2].request_header_bytes, Some(300), "as long a name");
    }

    #[test]
    fn each_object_keeps_its_name_its_bytes_and_what_waits_for_it() {
        for sharding in [Sharding::Hosts, Sharding::Domains, Sharding::One] {
            let (before, after) = (page().build().unwrap(), sharded(sharding).0.build().unwrap());
            for (before, after) in before.activities.iter().zip(&after.activities) {
                assert_eq!((&before.name, &before.needs), (&after.name, &after.needs));
            }
            let bytes = |page: &crate::page::Page| page.fetches().map(|(_, fetch)| fetch.body.len).collect::<Vec<_>>();
            assert_eq!(bytes(&before), bytes(&after));
        }
    }

    #[test]
    fn a_domain_is_what_was_registered() {
        let domains = ["www.a.example.co.uk:8443", "example.com", "localhost", "127.0.0.1"].map(registrable_domain);
        assert_eq!(domains, ["example.co.uk", "example.com", "localhost", "127.0.0.1"]);
        assert_eq!(["[2001:db8::1]", "[2001:db8::1]:8443"].map(registrable_domain), ["[2001:db8::1]"; 2]);
    }
}
