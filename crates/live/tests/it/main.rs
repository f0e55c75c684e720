//! Page loads over loopback: whole loads, the same as in the simulator, peers that misbehave, and how
//! the driver treats sockets. Every server has a port of its own on 127.0.0.1.

mod crowds;
mod fetches;
mod hostile;
mod late;
mod loads;
mod relays;
mod serving;
mod simulated;
mod talk;
mod wakes;

use loadstone_http::{Multiplexing, Protocol, SessionFactory};
use loadstone_live::{
    Authority, Chain, Clock, Destinations, Joined, Limits, Listener, Loaded, Lowat, NOTSENT_LOWAT, RecordKeeping,
    Served, Stop, Stopper, Target, Tls, join, listen, load, serve,
};
use loadstone_load::page::{HostId, ObjectSpec, Page, PageFile};
use loadstone_load::{
    Browser, BrowserConfig, Catalogue, Foresight, Graph, Hints, Joining, Marks, Origin, OriginConfig,
};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

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
            // Nothing here takes a tenth of it.
            limit: Duration::from_secs(60),
            limits: Limits::UNLIMITED,
            records: RecordKeeping::Collect,
            sessions: Arc::new(SessionFactory::new(Multiplexing::default())),
            authority: Authority::new(Chain::Usual),
        }
    }

    /// How to get to the page's hosts, which are at these addresses.
    fn route(&self, addresses: &[SocketAddr]) -> Destinations {
        let target = |(host, address): (&loadstone_load::page::Host, &SocketAddr)| Target {
            address: *address,
            tls: self.authority.client(&host.name, self.tls, self.protocol).unwrap(),
        };
        let targets = self.page.hosts.iter().zip(addresses).map(target).collect();
        Destinations { targets, protocol: self.protocol, notsent_lowat: self.lowat, timeout: self.limit }
    }

    fn load(&self, clock: &Clock, route: &Destinations, stop: &Stop) -> Loaded {
        let (connections, protocol, sessions) = (self.connections, self.protocol, self.sessions.clone());
        let config =
            BrowserConfig { connections, protocol, joining: Joining::Together, sessions, hints: Hints::Ignore };
        let browser = Browser::new(self.page.clone(), Arc::new(Graph::new(&self.page)), config);
        load(clock, browser, route, stop, || {}).unwrap()
    }

    fn serve(&self, clock: &Clock, host: usize, listener: TcpListener, stop: &Stop) -> Served {
        let catalogue = Catalogue::all(&self.page, Foresight::default()).remove(host);
        let origin = Origin::new(Arc::new(catalogue), OriginConfig::new(self.sessions.clone()));
        let tls = self.authority.server(&[&self.page.hosts[host].name], self.tls, self.protocol).unwrap();
        let (host, protocol, notsent_lowat) = (HostId(host as u32), self.protocol, self.lowat);
        let (limits, records) = (self.limits, self.records.clone());
        let site = Listener { host, listener, tls, protocol, notsent_lowat, limits, records };
        serve(clock, origin, site, stop).unwrap()
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
            (result, servers.into_iter().map(|server| server.join().unwrap()).collect())
        })
    }

    /// Loads the page from servers of its own.
    fn run(&self) -> Run {
        let clock = Clock::start();
        let (loaded, served) =
            self.with_servers(&clock, |addresses, stop| self.load(&clock, &self.route(addresses), stop));
        let (marks, connections) = join(loaded.clone(), &served);
        Run { loaded, served, marks, connections }
    }
}

impl Run {
    fn is_complete(&self) -> bool {
        self.loaded.end.is_some_and(|end| end.completed)
    }
}
