//! Hosts a relay: a program that accepts connections and opens others.

use crate::acceptor::Acceptor;
use crate::connection_table::{ClosedTable, ConnectionTable};
use crate::host::{HostLoop, block_on};
use crate::{Clock, Connected, Destinations, Error, Limits, Listener, RecordKeeping, Stop};
use loadstone_load::Relay;
use loadstone_units::Time;

/// What a relay did.
#[derive(Clone, PartialEq, Debug)]
pub struct Relayed {
    /// Its ends of its connections, by their names: those that it accepted and those that it opened.
    pub connections: Vec<Connected>,
    /// The most bytes of a message that it held at a time.
    pub most_held: u64,
}

/// Lets `relay` take requests at `sites`, and pass them on by `route`, until it is told to stop; its connections are
/// then dropped. Call it on a thread in whose network the listeners are; it makes no other thread.
///
/// # Errors
/// If the system has no files left for an event loop, or for a first connection.
pub fn relay(
    clock: &Clock,
    relay: Relay,
    sites: Vec<Listener>,
    route: &Destinations,
    stop: &Stop,
) -> Result<Relayed, Error> {
    block_on(async {
        let acceptor = |site| {
            let Listener { host, listener, tls, protocol, notsent_lowat, .. } = site;
            Acceptor::new(host, listener, tls, protocol, notsent_lowat)
        };
        let acceptors = sites.into_iter().map(acceptor).collect::<Result<Vec<_>, Error>>()?;
        let connections = ConnectionTable::new(Limits::UNLIMITED, RecordKeeping::Kept);
        let mut host = HostLoop::new(clock, relay, Some(route), acceptors, connections)?;
        host.run(Time::NEVER, stop, |_| false).await?;
        let (relay, ClosedTable { records: connections, .. }) = host.finish();
        Ok(Relayed { connections, most_held: relay.most_held() })
    })
}
