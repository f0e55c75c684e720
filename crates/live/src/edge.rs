//! The edge of `loadstone edge`: a relay in front of origins that are known by name.

use crate::access_log::{Entries, Log};
use crate::front::{self, FrontSettings, MAX_KEPT, OpenFront, SomeSeconds, TransportSecurity};
use crate::graceful::{Finished, Graceful};
use crate::server_error::{ServerError, SettingProblem};
use crate::{
    ClientTls, Clock, Destinations, NOTSENT_LOWAT, PathNotes, Pattern, Stop, Stopper, Target, Trust, find,
    first_reachable,
};
use loadstone_http::{Chunk, Protocol, Scheme, SessionFactory, TransportStream, Wire};
use loadstone_load::page::HostId;
use loadstone_load::{
    Action, CacheLimits, Closed, ConnId, ExchangeNotes, Forwarding, Opened, PoolLimits, Program, Relay, RelayConfig,
    ServerAddress, ServerTimeouts, Tag,
};
use loadstone_units::options::{CommandOption, OptionOf};
use loadstone_units::{Bounded, Time, json, visible};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::iter;
use std::net::SocketAddr;
use std::rc::Rc;
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
    origins: BTreeMap<String, String>,
    /// How origins are used.
    #[serde(default)]
    behind: BehindSettings,
    /// What it remembers of responses.
    #[serde(default)]
    cache: CacheSettings,
}

/// How origins are used.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct BehindSettings {
    /// The most connections to an origin.
    connections: Bounded<1, 10_000>,
    /// The most requests that wait for a connection to an origin; others get 503.
    waiting: Bounded<0, 1_000_000>,
    /// How long an origin may be silent while it is its turn, in seconds; then its clients get 504.
    timeout: SomeSeconds,
    /// How long a connection to an origin is kept that is not used, in seconds.
    idle: SomeSeconds,
    /// Certificates in PEM that are trusted in place of the system's.
    authorities: Option<String>,
}

impl Default for BehindSettings {
    fn default() -> BehindSettings {
        BehindSettings {
            connections: Bounded::known(64),
            waiting: Bounded::known(1000),
            timeout: Bounded::known(60),
            idle: Bounded::known(30),
            authorities: None,
        }
    }
}

/// What an edge remembers of responses.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct CacheSettings {
    /// The most bytes of memory for responses that are answered without asking an origin (RFC 9111); 0 is no cache.
    bytes: Bounded<0, 4_000_000_000>,
    /// The most bytes of content of a response that is stored.
    object: Bounded<1, 1_000_000_000>,
}

impl Default for CacheSettings {
    fn default() -> CacheSettings {
        CacheSettings { bytes: Bounded::known(0), object: Bounded::known(8_000_000) }
    }
}

impl CacheSettings {
    /// How much a cache remembers whose clock shows zero now, if there is one.
    #[allow(clippy::disallowed_methods, reason = "a driver says which day it is")]
    fn limits(self) -> Option<CacheLimits> {
        let (bytes, object) = (self.bytes.get().into(), self.object.get().into());
        (bytes > 0).then(|| CacheLimits { bytes, object, zero: SystemTime::now(), hits: None })
    }
}

