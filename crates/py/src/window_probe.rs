//! Probes of servers' initial windows: what is wanted from JSON, what was seen as JSON.

use crate::error::Failure;
use crate::kernel::Stopper;
use loadstone_bed::{FlightEnd, InitialFlight, WindowProber};
use loadstone_http::Priority;
use loadstone_live::{Clock, ResolvedAddress, Stop, find, opening};
use loadstone_load::{FetchList, Request, RequestTemplate, ServerAddress};
use loadstone_units::json;

use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::net::{SocketAddr, SocketAddrV4};
use std::time::Duration;

/// What is wanted, as Python's `initial_windows.py` writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    urls: Vec<String>,
    resolve: Vec<String>,
    /// How long names may take to be looked up, in seconds.
    timeout: f64,
    /// The MSSs to announce, and how often each.
    mss: Vec<u16>,
    repeat: u32,
}

#[derive(Serialize)]
struct Document {
    /// The client's address.
    client: String,
    servers: Vec<ProbedServer>,
}

#[derive(Serialize)]
struct ProbedServer {
    url: String,
    address: Option<String>,
    flights: Vec<Flight>,
    /// Why there are no more.
    failure: Option<String>,
}

#[derive(Serialize)]
struct Flight {
    mss: u16,
    segments: u32,
    bytes: u32,
    longest: u32,
    lost: u32,
    round_trip_ms: f64,
    span_ms: f64,
    end: &'static str,
}

/// Sees the initial windows of the servers of what `wanted` names, JSON with the fields of [`Wanted`], each several times;
/// all that was seen as JSON, also if `stopper` stops it.
#[pyfunction]
pub(crate) fn probe_windows(py: Python<'_>, wanted: &str, stopper: &Stopper) -> PyResult<String> {
    let probed = py.detach(|| {
        let wanted: Wanted = json::from_slice(wanted.as_bytes())?;
        let mut requests = FetchList::new(RequestTemplate::new("GET", &[], None)?);
        for url in &wanted.urls {
            requests.add(url, Priority::default())?;
        }
        let found = wanted.found(requests.servers(), &stopper.stop)?;
        let mut prober = WindowProber::open()?;
        let mut servers = Vec::new();
        for (url, request) in wanted.urls.iter().zip(requests.requests()) {
            if stopper.stop.is_stopped() {
                break;
            }
            let server = &requests.servers()[request.server];
            let mut probed = ProbedServer { url: url.clone(), address: None, flights: Vec::new(), failure: None };
            let addresses = found.get(request.server).map(Vec::as_slice).unwrap_or_default();
            let failure = wanted.probe(&mut probed, &mut prober, (server, request), addresses, &stopper.stop)?;
            servers.push(ProbedServer { failure, ..probed });
        }
        let document = Document { client: prober.address().to_string(), servers };
        serde_json::to_string(&document).map_err(Failure::from)
    })?;
    Ok(probed)
}

impl Wanted {
    fn found(&self, servers: &[ServerAddress], stop: &Stop) -> Result<Vec<Vec<SocketAddr>>, Failure> {
        let place = |written: &String| {
            written.parse::<ResolvedAddress>().map_err(|problem| Failure::new(format!("--resolve: {problem}")))
        };
        let places = self.resolve.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let timeout = Duration::try_from_secs_f64(self.timeout);
        let timeout = timeout.map_err(|error| Failure::new(format!("--timeout: {error}: give seconds above zero")))?;
        let found = find(&Clock::start(), servers, &places, timeout, stop)?;
        found.ok_or_else(|| Failure::new("names were not looked up within --timeout: allow more time".to_owned()))
    }

    /// Probes one server into `probed`; says why not, if it cannot be.
    fn probe(
        &self,
        probed: &mut ProbedServer,
        prober: &mut WindowProber,
        (server, request): (&ServerAddress, &Request),
        addresses: &[SocketAddr],
        stop: &Stop,
    ) -> Result<Option<String>, Failure> {
        if addresses.is_empty() {
            return Ok(Some(format!("nobody knows the name '{}'", server.host)));
        }
        let Some(address) = addresses.iter().find_map(of_ipv4) else {
            return Ok(Some("it has no address of IPv4, and the probe speaks no other".to_owned()));
        };
        probed.address = Some(address.to_string());
        let opening = opening(server, request)?;
        for (_, mss) in (0..self.repeat).flat_map(|turn| self.mss.iter().map(move |mss| (turn, *mss))) {
            match prober.probe(address, mss, &opening, stop)? {
                None => break,
                Some(Err(why)) => return Ok(Some(why.to_string())),
                Some(Ok(flight)) => probed.flights.push(flight.into()),
            }
        }
        Ok(None)
    }
}

impl From<InitialFlight> for Flight {
    fn from(flight: InitialFlight) -> Flight {
        let InitialFlight { mss, segments, bytes, longest, lost, round_trip, span, end } = flight;
        let end = match end {
            FlightEnd::CongestionWindow => "congestion_window",
            FlightEnd::Response => "response",
            FlightEnd::ReceiveWindow => "receive_window",
        };
        let ms = |span: Duration| span.as_secs_f64() * 1e3;
        Flight { mss, segments, bytes, longest, lost, round_trip_ms: ms(round_trip), span_ms: ms(span), end }
    }
}

fn of_ipv4(address: &SocketAddr) -> Option<SocketAddrV4> {
    match address {
        SocketAddr::V4(address) => Some(*address),
        SocketAddr::V6(_) => None,
    }
}
