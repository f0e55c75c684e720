//! How a race of connections to a host ends of which the browser did not know that one carries all requests.

use super::Browser;
use super::connection::BrowserStage;
use crate::page::HostId;
use crate::{Action, ConnId};
use loadstone_units::Time;

impl Browser {
    /// The first connection to a host is established, and carries all: the others are given up.
    pub(super) fn end_race(&mut self, now: Time, first: ConnId, host: HostId) {
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.know_multiplexed(host);
        }
        for conn in (0..self.connections.len() as u32).map(ConnId).filter(|conn| *conn != first) {
            let connection = &self.connections[conn.0 as usize];
            // No request waits for a backup.
            if connection.host == host && !connection.is_backup && !matches!(connection.stage, BrowserStage::Ended) {
                self.actions.push_back(Action::Abort { conn });
                self.lose(now, conn);
            }
        }
    }
}
