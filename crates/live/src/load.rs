//! Loads a page: a browser on sockets.

use crate::connection_table::ConnectionTable;
use crate::host::{HostLoop, block_on};
use crate::{ClientTls, Clock, Connected, Error, Limits, Lowat, RecordKeeping, Stop};
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
}

/// How a browser gets to the servers of its page.
#[derive(Clone, Debug)]
pub struct Destinations {
    /// Where each host of the page is found, in the page's order.
    pub targets: Vec<Target>,
    /// What connections speak on which TLS agrees on nothing.
    pub protocol: Protocol,
    /// How many bytes the browser may write beyond what has been sent.
    pub notsent_lowat: Lowat,
    /// For how long the load may go on, by the clock.
    pub limit: Duration,
}

/// What a load gave. Its times are the clock's.
#[derive(Clone, PartialEq, Debug)]
pub struct Loaded {
    /// How the load ended; `None` if it was stopped or reached its limit.
    pub end: Option<LoadEnd>,
    /// What happened when, without what only servers know: [`crate::join`] adds that.
    pub marks: Marks,
    /// When it began.
    pub began: Time,
    /// When it was over.
    pub over: Time,
    /// The client's ends of its connections, by their names.
    pub connections: Vec<Connected>,
    /// How often the driver looked what there was to do.
    pub wakes: u64,
}

/// Lets `browser`, which has not begun, load its page. Returns when the load has ended, has reached
/// its limit or is told to stop. Then `at_end` is called, and after that its connections are closed.
/// Call it on a thread in whose network the sockets are to be; it makes no other thread.
///
/// # Errors
/// If the system has no files left for an event loop.
pub fn load(
    clock: &Clock,
    browser: Browser,
    route: &Destinations,
    stop: &Stop,
    at_end: impl FnOnce(),
) -> Result<Loaded, Error> {
    block_on(async {
        // How long is waited for a server is the browser's to say, and the load's.
        let connections = ConnectionTable::new(Limits::UNLIMITED, RecordKeeping::Kept);
        let mut host = HostLoop::new(clock, browser, Some(route), Vec::new(), connections)?;
        let began = clock.now();
        host.program.start(began);
        host.act(began)?;
        host.run(began + route.limit, stop, |host| host.program.end().is_some()).await?;
        let (over, wakes) = (clock.now(), host.turns);
        at_end();
        let (browser, connections) = host.finish();
        let (end, marks, connections) = (browser.end(), browser.into_marks(), connections.records);
        Ok(Loaded { end, marks, began, over, connections, wakes })
    })
}
