//! A loss that is being repaired.

/// A loss that is being repaired.
#[derive(Debug)]
pub(super) struct Recovery {
    pub(super) cause: Cause,
    /// The repair ends when everything before this number is acknowledged (RecoveryPoint).
    pub(super) point: u64,
    /// The number after the highest that has been sent again (HighRxt).
    pub(super) high_rxt: u64,
    /// The first retransmission goes out whatever the window says.
    pub(super) first: bool,
    /// Whether the one rescue retransmission has been made (RescueRxt).
    pub(super) rescued: bool,
}

/// How the loss was noticed.
#[derive(Debug)]
pub(super) enum Cause {
    /// Acknowledgements told of it: fast recovery (RFC 6675), its rate by [`Prr`].
    Acks(Prr),
    /// The retransmission timer expired: slow start (RFC 5681, section 3.1).
    Timeout,
}

/// Proportional rate reduction (RFC 6937): the flight shrinks to the new window over a round trip,
/// in step with what is delivered, instead of pausing and then bursting.
///
/// Of the two bounds that the RFC offers for heavy losses it is the conservative one, which sends no
/// more than is delivered. The other grows the flight while lost segments are being repaired; where
/// slow start has filled a queue, CUBIC's threshold of 0.7 then overflows it a second time, and a
/// retransmission that is lost can only be noticed by the timer (RFC 6675 knows no other way).
#[derive(Debug)]
pub(super) struct Prr {
    /// What the flight is to shrink to: the window after the loss.
    ssthresh: u64,
    /// The flight before the recovery (RecoverFS).
    recover_fs: u64,
    /// Bytes delivered during the recovery (prr_delivered).
    delivered: u64,
    /// Bytes sent during the recovery (prr_out).
    out: u64,
    /// How many bytes may be on their way now.
    window: u64,
}

impl Recovery {
    /// Acknowledgements have told of a loss, for which the window has been reduced to `ssthresh`.
    pub(super) fn fast(una: u64, nxt: u64, ssthresh: u64) -> Recovery {
        let prr = Prr { ssthresh, recover_fs: nxt - una, delivered: 0, out: 0, window: 0 };
        Recovery { cause: Cause::Acks(prr), point: nxt, high_rxt: una, first: true, rescued: false }
    }

    /// The timer has expired.
    pub(super) fn timeout(una: u64, nxt: u64) -> Recovery {
        Recovery { cause: Cause::Timeout, point: nxt, high_rxt: una, first: true, rescued: true }
    }

    pub(super) fn is_fast(&self) -> bool {
        matches!(self.cause, Cause::Acks(_))
    }
}

impl Prr {
    /// An acknowledgement delivered `delivered` bytes, and `pipe` are on their way.
    pub(super) fn handle_ack(&mut self, delivered: u64, pipe: u64) {
        self.delivered += delivered;
        let count = if pipe > self.ssthresh {
            // > sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out
            (self.delivered * self.ssthresh).div_ceil(self.recover_fs).saturating_sub(self.out)
        } else {
            // The Conservative Reduction Bound:
            // > limit = prr_delivered - prr_out
            (self.ssthresh - pipe).min(self.delivered.saturating_sub(self.out))
        };
        self.window = pipe + count;
    }

    pub(super) fn handle_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// How many bytes may be on their way now.
    pub(super) fn window(&self) -> u64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Sends as much as is allowed after each acknowledgement of one segment; how many segments.
    fn sent_per_ack(flight: u64, lost: u64, ssthresh: u64) -> Vec<u64> {
        let mut prr = Prr { ssthresh: ssthresh * MSS, recover_fs: flight * MSS, delivered: 0, out: 0, window: 0 };
        let mut pipe = (flight - lost) * MSS;
        let acks = flight - lost;
        let one = |_| {
            pipe -= MSS;
            prr.handle_ack(MSS, pipe);
            let count = (prr.window() - pipe) / MSS;
            prr.handle_sent(count * MSS);
            pipe += count * MSS;
            count
        };
        (0..acks).map(one).collect()
    }

    #[test]
    fn one_loss_halves_the_flight_by_sending_for_every_second_acknowledgement_rfc6937_4() {
        let sent = sent_per_ack(20, 1, 10);
        assert_eq!(sent.iter().sum::<u64>(), 10, "{sent:?}");
        assert!(sent.iter().all(|count| *count <= 1), "{sent:?}");
    }

    #[test]
    fn many_losses_are_not_answered_by_a_burst_rfc6937_4() {
        // Half of the flight is lost, so 100 are on their way and 140 would be allowed.
        let sent = sent_per_ack(200, 100, 140);
        assert!(sent.iter().all(|count| *count == 1), "one for each that is delivered: {sent:?}");
    }
}
