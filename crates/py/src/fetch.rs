//! Fetching over this machine's own sockets: what is wanted from JSON, what came of it as JSON.

use crate::error::Failure;
use crate::kernel::Stopper;
use loadstone_http::{Body, BodyId, Fields, Multiplexing, Protocol, Push, Scheme, SessionFactory};
use loadstone_live::{Clock, Fetched, Folder, Reach, ResolvedAddress, SocketRecord, Tls, Trust};
use loadstone_load::{
    FetchList, FetcherConfig, Ping, RequestTemplate, ServerAddress, Transfer, TransferId, Unanswered, UrlFile, Use,
    header_field, urls_with_priorities,
};
use loadstone_units::{Time, json, visible};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// The most requests of all URLs together, repeated ones counted: what came of each is kept.
const MAX_REQUESTS: u64 = 10_000_000;

/// What is wanted, as Python's `fetch.py` writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    urls: Vec<String>,
    /// What a list of more URLs is called, and its text.
    listed: Option<(String, String)>,
    priorities: Vec<String>,
    protocol: Option<String>,
    tls: Option<String>,
    method: String,
    headers: Vec<String>,
    repeat: NonZeroU32,
    connections: NonZeroU32,
    concurrency: Option<NonZeroU32>,
    resolve: Vec<String>,
    insecure: bool,
    push: bool,
    ping: bool,
    timeout: f64,
    output: Option<String>,
}

/// What came of it.
#[derive(Serialize)]
struct Document {
    protocol: Option<String>,
    connections: Vec<Connection>,
    responses: Vec<Response>,
    elapsed_ms: f64,
    requests_per_second: f64,
    cpu_ms: f64,
}

#[derive(Serialize)]
struct Connection {
    conn: u32,
    origin: String,
    address: String,
    opened_ms: f64,
    established_ms: Option<f64>,
    tls: Option<&'static str>,
    protocol: Option<&'static str>,
    round_trip_ms: Option<f64>,
    sent_bytes: u64,
    failure: Option<String>,
}

#[derive(Serialize)]
struct Response {
    url: String,
    status: Option<u16>,
    bytes: u64,
    sha256: Option<String>,
    headers: Vec<(String, String)>,
    pushed: bool,
    parent: Option<u32>,
    connection: Option<u32>,
    attempts: u32,
    asked_ms: Option<f64>,
    sent_ms: Option<f64>,
    first_byte_ms: Option<f64>,
    last_byte_ms: Option<f64>,
    file: Option<String>,
    failure: Option<String>,
}

/// What came of a fetch.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct Fetch {
    wanted: Wanted,
    servers: Vec<ServerAddress>,
    fetched: Fetched,
}

#[pymethods]
impl Fetch {
    /// How many responses there are, pushed ones counted.
    #[getter]
    fn responses(&self) -> usize {
        self.fetched.transfers.len()
    }

    /// How many of them are not complete, or could not be written.
    #[getter]
    fn failed(&self) -> usize {
        (0..self.fetched.transfers.len()).filter(|at| self.is_failed(*at)).count()
    }

    /// Bytes of all bodies.
    #[getter]
    fn bytes(&self) -> u64 {
        self.fetched.transfers.iter().map(|transfer| transfer.bytes).sum()
    }

    /// All of it as JSON; with `most` at most that many responses, and of the rest at most that many that failed.
    #[pyo3(signature = (most=None))]
    fn to_json(&self, py: Python<'_>, most: Option<usize>) -> PyResult<String> {
        let text = py.detach(|| serde_json::to_string(&self.document(most.unwrap_or(usize::MAX))));
        Ok(visible(&text.map_err(Failure::from)?).into_owned())
    }
}

