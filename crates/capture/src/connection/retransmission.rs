//! Why a segment was sent again, by what its sender had been told when it was.

use std::fmt;

/// What made a sender send a segment again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetransmissionCause {
    /// No answer to a SYN or a SYN-ACK (RFC 6298, section 5.7).
    Syn,
    /// Acknowledgements showed a loss: three duplicates (RFC 5681), SACK (RFC 6675) or RACK (RFC 8985, section 6).
    Fast,
    /// A tail loss probe (RFC 8985, section 7).
    TailLossProbe,
    /// The retransmission timer expired (RFC 6298), for this segment or for one before it.
    Timeout,
    /// A probe of a closed window, or a keep-alive (RFC 9293, sections 3.8.6.1 and 3.8.4).
    WindowProbe,
}

impl RetransmissionCause {
    /// All of them.
    pub const ALL: [RetransmissionCause; 5] = [
        RetransmissionCause::Syn,
        RetransmissionCause::Fast,
        RetransmissionCause::TailLossProbe,
        RetransmissionCause::Timeout,
        RetransmissionCause::WindowProbe,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            RetransmissionCause::Syn => "syn",
            RetransmissionCause::Fast => "fast",
            RetransmissionCause::TailLossProbe => "tail_loss_probe",
            RetransmissionCause::Timeout => "timeout",
            RetransmissionCause::WindowProbe => "window_probe",
        }
    }
}

impl fmt::Display for RetransmissionCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A segment that was sent again. Numbers are unwrapped, times in ns since 1970.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Retransmission {
    pub(crate) at: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Bytes of it that had been sent before.
    pub(crate) bytes: u64,
    pub(crate) cause: RetransmissionCause,
    /// Since it was sent last.
    pub(crate) after: Option<u64>,
    /// TSval of the copy, if it has one.
    pub(crate) ts_val: Option<u32>,
    /// The receiver said that it had the data already: by an acknowledgement before it, by a D-SACK (RFC 2883), or by the
    /// timestamp that it echoed (RFC 3522).
    pub(crate) spurious: bool,
}

/// What a sender knew when it sent a segment again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// Something that was sent after the segment has arrived (RFC 8985, section 6.2).
    pub(crate) later_arrived: bool,
    /// Duplicate acknowledgements in a row.
    pub(crate) duplicate_acks: u32,
    /// Losses are being repaired, until what had been sent when the first was found is acknowledged.
    pub(crate) recovery: Option<Recovery>,
    /// It is the first that is not acknowledged.
    pub(crate) is_first: bool,
    /// It is the last that was sent.
    pub(crate) is_last: bool,
    /// A tail loss probe has been sent since the last acknowledgement of new data.
    pub(crate) probed: bool,
    /// Whether the receiver told of anything beyond a gap.
    pub(crate) has_sacked: bool,
    /// Whether SACK is in use: without it there are no tail loss probes.
    pub(crate) sack_permitted: bool,
    /// Since the sender heard something new, or sent something: ns.
    pub(crate) silence: u64,
    /// The RTO by the round trips until now: ns.
    pub(crate) rto: f64,
    /// When it was sent last, in ns since 1970.
    pub(crate) sent: u64,
}

/// How losses are being repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Recovery {
    /// What began it.
    pub(crate) cause: RetransmissionCause,
    /// When, in ns since 1970.
    pub(crate) since: u64,
    /// It is over when this is acknowledged.
    pub(crate) until: u64,
}

impl Evidence {
    /// Duplicates that show a loss (RFC 5681, section 3.2).
    const DUPLICATES: u32 = 3;

    /// What made the sender send it again.
    pub(crate) fn cause(&self) -> RetransmissionCause {
        match self.recovery {
            // All that was on its way when the timer expired is taken to be lost (RFC 6675, section 5.1).
            Some(Recovery { cause: RetransmissionCause::Timeout, since, .. }) if self.sent < since => {
                RetransmissionCause::Timeout
            }
            Some(Recovery { cause: RetransmissionCause::Fast, .. }) if !self.is_timer() => RetransmissionCause::Fast,
            _ if self.later_arrived || self.duplicate_acks >= Self::DUPLICATES => RetransmissionCause::Fast,
            _ if self.is_probe() => RetransmissionCause::TailLossProbe,
            _ => RetransmissionCause::Timeout,
        }
    }

    /// Whether only the retransmission timer explains it: the first that is missing, after a silence.
    fn is_timer(&self) -> bool {
        self.is_first && !self.later_arrived && self.silence as f64 >= 0.8 * self.rto
    }

    /// Linux sends one before the first timeout, of the last segment, when it knows of no loss.
    fn is_probe(&self) -> bool {
        self.is_last && !self.probed && !self.has_sacked && self.sack_permitted && self.recovery.is_none()
    }
}
