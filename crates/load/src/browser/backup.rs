//! A second connection to a host whose first one is slow to come.

use super::Browser;
use super::connection::{BrowserConnection, BrowserStage};
use crate::page::HostId;
use crate::{Action, ConnId, Tag};
use loadstone_units::Time;
use std::time::Duration;

/// How long a connection may take to be answered before there is a second one (Chromium's
/// `ClientSocketPool::kMaxConnectRetryIntervalMs`).
const CONNECT_RETRY: Duration = Duration::from_millis(250);

impl Browser {
    /// The first connection to a host is being opened: if it takes too long, there is to be a second one. So does
    /// Chromium (`TransportClientSocketPool::Group::StartBackupJobTimer`), in case the SYN is lost; where a round trip
    /// takes longer it always does.
    pub(super) fn watch(&mut self, now: Time, conn: ConnId) {
        if self.scheduler.is_some() {
            self.watched.push_back((now + CONNECT_RETRY, conn));
        }
    }

    /// Opens connections beside those that nothing has answered for too long.
    pub(super) fn open_backups(&mut self, now: Time) {
        while let Some((_, conn)) = self.watched.front().copied().filter(|(due, _)| *due <= now) {
            self.watched.pop_front();
            let BrowserConnection { host, stage, is_connected, .. } = &self.connections[conn.0 as usize];
            let (host, is_slow) = (*host, !is_connected && matches!(stage, BrowserStage::Connecting));
            let room = self.room();
            let pool = &mut self.pools[host.0 as usize];
            if !is_slow || !pool.is_waiting() {
                continue;
            }
            if pool.open_backup(room) {
                let backup = self.open(now, host);
                self.connections[backup.0 as usize].is_backup = true;
            } else {
                self.watched.push_back((now + CONNECT_RETRY, conn));
            }
        }
    }

    /// Opens a connection, for which there is room.
    pub(super) fn open(&mut self, now: Time, to: HostId) -> ConnId {
        let number = self.connections.len() as u32;
        self.connections.push(BrowserConnection::to(to, now));
        self.actions.push_back(Action::Open { to, tag: Tag(number) });
        ConnId(number)
    }
}
