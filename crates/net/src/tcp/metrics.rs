//! The metrics cache of a destination (`tcp_update_metrics`, `tcp_init_metrics`), which Linux keeps unless
//! `tcp_no_metrics_save` is set; ssthresh since 5.6 only if `tcp_no_ssthresh_metrics_save` is 0.
//!
//! Only ssthresh (`TCP_METRIC_SSTHRESH`) is modelled: of the cached metrics only it decides how a new connection
//! grows. RTT is measured again by each handshake, and the cached cwnd is not used.

use super::congestion::CongestionWindow;

/// The cached metrics of a host; empty at first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Metrics {
    /// ssthresh in segments.
    ssthresh: Option<u32>,
}

impl Metrics {
    /// The ssthresh of a new connection.
    pub(super) fn ssthresh(self) -> u32 {
        self.ssthresh.unwrap_or(u32::MAX)
    }

    /// A connection ends with this window; `is_open` if its congestion state is Open.
    pub(super) fn update(&mut self, window: &CongestionWindow, is_open: bool) {
        let half = window.cwnd / 2;
        if window.ssthresh == u32::MAX {
            // It never left slow start: half of cwnd is safe.
            self.ssthresh = self.ssthresh.map(|known| known.max(half));
        } else if window.cwnd > window.ssthresh && is_open {
            // It was in congestion avoidance: both values are reliable.
            self.ssthresh = Some(half.max(window.ssthresh));
        } else {
            self.ssthresh = self.ssthresh.map(|known| known.max(window.ssthresh));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(known: Option<u32>, cwnd: u32, ssthresh: u32, is_open: bool) -> Option<u32> {
        let mut metrics = Metrics { ssthresh: known };
        metrics.update(&CongestionWindow { ssthresh, ..CongestionWindow::new(cwnd) }, is_open);
        metrics.ssthresh
    }

    #[test]
    fn a_connection_that_avoided_congestion_is_believed() {
        assert_eq!(after(None, 9, 7, true), Some(7));
        assert_eq!(after(None, 30, 7, true), Some(15));
        assert_eq!(after(Some(40), 9, 7, true), Some(7));
    }

    #[test]
    fn one_that_only_grew_raises_what_is_known() {
        assert_eq!(after(None, 100, u32::MAX, true), None);
        assert_eq!(after(Some(7), 100, u32::MAX, true), Some(50));
        assert_eq!(after(Some(70), 100, u32::MAX, true), Some(70));
    }

    #[test]
    fn one_that_ended_amid_losses_lowers_nothing() {
        assert_eq!(after(Some(7), 9, 2, false), Some(7));
        assert_eq!(after(None, 1, 2, true), None);
        assert_eq!(after(Some(2), 3, 5, true), Some(5));
    }
}
