//! How an edge is set up: its settings, and what comes of them once its origins have been looked up.

use crate::forward_scope::ForwardScope;
use crate::front::{self, FrontSettings, MAX_KEPT, SomeSeconds};
use crate::origin_urls::OriginUrls;
use crate::server_error::{ServerError, SettingProblem};
use crate::{ClientTls, Clock, Limits, Stopper, Target, Trust, find, first_reachable};
use loadstone_http::{Protocol, Scheme, SessionFactory};
use loadstone_load::page::HostId;
use loadstone_load::{
    CacheLimits, ExchangeNotes, Forwarding, HealthCheck, HealthRules, NoServerAddress, Pipelined, PoolGrowth,
    PoolLimits, RelayConfig, ServerAddress, ServerProtocol, ServerTimeouts, windows_behind, windows_in_front,
};
use loadstone_units::options::{CommandOption, OptionOf};
use loadstone_units::{Bounded, Time, json};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How long the system may look for the addresses of origins.
const RESOLUTION: Duration = Duration::from_secs(10);
/// How long each of several addresses of an origin is tried.
const TRIAL: Duration = Duration::from_secs(1);

/// How an edge is set up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EdgeSettings {
    /// What clients meet.
    front: FrontSettings,
    /// The URLs of servers, by the names for which clients ask.
    origins: BTreeMap<String, OriginUrls>,
    /// How origins are used.
    #[serde(default)]
    behind: BehindSettings,
    /// What it remembers of responses.
    #[serde(default)]
    cache: CacheSettings,
    /// Where its operator meets it.
    #[serde(default)]
    admin: AdminSettings,
}

/// Where an edge's operator meets it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct AdminSettings {
    /// Address of /metrics, /health and /purge, for the operator. They need no password: choose an address that
    /// nobody else reaches.
    listen: Option<String>,
}

/// How origins are used.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct BehindSettings {
    /// Protocol to origins. `h2` is negotiated by ALPN with https origins, which may choose HTTP/1.1; with http
    /// origins it is used without negotiation.
    protocol: ServerProtocol,
    /// Maximum number of connections to an origin.
    connections: Bounded<1, 10_000>,
    /// When to open another HTTP/1.1 connection to an origin: for each request that finds no free one, or only if
    /// that is likely to save time.
    growth: PoolGrowth,
    /// Maximum number of requests that wait for a connection to an origin; further requests get 503 (Service
    /// Unavailable).
    waiting: Bounded<0, 1_000_000>,
    /// Connections to an origin, and places in its queue, that one client (an address) may have, in percent of those
    /// that other clients leave free.
    client_share: Bounded<1, 100>,
    /// Maximum time to open a connection to an origin, in seconds.
    connect: SomeSeconds,
    /// Maximum time without data from an origin while the edge waits for it, in seconds; then clients get 504
    /// (Gateway Timeout).
    timeout: SomeSeconds,
    /// Close a connection to an origin after this many seconds without use.
    idle: SomeSeconds,
    /// Stop using an origin after this many failures in a row, if another origin of the same name is healthy.
    failures: Bounded<1, 1000>,
    /// Seconds until a failed origin is tried again, by one request.
    pause: SomeSeconds,
    /// Path for health checks of origins: an answer of 200 to 399 is healthy, any other answer or none is not. If
    /// unset, there are no checks.
    check: Option<String>,
    /// Seconds between two health checks of an origin.
    check_interval: SomeSeconds,
    /// Also act as a forward proxy for clients on this machine: to http URLs at public addresses, or at loopback
    /// addresses only.
    forward: Option<ForwardScope>,
    /// Certificates in PEM that are trusted in place of the system's.
    authorities: Option<String>,
}

impl Default for BehindSettings {
    fn default() -> BehindSettings {
        BehindSettings {
            protocol: ServerProtocol::Http1,
            connections: Bounded::known(64),
            growth: PoolGrowth::AsItSaves,
            waiting: Bounded::known(1000),
            client_share: Bounded::known(50),
            connect: Bounded::known(10),
            timeout: Bounded::known(60),
            idle: Bounded::known(30),
            failures: Bounded::known(3),
            pause: Bounded::known(10),
            check: None,
            check_interval: Bounded::known(5),
            forward: None,
            authorities: None,
        }
    }
}

impl BehindSettings {
    /// How much there may be of what leads to an origin.
    fn pool(&self) -> PoolLimits {
        let [connections, waiting] = [self.connections.get(), self.waiting.get()].map(|count| count as usize);
        PoolLimits { connections, waiting, client_share: self.client_share.get(), growth: self.growth }
    }

    /// Which origins are left out.
    fn health(&self) -> Result<HealthRules, ServerError> {
        let seconds = |span: SomeSeconds| Duration::from_secs(span.get().into());
        let no_path = |path: &String| ServerError::setting("behind.check", SettingProblem::CheckPath(path.clone()));
        let check =
            |path: &String| HealthCheck::new(path.clone(), seconds(self.check_interval)).ok_or_else(|| no_path(path));
        let check = self.check.as_ref().map(check).transpose()?;
        Ok(HealthRules { failures: self.failures.get(), pause: seconds(self.pause), check })
    }
}

