//! Where the operator of an edge meets it: a server of its own, on a thread of its own.

use crate::acceptor::Acceptor;
use crate::connection_table::ConnectionTable;
use crate::edge_change::EdgeOrder;
use crate::front::{MAX_KEPT, bind};
use crate::host::{HostLoop, block_on};
use crate::served::{BodyStore, EdgeAdmin};
use crate::{Clock, Error, Limits, NOTSENT_LOWAT, RecordKeeping, ServerError, Stop};
use loadstone_http::{Multiplexing, Protocol, SessionFactory};
use loadstone_load::page::HostId;
use loadstone_load::{Origin, OriginConfig, Timeouts};
use loadstone_units::Time;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// How many connections an operator may have.
const MAX_CONNECTIONS: usize = 32;
/// How long each of them is waited for.
const WAIT: Duration = Duration::from_secs(10);

/// Where an edge's operator meets it.
#[derive(Debug)]
pub(crate) struct AdminListener {
    listener: TcpListener,
    address: SocketAddr,
}

impl AdminListener {
    /// Listens.
    ///
    /// # Errors
    /// If it cannot listen there.
    pub(crate) fn open(listen: &str) -> Result<AdminListener, ServerError> {
        let cannot_listen = |error| ServerError::Listen { address: listen.to_owned(), error };
        let listener = bind(listen).map_err(cannot_listen)?;
        let address = listener.local_addr().map_err(cannot_listen)?;
        Ok(AdminListener { listener, address })
    }

    /// Where.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Answers by HTTP/1.1 what is asked of the edge that takes these orders, until it is told to stop. When `leave` has come,
/// the edge is leaving.
///
/// # Errors
/// If the system has no files left for an event loop or for a first connection.
pub(crate) fn serve_admin(
    AdminListener { listener, .. }: AdminListener,
    orders: UnboundedSender<EdgeOrder>,
    leave: Stop,
    stop: &Stop,
) -> Result<(), Error> {
    let (clock, bodies) = (Clock::start(), BodyStore::default());
    let sessions = Arc::new(SessionFactory::isolated(Multiplexing::default()));
    let timeouts = Timeouts { idle: WAIT, request: WAIT, response: WAIT };
    let config = OriginConfig { timeouts, max_kept: MAX_KEPT, ..OriginConfig::new(sessions) };
    let origin = Origin::new(EdgeAdmin::new(orders, leave, bodies.clone()), config);
    let limits = Limits { max_connections: MAX_CONNECTIONS, ..Limits::default() };
    block_on(async {
        let acceptor = Acceptor::new(HostId(0), listener, None, Protocol::Http1, NOTSENT_LOWAT)?;
        let acceptors = vec![acceptor.with_bodies(Rc::new(bodies))];
        let connections = ConnectionTable::new(limits, RecordKeeping::Discard);
        let mut host = HostLoop::new(&clock, origin, None, acceptors, connections)?;
        host.run(Time::NEVER, stop.wait(), |_| false).await?;
        Ok(())
    })
}
