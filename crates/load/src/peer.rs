//! The seam between programs and transports: bytes per connection.

use crate::page::HostId;
use loadstone_http::{Chunk, Protocol, Wire};
use loadstone_units::Time;

/// A connection, as the program and its driver call it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ConnId(pub u32);

/// What a program wants done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Open a connection under the name `conn`, which the program has not used before.
    Open {
        /// Its name.
        conn: ConnId,
        /// To which server.
        to: HostId,
    },
    /// There is something to send: call [`Peer::poll_transmit`] whenever there is room, until it
    /// gives nothing.
    Transmit {
        /// On which connection.
        conn: ConnId,
    },
    /// Send no more than what has been polled.
    Close {
        /// Which connection.
        conn: ConnId,
    },
}

/// How a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closed {
    /// The other end sends no more.
    Finished,
    /// It could not be opened, or was given up by the transport.
    Failed,
}

/// A program at one end of connections: a browser, an origin.
///
/// After each `handle_*` drain [`Peer::poll_action`]. A timeout that comes early does nothing;
/// after a drain [`Peer::poll_timeout`] is in the future.
pub trait Peer {
    /// The connection is established and speaks `protocol`.
    fn handle_open(&mut self, now: Time, conn: ConnId, protocol: Protocol);

    /// Bytes have arrived, in order.
    fn handle_input(&mut self, now: Time, conn: ConnId, input: &[Chunk]);

    /// The connection has ended, as far as the other end is concerned.
    fn handle_close(&mut self, now: Time, conn: ConnId, how: Closed);

    /// The deadline that [`Peer::poll_timeout`] named has come.
    fn handle_timeout(&mut self, now: Time);

    /// The next thing it wants done, until `None`.
    fn poll_action(&mut self) -> Option<Action>;

    /// Puts at most `room` bytes of the connection on the wire, decided at this moment.
    fn poll_transmit(&mut self, now: Time, conn: ConnId, room: usize, out: &mut Wire);

    /// When [`Peer::handle_timeout`] is to be called, if at all.
    fn poll_timeout(&self) -> Option<Time>;
}
