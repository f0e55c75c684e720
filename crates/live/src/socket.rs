//! A socket as the driver needs it: never blocks, reports how much room it has, and what TCP did.

use bytes::{BufMut, BytesMut};
use loadstone_units::Bounded;
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::getsockopt;
use nix::{getsockopt_impl, sockopt_impl};
use socket2::{Domain, SockRef, Type};
use std::io::{self, ErrorKind, IoSlice, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;

/// How much room there is for what is read from a connection at a time: the rest of a buffer counts if it is a quarter.
pub(crate) const READ: usize = 64 * 1024;

/// The longest queue of connections that have not been accepted yet.
const BACKLOG: i32 = 1024;

/// How many bytes a program may write beyond what has been sent (TCP_NOTSENT_LOWAT): 2 KiB to 1 GiB.
pub type Lowat = Bounded<2048, 0x4000_0000>;

/// The default, also of the simulator: 16 KiB.
pub const NOTSENT_LOWAT: Lowat = Bounded::known(16 * 1024);

/// A listener for [`crate::serve`], which may be closed and opened again at once.
///
/// # Errors
/// If the address is taken or is not this machine's.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = socket2::Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// One end of a connection in the kernel.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    lowat: u64,
}

/// From TCP_INFO.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Info {
    /// Bytes written and not yet sent.
    unsent: u32,
    /// Segments retransmitted from here.
    pub(crate) retransmissions: u32,
}

/// What TCP_INFO tells of the path to the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpCounts {
    /// The least round trip that was measured, the handshake's with it; none before there was one.
    pub least_round_trip: Option<Duration>,
    /// Segments that came, those without data too.
    pub segments_in: u32,
    /// Segments with data that came.
    pub data_segments_in: u32,
    /// Of those the ones that came with something missing before them.
    pub out_of_order: u32,
    /// Segments that were sent, those without data too.
    pub segments_out: u32,
    /// Segments with data that were sent.
    pub data_segments_out: u32,
    /// Segments that were sent again.
    pub retransmissions: u32,
    /// Bytes that came, without the heads of packets.
    pub bytes_in: u64,
    /// Bytes that were sent and acknowledged, without the heads of packets.
    pub bytes_out: u64,
    /// The bytes in a full segment that comes.
    pub segment_bytes: u32,
}

impl TcpCounts {
    /// The bytes of the segments that came, on average: of some only the end of a record is in one.
    pub(crate) fn mean_segment(self) -> u64 {
        (self.bytes_in / u64::from(self.data_segments_in.max(1))).min(self.segment_bytes.into())
    }
}

/// What TCP_INFO tells of the path of a connection; Linux 5.4 and later do.
pub(crate) fn counts(socket: &impl AsFd) -> io::Result<TcpCounts> {
    let words = getsockopt(socket, LongTcpInfo)?;
    let least = words[MIN_RTT];
    let long = |at: usize| {
        let ([a, b, c, d], [e, f, g, h]) = (words[at].to_ne_bytes(), words[at + 1].to_ne_bytes());
        u64::from_ne_bytes([a, b, c, d, e, f, g, h])
    };
    Ok(TcpCounts {
        least_round_trip: (least != u32::MAX).then(|| Duration::from_micros(least.into())),
        segments_in: words[SEGS_IN],
        data_segments_in: words[DATA_SEGS_IN],
        out_of_order: words[RCV_OOOPACK],
        segments_out: words[SEGS_OUT],
        data_segments_out: words[DATA_SEGS_OUT],
        retransmissions: words[TOTAL_RETRANS],
        bytes_in: long(BYTES_RECEIVED),
        bytes_out: long(BYTES_ACKED),
        segment_bytes: words[RCV_MSS],
    })
}

impl Socket {
    /// A connection whose SYN is on its way.
    pub(crate) fn connect(address: SocketAddr, lowat: Lowat) -> io::Result<Socket> {
        let socket = socket2::Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        match socket.connect(&address.into()) {
            // Registered before it connects, a socket would be reported as hung up.
            Err(error) if error.raw_os_error() != Some(Errno::EINPROGRESS as i32) => Err(error),
            _ => Socket::new(TcpStream::from_std(socket.into())?, lowat),
        }
    }

    /// A connection that is being opened, or was accepted.
    pub(crate) fn new(stream: TcpStream, lowat: Lowat) -> io::Result<Socket> {
        stream.set_nodelay(true)?;
        SockRef::from(&stream).set_tcp_notsent_lowat(lowat.get())?;
        Ok(Socket { stream, lowat: u64::from(lowat.get()) })
    }

