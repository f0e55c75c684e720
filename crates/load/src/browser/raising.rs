//! Requests that become more urgent.

use super::Browser;
use crate::page::{ActivityId, Page, Raise};
use loadstone_http::Priority;
use std::collections::BTreeMap;

impl Browser {
    /// Makes objects more urgent whose time for that has come. Those that wait move up; of what was asked for already
    /// only the browser takes notice, not the server.
    pub(super) fn raise(&mut self) {
        let mut due = Vec::new();
        self.raises.retain(|raise| {
            let is_due = self.progress.has_begun(raise.with);
            due.extend(is_due.then_some(*raise));
            !is_due
        });
        for Raise { object, urgency, .. } in due {
            self.raised.insert(object, urgency);
            let under_way = self.requests[object.0 as usize];
            let Some(scheduler) = &mut self.scheduler else { continue };
            match under_way {
                Some(request) => {
                    scheduler.spare(request, urgency);
                    let pool = &mut self.pools[request.host.0 as usize];
                    pool.move_up(object, u64::from(urgency) << 32 | request.number);
                }
                None => scheduler.raise(object, urgency),
            }
            self.send_scheduled();
        }
    }
}

/// How urgent an object is by now.
pub(super) fn priority(page: &Page, raised: &BTreeMap<ActivityId, u8>, object: ActivityId) -> Priority {
    let priority = page.fetch(object).priority;
    match raised.get(&object) {
        Some(urgency) => {
            let mut raised = Priority::at(*urgency);
            raised.incremental = priority.incremental;
            raised
        }
        None => priority,
    }
}
