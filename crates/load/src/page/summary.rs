//! What a page is, in numbers.

use super::{Activity, HeaderBytes, Needed, Page, Task};
use loadstone_http::Protocol;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many of the busiest hosts are looked at.
const TOP_HOSTS: usize = 5;

/// What `loadstone page` shows of a page.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Summary {
    /// How many objects.
    pub objects: usize,
    /// How many of them the page needs in order to be loaded.
    pub needed_objects: usize,
    /// Bytes of all bodies.
    pub bytes: u64,
    /// Bytes of all requests' heads, as HTTP/1.1 writes them.
    pub request_header_bytes: u64,
    /// Bytes of all responses' heads, as HTTP/1.1 writes them.
    pub response_header_bytes: u64,
    /// Bytes of all heads over each protocol that compresses them, one connection to each host.
    pub compressed_header_bytes: BTreeMap<&'static str, HeaderBytes>,
    /// How many names of hosts.
    pub hosts: usize,
    /// The hosts with the most requests, up to five, the busiest first; of equals the first in page order.
    pub top_hosts: Vec<String>,
    /// The share of all requests that the busiest host has, the busiest two, and so on up to five,
    /// in percent.
    pub top_hosts_pct: Vec<f64>,
    /// How many objects the longest chain of needs has.
    pub depth: usize,
    /// The names of that chain's objects, from its beginning; of several the first in page order.
    pub longest_chain: Vec<String>,
    /// Objects and bytes of each kind.
    pub kinds: BTreeMap<String, KindSummary>,
}

/// What a page has of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct KindSummary {
    /// How many objects.
    pub objects: usize,
    /// Bytes of their bodies.
    pub bytes: u64,
}

impl Summary {
    /// Counts a page.
    pub fn of(page: &Page) -> Summary {
        let mut summary = Summary { objects: page.objects, ..Summary::default() };
        for (activity, fetch) in page.fetches() {
            summary.needed_objects += usize::from(activity.needed == Needed::Always);
            summary.bytes += fetch.body.len;
            summary.request_header_bytes += fetch.request.http1_len() as u64;
            summary.response_header_bytes += fetch.response.http1_len() as u64;
            let kind = summary.kinds.entry(fetch.kind.clone()).or_default();
            kind.objects += 1;
            kind.bytes += fetch.body.len;
        }
        let compressing = Protocol::ALL.into_iter().filter(|protocol| protocol.is_multiplexed());
        summary.compressed_header_bytes =
            compressing.map(|protocol| (protocol.name(), HeaderBytes::of(page, protocol))).collect();
        let requests = requests_per_host(page);
        summary.hosts = requests.len();
        let busiest = requests.iter().take(TOP_HOSTS);
        summary.top_hosts = busiest.clone().map(|(host, _)| (*host).to_owned()).collect();
        let mut sum = 0;
        let share = |(_, requests): &(&str, usize)| {
            sum += requests;
            100.0 * sum as f64 / page.objects as f64
        };
        summary.top_hosts_pct = busiest.map(share).collect();
        let chain = longest_chain(page);
        summary.depth = chain.len();
        summary.longest_chain = chain.iter().map(|at| page.activities[*at].name.clone()).collect();
        summary
    }
}

/// How many requests each host has, the busiest first; of equals the first in page order.
fn requests_per_host(page: &Page) -> Vec<(&str, usize)> {
    // One name under `http` and `https` is one host here.
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (at, (_, fetch)) in page.fetches().enumerate() {
        let (count, _) = counts.entry(&page.hosts[fetch.host.0 as usize].name).or_insert((0, at));
        *count += 1;
    }
    let mut hosts: Vec<_> = counts.into_iter().collect();
    hosts.sort_unstable_by_key(|(_, (count, first))| (Reverse(*count), *first));
    hosts.into_iter().map(|(host, (count, _))| (host, count)).collect()
}

/// The objects of the longest chain, in its order.
fn longest_chain(page: &Page) -> Vec<usize> {
    let activities = &page.activities;
    let is_object = |at: usize| matches!(activities[at].task, Task::Fetch(_));
    // How many objects the longest chain to each activity has, and where it comes from.
    let mut chains: Vec<(usize, Option<usize>)> = vec![(0, None); activities.len()];
    for at in in_order(activities) {
        let before = activities[at].needs.iter().map(|need| need.on.0 as usize);
        let longest = before.max_by_key(|before| (chains[*before].0, Reverse(*before)));
        let length = longest.map_or(0, |before| chains[before].0);
        chains[at] = (length + usize::from(is_object(at)), longest);
    }
    let ends = (0..page.objects).max_by_key(|at| (chains[*at].0, Reverse(*at)));
    let mut chain: Vec<usize> = std::iter::successors(ends, |at| chains[*at].1).filter(|at| is_object(*at)).collect();
    chain.reverse();
    chain
}

