//! One page over several servers.

use crate::page::build::Url;
use crate::page::{HostSpec, PageFile};
use std::collections::BTreeMap;

impl PageFile {
    /// This page with its objects dealt in turn over `servers` hosts: object `i` goes to server
    /// `i % servers`. Server 0 is the root's own, server `k` is called `sk.` and the root's host.
    ///
    /// Paths stay, and so do the ways in which objects refer to one another: what had no name is
    /// now called by its old URL. What is particular about the root's host applies to all servers.
    #[must_use]
    pub fn dealt(&self, servers: u32) -> PageFile {
        // A root without a usable URL is for `build` to refuse.
        let Some(root) = self.objects.first().and_then(|root| Url::split(&root.url)) else { return self.clone() };
        let servers = servers.max(1) as usize;
        let scheme = if root.secure { "https" } else { "http" };
        let authority = |server: usize| match server {
            0 => root.authority.to_owned(),
            server => format!("s{server}.{}", root.authority),
        };
        let mut page = self.clone();
        for (index, object) in page.objects.iter_mut().enumerate() {
            let Some(url) = Url::split(&object.url) else { continue };
            object.move_to(format!("{scheme}://{}{}", authority(index % servers), url.path));
        }
        let root_spec = self.hosts.get(&root.authority.to_ascii_lowercase());
        let used = servers.min(self.objects.len());
        // Each of them is a server of its own.
        let alone = |spec: &HostSpec| HostSpec { served_by: None, ..spec.clone() };
        let named = |server| root_spec.map(|spec| (authority(server).to_ascii_lowercase(), alone(spec)));
        page.hosts = (0..used).filter_map(named).collect::<BTreeMap<_, _>>();
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::HostId;

    fn page() -> PageFile {
        PageFile::from_json(
            br#"{"objects": [
                {"url": "https://A.test:8443/", "bytes": 1},
                {"url": "https://b.test/1?x", "bytes": 2},
                {"url": "http://c.test/2", "bytes": 3, "name": "two"},
                {"url": "https://A.test:8443/3", "bytes": 4, "needs": [{"node": "https://b.test/1?x"}, {"node": "two"}]}],
              "hosts": {"a.test:8443": {"rtt_ms": 40}, "b.test": {"think_ms": 20}}}"#,
        )
        .unwrap()
    }

    #[test]
    fn objects_go_round_the_servers_and_keep_their_paths() {
        let dealt = page().dealt(2);
        let urls: Vec<_> = dealt.objects.iter().map(|object| object.url.as_str()).collect();
        let (own, other) = ("https://A.test:8443", "https://s1.A.test:8443");
        assert_eq!(urls, [format!("{own}/"), format!("{other}/1?x"), format!("{own}/2"), format!("{other}/3")]);
    }

    #[test]
    fn what_objects_need_stays_what_it_was() {
        let (before, after) = (page().build().unwrap(), page().dealt(3).build().unwrap());
        let needs = |page: &crate::page::Page| page.activities.iter().map(|a| a.needs.clone()).collect::<Vec<_>>();
        assert_eq!(needs(&before), needs(&after));
        assert_eq!(after.activities[2].name, "two");
        let hosts: Vec<_> = after.fetches().map(|(_, fetch)| fetch.host).collect();
        assert_eq!(hosts, [HostId(0), HostId(1), HostId(2), HostId(0)]);
    }

    #[test]
    fn only_the_root_s_host_lends_its_times() {
        let after = page().dealt(3).build().unwrap();
        let times: Vec<_> =
            after.hosts.iter().map(|host| (host.extra_rtt.as_millis(), host.think.as_millis())).collect();
        assert_eq!(times, [(40, 0); 3]);
    }

    #[test]
    fn more_servers_than_objects_and_none_at_all_are_no_trouble() {
        assert_eq!(page().dealt(100).build().unwrap().hosts.len(), 4);
        assert_eq!(page().dealt(0), page().dealt(1));
        assert_eq!(page().dealt(1).build().unwrap().hosts.len(), 1);
        assert_eq!(PageFile::default().dealt(2), PageFile::default());
    }
}
