//! Where the servers of a page's hosts are, when they are there already.

use crate::page::Host;
use crate::{NoServerAddress, ServerAddress};
use loadstone_http::Scheme;
use std::collections::BTreeMap;

/// The word for a host's own server: the one that its URLs name.
const RECORDED: &str = "recorded";

/// Where the servers of a page's hosts are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Placement {
    /// Those of single hosts, by their names.
    of_hosts: BTreeMap<String, ServerPlace>,
    /// That of all others.
    others: Option<ServerPlace>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum ServerPlace {
    /// Where the page's URLs say.
    Recorded,
    At(ServerAddress),
}

/// What was written does not say where a page's hosts are.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlacementError {
    /// It names no server.
    #[error(transparent)]
    Url(#[from] NoServerAddress),
    /// Two places for the same host.
    #[error("two places for '{0}': give one")]
    Twice(String),
    /// Two places for all hosts.
    #[error("two places for all hosts: give one of them a host, as in {0}=https://127.0.0.1:8443")]
    TwoForAll(String),
    /// A host that the page does not have.
    #[error("the page has no host '{name}': it has {}", .known.join(", "))]
    UnknownHost {
        /// What was written.
        name: String,
        /// What it has.
        known: Vec<String>,
    },
    /// A host of which nothing is said.
    #[error(
        "nothing says where '{0}' is: give --origin {0}=URL, one URL for all hosts, or 'recorded' for where the page's URLs say"
    )]
    Unplaced(String),
    /// A host whose own name cannot be asked for.
    #[error("'{0}' cannot be looked up: give --origin '{0}=URL'")]
    NoAddress(String),
}

impl Placement {
    /// Reads places, each as `URL`, `NAME=URL`, `recorded` or `NAME=recorded`.
    ///
    /// # Errors
    /// If one names no server, or two are about the same hosts.
    pub fn parse(written: &[String]) -> Result<Placement, PlacementError> {
        let mut placement = Placement::default();
        for place in written {
            let (name, url) = match place.split_once('=') {
                Some((name, url)) => (Some(name.to_ascii_lowercase()), url),
                None => (None, place.as_str()),
            };
            let place = if url == RECORDED { ServerPlace::Recorded } else { ServerPlace::At(url.parse()?) };
            let is_new = match name {
                None => placement.others.replace(place).map(|_| PlacementError::TwoForAll("a.test".to_owned())),
                Some(name) => {
                    let before = placement.of_hosts.insert(name.clone(), place);
                    before.map(|_| PlacementError::Twice(name))
                }
            };
            is_new.map_or(Ok(()), Err)?;
        }
        Ok(placement)
    }

    /// The server of each of a page's hosts, in their order.
    ///
    /// # Errors
    /// If a host has no place, or a place is that of no host.
    pub fn servers(&self, hosts: &[Host]) -> Result<Vec<ServerAddress>, PlacementError> {
        if let Some(name) = self.of_hosts.keys().find(|name| !hosts.iter().any(|host| host.name == **name)) {
            let mut known: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
            known.dedup();
            return Err(PlacementError::UnknownHost { name: name.clone(), known });
        }
        // Of a host without an address nothing is asked: it may be anywhere.
        let place = |host: &Host| self.server(if host.name_error.is_some() { &hosts[0] } else { host });
        hosts.iter().map(place).collect()
    }

    fn server(&self, host: &Host) -> Result<ServerAddress, PlacementError> {
        let unplaced = || PlacementError::Unplaced(host.name.clone());
        match self.of_hosts.get(&host.name).or(self.others.as_ref()).ok_or_else(unplaced)? {
            ServerPlace::At(server) => Ok(server.clone()),
            ServerPlace::Recorded => {
                let scheme = if host.secure { Scheme::Https } else { Scheme::Http };
                let url = format!("{}://{}", scheme.name(), host.name);
                url.parse().map_err(|_| PlacementError::NoAddress(host.name.clone()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::PageFile;

    fn hosts() -> Vec<Host> {
        let page =
            br#"{"objects": [{"url": "https://a.test/", "bytes": 1}, {"url": "http://b.test:81/", "bytes": 1}]}"#;
        PageFile::from_json(page).unwrap().build().unwrap().hosts
    }

    fn placed(written: &[&str]) -> Result<Vec<String>, String> {
        let written: Vec<String> = written.iter().map(|place| (*place).to_owned()).collect();
        let servers = Placement::parse(&written).and_then(|placement| placement.servers(&hosts()));
        servers.map(|servers| servers.iter().map(ToString::to_string).collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn one_url_is_the_place_of_all_hosts_but_those_that_have_their_own() {
        let all = ["https://192.0.2.1:443", "https://192.0.2.1:443"];
        assert_eq!(placed(&["https://192.0.2.1"]).unwrap(), all);
        let two = ["http://[::1]:8080", "https://localhost:8443"];
        assert_eq!(placed(&["https://localhost:8443/", "A.test=http://[::1]:8080"]).unwrap(), two);
    }

    #[test]
    fn recorded_is_where_the_urls_say() {
        assert_eq!(placed(&["recorded"]).unwrap(), ["https://a.test:443", "http://b.test:81"]);
        let mixed = ["https://a.test:443", "http://127.0.0.1:80"];
        assert_eq!(placed(&["http://127.0.0.1", "a.test=recorded"]).unwrap(), mixed);
    }

    #[test]
    fn what_says_nothing_or_too_much_is_refused_with_a_remedy() {
        for (written, why) in [
            (&["a.test=https://127.0.0.1"][..], "--origin b.test:81=URL"),
            (&["https://127.0.0.1/index.html"], "but no path"),
            (&["127.0.0.1:8443"], "write http:// or https://"),
            (&["https://127.0.0.1", "http://127.0.0.1"], "give one of them a host"),
            (&["a.test=recorded", "a.test=http://127.0.0.1", "recorded"], "two places for 'a.test'"),
            (&["recorded", "c.test=http://127.0.0.1"], "it has a.test, b.test:81"),
        ] {
            let error = placed(written).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
