//! A bed for commands, on Linux.

use crate::error::Failure;
use crate::recorded_site::RecordedSite;
use crate::run::Scenario;
use loadstone_bed::{
    Announcements, BedServers, CommandBedReport, CommandError, CommandSession, ConnectionReport, HostCommand,
    LinkReport, LinkStats, NamedHost, RunningCommand, Scheduling, SentCounts,
};
use loadstone_http::Protocol;
use loadstone_live::{Manifest, PushOrHint};
use loadstone_units::json;
use pyo3::prelude::*;
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A bed for commands: its links work until it is finished.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct CommandBed {
    /// Gone when it is finished.
    bed: Mutex<Option<loadstone_bed::CommandBed>>,
    hosts: Vec<NamedHost>,
    name_server: String,
    root: Vec<u8>,
}

#[pymethods]
impl CommandBed {
    /// Makes the hosts and links of a scenario. With `serves` the servers of its page serve it, else a program that
    /// is started. `capture` is a file for the client's packets; `site` has the content of the servers' responses.
    /// Servers push what a manifest lists, in JSON, or give hints of it.
    #[new]
    #[pyo3(signature = (scenario, serves=true, capture=None, site=None, manifest=None, hints=false))]
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        serves: bool,
        capture: Option<PathBuf>,
        site: Option<&RecordedSite>,
        manifest: Option<&str>,
        hints: bool,
    ) -> PyResult<CommandBed> {
        let manifest = manifest.map_or(Ok(Manifest::default()), |text| json::from_slice(text.as_bytes()));
        let manifest = manifest.map_err(|error| Failure::new(format!("--push-manifest: {error}")))?;
        let announced = Announcements { manifest, by: if hints { PushOrHint::Hint } else { PushOrHint::Push } };
        let servers = match site {
            Some(site) => BedServers::Site(site.site.clone(), announced),
            None if serves => BedServers::Recorded(announced),
            None => BedServers::Programs,
        };
        let make = || loadstone_bed::CommandBed::new(&scenario.plan, servers, capture.as_deref());
        let bed = py.detach(|| make().map_err(Failure::from))?;
        Ok(CommandBed {
            hosts: bed.hosts().to_vec(),
            name_server: bed.name_server().to_string(),
            root: bed.root().to_vec(),
            bed: Mutex::new(Some(bed)),
        })
    }

    /// Name, address and protocols of the server of each host.
    #[getter]
    fn hosts(&self) -> Vec<(String, String, Vec<&'static str>)> {
        let names = |host: &NamedHost| host.protocols.iter().copied().map(Protocol::name).collect();
        self.hosts.iter().map(|host| (host.name.clone(), host.address.to_string(), names(host))).collect()
    }

    /// The address of the name server.
    #[getter]
    fn name_server(&self) -> &str {
        &self.name_server
    }

    /// The certificate that clients have to trust, in DER.
    #[getter]
    fn root(&self) -> &[u8] {
        &self.root
    }

    /// For how long the machine stood still so far, in ms.
    #[getter]
    fn paused_ms(&self) -> PyResult<f64> {
        let paused = self.bed().as_ref().map(loadstone_bed::CommandBed::paused);
        Ok(ms(paused.ok_or_else(finished)?))
    }

    /// Sends `count` echo requests from the client to the other end of its link, one every `interval_ms`: the round
    /// trips of those that were answered, in ms.
    fn ping(&self, py: Python<'_>, count: u16, interval_ms: f64) -> PyResult<Vec<f64>> {
        let interval = Duration::from_secs_f64(interval_ms / 1e3);
        let pings = py.detach(|| match &*self.bed() {
            Some(bed) => bed.ping(count, interval).map_err(Failure::from),
            None => Err(finished()),
        })?;
        Ok(pings.round_trips.iter().map(|trip| ms(*trip)).collect())
    }

    /// The chain and the key, in DER, by which a program proves that it is the server of these names.
    fn identity(&self, names: Vec<String>) -> PyResult<(Vec<Vec<u8>>, Vec<u8>)> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let identity = self.bed().as_ref().map(|bed| bed.identity(&names));
        let identity = identity.ok_or_else(finished)?.map_err(Failure::from)?;
        let (chain, key) = identity.der();
        Ok((chain.into_iter().map(<[u8]>::to_vec).collect(), key.to_vec()))
    }

    /// Starts a program on the edge, or else on the first server's host, without input; what it prints goes to standard error. The rest
    /// is as for `start`.
    fn start_server(
        &self,
        py: Python<'_>,
        words: Vec<OsString>,
        environment: Vec<(OsString, OsString)>,
        instead: Vec<(PathBuf, PathBuf)>,
        folder: PathBuf,
    ) -> PyResult<()> {
        let session = CommandSession::Own;
        let command = HostCommand { words, environment, instead, folder: Some(folder), session };
        let started = py.detach(|| self.bed().as_mut().map(|bed| bed.start_server(command)));
        started.ok_or_else(finished)?.map_err(of_command)
    }

    /// Starts a command at the client's place, with more variables in its environment and with files in the place
    /// of others: what, and where. `folder` has these files; it is removed if this process is killed. OSError if there is no such program.
    fn start(
        &self,
        py: Python<'_>,
        words: Vec<OsString>,
        environment: Vec<(OsString, OsString)>,
        instead: Vec<(PathBuf, PathBuf)>,
        folder: PathBuf,
    ) -> PyResult<BedCommand> {
        let command =
            HostCommand { words, environment, instead, folder: Some(folder), session: CommandSession::Shared };
        let started = py.detach(|| self.bed().as_ref().map(|bed| bed.start(command)));
        match started.ok_or_else(finished)? {
            Ok(running) => Ok(BedCommand { running: Mutex::new(Some(running)) }),
            Err(error) => Err(of_command(error)),
        }
    }

    /// Ends the bed: what it saw, as JSON.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let bed = self.bed().take().ok_or_else(finished)?;
        let report = py.detach(|| bed.finish().map_err(Failure::from))?;
        Ok(self.document(&report).to_string())
    }
}

