//! A name server on a host of the bed, by UDP.

use crate::{Bed, BedError, BedHost, HostTask};
use loadstone_live::Stop;
use loadstone_load::Zone;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// The port of name servers.
const PORT: u16 = 53;
/// More than a query has: 512 bytes, or what a client offers.
const BUFFER: usize = 4096;
/// How soon it notices that it has to stop.
const MOMENT: Duration = Duration::from_millis(50);

/// Lets a host answer questions for names, until `stop` comes.
///
/// # Errors
/// If it cannot listen.
pub(crate) fn name_server(bed: &Bed, host: BedHost, zone: Zone, stop: Stop) -> Result<HostTask<()>, BedError> {
    let listen = || -> io::Result<UdpSocket> {
        let socket = UdpSocket::bind(address(bed, host))?;
        socket.set_read_timeout(Some(MOMENT))?;
        Ok(socket)
    };
    let socket = bed.on(host, listen).map_err(BedError::host("starting the name server"))?;
    Ok(bed.spawn(host, move || serve(&socket, &zone, &stop)))
}

/// Where it listens.
pub(crate) fn address(bed: &Bed, host: BedHost) -> SocketAddr {
    (bed.address(host), PORT).into()
}

fn serve(socket: &UdpSocket, zone: &Zone, stop: &Stop) {
    let mut buffer = [0; BUFFER];
    while !stop.is_stopped() {
        let (len, client) = match socket.recv_from(&mut buffer) {
            Ok(received) => received,
            // An earlier answer did not get to its client; that says nothing about this socket.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused) => continue,
            Err(_) => return,
        };
        if let Some(answer) = zone.answer(&buffer[..len]) {
            // A client that is gone asks no more.
            let _ = socket.send_to(&answer, client);
        }
    }
}
