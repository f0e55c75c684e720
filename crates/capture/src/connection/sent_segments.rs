//! What has been sent and not yet acknowledged, segment by segment, as the capture sees it.

use std::collections::VecDeque;

/// Segments that are kept; more than any window holds. Where there are more, because no acknowledgement was captured,
/// the oldest are forgotten.
const MOST: usize = 1 << 16;

/// A segment on its way. Numbers are unwrapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SentSegment {
    pub(crate) start: u64,
    len: u32,
    /// When it was sent last, in ns since 1970.
    pub(crate) sent: u64,
    /// How often it was sent again.
    pub(crate) copies: u16,
}

impl SentSegment {
    /// One that is sent for the first time, with the numbers from `start` to `end`.
    pub(crate) fn new(start: u64, end: u64, sent: u64) -> SentSegment {
        SentSegment { start, len: (end - start) as u32, sent, copies: 0 }
    }

    /// The number after its last.
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
}

/// The segments of one direction that are on their way, by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentSegments {
    segments: VecDeque<SentSegment>,
}

impl SentSegments {
    /// A segment was sent for the first time. Nearly always it is the highest.
    #[inline]
    pub(crate) fn insert(&mut self, segment: SentSegment) {
        if self.segments.len() == MOST {
            self.segments.pop_front();
        }
        match self.segments.back() {
            Some(last) if last.start > segment.start => {
                let place = self.segments.partition_point(|other| other.start < segment.start);
                self.segments.insert(place, segment);
            }
            _ => self.segments.push_back(segment),
        }
    }

    /// Takes out the lowest if it ends at `ack` or before. One of which a part is acknowledged begins there then.
    #[inline]
    pub(crate) fn take_acknowledged(&mut self, ack: u64) -> Option<SentSegment> {
        let first = self.segments.front_mut()?;
        if first.end() <= ack {
            let taken = self.segments.pop_front();
            // Connections wait for most of their time.
            if self.segments.is_empty() {
                self.segments = VecDeque::new();
            }
            return taken;
        }
        let below = ack.saturating_sub(first.start) as u32;
        (first.start, first.len) = (first.start + u64::from(below), first.len - below);
        None
    }

    /// Those that a range has a part of.
    pub(crate) fn touching(&mut self, start: u64, end: u64) -> impl Iterator<Item = &mut SentSegment> {
        let first = self.segments.partition_point(|segment| segment.end() <= start);
        self.segments.range_mut(first..).take_while(move |segment| segment.start < end)
    }
}
