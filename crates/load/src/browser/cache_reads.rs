//! What the browser has in its cache: no request, but a moment until it is read.

use super::Browser;
use crate::page::ActivityId;
use loadstone_units::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// How long the cache takes to give what it has. Chromium's disk cache took 1 ms and more, most of that between its
/// processes, which pages that were recorded have in their graphs.
const READ: Duration = Duration::from_millis(1);

/// Objects that are being read, and when each is there. All take as long, so they are in order.
#[derive(Debug, Default)]
pub(super) struct CacheReads(VecDeque<(Time, ActivityId)>);

impl CacheReads {
    pub(super) fn begin(&mut self, now: Time, object: ActivityId) {
        self.0.push_back((now + READ, object));
    }

    /// When the next one is there; [`Time::NEVER`] if there is none.
    pub(super) fn deadline(&self) -> Time {
        self.0.front().map_or(Time::NEVER, |(due, _)| *due)
    }

    fn poll(&mut self, now: Time) -> Option<ActivityId> {
        (self.deadline() <= now).then(|| self.0.pop_front().map(|(_, object)| object))?
    }
}

impl Browser {
    /// Goes on with what has been read by now.
    pub(super) fn finish_reads(&mut self, now: Time) {
        while let Some(object) = self.reads.poll(now) {
            let row = &mut self.waterfall[object.0 as usize];
            (row.first_byte, row.last_byte) = (Some(now), Some(now));
            row.status = Some(self.page.fetch(object).response.status);
            self.complete(now, object);
        }
        self.end_with_objects(now);
    }
}
