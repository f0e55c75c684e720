//! The states of streams, closed ones included: what may still arrive depends on why a stream was closed.

use std::collections::VecDeque;

/// Why a stream is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CloseReason {
    /// This end reset it: frames that the peer had sent before may still arrive.
    LocalReset,
    /// The peer reset it.
    RemoteReset,
    /// Both messages are complete.
    Complete,
}

/// The state of a stream (RFC 9113, section 5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StreamState {
    /// Not opened yet.
    Idle,
    Open(RecvState),
    Closed(CloseReason),
    /// Closed implicitly by a higher stream id (RFC 9113, section 5.1.1), or the reason is no longer known.
    ImplicitlyClosed,
}

/// How much of the peer's message has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RecvState {
    /// Nothing: its head comes next.
    Head,
    /// The head; the body comes next.
    Body,
    /// As [`RecvState::Body`], but the rest of the body is not reported.
    Discarding,
    /// All of it.
    Complete,
}

/// How many closed streams are remembered: more than a peer may have open at a time.
const MAX_REMEMBERED: usize = 256;

/// The streams closed last, and why.
#[derive(Debug, Default)]
pub(super) struct ClosedStreams {
    latest: VecDeque<(u32, CloseReason)>,
}

impl ClosedStreams {
    pub(super) fn note(&mut self, stream: u32, reason: CloseReason) {
        if self.latest.len() == MAX_REMEMBERED {
            self.latest.pop_front();
        }
        self.latest.push_back((stream, reason));
    }

    pub(super) fn of(&self, stream: u32) -> Option<CloseReason> {
        self.latest.iter().rev().find(|(known, _)| *known == stream).map(|(_, reason)| *reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_endings_are_remembered_and_no_more() {
        let mut closed = ClosedStreams::default();
        (1..=MAX_REMEMBERED as u32 + 1).for_each(|stream| closed.note(stream, CloseReason::Complete));
        closed.note(5, CloseReason::LocalReset);
        assert_eq!((closed.of(1), closed.of(2), closed.of(3)), (None, None, Some(CloseReason::Complete)));
        assert_eq!((closed.of(5), closed.latest.len()), (Some(CloseReason::LocalReset), MAX_REMEMBERED));
    }
}
