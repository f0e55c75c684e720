//! A TUN device, packet by packet.

use crate::kernel::{self, Readable};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

/// Longer than any packet that a device of 1,500 bytes has.
const BUFFER: usize = 2048;

/// An open TUN device: what the kernel sends there is taken, and what is put there arrives in the kernel.
#[derive(Debug)]
pub(crate) struct Tunnel {
    device: File,
}

impl Tunnel {
    /// Reading the device must not wait.
    pub(crate) fn new(device: File) -> Tunnel {
        Tunnel { device }
    }

    /// Lets an IP packet arrive.
    pub(crate) fn put(&self, packet: &[u8]) -> io::Result<()> {
        (&self.device).write_all(packet)
    }

    /// The next IP packet; nothing if none comes within `limit`.
    pub(crate) fn take(&self, limit: Duration) -> io::Result<Option<Vec<u8>>> {
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
