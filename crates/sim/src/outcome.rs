//! The outcomes of a world that has ended.

use crate::host::{HostedProgram, Side, SimHost};
use crate::packet::capture;
use crate::visit::VisitStart;
use crate::world::{Connection, World};
use loadstone_load::{ConnectionRecord, Marks, Service, critical_path};
use loadstone_net::tcp::LossRecovery;
use loadstone_net::{Fabric, LinkCounts};
use loadstone_scenario::{Capture, CapturedConnection, ConnectionOutcome, HostRole, Outcome, Plan};
use loadstone_units::{Seed, Time};

/// Per browser: what the world knows of its load and the browser does not.
#[derive(Default)]
struct BrowserTotals {
    /// What servers report of its requests, with its own `ConnId`s.
    services: Vec<Service>,
    /// How many connections it opened in the visit that counts.
    opened: u32,
    /// The connections that it had, in the order of their opening.
    connections: Vec<ConnectionOutcome>,
    records: Vec<ConnectionRecord>,
    loss_recovery: LossRecovery,
    down: LinkCounts,
    up: LinkCounts,
}

/// The outcome of each browser, in their order, and the marks of its load without those that the outcome has. The
/// first has the run's packets, if they were captured.
pub(crate) fn outcomes(world: World, seed: Seed) -> Vec<(Outcome, Marks)> {
    let World { plan, now, visit, hosts, mut connections, path, windows, .. } = world;
    let mut seen: Vec<BrowserTotals> = (0..plan.browsers()).map(|_| BrowserTotals::default()).collect();
    for (at, seen) in seen.iter_mut().enumerate() {
        [seen.down, seen.up] = visit.passed(plan, &path, at);
    }
    note_services(&mut seen, &hosts, &connections);
    let fabric = path.fabric().clone();
    let captured = path.into_log(now).map(|log| {
        let joined = connections.iter().map(|connection| {
            let [client, server] =
                [Side::Client, Side::Server].map(|side| connection.ends[side as usize].host as usize);
            CapturedConnection::new(plan, &fabric, client, server)
        });
        let captured = capture(plan, visit.at, log, windows, joined.collect());
        let transcripts = connections.iter_mut().map(Connection::take_transcripts).collect();
        Capture { transcripts, ..captured }
    });
    note_connections(&mut seen, (plan, &fabric, &visit), connections, now);
    let loads = hosts.into_iter().zip(seen).zip(0..);
    let mut outcomes: Vec<(Outcome, Marks)> =
        loads.map(|((host, seen), at)| outcome(plan, (seed, visit.at, now), (at, host), seen)).collect();
    if let Some((first, _)) = outcomes.first_mut() {
        first.capture = captured;
    }
    outcomes
}

/// Adds what servers report of requests to the browsers that made them. Requests from a relay belong to no browser
/// and are dropped.
fn note_services(seen: &mut [BrowserTotals], hosts: &[SimHost], connections: &[Connection]) {
    for host in hosts {
        let HostedProgram::Origin(origin) = &host.hosted else { continue };
        for service in origin.services() {
            let end = host.ends[service.conn.0 as usize];
            let client = &connections[end.connection()].ends[Side::Client as usize];
            if let Some(seen) = seen.get_mut(client.host as usize) {
                seen.services.push(Service { conn: client.conn, ..*service });
            }
        }
    }
}

/// The connections of each browser, in the order in which it opened them.
fn note_connections(
    seen: &mut [BrowserTotals],
    (plan, fabric, visit): (&Plan, &Fabric, &VisitStart),
    connections: Vec<Connection>,
    now: Time,
) {
    for (number, connection) in connections.into_iter().enumerate() {
        let client = connection.ends[Side::Client as usize].host as usize;
        if let Some(seen) = seen.get_mut(client) {
            let way = plan.hosts()[client].ways[connection.to.0 as usize];
            seen.opened += u32::from(visit.is_new(number));
            seen.connections.push(visit.connection(number, connection.outcome()));
            seen.loss_recovery = seen.loss_recovery + visit.loss_recovery(number, connection.loss_recovery());
            seen.records.push(visit.record(connection.into_record(now, fabric.min_delay(way.back))));
        }
    }
}

fn outcome(
    plan: &Plan,
    (seed, begun, now): (Seed, Time, Time),
    (at, host): (usize, SimHost),
    seen: BrowserTotals,
) -> (Outcome, Marks) {
    let BrowserTotals { services, opened, connections, records, loss_recovery, down, up } = seen;
    let (HostedProgram::Browser(browser), HostRole::Browser { page }) = (host.hosted, plan.hosts()[at].role) else {
        unreachable!("browsers come first");
    };
    let end = browser.end();
    let mut marks = browser.into_marks();
    marks.note(&services);
    marks = marks.counted_from(begun);
    let outcome = Outcome {
        seed: seed.0,
        completed: end.is_some_and(|end| end.completed),
        plt: end.map_or(now, |end| end.at).counted_from(begun),
        first_request: marks.first_request(),
        packets_down: down.packets,
        packets_up: up.packets,
        bytes_down: down.bytes,
        bytes_up: up.bytes,
        discarded: marks.discarded,
        moments: marks.moments,
        view: std::mem::take(&mut marks.view),
        retransmissions: connections.iter().map(|connection| connection.retransmissions).sum(),
        loss_recovery: Some(loss_recovery),
        connections: opened,
        path: critical_path(plan.page_at(page), &marks, &records),
        waterfall: std::mem::take(&mut marks.rows),
        per_connection: connections,
        conditions: None,
        capture: None,
    };
    (outcome, marks)
}