/// What an edge remembers of responses.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct CacheSettings {
    /// Memory for cached responses (RFC 9111), in bytes; 0 means no cache.
    bytes: Bounded<0, 4_000_000_000>,
    /// Maximum size of the content of a response that is stored, in bytes.
    object: Bounded<1, 1_000_000_000>,
    /// Also write stored responses to this directory: it has those that do not fit into memory, and is kept when the
    /// edge is restarted.
    disk: Option<String>,
    /// Maximum size of the cache on disk, in megabytes (10^6 bytes).
    disk_megabytes: Bounded<1, 4_000_000_000>,
}

impl Default for CacheSettings {
    fn default() -> CacheSettings {
        CacheSettings {
            bytes: Bounded::known(0),
            object: Bounded::known(8_000_000),
            disk: None,
            disk_megabytes: Bounded::known(1000),
        }
    }
}

impl CacheSettings {
    /// How much a cache remembers whose clock shows `now`, if there is one.
    #[allow(clippy::disallowed_methods, reason = "a driver says which day it is")]
    fn limits(&self, now: Time) -> Option<CacheLimits> {
        let (bytes, object) = (self.bytes.get().into(), self.object.get().into());
        let disk = self.disk.as_ref().map_or(0, |_| u64::from(self.disk_megabytes.get()) * 1_000_000);
        let zero = SystemTime::now() - Duration::from_nanos(now.as_nanos());
        (bytes > 0).then_some(CacheLimits { bytes, object, disk, zero, hits: None })
    }
}

/// The options that set fields of an edge's settings, besides those of its front.
const OPTIONS: [OptionOf; 18] = [
    OptionOf::new("admin", "admin.listen", "HOST:PORT"),
    OptionOf::new("cache", "cache.bytes", "BYTES"),
    OptionOf::new("cache-object", "cache.object", "BYTES"),
    OptionOf::new("cache-disk", "cache.disk", "DIR"),
    OptionOf::new("cache-disk-megabytes", "cache.disk_megabytes", "MEGABYTES"),
    OptionOf::new("forward", "behind.forward", "SCOPE"),
    OptionOf::new("origin-protocol", "behind.protocol", "PROTOCOL"),
    OptionOf::new("origin-connections", "behind.connections", "N"),
    OptionOf::new("origin-waiting", "behind.waiting", "N"),
    OptionOf::new("origin-growth", "behind.growth", "GROWTH"),
    OptionOf::new("client-share", "behind.client_share", "PERCENT"),
    OptionOf::new("origin-connect", "behind.connect", "SECONDS"),
    OptionOf::new("origin-timeout", "behind.timeout", "SECONDS"),
    OptionOf::new("origin-idle", "behind.idle", "SECONDS"),
    OptionOf::new("origin-failures", "behind.failures", "N"),
    OptionOf::new("origin-pause", "behind.pause", "SECONDS"),
    OptionOf::new("origin-check", "behind.check", "PATH"),
    OptionOf::new("origin-check-interval", "behind.check_interval", "SECONDS"),
];

impl EdgeSettings {
    /// The options that set its fields.
    pub fn options() -> Vec<CommandOption> {
        let schema = schema_for!(EdgeSettings);
        front::OPTIONS.iter().chain(&OPTIONS).map(|option| option.describe(&schema, &Value::Null)).collect()
    }

    /// Reads settings from JSON; the fields are those of `edge.toml`.
    ///
    /// # Errors
    /// If a field is unknown, or not in its range.
    pub fn from_json(text: &[u8]) -> Result<EdgeSettings, ServerError> {
        json::from_slice(text).map_err(ServerError::json)
    }
}

/// What an edge is made of besides its front.
#[derive(Debug)]
pub(crate) struct EdgeParts {
    behind: BehindSettings,
    /// Which origins are left out.
    health: HealthRules,
    cache: CacheSettings,
    /// The URLs of servers, by the names for which clients ask.
    pub(crate) origins: BTreeMap<String, OriginUrls>,
    /// Which of `servers` each name is for, in lower case.
    pub(crate) names: BTreeMap<String, Vec<HostId>>,
    pub(crate) servers: Vec<ServerAddress>,
    /// How to get to each of `servers`.
    pub(crate) targets: Vec<Target>,
    /// Where its operator meets it, if anywhere.
    pub(crate) admin: Option<String>,
}

