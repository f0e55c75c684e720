//! The server of `loadstone serve`: its settings, and how it serves until it is shut down.

use crate::acceptor::Acceptor;
use crate::access_log::{Log, LogError, LogFile};
use crate::connection_table::{ClosedTable, ConnectionTable};
use crate::descriptors::DescriptorShares;
use crate::host::{HostLoop, block_on};
use crate::served::{Dotfiles, Manifest, Ports, PushOrHint, RecordedSite, ServedContent};
use crate::{Authority, Chain, Clock, Error, Identity, Limits, Lowat, RecordKeeping, Stop, listen};
use loadstone_http::{Multiplexing, Protocol, Scheme, SessionFactory};
use loadstone_load::page::{HostId, Page, PageError, PageFile};
use loadstone_load::{MaxKept, Origin, OriginConfig, Timeouts};
use loadstone_units::json::Mismatch;
use loadstone_units::options::{CommandOption, OptionOf};
use loadstone_units::{Bounded, JsonError, Time, json};
use rustls::ServerConfig;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::Value;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// What a server speaks, the best first: what it likes clients to choose.
const PREFERRED: [Protocol; 5] = [Protocol::H2, Protocol::Spdy31, Protocol::Spdy3, Protocol::Spdy2, Protocol::Http1];

/// What sockets take beyond what is sent: enough that the kernel never waits for this program.
const NOTSENT_LOWAT: Lowat = Bounded::known(128 * 1024);

/// How long a request may take to arrive.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a client's flow control windows may block a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// How much it keeps of requests that are not answered yet.
const MAX_KEPT: MaxKept = MaxKept { connection: 1024 * 1024, all: 256 * 1024 * 1024 };

/// How a server is set up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerSettings {
    /// Host and port; port 0 is one that is free.
    listen: String,
    /// The directory whose files it serves.
    #[serde(default)]
    directory: Option<PathBuf>,
    #[serde(default)]
    dotfiles: Dotfiles,
    /// The recorded page that it serves instead.
    #[serde(default)]
    page: Option<PageFile>,
    #[serde(default)]
    patterns: bool,
    #[serde(default)]
    manifest: Manifest,
    #[serde(default, rename = "telling")]
    announce: PushOrHint,
    #[serde(default)]
    transport: TransportSecurity,
    /// A chain and a key in PEM; where there is none one is made.
    #[serde(default)]
    identity: Option<Pem>,
    /// The only protocol that is spoken; if it is left out all are, by ALPN.
    #[schemars(with = "Option<Protocol>")]
    #[serde(default)]
    protocol: Option<String>,
    #[serde(default)]
    multiplexing: Multiplexing,
    /// The most bytes that sockets take beyond what is sent (TCP_NOTSENT_LOWAT).
    #[serde(default = "notsent_lowat")]
    notsent_lowat: Lowat,
    /// Write a line of JSON for each request to this file, or to standard output for `-`.
    #[serde(default)]
    access_log: Option<String>,
    /// How long a connection is kept on which nobody asks for anything, in seconds.
    #[serde(default = "idle")]
    idle: Bounded<1, 86_400>,
    /// How long what is under way may go on when the server leaves, in seconds.
    #[serde(default = "grace")]
    grace: Seconds,
}

