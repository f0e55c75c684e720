//! Where servers are found: looks their names up, and stops waiting at a deadline.

use crate::host::block_on;
use crate::sleep::Sleep;
use crate::{Clock, Error, Stop};
use loadstone_load::ServerAddress;
use loadstone_units::Time;
use std::future::{Future, poll_fn};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::pin;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::thread;
use std::time::Duration;
use tokio::sync::mpsc;

/// The most names that are looked up at a time.
const AT_ONCE: usize = 16;

/// A server that is to be found elsewhere than its name says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResolvedAddress {
    /// Its name, in lower case.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Where it is found.
    pub address: IpAddr,
}

/// What was written names no server and where it is found.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{0}' is no HOST:PORT:ADDRESS, as in a.test:443:127.0.0.1")]
pub struct NoResolvedAddress(String);

impl FromStr for ResolvedAddress {
    type Err = NoResolvedAddress;

    /// Reads `HOST:PORT:ADDRESS`, where an address of IPv6 may stand in brackets.
    fn from_str(written: &str) -> Result<ResolvedAddress, NoResolvedAddress> {
        let parsed = || {
            let (host, rest) = written.split_once(':').filter(|(host, _)| !host.is_empty())?;
            let (port, address) = rest.split_once(':')?;
            let bare = address.strip_prefix('[').and_then(|address| address.strip_suffix(']')).unwrap_or(address);
            let port = port.parse().ok().filter(|port| *port > 0)?;
            Some(ResolvedAddress { host: host.to_ascii_lowercase(), port, address: bare.parse().ok()? })
        };
        parsed().ok_or_else(|| NoResolvedAddress(written.to_owned()))
    }
}

/// Where each server is found, by `places` or as the system says, in the order in which to try; nowhere, if its name is
/// unknown. `None` if that takes longer than `timeout`, or it is told to stop.
///
/// # Errors
/// If the system has no files left for an event loop.
pub fn find(
    clock: &Clock,
    servers: &[ServerAddress],
    places: &[ResolvedAddress],
    timeout: Duration,
    stop: &Stop,
) -> Result<Option<Vec<Vec<SocketAddr>>>, Error> {
    block_on(look_up(servers, places, (clock, clock.now() + timeout, stop)))
}

/// Where each server is found, in the order in which to try; nowhere, if its name is unknown. `None` if the
/// clock shows `until` or it is told to stop before all is known.
pub(crate) async fn look_up(
    servers: &[ServerAddress],
    places: &[ResolvedAddress],
    (clock, until, stop): (&Clock, Time, &Stop),
) -> Result<Option<Vec<Vec<SocketAddr>>>, Error> {
    let mut found: Vec<Option<Vec<SocketAddr>>> = servers.iter().map(|server| known(server, places)).collect();
    let unknown = servers.iter().zip(&found).enumerate().filter(|(_, (_, known))| known.is_none());
    let mut answers = ask(unknown.map(|(at, (server, _))| (at, server.host.clone(), server.port)).collect());
    let mut timer = Sleep::new().map_err(Error::Runtime)?;
    let mut stopped = pin!(stop.wait());
    Ok(poll_fn(|cx| {
        while let Poll::Ready(answer) = answers.poll_recv(cx) {
            // When all have answered, the senders are gone.
            let Some((at, addresses)) = answer else {
                return Poll::Ready(Some(found.iter_mut().map(|known| known.take().unwrap_or_default()).collect()));
            };
            found[at] = Some(addresses);
        }
        let is_late = timer.poll(clock, until, cx).is_ready() || stopped.as_mut().poll(cx).is_ready();
        if is_late { Poll::Ready(None) } else { Poll::Pending }
    })
    .await)
}

/// Where a server is found without a look-up.
fn known(server: &ServerAddress, places: &[ResolvedAddress]) -> Option<Vec<SocketAddr>> {
    let is_it = |place: &&ResolvedAddress| place.host == server.host && place.port == server.port;
    let placed = places.iter().filter(is_it).map(|place| SocketAddr::new(place.address, server.port));
    let placed: Vec<_> = placed.collect();
    if !placed.is_empty() {
        return Some(placed);
    }
    Some(vec![SocketAddr::new(server.host.parse().ok()?, server.port)])
}

/// Asks the system for these, on threads that are not joined: its answer may take a minute.
fn ask(unknown: Vec<(usize, String, u16)>) -> mpsc::UnboundedReceiver<(usize, Vec<SocketAddr>)> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let threads = unknown.len().min(AT_ONCE);
    let unknown = Arc::new(Mutex::new(unknown.into_iter()));
    for _ in 0..threads {
        let (sender, unknown) = (sender.clone(), unknown.clone());
        thread::spawn(move || {
            let next = || unknown.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some((at, host, port)) = next() {
                let addresses = (host.as_str(), port).to_socket_addrs();
                if sender.send((at, addresses.map_or_else(|_| Vec::new(), Iterator::collect))).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stopper;
    use loadstone_http::Scheme;

    fn server(host: &str, port: u16) -> ServerAddress {
        ServerAddress { scheme: Scheme::Http, host: host.to_owned(), port }
    }

    fn looked_up(servers: &[ServerAddress], places: &[ResolvedAddress], until: Time) -> Option<Vec<Vec<SocketAddr>>> {
        let (clock, (_stopper, stop)) = (Clock::start(), Stopper::new());
        block_on(look_up(servers, places, (&clock, until, &stop))).unwrap()
    }

    #[test]
    fn a_server_with_a_place_or_an_address_is_found_there_and_localhost_by_its_name() {
        let places = [ResolvedAddress { host: "a.test".to_owned(), port: 80, address: "192.0.2.1".parse().unwrap() }];
        let servers = [server("a.test", 80), server("::1", 81), server("localhost", 82)];
        let found = looked_up(&servers, &places, Time::ZERO + Duration::from_secs(60)).unwrap();
        assert_eq!(found[0], ["192.0.2.1:80".parse().unwrap()]);
        assert_eq!(found[1], ["[::1]:81".parse().unwrap()]);
        assert!(!found[2].is_empty() && found[2].iter().all(|address| address.ip().is_loopback()));
    }

    #[test]
    fn no_name_is_waited_for_beyond_the_limit() {
        // The limit has passed when it begins; an answer that were there already is none the less one.
        let found = looked_up(&[server("a.test", 80)], &[], Time::ZERO);
        assert!(found.is_none_or(|found| found[0].is_empty()));
    }
}
