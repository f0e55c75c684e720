//! Hosts whose requests go out on the connections of others (RFC 9113, section 9.1.1).

use super::Browser;
use super::connection::{BrowserConnection, BrowserStage};
use crate::ConnId;
use crate::page::{ActivityId, HostId};

/// Misdirected Request (RFC 9110, section 15.5.20).
const MISDIRECTED: u16 = 421;

impl Browser {
    /// Lets a host without connections use one to another host with its address and a certificate for it. As in
    /// Chromium (`SpdySessionPool::FindMatchingIpSession`), it has to be established by the time when the host's
    /// address is known; if it is not, the host gets connections of its own.
    pub(super) fn join_another(&mut self, host: HostId) -> bool {
        let server = self.servers[host.0 as usize];
        let pool = &self.pools[host.0 as usize];
        if pool.open() > 0 || pool.is_alone || !pool.protocol.is_multiplexed() {
            return false;
        }
        let carries = |connection: &BrowserConnection| {
            let is_open = matches!(&connection.stage, BrowserStage::Established(session) if !session.is_closing());
            let is_there = self.servers[connection.host.0 as usize] == server;
            is_there && is_open && connection.is_shared && !connection.is_settling && !connection.is_retired
        };
        let Some(at) = self.connections.iter().position(carries) else { return false };
        let (conn, connection) = (ConnId(at as u32), &mut self.connections[at]);
        connection.guests.push(host);
        self.pools[host.0 as usize].join(conn);
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.know_multiplexed(host);
        }
        true
    }

    /// Whether the server of another host has refused to answer for this one's.
    pub(super) fn is_misdirected(&self, conn: ConnId, object: ActivityId) -> bool {
        let is_refused = self.waterfall[object.0 as usize].status == Some(MISDIRECTED);
        is_refused && self.connections[conn.0 as usize].host != self.page.fetch(object).host
    }

    /// The host of an object has connections of its own from now on.
    pub(super) fn leave_other(&mut self, conn: ConnId, object: ActivityId) {
        let host = self.page.fetch(object).host;
        self.connections[conn.0 as usize].guests.retain(|guest| *guest != host);
        let pool = &mut self.pools[host.0 as usize];
        pool.leave(conn);
        pool.is_alone = true;
    }
}
