//! Whether pipelines come through: a proxy on the way may lose, cut or mix up what they carry, and a browser cannot see
//! from one answer that it does.
//!
//! So a browser that is told to probe sends one pipeline to a known server when it starts (`yahoo` 4.3). Until all of
//! that is answered, each answer being the one that was asked for, it sends one request at a time; if it never is, for
//! good.

use super::Browser;
use crate::ConnId;
use crate::page::{ActivityId, HostId};
use loadstone_units::Time;
use std::time::Duration;

/// How long the answers may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is known of pipelines.
#[derive(Clone, Copy, Debug)]
pub(super) struct PipeliningProbe {
    /// The known server.
    host: HostId,
    /// How many answers are still to come; none if it is known that they do not.
    missing: Option<u32>,
    /// How long they may take.
    until: Time,
    /// How many requests a pipeline may have if they come.
    pipelined: u32,
}

impl PipeliningProbe {
    /// When the browser stops waiting.
    pub(super) fn deadline(&self) -> Time {
        if self.missing.is_some_and(|missing| missing > 0) { self.until } else { Time::NEVER }
    }
}

impl Browser {
    /// The same which sends pipelines only if the page's answers from this host come through as they were asked for.
    #[must_use]
    pub fn with_pipelining_probe(mut self, host: HostId) -> Browser {
        let asked = self.page.fetches().filter(|(_, fetch)| fetch.host == host).count() as u32;
        let pipelined = self.pools[host.0 as usize].pipelined;
        for (pool, _) in self.pools.iter_mut().zip(0..).filter(|(_, at)| *at != host.0) {
            pool.pipelined = 1;
        }
        // The probe itself is one pipeline.
        self.pools[host.0 as usize].pipelined = u32::MAX;
        self.probe = Some(PipeliningProbe { host, missing: Some(asked), until: Time::NEVER, pipelined });
        self
    }

    /// From now on the answers may take so long.
    pub(super) fn start_probe(&mut self, now: Time) {
        if let Some(probe) = &mut self.probe {
            probe.until = now + PATIENCE;
        }
    }

    /// Whether an object is for the probe alone.
    pub(super) fn is_probe(&self, object: ActivityId) -> bool {
        self.probe.is_some_and(|probe| self.page.fetch(object).host == probe.host)
    }

    /// All of an answer is there.
    pub(super) fn note_answer(&mut self, object: ActivityId) {
        let (fetch, row) = (self.page.fetch(object), self.waterfall[object.0 as usize]);
        let Some(probe) = self.probe.as_mut().filter(|probe| probe.host == fetch.host) else { return };
        if (row.status, row.body_bytes) != (Some(fetch.response.status), fetch.body.len) {
            return self.fail_probe();
        }
        probe.missing = probe.missing.map(|missing| missing - 1);
        if probe.missing == Some(0) {
            let pipelined = probe.pipelined;
            self.pools.iter_mut().for_each(|pool| pool.pipelined = pipelined);
            (0..self.pools.len() as u32).for_each(|host| self.stir(HostId(host)));
        }
    }

    /// It stays with one request at a time.
    pub(super) fn fail_probe(&mut self) {
        if let Some(probe) = &mut self.probe {
            probe.missing = None;
        }
    }

    /// The answers have taken too long, if they have.
    pub(super) fn expire_probe(&mut self, now: Time) {
        let Some(probe) = self.probe.filter(|probe| probe.deadline() <= now) else { return };
        self.fail_probe();
        let is_its = |conn: &ConnId| self.connections[conn.0 as usize].host == probe.host;
        let conns: Vec<ConnId> = (0..self.connections.len() as u32).map(ConnId).filter(is_its).collect();
        conns.into_iter().for_each(|conn| self.give_up_connection(now, conn));
    }
}
