//! What clients meet: where a server or an edge listens, what it speaks, and how long it waits for them.

use crate::acceptor::Acceptor;
use crate::access_log::{Log, LogFile};
use crate::connection_table::ConnectionTable;
use crate::descriptors::DescriptorShares;
use crate::graceful::{Finished, Graceful, Orders, run_gracefully};
use crate::host::{HostLoop, block_on};
use crate::server_error::{ServerError, SettingProblem};
use crate::{Authority, Bodies, Chain, Clock, Destinations, Error, Identity, Limits, Lowat, RecordKeeping, listen};
use loadstone_http::{Multiplexing, Protocol, Scheme};
use loadstone_load::page::HostId;
use loadstone_load::{MaxKept, Timeouts};
use loadstone_units::Bounded;
use loadstone_units::options::OptionOf;
use rustls::ServerConfig;
use schemars::JsonSchema;
use serde::Deserialize;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// What is spoken, the best first: what clients should choose.
const PREFERRED: [Protocol; 5] = [Protocol::H2, Protocol::Spdy31, Protocol::Spdy3, Protocol::Spdy2, Protocol::Http1];

/// What sockets take beyond what is sent: enough that the kernel never waits for this program.
const NOTSENT_LOWAT: Lowat = Bounded::known(128 * 1024);

/// How long a request may take to arrive.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a client's flow control windows may block a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// How much is kept of requests that are not answered yet.
pub(crate) const MAX_KEPT: MaxKept = MaxKept { connection: 1024 * 1024, all: 256 * 1024 * 1024 };

/// A span in whole seconds, up to a day.
pub(crate) type Seconds = Bounded<0, 86_400>;

/// A span in whole seconds that is not nothing, up to a day.
pub(crate) type SomeSeconds = Bounded<1, 86_400>;

