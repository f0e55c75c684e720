//! The receiving side of flow control: what the peer may still send.

use crate::PeerFault;

/// A receive window, of a stream or of the session. Without flow control nothing is counted.
#[derive(Debug)]
pub(super) struct ReceiveWindow {
    /// Its full size; `None`: no flow control.
    window: Option<u32>,
    /// What the peer may still send.
    available: u32,
    /// What was consumed and not returned by WINDOW_UPDATE yet.
    unclaimed: u32,
}

impl ReceiveWindow {
    pub(super) fn new(window: Option<u32>) -> ReceiveWindow {
        ReceiveWindow { window, available: window.unwrap_or(0), unclaimed: 0 }
    }

    /// The peer sends `len` bytes.
    pub(super) fn consume(&mut self, len: u32) -> Result<(), PeerFault> {
        if self.window.is_some() {
            self.available = self.available.checked_sub(len).ok_or(PeerFault::FlowControl)?;
        }
        Ok(())
    }

    /// `len` bytes have been consumed. Returns the increment of the WINDOW_UPDATE to send now, if any: at least
    /// half the window, since each one costs a frame.
    pub(super) fn release_capacity(&mut self, len: u32) -> Option<u32> {
        let window = self.window?;
        // What is consumed was received within the window, so the sum stays below it.
        self.unclaimed += len;
        if self.unclaimed < window / 2 {
            return None;
        }
        self.available += self.unclaimed;
        Some(std::mem::take(&mut self.unclaimed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_byte_of_the_window_may_come_and_none_beyond() {
        let mut window = ReceiveWindow::new(Some(100));
        assert_eq!((window.consume(100), window.consume(1)), (Ok(()), Err(PeerFault::FlowControl)));
    }

    proptest! {
        #[test]
        fn what_is_given_back_is_what_was_taken_in_but_for_less_than_half(lens in prop::collection::vec(1_u32..51, 1..50)) {
            let mut window = ReceiveWindow::new(Some(100));
            let (mut taken, mut given) = (0, 0);
            for len in lens {
                window.consume(len).unwrap();
                taken += len;
                given += window.release_capacity(len).unwrap_or(0);
                prop_assert!(given <= taken && taken - given < 50);
                prop_assert_eq!(window.available, 100 - (taken - given));
            }
        }
    }
}
