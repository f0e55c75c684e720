//! A request that has no stream behind yet.

use super::route::RequestRoute;
use crate::ConnId;
use loadstone_http::{Event, RequestHead, RequestId};
use loadstone_units::Time;
use std::sync::Arc;
use std::time::Duration;

/// A request that has no stream behind yet.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub(super) head: Arc<RequestHead>,
    /// The length that it announces for its content.
    pub(super) length: Option<u64>,
    pub(super) route: RequestRoute,
    pub(super) since: Time,
    /// When the processor has looked at it.
    pub(super) read_at: Time,
    /// The connection that it goes out on, once there is one.
    pub(super) behind: Option<ConnId>,
    /// What has come of it besides.
    pub(super) events: Vec<Event>,
    /// So many bytes of its content are called used: they have gone out on a connection that did not answer.
    pub(super) used: u64,
}

impl PendingRequest {
    /// A request without content that is complete; `id` is that of its stream.
    pub(super) fn complete(head: Arc<RequestHead>, route: RequestRoute, id: RequestId, now: Time) -> PendingRequest {
        let events = vec![Event::End { id }];
        PendingRequest { head, length: None, route, since: now, read_at: now, behind: None, events, used: 0 }
    }

    /// Whether it has not looked for a connection yet.
    pub(super) fn is_untried(&self) -> bool {
        self.route.server.is_none()
    }

    /// Whether all has come of it, and it has no content; unknown as long as nothing follows its head.
    pub(super) fn is_empty(&self) -> Option<bool> {
        if self.announces_content() {
            return Some(false);
        }
        self.events.first().map(|event| matches!(event, Event::End { .. }))
    }

    /// Whether it is known that content follows. A client that expects 100 sends none before it hears from the server (RFC
    /// 9110, section 10.1.1).
    fn announces_content(&self) -> bool {
        let expects = || self.head.fields.get(b"expect").is_some_and(|it| it.eq_ignore_ascii_case(b"100-continue"));
        self.length.map_or_else(expects, |length| length > 0)
    }

    /// Whether it has no connection after so long.
    pub(super) fn is_late(&self, now: Time, limit: Duration) -> bool {
        self.behind.is_none() && self.since + limit <= now
    }

    pub(super) fn is_ready(&self) -> bool {
        self.behind.is_some() && (self.announces_content() || !self.events.is_empty())
    }
}
