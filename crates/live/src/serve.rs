//! Serves a host of a page: an origin on sockets.

use crate::channel::Channel;
use crate::connection::Connection;
use crate::host::{Host, block_on};
use crate::socket::Socket;
use crate::{Clock, Connected, Error, Lowat, Stop};
use loadstone_http::Protocol;
use loadstone_load::page::HostId;
use loadstone_load::{ConnId, Origin, Service};
use loadstone_units::Time;
use rustls::{ServerConfig, ServerConnection};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Where and how a server is to be found.
#[derive(Debug)]
pub struct Site {
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
}

/// What a server did. Its times are the clock's.
#[derive(Clone, PartialEq, Debug)]
pub struct Served {
    /// Which host of the page it was.
    pub host: HostId,
    /// When requests arrived and were answered; connections have the names that they have here.
    pub services: Vec<Service>,
    /// The server's ends of its connections, by their names.
    pub connections: Vec<Connected>,
    /// How often the driver looked what there was to do.
    pub wakes: u64,
}

/// Lets `origin` serve until it is told to stop; its connections are then dropped. Call it on a thread
/// in whose network the listener is; it makes no other thread.
///
/// # Errors
/// If the system has no files left, for an event loop or for a connection.
pub fn serve(clock: &Clock, origin: Origin, site: Site, stop: &Stop) -> Result<Served, Error> {
    block_on(async {
        let id = site.host;
        let mut host = Host::new(clock, origin, None, Some(Door::new(site)?))?;
        host.run(Time::NEVER, stop, |_| false).await?;
        let wakes = host.turns;
        let (origin, connections) = host.finish();
        Ok(Served { host: id, services: origin.services().to_vec(), connections, wakes })
    })
}

/// Where connections come in.
#[derive(Debug)]
pub(crate) struct Door {
    listener: tokio::net::TcpListener,
    host: HostId,
    tls: Option<Arc<ServerConfig>>,
    protocol: Protocol,
    notsent_lowat: Lowat,
}

impl Door {
    pub(crate) fn new(site: Site) -> Result<Door, Error> {
        let Site { host, listener, tls, protocol, notsent_lowat } = site;
        listener.set_nonblocking(true).map_err(Error::Runtime)?;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(Error::Runtime)?;
        Ok(Door { listener, host, tls, protocol, notsent_lowat })
    }

    /// The next connection that has come in; if none has, the task is woken when one does.
    pub(crate) fn poll_accept(
        &self,
        clock: &Clock,
        conn: ConnId,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Connection, Error>> {
        loop {
            match ready!(self.listener.poll_accept(cx)) {
                Ok((stream, client)) => {
                    let tls = self.tls.clone().map(|config| {
                        ServerConnection::new(config).expect("a configuration that was built can be used").into()
                    });
                    let socket = Socket::new(stream, self.notsent_lowat);
                    let record = Connected::new(conn, self.host, Some(client.port()), clock.now());
                    return Poll::Ready(Ok(Connection::accepted(socket, Channel::new(tls), self.protocol, record)));
                }
                // It was gone before it was accepted, which concerns nobody.
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                Err(error) => return Poll::Ready(Err(Error::Accept(error))),
            }
        }
    }
}
