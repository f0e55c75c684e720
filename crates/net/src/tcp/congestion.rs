//! Congestion control: told of facts, asked one number.

mod cubic;
mod reno;

use super::config::Congestion;
use loadstone_units::Time;
use std::fmt;

/// A congestion control. It knows nothing of segments or lists; windows are in bytes.
pub(super) trait Controller: fmt::Debug + Send {
    /// How many bytes may be on their way.
    fn window(&self) -> u64;

    /// Whether the window is still below the slow-start threshold.
    fn in_slow_start(&self) -> bool;

    /// New data has been acknowledged outside of fast recovery, and the window was in use.
    fn on_ack(&mut self, ack: Acked);

    /// A loss was seen by acknowledgements, with `flight` bytes outstanding.
    fn on_loss(&mut self, flight: u64);

    /// The retransmission timer has expired, with `flight` bytes outstanding; `again` if it has
    /// done so before for the same data.
    fn on_timeout(&mut self, flight: u64, again: bool);

    /// There was nothing to send for `nanos` ns, less than a retransmission timeout.
    fn on_pause(&mut self, nanos: u64);

    /// Nothing was sent for longer than a retransmission timeout (RFC 5681, section 4.1).
    fn on_idle(&mut self);
}

/// An acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    pub(super) now: Time,
    /// Bytes that it acknowledges.
    pub(super) bytes: u64,
    /// The smoothed round trip in nanoseconds.
    pub(super) rtt: u64,
}

/// The congestion control of this name, with an initial window of `iw` segments of `mss` bytes.
pub(super) fn controller(cc: Congestion, iw: u32, mss: u32) -> Box<dyn Controller> {
    let (mss, iw) = (u64::from(mss), u64::from(iw) * u64::from(mss));
    match cc {
        Congestion::Reno => Box::new(reno::Reno::new(iw, mss)),
        Congestion::Cubic => Box::new(cubic::Cubic::new(iw, mss)),
        Congestion::Bbr => panic!("BBR has no model: who runs a simulation refuses it"),
    }
}
