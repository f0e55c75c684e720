//! The edge of `loadstone edge`: a relay in front of origins that are known by name.

use crate::access_log::{Entries, Log};
use crate::admin::{AdminListener, serve_admin};
use crate::cache_disk::{CacheDisk, DiskWork};
use crate::cache_folder::CacheFolder;
use crate::edge::{EdgeParts, relay_config};
use crate::edge_change::{EdgeChange, EdgeControl, EdgeOrder, ServerPlaces};
use crate::edge_metrics::EdgeMetrics;
use crate::edge_source::{EdgeSource, SourceError};
use crate::forward_scope::ForwardScope;
use crate::forwarder::{Forwarder, NameResolver, SystemResolver};
use crate::front::{OpenFront, TransportSecurity};
use crate::graceful::{Finished, Graceful, Orders};
use crate::host::HostLoop;
use crate::origin_urls::OriginUrls;
use crate::{
    Clock, Destinations, EdgeSettings, Error, NOTSENT_LOWAT, PathNotes, Pattern, ServerError, SettingProblem, Stop,
    Stopper, Target,
};
use loadstone_http::{Chunk, Protocol, Scheme, TransportStream, Wire};
use loadstone_load::page::HostId;
use loadstone_load::{Action, AdoptedFile, Closed, ConnId, ExchangeNotes, Opened, Program, Relay, ServerAddress, Tag};
use loadstone_units::{Time, visible};
use std::iter;
use std::net::SocketAddr;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;

/// An edge that listens, and relays when it is run.
#[derive(Debug)]
pub struct EdgeProxy {
    front: OpenFront,
    parts: EdgeParts,
    admin: Option<AdminListener>,
    /// Where its cache is kept as well, and what is there.
    folder: Option<(CacheFolder, Vec<AdoptedFile>)>,
    control: EdgeControl,
    orders: UnboundedReceiver<EdgeOrder>,
    /// Who says where names lead that clients choose.
    resolver: Arc<dyn NameResolver>,
}

impl EdgeProxy {
    /// Listens, and looks for its origins: what their names say now is where they are until the settings are read again.
    ///
    /// # Errors
    /// If a name or a URL is none, an origin is nowhere, or it cannot listen there; if it goes anywhere for clients from elsewhere.
    pub fn open(settings: EdgeSettings) -> Result<EdgeProxy, ServerError> {
        let (front, parts) = EdgeParts::find(settings)?;
        let front = OpenFront::open(front, &parts.hosts())?;
        let admin = parts.admin.as_deref().map(AdminListener::open).transpose()?;
        let is_elsewhere = |address: &SocketAddr| !address.ip().to_canonical().is_loopback();
        if let Some(open) = listeners(&front, admin.as_ref()).find(is_elsewhere).filter(|_| parts.forward().is_some()) {
            return Err(ServerError::setting("behind.forward", SettingProblem::ForwardForOthers(open)));
        }
        let folder = parts.cache_folder().map(CacheFolder::open).transpose()?;
        let (control, orders) = EdgeControl::new(&front, &parts);
        Ok(EdgeProxy { front, parts, admin, folder, control, orders, resolver: Arc::new(SystemResolver) })
    }

    /// Reads all settings, and listens as they say.
    ///
    /// # Errors
    /// If a setting cannot be used, an origin is nowhere, or it cannot listen there.
    pub fn of(source: &EdgeSource) -> Result<EdgeProxy, SourceError> {
        EdgeProxy::open(source.settings()?).map_err(|error| source.placed(error))
    }

    /// What gives it other settings while it runs.
    pub fn control(&self) -> EdgeControl {
        self.control.clone()
    }

