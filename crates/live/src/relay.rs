//! Hosts a relay: a program that accepts connections and opens others.

use crate::acceptor::Acceptor;
use crate::connection_table::{ClosedTable, ConnectionTable};
use crate::host::{HostLoop, block_on};
use crate::{Clock, Destinations, Error, Limits, Listener, RecordKeeping, SocketRecord, Stop};
use loadstone_load::Relay;
use loadstone_units::Time;

/// What a relay did.
#[derive(Clone, PartialEq, Debug)]
pub struct Relayed {
    /// Its ends of its connections, by `ConnId`: those that it accepted and those that it opened.
    pub connections: Vec<SocketRecord>,
    /// The most bytes of a message that it held at a time.
    pub most_held: u64,
}

/// Lets `relay` take requests at `listeners`, and pass them on to `destinations`, until it is told to stop; its connections are
/// then dropped. Call it on a thread in whose network the listeners are; it makes no other thread.
///
/// # Errors
/// If the system has no files left for an event loop, or for a first connection.
pub fn relay(
    clock: &Clock,
    relay: Relay,
    listeners: Vec<Listener>,
    destinations: &Destinations,
    stop: &Stop,
) -> Result<Relayed, Error> {
    block_on(async {
        let acceptor = |listener| {
            let Listener { host, listener, tls, protocol, notsent_lowat, .. } = listener;
            Acceptor::new(host, listener, tls, protocol, notsent_lowat)
        };
        let acceptors = listeners.into_iter().map(acceptor).collect::<Result<Vec<_>, Error>>()?;
        let connections = ConnectionTable::new(Limits::UNLIMITED, RecordKeeping::Collect);
        let mut host = HostLoop::new(clock, relay, Some(destinations), acceptors, connections)?;
        host.run(Time::NEVER, stop.wait(), |_| false).await?;
        let (relay, ClosedTable { records: connections, .. }) = host.finish();
        Ok(Relayed { connections, most_held: relay.peak_held() })
    })
}
