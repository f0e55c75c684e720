//! A control that goes by a model of the path, with what it measures by and what it sends by.

use super::bbr::Bbr;
use crate::tcp::delivery::Delivery;
use crate::tcp::pacer::Pacer;

/// A control that goes by a model of the path: it is told of every acknowledgement, and sets the window
/// and the rate of sending itself, whether losses are being repaired or not.
#[derive(Debug)]
pub(in crate::tcp) struct Paced {
    pub(in crate::tcp) bbr: Bbr,
    pub(in crate::tcp) delivery: Delivery,
    pub(in crate::tcp) pacer: Pacer,
}

impl Paced {
    pub(super) fn new(mss: u32) -> Paced {
        Paced { bbr: Bbr::new(mss), delivery: Delivery::new(), pacer: Pacer::default() }
    }
}
