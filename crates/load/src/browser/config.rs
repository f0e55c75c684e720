//! How a browser behaves.

use super::pool::Pool;
use super::{Browser, Names};
use crate::page::HostId;
use loadstone_http::{Protocol, SessionFactory};
use loadstone_units::Factors;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How a browser behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// The most connections to a host at a time, where one carries one request at a time.
    pub connections: u32,
    /// The most connections to all hosts at a time; any number if it is left out.
    pub connections_in_all: Option<u32>,
    /// What they speak, but where a host speaks another ([`Browser::with_protocols`]).
    pub protocol: Protocol,
    /// How requests come to the one connection of a protocol with many streams.
    pub joining: Joining,
    /// Where their sessions come from.
    pub sessions: Arc<SessionFactory>,
    /// What it does with what servers tell ahead.
    pub hints: Hints,
    /// What it knows of the names of hosts.
    pub names: Names,
}

/// How requests come to the one connection to a host, of a protocol with many streams, when they were wanted
/// before it was established.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Joining {
    /// They wait for it, and all go at once.
    Together,
    /// The browser does not know yet what the host speaks, so each of them opens a connection of its own, as
    /// many at a time as HTTP/1.1 may have. The first that is established stays; the others are closed when they
    /// are, and their requests join it then.
    OneByOne,
    /// The same, but once the first is established all requests go there, and the others are given up at once. So do
    /// the browsers of today (Chromium's `SpdySessionPool::OnNewSpdySessionAvailable`).
    Racing,
}

/// What a browser does when a response tells it to fetch something (Link with `rel=preload`,
/// X-Subresource).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Hints {
    /// Nothing: recorded pages have such fields too, and when they had their effect is part of the page.
    #[default]
    Ignore,
    /// It fetches objects of the same host at once.
    Follow,
}

impl Browser {
    /// The same with all computing taking so many times as long.
    #[must_use]
    pub fn with_computing(mut self, factor: f64) -> Browser {
        self.progress.scale_computing(factor);
        self
    }

    /// The same where hosts speak these protocols, in the page's order.
    #[must_use]
    pub fn with_protocols(mut self, protocols: &[Protocol]) -> Browser {
        let Config { connections, joining, .. } = self.config;
        self.pools = protocols.iter().map(|protocol| Pool::new(*protocol, connections, joining)).collect();
        self
    }

    /// The same where hosts are in other places than in the page: those that one server served are apart where their
    /// places differ.
    #[must_use]
    pub fn with_places<T: PartialEq>(mut self, places: &[T]) -> Browser {
        let of_page = self.page.hosts.iter().map(|host| host.server).zip(places);
        let first = |own| HostId(of_page.clone().position(|other| other == own).unwrap_or_default() as u32);
        self.servers = of_page.clone().map(first).collect();
        self
    }

    /// The same with each of the page's own times multiplied by a factor.
    #[must_use]
    pub fn with_own_times(mut self, factors: Factors) -> Browser {
        self.progress.vary(factors);
        self
    }

    /// The same with pipelines of at most so many requests.
    #[must_use]
    pub fn with_pipelined(mut self, requests: u32) -> Browser {
        self.pools.iter_mut().for_each(|pool| pool.pipelined = requests.max(1));
        self
    }
}
