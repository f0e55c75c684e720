//! Where connections come in.

use crate::connection::SocketConnection;
use crate::socket::Socket;
use crate::tls_layer::TlsLayer;
use crate::{Bodies, Clock, Error, Lowat, Pattern, SocketRecord};
use loadstone_http::Protocol;
use loadstone_load::ConnId;
use loadstone_load::page::HostId;
use nix::errno::Errno;
use rustls::{ServerConfig, ServerConnection};
use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

#[derive(Debug)]
pub(crate) struct Acceptor {
    listener: tokio::net::TcpListener,
    host: HostId,
    tls: Option<Arc<ServerConfig>>,
    protocol: Protocol,
    notsent_lowat: Lowat,
    bodies: Rc<dyn Bodies>,
}

impl Acceptor {
    /// The acceptor of `host`, where `listener` listens; without `tls` what comes in is plain TCP.
    pub(crate) fn new(
        host: HostId,
        listener: TcpListener,
        tls: Option<Arc<ServerConfig>>,
        protocol: Protocol,
        notsent_lowat: Lowat,
    ) -> Result<Acceptor, Error> {
        listener.set_nonblocking(true).map_err(Error::Runtime)?;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(Error::Runtime)?;
        Ok(Acceptor { listener, host, tls, protocol, notsent_lowat, bodies: Rc::new(Pattern) })
    }

    /// The same where bodies are not the pattern.
    pub(crate) fn with_bodies(self, bodies: Rc<dyn Bodies>) -> Acceptor {
        Acceptor { bodies, ..self }
    }

    /// Speaks TLS so with those who come from now on.
    pub(crate) fn set_tls(&mut self, tls: Option<Arc<ServerConfig>>) {
        self.tls = tls;
    }

    /// The next connection that has come in; if none has, the task is woken when one does.
    ///
    /// # Errors
    /// If no more can be accepted.
    pub(crate) fn poll_accept(
        &self,
        clock: &Clock,
        conn: ConnId,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<SocketConnection>> {
        loop {
            match ready!(self.listener.poll_accept(cx)) {
                Ok((stream, client)) => {
                    let tls = self.tls.clone().map(|config| {
                        ServerConnection::new(config).expect("a configuration that was built can be used").into()
                    });
                    let socket = Socket::new(stream, self.notsent_lowat);
                    let record = SocketRecord::new(conn, self.host, client, Some(client), clock.now());
                    return Poll::Ready(Ok(SocketConnection::accepted(
                        socket,
                        TlsLayer::new(tls, self.bodies.clone()),
                        self.protocol,
                        record,
                    )));
                }
                Err(error) if is_per_connection_error(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

/// Whether `error` is one that Linux's accept(2) passes on from the new connection: it is skipped, and the next one
/// is accepted.
fn is_per_connection_error(error: &io::Error) -> bool {
    use Errno::{ECONNABORTED, EHOSTDOWN, EHOSTUNREACH, EINTR, ENETDOWN, ENETUNREACH, ENONET, ENOPROTOOPT, EOPNOTSUPP};
    matches!(errno(error), Some(ECONNABORTED | EINTR | Errno::EPERM | Errno::EPROTO | ENOPROTOOPT | EOPNOTSUPP))
        || matches!(errno(error), Some(EHOSTDOWN | EHOSTUNREACH | ENETDOWN | ENETUNREACH | ENONET))
}

/// Whether `error` is want of files or memory for one more connection: there are some when another has closed.
pub(crate) fn is_resource_exhausted(error: &io::Error) -> bool {
    matches!(errno(error), Some(Errno::EMFILE | Errno::ENFILE | Errno::ENOBUFS | Errno::ENOMEM))
}

fn errno(error: &io::Error) -> Option<Errno> {
    error.raw_os_error().map(Errno::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_the_connections_or_one_of_resources_or_ends_the_server() {
        for (errno, per_connection, resources) in [
            (Errno::ECONNABORTED, true, false),
            (Errno::EHOSTUNREACH, true, false),
            (Errno::EMFILE, false, true),
            (Errno::ENFILE, false, true),
            (Errno::ENOBUFS, false, true),
            (Errno::EINVAL, false, false),
            (Errno::EBADF, false, false),
        ] {
            let error = io::Error::from_raw_os_error(errno as i32);
            assert_eq!(
                (is_per_connection_error(&error), is_resource_exhausted(&error)),
                (per_connection, resources),
                "{errno}"
            );
        }
    }
}
