//! What a browser does when connections or requests fail.

use super::connection::{BrowserConnection, BrowserStage};
use super::{Browser, LoadEnd, PATIENCE, RETRIES};
use crate::page::{ActivityId, Needed};
use crate::{Action, Attempt, ConnId, Row};
use loadstone_units::Time;

impl Browser {
    /// Gives up connections on which nothing has come for too long, and sets the time to look again.
    pub(super) fn expire(&mut self, now: Time) {
        let waterfall = &self.waterfall;
        let owes = |connection: &BrowserConnection| match connection.stage {
            BrowserStage::Established(_) => {
                connection.objects().any(|object| waterfall[object.0 as usize].last_byte.is_none())
            }
            // Before that it is the transport's to give up.
            BrowserStage::Connecting | BrowserStage::Ended => false,
        };
        let owing = self.connections.iter().enumerate().filter(|(_, connection)| owes(connection));
        let owing: Vec<(ConnId, Time)> =
            owing.map(|(at, connection)| (ConnId(at as u32), connection.heard + PATIENCE)).collect();
        self.next_expiry =
            owing.iter().map(|(_, until)| *until).filter(|until| *until > now).min().unwrap_or(Time::NEVER);
        for (conn, _) in owing.into_iter().filter(|(_, until)| *until <= now) {
            self.give_up_connection(now, conn);
        }
    }

    /// Closes a connection that does not bring what it should.
    pub(super) fn give_up_connection(&mut self, now: Time, conn: ConnId) {
        self.actions.push_back(Action::Close { conn });
        self.lose(now, conn);
    }

    /// A connection has ended: its outstanding requests are sent again, a bounded number of times.
    pub(super) fn lose(&mut self, now: Time, conn: ConnId) {
        let connection = &mut self.connections[conn.0 as usize];
        let host = connection.host;
        let established = match std::mem::replace(&mut connection.stage, BrowserStage::Ended) {
            BrowserStage::Connecting => false,
            BrowserStage::Established(_) => !std::mem::take(&mut connection.is_settling),
            BrowserStage::Ended => return,
        };
        let is_owed = |object: &ActivityId| self.waterfall[object.0 as usize].last_byte.is_none();
        let owed: Vec<ActivityId> = connection.objects().filter(is_owed).collect();
        connection.forget();
        let hosts = connection.hosts();
        connection.guests.clear();
        if !connection.is_retired {
            hosts.clone().for_each(|host| self.pools[host.0 as usize].lose(conn, established));
        }
        let pool = &mut self.pools[host.0 as usize];
        pool.may_pipeline &= owed.len() < 2;
        let hopeless = pool.failed_rounds() > RETRIES;
        for (place, object) in owed.into_iter().enumerate() {
            // The one that was waited for is to blame; those behind it had no turn.
            self.attempts[object.0 as usize] += u32::from(place == 0);
            self.ask_again(now, object);
        }
        while hopeless && let Some(object) = self.pools[host.0 as usize].give_up() {
            self.abandon(now, object);
        }
        hosts.for_each(|host| self.stir(host));
        self.stir_all();
        self.advance(now);
    }

    /// An object's response did not come: it is requested again, unless that has been tried too often.
    pub(super) fn ask_again(&mut self, now: Time, object: ActivityId) {
        if self.attempts[object.0 as usize] > RETRIES || self.is_probe(object) {
            return self.abandon(now, object);
        }
        self.progress.restart(object);
        let row = &mut self.waterfall[object.0 as usize];
        self.failed.push(Attempt { object, row: *row });
        *row = Row { found: row.found, retried: Some(now), ..Row::default() };
        self.finish_scheduled(object);
        self.want(object);
    }

    /// A request fails, as the page says that it does: what waits for its end goes on.
    pub(super) fn fail(&mut self, now: Time, object: ActivityId) {
        if self.page.activities[object.0 as usize].needed == Needed::Always {
            return self.abandon(now, object);
        }
        self.finish_scheduled(object);
        self.waterfall[object.0 as usize].last_byte = Some(now);
        self.progress.handle_end(now, object);
    }

    /// An object cannot be had. If the page needs it, the load is over.
    pub(super) fn abandon(&mut self, now: Time, object: ActivityId) {
        self.finish_scheduled(object);
        if self.is_probe(object) {
            self.fail_probe();
        }
        match self.page.activities[object.0 as usize].needed {
            Needed::Always => {
                self.end.get_or_insert(LoadEnd { at: now, completed: false });
            }
            // An error is an end, too: the load event comes without it.
            Needed::WhenFound | Needed::WhenArriving => self.progress.give_up(object),
            Needed::Never => {}
        }
    }
}
