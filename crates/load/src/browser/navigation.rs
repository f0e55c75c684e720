//! From page to page: the next one takes over connections and the addresses that the browser knows.

use super::Browser;
use super::connection::BrowserStage;
use crate::{Action, ConnId};
use loadstone_http::RequestId;
use loadstone_units::Time;

impl Browser {
    /// Becomes `next`, which has not started and keeps connections and what was known of names. What the page still waited
    /// for is given up. Its hosts are the first of the next page's. Then [`Browser::start`].
    pub fn navigate(&mut self, now: Time, next: Browser) {
        self.stop(now);
        let before = std::mem::replace(self, next);
        for (own, others) in self.pools.iter_mut().zip(before.pools) {
            *own = others;
        }
        self.probe = before.probe;
        self.resolver.take_over(before.resolver);
        self.connections = before.connections;
        self.stirred = before.stirred;
        self.actions = before.actions;
        (self.settling, self.watched, self.next_expiry) = (before.settling, before.watched, before.next_expiry);
    }

    /// Closes the connections on which nothing has come or gone since then.
    pub fn leave_unused(&mut self, since: Time) {
        for conn in (0..self.connections.len() as u32).map(ConnId) {
            let connection = &self.connections[conn.0 as usize];
            if matches!(connection.stage, BrowserStage::Established(_)) && connection.heard < since {
                self.leave(conn);
            }
        }
    }

    /// Gives up all that is under way or waits.
    fn stop(&mut self, now: Time) {
        for pool in &mut self.pools {
            while pool.give_up().is_some() {}
        }
        for conn in (0..self.connections.len() as u32).map(ConnId) {
            self.stop_on(now, conn);
        }
    }

    /// Cancels what is under way on a connection.
    fn stop_on(&mut self, now: Time, conn: ConnId) {
        let connection = &mut self.connections[conn.0 as usize];
        let is_owed = |object| self.waterfall[object as usize].last_byte.is_none();
        let asked = connection.streams.iter().zip(0..).filter(|(object, _)| object.is_some_and(|it| is_owed(it.0)));
        let pushed = connection.pushes.iter().filter(|(_, object)| is_owed(object.0)).map(|(id, _)| *id);
        let owed: Vec<RequestId> = asked.map(|(_, id)| RequestId(id)).chain(pushed).collect();
        connection.streams.fill(None);
        connection.pushes.clear();
        let BrowserStage::Established(session) = &mut connection.stage else { return };
        for id in &owed {
            session.cancel(*id);
        }
        if owed.is_empty() {
            return;
        }
        if session.is_over() {
            // HTTP/1.1 cannot cancel a request. What still comes is not read, so the other end gets a reset.
            self.actions.push_back(Action::Abort { conn });
            self.lose(now, conn);
        } else {
            self.actions.push_back(Action::Transmit { conn });
            self.drain_events(now, conn);
            self.offer(conn);
            self.drain(now, conn);
        }
    }
}
