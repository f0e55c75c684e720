//! How a stream stands, also when it is over: what may still come depends on how it ended.

use std::collections::VecDeque;

/// How a stream that is over came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ending {
    /// This end reset it: what the peer sent before it heard of that is still under way.
    FromHere,
    /// The peer reset it.
    FromPeer,
    /// Both messages are complete.
    Complete,
}

/// How a stream stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// Nobody has opened it.
    Idle,
    Open(Incoming),
    Over(Ending),
    /// It was passed over, or was over so long ago that nobody remembers how.
    Passed,
}

/// How far the peer's message has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Incoming {
    Head,
    Body,
    /// A body that nobody wants any more: it is taken in and not reported.
    Unwanted,
    Complete,
}

/// The streams whose endings are remembered: more than a peer may have open at a time.
const MAX_REMEMBERED: usize = 256;

/// How the latest streams came to their end.
#[derive(Debug, Default)]
pub(super) struct Endings {
    latest: VecDeque<(u32, Ending)>,
}

impl Endings {
    pub(super) fn note(&mut self, stream: u32, ending: Ending) {
        if self.latest.len() == MAX_REMEMBERED {
            self.latest.pop_front();
        }
        self.latest.push_back((stream, ending));
    }

    pub(super) fn of(&self, stream: u32) -> Option<Ending> {
        self.latest.iter().rev().find(|(known, _)| *known == stream).map(|(_, ending)| *ending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_endings_are_remembered_and_no_more() {
        let mut endings = Endings::default();
        (1..=MAX_REMEMBERED as u32 + 1).for_each(|stream| endings.note(stream, Ending::Complete));
        endings.note(5, Ending::FromHere);
        assert_eq!((endings.of(1), endings.of(2), endings.of(3)), (None, None, Some(Ending::Complete)));
        assert_eq!((endings.of(5), endings.latest.len()), (Some(Ending::FromHere), MAX_REMEMBERED));
    }
}
