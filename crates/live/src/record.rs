//! The record of one end of a connection, and why it failed.

use crate::PathRecord;
use crate::socket::Socket;
use loadstone_http::Protocol;
use loadstone_load::ConnId;
use loadstone_load::page::HostId;
use loadstone_net::tls::Tls;
use loadstone_units::Time;
use std::io::ErrorKind;
use std::net::SocketAddr;

/// The record of one end of a connection.
#[derive(Clone, PartialEq, Debug)]
pub struct SocketRecord {
    /// Its id at this end: counts from 0, in the order of opening or of accepting.
    pub conn: ConnId,
    /// The server.
    pub host: HostId,
    /// The other end's address and port.
    pub peer: SocketAddr,
    /// The address and port of the client's end, by which the two ends find one another; none if there was not
    /// even a socket.
    pub client: Option<SocketAddr>,
    /// The SYN was sent, or the connection was accepted.
    pub opened: Time,
    /// The program could use it: TCP's and TLS's handshakes were over.
    pub established: Option<Time>,
    /// The TLS that it went through; `None` for plain TCP.
    pub tls: Option<Tls>,
    /// What it spoke from then on.
    pub protocol: Option<Protocol>,
    /// The program at this end closed it.
    pub close_requested_at: Option<Time>,
    /// Nothing more could happen on it, or its program ended; none while it goes on.
    pub closed_at: Option<Time>,
    /// Bytes that the program at this end wrote: heads, frames, bodies, without what TLS adds.
    pub content: u64,
    /// Segments retransmitted from here.
    pub retransmissions: u64,
    /// What it told of the path, where that is kept; boxed, since a server keeps none of many connections.
    pub path: Option<Box<PathRecord>>,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
}

/// Why a connection failed.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Failure {
    /// TCP could not open it.
    #[error("cannot connect: {0}; see that a server listens there")]
    Unreachable(ErrorKind),
    /// TCP gave it up, or the other end reset it.
    #[error("the connection broke: {0}")]
    Io(ErrorKind),
    /// The other end closed it during TLS's handshake.
    #[error("the other end closed during the handshake; see that both ends speak TLS, or neither")]
    ClosedDuringHandshake,
    /// TLS found something wrong.
    #[error("TLS: {0}{remedy}", remedy = remedy(.0))]
    Tls(#[from] rustls::Error),
    /// TLS agreed on a protocol of this name.
    #[error("'{0}' was agreed on, which is not spoken here: offer one that 'loadstone load --help' lists")]
    UnknownAlpn(String),
    /// The handshake was not over in time.
    #[error(
        "the handshake was not over in time; if the other end is slow and honest, raise the limit 'handshake_timeout'"
    )]
    HandshakeTimeout,
    /// The other end read nothing of what was to be written, for too long.
    #[error("the other end took nothing for too long; if it is slow and honest, raise the limit 'write_timeout'")]
    WriteTimeout,
    /// The program had closed, and the other end did not read the rest and close in time.
    #[error("the other end did not take the rest and close in time; if it is honest, raise the limit 'close_timeout'")]
    CloseTimeout,
}

/// The remedy for an error of TLS that users meet.
fn remedy(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidCertificate(_) => {
            "; trust the certificate of who signed the server's (a CA's, not the server's own), and use the name that it has"
        }
        _ => "",
    }
}

impl SocketRecord {
    /// A connection that has just been begun.
    pub(crate) fn new(
        conn: ConnId,
        host: HostId,
        peer: SocketAddr,
        client: Option<SocketAddr>,
        opened: Time,
    ) -> SocketRecord {
        SocketRecord {
            conn,
            host,
            peer,
            client,
            opened,
            established: None,
            tls: None,
            protocol: None,
            close_requested_at: None,
            closed_at: None,
            content: 0,
            retransmissions: 0,
            path: None,
            failure: None,
        }
    }

    /// Adds what TCP_INFO reports at the end.
    pub(crate) fn note(&mut self, socket: &Socket) {
        if let Ok(info) = socket.info() {
            self.retransmissions = info.retransmissions.into();
        }
        if let Some(path) = &mut self.path {
            path.note_counts(socket);
        }
    }
}
