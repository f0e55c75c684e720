//! Page loads over loopback: whole loads, the same as in the simulator, peers that misbehave, and how
//! the driver treats sockets. Every server has a port of its own on 127.0.0.1.

mod cache_folders;
mod caching;
mod crowds;
mod edges;
mod fetches;
mod forwards;
mod hostile;
mod late;
mod loads;
mod operators;
mod relays;
mod reloads;
mod serving;
mod several_origins;
mod simulated;
mod smuggling;
mod talk;
mod wakes;

use loadstone_http::{Multiplexing, Protocol, SessionFactory};
use loadstone_live::{
    Authority, Chain, Clock, Destinations, Joined, Limits, Listener, Loaded, Lowat, NOTSENT_LOWAT, PathNotes,
    RecordKeeping, Served, Stop, Stopper, Target, Tls, join, listen, load, serve,
};
use loadstone_load::page::{HostId, ObjectSpec, Page, PageFile};
use loadstone_load::{
    Browser, BrowserConfig, Catalogue, Foresight, Graph, Hints, Joining, Marks, Names, Origin, OriginConfig,
};
use socket2::SockRef;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

/// Nothing here takes a tenth of it: what takes so long never comes.
const LIMIT: Duration = Duration::from_secs(60);

const EVERY_TLS: [Tls; 3] = [Tls::None, Tls::V1_2, Tls::V1_3];

fn object(url: &str, bytes: u64) -> ObjectSpec {
    ObjectSpec { url: url.to_owned(), bytes, ..ObjectSpec::default() }
}

fn page(objects: impl IntoIterator<Item = ObjectSpec>) -> PageFile {
    PageFile { objects: objects.into_iter().collect(), ..PageFile::default() }
}

/// A port of its own.
fn port() -> (TcpListener, SocketAddr) {
    let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A client's connection, which waits no longer than [`LIMIT`].
fn dial(address: SocketAddr) -> TcpStream {
    limited(TcpStream::connect_timeout(&address, LIMIT).unwrap())
}

/// The next connection to a listener, which has to come within [`LIMIT`], and waits no longer either.
fn accept(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(false).unwrap();
    SockRef::from(listener).set_read_timeout(Some(LIMIT)).unwrap();
    limited(listener.accept().expect("a connection comes").0)
}

/// The same connection, whose reads and writes fail after [`LIMIT`].
fn limited(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    stream
}

/// Reads until the other end closes or resets, which it has to do within [`LIMIT`].
fn read_to_close(stream: &mut TcpStream) {
    loop {
        match stream.read(&mut [0; 1_000]) {
            Ok(1..) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("the other end does not close"),
            Ok(0) | Err(_) => return,
        }
    }
}

/// What a thread returns that has been told to stop. One that does not stop within [`LIMIT`] would keep its scope
/// waiting for ever, even after a panic, so the program ends.
#[expect(clippy::disallowed_methods, reason = "the wait for a thread has a limit")]
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    for _ in 0..LIMIT.as_millis() {
        if thread.is_finished() {
            return thread.join().unwrap();
        }
        thread::sleep(Duration::from_millis(1));
    }
    // Past the capture of the test's output, which would be lost.
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let _shown = writeln!(std::io::stderr(), "{name}: a thread does not stop");
    std::process::exit(1);
}

/// How a page is loaded.
struct Setting {
    page: Arc<Page>,
    protocol: Protocol,
    tls: Tls,
    lowat: Lowat,
    connections: u32,
    limit: Duration,
    limits: Limits,
    records: RecordKeeping,
    sessions: Arc<SessionFactory>,
    authority: Authority,
}

/// What a load gave, from all sides.
struct Run {
    loaded: Loaded,
    served: Vec<Served>,
    marks: Marks,
    connections: Vec<Joined>,
}

impl Setting {
    fn new(page: &PageFile, protocol: Protocol, tls: Tls) -> Setting {
        Setting {
            page: Arc::new(page.build().unwrap()),
            protocol,
            tls,
            lowat: NOTSENT_LOWAT,
            connections: 6,
            limit: LIMIT,
            limits: Limits::UNLIMITED,
            records: RecordKeeping::Collect,
            sessions: Arc::new(SessionFactory::new(Multiplexing::default())),
            authority: Authority::new(Chain::Usual),
        }
    }

    /// How to get to the page's hosts, which are at these addresses.
    fn destinations(&self, addresses: &[SocketAddr]) -> Destinations {
        let target = |(host, address): (&loadstone_load::page::Host, &SocketAddr)| Target {
            address: *address,
            tls: self.authority.client(&host.name, self.tls, self.protocol).unwrap(),
            protocol: self.protocol,
        };
        let targets = self.page.hosts.iter().zip(addresses).map(target).collect();
        let (limits, path_notes) = (Limits::UNLIMITED, PathNotes::None);
        Destinations { targets, names: None, notsent_lowat: self.lowat, timeout: self.limit, limits, path_notes }
    }

    fn load(&self, clock: &Clock, destinations: &Destinations, stop: &Stop) -> Loaded {
        let (connections, protocol, sessions) = (self.connections, self.protocol, self.sessions.clone());
        let config = BrowserConfig {
            connections,
            connections_in_all: None,
            protocol,
            joining: Joining::Together,
            sessions,
            hints: Hints::Ignore,
            names: Names::Cached,
        };
        let browser = Browser::new(self.page.clone(), Arc::new(Graph::new(&self.page)), config);
        load(clock, browser, destinations, stop, || {}).unwrap()
    }

    fn serve(&self, clock: &Clock, host: usize, listener: TcpListener, stop: &Stop) -> Served {
        let catalogue = Catalogue::all(&self.page, Foresight::default()).remove(host);
        let origin = Origin::new(Arc::new(catalogue), OriginConfig::new(self.sessions.clone()));
        let tls = self.authority.server(&[&self.page.hosts[host].name], self.tls, &[self.protocol]).unwrap();
        let (host, protocol, notsent_lowat) = (HostId(host as u32), self.protocol, self.lowat);
        let (limits, records) = (self.limits, self.records.clone());
        let listener = Listener { host, listener, tls, protocol, notsent_lowat, limits, records };
        serve(clock, origin, listener, stop).unwrap()
    }

    /// Serves the page while `client` does what it does with the addresses of its hosts.
    fn with_servers<T>(&self, clock: &Clock, client: impl FnOnce(&[SocketAddr], &Stop) -> T) -> (T, Vec<Served>) {
        let (stopper, stop) = Stopper::new();
        let (listeners, addresses): (Vec<_>, Vec<_>) = self.page.hosts.iter().map(|_| port()).unzip();
        thread::scope(|scope| {
            let listeners = listeners.into_iter().enumerate();
            let serve = |(host, listener)| {
                let stop = stop.clone();
                scope.spawn(move || self.serve(clock, host, listener, &stop))
            };
            let servers: Vec<_> = listeners.map(serve).collect();
            let result = client(&addresses, &stop);
            stopper.stop();
            (result, servers.into_iter().map(joined).collect())
        })
    }

    /// Loads the page from servers of its own.
    fn run(&self) -> Run {
        let clock = Clock::start();
        let (loaded, served) =
            self.with_servers(&clock, |addresses, stop| self.load(&clock, &self.destinations(addresses), stop));
        let (marks, connections) = join(loaded.clone(), &served);
        Run { loaded, served, marks, connections }
    }
}

impl Run {
    fn is_complete(&self) -> bool {
        self.loaded.end.is_some_and(|end| end.completed)
    }
}
