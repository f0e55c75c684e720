//! What a client sends first, for those who see how a server answers it.

use crate::{ClientTls, Error, Trust};
use loadstone_http::{Chunk, Multiplexing, Protocol, Scheme, SessionFactory, TransportStream, Wire};
use loadstone_load::{Request, ServerAddress};
use loadstone_units::Time;

/// The first bytes of a connection to `server`: the request over HTTP/1.1, or under TLS the ClientHello, which any
/// server answers with its certificates.
///
/// # Errors
/// If no certificate can have the server's name.
pub fn opening(server: &ServerAddress, request: &Request) -> Result<Vec<u8>, Error> {
    if server.scheme == Scheme::Https {
        let config = Trust::Anyone.config(None, &[Protocol::H2, Protocol::Http1])?;
        return Ok(ClientTls::named(config, &server.host)?.first_flight());
    }
    let mut session = SessionFactory::isolated(Multiplexing::default()).client(Protocol::Http1);
    session.request(request.head.clone(), request.body.into(), request.priority);
    let mut wire = Wire::default();
    session.poll_transmit(Time::ZERO, TransportStream::TCP, usize::MAX, &mut wire);
    let bytes = |chunk: Chunk| match chunk {
        Chunk::Bytes(bytes) => bytes,
        Chunk::Run { .. } => unreachable!("the request has no content"),
    };
    Ok(wire.take_all().into_iter().flat_map(bytes).collect())
}
