//! A host by itself: its owner is its network.

use crate::BedError;
use crate::host::{BedHost, Namespace};
use crate::kernel::{self, Readable};
use crate::settings::Tcp;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Ipv4Addr;
use std::time::Duration;

/// Longer than any packet that a device of 1,500 bytes has.
const BUFFER: usize = 2048;

/// A host by itself, with a kernel like those of a [`Bed`](crate::Bed), whose packets are in the caller's
/// hands: there is neither a link nor another host.
///
/// It vanishes when it is dropped and the sockets on it are closed.
#[derive(Debug)]
pub struct SingleHost {
    namespace: Namespace,
    device: File,
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
        Ok(SingleHost { namespace, device })
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
        (&self.device).write_all(packet)
    }

    /// The next IP packet that it sends; nothing if none comes within `limit`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn take(&self, limit: Duration) -> io::Result<Option<Vec<u8>>> {
        kernel::wait(&mut [Readable::new(&self.device)], Some(limit))?;
        let mut packet = vec![0; BUFFER];
        match (&self.device).read(&mut packet) {
            Ok(len) => {
                packet.truncate(len);
                Ok(Some(packet))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}