/// A span in whole seconds, up to a day.
type Seconds = Bounded<0, 86_400>;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum TransportSecurity {
    #[default]
    Tls,
    Plaintext,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pem {
    chain: String,
    key: String,
}

fn notsent_lowat() -> Lowat {
    NOTSENT_LOWAT
}

fn idle() -> Bounded<1, 86_400> {
    Bounded::known(60)
}

fn grace() -> Seconds {
    Bounded::known(10)
}

/// The options that set fields of a server's settings.
const OPTIONS: [OptionOf; 8] = [
    OptionOf::new("protocol", "protocol", "PROTOCOL"),
    OptionOf::new("policy", "multiplexing.policy", "POLICY"),
    OptionOf::new("frame-bytes", "multiplexing.frame_bytes", "BYTES"),
    OptionOf::new("max-streams", "multiplexing.streams", "N"),
    OptionOf::new("notsent-lowat", "notsent_lowat", "BYTES"),
    OptionOf::new("access-log", "access_log", "FILE|-"),
    OptionOf::new("idle", "idle", "SECONDS"),
    OptionOf::new("grace", "grace", "SECONDS"),
];

/// Why a server cannot be set up, or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A setting cannot be used.
    #[error("{problem}")]
    Setting {
        /// The path of the field that is at fault; empty for the whole.
        field: String,
        /// What is wrong with it.
        problem: SettingProblem,
    },
    /// The recorded page is none.
    #[error(transparent)]
    Page(#[from] PageError),
    /// It cannot listen there.
    #[error("cannot listen on {address}: {error}; give HOST:PORT of this machine with a port that is free, or port 0")]
    Listen {
        /// What was given.
        address: String,
        /// Why not.
        error: io::Error,
    },
    /// There are no files to give.
    #[error("{}: {error}; give a directory that can be read", path.display())]
    Directory {
        /// What was given.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The manifest lists something that the server does not have.
    #[error("the manifest lists '{0}', which is not there: correct it, or leave it out")]
    Missing(String),
    /// The access log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// It cannot be hosted.
    #[error(transparent)]
    Hosting(#[from] Error),
}

/// Why a setting cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SettingProblem {
    /// It is not JSON.
    #[error(transparent)]
    Json(JsonError),
    /// A field is unknown or missing, or its value is not one of its own.
    #[error(transparent)]
    Value(Mismatch),
    /// A protocol that no server speaks.
    #[error("unknown protocol '{0}': use {names}", names = PREFERRED.map(Protocol::name).join(", "))]
    UnknownProtocol(String),
    /// Two things to serve.
    #[error("either files are served or a recording: leave one out")]
    FilesAndPage,
}

impl ServerSettings {
    /// The options that set its fields.
    pub fn options() -> Vec<CommandOption> {
        let schema = schema_for!(ServerSettings);
        OPTIONS.iter().map(|option| option.describe(&schema, &Value::Null)).collect()
    }

    /// Reads settings from JSON; the fields are the options of `loadstone serve`.
    ///
    /// # Errors
    /// If a field is unknown, or not in its range.
    pub fn from_json(text: &[u8]) -> Result<ServerSettings, ServerError> {
        json::from_slice(text).map_err(|error| match error {
            JsonError::Mismatch { path, mismatch } => {
                ServerError::Setting { field: path, problem: SettingProblem::Value(mismatch) }
            }
            other => ServerError::Setting { field: String::new(), problem: SettingProblem::Json(other) },
        })
    }

    /// Those that are usual, at an address.
    fn at(address: SocketAddr) -> ServerSettings {
        ServerSettings {
            listen: address.to_string(),
            directory: None,
            dotfiles: Dotfiles::default(),
            page: None,
            patterns: false,
            manifest: Manifest::default(),
            announce: PushOrHint::default(),
            transport: TransportSecurity::default(),
            identity: None,
            protocol: None,
            multiplexing: Multiplexing::default(),
            notsent_lowat: notsent_lowat(),
            access_log: None,
            idle: idle(),
            grace: grace(),
        }
    }

    fn scheme(&self) -> Scheme {
        match self.transport {
            TransportSecurity::Tls => Scheme::Https,
            TransportSecurity::Plaintext => Scheme::Http,
        }
    }

    /// What is spoken, the best first.
    fn protocols(&self) -> Result<Vec<Protocol>, ServerError> {
        match (&self.protocol, self.transport) {
            (Some(name), _) => match PREFERRED.into_iter().find(|protocol| protocol.name() == name) {
                Some(protocol) => Ok(vec![protocol]),
                None => {
                    let problem = SettingProblem::UnknownProtocol(name.clone());
                    Err(ServerError::Setting { field: "protocol".to_owned(), problem })
                }
            },
            (None, TransportSecurity::Tls) => Ok(PREFERRED.to_vec()),
            (None, TransportSecurity::Plaintext) => Ok(vec![Protocol::Http1]),
        }
    }
}

/// A server that listens, and answers when it is run.
#[derive(Debug)]
pub struct Server {
    settings: ServerSettings,
    protocols: Vec<Protocol>,
    listener: TcpListener,
    address: SocketAddr,
    recording: Option<Recording>,
    /// Which ports the recorded hosts have.
    ports: Ports,
    security: Security,
    log: Option<LogFile>,
}

/// What was recorded, as servers have it.
#[derive(Clone, Debug)]
pub enum Recording {
    /// The objects of a page, whose content is the pattern.
    Page(Arc<Page>),
    /// Responses with their content.
    Site(Arc<RecordedSite>),
}

impl Recording {
    fn hosts(&self) -> Vec<&str> {
        match self {
            Recording::Page(page) => page.hosts.iter().map(|host| &host.name[..]).collect(),
            Recording::Site(site) => site.hosts().iter().map(String::as_str).collect(),
        }
    }
}

/// How a server speaks TLS, if it does.
#[derive(Default, Debug)]
struct Security {
    tls: Option<Arc<ServerConfig>>,
    /// The certificate that clients have to trust, in DER, if it was made here.
    root: Option<Vec<u8>>,
}

/// What a server did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finished {
    /// The most connections that it had at a time.
    pub peak_connections: usize,
    /// How many it still had when it ended.
    pub still_open: usize,
}

impl Server {
    /// Listens, and sees that all is there that it needs. If there is a recorded site, it is what is served.
    ///
    /// # Errors
    /// If something is not.
    pub fn open(settings: ServerSettings, site: Option<Arc<RecordedSite>>) -> Result<Server, ServerError> {
        let protocols = settings.protocols()?;
        let page = settings.page.as_ref().map(PageFile::build).transpose()?;
        let recording = site.map(Recording::Site).or_else(|| page.map(|page| Recording::Page(Arc::new(page))));
        let ports = Ports::One(settings.scheme());
        if let Some(missing) = served_content(&settings, recording.as_ref(), ports)?.missing() {
            return Err(ServerError::Missing(missing));
        }
        let security = secure(&settings, &protocols, recording.as_ref())?;
        let log = settings.access_log.clone().map(LogFile::open).transpose()?;
        let cannot_listen = |error| ServerError::Listen { address: settings.listen.clone(), error };
        let listener = bind(&settings.listen).map_err(cannot_listen)?;
        let address = listener.local_addr().map_err(cannot_listen)?;
        Ok(Server { settings, protocols, listener, address, recording, ports, security, log })
    }

    /// One that serves a recording at one of the two ports of its hosts, and speaks these protocols, the best first: by TLS if it has an
    /// identity, else the first of them alone.
    ///
    /// # Errors
    /// If it cannot listen there, or the identity's key is another's.
    pub fn of_recording(
        recording: Recording,
        address: SocketAddr,
        protocols: Vec<Protocol>,
        identity: Option<Identity>,
        multiplexing: Multiplexing,
    ) -> Result<Server, ServerError> {
        let transport = if identity.is_some() { TransportSecurity::Tls } else { TransportSecurity::Plaintext };
        let settings = ServerSettings { multiplexing, transport, ..ServerSettings::at(address) };
        let tls = identity.map(|identity| identity.server(&protocols)).transpose()?;
        let listener = listen(address).map_err(|error| ServerError::Listen { address: address.to_string(), error })?;
        let security = Security { tls, root: None };
        let recording = Some(recording);
        Ok(Server { settings, protocols, listener, address, recording, ports: Ports::Both, security, log: None })
    }

    /// The same, announcing what a manifest lists.
    #[must_use]
    pub fn announcing(mut self, manifest: Manifest, announce: PushOrHint) -> Server {
        (self.settings.manifest, self.settings.announce) = (manifest, announce);
        self
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it speaks, the best first; without TLS the one that clients have to know.
    pub fn protocols(&self) -> &[Protocol] {
        &self.protocols
    }

    /// The certificate that clients have to trust, in DER; none if there is no TLS, or if it was given.
    pub fn root(&self) -> Option<&[u8]> {
        self.security.root.as_deref()
    }

    /// Serves until `graceful` comes: then stops listening, announces the shutdown on all connections, and lets what
    /// is under way finish, until `immediate` comes or its grace is over.
    ///
    /// # Errors
    /// If the system has no files left for an event loop or for a first connection, or if the access log
    /// could not be written.
    pub fn run(self, graceful: &Stop, immediate: &Stop) -> Result<Finished, ServerError> {
        let Server { settings, protocols, listener, recording, ports, security: Security { tls, .. }, log, .. } = self;
        let clock = Clock::start();
        let log = log.map(Log::begin).transpose()?;
        let content = served_content(&settings, recording.as_ref(), ports)?;
        let content = content.with_log(log.as_ref().map(Log::entries));
        let records = log.as_ref().map_or(RecordKeeping::Discard, Log::records);
        let bodies = content.bodies();
        let timeouts = Timeouts {
            idle: Duration::from_secs(settings.idle.get().into()),
            request: REQUEST_TIMEOUT,
            response: RESPONSE_TIMEOUT,
        };
        let sessions = Arc::new(SessionFactory::isolated(settings.multiplexing));
        let origin = Origin::new(content, OriginConfig { timeouts, max_kept: MAX_KEPT, ..OriginConfig::new(sessions) });
        // Without ALPN: the only configured protocol, else HTTP/1.1.
        let without_alpn = if let [only] = protocols[..] { only } else { Protocol::Http1 };
        let finished = block_on(async {
            let acceptor = Acceptor::new(HostId(0), listener, tls, without_alpn, settings.notsent_lowat)?;
            let acceptor = acceptor.with_bodies(Rc::new(bodies));
            let limits = Limits::default();
            let max_connections = limits.max_connections.min(DescriptorShares::of_process().connections);
            let connections = ConnectionTable::new(Limits { max_connections, ..limits }, records);
            let mut host = HostLoop::new(&clock, origin, None, vec![acceptor], connections)?;
            host.run(Time::NEVER, graceful, |_| false).await?;
            host.stop_accepting();
            let now = clock.now();
            host.program.shut_down(now);
            host.run_actions(now)?;
            host.run(now + span(settings.grace), immediate, HostLoop::has_no_connections).await?;
            host.program.give_up(clock.now());
            let (_, ClosedTable { peak_connections, still_open, .. }) = host.finish();
            Ok(Finished { peak_connections, still_open })
        })?;
        log.map_or(Ok(()), Log::finish)?;
        Ok(finished)
    }
}

fn span(seconds: Seconds) -> Duration {
    Duration::from_secs(seconds.get().into())
}

fn bind(address: &str) -> io::Result<TcpListener> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in address.to_socket_addrs()? {
        match listen(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// What the server serves, without a log.
fn served_content(
    settings: &ServerSettings,
    recording: Option<&Recording>,
    ports: Ports,
) -> Result<ServedContent, ServerError> {
    let mut content = ServedContent::new().with_manifest(settings.manifest.clone(), settings.announce);
    if settings.patterns {
        content = content.with_patterns();
    }
    match (&settings.directory, recording) {
        (Some(path), None) => {
            let unreadable = |error| ServerError::Directory { path: path.clone(), error };
            content.with_files(path, settings.dotfiles).map_err(unreadable)
        }
        (None, Some(Recording::Page(page))) => Ok(content.with_recording(page.clone())),
        (None, Some(Recording::Site(site))) => Ok(content.with_site(site.clone(), settings.scheme(), ports)),
        (None, None) => Ok(content),
        (Some(_), Some(_)) => {
            Err(ServerError::Setting { field: "page".to_owned(), problem: SettingProblem::FilesAndPage })
        }
    }
}

/// How the server speaks TLS.
fn secure(
    settings: &ServerSettings,
    protocols: &[Protocol],
    recording: Option<&Recording>,
) -> Result<Security, ServerError> {
    if settings.transport == TransportSecurity::Plaintext {
        return Ok(Security::default());
    }
    if let Some(Pem { chain, key }) = &settings.identity {
        let identity = Identity::from_pem(chain.as_bytes(), key.as_bytes())?;
        return Ok(Security { tls: Some(identity.server(protocols)?), root: None });
    }
    let mut hosts = vec!["localhost", "127.0.0.1", "::1", &settings.listen];
    hosts.extend(recording.into_iter().flat_map(Recording::hosts));
    hosts.sort_unstable();
    hosts.dedup();
    let authority = Authority::new(Chain::Minimal);
    let tls = Some(authority.identity(&hosts)?.server(protocols)?);
    Ok(Security { tls, root: Some(authority.root().to_vec()) })
}
