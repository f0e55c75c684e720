//! Priorities of open and of future streams: PRIORITY_UPDATE (RFC 9218, section 7.1) and dependencies (RFC 7540,
//! section 5.3).

use super::stream_state::StreamState;
use super::{Framing, Perspective, StreamDependency, Streams};
use crate::{PeerFault, Priority};
use std::collections::BTreeMap;

/// The priorities of streams that are not open yet.
#[derive(Debug, Default)]
pub(super) struct PendingPriorities {
    priorities: BTreeMap<u32, Priority>,
}

impl PendingPriorities {
    /// Takes the priority of a stream that is being opened. Lower ids can no longer be opened: drops theirs.
    pub(super) fn take(&mut self, stream: u32) -> Option<Priority> {
        let later = self.priorities.split_off(&(stream + 1));
        std::mem::replace(&mut self.priorities, later).remove(&stream)
    }
}

impl<F: Framing> Streams<F> {
    /// PRIORITY_UPDATE, for an open or a future stream.
    pub(super) fn handle_priority(&mut self, stream: u32, priority: Priority) -> Result<(), PeerFault> {
        self.abuse.note_empty();
        match self.state(stream) {
            StreamState::Open(_) => self.scheduler.prioritise(stream, priority),
            StreamState::Closed(_) | StreamState::ImplicitlyClosed => {}
            // RFC 9218, section 7.1: a push that was not promised.
            StreamState::Idle if stream.is_multiple_of(2) => return Err(PeerFault::UnexpectedFrame),
            StreamState::Idle => {
                self.pending_priorities.priorities.insert(stream, priority);
                if self.pending_priorities.priorities.len() + self.open_streams.len() - self.pushes
                    > self.local_max_streams
                {
                    return Err(PeerFault::UnexpectedFrame);
                }
            }
        }
        Ok(())
    }

    /// Sets a stream's dependency, if the frame has one. Clients ignore it.
    pub(super) fn handle_dependency(&mut self, stream: u32, dependency: Option<StreamDependency>) {
        if let Some(dependency) = dependency.filter(|_| self.role == Perspective::Server) {
            self.scheduler.depend(stream, dependency);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_of_a_stream_counts_when_it_opens_and_of_those_below_no_more() {
        let mut pending = PendingPriorities::default();
        for stream in [1, 3, 5, 7] {
            pending.priorities.insert(stream, Priority::at(stream as u8));
        }
        assert_eq!(pending.take(5), Some(Priority::at(5)));
        assert_eq!((pending.take(5), pending.priorities.len()), (None, 1));
        assert_eq!(pending.take(0x7fff_ffff), None);
    }
}