/// Fetches what `wanted` names, JSON with the fields of [`Wanted`], until all has come, the time is up or
/// `stopper` stops it; gives what has come until then. `data` is the body that requests send, `cacert`
/// certificates in PEM that are trusted instead of the system's.
#[pyfunction]
#[pyo3(signature = (wanted, stopper, data=None, cacert=None))]
pub(crate) fn fetch(
    py: Python<'_>,
    wanted: &str,
    stopper: &Stopper,
    data: Option<Vec<u8>>,
    cacert: Option<Vec<u8>>,
) -> PyResult<Fetch> {
    let fetch = py.detach(|| {
        let wanted: Wanted = json::from_slice(wanted.as_bytes())?;
        let errand = wanted.errand(data.as_ref().map(Vec::len))?;
        let servers = errand.servers().to_vec();
        let (config, reach) = (wanted.config()?, wanted.reach(&servers, data, cacert)?);
        let fetched = loadstone_live::fetch(&Clock::start(), errand, config, &reach, &stopper.stop)?;
        Ok::<_, Failure>(Fetch { wanted, servers, fetched })
    })?;
    Ok(fetch)
}

impl Wanted {
    fn errand(&self, upload: Option<usize>) -> Result<FetchList, Failure> {
        let listed = self.listed.as_ref().map(|(name, text)| UrlFile { name, text });
        let urls = urls_with_priorities(&self.urls, listed, &self.priorities)?;
        let requests = urls.len() as u64 * u64::from(self.repeat.get());
        if requests > MAX_REQUESTS {
            return Err(Failure::new(format!("{requests} requests are too many: ask for {MAX_REQUESTS} at most")));
        }
        let body = upload.map(|len| Body { id: BodyId(0), len: len as u64 });
        let headers: Vec<_> = self
            .headers
            .iter()
            .map(|written| header_field(written).map_err(of_option("--header")))
            .collect::<Result<_, _>>()?;
        let mut errand = FetchList::new(RequestTemplate::new(&self.method, &headers, body)?);
        for (url, priority) in &urls {
            errand.add(url, *priority)?;
        }
        Ok(errand)
    }

    fn protocol(&self) -> Result<Option<Protocol>, Failure> {
        Ok(self.protocol.as_deref().map(str::parse).transpose()?)
    }

    fn config(&self) -> Result<FetcherConfig, Failure> {
        let push = if self.push { Push::Accept } else { Push::Forbid };
        Ok(FetcherConfig {
            protocol: self.protocol()?,
            connections: self.connections,
            concurrency: self.concurrency,
            repeat: self.repeat,
            ping: if self.ping { Ping::Once } else { Ping::Never },
            sessions: Arc::new(SessionFactory::isolated(Multiplexing { push, ..Multiplexing::default() })),
        })
    }

    fn reach(
        &self,
        servers: &[ServerAddress],
        data: Option<Vec<u8>>,
        cacert: Option<Vec<u8>>,
    ) -> Result<Reach, Failure> {
        let trust = match (self.insecure, cacert) {
            (true, _) => Trust::Anyone,
            (false, Some(pem)) => Trust::Only(pem),
            // Without TLS there are no certificates to trust.
            (false, None) if !servers.iter().any(|server| server.scheme == Scheme::Https) => Trust::Anyone,
            (false, None) => Trust::System,
        };
        let tls = match self.tls.as_deref() {
            None => None,
            Some("1.2") => Some(Tls::V1_2),
            Some("1.3") => Some(Tls::V1_3),
            Some(other) => return Err(Failure::new(format!("--tls: '{other}' is not spoken here: use 1.2 or 1.3"))),
        };
        let offers = self.protocol()?.map_or_else(|| vec![Protocol::H2, Protocol::Http1], |only| vec![only]);
        let place = |written: &String| written.parse::<ResolvedAddress>().map_err(of_option("--resolve"));
        let folder = |path: &String| {
            let unmade = |error| Failure::new(format!("--output: {path} cannot be made: {error}"));
            Folder::new(path.into()).map_err(unmade)
        };
        Ok(Reach {
            places: self.resolve.iter().map(place).collect::<Result<_, _>>()?,
            tls: trust.config(tls, &offers)?,
            payload: data.unwrap_or_default().into(),
            folder: self.output.as_ref().map(folder).transpose()?,
            timeout: Duration::try_from_secs_f64(self.timeout)
                .map_err(|error| Failure::new(format!("--timeout: {error}: give seconds above zero")))?,
        })
    }
}

impl Fetch {
    fn is_failed(&self, at: usize) -> bool {
        self.fetched.transfers[at].failure.is_some() || self.fetched.unwritten.contains_key(&TransferId(at as u32))
    }

