//! A host by itself: its owner is its network.

use crate::BedError;
use crate::host::{BedHost, Namespace};
use crate::settings::Tcp;
use crate::tunnel::Tunnel;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

/// A host by itself, with a kernel like those of a [`Bed`](crate::Bed), whose packets are in the caller's
/// hands: there is neither a link nor another host.
///
/// It vanishes when it is dropped and the sockets on it are closed.
#[derive(Debug)]
pub struct SingleHost {
    namespace: Namespace,
    tunnel: Tunnel,
}

impl SingleHost {
    const HOST: BedHost = BedHost::server(0);

    /// A host whose kernel behaves so; its connections behave like one flow, whatever is said of more.
    ///
    /// # Errors
    /// Why this process may not make one ([`access`](crate::access)), or what the kernel refuses.
    pub fn new(tcp: &Tcp) -> Result<SingleHost, BedError> {
        let (namespace, device) = Namespace::make(SingleHost::HOST)?;
        namespace.configure(tcp, tcp.congestion())?;
        Ok(SingleHost { namespace, tunnel: Tunnel::new(device) })
    }

    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        SingleHost::HOST.address()
    }

    /// The address that it can reach, and from which packets may come.
    pub fn other_address(&self) -> Ipv4Addr {
        BedHost::CLIENT.address()
    }

    /// Runs something on it, like [`Bed::on`](crate::Bed::on).
    ///
    /// # Panics
    /// If `work` panics.
    pub fn on<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.namespace.on(work)
    }

    /// Lets an IP packet arrive.
    ///
    /// # Errors
    /// What the kernel says of it.
    pub fn put(&self, packet: &[u8]) -> io::Result<()> {
        self.tunnel.put(packet)
    }

    /// The next IP packet that it sends; nothing if none comes within `limit`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn take(&self, limit: Duration) -> io::Result<Option<Vec<u8>>> {
        self.tunnel.take(limit)
    }
}
