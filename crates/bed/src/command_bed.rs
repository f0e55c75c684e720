//! A bed for any command: behind the links of a scenario stand the servers of its page, or a program of one's own,
//! and a name server that knows where they are. In a topology an edge stands between two links: a program that is met
//! under the servers' names.

use crate::command::{CommandError, HostCommand, RunningCommand};
use crate::journey::Layout;
use crate::name_server::name_server;
use crate::named_hosts::{NamedHost, named_hosts, share_servers, zone};
use crate::ping::EchoReplies;
use crate::run::kernels;
use crate::settings::BackOff;
use crate::tap::{CaptureFile, Tap};
use crate::{Bed, BedError, BedHost, HostTask, LinkReport, RunError};
use loadstone_http::Protocol;
use loadstone_live::{
    Authority, Chain, Clock, Finished, Identity, Manifest, PushOrHint, RecordedSite, Recording, Server, ServerError,
    Stop, Stopper,
};
use loadstone_net::NodeId;
use loadstone_scenario::{HostRole, Plan};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The ports of plain and of secure servers.
const PORTS: [u16; 2] = [80, 443];

/// Who answers behind the links.
#[derive(Clone, Debug)]
pub enum BedServers {
    /// The servers of the page. Each speaks the scenario's protocol for it by TLS, and HTTP/1.1 with TLS and without.
    Recorded(Announcements),
    /// The same, with the content of their responses.
    Site(Arc<RecordedSite>, Announcements),
    /// Programs that are started on the page's hosts ([`CommandBed::start_server`]).
    Programs,
}

/// What the servers of a bed tell clients of that these have not asked for.
#[derive(Clone, Debug, Default)]
pub struct Announcements {
    /// With which response, of what.
    pub manifest: Manifest,
    /// How.
    pub by: PushOrHint,
}

/// Why there is no bed for a command.
#[derive(Debug, thiserror::Error)]
pub enum CommandBedError {
    /// A bed cannot be made, or the scenario asks for what no kernel does.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A server cannot be made.
    #[error("the server of {name}: {error}")]
    Server {
        /// Of which host.
        name: String,
        /// Why not.
        error: ServerError,
    },
    /// The scenario has another topology.
    #[error("a command is one client, with its servers behind one link, or behind one relay: leave 'topology' out")]
    Topology,
}

impl From<BedError> for CommandBedError {
    fn from(error: BedError) -> CommandBedError {
        CommandBedError::Run(error.into())
    }
}

/// A bed for commands, whose links work until it is finished.
#[derive(Debug)]
pub struct CommandBed {
    bed: Bed,
    resolver: BedHost,
    /// Where programs are started that serve.
    server: BedHost,
    hosts: Vec<NamedHost>,
    authority: Authority,
    capture: Option<CaptureFile>,
    serving: Serving,
    clock: Clock,
}

/// What runs on the hosts of a bed for commands.
#[derive(Debug, Default)]
struct Serving {
    /// Gone with this, so that all stop.
    stoppers: Vec<Stopper>,
    servers: Vec<HostTask<Result<Finished, ServerError>>>,
    names: Vec<HostTask<()>>,
    programs: Vec<RunningCommand>,
}

/// What one saw of a command on a bed.
#[derive(Debug)]
pub struct CommandBedReport {
    /// What the links saw.
    pub links: LinkReport,
    /// How many packets are missing in the capture file, because the disk was too slow; none if there is no file.
    pub missed: Option<u64>,
}

impl CommandBed {
    /// Makes the hosts and links of a scenario, starts the servers, and lets the links work. `capture` is a file for
    /// what the client sends and gets.
    ///
    /// # Errors
    /// If there cannot be such a bed, or a server cannot be started.
    pub fn new(plan: &Plan, servers: BedServers, capture: Option<&Path>) -> Result<CommandBed, CommandBedError> {
        let edge = edge(plan)?;
        let back_off = BackOff::Own;
        let mut tcps = kernels::tcps(plan, back_off)?;
        let resolver = BedHost(tcps.len());
        tcps.push(tcps[BedHost::CLIENT.0]);
        let bed = Bed::new(tcps.len())?;
        bed.configure_each(&tcps, back_off)?;
        let authority = Authority::new(Chain::Usual);
        let mut hosts = named_hosts(plan, &bed, &servers);
        if !matches!(servers, BedServers::Programs) {
            share_servers(plan, &mut hosts);
        }
        let mut serving = Serving::default();
        let recording = match servers {
            BedServers::Recorded(announced) => Some((Recording::Page(plan.page().clone()), announced)),
            BedServers::Site(site, announced) => Some((Recording::Site(site), announced)),
            BedServers::Programs => None,
        };
        if let Some(served) = recording {
            serving.start_servers(&bed, plan, &hosts, &authority, &served)?;
        }
        let stop = serving.stop();
        serving.names.push(name_server(&bed, resolver, zone(&hosts).map_err(RunError::from)?, stop)?);

        let (fabric, seed) = (plan.fabric_of(plan.seed()), plan.seed());
        let mut nodes: Vec<NodeId> = plan.hosts().iter().map(|host| host.node).collect();
        // The name server is at the end of the access link, as a provider's is.
        nodes.extend(plan.hub().or(edge.map(|edge| plan.hosts()[edge.0].node)));
        let tapped = capture.map(|path| Tap::open(BedHost::CLIENT, path)).transpose()?;
        let (tap, capture) = tapped.unzip();
        let clock = bed.begin_links(Layout { fabric, nodes, seed, noted: None, tap })?;
        let server = edge.unwrap_or(BedHost::server(0));
        Ok(CommandBed { bed, resolver, server, hosts, authority, capture, serving, clock })
    }