/// What clients meet.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FrontSettings {
    /// Host and port; port 0 means any free port.
    pub(crate) listen: String,
    #[serde(default)]
    pub(crate) transport: TransportSecurity,
    /// A chain and a key in PEM; where there is none one is made.
    #[serde(default)]
    identity: Option<Pem>,
    /// Accept only this protocol. If unset, all are accepted, by ALPN; without TLS, http/1.1.
    #[schemars(with = "Option<Protocol>")]
    #[serde(default)]
    protocol: Option<String>,
    #[serde(default)]
    pub(crate) multiplexing: Multiplexing,
    /// Maximum number of bytes that are written to a socket and not sent yet (TCP_NOTSENT_LOWAT).
    #[serde(default = "notsent_lowat")]
    notsent_lowat: Lowat,
    /// Write one line of JSON for each request to this file; `-` is standard output.
    #[serde(default)]
    access_log: Option<String>,
    /// Close a connection after this many seconds without a request.
    #[serde(default = "idle")]
    idle: SomeSeconds,
    /// At shutdown, give requests in progress this many seconds to finish.
    #[serde(default = "grace")]
    grace: Seconds,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TransportSecurity {
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

fn idle() -> SomeSeconds {
    Bounded::known(60)
}

fn grace() -> Seconds {
    Bounded::known(10)
}

/// The options that set fields of a front.
pub(crate) const OPTIONS: [OptionOf; 8] = [
    OptionOf::new("protocol", "front.protocol", "PROTOCOL"),
    OptionOf::new("policy", "front.multiplexing.policy", "POLICY"),
    OptionOf::new("frame-bytes", "front.multiplexing.frame_bytes", "BYTES"),
    OptionOf::new("max-streams", "front.multiplexing.streams", "N"),
    OptionOf::new("notsent-lowat", "front.notsent_lowat", "BYTES"),
    OptionOf::new("access-log", "front.access_log", "FILE|-"),
    OptionOf::new("idle", "front.idle", "SECONDS"),
    OptionOf::new("grace", "front.grace", "SECONDS"),
];

impl FrontSettings {
    /// Those that are usual, at an address.
    pub(crate) fn at(address: SocketAddr, transport: TransportSecurity, multiplexing: Multiplexing) -> FrontSettings {
        FrontSettings {
            listen: address.to_string(),
            transport,
            identity: None,
            protocol: None,
            multiplexing,
            notsent_lowat: notsent_lowat(),
            access_log: None,
            idle: idle(),
            grace: grace(),
        }
    }

    pub(crate) fn scheme(&self) -> Scheme {
        match self.transport {
            TransportSecurity::Tls => Scheme::Https,
            TransportSecurity::Plaintext => Scheme::Http,
        }
    }

    /// What is spoken, the best first.
    pub(crate) fn protocols(&self) -> Result<Vec<Protocol>, ServerError> {
        match (&self.protocol, self.transport) {
            (Some(name), _) => match PREFERRED.into_iter().find(|protocol| protocol.name() == name) {
                Some(protocol) => Ok(vec![protocol]),
                None => Err(ServerError::setting("front.protocol", unknown_protocol(name))),
            },
            (None, TransportSecurity::Tls) => Ok(PREFERRED.to_vec()),
            (None, TransportSecurity::Plaintext) => Ok(vec![Protocol::Http1]),
        }
    }

    /// The fields that only count when a front begins to listen.
    pub(crate) fn fixed(&self) -> [(&'static str, String); 6] {
        let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "left out".to_owned());
        [
            ("front.listen", self.listen.clone()),
            ("front.transport", self.scheme().name().to_owned()),
            ("front.protocol", shown(&self.protocol)),
            ("front.notsent_lowat", self.notsent_lowat.get().to_string()),
            ("front.access_log", shown(&self.access_log)),
            ("front.grace", self.grace.get().to_string()),
        ]
    }

    /// Whether the access log goes to standard output.
    pub(crate) fn logs_to_standard_output(&self) -> bool {
        self.access_log.as_deref() == Some("-")
    }

    /// How long it waits for a client.
    pub(crate) fn timeouts(&self) -> Timeouts {
        let idle = Duration::from_secs(self.idle.get().into());
        Timeouts { idle, request: REQUEST_TIMEOUT, response: RESPONSE_TIMEOUT }
    }

    /// How long what is under way may go on when it leaves.
    pub(crate) fn grace(&self) -> Duration {
        Duration::from_secs(self.grace.get().into())
    }
}

fn unknown_protocol(name: &str) -> SettingProblem {
    SettingProblem::UnknownProtocol { name: name.to_owned(), known: PREFERRED.map(Protocol::name).join(", ") }
}

/// Limits of a host that is open to anyone, where `others` connections are not its clients'.
pub(crate) fn limits(others: usize) -> Limits {
    let limits = Limits::default();
    let share = DescriptorShares::of_process().connections.saturating_sub(others).max(1);
    Limits { max_connections: limits.max_connections.min(share), ..limits }
}

/// A front that listens.
#[derive(Debug)]
pub(crate) struct OpenFront {
    pub(crate) settings: FrontSettings,
    pub(crate) protocols: Vec<Protocol>,
    pub(crate) address: SocketAddr,
    listener: TcpListener,
    security: Security,
    log: Option<LogFile>,
}

/// How TLS is spoken, if it is.
#[derive(Default, Debug)]
pub(crate) struct Security {
    pub(crate) tls: Option<Arc<ServerConfig>>,
    /// Who has signed the certificate, if it was made here.
    authority: Option<Arc<Authority>>,
}

impl OpenFront {
    /// Listens. If it has to make a certificate, that is for these hosts as well.
    ///
    /// # Errors
    /// If it cannot listen there, or the identity or the log cannot be used.
    pub(crate) fn open(settings: FrontSettings, hosts: &[&str]) -> Result<OpenFront, ServerError> {
        let protocols = settings.protocols()?;
        let security = secure(&settings, &protocols, hosts, None)?;
        let log = settings.access_log.clone().map(LogFile::open).transpose()?;
        let cannot_listen = |error| ServerError::Listen { address: settings.listen.clone(), error };
        let listener = bind(&settings.listen).map_err(cannot_listen)?;
        let address = listener.local_addr().map_err(cannot_listen)?;
        Ok(OpenFront { settings, protocols, address, listener, security, log })
    }

    /// One that speaks these protocols, the best first: by TLS if it has an identity, else the first of them alone.
    ///
    /// # Errors
    /// If it cannot listen there, or the identity's key is another's.
    pub(crate) fn at(
        address: SocketAddr,
        protocols: Vec<Protocol>,
        identity: Option<Identity>,
        multiplexing: Multiplexing,
    ) -> Result<OpenFront, ServerError> {
        let transport = if identity.is_some() { TransportSecurity::Tls } else { TransportSecurity::Plaintext };
        let settings = FrontSettings::at(address, transport, multiplexing);
        let tls = identity.map(|identity| identity.server(&protocols)).transpose()?;
        let listener = listen(address).map_err(|error| ServerError::Listen { address: address.to_string(), error })?;
        Ok(OpenFront { settings, protocols, address, listener, security: Security { tls, authority: None }, log: None })
    }

    /// The certificate that clients have to trust, in DER; none if there is no TLS, or if it was given.
    pub(crate) fn root(&self) -> Option<&[u8]> {
        self.authority().map(|authority| authority.root())
    }

    /// Who has signed its certificate, if that was made here.
    pub(crate) fn authority(&self) -> Option<&Arc<Authority>> {
        self.security.authority.as_ref()
    }

    /// Begins its access log, if it has one.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub(crate) fn begin_log(&mut self) -> Result<Option<Log>, ServerError> {
        Ok(self.log.take().map(Log::begin).transpose()?)
    }

    /// Runs a program for its clients, whose responses have these bodies, until `orders` say that it leaves: then stops listening,
    /// and lets what is under way finish, until they end it or its grace is over. The program may open connections to
    /// `destinations`.
    ///
    /// # Errors
    /// If the system has no files left for an event loop or for a first connection, or if the access log could not be
    /// written.
    pub(crate) fn run<P: Graceful>(
        self,
        clock: &Clock,
        program: P,
        destinations: Option<&Destinations>,
        bodies: Rc<dyn Bodies>,
        log: Option<Log>,
        orders: Orders<'_, P::Order>,
    ) -> Result<Finished, ServerError> {
        let grace = self.settings.grace();
        let limits = destinations.map_or_else(|| limits(0), |destinations| destinations.limits);
        let records = log.as_ref().map_or(RecordKeeping::Discard, Log::records);
        let finished = block_on(async {
            let acceptor = self.acceptor(bodies)?;
            let connections = ConnectionTable::new(limits, records);
            let host = HostLoop::new(clock, program, destinations, vec![acceptor], connections)?;
            run_gracefully(host, grace, orders).await
        })?;
        log.map_or(Ok(()), Log::finish)?;
        Ok(finished)
    }

    fn acceptor(self, bodies: Rc<dyn Bodies>) -> Result<Acceptor, Error> {
        // Without ALPN: the only configured protocol, else HTTP/1.1.
        let without_alpn = if let [only] = self.protocols[..] { only } else { Protocol::Http1 };
        let lowat = self.settings.notsent_lowat;
        let acceptor = Acceptor::new(HostId(0), self.listener, self.security.tls, without_alpn, lowat)?;
        Ok(acceptor.with_bodies(bodies))
    }
}

/// Listens at the first of the addresses of a text where that is possible.
pub(crate) fn bind(address: &str) -> io::Result<TcpListener> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in address.to_socket_addrs()? {
        match listen(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// How TLS is spoken. If it needs a certificate, `authority` signs it; if there is none, one that is made.
pub(crate) fn secure(
    settings: &FrontSettings,
    protocols: &[Protocol],
    hosts: &[&str],
    authority: Option<&Arc<Authority>>,
) -> Result<Security, ServerError> {
    if settings.transport == TransportSecurity::Plaintext {
        return Ok(Security::default());
    }
    if let Some(Pem { chain, key }) = &settings.identity {
        let identity = Identity::from_pem(chain.as_bytes(), key.as_bytes())?;
        return Ok(Security { tls: Some(identity.server(protocols)?), authority: None });
    }
    let mut hosts = [&["localhost", "127.0.0.1", "::1", &settings.listen], hosts].concat();
    hosts.sort_unstable();
    hosts.dedup();
    let authority = authority.cloned().unwrap_or_else(|| Arc::new(Authority::new(Chain::Minimal)));
    let tls = Some(authority.identity(&hosts)?.server(protocols)?);
    Ok(Security { tls, authority: Some(authority) })
}
