//! How a stream stands, also when it is over: what may still come depends on how it ended.

use std::collections::VecDeque;

/// How a stream that is over came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CloseReason {
    /// This end reset it: what the peer sent before it heard of that is still under way.
    FromHere,
    /// The peer reset it.
    FromPeer,
    /// Both messages are complete.
    Complete,
}

/// How a stream stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StreamState {
    /// Nobody has opened it.
    Idle,
    Open(Incoming),
    Over(CloseReason),
    /// It was passed over, or was over so long ago that nobody remembers how.
    Passed,
}

/// How far the peer's message has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Incoming {
    Head,
    Body,
    /// A body that nobody wants any more: it is taken in and not reported.
    Discarding,
    Complete,
}

/// The streams whose endings are remembered: more than a peer may have open at a time.
const MAX_REMEMBERED: usize = 256;

/// How the latest streams came to their end.
#[derive(Debug, Default)]
pub(super) struct ClosedStreams {
    latest: VecDeque<(u32, CloseReason)>,
}

impl ClosedStreams {
    pub(super) fn note(&mut self, stream: u32, ending: CloseReason) {
        if self.latest.len() == MAX_REMEMBERED {
            self.latest.pop_front();
        }
        self.latest.push_back((stream, ending));
    }

    pub(super) fn of(&self, stream: u32) -> Option<CloseReason> {
        self.latest.iter().rev().find(|(known, _)| *known == stream).map(|(_, ending)| *ending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_endings_are_remembered_and_no_more() {
        let mut endings = ClosedStreams::default();
        (1..=MAX_REMEMBERED as u32 + 1).for_each(|stream| endings.note(stream, CloseReason::Complete));
        endings.note(5, CloseReason::FromHere);
        assert_eq!((endings.of(1), endings.of(2), endings.of(3)), (None, None, Some(CloseReason::Complete)));
        assert_eq!((endings.of(5), endings.latest.len()), (Some(CloseReason::FromHere), MAX_REMEMBERED));
    }
}
