//! Carries out a scenario over the real kernel: the browsers and the origins of the simulator, on
//! sockets, through the simulator's links.

mod capture;
mod curtain;
pub(crate) mod kernels;
mod outcome;
mod programs;

use crate::name_server::name_server;
use crate::settings::BackOff;
use crate::{Bed, BedError, BedHost, HostTask, LinkReport};
use curtain::Curtain;
use loadstone_live::{Loaded, Served, Stop, Stopper};
use loadstone_load::NoName;
use loadstone_net::NodeId;
use loadstone_scenario::{Outcome, Plan};
use loadstone_units::Seed;
use programs::{LiveBrowser, LiveRelay, LiveServer};
use std::io;
use std::thread::{self, ScopedJoinHandle};

/// Why a scenario cannot be carried out over the kernel.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It asks for what is only simulated.
    #[error("scenario.{field}: {what}")]
    Unsupported {
        /// The path of the field, for instance `variant.tls`.
        field: String,
        /// What it asks for.
        what: Unsupported,
    },
    /// There is no bed for it.
    #[error(transparent)]
    Bed(#[from] BedError),
    /// A program cannot be hosted.
    #[error(transparent)]
    Live(#[from] loadstone_live::Error),
    /// A host of the page has no name that a name server could have.
    #[error(transparent)]
    Name(#[from] NoName),
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

/// What a scenario may ask of the simulator only.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unsupported {
    /// TLS 1.0.
    #[error("over the kernel only 1.2 and 1.3 are spoken: choose one of them, or simulate")]
    OldTls,
    /// Cached metrics of TCP.
    #[error("a new host of the kernel remembers nothing: leave it out, or simulate")]
    EarlierLoads,
    /// A browser that loads before the others.
    #[error("over the kernel all browsers begin at once: leave '{0}' out, or simulate")]
    EarlierBrowser(String),
    /// Connections of a visit before.
    #[error("over the kernel all connections are new: give 75 seconds or more, after which none is open, or simulate")]
    OpenConnections,
    /// Single servers with another TCP, while beta is the whole machine's.
    #[error("the machine has one beta for all servers: give them one TCP, or leave --machine-wide-beta out")]
    OneBeta,
    /// The TCP of another system.
    #[error("over the kernel TCP is this kernel's own: leave the profile out, or simulate")]
    Profile,
    /// Mechanisms of TCP that a kernel cannot switch.
    #[error(
        "a kernel can only be told tail_loss_probes, frto, sack_compression, and idle_restart, halving or never: leave the \
             others out, or simulate"
    )]
    Mechanisms,
    /// Without TLS and ALPN nothing tells which protocol a client speaks.
    #[error("without TLS '{0}' cannot be spoken to in two protocols: use TLS, or simulate")]
    TwoProtocols(String),
}

impl RunError {
    fn unsupported(field: &str, what: Unsupported) -> RunError {
        RunError::Unsupported { field: field.to_owned(), what }
    }
}

/// Carries out a scenario over the real kernel, with `seed` instead of the one that it names: what its browser gave,
/// or the first of them. It takes as long as the load does, unless `stop` comes first: then it ends within a few
/// milliseconds.
///
/// TCP is this kernel's own; `back_off` says how it is to behave like several flows where the scenario wants
/// that.
///
/// # Errors
/// If the scenario asks for another TCP or for a relay, this process may not make a bed, the kernel refuses
/// something, or it was told to stop.
pub fn run(plan: &Plan, seed: Seed, back_off: BackOff, stop: &Stop) -> Result<Outcome, RunError> {
    run_all(plan, seed, back_off, stop, None).map(first)
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
    run_all(plan, seed, back_off, stop, Some(limit)).map(first)
}

/// Carries out a scenario until all its browsers have ended: what each of them gave, in their order. The first has
/// the first packets of the run, `noted` of them, if that is wanted.
///
/// # Errors
/// As for [`run`].
pub fn run_all(
    plan: &Plan,
    seed: Seed,
    back_off: BackOff,
    stop: &Stop,
    noted: Option<usize>,
) -> Result<Vec<Outcome>, RunError> {
    let seen = carry_out(plan, seed, back_off, stop, noted)?;
    if seen.loaded.iter().any(|loaded| loaded.end.is_none()) && stop.is_stopped() {
        return Err(RunError::Stopped);
    }
    let capture = noted.map(|_| capture::of(plan, &plan.fabric_of(seed), &seen.links));
    let mut outcomes = outcome::outcomes(plan, seed, seen)?;
    if let Some(first) = outcomes.first_mut() {
        first.capture = capture;
    }
    Ok(outcomes)
}

fn first(outcomes: Vec<Outcome>) -> Outcome {
    outcomes.into_iter().next().expect("a plan has a browser")
}

/// What each party has seen of a run.
struct RunRecord {
    /// The browsers, in their order.
    loaded: Vec<Loaded>,
    /// The servers, in their order.
    served: Vec<Served>,
    links: LinkReport,
}

/// Lets the browsers load their pages over a bed of their own, whose links keep the first `noted` packets.
fn carry_out(
    plan: &Plan,
    seed: Seed,
    back_off: BackOff,
    stop: &Stop,
    noted: Option<usize>,
) -> Result<RunRecord, RunError> {
    let mut tcps = kernels::tcps(plan, back_off)?;
    programs::check(plan)?;
    let mut nodes: Vec<NodeId> = plan.hosts().iter().map(|host| host.node).collect();
    // One host more, for the name server.
    if plan.name_server().is_some() {
        tcps.push(tcps[BedHost::CLIENT.0]);
        nodes.extend(plan.hub());
    }
    let bed = Bed::new(nodes.len())?;
    bed.configure_each(&tcps, back_off)?;
    let programs = programs::programs(plan, &bed, seed)?;
    let links = bed.begin_noting(&plan.fabric_of(seed), &nodes, seed, noted)?;
    let clock = links.clock();
    let curtain = Curtain::new(links, plan.browsers());

    // Gone with what follows, so that servers do not go on after a panic.
    let (stopper, to_the_end) = Stopper::new();
    let asked = programs.zone.map(|zone| name_server(&bed, programs::name_server_host(plan), zone, to_the_end.clone()));
    let asked = asked.transpose()?;
    let (loaded, relayed, served) = thread::scope(|scope| {
        let (bed, clock, to_the_end) = (&bed, &clock, &to_the_end);
        let serve = |server: LiveServer| scope.spawn(move || server.serve(bed, plan, clock, to_the_end));
        let serving = programs.servers.into_iter().map(serve).collect();
        let relay = |relay: LiveRelay| scope.spawn(move || relay.relay(bed, plan, clock, to_the_end));
        let relaying = programs.relays.into_iter().map(relay).collect();
        let load = |browser: LiveBrowser| {
            let ending = curtain.ending();
            scope.spawn(move || browser.load(bed, plan, clock, stop, ending))
        };
        let loaded = all(programs.browsers.into_iter().map(load).collect());
        stopper.stop();
        (loaded, all(relaying), all(serving))
    });
    asked.map(HostTask::join);
    relayed?;
    Ok(RunRecord { loaded: loaded?, served: served?, links: curtain.report()? })
}

/// What all threads give, when they have ended.
fn all<T, E>(threads: Vec<ScopedJoinHandle<Result<T, E>>>) -> Result<Vec<T>, E> {
    let ends: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        .collect();
    ends.into_iter().collect()
}

#[cfg(test)]
mod tests;
