//! The visit that counts begins when the one before is over: what there was by then belongs to that.

use crate::connection::Connection;
use crate::packet::SimPacket;
use crate::tcp::TcpTls;
use loadstone_load::ConnectionRecord;
use loadstone_net::tcp::LossRecovery;
use loadstone_net::{LinkCounts, Path};
use loadstone_scenario::{ConnectionOutcome, Plan};
use loadstone_units::Time;

/// Where the visit that counts begins; of a run without a visit before, at its start with nothing.
#[derive(Debug, Default)]
pub(crate) struct VisitStart {
    pub(crate) at: Time,
    /// What had passed the link nearest to each browser by then: towards it, and away from it.
    links: Vec<[LinkCounts; 2]>,
    /// What each connection had carried, and how often its ends had repaired losses.
    connections: Vec<(ConnectionOutcome, LossRecovery)>,
}

impl VisitStart {
    /// A visit that begins now.
    pub(crate) fn new(at: Time, plan: &Plan, path: &Path<SimPacket>, connections: &[Connection<TcpTls>]) -> VisitStart {
        let links = (0..plan.browsers()).map(|browser| passed(plan, path, browser)).collect();
        let connections = connections.iter().map(|connection| (connection.outcome(), connection.loss_recovery()));
        VisitStart { at, links, connections: connections.collect() }
    }

    /// What has passed the link nearest to a browser since then, of all that has.
    pub(crate) fn passed(&self, plan: &Plan, path: &Path<SimPacket>, browser: usize) -> [LinkCounts; 2] {
        let all = passed(plan, path, browser);
        self.links.get(browser).map_or(all, |before| [all[0].since(before[0]), all[1].since(before[1])])
    }

    /// The same of a connection of the world's.
    pub(crate) fn connection(&self, number: usize, all: ConnectionOutcome) -> ConnectionOutcome {
        let Some((before, _)) = self.connections.get(number) else {
            return all.counted_from(self.at);
        };
        ConnectionOutcome {
            content_up: all.content_up - before.content_up,
            content_down: all.content_down - before.content_down,
            retransmissions: all.retransmissions - before.retransmissions,
            ..all.counted_from(self.at)
        }
    }

    /// How often the ends of a connection have repaired losses since then.
    pub(crate) fn loss_recovery(&self, number: usize, all: LossRecovery) -> LossRecovery {
        self.connections.get(number).map_or(all, |(_, before)| all.since(*before))
    }

    /// What an account needs to know of a connection.
    pub(crate) fn record(&self, all: ConnectionRecord) -> ConnectionRecord {
        all.counted_from(self.at)
    }

    /// Whether a connection was opened in the visit that counts.
    pub(crate) fn is_new(&self, number: usize) -> bool {
        number >= self.connections.len()
    }
}

fn passed(plan: &Plan, path: &Path<SimPacket>, browser: usize) -> [LinkCounts; 2] {
    let link = plan.access_link(browser);
    [path.counts(link), path.counts(link.reversed())]
}
