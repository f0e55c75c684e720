//! What the peer may still send: the receiving side of flow control.

use crate::PeerFault;

/// A window that this end grants to the peer. Where there is no flow control the peer may send what it
/// likes, and nothing is given back.
#[derive(Debug)]
pub(super) struct ReceiveWindow {
    window: Option<u32>,
    /// What the peer may still send.
    available: u32,
    /// What has been taken in and not been given back.
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

    /// `len` bytes of what came have been taken in. Returns how much to give back now: half the
    /// window at least, since each time costs a frame.
    pub(super) fn release_capacity(&mut self, len: u32) -> Option<u32> {
        let window = self.window?;
        // What is taken in was taken from the window before, so the sum stays below it.
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