    fn document(&self, most: usize) -> Document {
        let fetched = &self.fetched;
        let elapsed = ms(fetched.over, fetched.began);
        let (first, all) = (most.min(fetched.transfers.len()), fetched.transfers.len());
        let shown = (0..first).chain((first..all).filter(|at| self.is_failed(*at)).take(most));
        let complete = fetched.transfers.iter().filter(|transfer| transfer.last_byte.is_some()).count();
        let connections = fetched.connections.iter();
        Document {
            protocol: self.wanted.protocol.clone(),
            connections: connections.map(|one| of_connection(&self.servers, fetched.began, one)).collect(),
            responses: shown.map(|at| self.response(TransferId(at as u32))).collect(),
            elapsed_ms: elapsed,
            requests_per_second: if elapsed > 0.0 { complete as f64 * 1e3 / elapsed } else { 0.0 },
            cpu_ms: fetched.cpu.as_secs_f64() * 1e3,
        }
    }

    fn response(&self, id: TransferId) -> Response {
        let fetched = &self.fetched;
        let transfer = &fetched.transfers[id.0 as usize];
        let since = |mark: Option<Time>| mark.map(|mark| ms(mark, fetched.began));
        let (request, unwritten) = (&transfer.request, fetched.unwritten.get(&id));
        let is_written = self.wanted.output.is_some() && transfer.response.is_some() && unwritten.is_none();
        let unwritten = unwritten.map(|error| format!("its body was not written: {error}; see to --output"));
        Response {
            url: format!("{}://{}{}", request.scheme.name(), text(&request.authority), text(&request.path)),
            status: transfer.response.as_ref().map(|head| head.status),
            bytes: transfer.bytes,
            sha256: fetched.digests[id.0 as usize].map(|digest| hex(&digest)),
            headers: transfer.response.as_ref().map_or_else(Vec::new, |head| pairs(&head.fields)),
            pushed: transfer.parent.is_some(),
            parent: transfer.parent.map(|parent| parent.0),
            connection: transfer.connection.map(|conn| conn.0),
            attempts: transfer.attempts,
            asked_ms: since(transfer.asked),
            sent_ms: since(transfer.sent),
            first_byte_ms: since(transfer.first_byte),
            last_byte_ms: since(transfer.last_byte),
            file: is_written.then(|| Folder::name(id, &request.path)),
            failure: failure(fetched, transfer).or(unwritten),
        }
    }
}

fn of_connection(servers: &[ServerAddress], began: Time, (connected, used): &(SocketRecord, Use)) -> Connection {
    let failure = connected.failure.as_ref().map(ToString::to_string);
    Connection {
        conn: connected.conn.0,
        origin: servers[used.server].to_string(),
        address: connected.peer.to_string(),
        opened_ms: ms(connected.opened, began),
        established_ms: connected.established.map(|at| ms(at, began)),
        tls: match connected.tls {
            Some(Tls::V1_0 | Tls::V1_2) => Some("1.2"),
            Some(Tls::V1_3) => Some("1.3"),
            Some(Tls::None) | None => None,
        },
        protocol: connected.protocol.map(Protocol::name),
        round_trip_ms: used.round_trip.map(|span| span.as_secs_f64() * 1e3),
        sent_bytes: connected.content,
        failure: failure.or(used.fault.map(|fault| fault.to_string())),
    }
}

/// Why a transfer failed, in the words of its connection where it failed for that.
fn failure(fetched: &Fetched, transfer: &Transfer) -> Option<String> {
    let why = transfer.failure?;
    let connection = transfer.connection.map(|conn| &fetched.connections[conn.0 as usize].0);
    let of_connection = connection.and_then(|connection| connection.failure.as_ref());
    match (why, of_connection) {
        (Unanswered::Unreachable | Unanswered::Closed, Some(failure)) => Some(failure.to_string()),
        _ => Some(why.to_string()),
    }
}

/// Names the option at fault.
fn of_option<E: std::fmt::Display>(option: &str) -> impl Fn(E) -> Failure {
    move |problem| Failure::new(format!("{option}: {problem}"))
}

fn ms(at: Time, began: Time) -> f64 {
    at.counted_from(began).as_ms()
}

fn pairs(fields: &Fields) -> Vec<(String, String)> {
    fields.iter().map(|(name, value)| (text(name), text(value))).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
