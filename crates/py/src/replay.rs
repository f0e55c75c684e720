//! Loads from servers that are there already: what is wanted from JSON, what was measured as JSON.

use crate::error::Failure;
use crate::kernel::Stopper;
use crate::run::{Outcome, Scenario};
use loadstone_bed::{Answers, PlacedServer, Replay, ReplaySettings};
use loadstone_http::Protocol;
use loadstone_live::{SocketRecord, Tls, Trust};
use loadstone_load::Placement;
use loadstone_units::{Seed, json};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// What is wanted, as Python's `origin.py` writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    origins: Vec<String>,
    tls: Option<String>,
    insecure: bool,
    timeout: f64,
}

/// Loads the page of a scenario from the servers that are there already.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct Replayer {
    replayer: loadstone_bed::Replayer,
}

#[pymethods]
impl Replayer {
    /// Finds the servers of the scenario's page. `wanted` is JSON with the fields of [`Wanted`]; `cacert` has certificates
    /// in PEM that are trusted instead of the system's.
    #[new]
    #[pyo3(signature = (scenario, wanted, stopper, cacert=None))]
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        wanted: &str,
        stopper: &Stopper,
        cacert: Option<Vec<u8>>,
    ) -> PyResult<Replayer> {
        let replayer = py.detach(|| {
            let wanted: Wanted = json::from_slice(wanted.as_bytes())?;
            let placement = Placement::parse(&wanted.origins).map_err(loadstone_bed::ReplayError::from)?;
            let reach = wanted.reach(cacert)?;
            Ok::<_, Failure>(loadstone_bed::Replayer::new(&scenario.plan, &placement, reach, &stopper.stop)?)
        })?;
        Ok(Replayer { replayer })
    }

    /// Host, server and address of each host of the page, in its order.
    #[getter]
    fn servers(&self) -> Vec<(String, String, String)> {
        let servers = self.replayer.servers().iter();
        servers
            .map(|PlacedServer { host, server, address }| (host.clone(), server.to_string(), address.to_string()))
            .collect()
    }

    /// The round trips of so many handshakes with the server that the page begins with, in ms, and how many SYNs had to
    /// be sent again.
    fn probe(&self, py: Python<'_>, count: u32, stopper: &Stopper) -> PyResult<(Vec<f64>, u64)> {
        let probes = py.detach(|| self.replayer.probe(count, &stopper.stop).map_err(Failure::from))?;
        Ok((probes.round_trips.into_iter().map(ms).collect(), probes.retransmissions))
    }

    /// Loads the page once, under this seed: its outcome, and as JSON what was measured beside it.
    fn load(&self, py: Python<'_>, scenario: &Scenario, seed: u64, stopper: &Stopper) -> PyResult<(Outcome, String)> {
        let replay = || self.replayer.load(&scenario.plan, Seed(seed), &stopper.stop).map_err(Failure::from);
        let replay = py.detach(replay)?;
        let document = self.document(&replay).to_string();
        Ok((Outcome::of(&scenario.plan, vec![replay.outcome]), document))
    }
}

impl Wanted {
    fn reach(&self, cacert: Option<Vec<u8>>) -> Result<ReplaySettings, Failure> {
        let trust = match (self.insecure, cacert) {
            (true, _) => Trust::Anyone,
            (false, Some(pem)) => Trust::Only(pem),
            (false, None) => Trust::System,
        };
        let tls = match self.tls.as_deref() {
            None => None,
            Some("1.2") => Some(Tls::V1_2),
            Some("1.3") => Some(Tls::V1_3),
            Some(other) => {
                return Err(Failure::new(format!(
                    "--tls: '{other}' is not spoken here: use 1.2 or 1.3, or an origin with http://"
                )));
            }
        };
        let timeout = Duration::try_from_secs_f64(self.timeout);
        let timeout = timeout.map_err(|error| Failure::new(format!("--timeout: {error}: give seconds above zero")))?;
        Ok(ReplaySettings { trust, tls, timeout })
    }
}

impl Replayer {
    fn document(&self, replay: &Replay) -> Value {
        let Replay { connections, busiest, answers, failures, .. } = replay;
        let host = |end: &SocketRecord| &self.replayer.servers()[end.host.0 as usize].host;
        json!({
            "rate_bps": replay.link_rate().map(loadstone_units::Rate::bits_per_second),
            "rate_ms": busiest.map(|busiest| ms(busiest.span)),
            "connections": connections.iter().map(|end| connection(host(end), end)).collect::<Vec<_>>(),
            "answers": of_answers(answers),
            "failures": failures,
        })
    }
}

fn connection(host: &str, end: &SocketRecord) -> Value {
    let path = end.path.clone().unwrap_or_default();
    json!({
        "host": host,
        "address": end.peer.to_string(),
        "protocol": end.protocol.map(Protocol::name),
        "tls": match end.tls {
            Some(Tls::V1_0 | Tls::V1_2) => Some("1.2"),
            Some(Tls::V1_3) => Some("1.3"),
            Some(Tls::None) | None => None,
        },
        "round_trip_ms": path.counts.least_round_trip.map(ms),
        "data_segments_down": path.counts.data_segments_in,
        "out_of_order_down": path.counts.out_of_order,
        "holes_down": path.holes,
        "data_segments_up": path.counts.data_segments_out,
        "retransmissions_up": path.counts.retransmissions,
        "failure": end.failure.as_ref().map(ToString::to_string),
    })
}

fn of_answers(answers: &Answers) -> Value {
    let unlike = answers.unlike.iter().map(|unlike| {
        let ((status, bytes), (recorded_status, recorded_bytes)) = (unlike.answered, unlike.recorded);
        json!({
            "url": unlike.url,
            "status": status,
            "recorded_status": recorded_status,
            "bytes": bytes,
            "recorded_bytes": recorded_bytes,
        })
    });
    json!({"alike": answers.alike, "unlike": unlike.collect::<Vec<_>>(), "unanswered": answers.unanswered})
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