    /// The address and port of this end.
    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        self.stream.local_addr().ok()
    }

    /// Whether the connection is established: [`ErrorKind::WouldBlock`] if not yet.
    pub(crate) fn connected(&self) -> io::Result<()> {
        self.stream.try_io(Interest::WRITABLE, || match self.stream.take_error()? {
            Some(error) => Err(error),
            None => match self.stream.peer_addr() {
                Err(error) if error.kind() == ErrorKind::NotConnected => Err(ErrorKind::WouldBlock.into()),
                result => result.map(drop),
            },
        })
    }

    /// How many bytes are written and not sent yet: [`ErrorKind::WouldBlock`] if they and `pending` bytes that are not written
    /// leave no room.
    pub(crate) fn unsent(&self, pending: u64) -> io::Result<u64> {
        self.stream.try_io(Interest::WRITABLE, || {
            let unsent = u64::from(self.info()?.unsent);
            let has_room = self.room_after(unsent + pending) > 0 || self.is_writable()?;
            if has_room { Ok(unsent) } else { Err(ErrorKind::WouldBlock.into()) }
        })
    }

    /// Whether the kernel finds room. It reports writability only after a poll or write found none (SOCK_NOSPACE): this
    /// poll sets that flag, by the same rule, so waiting afterwards is safe.
    fn is_writable(&self) -> io::Result<bool> {
        let mut look = [PollFd::new(self.stream.as_fd(), PollFlags::POLLOUT)];
        Ok(poll(&mut look, PollTimeout::ZERO)? > 0)
    }

    /// The room when `unsent` bytes are unsent.
    pub(crate) fn room_after(&self, unsent: u64) -> u64 {
        room(self.lowat, unsent)
    }

    /// Reads what has arrived, as far as the buffer has room, and `most` bytes; 0 if the other end sends no more.
    pub(crate) fn read(&self, buffer: &mut BytesMut, most: usize) -> io::Result<usize> {
        let most = most.min(buffer.capacity() - buffer.len());
        let count = self.stream.try_read_buf(&mut buffer.limit(most))?;
        if count < most {
            // That was all (epoll(7), question 9): the kernel need not be asked to say so.
            let _cleared: io::Result<()> = self.stream.try_io(Interest::READABLE, || Err(ErrorKind::WouldBlock.into()));
        }
        Ok(count)
    }

    /// Sends a FIN after what was written.
    pub(crate) fn shutdown_write(&self) -> io::Result<()> {
        SockRef::from(&self.stream).shutdown(Shutdown::Write)
    }

    /// Makes closing the socket send a reset: the kernel drops what was written, which it would otherwise go on
    /// offering to a peer that does not read it.
    pub(crate) fn abort(&self) {
        // If the option cannot be set, the kernel gives up by its own rules, later.
        let _told: io::Result<()> = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
    }

    /// Ready if there may be something to read; otherwise the task is woken when there is.
    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.stream.poll_read_ready(cx).map(drop)
    }

    /// Ready if there may be room; otherwise the task is woken when there is.
    pub(crate) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.stream.poll_write_ready(cx).map(drop)
    }

    /// What TCP_INFO reports of the connection.
    pub(crate) fn info(&self) -> io::Result<Info> {
        let words = getsockopt(&self.stream, TcpInfo)?;
        Ok(Info { unsent: words[NOTSENT_BYTES], retransmissions: words[TOTAL_RETRANS] })
    }
}

/// Writes as much as the socket takes.
impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.try_write(bytes)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match pieces {
            [piece] => self.stream.try_write(piece),
            _ => self.stream.try_write_vectored(pieces),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// The room when `unsent` bytes are unsent. The rule is Linux's, which the simulator has too: there is
/// some when less than half of `lowat` is unsent, and then up to `lowat`.
fn room(lowat: u64, unsent: u64) -> u64 {
    if unsent < lowat / 2 { lowat - unsent } else { 0 }
}

// The beginning of the kernel's `struct tcp_info`, which only ever grows at its end: eight bytes, then
// words of 32 bits and, from 26 to 33, four of 64. Linux 4.9 and later fill all of it.
const RCV_MSS: usize = 5;
const TOTAL_RETRANS: usize = 25;
const BYTES_ACKED: usize = 30;
const BYTES_RECEIVED: usize = 32;
const SEGS_OUT: usize = 34;
const SEGS_IN: usize = 35;
const NOTSENT_BYTES: usize = 36;
const MIN_RTT: usize = 37;
const DATA_SEGS_IN: usize = 38;
const DATA_SEGS_OUT: usize = 39;
const RCV_OOOPACK: usize = 56;

sockopt_impl!(TcpInfo, GetOnly, libc::IPPROTO_TCP, libc::TCP_INFO, [u32; NOTSENT_BYTES + 1]);
// Linux 5.4 and later fill this much.
sockopt_impl!(LongTcpInfo, GetOnly, libc::IPPROTO_TCP, libc::TCP_INFO, [u32; RCV_OOOPACK + 1]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_below_half_of_lowat_and_then_up_to_it() {
        assert_eq!(
            [0, 1, 8_191, 8_192, 16_384, 20_000].map(|unsent| room(16_384, unsent)),
            [16_384, 16_383, 8_193, 0, 0, 0]
        );
    }
}
