//! A host of the bed: a network namespace without a name, with one TUN device.

use crate::BedError;
use crate::access::{TUN, leave_network, open_tun};
use crate::kernel;
use crate::netlink::{LOOPBACK, RouteMetrics, Routing};
use crate::settings::Tcp;
use loadstone_scenario::{MAX_HOSTS, address};
use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::thread;

/// Packets of this many bytes at most.
const MTU: u32 = 1500;
/// A device's own queue of packets; the pump is meant to empty it at once, and nothing may be lost there.
const QUEUE: u32 = 10_000;
/// The real-time priority of what runs on a host: below the pump's.
const PRIORITY: i32 = 5;
/// The range of all hosts' addresses: the one that RFC 2544 sets aside for measuring. Each host is alone in its
/// namespace, so other beds' addresses are the same.
const RANGE: (Ipv4Addr, u8) = (Ipv4Addr::new(198, 18, 0, 0), 15);

/// A host of the bed, by its number: that of the same host in `Plan::hosts`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BedHost(
    /// Its number, from 0.
    pub usize,
);

impl BedHost {
    /// The first one: the client of a star.
    pub const CLIENT: BedHost = BedHost(0);

    /// One of the others, counted from 0: a server of a star.
    pub const fn server(at: usize) -> BedHost {
        BedHost(at + 1)
    }

    /// Its address, which it has in the simulator too.
    ///
    /// # Panics
    /// If there are no addresses left, which no bed lets happen.
    pub fn address(self) -> Ipv4Addr {
        match address(self.0) {
            IpAddr::V4(address) => address,
            IpAddr::V6(_) => unreachable!("the range that is set aside for measuring is one of IPv4"),
        }
    }

    /// The one with this address, though there may be fewer hosts.
    pub(crate) fn at(address: Ipv4Addr) -> Option<BedHost> {
        let number = u32::from(address).checked_sub(u32::from(BedHost::CLIENT.address()))? as usize;
        (number < MAX_HOSTS).then_some(BedHost(number))
    }
}

/// A host's namespace. It vanishes when this, the device and all sockets in it are closed.
#[derive(Clone, Debug)]
pub(crate) struct Namespace {
    host: BedHost,
    /// A descriptor of the namespace: the kernel keeps it as long as this is open.
    handle: Arc<File>,
    /// The number of its device.
    device: u32,
}

impl Namespace {
    /// Makes a host, and the descriptor through which its packets go.
    pub(crate) fn make(host: BedHost) -> Result<(Namespace, File), BedError> {
        thread::scope(|scope| scope.spawn(|| Namespace::make_here(host)).join()).expect("making a host does not panic")
    }

    /// Makes a host of this thread.
    fn make_here(host: BedHost) -> Result<(Namespace, File), BedError> {
        leave_network()?;
        let handle = File::open("/proc/thread-self/ns/net").map_err(BedError::host("opening its namespace"))?;
        silence_ipv6().map_err(BedError::host("switching IPv6 off"))?;
        let tun = open_tun(TUN)?;
        let routing = Routing::open().map_err(BedError::host("asking for its routing"))?;
        let device = routing.device(TUN).map_err(BedError::host("finding its device"))?;
        routing.switch_on_loopback().map_err(BedError::host("switching on loopback"))?;
        routing.set_up(device, MTU, QUEUE).map_err(BedError::host("setting up its device"))?;
        routing.add_address(device, host.address()).map_err(BedError::host("giving it an address"))?;
        outlive_device(&routing, host).map_err(BedError::host("preparing for its end"))?;
        Ok((Namespace { host, handle: Arc::new(handle), device }, tun))
    }

    /// Lets connections that are opened from now on behave so. The kernel knows their congestion control by
    /// the name `congestion`.
    pub(crate) fn configure(&self, own: &Tcp, congestion: &str) -> Result<(), BedError> {
        self.on(|| {
            for (name, value) in own.sysctls() {
                if let Err(why) = fs::write(format!("/proc/sys/net/ipv4/{name}"), &value) {
                    return Err(BedError::setting(name, value, why));
                }
            }
            let metrics = RouteMetrics { congestion, initial_window: own.iw.segments() };
            let (to, prefix) = RANGE;
            let routing = Routing::open().map_err(BedError::host("asking for its routing"))?;
            routing.route(self.device, to, prefix, metrics).map_err(|why| match why.raw_os_error() {
                Some(libc::EINVAL | libc::ENOENT) => {
                    BedError::Congestion { host: self.host, name: congestion.to_owned() }
                }
                _ => BedError::host("making its route")(why),
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
        kernel::enter_network(&self.handle).expect("a process that may make a namespace may enter it");
        // Where it is not allowed, things are a little later.
        let _ = kernel::set_realtime(PRIORITY);
    }
}

/// Lets the host answer for the others when its device is gone, because the process was killed: it does not know
/// their connections, so it resets them. Without an answer the kernel would keep what was not acknowledged, and with
/// it the namespace and a congestion control by BPF, for almost two minutes.
fn outlive_device(routing: &Routing, host: BedHost) -> io::Result<()> {
    // Connections end when their own address does; the loopback device keeps it.
    routing.add_address(LOOPBACK, host.address())?;
    let (to, prefix) = RANGE;
    routing.route_last_to_itself(to, prefix)
}

/// Keeps the kernel from sending packets of its own (IPv6).
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
        for number in [0, 1, 2, 255, 256, 257, MAX_HOSTS - 1] {
            assert_eq!(BedHost::at(BedHost(number).address()), Some(BedHost(number)));
            let (range, prefix) = RANGE;
            let differ = u32::from(BedHost(number).address()) ^ u32::from(range);
            assert!(differ.leading_zeros() >= u32::from(prefix), "{number}");
        }
        assert_eq!(
            [BedHost::CLIENT, BedHost::server(0)].map(BedHost::address),
            [[198, 18, 0, 1], [198, 18, 0, 2]].map(Ipv4Addr::from)
        );
        for stranger in [[198, 18, 0, 0], [198, 19, 255, 255], [198, 20, 0, 1], [0, 0, 0, 0]] {
            assert_eq!(BedHost::at(stranger.into()), None);
        }
    }
}
