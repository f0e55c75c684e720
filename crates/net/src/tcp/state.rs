//! The state of a connection (RFC 9293, section 3.3.2).
//!
//! ```text
//!   Listen ── SYN ──> SynReceived ──┐ ACK of the SYN            close ┌─> FinWait1 ─ ACK ─> FinWait2
//!                                   ├─────────────> Established ──────┤      │ FIN              │ FIN
//!   SynSent ── SYN, ACK ────────────┘                            FIN  │      v                  v
//!                                                                     │   Closing ── ACK ──> Closed
//!                                                                     └─> CloseWait ─ close ─> LastAck ─ ACK ─> Closed
//! ```
//!
//! TIME-WAIT is left out: within a run no port is used twice.

/// Where a connection stands, seen from one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Waits for a SYN.
    Listen,
    /// Has sent a SYN.
    SynSent,
    /// Has answered a SYN.
    SynReceived,
    /// Both ends may send.
    Established,
    /// This end has said that it sends no more.
    FinWait1,
    /// The other end has acknowledged that, and still sends.
    FinWait2,
    /// The other end sends no more; this one still may.
    CloseWait,
    /// Both have said so at once; the acknowledgement of this end's FIN is missing.
    Closing,
    /// As in `Closing`, the other end having been first.
    LastAck,
    /// Nothing more will be sent or received.
    Closed,
    /// Given up: too many timeouts in a row.
    TimedOut,
    /// Broken off with a RST, from here or from there.
    Reset,
}

impl State {
    /// Whether data may have been exchanged.
    pub fn is_synchronised(self) -> bool {
        !matches!(self, State::Listen | State::SynSent | State::SynReceived)
    }

    /// Whether nothing happens any more.
    pub fn is_over(self) -> bool {
        matches!(self, State::Closed | State::TimedOut | State::Reset)
    }

    /// The handshake is complete.
    pub(super) fn on_handshake(&mut self) {
        if !self.is_synchronised() {
            *self = State::Established;
        }
    }

    /// The other end has broken it off (RFC 9293, section 3.10.7.4), or this one does.
    pub(super) fn on_reset(&mut self) {
        if !self.is_over() {
            *self = State::Reset;
        }
    }

    /// The program sends no more.
    pub(super) fn on_close(&mut self) {
        *self = match *self {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            // Nothing has been exchanged: there is nothing to finish.
            State::Listen | State::SynSent | State::SynReceived => State::Closed,
            other => other,
        };
    }

    /// The other end's FIN has come, with all data before it.
    pub(super) fn on_fin(&mut self) {
        *self = match *self {
            State::Established => State::CloseWait,
            State::FinWait1 => State::Closing,
            State::FinWait2 => State::Closed,
            other => other,
        };
    }

    /// This end's FIN has been acknowledged.
    pub(super) fn on_fin_acked(&mut self) {
        *self = match *self {
            State::FinWait1 => State::FinWait2,
            State::Closing | State::LastAck => State::Closed,
            other => other,
        };
    }
}