    /// What it speaks, where each name leads, and where it listens, a line for each.
    pub fn ways(&self) -> Vec<String> {
        let OpenFront { settings, protocols, address, .. } = &self.front;
        let names: Vec<&str> = protocols.iter().copied().map(Protocol::name).collect();
        let is_plain = settings.transport == TransportSecurity::Plaintext;
        let how = if is_plain { format!("{}, by prior knowledge", names[0]) } else { names.join(", ") };
        let port = |name: &str| if name.contains(':') { String::new() } else { format!(":{}", address.port()) };
        let way = |(name, urls): (&String, &OriginUrls)| {
            format!("{}://{name}{}/ from {urls}", settings.scheme().name(), port(name))
        };
        let ways = self.parts.origins.iter().map(way);
        let forward = self.parts.forward().map(|scope| {
            let whose = if scope == ForwardScope::Public { "of the public internet" } else { "of this machine" };
            format!("http://... {whose}, for clients whose proxy it is")
        });
        let admin = self.admin.iter().map(|admin| format!("http://{}/metrics for its operator", admin.address()));
        let lines = iter::once(how).chain(ways).chain(forward).chain(admin).chain([format!("listening on {address}")]);
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
        let EdgeProxy { mut front, parts, admin, folder, control, orders, resolver } = self;
        let clock = Clock::start();
        let log = front.begin_log()?;
        let metrics = admin.as_ref().map(|_| EdgeMetrics::default());
        let notes = notes(log.is_some() || metrics.is_some());
        let config = relay_config(&front.settings, &parts, parts.names.clone(), clock.now(), notes);
        let (limits, own) = (parts.limits(), listeners(&front, admin.as_ref()).collect());
        let said = control.orders();
        let forwarder = parts.forward().map(|scope| Forwarder { scope, own, resolver, said });
        let EdgeParts { servers, targets, .. } = parts;
        let servers = ServerPlaces::new(servers);
        let (folder, files) = folder.unzip();
        let (disk, work) = folder.as_ref().map(|folder| CacheDisk::new(folder, &control.orders())).unzip();
        let mut relay = Relay::new(config);
        relay.adopt(files.unwrap_or_default());
        let log_entries = log.as_ref().map(Log::entries);
        let program = EdgeProgram { relay, servers, log: log_entries, metrics, disk, forwarder, is_leaving: false };
        let (timeout, path_notes) = (Duration::MAX, PathNotes::None);
        let destinations =
            Destinations { targets, names: None, notsent_lowat: NOTSENT_LOWAT, timeout, limits, path_notes };
        let orders = Orders { graceful, immediate, others: orders };
        let (end, ended) = Stopper::new();
        thread::scope(|scope| {
            if let Some(DiskWork { writer, reader }) = work {
                scope.spawn(|| writer.run());
                scope.spawn(|| reader.run());
            }
            let admin = admin.map(|admin| {
                let (orders, ended) = (control.orders(), ended.clone());
                scope.spawn(move || serve_admin(admin, orders, graceful.clone(), &ended))
            });
            let finished = front.run(&clock, program, Some(&destinations), Rc::new(Pattern), log, orders);
            end.stop();
            admin.map_or(Ok(()), |admin| admin.join().unwrap_or_else(|panic| resume_unwind(panic)))?;
            finished
        })
    }
}

/// Where an edge listens.
fn listeners(front: &OpenFront, admin: Option<&AdminListener>) -> impl Iterator<Item = SocketAddr> {
    iter::once(front.address).chain(admin.map(AdminListener::address))
}

/// A relay whose exchanges are logged.
#[derive(Debug)]
struct EdgeProgram<'f> {
    relay: Relay,
    /// Which servers its destinations lead to.
    servers: ServerPlaces,
    log: Option<Entries>,
    /// What it has done, if its operator asks for that.
    metrics: Option<EdgeMetrics>,
    /// The disk of its cache, if it has one.
    disk: Option<CacheDisk<'f>>,
    /// Where names lead that clients choose, if they may.
    forwarder: Option<Forwarder>,
    is_leaving: bool,
}

impl EdgeProgram<'_> {
    /// Passes on what it says of exchanges, what it has for the disk, and the names that it wants to know of.
    fn note(&mut self) {
        if let Some(forwarder) = &self.forwarder {
            while let Some(server) = self.relay.poll_lookup() {
                forwarder.look_up(server);
            }
        }
        if let Some(disk) = &mut self.disk {
            while let Some(task) = self.relay.poll_disk_task() {
                disk.take(task);
            }
        }
        while let Some(exchange) = self.relay.poll_exchange() {
            self.log.iter().for_each(|log| log.note_exchange(&exchange));
            self.metrics.iter_mut().for_each(|metrics| metrics.note(&exchange));
        }
    }

    /// What it has done and has; nothing if nobody asks for that.
    fn report(&mut self) -> String {
        self.note();
        let EdgeProgram { relay, servers, metrics, disk, .. } = self;
        let mut gauges = relay.gauges();
        if let (Some(disk), Some(gauges)) = (disk, gauges.cache.as_mut().and_then(|cache| cache.disk.as_mut())) {
            gauges.failures += disk.failed_removals;
        }
        metrics.as_ref().map(|metrics| metrics.text(&gauges, |server| servers.name(server))).unwrap_or_default()
    }
}