    /// The hosts that have names.
    pub fn hosts(&self) -> &[NamedHost] {
        &self.hosts
    }

    /// For how long the machine stood still so far.
    pub fn paused(&self) -> Duration {
        self.clock.paused()
    }

    /// Where the name server is.
    pub fn name_server(&self) -> IpAddr {
        self.bed.address(self.resolver)
    }

    /// The certificate that clients have to trust, in DER.
    pub fn root(&self) -> &[u8] {
        self.authority.root()
    }

    /// What a program needs to prove by TLS that it is the server of these names: its chain and its key.
    ///
    /// # Errors
    /// If one is no name.
    pub fn identity(&self, names: &[&str]) -> Result<Identity, loadstone_live::Error> {
        self.authority.identity(names)
    }

    /// Starts a program on the edge, or without one on the page's first host. It ends with the bed.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn start_server(&mut self, program: HostCommand) -> Result<(), CommandError> {
        self.serving.programs.push(self.bed.start(self.server, program)?);
        Ok(())
    }

    /// Sends echo requests from the client to the other end of its link.
    ///
    /// # Errors
    /// If the client may not send them.
    pub fn ping(&self, count: u16, interval: Duration) -> Result<EchoReplies, BedError> {
        self.bed.ping(BedHost::CLIENT, self.resolver, count, interval)
    }

    /// Starts a command at the client's place.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn start(&self, command: HostCommand) -> Result<RunningCommand, CommandError> {
        self.bed.start(BedHost::CLIENT, command)
    }

    /// Ends it: stops the servers, and says what the links saw.
    ///
    /// # Errors
    /// If the pump has failed, or the capture file could not be written.
    pub fn finish(self) -> Result<CommandBedReport, BedError> {
        let links = self.bed.finish_links()?;
        self.serving.finish();
        let missed =
            self.capture.map(CaptureFile::finish).transpose().map_err(BedError::host("writing the capture"))?;
        Ok(CommandBedReport { links, missed })
    }
}

/// The host between the client's link and those of the servers, if there is one.
fn edge(plan: &Plan) -> Result<Option<BedHost>, CommandBedError> {
    let is_origin = |role: &HostRole| matches!(role, HostRole::Origin { .. });
    let roles: Vec<HostRole> = plan.hosts().iter().map(|host| host.role).collect();
    match &roles[..] {
        _ if plan.hub().is_some() => Ok(None),
        [HostRole::Browser { .. }, HostRole::Relay, servers @ ..] if servers.iter().all(is_origin) => {
            Ok(Some(BedHost(1)))
        }
        _ => Err(CommandBedError::Topology),
    }
}

impl Serving {
    /// What tells one more of them to stop.
    fn stop(&mut self) -> Stop {
        let (stopper, stop) = Stopper::new();
        self.stoppers.push(stopper);
        stop
    }

    fn start_servers(
        &mut self,
        bed: &Bed,
        plan: &Plan,
        hosts: &[NamedHost],
        authority: &Authority,
        served: &(Recording, Announcements),
    ) -> Result<(), CommandBedError> {
        for (number, host) in hosts.iter().enumerate() {
            let at = host.at;
            if hosts[..number].iter().any(|before| before.at == at) {
                continue;
            }
            let names: Vec<&str> = hosts.iter().filter(|other| other.at == at).map(|other| &other.name[..]).collect();
            for port in PORTS {
                let address = SocketAddr::new(host.address, port);
                let server = bed.on(at, || server(plan, address, (host, &names), authority, served));
                let server = server.map_err(|error| CommandBedError::Server { name: host.name.clone(), error })?;
                let (graceful, immediate) = (self.stop(), self.stop());
                self.servers.push(bed.spawn(at, move || server.run(&graceful, &immediate)));
            }
        }
        Ok(())
    }

    /// Stops all of them.
    fn finish(self) {
        for program in &self.programs {
            program.signal(libc::SIGKILL);
        }
        drop(self.stoppers);
        self.names.into_iter().for_each(HostTask::join);
        // What a server could not send to a client that has ended is not wanted any more, nor what a program says.
        self.servers.into_iter().for_each(|server| drop(server.join()));
        self.programs.into_iter().for_each(|program| drop(program.wait()));
    }
}

/// The server of a host, and of others with these names, at one of its ports.
fn server(
    plan: &Plan,
    address: SocketAddr,
    (host, names): (&NamedHost, &[&str]),
    authority: &Authority,
    (recording, announced): &(Recording, Announcements),
) -> Result<Server, ServerError> {
    let is_secure = address.port() == PORTS[1];
    let identity = is_secure.then(|| authority.identity(names)).transpose()?;
    let protocols = if is_secure { host.protocols.clone() } else { vec![Protocol::Http1] };
    let server = Server::of_recording(recording.clone(), address, protocols, identity, plan.variant().multiplexing)?;
    Ok(server.announcing(announced.manifest.clone(), announced.by))
}
