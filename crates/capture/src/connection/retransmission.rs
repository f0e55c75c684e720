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
    /// The receiver had the data already: there was an acknowledgement before it or too soon after it, a D-SACK (RFC 2883),
    /// or an echo of an older timestamp (RFC 3522).
    pub(crate) spurious: bool,
    /// A D-SACK was for it.
    pub(crate) in_dsack: bool,
}

impl Retransmission {
    /// It was for nothing: whether that is news.
    pub(crate) fn note_spurious(&mut self) -> bool {
        !core::mem::replace(&mut self.spurious, true)
    }
}

/// What a sender knew when it sent a segment again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// Since it heard something new of what it had sent, or sent it: ns.
    pub(crate) silence: u64,
    /// A round trip as it measures it: ns.
    pub(crate) round_trip: u64,
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
    /// Whether it may send tail loss probes: not without SACK, nor if its timer has expired where they do.
    pub(crate) may_probe: bool,
    /// Since the segment was sent last: ns.
    pub(crate) age: Option<u64>,
    /// When it is sent, in ns since 1970.
    pub(crate) at: u64,
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
    /// What a machine needs to answer: ns.
    const ANSWER: u64 = 2_000_000;
    /// Within this of news nothing is a timer's, but of what is overdue: ns.
    const LEAST_TIMER: u64 = 5_000_000;
    /// Longer than this without news, in ns, is a timer: RACK waits for less at usual round trips (RFC 8985, section 6.2),
    /// and the retransmission timer for more.
    const TIMER: u64 = 150_000_000;
    /// The timer waits for more than this above a round trip: ns. Linux has 200 ms.
    const LEAST_RTO: u64 = 180_000_000;

    /// What made the sender send it again.
    pub(crate) fn cause(&self) -> RetransmissionCause {
        match self.recovery {
            _ if self.is_probe() => RetransmissionCause::TailLossProbe,
            _ if self.is_timer() => RetransmissionCause::Timeout,
            // All that was on its way when the timer expired is taken to be lost (RFC 6675, section 5.1).
            Some(Recovery { cause: RetransmissionCause::Timeout, since, .. })
                if self.age.is_none_or(|age| self.at - age < since) =>
            {
                RetransmissionCause::Timeout
            }
            _ => RetransmissionCause::Fast,
        }
    }

    /// Whether no news can have caused it.
    pub(crate) fn is_timer(&self) -> bool {
        let silence = (self.round_trip / 4 * 3).clamp(Self::LEAST_TIMER, Self::TIMER);
        !self.is_awaited() && self.silence > silence || self.is_overdue()
    }

    /// Whether RACK's timer explains it (RFC 8985, section 6.3): there was news of what is beyond a gap, and the retransmission
    /// timer waits for longer. RACK waits for a round trip, by which queues may have grown, and a window for reordering.
    fn is_awaited(&self) -> bool {
        self.has_sacked && self.age.is_some_and(|age| age < self.round_trip.saturating_add(Self::LEAST_RTO))
    }

    /// Whether the first segment was sent that long ago that its timer expired while there was news of others, and it is no
    /// answer to news.
    fn is_overdue(&self) -> bool {
        let age = self.age.unwrap_or(0);
        self.is_first && age >= self.round_trip.saturating_add(Self::LEAST_RTO) && self.silence > Self::ANSWER
    }

    /// A probe comes before the first timeout, when nothing is known of a loss, and is the last segment.
    fn is_probe(&self) -> bool {
        self.is_timer() && self.is_last && !self.probed && !self.has_sacked && self.may_probe && self.recovery.is_none()
    }

    /// Whether it shows that its sender sends no probes: the timer expired for the first of several segments where a probe
    /// would have been sent before.
    pub(crate) fn shows_no_probes(&self) -> bool {
        let is_probed_first = !self.probed && !self.has_sacked && self.recovery.is_none();
        self.is_timer() && self.is_first && !self.is_last && is_probed_first
    }
}