/// What a relay notes of exchanges, where somebody reads that.
fn notes(is_read: bool) -> ExchangeNotes {
    if is_read { ExchangeNotes::Kept } else { ExchangeNotes::Dropped }
}

/// Goes on with other settings.
fn reconfigure(host: &mut HostLoop<'_, EdgeProgram<'_>>, change: EdgeChange) -> Result<(), Error> {
    let now = host.now();
    let EdgeChange { front, tls, parts, done: _done } = change;
    let EdgeProgram { relay, servers, log, metrics, .. } = &mut host.program;
    let places = servers.find(&parts.servers, |server| relay.has_server(server));
    let of_name = |servers: &Vec<HostId>| servers.iter().map(|HostId(at)| places[*at as usize]).collect();
    let names = parts.names.iter().map(|(name, servers)| (name.clone(), of_name(servers))).collect();
    let notes = notes(log.is_some() || metrics.is_some());
    log.iter().for_each(Entries::open_again);
    relay.reconfigure(now, relay_config(&front, &parts, names, now, notes));
    host.set_limits(parts.limits());
    host.set_tls(tls.as_ref());
    places.into_iter().zip(parts.targets).for_each(|(place, target)| host.set_target(place, target));
    host.run_actions(now)
}

/// Gives the addresses that a name leads to places among its destinations. What has one stays as it is.
fn places(host: &mut HostLoop<'_, EdgeProgram<'_>>, addresses: &[SocketAddr]) -> Vec<HostId> {
    let EdgeProgram { relay, servers, .. } = &mut host.program;
    let named = |address: &SocketAddr| ServerAddress {
        scheme: Scheme::Http,
        host: address.ip().to_string(),
        port: address.port(),
    };
    let places = servers.find(&addresses.iter().map(named).collect::<Vec<_>>(), |server| relay.has_server(server));
    for (place, address) in places.iter().zip(addresses) {
        if !host.program.relay.has_server(*place) {
            host.set_target(*place, Target { address: *address, tls: None, protocol: Protocol::Http1 });
        }
    }
    places
}

impl Graceful for EdgeProgram<'_> {
    type Order = EdgeOrder;
    const GATHERS: bool = true;

    fn obey(host: &mut HostLoop<'_, Self>, order: EdgeOrder) -> Result<(), Error> {
        // Who has asked may be gone.
        match order {
            EdgeOrder::Change(_) if host.program.is_leaving => {}
            EdgeOrder::Change(change) => reconfigure(host, *change)?,
            EdgeOrder::Report(said) => drop(said.try_send(host.program.report())),
            EdgeOrder::Purge(purge, said) => {
                let count = host.program.relay.purge(&purge);
                // It is gone from the disk before that is said.
                host.program.note();
                let _ = said.try_send(count);
            }
            EdgeOrder::Read(number, entry) => {
                let now = host.now();
                host.program.relay.handle_file_read(now, number, entry);
                host.run_actions(now)?;
            }
            EdgeOrder::Written(number, is_written) => host.program.relay.handle_file_written(number, is_written),
            EdgeOrder::LookedUp(name, found) => {
                let now = host.now();
                let servers = found.map(|addresses| places(host, &addresses));
                host.program.relay.handle_looked_up(now, &name, servers);
                host.run_actions(now)?;
            }
        }
        host.program.note();
        Ok(())
    }

    fn shut_down(&mut self, now: Time) {
        self.is_leaving = true;
        self.relay.shut_down(now);
    }

    fn give_up(&mut self, now: Time) {
        self.relay.give_up(now);
        self.note();
    }
}

impl Program for EdgeProgram<'_> {
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

#[cfg(test)]
mod tests;
