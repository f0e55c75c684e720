//! How many connections a browser has in all.

use super::Browser;
use super::connection::BrowserStage;
use super::pool::Pool;
use crate::page::{ActivityId, HostId};
use crate::{Action, ConnId};

impl Browser {
    /// How many connections to open to a host now. Where all places are taken, connections that carry nothing leave
    /// theirs, as in Firefox and Chromium.
    pub(super) fn openings(&mut self, host: HostId) -> u32 {
        let wanted = self.pools[host.0 as usize].wanted();
        while self.room() < wanted
            && let Some(idle) = self.idle()
        {
            self.leave(idle);
        }
        let room = self.room();
        self.pools[host.0 as usize].openings(room)
    }

    /// How many more connections there may be.
    pub(super) fn room(&self) -> u32 {
        let taken = || self.pools.iter().map(Pool::open).sum();
        self.config.connections_in_all.map_or(u32::MAX, |most| most.saturating_sub(taken()))
    }

    /// A connection that carries nothing, to a host of which nothing is wanted.
    fn idle(&self) -> Option<ConnId> {
        let is_complete = |object: ActivityId| self.waterfall[object.0 as usize].last_byte.is_some();
        let carries_nothing = |conn: &ConnId| self.connections[conn.0 as usize].objects().all(is_complete);
        self.pools.iter().filter_map(Pool::unwanted).find(carries_nothing)
    }

    /// Closes a connection that carries nothing.
    pub(super) fn leave(&mut self, conn: ConnId) {
        let connection = &mut self.connections[conn.0 as usize];
        connection.stage = BrowserStage::Ended;
        connection.forget();
        connection.hosts().for_each(|host| self.pools[host.0 as usize].lose(conn, true));
        self.actions.push_back(Action::Close { conn });
    }

    /// A place may have become free: hosts that wait for one look again.
    pub(super) fn stir_all(&mut self) {
        if self.config.connections_in_all.is_some() {
            let waiting = |(at, pool): (usize, &Pool)| (pool.wanted() > 0).then_some(HostId(at as u32));
            let hosts: Vec<HostId> = self.pools.iter().enumerate().filter_map(waiting).collect();
            hosts.into_iter().for_each(|host| self.stir(host));
        }
    }
}
