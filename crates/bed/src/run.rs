//! Carries out a scenario over the real kernel: the browser and the origins of the simulator, on
//! sockets, through the simulator's links.

mod capture;

use crate::report::Passage;
use crate::settings::{AfterIdle, BackOff, Settings, Tcp};
use crate::{Bed, BedError, Connection, ConnectionReport, Host, LinkReport};
use loadstone_live::{
    Authority, Chain, Clock, Joined, Limits, Loaded, NOTSENT_LOWAT, Records, Route, Served, Site, Stop, Stopper,
    Target, Tls, join, listen, load, serve,
};
use loadstone_load::page::HostId;
use loadstone_load::{ConnectionRecord, Marks, critical_path};
use loadstone_net::tcp;
use loadstone_scenario::{Conditions, ConnectionOutcome, Outcome, Plan, ScenarioError};
use loadstone_units::{Seed, Time};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;
use std::{fs, io};

/// For how long a load may go on, by the clock of its link: longer than any browser waits.
const LIMIT: Duration = Duration::from_secs(3600);

/// Why a scenario cannot be carried out over the kernel.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It asks for what this kernel's TCP cannot be told to do.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// There is no bed for it.
    #[error(transparent)]
    Bed(#[from] BedError),
    /// A program cannot be hosted.
    #[error(transparent)]
    Live(#[from] loadstone_live::Error),
    /// A server cannot listen.
    #[error("a server of the bed cannot listen: {0}; allow more open files (ulimit -n)")]
    Listen(io::Error),
    /// No packet was sent: the machine has no memory or files left for it.
    #[error("no packet entered the link: allow more memory or open files, and try again")]
    Nothing,
    /// It was told to stop before the load was over.
    #[error("the load was stopped before it was over: run it again")]
    Stopped,
}

/// Carries out a scenario over the real kernel, with `seed` instead of the one that it names. It takes
/// as long as the load does, unless `stop` comes first: then it ends within a few milliseconds.
///
/// TCP is this kernel's own; `back_off` says how it is to behave like several flows where the scenario wants
/// that.
///
/// # Errors
/// If the scenario asks for another TCP, this process may not make a bed, the kernel refuses something, or
/// it was told to stop.
pub fn run(plan: &Plan, seed: Seed, back_off: BackOff, stop: &Stop) -> Result<Outcome, RunError> {
    observe(plan, seed, back_off, stop, None)
}

/// Carries out a scenario like [`run`], and gives the first packets of it as well, `limit` at most.
///
/// # Errors
/// As for [`run`].
pub fn run_captured(
    plan: &Plan,
    seed: Seed,
    back_off: BackOff,
    stop: &Stop,
    limit: usize,
) -> Result<Outcome, RunError> {
    observe(plan, seed, back_off, stop, Some(limit))
}

/// Carries out a scenario; of its first packets so many are kept, if they are wanted.
fn observe(plan: &Plan, seed: Seed, back_off: BackOff, stop: &Stop, limit: Option<usize>) -> Result<Outcome, RunError> {
    let seen = carry_out(plan, seed, back_off, stop, limit.unwrap_or(0))?;
    if seen.loaded.end.is_none() && stop.is_stopped() {
        return Err(RunError::Stopped);
    }
    let capture = limit.map(|_| capture::of(&seen.links));
    Ok(Outcome { capture, ..outcome(plan, seed, seen)? })
}

/// What each party has seen of a load.
struct Seen {
    loaded: Loaded,
    served: Vec<Served>,
    links: LinkReport,
}

/// Loads the page over a bed of its own, whose links keep so many packets.
fn carry_out(plan: &Plan, seed: Seed, back_off: BackOff, stop: &Stop, limit: usize) -> Result<Seen, RunError> {
    let settings = settings(plan, back_off)?;
    let hosts = &plan.page().hosts;
    let bed = Bed::new(hosts.len())?;
    bed.configure(&settings)?;
    for server in 0..hosts.len() {
        let tcp = plan.tcp(HostId(server as u32));
        if *tcp != plan.variant().tcp {
            bed.configure_server(server, &Tcp::from(tcp), after_idle(tcp))?;
        }
    }
    let extra_rtts: Vec<Duration> = hosts.iter().map(|host| host.extra_rtt).collect();
    let (targets, sites) = doors(plan, &bed)?;
    let link = bed.begin_traced(plan.network(), &extra_rtts, seed, limit)?;
    let clock = link.clock();

    let report = Mutex::new(None);
    let finish = || *report.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(link.finish());
    let (loaded, served) = thread::scope(|scope| {
        let (stopper, to_the_end) = Stopper::new();
        let serving: Vec<_> = sites
            .into_iter()
            .map(|site| {
                let (bed, clock, stop) = (&bed, &clock, to_the_end.clone());
                scope.spawn(move || serve_on(bed, plan, clock, site, &stop))
            })
            .collect();
        let loaded = load_on(&bed, plan, &clock, targets, stop, finish);
        stopper.stop();
        let served =
            serving.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        (loaded, served.collect::<Result<Vec<_>, _>>())
    });
    let report = report.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (loaded, served) = (loaded?, served?);
    let links = report.expect("a load that ends finishes the run")?;
    Ok(Seen { loaded, served, links })
}

/// How the kernels are to behave.
fn settings(plan: &Plan, back_off: BackOff) -> Result<Settings, ScenarioError> {
    let variant = plan.variant();
    for (side, tcp) in [("variant.tcp", &variant.tcp), ("variant.client_tcp", &variant.client_tcp)] {
        can_be_told(side, tcp)?;
    }
    for (host, tcp) in &variant.tcp_of {
        can_be_told(&format!("variant.tcp_of.{host}"), tcp)?;
    }
    if variant.tls == Some(Tls::V1_0) {
        let why = "over the kernel only 1.2 and 1.3 are spoken: choose one of them, or simulate";
        return Err(ScenarioError::new("variant.tls", why));
    }
    if variant.earlier_loads.get() > 0 {
        let why = "a new host of the kernel remembers nothing: leave it out, or simulate";
        return Err(ScenarioError::new("variant.earlier_loads", why));
    }
    if back_off == BackOff::MachineWide && !variant.tcp_of.is_empty() {
        let why = "the machine has one beta for all servers: give them one TCP, or leave --machine-wide-beta out";
        return Err(ScenarioError::new("variant.tcp_of", why));
    }
    let idle = after_idle(&variant.tcp);
    Ok(Settings { client: Tcp::from(&variant.client_tcp), server: Tcp::from(&variant.tcp), idle, back_off })
}

/// What becomes of a window after idleness.
fn after_idle(tcp: &tcp::Config) -> AfterIdle {
    match tcp.mechanisms.idle_restart {
        Some(tcp::Restart::Never) => AfterIdle::Keep,
        _ => AfterIdle::Restart,
    }
}

/// Refuses what a kernel cannot be told to do.
fn can_be_told(side: &str, tcp: &tcp::Config) -> Result<(), ScenarioError> {
    let refuse = |field: &str, why: &str| Err(ScenarioError::new(&format!("{side}.{field}"), why));
    if tcp.profile != tcp::Profile::default() {
        return refuse("profile", "over the kernel TCP is this kernel's own: leave the profile out, or simulate");
    }
    let idle_restart = tcp.mechanisms.idle_restart;
    let told = matches!(idle_restart, None | Some(tcp::Restart::Halving | tcp::Restart::Never));
    if !told || tcp.mechanisms != (tcp::Mechanisms { idle_restart, ..tcp::Mechanisms::default() }) {
        let why = "a kernel can only be told idle_restart, halving or never: leave the others out, or simulate";
        return refuse("mechanisms", why);
    }
    Ok(())
}

/// Where the client finds each host, and the listener behind it.
fn doors(plan: &Plan, bed: &Bed) -> Result<(Vec<Target>, Vec<Site>), RunError> {
    let (hosts, protocol) = (&plan.page().hosts, plan.variant().protocol);
    let uses_tls = (0..hosts.len()).any(|at| plan.tls(HostId(at as u32)) != Tls::None);
    let authority = uses_tls.then(|| Authority::new(Chain::Usual));
    let mut doors = (Vec::new(), Vec::new());
    for (at, spec) in hosts.iter().enumerate() {
        let (host, tls) = (HostId(at as u32), plan.tls(HostId(at as u32)));
        let port = if tls == Tls::None { 80 } else { 443 };
        let address = SocketAddr::new(bed.address(at), port);
        let listener = bed.on(Host::Server(at), || listen(address)).map_err(RunError::Listen)?;
        let (mut client, mut server) = (None, None);
        if let Some(authority) = &authority {
            (client, server) =
                (authority.client(&spec.name, tls, protocol)?, authority.server(&spec.name, tls, protocol)?);
        }
        let notsent_lowat = plan.tcp(host).notsent_lowat.unwrap_or(NOTSENT_LOWAT);
        doors.0.push(Target { address, tls: client });
        let (limits, records) = (Limits::UNLIMITED, Records::Kept);
        doors.1.push(Site { host, listener, tls: server, protocol, notsent_lowat, limits, records });
    }
    Ok(doors)
}

fn serve_on(bed: &Bed, plan: &Plan, clock: &Clock, site: Site, stop: &Stop) -> Result<Served, loadstone_live::Error> {
    let at = site.host.0 as usize;
    bed.on(Host::Server(at), || {
        let origin = plan.origins().nth(at).expect("there is an origin for each host");
        serve(clock, origin, site, stop)
    })
}

fn load_on(
    bed: &Bed,
    plan: &Plan,
    clock: &Clock,
    targets: Vec<Target>,
    stop: &Stop,
    at_end: impl FnOnce() + Send,
) -> Result<Loaded, loadstone_live::Error> {
    let tcp::Config { notsent_lowat, .. } = plan.variant().client_tcp;
    let (protocol, notsent_lowat) = (plan.variant().protocol, notsent_lowat.unwrap_or(NOTSENT_LOWAT));
    let route = Route { targets, protocol, notsent_lowat, limit: LIMIT };
    bed.on(Host::Client, || load(clock, plan.browser(), &route, stop, at_end))
}

/// What browser, servers and links know of the load, as one outcome, counted from the first SYN.
fn outcome(plan: &Plan, seed: Seed, seen: Seen) -> Result<Outcome, RunError> {
    let Seen { loaded, served, links: report } = seen;
    let origin = report.first_syn.ok_or(RunError::Nothing)?;
    let (end, over) = (loaded.end, loaded.over);
    let completed = end.is_some_and(|end| end.completed);
    let ended = end.map_or(over, |end| end.at);
    // The load is over when its last packet is delivered; the browser hears of it a little later.
    let delivered = report.down.last_data.filter(|at| completed && *at <= ended).unwrap_or(ended);
    let (mut marks, joined) = join(loaded, &served);
    marks = marks.counted_from(origin);
    let plt = delivered.counted_from(origin);
    trim(&mut marks, plt);
    let connections: Vec<_> = joined.iter().map(|conn| (conn, on_links(conn, &report.connections))).collect();
    let per_connection: Vec<_> = connections.iter().map(|(conn, seen)| connection(conn, *seen, origin)).collect();
    let records: Vec<_> = connections.iter().map(|(conn, seen)| record(plan, conn, *seen, origin)).collect();
    let Passage { counts: down, .. } = report.down;
    let Passage { counts: up, .. } = report.up;
    Ok(Outcome {
        seed: seed.0,
        completed,
        plt,
        packets_down: down.packets,
        packets_up: up.packets,
        bytes_down: down.bytes,
        bytes_up: up.bytes,
        retransmissions: per_connection.iter().map(|connection| connection.retransmissions).sum(),
        connections: joined.len() as u32,
        path: if completed { critical_path(plan.page(), &marks, &records) } else { Vec::new() },
        waterfall: marks.rows,
        per_connection,
        conditions: Some(Conditions {
            kernel: kernel_release(),
            paused: report.paused,
            pauses: report.pauses,
            late_median: report.lateness.median,
            late_p90: report.lateness.p90,
            late_worst: report.lateness.worst,
        }),
        capture: None,
    })
}

/// What the browser noted a little after the last packet was delivered happened with that packet.
fn trim(marks: &mut Marks, plt: Time) {
    for row in &mut marks.rows {
        for mark in [&mut row.first_byte, &mut row.last_byte] {
            *mark = mark.map(|at| at.min(plt));
        }
    }
}

/// What the links saw of a connection; nothing if it never sent a packet. Ports may be used again: the
/// first that was opened no earlier than the browser says.
fn on_links<'a>(conn: &Joined, reports: &'a [ConnectionReport]) -> Option<&'a ConnectionReport> {
    let is_it = |report: &&ConnectionReport| {
        let Connection { client_port, server, .. } = report.connection;
        conn.client_port == Some(client_port) && conn.host.0 as usize == server && report.opened >= conn.opened
    };
    reports.iter().find(is_it)
}