/// The options that set fields of an edge's settings, besides those of its front.
const OPTIONS: [OptionOf; 6] = [
    OptionOf::new("cache", "cache.bytes", "BYTES"),
    OptionOf::new("cache-object", "cache.object", "BYTES"),
    OptionOf::new("origin-connections", "behind.connections", "N"),
    OptionOf::new("origin-waiting", "behind.waiting", "N"),
    OptionOf::new("origin-timeout", "behind.timeout", "SECONDS"),
    OptionOf::new("origin-idle", "behind.idle", "SECONDS"),
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

/// An edge that listens, and relays when it is run.
#[derive(Debug)]
pub struct EdgeProxy {
    front: OpenFront,
    behind: BehindSettings,
    cache: CacheSettings,
    /// The URLs of servers, by the names for which clients ask.
    origins: BTreeMap<String, String>,
    /// Which server each name is for.
    names: BTreeMap<String, HostId>,
    targets: Vec<Target>,
}

impl EdgeProxy {
    /// Listens, and looks for its origins: what their names say now is where they are as long as it runs.
    ///
    /// # Errors
    /// If a name or a URL is none, an origin is nowhere, or it cannot listen there.
    pub fn open(settings: EdgeSettings) -> Result<EdgeProxy, ServerError> {
        let EdgeSettings { front, origins, behind, cache } = settings;
        if origins.is_empty() {
            return Err(ServerError::setting("origins", SettingProblem::NoOrigins));
        }
        let (mut servers, mut names) = (Vec::new(), BTreeMap::new());
        for (name, url) in &origins {
            let at_fault = |problem| ServerError::setting(&format!("origins.{name}"), problem);
            let server: ServerAddress = url.parse().map_err(|error| at_fault(SettingProblem::Origin(error)))?;
            if format!("http://{name}").parse::<ServerAddress>().is_err() {
                return Err(at_fault(SettingProblem::OriginName(name.clone())));
            }
            let known = servers.iter().position(|known| *known == server);
            let at = known.unwrap_or_else(|| {
                servers.push(server);
                servers.len() - 1
            });
            names.insert(name.to_ascii_lowercase(), HostId(at as u32));
        }
        let hosts: Vec<&str> = origins.keys().map(String::as_str).collect();
        let front = OpenFront::open(front, &hosts)?;
        let targets = targets(&servers, &behind)?;
        Ok(EdgeProxy { front, behind, cache, origins, names, targets })
    }

    /// What it speaks, where each name leads, and where it listens, a line for each.
    pub fn ways(&self) -> Vec<String> {
        let OpenFront { settings, protocols, address, .. } = &self.front;
        let names: Vec<&str> = protocols.iter().copied().map(Protocol::name).collect();
        let is_plain = settings.transport == TransportSecurity::Plaintext;
        let how = if is_plain { format!("{}, by prior knowledge", names[0]) } else { names.join(", ") };
        let port = |name: &str| if name.contains(':') { String::new() } else { format!(":{}", address.port()) };
        let way = |(name, url): (&String, &String)| {
            format!("{}://{name}{}/ from {url}", settings.scheme().name(), port(name))
        };
        let ways = self.origins.iter().map(way);
        let lines = iter::once(how).chain(ways).chain([format!("listening on {address}")]);
        lines.map(|line| visible(&line).into_owned()).collect()
    }

    /// Whether its access log goes to standard output, so that nothing else may.
    pub fn logs_to_standard_output(&self) -> bool {
        self.front.settings.logs_to_standard_output()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.front.address
    }

    /// What it speaks, the best first; without TLS the one that clients have to know.
    pub fn protocols(&self) -> &[Protocol] {
        &self.front.protocols
    }

    /// The certificate that clients have to trust, in DER; none if there is no TLS, or if it was given.
    pub fn root(&self) -> Option<&[u8]> {
        self.front.root()
    }

    /// Relays until `graceful` comes: then stops listening, announces the shutdown on all connections, and lets what
    /// is under way finish, until `immediate` comes or its grace is over.
    ///
    /// # Errors
    /// If the system has no files left for an event loop or for a first connection, or if the access log
    /// could not be written.
    pub fn run(self, graceful: &Stop, immediate: &Stop) -> Result<Finished, ServerError> {
        let EdgeProxy { mut front, behind, cache, names, targets, .. } = self;
        let clock = Clock::start();
        let log = front.begin_log()?;
        let program = EdgeProgram {
            relay: Relay::new(RelayConfig {
                cache: cache.limits(),
                ..config(&front.settings, &behind, names, log.as_ref())
            }),
            log: log.as_ref().map(Log::entries),
        };
        let limits = front::limits(targets.len() * behind.connections.get() as usize);
        let (timeout, path_notes) = (Duration::MAX, PathNotes::None);
        let destinations =
            Destinations { targets, names: None, notsent_lowat: NOTSENT_LOWAT, timeout, limits, path_notes };
        front.run(&clock, program, Some(&destinations), Rc::new(Pattern), log, [graceful, immediate])
    }
}

/// How the relay of an edge behaves.
fn config(
    front: &FrontSettings,
    behind: &BehindSettings,
    names: BTreeMap<String, HostId>,
    log: Option<&Log>,
) -> RelayConfig {
    let seconds = |span: SomeSeconds| Duration::from_secs(span.get().into());
    RelayConfig {
        sessions: Arc::new(SessionFactory::isolated(front.multiplexing)),
        servers: names,
        forwarding: Forwarding::Client(front.scheme()),
        pool: PoolLimits { connections: behind.connections.get() as usize, waiting: behind.waiting.get() as usize },
        timeouts: front.timeouts(),
        server_timeouts: ServerTimeouts { silence: seconds(behind.timeout), idle: seconds(behind.idle) },
        max_kept: MAX_KEPT,
        notes: if log.is_some() { ExchangeNotes::Kept } else { ExchangeNotes::Dropped },
        cache: None,
        request_time: Duration::ZERO,
    }
}

/// How to get to the servers.
fn targets(servers: &[ServerAddress], behind: &BehindSettings) -> Result<Vec<Target>, ServerError> {
    let (_stopper, stop) = Stopper::new();
    let found = find(&Clock::start(), servers, &[], RESOLUTION, &stop)?.unwrap_or_default();
    let trust = behind.authorities.as_ref().map_or(Trust::System, |pem| Trust::Only(pem.clone().into()));
    let secure = servers.iter().any(|server| server.scheme == Scheme::Https);
    let tls = secure.then(|| trust.config(None, &[Protocol::Http1])).transpose()?;
    let mut targets = Vec::new();
    for (at, server) in servers.iter().enumerate() {
        let addresses = found.get(at).map(Vec::as_slice).unwrap_or_default();
        let unresolved = || ServerError::setting("origins", SettingProblem::Unresolved(server.host.clone()));
        // An origin may yet come: then it is looked for where it would be first.
        let address = first_reachable(addresses, TRIAL, &stop).ok().or(addresses.first().copied());
        let tls = tls.clone().filter(|_| server.scheme == Scheme::Https);
        let tls = tls.map(|tls| ClientTls::named(tls, &server.host)).transpose()?;
        targets.push(Target { address: address.ok_or_else(unresolved)?, tls, protocol: Protocol::Http1 });
    }
    Ok(targets)
}

/// A relay whose exchanges are logged.
#[derive(Debug)]
struct EdgeProgram {
    relay: Relay,
    log: Option<Entries>,
}

impl EdgeProgram {
    fn note(&mut self) {
        while let Some(exchange) = self.relay.poll_exchange() {
            self.log.iter().for_each(|log| log.note_exchange(&exchange));
        }
    }
}

impl Graceful for EdgeProgram {
    fn shut_down(&mut self, now: Time) {
        self.relay.shut_down(now);
    }

    fn give_up(&mut self, now: Time) {
        self.relay.give_up(now);
        self.note();
    }
}

impl Program for EdgeProgram {
    fn handle_opening(&mut self, now: Time, conn: ConnId, tag: Tag) {
        self.relay.handle_opening(now, conn, tag);
    }

    fn handle_open(&mut self, now: Time, conn: ConnId, opened: Opened) {
        self.relay.handle_open(now, conn, opened);
    }

    fn handle_input(&mut self, now: Time, conn: ConnId, on: TransportStream, input: &[Chunk]) {
        self.relay.handle_input(now, conn, on, input);
    }

    fn handle_close(&mut self, now: Time, conn: ConnId, how: Closed) {
        self.relay.handle_close(now, conn, how);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.relay.handle_timeout(now);
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.note();
        self.relay.poll_action()
    }

    fn poll_transmit(&mut self, now: Time, conn: ConnId, on: TransportStream, room: usize, out: &mut Wire) {
        self.relay.poll_transmit(now, conn, on, room, out);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.relay.poll_timeout()
    }
}
