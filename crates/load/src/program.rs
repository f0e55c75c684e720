//! The seam between programs and transports: bytes per stream of a connection's transport.

use crate::page::HostId;
use core::net::IpAddr;
use loadstone_http::{Chunk, Protocol, TransportStream, Wire};
use loadstone_units::Time;

/// A connection, as its driver numbers it: at each host from 0, those that were opened there and those that were
/// accepted in one sequence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ConnId(pub u32);

/// By what a program knows a connection again that it has asked for: the driver gives it back with the number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Tag(pub u32);

/// What a program wants done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Open a connection. [`Program::handle_opening`] says its number.
    Open {
        /// To which server.
        to: HostId,
        /// What the program knows it by until then.
        tag: Tag,
    },
    /// There is something to send: call [`Program::poll_transmit`] whenever there is room, until it
    /// returns nothing.
    Transmit {
        /// On which connection.
        conn: ConnId,
    },
    /// Hand on what comes on a stream up to this place, counted from its beginning, and leave the rest with the
    /// transport, so that the other end has to wait (as MAX_STREAM_DATA of QUIC: RFC 9000, section 4.1). Where it is
    /// never said there is no limit. What protects a TCP connection comes in records, and a record that was begun is
    /// handed on whole.
    Receive {
        /// On which connection.
        conn: ConnId,
        /// On which of its streams.
        on: TransportStream,
        /// Bytes since its beginning; never less than before.
        limit: u64,
    },
    /// Give the connection up at once: the other end gets a reset, and nothing more is said of it here.
    Abort {
        /// Which connection.
        conn: ConnId,
    },
    /// Send no more than what has been polled.
    Close {
        /// Which connection.
        conn: ConnId,
    },
    /// Ask a name server for the address of a server (RFC 1035, section 4). An answer that comes is said by
    /// [`Program::handle_resolved`]; of one that does not come nothing is said.
    Resolve {
        /// Which one.
        query: NameQuery,
    },
}

/// How a connection came to be, and what it speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opened {
    /// Which end opened it.
    pub by: Opener,
    /// The address of the host at its other end.
    pub peer: IpAddr,
    /// What it speaks.
    pub protocol: Protocol,
}

#[cfg(test)]
impl Opened {
    /// A connection of a test, whose other end is on this machine.
    pub(crate) fn by(by: Opener, protocol: Protocol) -> Opened {
        Opened { by, peer: core::net::Ipv4Addr::LOCALHOST.into(), protocol }
    }
}

/// Which end opened a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opener {
    /// This program.
    Us,
    /// The program at the other end; it was accepted here.
    Peer,
}

/// How a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closed {
    /// The other end sends no more.
    Finished,
    /// It could not be opened, or was given up by the transport.
    Failed,
}

/// A query for the address of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameQuery {
    /// Whose.
    pub host: HostId,
    /// How many were sent for this name before.
    pub number: u16,
}

/// A program at one end of connections: a browser, an origin, or a relay, which accepts some and opens others.
///
/// After each `handle_*` and [`Program::poll_transmit`] drain [`Program::poll_action`]. A timeout that comes early does nothing;
/// after a drain [`Program::poll_timeout`] is in the future.
pub trait Program {
    /// A connection that it has asked for is being opened, and this is its number: before anything else is said of
    /// it. Not for programs that ask for none.
    fn handle_opening(&mut self, _now: Time, conn: ConnId, tag: Tag) {
        unreachable!("{conn:?} has been asked for as {tag:?}")
    }

    /// The answer to a query has come. Not for programs that ask for none.
    fn handle_resolved(&mut self, _now: Time, query: NameQuery) {
        unreachable!("{query:?} has been sent")
    }

    /// The other end has answered a connection that is being opened: its SYN (RFC 9293, section 3.5). Encryption has yet
    /// to be agreed on. For programs that care.
    fn handle_connected(&mut self, _now: Time, _conn: ConnId) {}

    /// The connection is established.
    fn handle_open(&mut self, now: Time, conn: ConnId, opened: Opened);

    /// Bytes have arrived on a stream, in order.
    fn handle_input(&mut self, now: Time, conn: ConnId, on: TransportStream, input: &[Chunk]);

    /// The connection has ended, as far as the other end is concerned.
    fn handle_close(&mut self, now: Time, conn: ConnId, how: Closed);

    /// The deadline that [`Program::poll_timeout`] named has come.
    fn handle_timeout(&mut self, now: Time);

    /// The next thing it wants done, until `None`.
    fn poll_action(&mut self) -> Option<Action>;

    /// Of the streams of a connection that have room, the one on which something goes out next
    /// ([`loadstone_http::Session::next_stream`]). A driver over TCP does not ask. The default is for a program
    /// whose sessions use one stream.
    fn next_stream(&self, _conn: ConnId, room: &dyn Fn(TransportStream) -> usize) -> Option<TransportStream> {
        (room(TransportStream::TCP) > 0).then_some(TransportStream::TCP)
    }

    /// Puts at most `room` bytes of a stream on the wire, decided at this moment: one write. The driver lets the
    /// transport send it before it asks for the next.
    fn poll_transmit(&mut self, now: Time, conn: ConnId, on: TransportStream, room: usize, out: &mut Wire);

    /// When [`Program::handle_timeout`] is to be called, if at all.
    fn poll_timeout(&self) -> Option<Time>;
}
