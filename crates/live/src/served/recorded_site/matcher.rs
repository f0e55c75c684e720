//! Which recorded URL answers a request: the same one, else the likest of those with its path, else of those whose
//! paths have its shape. Host and method always count.

use super::shape::{self, QueryPairs};
use crate::served::recording::name_of;
use loadstone_http::{RequestHead, Scheme};
use loadstone_load::page::path_shape;
use std::collections::BTreeMap;

/// How a request was matched with what was recorded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Likeness {
    /// By its URL.
    Exact,
    /// By its path, and the share of equal pairs in its query.
    Query,
    /// By the shape of its path, and that share.
    Shape,
}

/// Which queries a recorded URL answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Queries {
    /// Its own.
    #[default]
    Own,
    /// All.
    Any,
}

/// The place of a URL among those that were recorded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct UrlId(pub(super) usize);

/// All URLs that were asked for, each with its responses.
#[derive(Debug, Default)]
pub(super) struct Matcher {
    urls: Vec<AskedUrl>,
    hosts: BTreeMap<(Vec<u8>, String), Paths>,
    /// For clients that have only the server's address.
    first: String,
}

/// A URL that was asked for with one method.
#[derive(Debug)]
struct AskedUrl {
    scheme: Scheme,
    authority: String,
    target: Vec<u8>,
    pairs: QueryPairs,
    queries: Queries,
    /// In the order of recording.
    responses: Vec<usize>,
}

/// The URLs of one host and method, in the order of recording.
#[derive(Debug, Default)]
struct Paths {
    by_path: BTreeMap<Vec<u8>, Vec<UrlId>>,
    by_shape: BTreeMap<Vec<u8>, Vec<UrlId>>,
}

impl Matcher {
    /// Adds a response; `request` is what it answered.
    pub(super) fn add(&mut self, request: &RequestHead, queries: Queries, response: usize) {
        let authority = String::from_utf8_lossy(&request.authority).to_ascii_lowercase();
        let host = name_of(&authority).to_owned();
        if self.urls.is_empty() {
            self.first.clone_from(&host);
        }
        let paths = self.hosts.entry((request.method.to_vec(), host)).or_default();
        let (path, _) = shape::split(&request.path);
        let known = paths.by_path.entry(path.to_vec()).or_default();
        let is_it = |id: &&UrlId| {
            let AskedUrl { scheme, authority: at, target, .. } = &self.urls[id.0];
            (*scheme, at, &target[..]) == (request.scheme, &authority, &request.path[..])
        };
        if let Some(id) = known.iter().find(is_it) {
            return self.urls[id.0].responses.push(response);
        }
        let id = UrlId(self.urls.len());
        known.push(id);
        paths.by_shape.entry(path_shape(path)).or_default().push(id);
        let (scheme, target) = (request.scheme, request.path.to_vec());
        let pairs = QueryPairs::of(&target);
        self.urls.push(AskedUrl { scheme, authority, target, pairs, queries, responses: vec![response] });
    }

    /// How many URLs there are.
    pub(super) fn len(&self) -> usize {
        self.urls.len()
    }

    /// How many responses a URL has.
    pub(super) fn responses(&self, id: UrlId) -> usize {
        self.urls[id.0].responses.len()
    }

    /// The response to the request of this URL before which so many were given: the last one from then on.
    pub(super) fn response(&self, id: UrlId, given: usize) -> usize {
        let responses = &self.urls[id.0].responses;
        responses[given.min(responses.len() - 1)]
    }

    /// The URL that answers a request, of those `given` so often before. Of equals it is the first one that has
    /// responses left, in the order of recording; else the first.
    pub(super) fn find(&self, method: &[u8], request: &RequestHead, given: &[usize]) -> Option<(UrlId, Likeness)> {
        let authority = String::from_utf8_lossy(&request.authority).to_ascii_lowercase();
        let mut key = (method.to_vec(), name_of(&authority).to_owned());
        if is_address(&key.1) && !self.hosts.keys().any(|(_, host)| *host == key.1) {
            key.1.clone_from(&self.first);
        }
        let paths = self.hosts.get(&key)?;
        let (path, _) = shape::split(&request.path);
        let same = paths.by_path.get(path).map_or(&[][..], Vec::as_slice);
        if let Some(id) = self.exact(same, request, &authority) {
            return Some((id, Likeness::Exact));
        }
        let pairs = QueryPairs::of(&request.path);
        if let Some(id) = self.likest(same, &pairs, given) {
            return Some((id, Likeness::Query));
        }
        let alike = paths.by_shape.get(&path_shape(path))?;
        self.likest(alike, &pairs, given).map(|id| (id, Likeness::Shape))
    }

    /// The same URL; of several that differ in scheme or port, which are other ones here as a rule, the likest.
    fn exact(&self, same: &[UrlId], request: &RequestHead, authority: &str) -> Option<UrlId> {
        let is_equal = |id: &&UrlId| {
            let url = &self.urls[id.0];
            url.target == request.path || url.queries == Queries::Any
        };
        let rank = |id: &&UrlId| {
            let url = &self.urls[id.0];
            (url.target != request.path, url.authority != authority, url.scheme != request.scheme)
        };
        same.iter().filter(is_equal).min_by_key(rank).copied()
    }

    fn likest(&self, among: &[UrlId], pairs: &QueryPairs, given: &[usize]) -> Option<UrlId> {
        let is_left = |id: UrlId| given[id.0] < self.responses(id);
        let mut best = None;
        for id in among.iter().copied() {
            let share = self.urls[id.0].pairs.share(pairs);
            best = match best {
                Some((other, most)) => {
                    let is_better =
                        share.is_more_than(most) || (!most.is_more_than(share) && is_left(id) && !is_left(other));
                    Some(if is_better { (id, share) } else { (other, most) })
                }
                None => Some((id, share)),
            };
        }
        best.map(|(id, _)| id)
    }
}

/// Whether a host is an address or this machine, not a name that was recorded.
fn is_address(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.is_empty() || host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok()
}
