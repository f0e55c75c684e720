//! One end of a connection's transport: what carries streams of content to the other end, in packets.
//!
//! It counts content and does not know it. TCP under TLS (module `tcp`) has one stream; a transport with more, each
//! with its own losses, is in the tests of `connection`.

use loadstone_http::TransportStream;
use loadstone_load::{Closed, ConnId, Program};
use loadstone_net::tcp::{LossRecovery, Metrics};
use loadstone_units::Time;
use std::fmt::Debug;
use std::ops::Range;

/// One end of a transport.
pub(crate) trait Transport: Debug {
    /// What goes to the other end.
    type Packet;

    /// Advances the handshakes; returns whether content may be written.
    fn drive_handshake(&mut self) -> bool;

    /// Whether the peer has answered: TCP's own handshake is over.
    fn is_connected(&self) -> bool;

    /// The stream on which `program` sends next, of those that have room, and how much content may be written there.
    fn next_stream(&self, program: &dyn Program, conn: ConnId) -> Option<(TransportStream, u64)>;

    /// Writes content on a stream.
    fn write(&mut self, on: TransportStream, content: u64);

    /// The sequence number on a stream of the next byte that is written.
    fn written(&self, on: TransportStream) -> u64;

    /// The next stream of which something may have arrived since it was read, until `None`.
    fn poll_arrived(&mut self) -> Option<TransportStream>;

    /// Takes what has newly arrived of a stream, as far as `most` bytes of content are wanted; returns how much content
    /// that was. `writer` is the peer's transport, whose TLS record sizes are needed.
    fn read(&mut self, on: TransportStream, most: u64, writer: &mut Self) -> u64;

    /// A packet has arrived.
    fn handle_packet(&mut self, now: Time, packet: &Self::Packet);

    /// The next packet that may be sent now, until `None`.
    fn poll_packet(&mut self, now: Time) -> Option<Self::Packet>;

    /// The deadline that [`Transport::poll_timeout`] returned has come.
    fn handle_timeout(&mut self, now: Time);

    /// When [`Transport::handle_timeout`] is to be called; [`Time::NEVER`] if not at all.
    fn poll_timeout(&self) -> Time;

    /// The bytes of each stream in a packet, as sequence numbers like those of [`Transport::expected`].
    fn numbers(packet: &Self::Packet) -> impl Iterator<Item = (TransportStream, Range<u64>)>;

    /// The first sequence number of a stream that has not arrived here.
    fn expected(&self, on: TransportStream) -> u64;

    /// Sends no more than what has been written.
    fn close(&mut self);

    /// Gives the connection up: the other end gets a reset.
    fn abort(&mut self);

    /// How the connection has ended, as far as the other end is concerned.
    fn closed(&self) -> Option<Closed>;

    /// Whether nothing more can happen on it.
    fn is_over(&self) -> bool;

    /// Saves what was learnt of the path in the host's metrics cache.
    fn save_metrics(&self, metrics: &mut Metrics);

    /// The congestion window in segments.
    fn cwnd(&self) -> u32;

    /// The number of retransmissions.
    fn retransmissions(&self) -> u64;

    /// How often this end repaired losses.
    fn loss_recovery(&self) -> LossRecovery;
}
