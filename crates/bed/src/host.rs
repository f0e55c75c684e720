//! A host of the bed: a network namespace without a name, with one TUN device.

use crate::BedError;
use crate::access::{TUN, leave_network, open_tun};
use crate::kernel;
use crate::netlink::{Metrics, Routing};
use crate::settings::{AfterIdle, Tcp};
use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::thread;

/// Packets of this many bytes at most.
const MTU: u32 = 1500;
/// A device's own queue of packets; the pump is meant to empty it at once, and nothing may be lost there.
const QUEUE: u32 = 10_000;
/// The real-time priority of what runs on a host: below the pump's.
const PRIORITY: i32 = 5;
/// Bits that the addresses of all servers share.
const SERVERS_PREFIX: u8 = 16;
// The range that RFC 2544 sets aside for measuring; each host is alone in its namespace, so other beds'
// addresses are the same.
const CLIENT: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const SERVERS: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 0);

/// A host of the bed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Host {
    /// The one behind the access link.
    Client,
    /// One of the others, counted from 0.
    Server(usize),
}

impl Host {
    /// Its number: the client's is 0, the servers' follow.
    pub(crate) fn number(self) -> usize {
        match self {
            Host::Client => 0,
            Host::Server(at) => at + 1,
        }
    }

    /// The one of this number.
    pub(crate) fn numbered(number: usize) -> Host {
        number.checked_sub(1).map_or(Host::Client, Host::Server)
    }

    pub(crate) fn address(self) -> Ipv4Addr {
        match self {
            Host::Client => CLIENT,
            Host::Server(at) => Ipv4Addr::from(u32::from(SERVERS) + at as u32 + 1),
        }
    }

    /// The one with this address, though there may be fewer servers.
    pub(crate) fn at(address: Ipv4Addr) -> Option<Host> {
        if address == CLIENT {
            return Some(Host::Client);
        }
        let number = u32::from(address).checked_sub(u32::from(SERVERS))? as usize;
        (1..=MOST_SERVERS).contains(&number).then(|| Host::numbered(number))
    }
}

/// There are addresses for so many.
pub(crate) const MOST_SERVERS: usize = 65_534;

/// A host's namespace. It vanishes when this, the device and all sockets in it are closed.
#[derive(Clone, Debug)]
pub(crate) struct Namespace {
    host: Host,
    /// A descriptor of the namespace: the kernel keeps it as long as this is open.
    handle: Arc<File>,
    /// The number of its device.
    device: u32,
}

impl Namespace {
    /// Makes a host, and the descriptor through which its packets go.
    pub(crate) fn make(host: Host) -> Result<(Namespace, File), BedError> {
        thread::scope(|scope| scope.spawn(|| Namespace::make_here(host)).join()).expect("making a host does not panic")
    }

    /// Makes a host of this thread.
    fn make_here(host: Host) -> Result<(Namespace, File), BedError> {
        leave_network()?;
        let handle = File::open("/proc/thread-self/ns/net").map_err(BedError::host("opening its namespace"))?;
        silence_ipv6().map_err(BedError::host("switching IPv6 off"))?;
        let tun = open_tun()?;
        let device = kernel::device_number(TUN).map_err(BedError::host("finding its device"))?;
        let routing = Routing::open().map_err(BedError::host("asking for its routing"))?;
        routing.switch_on_loopback().map_err(BedError::host("switching on loopback"))?;
        routing.set_up(device, MTU, QUEUE).map_err(BedError::host("setting up its device"))?;
        routing.add_address(device, host.address()).map_err(BedError::host("giving it an address"))?;
        Ok((Namespace { host, handle: Arc::new(handle), device }, tun))
    }

    /// Lets connections that are opened from now on behave so. The kernel knows their congestion control by
    /// the name `congestion`.
    pub(crate) fn configure(&self, own: &Tcp, idle: AfterIdle, congestion: &str) -> Result<(), BedError> {
        self.on(|| {
            for (name, value) in own.sysctls(idle) {
                if let Err(why) = fs::write(format!("/proc/sys/net/ipv4/{name}"), &value) {
                    return Err(BedError::Setting { name, value, why });
                }
            }
            let metrics = Metrics { congestion, initial_window: own.iw.segments() };
            let (to, prefix) = match self.host {
                Host::Client => (SERVERS, SERVERS_PREFIX),
                Host::Server(_) => (CLIENT, 32),
            };
            let routing = Routing::open().map_err(BedError::host("asking for its routing"))?;
            routing.route(self.device, to, prefix, metrics).map_err(|why| match why.raw_os_error() {
                Some(libc::EINVAL | libc::ENOENT) => {
                    BedError::Congestion { host: self.host, name: congestion.to_owned() }
                }
                _ => BedError::Host { step: "making its route", why },
            })
        })
    }

    /// Runs something in a thread on this host.
    pub(crate) fn on<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let done = scope.spawn(|| {
                self.enter();
                work()
            });
            done.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Starts a thread on this host.
    pub(crate) fn spawn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
        let namespace = self.clone();
        thread::spawn(move || {
            namespace.enter();
            work()
        })
    }

    /// Moves this thread onto the host.
    fn enter(&self) {
        kernel::enter_network(&self.handle).expect("whoever may make a namespace may enter it");
        // Where it is not allowed, things are a little later.
        let _ = kernel::hurry(PRIORITY);
    }
}

/// Keeps the kernel from sending what nobody asked for.
fn silence_ipv6() -> io::Result<()> {
    for scope in ["all", "default"] {
        match fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1") {
            // A kernel without IPv6 is silent.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => result?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_an_address_of_its_own() {
        for number in [0, 1, 2, 255, 256, 257, MOST_SERVERS] {
            let host = Host::numbered(number);
            assert_eq!((host.number(), Host::at(host.address())), (number, Some(host)));
        }
        assert_eq!(Host::Server(0).address(), Ipv4Addr::new(198, 19, 0, 1));
        for stranger in [[198, 18, 0, 2], [198, 19, 0, 0], [198, 19, 255, 255], [198, 20, 0, 1], [0, 0, 0, 0]] {
            assert_eq!(Host::at(stranger.into()), None);
        }
    }
}
