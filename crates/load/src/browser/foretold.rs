//! What servers tell of ahead: hints, which the browser follows, and pushes, which it takes or refuses.

use super::{Browser, Hints};
use crate::foresight::destination;
use crate::hint::{hinted, preconnects};
use crate::page::ActivityId;
use crate::{Action, ConnId, FoundBy};
use loadstone_http::{RequestId, ResponseHead, TransportStream};
use loadstone_units::Time;

/// The status of responses that tell what the final one will (RFC 8297).
const EARLY_HINTS: u16 = 103;

impl Browser {
    /// A response tells what else is wanted.
    pub(super) fn follow(&mut self, now: Time, object: ActivityId, head: &ResponseHead) {
        if self.config.hints == Hints::Ignore {
            return;
        }
        let page = self.page.clone();
        let host = page.fetch(object).host;
        for connection in preconnects(head) {
            if let Some(host) = page.find_host(&connection) {
                self.pools[host.0 as usize].expect();
                self.stir(host);
            }
        }
        for reference in hinted(head) {
            let found = page.find_referred(host, &reference).map(|hinted| (hinted, page.fetch(hinted)));
            if let Some((hinted, fetch)) = found.filter(|(_, fetch)| !fetch.is_cached)
                && self.progress.anticipate(now, hinted, object)
            {
                let row = &mut self.waterfall[hinted.0 as usize];
                (row.found, row.found_by) = (Some(now), FoundBy::Hint);
                // Before there is a document, none holds requests back, and only what it is says how urgent it is.
                if head.status == EARLY_HINTS {
                    self.raised.extend(destination(&fetch.kind).map(|kind| (hinted, kind.urgency())));
                    self.want_for(None, hinted);
                } else {
                    self.want(hinted);
                }
            }
        }
    }

    /// The server announces a push: of what has not been asked for it is taken.
    pub(super) fn take_push(&mut self, now: Time, conn: ConnId, id: RequestId, parent: RequestId, path: &[u8]) {
        let connection = &mut self.connections[conn.0 as usize];
        let parent = connection.object(parent);
        let host = parent.map_or(connection.host, |parent| self.page.fetch(parent).host);
        let pushed = parent.zip(self.page.find(host, path));
        // Of what the browser has it refuses the push; what is under way by then is wasted.
        let is_wanted =
            pushed.filter(|(_, object)| !self.page.fetch(*object).is_cached).is_some_and(|(parent, object)| {
                let is_news = self.progress.anticipate(now, object, parent);
                is_news || self.pools[host.0 as usize].remove(object)
            });
        if let Some((_, object)) = pushed.filter(|_| is_wanted) {
            connection.pushes.insert(id, object);
            let on = connection.session().map_or(TransportStream::TCP, |session| session.carrier(id));
            let row = &mut self.waterfall[object.0 as usize];
            (row.connection, row.on, row.found_by) = (Some(conn.0), on, FoundBy::Push);
            row.found.get_or_insert(now);
        } else if let Some(session) = connection.session() {
            session.cancel(id);
            self.actions.push_back(Action::Transmit { conn });
        }
    }
}
