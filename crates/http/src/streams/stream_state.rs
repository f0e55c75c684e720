//! How a stream stands, also when it is over: what may still come depends on how it ended.

use std::collections::VecDeque;

/// How a stream that is over came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CloseReason {
    /// This end reset it: what the peer sent before it heard of that is still under way.
    LocalReset,
    /// The peer reset it.
    RemoteReset,
    /// Both messages are complete.
    Complete,
}

/// How a stream stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StreamState {
    /// Nobody has opened it.
    Idle,
    Open(RecvState),
    Closed(CloseReason),
    /// It was passed over, or was over so long ago that nobody remembers how.
    ImplicitlyClosed,
}

/// How far the peer's message has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RecvState {
    Head,
    Body,
    /// A body that nobody wants any more: it is taken in and not reported.
    Discarding,
    Complete,
}

/// The streams whose closed are remembered: more than a peer may have open at a time.
const MAX_REMEMBERED: usize = 256;

/// How the latest streams came to their end.
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
