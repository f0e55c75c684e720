//! How a relay leaves: what is under way goes on to its end, and nothing new begins.

use super::Relay;
use super::rejection::Rejection;
use crate::ConnId;
use loadstone_units::Time;

impl Relay {
    /// Begins to leave: what is under way goes on to its end, and no connection is used for more. Drain
    /// [`crate::Program::poll_action`] after it, as after a `handle_*`.
    pub fn shut_down(&mut self, now: Time) {
        self.now = now;
        self.is_draining = true;
        self.set_checks();
        let conns: Vec<ConnId> = self.links.keys().copied().collect();
        conns.into_iter().for_each(|conn| self.leave(conn));
        let unused: Vec<ConnId> =
            self.links.iter().filter(|(_, link)| link.is_unused()).map(|(conn, _)| *conn).collect();
        unused.into_iter().for_each(|conn| self.lose(conn, Rejection::Closed));
        self.turn();
    }

    /// Gives up whatever is under way. Nothing is said on any connection; the driver drops them.
    pub fn give_up(&mut self, now: Time) {
        self.now = now;
        let conns: Vec<ConnId> = self.links.keys().copied().collect();
        conns.into_iter().for_each(|conn| self.abort(conn));
        self.actions.clear();
    }

    /// Tells a client that nothing new is taken.
    pub(super) fn leave(&mut self, conn: ConnId) {
        let now = self.now;
        let Some(link) = self.links.get_mut(&conn) else { return };
        let Some(half) = link.as_front() else { return };
        half.is_drained = true;
        link.stirred = now;
        link.session().shut_down();
        self.stir(conn);
    }
}