impl CommandBed {
    fn bed(&self) -> MutexGuard<'_, Option<loadstone_bed::CommandBed>> {
        self.bed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn document(&self, report: &CommandBedReport) -> Value {
        let CommandBedReport { links, missed } = report;
        serde_json::json!({
            "link": {"down": way(links.down()), "up": way(links.up())},
            "backhaul": backhaul(links),
            "connections": links.connections.iter().map(|seen| self.connection(seen)).collect::<Vec<_>>(),
            "machine": machine(links),
            "capture_missed": missed,
        })
    }

    fn connection(&self, seen: &ConnectionReport) -> Value {
        let server = seen.connection.server.address().to_string();
        let name = self.hosts.iter().find(|host| host.address.to_string() == server).map(|host| &host.name);
        serde_json::json!({
            "host": name,
            "server": format!("{server}:{}", seen.connection.server_port),
            "client_port": seen.connection.client_port,
            "opened_ms": seen.opened.map(|at| at.as_ms()),
            "down": sent(seen.down),
            "up": sent(seen.up),
        })
    }
}

/// What passed the link behind an edge, if there is one.
fn backhaul(links: &LinkReport) -> Option<Value> {
    let [_, _, down, up, ..] = &links.passages[..] else { return None };
    Some(serde_json::json!({"down": way(down), "up": way(up)}))
}

fn way(stats: &LinkStats) -> Value {
    let counts = stats.counts;
    serde_json::json!({"packets": counts.packets, "bytes": counts.bytes, "lost": counts.lost, "dropped": counts.dropped})
}

fn sent(counts: SentCounts) -> Value {
    let SentCounts { packets, bytes, retransmissions, syn_retransmissions } = counts;
    serde_json::json!({
        "packets": packets,
        "bytes": bytes,
        "retransmissions": retransmissions,
        "syn_retransmissions": syn_retransmissions,
    })
}

fn machine(links: &LinkReport) -> Value {
    serde_json::json!({
        "ms": links.end.as_ms(),
        "pauses": links.pauses,
        "paused_ms": ms(links.paused),
        "longest_pause_ms": ms(links.longest_pause),
        "late_ms": {
            "median": ms(links.lateness.median),
            "p90": ms(links.lateness.p90),
            "worst": ms(links.lateness.worst),
        },
        "is_real_time": links.priority == Scheduling::RealTime,
    })
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// Why a command is not run: by the system's error where it is about the program.
fn of_command(error: CommandError) -> PyErr {
    match error {
        CommandError::Program { error, .. } => error.into(),
        error => Failure::new(error.to_string()).into(),
    }
}

fn finished() -> Failure {
    Failure::new("the bed is finished: make another one".to_owned())
}

/// A command that is running on a bed.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct BedCommand {
    /// Gone when it was waited for.
    running: Mutex<Option<RunningCommand>>,
}

#[pymethods]
impl BedCommand {
    /// Gives it a signal, if it has not ended.
    fn signal(&self, number: i32) {
        if let Some(running) = &*self.running() {
            running.signal(number);
        }
    }

    /// Whether it has ended.
    #[getter]
    fn is_finished(&self) -> bool {
        self.running().as_ref().is_none_or(RunningCommand::is_finished)
    }

    /// Waits for its end: its exit code, or 128 and the number of the signal that has ended it.
    fn wait(&self, py: Python<'_>) -> PyResult<i32> {
        let running = self.running().take();
        let ended = py.detach(|| running.map(|running| running.wait().map_err(Failure::from)).transpose());
        Ok(ended?.unwrap_or(0))
    }
}

impl BedCommand {
    fn running(&self) -> MutexGuard<'_, Option<RunningCommand>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
