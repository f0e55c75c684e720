//! How a relay asks servers itself whether they are well: each again and again, on a connection of its own.

use super::{HealthCheck, Relay, RelayConfig};
use crate::page::HostId;
use crate::{Action, ConnId, Tag};
use loadstone_http::{
    Body, Chunk, ClientSession, Event, Fields, Priority, Protocol, RequestHead, TransportStream, Wire,
};
use loadstone_units::Time;
use std::collections::BTreeMap;

/// Marks the tags of these connections: no server has such a number.
const MARK: u32 = 1 << 31;
/// The most bytes that are read of an answer: what it says is in its head.
const WINDOW: u64 = 64 * 1024;
/// What servers are told of who asks.
const AGENT: &str = concat!("loadstone-edge/", env!("CARGO_PKG_VERSION"));

/// The checks of all servers.
#[derive(Debug, Default)]
pub(super) struct ServerChecks {
    /// When each server is asked next.
    due: BTreeMap<HostId, Time>,
    /// Those under way.
    running: BTreeMap<ConnId, ServerCheck>,
}

/// A check that is under way.
#[derive(Debug)]
struct ServerCheck {
    server: HostId,
    /// When its time is over.
    until: Time,
    /// None until its connection is open.
    session: Option<Box<dyn ClientSession>>,
}

/// Whether a server is well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Passed,
    Failed,
}

impl ServerChecks {
    /// The server of a tag, if it is that of a check.
    pub(super) fn server_of(Tag(tag): Tag) -> Option<HostId> {
        (tag & MARK != 0).then_some(HostId(tag & !MARK))
    }

    /// Whether a connection is one of these.
    pub(super) fn has(&self, conn: ConnId) -> bool {
        self.running.contains_key(&conn)
    }

    /// When something is to be done.
    pub(super) fn deadline(&self) -> Time {
        let ends = self.running.values().map(|check| check.until);
        self.due.values().copied().chain(ends).min().unwrap_or(Time::NEVER)
    }

    pub(super) fn poll_transmit(&mut self, now: Time, conn: ConnId, room: usize, out: &mut Wire) {
        if let Some(session) = self.running.get_mut(&conn).and_then(|check| check.session.as_mut()) {
            session.poll_transmit(now, TransportStream::TCP, room, out);
        }
    }

    /// The servers that are to be asked now.
    fn take_due(&mut self, now: Time, check: &HealthCheck) -> Vec<HostId> {
        let mut servers = Vec::new();
        for (server, due) in self.due.iter_mut().filter(|(_, due)| **due <= now) {
            *due = now + check.interval;
            // It may still have to answer.
            if self.running.values().all(|running| running.server != *server) {
                servers.push(*server);
            }
        }
        servers
    }

    /// What has come of an answer says this, if it is known by now: its head is enough.
    fn hear(&mut self, now: Time, conn: ConnId, input: &[Chunk]) -> Option<(HostId, Verdict)> {
        let check = self.running.get_mut(&conn)?;
        let session = check.session.as_mut()?;
        let result = session.handle_input(now, TransportStream::TCP, input);
        let verdict = std::iter::from_fn(|| session.poll_event()).find_map(|event| match event {
            Event::Response { head, .. } if (200..400).contains(&head.status) => Some(Verdict::Passed),
            Event::Response { .. } | Event::Reset { .. } | Event::Refused { .. } => Some(Verdict::Failed),
            _ => None,
        });
        let verdict = verdict.or(result.is_err().then_some(Verdict::Failed))?;
        Some((check.server, verdict))
    }
}

impl Relay {
    /// Asks all servers that there are, and no others: at once, or when it was to be.
    pub(super) fn set_checks(&mut self) {
        let RelayConfig { servers, health, .. } = &*self.config;
        let is_asked = health.check.is_some() && !self.is_draining;
        let all = servers.values().filter(|_| is_asked).flat_map(|servers| servers.iter().copied());
        let (now, known) = (self.now, std::mem::take(&mut self.checks.due));
        self.checks.due = all.map(|server| (server, known.get(&server).copied().unwrap_or(now))).collect();
        let due = &self.checks.due;
        let gone = self.checks.running.iter().filter(|(_, check)| !due.contains_key(&check.server));
        for conn in gone.map(|(conn, _)| *conn).collect::<Vec<_>>() {
            self.checks.running.remove(&conn);
            self.actions.push_back(Action::Abort { conn });
        }
    }

    /// Asks those servers whose time it is, and gives up those that do not answer.
    pub(super) fn handle_checks_due(&mut self) {
        let now = self.now;
        let late = self.checks.running.iter().filter(|(_, check)| check.until <= now);
        for conn in late.map(|(conn, _)| *conn).collect::<Vec<_>>() {
            self.actions.push_back(Action::Abort { conn });
            self.end_check(conn);
        }
        let Some(check) = &self.config.health.check else { return };
        for HostId(server) in self.checks.take_due(now, check) {
            self.actions.push_back(Action::Open { to: HostId(server), tag: Tag(server | MARK) });
        }
    }

    /// The connection of a check is being opened.
    pub(super) fn begin_check(&mut self, conn: ConnId, server: HostId) {
        let until = self.now + self.config.server_timeouts.silence;
        self.checks.running.insert(conn, ServerCheck { server, until, session: None });
    }

    /// The connection of a check is open.
    pub(super) fn ask_check(&mut self, conn: ConnId, protocol: Protocol) {
        let RelayConfig { servers, health, server_sessions, .. } = &*self.config;
        let (Some(running), Some(check)) = (self.checks.running.get_mut(&conn), &health.check) else { return };
        let mut names = servers.iter().filter(|(_, servers)| servers.contains(&running.server));
        let name = names.next().map_or_else(String::new, |(name, _)| name.clone());
        let head = RequestHead::get(&name, &check.path, Fields::from_pairs([("user-agent", AGENT)]));
        let mut session = server_sessions.client(protocol);
        session.request(head.into(), Body::EMPTY.into(), Priority::default());
        running.session = Some(session);
        self.actions.push_back(Action::Receive { conn, on: TransportStream::TCP, limit: WINDOW });
        self.actions.push_back(Action::Transmit { conn });
    }

    /// Something of an answer has come.
    pub(super) fn hear_check(&mut self, conn: ConnId, input: &[Chunk]) {
        if let Some((server, verdict)) = self.checks.hear(self.now, conn, input) {
            self.checks.running.remove(&conn);
            self.actions.push_back(Action::Close { conn });
            self.note_check(server, verdict);
        }
    }

    /// The connection of a check has been closed, or nothing comes of it.
    pub(super) fn end_check(&mut self, conn: ConnId) {
        if let Some(ServerCheck { server, .. }) = self.checks.running.remove(&conn) {
            self.note_check(server, Verdict::Failed);
        }
    }
}