impl EdgeParts {
    /// Looks for the origins: where their names say that they are now.
    ///
    /// # Errors
    /// If a name or a URL is none, or an origin is nowhere.
    pub(crate) fn find(settings: EdgeSettings) -> Result<(FrontSettings, EdgeParts), ServerError> {
        let EdgeSettings { front, origins, behind, cache, admin } = settings;
        if origins.is_empty() && behind.forward.is_none() {
            return Err(ServerError::setting("origins", SettingProblem::NoOrigins));
        }
        let (mut servers, mut names) = (Vec::new(), BTreeMap::new());
        for (name, OriginUrls(urls)) in &origins {
            let at_fault = |problem| ServerError::setting(&format!("origins.{name}"), problem);
            if format!("http://{name}").parse::<ServerAddress>().is_err() {
                return Err(at_fault(SettingProblem::OriginName(name.clone())));
            }
            let places = places(urls, &mut servers).map_err(|error| at_fault(SettingProblem::Origin(error)))?;
            if places.is_empty() {
                return Err(at_fault(SettingProblem::NoUrl));
            }
            names.insert(name.to_ascii_lowercase(), places);
        }
        if cache.disk.is_some() && cache.bytes.get() == 0 {
            return Err(ServerError::setting("cache.disk", SettingProblem::DiskWithoutMemory));
        }
        let health = behind.health()?;
        let targets = targets(&servers, &behind)?;
        Ok((front, EdgeParts { behind, health, cache, origins, names, servers, targets, admin: admin.listen }))
    }

    /// The folder in which its cache is kept, if it is.
    pub(crate) fn cache_folder(&self) -> Option<&Path> {
        self.cache.disk.as_deref().map(Path::new)
    }

    /// Where it goes if its clients say where, if it does.
    pub(crate) fn forward(&self) -> Option<ForwardScope> {
        self.behind.forward
    }

    /// The names of its hosts.
    pub(crate) fn hosts(&self) -> Vec<&str> {
        self.origins.keys().map(String::as_str).collect()
    }

    /// How many connections it may have: descriptors that its origins may need are not given to clients.
    pub(crate) fn limits(&self) -> Limits {
        let of_an_origin = self.behind.connections.get() as usize + usize::from(self.health.check.is_some());
        // What clients choose has as many as one of these.
        front::limits((self.targets.len() + usize::from(self.behind.forward.is_some())) * of_an_origin)
    }
}

/// The places of the servers of these URLs among all, each once; new ones are added.
fn places(urls: &[String], servers: &mut Vec<ServerAddress>) -> Result<Vec<HostId>, NoServerAddress> {
    let mut places = Vec::new();
    for url in urls {
        let server: ServerAddress = url.parse()?;
        let known = servers.iter().position(|known| *known == server);
        let at = known.unwrap_or_else(|| {
            servers.push(server);
            servers.len() - 1
        });
        let place = HostId(at as u32);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    Ok(places)
}

/// How the relay of an edge behaves whose clock shows `now`, where the servers of these names have these places.
pub(crate) fn relay_config(
    front: &FrontSettings,
    parts: &EdgeParts,
    names: BTreeMap<String, Vec<HostId>>,
    now: Time,
    notes: ExchangeNotes,
) -> RelayConfig {
    let EdgeParts { behind, cache, .. } = parts;
    let seconds = |span: SomeSeconds| Duration::from_secs(span.get().into());
    RelayConfig {
        sessions: Arc::new(SessionFactory::isolated(windows_in_front(front.multiplexing))),
        server_sessions: Arc::new(SessionFactory::isolated(windows_behind(front.multiplexing))),
        server_protocol: behind.protocol,
        servers: names.into_iter().map(|(name, servers)| (name, servers.into())).collect(),
        goes_anywhere: behind.forward.is_some(),
        forwarding: Forwarding::Client(front.scheme()),
        pool: behind.pool(),
        health: parts.health.clone(),
        timeouts: front.timeouts(),
        server_timeouts: ServerTimeouts {
            opening: seconds(behind.connect),
            silence: seconds(behind.timeout),
            idle: seconds(behind.idle),
        },
        max_kept: MAX_KEPT,
        notes,
        cache: cache.limits(now),
        pipelined: Pipelined::Answered,
        request_time: Duration::ZERO,
    }
}

/// How to get to the servers.
fn targets(servers: &[ServerAddress], behind: &BehindSettings) -> Result<Vec<Target>, ServerError> {
    let (_stopper, stop) = Stopper::new();
    let found = find(&Clock::start(), servers, &[], RESOLUTION, &stop)?.unwrap_or_default();
    let trust = behind.authorities.as_ref().map_or(Trust::System, |pem| Trust::Only(pem.clone().into()));
    let secure = servers.iter().any(|server| server.scheme == Scheme::Https);
    let tls = secure.then(|| trust.config(None, behind.protocol.offered())).transpose()?;
    let mut targets = Vec::new();
    for (at, server) in servers.iter().enumerate() {
        let addresses = found.get(at).map(Vec::as_slice).unwrap_or_default();
        let unresolved = || ServerError::setting("origins", SettingProblem::Unresolved(server.host.clone()));
        // An origin may yet come: then it is looked for where it would be first.
        let address = first_reachable(addresses, TRIAL, &stop).ok().or(addresses.first().copied());
        let tls = tls.clone().filter(|_| server.scheme == Scheme::Https);
        let tls = tls.map(|tls| ClientTls::named(tls, &server.host)).transpose()?;
        let protocol = if tls.is_some() { Protocol::Http1 } else { behind.protocol.protocol() };
        targets.push(Target { address: address.ok_or_else(unresolved)?, tls, protocol });
    }
    Ok(targets)
}