fn connection(conn: &Joined, seen: Option<&ConnectionReport>, origin: Time) -> ConnectionOutcome {
    ConnectionOutcome {
        host: conn.host,
        opened: seen.map_or(conn.opened, |seen| seen.opened).counted_from(origin),
        established: conn.established.map(|at| at.counted_from(origin)),
        content_up: conn.content_up,
        content_down: conn.content_down,
        retransmissions: seen.map_or(0, |seen| seen.up.retransmissions + seen.down.retransmissions),
    }
}

fn record(plan: &Plan, conn: &Joined, seen: Option<&ConnectionReport>, origin: Time) -> ConnectionRecord {
    let host = &plan.page().hosts[conn.host.0 as usize];
    let stalls = |stalls: &[std::ops::Range<Time>]| {
        stalls.iter().map(|stall| stall.start.counted_from(origin)..stall.end.counted_from(origin)).collect()
    };
    ConnectionRecord {
        opened: seen.map_or(conn.opened, |seen| seen.opened).counted_from(origin),
        established: conn.established.map(|at| at.counted_from(origin)),
        way_down: plan.network().down().propagation + host.extra_rtt / 2,
        stalls_up: seen.map_or_else(Vec::new, |seen| stalls(&seen.stalls_up)),
        stalls_down: seen.map_or_else(Vec::new, |seen| stalls(&seen.stalls_down)),
    }
}

/// The kernel's release, as `uname -r` gives it.
fn kernel_release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

#[cfg(test)]
mod tests;
