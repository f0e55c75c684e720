//! Serves a host of a page: an origin on sockets.

use crate::acceptor::Acceptor;
use crate::connection_table::{ClosedTable, ConnectionTable};
use crate::host::{HostLoop, block_on};
use crate::{Clock, Error, Limits, Lowat, RecordKeeping, SocketRecord, Stop};
use loadstone_http::Protocol;
use loadstone_load::page::HostId;
use loadstone_load::{Origin, Service};
use loadstone_units::Time;
use rustls::ServerConfig;
use std::net::TcpListener;
use std::sync::Arc;

/// Where and how a server is to be found.
#[derive(Debug)]
pub struct Listener {
    /// Which host of the page it is.
    pub host: HostId,
    /// Where it listens: [`crate::listen`] makes one.
    pub listener: TcpListener,
    /// How it speaks TLS; none for plain TCP.
    pub tls: Option<Arc<ServerConfig>>,
    /// What connections speak on which TLS agrees on nothing.
    pub protocol: Protocol,
    /// How many bytes the origin may write beyond what has been sent.
    pub notsent_lowat: Lowat,
    /// How long it waits for its clients, and how many it has at a time.
    pub limits: Limits,
    /// What becomes of the records of its connections.
    pub records: RecordKeeping,
}

/// What a server did. Its times are the clock's.
#[derive(Clone, PartialEq, Debug)]
pub struct Served {
    /// Which host of the page it was.
    pub host: HostId,
    /// When requests arrived and were answered; connections by the server's `ConnId`s.
    pub services: Vec<Service>,
    /// The server's ends of its connections, by `ConnId`; none without [`RecordKeeping::Collect`].
    pub connections: Vec<SocketRecord>,
    /// How many records found no room in the channel of [`RecordKeeping::Forward`].
    pub records_dropped: u64,
    /// The most connections that it had at a time.
    pub peak_connections: usize,
    /// How many connections it still had when it was told to stop.
    pub still_open: usize,
    /// How often the event loop ran.
    pub loop_iterations: u64,
}

/// Lets `origin` serve until it is told to stop; its connections are then dropped. Call it on a thread
/// in whose network the listener is; it makes no other thread.
///
/// Want of files or memory for one more connection does not end it: new connections wait in the
/// listener's queue until one has closed.
///
/// # Errors
/// If the system has no files left for an event loop, or for a first connection.
pub fn serve(clock: &Clock, origin: Origin, listener: Listener, stop: &Stop) -> Result<Served, Error> {
    let Listener { host: id, listener, tls, protocol, notsent_lowat, limits, records } = listener;
    block_on(async {
        let acceptor = Acceptor::new(id, listener, tls, protocol, notsent_lowat)?;
        let mut host = HostLoop::new(clock, origin, None, vec![acceptor], ConnectionTable::new(limits, records))?;
        host.run(Time::NEVER, stop.wait(), |_| false).await?;
        let loop_iterations = host.iterations;
        let (origin, ClosedTable { records: connections, records_dropped, peak_connections, still_open }) =
            host.finish();
        Ok(Served {
            host: id,
            services: origin.services().to_vec(),
            connections,
            records_dropped,
            peak_connections,
            still_open,
            loop_iterations,
        })
    })
}
