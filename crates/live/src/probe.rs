//! Probes of the path to a server: TCP handshakes, whose round trips the kernel measures.

use crate::path::check_kernel;
use crate::socket::counts;
use crate::{Error, Stop};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// What probes found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Probes {
    /// The round trip of each, in their order.
    pub round_trips: Vec<Duration>,
    /// SYNs that had to be sent again.
    pub retransmissions: u64,
}

/// Why a server was not probed.
#[derive(Debug, thiserror::Error)]
pub enum Unprobed {
    /// The kernel tells too little.
    #[error(transparent)]
    Kernel(#[from] Error),
    /// No connection came about.
    #[error("cannot connect: {0}; see that a server listens there, and that this machine may reach it")]
    Unreachable(ErrorKind),
    /// There was no answer.
    #[error("no answer within {} s; see that a server listens there, and that no firewall is in the way", .0.as_secs_f64())]
    NoAnswer(Duration),
}

/// Opens `count` connections to a server and closes them again, one after the other, without sending anything on them.
/// Each is waited for as long as `timeout`. Returns early, with what there is, when it is told to stop.
///
/// # Errors
/// If one does not come about.
pub fn probe(address: SocketAddr, count: u32, timeout: Duration, stop: &Stop) -> Result<Probes, Unprobed> {
    check_kernel()?;
    let mut probes = Probes::default();
    for _ in 0..count {
        if stop.is_stopped() {
            break;
        }
        let stream = connected(address, timeout)?;
        let counts = counts(&stream).map_err(|error| Unprobed::Unreachable(error.kind()))?;
        probes.round_trips.extend(counts.least_round_trip);
        probes.retransmissions += u64::from(counts.retransmissions);
    }
    Ok(probes)
}

/// The first of a server's addresses at which it can be reached: the only one is not tried.
///
/// # Errors
/// If it can be reached at none: that of the last.
pub fn first_reachable(addresses: &[SocketAddr], timeout: Duration, stop: &Stop) -> Result<SocketAddr, Unprobed> {
    if let [only] = addresses {
        return Ok(*only);
    }
    let mut last = Unprobed::Unreachable(ErrorKind::NotFound);
    for address in addresses.iter().take_while(|_| !stop.is_stopped()) {
        match connected(*address, timeout) {
            Ok(_) => return Ok(*address),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn connected(address: SocketAddr, timeout: Duration) -> Result<TcpStream, Unprobed> {
    TcpStream::connect_timeout(&address, timeout).map_err(|error: io::Error| match error.kind() {
        ErrorKind::TimedOut => Unprobed::NoAnswer(timeout),
        kind => Unprobed::Unreachable(kind),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Stopper, listen};

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn each_probe_is_a_connection_and_has_a_round_trip() {
        let (_stopper, stop) = Stopper::new();
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let probes = probe(listener.local_addr().unwrap(), 3, LIMIT, &stop).unwrap();
        assert_eq!((probes.round_trips.len(), probes.retransmissions), (3, 0));
        let came = (0..4).map(|_| listener.accept().is_ok()).collect::<Vec<_>>();
        assert_eq!(came, [true, true, true, false], "so many and no more");
    }

    #[test]
    fn of_several_addresses_the_first_is_taken_that_answers() {
        let (_stopper, stop) = Stopper::new();
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let open = listener.local_addr().unwrap();
        let closed = listen("127.0.0.1:0".parse().unwrap()).unwrap().local_addr().unwrap();
        assert_eq!(first_reachable(&[closed, open], LIMIT, &stop).unwrap(), open);
        assert_eq!(first_reachable(&[closed], LIMIT, &stop).unwrap(), closed, "there is no choice");
        let refused = first_reachable(&[closed, closed], LIMIT, &stop).unwrap_err();
        assert!(refused.to_string().contains("connection refused; see that a server listens there"), "{refused}");
        assert!(matches!(probe(closed, 1, LIMIT, &stop), Err(Unprobed::Unreachable(ErrorKind::ConnectionRefused))));
    }
}
