//! The seam between transports and links.

use loadstone_units::Time;

/// What a device carries. It is only asked its length, and by a queue that shares a link among flows its flow.
pub trait Packet {
    /// Bytes of the IP packet.
    fn len(&self) -> u32;

    /// Whether it has no bytes; no real packet has none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its flow, by a number; 0 where all packets are of one.
    fn flow(&self) -> u32 {
        0
    }
}

/// Something that packets pass through: a link, a path, a tracer around either.
///
/// Departures are computed when a packet arrives, so that a packet costs one wake-up; only a queue that decides when it
/// is served (an AQM) costs a second one. After a drain [`Device::poll_timeout`] is in the future; a timeout that comes
/// early does nothing.
pub trait Device<P> {
    /// A packet enters.
    fn handle_packet(&mut self, now: Time, packet: P);

    /// The next packet that has come out by `now`, in order.
    fn poll_packet(&mut self, now: Time) -> Option<P>;

    /// When the next packet comes out, or the queue is to be served; none if nothing is inside.
    fn poll_timeout(&self) -> Option<Time>;
}
