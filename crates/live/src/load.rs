//! Loads a page: a browser on sockets.

use crate::connection_table::ConnectionTable;
use crate::host::{HostLoop, block_on};
use crate::{ClientTls, Clock, Error, Limits, Lowat, NameServer, PathNotes, RecordKeeping, SocketRecord, Stop};
use loadstone_http::Protocol;
use loadstone_load::{Browser, LoadEnd, Marks};
use loadstone_units::Time;
use std::net::SocketAddr;
use std::time::Duration;

/// Where a server is found.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its address and port.
    pub address: SocketAddr,
    /// How to speak TLS with it; none for plain TCP.
    pub tls: Option<ClientTls>,
    /// What connections speak on which TLS agrees on nothing.
    pub protocol: Protocol,
}

/// How a browser gets to the servers of its page.
#[derive(Clone, Debug)]
pub struct Destinations {
    /// Where each host of the page is found, in the page's order.
    pub targets: Vec<Target>,
    /// Who is asked for a host's address before the first connection to it; nobody, if the load begins with all of
    /// them known. The answer tells when it is known; what it is, `targets` says.
    pub names: Option<NameServer>,
    /// How many bytes the browser may write beyond what has been sent.
    pub notsent_lowat: Lowat,
    /// For how long the load may go on, by the clock.
    pub timeout: Duration,
    /// How long servers are waited for.
    pub limits: Limits,
    /// Whether connections keep what they tell of the path.
    pub path_notes: PathNotes,
}

/// What a load gave. Its times are the clock's.
#[derive(Clone, PartialEq, Debug)]
pub struct Loaded {
    /// How the load ended; `None` if it was stopped or reached its timeout.
    pub end: Option<LoadEnd>,
    /// What happened when, without what only servers know: [`crate::join`] adds that.
    pub marks: Marks,
    /// When it began.
    pub began: Time,
    /// When it was over.
    pub over: Time,
    /// The client's ends of its connections, by `ConnId`.
    pub connections: Vec<SocketRecord>,
    /// How often the event loop ran.
    pub loop_iterations: u64,
}

/// Lets `browser`, which has not begun, load its page. Returns when the load has ended, has reached
/// its timeout or is told to stop. Then `at_end` is called, and after that its connections are closed.
/// Call it on a thread in whose network the sockets are to be; it makes no other thread.
///
/// # Errors
/// If the system has no files left for an event loop.
pub fn load(
    clock: &Clock,
    browser: Browser,
    destinations: &Destinations,
    stop: &Stop,
    at_end: impl FnOnce(),
) -> Result<Loaded, Error> {
    block_on(async {
        let connections = ConnectionTable::new(destinations.limits, RecordKeeping::Collect);
        let mut host = HostLoop::new(clock, browser, Some(destinations), Vec::new(), connections)?;
        let began = clock.now();
        host.program.start(began);
        host.run_actions(began)?;
        host.run(began + destinations.timeout, stop.wait(), |host| host.program.end().is_some()).await?;
        let (over, loop_iterations) = (clock.now(), host.iterations);
        at_end();
        let (browser, connections) = host.finish();
        let (end, marks, connections) = (browser.end(), browser.into_marks(), connections.records);
        Ok(Loaded { end, marks, began, over, connections, loop_iterations })
    })
}