/// The activities in an order in which each comes after all that it needs.
pub(super) fn in_order(activities: &[Activity]) -> Vec<usize> {
    let mut missing: Vec<usize> = activities.iter().map(|activity| activity.needs.len()).collect();
    let mut followers = vec![Vec::new(); activities.len()];
    for (at, activity) in activities.iter().enumerate() {
        for need in &activity.needs {
            followers[need.on.0 as usize].push(at);
        }
    }
    let mut order: Vec<usize> = (0..activities.len()).filter(|at| missing[*at] == 0).collect();
    let mut next = 0;
    while next < order.len() {
        for follower in &followers[order[next]] {
            missing[*follower] -= 1;
            if missing[*follower] == 0 {
                order.push(*follower);
            }
        }
        next += 1;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::PageFile;

    fn of(json: &str) -> Summary {
        Summary::of(&PageFile::from_json(json.as_bytes()).unwrap().build().unwrap())
    }

    #[test]
    fn objects_bytes_heads_and_kinds_are_summed() {
        let summary = of(r#"{"objects": [{"url": "https://a.test/", "bytes": 10},
            {"url": "https://a.test/1.png", "bytes": 5, "needed": false, "request_header_bytes": 500},
            {"url": "https://b.test/2.png", "bytes": 7, "response_header_bytes": 300}]}"#);
        assert_eq!((summary.objects, summary.needed_objects, summary.bytes, summary.hosts), (3, 2, 22, 2));
        assert_eq!((summary.request_header_bytes, summary.response_header_bytes), (1300, 800));
        assert_eq!(summary.kinds["image"], KindSummary { objects: 2, bytes: 12 });
        assert_eq!(summary.kinds["html"], KindSummary { objects: 1, bytes: 10 });
    }

    #[test]
    fn shares_of_the_busiest_hosts_add_up() {
        let object = |host: &str, path: u32| format!(r#"{{"url": "{host}.test/{path}", "bytes": 1}}"#);
        let hosts =
            ["https://b", "https://a", "http://a", "https://a", "https://a", "https://b", "https://c", "https://d"];
        let objects: Vec<_> = (0..).zip(hosts).map(|(path, host)| object(host, path)).collect();
        let summary = of(&format!(r#"{{"objects": [{}]}}"#, objects.join(",")));
        assert_eq!((summary.hosts, summary.top_hosts_pct), (4, vec![50.0, 75.0, 87.5, 100.0]));
        assert_eq!(summary.top_hosts, ["a.test", "b.test", "c.test", "d.test"]);
        let many: Vec<_> = (0..10).map(|i| object(&format!("https://h{i}"), i)).collect();
        let summary = of(&format!(r#"{{"objects": [{}]}}"#, many.join(",")));
        assert_eq!(summary.top_hosts_pct, [10.0, 20.0, 30.0, 40.0, 50.0]);
    }

    #[test]
    fn the_longest_chain_counts_objects_and_passes_through_computing() {
        let summary = of(r#"{"objects": [{"url": "https://a.test/", "bytes": 1},
            {"url": "https://a.test/b", "bytes": 1, "needs": [{"node": "late"}]},
            {"url": "https://a.test/c", "bytes": 1, "needs": [{"node": "https://a.test/", "on": "start"}]},
            {"url": "https://a.test/d", "bytes": 1, "needs": [{"node": "late"}, {"node": "https://a.test/"}]}],
            "compute": [{"name": "early", "ms": 1, "needs": [{"node": "https://a.test/c"}]},
                        {"name": "late", "ms": 1, "needs": [{"node": "early"}]}]}"#);
        assert_eq!(summary.depth, 3);
        assert_eq!(summary.longest_chain, ["https://a.test/", "https://a.test/c", "https://a.test/b"]);
    }

    #[test]
    fn a_page_of_one_object_has_depth_one() {
        let summary = of(r#"{"objects": [{"url": "https://a.test/", "bytes": 1}]}"#);
        assert_eq!((summary.depth, summary.longest_chain), (1, vec!["https://a.test/".to_owned()]));
        assert_eq!(summary.top_hosts_pct, [100.0]);
    }
}
